#!/usr/bin/env bash
# conform.sh BUILD - every recorded program, both executors, all modes; once
# more with generated code from the first step on, where its library is.
set -u
calx=$1/bin/calx
files="tests/data/conformance/*.gz tests/data/reports/reports.jsonl.gz"

# The modes by one executor, told on its standard output.
modes() { # EXECUTOR MODE...
  local mode out failed=0 executor=$1
  shift
  for mode in "$@"; do
    out=$("$calx" conform --known tests/conform_known.tsv \
      --functions tests/data/functions.jsonl \
      --executor "$executor" --mode "$mode" $files 2>&1) || failed=1
    echo "$executor${CALX_LLVM:+ code $CALX_LLVM} $mode: $(tail -n 1 <<<"$out")"
    grep -E '^(FAILED|calx:)' <<<"$out" | head -n 20
  done
  return $failed
}

modes reference eval text grad vmap &
failed=0
modes cpu eval text grad vmap || failed=1
CALX_LLVM=now modes cpu eval grad vmap || failed=1
wait $! || failed=1
exit $failed
