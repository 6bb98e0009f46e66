"""The operators of random programs on arrays of mpmath numbers, and derivatives by differences of 120 digits.

The text of a program (random_programs.py) runs with this module in the place of ``dualgrad`` and of ``dualgrad.ops``.
Nothing here knows how to differentiate: a gradient is a table of central differences, also where gradients are nested.
With a step of 1e-12 the truncation error is some 1e-24, and 120 digits leave room for eight derivatives.

What has a corner reports how far away it is (`State.corner`), since differences mean nothing there. A value behind
stop_gradient is the one of the undisturbed program, whatever is differentiated around it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mpmath
import numpy as np

DIGITS = 120
STEP = mpmath.mpf(10) ** -12


class State:
    """What one run of a program leaves behind."""

    def __init__(self, budget: float) -> None:
        self.left = budget  # elements that may still be computed
        self.corner = math.inf  # distance to the nearest corner
        self.constants: dict[Any, Exact] = {}  # values behind stop_gradient, by line and samples
        self.samples: tuple[int, ...] = ()  # of the calls of vmap that are under way

    def near(self, gap: Any) -> None:
        """Something changes its form where one of these numbers is 0."""
        self.corner = min(self.corner, np.abs(np.asarray(gap, np.float64)).min(initial=math.inf))


state = State(math.inf)


class TooLong(Exception):
    """More elements than the run was allowed: differences of differences of differences."""


@contextmanager
def fresh(budget: float = math.inf) -> Iterator[State]:
    """A run of its own, of so many elements at most."""
    global state
    former, state = state, State(budget)
    try:
        with mpmath.workdps(DIGITS):
            yield state
    finally:
        state = former


class Exact:
    """An array of mpmath numbers (or of floats, where only the shape is asked for) that behaves like a Tensor."""

    __slots__ = ("a",)
    __array_ufunc__ = None

    def __init__(self, a: Any) -> None:
        self.a = np.asarray(a)
        state.left -= 1 + self.a.size
        if state.left < 0:
            raise TooLong

    shape = property(lambda self: self.a.shape)
    ndim = property(lambda self: self.a.ndim)
    T = property(lambda self: Exact(self.a.T))

    def __getitem__(self, key: Any) -> Exact:
        return Exact(self.a[_plain(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.a = self.a.copy()
        self.a[_plain(key)] = _plain(value)[()]  # a number, not an array of one

    def __neg__(self) -> Exact:
        return Exact(-self.a)

    def __add__(self, other: Any) -> Exact:
        return Exact(self.a + _plain(other))

    def __sub__(self, other: Any) -> Exact:
        return Exact(self.a - _plain(other))

    def __rsub__(self, other: Any) -> Exact:
        return Exact(_plain(other) - self.a)

    def __mul__(self, other: Any) -> Exact:
        return Exact(self.a * _plain(other))

    def __truediv__(self, other: Any) -> Exact:
        return Exact(self.a / _plain(other))

    def __rtruediv__(self, other: Any) -> Exact:
        return Exact(_plain(other) / self.a)

    def __pow__(self, other: Any) -> Exact:
        return Exact(self.a ** _plain(other))

    def __matmul__(self, other: Exact) -> Exact:
        return matmul(self, other)

    def __gt__(self, other: Exact) -> Exact:
        gap = self.a - _plain(other)
        state.near(gap)
        return Exact(np.asarray(gap > 0, bool))

    __radd__, __rmul__ = __add__, __mul__


def _plain(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_plain, x))
    return x.a if isinstance(x, Exact) else x


def exact(a: np.ndarray) -> Exact:
    """An array of floats as mpmath numbers."""
    return Exact(np.frompyfunc(mpmath.mpf, 1, 1)(a))


# --------------------------------------------------------------------------------------- functions of an element


def _elementary(name: str, narrow: Any = None) -> Callable[[Any], Any]:
    wide = np.frompyfunc(getattr(mpmath, name), 1, 1)
    narrow = narrow or getattr(np, name)
    return lambda a: wide(a) if np.asarray(a).dtype == object else narrow(a)


_floats = lambda f: np.vectorize(f, otypes=[np.float64])
_sin, _cos, _tanh, _exp, _log, _sqrt = map(_elementary, ("sin", "cos", "tanh", "exp", "log", "sqrt"))
_erf, _erfc = _elementary("erf", _floats(math.erf)), _elementary("erfc", _floats(math.erfc))
_atan, _asinh = _elementary("atan", np.arctan), _elementary("asinh", np.arcsinh)
_expm1, _log1p, _sinh = _elementary("expm1"), _elementary("log1p"), _elementary("sinh")
_logistic = lambda a: 1 / (1 + _exp(-a))
_softplus = lambda a: _log(1 + _exp(a))


def _function(f: Callable[..., Any]) -> Callable[..., Exact]:
    return lambda *xs: Exact(f(*map(_plain, xs)))


sin, cos, tanh, exp, log, sqrt = map(_function, (_sin, _cos, _tanh, _exp, _log, _sqrt))
erf, erfc, atan, asinh, expm1, log1p, sinh = map(_function, (_erf, _erfc, _atan, _asinh, _expm1, _log1p, _sinh))
square, sigmoid, softplus = _function(lambda a: a * a), _function(_logistic), _function(_softplus)
silu = _function(lambda a: a * _logistic(a))
gelu = _function(lambda a: a * (1 + _erf(a / _sqrt(a * 0 + 2))) / 2)
atan2 = _function(lambda a, b: _atan(a / b))  # for b > 0
hypot = _function(lambda a, b: _sqrt(a * a + b * b))
cube, bell = _function(lambda a: a * a * a), _function(lambda a: _exp(-a * a))
tangent = _function(lambda a: _sin(a) / _cos(a))
reverse = _function(lambda a: a[..., ::-1])
pairs = _function(lambda a, b: a[..., :, None] * b[..., None, :])


def abs(x: Exact) -> Exact:
    state.near(x.a)
    return Exact(np.abs(x.a))


def relu(x: Exact) -> Exact:
    state.near(x.a)
    return Exact(np.where(x.a > 0, x.a, 0 * x.a))


def maximum(x: Exact, y: Exact) -> Exact:
    state.near(x.a - y.a)
    return Exact(np.where(x.a > y.a, x.a, y.a))


def minimum(x: Exact, y: Exact) -> Exact:
    state.near(x.a - y.a)
    return Exact(np.where(x.a < y.a, x.a, y.a))


def clamp(x: Exact, low: float, high: float) -> Exact:
    state.near(x.a - low)
    state.near(x.a - high)
    return Exact(np.where(x.a < low, low + 0 * x.a, np.where(x.a > high, high + 0 * x.a, x.a)))


def where(condition: Exact, x: Exact, y: Exact) -> Exact:
    return Exact(np.where(condition.a, x.a, y.a))


def constant(data: Any, like: Exact) -> Exact:
    return exact(np.array(data, np.float64)) if like.a.dtype == object else Exact(np.array(data, np.float64))


def stop_gradient(x: Exact) -> Exact:
    return state.constants.setdefault((sys._getframe(1).f_lineno, state.samples), Exact(x.a))


# ------------------------------------------------------------------------------------------- axes and shapes


def sum(x: Exact, axis: Any = None, keepdims: bool = False) -> Exact:
    # an empty sum is the int 0: it takes the kind of its terms
    return Exact(np.asarray(np.sum(x.a, axis=axis, keepdims=keepdims), x.a.dtype))


def mean(x: Exact, axis: Any = None, keepdims: bool = False) -> Exact:
    total = sum(x, axis, keepdims)
    return total / (x.a.size // total.a.size)


def prod(x: Exact, axis: Any = None, keepdims: bool = False) -> Exact:
    return Exact(np.asarray(np.prod(x.a, axis=axis, keepdims=keepdims), x.a.dtype))


def var(x: Exact, axis: Any = None, keepdims: bool = False) -> Exact:
    return mean(square(x - mean(x, axis, True)), axis, keepdims)


def amax(x: Exact, axis: Any = None, keepdims: bool = False) -> Exact:
    top = np.max(x.a, axis=axis, keepdims=True)
    gaps = np.sort(np.ravel(top - x.a))  # one zero for each maximum; the next is the distance to a tie
    state.near(gaps[np.size(top) : np.size(top) + 1])
    return Exact(np.max(x.a, axis=axis, keepdims=keepdims))


def amin(x: Exact, axis: Any = None, keepdims: bool = False) -> Exact:
    return -amax(-x, axis, keepdims)


def logsumexp(x: Exact, axis: Any = None, keepdims: bool = False) -> Exact:
    return log(sum(exp(x), axis, keepdims))


def norm(x: Exact) -> Exact:
    length = _sqrt(np.asarray(np.sum(x.a * x.a)))
    state.near(length)
    return Exact(length)


def softmax(x: Exact, axis: int = -1) -> Exact:
    e = exp(x)
    return e / sum(e, axis, True)


def log_softmax(x: Exact, axis: int = -1) -> Exact:
    return x - logsumexp(x, axis, True)


def cumsum(x: Exact, axis: int) -> Exact:
    return Exact(np.cumsum(x.a, axis))


def argsort(x: Exact) -> Exact:
    order = np.argsort(x.a, kind="stable")
    state.near(np.diff(x.a[order]))
    return Exact(order)


def reshape(x: Exact, shape: tuple[int, ...]) -> Exact:
    return Exact(x.a.reshape(shape))


def transpose(x: Exact, axes: tuple[int, ...]) -> Exact:
    return Exact(x.a.transpose(axes))


def expand_dims(x: Exact, axis: int) -> Exact:
    return Exact(np.expand_dims(x.a, axis))


def squeeze(x: Exact, axis: int) -> Exact:
    return Exact(np.squeeze(x.a, axis))


def broadcast_to(x: Exact, shape: tuple[int, ...]) -> Exact:
    return Exact(np.broadcast_to(x.a, shape))


def tile(x: Exact, repeats: tuple[int, ...]) -> Exact:
    return Exact(np.tile(x.a, repeats))


def flip(x: Exact, axis: tuple[int, ...]) -> Exact:
    return Exact(np.flip(x.a, axis))


def cat(xs: tuple[Exact, ...], axis: int) -> Exact:
    return Exact(np.concatenate([x.a for x in xs], axis))


def stack(xs: tuple[Exact, ...], axis: int) -> Exact:
    return Exact(np.stack([x.a for x in xs], axis))


def gather(x: Exact, indices: Exact, axis: int) -> Exact:
    return Exact(np.take(x.a, indices.a.astype(int), axis))


# ------------------------------------------------------------------------------------------ products, matrices


def matmul(x: Exact, y: Exact) -> Exact:
    a = x.a[None, :] if x.ndim == 1 else x.a
    b = y.a[:, None] if y.ndim == 1 else y.a
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul of shapes {x.shape} and {y.shape}")
    floats = a.dtype != object and b.dtype != object
    product = a @ b if floats else sum(Exact(a[..., :, :, None] * b[..., None, :, :]), -2).a
    if x.ndim == 1:
        product = product[..., 0, :]
    return Exact(product[..., 0] if y.ndim == 1 else product)


def einsum(pattern: str, *xs: Exact) -> Exact:
    """The formula, read letter by letter."""
    inputs, output = pattern.replace(" ", "").split("->")
    terms = inputs.split(",")
    letters = output + "".join(sorted(set("".join(terms)) - set(output)))
    product = None
    for term, x in zip(terms, xs, strict=True):
        a = x.a
        for letter in dict.fromkeys(term):  # a letter twice: the diagonal
            places = [k for k, name in enumerate(term) if name == letter]
            if len(places) == 2:
                a = np.moveaxis(np.diagonal(a, axis1=places[0], axis2=places[1]), -1, places[0])
                term = term[: places[1]] + term[places[1] + 1 :]
        order = sorted(range(len(term)), key=lambda k, term=term: letters.index(term[k]))
        shape = [a.shape[term.index(letter)] if letter in term else 1 for letter in letters]
        a = a.transpose(order).reshape(shape)
        product = a if product is None else product * a
    return sum(Exact(product), tuple(range(len(output), len(letters))))


def inverse(x: Exact) -> Exact:
    """By elimination with the identity beside it; no pivots, for matrices with a heavy diagonal."""
    n = x.shape[0]
    rows = np.concatenate([x.a, np.eye(n, dtype=int) + 0 * x.a], axis=1)
    for k in range(n):
        rows[k] = rows[k] / rows[k, k]
        for i in range(n):
            if i != k:
                rows[i] = rows[i] - rows[i, k] * rows[k]
    return Exact(rows[:, n:])


# ------------------------------------------------------------------------------------------------- derivatives


def _total(out: Any, weights: Any = None) -> Any:
    if isinstance(out, tuple):
        return np.sum([_total(o, w) for o, w in zip(out, weights or (None,) * len(out), strict=True)])
    return np.sum(out.a if weights is None else out.a * weights.a)


def _step(a: np.ndarray) -> Any:
    return STEP if a.dtype == object else 1e-4


def _gradient_by(place: Exact, evaluate: Callable[[], Any]) -> Exact:
    """Central differences of a number by every element of an array that it reads."""
    before, h = place.a, _step(place.a)
    found = np.zeros(before.shape, before.dtype)
    for index in np.ndindex(before.shape):
        ends = []
        for sign in (1, -1):
            place.a = before.copy()
            place.a[index] = place.a[index] + sign * h
            ends.append(evaluate())
        found[index] = (ends[0] - ends[1]) / (2 * h)
    place.a = before
    return Exact(found)


def grad(fn: Any, grad_position: Any = 0, weights: Any = None, sens_param: bool = False) -> Any:
    with_value = value_and_grad(fn, grad_position, weights, sens_param)
    return lambda *args: with_value(*args)[1]


def value_and_grad(fn: Any, grad_position: Any = 0, weights: Any = None, sens_param: bool = False) -> Any:
    def gradient(*args: Exact) -> Any:
        *args, sens = args if sens_param else (*args, None)
        args = [Exact(x.a) for x in args]
        value = fn(*args)
        evaluate = lambda: _total(fn(*args), sens)
        by_input: Any = None
        if isinstance(grad_position, tuple):
            by_input = tuple([_gradient_by(args[k], evaluate) for k in grad_position])
        elif grad_position is not None:
            by_input = _gradient_by(args[grad_position], evaluate)
        if weights is None:
            return value, by_input
        by_weight = (
            tuple([_gradient_by(w, evaluate) for w in weights])
            if isinstance(weights, list)
            else _gradient_by(weights, evaluate)
        )
        return value, by_weight if grad_position is None else (by_input, by_weight)

    return gradient


class GradOperation:
    def __init__(self, get_all: bool = False, sens_param: bool = False) -> None:
        self.get_all, self.sens_param = get_all, sens_param

    def __call__(self, fn: Any) -> Any:
        def gradient(*args: Exact) -> Any:
            positions = tuple(range(len(args) - self.sens_param)) if self.get_all else 0
            return grad(fn, positions, sens_param=self.sens_param)(*args)

        return gradient


def jvp(fn: Any, inputs: Any, v: Any) -> tuple[Any, Any]:
    xs, vs = (inputs, v) if isinstance(inputs, tuple) else ((inputs,), (v,))
    value = fn(*xs)
    h = _step(xs[0].a)
    ends = [fn(*[x + sign * h * d for x, d in zip(xs, vs, strict=True)]) for sign in (1, -1)]
    slope = lambda a, b: tuple(map(slope, a, b)) if isinstance(a, tuple) else Exact((a.a - b.a) / (2 * h))
    return value, slope(*ends)


def vjp(fn: Any, *inputs: Exact) -> tuple[Any, Any]:
    n = len(inputs)
    return fn(*inputs), lambda sens: grad(fn, tuple(range(n)), sens_param=True)(*inputs, sens)


def vmap(fn: Any, in_axes: Any = 0, out_axes: int = 0) -> Any:
    def mapped(*args: Exact) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        size = next(x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None)
        former, found = state.samples, []
        for k in range(size):
            state.samples = (*former, k)
            sample = [x if a is None else Exact(x.a.take(k, a)) for x, a in zip(args, axes, strict=True)]
            found.append(fn(*sample))
        state.samples = former
        join = lambda parts: Exact(np.stack([p.a for p in parts], out_axes))
        return tuple(map(join, zip(*found, strict=True))) if isinstance(found[0], tuple) else join(found)

    return mapped


def cell(fn: Any, *weights: Exact) -> Any:
    return fn
