"""docs/examples/vmc.py: the local energies of 4,000 walkers, six electrons in a quantum dot; float64.

Two Slater determinants of 3 by 3, a Jastrow factor, and of their logarithm the Laplacian and the gradient by 12
coordinates. `dualgrad` is the script's `local_energy`. The reference and `hand` are the forward
Laplacian in NumPy, with the determinants written out.
"""

import functools
import itertools
from typing import Any

import applications
import numpy as np
import styles
from workload import Case, Run

ELECTRONS, WALKERS = 6, 4_000
SPINS = (slice(0, 3), slice(3, 6))


def sorts() -> list:
    """Pairs of opposite and of equal spins: their indices, cusp and powers (l, m, n) in the Jastrow factor."""
    pairs = list(itertools.combinations(range(ELECTRONS), 2))
    opposite = [pair for pair in pairs if pair[0] < 3 <= pair[1]]
    equal = [pair for pair in pairs if pair not in opposite]
    powers = itertools.product(range(4), range(4), (0, 2, 3, 4, 5, 6))
    terms = [(l, m, n) for l, m, n in powers if l >= m and 0 < 2 * (l + m) + n <= 6]
    return [
        (np.array(opposite).T, 1.0, terms),
        (np.array(equal).T, 1.0 / 3.0, [term for term in terms if any(term[1:])]),
    ]


@functools.cache
def problem() -> list[np.ndarray]:
    """Parameters, and walkers in rows."""
    rng = np.random.default_rng(5)
    size = 3 + sum(1 + len(terms) for _, _, terms in sorts())
    return [0.05 * rng.normal(size=size), rng.normal(size=(WALKERS, 2 * ELECTRONS))]


def log_psi(m: Any, log_determinant: Any, p: Any, r: Any) -> Any:
    """Of electrons (..., 6, 2), with exp and sqrt from `m`; `log_determinant` of the three orbitals at three places."""
    squares = (r * r).sum(-1)
    s = squares / (4.0 + squares)
    value = -0.5 * m.exp(p[0]) * squares.sum(-1)
    lowest = 1.0 + p[1] * s + p[2] * s * s
    for spin in SPINS:
        value = value + log_determinant(lowest[..., spin], r[..., spin, 0], r[..., spin, 1])
    at = 3
    for (i, j), cusp, terms in sorts():
        apart = r[..., i, :] - r[..., j, :]
        d = m.sqrt((apart * apart).sum(-1))
        u, first, second = d / (2.0 + d), s[..., i], s[..., j]
        pair = cusp * d / (1.0 + m.exp(p[at]) * d)
        for c, (l, k, n) in enumerate(terms, at + 1):
            pair = pair + p[c] * (first**l * second**k + first**k * second**l) * u**n
        value, at = value + pair.sum(-1), at + 1 + len(terms)
    return value


def potential(m: Any, r: Any) -> Any:
    """The parabola and the repulsion."""
    pairs = np.array(list(itertools.combinations(range(ELECTRONS), 2))).T
    apart = r[..., pairs[0], :] - r[..., pairs[1], :]
    return 0.5 * (r * r).sum((-2, -1)) + (1.0 / m.sqrt((apart * apart).sum(-1))).sum(-1)


def written_out(log: Any) -> Any:
    """The logarithm of the size of a determinant of 3 by 3, from its six products; `log` of the absolute value."""

    def log_determinant(a, x, y):
        minor = lambda i, j: x[..., i] * y[..., j] - x[..., j] * y[..., i]
        return log(a[..., 0] * minor(1, 2) - a[..., 1] * minor(0, 2) + a[..., 2] * minor(0, 1))

    return log_determinant


class Second:
    """A number with its slopes and its Laplacian by 12 coordinates: arrays (...), (12, ...) and (...)."""

    __array_ufunc__ = None

    def __init__(self, value: Any, slopes: Any, laplacian: Any) -> None:
        self.value, self.slopes, self.laplacian = value, slopes, laplacian

    def of(self, f: Any, first: Any, second: Any) -> "Second":
        return Second(f, first * self.slopes, first * self.laplacian + second * (self.slopes**2).sum(0))

    def __add__(self, other: Any) -> "Second":
        if not isinstance(other, Second):
            return Second(self.value + other, self.slopes, self.laplacian)
        return Second(self.value + other.value, self.slopes + other.slopes, self.laplacian + other.laplacian)

    def __mul__(self, other: Any) -> "Second":
        if not isinstance(other, Second):
            return Second(self.value * other, self.slopes * other, self.laplacian * other)
        laplacian = self.value * other.laplacian + other.value * self.laplacian
        laplacian = laplacian + 2 * (self.slopes * other.slopes).sum(0)
        return Second(self.value * other.value, self.value * other.slopes + other.value * self.slopes, laplacian)

    def __pow__(self, n: int) -> "Second":
        x = self.value
        return self.of(x**n, n * x ** max(n - 1, 0), n * (n - 1) * x ** max(n - 2, 0))

    def __truediv__(self, other: Any) -> "Second":
        return self * other.of(1 / other.value, -1 / other.value**2, 2 / other.value**3)

    def __rtruediv__(self, other: float) -> "Second":
        return self.of(1 / self.value, -1 / self.value**2, 2 / self.value**3) * other

    def __sub__(self, other: "Second") -> "Second":
        return self + other * -1.0

    __radd__, __rmul__ = __add__, __mul__

    def sum(self, axis: Any) -> "Second":
        return Second(self.value.sum(axis), self.slopes.sum(axis), self.laplacian.sum(axis))

    def __getitem__(self, key: Any) -> "Second":
        return Second(self.value[key], self.slopes[key], self.laplacian[key])


