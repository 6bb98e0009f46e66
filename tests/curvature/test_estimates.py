"""Diagonals and traces against `hessian`: exact ones, and estimates, which are exact where probes are a basis."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, Tensor, curvature, nn, ops

TOLERANCE = {"float32": 2e-4, "float64": 1e-12}


def vector(n, dtype, seed=0):
    return Tensor(np.random.default_rng(seed).uniform(0.3, 1.2, n), getattr(dg, dtype))


def chain(x):
    return ((x[1:] - x[:-1] ** 2) ** 2).sum() + ops.exp(0.3 * x).sum()


def coupled(x):
    return ops.tanh(x.sum()) * (x**3).sum() + ops.log(1.0 + (x * x).sum())


def products(x):
    return ops.cumprod(x, 0)[-1] + ops.norm(x)


def linear(x):
    return (3.0 * x).sum()


def dense(x):
    return ops.logsumexp(ops.matmul(ops.reshape(x, (2, -1)).T, ops.reshape(x, (2, -1))).reshape((-1,)), 0)


FUNCTIONS = {f.__name__: f for f in (chain, coupled, products, linear, dense)}


def expected_diagonal(fn, x):
    return np.diag(dg.hessian(fn)(x).asnumpy())


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("way", ["forward", "reverse", "sparse"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_exact_diagonal_is_that_of_the_hessian(name, way, dtype):
    fn, x = FUNCTIONS[name], vector(6, dtype)
    expected = expected_diagonal(fn, x)
    scale = TOLERANCE[dtype] * (1.0 + np.abs(expected).max())
    for chunk_size in (None, 1, 4) if way != "sparse" else (None,):
        diagonal = curvature.hessian_diagonal(fn, way=way, chunk_size=chunk_size)
        found = diagonal(x)
        assert found.dtype == x.dtype
        assert np.allclose(found.asnumpy(), expected, rtol=0, atol=scale)
        if way != "sparse":
            recorded = dg.jit(diagonal)
            for _ in range(4):
                assert np.allclose(recorded(x).asnumpy(), expected, rtol=0, atol=scale)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_diagonals_and_traces_are_differentiable(name):
    fn, x = FUNCTIONS[name], vector(6, "float64")
    exact = lambda x: ops.diagonal(dg.hessian(fn)(x))
    first, second = dg.jacrev(exact)(x).asnumpy(), dg.hessian(lambda x: exact(x).sum())(x).asnumpy()
    with pytest.raises(TypeError, match="outside of transforms"):
        dg.jacrev(curvature.hessian_diagonal(fn, way="sparse"))(x)
    for way in ("forward", "reverse"):
        found = dg.jacrev(curvature.hessian_diagonal(fn, way=way))(x).asnumpy()
        assert np.allclose(found, first, rtol=1e-10, atol=1e-11)
    trace = lambda x: curvature.trace(curvature.hessian_operator(fn)(x))
    assert np.allclose(trace(x).asnumpy(), exact(x).sum().asnumpy())
    assert np.allclose(dg.grad(trace)(x).asnumpy(), first.sum(0), rtol=1e-10, atol=1e-11)
    assert np.allclose(dg.hessian(trace)(x).asnumpy(), second, rtol=1e-9, atol=1e-10)
    recorded = dg.jit(dg.grad(trace))
    for _ in range(4):
        assert np.allclose(recorded(x).asnumpy(), first.sum(0), rtol=1e-10, atol=1e-11)


def test_the_diagonal_by_weights_and_pytrees():
    net = nn.SequentialCell(nn.Dense(3, 4, activation="tanh"), nn.Dense(4, 1))
    x = Tensor(np.random.default_rng(0).normal(size=(5, 3)), dg.float32)
    loss, weights = lambda x: (net(x) ** 2).sum(), net.trainable_params()
    blocks = dg.hessian(loss, None, weights=weights)(x)
    for way in ("forward", "reverse", "sparse"):
        found = curvature.hessian_diagonal(loss, weights=iter(weights), way=way)(x)
        for i, (part, w) in enumerate(zip(found, weights, strict=True)):
            block = blocks[i][i].asnumpy().reshape(w.size, w.size)
            assert part.shape == w.shape
            assert np.allclose(part.asnumpy().ravel(), np.diag(block), rtol=1e-3, atol=1e-4)
    point = (vector(2, "float64"), {"b": vector(3, "float64", 1)})
    fn = lambda p: (p[0] ** 3).sum() * (p[1]["b"] ** 2).sum()
    found = curvature.hessian_diagonal(fn)(point)
    a, b = point[0].asnumpy(), point[1]["b"].asnumpy()
    assert np.allclose(found[0].asnumpy(), 6 * a * (b**2).sum())
    assert np.allclose(found[1]["b"].asnumpy(), np.full(3, 2 * (a**3).sum()))


def random_matrix(n, seed=0):
    a = np.random.default_rng(seed).normal(size=(n, n))
    return a + a.T


@pytest.mark.parametrize("probes", ["rademacher", "gaussian"])
def test_estimates_are_unbiased_within_their_errors(probes):
    """Means of 200 estimates, whose errors are known from their spread and from what they say themselves."""
    A = random_matrix(12)
    dg.set_seed(3)
    for method in ("hutchinson", "hutch++"):
        found = [curvature.trace(A, 30, method=method, probes=probes) for _ in range(200)]
        values = np.array([value.item() for value, _ in found])
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - np.trace(A)) < 3.5 * error
        told = np.sqrt(np.mean([error.item() ** 2 for _, error in found]))
        assert abs(told / values.std(ddof=1) - 1.0) < 0.25
    found = [curvature.diagonal(A, 30, probes=probes) for _ in range(200)]
    values = np.array([value.asnumpy() for value, _ in found])
    spread = values.std(0, ddof=1)
    assert (np.abs(values.mean(0) - np.diag(A)) < 4.0 * spread / np.sqrt(len(values))).all()
    told = np.sqrt(np.mean([error.asnumpy() ** 2 for _, error in found], 0))
    assert (np.abs(told / spread - 1.0) < 0.3).all()


def test_the_error_of_hutchinson_is_the_known_one():
    """The variance for signs is 2 (|A|^2 - |diag A|^2) / samples (Hutchinson, 1990)."""
    A = random_matrix(10, 1)
    dg.set_seed(0)
    _, error = curvature.trace(A, 20_000)
    exact = np.sqrt(2.0 * ((A**2).sum() - (np.diag(A) ** 2).sum()) / 20_000)
    assert abs(error.item() / exact - 1.0) < 0.05


@pytest.mark.parametrize("n", [1, 5, 8])
def test_estimates_are_exact_where_the_probes_form_a_basis(n):
    A = random_matrix(n)
    count = 1 << (n - 1).bit_length()
    for probes, samples in (("hadamard", count), (np.sqrt(n) * np.eye(n), None), (np.sqrt(n) * np.eye(n), n)):
        assert np.allclose(curvature.trace(A, samples, probes=probes).value.item(), np.trace(A))
        value, _ = curvature.diagonal(A, samples, probes=probes)
        assert np.allclose(value.asnumpy(), np.diag(A))
    low = random_matrix(20)[:, :2] @ random_matrix(20)[:, :2].T
    value, error = curvature.trace(low, 12, method="hutch++")
    assert np.allclose(value.item(), np.trace(low))
    assert error.item() < 1e-10


def test_hadamard_probes_are_exact_for_bands():
    """Entries that are no multiple of the number of probes away from the diagonal cancel."""
    n = 40
    A = random_matrix(n)
    A[np.abs(np.subtract.outer(range(n), range(n))) >= 8] = 0.0
    assert np.allclose(curvature.diagonal(A, 8, probes="hadamard").value.asnumpy(), np.diag(A))


def test_an_estimate_is_differentiated_with_its_probes_constant():
    """Against the derivative of z . H z for the probes that were given, and unbiased for those of Hutch++."""
    x, z = vector(5, "float64"), np.random.default_rng(0).normal(size=(3, 5))
    estimate = lambda x: curvature.trace(curvature.hessian_operator(coupled)(x), probes=z).value

    def plain(x):
        return sum((dg.hvp(coupled)(x, Tensor(row)) * row).sum() for row in z) / 3.0

    assert np.allclose(estimate(x).item(), plain(x).item())
    assert np.allclose(dg.grad(estimate)(x).asnumpy(), dg.grad(plain)(x).asnumpy())
    exact = dg.grad(lambda x: curvature.trace(curvature.hessian_operator(coupled)(x)))(x).asnumpy()
    sketched = dg.grad(lambda x: curvature.trace(curvature.hessian_operator(coupled)(x), 6, method="hutch++").value)
    dg.set_seed(1)
    found = np.array([sketched(x).asnumpy() for _ in range(100)])
    assert (np.abs(found.mean(0) - exact) < 4.0 * found.std(0, ddof=1) / 10.0 + 1e-9).all()


def test_estimates_of_hessians_by_weights_recorded():
    """A recorded estimate draws anew at each call."""
    w = Parameter(vector(6, "float64"), name="w")
    loss = lambda: coupled(w)
    exact = expected_diagonal(coupled, Tensor(w.asnumpy()))
    estimate = dg.jit(curvature.hessian_diagonal(loss, weights=w, samples=50))
    dg.set_seed(0)
    found = [estimate() for _ in range(6)]
    values = np.array([value.asnumpy() for value, _ in found])
    assert len({row.tobytes() for row in values}) == len(values)
    assert (np.abs(values - exact) < 5.0 * np.array([error.asnumpy() for _, error in found]) + 1e-9).all()


def test_a_single_probe_tells_no_error():
    assert np.isnan(curvature.trace(np.eye(3), 1).error.item())
    assert np.isnan(curvature.trace(np.eye(4), 4, probes="hadamard").error.item())


def test_what_cannot_be_is_refused():
    A = np.eye(3)
    cases = (
        (lambda: curvature.trace(A, 0), ValueError, "samples is 0; expected 1 or more"),
        (lambda: curvature.trace(A, 2.5), TypeError, "samples is 2.5; expected an int"),
        (lambda: curvature.trace(A, 5, method="exact"), ValueError, "expected 'hutchinson' or 'hutch"),
        (lambda: curvature.trace(A, 2, method="hutch++"), ValueError, "samples >= 3"),
        (lambda: curvature.trace(A, 9, method="hutch++", probes=np.ones((9, 3))), ValueError, "probes 'rademacher'"),
        (lambda: curvature.trace(A, 5, probes="sobol"), ValueError, "expected one of rademacher"),
        (lambda: curvature.trace(A, probes=np.ones((4, 2))), ValueError, r"expected \(samples, 3\)"),
        (lambda: curvature.trace(A, 2, probes=np.ones((4, 3))), ValueError, "leave one of them out"),
        (lambda: curvature.diagonal(A, 3, probes="hadamard"), ValueError, "expected a power of two"),
        (lambda: curvature.hessian_diagonal(coupled, way="backward"), ValueError, "expected one of forward"),
        (lambda: curvature.hessian_diagonal(lambda x: None)(np.ones(2)), TypeError, "Tensor"),
        (lambda: curvature.hessian_diagonal(lambda x: x * 1j)(np.ones(2)), TypeError, "returned Complex128"),
    )
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            call()
