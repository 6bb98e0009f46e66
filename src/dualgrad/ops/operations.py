"""`dualgrad.ops` under MindSpore's name for primitive classes, often imported as `P` (the same objects)."""

from typing import TYPE_CHECKING, Any

from . import _gathered
from ._gathered import *

__all__ = _gathered._NAMES


if not TYPE_CHECKING:  # checkers see the names above, and find misspelt ones

    def __getattr__(name: str) -> Any:
        """Look up names that are not copied here: not in `__all__`, or added later."""
        return getattr(_gathered, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
