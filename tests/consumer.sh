#!/bin/bash
# Installs the build given as $1 into a folder of its own, moves it, and builds
# the programs of tests/consumer against it by its CMake package and by
# pkg-config. A static build tests the static library, a shared one (./run
# shared) the shared one.
set -e
build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/first" >"$folder/log"
mv "$folder/first" "$folder/prefix"

flags=$(sed -n 's/^CMAKE_C_FLAGS:STRING=//p' "$build/CMakeCache.txt")
library=$(dirname "$(find "$folder/prefix" -name 'libcalx.*' | head -1)")
export LD_LIBRARY_PATH=$library

cmake -S tests/consumer -B "$folder/build" -DCMAKE_C_FLAGS="$flags" \
  -DCMAKE_PREFIX_PATH="$folder/prefix" >>"$folder/log"
cmake --build "$folder/build" >>"$folder/log" || { cat "$folder/log"; exit 1; }
"$folder/build/consumer"
"$folder/build/models"

export PKG_CONFIG_PATH=$library/pkgconfig
by_pkg_config() { # PROGRAM PACKAGE
  ${CC:-cc} $flags -std=c11 -Wall -Wextra -Wpedantic -Werror \
    "tests/consumer/$1.c" $(pkg-config --cflags --libs "$2") \
    -o "$folder/by-pkg-config"
  "$folder/by-pkg-config"
}
by_pkg_config main calx
by_pkg_config models calx-models
