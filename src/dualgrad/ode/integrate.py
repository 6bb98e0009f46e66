"""`odeint`: the solution of a differential equation at given times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.transforms.inputs import as_input
from .._engine.transforms.rematerialisation import primal
from .._settings import array_of, one_of
from ..implicit._problem import Layout
from ..ops import concat
from ..tensor import Tensor
from ..transforms.vectorize import vmap
from .flow import flow
from .methods import METHODS
from .systems import Control, Given

__all__ = ["control_of", "odeint", "rows", "state_of", "time_of"]

ADJOINTS = ("discrete", "continuous")


def odeint(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float | None = None,
    atol: Any = None,
    method: str = "dopri5",
    adjoint: str = "discrete",
    sensitivities: bool = False,
    first_step: float | None = None,
    max_steps: int = 100_000,
    progress: bool = False,
) -> Any:
    """Solve ``y' = f(y, t, *args)`` from y0 at t[0]; differentiable to any order in y0, t, args and all that f reads.

    Parameters
    ----------
    f : callable
        ``f(y, t, *args)`` returns y', in the nesting, shapes and type of the state; t is a Tensor without axes. It may
        read parameters and other tensors, but must not assign to them or draw random numbers. Its third call is
        recorded, so its Python code, such as printing, runs only a few times.
    y0 : Tensor, or pytree of tensors of one float type
        The state at t[0]; a float or an array of floats becomes a tensor of its type.
    t : Tensor, array or list of numbers
        The times, m in one axis, increasing or decreasing; neighbours may be equal. Only a Tensor of times is
        differentiated by.
    *args
        Tensors, or pytrees of tensors. Numbers and arrays are constants.
    rtol : float, optional
        Relative tolerance for the error of a step; by default the square root of the precision of the state.
    atol : float, or pytree like y0, optional
        Absolute tolerance of each element; by default rtol.
    method : {"dopri5", "rodas5p"}, default "dopri5"
        The explicit pair of Dormand and Prince, or, for stiff systems, the Rosenbrock method Rodas5P with the exact
        Jacobian. Both have order 5(4), and dense output of order 4.
    adjoint : {"discrete", "continuous"}, default "discrete"
        The way of cotangents: ``discrete`` pulls them back through the steps, from the state before each.
        ``continuous`` solves the adjoint equation backwards, with its own error control, and keeps only the result.
    sensitivities : bool, default False
        True lets tangents choose their own steps, with the tolerances for states and tangents alike. By default they
        take the steps of the states.
    first_step : float, optional
        The size of the first step.
    max_steps : int, default 100000
        The largest number of steps.
    progress : bool, default False
        Show a bar of the time solved, forwards and on the way back, if tqdm is installed.

    Returns
    -------
    Tensor or pytree
        The states at all times, nested like y0, stacked along a new first axis of length m. The first is y0.

    Raises
    ------
    RuntimeError
        If the step size underflows, or `max_steps` do not suffice; if the continuous adjoint loses the solution; if f
        assigns to outside tensors, or draws random numbers.
    ValueError
        If f returns other shapes, or nan at the start, or the times are not monotone.
    TypeError
        If the state is not of one float type, or f returns another type.

    Notes
    -----
    The step sizes are constants of every derivative ("internal numerical differentiation", Bock 1981). So forward and
    reverse derivatives belong to one discrete map, and agree up to rounding. A derivative by a time is f itself, d
    y(t_i) / d t_i = f(y(t_i), t_i), at every order. A derivative of order k solves the tangent system of order k, which
    is 2^k times as large. Under `vmap`, samples with the same steps are solved together, such as a derivative along
    many directions; others are solved one by one. Under `jit` the solver is one step of the program.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.ode import odeint
    >>> decay = lambda y, t, k: -k * y
    >>> last = lambda k: odeint(decay, dg.Tensor(1.0, dg.float64), [0.0, 2.0], k, rtol=1e-10)[-1]
    >>> k = dg.Tensor(0.5, dg.float64)
    >>> print(last(k).round(8), dg.grad(last)(k).round(8), dg.grad(dg.grad(last))(k).round(8))
    0.36787944 -0.73575888 1.47151776
    """
    layout, start = state_of("odeint", f, y0)
    times = _times_of("odeint", t, start)
    control = control_of(
        "odeint", layout, start, rtol, atol, method, adjoint, first_step, max_steps,
        sensitivities=sensitivities, timed=isinstance(t, Tensor), progress=progress,
    )  # fmt: skip
    system = Given("odeint", f, layout, start, times[0], args, control)
    params, first = system.taken(), start.reshape((1, start.size))
    if times.size > 1:
        first = concat([first, flow(system, start, times, params)])
    system.settle()
    return rows(layout, first)


def rows(layout: Layout, states: Tensor) -> Any:
    """Convert stacked vectors to the pytree of stacked states."""
    return vmap(layout.nest)(states)


def state_of(name: str, f: Any, y0: Any) -> tuple[Layout, Tensor]:
    """The layout of a state, and the state as a vector."""
    if not callable(f):
        raise TypeError(f"{name}: f is a {type(f).__name__}; expected a function or Cell of (y, t, *args)")
    y0 = as_input(name, "y0", y0)
    layout = Layout(name, "the state y0", y0)
    if layout.size == 0:
        raise ValueError(f"{name}: the state y0 has no elements; expected one at least")
    return layout, layout.vector(y0)


def _times_of(name: str, t: Any, start: Tensor) -> Tensor:
    """Convert the times to a tensor of the state's type."""
    times = t if isinstance(t, Tensor) else _as_array(name, t)
    if times.ndim != 1 or times.shape[0] < 1:
        raise ValueError(f"{name}: t has shape {tuple(times.shape)}; expected the times in one axis, t[0] that of y0")
    if not times.dtype.is_float:
        raise TypeError(f"{name}: t holds {times.dtype}; expected floats")
    return times.astype(start.dtype)


