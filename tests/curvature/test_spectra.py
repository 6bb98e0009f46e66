"""Lanczos and what stands on it, against the eigenvalues of NumPy."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, curvature, ops


def matrix_of(eigenvalues, seed=0):
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues),) * 2))[0]
    return (q * np.asarray(eigenvalues)) @ q.T


SPECTRA = {
    "spread": np.linspace(-3.0, 5.0, 20),
    "clusters": np.repeat([1.0, 1.0 + 1e-9, 4.0], 7),
    "few": np.repeat([-1.0, 2.0], 10),  # invariant after two steps
    "geometric": 10.0 ** -np.arange(20.0),
    "identity": np.ones(20),
    "zero": np.zeros(20),
    "one": np.array([2.0]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SPECTRA)
def test_all_steps_give_all_eigenvalues(name, dtype):
    A = matrix_of(SPECTRA[name]).astype(dtype)
    found = curvature.lanczos(A, len(A))
    V, T = found.basis.asnumpy(), found.matrix().asnumpy()
    eps = np.finfo(dtype).eps * max(1.0, np.abs(A).max()) * 100
    assert found.diagonal.dtype == getattr(dg, dtype)
    assert np.abs(V @ V.T - np.eye(len(A))).max() < eps
    assert np.abs(V @ A @ V.T - T).max() < 10 * eps
    assert np.abs(found.ritz_values().asnumpy() - np.linalg.eigvalsh(A)).max() < 10 * eps


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_few_steps_are_a_projection(steps):
    A, start = matrix_of(SPECTRA["spread"]), np.random.default_rng(1).normal(size=20)
    found = curvature.lanczos(A, steps, start)
    V, T = found.basis.asnumpy(), found.matrix().asnumpy()
    assert np.allclose(V @ V.T, np.eye(steps), atol=1e-13)
    assert np.allclose(V @ A @ V.T, T, atol=1e-12)
    krylov = np.linalg.qr(np.stack([np.linalg.matrix_power(A, k) @ start for k in range(steps)], 1))[0]
    assert np.allclose(V.T @ (V @ krylov), krylov, atol=1e-7)
    values, vectors, bounds = (x.asnumpy() for x in found.ritz_pairs())
    assert np.allclose(np.linalg.norm(vectors @ A - values[:, None] * vectors, axis=1), bounds, atol=1e-12)
    distance = np.abs(np.subtract.outer(values, np.linalg.eigvalsh(A))).min(1)
    assert (distance <= bounds + 1e-12).all()


def test_it_is_recorded_batched_and_differentiated():
    A, starts = matrix_of(SPECTRA["spread"]), np.random.default_rng(1).normal(size=(4, 20))
    each = np.array([curvature.lanczos(A, 6, start).ritz_values().asnumpy() for start in starts])
    batch = dg.vmap(lambda start: curvature.lanczos(A, 6, start).ritz_values())
    assert np.allclose(batch(Tensor(starts)).asnumpy(), each)
    recorded = dg.jit(lambda A, start: curvature.lanczos(A, 6, start).ritz_values())
    for start, values in zip(starts, each, strict=True):
        assert np.allclose(recorded(Tensor(A), Tensor(start)).asnumpy(), values)
    top = lambda t: curvature.lanczos(Tensor(A) * t + Tensor(np.diag(np.arange(20.0))), 20).ritz_values()[-1]
    values, vectors = np.linalg.eigh(A + np.diag(np.arange(20.0)))
    dg.set_seed(0)
    slope = dg.grad(top)(Tensor(1.0, dg.float64)).item()
    assert np.isclose(slope, vectors[:, -1] @ A @ vectors[:, -1], rtol=1e-6)


def test_hessians_of_pytrees_start_anywhere():
    point = (Tensor(np.ones(4)), Tensor(np.full(3, 2.0)))
    fn = lambda x, y: (x**3).sum() * (y**2).sum()
    A = curvature.hessian_operator(fn, (0, 1))(*point)
    found = curvature.lanczos(A, 7, point).ritz_values().asnumpy()
    assert np.allclose(found, np.linalg.eigvalsh(A.dense().asnumpy()))


FUNCTIONS = {"identity": (lambda x: x, lambda x: x), "square": (lambda x: x * x, lambda x: x * x),
             "exp": (ops.exp, np.exp)}  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
def test_traces_of_functions_are_within_their_errors(f):
    ours, numpys = FUNCTIONS[f]
    A = matrix_of(SPECTRA["spread"])
    exact = numpys(SPECTRA["spread"]).sum()
    dg.set_seed(0)
    value, error = curvature.spectral_density(A, 300, 12).trace(ours)
    assert abs(value.item() - exact) < 4.0 * error.item()
    basis = np.sqrt(20.0) * np.eye(20)
    assert np.isclose(curvature.spectral_density(A, steps=20, probes=basis).trace(ours).value.item(), exact)


def test_the_density_is_that_of_the_eigenvalues():
    A, eigenvalues = matrix_of(SPECTRA["spread"]), SPECTRA["spread"]
    points, width = np.linspace(-5.0, 7.0, 200), 0.4
    spectrum = curvature.spectral_density(A, steps=20, probes=np.sqrt(20.0) * np.eye(20))
    bumps = np.exp(-0.5 * ((points[:, None] - eigenvalues) / width) ** 2) / (width * np.sqrt(2.0 * np.pi))
    assert np.allclose(spectrum(points, width).asnumpy(), bumps.mean(1), atol=1e-10)
    for each in (A, np.eye(3), np.zeros((3, 3)), -5.0 * np.eye(3)):  # with the width that is chosen
        points = np.linspace(-8.0, 8.0, 8001)
        density = curvature.spectral_density(each, steps=20)(points).asnumpy()
        assert np.isclose(density.sum() * 0.002, 1.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_of_determinants(dtype):
    eigenvalues = np.linspace(0.5, 5.0, 20)
    A = matrix_of(eigenvalues).astype(dtype)
    exact = np.log(eigenvalues).sum()
    room = {"float32": 1e-4, "float64": 1e-11}[dtype]
    assert abs(curvature.logdet(A).item() - exact) < room * abs(exact)
    dg.set_seed(0)
    value, error = curvature.logdet(A, samples=200, steps=12)
    assert abs(value.item() - exact) < 4.0 * error.item()
    basis = np.sqrt(20.0) * np.eye(20)
    assert abs(curvature.logdet(A, steps=20, probes=basis).value.item() - exact) < 100 * room * abs(exact)


def test_the_slope_of_a_logarithm_of_a_determinant():
    """The slope of log det A is tr A^-1 dA, by the exact way, and by quadrature with a basis, recorded too."""
    A, B = matrix_of(np.linspace(0.5, 5.0, 6)), matrix_of(np.linspace(-1.0, 1.0, 6), 1)
    exact = np.trace(np.linalg.solve(A + 0.2 * B, B))
    basis = np.sqrt(6.0) * np.eye(6)
    t = Tensor(0.2, dg.float64)
    for settings in ({}, {"probes": basis, "steps": 6}):
        slope = dg.grad(
            lambda t, settings=settings: (
                curvature.logdet(Tensor(A) + t * Tensor(B), **settings).value
                if settings
                else curvature.logdet(Tensor(A) + t * Tensor(B))
            )
        )
        recorded = dg.jit(slope)
        for f in (slope, recorded, recorded, recorded):
            assert np.isclose(f(t).item(), exact, rtol=1e-8)


def test_what_cannot_be_is_refused():
    indefinite = np.diag([1.0, -1.0, 2.0])
    cases = (
        (lambda: curvature.lanczos(np.eye(3), 4), ValueError, "4 steps for 3 variables"),
        (lambda: curvature.lanczos(np.eye(3), 0), ValueError, "expected 1 or more"),
        (lambda: curvature.lanczos(np.eye(3), 2, np.ones(4)), ValueError, r"start holds .* \(4,\); expected \(3,\)"),
        (lambda: curvature.lanczos(np.eye(3), 2, np.zeros(3)), ValueError, "start is zero"),
        (lambda: curvature.logdet(indefinite), np.linalg.LinAlgError, "not positive definite"),
        (lambda: curvature.logdet(indefinite, samples=2), np.linalg.LinAlgError, "positive definite operator"),
    )
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            call()
    recorded = dg.jit(lambda A: curvature.logdet(A, samples=2).value)
    for A in (np.eye(3), np.eye(3), np.eye(3), np.eye(3)):
        assert recorded(Tensor(A)).item() == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite operator"):
        recorded(Tensor(indefinite))


@pytest.mark.parametrize(
    ("dtype", "size"), [("float32", 1e-30), ("float32", 1e30), ("float64", 1e-200), ("float64", 1e200)]
)
def test_squares_out_of_range(dtype, size):
    """Matrices and directions whose numbers fit their type, but the squares of which do not."""
    eigenvalues = np.linspace(0.5, 4.0, 12)
    A = Tensor((matrix_of(eigenvalues) * size).astype(dtype))
    eps = np.finfo(dtype).eps
    values = curvature.lanczos(A, 12, (np.arange(1.0, 13.0) * size).astype(dtype)).ritz_values().asnumpy()
    np.testing.assert_allclose(values / size, eigenvalues, atol=100 * eps)
    value = curvature.logdet(A, samples=2, probes=np.sqrt(12) * np.eye(12, dtype=dtype)).value
    np.testing.assert_allclose(value.item(), np.log(eigenvalues).sum() + 12 * np.log(size), rtol=100 * eps)
