#!/usr/bin/env bash
# compare.sh BUILD - bench/compare with peers that print lines of their own.
calx=$(cd "$1" && pwd)/bin/calx
if ! command -v python3 >/dev/null || [ ! -x "$calx" ]; then
  echo "compare: skipped, there is no python3, or no command"
  exit 77
fi
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}
peer() { # ENVIRONMENT LINE: a Python that prints the line
  mkdir -p "$room/$1/bin"
  printf '#!/bin/sh\necho no line\necho '"'%s'"'\n' "$2" >"$room/$1/bin/python"
  chmod +x "$room/$1/bin/python"
}
line() { # PEER MS CHECK
  echo "{\"bench\": \"mlp/sgd_step_b128\", \"peer\": \"$1\"," \
    "\"median_ms\": $2, \"loss\": [$3]}"
}
compare() {
  bench/compare --calx "$calx" --venv "$room" --rounds 2 "$@" \
    >"$room/out" 2>"$room/err"
}
peer jax "$(line jax 1e9 2.29919)"
peer bench "$(line torch 1e6 7.5)"
compare mlp/sgd --history "$room/history" --jsonl "$room/lines" ||
  fail "$(cat "$room/err")"
row="^| mlp/sgd_step_b128 | [0-9.]* | 1000000000 | 1000000 (another value) |"
grep -q "$row [0-9.]* (jax) | 1.5 x best: met |$" "$room/out" ||
  fail "the row: $(cat "$room/out")"
grep -q "^## 20.*2 rounds" "$room/history" || fail "the history"
[ "$(grep -c median_ms "$room/lines")" = 6 ] || fail "the lines"
compare mlp/sgd --peers torch && ! grep -q jax "$room/out" || fail "--peers"
printf '#!/bin/sh\nexit 3\n' >"$room/jax/bin/python"
compare mlp/sgd || fail "a peer that fails ends it"
grep -q "status 3" "$room/err" || fail "the status: $(cat "$room/err")"
compare nothing-has-this-name && fail "no case"
bench/compare --calx "$room/none" 2>"$room/err" && fail "no command"
grep -q "is missing: ./run build" "$room/err" || fail "$(cat "$room/err")"
exit $failed
