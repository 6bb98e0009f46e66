"""How far rounding can take a result: what two right ways of computing it may differ by.

Random programs cancel: a result of size 1 can be what is left of terms of size 1e6, most of them deep inside a
derivative, where no bound on values on the way sees them. Two experiments tell how much a result suffers:

* In float32 the same operations are rounded 2**29 times as coarsely, so the error there is 2**29 times as large. An
  error in a rule is no smaller in float64, and is not allowed for.
* Where numbers that are equal but for rounding are compared, all digits of a derivative hang on the last one of what is
  compared. A change of the inputs in their last digits shows this.

They are done only where the plain tolerance is exceeded.

An error in float32 says nothing once it is as large as the result: no digit is left, and the error cannot grow further
with the condition number. The second experiment alone decides there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

FINER = 2.0 ** (np.finfo(np.float64).machep - np.finfo(np.float32).machep)
MARGIN = 16.0  # rounding errors of one computation are as random as those of another

Run = Callable[[Any, Sequence[np.ndarray]], dict[str, Any]]


def from_single(errors: Sequence[float]) -> float:
    """The error to expect in float64, where some of the same kind were found in float32."""
    return MARGIN * FINER * max(errors, default=0.0)


def saturated(errors: Sequence[float]) -> bool:
    """Whether float32 kept no digit, by errors relative to the result: it cannot tell the error in float64."""
    return max(errors, default=0.0) >= 1.0


def spread(run: Callable[[Sequence[np.ndarray]], np.ndarray], points: Sequence[np.ndarray]) -> np.ndarray:
    """How far each number of ``run(points)`` goes when the points are nudged in their last digit, with the margin.

    Relative to the number, or absolute where it is below 1.
    """
    plain = run(points)
    far = np.zeros_like(plain)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        nudged = run([x * (1.0 + np.finfo(np.float64).eps * rng.standard_normal(x.shape)) for x in points])
        far = np.fmax(far, np.abs(nudged - plain) / np.maximum(1.0, np.abs(plain)))
    return MARGIN * far


def largest(a: Any) -> float:
    """The largest size of a finite element; what is not finite is compared elsewhere."""
    finite = np.abs(np.asarray(a)[np.isfinite(a)])
    return float(finite.max(initial=0.0))


def allowed(run: Run, points: Sequence[np.ndarray], dtype: Any = np.float64) -> dict[str, float]:
    """For each result of ``run(dtype, points)``, how far apart two right ones may be; nudges alone tell for float32."""
    with np.errstate(all="ignore"):
        plain = run(dtype, points)
        found = dict.fromkeys(plain, 0.0)
        if dtype == np.float64:
            single = run(np.float32, [x.astype(np.float32) for x in points])
            found = {what: from_single([largest(single[what] - a)]) for what, a in plain.items()}
        for seed in range(4):
            rng = np.random.default_rng(seed)
            nudged = run(dtype, [x * (1.0 + 4.0 * np.finfo(dtype).eps * rng.standard_normal(x.shape)) for x in points])
            found = {what: max(error, MARGIN * largest(nudged[what] - plain[what])) for what, error in found.items()}
    return found
