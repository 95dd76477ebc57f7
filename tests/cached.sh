#!/usr/bin/env bash
# cached.sh BUILD - the bits of recorded programs with loops: without code, with
# code that is made now, read from files, made by another thread; on 1, 2 and 4
# threads, by the reference, on other instruction sets. And the command that
# looks after the files.
set -u
calx=$1/bin/calx
case $(CALX_LLVM=now CX_DUMP=code CALX_CACHE=off "$calx" conform \
  tests/data/conformance/driver_control.jsonl.gz 2>&1) in
*"code: generated"*) ;;
*) echo "skipped: no code is generated"; exit 77 ;;
esac
export CALX_CACHE_DIR
CALX_CACHE_DIR=$(mktemp -d)/calx
trap 'rm -rf "$(dirname "$CALX_CACHE_DIR")"' EXIT
unset CALX_CACHE
failed=0
complain() { echo "cached: $1"; failed=1; }
files="tests/data/conformance/driver_control.jsonl.gz
  tests/data/conformance/lax_control_flow_test.jsonl.gz"

# Runs the files; told: digest, pieces of code made, read.
told() { # MODE OPTION...
  local mode=$1 out
  shift
  out=$(CX_DUMP=code "$calx" conform --known tests/conform_known.tsv --digest \
    --mode "$mode" "$@" $files 2>&1) || echo "conform failed"
  echo "$(grep '^digest' <<<"$out")" "$(grep -c '^code: generated' <<<"$out")" \
    "$(grep -c '^code: from' <<<"$out")"
}
for mode in eval grad; do
  read -r _ want made from <<<"$(CALX_LLVM=off told $mode)"
  [ "$made $from" = "0 0" ] || complain "$mode, off: $made made, $from read"
  same() { # WHAT DIGEST
    [ "$2" = "$want" ] || complain "$mode, $1: the bits differ"
  }
  read -r _ digest made from <<<"$(CALX_LLVM=now told $mode)"
  same cold "$digest"
  [ "$made" -gt 10 ] || complain "$mode, cold: $made made"
  for threads in 1 2 4; do
    read -r _ digest made from <<<"$(CALX_LLVM=now told $mode --threads $threads)"
    same "warm, $threads threads" "$digest"
    [ "$made" = 0 ] && [ "$from" -gt 10 ] ||
      complain "$mode, warm: $made made, $from read"
    # another thread makes it, while the loop goes on
    read -r _ digest _ <<<"$(CALX_LLVM=auto CALX_LLVM_AFTER=0 CALX_CACHE=off \
      told $mode --threads $threads)"
    same "by another thread, $threads threads" "$digest"
    read -r _ digest _ <<<"$(CALX_LLVM=auto CALX_LLVM_AFTER=0 \
      told $mode --threads $threads)"
    same "auto, warm, $threads threads" "$digest"
  done
  read -r _ digest _ <<<"$(CALX_LLVM=wait CALX_LLVM_AFTER=5 told $mode)"
  same wait "$digest"
  read -r _ digest _ <<<"$(told $mode --executor reference)"
  same reference "$digest"
  echo "$mode: $want $from pieces of code"
done

# Other instruction sets have their own files.
files=tests/data/conformance/driver_control.jsonl.gz
read -r _ want _ <<<"$(CALX_LLVM=off told eval)"
for isa in base avx2; do
  for pass in cold warm; do
    read -r _ digest made from <<<"$(CALX_LLVM=now CX_ISA=$isa told eval)"
    [ "$digest" = "$want" ] || complain "$isa, $pass: the bits differ"
  done
  [ "$made" = 0 ] || complain "$isa: made again when warm"
done

# -- calx cache -------------------------------------------------------------------
n=$(ls "$CALX_CACHE_DIR" | wc -l)
"$calx" cache show | grep -q "^$n entries, [0-9]* bytes, 0 broken" ||
  complain "show does not tell of $n entries"
"$calx" cache verify >/dev/null || complain "verify finds faults"
truncate -s 100 "$CALX_CACHE_DIR/$(ls "$CALX_CACHE_DIR" | head -n 1)"
"$calx" cache verify | grep -q "it is not whole" ||
  complain "verify does not see what was cut"
"$calx" cache verify | grep -q "^$((n - 1)) entries, [0-9]* bytes, 0 broken" ||
  complain "verify left what was cut"
[ "$("$calx" cache clear)" = "$((n - 1)) entries removed" ] ||
  complain "clear tells another number"
[ -z "$(ls "$CALX_CACHE_DIR")" ] || complain "clear left something"
chmod 755 "$CALX_CACHE_DIR"
"$calx" cache show | grep -q "chmod 700" || complain "show accepts mode 755"
chmod 700 "$CALX_CACHE_DIR"
"$calx" cache --help | grep -q "usage" || complain "no help"
for wrong in "" burn "show more"; do
  "$calx" cache $wrong >/dev/null 2>&1
  [ $? = 2 ] || complain "\"cache $wrong\" is not used wrongly"
done
exit $failed
