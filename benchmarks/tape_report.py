"""What the composite gradient node keeps, beside recording the backward pass: nodes, bytes, peak memory.

``python benchmarks/tape_report.py`` runs one step of a Burgers PINN (8 hidden layers of 20, 10,000 points,
float64: the loss holds u_t, u_x and u_xx, the gradient is taken by all weights) both ways, each in a process
of its own, and prints for the outermost tape its nodes (leaves and instructions) and the bytes of all arrays
it and the tapes inside it keep, and the peak of the process above what it held before the step. Counts of two
small programs follow.
"""

import itertools
import resource
import subprocess
import sys

import numpy as np

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops
from dualgrad.testing import tape_reports, taped_backward


def network(width, depth):
    """Weights and biases of a tanh network of two inputs."""
    rng = np.random.default_rng(0)
    sizes = [2] + [width] * depth + [1]
    return [
        (
            Parameter(Tensor(rng.normal(size=(m, n)) / np.sqrt(m)), name=f"w{i}"),
            Parameter(Tensor(np.zeros(n)), name=f"b{i}"),
        )
        for i, (m, n) in enumerate(itertools.pairwise(sizes))
    ]


def burgers_step(layers, points):
    """The function that takes the gradient of mean((u_t + u u_x - nu u_xx)^2) by all weights."""

    def u(x, t):
        y = ops.cat((x, t), 1)
        for w, b in layers[:-1]:
            y = ops.tanh(y @ w + b)
        return y @ layers[-1][0] + layers[-1][1]

    u_x = lambda x, t: dg.grad(u)(x, t)
    x, t = Tensor(points[:, :1]), Tensor(points[:, 1:])

    def loss():
        first_x, first_t = dg.grad(u, (0, 1))(x, t)
        residual = first_t + u(x, t) * first_x - (0.01 / np.pi) * dg.grad(u_x)(x, t)
        return ops.mean(ops.square(residual))

    return dg.grad(loss, None, [p for pair in layers for p in pair])


def outermost(function):
    """The report of the outermost tape of a call."""
    with tape_reports() as reports:
        function()
    return min(reports, key=lambda report: report["level"])


def burgers(taped):
    """Nodes, bytes and peak memory of one step, printed for the parent process."""
    points = np.random.default_rng(1).uniform(-1, 1, size=(10_000, 2))
    step = burgers_step(network(20, 8), points)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if taped:
        with taped_backward():
            report = outermost(step)
    else:
        report = outermost(step)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(report["leaves"] + report["instructions"], report["bytes"], peak * 1024)


def main():
    """Both ways side by side."""
    print(f"{'one Burgers PINN step':<36}{'nodes':>8}{'kept, MiB':>12}{'peak, MiB':>12}")
    for way in ("composite", "taped"):
        out = subprocess.run([sys.executable, __file__, way], capture_output=True, text=True, check=True).stdout
        nodes, kept, peak = map(int, out.split())
        print(f"{way + ' backward pass':<36}{nodes:>8}{kept / 2**20:>12.1f}{peak / 2**20:>12.1f}")
    print()
    x, y, one, zero = (Tensor(np.array([v], np.float32)) for v in (4, 5, 1, 0))
    first = ops.GradOperation(get_all=True)(lambda x, y: x * x * y)
    second = ops.GradOperation(get_all=True, sens_param=True)(first)
    report = outermost(lambda: second(x, y, (one, zero)))
    print(f"x*x*y twice: outer tape {report['leaves']} leaves, {report['by_primitive']}")
    for k in (3, 4):
        f = lambda x: ops.exp(ops.sin(x))
        for _ in range(k):
            f = dg.grad(f)
        with tape_reports() as reports:
            f(Tensor(0.5))
        outer = [r for r in reports if "subtape" in r["by_primitive"]]
        print(
            f"{k} nested gradients: outer tapes " + "; ".join(f"{r['leaves']} leaf, {r['by_primitive']}" for r in outer)
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        burgers(sys.argv[1] == "taped")
    else:
        main()
