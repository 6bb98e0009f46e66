"""Spherical Bessel functions and spherical harmonics, of whole orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ops
from ..._settings import truth_value
from ...tensor import Tensor
from ._rows import real, row_applied

__all__ = ["sph_harm_y", "sph_legendre_p", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"]


def _spherical(letter: str, n: Any, z: Any, derivative: bool) -> Tensor:
    name = f"spherical_bessel_{letter}"
    n, z = real(f"spherical_{letter}n", n, z)
    if not truth_value(f"special.spherical_{letter}n", "derivative", derivative):
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
