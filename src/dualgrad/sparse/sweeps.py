"""Products of Jacobians and Hessians with vectors, and what of its arguments a plan of them depends on."""

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
    """Arguments with tensors for NumPy's arrays."""
    return tuple([Tensor(x) if isinstance(x, np.ndarray) else x for x in args])


def kind_of(x: Any) -> Any:
    """What an argument has to have in common with the one a plan was prepared for; integers decide about patterns."""
    if not isinstance(x, Tensor):
        return x
    numbers = x.asnumpy() if x.dtype.is_int or x.dtype.is_bool else None
    return Like(x.shape, x.dtype, numbers)


class Like:
    """A Tensor as far as a plan depends on it."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, numbers: np.ndarray | None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.numbers = numbers


def fits(x: Any, kind: Any) -> bool:
    """Whether an argument is of the kind that a plan was made for."""
    if isinstance(kind, Like):
        return (
            isinstance(x, Tensor)
            and x.shape == kind.shape
            and x.dtype == kind.dtype
            and (kind.numbers is None or np.array_equal(x.asnumpy(), kind.numbers))
        )
    return same(x, kind)


def same(x: Any, y: Any) -> bool:
    """Whether two arguments that are no tensors are identical or equal.

    Numbers and texts are compared by type and value (signed zeros differ), nests of them entry by entry, anything else
    by identity.
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
    """An argument, or a kind of arguments, in words."""
    if isinstance(x, Tensor | Like):
        return f"a Tensor of shape {x.shape} and type {x.dtype}"
    return f"{x!r}"


def split(a: np.ndarray, pieces: list[tuple[int, ...]] | None) -> list[np.ndarray]:
    """The last axis of an array cut into arrays of these shapes; None: left as it is."""
    if pieces is None:
        return [a]
    ends = np.cumsum([math.prod(shape) for shape in pieces])[:-1]
    return [part.reshape(a.shape[:-1] + shape) for part, shape in zip(np.split(a, ends, -1), pieces, strict=True)]


# ------------------------------------------------------------------------------------------------------ sweeps


def flat(x: Any) -> Tensor:
    """All elements of a result, one after the other."""
    parts = [to_shape(leaf, (leaf.size,)) for leaf in leaves(x)]
    return parts[0] if len(parts) == 1 else concat(parts)


def _at(fn: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...]) -> tuple[Any, list[Any]]:
    """`fn` as a function of what is differentiated; and that."""

    def of_inputs(*inputs: Any) -> Any:
        full = list(args)
        for p, x in zip(positions, inputs, strict=True):
            full[p] = x
        return flat(fn(*full))

    return of_inputs, [args[p] for p in positions]


def forward(fn: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...]) -> Callable[..., Tensor]:
    """Products of the Jacobian with directions."""
    of_inputs, inputs = _at(fn, args, positions)
    return lambda *seeds: jvp(of_inputs, tuple(inputs), tuple(seeds))[1]


def backward(fn: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...]) -> Callable[..., Tensor]:
    """Products of the transposed Jacobian."""
    of_inputs, inputs = _at(fn, args, positions)
    value, pull = vjp(of_inputs, *inputs)
    if value.dtype.is_complex:
        raise TypeError("sparse_jacobian: complex results have derivatives forwards only; use mode='columns'")
    return lambda seed: flat(list(pull(seed)))


def twice(fn: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...]) -> Callable[..., Tensor]:
    """Products of the Hessian: directional derivatives of the gradient."""
    return forward(grad(fn, positions), args, positions)
