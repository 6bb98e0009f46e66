"""The library's own source of random numbers.

Initial values and random layers draw from one generator, so that a single `set_seed` makes a run repeatable.
NumPy's global state is neither read nor changed: a library that reseeds `np.random` spoils unrelated experiments.
NumPy's generators lock themselves, so threads may draw at the same time (in no fixed order).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ._engine.arrays.array import install
from ._engine.primitives.execute import unrepeatable

__all__ = ["generator", "get_seed", "set_seed"]

_seed: int | None = None
_generator: np.random.Generator | None = None  # made on first use: NumPy's random numbers take time to import


def set_seed(seed: int) -> None:
    """Seed the library's random numbers.

    Parameters
    ----------
    seed : int
        Zero or more.

    Raises
    ------
    TypeError
        If `seed` is not an integer.
    ValueError
        If `seed` is negative.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.common.initializer import initializer
    >>> dg.set_seed(1)
    >>> first = initializer("normal", (3,))
    >>> dg.set_seed(1)
    >>> second = initializer("normal", (3,))
    >>> bool((first == second).all())
    True
    """
    global _seed, _generator
    if isinstance(seed, bool | type) or not hasattr(seed, "__index__"):
        raise TypeError(f"set_seed: seed must be an int, got {type(seed).__name__}")
    number = operator.index(seed)
    if number < 0:
        raise ValueError(f"set_seed: seed must be zero or more, got {number}")
    unrepeatable("the seed of random numbers is set")
    _generator = np.random.default_rng(number)
    _seed = number


def get_seed() -> int | None:
    """Return the last seed of `set_seed`, or None.

    Returns
    -------
    int or None

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.random import get_seed
    >>> dg.set_seed(7)
    >>> get_seed()
    7
    """
    return _seed


def generator() -> np.random.Generator:
    """Return the generator that all random functions of the library draw from.

    `set_seed` replaces it: call this at each use and do not keep the result.
    """
    global _generator
    if _generator is None:
        _generator = np.random.default_rng()
    return _generator


def get_state() -> Any:
    """Return the state of the generator, so that the next draws can be repeated."""
    return generator().bit_generator.state


def put_state(state: Any) -> None:
    """Restore a state that `get_state` returned."""
    generator().bit_generator.state = state


install(get_random=get_state, put_random=put_state)
