r"""
The nonlinear Schrödinger equation by a physics-informed network
================================================================

The benchmark of Raissi, Perdikaris and Karniadakis (J. Comput. Phys. 378, 2019): a field :math:`h = u + i v` with

.. math:: i h_t + \frac12 h_{xx} + |h|^2 h = 0, \quad h(x, 0) = 2 \operatorname{sech} x,

periodic with its slope on :math:`-5 \le x \le 5`, for :math:`0 \le t \le \pi/2`. A network with two outputs, u and v,
is given 50 values at the start, and must meet the walls at 50 times and the equation at points inside. The error is
that of :math:`|h|`, relative in the mean square, against a split-step spectral solution.

All derivatives of both outputs come from one evaluation in an algebra of four channels (`dualgrad.derivatives`).

The paper has five layers of 100 tanh and 20,000 points, trains by Adam and L-BFGS, and reports an error of 1.97e-3.
Four layers of 30 and 5,000 points give 6.0e-4 where the whole inverse Hessian is kept (``SSBroyden``)::

    python schrodinger.py                  # the smaller network
    python schrodinger.py --paper          # the paper's network and points, by L-BFGS: hours
    python schrodinger.py --quick          # a still smaller one, half a minute
"""

import argparse
import itertools
import time

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.common.initializer import XavierNormal

try:
    from tqdm import tqdm
except ImportError:  # no bars
    tqdm = lambda steps, **_: steps
    tqdm.write = print

END = np.pi / 2
PUBLISHED = 1.97e-3
ALLOWED, ALLOWED_QUICK = 2e-3, 2e-1  # relative error in the mean square
DERIVATIVES = {"h": (0, 0), "h_x": (1, 0), "h_t": (0, 1), "h_xx": (2, 0)}


def split_step(modes=256, times=201, substeps=32):
    """Places (modes,), times, and the field (times, modes): Strang's splitting, exact in each half."""
    x = -5.0 + 10.0 * np.arange(modes) / modes
    k = 2.0 * np.pi * np.fft.fftfreq(modes, 10.0 / modes)
    dt = END / ((times - 1) * substeps)
    spread = np.exp(-0.5j * k**2 * dt)
    h = 2.0 / np.cosh(x) + 0j
    fields = [h]
    for _ in tqdm(range(times - 1), desc="split step", leave=False):
        for _ in range(substeps):
            h = h * np.exp(0.5j * dt * np.abs(h) ** 2)
            h = np.fft.ifft(spread * np.fft.fft(h))
            h = h * np.exp(0.5j * dt * np.abs(h) ** 2)
        fields.append(h)
    return x, np.linspace(0.0, END, times), np.array(fields)


class Network(nn.Cell):
    """Layers of tanh: (n, 2) to (n, 2). Inputs are scaled to -1 ... 1."""

    def __init__(self, width, depth):
        super().__init__()
        sizes = [2, *[width] * depth, 2]
        self.layers = nn.CellList(
            [nn.Dense(a, b, XavierNormal(), dtype=dg.float64) for a, b in itertools.pairwise(sizes)]
        )
        self.scale, self.shift = Tensor(np.array([0.2, 2.0 / END])), Tensor(np.array([0.0, -1.0]))

    def construct(self, points):
        h = points * self.scale + self.shift
        for layer in self.layers[:-1]:
            h = ops.tanh(layer(h))
        return self.layers[-1](h)


class Loss(nn.Cell):
    """Mean squares of the residual inside, of the misfit at the start, and of the differences of the walls."""

    def __init__(self, network, inside, start, walls):
        super().__init__(auto_prefix=False)
        self.network = network
        self.inside, self.start = Tensor(inside), Tensor(np.column_stack([start, 0.0 * start]))
        self.values = Tensor(np.column_stack([2.0 / np.cosh(start), 0.0 * start]))
        self.left, self.right = (Tensor(np.column_stack([np.full_like(walls, x), walls])) for x in (-5.0, 5.0))
        self.parts = dg.derivatives(network, DERIVATIVES)
        self.edge = dg.derivatives(network, {"h": (0, 0), "h_x": (1, 0)})

    def construct(self):
        d = self.parts(self.inside)
        u, v = d["h"][:, 0], d["h"][:, 1]
        square = u * u + v * v
        real = -d["h_t"][:, 1] + 0.5 * d["h_xx"][:, 0] + square * u
        imaginary = d["h_t"][:, 0] + 0.5 * d["h_xx"][:, 1] + square * v
        loss = (real * real + imaginary * imaginary).mean()
        loss = loss + ((self.network(self.start) - self.values) ** 2).sum(1).mean()
        left, right = self.edge(self.left), self.edge(self.right)
        return loss + sum(((left[name] - right[name]) ** 2).sum(1).mean() for name in ("h", "h_x"))


