"""Functions that the array API standard has under names or with arguments of its own, with its signatures.

Each is a composition of operators of this library: derivatives pass wherever the result has any.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import dtype as _dtype
from .. import ops
from .._device import on_cpu
from .._engine.transforms import tensor as _engine
from ..ops._arguments import IS_FLOAT, OP, alike, one_axis, operand, to_shape, together
from ..ops.composed.numbers import nextafter
from ..ops.index.choice import where
from ..ops.index.gather import take
from ..ops.index.masks import nonzero
from ..ops.index.sorting import argsort, searchsorted, sort
from ..ops.math.complex import complex, imag, real
from ..ops.math.reductions import cumprod, cumsum
from ..ops.shape.reshaping import cat, swapaxes, unstack
from ..tensor import Tensor
from ._arguments import array_like, beside_tensors, tensors_among
from ._creation import tensor_of
from ._entries import standard
from ._more_ufuncs import vecdot

__all__ = ["UniqueAll", "UniqueCounts", "UniqueInverse", "settled", "settled_together", "wide"]


def wide(x: Tensor) -> Tensor:
    """Integers and bools in the type in which they are added up, which is unsigned for unsigned ones."""
    if x._typenum in IS_FLOAT:
        return x
    return x.astype(_dtype.uint64 if x.dtype in _dtype.uint_type else _dtype.int64)


def settled(name: str, x: Any) -> Tensor:
    """An operand as a tensor; lists are arrays."""
    return tensor_of(x) if isinstance(x, list | tuple) else operand(name, x)


def settled_together(name: str, *many: Any) -> list[Tensor]:
    """Operands as tensors of one type; lists are arrays, numbers take the type of what is beside them."""
    plain = beside_tensors(tensors_among(many))
    return alike(together(name, *[array_like(name, x, plain) for x in many]))


# ---------------------------------------------------------------------------------------------- exchange, shapes


@standard("from_dlpack")
def _from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor of the elements of any object that speaks DLPack.

    Parameters
    ----------
    x : object
        With a method ``__dlpack__``. A Tensor keeps its derivatives.
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
        If the other side cannot share its memory as it is.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.from_dlpack(np.array([1.0, 2.0])))
    [1. 2.]
    """
    on_cpu("from_dlpack", device)
    if isinstance(x, Tensor):
        return +x if copy else x
    found = Tensor.from_dlpack(x)
    return Tensor(found.asnumpy()) if copy else found


@standard("matrix_transpose", "linalg.matrix_transpose")
def _matrix_transpose(x: Any, /) -> Tensor:
    """The last two axes exchanged.

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
    """The shape of the result of operands of these shapes.

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
        If they do not fit.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return np.broadcast_shapes(*shapes)


# ---------------------------------------------------------------------------------------------------- elementwise


@standard("bitwise_left_shift")
def _bitwise_left_shift(x1: Any, x2: Any, /) -> Tensor:
    """Bits of x1 moved to the left by x2.

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
    """Bits of x1 moved to the right by x2; the sign stays.

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
    """Whether elements have a minus sign, -0.0 included.

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
    """Quotients rounded down.

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
    Beside inf it is ``floor(x1 / x2)``, as the array API standard prefers; the operator ``//`` gives what Python and
    NumPy give, so that it goes with ``%``: nan for ``inf // 2``, -1 for ``-1 // inf``.

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
    Of complex numbers beside inf and nan it is ``exp(x) - 1``, with what C99 says of exp there.

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
    return complex(real(found) + 0.0, imag(found))  # of -0 it is 0


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
    Of complex numbers with a real part of inf the imaginary part is a zero with the sign of that of `x`.

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
    It is x1 and a step that does not change: the slope is 1 by x1, and 0 by x2.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.nextafter(mnp.asarray(1.0), mnp.asarray(2.0)).item() - 1.0 == 2.0**-23
    True
    """
    return nextafter(*together("nextafter", x1, x2))


# ------------------------------------------------------------------------------------------------ sorting, places


@standard("sort")
def _sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None, descending: bool = False) -> Tensor:
    """Sort along an axis; equal elements keep their order.

    Parameters
    ----------
    a : Tensor
        Any real type.
    axis : int, default -1
        The axis; None stands for all elements in a row.
    kind, stable
        Accepted: sorting is stable always.
    descending : bool, default False
        Largest first.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.sort(mnp.asarray([2.0, 3.0, 1.0]), descending=True))
    [3. 2. 1.]
    """
    x, place = _in_a_row("np.sort", a, axis)
    return sort(x, place, descending)[0]


@standard("argsort")
def _argsort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None, descending: bool = False) -> Tensor:
    """Positions of the elements in sorted order; equal ones keep theirs. Derivatives do not pass.

    Parameters
    ----------
    a, axis, kind, stable, descending
        As of `sort`.

    Returns
    -------
    Tensor
        Int64.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.argsort(mnp.asarray([2.0, 3.0, 1.0])))
    [2 0 1]
    """
    x, place = _in_a_row("np.argsort", a, axis)
    return argsort(x, place, descending)


def _in_a_row(name: str, a: Any, axis: Any) -> tuple[Tensor, int]:
    """What is sorted, and along which axis."""
    x = settled(name, a)
    return (to_shape(x, (x.size,)), 0) if axis is None else (x, one_axis(name, axis, x.shape))


@standard("searchsorted")
def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where values belong in a sorted vector. Derivatives do not pass.

    Parameters
    ----------
    a : Tensor
        Ascending, one axis.
    v : Tensor or number
        The values, any shape.
    side : {'left', 'right'}, default 'left'
        Before or behind elements that are equal.
    sorter : Tensor of int, optional
        Positions that sort `a`.

    Returns
    -------
    Tensor
        Int64, shape of `v`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.searchsorted(mnp.asarray([1.0, 2.0, 3.0]), mnp.asarray([0.5, 2.0]), side="right"))
    [0 2]
    """
    sequence, values = settled_together("searchsorted", a, v)
    return searchsorted(sequence, values, side=side, sorter=None if sorter is None else settled("searchsorted", sorter))


