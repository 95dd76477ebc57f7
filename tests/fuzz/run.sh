#!/usr/bin/env bash
# run.sh BUILD [SECONDS] - each fuzzer for some seconds (10) from recorded
# cases. What it finds is left as BUILD/fuzz/NAME-*.
#   cmake --preset dev -B build/fuzz -DCMAKE_C_COMPILER=clang -DCALX_FUZZ=ON
#   cmake --build build/fuzz --target fuzzers calx_command
set -euo pipefail
build=$1 seconds=${2:-10}
root=$(cd "$(dirname "$0")/../.." && pwd)
corpus=$build/fuzz
export ASAN_OPTIONS=allocator_may_return_null=1
mkdir -p "$corpus"/{safetensors,npy,tokenizer,record,text,function}

# Every 25th short case of the records.
seed_records() {
  local name
  for name in driver_custom driver_control lax_test driver_jnp; do
    zcat "$root/tests/data/conformance/$name.jsonl.gz" |
      awk -v to="$corpus/record/$name" \
        'NR % 25 == 0 && length($0) < 3000 { print > to NR; close(to NR) }'
  done
}

# Their programs, as `calx conform --verbose` prints them before its verdict.
seed_texts() {
  "$build/bin/calx" conform --verbose \
    "$root"/tests/data/conformance/driver_{custom,control}.jsonl.gz |
    awk -v to="$corpus/text/" '
      /^(passed|differs|skipped)/ {
        if (text && ++n % 10 == 0 && length(text) < 3000) {
          printf "%s", text > to n; close(to n)
        }
        text = ""; next
      }
      { text = text $0 "\n" }'
}

cp "$root"/tests/data/reports/files/*.safetensors "$corpus/safetensors"
cp "$root"/tests/data/reports/files/*.npy "$corpus/npy"
cp "$root"/tests/data/jax/*.calx "$corpus/function"
cp "$root"/tests/fuzz/seeds/tokenizer_* "$corpus/tokenizer"
[ -n "$(ls "$corpus/record")" ] || seed_records
[ -n "$(ls "$corpus/text")" ] || seed_texts

for name in safetensors npy tokenizer record text function; do
  echo "$name: $seconds s"
  "$build/bin/fuzz/${name}_fuzz" -max_total_time="$seconds" -max_len=4096 \
    -rss_limit_mb=4096 -timeout=20 -artifact_prefix="$corpus/$name-" \
    "$corpus/$name" >"$corpus/$name.log" 2>&1 ||
    { tail -n 40 "$corpus/$name.log"; exit 1; }
  grep '^Done' "$corpus/$name.log"
done
