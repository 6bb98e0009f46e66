r"""
Lynx and hare: a differential equation fitted with exact derivatives
====================================================================

The Hudson's Bay Company counted the pelts of snowshoe hares u and of lynxes v, in thousands, from 1900 to 1920. The
Lotka-Volterra equations

.. math:: u' = \alpha u - \beta u v, \qquad v' = -\gamma v + \delta u v

are fitted to the counts by maximum likelihood, with errors of the logarithms that are normal. The unknowns are the
logarithms of eight numbers: the four rates, both populations in 1900, and the errors' standard deviation of each.

``odeint`` makes the states differentiable in rates and starts. The gradient goes backwards through the steps of the
solver, and the Hessian is its forward derivative, so SciPy's trust-region Newton method needs no other information, and
the inverse of the Hessian at the optimum is the covariance of the estimates (the observed Fisher information). The
result is printed beside the posterior means of a published Bayesian analysis of the same data (B. Carpenter,
*Predator-Prey Population Dynamics*, Stan case study, 2018), whose priors are weak. The script fails if they differ by
more than two standard errors, or if the Hessian is not the derivative of the gradient.
"""

import argparse

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.ode import odeint

HARE = [30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6,
        16.2, 24.7]  # fmt: skip
LYNX = [4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1,
        8.6]  # fmt: skip
COUNTS = np.array([HARE, LYNX]).T  # (21, 2), thousands of pelts
YEARS = np.arange(21.0)  # since 1900

NAMES = ("alpha", "beta", "gamma", "delta", "u(1900)", "v(1900)", "sigma_u", "sigma_v")
START = np.array([0.5, 0.02, 0.9, 0.03, 30.0, 4.0, 0.5, 0.5])
PUBLISHED = np.array([0.55, 0.028, 0.80, 0.024, np.nan, np.nan, 0.25, 0.25])  # posterior means, rounded
GRADIENT_TOLERANCE = 1e-5
HESSIAN_AGREEMENT = 1e-5


def rate(y, t, rates):
    """The Lotka-Volterra equations: y and the result have shape (2,), rates (4,)."""
    alpha, beta, gamma, delta = rates[0], rates[1], rates[2], rates[3]
    u, v = y[0], y[1]
    return ops.stack([(alpha - beta * v) * u, (delta * u - gamma) * v])


def states(logs, times, rtol):
    """The populations at given times, shape (m, 2)."""
    numbers = ops.exp(logs)
    return odeint(rate, numbers[4:6], times, numbers[:4], rtol=rtol, atol=rtol)


def likelihood(rtol):
    """The negative logarithm of the likelihood, a function of the eight logarithms."""
    observed = Tensor(np.log(COUNTS))

    def loss(logs):
        misfit = (observed - ops.log(states(logs, YEARS, rtol))) * ops.exp(-logs[6:])
        return 0.5 * (misfit * misfit).sum() + len(YEARS) * logs[6:].sum()

    return loss


def fit(loss):
    """The optimum from `START`, by Newton's method in a trust region: SciPy's result."""
    options = {"gtol": GRADIENT_TOLERANCE}
    return dg.scipy.fit(loss, np.log(START), method="trust-exact", options=options, progress=True)


def difference_of_gradients(loss, x, direction, h=1e-4):
    """The derivative of the gradient along a direction by differences of fourth order, to check the Hessian."""
    g = lambda k: dg.grad(loss)(Tensor(x + k * h * direction)).asnumpy()
    return (8.0 * (g(1) - g(-1)) - (g(2) - g(-2))) / (12.0 * h)


def ellipse(covariance, i, j):
    """The 95 percent confidence ellipse of two estimates: half axes, and directions in columns."""
    values, vectors = np.linalg.eigh(covariance[np.ix_([i, j], [i, j])])
    return np.sqrt(-2.0 * np.log(0.05) * values), vectors


