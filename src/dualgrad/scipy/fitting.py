"""`fit`: SciPy's minimisers for weights of Cells or other variables, with exact products of second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._engine.transforms.substitution import call_with
from .._progress import bar_of
from .._settings import truth_value
from ..parameter import Parameter
from ..tensor import Tensor
from ._broyden import minimize_broyden
from ._packing import checked_function, checked_mode
from .equations import Equations
from .objective import OfArrays

__all__ = ["fit"]

#: The needs of each method in addition to the gradient: nothing, products with the Hessian, or the whole Hessian.
MINIMISERS = {
    "L-BFGS-B": None,
    "BFGS": None,
    "CG": None,
    "SSBroyden": None,
    "Newton-CG": "product",
    "trust-ncg": "product",
    "trust-krylov": "product",
    "trust-constr": "product",
    "trust-exact": "dense",
    "dogleg": "dense",
}
#: The needs of each method of least squares: products with the Jacobian and its transpose, or the whole Jacobian.
LEAST_SQUARES = {"trf": "product", "dogbox": "product", "lm": "dense"}


class Watch:
    """A record of a solver during `fit`: the best point so far and the number of iterations."""

    def __init__(self, size: Callable[[Any], float], show: Callable[[int, float], None]) -> None:
        self.size = size
        self.show = show
        self.best: tuple[np.ndarray, Any] | None = None
        self.least = np.inf
        self.nit = 0

    def seen(self, x: np.ndarray, value: Any) -> Any:
        """Record a value of the function. Returns it."""
        size = self.size(value)
        if size < self.least:
            self.best, self.least = (np.array(x), value), size
        return value

    def iteration(self) -> None:
        self.nit += 1
        self.show(self.nit, self.least)


def fit(
    fn: Callable[..., Any],
    variables: Any,
    *args: Any,
    method: str = "L-BFGS-B",
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: bool = False,
) -> Any:
    r"""Minimise a function by the weights of Cells, or by a pytree of arrays, with one of SciPy's solvers.

    Parameters
    ----------
    fn : callable
        With Parameters as `variables` it is called as ``fn(*args)`` and reads them, as a Cell does; otherwise as
        ``fn(variables, *args)``. For a method of least squares it returns the residuals: a Tensor of any shape, or a
        tuple of them. For other methods it returns a Tensor with one element.
    variables : list of Parameters, Parameter, or pytree of floats, arrays and Tensors
        The variables to change: ``cell.trainable_params()``, or a starting point as for `objective`. Float64 and
        Float32 both work; the solver itself computes in float64.
    *args
        Further arguments of `fn`.
    method : str, default "L-BFGS-B"
        In upper or lower case. With gradients: ``L-BFGS-B``, ``BFGS``, ``CG``, ``SSBroyden``. Also with exact products
        of the Hessian: ``Newton-CG``, ``trust-ncg``, ``trust-krylov``, ``trust-constr``. With the whole Hessian:
        ``trust-exact``, ``dogleg`` (where it is positive definite). Least squares: ``lm`` (Levenberg-Marquardt, with
        the whole Jacobian), ``trf`` and ``dogbox`` (trust regions, with exact products J v and J' u).
    options : dict, optional
        Options of the method: ``options`` of ``scipy.optimize.minimize``, or keywords of
        ``scipy.optimize.least_squares``. For ``SSBroyden``: ``maxiter`` (20 for each variable), ``gtol`` (the largest
        entry of the gradient, 1e-5) and ``ftol`` (the relative decrease of one step; 0 switches this test off).
    callback : callable, optional
        Called after each iteration with an ``OptimizeResult`` of ``nit``, ``fun`` and ``x``, the best point so far,
        which the Parameters hold during the call. For least squares ``fun`` is half the sum of squares. It may raise
        ``StopIteration`` to end the search.
    progress : bool, default False
        Show a bar with the value, if tqdm is installed.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result, at the best point found. ``x``, and the gradient (``jac``, for least squares ``grad``), are
        pytrees like `variables`; for Parameters, dicts by name. The Parameters hold that point, also after an error or
        an interrupt.

    Raises
    ------
    TypeError, ValueError
        If `method` is unknown, `fn` cannot be called or returns another kind of object, the variables hold other
        objects than floats, or the function is not finite at any point.
    ImportError
        If SciPy is missing.

    See Also
    --------
    objective, residuals : The functions of vectors that this passes to SciPy.

    Notes
    -----
    Value and gradient are recorded (`dualgrad.jit`) and computed together. Products with the Hessian,

    .. math:: H v = \frac{d}{d\epsilon} \nabla f(w + \epsilon v) \Big|_{\epsilon = 0},

    and J v and J' u are exact, and cost a few evaluations for any number of weights.

    ``SSBroyden`` keeps a dense inverse Hessian (n^2 numbers of 8 bytes: 72 MB for 3,000 weights) in Broyden's family
    with self-scaling (Al-Baali, Comput. Optim. Appl. 9, 1998; Urbán, Stefanou and Pons, J. Comput. Phys. 523, 2025). On
    badly conditioned losses, as of physics-informed networks, it needs far fewer iterations than L-BFGS.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import numpy as np
    >>> from dualgrad import nn
    >>> dg.set_seed(1)
    >>> x = dg.Tensor(np.linspace(-1.0, 1.0, 40)[:, None])
    >>> net = nn.SequentialCell(nn.Dense(1, 8, activation="tanh", dtype=dg.float64), nn.Dense(8, 1, dtype=dg.float64))
    >>> misfit = lambda: net(x) - dg.ops.sin(3.0 * x)
    >>> found = dg.scipy.fit(misfit, net.trainable_params(), method="lm")
    >>> bool(found.cost < 1e-6), sorted(found.x)
    (True, ['0.bias', '0.weight', '1.bias', '1.weight'])
    >>> float((misfit() ** 2).sum() / 2) / found.cost
    1.0

    Variables other than Parameters:

    >>> bowl = lambda p: (p["a"] - 1.0) ** 2 + ((p["b"] - p["a"]) ** 2).sum()
    >>> dg.scipy.fit(bowl, {"a": 0.0, "b": np.zeros(2)}, method="Newton-CG").x
    {'a': array(1.), 'b': array([1., 1.])}
    """
    checked_function("fit", fn)
    if not (callback is None or callable(callback)):
        raise TypeError(f"fit: callback must be a function, got {type(callback).__name__}")
    if not isinstance(options, Mapping | None):
        raise TypeError(f"fit: options must be a dict, got {type(options).__name__}")
    truth_value("fit", "progress", progress)
    methods = (*MINIMISERS, *LEAST_SQUARES)
    if isinstance(method, str):
        method = {each.lower(): each for each in methods}.get(method.lower(), method)
    checked_mode("fit", "method", method, methods)
    try:
        from scipy import optimize
    except ImportError:
        raise ImportError("dualgrad.scipy.fit: the solvers are SciPy's; install it with pip install scipy") from None
    weights = parameters_of(variables)
    squares = method in LEAST_SQUARES
    if weights:

        def function(values: list[Tensor]) -> Any:
            return call_with("fit", fn, weights, values, args, {})

        start, rest = [Tensor(p.asnumpy()) for p in weights], ()
    else:
        function, start, rest = fn, variables, args
    problem: Any
    if squares:
        problem = Equations("fit", function, start, rest, LEAST_SQUARES[method])
    else:
        problem = OfArrays(function, start, rest, MINIMISERS[method] or "product", "fit")

    def unpacked(x: np.ndarray) -> Any:
        pieces = problem.unpack(x)
        return {p.name: piece for p, piece in zip(weights, pieces, strict=True)} if weights else pieces

    def assign(x: np.ndarray) -> None:
        for p, piece in zip(weights, problem.unpack(x) if weights else (), strict=True):
            p.set_data(Tensor(piece, p.dtype))

    bar = bar_of(method, unit=" steps") if progress else None

    def show(nit: int, value: float) -> None:
        if bar is not None:
            bar.set_postfix_str(f"{value:.3e}", refresh=False)
            bar.update()
        if callback is not None and watch.best is not None:
            assign(watch.best[0])
            callback(optimize.OptimizeResult(nit=nit, fun=value, x=unpacked(watch.best[0])))

    watch = Watch((lambda r: 0.5 * float(r @ r)) if squares else float, show)
    solve = least_squares if squares else minimised
    try:
        found = solve(optimize, problem, watch, method, dict(options or {}))
    except StopIteration:
        found = optimize.OptimizeResult(success=False, status=99, message="the callback raised StopIteration")
    finally:
        if watch.best is not None:
            assign(watch.best[0])
        if bar is not None:
            bar.close()
    if watch.best is None:
        raise ValueError("fit: the function is not finite at any point that was tried, the start included")
    point, value = watch.best
    found.fun, found.nit = value, watch.nit
    if squares:
        jacobian = problem.jac(point)
        found.cost, found.jac, found.grad = watch.least, jacobian, unpacked(jacobian.T @ value)
    else:
        found.jac = unpacked(problem.jac(point))
    found.x = unpacked(point)
    return found


def parameters_of(variables: Any) -> list[Parameter]:
    """The list of Parameters, or an empty list if the variables are a pytree."""
    if variables is None or hasattr(variables, "trainable_params"):
        of = "None" if variables is None else f"a {type(variables).__name__}"
        raise TypeError(f"fit: the variables are {of}; pass the weights of a Cell, net.trainable_params(), or a start")
    if isinstance(variables, Parameter):
        variables = [variables]
    if isinstance(variables, list | tuple) and not variables:
        raise ValueError("fit: there are no variables; expected Parameters, or a pytree with floats")
    if not isinstance(variables, list | tuple) or not any(isinstance(p, Parameter) for p in variables):
        return []
    if not all(isinstance(p, Parameter) for p in variables):
        raise TypeError("fit: the variables mix Parameters with other objects; expected Parameters, or none")
    frozen = [p.name for p in variables if not p.requires_grad]
    if frozen:
        raise ValueError(
            f"fit: {', '.join(frozen)}: it has requires_grad=False; pass trainable_params(), or set it to True"
        )
    names = [p.name for p in variables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"fit: several Parameters are called {', '.join(twice)}; expected different names")
    return list(variables)


def minimised(optimize: Any, problem: Any, watch: Watch, method: str, options: dict[str, Any]) -> Any:
    """Run ``scipy.optimize.minimize``."""
    form = MINIMISERS[method]
    second = {"hessp": problem.hessp} if form == "product" else {"hess": problem.hess} if form == "dense" else {}

    def after(intermediate_result: Any) -> None:
        watch.iteration()

    return optimize.minimize(
        lambda x: watch.seen(x, problem.fun(x)),
        problem.x0,
        jac=problem.jac,
        method=minimize_broyden if method == "SSBroyden" else method,
        callback=after,
        options=options,
        **second,
    )


def least_squares(optimize: Any, problem: Any, watch: Watch, method: str, options: dict[str, Any]) -> Any:
    """Run ``scipy.optimize.least_squares``. Each Jacobian counts as one iteration."""
    started = False

    def jac(x: np.ndarray) -> Any:
        nonlocal started
        if started:
            watch.iteration()
        started = True
        return problem.jac(x)

    def values(x: np.ndarray) -> Any:
        found = problem.fun(x)
        if method == "lm" and found.size < x.size:
            raise ValueError(
                f"fit: the function returned {found.size} residuals for {x.size} variables; method 'lm' needs as many "
                "at least: return the residuals themselves, not the sum of their squares, or pass method='trf'"
            )
        return watch.seen(x, found)

    if LEAST_SQUARES[method] == "product":
        options.setdefault("tr_solver", "lsmr")
    return optimize.least_squares(values, problem.x0, jac=jac, method=method, **options)
