"""What cannot be exported, said by name."""


class CannotExport(Exception):
    """The function holds something that Calx has no meaning for."""


CALLBACK = ("a call of Python cannot be exported; export what stands before and "
            "behind it, and call C between them (cx_callback)")
PRINT = ("a call of Python cannot be exported; leave it out, or print in C "
         "(cx_debug_print)")
# Primitives by what they stand for; others are refused by their own name when
# the record is lowered.
REASONS = {
    "fft": "Calx has no complex numbers and no FFT",
    "sharding_constraint": "programs of several devices cannot be exported",
    "shard_map": "programs of several devices cannot be exported",
    "mesh_cast": "programs of several devices cannot be exported",
    "reshard": "programs of several devices cannot be exported",
    "pmap": "programs of several devices cannot be exported",
    "xla_pmap": "programs of several devices cannot be exported",
    "pallas_call": "a kernel written for one machine cannot be exported",
    "linear_call": "a transpose of its own cannot be exported; write the "
                   "function as a custom_vjp, or without the rule",
    "dce_call": "a rule for unused results cannot be exported; export the "
                "function that it is for",
    "custom_dce_call": "a rule for unused results cannot be exported; export "
                       "the function that it is for",
    "custom_partitioning": "programs of several devices cannot be exported",
    "pure_callback": CALLBACK, "io_callback": CALLBACK,
    "debug_callback": PRINT, "debug_print": PRINT,
    "ref_get": "a mutable reference cannot be exported",
    "ref_set": "a mutable reference cannot be exported",
    "get": "a mutable reference cannot be exported",
    "swap": "a mutable reference cannot be exported",
    "addupdate": "a mutable reference cannot be exported",
    "run_state": "a mutable reference cannot be exported",
}


def primitive(name):
    """Refuses a primitive that is known to have no meaning in Calx."""
    if name in REASONS:
        raise CannotExport(f"{name}: {REASONS[name]}")


DTYPES = {
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
    "uint64", "float16", "bfloat16", "float32", "float64",
}


def dtype_name(dtype, where):
    """The record's name of a dtype; keys are "key<fry>"."""
    name = str(dtype)
    if name in DTYPES or name == "key<fry>":
        return name
    if name.startswith("key<"):
        raise CannotExport(f"{where}: keys of {name} (only threefry is known)")
    raise CannotExport(f"{where}: the dtype {name} has none in Calx")