class Functions:
    """Of numbers, and of numbers with derivatives."""

    exp = np.exp

    @staticmethod
    def sqrt(x: Any) -> Any:
        root = np.sqrt(x.value)
        return x.of(root, 0.5 / root, -0.25 / root**3)

    @staticmethod
    def log(x: Second) -> Second:
        return x.of(np.log(np.abs(x.value)), 1 / x.value, -1 / x.value**2)


def by_hand(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    r = x.reshape(-1, ELECTRONS, 2)
    eye = np.broadcast_to(np.eye(12).reshape(12, 1, ELECTRONS, 2), (12, *r.shape))
    found = log_psi(Functions, written_out(Functions.log), p, Second(r, eye, np.zeros(r.shape)))
    return -0.5 * (found.laplacian + (found.slopes**2).sum(0)) + potential(np, r)


def program(package: Any, *arrays: np.ndarray) -> tuple:
    """The script's local energy."""
    return applications.example("vmc").Dot(ELECTRONS).local_energy, [package.Tensor(a) for a in arrays]


def lu(m: Any, slogdet: Any) -> Any:
    """The logarithm of the size of a determinant by the library's `slogdet`."""
    return lambda *orbitals: slogdet(m.stack(orbitals, -1))[1]


def jax_energy(determinant: Any, derivatives: Any) -> Any:
    """`derivatives` of one walker's log psi: the Laplacian and the gradient."""

    def factory(*arrays):
        import jax

        log_determinant = determinant(jax.numpy)

        def one(p, x):
            laplacian, slopes = derivatives(
                lambda x: log_psi(jax.numpy, log_determinant, p, x.reshape(ELECTRONS, 2)), x
            )
            return -0.5 * (laplacian + slopes @ slopes) + potential(jax.numpy, x.reshape(ELECTRONS, 2))

        return styles.jax_jit(jax.vmap(one, (None, 0)), *arrays)

    return factory


def jax_slogdet(m: Any) -> Any:
    return lu(m, m.linalg.slogdet)


def jax_written(m: Any) -> Any:
    return written_out(lambda x: m.log(m.abs(x)))


def hessian(f: Any, x: Any) -> tuple:
    import jax

    return jax.numpy.trace(jax.hessian(f)(x)), jax.grad(f)(x)


def forward_over_reverse(f: Any, x: Any) -> tuple:
    """A row of the Hessian for each coordinate, of which one number is kept; one backward pass is shared."""
    import jax

    slopes, push = jax.linearize(jax.grad(f), x)
    return jax.vmap(lambda v: push(v) @ v)(jax.numpy.eye(x.size)).sum(), slopes


def forward_laplacian(f: Any, x: Any) -> tuple:
    import folx

    found = folx.forward_laplacian(f)(x)
    return found.laplacian, found.jacobian.dense_array


def torch_energy(*arrays: np.ndarray) -> Run:
    """The gradient, and one more sweep over it for each coordinate."""
    import torch

    p, x = styles.torch_tensors(*arrays)
    x.requires_grad_()
    log_determinant = lu(torch, torch.linalg.slogdet)

    def call():
        value = log_psi(torch, log_determinant, p, x.reshape(-1, ELECTRONS, 2))
        (slopes,) = torch.autograd.grad(value.sum(), x, create_graph=True)
        columns = slopes.sum(0)
        second = sum(torch.autograd.grad(columns[k], x, retain_graph=True)[0][:, k] for k in range(x.shape[1]))
        return (-0.5 * (second + (slopes**2).sum(1)) + potential(torch, x.reshape(-1, ELECTRONS, 2))).detach()

    return Run(call)


RIVALS = {
    "jax folx": jax_energy(jax_slogdet, forward_laplacian),
    "jax folx written": jax_energy(jax_written, forward_laplacian),
    "jax hessian": jax_energy(jax_slogdet, hessian),
    "jax forward": jax_energy(jax_slogdet, forward_over_reverse),
    "jax forward written": jax_energy(jax_written, forward_over_reverse),
    "torch": torch_energy,
    "hand": lambda *arrays: Run(lambda: by_hand(*arrays)),
}

CASES = [
    Case(
        name="application/vmc",
        reference=functools.cache(lambda: [by_hand(*problem())]),
        dtype="float64",
        tolerance=1e-9,
        contenders=styles.contenders(program, RIVALS, problem, {"mindspore graph": None}),
    )
]


def test_vmc(benchmark, run):
    benchmark(run.call)
