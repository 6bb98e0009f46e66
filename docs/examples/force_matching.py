r"""
Force matching: a neural network potential of water
===================================================

A neural network is trained to be the potential energy :math:`E(R)` of one molecule of water, given nothing but
forces on its atoms at 1000 geometries. Forces are derivatives of the energy, :math:`F = -\partial E / \partial R`,
so the loss

.. math:: L(w) = \operatorname{mean} \left| -\frac{\partial E_w}{\partial R} - F \right|^2

is differentiated by the weights *through* a gradient by the positions.

The forces to be matched come from a model whose energy is known: two Morse bonds and a harmonic angle. So three
things can be checked at geometries never seen in training: the forces, the energies (up to a constant, which
forces do not fix), and the harmonic frequencies of the molecule, which are second derivatives at its minimum.
"""

import argparse
import time

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad import dataset as ds

# Units: Å, eV, atomic masses. Atoms: O, H, H.
DEPTH, STIFFNESS, LENGTH = 4.7, 2.2, 0.96
ANGLE, BENDING = np.deg2rad(104.5), 3.2
MASSES = np.array([15.999, 1.008, 1.008])
MINIMUM = np.array(
    [[0.0, 0.0, 0.0], [LENGTH, 0.0, 0.0], [LENGTH * np.cos(ANGLE), LENGTH * np.sin(ANGLE), 0.0]],
)
WAVENUMBER = 521.4709  # sqrt(eV / amu) / Å, in 1/cm

ALLOWED_FORCES = 0.015  # relative to the mean square of the forces
ALLOWED_ENERGIES = 0.003  # eV
ALLOWED_FREQUENCIES = 0.02  # relative


def bonds(positions):
    """Vectors from O to both H, and the three distances: (n, 3) and (n,) each."""
    first, second = positions[:, 1] - positions[:, 0], positions[:, 2] - positions[:, 0]
    lengths = [ops.norm(vector, dim=1) for vector in (first, second, second - first)]
    return first, second, lengths


class Reference(nn.Cell):
    """The known energy: (n, 3, 3) to (n,)."""

    def construct(self, positions):
        first, second, (r, s, _) = bonds(positions)
        angle = ops.acos(ops.ReduceSum()(first * second, 1) / (r * s))
        energy = 0.5 * BENDING * (angle - ANGLE) ** 2
        for length in (r, s):
            energy += DEPTH * (1.0 - ops.exp(-STIFFNESS * (length - LENGTH))) ** 2
        return energy


class Potential(nn.Cell):
    """A network of the distances; it does not change under rotations or an exchange of both H: (n, 3, 3) to (n,)."""

    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Dense(3, width, "xavier_normal", activation="tanh", dtype=dg.float64),
            nn.Dense(width, width, "xavier_normal", activation="tanh", dtype=dg.float64),
            nn.Dense(width, 1, "xavier_normal", dtype=dg.float64),
        )

    def construct(self, positions):
        _, _, (r, s, d) = bonds(positions)
        # symmetric in r and s, of about unit size
        features = ops.Stack(1)([(r + s - 2.0 * LENGTH) * 5.0, (r - s) ** 2 * 20.0, (d - 1.52) * 5.0])
        return self.layers(features).squeeze(1)


class Forces(nn.Cell):
    """Minus the gradient of an energy by the positions: (n, 3, 3) to (n, 3, 3)."""

    def __init__(self, energy):
        super().__init__(auto_prefix=False)
        self.energy = energy
        self.grad = ops.GradOperation()

    def construct(self, positions):
        return -self.grad(self.energy)(positions)


class HessianRow(nn.Cell):
    """The derivative of one component of the gradient, which the sensitivity picks, by all coordinates."""

    def __init__(self, energy):
        super().__init__(auto_prefix=False)
        self.forces = Forces(energy)
        self.grad = ops.GradOperation(get_all=True, sens_param=True)

    def construct(self, positions, unit):
        return -self.grad(self.forces)(positions, unit)[0]


