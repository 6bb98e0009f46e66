"""Recorded programs: read, drawn, checked, timed, and run slowly.

`explain` shows what `dualgrad.jit` and Graph mode have recorded, `profile` where its time goes. `verify` checks a
program and its plan, `checked` every replay against the function itself, and `interpreted` runs programs step by step,
without a plan: the reference that plans are compared with.
"""

from .checking import ReplayError, checked
from .explain import Explanation, explain, functions
from .interpret import interpreted, verified
from .profile import Profile, profile
from .verify import ProgramError, verify

__all__ = ["Explanation", "Profile", "ProgramError", "ReplayError", "checked", "explain", "functions", "interpreted",
           "profile", "verified", "verify"]  # fmt: skip
