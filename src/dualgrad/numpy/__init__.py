"""NumPy's functions on tensors: ``import dualgrad.numpy as mnp``.

The names, arguments and meanings are those of NumPy; the results are Tensors, differentiable to any order.
These are the functions that also answer ``np.sum(tensor)``, made to take arrays, numbers and lists as well.
Types follow the rules of this library: Python's floats make Float32, not Float64.

Functions are made on demand from NumPy's own names, so what the library learns appears here by itself.
`dir` lists them.

Examples
--------
>>> import dualgrad as dg
>>> import dualgrad.numpy as mnp
>>> x = mnp.linspace(0, 1, 5)
>>> print(mnp.sum(x**2, axis=0, keepdims=True))
[1.875]
>>> print(dg.grad(lambda x: mnp.sum(mnp.exp(x) * x))(mnp.array([0.0, 1.0])))
[1.       5.436564]
"""

from __future__ import annotations

from typing import Any

from dualgrad.dtype import (
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from dualgrad.numpy import fft, linalg
from dualgrad.numpy._functions import ALIASES, CONSTANTS, NAMES, made
from dualgrad.ops import rand, randn

__all__ = [
    "bool_",
    "complex64",
    "complex128",
    "fft",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "linalg",
    "rand",
    "randn",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]  # fmt: skip
__all__ += sorted({*NAMES, *ALIASES, *CONSTANTS})


def __getattr__(name: str) -> Any:
    if name in CONSTANTS:
        return CONSTANTS[name]
    value = globals()[name] = made(__name__, ALIASES.get(name, name))
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
