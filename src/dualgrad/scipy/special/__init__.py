"""The special functions of ``scipy.special`` on tensors, with derivatives of every order.

Values are SciPy's own, except for `betaln` of large operands, where SciPy loses digits. Slopes are expressions of
functions in the same table, written so that no digits cancel. So derivatives of every order follow by closure, in every
mode. A derivative without a formula, for some orders and parameters, raises. Results are real, in the type of the
operands. Functions with a kernel in the engine (error and gamma functions, Bessel functions of orders 0 and 1) come
from `dualgrad.ops`.

SciPy is needed: ``pip install 'dualgrad[scipy]'``.

Examples
--------
>>> import dualgrad as dg
>>> from dualgrad.scipy import special
>>> x = dg.Tensor([0.5, 1.0], dg.float64)
>>> print(special.dawsn(x).round(6))
[0.424436 0.53808 ]
>>> print(dg.grad(special.dawsn)(x).round(6))
[ 0.575564 -0.076159]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import ops
from ...numpy import special as _for_scipy
from . import _gauss, _pairs, _spherical, _sums
from ._bessel import AIRY, BESSEL
from ._beta import BETA
from ._elliptic import ELLIPTIC
from ._errors import ERRORS, NORMAL
from ._gamma import GAMMA, INFORMATION
from ._gauss import *
from ._integrals import INTEGRALS, POWERS
from ._kummer import KUMMER
from ._pairs import *
from ._polynomials import HYPERGEOMETRIC, POLYNOMIALS
from ._rows import ORDERS as ORDERS
from ._rows import registered
from ._spherical import *
from ._student import STUDENT
from ._sums import *

ENTRIES = (
    *(*ERRORS, *NORMAL, *GAMMA, *INFORMATION, *BETA, *INTEGRALS, *POWERS, *BESSEL, *AIRY, *ELLIPTIC),
    *(*POLYNOMIALS, *HYPERGEOMETRIC, *KUMMER, *STUDENT),
)

_MADE = registered(ENTRIES, __name__)

#: Functions of `dualgrad.ops` under SciPy's names.
_OF_OPS = {
    "digamma": ops.digamma, "erf": ops.erf, "erfc": ops.erfc, "erfcinv": ops.erfcinv, "erfinv": ops.erfinv,
    "exp2": ops.exp2, "expit": ops.sigmoid, "expm1": ops.expm1, "gammainc": ops.igamma, "gammaincc": ops.igammac,
    "gammaln": ops.lgamma, "i0": ops.bessel_i0, "i0e": ops.bessel_i0e, "i1": ops.bessel_i1, "i1e": ops.bessel_i1e,
    "j0": ops.bessel_j0, "j1": ops.bessel_j1, "k0": ops.bessel_k0, "k0e": ops.bessel_k0e, "k1": ops.bessel_k1,
    "k1e": ops.bessel_k1e, "log1p": ops.log1p, "log_expit": ops.logsigmoid, "polygamma": ops.polygamma,
    "psi": ops.digamma, "sinc": ops.sinc, "softplus": ops.softplus, "xlog1py": ops.xlog1py, "xlogy": ops.xlogy,
    "y0": ops.bessel_y0, "y1": ops.bessel_y1,
}  # fmt: skip
_SECOND_NAMES = {"jn": "jv", "kn": "kv", "yn": "yv"}

#: Functions that take only operands: SciPy finds them when it gets tensors.
_ELEMENTWISE = _MADE | {name: _MADE[first] for name, first in _SECOND_NAMES.items()}
_for_scipy.enter({name: f for name, f in _ELEMENTWISE.items() if name not in _for_scipy.__all__})

globals().update(_ELEMENTWISE | _OF_OPS)
__all__ = sorted(
    [*_MADE, *_OF_OPS, *_SECOND_NAMES, *_gauss.__all__, *_pairs.__all__, *_spherical.__all__, *_sums.__all__]
)

if TYPE_CHECKING:  # most names are generated from the rows

    def __getattr__(name: str) -> Any: ...
