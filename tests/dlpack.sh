#!/bin/bash
# dlpack.sh BUILD - arrays from NumPy and to it, where NumPy 2.1 or later is
# installed; a sanitizer's run-time cannot be loaded into Python.
module=$1/bin/tests/dlpack_peer.so
grep -q 'CMAKE_C_FLAGS:STRING=.*-fsanitize' "$1/CMakeCache.txt" && exit 77
python3 -c '
import numpy, sys
sys.exit(tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 1))
' 2>/dev/null || exit 77
exec python3 tests/dlpack/numpy_peer.py "$module"
