"""Linear differential operators with constant or varying coefficients: Laplacian, biharmonic, mixed partials ..."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from .._engine.transforms.forward import run_forward
from .._engine.values.algebra import jets
from .._settings import one_of, truth_value
from ..tensor import Tensor
from ..transforms.gradient import grad, jvp
from ..transforms.transformed import transformation
from ..transforms.vectorize import vmap
from .estimators import drawn_symbol, gaussian_biharmonic, hutchinson
from .evaluation import Derivatives, check_rows, checked_point, coefficients, moved, read
from .planner import Setup, directions_of, setup_of, setup_of_laplacian, way_named
from .symbols import Index, Symbol, checked_index, exact, order_of

if TYPE_CHECKING:
    from typing import Concatenate, Literal, overload

    from ..transforms.transformed import Input, P

__all__ = ["biharmonic", "derivatives", "laplacian", "linear_operator", "mixed_partial"]

Function = Callable[..., Any]


if TYPE_CHECKING:

    @overload
    def laplacian(
        f: Callable[Concatenate[Tensor, P], object],
        *,
        lower: Literal[False] = False,
        check: bool = False,
        way: str | None = None,
        explain: Literal[False] = False,
        samples: int | None = None,
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def laplacian(
        f: Callable[..., Any],
        *,
        lower: bool = False,
        check: bool = False,
        way: str | None = None,
        explain: bool = False,
        samples: int | None = None,
    ) -> Callable[..., Any]: ...


@transformation
def laplacian(
    f: Function,
    *,
    lower: bool = False,
    check: bool = False,
    way: str | None = None,
    explain: bool = False,
    samples: int | None = None,
) -> Function:
    """The Laplacian of a function, the sum of its second derivatives by each variable.

    Parameters
    ----------
    f : callable
        A function or Cell of one point, (D,) -> () or (m,); or one that works row by row, (N, D) -> (N,) or (N, m). It
        gets further arguments unchanged.
    lower : bool
        Return ``(result, lower)``, with the derivatives that come for free: here the value and the gradient, by
        multi-index.
    check : bool
        Check on a few rows that `f` does not mix them.
    way : {"algebra", "directions", "gradients"}, optional
        The method; None takes the cheapest one of the plan.
    explain : bool
        Return the plan with its costs instead of the result.
    samples : int, optional
        For very many variables: an unbiased estimate from this many random directions (Hutchinson), in samples + 2
        channels, repeatable with `set_seed`.

    Returns
    -------
    callable
        Takes x of shape (D,) or (N, D), a Tensor or NumPy array; the result has the shape of ``f(x)``.

    Raises
    ------
    TypeError
        If `f` is not callable, x does not hold floating-point numbers, or `f` does not return one Tensor.
    ValueError
        If x has more axes, a result for N rows does not begin with N, `check` finds mixed rows, or an option is
        unknown.

    Notes
    -----
    One evaluation of `f` in the algebra with basis 1, e_1 ... e_D, s and products e_i e_j = delta_ij s: value, gradient
    and half the Laplacian, D + 2 channels in three arrays (the forward Laplacian). The result can be differentiated to
    any order.

    Examples
    --------
    >>> import dualgrad as dg
    >>> f = lambda x: dg.ops.exp(x[0]) * x[1] ** 2
    >>> print(dg.laplacian(f)(dg.Tensor([0.0, 3.0])))
    11.0
    >>> rows = lambda x: (x**3).sum(1)
    >>> print(dg.laplacian(rows)(dg.Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [18. 42.]
    """
    estimate = None if samples is None else _counted("laplacian", samples, hutchinson)
    return _operator(
        "laplacian", f, functools.partial(setup_of_laplacian, "laplacian", 1), lower, check, way, explain, estimate
    )


if TYPE_CHECKING:

    @overload
    def biharmonic(
        f: Callable[Concatenate[Tensor, P], object],
        *,
        lower: Literal[False] = False,
        check: bool = False,
        way: str | None = None,
        explain: Literal[False] = False,
        samples: int | None = None,
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def biharmonic(
        f: Callable[..., Any],
        *,
        lower: bool = False,
        check: bool = False,
        way: str | None = None,
        explain: bool = False,
        samples: int | None = None,
    ) -> Callable[..., Any]: ...


@transformation
def biharmonic(
    f: Function,
    *,
    lower: bool = False,
    check: bool = False,
    way: str | None = None,
    explain: bool = False,
    samples: int | None = None,
) -> Function:
    """The biharmonic of a function, the Laplacian of its Laplacian.

    Parameters
    ----------
    f : callable
        As for `laplacian`.
    lower : bool
        Return ``(result, lower)``, with the value, the gradient and all second derivatives, by multi-index.
    check, explain : bool
        As for `laplacian`.
    way : {"algebra", "directions", "nested"}, optional
        The method; None takes the cheapest one of the plan.
    samples : int, optional
        An unbiased estimate from this many Gaussian directions: a third of the mean fourth derivative along them.

    Returns
    -------
    callable
        Takes x of shape (D,) or (N, D); the result has the shape of ``f(x)``.

    Raises
    ------
    TypeError, ValueError
        As for `laplacian`.

    Notes
    -----
    The smallest algebra has 2 + 2 D + D (D + 1) / 2 channels: value, gradient, second derivatives, gradient of the
    Laplacian, biharmonic.

    Examples
    --------
    >>> import dualgrad as dg
    >>> f = lambda x: (x * x).sum() ** 2
    >>> print(dg.biharmonic(f)(dg.Tensor([1.0, 2.0, 3.0])))  # 8 D (D + 2)
    120.0
    """
    estimate = None if samples is None else _counted("biharmonic", samples, gaussian_biharmonic)
    return _operator(
        "biharmonic", f, functools.partial(setup_of_laplacian, "biharmonic", 2), lower, check, way, explain, estimate
    )


if TYPE_CHECKING:

    @overload
    def mixed_partial(
        f: Callable[Concatenate[Tensor, P], object],
        multi_index: tuple[int, ...],
        *,
        lower: Literal[False] = False,
        check: bool = False,
        explain: Literal[False] = False,
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def mixed_partial(
        f: Callable[..., Any],
        multi_index: tuple[int, ...],
        *,
        lower: bool = False,
        check: bool = False,
        explain: bool = False,
    ) -> Callable[..., Any]: ...


@transformation
def mixed_partial(
    f: Function,
    multi_index: tuple[int, ...],
    *,
    lower: bool = False,
    check: bool = False,
    explain: bool = False,
) -> Function:
    """A partial derivative of any order in each variable.

    Parameters
    ----------
    f : callable
        As for `laplacian`.
    multi_index : tuple of int
        The order in each of the D variables.
    lower, check, explain : bool
        As for `laplacian`; all derivatives with no higher order in any variable come for free.

    Returns
    -------
    callable
        Takes x of shape (D,) or (N, D); the result has the shape of ``f(x)``.

    Raises
    ------
    TypeError, ValueError
        As for `laplacian`, or if the multi-index does not fit.

    Notes
    -----
    The product of one jet for each variable: the product of all (order + 1) channels, without cancellation.

    Examples
    --------
    >>> import dualgrad as dg
    >>> f = lambda x: x[0] ** 3 * x[1] ** 2
    >>> print(dg.mixed_partial(f, (2, 1))(dg.Tensor([2.0, 5.0])))  # 6 x 2 y
    120.0
    """
    index = checked_index("mixed_partial", multi_index)
    symbol = {index: exact("mixed_partial", index, 1)}

    def setup(dimensions: int) -> Setup:
        checked_index("mixed_partial", index, dimensions)
        return setup_of("mixed_partial", [symbol])

    return _operator("mixed_partial", f, setup, lower, check, None, explain, None)


def linear_operator(
    terms: Mapping[tuple[int, ...], Any],
) -> Callable[..., Function]:
    """Make a linear differential operator from its coefficients.

    Parameters
    ----------
    terms : mapping
        Multi-indices (the order in each of the D variables) with their coefficients: numbers, or tensors that broadcast
        against ``f(x)``.

    Returns
    -------
    callable
        ``operator(f, lower=False, check=False, explain=False, samples=None)`` returns a function of x, like
        `laplacian`. ``samples`` draws this many terms with probabilities in proportion to their coefficients: an
        unbiased estimate for operators of very many terms.

    Raises
    ------
    TypeError, ValueError
        If `terms` is empty, or a multi-index or coefficient is invalid.

    Notes
    -----
    With constant coefficients f is evaluated once in the smallest algebra of the operator, R[t] / Ann(p) of its symbol
    p: its number of channels is the dimension of the span of p and its derivatives. With varying ones, the algebra
    holds all partial derivatives that occur.

    Examples
    --------
    >>> import dualgrad as dg
    >>> heat = dg.linear_operator({(1, 0): 1, (0, 2): -0.5})  # u_t - u_xx / 2
    >>> u = lambda p: dg.ops.exp(-p[0] / 2) * dg.ops.sin(p[1])
    >>> print(heat(u)(dg.Tensor([0.3, 0.7])))
    0.0
    >>> print(heat(u, explain=True)(dg.Tensor([0.3, 0.7])).chosen.channels)
    3
    """
    name = "linear_operator"
    if not isinstance(terms, Mapping) or not terms:
        raise TypeError(
            f"{name}: expected a mapping of multi-indices to coefficients, such as {{(2, 0): 1, (0, 2): 1}}"
        )
    found = {checked_index(name, index): c for index, c in terms.items()}
    lengths = {len(index) for index in found}
    if len(lengths) > 1:
        raise ValueError(
            f"{name}: the multi-indices have {sorted(lengths)} entries; expected as many as there are variables"
        )
    varying = {index: c for index, c in found.items() if isinstance(c, Tensor)}
    constant: Symbol = {index: exact(name, index, c) for index, c in found.items() if index not in varying}
    constant = {index: c for index, c in constant.items() if c} or {next(iter(found)): exact(name, (), 0)}

    def operator(
        f: Function,
        *,
        lower: bool = False,
        check: bool = False,
        explain: bool = False,
        samples: int | None = None,
    ) -> Function:
        if varying:
            if samples is not None:
                raise ValueError(f"{name}: samples needs coefficients that are numbers")
            return _with_varying(f, found, lower, check, explain)

        def setup(dimensions: int) -> Setup:
            for index in constant:
                checked_index(name, index, dimensions)
            return setup_of(name, [constant if samples is None or explain else drawn_symbol(constant, samples)])

        if samples is not None:
            _counted(name, samples, None)
        return _operator(name, f, setup, lower, check, "algebra" if samples else None, explain, None)

    return operator


@transformation
def derivatives(
    f: Function, wanted: Mapping[str, Any], *, check: bool = False, explain: bool = False
) -> Callable[..., Any]:
    """Several partial derivatives or linear operators of a function in one sweep, for nonlinear equations.

    Parameters
    ----------
    f : callable
        As for `laplacian`.
    wanted : mapping
        Names, each with a multi-index or a mapping of multi-indices to numbers.
    check, explain : bool
        As for `laplacian`.

    Returns
    -------
    callable
        Takes x of shape (D,) or (N, D); returns a dict with the same names, each result with the shape of ``f(x)``.

    Raises
    ------
    TypeError, ValueError
        As for `linear_operator`.

    Notes
    -----
    One evaluation in the algebra of the intersection of the ideals Ann(p_j). Its number of channels is the dimension of
    the span of all symbols and their derivatives; four for u, u_x, u_t and u_xx.

    Examples
    --------
    >>> import dualgrad as dg
    >>> u = lambda p: dg.ops.sin(p[0]) * p[1] ** 2
    >>> found = dg.derivatives(u, {"u": (0, 0), "u_x": (1, 0), "lap": {(2, 0): 1, (0, 2): 1}})(dg.Tensor([0.0, 3.0]))
    >>> {name: float(value) for name, value in found.items()}
    {'u': 0.0, 'u_x': 9.0, 'lap': 0.0}
    """
    name = "derivatives"
    _check_function(name, f)
    if not isinstance(wanted, Mapping) or not wanted:
        raise TypeError(f"{name}: expected a mapping of names to multi-indices, such as {{'u': (0, 0), 'u_x': (1, 0)}}")
    symbols: list[Symbol] = []
    for spec in wanted.values():
        terms = spec if isinstance(spec, Mapping) else {checked_index(name, spec): 1}
        symbols.append({checked_index(name, a): exact(name, checked_index(name, a), c) for a, c in terms.items()})

    def apply(x: Tensor, *rest: Any) -> Any:
        x = checked_point(name, x)
        for symbol in symbols:
            for index in symbol:
                checked_index(name, index, x.shape[-1])
        setup = setup_of(name, symbols)
        if explain:
            return setup.plan
        if check:
            check_rows(name, f, x, rest)
        scheme = setup.scheme
        parts = coefficients(name, scheme, f, x, rest)
        return {key: read(reads, parts) for key, reads in zip(wanted, scheme.reads, strict=True)}

    return apply


# --------------------------------------------------------------------------------------------------------- the parts


def _check_function(name: str, f: Any) -> None:
    if not callable(f):
        raise TypeError(f"{name}: expected a function or Cell, got {type(f).__name__}; pass the function itself")


def _counted(name: str, samples: Any, estimator: Any) -> Any:
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise ValueError(f"{name}: samples is {samples!r}; expected the number of random draws, 1 or more")
    return functools.partial(estimator, samples=samples) if estimator else None


def _operator(
    name: str,
    f: Function,
    setup_in: Callable[[int], Setup],
    lower: bool,
    check: bool,
    way: str | None,
    explain: bool,
    estimate: Callable[..., Tensor] | None,
) -> Function:
    """Make the function of x that applies an operator with the given or planned method."""
    _check_function(name, f)
    lower = truth_value(name, "lower", lower)
    if (estimate is not None and (lower or way)) or (lower and not one_of(way, (None, "algebra"))):
        raise ValueError(
            f"{name}: lower derivatives come with the way 'algebra' only, and neither lower nor way with samples"
        )

    def apply(x: Tensor, *rest: Any) -> Any:
        x = checked_point(name, x)
        if check and not explain:
            check_rows(name, f, x, rest)
        if estimate is not None and not explain:
            return estimate(name, f, x, rest)
        setup = setup_in(x.shape[-1])
        if explain:
            return setup.plan
        taken = "algebra" if lower else way_named(setup.plan, way).name
        if taken != "algebra":
            return WAYS[taken](name, f, setup.symbols[0], x, rest)
        parts = coefficients(name, setup.scheme, f, x, rest)
        result = read(setup.scheme.reads[0], parts)
        return (result, Derivatives(setup.scheme, parts)) if lower else result

    apply.__qualname__ = f"{name}({getattr(f, '__qualname__', type(f).__name__)})"
    return apply


def _with_varying(f: Function, terms: Mapping[Index, Any], lower: bool, check: bool, explain: bool) -> Function:
    """Apply an operator with varying coefficients: all partial derivatives at once, then their combination."""
    name = "linear_operator"
    _check_function(name, f)
    symbols = [{index: exact(name, index, 1)} for index in terms]

    def apply(x: Tensor, *rest: Any) -> Any:
        x = checked_point(name, x)
        for index in terms:
            checked_index(name, index, x.shape[-1])
        setup = setup_of(name, symbols)
        if explain:
            return setup.plan
        if check:
            check_rows(name, f, x, rest)
        scheme = setup.scheme
        parts = coefficients(name, scheme, f, x, rest)
        result = None
        for c, reads in zip(terms.values(), scheme.reads, strict=True):
            value = read(reads, parts)
            term = value * c
            if tuple(term.shape) != tuple(value.shape):
                raise ValueError(
                    f"{name}: a coefficient of shape {c.shape} does not broadcast to the shape of the result of the "
                    f"function, {value.shape}"
                )
            result = term if result is None else result + term
        return (result, Derivatives(scheme, parts)) if lower else result

    return apply


def _by_directions(name: str, f: Function, symbol: Symbol, x: Tensor, rest: tuple[Any, ...]) -> Tensor:
    """Apply an operator by jets along directions, all at once."""
    order = order_of(symbol)
    along = directions_of(symbol, x.shape[-1])
    assert along is not None
    factorial = float(np.prod(np.arange(1.0, order + 1)))

    def top(v: Tensor) -> Tensor:
        parts = [x, ops.broadcast_to(v, x.shape)] + [None] * (order - 1)
        found = run_forward(name, jets(order), lambda y: f(y, *rest), [parts])
        return ops.zeros_like(found[0]) if found[order] is None else found[order]

    found = vmap(top)(Tensor(np.array([v for _, v in along], float), dtype=x.dtype))
    weights = np.array([w * factorial for w, _ in along]).reshape((-1,) + (1,) * (found.ndim - 1))
    return (found * Tensor(weights, dtype=found.dtype)).sum(0)


def _by_nesting(name: str, f: Function, symbol: Symbol, x: Tensor, rest: tuple[Any, ...]) -> Tensor:
    return laplacian(laplacian(lambda y: f(y, *rest), way="algebra"), way="algebra")(x)


def _by_gradients(name: str, f: Function, symbol: Symbol, x: Tensor, rest: tuple[Any, ...]) -> Tensor:
    """Apply an operator by Hessian-vector products, for a function with one number at each point."""

    def slope(y: Tensor) -> Tensor:
        out = f(y, *rest)
        if out.ndim != x.ndim - 1:
            raise ValueError(
                f"{name}: the way 'gradients' needs one number at each point, the function returned shape {out.shape}"
            )
        return out

    dimensions = x.shape[-1]
    total = None
    for i in range(dimensions):
        direction = np.zeros((1, dimensions))
        first = 0.0
        for a, c in symbol.items():
            where = [k for k, e in enumerate(a) for _ in range(e)]
            if len(where) == 2 and where[0] == i:
                direction[0, where[1]] += float(c)
            elif where == [i]:
                first = float(c)
        g, h = jvp(grad(slope), x, moved(direction, 1, x))
        term = h[..., i] if first == 0.0 else h[..., i] + first * g[..., i]
        total = term if total is None else total + term
    zeroth = float(symbol.get((0,) * dimensions, 0))
    assert total is not None
    return total + zeroth * f(x, *rest) if zeroth else total


WAYS = {"directions": _by_directions, "nested": _by_nesting, "gradients": _by_gradients}
