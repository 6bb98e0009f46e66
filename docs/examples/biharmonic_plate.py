r"""
A thin plate under load: the biharmonic equation
================================================

The deflection :math:`w` of a unit square plate of stiffness 1 under a load :math:`q` solves an equation of the fourth
order,

.. math:: \Delta^2 w = q \quad \text{on } (0, 1)^2.

``simple`` is a plate on hinges, :math:`w = \Delta w = 0` at the edges, under the load of Navier's solution,

.. math:: w = \sin \pi x \, \sin \pi y, \qquad q = 4 \pi^4 \sin \pi x \, \sin \pi y;

``clamped`` is held fast, :math:`w = \partial_n w = 0`, with :math:`w = 16^2 (x (1-x) \, y (1-y))^2` for a solution.

A network of two layers of tanh is trained on the residual inside and on both conditions at the edges.
`dualgrad.biharmonic` takes all fourth derivatives in one evaluation. The gradient by the weights, fifth derivatives of
the network, is one reverse sweep over it; ``dualgrad.scipy.fit`` records both and minimises by a quasi-Newton method.
The errors are 1e-7 for the simple plate and 3e-6 for the clamped one.
"""

import argparse
import time

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.common.initializer import XavierNormal

ALLOWED, ALLOWED_QUICK = 1e-4, 1e-3  # relative error in the mean square


def simple(x, y):
    """Deflection and load of Navier's plate."""
    w = np.sin(np.pi * x) * np.sin(np.pi * y)
    return w, 4.0 * np.pi**4 * w


def clamped(x, y):
    """Deflection and load of the clamped plate: a product of two polynomials a(x) a(y), a(s) = 16 (s (1 - s))^2."""
    a, bend, fourth = (lambda s: 16.0 * (s * (1 - s)) ** 2), (lambda s: 16.0 * (2 - 12 * s + 12 * s**2)), 384.0
    return a(x) * a(y), fourth * (a(x) + a(y)) + 2.0 * bend(x) * bend(y)


class Network(nn.Cell):
    """Two layers of tanh: (n, 2) to (n,)."""

    def __init__(self, width):
        super().__init__()
        self.first = nn.Dense(2, width, XavierNormal(gain=2.0), "normal", dtype=dg.float64)
        self.second = nn.Dense(width, width, XavierNormal(), dtype=dg.float64)
        self.last = nn.Dense(width, 1, XavierNormal(), dtype=dg.float64)

    def construct(self, points):
        h = ops.tanh(self.first(2.0 * points - 1.0))
        return self.last(ops.tanh(self.second(h)))[:, 0]


class Loss(nn.Cell):
    """Mean squares of the equation's residual inside, and of both conditions at the edges."""

    def __init__(self, network, support, inside, edges):
        super().__init__(auto_prefix=False)
        self.network = network
        self.inside, self.load = Tensor(inside), Tensor(support(*inside.T)[1])
        self.edges = Tensor(edges)
        self.bending = dg.biharmonic(network)
        across = np.isin(edges[:, 0], (0.0, 1.0)).astype(float)  # 1 where the normal is along x
        along_x, along_y = Tensor(across), Tensor(1.0 - across)
        if support is simple:
            second = dg.laplacian(network)  # w = 0 along the edge, so that this is the bending moment
            self.condition = lambda points: second(points) / np.pi**2
        else:
            slopes = dg.derivatives(network, {"x": (1, 0), "y": (0, 1)})
            self.condition = lambda points: sum(
                slope * along for slope, along in zip(slopes(points).values(), (along_x, along_y), strict=True)
            )

    def construct(self):
        equation = (self.bending(self.inside) - self.load) / (4.0 * np.pi**4)
        at_edges = (self.network(self.edges) ** 2).mean() + (self.condition(self.edges) ** 2).mean()
        return (equation**2).mean() + 100.0 * at_edges


def sample(rng, count):
    """Random points inside, and evenly spaced ones at the edges."""
    s = np.linspace(0.0, 1.0, 26)
    edges = [np.column_stack(pair) for end in (0.0, 1.0) for pair in ((s, 0 * s + end), (0 * s + end, s))]
    return rng.uniform(size=(count, 2)), np.concatenate(edges)


def solve(support, args):
    """The trained network's deflection on a grid, and its relative error."""
    dg.set_seed(args.seed)
    network = Network(args.width)
    loss = Loss(network, support, *sample(np.random.default_rng(args.seed), args.points))
    s = np.linspace(0.0, 1.0, 51)
    grid = np.stack(np.meshgrid(s, s), -1).reshape(-1, 2)
    truth = support(*grid.T)[0]
    begin = time.perf_counter()
    found = dg.scipy.fit(
        loss,
        network.trainable_params(),
        method="SSBroyden",
        options={"maxiter": args.steps, "gtol": 1e-10},
        progress=True,
    )
    deflection = network(Tensor(grid)).asnumpy()
    error = np.linalg.norm(deflection - truth) / np.linalg.norm(truth)
    seconds = time.perf_counter() - begin
    print(f"{support.__name__:>8} {found.nit:6d}  {found.fun:10.3e}  {error:10.3e}  {seconds:8.1f}", flush=True)
    return deflection.reshape(51, 51), error


def draw(plates, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(plates), figsize=(10, 4), layout="constrained", squeeze=False)
    for ax, (name, w) in zip(axes[0], plates.items(), strict=True):
        fig.colorbar(ax.imshow(w, extent=(0, 1, 0, 1), origin="lower"), label="$w$")
        ax.set(title=f"{name} plate", xlabel="$x$", ylabel="$y$")
    fig.savefig(path, dpi=150)
    print(f"picture: {path}")


def main():
    parser = argparse.ArgumentParser(description="Bend plates by physics-informed networks")
    parser.add_argument("--quick", action="store_true", help="a narrower network, fewer points and steps")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="of the minimiser, at most")
    parser.add_argument("--figure", help="where a picture goes; none by default")
    args = parser.parse_args()
    args.width, args.points = (16, 400) if args.quick else (24, 1000)
    args.steps = args.steps or (1000 if args.quick else 3000)
    print(f"{'support':>8} {'steps':>6}  {'loss':>10}  {'error':>10}  {'seconds':>8}")
    plates, allowed = {}, ALLOWED_QUICK if args.quick else ALLOWED
    errors = []
    for support in (simple, clamped):
        plates[support.__name__], error = solve(support, args)
        errors.append(error)
    print(f"largest relative error: {max(errors):.2e} (allowed: {allowed:.0e}; the exact solutions are known)")
    if args.figure:
        draw(plates, args.figure)
    if not max(errors) <= allowed:
        raise SystemExit("the networks do not solve the equation")


if __name__ == "__main__":
    main()