def draw(x, covariance, rtol, path):
    """Counts and fitted populations on the left, the confidence ellipse of gamma and delta on the right."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    times = np.linspace(0.0, 20.0, 401)
    curves = states(Tensor(x), times, rtol).asnumpy()
    for i, (name, colour) in enumerate((("hare", "#1f6fb2"), ("lynx", "#d1603d"))):
        left.plot(1900 + times, curves[:, i], color=colour, label=f"{name}, fitted")
        left.plot(1900 + YEARS, COUNTS[:, i], "o", color=colour, label=f"{name}, counted")
    left.set(xlabel="year", ylabel="pelts (thousands)", title="Lotka-Volterra, maximum likelihood",
             xticks=range(1900, 1921, 5), ylim=(0.0, 105.0))  # fmt: skip
    left.legend(frameon=False, ncols=2, loc="upper center")
    axes, vectors = ellipse(covariance, 2, 3)
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    ring = np.exp(x[[2, 3], None] + vectors @ (axes[:, None] * np.array([np.cos(angle), np.sin(angle)])))
    right.plot(*ring, color="#1f6fb2", label="95 % region, inverse Hessian")
    right.plot(*np.exp(x[[2, 3]]), "o", color="#1f6fb2", label="maximum likelihood")
    right.plot(*PUBLISHED[[2, 3]], "x", color="#d1603d", label="published posterior mean")
    right.set(xlabel=r"$\gamma$ (per year)", ylabel=r"$\delta$ (per year and thousand)", title="Confidence")
    right.legend(frameon=False)
    for each in (left, right):
        each.grid(True, color="0.9")
        each.spines[["top", "right"]].set_visible(False)
    fig.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description="Fit the Lotka-Volterra equations to counts of lynx and hare")
    parser.add_argument("--quick", action="store_true", help="looser tolerances of the solver")
    parser.add_argument("--figure", metavar="FILE", help="draw counts, fit and confidence ellipse")
    args = parser.parse_args()

    rtol = 1e-7 if args.quick else 1e-9
    loss = likelihood(rtol)
    found = fit(loss)
    x = found.x
    hessian = dg.hessian(loss)(Tensor(x)).asnumpy()
    covariance = np.linalg.inv(hessian)  # of the logarithms
    estimates, errors = np.exp(x), np.exp(x) * np.sqrt(np.diag(covariance))

    print(f"negative log-likelihood {found.fun:.9f}, {found.nit} steps, |gradient| {np.abs(found.jac).max():.1e}")
    print(f"{'':8}  {'estimate':>9}  {'std. error':>10}  {'published':>9}")
    for name, value, error, published in zip(NAMES, estimates, errors, PUBLISHED, strict=True):
        print(f"{name:8}  {value:9.4f}  {error:10.4f}  {'' if np.isnan(published) else f'{published:9.3f}'}")
    axes, vectors = ellipse(covariance, 2, 3)
    print(f"95 % ellipse of (log gamma, log delta): half axes {axes[1]:.3f} along {np.round(vectors[:, 1], 3)}, "
          f"{axes[0]:.3f} across")  # fmt: skip

    direction = np.random.default_rng(0).normal(size=x.size)
    by_differences = difference_of_gradients(loss, x, direction)
    wrong = np.abs(hessian @ direction - by_differences).max() / np.abs(by_differences).max()
    print(f"Hessian beside differences of gradients: {wrong:.1e} (allowed: {HESSIAN_AGREEMENT:.0e})")
    if args.figure:
        draw(x, covariance, rtol, args.figure)
        print(f"figure: {args.figure}")
    if not (np.abs(found.jac).max() <= GRADIENT_TOLERANCE and np.linalg.eigvalsh(hessian)[0] > 0.0):
        raise SystemExit("no optimum was found")
    if not wrong <= HESSIAN_AGREEMENT:
        raise SystemExit("the Hessian is not the derivative of the gradient")
    if np.nanmax(np.abs(estimates - PUBLISHED) / errors) > 2.0:
        raise SystemExit("the estimates differ from the published ones")


if __name__ == "__main__":
    main()
