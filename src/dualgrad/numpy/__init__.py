"""NumPy's functions on tensors: ``import dualgrad.numpy as mnp``.

Names, arguments and meanings are NumPy's; the results are Tensors, differentiable to any order. The same functions
answer ``np.sum(tensor)``; here they also take arrays, numbers and lists. Types follow the rules of this library:
Python's floats make Float32, not Float64.

The namespace is built on demand from NumPy's own names, so every supported function appears by itself. `dir` lists
them.

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

from dualgrad.dtype import bool_ as bool_
from dualgrad.dtype import complex64 as complex64
from dualgrad.dtype import complex128 as complex128
from dualgrad.dtype import float16 as float16
from dualgrad.dtype import float32 as float32
from dualgrad.dtype import float64 as float64
from dualgrad.dtype import int8 as int8
from dualgrad.dtype import int16 as int16
from dualgrad.dtype import int32 as int32
from dualgrad.dtype import int64 as int64
from dualgrad.dtype import uint8 as uint8
from dualgrad.dtype import uint16 as uint16
from dualgrad.dtype import uint32 as uint32
from dualgrad.dtype import uint64 as uint64
from dualgrad.ops import rand as rand
from dualgrad.ops import randn as randn

__array_api_version__ = "2025.12"

_OWN = ["bool_", "complex64", "complex128", "emath", "fft", "float16", "float32", "float64", "int8", "int16", "int32"]
_OWN += ["int64", "lib", "linalg", "rand", "randint", "randn", "special", "uint8", "uint16", "uint32", "uint64"]


def __getattr__(name: str) -> Any:
    # Collect the functions on first use only, since `dualgrad` imports this package for `_protocol`.
    from importlib import import_module

    if name.startswith("_") and name not in ("__all__", "__array_namespace_info__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("emath", "fft", "lib", "linalg", "special"):
        return import_module(f"{__name__}.{name}")
    if name == "randint":
        return import_module(f"{__name__}._draws").randint
    functions = import_module(f"{__name__}._functions")
    if name == "__all__":
        value = sorted(
            {*_OWN, *functions.NAMES, *functions.ALIASES, *functions.CONSTANTS} - {"__array_namespace_info__"}
        )
    elif name in functions.CONSTANTS:
        value = functions.CONSTANTS[name]
    else:
        value = functions.made(__name__, functions.ALIASES.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __getattr__("__all__") if "__all__" not in globals() else globals()["__all__"]
