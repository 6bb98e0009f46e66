"""The results of transforms can be pickled if their functions can."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from .._engine.transforms.transformed import Transformed

__all__ = ["made_by", "transformation"]

P = ParamSpec("P")


def transformation(transform: Callable[P, Callable[..., Any]]) -> Callable[P, Callable[..., Any]]:
    """A transform whose results are pickled as the call that made them."""

    @functools.wraps(transform)
    def make(*args: P.args, **kwargs: P.kwargs) -> Callable[..., Any]:
        return made_by(transform, transform(*args, **kwargs), *args, **kwargs)

    return make


def made_by(transform: Callable[..., Any], fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """A function that a transform has made of some arguments; it is pickled as that call."""
    return Transformed(fn, transform.__module__, transform.__qualname__, args, kwargs)
