#!/usr/bin/env bash
# conform.sh BUILD - every recorded program, both executors, all modes.
set -u
calx=$1/bin/calx
files="tests/data/conformance/*.jsonl.gz tests/data/reports/reports.jsonl.gz"
failed=0
for executor in reference cpu; do
  for mode in eval text grad vmap; do
    out=$("$calx" conform --known tests/conform_known.tsv \
      --executor $executor --mode $mode $files 2>&1) || failed=1
    echo "$executor $mode: $(tail -n 1 <<<"$out")"
    grep -E '^(FAILED|calx:)' <<<"$out" | head -n 20
  done
done
exit $failed
