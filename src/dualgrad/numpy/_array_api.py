"""Functions for which the array API standard has its own names or arguments, with its signatures.

Each is a composition of this library's operators, so derivatives pass wherever they exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._device import on_cpu
from .._engine.transforms import tensor as _engine
from .._settings import room, truth_value
from ..ops._arguments import OP, lengths, together
from ..ops.composed.numbers import nextafter
from ..ops.index.choice import where
from ..ops.math.complex import complex, imag, real
from ..ops.shape.reshaping import swapaxes, unstack
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import standard
from ._more_ufuncs import vecdot
from ._operands import settled, settled_together

__all__: list[str] = []

# ----------------------------------------------------------------------------------------------------- exchange, shapes


@standard("from_dlpack")
def _from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Make a tensor from any object with DLPack's protocol.

    Parameters
    ----------
    x : object
        An object with a method ``__dlpack__``. A Tensor keeps its derivatives.
    device : 'cpu', optional
        The device.
    copy : bool, optional
        True: a copy. False: the same memory; do not write to it. None: the same memory if the other library allows it.

    Returns
    -------
    Tensor

    Raises
    ------
    BufferError
        If the other library cannot share its memory without a copy.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.from_dlpack(np.array([1.0, 2.0])))
    [1. 2.]
    """
    on_cpu("from_dlpack", device)
    if isinstance(x, Tensor):
        truth_value("from_dlpack", "copy", copy)
        return +x if copy else x
    found = Tensor.from_dlpack(x)
    return Tensor(found.asnumpy()) if copy else found


@standard("matrix_transpose", "linalg.matrix_transpose")
def _matrix_transpose(x: Any, /) -> Tensor:
    """Swap the last two axes.

    Parameters
    ----------
    x : Tensor
        Shape (..., m, n).

    Returns
    -------
    Tensor
        Shape (..., n, m).

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.matrix_transpose(mnp.ones((4, 2, 3))).shape
    (4, 3, 2)
    """
    return swapaxes(settled("matrix_transpose", x), -1, -2)


