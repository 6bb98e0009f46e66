"""Tools for recorded programs: read, draw, check, time and interpret them.

`explain` shows the recordings of `dualgrad.jit` and Graph mode, `passes` the result of each compiler pass, `profile`
the running times. `verify` checks a program and its plan. `checked` compares every replay with the function itself.
`interpreted` runs programs step by step, without a plan: the reference for plans. `specified` checks the result of each
compiler pass, and `rewrites` counts the rewrites of the passes.
"""

from .checking import ReplayError, checked
from .explain import Explanation, explain, functions
from .interpret import interpreted, verified
from .passes import Stage, passes
from .profile import Profile, profile
from .rewriting import rewrites
from .specification import SpecificationError, specified
from .verify import ProgramError, verify

__all__ = [
    "Explanation",
    "Profile",
    "ProgramError",
    "ReplayError",
    "SpecificationError",
    "Stage",
    "checked",
    "explain",
    "functions",
    "interpreted",
    "passes",
    "profile",
    "rewrites",
    "specified",
    "verified",
    "verify",
]
