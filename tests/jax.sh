#!/bin/bash
# jax.sh BUILD - where Python has JAX, Flax and optax, tests/jax/functions.py is
# recorded anew and compared with tests/data/jax. PYTHON names the interpreter.
python=${PYTHON:-python3}
if ! "$python" -c 'import jax, flax, optax' 2>/dev/null; then
  echo "jax: skipped, $python has no jax, flax and optax"
  exit 77
fi
JAX_PLATFORMS=cpu exec "$python" tests/jax/make.py "$1/bin/calx" --check
