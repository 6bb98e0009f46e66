"""The image in the batch to which each region or box belongs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import extend
from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor


def _checked(numbers: np.ndarray, count: int, caller: str, what: str) -> np.ndarray:
    """Numbers of images as integers; an error for a number out of range."""
    found = np.rint(numbers)
    wrong = ~((found >= 0) & (found < count))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise ValueError(
            f"{caller}: {what} {place[-1]} is of image {numbers[place].item()!r}; expected a number from 0 to "
            f"{count - 1}, for {count} images"
        )
    return found.astype(np.int64)


_numbers = extend.primitive(
    "numbers_of_images", _checked, jvp=(None,), vjp=(None,), types="apart", core=(1,), summary="numbers of images"
)


def images_of(name: str, what: str, numbers: Any, count: int) -> Tensor:
    """The numbers of images for N regions or boxes, Int64 of shape (N,)."""
    return _numbers(_engine.stop(numbers), count=count, caller=name, what=what)
