"""Sparse derivatives: colourings, several inputs, arguments and plans."""

import contextlib
import sys
import warnings

import numpy as np
import pytest
from dense import dense_hessian, dense_jacobian, rng, rosenbrock, t
from scipy import sparse

import dualgrad as dg
from dualgrad import Tensor, ops, sparsity
from dualgrad.sparse.colour import ORDERINGS, colour_hessian, colour_jacobian


def random_symmetric(seed, n=40, m=60):
    random = rng(seed)
    i, j = random.integers(0, n, (2, m))
    matrix = np.zeros((n, n))
    matrix[i, j] = random.normal(size=m)
    matrix[np.arange(0, n, 3), np.arange(0, n, 3)] = 1.0
    return matrix + matrix.T


def read(colouring, products, m):
    out = np.full(m, np.nan)
    for k in range(colouring.count):
        part = slice(colouring.bounds[k], colouring.bounds[k + 1])
        out[colouring.target[part]] = products[k][colouring.source[part]]
    return out


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize("seed", range(30))
def test_stars_give_back_every_entry(seed, ordering):
    matrix = random_symmetric(seed, m=20 + 10 * seed)
    pattern = sparsity.Pattern.of(matrix != 0)
    colouring = colour_hessian(pattern, ordering)
    found = read(colouring, [matrix @ seed for seed in colouring.seeds()], len(pattern.indices))
    np.testing.assert_array_equal(found, matrix[pattern.rows(), pattern.indices])
    assert colouring.count <= colour_jacobian(pattern, "columns", ordering).count + 1


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize("kind", ["columns", "rows"])
def test_colours_give_back_every_entry(ordering, kind):
    matrix = rng(3).normal(size=(30, 40)) * (rng(4).random((30, 40)) < 0.08)
    pattern = sparsity.Pattern.of(matrix != 0)
    colouring = colour_jacobian(pattern, kind, ordering)
    product = (lambda s: matrix @ s) if kind == "columns" else (lambda s: matrix.T @ s)
    found = read(colouring, [product(seed) for seed in colouring.seeds()], len(pattern.indices))
    np.testing.assert_array_equal(found, matrix[pattern.rows(), pattern.indices])


def test_the_order_matters_and_the_best_is_kept():
    pattern = sparsity.Pattern.of(random_symmetric(7, n=300, m=900) != 0)
    counts = {ordering: colour_hessian(pattern, ordering).count for ordering in ORDERINGS}
    assert len(set(counts.values())) > 1
    assert colour_hessian(pattern).count == min(counts.values())


def test_several_inputs():
    fn = lambda x, c, y: (c * x[1:] * y[:-1] ** 2).sum() + (x**3).sum()
    x, y = t(rng(1).normal(size=4)), t(rng(2).normal(size=4))
    hessian = dg.sparse_hessian(fn, (0, 2))
    joined = lambda z, c: fn(z[:4], c, z[4:])
    z = t(np.concatenate([x.asnumpy(), y.asnumpy()]))
    for c in (2.0, t(3.0), t(-1.0), t(0.5)):
        expected = dense_hessian(lambda z, c=c: joined(z, c), z)
        np.testing.assert_allclose(hessian(x, c, y, check=True).toarray(), expected, rtol=1e-13, atol=1e-14)


def test_inputs_and_results_of_any_shape():
    fn = lambda x: (x * x[::-1], x.sum(1))
    x = t(rng(1).normal(size=(4, 3)))
    flat = lambda x: ops.concat([ops.reshape(part, (-1,)) for part in fn(x)])
    for mode in ("columns", "rows"):
        found = dg.sparse_jacobian(fn, mode=mode)(x, check=True)
        np.testing.assert_allclose(found.toarray(), dense_jacobian(flat, x), rtol=1e-13, atol=1e-14)


def test_types_are_kept():
    x = Tensor(np.ones(6, np.float32))
    assert dg.sparse_hessian(rosenbrock)(x).dtype == np.float32
    half = dg.sparse_jacobian(lambda x: x * x)(Tensor(np.ones(6, np.float16)))
    assert half.dtype == np.float32  # SciPy has no narrower one
    np.testing.assert_array_equal(half.toarray(), 2 * np.eye(6))


def test_integers_among_the_arguments_decide_about_the_pattern():
    fn = lambda x, index: (x[index] * x).sum()
    hessian = dg.sparse_hessian(fn)
    x = t(rng().normal(size=4))
    for index in ([3, 2, 1, 0], [1, 2, 3, 0], [1, 1, 1, 1]):
        at = Tensor(np.array(index))
        expected = dense_hessian(lambda x, at=at: fn(x, at), x)
        np.testing.assert_array_equal(hessian(x, at, check=True).toarray(), expected)


def test_captured_indices_may_change():
    index = dg.Parameter(np.array([1, 2, 3, 0]), name="index", requires_grad=False)
    hessian = dg.sparse_hessian(lambda x: (x[index] * x).sum())
    x = t(rng().normal(size=4))
    plan = hessian.prepare(x)
    assert hessian(x).toarray()[0, 1] == 1
    index.set_data(Tensor(np.array([3, 2, 1, 0])))
    np.testing.assert_array_equal(hessian(x).toarray(), 2 * np.eye(4)[::-1])
    with pytest.raises(ValueError, match="captured tensor"):
        plan(x)


