"""Functions given by samples: differences, integrals, interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._engine.transforms import tensor as _engine
from ..._settings import number_or_tensor, real_number
from ...tensor import Tensor
from .._arguments import (
    ALL_AXES,
    OP,
    alike,
    beside,
    floating,
    integer,
    one_axis,
    operand,
    respelled_axis,
    to_shape,
    total,
)
from ..axes._joining import cat
from ..axes._prefixes import every
from ..index._indices import one_axis_pattern, read
from ..index.choice import where
from ..index.sorting import insertions, positions

__all__ = ["diff", "interp", "trapezoid", "trapz"]

_MAXIMUM, _MINIMUM, _MOD, _NE = OP["maximum"], OP["minimum"], OP["mod"], OP["ne"]


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None, **other: Any) -> Tensor:
    """Differences of neighbouring elements along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    n : int, default 1
        How many times differences are taken; 0 gives `x` itself.
    axis : int, default -1
        The axis. Also spelled `dim`.
    prepend, append : Tensor or number, optional
        Values before and behind the elements, added first: as many axes as `x`, or a number.

    Returns
    -------
    Tensor
        Type of `x` (for bools Bool, true where elements differ), shorter by n along the axis.

    Raises
    ------
    numpy.exceptions.AxisError
        If `x` has no such axis.
    ValueError
        If n is negative, or the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x = dg.Tensor([1.0, 4.0, 9.0])
    >>> print(ops.diff(x), ops.diff(x, 2), ops.diff(x, prepend=0.0))
    [3. 5.] [2.] [1. 3. 5.]
    """
    if other:
        axis = respelled_axis("diff", other, axis, -1)
    x, times = operand("diff", x), integer("diff", "n", n)
    place = one_axis("diff", axis, x.shape)
    if times < 0:
        raise ValueError(f"diff: n is {n}; expected 0 or more")
    if times:
        parts = [part for part in (_end(x, place, prepend), x, _end(x, place, append)) if part is not None]
        x = cat(parts, place) if len(parts) > 1 else x
    for _ in range(min(times, x.shape[place])):  # then nothing is left
        count = max(x.shape[place] - 1, 0)
        later, earlier = every(x, place, min(1, x.shape[place]), count), every(x, place, 0, count)
        x = _engine.binary_op(_NE, later, earlier) if x.dtype.is_bool else later - earlier
    return +x


def _end(x: Tensor, axis: int, part: Any) -> Tensor | None:
    """The values before or behind the elements; a number is repeated over the other axes."""
    if part is None:
        return None
    found = beside("diff", part, x)
    if found.ndim:
        return found
    shape = tuple([1 if k == axis else n for k, n in enumerate(x.shape)])
    return found + np.zeros(shape, found.dtype.numpy)


def trapz(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Tensor:
    """Integral along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : Tensor
        Values of the function, at least one axis; integers become float32.
    x : Tensor, optional
        The points: a vector, or a shape that broadcasts with the shape of `y`. Derivatives go there, too.
    dx : number or Tensor, default 1.0
        The distance of neighbouring points where `x` is None.
    dim : int, default -1
        The axis.

    Returns
    -------
    Tensor
        The axis removed; 0 for a single point.

    Raises
    ------
    numpy.exceptions.AxisError
        If `y` has no such axis.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> y = dg.Tensor([1.0, 4.0, 9.0])
    >>> print(ops.trapz(y), ops.trapz(y, dg.Tensor([0.0, 1.0, 3.0])), ops.trapz(y, dx=0.5))
    9.0 15.5 4.5
    """
    return _integral("trapz", y, x, dx, dim)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """Integral along an axis by the trapezoidal rule; `trapz` with NumPy's arguments.

    Parameters
    ----------
    y : Tensor
        Values of the function, at least one axis; integers become float32.
    x : Tensor, optional
        The points: a vector, or a shape that broadcasts with the shape of `y`. Derivatives go there, too.
    dx : number or Tensor, default 1.0
        The distance of neighbouring points where `x` is None.
    axis : int, default -1
        The axis.

    Returns
    -------
    Tensor
        The axis removed; 0 for a single point.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.trapezoid(dg.Tensor([[1.0, 4.0], [9.0, 0.0]]), axis=0))
    [5. 2.]
    """
    return _integral("trapezoid", y, x, dx, axis)


def _integral(name: str, y: Any, x: Any, dx: Any, axis: Any) -> Tensor:
    y = floating(name, y)
    place = one_axis(name, axis, y.shape)
    count = y.shape[place] - 1
    if count < 1:
        return total(y, (place,), False) * 0
    widths = number_or_tensor(name, "dx", dx)
    if x is not None:
        points = floating(name, x)
        if points.ndim == 1:
            points = to_shape(points, tuple([points.size if k == place else 1 for k in ALL_AXES[y.ndim]]))
        if points.ndim != y.ndim or points.shape[place] != count + 1:
            raise ValueError(
                f"{name}: points of shape {np.shape(x)} for values of shape {y.shape} along axis {place}; expected a "
                f"vector of {count + 1}, or as many axes as the values"
            )
        widths = every(points, place, 1, count) - every(points, place, 0, count)
    heights = (every(y, place, 1, count) + every(y, place, 0, count)) * 0.5
    return total(heights * widths, (place,), False)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Tensor:
    """The piecewise linear function through points.

    Parameters
    ----------
    x : Tensor or number
        The points of evaluation; any shape.
    xp : Tensor
        The given points: a vector, in any order.
    fp : Tensor
        The values there: a vector of the same length.
    left, right : Tensor or number, optional
        The values below and above all points; None stands for the values at the first and the last point.
    period : number, optional
        The function is continued with this period, and `left` and `right` have no meaning.

    Returns
    -------
    Tensor
        Shape of `x`, in the common type of all operands.

    Raises
    ------
    ValueError
        If `xp` and `fp` are not vectors of the same length, or have no element, or the period is 0.

    Notes
    -----
    Derivatives go to all operands. At a given point the derivative of the piece behind it counts, at the last point of
    the piece before it.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> xp, fp = dg.Tensor([0.0, 1.0, 3.0]), dg.Tensor([0.0, 10.0, 20.0])
    >>> print(ops.interp(dg.Tensor([-1.0, 0.5, 2.0, 9.0]), xp, fp))
    [ 0.  5. 15. 20.]
    >>> print(dg.grad(lambda x: ops.interp(x, xp, fp))(dg.Tensor([-1.0, 0.5, 2.0, 9.0])))
    [ 0. 10.  5.  0.]
    """
    xp, fp = alike([floating("interp", xp), floating("interp", fp)])
    x, xp, fp = alike([beside("interp", x, xp), xp, fp])
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ValueError(
            f"interp: points of shape {xp.shape} and values of shape {fp.shape}; expected vectors of one length, one "
            "point at least"
        )
    if period is not None:
        real_number("interp", "period", period)
    if period is not None and not period:
        raise ValueError("interp: the period is 0; expected a positive number or None")
    shape = x.shape
    x = to_shape(x, (x.size,))
    if period is not None:
        period = abs(period)
        x, xp = _engine.binary_op(_MOD, x, period), _engine.binary_op(_MOD, xp, period)
    order = positions(xp, 0)
    xp, fp = _at(xp, order), _at(fp, order)
    n = xp.size
    if period is not None:
        xp = cat((every(xp, 0, n - 1, 1) - period, xp, every(xp, 0, 0, 1) + period))
        fp = cat((every(fp, 0, n - 1, 1), fp, every(fp, 0, 0, 1)))
        n += 2
    # The value is measured from the point at or before x, so that it is exact at points. The piece is the one behind
    # this point, but at the last point the piece before it.
    point = _engine.binary_op(_MAXIMUM, insertions(xp, x, True) - 1, 0)
    result = _at(fp, point)
    if n > 1:
        piece = _engine.binary_op(_MINIMUM, point, n - 2)
        width = _at(xp, piece + 1) - _at(xp, piece)
        rise = _at(fp, piece + 1) - _at(fp, piece)
        result = result + rise / where(width > 0, width, 1.0) * (x - _at(xp, point))
    if period is None:
        first, last = every(xp, 0, 0, 1), every(xp, 0, n - 1, 1)
        result = where(x < first, every(fp, 0, 0, 1) if left is None else left, result)
        result = where(x > last, every(fp, 0, n - 1, 1) if right is None else right, result)
    return to_shape(result, shape)


def _at(x: Tensor, index: Tensor) -> Tensor:
    """Elements of a vector."""
    return read("interp", one_axis_pattern(x.shape, 0), x, index)


METHODS: dict[str, Any] = {"diff": diff}
