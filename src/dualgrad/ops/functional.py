"""`dualgrad.ops` under MindSpore's name for functions, often imported as `F` (the same objects)."""

from typing import Any

from .. import ops
from . import *  # noqa: F403
from . import __all__ as __all__


def __getattr__(name: str) -> Any:
    """What is not copied here: names that are not in `__all__`, and those that come later."""
    return getattr(ops, name)
