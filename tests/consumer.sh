#!/bin/bash
# Installs the build given as $1 into a folder of its own, moves it, and builds
# tests/consumer against it by its CMake package and by pkg-config.
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

export PKG_CONFIG_PATH=$library/pkgconfig
${CC:-cc} $flags -std=c11 -Wall -Wextra -Wpedantic -Werror \
  tests/consumer/main.c $(pkg-config --cflags --libs calx) \
  -o "$folder/by-pkg-config"
"$folder/by-pkg-config"
