r"""
Variational Monte Carlo: the helium atom
========================================

Two electrons with opposite spins around a nucleus of charge 2, in atomic units. The trial function is a determinant of
orbitals for each spin (of one electron each, so a product) and a Jastrow factor of the scaled distances
s = r / (1 + r), u = r_12 / (1 + r_12),

.. math:: \log\psi = \sum_i \frac{-2 r_i - \alpha r_i^2}{1 + \gamma r_i} + \frac{r_{12}}{2 (1 + \beta r_{12})}
          + \sum_{lmn} c_{lmn} (s_1^l s_2^m + s_1^m s_2^l) u^n.

It meets Kato's cusp conditions where particles meet: no power is 1. The local energy needs the Laplacian and the
gradient of log psi, which one forward sweep gives (`dualgrad.laplacian` with `lower=True`),

.. math:: E_L = -\frac12 \left(\nabla^2 \log\psi + |\nabla \log\psi|^2\right)
          - \frac{2}{r_1} - \frac{2}{r_2} + \frac{1}{r_{12}}.

The parameters make the variance of E_L small (Umrigar, Wilson and Wilkins 1988) by Gauss and Newton's method; it needs
the derivatives of E_L, third ones of log psi, which `dualgrad.jacfwd` takes of the same code. Then walkers are
sampled, and the mean of E_L is held against the exact nonrelativistic energy, -2.903724 (Pekeris 1959). A
trial function of 22 parameters lies a little above it, here by some 5e-5. The script fails if the mean is below the
exact energy, or more than 1e-4 above it, beyond three standard errors.
"""

import argparse
import itertools

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, ops

EXACT = -2.903724377
ABOVE = 1e-4  # what the trial function may miss, in hartree
FIRST = [tuple(int(i == j) for j in range(6)) for i in range(6)]  # multi-indices of the gradient
POWERS = [
    (l, m, n)
    for l, m, n in itertools.product((0, 2, 3, 4, 5), (0, 2, 3, 4, 5), (0, 2, 3, 4, 5))
    if l >= m and 0 < l + m + n <= 6
]


def distances(x):
    """Of both electrons from the nucleus, and from each other: rows (N, 6) to three of (N,)."""
    first, second = x[:, :3], x[:, 3:]
    return [ops.sqrt((d * d).sum(1)) for d in (first, second, first - second)]


def log_psi(p, x):
    """Logarithm of the trial function at rows (N, 6); p are log gamma, log alpha, log beta, and c."""
    r1, r2, r12 = distances(x)
    gamma, alpha, beta = ops.exp(p[0]), ops.exp(p[1]), ops.exp(p[2])
    value = 0.5 * r12 / (1.0 + beta * r12)
    for r in (r1, r2):
        value = value - (2.0 * r + alpha * r * r) / (1.0 + gamma * r)
    s, t, u = r1 / (1.0 + r1), r2 / (1.0 + r2), r12 / (1.0 + r12)
    for c, (l, m, n) in enumerate(POWERS):
        value = value + p[3 + c] * (s**l * t**m + s**m * t**l) * u**n
    return value


def local_energy(p, x):
    """At rows (N, 6)."""
    laplacian, lower = dg.laplacian(lambda x: log_psi(p, x), lower=True)(x)
    slopes = [lower[index] for index in FIRST]
    r1, r2, r12 = distances(x)
    return -0.5 * (laplacian + sum(slope * slope for slope in slopes)) - 2.0 / r1 - 2.0 / r2 + 1.0 / r12


recorded_log_psi, recorded_energy = dg.jit(log_psi), dg.jit(local_energy)
recorded_slopes = dg.jit(lambda p, x: dg.jacfwd(lambda p: local_energy(p, x))(p))


