"""Special functions under SciPy's names; see `dualgrad.numpy`.

With ``SCIPY_ARRAY_API=1`` SciPy looks for its functions here before it converts tensors to NumPy's arrays, which would
end derivatives; ``special`` is a proposed extension of the array API standard. So ``scipy.special.gammaln`` of a tensor
is the function of `dualgrad.ops`, with derivatives of every order. Functions that `dualgrad.ops` lacks come from
`dualgrad.scipy.special`, which is loaded on first use.

Arguments are SciPy's. As in SciPy, integers become Float64. Functions here are real; SciPy itself computes complex
numbers, which are constants then. At the ends of domains the values are those in `dualgrad.ops`: limits where they
exist (``j0`` at infinity is 0), and nan for the incomplete gamma functions where `a` is 0 or infinite.

Examples
--------
>>> import dualgrad as dg
>>> import dualgrad.numpy as mnp
>>> print(dg.grad(mnp.special.gammaln)(mnp.array([1.0, 2.0, 3.0])).round(4))
[-0.5772  0.4228  0.9228]
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from .. import ops
from ..dtype import float64
from ..ops._arguments import together
from ..ops.index._views import arrays_of
from ..tensor import Tensor

_SAME: dict[str, Callable[..., Any]] = {
    "digamma": ops.digamma,
    "erf": ops.erf,
    "erfc": ops.erfc,
    "erfinv": ops.erfinv,
    "exp2": ops.exp2,
    "expit": ops.sigmoid,
    "gammainc": ops.igamma,
    "gammaincc": ops.igammac,
    "gammaln": ops.lgamma,
    "i0": ops.bessel_i0,
    "i0e": ops.bessel_i0e,
    "i1": ops.bessel_i1,
    "i1e": ops.bessel_i1e,
    "j0": ops.bessel_j0,
    "j1": ops.bessel_j1,
    "k0": ops.bessel_k0,
    "k0e": ops.bessel_k0e,
    "k1": ops.bessel_k1,
    "k1e": ops.bessel_k1e,
    "logit": ops.logit,
    "polygamma": ops.polygamma,
    "psi": ops.digamma,
    "sinc": ops.sinc,
    "xlog1py": ops.xlog1py,
    "xlogy": ops.xlogy,
    "y0": ops.bessel_y0,
    "y1": ops.bessel_y1,
}
"""Functions of `dualgrad.ops` by SciPy's names, with SciPy's arguments."""


def enter(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Register functions for SciPy under its own names; replaces existing names.

    Parameters
    ----------
    functions : dict of callable
        Functions of tensors and numbers with the arguments of SciPy's functions.
    """
    for name, function in functions.items():
        globals()[name] = _on_floats(name, function)


def _on_floats(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it converts integers to Float64 and passes complex numbers to SciPy."""

    @functools.wraps(function, assigned=("__doc__",), updated=())
    def call(*args: Any) -> Any:
        tensors = together(name, *args)
        if any(x.dtype.is_complex for x in tensors):
            found = _of_scipy(name, tensors)
        else:
            found = function(*[x if x.dtype.is_float else x.astype(float64) for x in tensors])
        return arrays_of(function, tuple(tensors), {}, found)

    call.__name__ = call.__qualname__ = name
    call.__module__ = __name__
    return call


def _of_scipy(name: str, tensors: list[Tensor]) -> Any:
    """Call SciPy's function on plain numbers; a tensor that carries a derivative raises."""
    import numpy as np
    from scipy import special

    return Tensor(np.asarray(getattr(special, name)(*[np.asarray(x) for x in tensors])))


def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz's zeta function, the sum of ``(k + q)**-x`` over k = 0, 1, ...; without `q` Riemann's, with q = 1.

    Parameters
    ----------
    x : Tensor
        The exponent. A derivative by it raises.
    q : Tensor, optional
        The first term.

    Returns
    -------
    Tensor
    """
    return _ZETA(x, 1.0 if q is None else q)


def multigammaln(a: Any, d: Any) -> Any:
    """Logarithm of the multivariate gamma function: `ops.mvlgamma`.

    Parameters
    ----------
    a : Tensor
        Above ``(d - 1) / 2``.
    d : int
        The dimension.

    Returns
    -------
    Tensor
    """
    return _on_floats("multigammaln", lambda x: ops.mvlgamma(x, int(d)))(a)


_ZETA = _on_floats("zeta", ops.zeta)
enter(_SAME)
__all__ = sorted([*_SAME, "enter", "multigammaln", "zeta"])


def __getattr__(name: str) -> Any:
    """Load `dualgrad.scipy.special`, which registers more functions; not at import, since it lies above this one."""
    if not name.startswith("_"):
        with contextlib.suppress(ImportError):  # without SciPy those functions are missing
            importlib.import_module("dualgrad.scipy.special")
    if name in globals():
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
