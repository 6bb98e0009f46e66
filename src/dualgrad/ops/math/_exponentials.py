"""Sums of exponentials along axes: softmax, its logarithm, and the logarithm of the sum.

Everything is shifted by the maximum as a constant. The result does not depend on the shift, so neither do derivatives.
The shift prevents overflow, but not cancellation in derivatives. Where the share of one element is 1 up to rounding,
its derivative 1 - share would be 0 instead of the small sum of all other shares. So the leading element of such a row
is written in terms of the ratio of the sum of the others to its own exponential,

    share = 1 / (1 + ratio),   log(share) = -log1p(ratio),   log(sum) = x + log1p(ratio),

all of whose derivatives are formed without cancellation. In the other rows no share exceeds 1/2.

Infinity leads everything finite, and equal infinities differ by 0. Where all are -inf there is nothing to share.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..._engine.transforms import tensor as _engine
from ...tensor import Tensor
from .._arguments import OP, total

__all__ = ["Exponentials"]

_DIFFERENCE, _EQ, _EXP, _GT, _LOG = OP["difference"], OP["eq"], OP["exp"], OP["gt"], OP["log"]
_LOG1P, _LT, _MAX, _MUL, _NEG = OP["log1p"], OP["lt"], OP["reduce_max"], OP["mul"], OP["neg"]
_AND, _DIV, _RECIPROCAL, _SUB, _WHERE = OP["logical_and"], OP["div"], OP["reciprocal"], OP["sub"], OP["where"]


def _where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _engine.apply(_WHERE, None, condition, x, y)


class Exponentials(NamedTuple):
    """The exponentials of a tensor and the numbers that the three functions need; axes are kept with length 1."""

    shift: Tensor  # the maximum, a constant; 0 where it is -inf
    shifted: Tensor
    raised: Tensor
    sum: Tensor
    led: Tensor  # true if one element is larger than all others together
    leads: Tensor  # true at this element
    lead: Tensor  # the shifted leading element: 0, with its derivatives
    ratio: Tensor  # the sum of the other exponentials, divided by the leading one

    @classmethod
    def of(cls, x: Tensor, axes: tuple[int, ...]) -> Exponentials:
        """Exponentials of a float tensor along axes."""
        zero = _engine.convert(0.0, x._typenum)
        largest = _engine.apply(_MAX, (axes, True), _engine.stop(x))
        some = _engine.apply(_GT, None, largest, _engine.convert(-math.inf, x._typenum))
        shift = _where(some, largest, zero)
        shifted = _engine.apply(_DIFFERENCE, None, x, shift)
        raised = _engine.unary(_EXP, shifted)
        top = _engine.apply(_EQ, None, shifted, zero)
        rest = total(_where(top, zero, raised), axes, True)
        everything = total(raised, axes, True)
        two = _engine.convert(2.0, x._typenum)  # a tie for the lead makes the sum at least 2
        led = _engine.apply(_AND, None, some, _engine.apply(_LT, None, everything, two))
        leads = _engine.apply(_AND, None, top, led)
        lead = total(_where(leads, shifted, zero), axes, True)
        ratio = _engine.apply(_MUL, None, rest, _engine.unary(_EXP, _engine.unary(_NEG, lead)))
        return cls(shift, shifted, raised, everything, led, leads, lead, ratio)

    def log_sum(self) -> Tensor:
        """Logarithm of the sum, less the shift."""
        return _where(self.led, self.lead + _engine.unary(_LOG1P, self.ratio), _engine.unary(_LOG, self.sum))

    def shares(self) -> Tensor:
        """Softmax."""
        led = _engine.unary(_RECIPROCAL, self.ratio + 1)
        return _where(self.leads, led, _engine.apply(_DIV, None, self.raised, self.sum))

    def log_shares(self) -> Tensor:
        """Logarithm of softmax."""
        led = 0 - _engine.unary(_LOG1P, self.ratio)
        return _where(self.leads, led, _engine.apply(_SUB, None, self.shifted, self.log_sum()))
