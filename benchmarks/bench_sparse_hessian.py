"""Sparse Hessians of 100,000 variables, float64: the entries, row by row, at one point after another.

`rosenbrock-100000` is the chained Rosenbrock function, whose Hessian is tridiagonal; `grid-316` a Ginzburg-Landau
energy on a square grid, five points: half the squared differences of neighbours, and (u^2 - 1)^2 / 4 at each point.

In `sparse_hessian` pattern, colours and programs are made beforehand; `sparse_plan` is all the way from the function to
the first entries. dualgrad finds the pattern itself, and so does CasADi; for JAX and torch, which have no such thing,
the colours and the places of the entries are written down by hand (3 colours for the chain, 5 for the grid), as
somebody would who knows the structure.
"""

from typing import Any

import numpy as np
import styles
from bench_rosenbrock import rosenbrock
from workload import Case, Run


def grid_energy(side: int):
    def energy(x: Any) -> Any:
        u = x.reshape(side, side)
        slopes = ((u[1:] - u[:-1]) ** 2).sum() + ((u[:, 1:] - u[:, :-1]) ** 2).sum()
        return 0.5 * slopes + 0.25 * ((u * u - 1) ** 2).sum()

    return energy


class Chain:
    """The chained Rosenbrock function of n variables."""

    def __init__(self, n: int) -> None:
        self.name = f"rosenbrock-{n}"
        self.size = n
        self.energy = rosenbrock
        self.offsets = (-1, 0, 1)
        self.colours = np.arange(n) % 3

    def neighbours(self) -> np.ndarray:
        """For each variable those it meets, by offset; -1 where there is none."""
        i = np.arange(self.size)[:, None] + np.array(self.offsets)
        return np.where((i >= 0) & (i < self.size), i, -1)

    def by_hand(self, x: np.ndarray) -> np.ndarray:
        """The entries for all offsets."""
        table = np.zeros((self.size, 3))
        table[:-1, 1] = 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
        table[1:, 1] += 200
        table[:-1, 2] = table[1:, 0] = -400 * x[:-1]
        return table

    def symbols(self, ca: Any, x: Any) -> Any:
        """The value as a CasADi expression."""
        return ca.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


class Grid:
    """The energy of a square grid."""

    def __init__(self, side: int) -> None:
        self.name = f"grid-{side}"
        self.side = side
        self.size = side * side
        self.energy = grid_energy(side)
        rows, columns = np.divmod(np.arange(self.size), side)
        self.colours = (rows + 2 * columns) % 5
        self.degrees = (self.neighbours() >= 0).sum(1) - 1.0

    def neighbours(self) -> np.ndarray:
        rows, columns = np.divmod(np.arange(self.size), self.side)
        found = []
        for down, right in ((-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)):
            i, j = rows + down, columns + right
            inside = (i >= 0) & (i < self.side) & (j >= 0) & (j < self.side)
            found.append(np.where(inside, i * self.side + j, -1))
        return np.stack(found, 1)

    def by_hand(self, x: np.ndarray) -> np.ndarray:
        table = np.full((self.size, 5), -1.0)
        table[:, 2] = self.degrees + 3 * x * x - 1
        return table

    def symbols(self, ca: Any, x: Any) -> Any:
        u = ca.reshape(x, self.side, self.side)
        slopes = ca.sumsqr(u[1:, :] - u[:-1, :]) + ca.sumsqr(u[:, 1:] - u[:, :-1])
        return 0.5 * slopes + 0.25 * ca.sumsqr(u * u - 1)


def point(problem: Any) -> np.ndarray:
    return np.random.default_rng(6).uniform(-1.5, 1.5, problem.size)


