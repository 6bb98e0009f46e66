"""`check`: one call that differentiates a function in every way.

Design
------
A function of arrays is reduced to a function of a single number t: its operands move along random directions, and the
sines of its results are added up with random weights. The k-th derivative by t is a number that every engine can
compute, and that mixes all partial derivatives up to order k. First-order rules are also compared directly (dot
products of jvp and vjp), where a wrong element is easier to name.

Errors are relative to the largest number involved: a derivative that is small by cancellation needs no more digits than
its terms have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ops
from .._engine.transforms.forward import run_forward
from .._engine.values.algebra import jets
from .._nests import tensors_in
from .._settings import array_of, real_number, sequence, truth_value, whole_number
from ..tensor import Tensor
from ..transforms.gradient import grad, jvp, vjp
from ..transforms.vectorize import vmap
from .tapes import taped_backward

__all__ = ["Report", "check"]

Function = Callable[..., Any]

# Comparisons of values: bit for bit, unless a recorded program computes one value and adds in another order.
TWICE = "two calls with the same arguments"
TRACED = "the value and that while it is differentiated"


@dataclass
class Report:
    """The comparisons of `check`, and their errors.

    Attributes
    ----------
    errors
        The largest error of each comparison, relative to the largest number compared.

    Examples
    --------
    >>> from dualgrad.testing import Report
    >>> print(Report({"jvp and vjp": 2e-16, "gradient and differences, order 1": 3e-9}))
    jvp and vjp                        2.0e-16
    gradient and differences, order 1  3.0e-09
    """

    errors: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.errors, dict):
            raise TypeError(f"Report: errors must be a dict, got {type(self.errors).__name__}")

    def __str__(self) -> str:
        width = max(map(len, self.errors), default=0)
        return "\n".join(f"{name:{width}}  {error:.1e}" for name, error in self.errors.items())


def check(
    fn: Function,
    args: Sequence[Any],
    *,
    order: int = 4,
    smooth: bool = True,
    batched: bool = True,
    broadcasts: bool = False,
    narrow: bool = True,
    special: Sequence[Sequence[Any]] = (),
    raises: Sequence[Sequence[Any]] = (),
    value: Function | None = None,
    rtol: float = 1e-11,
    seed: int = 0,
) -> Report:
    """Compare every way of differentiating a function, up to an order.

    Parameters
    ----------
    fn : callable
        A function of tensors that returns a tensor, or a nest of tensors. Everything except its arguments counts as
        constant.
    args : sequence of array_like
        The point, one float64 array for each argument. All are differentiated.
    order : int, default 4
        Highest order of derivatives; fewer if the function has no more at this point.
    smooth : bool, default True
        True if the function has derivatives at this point, so that differences confirm the first two. Turn it off at
        corners, where the ways must agree on a convention that differences cannot show.
    batched : bool, default True
        Compare `vmap` of the function and of its gradient with one call for each sample.
    broadcasts : bool, default False
        True if the function is elementwise: gradients of broadcast arguments are then sums.
    narrow : bool, default True
        Check that values and gradients of float32 arguments are float32, and close to float64.
    special : sequence of sequences of array_like
        Further points, with infinities or nan or with infinite derivatives: there all ways must give the same values
        and derivatives, nan for nan.
    raises : sequence of sequences of array_like
        Points at which the function raises: differentiating it there must raise the same error.
    value : callable, optional
        The same function of NumPy arrays, to compare values with.
    rtol : float, default 1e-11
        Largest relative error between two ways.
    seed : int, default 0
        The seed of the random directions.

    Returns
    -------
    Report
        The errors, by name.

    Raises
    ------
    AssertionError
        At the first comparison that fails, with its name, the order, and both numbers. Errors of the function itself
        pass through, with a note on the comparison.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad import extend, ops
    >>> from dualgrad.testing import check
    >>> cube = extend.elementwise("cube", lambda x: x * x * x, "3 * x * x")
    >>> report = check(cube, [np.array([0.5, -1.0, 2.0])], value=lambda x: x**3)
    >>> report.errors["nested gradients and Taylor coefficients, order 4"] < 1e-12
    True
    >>> wrong = extend.elementwise("wrong", lambda x: x * x * x, "2 * x * x")
    >>> check(wrong, [np.array([0.5])])
    Traceback (most recent call last):
        ...
    AssertionError: wrong: gradient and differences, order 1: 0.0702 and 0.1053, relative error 3.5e-02
    """
    for what, function in (("fn", fn), ("value", value)):
        if not callable(function) and (function is not None or what == "fn"):
            raise TypeError(f"check: {what} must be a function, got {type(function).__name__}")
    for what, flag in (("smooth", smooth), ("batched", batched), ("broadcasts", broadcasts), ("narrow", narrow)):
        truth_value("check", what, flag)
    order, seed = whole_number("check", "order", order), whole_number("check", "seed", seed)
    checks = _Checks(fn, _point("args", args), real_number("check", "rtol", rtol), seed)
    checks.run("values", checks.values, value)
    checks.run("jvp and vjp", checks.first_order)
    checks.run("derivatives of higher order", checks.orders, order)
    if order > 1:
        checks.run("derivatives of captured values", checks.captured)
    checks.run("gradients of a value used twice", checks.accumulated)
    if smooth:
        checks.run("gradients and differences", checks.differences, order)
    if broadcasts:
        checks.run("gradients of broadcast arguments", checks.broadcast)
    if batched:
        checks.run("batches and their samples", checks.batches, order)
    if narrow:
        checks.run("float32 and float64", checks.narrow)
    for point in sequence("check: special", special):
        checks.run("derivatives at special points", checks.special, _point("special", point), order)
    for point in sequence("check: raises", raises):
        checks.run("exceptions", checks.exceptions, _point("raises", point))
    return checks.report


def _point(what: str, arrays: Any) -> list[np.ndarray]:
    return [array_of("check", what, a).astype(np.float64) for a in sequence(f"check: {what}", arrays)]


def _leaves(nest: Any) -> list[Tensor]:
    """The floating tensors of a nest, which can be differentiated."""
    return [t for t in tensors_in(nest) if t.dtype in ("float32", "float64")]


def _tensors(arrays: Sequence[np.ndarray]) -> list[Tensor]:
    return [Tensor(a) for a in arrays]


def _number(t: Any) -> np.ndarray:
    return np.asarray(t.asnumpy() if isinstance(t, Tensor) else t, np.float64)


class _Checks:
    """The comparisons, one method for each."""

    def __init__(self, fn: Function, points: list[np.ndarray], rtol: float, seed: int) -> None:
        self.fn = fn
        self.points = points
        self.rtol = rtol
        self.rng = np.random.default_rng(seed)
        self.directions = [self.rng.standard_normal(a.shape) for a in points]
        self.report = Report()
        self.name = getattr(fn, "__name__", None) or type(fn).__name__

    def run(self, what: str, comparison: Callable[..., None], *settings: Any) -> None:
        try:
            comparison(*settings)
        except AssertionError:
            raise
        except Exception as error:
            error.add_note(f"dualgrad.testing.check({self.name}): while comparing {what}")
            raise

    def compare(self, what: str, one: Any, other: Any, rtol: float | None = None, scale: float = 1.0) -> None:
        a, b = _number(one), _number(other)
        if a.shape != b.shape:
            raise AssertionError(f"{self.name}: {what}: shapes {a.shape} and {b.shape}")
        finite = np.isfinite(a) & np.isfinite(b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if not (finite | same).all():
            raise AssertionError(f"{self.name}: {what}: {a} and {b} are not infinite or nan at the same places")
        size = max(scale, np.abs(a[finite]).max(initial=0.0), np.abs(b[finite]).max(initial=0.0))
        error = float(np.abs(a[finite] - b[finite]).max(initial=0.0) / size)
        self.report.errors[what] = max(error, self.report.errors.get(what, 0.0))
        if error > (self.rtol if rtol is None else rtol):
            raise AssertionError(f"{self.name}: {what}: {a} and {b}, relative error {error:.1e}")

    def along(self, points: list[np.ndarray]) -> Function:
        """The function along a direction, as a function of one number."""

        def f(t: Tensor) -> Any:
            out = self.fn(*[Tensor(a) + t * Tensor(d) for a, d in zip(points, self.directions, strict=True)])
            return self.total(out, t)

        return f

    def flat(self, *xs: Any) -> tuple[Tensor, ...]:
        """The function with its results in a tuple."""
        return tuple(_leaves(self.fn(*xs)))

    def scalar(self, *xs: Any) -> Any:
        """The function with its results reduced to one number."""
        return self.total(self.fn(*xs), xs[0].sum())

    def gradient(self, *xs: Any) -> tuple[Any, ...]:
        """The gradients of `scalar` by all arguments."""
        return _tuple(grad(self.scalar, tuple(range(len(xs))))(*xs))

    def total(self, out: Any, like: Any) -> Any:
        """Reduce a nest to one number: the weighted sum of the sines of all results."""
        weights = np.random.default_rng(7)
        total = 0.0 * like
        for leaf in _leaves(out):
            w = weights.uniform(0.5, 1.5, leaf.shape).astype(leaf.dtype.name)
            total = total + ops.sum(ops.sin(leaf) * Tensor(w))
        return total

    def values(self, value: Function | None) -> None:
        args = _tensors(self.points)
        first = [_number(a) for a in _leaves(self.fn(*args))]
        if not first:
            raise AssertionError(f"{self.name}: no float64 tensor among the results, so there is nothing to check")
        for now, then in zip(args, self.points, strict=True):
            if not np.array_equal(_number(now), then, equal_nan=True):
                raise AssertionError(f"{self.name}: the call changed its argument from {then} to {now}")
        traced, _ = vjp(self.flat, *_tensors(self.points))
        for what, again in ((TWICE, _leaves(self.fn(*args))), (TRACED, traced)):
            for a, b in zip(first, again, strict=True):
                self.compare(what, a, b)
        if value is not None:
            expected = value(*self.points)
            expected = expected if isinstance(expected, tuple | list) else [expected]
            for a, b in zip(first, expected, strict=True):
                self.compare("value and reference", a, b)

    def first_order(self) -> None:
        """Check <c, J v> = <J^T c, v>, for all arguments together and for each alone."""
        args = _tensors(self.points)
        out, pull = vjp(self.flat, *args)
        cts = [Tensor(self.rng.standard_normal(o.shape)) for o in out]
        pulled = pull(tuple(cts)) if len(cts) > 1 else pull(cts[0])
        for i in range(len(args)):
            only = [Tensor(d if k == i else 0.0 * d) for k, d in enumerate(self.directions)]
            moved = jvp(self.flat, tuple(args), tuple(only))[1]
            left = sum(float(np.vdot(_number(c), _number(m))) for c, m in zip(cts, moved, strict=True))
            right = float(np.vdot(_number(pulled[i]), self.directions[i]))
            self.compare(f"jvp and vjp of argument {i}", left, right)

    def ways(self, f: Function, order: int) -> dict[str, Function]:
        """The derivative of one order, computed in every way."""
        one = Tensor(np.array(1.0))
        reverse = forward = f
        outer_forward = outer_reverse = f
        for k in range(order):
            reverse = grad(reverse)
            forward = _pushed(forward, one)
            outer_forward = grad(outer_forward) if k % 2 == 0 else _pushed(outer_forward, one)
            outer_reverse = _pushed(outer_reverse, one) if k % 2 == 0 else grad(outer_reverse)
        return {
            "nested gradients": reverse,
            "nested dual numbers": forward,
            "forward over reverse": outer_forward,
            "reverse over forward": outer_reverse,
        }

    def orders(self, order: int) -> None:
        f = self.along(self.points)
        zero = Tensor(np.array(0.0))
        series = _series(f, zero, order)
        for k in range(1, order + 1):
            ways = self.ways(f, k)
            expected = ways.pop("nested gradients")(zero)
            if not np.isfinite(_number(expected)):
                raise AssertionError(f"{self.name}: the derivative of order {k} is {_number(expected)}")
            for name, way in ways.items():
                self.compare(f"nested gradients and {name}, order {k}", expected, way(zero))
            self.compare(f"nested gradients and Taylor coefficients, order {k}", expected, series[k])
            if k == 2:
                with taped_backward():
                    self.compare(
                        "composite node and recorded backward pass", expected, self.ways(f, 2)["nested gradients"](zero)
                    )

    def captured(self) -> None:
        """Differentiate by an outer level's value that the function captures: d/ds d/dt f(t s) at s = 1."""
        f = self.along(self.points)
        one, near = Tensor(np.array(1.0)), Tensor(np.array(0.25))

        def inner(s: Tensor) -> Any:
            return grad(lambda t: f(t * s))(near)

        def pushed(s: Tensor) -> Any:
            return jvp(lambda t: f(t * s), near, one)[1]

        expected = grad(inner)(one)
        self.compare("captured value, reverse and forward", expected, jvp(pushed, one, one)[1])
        self.compare("captured value, reverse and mixed", expected, grad(pushed)(one))

    def accumulated(self) -> None:
        """Check that a value used twice gets the sum of both gradients."""
        positions = tuple(range(len(self.points)))
        once = self.gradient(*_tensors(self.points))
        twice = _tuple(grad(lambda *xs: self.scalar(*xs) + 2.0 * self.scalar(*xs), positions)(*_tensors(self.points)))
        for a, b in zip(once, twice, strict=True):
            self.compare("gradient of a value used twice", 3.0 * a, b)

    def differences(self, order: int) -> None:
        """Check the first two orders: a right slope that counts as constant is wrong at the second."""
        lower = self.along(self.points)
        h = 1e-5
        for k in range(1, min(order, 2) + 1):
            ends = [_number(lower(Tensor(np.array(t)))) for t in (h, -h)]
            lower = grad(lower)
            found = lower(Tensor(np.array(0.0)))
            self.compare(f"gradient and differences, order {k}", found, (ends[0] - ends[1]) / (2 * h), 1e-5)

    def broadcast(self) -> None:
        """Check that a gradient has the shape of its argument, and sums over the broadcast axes."""
        shapes = [(4, 1, 3), (2, 3), (1,)][: len(self.points)]
        narrow = [np.resize(a, shape) for a, shape in zip(self.points, shapes, strict=True)]
        full = np.broadcast_shapes(*shapes)
        weights = Tensor(self.rng.uniform(0.5, 1.5, full))
        positions = tuple(range(len(shapes)))
        out = self.fn(*_tensors(narrow))
        if not isinstance(out, Tensor):
            raise TypeError(f"{self.name}: broadcasts=True is for functions of one tensor, got {type(out).__name__}")
        shape = out.shape
        if shape != full:
            raise AssertionError(f"{self.name}: operands of shapes {shapes} gave {shape}; expected {full}")

        def g(*xs: Any) -> Any:
            return (self.fn(*xs) * weights).sum()

        found = _tuple(grad(g, positions)(*_tensors(narrow)))
        whole = _tuple(grad(g, positions)(*[Tensor(np.broadcast_to(a, full)) for a in narrow]))
        for shape, a, b in zip(shapes, found, whole, strict=True):
            lead = len(full) - len(shape)
            axes = tuple(range(lead)) + tuple(lead + k for k, n in enumerate(shape) if n == 1 and full[lead + k] != 1)
            self.compare("gradient of a broadcast argument", a, _number(b).sum(axis=axes).reshape(shape))

    def batches(self, order: int) -> None:
        """Check batches with all arguments mapped, and with only the first one mapped."""
        n = len(self.points)
        samples = [
            np.stack([a + 0.05 * k * d for k in range(3)]) for a, d in zip(self.points, self.directions, strict=True)
        ]
        self.batch(samples, [0] * n, order)
        if n > 1:
            self.batch([samples[0], *self.points[1:]], [0] + [None] * (n - 1), order)

    def batch(self, arrays: list[np.ndarray], axes: list[int | None], order: int) -> None:
        each = [_tensors([a if axis is None else a[k] for a, axis in zip(arrays, axes, strict=True)]) for k in range(3)]
        stacked = _tensors(arrays)

        def second(x: Any, *others: Any) -> Any:
            return jvp(lambda x: grad(self.scalar)(x, *others), x, Tensor(self.directions[0]))[1]

        derivatives = ("value", self.fn), ("gradient", self.gradient), ("second derivative", second)
        for what, function in derivatives[: order + 1]:

            def leaves(*args: Any, function: Any = function) -> tuple[Tensor, ...]:
                return tuple(_leaves(function(*args)))

            single = [leaves(*args) for args in each]
            for i, m in enumerate(vmap(leaves, tuple(axes))(*stacked)):
                expected = np.stack([_number(s[i]) for s in single])
                self.compare(f"{what} of a batch and of its samples", m, expected)

        def through(*xs: Any) -> Any:
            return vmap(self.scalar, tuple(axes))(*xs).sum()

        #         # the gradient through the batch: by mapped arguments, and by shared ones
        gradients = [self.gradient(*args) for args in each]
        for i, found in enumerate(_tuple(grad(through, tuple(range(len(axes))))(*stacked))):
            parts = np.stack([_number(g[i]) for g in gradients])
            self.compare("gradient through a batch", found, parts.sum(axis=0) if axes[i] is None else parts)

    def narrow(self) -> None:
        """Check that float32 stays float32, and is close to float64."""
        args = [Tensor(a.astype(np.float32)) for a in self.points]
        wide = [Tensor(a.astype(np.float32).astype(np.float64)) for a in self.points]
        for a, b in zip(_leaves(self.fn(*args)), _leaves(self.fn(*wide)), strict=True):
            if a.dtype != "float32":
                raise AssertionError(f"{self.name}: the value of float32 arguments is {a.dtype}")
            self.compare("value, float32 and float64", a, b, 2e-4)
        for a, b in zip(self.gradient(*args), self.gradient(*wide), strict=True):
            if a.dtype != "float32":
                raise AssertionError(f"{self.name}: the gradient of a float32 argument is {a.dtype}")
            self.compare("gradient, float32 and float64", a, b, 2e-2)

    def special(self, point: list[np.ndarray], order: int) -> None:
        """Check values and derivatives of all ways, nan for nan, one element at a time."""
        plain = self.fn(*_tensors(point))
        for i in range(len(point)):

            def f(x: Tensor, i: int = i) -> Any:
                return self.fn(*[x if k == i else Tensor(a) for k, a in enumerate(point)])

            x = Tensor(point[i])
            one = ops.ones_like(x)
            out, moved = jvp(f, x, one)
            self.compare("value at special points", plain, out)
            self.compare(
                "derivative at special points, forward and reverse", moved, vjp(f, x)[1](ops.ones_like(out))[0]
            )
            reverse = forward = f
            for k in range(1, min(order, 2) + 1):
                reverse, forward = grad(reverse), _pushed(forward, one)
                self.compare(f"derivative of order {k} at special points", reverse(x), forward(x))

    def exceptions(self, point: list[np.ndarray]) -> None:
        args = _tensors(point)
        expected = _error(lambda: self.fn(*args))
        if expected is None:
            raise AssertionError(f"{self.name}: nothing was raised at {point}")
        ones = tuple([ops.ones_like(a) for a in args])
        for what, call in (
            ("grad", lambda: grad(self.scalar)(*args)),
            ("jvp", lambda: jvp(self.scalar, tuple(args), ones)),
        ):
            if _error(call) is not expected:
                raise AssertionError(f"{self.name}: raises {expected.__name__}, but {_error(call)} under {what}")


def _tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _pushed(f: Function, one: Tensor) -> Function:
    return lambda x: jvp(f, x, one)[1]


def _error(call: Callable[[], Any]) -> type[BaseException] | None:
    try:
        call()
    except Exception as error:
        return type(error)
    return None


def _series(f: Function, zero: Tensor, order: int) -> list[Any]:
    """Derivatives of order 0 to `order` from one pass with Taylor coefficients."""
    coefficients = [zero, Tensor(np.array(1.0))] + [None] * (order - 1)
    series = run_forward("check", jets(order), f, [coefficients[: order + 1]])
    return [0.0 if c is None else c * float(math.factorial(k)) for k, c in enumerate(series)]
