"""Laplace's approximation, against Gaussian linear regression, where it is exact, and against dense matrices."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, Tensor, curvature, nn, ops

NOISE = 0.3


class Regression:
    """y = X w + noise with a Gaussian prior; all is known in closed form."""

    def __init__(self, dtype, precision):
        rng = np.random.default_rng(0)
        self.X, self.Z = rng.normal(size=(12, 4)), rng.normal(size=(3, 4))
        self.y = self.X @ rng.normal(size=4) + NOISE * rng.normal(size=12)
        self.precision = np.broadcast_to(precision, 4).astype(float)
        self.P = self.X.T @ self.X / NOISE**2 + np.diag(self.precision)
        self.mean = np.linalg.solve(self.P, self.X.T @ self.y / NOISE**2)
        self.inputs, self.targets = Tensor(self.X, dtype), Tensor(self.y, dtype)
        self.best = Tensor(self.mean, dtype)

    def loss(self, w):
        r = (self.inputs @ w - self.targets) / NOISE
        return 0.5 * ((r * r).sum() + len(self.y) * np.log(2.0 * np.pi * NOISE**2))

    def log_evidence(self, precision=None):
        """The data are Gaussian: the noise plus the image of the prior."""
        precision = self.precision if precision is None else precision
        C = NOISE**2 * np.eye(12) + (self.X / precision) @ self.X.T
        return -0.5 * (self.y @ np.linalg.solve(C, self.y) + np.linalg.slogdet(2.0 * np.pi * C)[1])


@pytest.mark.parametrize("dtype", [dg.float32, dg.float64])
@pytest.mark.parametrize("precision", [2.0, np.array([0.5, 1.0, 2.0, 4.0])], ids=["one", "each"])
@pytest.mark.parametrize("form", ["full", "low_rank"])
def test_it_is_exact_for_gaussian_regression(form, precision, dtype):
    problem, room = Regression(dtype, precision), {dg.float32: 1e-4, dg.float64: 1e-10}[dtype]
    settings = {"form": form, "rank": 4 if form == "low_rank" else None}
    given = Tensor(precision, dtype) if isinstance(precision, np.ndarray) else precision
    approximation = curvature.laplace(problem.loss, given, **settings)
    posterior = approximation(problem.best)
    covariance = np.linalg.inv(problem.P)
    assert posterior.log_evidence.dtype == dtype
    assert np.isclose(posterior.log_evidence.item(), problem.log_evidence(), rtol=room)
    assert np.allclose(posterior.covariance().asnumpy(), covariance, rtol=0, atol=room)
    assert np.allclose(posterior.variances().asnumpy(), np.diag(covariance), rtol=0, atol=room)
    assert posterior.decrement.item() < room
    recorded = dg.jit(lambda w: approximation(w).log_evidence)
    for _ in range(4):
        assert np.isclose(recorded(problem.best).item(), problem.log_evidence(), rtol=room)
    value, variance = posterior.predictive(lambda w, z: z @ w)(problem.best, Tensor(problem.Z, dtype))
    assert np.allclose(value.asnumpy(), problem.Z @ problem.mean, rtol=0, atol=10 * room)
    assert np.allclose(variance.asnumpy(), np.einsum("ij,jk,ik->i", problem.Z, covariance, problem.Z), atol=10 * room)
    _, spread = posterior.predictive(lambda w, z: z @ w, covariance=True)(problem.best, Tensor(problem.Z, dtype))
    assert np.allclose(spread.asnumpy(), problem.Z @ covariance @ problem.Z.T, atol=10 * room)


@pytest.mark.parametrize("form", ["full", "diagonal", "low_rank"])
def test_draws_have_the_covariance(form):
    problem = Regression(dg.float64, 2.0)
    posterior = curvature.laplace(problem.loss, 2.0, form=form, rank=4 if form == "low_rank" else None)(problem.best)
    dg.set_seed(0)
    draws = posterior.sample(40_000).asnumpy()
    C = posterior.covariance().asnumpy()
    assert draws.shape == (40_000, 4)
    assert (np.abs(draws.mean(0) - problem.mean) < 4.0 * np.sqrt(np.diag(C) / 40_000)).all()
    error = np.sqrt((C**2 + np.outer(np.diag(C), np.diag(C))) / 40_000)
    assert (np.abs(np.cov(draws.T) - C) < 4.0 * error).all()


def test_the_diagonal_form_has_the_diagonal():
    problem = Regression(dg.float64, 2.0)
    posterior = curvature.laplace(problem.loss, 2.0, form="diagonal")(problem.best)
    assert np.allclose(posterior.variances().asnumpy(), 1.0 / np.diag(problem.P))
    joint = problem.log_evidence() + 0.5 * (np.linalg.slogdet(problem.P)[1] - 4 * np.log(2.0 * np.pi))
    expected = joint + 0.5 * (4 * np.log(2.0 * np.pi) - np.log(np.diag(problem.P)).sum())
    assert np.isclose(posterior.log_evidence.item(), expected)


@pytest.mark.parametrize("form", ["full", "low_rank"])
def test_the_evidence_has_a_derivative_by_the_prior(form):
    """The point moves with the precision in second order only, so the derivative is that of the exact evidence."""
    problem = Regression(dg.float64, 2.0)
    rank = 4 if form == "low_rank" else None

    def evidence(t):
        return curvature.laplace(problem.loss, t, form=form, rank=rank)(problem.best).log_evidence

    h = 1e-5
    exact = (problem.log_evidence(np.full(4, 2.0 + h)) - problem.log_evidence(np.full(4, 2.0 - h))) / (2 * h)
    slope = dg.grad(evidence)
    recorded = dg.jit(slope)
    for f in (slope, recorded, recorded, recorded):
        assert np.isclose(f(Tensor(2.0, dg.float64)).item(), exact, rtol=1e-7)


def test_low_rank_tends_to_the_full_matrix():
    problem = Regression(dg.float64, 2.0)
    full = curvature.laplace(problem.loss, 2.0)(problem.best).log_evidence.item()
    dg.set_seed(0)
    away = [
        abs(curvature.laplace(problem.loss, 2.0, form="low_rank", rank=r)(problem.best).log_evidence.item() - full)
        for r in (1, 2, 3, 4)
    ]
    assert away[0] > away[1] > away[2] > away[3]
    assert away[3] < 1e-10


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Dense(1, 6, activation="tanh")
        self.last = nn.Dense(6, 2)

    def construct(self, x):
        return self.last(self.hidden(x))


def test_a_last_layer_and_a_gauss_newton_matrix():
    """By the weights of a Cell: a linear last layer has a Hessian that is its Gauss-Newton matrix."""
    dg.set_seed(2)
    net = Network()
    x = Tensor(np.linspace(-1.0, 1.0, 9).reshape(-1, 1), dg.float32)
    labels = Tensor(np.eye(2)[np.arange(9) % 2], dg.float32)
    of_outputs = lambda out, y: -(y * ops.log_softmax(out, -1)).sum()
    loss = lambda x, y: of_outputs(net(x), y)
    last = net.last.trainable_params()
    gauss_newton = curvature.gauss_newton_operator(of_outputs, net, weights=last)
    first = curvature.laplace(loss, 1.0, weights=last)(x, labels)
    second = curvature.laplace(loss, 1.0, weights=last, curvature=lambda x, y: gauss_newton(x, targets=y))(x, labels)
    assert first.size == 14
    assert np.allclose(first.covariance().asnumpy(), second.covariance().asnumpy(), atol=1e-5)
    H = curvature.hessian_operator(loss, weights=last)(x, labels).dense().asnumpy().astype(np.float64)
    C = np.linalg.inv(H + np.eye(14))
    rows = dg.jacrev(net, None, weights=last)(x)
    J = np.concatenate([part.asnumpy().reshape(18, -1) for part in rows], 1)
    value, variance = first.predictive(net)(x)
    assert np.allclose(value.asnumpy(), net(x).asnumpy(), atol=1e-6)
    assert np.allclose(variance.asnumpy().ravel(), np.einsum("ij,jk,ik->i", J, C, J), atol=1e-5)
    drawn = first.sample(5)
    assert [part.shape for part in drawn] == [(5, 2, 6), (5, 2)]
    net.last.weight.set_data(net.last.weight * 0.0)  # the point is kept
    again, _ = first.predictive(net)(x)
    assert np.allclose(again.asnumpy(), value.asnumpy(), atol=1e-6)


def test_a_point_that_is_no_maximum_tells_by_how_much():
    """The decrement is what the joint density gains on the way to its maximum, here exactly."""
    problem = Regression(dg.float64, 2.0)
    best = curvature.laplace(problem.loss, 2.0)(problem.best)
    beside = curvature.laplace(problem.loss, 2.0)(problem.best + 0.1)
    assert np.isclose(beside.decrement.item(), (best.log_joint - beside.log_joint).item())
    assert np.allclose(beside.gradient.asnumpy(), problem.P @ np.full(4, 0.1))


def test_what_cannot_be_is_refused():
    problem = Regression(dg.float64, 2.0)
    w = Parameter(Tensor([1.0, 2.0], dg.float64), name="w")
    saddle = lambda x: (x * x).sum() - 4.0 * x[0] ** 2
    laplace = curvature.laplace
    cases = (
        (lambda: laplace(saddle, 1.0)(problem.best), np.linalg.LinAlgError, "not positive definite"),
        (lambda: laplace(saddle, 1.0, form="diagonal")(problem.best), np.linalg.LinAlgError, "positive definite"),
        (lambda: laplace(saddle, 1.0, form="low_rank", rank=4)(problem.best), np.linalg.LinAlgError, "positive"),
        (lambda: laplace(problem.loss, 0.0)(problem.best), ValueError, "prior_precision is 0"),
        (lambda: laplace(problem.loss, np.ones(3))(problem.best), ValueError, "prior_precision"),
        (lambda: laplace(problem.loss, 1.0, form="kfac"), ValueError, "expected one of full"),
        (lambda: laplace(problem.loss, 1.0, form="low_rank"), ValueError, "rank is None"),
        (lambda: laplace(problem.loss, 1.0, rank=2), ValueError, "rank is 2 for the form 'full'"),
        (lambda: laplace(problem.loss, 1.0, form="low_rank", rank=5)(problem.best), ValueError, "rank is 5 for 4"),
        (lambda: laplace(lambda x: x, 1.0)(problem.best), ValueError, "one element"),
        (lambda: laplace(problem.loss, 1.0, curvature=lambda x: 3)(problem.best), TypeError, "curvature returned 3"),
        (lambda: laplace(problem.loss, 1.0)(problem.best).predictive(lambda x: x)(w), ValueError, "have shapes"),
        (lambda: laplace(problem.loss, 1.0)(problem.best).sample(0), ValueError, "expected 1 or more"),
    )
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            call()
