r"""
Variational Monte Carlo: quantum dots
=====================================

Two and six electrons in a plane, held by a parabola, in atomic units:

.. math:: H = \sum_i \Big(-\frac12 \nabla_i^2 + \frac12 r_i^2\Big) + \sum_{i<j} \frac1{r_{ij}}.

The trial function has a Slater determinant of each spin, with the orbitals :math:`\varphi_0(r), x, y`, and a Jastrow
factor of the bounded distances :math:`s = r^2 / (4 + r^2)` and :math:`u = r_{ij} / (2 + r_{ij})`,

.. math:: \log\psi = \log|D_\uparrow| + \log|D_\downarrow| - \frac{\alpha}2 \sum_i r_i^2 + \sum_{i<j} \Big(
          \frac{a\, r_{ij}}{1 + \beta r_{ij}} + \sum_{lmn} c_{lmn} (s_i^l s_j^m + s_i^m s_j^l) u^n \Big).

Kato's cusp conditions in a plane are a = 1 for opposite spins and 1/3 for equal ones, whose :math:`\beta` and c are
others; no n is 1. The local energy needs the Laplacian and the gradient of log psi, determinants included. One forward
sweep gives both (`dualgrad.laplacian` with `lower=True`):

.. math:: E_L = -\frac12 \left(\nabla^2 \log\psi + |\nabla \log\psi|^2\right)
          + \frac12 \sum_i r_i^2 + \sum_{i<j} \frac1{r_{ij}}.

The parameters make the variance of E_L small (Umrigar, Wilson and Wilkins 1988) by Gauss and Newton's method; it needs
the derivatives of E_L, third ones of log psi, which `dualgrad.jacfwd` takes of the same code. Then walkers are
sampled. Three results are checked, and the script fails if one misses:

* six electrons that do not repel each other have E_L = 10 everywhere;
* two electrons have the energy 3 exactly (Taut, Phys. Rev. A 48, 3561, 1993): at most 1e-6 above, within three errors;
* six electrons: diffusion Monte Carlo gives 20.15932(8) (Høgberget, master's thesis, Oslo 2013; 20.1597(2) in Lohne et
  al., Phys. Rev. B 84, 115302, 2011), and variational Monte Carlo with determinants of oscillator orbitals and the
  first term of the Jastrow factor alone 20.1905(2) (Nordhagen, draft of a master's thesis, Oslo 2019). The energy
  must lie between them: not below the first by more than three errors, and below the second by at least three.
"""

import argparse
import itertools

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, ops

try:
    from tqdm import tqdm
except ImportError:  # no bars
    tqdm = lambda steps, **_: steps

FREE, TWO = 10.0, 3.0  # exact, in hartree: six electrons without repulsion, and two with it
ABOVE = 1e-6  # what the trial function of two electrons may miss
DIFFUSION, DIFFUSION_ERROR, VARIATIONAL = 20.15932, 8e-5, 20.1905  # published, six electrons
POWERS = itertools.product(range(4), range(4), (0, 2, 3, 4, 5, 6))
TERMS = [(l, m, n) for l, m, n in POWERS if l >= m and 0 < 2 * (l + m) + n <= 6]


