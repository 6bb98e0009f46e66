"""The functions of ``numpy.linalg`` on tensors; see `dualgrad.numpy`.

Examples
--------
>>> import dualgrad.numpy as mnp
>>> print(mnp.linalg.norm(mnp.array([3.0, 4.0])))
5.0
"""

from __future__ import annotations

from typing import Any

from dualgrad.numpy._functions import LINALG, made

__all__ = sorted(LINALG)


def __getattr__(name: str) -> Any:
    value = globals()[name] = made(__name__, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
