r"""
Normal modes of a Lennard-Jones cluster
=======================================

The most stable cluster of 147 atoms with the pair potential 4 (r^-12 - r^-6) is a Mackay icosahedron: shells of
atoms on the edges and faces of icosahedra around a central atom. It is constructed, and relaxed by Newton's
method with the exact gradient and Hessian. Its energy is compared with the one published in the Cambridge Cluster
Database.

The square roots of the eigenvalues of the Hessian are the frequencies of the cluster, in units of
(epsilon / m)^(1/2) / sigma. Six eigenvalues are zero: three translations and three rotations. The sum of all, the
trace, is compared with the Laplacian of the energy, which is computed without the Hessian, and the highest with a
Lanczos iteration that only multiplies by it. The sum of the frequencies gives the zero-point energy, for argon here.

The script fails if the energy, the number of zero modes, the trace or the highest frequency is wrong.
"""

import argparse

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, curvature

try:
    from tqdm import tqdm
except ImportError:  # no bars
    tqdm = lambda steps, **_: steps
    tqdm.write = print

PUBLISHED = {13: -44.326801, 55: -279.248470, 147: -876.461207}  # Cambridge Cluster Database, in epsilon
GRADIENT_TOLERANCE = 1e-10
ENERGY_TOLERANCE = 1e-6
HBAR, BOLTZMANN, DALTON = 1.054571817e-34, 1.380649e-23, 1.66053906660e-27
ARGON = {"epsilon": 119.8 * BOLTZMANN, "sigma": 3.405e-10, "mass": 39.948 * DALTON}  # joule, metre, kilogram


def mackay_icosahedron(shells):
    """Atoms of complete shells around an atom, (n, 3), with edges of length 1 in each shell."""
    golden = (1 + np.sqrt(5)) / 2
    vertices = np.array([[0, a, b * golden] for a in (-1, 1) for b in (-1, 1)])
    vertices = np.concatenate([np.roll(vertices, k, axis=1) for k in range(3)]) / 2
    beside = np.isclose(np.linalg.norm(vertices[:, None] - vertices, axis=-1), 1)
    faces = [(a, b, c) for a in range(12) for b in range(a) for c in range(b)
             if beside[a, b] and beside[b, c] and beside[a, c]]  # fmt: skip
    atoms = {(0.0, 0.0, 0.0): None}
    for shell in range(1, shells + 1):
        for a, b, c in faces:
            for i in range(shell + 1):
                for j in range(shell + 1 - i):
                    atom = i * vertices[a] + j * vertices[b] + (shell - i - j) * vertices[c]
                    atoms[tuple(np.round(atom, 9) + 0.0)] = None  # edges and vertices belong to several faces
    return np.array(list(atoms))


def energy_of(count):
    """The energy of a cluster, a function of its flat coordinates (3 n,)."""
    first, second = np.triu_indices(count, 1)
    first, second = Tensor(first), Tensor(second)

    def energy(x):
        atoms = x.reshape((count, 3))
        away = atoms[first] - atoms[second]
        inverse = 1.0 / (away * away).sum(-1) ** 3
        return 4.0 * (inverse * inverse - inverse).sum()

    return energy


def relaxed(energy, x, most=60):
    """A minimum by Newton's method: steps against the gradient in the basis of the eigenvectors, halved as needed."""
    value_and_gradient = dg.jit(dg.value_and_grad(energy))
    hessian = dg.jit(dg.hessian(energy))
    print(f"{'iteration':>9}  {'energy':>18}  {'|gradient|':>10}  {'step':>6}")
    step = 1.0
    for iteration in tqdm(range(most), desc="Newton steps", leave=False):
        value, gradient = (t.asnumpy() for t in value_and_gradient(Tensor(x)))
        size = np.linalg.norm(gradient)
        tqdm.write(f"{iteration:9d}  {value:18.12f}  {size:10.3e}  {step:6g}")
        if size < GRADIENT_TOLERANCE:
            return x
        eigenvalues, vectors = np.linalg.eigh(hessian(Tensor(x)).asnumpy())
        bent = np.abs(eigenvalues) > 1e-6 * eigenvalues[-1]  # not along translations and rotations
        along = vectors[:, bent].T @ gradient
        direction = -vectors[:, bent] @ (along / np.abs(eigenvalues[bent]))
        direction *= min(1.0, 0.1 * len(x) ** 0.5 / np.linalg.norm(direction))
        step = 1.0
        # Near the minimum the gain is lost in the rounding of the energy.
        while energy(Tensor(x + step * direction)).item() > value + 1e-4 * step * (gradient @ direction) + 1e-11:
            step *= 0.5
        x = x + step * direction
    raise SystemExit(f"|gradient| is {size:.1e} after {most} iterations of Newton's method")


