#!/usr/bin/env bash
# conform.sh BUILD - every recorded program, both executors, all modes.
set -u
calx=$1/bin/calx
files="tests/data/conformance/*.gz tests/data/reports/reports.jsonl.gz"

# All modes by one executor, told on its standard output.
modes() {
  local mode out failed=0
  for mode in eval text grad vmap; do
    out=$("$calx" conform --known tests/conform_known.tsv \
      --functions tests/data/functions.jsonl \
      --executor "$1" --mode $mode $files 2>&1) || failed=1
    echo "$1 $mode: $(tail -n 1 <<<"$out")"
    grep -E '^(FAILED|calx:)' <<<"$out" | head -n 20
  done
  return $failed
}

modes reference &
modes cpu
failed=$?
wait $! || failed=1
exit $failed
