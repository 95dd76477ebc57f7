"""Arrays from NumPy to Calx and back through DLPack, without a copy where the
memory allows it. argv[1]: the module built from peer.c."""
import ctypes
import gc
import sys

import numpy as np

peer = ctypes.CDLL(sys.argv[1])
peer.peer_twice.argtypes = [ctypes.c_void_p]
peer.peer_twice.restype = ctypes.c_void_p
peer.peer_error.restype = ctypes.c_char_p

NAME = b"dltensor_versioned"
USED = b"used_dltensor_versioned"
api = ctypes.pythonapi
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Tensor:
    """What np.from_dlpack asks for."""

    def __init__(self, pointer):
        self.pointer = pointer

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        return api.PyCapsule_New(self.pointer, NAME, None)


def twice(a):
    capsule = a.__dlpack__(max_version=(1, 0))
    pointer = api.PyCapsule_GetPointer(capsule, NAME)
    api.PyCapsule_SetName(capsule, USED)
    out = peer.peer_twice(pointer)
    if not out:
        raise ValueError(peer.peer_error().decode())
    return np.from_dlpack(Tensor(out))


assert peer.peer_open()
rng = np.random.default_rng(0)
for dtype in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"):
    for shape in ((), (0,), (5,), (3, 4), (2, 3, 4), (1,) * 8):
        a = rng.integers(0, 50, shape).astype(dtype)
        for x in (a, a.T, a[..., ::-1] if a.ndim else a, a[1:] if a.ndim else a):
            y = twice(x)
            wanted = x if dtype == "?" else x + x
            assert y.dtype == x.dtype and y.shape == x.shape, (x, y)
            assert np.array_equal(y, wanted), (x, y)
            assert not y.flags.writeable
gc.collect()

try:
    twice(np.zeros((2,), "c8"))
    raise SystemExit("complex numbers were accepted")
except ValueError as error:
    assert "no dtype" in str(error), error

kept = twice(np.arange(6.0))
peer.peer_close()
assert kept[5] == 10
print("dlpack: NumPy", np.__version__)
