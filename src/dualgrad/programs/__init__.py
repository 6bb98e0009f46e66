"""Recorded programs: read, drawn, checked, timed, and run slowly.

`explain` shows what `dualgrad.jit` and Graph mode have recorded, `passes` what the compiler makes of it step by step,
`profile` where its time goes. `verify` checks a program and its plan, `checked` every replay against the function
itself, and `interpreted` runs programs step by step, without a plan: the reference that plans are compared with.
`specified` checks what each pass of the compiler makes, and `rewrites` counts what the passes have done.
"""

from .checking import ReplayError, checked
from .explain import Explanation, explain, functions
from .interpret import interpreted, verified
from .passes import Stage, passes
from .profile import Profile, profile
from .rewriting import rewrites
from .specification import SpecificationError, specified
from .verify import ProgramError, verify

__all__ = ["Explanation", "Profile", "ProgramError", "ReplayError", "SpecificationError", "Stage", "checked", "explain",
           "functions", "interpreted", "passes", "profile", "rewrites", "specified", "verified", "verify"]  # fmt: skip
