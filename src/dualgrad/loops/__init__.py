"""Loops and branches that are differentiated with little memory; `dualgrad` offers these functions itself."""

import sys

from . import branches
from .branches import cond
from .looping import fori_loop, scan, while_loop

__all__ = ["cond", "fori_loop", "scan", "while_loop"]

sys.modules["dualgrad.branches"] = branches  # where programs and pickles may look for it