class Walkers:
    """Points drawn from psi**2 by Metropolis' method, all moved at once."""

    def __init__(self, count, rng):
        self.rng, self.x, self.step, self.accepted = rng, rng.normal(size=(count, 6)), 0.4, 0.0

    def move(self, p, count):
        value = recorded_log_psi(p, Tensor(self.x)).asnumpy()
        for _ in range(count):
            new = self.x + self.step * self.rng.normal(size=self.x.shape)
            proposed = recorded_log_psi(p, Tensor(new)).asnumpy()
            take = np.log(self.rng.uniform(size=value.shape)) < 2 * (proposed - value)
            self.x, value = np.where(take[:, None], new, self.x), np.where(take, proposed, value)
            self.accepted = take.mean()


def optimise(p, walkers, iterations):
    """Steps of Gauss and Newton's method for the variance of the local energy, each on new points."""
    for i in range(iterations):
        walkers.move(p, 40)
        for _ in range(10):
            walkers.move(p, 2)
            walkers.step *= np.exp(walkers.accepted - 0.5)
        x = Tensor(walkers.x)
        energy, slopes = recorded_energy(p, x).asnumpy(), recorded_slopes(p, x).asnumpy()
        print(f"iteration {i:2d}: energy {energy.mean():.5f}, variance {energy.var():.2e}")
        rest = energy - np.median(energy)
        weight = 1.0 / (1.0 + (rest / (6.0 * np.median(np.abs(rest)))) ** 2)  # few points far out shall not rule
        centre = (weight * energy).sum() / weight.sum()
        slopes = slopes - (weight[:, None] * slopes).sum(0) / weight.sum()
        normal = slopes.T @ (weight[:, None] * slopes)
        damping = 1e-3 * 0.3**i * np.diag(normal).max() / len(p) * np.eye(len(p)) + 1e-7 * np.diag(np.diag(normal))
        change = -np.linalg.solve(normal + damping, slopes.T @ (weight * (energy - centre)))
        p = Tensor(p.asnumpy() + change * min(1.0, 1.0 / np.abs(change).max()))
    return p


def draw(means, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(np.cumsum(means) / np.arange(1, len(means) + 1), color="#1f6fb2", label="mean so far")
    axes.axhline(EXACT, color="0.4", linestyle="--", label="exact")
    axes.set(xlabel="sweep", ylabel="energy (hartree)", title="Helium")
    axes.legend(frameon=False)
    fig.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description="The ground state of helium by variational Monte Carlo")
    parser.add_argument("--quick", action="store_true", help="fewer walkers and sweeps")
    parser.add_argument("--figure", help="where a picture goes")
    args = parser.parse_args()
    count, iterations, sweeps = (2000, 8, 100) if args.quick else (4000, 12, 1500)
    try:
        from tqdm import trange
    except ImportError:
        trange = range

    walkers = Walkers(count, np.random.default_rng(5))
    start = np.zeros(3 + len(POWERS))
    start[:3] = np.log([1.0, 1.5, 0.5])
    print(f"{len(start)} parameters, {count} walkers")
    p = optimise(Tensor(start), walkers, iterations)

    walkers.move(p, 300)
    energies = np.empty((sweeps, count))
    for i in trange(sweeps):
        walkers.move(p, 10)
        energies[i] = recorded_energy(p, Tensor(walkers.x)).asnumpy()
    # walkers are independent of each other: their means in time have the error, correlations included
    mean, error = energies.mean(), energies.mean(0).std(ddof=1) / np.sqrt(count)
    print(f"energy   {mean:.6f} +- {error:.6f}")
    print(f"exact    {EXACT:.6f}, difference {mean - EXACT:+.6f}")
    print(f"variance {energies.var():.2e}")
    if args.figure:
        draw(energies.mean(1), args.figure)
        print(f"picture: {args.figure}")
    if not -3 * error <= mean - EXACT <= ABOVE + 3 * error:
        raise SystemExit(f"the energy is not within {ABOVE} above the exact one")


if __name__ == "__main__":
    main()
