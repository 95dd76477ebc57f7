#!/bin/bash
# xl.sh BUILD: calx xl train and generate: the same bits however run, errors.
calx=$1/bin/calx
[ -x "$calx" ] || { echo "no $calx in this build"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
text=$folder/text
for i in $(seq 900); do echo "line $i: the $((i * 7919 % 1000)) of them"; done \
  >"$text"
gzip -k "$text"
broken=0
complain() {
  echo "xl: $1"
  broken=1
}

small=(--layers 1 --width 16 --heads 2 --inner 32 --memory 8 --segment 8
  --batch 4 --warmup 0.2 --dropout 0.1)
train() { # OUTPUT [OPTION...]
  local output=$folder/$1.safetensors
  shift
  "$calx" xl train --text "$text" --output "$output" "${small[@]}" "$@" \
    >"$folder/log" 2>&1 || { complain "train $*"; cat "$folder/log"; }
}
same() {
  cmp -s "$folder/$1.safetensors" "$folder/$2.safetensors" ||
    complain "$1 and $2 differ"
}

train whole --steps 300 --threads 1
grep -q 'held out: [0-9.]* bits' "$folder/log" || complain "no held-out bits"
grep -q 'planned .* measured' "$folder/log" || complain "no memory figures"
train again --steps 300 --threads 1
same whole again
train two --steps 300 --threads 2
same whole two
train less --steps 300 --threads 2 --checkpoint
cmp -s <("$calx" inspect "$folder/less.safetensors" | grep params) \
  <("$calx" inspect "$folder/whole.safetensors" | grep params) ||
  complain "checkpoint: other parameters"
train part --steps 300 --stop 170
train resumed --steps 300 --resume "$folder/part.safetensors"
same whole resumed
text=$text.gz train zipped --steps 300
same whole zipped
train other --steps 300 --seed 1
cmp -s "$folder/whole.safetensors" "$folder/other.safetensors" &&
  complain "another seed, the same bits"

# A step's memory, growth measured against the plan's peak: within 10 %. The
# sanitizers have memory of their own.
if ! grep -qaE '__(asan|tsan)_init' "$calx"; then
  "$calx" xl train --text "$text" --output "$folder/plan.safetensors" \
    --steps 3 --threads 2 --checkpoint >"$folder/log" || complain "default sizes"
  off=$(sed -n 's/.*measured.*(\([-+][0-9]*\).*/\1/p' "$folder/log")
  [ "${off#[-+]}" -lt 10 ] ||
    complain "memory: $(grep measured "$folder/log")"
fi

generate() {
  "$calx" xl generate --model "$folder/whole.safetensors" "$@"
}
[ "$(generate --length 50 --prompt 'line 1' | wc -c)" = 57 ] ||
  complain "generate: not 6 + 50 characters and a new line"
[ "$(generate --seed 3)" = "$(generate --seed 3 --threads 1)" ] ||
  complain "generate: one seed, two texts"
[ "$(generate --seed 3)" != "$(generate --seed 4)" ] ||
  complain "generate: two seeds, one text"
[ "$(generate --temperature 0 --seed 3)" = "$(generate --temperature 0)" ] ||
  complain "generate: the likeliest depends on the seed"

# refuses STATUS WORDS COMMAND...: that status, those words in the message.
refuses() {
  local status=$1 words=$2 got
  shift 2
  "$calx" xl "$@" >"$folder/out" 2>"$folder/error"
  got=$?
  if [ $got != "$status" ] || ! grep -q -- "$words" "$folder/error"; then
    complain "$*: status $got, said: $(cat "$folder/error")"
  fi
}
out=$folder/out.safetensors
: >"$folder/empty"
head -c 60 "$text" >"$folder/short"
head -c 200 "$text.gz" >"$folder/cut.gz"
cp "$text" "$folder/text.safetensors"
refuses 2 'no command' what
refuses 2 'text is missing' train
refuses 2 'output is missing' train --text "$text"
refuses 2 'no option --nothing' train --nothing 3
refuses 2 'value is missing' train --steps
refuses 2 'more than one --steps' train --steps 3 --steps 4
refuses 2 'wants an integer from' train --steps many
refuses 2 'wants an integer from' train --batch 0
refuses 2 'wants a number from' train --lr 1e99
refuses 2 'wants a number from' train --lr nan
refuses 2 'multiple' train --text "$text" --output "$out" --width 10 --heads 4
refuses 2 'safetensors' train --text "$text" --output "$folder/model.bin"
refuses 2 'stop' train --text "$text" --output "$out" --stop 4
refuses 1 'No such file' train --text "$folder/none" --output "$out"
refuses 1 'empty' train --text "$folder/empty" --output "$out"
refuses 1 '60 bytes' train --text "$folder/short" --output "$out"
refuses 1 'cut.gz' train --text "$folder/cut.gz" --output "$out"
refuses 1 'No such file' train --text "$text" \
  --output "$folder/none/model.safetensors"
refuses 1 'text.safetensors' train --text "$text" --output "$out" \
  --resume "$folder/text.safetensors" "${small[@]}"
refuses 1 'batch' train --text "$text" --output "$out" \
  --resume "$folder/whole.safetensors" "${small[@]/#4/3}"
refuses 2 'model is missing' generate
refuses 1 'none.safetensors' generate --model "$folder/none.safetensors"
refuses 1 'text.safetensors' generate --model "$folder/text.safetensors"
refuses 1 'no model of calx xl' generate \
  --model tests/data/reference/txl/base/model.safetensors
refuses 1 'none of the model' generate \
  --model "$folder/whole.safetensors" --prompt '#'
refuses 2 'wants an integer' generate --length -3

for command in train generate; do
  "$calx" xl $command --help | grep -q 'usage: calx xl' ||
    complain "$command --help"
done
exit $broken