def test_weights_of_a_cell_are_no_constants():
    class Chain(dg.nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = dg.Parameter(np.zeros(3), name="w")

        def construct(self, x):
            return (self.w * x[1:] * x[:-1]).sum()

    cell = Chain()
    hessian = dg.sparse_hessian(cell)
    x = t(np.ones(4))
    for value in (0.0, 1.0, 2.0, 3.0):
        cell.w.set_data(Tensor(np.full(3, value)))
        np.testing.assert_array_equal(hessian(x).toarray(), value * (np.eye(4, k=1) + np.eye(4, k=-1)))


def test_numbers_that_python_looks_at_may_change():
    mask = dg.Parameter(np.array([1.0, 0.0, 1.0]), name="mask")
    looks = {
        "as an array": lambda x: (mask.asnumpy() * x * x).sum(),
        "to decide": lambda x: (x * x)[:2].sum() if float(mask[1]) > 0 else (x * x)[2:].sum(),
    }
    x = t(np.ones(3))
    for fn in looks.values():
        hessian = dg.sparse_hessian(fn)
        for value in ([1.0, 0.0, 1.0], [0.0, 1.0, 0.0]):
            mask.set_data(t(value))
            plan = hessian.prepare(x)
            assert not plan.pattern.branches
            np.testing.assert_array_equal(hessian(x).toarray(), dense_hessian(fn, x))


class Power(dg.nn.Cell):
    def __init__(self, offset):
        super().__init__()
        self.offset = offset

    def construct(self, x):
        return (x[: -self.offset] * x[self.offset :]).sum()


def test_attributes_and_closures_may_change():
    x = t(np.ones(5))
    cell = Power(1)
    offset = 1
    nested = lambda x: cell(x)
    closed = lambda x: (x[:-offset] * x[offset:]).sum()
    for fn in (cell, nested, closed):
        cell.offset = offset = 1
        hessian = dg.sparse_hessian(fn)
        plan = hessian.prepare(x)
        assert hessian(x).nnz == 8
        cell.offset = offset = 2
        np.testing.assert_array_equal(hessian(x).toarray(), np.eye(5, k=2) + np.eye(5, k=-2))
        with pytest.raises(ValueError, match="has changed"):
            plan(x)


def test_complex_results():
    fn = lambda x: ops.complex(x * x, x[::-1] * x)
    x = t(rng().normal(size=5))
    found = dg.sparse_jacobian(fn)(x, check=True)
    expected = 2 * np.diag(x.asnumpy()) + 1j * dense_jacobian(lambda x: x[::-1] * x, x)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)
    with pytest.raises(TypeError, match="columns"):
        dg.sparse_jacobian(fn, mode="rows")(x)
    narrow = dg.sparse_jacobian(lambda x: (x * x).astype(dg.float32), mode="rows")(x, check=True)
    assert narrow.dtype in (np.float32, np.float64)
    np.testing.assert_allclose(narrow.toarray(), 2 * np.diag(x.asnumpy()), rtol=1e-6)


def branching(x):
    return (x[1:] * x[:-1]).sum() if x[0] > 0 else (x**3).sum()


def test_branches_are_known_whatever_comes_after_them():
    """An error that the function catches does not hide that it has looked at numbers."""

    def caught(x):
        y = branching(x)
        with contextlib.suppress(np.linalg.LinAlgError):
            dg.numpy.linalg.cholesky(-np.eye(2))
        return y

    assert dg.sparse_hessian(caught).prepare(t([1.0, 2.0, 3.0])).pattern.branches


def test_branches_are_local_and_the_check_finds_out():
    plan = dg.sparse_hessian(branching).prepare(t([1.0, 2.0, 3.0]))
    assert plan.pattern.branches
    np.testing.assert_array_equal(plan(t([2.0, 1.0, 1.0]), check=True).toarray(), np.eye(3, k=1) + np.eye(3, k=-1))
    with pytest.raises(ValueError, match="pattern does not hold"):
        plan(t([-2.0, 1.0, 1.0]), check=True)


def test_a_given_pattern():
    x = t(rng().normal(size=6))
    tridiagonal = np.abs(np.subtract.outer(range(6), range(6))) < 2
    for pattern in (tridiagonal, sparse.coo_array(tridiagonal), sparsity.Pattern.of(tridiagonal)):
        found = dg.sparse_hessian(rosenbrock, pattern=pattern)(x, check=True)
        np.testing.assert_allclose(found.toarray(), dense_hessian(rosenbrock, x), rtol=1e-13)
    with pytest.raises(ValueError, match="pattern does not hold"):
        dg.sparse_hessian(rosenbrock, pattern=np.eye(6, dtype=bool))(x, check=True)
    with pytest.raises(ValueError, match="6 variables"):
        dg.sparse_hessian(rosenbrock, pattern=np.eye(5, dtype=bool))(x)


