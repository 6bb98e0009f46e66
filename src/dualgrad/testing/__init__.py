"""Tools for tests of derivatives, both of dualgrad's primitives and of your own.

`check` differentiates a function in every way and compares the results. The ways share the rule of a primitive but
little else: nested reverse sweeps, nested dual numbers, mixtures of both, Taylor coefficients, a recorded backward
pass, batches. So it catches a rule that is wrong, or right only to first order.

`tape_reports` and `taped_backward` inspect the engine; `Calls` counts the runs of a function's Python code.
"""

from .calls import Calls
from .checks import Report, check
from .tapes import tape_reports, taped_backward

__all__ = ["Calls", "Report", "check", "tape_reports", "taped_backward"]
