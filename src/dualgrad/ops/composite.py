"""`dualgrad.ops` under MindSpore's name for composed functions, often imported as `C` (the same objects)."""

from . import *  # noqa: F403
from . import __all__ as __all__
