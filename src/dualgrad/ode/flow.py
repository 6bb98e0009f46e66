"""The flow of a system as a primitive, and its pullback as another: derivatives of every order from four rules.

Let Phi(y0, t, p) be the states at t[1:] of the solution that starts with y0 at t[0]. Its differential is

    dPhi_i = D Phi_i (dy0 - f(y0, t_0) dt_0, dp) + f(Phi_i, t_i) dt_i,

where D Phi, at fixed times, is the flow of the tangent system. The pullback R = (D Phi)^T ct is the second primitive.
Both rules of R follow from <ct, D Phi v>, as ct and v are arbitrary. These are identities in all variables, so they can
be differentiated again, and each differential needs only flows and pullbacks of the next order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import extend
from .._engine.transforms.rematerialisation import pulled_back
from .._engine.transforms.tensor import inspect
from ..ops import concat, stack
from ..tensor import Tensor
from .methods import Array
from .passes import back, forward
from .samples import axes_of_back, axes_of_forward, each_sample
from .systems import System, flat, parts

__all__ = ["flow"]

Tensors = tuple[Tensor, ...]

FAR = 1000.0  # allowed error of the state after the way back, in tolerances


def flow(system: System, y0: Tensor, t: Tensor, params: Tensors) -> Tensor:
    """The states at t[1:], shape (m - 1, n), of the solution that starts with y0 at t[0]."""
    try:
        return _flow(y0, t, *params, system=system)
    except NotImplementedError as error:
        if "Taylor coefficients" not in str(error):
            raise
    raise NotImplementedError(
        f"{system.name}: a solution has no Taylor coefficients here, which jet, derivative, laplacian and others take; "
        f" nest grad or jvp instead, at any order"
    )


def _moved(
    system: System, y0: Tensor, t: Tensor, params: Tensors, dy0: Tensor, dt: Tensor | None, dots: Tensors
) -> tuple[Tensor, Tensor]:
    """Phi and its differential; dt is None for fixed times."""
    n = system.n
    if dt is not None:
        dy0 = dy0 - system.rate(y0, t[0], params) * dt[0]
    both = flow(system.tangent, concat([y0, dy0]), t, (*params, *dots))
    states, moved = both[:, :n], both[:, n:]
    if dt is not None:
        moved = moved + system.rates(states, t[1:], params) * dt[1:].reshape((-1, 1))
    return states, moved


def _dots(system: System, tangents: Tensors) -> Tensors:
    return tuple([tangents[i] for i in system.active])


def _cotangents(system: System, params: Tensors, found: Any) -> list[Tensor | None]:
    """The cotangents of all params from the cotangents of the active ones."""
    terms: list[Tensor | None] = [None] * len(params)
    for i, term in zip(system.active, found, strict=True):
        terms[i] = None if term is None else term.astype(params[i].dtype)
    return terms


@each_sample
def _flow_jvp(tangents: Tensors, out: Tensor, y0: Tensor, t: Tensor, *params: Tensor, system: System) -> Tensor:
    dy0, dt, *rest = tangents
    timed = dt if system.control.timed else None
    return _moved(system, y0, t, params, dy0, timed, _dots(system, tuple(rest)))[1]


def _flow_vjp(
    ct: Tensor, out: Tensor, y0: Tensor, t: Tensor, *params: Tensor, system: System
) -> tuple[Tensor | None, ...]:
    pull = _continuous if system.control.continuous else _discrete
    of_start, *of_params = parts(pull(system, ct, out, y0, t, params), [(system.n,), *system.shapes])
    of_times = None
    if system.control.timed:
        first = -(of_start * system.rate(y0, t[0], params)).sum()
        of_times = concat([first.reshape((1,)), (ct * system.rates(out, t[1:], params)).sum(1)])
    return (of_start, of_times, *_cotangents(system, params, of_params))


def _discrete(system: System, ct: Tensor, out: Tensor, y0: Tensor, t: Tensor, params: Tensors) -> Tensor:
    return _pullback(ct, y0, t, *params, system=system)


@each_sample
def _pullback_jvp(
    tangents: Tensors, out: Tensor, ct: Tensor, y0: Tensor, t: Tensor, *params: Tensor, system: System
) -> Tensor:
    dct, dy0, dt, *rest = tangents
    timed = dt if system.control.timed else None
    dots = _dots(system, tuple(rest))

    def both(y0: Tensor, *active: Tensor) -> tuple[Tensor, Tensor]:
        return _moved(system, y0, t, system.with_active(params, active), dy0, timed, dots)

    inputs = [y0, *[params[i] for i in system.active]]
    found = pulled_back(system.name, both, inputs, tuple(range(len(inputs))), (dct, ct))
    return flat([x * 0 if term is None else term for x, term in zip(inputs, found, strict=True)], y0)


def _pullback_vjp(
    w: Tensor, out: Tensor, ct: Tensor, y0: Tensor, t: Tensor, *params: Tensor, system: System
) -> tuple[Tensor | None, ...]:
    dy0, *dots = parts(w, [(system.n,), *system.shapes])
    dots = [dot.astype(params[i].dtype) for i, dot in zip(system.active, dots, strict=True)]

    def moved(y0: Tensor, t: Tensor, *active: Tensor) -> tuple[Tensor]:
        return (_moved(system, y0, t, system.with_active(params, active), dy0, None, tuple(dots))[1],)

    inputs = [y0, t, *[params[i] for i in system.active]]
    positions = tuple([i for i in range(len(inputs)) if i != 1 or system.control.timed])
    found = dict(zip(positions, pulled_back(system.name, moved, inputs, positions, (ct,)), strict=True))
    of_params = [found[i] for i in range(2, len(inputs))]
    return (moved(*inputs)[0], found[0], found.get(1), *_cotangents(system, params, of_params))


_flow = extend.primitive(
    "ode_flow",
    forward,
    jvp=_flow_jvp,
    vjp=_flow_vjp,
    arity=-1,
    types="apart",
    core=axes_of_forward,
    summary="states of a differential equation at given times",
)

_pullback = extend.primitive(
    "ode_pullback",
    back,
    jvp=_pullback_jvp,
    vjp=_pullback_vjp,
    arity=-1,
    types="apart",
    core=axes_of_back,
    summary="cotangents of the start and the parameters of a differential equation",
)


def _continuous(system: System, ct: Tensor, out: Tensor, y0: Tensor, t: Tensor, params: Tensors) -> Tensor:
    """Solve the adjoint equation for the cotangents, backwards with the state from each time to the previous one."""
    n, adjoint = system.n, system.adjoint
    state = Tensor(np.zeros(adjoint.n - n, y0.dtype.numpy))
    for i in range(t.size - 1, 0, -1):
        state = concat([state[:n] + ct[i - 1], state[n:]])
        before = y0 if i == 1 else out[i - 2]
        found = flow(adjoint, concat([out[i - 1], state]), stack([t[i], t[i - 1]]), params)[0]
        found = inspect(concat([found, before]), Returned(system, i))
        state = found[n : adjoint.n]
    return state


@dataclass(frozen=True)
class Returned:
    """A check that the backward solution returns to its start; otherwise its cotangents belong to another solution."""

    system: System
    i: int

    def __call__(self, found: Array) -> None:
        """Raise if the state differs from the start."""
        n, i, system = self.system.n, self.i, self.system
        back, before = found[..., :n], found[..., -n:]
        missed = np.abs(back - before)
        if not (missed <= FAR * (system.absolute(before) + system.control.rtol * np.abs(before))).all():
            raise RuntimeError(
                f"{system.name}: on the way back from t[{i}] to t[{i - 1}] the state is missed by {missed.max():.3g}, "
                f"so the continuous adjoint would be that of another solution; it is no use for stiff or chaotic "
                f"systems: take adjoint='discrete', or give more times"
            )
