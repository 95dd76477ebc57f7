#!/usr/bin/env bash
# embed.sh BUILD - calx embed on the small model that the repository ships.
set -u
calx=$1/bin/calx
model=examples/data/bert-tiny
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
failed=0

check() { # what, condition
  local what=$1
  shift
  "$@" || { echo "FAILED: $what"; failed=1; }
}
embed() {
  "$calx" embed --model $model "$@" 2>"$room/err"
}
# Exit status, then a part of the message.
fails() {
  local status=$1 message=$2
  shift 2
  embed "$@" >"$room/out"
  local got=$?
  check "status $got of: $*" [ $got = "$status" ]
  check "message of: $*" grep -qF -- "$message" "$room/err"
}
lines() {
  wc -l <"$1" | tr -d ' '
}

printf 'the cat\n\nshe has two dogs\nthe cat\n' >"$room/in"
embed <"$room/in" >"$room/all"
check "a line each" [ "$(lines "$room/all")" = 4 ]
check "equal texts, equal lines" [ \
  "$(sed -n 1p "$room/all")" = "$(sed -n 4p "$room/all")" ]
check "JSON" grep -qE '^\{"embedding": \[(-?[0-9.e-]+, ){31}-?[0-9.e-]+\]\}$' \
  "$room/all"
check "silent" [ ! -s "$room/err" ]

# Any number of lines, in portions, in order.
for i in $(seq 1 5000); do echo "line $((i % 7))"; done >"$room/many"
embed --batch 64 <"$room/many" >"$room/out"
check "many lines" [ "$(lines "$room/out")" = 5000 ]
check "seven vectors" [ "$(sort -u "$room/out" | wc -l | tr -d ' ')" = 7 ]
check "in order" [ "$(sed -n 4999p "$room/out")" = "$(sed -n 1p "$room/out")" ]

embed --jsonl >"$room/out" <<<'{"text": "the cat", "id": 3}'
check "text of an object" [ \
  "$(cat "$room/out")" = "$(sed -n 1p "$room/all")" ]
embed <"$room/in" --output "$room/x.jsonl" >"$room/out"
check "output to a file" cmp -s "$room/x.jsonl" "$room/all"
embed <"$room/in" --output "$room/x.npy"
check "header and 4 x 32 floats" [ "$(wc -c <"$room/x.npy")" = $((128 + 512)) ]
check "shape" grep -qa "'shape': (4, 32)" "$room/x.npy"
# The numbers of the lines are those of the array, as short as they can be.
numbers() {
  tr -s ' ,' '\n' | grep . | awk '{ printf "%.17g\n", $1 }'
}
check "numbers" cmp -s \
  <(sed 's/.*\[//; s/\].*//' "$room/all" | numbers) \
  <(tail -c 512 "$room/x.npy" | od -An -v -tf4 | numbers)
# In halves: other bits, near by: within 2 % of the vector's length.
near() {
  awk -v FS='[][ ,]+' 'NR == FNR { line[FNR] = $0; next }
    { n = split(line[FNR], a); d = s = 0
      for (i = 2; i <= n; i++) { d += ($i - a[i]) ^ 2; s += a[i] ^ 2 }
      if (d == 0 || d > 4e-4 * s) exit 1 }' "$@"
}
for dtype in f16 bf16; do
  embed --dtype $dtype <"$room/in" >"$room/half"
  check "$dtype: a line each" [ "$(lines "$room/half")" = 4 ]
  check "$dtype is near f32" near "$room/all" "$room/half"
done
embed --normalize <"$room/in" >"$room/out"
check "another vector" [ "$(head -1 "$room/out")" != "$(head -1 "$room/all")" ]

embed </dev/null >"$room/out"
check "nothing for nothing" [ $? = 0 -a ! -s "$room/out" ]
printf 'a\xff\xfeb\xc3\n' | embed >"$room/out"
check "bytes that are no UTF-8" [ "$(lines "$room/out")" = 1 ]
head -c 300000 /dev/zero | tr '\0' 'a' | embed >"$room/out"
check "a long word" [ "$(lines "$room/out")" = 1 ]
head -c 300000 /dev/zero | sed 's/\x0/a b /g' | embed >"$room/out"
check "many words" [ "$(lines "$room/out")" = 1 ]

fails 2 'no option --frob' --frob 3
fails 2 'dtype "f12"' --dtype f12
fails 2 '--batch 0: wants an integer from 1' --batch 0
fails 2 'a value is missing after --batch' --batch
fails 1 '65 tokens, the model has 64 positions' --max-length 65 <"$room/in"
fails 1 'not .npy and not .jsonl' --output "$room/x.txt" <"$room/in"
fails 1 'line 2: "text" is no string' --jsonl \
  < <(printf '{"text": "a"}\n{"text": 3}\n')
check "lines before the bad one" [ "$(lines "$room/out")" = 1 ]
fails 1 'line 1: no JSON' --jsonl <<<'{"text": '
fails 1 'line 1: no JSON object' --jsonl <<<'[1]'
fails 1 'line 1: no JSON' --jsonl --output "$room/y.npy" <<<'3'
check "no file after an error" [ -z "$(ls "$room" | grep y.npy)" ]
model=$room/none fails 1 'none is no folder'
mkdir "$room/empty"
model=$room/empty fails 1 'config.json cannot be opened'
cp -r examples/data/bert-tiny "$room/broken"
echo '{"pooling_mode_lasttoken": true}' >"$room/broken/1_Pooling/config.json"
model=$room/broken fails 1 '"pooling_mode_lasttoken" is a pooling not known'
rm -r "$room/broken/1_Pooling" "$room/broken/model.safetensors"
model=$room/broken fails 1 'model.safetensors'
[ $failed = 0 ] && echo "calx embed does what it says"
exit $failed
