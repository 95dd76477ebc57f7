#!/usr/bin/env bash
# readme.sh BUILD - the program in README.md is the first example and prints
# what README.md says; its table of primitives is that of docs/primitives.md.
# readme.sh --write renews the table.
set -u
build=$1
block() { awk -v fence="\`\`\`$1" '$0 == fence {on = 1; next}
  /^```/ && on {exit} on' README.md; }
primitives() { # the names by form
  awk -F ' [|] ' '/^[|] `/ {
      sub(/^[|] /, "", $1)
      if (!($3 in names)) order[++n] = $3
      names[$3] = names[$3] " " $1
    }
    END {
      print "| form | primitives |\n|---|---|"
      for (i = 1; i <= n; i++) print "| " order[i] " |" names[order[i]] " |"
    }' docs/primitives.md
}
begin='<!-- primitives: written by tests/readme.sh --write -->' end='<!-- end -->'
if [ "$build" = --write ]; then
  { sed "\|^$begin|q" README.md; primitives; sed -n "/^$end/,\$p" README.md; } \
    >README.md.new && mv README.md.new README.md
  exit
fi
status=0
diff <(block c) examples/01_first_gradient.c || {
  echo "README.md and examples/01_first_gradient.c differ"; status=1; }
diff <(block text) <("$build"/bin/examples/01_first_gradient) || {
  echo "README.md shows another output"; status=1; }
diff <(sed -n "\|^$begin|,/^$end/p" README.md | sed '1d;$d') <(primitives) || {
  echo "README.md has another table of primitives"; status=1; }
exit $status
