"""Pickles for the results of transforms, if their functions can be pickled."""

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

    #     # Type variables for the signatures of transforms.
    P = ParamSpec("P")  # the other arguments of a function
    R = TypeVar("R")  # the result
    X = TypeVar("X")  # the differentiated argument: a pytree,
    A = TypeVar("A")  # an argument before it
    F = TypeVar("F", bound=Callable[..., Any])
    Input: TypeAlias = Tensor | complex | np.ndarray | np.generic  # becomes a tensor in a differentiated position
    Number = TypeVar("Number", bound=Input)

__all__ = ["made_by", "transformation"]


def transformation(transform: F) -> F:
    """Make the results of a transform pickle as the call that made them."""

    @functools.wraps(transform)
    def make(*args: Any, **kwargs: Any) -> Callable[..., Any]:
        try:
            made = transform(*args, **kwargs)
        except TypeError:  # only after an error, since checking keywords first would slow every call
            check_keywords(transform.__name__, transform, kwargs)
            raise
        return made_by(transform, made, *args, **kwargs)

    return make  # type: ignore[return-value]


def made_by(transform: Callable[..., Any], fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Wrap a function that a transform made, so that it pickles as that call."""
    return Transformed(fn, transform.__module__, transform.__qualname__, args, kwargs)