def places(problem: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where each entry, row by row, stands among the products of the colours: colour and row."""
    columns = problem.neighbours()
    rows = np.broadcast_to(np.arange(problem.size)[:, None], columns.shape)[columns >= 0]
    return problem.colours[columns[columns >= 0]], rows


def entries(problem: Any) -> list[np.ndarray]:
    return [problem.by_hand(point(problem))[problem.neighbours() >= 0]]


def seeds(problem: Any) -> np.ndarray:
    return np.stack([problem.colours == k for k in range(problem.colours.max() + 1)]).astype(np.float64)


def dualgrad(problem: Any) -> Run:
    """A prepared plan: the matrix, and its entries."""
    import dualgrad as dg

    x = dg.Tensor(point(problem))
    plan = dg.sparse_hessian(problem.energy).prepare(x)
    return Run(lambda: plan(x).data)


def dualgrad_values(problem: Any) -> Run:
    """The entries alone."""
    import dualgrad as dg

    x = dg.Tensor(point(problem))
    plan = dg.sparse_hessian(problem.energy).prepare(x)
    return Run(lambda: plan.values(x))


def jax_hessian(problem: Any, colour: np.ndarray, row: np.ndarray) -> Any:
    import jax

    gradient = jax.grad(problem.energy)

    def hessian(x, seeds):
        products = jax.vmap(lambda s: jax.jvp(gradient, (x,), (s,))[1])(seeds)
        return products[colour, row]

    return hessian


def jax_coloured(problem: Any) -> Run:
    return styles.jax_jit(jax_hessian(problem, *places(problem)), point(problem), seeds(problem))


def torch_coloured(problem: Any) -> Run:
    import torch

    colour, row = (torch.tensor(a) for a in places(problem))
    gradient = torch.func.grad(problem.energy)

    def hessian(x, seeds):
        products = torch.func.vmap(lambda s: torch.func.jvp(gradient, (x,), (s,))[1])(seeds)
        return products[colour, row]

    return styles.torch_eager(hessian, point(problem), seeds(problem))


def casadi_hessian(problem: Any, kind: str) -> Any:
    """CasADi finds pattern and colours; of a symmetric matrix it has the entries in the same order."""
    import casadi as ca

    x = getattr(ca, kind).sym("x", problem.size)
    return ca.Function("hessian", [x], [ca.hessian(problem.symbols(ca, x), x)[0]])


def casadi(problem: Any, kind: str) -> Run:
    return styles.casadi(casadi_hessian(problem, kind), [point(problem)], [(len(places(problem)[0]),)])


def casadi_c(problem: Any) -> Run:
    """From the graph of matrices: the one of scalars has a million statements."""
    compiled = styles.casadi_c(casadi_hessian(problem, "MX"))
    return styles.casadi(compiled, [point(problem)], [(len(places(problem)[0]),)])


def dualgrad_plan(problem: Any) -> Run:
    import dualgrad as dg

    x = dg.Tensor(point(problem))
    return Run(lambda: dg.sparse_hessian(problem.energy).prepare(x).values(x))


def jax_plan(problem: Any) -> Run:
    """Colours are given; the function is compiled anew."""
    where, x, directions = places(problem), point(problem), seeds(problem)
    return Run(lambda: styles.jax_jit(jax_hessian(problem, *where), x, directions).call())


def casadi_plan(problem: Any, kind: str) -> Run:
    x, count = point(problem), len(places(problem)[0])
    return Run(lambda: styles.casadi(casadi_hessian(problem, kind), [x], [(count,)]).call())


def hand(problem: Any) -> Run:
    x, inside = point(problem), problem.neighbours() >= 0
    return Run(lambda: problem.by_hand(x)[inside])


CONTENDERS = {
    "dualgrad": dualgrad,
    "dualgrad values": dualgrad_values,
    "jax coloured": jax_coloured,
    "torch coloured": torch_coloured,
    "casadi sx": lambda problem: casadi(problem, "SX"),
    "casadi mx": lambda problem: casadi(problem, "MX"),
    "casadi c": casadi_c,
    "hand": hand,
}


PLANS = {
    "dualgrad": dualgrad_plan,
    "jax coloured": jax_plan,
    "casadi sx": lambda problem: casadi_plan(problem, "SX"),
    "casadi mx": lambda problem: casadi_plan(problem, "MX"),
}


def case(workload: str, contenders: Any, problem: Any) -> Case:
    return Case(
        name=f"{workload}/{problem.name}",
        reference=lambda: entries(problem),
        dtype="float64",
        tolerance=1e-13,
        contenders={name: lambda make=make: make(problem) for name, make in contenders.items()},
        slow=("casadi sx", "casadi c"),
    )


CASES = [
    case(workload, contenders, problem)
    for workload, contenders in (("sparse_hessian", CONTENDERS), ("sparse_plan", PLANS))
    for problem in (Chain(100_000), Grid(316))
]


def test_sparse_hessian(benchmark, run):
    benchmark(run.call)
