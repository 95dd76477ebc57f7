#!/bin/bash
# reached.sh PROGRAM NAME BUILD - an example of docs/examples.md reaches what
# the page says, and draws a picture of the size that the page shows; one that
# the page does not list runs, and checks itself.
# reached.sh --write BUILD - runs them all and renews the page's figures and
# pictures; the times are the processor's, of this run.
set -u
TIMEFORMAT='%1U s'
page=docs/examples.md
pictures=docs/pictures

listed() { # the names in the page's table
  sed -nE 's/^\| \[([0-9a-z_]+)\.c\].*/\1/p' $page
}
said() { # what the page says that NAME reaches
  awk -F ' [|] ' -v name="[$1.c]" 'index($1, "| " name) == 1 { print $3 }' $page
}
reached() { # of the output on stdin
  sed -n 's/^reached: //p'
}

if [ "$1" = --write ]; then
  for name in $(listed); do
    picture=
    [ -f "$pictures/$name.png" ] && picture=$pictures/$name.png
    out=$(mktemp)
    took=$({ time "$2/bin/examples/$name" $picture >"$out"; } 2>&1 | tail -1)
    got=$(reached <"$out")
    rm "$out"
    awk -F ' [|] ' -v OFS=' | ' -v name="[$name.c]" -v got="$got" -v t="$took" \
      'index($1, "| " name) == 1 { $3 = got; $4 = t " |" } { print }' $page \
      >$page.new && mv $page.new $page
    echo "$name: $got ($took)"
  done
  exit
fi

program=$1 name=$2 build=$3
want=$(said "$name")
[ -n "$want" ] || exec "$program"
shown=$pictures/$name.png drawn=
if [ -f "$shown" ]; then
  mkdir -p "$build/pictures"
  drawn=$build/pictures/$name.png
  rm -f "$drawn"
fi
seen=$("$program" $drawn) || { echo "$seen"; echo "$name returned $?"; exit 1; }
got=$(reached <<<"$seen")
[ "$got" = "$want" ] || {
  echo "$name reached: $got"
  echo "$page says:  $want"
  exit 1
}
# The head of a PNG file holds its width and height. Built without libpng there
# is no file.
if [ -n "$drawn" ] && [ -f "$drawn" ]; then
  cmp -n 24 "$drawn" "$shown" || exit 1
fi
echo "$seen"
