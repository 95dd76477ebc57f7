"""From a function and example arguments to the files that Calx loads."""
import inspect
import json
import os
import shutil
import subprocess
import warnings

import jax
import numpy as np

from . import jaxprs, refuse, safetensors, trees

TYPES = {
    "bool": "bool", "int8": "i8", "uint8": "u8", "int16": "i16",
    "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64",
    "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32",
    "float64": "f64", "key<fry>": "key",
}


def _type_text(aval):
    dtype = TYPES[refuse.dtype_name(aval.dtype, "an argument or result")]
    return f"{dtype}[{','.join(str(d) for d in aval.shape)}]"


def _names_of(f, n):
    """The names of the first n arguments, "x1" where the function has none."""
    try:
        parameters = inspect.signature(f).parameters.values()
        names = [p.name for p in parameters
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    names = names[:n]
    return names + [f"x{i + 1}" for i in range(len(names), n)]


def _signature(name, names, args, avals, result, out_avals):
    """The line in front of the program."""
    texts, parts, at = [_type_text(a) for a in avals], [], 0
    for label, tree in zip(names, args):
        n = len(trees.leaves(tree))
        parts.append(f"{trees.quoted(label)}: "
                     f"{trees.text(tree, texts[at:at + n])}")
        at += n
    out = trees.text(result, [_type_text(a) for a in out_avals])
    return f"function {trees.quoted(name)}({', '.join(parts)}) -> {out}"


def record(f, *args, name=None):
    """(record, constants): the function on arguments like `args` as JSON data,
    and the arrays that it closes over by their names in the record.

    args: pytrees of arrays or of jax.ShapeDtypeStruct. Raises CannotExport for
    what Calx has no meaning for."""
    name = name or getattr(f, "__name__", None) or "function"
    names = _names_of(f, len(args))
    closed, shape = jax.make_jaxpr(f, return_shape=True)(*args)
    flat_trees = [trees.flatten(a)[1] for a in args]
    out_flat, result = trees.flatten(shape)
    body = jaxprs.write(closed)
    body.inputs = _in_order(body.inputs, flat_trees)
    body.out = [body.out[i] for i in trees.leaves(result)]
    jaxpr = body.json()["jaxpr"]
    arrays = []
    for i, (x, binding) in enumerate(body.arrays.values()):
        jaxpr["consts"].append({**binding, "name": f"c{i}"})
        arrays.append((f"c{i}", np.asarray(x)))
    signature = _signature(name, names, flat_trees, closed.in_avals, result,
                           closed.out_avals)
    return {"name": name, "kind": "function", "jax": jax.__version__,
            "signature": signature, "jaxpr": jaxpr}, arrays


def _in_order(inputs, args):
    """The inputs of all arguments, the leaves of each in Calx's order."""
    out, at = [], 0
    for tree in args:
        order = trees.leaves(tree)
        out += [inputs[at + i] for i in order]
        at += len(order)
    return out


def find_calx():
    """The calx command: $CALX, or what PATH finds; None."""
    return os.environ.get("CALX") or shutil.which("calx")


def _save_argument(path, label, value):
    flat, tree = trees.flatten(value)
    named = [(p or "array", flat[i]) for p, i in trees.paths(tree)]
    for p, x in named:
        if isinstance(x, jax.ShapeDtypeStruct):
            raise refuse.CannotExport(f"argument {label}: {p} has no value")
    safetensors.save(f"{path}.{label}.safetensors", named)


def export(path, f, *args, name=None, save=(), calx=None):
    """Writes PATH.calx, and PATH.safetensors if the function closes over
    arrays; the arguments named in `save` go to PATH.NAME.safetensors.

    The text is made by the calx command (`calx import`), which is `calx`,
    $CALX or found in PATH. Without it PATH.jaxpr.json is left, with a warning:
    `calx import PATH.jaxpr.json PATH.calx` then makes the text."""
    data, constants = record(f, *args, name=name)
    names = _names_of(f, len(args))
    for label in save:
        if label not in names:
            raise ValueError(f"no argument is called {label}: {names}")
        _save_argument(path, label, args[names.index(label)])
    if constants:
        safetensors.save(f"{path}.safetensors", constants)
    source = f"{path}.jaxpr.json"
    with open(source, "w", encoding="utf-8") as out:
        json.dump(data, out, separators=(",", ":"))
    calx = calx or find_calx()
    if not calx:
        warnings.warn(f"no calx command: run  calx import {source} {path}.calx")
        return source
    done = subprocess.run([calx, "import", source, f"{path}.calx"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise refuse.CannotExport(done.stderr.strip() or f"{calx} failed")
    os.remove(source)
    return f"{path}.calx"
