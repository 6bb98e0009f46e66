"""Random numbers: uniform and normal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ... import random as _random
from ..._dtypes import default_float
from ..._engine.transforms import tensor as _engine
from ..._settings import whole_number
from ...dtype import DType
from ...tensor import Tensor
from .._arguments import new_shape, type_or, unpacked

__all__ = ["rand", "randn"]


def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Draw numbers that are uniform on [0, 1).

    Parameters
    ----------
    *size : int
        The shape, one by one or as a tuple.
    dtype : type, default float32
        A float type.
    seed : int, optional
        Draw from a source of its own with this seed; by default from the source that `dualgrad.set_seed` seeds.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `dtype` is not a float type.
    ValueError
        If a length is negative.

    Examples
    --------
    >>> from dualgrad import ops
    >>> x = ops.rand(2, 3)
    >>> x.shape, bool(((x >= 0) & (x < 1)).all())
    ((2, 3), True)
    """
    target = _drawn("rand", dtype)
    shape = new_shape("rand", unpacked(size))
    source = _source(seed)

    def numbers() -> np.ndarray:
        if target is _dtype.float64:
            return np.asarray(source().random(shape))
        # drawn in float32: a float64 draw could be rounded up to 1
        drawn = np.asarray(source().random(shape, np.float32))
        if target is _dtype.float16:
            drawn = np.floor(drawn * np.float32(2048)) / np.float32(2048)
        return drawn.astype(target.numpy)

    return _engine.draw(numbers)


def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Draw numbers from the standard normal distribution; arguments and errors are as in `rand`.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.randn(2, 3).shape
    (2, 3)
    """
    target = _drawn("randn", dtype)
    shape, source = new_shape("randn", unpacked(size)), _source(seed)
    return _engine.draw(lambda: np.asarray(source().standard_normal(shape)).astype(target.numpy))


def _source(seed: int | None) -> Callable[[], np.random.Generator]:
    """The source of random numbers. It is looked up at each draw, since `set_seed` replaces it."""
    if seed is None:
        return _random.generator
    number = whole_number("rand", "seed", seed)
    return lambda: np.random.default_rng(number)


def _drawn(name: str, dtype: Any) -> DType:
    target = type_or(name, dtype, default_float())
    if not target.is_float:
        raise TypeError(f"{name}: dtype must be a float type, got {target}")
    return target


METHODS: dict[str, Any] = {}
