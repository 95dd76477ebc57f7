#!/bin/bash
# demo.sh [BUILD]: what Calx does, on real models: sentences to vectors by
# BERT; a Transformer-XL that is trained for a minute and writes text. After
# ./run build; BUILD is build/release. SECONDS_TO_TRAIN changes the minute.
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
calx=$build/bin/calx
seconds=${SECONDS_TO_TRAIN:-60}
failed=0

heading() {
  printf '\n== %s\n\n' "$1"
}
# part NAME COMMAND...: runs it; a failure is told and remembered.
part() {
  local name=$1
  shift
  if ! "$@"; then
    echo "demo: $name failed" >&2
    failed=1
  fi
}

if [ ! -x "$calx" ]; then
  echo "demo: no $calx; ./run build makes it" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -x tools/demo_embed.sh ]; then
  heading "a. BERT: sentences as vectors"
  part "part a" tools/demo_embed.sh "$build"
fi

train_and_write() {
  local text=examples/data/kjv.txt.gz model=$work/model.safetensors
  "$calx" xl train --text "$text" --output "$model" --seconds "$seconds" --checkpoint ||
    return 1
  heading "   400 characters of the trained model, from \"And the LORD\""
  "$calx" xl generate --model "$model" --length 400 --prompt "And the LORD"
}
heading "b. Transformer-XL: $seconds seconds on the King James Bible"
part "part b" train_and_write

echo
[ $failed = 0 ] && echo "demo: all parts done in $SECONDS s"
exit $failed
