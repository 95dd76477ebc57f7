/* zip.h - the places of two vectors' elements, taken from them in turn: those
 * of the first halves, and of the last. A matrix of n vectors is turned by
 * log2(n) rounds in which vector i is zipped with vector i + n / 2. */
#ifndef CXI_CPU_ZIP_H
#define CXI_CPU_ZIP_H

#define CXI_FIRST_HALVES(n) CXI_FIRST_HALVES_(n)
#define CXI_FIRST_HALVES_(n) CXI_FIRST_HALVES_##n
#define CXI_FIRST_HALVES_2 0, 2
#define CXI_FIRST_HALVES_4 0, 4, 1, 5
#define CXI_FIRST_HALVES_8 0, 8, 1, 9, 2, 10, 3, 11
#define CXI_FIRST_HALVES_16 \
  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define CXI_LAST_HALVES(n) CXI_LAST_HALVES_(n)
#define CXI_LAST_HALVES_(n) CXI_LAST_HALVES_##n
#define CXI_LAST_HALVES_2 1, 3
#define CXI_LAST_HALVES_4 2, 6, 3, 7
#define CXI_LAST_HALVES_8 4, 12, 5, 13, 6, 14, 7, 15
#define CXI_LAST_HALVES_16 \
  8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

/* One round: n vectors x of n elements to y. */
#define CXI_ZIP(n, x, y)                                                  \
  _Pragma("GCC unroll 8") for (int i_ = 0; i_ < (n) / 2; i_++) {          \
    (y)[2 * i_] = __builtin_shufflevector((x)[i_], (x)[i_ + (n) / 2],     \
                                          CXI_FIRST_HALVES(n));           \
    (y)[2 * i_ + 1] = __builtin_shufflevector((x)[i_], (x)[i_ + (n) / 2], \
                                              CXI_LAST_HALVES(n));        \
  }

#endif
