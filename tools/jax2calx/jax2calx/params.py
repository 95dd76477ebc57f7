"""Parameters of equations as JSON: the table of the record's format."""
import enum
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


def _policy(f):
    """{"fn": name, "names": [...]} of a checkpoint policy or other function."""
    out = {"fn": getattr(f, "__qualname__", type(f).__qualname__)}
    out["fn"] = out["fn"].split(".")[0]
    cells = [c.cell_contents for c in getattr(f, "__closure__", None) or ()]
    names = [c for c in cells if isinstance(c, (set, frozenset, tuple, list))]
    if names and all(isinstance(x, str) for x in names[0]):
        out["names"] = sorted(names[0])
    return out


def _number(x):
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return x


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
        return _policy(x)
    raise refuse.CannotExport(f"{where}: a {type(x).__name__} is not known")
