"""Convolution of two sequences, and their correlation, as NumPy defines them.

Two primitives are closed under transposition: the full convolution of x (m elements) and y (n), with m + n - 1
elements, and the part where they overlap completely, m - n + 1 for m >= n. With R for reversal:

================  =====================  ========================
map               transposed in x        transposed in y
================  =====================  ========================
full(x, y)        valid(ct, R y)         valid(ct, R x)
valid(x, y)       full(ct, R y)          R valid(x, R ct)
================  =====================  ========================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import extend
from ..._settings import one_of
from ...tensor import Tensor
from .._arguments import alike, operand, to_shape
from ..axes._prefixes import every
from ..math.complex import conj
from ..shape.reshaping import flip


def _kernel(mode: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def convolve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if x.ndim == y.ndim == 1:
            return np.convolve(x, y, mode)
        stack = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
        x, y = np.broadcast_to(x, stack + x.shape[-1:]), np.broadcast_to(y, stack + y.shape[-1:])
        return np.stack([np.convolve(x[i], y[i], mode) for i in np.ndindex(stack)]).reshape((*stack, -1))

    return convolve


def _reversed(x: Tensor) -> Tensor:
    return flip(x, (0,))


_full = extend.bilinear(
    "convolve_full",
    _kernel("full"),
    (lambda ct, x, y: _valid_of(ct, _reversed(y)), lambda ct, x, y: _valid_of(ct, _reversed(x))),
    types="apart",
    core=(1, 1),
    summary="convolution of two sequences",
)
_valid = extend.bilinear(
    "convolve_valid",
    _kernel("valid"),
    (lambda ct, x, y: _full(ct, _reversed(y)), lambda ct, x, y: _reversed(_valid_of(x, _reversed(ct)))),
    types="apart",
    core=(1, 1),
    summary="convolution of two sequences where they overlap completely; the first is not the shorter one",
)


def _valid_of(x: Tensor, y: Tensor) -> Tensor:
    """The part where two sequences overlap completely, whichever is longer."""
    return _valid(x, y) if x.size >= y.size else _valid(y, x)


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """`numpy.convolve`: the sums of a[i] v[k - i] over i, for each k.

    Parameters
    ----------
    a, v : Tensor
        One axis, or a number.
    mode : {"full", "same", "valid"}, default "full"
        All k; the middle, as long as the longer operand; or only the sums that are not cut off.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If an operand has no elements or more than one axis, or for another mode.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> print(np.convolve(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([0.0, 1.0, 0.5])))
    [0.  1.  2.5 4.  1.5]
    """
    x, y = _sequences("np.convolve", a, v)
    return _convolved("np.convolve", x, y, mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """`numpy.correlate`: the sums of a[i + k] conj(v[i]) over i, for each k; modes as for `convolve`.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> print(np.correlate(dg.Tensor([1.0, 2.0, 3.0]), dg.Tensor([0.0, 1.0, 0.5]), "full"))
    [0.5 2.  3.5 3.  0. ]
    """
    x, y = _sequences("np.correlate", a, v)
    # The middle of an even number of sums differs by direction: it is counted along the longer sequence.
    if x.size < y.size:
        return _reversed(_convolved("np.correlate", _reversed(x), conj(y), mode))
    return _convolved("np.correlate", x, _reversed(conj(y)), mode)


def _sequences(name: str, a: Any, v: Any) -> list[Tensor]:
    found = []
    for word, x in (("first", operand(name, a)), ("second", operand(name, v))):
        if x.ndim > 1 or not x.size:
            raise ValueError(f"{name}: the {word} operand has shape {x.shape}; expected one axis, one element at least")
        found.append(to_shape(x, (x.size,)))
    return alike(found)


def _convolved(name: str, x: Tensor, y: Tensor, mode: str) -> Tensor:
    if one_of(mode, ("valid",)):
        return _valid_of(x, y)
    if not one_of(mode, ("full", "same")):
        raise ValueError(f"{name}: mode is {mode!r}; expected 'full', 'same' or 'valid'")
    whole = _full(x, y)
    if mode == "full":
        return whole
    shorter, longer = sorted((x.size, y.size))
    return every(whole, 0, (shorter - 1) // 2, longer)
