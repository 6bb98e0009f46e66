"""The results of transforms can be pickled if their functions can."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._engine.transforms.transformed import Transformed
from .._foreign import check_keywords

if TYPE_CHECKING:
    from typing import ParamSpec, TypeAlias, TypeVar

    import numpy as np

    from ..tensor import Tensor

    # What the signatures of transforms are written with.
    P = ParamSpec("P")  # the other arguments of a function
    R = TypeVar("R")  # what it returns
    X = TypeVar("X")  # what it is differentiated by: a pytree,
    A = TypeVar("A")  # an argument before that
    F = TypeVar("F", bound=Callable[..., Any])
    Input: TypeAlias = Tensor | complex | np.ndarray | np.generic  # made a tensor where a function is differentiated
    Number = TypeVar("Number", bound=Input)

__all__ = ["made_by", "transformation"]


def transformation(transform: F) -> F:
    """A transform whose results are pickled as the call that made them."""

    @functools.wraps(transform)
    def make(*args: Any, **kwargs: Any) -> Callable[..., Any]:
        try:
            made = transform(*args, **kwargs)
        except TypeError:  # before it: a check of keywords would cost each call
            check_keywords(transform.__name__, transform, kwargs)
            raise
        return made_by(transform, made, *args, **kwargs)

    return make  # type: ignore[return-value]


def made_by(transform: Callable[..., Any], fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """A function that a transform has made of some arguments; it is pickled as that call."""
    return Transformed(fn, transform.__module__, transform.__qualname__, args, kwargs)
