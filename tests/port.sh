#!/bin/bash
# port.sh BUILD - calx import and calx run on records and programs, right and
# wrong; the C program of docs/porting.md prints what stands there.
build=$(cd "$1" && pwd)
calx=$build/bin/calx
if [ ! -x "$calx" ]; then
  echo "port: skipped, the command is not built"
  exit 77
fi
root=$PWD
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room" || exit 1
broken=0
complain() {
  echo "port: $1"
  broken=1
}
# status, text that the output must have, command
want() {
  local status=$1 text=$2 out got
  shift 2
  out=$("$@" 2>&1)
  got=$?
  [ $got = "$status" ] || complain "status $got, not $status: $*: $out"
  [[ $out == *"$text"* ]] || complain "\"$text\" is not in \"$out\" of $*"
}

# -- import -------------------------------------------------------------------

record() { # PRIMITIVE SIGNATURE
  cat <<EOF
{"signature": "$2", "jaxpr": {"consts": [], "in":
  [{"v": 0, "dtype": "float32", "shape": [3]}], "eqns": [{"p": "$1", "i": [0],
  "o": [{"v": 1, "dtype": "float32", "shape": [3]}], "k": {}}], "out": [1]}}
EOF
}
signature="function f(x: f32[3]) -> f32[3]"
record sin "$signature" >good.json
record fft "$signature" >fft.json
record sin "" >unsigned.json
sed 's/"signature": "[^"]*", //' good.json >none.json
sed 's/\[1\]}}/[7]}}/' good.json >unbound.json
head -c 60 good.json >cut.json
sed 's/float32/complex64/' good.json >complex.json
want 0 "" "$calx" import good.json f.calx
want 1 "Calx has nothing for fft" "$calx" import fft.json g.calx
want 1 "Calx has nothing for complex64" "$calx" import complex.json g.calx
want 1 "no signature" "$calx" import none.json g.calx
want 1 "used before it is bound" "$calx" import unbound.json g.calx
want 1 "cut.json" "$calx" import cut.json g.calx
want 1 "nowhere.json" "$calx" import nowhere.json g.calx
want 1 "cannot be written" "$calx" import good.json nowhere/g.calx
want 2 "usage: calx import" "$calx" import good.json
sine='{"jaxpr": {"consts": [], "in": [{"v": 0, "dtype": "float32",
  "shape": [3]}], "eqns": [{"p": "sin", "i": [0], "o": [{"v": 1,
  "dtype": "float32", "shape": [3]}], "k": {}}], "out": [1]}}'
with_rule() { # RESIDUALS-OF-FWD OPERANDS-HANDED-ON
  cat <<EOF
{"signature": "$signature", "jaxpr": {"consts": [], "in": [{"v": 0,
  "dtype": "float32", "shape": [3]}], "eqns": [{"p": "custom_vjp_call",
  "i": [0], "o": [{"v": 1, "dtype": "float32", "shape": [3]}], "k": {
  "call_jaxpr": $sine, "num_consts": 0, "fwd_jaxpr": $sine, "fwd_num_res": $1,
  "fwd_input_fwds": $2, "bwd_jaxpr": $sine, "bwd_out_zeros": [false]}}],
  "out": [1]}}
EOF
}
with_rule 0 "[]" >rule.json
want 0 "" "$calx" import rule.json rule.calx
with_rule 9 "[]" >rule.json
want 1 "fwd has other operands" "$calx" import rule.json g.calx
for k in 1 -1; do
  with_rule 0 "[$k]" >rule.json
  want 1 "an operand that there is not" "$calx" import rule.json g.calx
done
[ -e g.calx ] && complain "a refused record left a program"
grep -q '^function f(x: f32\[3\]) -> f32\[3\]$' f.calx || complain "f.calx"
printf '{"jaxpr": {"in": 5, "eqns": {}, "out": "x"}, "signature": "s"}' >odd.json
want 1 "odd.json" "$calx" import odd.json g.calx
record sin "function f(x: f32[4]) -> f32[3]" >misfit.json
want 1 "the signature's input 0 is f32[4]" "$calx" import misfit.json g.calx
for p in dot_general conv_general_dilated scatter-add clamp; do
  record $p "$signature" | sed 's/"i": \[0\]/"i": []/' >few.json
  want 1 "few.json: an operand is missing" "$calx" import few.json g.calx
done
# Three hundred jaxprs inside each other.
python3 - <<'EOF' 2>/dev/null || echo '{}' >deep.json
text = '{"consts":[],"in":[],"eqns":[],"out":[]}'
for _ in range(300):
    text = ('{"consts":[],"in":[],"out":[],"eqns":[{"p":"jit","i":[],"o":[],'
            '"k":{"jaxpr":{"jaxpr":' + text + '}}}]}')