def sample(rng, count):
    """Points inside (a Latin hypercube), places at the start, times at the walls."""
    cells = np.stack([rng.permutation(count), rng.permutation(count)], 1)
    inside = (cells + rng.uniform(size=(count, 2))) / count * [10.0, END] - [5.0, 0.0]
    x = -5.0 + 10.0 * np.arange(256) / 256
    return inside, rng.choice(x, 50, replace=False), rng.choice(np.linspace(0.0, END, 201), 50, replace=False)


def draw(x, t, exact, found, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    fig.colorbar(left.pcolormesh(t, x, found.T, shading="gouraud"), label="$|h|$")
    left.set(xlabel="$t$", ylabel="$x$")
    for k in (75, 100, 125):
        right.plot(x, exact[k], color="0.7", lw=4)
        right.plot(x, found[k], label=f"t = {t[k]:.2f}")
    right.set(xlabel="$x$", ylabel="$|h|$", title="Network (lines) and split-step solution (grey)")
    right.legend(frameon=False)
    fig.savefig(path, dpi=150)
    print(f"picture: {path}")


def main():
    parser = argparse.ArgumentParser(description="Solve the nonlinear Schrödinger equation by a network")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="4 layers of 20, 1,000 points, 500 steps")
    size.add_argument("--paper", action="store_true", help="5 layers of 100, 20,000 points, L-BFGS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--method", help="of dualgrad.scipy.fit; SSBroyden by default, L-BFGS-B with --paper")
    parser.add_argument("--steps", type=int, help="3,000 by default, 20,000 with --paper")
    parser.add_argument("--figure", help="where a picture goes; none by default")
    args = parser.parse_args()
    width, depth, count, steps = (30, 4, 5_000, 3_000)
    if args.quick:
        width, depth, count, steps = (20, 4, 1_000, 500)
    if args.paper:
        width, depth, count, steps = (100, 5, 20_000, 20_000)
    steps, method = args.steps or steps, args.method or ("L-BFGS-B" if args.paper else "SSBroyden")

    dg.set_seed(args.seed)
    network = Network(width, depth)
    loss = Loss(network, *sample(np.random.default_rng(args.seed), count))
    x, t, h = split_step()
    grid, exact = Tensor(np.stack(np.meshgrid(x, t), -1).reshape(-1, 2)), np.abs(h)
    begin = time.perf_counter()

    def modulus():
        return np.linalg.norm(network(grid).asnumpy(), axis=1).reshape(exact.shape)

    def error():
        return np.linalg.norm(modulus() - exact) / np.linalg.norm(exact)

    def report(state):
        if state.nit % max(1, steps // 20) == 0:
            seconds = time.perf_counter() - begin
            tqdm.write(f"{state.nit:6d}  {state.fun:10.3e}  {error():10.3e}  {seconds:8.1f}")

    options = {"maxiter": steps, "gtol": 1e-9}
    if method == "L-BFGS-B":
        options |= {"maxcor": 50, "maxls": 50, "maxfun": 2 * steps, "ftol": np.finfo(float).eps}
    print(f"{'step':>6}  {'loss':>10}  {'error':>10}  {'seconds':>8}")
    dg.scipy.fit(loss, network.trainable_params(), method=method, options=options, callback=report, progress=True)

    allowed = ALLOWED_QUICK if args.quick else ALLOWED
    print(f"relative error of |h|: {error():.2e} (allowed: {allowed:.0e}, published: {PUBLISHED:.2e})")
    if args.figure:
        draw(x, t, exact, modulus(), args.figure)
    if not error() <= allowed:
        raise SystemExit("the network does not solve the equation")


if __name__ == "__main__":
    main()
