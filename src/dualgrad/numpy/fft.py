"""The functions of ``numpy.fft`` on tensors; see `dualgrad.numpy`.

Examples
--------
>>> import dualgrad.numpy as mnp
>>> print(mnp.fft.rfft(mnp.array([1.0, 2.0, 3.0, 4.0])))
[10.+0.j -2.+2.j -2.+0.j]
"""

from __future__ import annotations

from typing import Any

from dualgrad.numpy._functions import FFT, made

__all__ = sorted(FFT)


def __getattr__(name: str) -> Any:
    value = globals()[name] = made(__name__, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
