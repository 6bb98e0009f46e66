"""`multi_start`: searches for a minimum from many points, each by a worker."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..scipy.objective import objective
from ..transforms.positions import check_callable
from .backend import Backend
from .connect import connected
from .functions import packed, unpacked
from .packages import needed

__all__ = ["Starts", "multi_start"]

#: Methods of SciPy by the derivatives they use.
_WITHOUT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
_BY_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
_BY_MATRIX = {"dogleg", "trust-exact"}


@dataclass(frozen=True)
class Starts:
    """The results of `multi_start`.

    Parameters
    ----------
    results : tuple of scipy.optimize.OptimizeResult
        In the order of the starts; ``x`` is a flat vector, and ``unpacked`` its pytree of arrays.

    Attributes
    ----------
    best : scipy.optimize.OptimizeResult
        The result with the least finite value; the first of several equal ones.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad import distributed
    >>> found = distributed.multi_start(lambda x: ((x - 3) ** 2).sum(), [np.zeros(1), np.ones(1)], backend="local")
    >>> len(found.results), found.best.unpacked.round(4)
    (2, array([3.]))
    """

    results: tuple[Any, ...]

    @property
    def best(self) -> Any:
        finite = [r for r in self.results if math.isfinite(r.fun)]
        if not finite:
            raise ValueError(f"multi_start: none of {len(self.results)} searches ended at a finite value")
        return min(finite, key=lambda r: r.fun)


def multi_start(
    fn: Callable[..., Any],
    starts: Sequence[Any],
    *args: Any,
    backend: Backend | str | Any,
    method: str = "L-BFGS-B",
    **options: Any,
) -> Starts:
    """Minimise a function from many starting points with SciPy.

    Parameters
    ----------
    fn : callable
        ``fn(x, *args)`` returns a Tensor with one element.
    starts : sequence
        Starting points as for `dualgrad.scipy.objective`: arrays, floats, pytrees of them.
    *args
        Further arguments of `fn`.
    backend : Backend, str, or an object of an engine
        As for `connect`.
    method : str, default "L-BFGS-B"
        A method of ``scipy.optimize.minimize``. It gets the gradient, products with the Hessian or the Hessian, as
        needed.
    **options
        Further arguments of ``scipy.optimize.minimize``: ``tol``, ``bounds``, ``options``.

    Returns
    -------
    Starts
        All results, and the best.

    Raises
    ------
    ImportError
        If SciPy is missing.
    TypeError, ValueError
        Without starts, or from `dualgrad.scipy.objective` and SciPy; the message names the start.

    Notes
    -----
    A search depends only on its start, so results do not depend on the number of workers.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad import distributed
    >>> wells = lambda x: ((x * x - 1) ** 2 + 0.1 * x).sum()
    >>> found = distributed.multi_start(wells, [np.array([0.8]), np.array([-0.8])], backend="local")
    >>> [result.x.round(3) for result in found.results], found.best.x.round(3)
    ([array([0.987]), array([-1.012])], array([-1.012]))
    """
    check_callable("multi_start", fn)
    needed("multi_start", "scipy.optimize")
    points = list(starts)
    if not points:
        raise ValueError("multi_start: there are no starts")
    with connected("multi_start", backend) as engine:
        content = engine.share(packed("multi_start", fn))
        results = engine.map(_search, list(enumerate(points)), content.handle, content.digest, args, method, options)
    return Starts(tuple(results))


def _itself(fn: Any, _: Any) -> Any:
    return fn


def _search(
    start: tuple[int, Any], content: bytes, digest: str, args: tuple[Any, ...], method: str, options: dict[str, Any]
) -> Any:
    number, point = start
    try:
        kind = method.lower()
        f = objective(
            unpacked(content, digest, _itself), point, *args, hess="dense" if kind in _BY_MATRIX else "product"
        )
        derivatives: dict[str, Any] = {} if kind in _WITHOUT else {"jac": f.jac}
        if kind in _BY_PRODUCTS:
            derivatives["hessp"] = f.hessp
        if kind in _BY_MATRIX:
            derivatives["hess"] = f.hess
        result = needed("multi_start", "scipy.optimize").minimize(f.fun, f.x0, method=method, **derivatives, **options)
    except (TypeError, ValueError) as error:
        raise type(error)(f"multi_start: start {number}: {error}") from error
    result.pop("hess_inv", None)  # an object of L-BFGS-B, as large as its memory
    result.unpacked = f.unpack(result.x)
    return result