def draw(frequencies, count, path):
    """The spectrum as a histogram."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.hist(frequencies, bins=max(20, count // 3), color="#1f6fb2")
    axes.set(xlabel=r"frequency $\omega$ in $(\epsilon / m)^{1/2} \sigma^{-1}$", ylabel="modes",
             title=f"Normal modes of the Lennard-Jones cluster of {count} atoms")  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)
    fig.savefig(path, dpi=150)
    print(f"picture: {path}")


def main():
    parser = argparse.ArgumentParser(description="Normal modes of a Lennard-Jones cluster")
    parser.add_argument("--quick", action="store_true", help="55 atoms instead of 147")
    parser.add_argument("--shells", type=int, choices=(1, 2, 3), help="13, 55 or 147 atoms")
    parser.add_argument("--figure", help="where a picture goes, if one is wanted")
    args = parser.parse_args()
    dg.set_seed(0)

    atoms = mackay_icosahedron(args.shells or (2 if args.quick else 3))
    count = len(atoms)
    energy = energy_of(count)
    x = relaxed(energy, 1.1 * atoms.ravel())  # neighbours are 2^(1/6) = 1.12 apart in a pair
    value, published = energy(Tensor(x)).item(), PUBLISHED[count]
    print(f"energy of {count} atoms: {value:.9f} epsilon, published: {published:.6f}")

    H = curvature.hessian_operator(energy)(Tensor(x))
    eigenvalues = np.linalg.eigvalsh(dg.hessian(energy)(Tensor(x)).asnumpy())
    zeros = np.abs(eigenvalues) < 1e-9 * eigenvalues[-1]
    print(
        f"eigenvalues that are zero to rounding: {zeros.sum()}, up to {np.abs(eigenvalues[zeros]).max():.1e}; ", end=""
    )
    print(f"the smallest other one: {eigenvalues[~zeros].min():.6f}")
    trace = dg.laplacian(energy)(Tensor(x)).item()
    print(f"sum of the eigenvalues: {eigenvalues.sum():.9f}, Laplacian of the energy: {trace:.9f}")
    top, bound = (t[-1].item() for t in curvature.lanczos(H, min(60, H.size)).ritz_pairs()[::2])
    print(f"the largest: {eigenvalues[-1]:.9f}, by {min(60, H.size)} Lanczos steps: {top:.9f} +- {bound:.1e}")

    frequencies = np.sqrt(eigenvalues[~zeros])
    quantum = HBAR / (ARGON["sigma"] * np.sqrt(ARGON["mass"] * ARGON["epsilon"]))  # of hbar omega, in epsilon
    zero_point = 0.5 * quantum * frequencies.sum()
    print(f"frequencies: {frequencies[0]:.6f} to {frequencies[-1]:.6f}")
    print(f"zero-point energy of argon: {zero_point:.6f} epsilon, {100 * zero_point / -value:.2f} % of the binding")
    if args.figure:
        draw(frequencies, count, args.figure)

    faults = {
        "the energy is not the published one": abs(value - published) > ENERGY_TOLERANCE,
        "there are not six zero modes below positive ones": zeros.sum() != 6 or eigenvalues[~zeros].min() < 0,
        "the trace is not the Laplacian": abs(eigenvalues.sum() / trace - 1.0) > 1e-12,
        "the Lanczos iteration has another largest eigenvalue": abs(top - eigenvalues[-1]) > bound + 1e-9 * top,
    }
    if any(faults.values()):
        raise SystemExit("; ".join(fault for fault, found in faults.items() if found))


if __name__ == "__main__":
    main()
