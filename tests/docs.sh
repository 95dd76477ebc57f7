#!/bin/bash
# docs.sh BUILD - the public functions are defined, described and named in
# docs/from-jax.md; links between pages resolve; no file names a machine's path.
build=$1
page=docs/from-jax.md
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
broken=0
complain() {
  echo "docs: $1"
  broken=1
}

# -- public functions are defined ---------------------------------------------

headers=(include/calx/*.h)
archives=("$build"/libcalx.a)
if [ -f "$build/libcalx_models.a" ]; then
  headers+=(include/calx/models/*.h)
  archives+=("$build/libcalx_models.a")
fi
# Declarations joined to one line each; the name stands before the first "(".
joined() {
  grep -hv '^#define' "${headers[@]}" | tr '\n' ' '
}
{
  joined | grep -oE 'CX_API [^;({]*\(' | grep -oE '[a-z0-9_]+ *\($' |
    tr -d ' ('
  joined | grep -oE "CX_DECLARE(_ENV)?\([a-z]+_[a-z0-9_]+" | sed 's/.*(//'
} | sort -u >"$room/declared"
if [ -f "${archives[0]}" ]; then
  nm -g --defined-only "${archives[@]}" 2>/dev/null |
    awk 'NF == 3 { print $3 }' | sort -u >"$room/defined"
  while read -r name; do
    complain "$name is declared, defined nowhere"
  done < <(comm -23 "$room/declared" "$room/defined")
fi

# -- described ------------------------------------------------------------------

# A comment on the line or above it, with no blank line between.
undescribed() {
  awk 'FNR == 1 || /^$/ { seen = 0 }
    /\/\*|\*\// { seen = 1 }
    /^#define [a-z0-9_]+\(|^CX_API/ && !/[a-z0-9]_\(/ && !seen {
      print FILENAME ": " $0 }' "$@"
}
while read -r line; do
  complain "no comment: $line"
done < <(undescribed "${headers[@]}")

# -- and named in the page ------------------------------------------------------

# What a user writes: macros, and functions that no macro stands before.
{
  grep -hoE '^#define (cx|nn)_[a-z0-9_]+\(' "${headers[@]}" |
    sed 's/#define //; s/(//'
  cat "$room/declared"
} | grep -v '_$' | sort -u >"$room/names"
grep -oE '[a-z][a-z0-9_]+' $page | sort -u >"$room/named"
while read -r name; do
  complain "$page does not name $name"
done < <(comm -23 "$room/names" "$room/named" |
  grep -vE '^(bert|sentence|txl|wordpiece)_')
# Nor does it name what there is not; types have names too.
grep -hoE '^(\} cx[a-z_]*|typedef .* \*?cx[a-z_]*);' include/calx/*.h |
  grep -oE 'cx[a-z_]*;' | tr -d ';' >"$room/types"
grep -ohE '\bcx_[a-z0-9_]+' $page docs/from-jax-names.md docs/porting.md |
  sort -u >"$room/said"
while read -r name; do
  complain "$page names $name, which is not public"
done < <(comm -23 "$room/said" "$room/names" | grep -vxFf "$room/types")

# -- links ------------------------------------------------------------------------

links() { # FILE: targets inside the repository; code has none
  sed '/^```/,/^```/d; s/`[^`]*`//g' "$1" | grep -oE '\]\([^)# ]+' |
    sed 's/^](//' | grep -vE '^[a-z]+:'
}
for file in README.md docs/*.md docs/decisions/*.md; do
  [ -f "$file" ] || continue
  while read -r target; do
    [ -e "$(dirname "$file")/$target" ] || complain "$file links to $target"
  done < <(links "$file" | sort -u)
done

# -- decisions ----------------------------------------------------------------------

while read -r number; do
  complain "docs/decisions has several records $number"
done < <(ls docs/decisions | cut -c 1-4 | sort | uniq -d)

# -- paths --------------------------------------------------------------------------

while read -r line; do
  complain "a machine's path: $line"
done < <(git grep -nIE '/(home|Users|work|root)/[a-z]' -- . ':!tests/docs.sh' \
  ':!tests/data' 2>/dev/null | cut -c 1-160)

[ $broken = 0 ] && echo "pages hold"
exit $broken