def frequencies(energy, positions):
    """The wavenumbers of the vibrations at a minimum, in 1/cm."""
    row = HessianRow(energy)
    units = np.eye(9).reshape(9, 1, 3, 3)
    rows = [row(Tensor(positions[None]), Tensor(unit)).asnumpy().ravel() for unit in units]
    weights = np.repeat(MASSES, 3) ** -0.5
    eigenvalues = np.linalg.eigvalsh(np.stack(rows) * weights * weights[:, None])
    return np.sqrt(np.abs(eigenvalues[-3:])) * WAVENUMBER


def geometries(rng, count):
    return MINIMUM + rng.normal(0.0, 0.06, (count, 3, 3))


def draw(reference, potential, exact, found, path):
    """Learnt forces against the known ones, and the energy along a stretch of one bond."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(exact.ravel(), found.ravel(), ".", ms=3, color="#1f6fb2")
    left.axline((0.0, 0.0), slope=1.0, color="0.7", zorder=0)
    left.set(xlabel="force, known, eV/Å", ylabel="learnt", title="Components at geometries never seen")
    lengths = np.linspace(0.8, 1.2, 81)
    stretched = np.tile(MINIMUM, (81, 1, 1))
    stretched[:, 1, 0] = lengths
    for energy, style in ((reference, {"color": "0.7", "lw": 5, "label": "known"}), (potential, {"label": "learnt"})):
        values = energy(Tensor(stretched)).asnumpy()
        right.plot(lengths, values - values.min(), **style)
    right.set(xlabel="length of a bond, Å", ylabel="energy, eV", title="One bond is stretched")
    right.legend(frameon=False)
    fig.savefig(path, dpi=120)
    print(f"picture: {path}")


def main():
    parser = argparse.ArgumentParser(description="Learn the potential energy of water from forces")
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--figure", help="where a picture goes; none by default")
    args = parser.parse_args()

    dg.set_seed(3)
    rng = np.random.default_rng(3)
    reference = Reference()
    exact_forces = Forces(reference)

    seen = geometries(rng, 1000)
    data = ds.NumpySlicesDataset((seen, exact_forces(Tensor(seen)).asnumpy()), ["positions", "forces"]).batch(100)

    potential = Potential()
    model_forces, loss_fn = Forces(potential), nn.MSELoss()
    steps = args.epochs * data.get_dataset_size()
    optimizer = nn.Adam(potential.trainable_params(), nn.cosine_decay_lr(1e-5, 1e-2, steps, 1, steps))

    def forward_fn(positions, forces):
        return loss_fn(model_forces(positions), forces)

    grad_fn = ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=False)

    @dg.jit
    def train_step(positions, forces):
        loss, grads = grad_fn(positions, forces)
        return ops.depend(loss, optimizer(grads))

    print(f"{'epoch':>6}  {'force error, eV/Å':>18}  {'seconds':>8}")
    begin = time.perf_counter()
    batches = data.create_tuple_iterator()
    for epoch in range(1, args.epochs + 1):
        losses = [float(train_step(positions, forces)) for positions, forces in batches]
        if epoch % max(1, args.epochs // 10) == 0:
            print(f"{epoch:6d}  {np.sqrt(np.mean(losses)):18.4f}  {time.perf_counter() - begin:8.1f}")

    unseen = Tensor(geometries(rng, 200))
    exact, found = exact_forces(unseen).asnumpy(), model_forces(unseen).asnumpy()
    force_error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
    shift = (potential(unseen) - reference(unseen)).asnumpy()
    energy_error = np.std(shift)
    known, learnt = frequencies(reference, MINIMUM), frequencies(potential, MINIMUM)
    frequency_error = np.max(np.abs(learnt / known - 1.0))
    print(f"forces at 200 geometries never seen: relative error {force_error:.2e} (allowed: {ALLOWED_FORCES})")
    print(f"their energies, up to a constant: {energy_error:.1e} eV (allowed: {ALLOWED_ENERGIES})")
    print(f"frequencies in 1/cm, known:  {known.round(1)}")
    print(f"                     learnt: {learnt.round(1)} (allowed: {ALLOWED_FREQUENCIES:.0%} off)")
    if args.figure:
        draw(reference, potential, exact, found, args.figure)
    if not (
        force_error <= ALLOWED_FORCES and energy_error <= ALLOWED_ENERGIES and frequency_error <= ALLOWED_FREQUENCIES
    ):
        raise SystemExit("the network is not the potential of water")


if __name__ == "__main__":
    main()
