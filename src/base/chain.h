/* chain.h - the order in which a product sums over k.
 *
 * The k's, in row-major order of the contracted axes, are cut into chains of
 * CXI_CHAIN, the last perhaps shorter. The sum of a chain is fma(a[k], b[k],
 * sum) from its first k to its last, from 0. The sums of the chains are added
 * in order to the first one's. f16 and bf16 are summed in f32 and rounded once,
 * by the caller.
 *
 * This is the definition: its bits depend on the elements and on their number
 * alone. Every executor must give the same, on every instruction set and with
 * any number of threads. A tile of a product interleaves the chains of its
 * elements; a product of two vectors has several chains of one element at
 * once. */
#ifndef CXI_CHAIN_H
#define CXI_CHAIN_H

enum { CXI_CHAIN = 256 };

#endif
