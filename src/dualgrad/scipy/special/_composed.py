"""Functions of more than one result or with settings, composed of the rows.

They are pairs of integrals, Airy functions, spherical harmonics, Gauss's hypergeometric function, sums of exponentials.
Each takes what SciPy's takes. Where SciPy returns a tuple, so do these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from ... import ops
from ...extend import Primitive, primitive
from ...tensor import Tensor
from ._rows import real, row_applied

__all__ = [
    "airy", "bernoulli", "comb", "ellipj", "fresnel", "hankel1", "hankel2", "hyp2f1", "lambertw", "log_softmax",
    "logit", "logsumexp", "multigammaln", "shichi", "sici", "softmax", "sph_harm_y", "sph_legendre_p", "spherical_in",
    "spherical_jn", "spherical_kn", "spherical_yn", "zeta",
]  # fmt: skip


def _pair(name: str, first: str, second: str, x: Any) -> tuple[Tensor, Tensor]:
    (x,) = real(name, x)
    return row_applied(first, x), row_applied(second, x)


def sici(x: Any) -> tuple[Tensor, Tensor]:
    """The sine and the cosine integral.

    The integral of sin(t) / t from 0 to x, and Euler's constant plus log(x) plus that of (cos(t) - 1) / t. The slopes
    are sin(x) / x, a spherical Bessel function, and cos(x) / x.

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

    They are functions of the amplitude, am: sn = sin(am), cn = cos(am), dn = sqrt(1 - m sn**2). It is the inverse of
    the incomplete integral of the first kind, F(am, m) = u, from which its slopes follow.

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
        If an operand is complex, or no number, Tensor or array.

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
    if k not in (0, -1):
        raise ValueError(f"special.lambertw: k is {k!r}; expected 0 or -1, the branches on which W is real")
    return row_applied("lambert_0" if k == 0 else "lambert_below", *real("lambertw", z))


def _spherical(letter: str, n: Any, z: Any, derivative: bool) -> Tensor:
    name = f"spherical_bessel_{letter}"
    n, z = real(f"spherical_{letter}n", n, z)
    if not derivative:
        return row_applied(name, n, z)
    below = row_applied(name, ops.abs(n - 1.0), z)
    above = row_applied(name, n + 1.0, z)
    signs = {"j": (1, -1), "y": (1, -1), "i": (1, 1), "k": (-1, -1)}[letter]
    sum_of_both = ops.where(n == 0, 0.0 * n, float(signs[0]) * n) * below + float(signs[1]) * (n + 1.0) * above
    return sum_of_both / (2.0 * n + 1.0)


_SPHERICAL = """{words}, of order n at z.

    Parameters
    ----------
    n, z : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32. Orders are whole numbers, 0 or more; else the result is nan.
    derivative : bool, default False
        Return the derivative by z instead.

    Returns
    -------
    Tensor

    Raises
    ------
    NotImplementedError
        If it is differentiated by `n`, for which no formula is known.
    ValueError
        If the shapes do not broadcast.

    Notes
    -----
    The slope is a sum of the neighbours in order, which neither cancels nor divides by z.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.{name}(1, dg.Tensor([0.5, 2.0], dg.float64)).round(6))
    {printed}
    """


def _spherical_function(name: str, words: str, printed: str) -> Callable[..., Tensor]:
    letter = name[-2]

    def function(n: Any, z: Any, derivative: bool = False) -> Tensor:
        return _spherical(letter, n, z, derivative)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _SPHERICAL.format(words=words, name=name, printed=printed)
    return function


spherical_jn = _spherical_function("spherical_jn", "Spherical Bessel function of the first kind", "[0.162537 0.435398]")
spherical_yn = _spherical_function(
    "spherical_yn", "Spherical Bessel function of the second kind", "[-4.469181 -0.350612]"
)
spherical_in = _spherical_function(
    "spherical_in", "Modified spherical Bessel function of the first kind", "[0.170871 0.974383]"
)
spherical_kn = _spherical_function(
    "spherical_kn", "Modified spherical Bessel function of the second kind", "[5.716417 0.159438]"
)


