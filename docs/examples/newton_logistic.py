r"""
Newton's method for logistic regression
=======================================

A logistic regression is fitted to the breast-cancer data that come with scikit-learn: 569 tumours, 30
measurements each, malignant or benign. The unknowns are one vector ``w`` of 31 float64 numbers, the 30
weights and the intercept, and the objective is the mean log-loss with a penalty on the weights,

.. math:: f(w) = \frac1n \sum_i \log(1 + e^{-m_i}) + \frac{\lambda}{2} \sum_{j \le 30} w_j^2,
          \qquad m_i = s_i (x_i \cdot w_{1 \ldots 30} + w_{31}), \quad s_i = \pm 1.

(Without the penalty there is no optimum: a plane separates the classes and the weights grow without bound.)

The gradient and the exact Hessian are derivatives of Cells: ``Gradient`` differentiates ``Loss``, and
``HessianRow`` differentiates ``Gradient`` with a unit vector as its sensitivity, which picks one row. Near
the optimum each step then doubles the number of right digits. The result is held against scikit-learn's own
solver for the same objective; the script fails if they disagree.
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from dualgrad import Tensor, nn, ops

C = 1.0  # scikit-learn's inverse strength of the penalty
GRADIENT_TOLERANCE = 1e-11
AGREEMENT = 1e-6


class Loss(nn.Cell):
    """Mean log-loss plus ``penalty / 2`` times the sum of squared weights; ``w`` ends with the intercept."""

    def __init__(self, features, labels, penalty):
        super().__init__()
        self.features = Tensor(features)  # (n, 30)
        self.signs = Tensor(2.0 * labels - 1.0)  # (n,): +1 or -1
        self.penalty = penalty

    def construct(self, w):
        weights, intercept = w[:-1], w[-1]
        margins = self.signs * (ops.matmul(self.features, weights) + intercept)
        # softplus(-m) is log(1 + exp(-m)) without overflow, and smooth. max(-m, 0) + log1p(exp(-|m|)) is as
        # good in value, but both terms have a kink at m = 0, where Newton starts, and lose the curvature.
        return ops.softplus(-margins).mean() + 0.5 * self.penalty * (weights * weights).sum()


class Gradient(nn.Cell):
    """First derivative of a scalar function of one vector: shape (31,)."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.grad = ops.GradOperation(get_all=True)

    def construct(self, w):
        return self.grad(self.function)(w)[0]


class HessianRow(nn.Cell):
    """Row i of the Hessian: the derivative of the gradient with the unit vector ``e_i`` as sensitivity."""

    def __init__(self, gradient):
        super().__init__()
        self.gradient = gradient
        self.grad = ops.GradOperation(get_all=True, sens_param=True)

    def construct(self, w, unit):
        return self.grad(self.gradient)(w, unit)[0]


def newton(loss, w, max_iterations=50):
    """Minimise ``loss`` from ``w``; return all iterates (k, 31) and their gradient norms (k,)."""
    gradient = Gradient(loss)
    hessian_row = HessianRow(gradient)
    units = [Tensor(unit) for unit in np.eye(w.size)]
    iterates, norms = [], []
    print(f"{'iteration':>9}  {'loss':>19}  {'|gradient|':>10}  {'|g| / |g before|^2':>18}  {'step':>5}")
    step = 1.0
    for iteration in range(max_iterations):
        at = Tensor(w)
        value, g = float(loss(at)), gradient(at).asnumpy()
        iterates.append(w)
        norms.append(np.linalg.norm(g))
        # Where convergence is quadratic this ratio settles at a constant.
        ratio = f"{norms[-1] / norms[-2] ** 2:18.3f}" if iteration else f"{'':18}"
        print(f"{iteration:9d}  {value:19.16f}  {norms[-1]:10.3e}  {ratio}  {step:5g}")
        if norms[-1] <= GRADIENT_TOLERANCE:
            return np.array(iterates), np.array(norms)

        hessian = np.stack([hessian_row(at, unit).asnumpy() for unit in units])
        direction = -np.linalg.solve(hessian, g)
        # The full step, halved only while it fails to gain what the slope promises (Armijo's condition).
        step = 1.0
        while float(loss(Tensor(w + step * direction))) > value + 1e-4 * step * (g @ direction):
            step *= 0.5
        w = w + step * direction
    raise RuntimeError(f"|gradient| is {norms[-1]:.1e} after {max_iterations} iterations of Newton's method")


def draw(errors, norms, path):
    """Gradient norm and error per iteration on the left, the law behind them on the right."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    left.semilogy(norms, "o-", color="#1f6fb2", label=r"gradient norm $\|\nabla f(w_k)\|$")
    left.semilogy(errors, "s-", color="#d1603d", label=r"error $\|w_k - w^*\|_\infty$")
    left.set(xlabel="iteration $k$", title="Newton's method, exact Hessian", xticks=range(0, len(norms), 2))
    left.legend(frameon=False, loc="lower left")

    right.loglog(norms[:-1], norms[1:], "o", color="#1f6fb2", label="iterates")
    guide = np.array([norms[-2], norms[-5]])
    right.loglog(guide, guide**2 * norms[-1] / norms[-2] ** 2, "--", color="0.4", label="slope 2")
    right.set(xlabel=r"$\|\nabla f(w_k)\|$", ylabel=r"$\|\nabla f(w_{k+1})\|$", title="Quadratic convergence")
    right.legend(frameon=False, loc="upper left")
    for axes in (left, right):
        axes.grid(True, which="major", color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
    fig.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description="Fit a logistic regression by Newton's method")
    parser.add_argument("--output", default="newton_logistic.png", help="where the picture goes")
    args = parser.parse_args()

    features, labels = load_breast_cancer(return_X_y=True)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    # scikit-learn minimises C * sum(log-loss) + |weights|^2 / 2; divided by C n this is our f with 1 / (C n).
    penalty = 1.0 / (C * len(labels))
    iterates, norms = newton(Loss(features, labels, penalty), np.zeros(features.shape[1] + 1))

    peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-14, max_iter=1000).fit(features, labels)
    optimum = np.append(peer.coef_[0], peer.intercept_)
    errors = np.abs(iterates - optimum).max(axis=1)
    draw(errors, norms, args.output)
    print(f"largest difference from scikit-learn's coefficients: {errors[-1]:.2e} (allowed: {AGREEMENT:.0e})")
    print(f"picture: {args.output}")
    if not errors[-1] <= AGREEMENT:
        raise SystemExit("the coefficients disagree with scikit-learn's")


if __name__ == "__main__":
    main()
