#!/usr/bin/env bash
# bench.sh BUILD - the cases of calx bench have the values that JAX has.
set -u
calx=$1/bin/calx
checks=tests/data/bench/checks.tsv
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}

# Sanitizers make the heavy ones slow.
words=(F H gemm/f32/128x768 gemm/f32/8x8 gemm/bf16/32x32 gemm/f32/b1024x8
  softmax layernorm sum_1e7 sort_1e6 scatter gather mlp minilm-l6/f32/1x16
  trace_compile/bert-base-fwd startup/jit startup/eager)
grep -q "CMAKE_C_FLAGS:.*sanitize" "$1/CMakeCache.txt" &&
  words=(F softmax_4096 gemm/f32/8x8 scan100k startup/jit)
"$calx" bench --quick --json --checks $checks "${words[@]}" \
  >"$room/lines" 2>"$room/err" || { cat "$room/err"; fail "values"; }
grep -q '"bench": "ops/softmax_4096x512", "peer": "calx", "threads": 2' \
  "$room/lines" || fail "a line of JSON"

# A recorded value that differs is told, and so is a file that is none.
printf 'ops/softmax_4096x512\t0.0002\t0.5\n' >"$room/wrong.tsv"
"$calx" bench --quick --checks "$room/wrong.tsv" softmax >/dev/null \
  2>"$room/err" && fail "a wrong value passes"
grep -q "value 0 is 0.0019" "$room/err" || fail "the wrong value's message"
echo "no numbers" >"$room/wrong.tsv"
"$calx" bench --quick --checks "$room/wrong.tsv" softmax 2>"$room/err" &&
  fail "a file without values passes"
grep -q "wrong.tsv:1: not a row" "$room/err" || fail "the file's message"
"$calx" bench nothing-has-this-name 2>/dev/null
[ $? = 2 ] || fail "no case: status 2"
"$calx" bench softmax nothing-has-this-name --quick >/dev/null 2>&1
[ $? = 2 ] || fail "a word that names nothing"
[ "$("$calx" bench F --threads 1 --list -eager)" = \
  "$("$calx" bench --list --threads 1 -eager F)" ] || fail "options behind words"
"$calx" bench F --lists 2>/dev/null
[ $? = 2 ] || fail "a wrong option behind a word"
"$calx" bench --threads 0 2>/dev/null
[ $? = 2 ] || fail "no threads: status 2"
[ "$("$calx" bench --list F | wc -l)" = 9 ] || fail "--list F"
exit $failed
