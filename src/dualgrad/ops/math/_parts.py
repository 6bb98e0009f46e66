"""The parts of complex numbers, and their conjugates: linear in the real and the imaginary part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, Primitive, operand, to_shape
from ..index._views import PARTS, as_part

__all__ = [
    "Conj", "Imag", "Real", "adjoint", "conj", "imag", "is_complex", "is_floating_point", "real", "view_as_complex",
    "view_as_real",
]  # fmt: skip

_CONCAT, _CONJ = OP["concat"], OP["conj"]
_SLICE, _TRANSPOSE = OP["slice"], OP["transpose"]
_VIEW_AS_COMPLEX, _VIEW_AS_REAL = OP["view_as_complex"], OP["view_as_real"]


def is_complex(x: Any) -> bool:
    """True if the elements of a tensor are complex numbers.

    Parameters
    ----------
    x : Tensor
        Any shape and type.

    Returns
    -------
    bool

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.is_complex(dg.Tensor([1.0 + 2.0j])), ops.is_complex(dg.Tensor([1.0]))
    (True, False)
    """
    return operand("is_complex", x).dtype.is_complex


def is_floating_point(x: Any) -> bool:
    """True if the elements of a tensor are real floats: not integers, bools or complex numbers.

    Parameters
    ----------
    x : Tensor
        Any shape and type.

    Returns
    -------
    bool

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> ops.is_floating_point(dg.Tensor([1.0])), ops.is_floating_point(dg.Tensor([1.0j]))
    (True, False)
    """
    return operand("is_floating_point", x).dtype.is_float


def view_as_real(x: Any) -> Tensor:
    """Real and imaginary part along a new last axis of length 2.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Complex64 or Complex128, any shape.

    Returns
    -------
    Tensor
        Float32 or Float64.

    Raises
    ------
    TypeError
        If `x` is not complex.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.view_as_real(dg.Tensor([1.0 + 2.0j, 3.0j])))
    [[1. 2.]
     [0. 3.]]
    """
    x = operand("view_as_real", x)
    if not x.dtype.is_complex:
        raise TypeError(f"view_as_real: expected a complex tensor, got type {x.dtype}; use ops.complex(x, 0) first")
    return _engine.apply(_VIEW_AS_REAL, None, x)


def view_as_complex(x: Any) -> Tensor:
    """Complex numbers of the pairs (real, imaginary) along the last axis.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Float32 or Float64; the last axis has length 2.

    Returns
    -------
    Tensor
        Complex64 or Complex128, without the last axis.

    Raises
    ------
    TypeError
        If `x` has another type.
    ValueError
        If the last axis is missing or has another length.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.view_as_complex(dg.Tensor([[1.0, 2.0], [0.0, 3.0]])))
    [1.+2.j 0.+3.j]
    """
    x = operand("view_as_complex", x)
    if x.dtype not in (_dtype.float32, _dtype.float64):
        raise TypeError(f"view_as_complex: expected Float32 or Float64, got {x.dtype}; convert it with astype first")
    if not x.shape or x.shape[-1] != 2:
        raise ValueError(f"view_as_complex: expected a last axis of length 2 (real, imaginary), got shape {x.shape}")
    return _engine.apply(_VIEW_AS_COMPLEX, None, x)


def _part(z: Tensor, k: int) -> Tensor:
    """The real (k = 0) or imaginary part of a complex tensor."""
    pairs = _engine.apply(_VIEW_AS_REAL, None, z)
    where = (*[(0, n, 1) for n in z.shape], (k, 1, 1))
    return _engine.apply(OP["reshape"], z.shape, _engine.apply(_SLICE, where, pairs))


def joined(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers of two parts of one shape and type."""
    pairs = [to_shape(x, (*x.shape, 1)) for x in (real, imag)]
    return _engine.apply(_VIEW_AS_COMPLEX, None, _engine.apply(_CONCAT, real.ndim, *pairs))