open("deep.json", "w").write('{"signature":"function f() -> ()","jaxpr":' +
                             text + "}")
EOF
want 1 "" "$calx" import deep.json g.calx

# -- run ------------------------------------------------------------------------

data=$root/tests/data/jax
cp "$data"/mlp_loss.calx "$data"/mlp_loss.in.safetensors .
want 0 "" "$calx" run mlp_loss.calx --inputs mlp_loss.in.safetensors
want 0 "best of 2 more" "$calx" run mlp_loss.calx --inputs \
  mlp_loss.in.safetensors --grad params --outputs g.safetensors --time 2
want 0 "1.layers.0.b" "$calx" inspect g.safetensors
want 2 "labels: i32[6]" "$calx" run mlp_loss.calx
want 1 "no parameter named" "$calx" run mlp_loss.calx --inputs g.safetensors
want 2 "no argument is called y" "$calx" run mlp_loss.calx --inputs \
  mlp_loss.in.safetensors --grad y
want 1 "suffix must be .calx" "$calx" run good.json
want 2 "a program is missing" "$calx" run
want 2 "a program is missing" "$calx" run --plan
want 0 "usage: calx run PROGRAM" "$calx" run --help
want 2 "more than one --inputs" "$calx" run mlp_loss.calx --inputs a --inputs b
want 0 "--inputs FILE" "$calx" run x --help
want 0 "" "$calx" run mlp_loss.calx --inputs mlp_loss.in.safetensors --plan
want 0 "dropped" "$calx" run "$data/dropout.calx" --inputs \
  "$data/dropout.in.safetensors"

# Files of one argument, whose names lack the argument's: as --save writes.
cat >sum.calx <<'EOF'
function sum(p: {a: f32[], b: f32[]}, x: f32[], y: f32[]) -> f32[]
program @sum(%0: f32[], %1: f32[], %2: f32[], %3: f32[]) {
  %4: f32[] = sub %0, %1
  %5: f32[] = mul %4, %2
  %6: f32[] = add %5, %3
  return %6
}
EOF
scalars() { # FILE NAME VALUE ...
  python3 - "$@" <<'EOF'
import json, struct, sys
path, *rest = sys.argv[1:]
values = [float(x) for x in rest[1::2]]
head = json.dumps({n: {"dtype": "F32", "shape": [],
                       "data_offsets": [4 * i, 4 * i + 4]}
                   for i, n in enumerate(rest[::2])}).encode()
with open(path, "wb") as f:
    f.write(struct.pack("<Q", len(head)) + head)
    f.write(struct.pack(f"<{len(values)}f", *values))
EOF
}
want 2 "no ARGUMENT=FILE: q=p" "$calx" run sum.calx q=p
want 2 "no ARGUMENT=FILE: p" "$calx" run sum.calx p
want 2 "twice: p=b" "$calx" run sum.calx p=a p=b
want 2 "--inputs is missing" "$calx" run sum.calx p=a x=b
want 1 "nowhere" "$calx" run sum.calx p=nowhere.npz x=x y=y
if command -v python3 >/dev/null; then
  scalars p.safetensors a 7 b 2
  scalars x.safetensors array 3
  scalars xy.safetensors x 3 y 4
  scalars y.safetensors y 4
  want 0 19 "$calx" run sum.calx p=p.safetensors --inputs xy.safetensors
  want 0 19 "$calx" run sum.calx p=p.safetensors x=x.safetensors --inputs \
    y.safetensors
  want 1 "sum.calx takes" "$calx" run sum.calx p=x.safetensors --inputs \
    xy.safetensors
fi

# -- the page -------------------------------------------------------------------

block() { # LANGUAGE: the first block of it in the page
  awk -v fence='```'"$1" '$0 == fence && !n { on = n = 1; next }
    /^```/ { on = 0 } on' "$root/docs/porting.md"
}
block c >page.c
cp "$data"/porting/* .
pc=(jansson libzip)
if [ -f "$build/libcalx.a" ] && command -v pkg-config >/dev/null &&
  grep -q 'CMAKE_C_FLAGS:STRING=$' "$build/CMakeCache.txt"; then
  if ${CC:-cc} -I"$root/include" page.c -o page "$build/libcalx.a" \
    $(pkg-config --libs "${pc[@]}") -lm -lpthread -ldl; then
    diff <(./page) <(block text) || complain "docs/porting.md prints otherwise"
  else
    complain "the program of docs/porting.md does not compile"
  fi
fi
[ $broken = 0 ] && echo "import, run and the page hold"
exit $broken
