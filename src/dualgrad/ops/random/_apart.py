"""Random numbers that are drawn apart for every sample of `vmap`, and that depend on an operand.

A draw has no operands, so all samples would share its numbers. Here the source gives a key only. A primitive makes the
numbers from the key and a vector; `vmap` gives it the vectors of all samples at once, as rows of an array. So one call
for a matrix and `vmap` over its rows draw the same numbers. The primitive is a function of its operands: a recording
draws a new key at each replay, and a part that runs again gets the same key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ... import extend
from ..._engine.transforms import tensor as _engine
from ..._settings import room
from ...leaving import LeavesDerivativeError
from ...tensor import Tensor
from .._arguments import ALL_AXES, to_shape, total

Source: TypeAlias = "Callable[[], np.random.Generator]"  # text: numpy.random is imported on first use
"""The source of random numbers, called at each draw."""

Draw: TypeAlias = Callable[..., np.ndarray]
"""``draw(generator, rows, *settings)`` returns numbers for each row of an array of shape (..., n)."""


def apart(name: str, draw: Draw, source: Source, vector: Tensor, *settings: Any) -> Tensor:
    """Return `draw` of a vector, for each sample of `vmap` anew. A derivative by the vector raises an error."""
    key = _engine.draw(lambda: np.asarray(source().integers(2**63, size=2)))
    return _drawn(key, vector, name=name, draw=draw, settings=settings)


def alone(x: Tensor) -> Tensor:
    """A vector of one element that has only the batch axes of a tensor."""
    return to_shape(total(_engine.stop(x), ALL_AXES[x.ndim], False), (1,))


def uniform(generator: np.random.Generator, rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform numbers on [0, 1)."""
    room("multinomial", rows.shape[:-1] + shape)
    return generator.random(rows.shape[:-1] + shape)


def _kernel(key: np.ndarray, rows: np.ndarray, name: str, draw: Draw, settings: tuple[Any, ...]) -> np.ndarray:
    return draw(np.random.default_rng(key.ravel().tolist()), rows, *settings)


def _refused(change: Tensor, out: Tensor, key: Tensor, vector: Tensor, name: str, **settings: Any) -> NoReturn:
    raise LeavesDerivativeError(
        f"{name}: what it draws by rejection has no derivative by the parameters of the distribution here, and a "
        "parameter carries one; say ops.stop_gradient(...) of it"
    )


_drawn = extend.primitive(
    "drawn_apart", _kernel, jvp=(None, _refused), vjp=(None, _refused), arity=2, types="apart", core=(1, 1),
    summary="random numbers of a key and a vector",
)  # fmt: skip
