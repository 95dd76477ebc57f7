"""Parameters of equations as JSON: the table of the record's format."""
import enum
import inspect
import math

import numpy as np

from . import refuse

# Without effect on values.
DROPPED = {
    "accuracy", "compiler_options_kvs", "ctx_mesh", "debug", "debug_info",
    "donated_invars", "in_layouts", "in_shardings", "inline", "keep_unused",
    "layout", "mesh", "out_layouts", "out_sharding", "out_shardings",
    "resource_env", "sharding", "spmd_axis_name", "_split_transpose",
}


def array(x):
    """Elements of a NumPy array in base64."""
    import base64
    data = np.ascontiguousarray(x)
    return {
        "dtype": str(x.dtype),
        "shape": list(x.shape),
        "b64": base64.b64encode(data.tobytes()).decode(),
    }


def _names_in(f):
    """The names that a policy's closure or its fields hold."""
    cells = [c.cell_contents for c in getattr(f, "__closure__", None) or ()]
    cells += list(getattr(f, "__dict__", {}).values())
    sets = [c for c in cells if isinstance(c, (set, frozenset, tuple, list))]
    return {x for c in sets for x in c if isinstance(x, str)}


def _function(f):
    """{"fn": name} of a function that is a parameter."""
    name = getattr(f, "__qualname__", type(f).__qualname__)
    return {"fn": name.split(".")[0]}


# What JAX also calls a policy, or a policy that saves the same. Values offloaded
# to the host lie there as they are.
SAME = {
    "SaveOnlyTheseNames": "save_only_these_names",
    "SaveAnyNamesButThese": "save_any_names_but_these",
    "checkpoint_dots": "dots_saveable",
    "checkpoint_dots_with_no_batch_dims": "dots_with_no_batch_dims_saveable",
    "offload_dot_with_no_batch_dims": "dots_with_no_batch_dims_saveable",
    "save_and_offload_only_these_names": "save_only_these_names",
    "save_anything_except_these_names": "everything_saveable",
}
NAMED = {"save_only_these_names", "save_any_names_but_these"}
# Which of two policies saves what both do.
WIDER = [
    "nothing_saveable", "dots_with_no_batch_dims_saveable", "dots_saveable",
    "everything_saveable",
]


def _either(a, b):
    """The policy that saves what a or b does; None: no single one."""
    if a["fn"] in NAMED and b["fn"] in NAMED:
        if a["fn"] != b["fn"]:
            return None
        both = set(a["names"]) | set(b["names"])
        if a["fn"] == "save_any_names_but_these":
            both = set(a["names"]) & set(b["names"])
        return {"fn": a["fn"], "names": sorted(both)}
    if a["fn"] in NAMED:
        a, b = b, a
    if b["fn"] not in NAMED:
        return max(a, b, key=lambda p: WIDER.index(p["fn"]))
    if a["fn"] == "everything_saveable":
        return a
    if b["fn"] == "save_any_names_but_these":
        return b if a["fn"] == "nothing_saveable" else None
    return {"fn": a["fn"], "names": b["names"]}


def policy(f):
    """{"fn": name, "names": [...]} of a checkpoint policy of JAX's."""
    out = _function(f)
    if not (getattr(f, "__module__", None) or "").startswith("jax."):
        raise refuse.CannotExport(
            f"checkpoint: its policy {out['fn']} is a Python function; use one "
            "of jax.checkpoint_policies")
    if out["fn"] == "save_from_both_policies":
        both = inspect.getclosurevars(f).nonlocals
        out = _either(policy(both["policy_1"]), policy(both["policy_2"]))
        if out is None:
            raise refuse.CannotExport(
                "checkpoint: save_from_both_policies of two that Calx has no "
                "single policy for")
        return out
    if out["fn"] == "DotsSaveable":
        out["fn"] = ("dots_with_no_batch_dims_saveable"
                     if f.only_if_no_batch_dims else "dots_saveable")
    out["fn"] = SAME.get(out["fn"], out["fn"])
    if out["fn"] in NAMED:
        out["names"] = sorted(_names_in(f))
    elif out["fn"] not in WIDER:
        raise refuse.CannotExport(
            f"checkpoint: the policy {out['fn']} is not known")
    return out


def _number(x):
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return x


def fill_value(x, where):
    """What a gather fills in, which Calx keeps as a number of f64: an integer
    that it holds, or the greatest of 64 bits, which it is cut to."""
    if isinstance(x, np.generic):
        x = x.item()
    if not isinstance(x, int) or isinstance(x, bool):
        return encode(x, where, None)
    if int(float(x)) == x:
        return x if abs(x) < 2 ** 53 else float(x)
    if x in (2 ** 63 - 1, 2 ** 64 - 1):
        return float(x)
    raise refuse.CannotExport(f"{where}: {x} is no number of f64")


def encode(x, where, nested):
    """A value as JSON; nested(jaxpr) writes a jaxpr that it holds."""
    if isinstance(x, enum.Enum):  # first: some are integers too
        return {"enum": x.name}
    if x is None or isinstance(x, (bool, int, str)):
        return x
    if isinstance(x, float):
        return _number(x)
    if isinstance(x, np.generic):
        return encode(x.item(), where, nested)
    if isinstance(x, (np.dtype, type)) or hasattr(x, "_rules"):
        try:
            return {"dtype": str(np.dtype(x))}
        except TypeError:
            return {"dtype": str(x)}
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return {k: encode(v, where, nested) for k, v in x._asdict().items()}
    if isinstance(x, (tuple, list)):
        return [encode(v, where, nested) for v in x]
    if hasattr(x, "eqns"):
        return nested(x)
    if isinstance(x, np.ndarray):
        return array(x)
    if type(x).__name__ == "PRNGImpl":
        return x.tag
    if hasattr(x, "bind") and hasattr(x, "name"):
        return {"prim": x.name}
    if hasattr(x, "__dataclass_fields__"):
        return {k: encode(getattr(x, k), where, nested)
                for k in x.__dataclass_fields__ if getattr(x, k) is not None}
    if callable(x):
        return _function(x)
    raise refuse.CannotExport(f"{where}: a {type(x).__name__} is not known")