class Dot:
    """The trial function and the local energy of `electrons`, half of each spin, at rows (N, 2 electrons)."""

    def __init__(self, electrons, charge=1.0):
        self.electrons, self.half, self.charge = electrons, electrons // 2, charge
        pairs = list(itertools.combinations(range(electrons), 2))
        opposite = [(i, j) for i, j in pairs if i < self.half <= j]
        equal = [pair for pair in pairs if pair not in opposite]
        # what depends on one electron alone is the same for both sorts of pairs: it is counted once
        self.sorts = [(np.array(opposite).T, charge, TERMS)]
        if equal:
            self.sorts.append((np.array(equal).T, charge / 3, [term for term in TERMS if any(term[1:])]))
        # log alpha, two of the lowest orbital (if it is the only one, the Jastrow factor has it), log beta and c
        self.size = (3 if electrons > 2 else 1) + sum(1 + len(terms) for _, _, terms in self.sorts)
        self.recorded_log_psi, self.recorded_energy = dg.jit(self.log_psi), dg.jit(self.local_energy)
        self.recorded_slopes = dg.jit(lambda p, x: dg.jacfwd(lambda p: self.local_energy(p, x))(p))

    def distances(self, x):
        """Squared from the centre (N, electrons), and of each sort of pairs (N, pairs)."""
        r = x.reshape((-1, self.electrons, 2))
        apart = [r[:, i] - r[:, j] for (i, j), _, _ in self.sorts]
        return (r * r).sum(2), [ops.sqrt((d * d).sum(2)) for d in apart]

    def log_determinants(self, a, x, s):
        """Of both spins; the lowest orbital is 1 + a_0 s + a_1 s**2."""
        lowest = (1.0 + a[0] * s + a[1] * s * s).reshape((-1, self.electrons, 1))
        orbitals = ops.cat([lowest, x.reshape((-1, self.electrons, 2))], 2)
        return sum(ops.slogdet(orbitals[:, spin])[1] for spin in (slice(self.half), slice(self.half, None)))

    def log_psi(self, p, x):
        """Logarithm of the trial function: rows to (N,)."""
        squares, apart = self.distances(x)
        s = squares / (4.0 + squares)
        value, at = -0.5 * ops.exp(p[0]) * squares.sum(1), 1
        if self.electrons > 2:
            value, at = value + self.log_determinants(p[1:3], x, s), 3
        for ((i, j), cusp, terms), d in zip(self.sorts, apart, strict=True):
            u, first, second = d / (2.0 + d), s[:, i], s[:, j]
            pair = cusp * d / (1.0 + ops.exp(p[at]) * d)
            for c, (l, m, n) in enumerate(terms, at + 1):
                pair = pair + p[c] * (first**l * second**m + first**m * second**l) * u**n
            value, at = value + pair.sum(1), at + 1 + len(terms)
        return value

    def local_energy(self, p, x):
        """Rows to (N,)."""
        laplacian, lower = dg.laplacian(lambda x: self.log_psi(p, x), lower=True)(x)
        slopes = [lower[tuple(index)] for index in np.eye(2 * self.electrons, dtype=int).tolist()]
        squares, apart = self.distances(x)
        repulsion = self.charge * sum((1.0 / d).sum(1) for d in apart)
        return -0.5 * (laplacian + sum(slope * slope for slope in slopes)) + 0.5 * squares.sum(1) + repulsion


class Walkers:
    """Points drawn from psi**2 by Metropolis' method, all moved at once."""

    def __init__(self, dot, count, rng):
        self.dot, self.rng, self.step, self.accepted = dot, rng, 0.4, 0.0
        self.x = rng.normal(size=(count, 2 * dot.electrons))

    def move(self, p, count):
        value = self.dot.recorded_log_psi(p, Tensor(self.x)).asnumpy()
        for _ in range(count):
            new = self.x + self.step * self.rng.normal(size=self.x.shape)
            proposed = self.dot.recorded_log_psi(p, Tensor(new)).asnumpy()
            take = np.log(self.rng.uniform(size=value.shape)) < 2 * (proposed - value)
            self.x, value = np.where(take[:, None], new, self.x), np.where(take, proposed, value)
            self.accepted = take.mean()


