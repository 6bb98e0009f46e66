"""Windows for signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dtypes import default_float
from ..._settings import real_number, truth_value
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import integer

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _window(
    name: str, length: Any, periodic: bool, dtype: Any, formula: Callable[[np.ndarray, int], np.ndarray]
) -> Tensor:
    n = integer(name, "window_length", length.item() if isinstance(length, Tensor) else length)
    if not 0 <= n < 1 << 58:
        raise ValueError(f"{name}: window_length is {n}; expected 0 or more, and less than any memory holds")
    periodic = truth_value(name, "periodic", periodic)
    target = default_float() if dtype is None else as_dtype(dtype, where=name)
    whole = n + 1 if periodic else n
    found = formula(np.arange(whole), whole - 1) if n > 1 else np.ones(whole)
    return Tensor._owning(found[:n].astype(target.numpy))


def bartlett_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Triangular window.

    Parameters
    ----------
    window_length : int or Tensor
        Its length.
    periodic : bool, default True
        True for a window of one more element, without the last.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.bartlett_window(4))
    [0.  0.5 1.  0.5]
    """
    return _window("bartlett_window", window_length, periodic, dtype, lambda k, m: 1.0 - np.abs(2.0 * k / m - 1.0))


def hann_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Cosine window.

    Parameters
    ----------
    window_length : int or Tensor
        Its length.
    periodic : bool, default True
        True for a window of one more element, without the last.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.hann_window(4))
    [0.  0.5 1.  0.5]
    """
    return _window("hann_window", window_length, periodic, dtype, lambda k, m: 0.5 - 0.5 * np.cos(2 * np.pi * k / m))


def blackman_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """Three-term cosine window.

    Parameters
    ----------
    window_length : int or Tensor
        Its length.
    periodic : bool, default True
        True for a window of one more element, without the last.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.blackman_window(4).shape
    (4,)
    """
    return _window(
        "blackman_window",
        window_length,
        periodic,
        dtype,
        lambda k, m: 0.42 - 0.5 * np.cos(2 * np.pi * k / m) + 0.08 * np.cos(4 * np.pi * k / m),
    )


def hamming_window(
    window_length: Any, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None
) -> Tensor:
    """Raised cosine window.

    Parameters
    ----------
    window_length : int or Tensor
        Its length.
    periodic : bool, default True
        True for a window of one more element, without the last.
    alpha, beta : float, default 0.54 and 0.46
        The constant, and the factor of the cosine.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.hamming_window(4))
    [0.08 0.54 1.   0.54]
    """
    alpha, beta = [float(real_number("hamming_window", w, x)) for w, x in (("alpha", alpha), ("beta", beta))]
    return _window(
        "hamming_window", window_length, periodic, dtype, lambda k, m: alpha - beta * np.cos(2 * np.pi * k / m)
    )


def kaiser_window(window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None) -> Tensor:
    """Kaiser window.

    Parameters
    ----------
    window_length : int or Tensor
        Its length.
    periodic : bool, default True
        True for a window of one more element, without the last.
    beta : float, default 12.0
        The larger, the narrower the window.
    dtype : type, default float32
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.kaiser_window(4).shape
    (4,)
    """
    return _window(
        "kaiser_window",
        window_length,
        periodic,
        dtype,
        lambda k, m: np.i0(beta * np.sqrt(1 - (2.0 * k / m - 1) ** 2)) / np.i0(beta),
    )


METHODS: dict[str, Callable[..., Any]] = {}
