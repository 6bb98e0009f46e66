"""What a sample is: a call of a function of SciPy on arrays of any library, and the inputs that are differentiated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Sample", "also", "sample"]


@dataclass(frozen=True)
class Sample:
    """A call of a function of SciPy.

    Attributes
    ----------
    call
        Takes the function, `c` (makes of NumPy's array or a list of floats a constant of the library at hand), and the
        inputs; returns the result, or the part of it that is looked at.
    inputs
        float64 arrays. All are differentiated.
    label
        What is special about this sample: by which argument, with which setting.
    exact
        The same function of numbers of mpmath, where it works element by element.
    wrong
        Why a derivative through SciPy's code is not that of the function, and what to use.
    reach
        The longest step along which NumPy's own results may be followed for differences.
    """

    call: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    label: str = ""
    exact: Callable[..., Any] | None = None
    wrong: str = ""
    reach: float = 0.2


def sample(call: Callable[..., Any], *inputs: Any, **more: Any) -> Sample:
    """A sample; inputs may be lists."""
    return Sample(call, tuple([np.asarray(x, np.float64) for x in inputs]), **more)


def also(names: str | Iterable[str], call: Callable[..., Any], *inputs: Any, **more: Any) -> dict[str, list[Sample]]:
    """The same sample for several names."""
    return {name: [sample(call, *inputs, **more)] for name in (names.split() if isinstance(names, str) else names)}