def real(x: Any) -> Tensor:
    """Real part.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type; a tensor that is not complex is its own real part.

    Returns
    -------
    Tensor
        Float32 for Complex64, Float64 for Complex128, otherwise the type of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.real(dg.Tensor([1.0 + 2.0j, 3.0j])))
    [1. 0.]
    """
    x = operand("real", x)
    return _part(x, 0) if x.dtype.is_complex else +x


def imag(x: Any) -> Tensor:
    """Imaginary part.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type; zeros for a tensor that is not complex.

    Returns
    -------
    Tensor
        Float32 for Complex64, Float64 for Complex128, otherwise the type of `x`.

    Notes
    -----
    The gradient of its sum is -1j: gradients of a real function are ``df/dx - 1j * df/dy`` for ``x + 1j * y``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.imag(dg.Tensor([1.0 + 2.0j, 3.0j])))
    [2. 3.]
    """
    x = operand("imag", x)
    return _part(x, 1) if x.dtype.is_complex else _zeros(x)


PARTS.update(real=real, imag=imag, joined=joined)


def conj(x: Any) -> Tensor:
    """Complex conjugate.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape and type; a tensor that is not complex stays as it is.

    Returns
    -------
    Tensor
        The shape and type of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.conj(dg.Tensor([1.0 + 2.0j, 3.0j])))
    [1.-2.j 0.-3.j]
    """
    x = operand("conj", x)
    return _engine.apply(_CONJ, None, x) if x.dtype.is_complex else +x


def adjoint(x: Any) -> Tensor:
    """Conjugate transpose of matrices: the last two axes exchanged, each element conjugated.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Two axes or more.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If `x` has fewer than two axes.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.adjoint(dg.Tensor([[1.0 + 2.0j, 3.0j]])))
    [[1.-2.j]
     [0.-3.j]]
    """
    x = operand("adjoint", x)
    if x.ndim < 2:
        raise ValueError(f"adjoint: expected two axes or more, got shape {x.shape}")
    order = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return conj(_engine.apply(_TRANSPOSE, order, x))


def _zeros(x: Tensor) -> Tensor:
    """Zeros of the shape of `x`, in its type or the type of its parts."""
    return Tensor._owning(np.zeros(x.shape, np.zeros(0, x.dtype.numpy).real.dtype))


class Real(Primitive, of=real):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return real(x)


class Imag(Primitive, of=imag):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return imag(x)


class Conj(Primitive, of=conj):
    __slots__ = ()

    def __call__(self, x: Any) -> Tensor:
        return conj(x)


class Part(Tensor):
    """Type of ``x.real`` and ``x.imag``: NumPy's attributes, which MindSpore's programs call as methods."""

    __slots__ = ()

    def __call__(self) -> Tensor:
        """The part itself, as an ordinary tensor."""
        return _as(Tensor, self)


def _as(kind: Any, x: Tensor) -> Any:
    found = kind.__new__(kind)
    found._hold(x)
    return found


def _attribute(part: Callable[[Any], Tensor]) -> property:
    def get(x: Tensor) -> Part:
        found = _as(Part, part(x))
        return as_part(found, x, part.__name__) if x._is_array else found

    def put(x: Tensor, value: Any) -> None:
        if x.dtype.is_complex:
            parts = [_part(x, 0), _part(x, 1)]
            parts[part is imag][...] = value
            x[...] = joined(*parts)
        elif part is real:
            x[...] = value
        else:
            raise TypeError(f"Tensor.imag: {x.dtype} has no imaginary part to be set; expected a complex tensor")

    return property(get, put, doc=part.__doc__)


METHODS: dict[str, Any] = {
    "adjoint": adjoint,
    "conj": conj,
    "conjugate": conj,
    "imag": _attribute(imag),
    "is_complex": is_complex,
    "is_floating_point": is_floating_point,
    "real": _attribute(real),
}