def test_entries_can_be_differentiated():
    plan = dg.sparse_hessian(rosenbrock).prepare(t(np.ones(5)))
    x = t(rng().normal(size=5))
    np.testing.assert_allclose(plan.entries(x).asnumpy(), plan.values(x), rtol=1e-15)
    norm = lambda x: (plan.entries(x) ** 2).sum()
    step = 1e-6
    along = [(float(norm(x + t(step * e))) - float(norm(x - t(step * e)))) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(dg.grad(norm)(x).asnumpy(), along, rtol=1e-6)
    points = t(rng(1).normal(size=(3, 5)))
    each = np.stack([plan.values(t(p)) for p in points.asnumpy()])
    np.testing.assert_allclose(dg.vmap(plan.entries)(points).asnumpy(), each, rtol=1e-14)


def test_sparse_products_of_both_kinds():
    matrix = sparse.random_array((8, 8), density=0.2, rng=rng(5), format="csr")
    x = t(rng().normal(size=8))
    fn = lambda x: ops.sin(dg.sparse.matmul(matrix, x))
    plan = dg.sparse_jacobian(fn).prepare(x)
    np.testing.assert_array_equal(plan.pattern.dense(), matrix.toarray() != 0)
    np.testing.assert_allclose(plan(x).toarray(), dense_jacobian(fn, x), rtol=1e-13, atol=1e-15)
    entries = lambda d: (dg.sparse.csr_matmul(d, matrix.indices, matrix.indptr, (8, 8), x) ** 2).sum()
    data = t(matrix.data)
    hessian = dg.sparse_hessian(entries)
    np.testing.assert_allclose(
        hessian(data, check=True).toarray(), dense_hessian(entries, data), rtol=1e-13, atol=1e-15
    )
    rows = np.repeat(range(8), np.diff(matrix.indptr))
    np.testing.assert_array_equal(hessian.prepare(data).pattern.dense(), rows[:, None] == rows)


def test_a_matrix_belongs_to_who_asked_for_it():
    plan = dg.sparse_hessian(rosenbrock).prepare(t(np.zeros(4)))
    first = plan(t(np.zeros(4)))
    first.eliminate_zeros()
    np.testing.assert_array_equal(plan(t(np.ones(4))).toarray(), dense_hessian(rosenbrock, t(np.ones(4))))


def test_without_scipy_there_are_numbers(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    plan = dg.sparse_hessian(rosenbrock).prepare(t(np.ones(4)))
    np.testing.assert_array_equal(plan.values(t(np.ones(4)))[:3], [802, -400, -400])
    with pytest.raises(ImportError, match=r"dualgrad\[scipy\]"):
        plan(t(np.ones(4)))
    with pytest.raises(ImportError, match=r"dualgrad\[scipy\]"):
        dg.sparse_hessian(rosenbrock)(t(np.ones(4)))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dg.sparse_hessian(3), TypeError, "expected a function"),
        (lambda: dg.sparse_jacobian(rosenbrock, mode="sideways"), ValueError, "mode"),
        (lambda: dg.sparse_hessian(rosenbrock, mode="columns"), ValueError, "auto, entries, stars"),
        (lambda: dg.sparse_hessian(rosenbrock, mode="entries", pattern=np.eye(3)), ValueError, "finds the pattern"),
        (lambda: dg.sparse_hessian(branching, mode="entries")(t([1.0, 2.0])), ValueError, "without branches"),
        (lambda: dg.sparse_jacobian(rosenbrock, (0, 0)), ValueError, "each once"),
        (lambda: dg.sparse_jacobian(rosenbrock, ordering="random"), ValueError, "ordering"),
        (lambda: dg.sparse_hessian(rosenbrock)(Tensor([1, 2, 3])), TypeError, "float type"),
        (lambda: dg.sparse_hessian(rosenbrock)(), TypeError, "missing"),
        (lambda: dg.sparse_hessian(rosenbrock).prepare(t(np.ones(3)))(t(np.ones(4))), ValueError, "prepared for"),
        (lambda: dg.sparse_hessian(rosenbrock).prepare(t(np.ones(3)))(), ValueError, "1 arguments"),
        (lambda: dg.sparse_jacobian(lambda x: 3)(t(np.ones(3))), TypeError, "expected a Tensor"),
        (lambda: dg.sparse_jacobian(lambda x: x / x.sum())(t(np.ones(20_000))), ValueError, "dense"),
        (lambda: dg.sparse_jacobian(lambda x: x * np.random.rand(3))(t(np.ones(3))), ValueError, "two calls"),  # noqa: NPY002
        (lambda: dg.vmap(dg.sparse_jacobian(lambda x: x * x).prepare)(t(np.ones((2, 3)))), TypeError, "outside"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_plan_does_not_depend_on_what_becomes_an_error():
    """Filters of warnings and NumPy's treatment of errors change no pattern."""
    x = Tensor(np.linspace(0.5, 1.5, 6))
    plan = dg.sparse_hessian(lambda x: (x[1:] * x[:-1]).sum()).prepare(x)
    expected = plan(x).toarray()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        np.testing.assert_array_equal(plan(x).toarray(), expected)
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(plan(x).toarray(), expected)
