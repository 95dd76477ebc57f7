"""Prints the public names of JAX and optax by module, for tests/data/jax_names.txt.

    python tests/jax/names.py >tests/data/jax_names.txt
"""
import importlib
import inspect
import warnings

MODULES = """
jax jax.lax jax.numpy jax.numpy.linalg jax.numpy.fft jax.nn jax.nn.initializers
jax.random jax.scipy.special jax.scipy.linalg jax.scipy.signal jax.scipy.stats
jax.scipy.cluster.vq jax.scipy.optimize jax.scipy.integrate jax.scipy.interpolate
jax.scipy.ndimage jax.scipy.fft jax.scipy.sparse.linalg jax.lax.linalg jax.ops
jax.tree jax.tree_util jax.ad_checkpoint jax.checkpoint_policies
jax.custom_derivatives jax.debug jax.image jax.test_util
jax.experimental.checkify jax.flatten_util jax.export jax.dtypes jax.errors
jax.sharding optax optax.losses optax.schedules optax.tree optax.tree_utils
optax.projections
""".split()


def find(name):
    """A module, or an object that stands for one (jax.checkpoint_policies)."""
    try:
        return importlib.import_module(name)
    except ImportError:
        parent, _, last = name.rpartition(".")
        return getattr(importlib.import_module(parent), last)


def names_of(module):
    out = []
    for name in dir(module):
        x = getattr(module, name, None)
        if name.startswith("_"):
            continue
        if not inspect.ismodule(x):
            out.append(name)
        elif module.__name__ == "jax.scipy.stats":  # one for each distribution
            out += [f"{name}.{inner}" for inner in names_of(x)]
    return out


warnings.simplefilter("ignore")
for each in MODULES:
    print(each, *sorted(names_of(find(each))))
