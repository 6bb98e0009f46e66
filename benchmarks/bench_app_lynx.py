"""docs/examples/ode_sensitivity.py: the likelihood of the Lotka-Volterra equations, its gradient and its Hessian.

Eight parameters, 21 years, relative and absolute tolerance 1e-9 of an adaptive solver; float64. `gradient` is value and
gradient, `hessian` value, gradient and Hessian. `dualgrad` is the script's likelihood. The reference solves the
equations for the states with their first and second derivatives by SciPy's DOP853 at a tolerance of 1e-13. Solvers
differ in their methods and in what a tolerance means: `error` says what each has reached.
"""

import functools
from typing import Any

import applications
import numpy as np
import styles
from workload import Case, Run

RTOL = 1e-9
YEARS = np.arange(21.0)
POINT = np.log([0.52, 0.027, 0.83, 0.026, 32.0, 5.5, 0.3, 0.35])
HARE = [30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6,
        16.2, 24.7]  # fmt: skip
LYNX = [4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1,
        8.6]  # fmt: skip
OBSERVED = np.log([HARE, LYNX]).T


class Jet:
    """A number with its gradient (6,) and Hessian (6, 6)."""

    def __init__(self, v: Any, g: Any, h: Any) -> None:
        self.v, self.g, self.h = v, g, h

    def __sub__(self, o: "Jet") -> "Jet":
        return Jet(self.v - o.v, self.g - o.g, self.h - o.h)

    def __mul__(self, o: "Jet") -> "Jet":
        mixed = np.outer(self.g, o.g)
        return Jet(self.v * o.v, self.v * o.g + o.v * self.g, self.v * o.h + o.v * self.h + mixed + mixed.T)


def rate(u: Any, v: Any, alpha: Any, beta: Any, gamma: Any, delta: Any) -> tuple:
    return (alpha - beta * v) * u, (delta * u - gamma) * v


@functools.cache
def reference() -> list[np.ndarray]:
    """Value, gradient and Hessian."""
    from scipy.integrate import solve_ivp

    unit = np.eye(6)
    given = [Jet(v, v * e, v * np.outer(e, e)) for v, e in zip(np.exp(POINT[:6]), unit, strict=True)]
    flat = lambda jets: np.concatenate([np.concatenate([[j.v], j.g, j.h.ravel()]) for j in jets])
    jets = lambda y: [Jet(part[0], part[1:7], part[7:].reshape(6, 6)) for part in y.reshape(2, 43)]
    slope = lambda t, y: flat(rate(*jets(y), *given[:4]))
    states = solve_ivp(slope, (0, 20), flat(given[4:]), "DOP853", YEARS, rtol=1e-13, atol=1e-13).y.T.reshape(-1, 2, 43)
    y, first, second = states[..., 0], states[..., 1:7], states[..., 7:].reshape(-1, 2, 6, 6)
    first = first / y[..., None]  # of the logarithm
    second = second / y[..., None, None] - first[..., :, None] * first[..., None, :]
    weight, rest, sigmas = np.exp(-2.0 * POINT[6:]), OBSERVED - np.log(y), POINT[6:]
    squares = (weight * rest**2).sum(0)
    gradient = np.concatenate([-np.einsum("k,ik,ika->a", weight, rest, first), len(YEARS) - squares])
    hessian = np.zeros((8, 8))
    hessian[:6, :6] = np.einsum("k,ika,ikb->ab", weight, first, first)
    hessian[:6, :6] -= np.einsum("k,ik,ikab->ab", weight, rest, second)
    hessian[6:, 6:] = np.diag(2.0 * squares)
    hessian[6:, :6] = 2.0 * np.einsum("k,ik,ika->ka", weight, rest, first)
    hessian[:6, 6:] = hessian[6:, :6].T
    return [np.array(0.5 * squares.sum() + len(YEARS) * sigmas.sum()), gradient, hessian]


