"""Products of Jacobians and Hessians with vectors, and the properties of arguments that a plan depends on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops._arguments import to_shape
from ..ops.axes._joining import concat
from ..tensor import Tensor
from ..transforms.gradient import grad, jvp, vjp
from .patterns import leaves

__all__ = ["Like", "as_tensors", "backward", "described", "fits", "flat", "forward", "kind_of", "split", "twice"]

# --------------------------------------------------------------------------------------------------- arguments


def as_tensors(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert NumPy arrays to tensors."""
    return tuple([Tensor(x) if isinstance(x, np.ndarray) else x for x in args])


def kind_of(x: Any) -> Any:
    """The properties of an argument that a plan depends on. Integers belong to them: patterns may depend on them."""
    if not isinstance(x, Tensor):
        return x
    numbers = x.asnumpy() if x.dtype.is_int or x.dtype.is_bool else None
    return Like(x.shape, x.dtype, numbers)


class Like:
    """The properties of a Tensor that a plan depends on."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, numbers: np.ndarray | None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.numbers = numbers


def fits(x: Any, kind: Any) -> bool:
    """True if an argument has the properties that a plan was made for."""
    if isinstance(kind, Like):
        return (
            isinstance(x, Tensor)
            and x.shape == kind.shape
            and x.dtype == kind.dtype
            and (kind.numbers is None or np.array_equal(x.asnumpy(), kind.numbers))
        )
    return same(x, kind)


def same(x: Any, y: Any) -> bool:
    """True if two arguments other than tensors are identical or equal.

    Numbers and texts are compared by type and value (signed zeros differ), nests of them entry by entry, and other
    objects by identity.
    """
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if isinstance(x, np.generic):
        return x.dtype == y.dtype and x.tobytes() == y.tobytes()
    kind = type(x)
    if kind in (float, complex, int, bool, str, bytes, range):
        return repr(x) == repr(y)
    if kind is slice:
        return same((x.start, x.stop, x.step), (y.start, y.stop, y.step))
    if kind is dict:
        return same([*x, *x.values()], [*y, *y.values()])
    return kind in (tuple, list) and len(x) == len(y) and all(map(same, x, y))


def described(x: Any) -> str:
    """Describe an argument or its properties in words."""
    if isinstance(x, Tensor | Like):
        return f"a Tensor of shape {x.shape} and type {x.dtype}"
    return f"{x!r}"


def split(a: np.ndarray, pieces: list[tuple[int, ...]] | None) -> list[np.ndarray]:
    """Cut the last axis of an array into arrays of these shapes; None leaves the array whole."""
    if pieces is None:
        return [a]
    ends = np.cumsum([math.prod(shape) for shape in pieces])[:-1]
    return [part.reshape(a.shape[:-1] + shape) for part, shape in zip(np.split(a, ends, -1), pieces, strict=True)]


# ------------------------------------------------------------------------------------------------------ sweeps


def flat(x: Any) -> Tensor:
    """Concatenate all elements of a result."""
    parts = [to_shape(leaf, (leaf.size,)) for leaf in leaves(x)]
    return parts[0] if len(parts) == 1 else concat(parts)


def _at(fn: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...]) -> tuple[Any, list[Any]]:
    """`fn` as a function of the differentiated arguments, and those arguments."""

    def of_inputs(*inputs: Any) -> Any:
        full = list(args)
        for p, x in zip(positions, inputs, strict=True):
            full[p] = x
        return flat(fn(*full))

    return of_inputs, [args[p] for p in positions]


def forward(fn: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...]) -> Callable[..., Tensor]:
    """Make the function that multiplies the Jacobian by directions."""
    of_inputs, inputs = _at(fn, args, positions)
    return lambda *seeds: jvp(of_inputs, tuple(inputs), tuple(seeds))[1]


def backward(fn: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...]) -> Callable[..., Tensor]:
    """Make the function that multiplies the transposed Jacobian by a cotangent."""
    of_inputs, inputs = _at(fn, args, positions)
    value, pull = vjp(of_inputs, *inputs)
    if value.dtype.is_complex:
        raise TypeError("sparse_jacobian: complex results have derivatives forwards only; use mode='columns'")
    return lambda seed: flat(list(pull(seed)))


def twice(fn: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...]) -> Callable[..., Tensor]:
    """Make the function that multiplies the Hessian by directions: directional derivatives of the gradient."""
    return forward(grad(fn, positions), args, positions)
