"""`dualgrad.ops` under MindSpore's name for primitive classes, often imported as `P` (the same objects)."""

from . import *  # noqa: F403
from . import __all__ as __all__
