"""Functions with several or complex results, made of several rows: integrals, Airy, elliptic and Hankel functions.

They return tuples where SciPy does.
"""

from __future__ import annotations

from typing import Any

from ... import ops
from ..._settings import one_of
from ...ops._arguments import operand
from ...tensor import Tensor
from ._rows import real, row_applied

__all__ = ["airy", "ellipj", "fresnel", "hankel1", "hankel2", "lambertw", "shichi", "sici", "wofz"]


def _pair(name: str, first: str, second: str, x: Any) -> tuple[Tensor, Tensor]:
    (x,) = real(name, x)
    return row_applied(first, x), row_applied(second, x)


def sici(x: Any) -> tuple[Tensor, Tensor]:
    """The sine and the cosine integral.

    The integral of sin(t) / t from 0 to x, and Euler's constant plus log(x) plus the integral of (cos(t) - 1) / t. The
    slopes are sin(x) / x, a spherical Bessel function, and cos(x) / x.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32. The cosine integral is nan, or SciPy's value, for x <= 0.

    Returns
    -------
    tuple of Tensor
        Si and Ci, of the shape of `x`.

    Raises
    ------
    TypeError
        If `x` is complex, or neither a Tensor nor an array.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> x = dg.Tensor([1.0], dg.float64)
    >>> [part.asnumpy().round(6) for part in special.sici(x)]
    [array([0.946083]), array([0.337404])]
    """
    return _pair("sici", "sine_integral", "cosine_integral", x)


def shichi(x: Any) -> tuple[Tensor, Tensor]:
    """The hyperbolic sine and cosine integrals.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    tuple of Tensor
        Shi and Chi, of the shape of `x`.

    Raises
    ------
    TypeError
        If `x` is complex, or neither a Tensor nor an array.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> [part.asnumpy().round(6) for part in special.shichi(dg.Tensor([1.0], dg.float64))]
    [array([1.057251]), array([0.837867])]
    """
    return _pair("shichi", "sinh_integral", "cosh_integral", x)


def fresnel(x: Any) -> tuple[Tensor, Tensor]:
    """Fresnel's integrals of sin(pi t**2 / 2) and cos(pi t**2 / 2) from 0 to x.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    tuple of Tensor
        S and C, of the shape of `x`.

    Raises
    ------
    TypeError
        If `x` is complex, or neither a Tensor nor an array.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> [part.asnumpy().round(6) for part in special.fresnel(dg.Tensor([1.0], dg.float64))]
    [array([0.438259]), array([0.779893])]
    """
    return _pair("fresnel", "fresnel_s", "fresnel_c", x)


def airy(x: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The Airy functions Ai and Bi and their derivatives.

    Second derivatives follow from y'' = x y.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.

    Returns
    -------
    tuple of Tensor
        Ai, Ai', Bi and Bi', of the shape of `x`.

    Raises
    ------
    TypeError
        If `x` is complex, or neither a Tensor nor an array.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.airy(dg.Tensor([1.0], dg.float64))[0].round(6))
    [0.135292]
    """
    (x,) = real("airy", x)
    return tuple([row_applied(f"airy_{name}", x) for name in ("ai", "aip", "bi", "bip")])  # type: ignore[return-value]


def ellipj(u: Any, m: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Jacobi's elliptic functions of u for the parameter m, differentiable by both.

    They are functions of the amplitude am: sn = sin(am), cn = cos(am), dn = sqrt(1 - m sn**2). The amplitude inverts
    the incomplete integral of the first kind, F(am, m) = u; its slopes follow from that.

    Parameters
    ----------
    u, m : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32. Results are nan where m is not between 0 and 1.

    Returns
    -------
    tuple of Tensor
        sn, cn, dn and am.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    TypeError
        If an operand is complex, or not a number, Tensor or array.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> u = dg.Tensor([0.5], dg.float64)
    >>> [part.asnumpy().round(6) for part in special.ellipj(u, 0.25)]
    [array([0.475083]), array([0.879941]), array([0.971377]), array([0.495058])]
    """
    u, m = real("ellipj", u, m)
    am = row_applied("jacobi_amplitude", u, m)
    sn, cn = ops.sin(am), ops.cos(am)
    return sn, cn, ops.sqrt(cn * cn + (1.0 - m) * (sn * sn)), am


