#!/bin/bash
# macros.sh BUILD - what the compiler says of calls that lack something: a name
# that tells what; and short calls compile without a warning, as C11, beside
# macros of the user's.
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
flags="-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror -Iinclude"
broken=0
users=
for name in ONE MANY NONE SOME ANY TOO_MANY N T A B I PI; do
  users+="#define $name ($name is not Calx)"$'\n'
done
compile() { # CODE: as the body of a function
  printf '%s#include "calx.h"\nCX_DEF(f) { return cx_ones(CX_F32); }\n%s { %s }\n' \
    "$users" 'void test(cx x, cx k); void test(cx x, cx k)' \
    "cx r = $1; (void)x, (void)k, (void)r, (void)CX_FN(f);" >"$room/a.c"
  ${CC:-cc} $flags -fsyntax-only "$room/a.c" 2>&1
}
for call in 'cx_zeros(CX_F32)' 'cx_full(x, CX_F32)' 'cx_normal(k, CX_F32)' \
  'cx_gamma(k, 2, CX_F32)' 'cx_reshape(x)' 'cx_transpose(x)' \
  'cx_cond(x, CX_FN(f), CX_FN(f))' 'cx_switch(x, (CX_FN(f)))' \
  'cx_dynamic_slice(x, (x, 1), (2, 3))' 'cx_dynamic_update(x, x, (x, 1))' \
  'cx_call(CX_FN(f))' 'cx_spec(CX_F32)' 'cx_tuple()' 'cx_dict()' \
  'cx_tuple(cx_tuple(), (x), -1, cx_dict("a", cx_tuple(k, 1)))' \
  'cx_at_set(x, (), 1)' 'cx_at_get(x, ())' 'cx_index(x, (1))' \
  'cx_pad(x, 0, (1, 2))' 'cx_pad_by(x, CX_PAD_WRAP, (1, 2), (0, 1))' \
  'cx_median(x, 0)' 'cx_median(x, 0, .keepdims = true)' \
  'cx_sum(x)' 'cx_sum(x, -1)' 'cx_sum(x, CX_AXES(0, 1), .keepdims = true)' \
  'cx_call(CX_FN(f), x, k)' 'cx_dict("a", x, "b", 2)' 'cx_index(x, 0, CX_ALL)' \
  'cx_stack(0, x, 1)' 'cx_concat(0, x)' 'cx_zeros(CX_F32, 2, 3)'; do
  if ! out=$(compile "$call"); then
    echo "macros: $call: $out"
    broken=1
  fi
done
lacks() { # NAME CALL
  if out=$(compile "$2"); then
    echo "macros: $2 compiles"
    broken=1
  elif [[ $out != *"$1"* ]]; then
    echo "macros: $2 does not say $1: $out"
    broken=1
  fi
}
lacks CX_SIZES_ARE_MISSING 'cx_iota(CX_F32, 0)'
lacks CX_SIZES_ARE_MISSING 'cx_orthogonal(k, CX_F32)'
lacks CX_SIZES_ARE_MISSING 'cx_split_n(k)'
lacks CX_KEYS_ARE_MISSING 'cx_none(); cx_split(k)'
lacks CX_AXES_ARE_MISSING 'cx_expand(x)'
lacks CX_COUNTS_ARE_MISSING 'cx_tile(x)'
lacks CX_ARRAYS_ARE_MISSING 'cx_stack(0)'
lacks CX_ARRAYS_ARE_MISSING 'cx_einsum("ij->ji")'
lacks CX_INDICES_ARE_MISSING 'cx_index(x)'
lacks CX_PAIRS_ARE_MISSING 'cx_pad(x, 0)'
lacks CX_PAIRS_ARE_MISSING 'cx_pad_by(x, CX_PAD_EDGE)'
lacks CX_A_VALUE_IS_MISSING 'cx_dict("w")'
lacks CX_A_VALUE_IS_MISSING 'cx_dict("w", x, "b")'
lacks CX_AXIS_NAMES_ARE_MISSING 'cx_psum(x)'
x16=x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x
lacks TOO_MANY "cx_tuple($x16,$x16,x)"
lacks TOO_MANY "cx_stack(0,$x16,$x16,x)"
# Options have names: a number in their place is refused.
for call in 'cx_sum(x, 0, 1)' 'cx_mean(x, 0, true)' 'cx_argmax(x, 0, 1)' \
  'cx_cumsum(x, 0, 1)' 'cx_sort(x, 0, 1)' 'cx_median(x, 0, 1)' \
  'cx_quantile(x, 0.5, 0, 1)' 'cx_searchsorted(x, k, 1)' \
  'cx_interp(x, k, k, 1)' 'cx_bincount(x, 4, 1)' 'cx_histogram(x, k, 1)' \
  'cx_unique(x, 4, 1)' 'cx_at_set(x, (0), 1, 1)' 'cx_at_get(x, (0), 1)' \
  'cx_matmul(x, k, 1)' 'cx_attention(x, k, k, 1)' 'cx_permutation(k, x, 0)' \
  'cx_choice(k, x, 3, 0)' 'cx_max_pool(x, CX_SHAPE(2, 2), 2)' \
  'cx_conv_patches(x, CX_SHAPE(2, 2), 2)' 'cx_svd(x, 0)' \
  'cx_call(cx_grad(CX_FN(f), 0))' 'cx_call(cx_grad(CX_FN(f), .wrt = 0))' \
  'cx_call(cx_grad(CX_FN(f), .wrt = 1))' 'cx_call(cx_vmap(CX_FN(f), 0))' \
  'cx_call(cx_vmap(CX_FN(f), 0, 1))' 'cx_call(cx_jit(CX_FN(f), 1))' \
  'cx_call(cx_jit(CX_FN(f), .donate = 0))' \
  'cx_call(cx_jit(CX_FN(f), .donate = 1))' \
  'cx_call(cx_checkpoint(CX_FN(f), 1))' 'cx_scan(CX_FN(f), x, k, 10)' \
  'cx_while(CX_FN(f), CX_FN(f), x, 10)' \
  'cx_associative_scan(CX_FN(f), x, 1)' \
  'cx_none(); cx_pullback(CX_FN(f), x, k, 1)'; do
  if compile "$call" >/dev/null; then
    echo "macros: $call compiles"
    broken=1
  fi
done
[ $broken = 0 ] && echo "short calls compile, others say what lacks"
exit $broken