def optimise(dot, p, walkers, iterations):
    """Steps of Gauss and Newton's method for the variance of the local energy, each on new points."""
    for i in range(iterations):
        walkers.move(p, 40)
        for _ in range(10):
            walkers.move(p, 4)
            walkers.step *= np.exp(walkers.accepted - 0.5)
        energy, slopes = (f(p, Tensor(walkers.x)).asnumpy() for f in (dot.recorded_energy, dot.recorded_slopes))
        print(f"iteration {i:2d}: energy {energy.mean():.5f}, variance {energy.var():.2e}")
        rest = energy - np.median(energy)
        weight = 1.0 / (1.0 + (rest / (6.0 * np.median(np.abs(rest)))) ** 2)  # few points near nodes shall not rule
        centre = (weight * energy).sum() / weight.sum()
        slopes = slopes - (weight[:, None] * slopes).sum(0) / weight.sum()
        normal = slopes.T @ (weight[:, None] * slopes)
        damping = 1e-3 * 0.3**i * np.diag(normal).max() / len(p) * np.eye(len(p)) + 1e-7 * np.diag(np.diag(normal))
        change = -np.linalg.solve(normal + damping, slopes.T @ (weight * (energy - centre)))
        p = Tensor(p.asnumpy() + change * min(1.0, 1.0 / np.abs(change).max()))
    return p


def ground_state(electrons, count, iterations, sweeps):
    """Mean of the local energy, its error, and the energies (sweeps, walkers)."""
    dot = Dot(electrons)
    walkers = Walkers(dot, count, np.random.default_rng(5))
    print(f"{electrons} electrons: {dot.size} parameters, {count} walkers")
    p = optimise(dot, Tensor(np.zeros(dot.size)), walkers, iterations)
    walkers.move(p, 300)
    energies = np.empty((sweeps, count))
    for i in tqdm(range(sweeps), desc="sweeps"):
        walkers.move(p, 10)
        energies[i] = dot.recorded_energy(p, Tensor(walkers.x)).asnumpy()
    # walkers are independent of each other: their means in time have the error, correlations included
    mean, error = energies.mean(), energies.mean(0).std(ddof=1) / np.sqrt(count)
    print(f"energy {mean:.7f} +- {error:.7f}, variance {energies.var():.2e}")
    return mean, error, energies


def draw(energies, path):
    from matplotlib.figure import Figure

    fig = Figure(figsize=(7, 4), layout="constrained")
    axes = fig.subplots()
    axes.plot(energies.mean(1).cumsum() / np.arange(1, len(energies) + 1), color="#1f6fb2", label="mean so far")
    axes.axhline(VARIATIONAL, color="0.4", linestyle=":", label="variational Monte Carlo, published")
    axes.axhline(DIFFUSION, color="0.4", linestyle="--", label="diffusion Monte Carlo, published")
    axes.set(xlabel="sweep", ylabel="energy (hartree)", title="Six electrons in a quantum dot")
    axes.legend(frameon=False)
    fig.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description="Ground states of quantum dots by variational Monte Carlo")
    parser.add_argument("--quick", action="store_true", help="fewer walkers and sweeps")
    parser.add_argument("--figure", help="where a picture goes")
    args = parser.parse_args()
    settings = (1000, 8, 100) if args.quick else (4000, 10, 500)  # walkers, iterations, sweeps
    free, points = Dot(6, charge=0.0), Tensor(np.random.default_rng(5).normal(size=(settings[0], 12)))
    energy = free.local_energy(Tensor(np.zeros(free.size)), points)
    miss = np.median(np.abs(energy.asnumpy() - FREE))  # close to nodes large terms cancel
    print(f"6 electrons without repulsion: local energies differ from {FREE} by {miss:.0e}")
    two, error, _ = ground_state(2, *settings)
    print(f"exact  {TWO:.7f}, difference {two - TWO:+.7f}")
    six, six_error, energies = ground_state(6, *settings)
    print(f"published: {DIFFUSION} by diffusion, {VARIATIONAL} by variational Monte Carlo")
    if args.figure:
        draw(energies, args.figure)
    if miss > 1e-11:
        raise SystemExit("the local energy without repulsion is not constant")
    if not -3 * error <= two - TWO <= ABOVE + 3 * error:
        raise SystemExit(f"the energy of two electrons is not within {ABOVE} above the exact one")
    if not DIFFUSION - 3 * np.hypot(six_error, DIFFUSION_ERROR) <= six <= VARIATIONAL - 3 * six_error:
        raise SystemExit("the energy of six electrons is not between the published ones")


if __name__ == "__main__":
    main()