def lambertw(z: Any, k: int = 0) -> Tensor:
    """A real branch of Lambert's W function, the solution w of w exp(w) = z.

    Parameters
    ----------
    z : Tensor or numpy.ndarray
        Real, any shape; integers become float32. The result is nan below -1/e and, in the lower branch, from 0 on.
    k : int, default 0
        0 for the principal branch, w >= -1; -1 for the lower one, w <= -1.

    Returns
    -------
    Tensor
        The shape of `z`, real; SciPy returns complex numbers.

    Raises
    ------
    ValueError
        If `k` is another branch, on which W is not real.
    TypeError
        If `z` is complex, or neither a Tensor nor an array.

    Notes
    -----
    The derivative is ``exp(-w) / (1 + w)``, infinite at -1/e.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.lambertw(dg.Tensor([1.0, -0.25], dg.float64)).round(6))
    [ 0.567143 -0.357403]
    """
    if not one_of(k, (0, -1)):
        raise ValueError(f"special.lambertw: k is {k!r}; expected 0 or -1, the branches on which W is real")
    return row_applied("lambert_0" if k == 0 else "lambert_below", *real("lambertw", z))


def hankel1(v: Any, z: Any) -> Tensor:
    """The Hankel function of the first kind, ``jv(v, z) + i yv(v, z)``, of real order and argument.

    Parameters
    ----------
    v, z : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.

    Returns
    -------
    Tensor
        Complex.

    Raises
    ------
    NotImplementedError
        If it is differentiated by `v`, for which no formula is known.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.hankel1(0.5, dg.Tensor([1.0], dg.float64)))
    [0.67139671-0.43109887j]
    """
    v, z = real("hankel1", v, z)
    return ops.complex(row_applied("jv", v, z), row_applied("yv", v, z))


def hankel2(v: Any, z: Any) -> Tensor:
    """The Hankel function of the second kind, ``jv(v, z) - i yv(v, z)``, of real order and argument.

    Parameters
    ----------
    v, z : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.

    Returns
    -------
    Tensor
        Complex.

    Raises
    ------
    NotImplementedError
        If it is differentiated by `v`, for which no formula is known.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.hankel2(0.5, dg.Tensor([1.0], dg.float64)))
    [0.67139671+0.43109887j]
    """
    v, z = real("hankel2", v, z)
    return ops.complex(row_applied("jv", v, z), -row_applied("yv", v, z))


def wofz(z: Any) -> Tensor:
    """The Faddeeva function ``exp(-z*z) erfc(-i z)``.

    Its derivative is ``2i / sqrt(pi) - 2 z w(z)``, computed without this difference, which cancels for large `z`.

    Parameters
    ----------
    z : Tensor, numpy.ndarray or number
        Any shape, real or complex; integers become float32.

    Returns
    -------
    Tensor
        Complex, of the shape of `z`. Up to scales, its real part is the Voigt profile.

    Raises
    ------
    TypeError
        If `z` is neither a Tensor nor an array nor a number.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> from dualgrad.scipy import special
    >>> x = dg.Tensor([1.0], dg.float64)
    >>> print(special.wofz(x))
    [0.36787944+0.60715771j]
    >>> print(dg.grad(lambda x: ops.real(special.wofz(x + 0.5j)))(x).round(6))
    [-0.366929]
    """
    z = operand("special.wofz", z)
    x, y = real("wofz", *((ops.real(z), ops.imag(z)) if z.dtype.is_complex else (z, ops.zeros_like(z))))
    return ops.complex(*[row_applied(f"wofz_{part}", ops.zeros_like(x), x, y) for part in ("real", "imag")])