def _as_array(name: str, t: Any) -> Tensor:
    if isinstance(t, list | tuple) and any(isinstance(x, Tensor) for x in t):
        raise TypeError(f"{name}: t is a {type(t).__name__} of Tensors; expected one Tensor, join them with ops.stack")
    try:
        times = np.asarray(t)
        return Tensor(times.astype(float, casting="same_kind" if times.dtype.kind != "O" else "unsafe"))
    except (TypeError, ValueError):
        raise TypeError(f"{name}: t is {t!r}; expected numbers in one axis") from None


def time_of(name: str, what: str, t: Any, start: Tensor) -> Tensor:
    """Convert one time to a tensor of the state's type."""
    time = t if isinstance(t, Tensor) else _as_array(name, t)
    if time.ndim != 0 or not time.dtype.is_float:
        raise TypeError(f"{name}: {what} has shape {tuple(time.shape)} and type {time.dtype}; expected one float")
    return time.astype(start.dtype)


def control_of(
    name: str,
    layout: Layout,
    start: Tensor,
    rtol: float | None,
    atol: Any,
    method: str,
    adjoint: str,
    first_step: float | None,
    max_steps: int,
    *,
    sensitivities: bool = False,
    timed: bool = True,
    progress: bool = False,
) -> Control:
    """Check the settings of a call."""
    for what, value, known in (("method", method, tuple(METHODS)), ("adjoint", adjoint, ADJOINTS)):
        if not one_of(value, known):
            raise ValueError(f"{name}: {what} is {value!r}; expected {' or '.join(map(repr, known))}")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
        raise ValueError(f"{name}: max_steps is {max_steps!r}; expected an int of 1 at least")
    for what, flag in (("sensitivities", sensitivities), ("progress", progress)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name}: {what} is {flag!r}; expected True or False")
    eps = float(np.finfo(start.dtype.numpy).eps)
    relative = float(np.sqrt(eps)) if rtol is None else _positive(name, "rtol", rtol)
    if relative < 4 * eps:
        raise ValueError(
            f"{name}: rtol is {relative:.3g}; expected {4 * eps:.3g} at least, as {start.dtype} has "
            f"{-np.log10(eps):.0f} digits"
        )
    absolute = (relative,) if atol is None else _absolute(name, layout, atol)
    first = None if first_step is None else _positive(name, "first_step", first_step)
    return Control(
        method, relative, absolute, first, max_steps, adjoint == "continuous", sensitivities, timed, progress
    )


def _positive(name: str, what: str, x: Any) -> float:
    if isinstance(x, bool) or not isinstance(x, int | float | np.number) or not 0.0 < x < np.inf:
        raise ValueError(f"{name}: {what} is {x!r}; expected a number above 0")
    return float(x)


def _absolute(name: str, layout: Layout, atol: Any) -> tuple[float, ...]:
    """The absolute tolerance, as one number or one for each element."""
    if isinstance(atol, int | float | np.number):
        return (_positive(name, "atol", atol),)
    if isinstance(layout.template, dict | list | tuple) == isinstance(atol, dict | list | tuple):
        try:
            found = primal(layout.vector(as_input(name, "atol", atol), "atol"))
        except ValueError:
            raise ValueError(f"{name}: atol is {atol!r}; expected a number, or the nesting and shapes of y0") from None
    else:
        found = array_of(name, "atol", atol).astype(float).reshape(-1)
    if found.size != layout.size or not (np.isfinite(found) & (found > 0)).all():
        raise ValueError(f"{name}: atol is {atol!r}; expected numbers above 0, one or as many as the state has")
    return tuple(found.astype(float).tolist())