@standard("unstack")
def _unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Cut into single elements along an axis, which is removed.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    axis : int, default 0
        The axis.

    Returns
    -------
    tuple of Tensor

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(*mnp.unstack(mnp.asarray([[1, 2], [3, 4]])))
    [1 2] [3 4]
    """
    return unstack(x, axis)


@standard("broadcast_shapes")
def _broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which these shapes broadcast.

    Parameters
    ----------
    *shapes : tuple of int
        The shapes.

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        If they do not broadcast.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    found = [lengths("broadcast_shapes", shape) for shape in shapes]
    for shape in found:
        room("broadcast_shapes", shape, 1)
    return np.broadcast_shapes(*found)


# ---------------------------------------------------------------------------------------------------------- elementwise


@standard("bitwise_left_shift")
def _bitwise_left_shift(x1: Any, x2: Any, /) -> Tensor:
    """Shift the bits of x1 to the left by x2.

    Parameters
    ----------
    x1, x2 : Tensor or int
        Integers, shapes that broadcast.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.bitwise_left_shift(mnp.asarray([1, 3]), 2))
    [ 4 12]
    """
    return ops.bitwise_left_shift(x1, x2)


@standard("bitwise_right_shift")
def _bitwise_right_shift(x1: Any, x2: Any, /) -> Tensor:
    """Shift the bits of x1 to the right by x2; the sign stays.

    Parameters
    ----------
    x1, x2 : Tensor or int
        Integers, shapes that broadcast.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.bitwise_right_shift(mnp.asarray([8, -3]), 1))
    [ 4 -2]
    """
    return ops.bitwise_right_shift(x1, x2)


@standard("signbit")
def _signbit(x: Any, /) -> Tensor:
    """True where an element has a minus sign, including -0.0.

    Parameters
    ----------
    x : Tensor
        Real, any shape.

    Returns
    -------
    Tensor
        Bool.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.signbit(mnp.asarray([1.0, -0.0])))
    [False  True]
    """
    return ops.signbit(x)


@standard("floor_divide")
def _floor_divide(x1: Any, x2: Any, /, *, dtype: Any = None) -> Tensor:
    """Divide and round down.

    Parameters
    ----------
    x1, x2 : Tensor or number
        Real, shapes that broadcast.
    dtype : dtype, optional
        Convert to this type first.

    Returns
    -------
    Tensor

    Notes
    -----
    For an infinite operand it is ``floor(x1 / x2)``, as the array API standard prefers. The operator ``//`` agrees with
    Python, NumPy and ``%``: nan for ``inf // 2``, -1 for ``-1 // inf``.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.floor_divide(mnp.asarray([7.0, -7.0, float("inf")]), 2.0))
    [ 3. -4. inf]
    """
    x1, x2 = settled_together("floor_divide", x1, x2)
    if dtype is not None:
        x1, x2 = x1.astype(dtype), x2.astype(dtype)
    found = x1 // x2
    if found.dtype.is_int:
        return found
    unbounded = ops.logical_or(ops.isinf(x1), ops.isinf(x2))
    return where(unbounded, ops.floor(ops.div(x1, x2)), found)


@standard("expm1")
def _expm1(x: Any, /, *, dtype: Any = None) -> Tensor:
    """exp(x) - 1, exact near 0, element by element.

    Parameters
    ----------
    x : Tensor or number
        Floating; integers become float32.
    dtype : dtype, optional
        Convert to this type first.

    Returns
    -------
    Tensor

    Notes
    -----
    For complex numbers with inf or nan it is ``exp(x) - 1``, with C99's rules for exp.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.expm1(mnp.asarray([0.0, 1e-8])))
    [0.e+00 1.e-08]
    """
    x = tensor_of(x)
    x = x if dtype is None else x.astype(dtype)
    found = _engine.unary(OP["expm1"], x)
    if not found.dtype.is_complex:
        return found
    found = where(ops.isfinite(x), found, ops.exp(x) - 1.0)
    return complex(real(found) + 0.0, imag(found))  # turn -0 into 0


@standard("tanh")
def _tanh(x: Any, /, *, dtype: Any = None) -> Tensor:
    """Hyperbolic tangent, element by element.

    Parameters
    ----------
    x : Tensor or number
        Floating; integers become float32.
    dtype : dtype, optional
        Convert to this type first.

    Returns
    -------
    Tensor

    Notes
    -----
    For complex numbers with an infinite real part, the imaginary part is zero, with the sign of the imaginary part of
    `x`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.tanh(mnp.asarray([0.0, float("inf")])))
    [0. 1.]
    """
    x = tensor_of(x)
    x = x if dtype is None else x.astype(dtype)
    found = _engine.unary(OP["tanh"], x)
    if not found.dtype.is_complex:
        return found
    re, im = real(x), imag(x)
    unbounded = ops.isinf(re)
    zero = ops.copysign(np.zeros((), im.dtype.numpy), im)
    return complex(where(unbounded, ops.sign(re), real(found)), where(unbounded, zero, imag(found)))


@standard("nextafter")
def _nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The floating-point number next to x1 in the direction of x2.

    Parameters
    ----------
    x1, x2 : Tensor or number
        Of real floating types, shapes that broadcast.

    Returns
    -------
    Tensor

    Notes
    -----
    It is x1 plus a step that does not change: the slope is 1 for x1, and 0 for x2.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.nextafter(mnp.asarray(1.0), mnp.asarray(2.0)).item() - 1.0 == 2.0**-23
    True
    """
    return nextafter(*together("nextafter", x1, x2))


# ------------------------------------------------------------------------------------------------------------- products


@standard("vecdot", "linalg.vecdot")
def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Scalar products of vectors along an axis; the first vector is conjugated.

    Parameters
    ----------
    x1, x2 : Tensor
        Shapes that broadcast, with equal lengths along the axis.
    axis : int, default -1
        The axis, from the end.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the lengths differ.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.vecdot(mnp.asarray([[1.0, 2.0], [3.0, 4.0]]), mnp.asarray([1.0, 1.0])))
    [3. 7.]
    """
    x1, x2 = settled_together("vecdot", x1, x2)
    return vecdot(x1, x2, axis)
