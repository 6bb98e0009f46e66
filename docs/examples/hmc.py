r"""
Hamiltonian Monte Carlo: eight schools
======================================

The effect of coaching on a test was measured in eight schools, with known standard errors (Rubin 1981; Gelman et al.,
Bayesian Data Analysis, third edition, section 5.5). The model, not centred, is

.. math:: y_i \sim N(\mu + \tau \eta_i, \sigma_i), \quad \eta_i \sim N(0, 1), \quad
          \mu \sim N(0, 5), \quad \tau \sim \text{half-Cauchy}(0, 5).

A sampler moves on all of R^10: tau is the exponential of a free number (`dualgrad.stats.bijections`). All chains are
rows of one array, and the log-density of all of them with its gradient is one recorded program. Step size and mass
matrix (a diagonal) are adapted during the warm-up (Hoffman and Gelman 2014, algorithm 5). Printed are the posterior
means with their Monte Carlo errors, split R-hat and effective sample sizes (Vehtari et al. 2021), beside the means of
the reference draws of posteriordb: mu 4.4, tau 3.6. The script fails if they disagree.
"""

import argparse

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.stats import bijections, cauchy, norm

try:
    from tqdm import tqdm
except ImportError:  # no bars
    tqdm = lambda steps, **_: steps

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
PUBLISHED = {"mu": 4.4, "tau": 3.6}
ROUNDED = 0.05  # the published means have one decimal
TARGET = 0.9  # mean acceptance
LEAPFROG = 24  # at most so many steps; their number is drawn
SCALE = bijections.Exp()


def log_density(x):
    """Of rows (mu, log tau, eta_1 ... eta_8): shape (chains, 10) to (chains,)."""
    mu, free, eta = x[:, 0], x[:, 1], x[:, 2:]
    tau = SCALE.forward(free)
    prior = norm.logpdf(mu, 0.0, 5.0) + cauchy.logpdf(tau, 0.0, 5.0) + SCALE.log_abs_det_jacobian(free)
    means = ops.expand_dims(mu, 1) + ops.expand_dims(tau, 1) * eta
    return prior + norm.logpdf(eta).sum(1) + norm.logpdf(EFFECTS, means, ERRORS).sum(1)


def with_values(x):
    """The sum, whose gradient has one row for each chain, and the values."""
    values = log_density(x)
    return values.sum(), values


@dg.jit
def recorded(x):
    (_, values), slope = dg.value_and_grad(with_values, has_aux=True)(x)
    return values, slope


def evaluate(x):
    values, slope = recorded(Tensor(x))
    return values.asnumpy(), slope.asnumpy()


def transition(state, steps, step, inverse_mass, rng):
    """One leapfrog trajectory for each chain and Metropolis' decision; the state, and the acceptance of each chain."""
    x, value, slope = state
    momentum = rng.normal(size=x.shape) / np.sqrt(inverse_mass)
    energy = value - 0.5 * (inverse_mass * momentum**2).sum(1)
    new, new_value, new_slope, p = x, value, slope, momentum
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            p = p + 0.5 * step * new_slope
            new = new + step * inverse_mass * p
            new_value, new_slope = evaluate(new)
            p = p + 0.5 * step * new_slope
        change = new_value - 0.5 * (inverse_mass * p**2).sum(1) - energy
        accepted = np.exp(np.minimum(np.where(np.isnan(change), -np.inf, change), 0.0))
    take = rng.uniform(size=accepted.shape) < accepted
    rows = take[:, None]
    return (np.where(rows, new, x), np.where(take, new_value, value), np.where(rows, new_slope, slope)), accepted


def warm_up(state, count, rng):
    """Dual averaging of the step size, and the variances of the second half of each window as the inverse mass."""
    inverse_mass, first, step = np.ones(state[0].shape[1]), 0.1, 0.1
    for length in (count // 4, count // 4, count // 2):
        centre, gap, averaged, kept = np.log(10 * first), 0.0, 0.0, []
        for i in tqdm(range(1, length + 1), desc="warm-up", leave=False):
            state, accepted = transition(state, rng.integers(1, LEAPFROG + 1), step, inverse_mass, rng)
            gap += (TARGET - accepted.mean() - gap) / (i + 10)
            log_step = centre - np.sqrt(i) / 0.05 * gap
            averaged += i**-0.75 * (log_step - averaged)
            step = np.exp(log_step)
            if i > length // 2:
                kept.append(state[0])
        first = step = np.exp(averaged)
        if length < count // 2:  # the last window adapts the step to the mass that is kept
            inverse_mass = np.concatenate(kept).var(0)
    return state, step, inverse_mass


def diagnose(draws):
    """Mean, Monte Carlo error, split R-hat, effective sample size of draws (n, chains)."""
    n = len(draws) // 2
    halves = np.concatenate([draws[:n], draws[-n:]], 1)
    within, between = halves.var(0, ddof=1).mean(), halves.mean(0).var(ddof=1)
    total = (n - 1) / n * within + between
    centred = halves - halves.mean(0)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, axis=0)[:n].mean(1) / n
    correlation = 1 - (within - covariance * n / (n - 1)) / total
    pairs = correlation[0 : n - n % 2 : 2] + correlation[1:n:2]
    negative = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: negative[0] if len(negative) else None])  # Geyer's monotone sequence
    size = halves.size / max(2 * pairs.sum() - 1, 1 / np.log10(halves.size))
    return draws.mean(), np.sqrt(total / size), np.sqrt(total / within), size


def draw(mu, tau, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(mu.ravel()[:20000], np.log(tau.ravel()[:20000]), ",", color="#1f6fb2")
    left.set(xlabel=r"$\mu$", ylabel=r"$\log\,\tau$", title="Draws")
    right.hist(tau.ravel(), bins=100, range=(0, 20), density=True, color="#1f6fb2")
    right.set(xlabel=r"$\tau$", title="Spread of the schools")
    fig.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description="Sample the posterior of the eight schools")
    parser.add_argument("--quick", action="store_true", help="fewer draws")
    parser.add_argument("--figure", help="where a picture goes")
    args = parser.parse_args()
    chains, warm, count = (16, 300, 500) if args.quick else (32, 1000, 4000)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(chains, 10))
    state, step, inverse_mass = warm_up((x, *evaluate(x)), warm, rng)
    draws, acceptance = np.empty((count, chains, 10)), 0.0
    for i in tqdm(range(count), desc="draws"):
        state, accepted = transition(state, rng.integers(1, LEAPFROG + 1), step, inverse_mass, rng)
        draws[i], acceptance = state[0], acceptance + accepted.mean() / count
    print(f"{chains} chains, {count} draws of each; step {step:.3f}, acceptance {acceptance:.3f}")

    mu, tau = draws[:, :, 0], np.exp(draws[:, :, 1])
    failed = False
    print(f"{'':4} {'mean':>7} {'error':>7} {'published':>9} {'R-hat':>7} {'effective':>9}")
    for name, values in (("mu", mu), ("tau", tau)):
        mean, error, r_hat, size = diagnose(values)
        print(f"{name:4} {mean:7.3f} {error:7.3f} {PUBLISHED[name]:9.1f} {r_hat:7.4f} {size:9.0f}")
        failed |= not (abs(mean - PUBLISHED[name]) <= ROUNDED + 3 * error and r_hat < 1.01)
    if args.figure:
        draw(mu, tau, args.figure)
        print(f"picture: {args.figure}")
    if failed:
        raise SystemExit("the means disagree with the published ones, or the chains with each other")


if __name__ == "__main__":
    main()
