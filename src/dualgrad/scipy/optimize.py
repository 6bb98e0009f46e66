"""`minimize` and `linear_sum_assignment` with MindSpore's signatures: SciPy's solvers on tensors.

`dualgrad.scipy.objective` works with all of SciPy's minimisers, with second derivatives and constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._settings import described, truth_value
from ..tensor import Tensor
from ..transforms.gradient import grad, stop_gradient

__all__ = ["OptimizeResults", "linear_sum_assignment", "minimize"]

# By method: SciPy's name, SciPy's names of its options, and fixed options.
_METHODS: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "bfgs": ("BFGS", {"maxiter": "maxiter", "gtol": "gtol", "norm": "norm"}, {}),
    "lbfgs": (
        "L-BFGS-B",
        {"maxiter": "maxiter", "gtol": "gtol", "history_size": "maxcor", "line_search_maxiter": "maxls"},
        {"maxcor": 20, "ftol": 0.0},  # the gradient alone decides when to stop
    ),
}


class OptimizeResults(NamedTuple):
    """The result of `minimize`.

    Attributes
    ----------
    x : Tensor
        The solution.
    success : bool
        True if the gradient is as small as `gtol` demands.
    status : int
        0 after success; otherwise SciPy's number.
    fun, jac : Tensor
        The value and the gradient there.
    hess_inv : Tensor or None
        BFGS's estimate of the inverse of the Hessian.
    nfev, njev, nit : int
        The numbers of values, gradients and iterations.
    """

    x: Tensor
    success: bool
    status: int
    fun: Tensor
    jac: Tensor
    hess_inv: Tensor | None
    nfev: int
    njev: int
    nit: int


def minimize(
    func: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    jac: Callable[..., Any] | None = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: Any = None,
    callback: Any = None,
    options: dict[str, Any] | None = None,
) -> OptimizeResults:
    """Minimise a function of a vector.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` returns a tensor with one element.
    x0 : Tensor
        The starting point, of shape (N,). All points have its type.
    args : tuple, optional
        Further arguments of `func` and `jac`.
    method : {"BFGS", "LBFGS"}
        In upper or lower case.
    jac : callable, optional
        ``jac(x, *args)``, the gradient. Without it `func` is differentiated.
    hess, hessp, bounds, constraints, tol, callback
        Refused: these methods do not support them.
    options : dict, optional
        ``maxiter`` and ``gtol`` (1e-5); for BFGS ``norm``; for LBFGS ``history_size`` (20) and ``line_search_maxiter``.

    Returns
    -------
    OptimizeResults

    Raises
    ------
    ValueError
        If the method is unknown, an argument is refused, or `func` returns several numbers.
    TypeError
        If `args` is not a tuple, an option does not exist, or `x0` is not a vector of floats.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.optimize import minimize
    >>> def func(p):
    ...     x, y = p
    ...     return (x**2 + y - 11.0) ** 2 + (x + y**2 - 7.0) ** 2
    >>> result = minimize(func, dg.ops.zeros(2), method="BFGS", options={"gtol": 1e-3})
    >>> print(result.x.asnumpy().round(3))
    [3. 2.]
    """
    truth_value("minimize", "constraints", constraints)
    refused = {"hess": hess, "hessp": hessp, "bounds": bounds, "constraints": constraints or None, "tol": tol,
               "callback": callback}  # fmt: skip
    for other, given in refused.items():
        if given is not None:
            raise ValueError(
                f"minimize: {other} is for other methods; give dualgrad.scipy.objective to scipy.optimize.minimize"
            )
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple, got {type(args).__name__}")
    start = x0 if isinstance(x0, Tensor) else Tensor(x0)
    if start.ndim != 1 or start.asnumpy().dtype.kind != "f":
        raise TypeError(f"minimize: x0 must be a vector of floats, got {start.dtype} of shape {start.shape}")
    if not isinstance(options, Mapping | None):
        raise TypeError(f"minimize: options must be a dict, got {described(options)}")
    if not (jac is None or callable(jac)):
        raise TypeError(f"minimize: jac must be a function, got {described(jac)}")
    name, settings = _settings(method, options or {})

    from scipy import optimize

    kind = start.dtype
    slope = grad(func) if jac is None else jac

    def value(point: np.ndarray) -> float:
        found = func(Tensor(point, kind), *args)
        if not isinstance(found, Tensor) or found.size != 1:
            what = f"shape {found.shape}" if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(f"minimize: the function returned {what}; expected a Tensor with one element")
        return float(found.item())

    def gradient(point: np.ndarray) -> np.ndarray:
        found = slope(Tensor(point, kind), *args)
        return np.asarray(found.asnumpy() if isinstance(found, Tensor) else found, np.float64)

    result = optimize.minimize(value, start.asnumpy(), jac=gradient, method=name, options=settings)
    inverse = Tensor(result.hess_inv, kind) if isinstance(result.hess_inv, np.ndarray) else None
    return OptimizeResults(
        Tensor(result.x, kind), bool(result.success), int(result.status), Tensor(result.fun, kind),
        Tensor(result.jac, kind), inverse, int(result.nfev), int(result.njev), int(result.nit),
    )  # fmt: skip


def _settings(method: Any, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Translate a method and its options to SciPy's names."""
    if not isinstance(method, str) or method.lower() not in _METHODS:
        raise ValueError(f"minimize: method must be 'BFGS' or 'LBFGS', got {method!r}")
    name, known, settings = _METHODS[method.lower()]
    given = {}
    for option, value in options.items():
        if option not in known:
            raise TypeError(f"minimize: {method} has no option {option!r}; it has {', '.join(known)}")
        if value is not None:
            given[known[option]] = value
    return name, settings | given


def linear_sum_assignment(cost_matrix: Any, maximize: bool, dimension_limit: Any = 2**63 - 1) -> tuple[Tensor, Tensor]:
    """Assign each row to a column of its own, with the least sum of costs.

    Parameters
    ----------
    cost_matrix : Tensor
        Shape (M, N).
    maximize : bool
        If True, the largest sum is wanted.
    dimension_limit : Tensor or int, optional
        The number of columns to use; later ones are ignored.

    Returns
    -------
    rows, columns : Tensor
        Int64, min(M, N) entries each, without slope; -1 if there are fewer columns.

    Raises
    ------
    TypeError
        If `maximize` is not a bool.
    ValueError
        If the costs are not a matrix, or the limit is negative.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.scipy.optimize import linear_sum_assignment
    >>> rows, columns = linear_sum_assignment(dg.Tensor([[4.0, 1.0], [2.0, 0.5]]), False)
    >>> print(rows, columns)
    [0 1] [1 0]
    """
    if not isinstance(maximize, bool):
        raise TypeError(f"linear_sum_assignment: maximize must be a bool, got {type(maximize).__name__}")
    costs = stop_gradient(cost_matrix if isinstance(cost_matrix, Tensor) else Tensor(cost_matrix)).asnumpy()
    limit = int(dimension_limit)
    if costs.ndim != 2 or limit < 0:
        raise ValueError(
            f"linear_sum_assignment: got costs of shape {costs.shape} and a limit of {limit}; expected a matrix and a "
            "limit that is not negative"
        )

    from scipy import optimize

    found = np.full((2, min(costs.shape)), -1)
    assigned = optimize.linear_sum_assignment(costs[:, :limit], maximize)
    found[:, : len(assigned[0])] = assigned
    return Tensor(found[0]), Tensor(found[1])