def program(package: Any, second: bool) -> tuple:
    """The script's likelihood."""
    loss = applications.example("ode_sensitivity").likelihood(RTOL)
    value_and_grad, hessian = package.value_and_grad(loss), package.hessian(loss)
    function = (lambda logs: (*value_and_grad(logs), hessian(logs))) if second else value_and_grad
    return function, [package.Tensor(POINT)]


def jax_loss(solve: Any) -> Any:
    """The likelihood; `solve` returns the states of the numbers, (21, 2)."""
    import jax.numpy as jnp

    def loss(logs):
        misfit = (OBSERVED - jnp.log(solve(jnp.exp(logs)))) * jnp.exp(-logs[6:])
        return 0.5 * (misfit * misfit).sum() + len(YEARS) * logs[6:].sum()

    return loss


def jax_slope(t: Any, y: Any, rates: Any) -> Any:
    import jax.numpy as jnp

    return jnp.stack(rate(y[0], y[1], *rates))


def forward(loss: Any, second: bool) -> Any:
    """Forward mode, once or twice; values come along."""
    import jax

    def both(x):
        value = loss(x)
        return value, value

    def gradient(x):
        slopes, value = jax.jacfwd(both, has_aux=True)(x)
        return slopes, (value, slopes)

    def all_of_it(x):
        hessian, (value, slopes) = jax.jacfwd(gradient, has_aux=True)(x)
        return value, slopes, hessian

    return all_of_it if second else lambda x: gradient(x)[1]


def reverse(loss: Any, second: bool) -> Any:
    """Reverse mode, once or twice."""
    import jax

    value_and_grad = jax.value_and_grad(loss)
    if not second:
        return value_and_grad
    return lambda x: (*value_and_grad(x), jax.jacrev(jax.grad(loss))(x))


def jax_odeint(second: bool) -> Run:
    """Dormand and Prince's method; its gradient solves the adjoint equation."""
    from jax.experimental.ode import odeint

    def solve(numbers):
        slope = lambda y, t, rates: jax_slope(t, y, rates)
        return odeint(slope, numbers[4:6], YEARS, numbers[:4], rtol=RTOL, atol=RTOL)

    styles.jax_arrays()
    return styles.jax_jit(reverse(jax_loss(solve), second), POINT)


def jax_diffrax(method: str, derivatives: Any, adjoint: str) -> Any:
    def factory(second: bool) -> Run:
        import diffrax

        def solve(numbers):
            controller = diffrax.PIDController(rtol=RTOL, atol=RTOL)
            found = diffrax.diffeqsolve(
                diffrax.ODETerm(jax_slope),
                getattr(diffrax, method)(),
                0.0,
                20.0,
                None,
                numbers[4:6],
                numbers[:4],
                saveat=diffrax.SaveAt(ts=YEARS),
                stepsize_controller=controller,
                adjoint=getattr(diffrax, adjoint)(),
                max_steps=4096,
            )
            return found.ys

        styles.jax_arrays()
        return styles.jax_jit(derivatives(jax_loss(solve), second), POINT)

    return factory


RIVALS = {
    "jax odeint": jax_odeint,
    "jax diffrax dopri5": jax_diffrax("Dopri5", forward, "ForwardMode"),
    "jax diffrax dopri8": jax_diffrax("Dopri8", forward, "ForwardMode"),
}
REVERSE = {"jax diffrax reverse": jax_diffrax("Dopri5", reverse, "RecursiveCheckpointAdjoint")}

CASES = [
    Case(
        name=f"application/lynx/{'hessian' if second else 'gradient'}",
        reference=lambda second=second: reference()[: 3 if second else 2],
        dtype="float64",
        tolerance=1e-5,
        contenders=styles.contenders(
            program, RIVALS | ({} if second else REVERSE), lambda second=second: (second,), {"mindspore graph": None}
        ),
        slow=("jax odeint",) if second else (),
    )
    for second in (False, True)
]


def test_lynx(benchmark, run):
    benchmark(run.call)
