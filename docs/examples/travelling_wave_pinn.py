r"""
A travelling wave by a physics-informed network
===============================================

A small network :math:`u(x, t)` is trained to solve Burgers' equation on :math:`-1 \le x \le 1`,
:math:`0 \le t \le 1`,

.. math:: u_t + u u_x = \nu u_{xx}, \qquad \nu = 0.1,

without any data but the values at the start and at both walls. These come from the travelling wave

.. math:: u(x, t) = \frac12 \left(1 - \tanh \frac{x - t / 2}{4 \nu}\right),

which solves the equation exactly, so the trained network is held against it everywhere.

The code is written as for MindSpore, where derivatives of networks are Cells of their own: ``FirstDerivative``
keeps a ``GradOperation``, picks the output by its sensitivity and the input column by ``Gather``, and
``SecondDerivative`` is such a Cell around it. Training differentiates all of this by the weights: third
derivatives of the network, exact ones.
"""

import argparse
import time

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad import dataset as ds
from dualgrad.common.initializer import XavierNormal

VISCOSITY = 0.1
ALLOWED = 0.01  # relative error in the mean square


def travelling_wave(points):
    x, t = points[:, :1], points[:, 1:]
    return 0.5 * (1.0 - np.tanh((x - 0.5 * t) / (4.0 * VISCOSITY)))


class Network(nn.Cell):
    """Dense layers with tanh between them: (n, 2) to (n, 1)."""

    def __init__(self, width=20, depth=3):
        super().__init__()
        tanh = [nn.Dense(width if k else 2, width, XavierNormal(), activation="tanh") for k in range(depth)]
        self.layers = nn.SequentialCell(*tanh, nn.Dense(width, 1, XavierNormal()))

    def construct(self, points):
        return self.layers(points)


class FirstDerivative(nn.Cell):
    """The derivative of the network's output by input column ``column``: (n, 1)."""

    def __init__(self, network, column):
        super().__init__(auto_prefix=False)
        self.network = network
        self.grad = ops.GradOperation(get_all=True, sens_param=True)
        self.gather = ops.Gather()
        self.column = Tensor([column], dg.int32)

    def construct(self, points):
        sensitivity = ops.OnesLike()(points[:, :1])
        return self.gather(self.grad(self.network)(points, sensitivity)[0], self.column, 1)


class SecondDerivative(FirstDerivative):
    """The derivative of a derivative, which is a Cell like any other."""

    def __init__(self, network, first, second):
        super().__init__(FirstDerivative(network, first), second)


class Loss(nn.Cell):
    """Mean squares of the equation's residual inside, and of the misfit at the start and at the walls."""

    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network = network
        self.u_x = FirstDerivative(network, 0)
        self.u_t = FirstDerivative(network, 1)
        self.u_xx = SecondDerivative(network, 0, 0)
        self.misfit = nn.MSELoss()

    def construct(self, inside, border, values):
        residual = self.u_t(inside) + self.network(inside) * self.u_x(inside) - VISCOSITY * self.u_xx(inside)
        return ops.ReduceMean()(ops.Square()(residual)) + self.misfit(self.network(border), values)


def sample(rng, count):
    """Points inside, points on the border, and the values there."""
    inside = rng.uniform([-1.0, 0.0], [1.0, 1.0], (count, 2))
    third = count // 12
    x, t = rng.uniform(-1.0, 1.0, third), rng.uniform(0.0, 1.0, (2, third))
    start = np.column_stack([x, np.zeros(third)])
    walls = [np.column_stack([np.full(third, side), times]) for side, times in zip((-1.0, 1.0), t, strict=True)]
    border = np.concatenate([start, *walls])
    return inside.astype(np.float32), border.astype(np.float32), travelling_wave(border).astype(np.float32)


def draw(network, path):
    """The network beside the wave, if matplotlib is there."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    x = np.linspace(-1.0, 1.0, 200)
    fig, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for t in (0.0, 0.5, 1.0):
        points = np.column_stack([x, np.full_like(x, t)])
        axes.plot(x, travelling_wave(points), color="0.7", lw=4)
        axes.plot(x, network(Tensor(points, dg.float32)).asnumpy(), label=f"t = {t}")
    axes.set(xlabel="$x$", ylabel="$u$", title="Network (lines) and exact wave (grey)")
    axes.legend(frameon=False)
    fig.savefig(path, dpi=150)
    print(f"picture: {path}")


def main():
    parser = argparse.ArgumentParser(description="Solve Burgers' equation by a physics-informed network")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--figure", help="where a picture goes; none by default")
    args = parser.parse_args()

    dg.set_seed(1)
    dg.set_context(mode=dg.GRAPH_MODE)
    rng = np.random.default_rng(1)
    network = Network()
    loss = Loss(network)
    optimizer = nn.Adam(network.trainable_params(), nn.cosine_decay_lr(1e-5, 1e-2, args.steps, 1, args.steps))
    step = nn.TrainOneStepCell(loss, optimizer)

    # a few samples, seen again and again in random order
    samples = ds.GeneratorDataset([sample(rng, 240) for _ in range(8)], ["inside", "border", "values"])
    sink = dg.data_sink(step, samples)
    network.set_train()
    print(f"{'step':>6}  {'loss':>10}  {'seconds':>8}")
    begin = time.perf_counter()
    for number in range(1, args.steps + 1):
        value = sink()
        if number % (args.steps // 10) == 0:
            print(f"{number:6d}  {float(value):10.3e}  {time.perf_counter() - begin:8.1f}")
    network.set_train(False)

    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 101), np.linspace(0, 1, 51)), -1).reshape(-1, 2)
    exact = travelling_wave(grid)
    found = network(Tensor(grid, dg.float32)).asnumpy()
    error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
    print(f"relative error on a grid of {len(grid)} points: {error:.2e} (allowed: {ALLOWED:.0e})")
    if args.figure:
        draw(network, args.figure)
    if not error <= ALLOWED:
        raise SystemExit("the network does not solve the equation")


if __name__ == "__main__":
    main()