def sph_legendre_p(n: Any, m: Any, theta: Any) -> Tensor:
    """The spherical Legendre function of degree n and order m at a polar angle: the spherical harmonic at azimuth 0.

    Parameters
    ----------
    n, m, theta : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32. Degree and order are whole numbers.

    Returns
    -------
    Tensor

    Raises
    ------
    NotImplementedError
        If it is differentiated by `n` or `m`, for which no formula is known.
    ValueError
        If the shapes do not broadcast.

    Notes
    -----
    The slope by `theta` is half the difference of the neighbours in m, times the factors of the ladder operators of
    angular momentum; it has no singular point at the poles.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.sph_legendre_p(2, 1, dg.Tensor([0.5], dg.float64)).round(6))
    [-0.325039]
    """
    return row_applied("spherical_legendre", *real("sph_legendre_p", n, m, theta))


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any) -> Tensor:
    """The spherical harmonic of degree n and order m at polar angle theta and azimuth phi: complex.

    Parameters
    ----------
    n, m, theta, phi : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32. Degree and order are whole numbers.

    Returns
    -------
    Tensor
        Complex, ``sph_legendre_p(n, m, theta) * exp(i m phi)``.

    Raises
    ------
    NotImplementedError
        If it is differentiated by `n` or `m` of the first factor, for which no formula is known.
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.sph_harm_y(2, 1, dg.Tensor([0.5], dg.float64), 0.25))
    [-0.31493387-0.08041582j]
    """
    n, m, theta, phi = real("sph_harm_y", n, m, theta, phi)
    size, angle = row_applied("spherical_legendre", n, m, theta), m * phi
    return ops.complex(size * ops.cos(angle), size * ops.sin(angle))


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


def zeta(x: Any, q: Any = None) -> Tensor:
    """Hurwitz's zeta function, the sum of (k + q)**-x over k = 0, 1, ...; Riemann's for q = 1.

    Parameters
    ----------
    x : Tensor, numpy.ndarray or number
        The exponent, above 1.
    q : Tensor, numpy.ndarray or number, optional
        Where the sum starts; None stands for 1.

    Returns
    -------
    Tensor

    Raises
    ------
    NotImplementedError
        If it is differentiated by `x`, for which no formula is known.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.zeta(dg.Tensor([2.0], dg.float64)).round(6))
    [1.644934]
    """
    x, q = real("zeta", x, 1.0 if q is None else q)
    return ops.zeta(x, q)


def comb(n: Any, k: Any) -> Tensor:
    """The number of ways to choose k of n things, for real n and k: `binom`, and 0 for k > n or k < 0.

    Parameters
    ----------
    n, k : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.comb(dg.Tensor([5.0, 1.0]), 2))
    [10.  0.]
    """
    n, k = real("comb", n, k)
    inside = ops.logical_and(k <= n, k >= 0)
    return ops.where(inside, row_applied("binom", n, ops.where(inside, k, 0.0 * n)), 0.0 * n)


def multigammaln(a: Any, d: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension d; see `dualgrad.ops.mvlgamma`.

    Parameters
    ----------
    a : Tensor or numpy.ndarray
        Above ``(d - 1) / 2``.
    d : int
        The dimension.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.multigammaln(dg.Tensor([3.0]), 3))
    [2.694925]
    """
    return ops.mvlgamma(a, d)


def bernoulli(n: int) -> np.ndarray:
    """The Bernoulli numbers from 0 to n, which are constants.

    Parameters
    ----------
    n : int
        The last index.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> from dualgrad.scipy import special
    >>> special.bernoulli(2).round(6)
    array([ 1.      , -0.5     ,  0.166667])
    """
    return np.asarray(sp.bernoulli(n))


def logit(x: Any) -> Tensor:
    """The logarithm of the odds, ``log(x / (1 - x))``.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Between 0 and 1, any shape; integers become float32.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.logit(dg.Tensor([0.5, 0.75])))
    [0.       1.098612]
    """
    return ops.log(x) - ops.log1p(-x)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """The logarithm of the sum of exponentials, with weights.

    Parameters
    ----------
    a : Tensor or numpy.ndarray
        The exponents.
    axis : int or tuple of int, optional
        What to sum over; None for all.
    b : Tensor or numpy.ndarray, optional
        Weights, of a shape that broadcasts with that of `a`; negative ones too.
    keepdims : bool, default False
        Keep the axes with length 1.
    return_sign : bool, default False
        Return the logarithm of the absolute value, and the sign.

    Returns
    -------
    Tensor, or tuple of two
        nan where the sum is negative and its sign was not asked for.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.logsumexp(dg.Tensor([1000.0, 1000.0]), b=dg.Tensor([1.0, 2.0])))
    1001.0986
    """
    if b is None and not return_sign:
        return ops.logsumexp(a, axis, keepdims)
    a, b = real("logsumexp", a, 1.0 if b is None else b)
    a = a + 0.0 * b
    axes = tuple(range(a.ndim)) if axis is None else axis
    seen = ops.where(b == 0, -math.inf + 0.0 * b, a)
    top = ops.stop_gradient(ops.amax(seen, axes, keepdims=True))
    top = ops.where(ops.isfinite(top), top, 0.0 * ops.zeros_like(top))
    total = ops.sum(b * ops.exp(ops.where(b == 0, 0.0 * b, a - top)), axes, keepdims=True)
    out = ops.log(ops.abs(total) if return_sign else total) + top
    sign = ops.sign(total)
    if not keepdims:
        out, sign = ops.squeeze(out, axes), ops.squeeze(sign, axes)
    return (out, sign) if return_sign else out


def softmax(x: Any, axis: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis, or over all.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, optional
        None for all elements together.

    Returns
    -------
    Tensor
        The shape of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.softmax(dg.Tensor([1.0, 1.0])))
    [0.5 0.5]
    """
    return _along(ops.softmax, x, axis)


