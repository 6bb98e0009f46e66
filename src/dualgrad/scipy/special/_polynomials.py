"""Rows of orthogonal polynomials and hypergeometric functions, whose slopes have a shifted degree and parameters.

The degree may be real, as in SciPy. Derivatives by the degree and the parameters have no known formula.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._table.row import INF, UNDEFINED
from ._rows import HIGHEST, Entry, inner, not_above, special
from ._scipy import sp

_ANY, _POSITIVE = (-INF, INF), (0, INF)
_BETWEEN = (-1, 1)


#: From this degree on all values of Hermite polynomials are too large for a float64, and nan.
_LAST = 1000


def _whole(n: np.ndarray) -> np.ndarray:
    return np.asarray(np.rint(n), np.int64)


def _spherical_legendre(n: np.ndarray, m: np.ndarray, theta: np.ndarray) -> np.ndarray:
    n, m, theta = np.broadcast_arrays(n, m, theta)
    inside = np.abs(m) <= np.abs(n)
    not_above("sph_legendre_p", "the degree", np.abs(n), HIGHEST)
    found = sp.sph_legendre_p(*[_whole(np.where(inside, k, 0)) for k in (n, m)], theta)
    return np.where(inside, np.reshape(found, theta.shape), 0.0 * (n + m + theta))


def _from_one(f: np.ufunc) -> Callable[..., np.ndarray]:
    """Extend a function of degree 0 and more by 0 below, where the factor of the slope is 0, too."""
    whole = "dd->d" not in f.types and "ddd->d" not in f.types

    def kernel(n: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        above = np.clip(n, 0, _LAST) if whole else np.maximum(n, 0)
        return np.where((n < 0) | (whole & (n != np.rint(n))), np.where(n < 0, 0.0, np.nan),
                        f(_whole(above) if whole else above, *rest))  # fmt: skip

    return kernel


def _of_degree(name: str, slope: str, domain: tuple[float, float], words: str, exact: str, printed: str) -> Entry:
    return special(name, _from_one(getattr(sp, name)), UNDEFINED, slope, domain=(_ANY, domain), orders=(0, 1, 2, 5),
                   sampled=((0, 0),
                   (-0.99, 0.99) if domain == _BETWEEN else (0.01, 10) if domain == _POSITIVE else (-3, 3)),
                   within=1000, summary=f"{words} of degree x at y", slope_note="0 for negative degrees",
                   exact=exact, example=("[2.0, 3.0], [0.25, 0.25]", printed))  # fmt: skip


POLYNOMIALS = (
    _of_degree("eval_legendre", "eval_gegenbauer(x - 1, 1.5, y)", _BETWEEN, "Legendre polynomial", "mp.legendre(x, y)",
               "[-0.40625 -0.335938]"),
    _of_degree("eval_chebyt", "x * eval_chebyu(x - 1, y)", _BETWEEN, "Chebyshev polynomial of the first kind",
               "mp.chebyt(x, y)", "[-0.875 -0.6875]"),
    _of_degree("eval_chebyu", "2 * eval_gegenbauer(x - 1, 2, y)", _BETWEEN, "Chebyshev polynomial of the second kind",
               "mp.chebyu(x, y)", "[-0.75 -0.875]"),
    _of_degree("eval_hermite", "2 * x * eval_hermite(x - 1, y)", _ANY, "Hermite polynomial (of physics)",
               "mp.hermite(x, y)", "[-1.75 -2.875]"),
    _of_degree("eval_hermitenorm", "x * eval_hermitenorm(x - 1, y)", _ANY, "Hermite polynomial (of probability)",
               "2 ** (-x / 2) * mp.hermite(x, y / mp.sqrt(2))", "[-0.9375 -0.734375]"),
    _of_degree("eval_laguerre", "-eval_genlaguerre(x - 1, 1, y)", _POSITIVE, "Laguerre polynomial",
               "mp.laguerre(x, 0, y)", "[0.53125 0.341146]"),
    special("eval_genlaguerre", _from_one(sp.eval_genlaguerre), UNDEFINED, UNDEFINED,
            "-eval_genlaguerre(x - 1, y + 1, z)", domain=(_ANY, (-1, INF), _POSITIVE), orders=(0, 1, 3), within=1000,
            sampled=((0, 0), (0, 0), (0.01, 10)),
            summary="generalised Laguerre polynomial of degree x and parameter y at z",
            slope_note="0 for negative degrees", exact="mp.laguerre(x, y, z)",
            example=("[2.0, 3.0], [0.5, 1.0], [0.5, 0.25]", "[0.75 2.6224]")),
    special("eval_gegenbauer", _from_one(sp.eval_gegenbauer), UNDEFINED, UNDEFINED,
            "2 * y * eval_gegenbauer(x - 1, y + 1, z)", domain=(_ANY, _POSITIVE, _BETWEEN), orders=(1, 2, 3),
            within=1000,
            sampled=((0, 0), (0, 0), (-0.99, 0.99)), summary="Gegenbauer polynomial of degree x and parameter y at z",
            slope_note="0 for negative degrees", exact="mp.gegenbauer(x, y, z)",
            example=("[2.0, 3.0], [0.5, 1.0], [0.5, 0.25]", "[-0.125 -0.875]")),
    inner("spherical_legendre", _spherical_legendre, UNDEFINED, UNDEFINED,
          "0.5 * (absorb_mul(sqrt((x - y) * (x + y + 1)), spherical_legendre(x, y + 1, z))"
          " - absorb_mul(sqrt((x + y) * (x - y + 1)), spherical_legendre(x, y - 1, z)))", orders=(3,), within=1000,
          sampled=((0, 0), (0, 0), (0.05, 3.1)), points=((3.0, 1.0, 0.0), (2.0, -1.0, 1.0), (1.0, 0.0, 0.5)),
          summary="spherical Legendre function of degree x and order y at the polar angle z",
          exact="_spherical_legendre(int(x), int(y), z)"),
)  # fmt: skip


HYPERGEOMETRIC = (
    special("hyp0f1", sp.hyp0f1, UNDEFINED, "hyp0f1(x + 1, y) / x", orders=(0.5, 1, 3.25), sampled=((0, 0), (-30, 30)),
            within=1e4, summary="confluent hypergeometric limit function 0F1(; x; y)", exact="mp.hyp0f1(x, y)",
            example=("[0.5, 2.0], [1.0, -3.0]", "[3.7622 0.0880031]")),
)  # fmt: skip
