r"""
Newton's method beside Adam
===========================

The same network, the same data, the same start: a function with a sharp front,

.. math:: f(x) = \sin(3 x) + \tanh(20 (x - 0.3)),

is fitted at 600 points by a network of 481 weights in float64, by three ways to use derivatives. Adam has the gradient.
L-BFGS has gradients and remembers 50 of them. Newton's method in a trust region solves for each step by conjugate
gradients (Steihaug 1983), with exact products of the Hessian and a vector. Each gets the same time; the loss is the
mean of squares.
"""

import argparse
import itertools
import time

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, nn, ops

try:
    from tqdm import tqdm
except ImportError:  # no bars
    tqdm = lambda steps, **_: steps

X = Tensor(np.linspace(-1.0, 1.0, 600)[:, None])
Y = ops.sin(3.0 * X) + ops.tanh(20.0 * (X - 0.3))
GAIN = 10.0  # by how much the second-order way has to be ahead


def network():
    dg.set_seed(3)
    layers = [
        nn.Dense(1, 20, activation="tanh", dtype=dg.float64),
        nn.Dense(20, 20, activation="tanh", dtype=dg.float64),
    ]
    return nn.SequentialCell(*layers, nn.Dense(20, 1, dtype=dg.float64))


class Watch:
    """The losses of a run and when they were reached; it ends a run whose time is over."""

    def __init__(self, seconds):
        self.began, self.seconds, self.rows = time.perf_counter(), seconds, []

    def seen(self, loss):
        self.rows.append((time.perf_counter() - self.began, float(loss)))
        return self.rows[-1][0] > self.seconds


def by_adam(seconds):
    net = network()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=3e-3)
    gradient = dg.value_and_grad(lambda: ((net(X) - Y) ** 2).mean(), None, optimizer.parameters)

    @dg.jit
    def step():
        loss, gradients = gradient()
        optimizer(gradients)
        return loss

    watch = Watch(seconds)
    for _ in tqdm(itertools.count(), desc="Adam", unit=" steps"):
        if watch.seen(step()):
            return watch.rows


def by_fit(method, seconds, **options):
    net = network()
    watch = Watch(seconds)

    def after(found):
        if watch.seen(found.fun):
            raise StopIteration

    loss = lambda: ((net(X) - Y) ** 2).mean()
    dg.scipy.fit(loss, net.trainable_params(), method=method, options=options, callback=after, progress=True)
    return watch.rows


def draw(runs, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for name, rows in runs.items():
        times, losses = zip(*rows, strict=True)
        axes.loglog(times, losses, label=name)
    axes.set(xlabel="seconds", ylabel="mean square")
    axes.legend(frameon=False)
    fig.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description="Fit a network by Adam, L-BFGS and Newton's method")
    parser.add_argument("--quick", action="store_true", help="2 seconds each instead of 20")
    parser.add_argument("--figure", help="where a picture goes")
    args = parser.parse_args()
    seconds = 2.0 if args.quick else 20.0
    runs = {
        "Adam": by_adam(seconds),
        "L-BFGS": by_fit("L-BFGS-B", seconds, maxiter=10**6, maxfun=10**7, maxcor=50, ftol=0.0, gtol=1e-14),
        "Newton": by_fit("trust-ncg", seconds, maxiter=10**6, gtol=1e-14),
    }
    print(f"{'':10}{'steps':>7}{'seconds':>9}{'mean square':>13}")
    for name, rows in runs.items():
        print(f"{name:10}{len(rows):7}{rows[-1][0]:9.1f}{min(loss for _, loss in rows):13.2e}")
    if args.figure:
        draw(runs, args.figure)
        print(f"figure: {args.figure}")
    least = {name: min(loss for _, loss in rows) for name, rows in runs.items()}
    if not least["Newton"] * GAIN < least["Adam"]:
        raise SystemExit("Newton's method is not ahead of Adam")


if __name__ == "__main__":
    main()