@standard("nonzero")
def _nonzero(a: Any) -> tuple[Tensor, ...]:
    """Where the elements stand that are not 0: a vector of positions for each axis. Derivatives do not pass.

    Parameters
    ----------
    a : Tensor
        At least one axis.

    Returns
    -------
    tuple of Tensor
        Int64.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(*mnp.nonzero(mnp.asarray([[0, 1], [2, 0]])))
    [0 1] [1 0]
    """
    found: tuple[Tensor, ...] = nonzero(settled("np.nonzero", a), as_tuple=True)
    return found


# ----------------------------------------------------------------------------------------------------------- scans


def _initial(x: Tensor, scanned: Tensor, axis: int, number: int, include: bool) -> Tensor:
    """What is scanned, with the number that it starts from in front."""
    if not include:
        return scanned
    shape = tuple([1 if k == axis else n for k, n in enumerate(scanned.shape)])
    return cat([Tensor(np.full(shape, number, scanned.dtype.numpy)), scanned], axis)


def _axis_of_scan(name: str, x: Tensor, axis: Any) -> int:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: a tensor of shape {x.shape} needs an axis; pass axis=")
        return 0
    return one_axis(name, axis, x.shape)


@standard("cumulative_sum")
def _cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Running sums along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    axis : int, optional
        The axis; a vector needs none.
    dtype : dtype, optional
        Convert to this type first; by default integers become Int64, unsigned ones UInt64.
    include_initial : bool, default False
        Put 0 in front.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If there are several axes and none is given.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.cumulative_sum(mnp.asarray([1.0, 2.0, 3.0]), include_initial=True))
    [0. 1. 3. 6.]
    """
    x = settled("cumulative_sum", x)
    place = _axis_of_scan("cumulative_sum", x, axis)
    x = wide(x) if dtype is None else x.astype(dtype)
    return _initial(x, cumsum(x, place, x.dtype), place, 0, include_initial)


@standard("cumulative_prod")
def _cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Running products along an axis; derivatives are exact where factors are 0, too.

    Parameters
    ----------
    x, axis, dtype
        As of `cumulative_sum`.
    include_initial : bool, default False
        Put 1 in front.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.cumulative_prod(mnp.asarray([2.0, 3.0])))
    [2. 6.]
    """
    x = settled("cumulative_prod", x)
    place = _axis_of_scan("cumulative_prod", x, axis)
    x = wide(x) if dtype is None else x.astype(dtype)
    return _initial(x, cumprod(x, place, x.dtype), place, 1, include_initial)


# ------------------------------------------------------------------------------------------------------------ sets


class UniqueAll(NamedTuple):
    """Result of `unique_all`."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Result of `unique_counts`."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Result of `unique_inverse`."""

    values: Tensor
    inverse_indices: Tensor


def _unique(name: str, x: Any) -> UniqueAll:
    """Different elements, read where each stands first: derivatives go there. Each nan differs from all others."""
    x = settled(name, x)
    flat = to_shape(x, (x.size,))
    _, first, inverse, counts = np.unique(
        flat._numpy(), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    indices = Tensor(first.astype(np.int64))
    inverse = inverse.reshape(x.shape).astype(np.int64)
    return UniqueAll(take(flat, indices, 0), indices, Tensor(inverse), Tensor(counts.astype(np.int64)))


@standard("unique_all")
def _unique_all(x: Any, /) -> UniqueAll:
    """The different elements, where each stands first, which of them each element is, and how often each comes.

    Parameters
    ----------
    x : Tensor
        Any shape. Each nan differs from every other.

    Returns
    -------
    UniqueAll
        `values` (derivatives go to the first of equal elements), `indices`, `inverse_indices` of the shape of `x`,
        and `counts`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> found = mnp.unique_all(mnp.asarray([3, 1, 3]))
    >>> print(found.values, found.indices, found.inverse_indices, found.counts)
    [1 3] [1 0] [1 0 1] [1 2]
    """
    return _unique("unique_all", x)


@standard("unique_counts")
def _unique_counts(x: Any, /) -> UniqueCounts:
    """The different elements, and how often each comes; see `unique_all`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(*mnp.unique_counts(mnp.asarray([3, 1, 3])))
    [1 3] [1 2]
    """
    found = _unique("unique_counts", x)
    return UniqueCounts(found.values, found.counts)


@standard("unique_inverse")
def _unique_inverse(x: Any, /) -> UniqueInverse:
    """The different elements, and which of them each element is; see `unique_all`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(*mnp.unique_inverse(mnp.asarray([3, 1, 3])))
    [1 3] [1 0 1]
    """
    found = _unique("unique_inverse", x)
    return UniqueInverse(found.values, found.inverse_indices)


@standard("unique_values")
def _unique_values(x: Any, /) -> Tensor:
    """The different elements, in ascending order; see `unique_all`.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> print(mnp.unique_values(mnp.asarray([3, 1, 3])))
    [1 3]
    """
    return _unique("unique_values", x).values


# -------------------------------------------------------------------------------------------------------- products


@standard("vecdot", "linalg.vecdot")
def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Scalar products of vectors along an axis; of complex ones the first is conjugated.

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