def log_softmax(x: Any, axis: Any = None) -> Tensor:
    """The logarithm of `softmax`.

    Parameters
    ----------
    x : Tensor or numpy.ndarray
        Any shape; integers become float32.
    axis : int, optional
        None for all elements together.

    Returns
    -------
    Tensor
        The shape of `x`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.log_softmax(dg.Tensor([1.0, 1.0])))
    [-0.693147 -0.693147]
    """
    return _along(ops.log_softmax, x, axis)


def _along(f: Callable[..., Tensor], x: Any, axis: Any) -> Tensor:
    if axis is not None:
        return f(x, axis)
    return ops.reshape(f(ops.reshape(x, (-1,)), 0), x.shape)


# ------------------------------------------------------------------------------------- four operands

_HIGHEST = 12


def _raised(n: int) -> Primitive:
    """The function with all parameters raised by n, whose slope by the last operand is the one raised by n + 1."""

    def kernel(a: np.ndarray, b: np.ndarray, c: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.asarray(sp.hyp2f1(a + n, b + n, c + n, x))

    def slope(moved: Tensor, out: Tensor, a: Tensor, b: Tensor, c: Tensor, x: Tensor) -> Tensor:
        if n == _HIGHEST:
            raise NotImplementedError(f"special.hyp2f1: derivatives end at order {_HIGHEST}")
        return moved * ((a + n) * (b + n) / (c + n)) * _HYP2F1[n + 1](a, b, c, x)

    def refused(*parts: Tensor) -> Tensor:
        raise NotImplementedError(
            "special.hyp2f1: no formula is known for its derivative by a parameter (operands 1 to 3); differentiate by "
            "the last operand only, or pass dualgrad.stop_gradient(...) of the parameter"
        )

    rules = (refused, refused, refused, slope)
    return primitive(f"special_hyp2f1_{n}", kernel, jvp=rules, vjp=rules, arity=4, core=(0, 0, 0, 0))


_HYP2F1 = [_raised(n) for n in range(_HIGHEST + 1)]


def hyp2f1(a: Any, b: Any, c: Any, z: Any) -> Tensor:
    """Gauss's hypergeometric function 2F1(a, b; c; z).

    Parameters
    ----------
    a, b, c, z : Tensor, numpy.ndarray or number
        Shapes that broadcast; integers become float32. The result is nan for z > 1.

    Returns
    -------
    Tensor

    Raises
    ------
    NotImplementedError
        If it is differentiated by a parameter, for which no formula is known, or by `z` more than 12 times.
    ValueError
        If the shapes do not broadcast.

    Notes
    -----
    The slope by `z` is ``a b / c`` times the function with all three parameters raised by 1.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy import special
    >>> print(special.hyp2f1(0.5, 1.0, 1.5, dg.Tensor([0.25], dg.float64)).round(6))
    [1.098612]
    """
    operands = real("hyp2f1", a, b, c, z)
    shape = np.broadcast_shapes(*[tuple(x.shape) for x in operands])
    return _HYP2F1[0](*[ops.broadcast_to(x, shape) for x in operands])
