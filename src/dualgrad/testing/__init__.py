"""Tools for tests of derivatives, of dualgrad's own primitives and of yours.

`check` puts a function through every way of differentiating it and compares them. The ways share the rule of a
primitive but little else: nested reverse sweeps, nested dual numbers, mixtures of both, Taylor coefficients, a
recorded backward pass, batches. So a rule that is wrong, or right only to first order, does not get past it.

`tape_reports` and `taped_backward` look behind the scenes; `Calls` counts how often the Python of a function runs.
"""

from .calls import Calls
from .checks import Report, check
from .tapes import tape_reports, taped_backward

__all__ = ["Calls", "Report", "check", "tape_reports", "taped_backward"]
