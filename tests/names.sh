#!/bin/bash
# names.sh BUILD - docs/from-jax-names.md has a line for each name that
# tests/data/jax_names.txt lists by module, once; and names no other.
page=docs/from-jax-names.md
# "module name" of the page: what stands in backticks before the colon.
said() {
  awk '/^## / { module = $2; next }
    /^- / {
      line = $0
      while (match(line, /^(- |, )`[^`]*`/)) {
        name = substr(line, RSTART, RLENGTH); line = substr(line, RLENGTH + 1)
        gsub(/^(- |, )|`/, "", name); print module, name
      }
      if (line !~ /^: ./) print "no-text", $2
    }' $page | sort
}
listed() {
  awk '{ for (i = 2; i <= NF; i++) print $1, $i }' tests/data/jax_names.txt |
    sort
}
if difference=$(diff <(listed) <(said)); then
  echo "$(listed | wc -l) names have their line"
else
  echo "listed (<) and on the page (>):"
  grep '^[<>]' <<<"$difference" | head -n 40
  exit 1
fi
