"""`transformation`: the results of transforms can be pickled if their functions can."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from .._engine.transforms.transformed import Transformed

__all__ = ["transformation"]

P = ParamSpec("P")


def transformation(transform: Callable[P, Callable[..., Any]]) -> Callable[P, Callable[..., Any]]:
    """A transform whose results are pickled as the call that made them."""

    @functools.wraps(transform)
    def make(*args: P.args, **kwargs: P.kwargs) -> Callable[..., Any]:
        return Transformed(transform(*args, **kwargs), transform.__module__, transform.__qualname__, args, kwargs)

    return make
