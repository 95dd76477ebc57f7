#!/usr/bin/env bash
# forms.sh BUILD - programs in forms that the corpus has seldom or not: modes
# and batching axes of gather and scatter, functions of scattered elements,
# windows, products, keys, special values of choices, gamma numbers in f16 and
# bf16, starts and fills of 64 bits; and the pairs of dtypes that its table of
# promotions lacks. Recorded from JAX 0.10.2 as its README describes; all of
# them pass.
set -u
calx=$1/bin/calx
failed=0
for mode in eval text grad vmap; do
  out=$("$calx" conform --verbose --mode $mode tests/data/forms.jsonl.gz 2>&1)
  last=$(tail -n 1 <<<"$out")
  echo "$mode: $last"
  if ! grep -qE '^[1-9][0-9]* passed, 0 failed, 0 skipped$' <<<"$last"; then
    grep -E '^(FAILED|left out|differs|calx:)' <<<"$out" | head -n 20
    failed=1
  fi
done
out=$("$calx" conform tests/data/promotion.json.gz 2>&1)
echo "promotion: $(tail -n 1 <<<"$out")"
if [ "$(tail -n 1 <<<"$out")" != "72 passed, 0 failed, 0 skipped" ]; then
  grep -E '^(FAILED|calx:)' <<<"$out" | head -n 20
  failed=1
fi
exit $failed
