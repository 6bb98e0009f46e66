"""Derivatives of high order along a curve: `jet`, `derivative`.

A function of a truncated power series is a truncated power series. Its coefficients follow by recurrences, so k
derivatives cost about k squared products for each operation. k nested gradients cost a multiple of two to the k.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._engine.transforms.forward import run_forward
from .._engine.transforms.gradient import run_outermost
from .._engine.transforms.inputs import as_inputs
from .._engine.transforms.leaves import checked_result
from .._engine.transforms.pytrees import in_words
from .._engine.transforms.tensor import OPCODES, apply
from .._engine.values.algebra import jets
from .._engine.values.levels import Algebra
from .._nests import mapped, matched, refilled, tensors_in
from ..dtype import float32
from ..tensor import Tensor
from .positions import check_callable

if TYPE_CHECKING:
    from .transformed import R

__all__ = ["derivative", "jet"]


def jet(fn: Callable[..., Any], primals: Any, series: Any) -> tuple[Any, Any]:
    """Compute the derivatives of a function along a curve.

    Let x(t) be a curve through the point x(0), given by its derivatives at 0. Then y(t) = fn(x(t)) is a curve as well;
    `jet` returns its derivatives.

    Parameters
    ----------
    fn : callable
        A function or Cell of the inputs.
    primals : input, or tuple or list of inputs
        The point x(0). An input is a Tensor or a pytree of Tensors. Integer tensors become float32. Floating numbers
        and NumPy arrays become tensors of their type.
    series : Tensor or array, or tuple or list of them
        The derivatives of x: ``series[i]`` has order i + 1 and the shape of its input; for a pytree, a pytree of such
        series. All have the same number of derivatives. A one followed by zeros describes a straight line.

    Returns
    -------
    outputs : Tensor or pytree of Tensors
        ``fn(*primals)``.
    series : Tensor or pytree of Tensors
        The derivatives of y, arranged like `series`: order along the first axis.

    Raises
    ------
    TypeError
        If `fn` cannot be called, or an input holds neither a Tensor nor a floating number.
    ValueError
        If numbers of inputs, nestings or shapes do not fit, or a series is empty.

    See Also
    --------
    derivative : One derivative along a straight line.

    Notes
    -----
    Exact: power series arithmetic (Griewank and Walther, Evaluating Derivatives, 2008, chapter 13). Internally,
    coefficients are derivatives divided by factorials, so high orders do not overflow.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> x, series = dg.Tensor([0.0]), dg.Tensor([[1.0], [0.0], [0.0]])
    >>> value, derivatives = ops.jet(ops.exp, x, series)
    >>> print(value, derivatives.reshape((3,)))
    [1.] [1. 1. 1.]

    A curve in the plane, with named coordinates:

    >>> place = {"x": dg.Tensor(2.0), "y": dg.Tensor(3.0)}
    >>> speed = {"x": dg.Tensor([1.0, 0.0]), "y": dg.Tensor([-1.0, 0.0])}
    >>> value, derivatives = ops.jet(lambda p: p["x"] * p["y"], place, speed)
    >>> print(value, derivatives)
    6.0 [ 1. -2.]
    """
    check_callable("jet", fn)
    points = _points("jet", primals)
    curves, order = _curves(points, series)

    def compute(*given: Any) -> tuple[Any, Any]:
        inputs, along = given[: len(points)], given[len(points) :]
        parts: list[list[Tensor | None]] = []
        for x, s in zip(tensors_in(inputs), along, strict=True):
            s = s.astype(x.dtype)
            parts.append([x, *[s[k] * (1.0 / math.factorial(k + 1)) for k in range(order)]])
        values, coefficients = _coefficients("jet", fn, order, inputs, parts)
        return values, refilled(values, [_stacked(found) for found in coefficients])

    return run_outermost("jet", fn, (order,), compute, (*points, *curves), {})


def _curves(points: tuple[Any, ...], series: Any) -> tuple[list[Tensor], int]:
    """Check the series. Returns one for each tensor of the inputs, and their order."""
    given = series if isinstance(series, tuple | list) else (series,)
    if len(points) != len(given):
        raise ValueError(f"jet: {len(points)} inputs but {len(given)} series; expected one for each")
    if not points:
        raise ValueError("jet: there are no inputs; expected one or more, each with its series")
    found: list[Tensor] = []
    for i, (x, nest) in enumerate(zip(points, given, strict=True)):
        what = f"series {i}"
        for t, s in zip(tensors_in(x), matched("jet", x, nest, what), strict=True):
            (s,) = as_inputs("jet", what, (s,))
            _check_series(what, t, s, found[0].shape[0] if found else 0)
            found.append(s)
    return found, found[0].shape[0]


def _check_series(what: str, x: Tensor, s: Any, order: int) -> None:
    if not isinstance(s, Tensor):
        raise TypeError(f"jet: {what} is {in_words(s)}; expected a Tensor")
    if s.ndim == 0 or s.shape[1:] != x.shape or s.shape[0] < 1:
        raise ValueError(
            f"jet: {what} has shape {s.shape}; expected (order, *{x.shape}), the first axis counting the "
            f"derivatives of an input of shape {x.shape}"
        )
    if order and s.shape[0] != order:
        raise ValueError(f"jet: {what} has {s.shape[0]} derivatives, those before it {order}; expected equally many")


def derivative(fn: Callable[..., R], primals: Any, order: int) -> tuple[R, R]:
    """Compute the derivative of some order along the direction of ones.

    For an elementwise function it is the derivative of that order of each element.

    Parameters
    ----------
    fn : callable
        A function or Cell of the inputs.
    primals : input, or tuple or list of inputs
        The point. An input is a Tensor or a pytree of Tensors. Integer tensors become float32. Floating numbers and
        NumPy arrays become tensors of their type.
    order : int
        1 or more.

    Returns
    -------
    outputs, derivatives : Tensor or pytree of Tensors
        The value of `fn`, and its derivative of that order, in the same nesting.

    Raises
    ------
    TypeError
        If `fn` cannot be called, an input holds neither a Tensor nor a floating number, or `order` is not an int.
    ValueError
        If `order` is below 1.

    See Also
    --------
    jet : All derivatives up to an order, along any curve.

    Notes
    -----
    The cost grows with the square of the order. The result is a series coefficient times the factorial of the order,
    which float64 holds up to order 170 and float32 up to order 34.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(*ops.derivative(lambda x: x**5, dg.Tensor([1.0, 2.0]), 3))
    [ 1. 32.] [ 60. 240.]
    """
    check_callable("derivative", fn)
    if isinstance(order, bool) or not isinstance(order, int):
        raise TypeError(f"derivative: order is {order!r}; expected an int")
    if not 1 <= order <= 1000:
        raise ValueError(f"derivative: order is {order}; expected 1 or more, up to 1000")
    points = _points("derivative", primals)

    def compute(*inputs: Any) -> tuple[Any, Any]:
        parts: list[list[Tensor | None]] = [
            [x, Tensor(np.ones(x.shape, x.dtype.numpy)), *[None] * (order - 1)] for x in tensors_in(inputs)
        ]
        values, coefficients = _coefficients("derivative", fn, order, inputs, parts)
        last = [_times(found[order], math.factorial(order), found[0]) for found in coefficients]
        return values, refilled(values, last)

    return run_outermost("derivative", fn, (order,), compute, points, {})


def _points(name: str, primals: Any) -> tuple[Any, ...]:
    """Convert the inputs, so that their tensors are floating or complex."""
    points = as_inputs(name, "input", tuple(primals) if isinstance(primals, tuple | list) else (primals,))
    for i, x in enumerate(points):
        if not tensors_in(x):
            raise TypeError(
                f"{name}: input {i} is {in_words(x)}; expected a Tensor, a floating number, or a pytree of them"
            )
    return tuple([mapped(x, _floating) for x in points])


def _floating(x: Tensor) -> Tensor:
    return x if x.dtype.is_float or x.dtype.is_complex else x.astype(float32)


@functools.lru_cache(maxsize=64)
def _algebra(order: int) -> Algebra:
    return jets(order)


def _coefficients(
    name: str, fn: Callable[..., Any], order: int, inputs: tuple[Any, ...], given: list[list[Tensor | None]]
) -> tuple[Any, list[list[Tensor | None]]]:
    """Run the function. Returns its value, and the Taylor coefficients of all its tensors, None where zero."""
    nest: list[Any] = []

    def flat(*tensors: Tensor) -> tuple[Tensor, ...]:
        out = checked_result(name, fn(*refilled(inputs, tensors)))
        nest.append(out)
        return tuple(tensors_in(out))

    found = run_forward(name, _algebra(order), flat, given)
    return refilled(nest[0], [parts[0] for parts in found]), found


def _times(coefficient: Tensor | None, number: float, like: Tensor | None) -> Tensor:
    if coefficient is None:
        assert like is not None
        return Tensor(np.zeros(like.shape, like.dtype.numpy))
    return coefficient * number


def _stacked(parts: list[Tensor | None]) -> Tensor:
    """Convert coefficients to derivatives, with the order along a new first axis."""
    rows = [_times(parts[k], math.factorial(k), parts[0]) for k in range(1, len(parts))]
    return apply(OPCODES["concat"], 0, *[row.reshape((1, *row.shape)) for row in rows])
