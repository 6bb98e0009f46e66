"""Initial values: names that ported code imports from ``common.initializer``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad import _initial_values
from dualgrad._initial_values import *  # noqa: F403
from dualgrad._initial_values import _fans
from dualgrad._initial_values import _named as _register  # noqa: F401  subclasses of ported code register themselves
from dualgrad.dtype import float32
from dualgrad.tensor import Tensor, initialized

__all__ = ["initializer"]
__all__ += [name for name in _initial_values.__all__ if name[0].isupper()]


def initializer(init: Any, shape: int | Sequence[int] | None = None, dtype: Any = float32) -> Tensor:
    """Make a tensor of initial values.

    Parameters
    ----------
    init : str, number, Tensor, array or Initializer
        A name ('zeros', 'ones', 'normal', 'truncatednormal', 'uniform', 'xavier_uniform', 'xavier_normal',
        'he_uniform', 'he_normal', 'variancescaling', 'orthogonal', 'identity', 'dirac'), a number to fill the
        tensor with, an initialiser, or the values themselves; a Tensor or array keeps its own type.
    shape : int or sequence of int, optional
        May be omitted only if `init` has a shape of its own.
    dtype : type, default float32
        The type of the result.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `init` is of another kind, or `shape` is missing or not made of ints.
    ValueError
        If the name is not known, or the shape of a Tensor differs from `shape`.

    Examples
    --------
    >>> from dualgrad.common.initializer import One, initializer
    >>> print(initializer("zeros", (2, 3)))
    [[0. 0. 0.]
     [0. 0. 0.]]
    >>> print(initializer(One(), 2) * initializer(0.5, 2))
    [0.5 0.5]
    """
    return initialized(init, shape, dtype)


def _assignment(arr: np.ndarray, num: Any) -> np.ndarray:
    """Fill an array in place with a number or an array that broadcasts; ported initialisers end with this."""
    arr[...] = num
    return arr


def _calculate_fan_in_and_fan_out(shape: Sequence[int]) -> tuple[int, int]:
    """The numbers of inputs and of outputs of an element of a weight (out, in, ...)."""
    return _fans("_calculate_fan_in_and_fan_out", tuple(shape))
