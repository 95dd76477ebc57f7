#!/usr/bin/env bash
# readme.sh BUILD - the program in README.md is the first example, and prints
# what README.md says.
set -u
build=$1
block() { awk -v fence="\`\`\`$1" '$0 == fence {on = 1; next}
  /^```/ && on {exit} on' README.md; }
status=0
diff <(block c) examples/01_first_gradient.c || {
  echo "README.md and examples/01_first_gradient.c differ"; status=1; }
diff <(block text) <("$build"/bin/examples/01_first_gradient) || {
  echo "README.md shows another output"; status=1; }
exit $status
