#!/usr/bin/env bash
# readme.sh BUILD - the program in README.md is the first example and prints
# what README.md says; its tables of primitives are those of docs/primitives.md.
# readme.sh --write renews the tables.
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
rules() { # how many primitives have what in each column of rules
  awk -F ' [|] ' '/^[|] primitive / { for (i = 4; i <= NF; i++) name[i] = $i }
    /^[|] `/ {
      sub(/ [|]$/, "", $NF)
      for (i = 4; i <= NF; i++) if (!count[i, $i]++) what[i, ++n[i]] = $i
      last = NF
    }
    END {
      print "\n| column | of so many primitives |\n|---|---|"
      for (i = 4; i <= last; i++) {
        sub(/ [|]$/, "", name[i])
        line = ""
        while (n[i] > 0) { # the most frequent first
          best = 1
          for (j = 2; j <= n[i]; j++)
            if (count[i, what[i, j]] > count[i, what[i, best]]) best = j
          line = line (line ? "<br>" : "") count[i, what[i, best]] " " \
            what[i, best]
          for (j = best; j < n[i]; j++) what[i, j] = what[i, j + 1]
          n[i]--
        }
        print "| " name[i] " | " line " |"
      }
    }' docs/primitives.md
}
tables() {
  primitives
  rules
}
begin='<!-- primitives: written by tests/readme.sh --write -->' end='<!-- end -->'
if [ "$build" = --write ]; then
  { sed "\|^$begin|q" README.md; tables; sed -n "/^$end/,\$p" README.md; } \
    >README.md.new && mv README.md.new README.md
  exit
fi
status=0
diff <(block c) examples/01_first_gradient.c || {
  echo "README.md and examples/01_first_gradient.c differ"; status=1; }
diff <(block text) <("$build"/bin/examples/01_first_gradient) || {
  echo "README.md shows another output"; status=1; }
diff <(sed -n "\|^$begin|,/^$end/p" README.md | sed '1d;$d') <(tables) || {
  echo "README.md has other tables of primitives: run tests/readme.sh --write"
  status=1; }
exit $status
