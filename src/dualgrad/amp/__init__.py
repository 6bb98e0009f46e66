"""Mixed precision: networks that compute in a narrow type, and losses that are scaled for it.

On a CPU Float16 does not run faster than Float32; it shows the behaviour of a network that is trained in it elsewhere.
"""

from __future__ import annotations

from dualgrad.amp import levels, managers, scalers, steps
from dualgrad.amp.levels import *
from dualgrad.amp.managers import *
from dualgrad.amp.scalers import *
from dualgrad.amp.steps import *

__all__ = sorted(name for module in (levels, managers, scalers, steps) for name in module.__all__)
