#!/bin/bash
# compare.sh PROGRAM NAME - what the program prints is tests/golden/NAME.txt.
# Paths of source files are shortened to their part in the repository.
set -u
seen=$("$1") || { echo "$2 returned $?"; exit 1; }
diff "$(dirname "$0")/$2.txt" \
  <(sed -E 's,[^ ]*/(examples/[^ ]*\.c),\1,g' <<<"$seen")
