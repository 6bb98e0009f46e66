"""`dualgrad.ops` under MindSpore's name for functions, often imported as `F` (the same objects)."""

from . import *  # noqa: F403
from . import __all__ as __all__
