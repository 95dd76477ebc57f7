"""Arrays by name in a .safetensors file."""
import json
import os

import numpy as np

NAMES = {
    "bool": "BOOL", "int8": "I8", "uint8": "U8", "int16": "I16",
    "uint16": "U16", "int32": "I32", "uint32": "U32", "int64": "I64",
    "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32",
    "float64": "F64",
}


def save(path, arrays):
    """arrays: (name, array) pairs; the file is replaced as a whole."""
    ordered = sorted(((n, np.ascontiguousarray(np.asarray(x)).reshape(np.shape(x)))
                      for n, x in arrays),
                     key=lambda p: (-p[1].dtype.itemsize, p[0]))
    header, at = {}, 0
    for name, x in ordered:
        header[name] = {"dtype": NAMES[str(x.dtype)], "shape": list(x.shape),
                        "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for _, x in ordered:
            f.write(x.tobytes())
    os.replace(path + ".part", path)
