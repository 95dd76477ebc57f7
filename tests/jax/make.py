"""Records tests/jax/functions.py with jax2calx: programs, results, gradients.

    python tests/jax/make.py CALX [--check]   in the root of the tree

Writes tests/data/jax; with --check it records anew elsewhere and compares: the
results and gradients that JAX computes now, within 1e-5, and what it refuses.
"""
import argparse
import os
import sys
import tempfile

import jax
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tools", "jax2calx")]

import jax2calx  # noqa: E402
from jax2calx import safetensors, trees  # noqa: E402
from jax2calx.export import _names_of  # noqa: E402

import functions  # noqa: E402


def named_leaves(label, pytree):
    """(path, array) of each leaf; keys as their two words."""
    flat, tree = trees.flatten(pytree)
    out = []
    for path, i in trees.paths(tree):
        x = flat[i]
        if jax.dtypes.issubdtype(getattr(x, "dtype", None),
                                 jax.dtypes.prng_key):
            x = jax.random.key_data(x)
        name = ".".join(p for p in (label, path) if p)
        out.append((name or "array", np.asarray(x)))
    return out


def numbered(pytree):
    """A result by the paths that Calx gives it."""
    return named_leaves("", pytree)


def gradient(f, args, places):
    """Value and gradients, as cx_value_and_grad gives them."""
    value, grads = jax.value_and_grad(f, argnums=places)(*args)
    return value, grads if len(places) > 1 else grads[0]


def changed(tree, change):
    """Another value for each leaf of floats."""
    return jax.tree.map(
        lambda x: change(x) if np.issubdtype(x.dtype, np.floating) else x, tree)


def tangent(f, args, places):
    """(value, tangent) for the tangents 1 - x / 2."""
    wrt = [args[i] for i in places]

    def of_wrt(*wrt):
        given = list(args)
        for i, x in zip(places, wrt):
            given[i] = x
        return f(*given)
    return jax.jvp(of_wrt, wrt, changed(wrt, lambda x: 1 - x / 2))


def refuse_tangent(path, name, f, args, places):
    """The name of the function that has no forward mode, in JAX neither."""
    try:
        tangent(f, args, places)
    except TypeError as e:
        if "forward-mode autodiff (jvp)" not in str(e):
            raise
    else:
        raise AssertionError(f"{path}: JAX has a forward mode")
    with open(path + ".jvp.refused", "w", encoding="ascii") as out:
        out.write(name + "\n")


def make_batch(path, f, args):
    """Of two lanes, the second x / 2."""
    both = jax.tree.map(lambda x, y: np.stack([x, y]), args,
                        changed(args, lambda x: x / 2))
    safetensors.save(path + ".vmap.safetensors", numbered(jax.vmap(f)(*both)))


def make(name, folder, calx):
    f, args, wrt, also, no_jvp = functions.ENTRIES[name]
    names = _names_of(f, len(args))
    path = os.path.join(folder, name)
    jax2calx.export(path, f, *args, calx=calx)
    inputs = [pair for label, a in zip(names, args)
              for pair in named_leaves(label, a)]
    safetensors.save(path + ".in.safetensors", inputs)
    safetensors.save(path + ".out.safetensors",
                     numbered(jax.jit(f)(*args)))
    places = tuple(names.index(w) for w in wrt)
    if "jvp" in also:
        safetensors.save(path + ".jvp.safetensors",
                         numbered(tangent(f, args, places)))
    if no_jvp:
        refuse_tangent(path, no_jvp, f, args, places)
    if "vmap" in also:
        make_batch(path, f, args)
    if wrt:
        with open(path + ".wrt", "w", encoding="ascii") as out:
            out.write(" ".join(str(i) for i in places) + "\n")
        try:
            safetensors.save(path + ".grad.safetensors",
                             numbered(gradient(f, args, places)))
        except ValueError as e:  # custom_vmap has no transpose
            if "does not support reverse-mode" not in str(e):
                raise


def refused(text):
    f, args = functions.REFUSED[text]
    try:
        jax2calx.record(f, *args)
    except jax2calx.CannotExport as e:
        return text in str(e)
    return False


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    n = int.from_bytes(data[:8], "little")
    import json
    out = {}
    for name, e in json.loads(data[8:8 + n]).items():
        dtype = {"BF16": "bfloat16", "F16": "float16", "F32": "float32",
                 "I32": "int32", "U8": "uint8", "U32": "uint32",
                 "BOOL": "bool"}[e["dtype"]]
        a, b = e["data_offsets"]
        x = np.frombuffer(data[8 + n:][a:b], jax.numpy.dtype(dtype))
        out[name] = x.reshape(e["shape"])
    return out


def same(folder, name, kind):
    old, new = (os.path.join(d, f"{name}.{kind}.safetensors")
                for d in (os.path.join(ROOT, "tests/data/jax"), folder))
    a, b = read(old), read(new)
    if a.keys() != b.keys():
        return False
    return all(np.allclose(a[k].astype(np.float64), b[k].astype(np.float64),
                           1e-5, 1e-5, equal_nan=True) for k in a)


def check(calx):
    wrong = [f"{t} is not refused" for t in functions.REFUSED if not refused(t)]
    with tempfile.TemporaryDirectory() as folder:
        for name in functions.ENTRIES:
            make(name, folder, calx)
            for kind in ("out", "grad", "jvp", "vmap"):
                path = os.path.join(folder, f"{name}.{kind}.safetensors")
                if os.path.exists(path) and not same(folder, name, kind):
                    wrong.append(f"{name}: other {kind} than recorded")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("calx")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--to", default=os.path.join(ROOT, "tests/data/jax"))
    parser.add_argument("--only", nargs="+", dest="names", default=[])
    given = parser.parse_args()
    if given.check:
        wrong = check(given.calx)
        print("\n".join(wrong) or f"{len(functions.ENTRIES)} functions agree, "
              f"JAX {jax.__version__}")
        sys.exit(1 if wrong else 0)
    os.makedirs(given.to, exist_ok=True)
    for name in given.names or functions.ENTRIES:
        try:
            make(name, given.to, given.calx)
        except Exception as e:
            print("FAILED", name, type(e).__name__, e)
            if given.names: raise


if __name__ == "__main__":
    main()
