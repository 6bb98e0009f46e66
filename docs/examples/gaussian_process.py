r"""
The marginal likelihood of a Gaussian process, with its exact Hessian
=====================================================================

Data are drawn from a Gaussian process with the kernel s^2 exp(-(x - x')^2 / (2 l^2)) and noise of variance t^2. The
hyperparameters, theta = (log s^2, log l, log t^2), are found again by maximising the marginal likelihood

.. math:: \log p(y \mid \theta) = -\frac12 y^T K^{-1} y - \frac12 \log \det K - \frac n2 \log 2 \pi,
          \qquad K = s^2 \exp(\ldots) + t^2 1,

with a trust-region Newton method. Gradient and Hessian are exact: derivatives of the Cholesky factor of K, not of
formulas written by hand. The inverse of the Hessian at the maximum gives standard errors (Laplace's approximation).

The maximum is compared with that of scikit-learn, if it is installed. The script fails if the two differ, if the
Hessian and finite differences of gradients do, if the gradient is not zero, or if the hyperparameters that made the
data are more than four standard errors away.
"""

import argparse

import numpy as np
from scipy.optimize import minimize

import dualgrad as dg
from dualgrad import Tensor, curvature, ops

try:
    from tqdm import tqdm
except ImportError:  # no bars
    tqdm = lambda steps, **_: steps
    tqdm.write = print

TRUE = {"log s^2": np.log(1.5**2), "log l": np.log(0.8), "log t^2": np.log(0.3**2)}
START = np.array([0.0, 1.0, 0.0])
GRADIENT_TOLERANCE = 1e-7
AGREEMENT = 1e-4  # of hyperparameters with scikit-learn's, whose maximiser stops earlier, in standard errors


def drawn(count, seed):
    """Places (n,) on an interval whose length grows with n, and values there (n,)."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0.0, count / 12.0, count))
    signal, length, noise = np.exp(list(TRUE.values()))
    K = signal * np.exp(-0.5 * (np.subtract.outer(x, x) / length) ** 2) + noise * np.eye(count)
    return x, np.linalg.cholesky(K) @ rng.normal(size=count)


def negative_log_likelihood(x, y):
    """A function of theta, (3,)."""
    squares = Tensor(-0.5 * np.subtract.outer(x, x) ** 2)
    unit, y = Tensor(np.eye(len(x))), Tensor(y)

    def loss(theta):
        K = ops.exp(theta[0] + squares * ops.exp(-2.0 * theta[1])) + ops.exp(theta[2]) * unit
        factor = ops.cholesky(K)
        white = ops.solve_triangular(factor, y, lower=True)
        return 0.5 * (white @ white + len(x) * np.log(2.0 * np.pi)) + ops.log(ops.diagonal(factor)).sum()

    return loss


def maximised(loss):
    """The maximum of the likelihood; prints one line for each iteration."""
    f = dg.scipy.objective(loss, START, hess="dense")
    print(f"{'iteration':>9}  {'log p(y)':>18}  {'|gradient|':>10}")

    def show(found):
        tqdm.write(f"{found.nit:9d}  {-found.fun:18.9f}  {np.linalg.norm(f.jac(found.x)):10.3e}")

    options = {"gtol": GRADIENT_TOLERANCE}
    theta = dg.scipy.fit(loss, START, method="trust-exact", options=options, callback=show, progress=True).x
    for _ in range(2):  # plain Newton steps, where gains are lost in the rounding of the likelihood
        theta = theta - np.linalg.solve(f.hess(theta), f.jac(theta))
    return theta, f


def by_scikit_learn(x, y):
    """The same maximum by another library; None if it is not there."""
    try:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    except ImportError:
        return None
    wide = (1e-8, 1e8)
    signal, length, noise = np.exp(START)
    kernel = ConstantKernel(signal, wide) * RBF(length, wide) + WhiteKernel(noise, wide)

    def lbfgs(objective, start, bounds):
        found = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15})
        return found.x, found.fun

    fit = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=lbfgs).fit(x[:, None], y)
    return fit.kernel_.theta, fit.log_marginal_likelihood_value_


def draw(x, y, loss, theta, covariance, path):
    """The process with its data, and the likelihood around its maximum beside the Gaussian of the Hessian."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    signal, length, noise = np.exp(theta)
    points = np.linspace(0.0, min(x[-1], 12.0), 400)
    near = x < 12.0 + 6.0 * length
    kernel = lambda a, b: signal * np.exp(-0.5 * (np.subtract.outer(a, b) / length) ** 2)
    K, k = kernel(x[near], x[near]) + noise * np.eye(near.sum()), kernel(points, x[near])
    mean = k @ np.linalg.solve(K, y[near])
    spread = 2.0 * np.sqrt(np.maximum(signal - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T)), 0.0))
    left.fill_between(points, mean - spread, mean + spread, color="#1f6fb2", alpha=0.25, lw=0)
    left.plot(points, mean, color="#1f6fb2")
    left.plot(x[x < points[-1]], y[x < points[-1]], ".", color="0.3", ms=4)
    left.set(xlabel="$x$", ylabel="$y$", title=r"Mean $\pm$ 2 standard deviations")

    errors = np.sqrt(np.diag(covariance))
    s, l = (theta[i] + np.linspace(-3.0, 3.0, 25) * errors[i] for i in range(2))
    many = dg.vmap(dg.vmap(lambda a, b: loss(ops.stack([a, b, Tensor(theta[2])])), (None, 0)), (0, None))
    rows = [many(Tensor(part), Tensor(l)).asnumpy() for part in tqdm(s[:, None], desc="likelihood")]
    rise = np.concatenate(rows) - loss(Tensor(theta)).item()
    right.contour(s, l, rise.T, [0.5, 2.0, 4.5], colors="#1f6fb2")
    P = np.linalg.inv(covariance)[:2, :2]
    away = np.stack(np.meshgrid(s - theta[0], l - theta[1]), -1)
    right.contour(
        s, l, 0.5 * np.einsum("abi,ij,abj->ab", away, P, away), [0.5, 2.0, 4.5], colors="0.5", linestyles="--"
    )
    right.plot(TRUE["log s^2"], TRUE["log l"], "x", color="#d1603d")
    right.set(xlabel=r"$\log s^2$", ylabel=r"$\log l$", title="Likelihood; dashed: from the Hessian; x: the truth")
    fig.savefig(path, dpi=150)
    print(f"picture: {path}")


