"""Loops and branches with derivatives that need little memory; `dualgrad` exports these functions."""

import sys

from . import branches
from .branches import cond
from .looping import fori_loop, scan, while_loop

__all__ = ["cond", "fori_loop", "scan", "while_loop"]

sys.modules["dualgrad.branches"] = branches  # the former name of the module, for programs and pickles
