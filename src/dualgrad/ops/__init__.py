"""Operations on tensors: functions, and primitive classes under MindSpore's names."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from ..gradient import GradOperation, get_grad, grad, jvp, stop_gradient, value_and_grad
from ..tensor import Tensor

_NAMES = (
    "elementwise", "choice", "reductions", "shape", "products", "indexing", "gather", "creation", "activations",
    "losses", "misc", "numpy_protocol",
)  # fmt: skip

__all__ = ["GradOperation", "get_grad", "grad", "jvp", "stop_gradient", "value_and_grad"]

for _name in _NAMES:
    try:
        _module = importlib.import_module(f"{__name__}.{_name}")
    except Exception as _error:
        import os
        if os.environ.get("DG_DEBUG"):
            print("ops bootstrap:", _name, repr(_error))
        continue
    for _public in getattr(_module, "__all__", ()):
        globals()[_public] = getattr(_module, _public)
        __all__.append(_public)
    for _method, _function in getattr(_module, "METHODS", {}).items():
        setattr(Tensor, _method, _function)
