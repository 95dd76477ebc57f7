"""jax2calx - JAX functions as programs that Calx loads.

    import jax2calx
    jax2calx.export("model", predict, params, x, save=("params",))

writes model.calx (a program with a signature, which C reads with cx_load_fn),
model.safetensors (arrays that the function closed over) and
model.params.safetensors (the argument itself, which C reads with cx_load).
docs/porting.md of Calx has the whole story.
"""
from .export import export, find_calx, record
from .refuse import CannotExport

__all__ = ["CannotExport", "export", "find_calx", "record"]
