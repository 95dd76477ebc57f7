#!/bin/bash
# Checks who includes whom: the arrows of docs/architecture.md. Any folder of
# src may include base and the public headers; what else, stands here.
declare -A may=(
  [base]=""
  [ir]=""
  [loop]=""
  [ops]="ir"
  [primitives]="ir ops loop"
  [transforms]="ir ops"
  [trace]="ir ops transforms"
  [lower]="ir loop"
  # what lower/ hands to a backend: the schedule, its graph, what runs it; to a
  # generator of code: loops and the plans of their bodies, and who asks for it
  [backends]="ir loop lower/schedule.h lower/graph.h lower/executable.h
    lower/code.h lower/plan.h lower/loop.h lower/hot.h lower/windows.h"
  [runtime]="ir loop ops primitives transforms trace lower backends"
  [io]="trace"
  [testing]=""
)
broken=0

report() {
  echo "arrow broken: $1"
  broken=1
}

# Prints "file:included" for each #include "..." below the folders given.
includes() {
  grep -rHE --include='*.[ch]' --include='*.inc' --include='*.def' \
    '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' "$@" 2>/dev/null |
    sed -E 's/^([^:]+):[^"]*"([^"]+)".*/\1:\2/'
}

allowed() {
  local from=$1 target=$2 to
  for to in calx base "$from" ${may[$from]}; do
    case "$target" in "$to" | "$to"/*) return 0 ;; esac
  done
  return 1
}

for folder in src/*/; do
  from=$(basename "$folder")
  if [ -z "${may[$from]+known}" ]; then
    report "src/$from is not a folder of the architecture"
    continue
  fi
  while IFS=: read -r file target; do
    allowed "$from" "$target" || report "$file includes $target"
  done < <(includes "$folder")
done

# What is written on the public API sees no header of src.
inside=$(IFS='|'; echo "${!may[*]}")
while IFS=: read -r file target; do
  if [[ $target =~ ^($inside)/ || $target == *../* ]]; then
    report "$file includes $target"
  fi
done < <(includes models tools examples include)

[ $broken = 0 ] && echo "arrows hold"
exit $broken