def main():
    parser = argparse.ArgumentParser(description="Fit a Gaussian process by Newton's method")
    parser.add_argument("--quick", action="store_true", help="150 data instead of 1,000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--figure", help="where a picture goes, if one is wanted")
    args = parser.parse_args()

    x, y = drawn(150 if args.quick else 1000, args.seed)
    loss = negative_log_likelihood(x, y)
    theta, f = maximised(loss)
    gradient = np.linalg.norm(f.jac(theta))
    hessian = curvature.hessian_operator(loss)(Tensor(theta)).dense().asnumpy()
    steps = 1e-5 * np.eye(3)
    differences = np.stack([(f.jac(theta + step) - f.jac(theta - step)) / 2e-5 for step in steps])
    off = np.abs(hessian - differences).max() / np.abs(hessian).max()
    print(f"|gradient|: {gradient:.1e}; largest difference of Hessian and finite differences: {off:.1e}, relative")

    covariance = np.linalg.inv(hessian)
    errors = np.sqrt(np.diag(covariance))
    away = (theta - np.array(list(TRUE.values()))) / errors
    for name, true, found, error, z in zip(TRUE, TRUE.values(), theta, errors, away, strict=True):
        print(f"{name:>8}: {found:9.6f} +- {error:.6f}, made with {true:9.6f}: {abs(z):.2f} standard errors away")
    peer, difference = by_scikit_learn(x, y), 0.0
    if peer is None:
        print("scikit-learn is not installed")
    else:
        difference = np.abs((theta - peer[0]) / errors).max()
        print(f"log p(y): {-f.fun(theta):.9f}, by scikit-learn: {peer[1]:.9f}; ", end="")
        print(f"hyperparameters differ by {difference:.1e} standard errors (allowed: {AGREEMENT:.0e})")
    if args.figure:
        draw(x, y, loss, theta, covariance, args.figure)

    faults = {
        "the gradient is not zero": not gradient < GRADIENT_TOLERANCE,
        "the Hessian is not the derivative of the gradient": not off < 1e-6,
        "scikit-learn has another maximum": not difference < AGREEMENT,
        "the truth is too far away": not np.abs(away).max() < 4.0,
    }
    if any(faults.values()):
        raise SystemExit("; ".join(fault for fault, found in faults.items() if found))


if __name__ == "__main__":
    main()
