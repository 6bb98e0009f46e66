"""Products with sparse matrices of SciPy: every format on both sides, types, errors (derivatives: tests/cases)."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from support import assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Tensor, ops

RNG = np.random.default_rng(11)
DENSE = RNG.standard_normal((4, 5)) * (RNG.random((4, 5)) < 0.5)
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_the_operator_ends_in_our_hands_on_both_sides(form, kind):
    """A conversion of the Tensor by SciPy would cut the derivative off: d/dx of c . (A x) is c A."""
    matrix = getattr(sparse, f"{form}_{kind}")(DENSE)
    for shape in ((5,), (5, 1), (5, 3), (2, 5, 3)):
        x = RNG.standard_normal(shape)
        ways = [lambda t: matrix @ t, lambda t: dg.sparse.matmul(matrix, t)]
        ways += [] if len(shape) > 2 else [lambda t: matrix.dot(t)]
        for product in ways:
            found = product(Tensor(x))
            assert isinstance(found, Tensor)
            np.testing.assert_allclose(found.asnumpy(), DENSE @ x, rtol=1e-13, atol=1e-14)
            gradient = dg.grad(lambda t, product=product: ops.sum(product(t)))(Tensor(x)).asnumpy()
            expected = DENSE.sum(0) if x.ndim == 1 else np.broadcast_to(DENSE.sum(0)[:, None], shape)
            np.testing.assert_allclose(gradient, expected, rtol=1e-13, atol=1e-14)
    for shape in ((4,), (1, 4), (3, 4), (2, 3, 4)):
        x = RNG.standard_normal(shape)
        for product in (lambda t: t @ matrix, lambda t: dg.sparse.matmul(t, matrix)):
            np.testing.assert_allclose(product(Tensor(x)).asnumpy(), x @ DENSE, rtol=1e-13, atol=1e-14)
            gradient = dg.grad(lambda t, product=product: ops.sum(product(t)))(Tensor(x)).asnumpy()
            np.testing.assert_allclose(gradient, np.broadcast_to(DENSE.sum(1), shape), rtol=1e-13, atol=1e-14)


def test_what_scipy_would_do_with_the_numbers_is_an_error_while_they_are_differentiated():
    a, x = sparse.csr_array(DENSE), f64(np.ones((4, 5)))
    made = [lambda x, make=make: make(x) for make in (sparse.csc_array, sparse.coo_matrix)]
    for function in (lambda x: a * x, lambda x: x * a, lambda x: a.multiply(x), *made):
        assert isinstance(function(x), sparse.sparray | sparse.spmatrix)
        with pytest.raises(dg.LeavesDerivativeError, match=r"Use A @ x or functions of dualgrad\.sparse"):
            dg.grad(function)(x)


def test_entries_are_differentiated():
    a = sparse.csr_array(DENSE)
    x = RNG.standard_normal((5, 2))
    c = RNG.standard_normal((4, 2))

    def loss(data, x):
        return ops.sum(Tensor(c) * dg.sparse.csr_matmul(data, a.indices, a.indptr, a.shape, x))

    by_data, by_x = dg.grad(loss, (0, 1))(Tensor(a.data), Tensor(x))
    rows, columns = a.tocoo().coords
    np.testing.assert_allclose(by_data.asnumpy(), (c @ x.T)[rows, columns], rtol=1e-13)
    np.testing.assert_allclose(by_x.asnumpy(), DENSE.T @ c, rtol=1e-13)
    mapped = dg.vmap(dg.grad(loss), in_axes=(0, None))(Tensor(np.stack([a.data, 2 * a.data])), Tensor(x))
    np.testing.assert_allclose(mapped.asnumpy(), np.stack([by_data.asnumpy()] * 2), rtol=1e-13)


def test_many_entries_are_taken_in_blocks():
    n, k = 300, 1000
    a = sparse.random_array((n, n), density=0.01, rng=1, format="csr")
    u, v = RNG.standard_normal((2, n, k))
    loss = lambda data: ops.sum(Tensor(u) * dg.sparse.csr_matmul(data, a.indices, a.indptr, a.shape, Tensor(v)))
    rows, columns = a.tocoo().coords
    np.testing.assert_allclose(dg.grad(loss)(Tensor(a.data)).asnumpy(), np.sum(u[rows] * v[columns], 1), rtol=1e-11)


def test_batches_of_matrices_and_of_operands():
    a = sparse.csr_array(DENSE)
    data, xs = RNG.standard_normal((3, a.nnz)), RNG.standard_normal((3, 5))
    product = lambda data, x: dg.sparse.csr_matmul(data, a.indices, a.indptr, a.shape, x)
    dense = [sparse.csr_array((row, a.indices, a.indptr), a.shape).toarray() for row in data]
    for n in (1, 3):  # a batch of one is a batch, too
        for axes, expected in (
            ((0, 0), [d @ x for d, x in zip(dense[:n], xs, strict=False)]),
            ((0, None), [d @ xs[0] for d in dense[:n]]),
            ((None, 0), [dense[0] @ x for x in xs[:n]]),
        ):
            args = [Tensor(v[:n] if axis == 0 else v[0]) for v, axis in zip((data, xs), axes, strict=True)]
            np.testing.assert_allclose(dg.vmap(product, axes)(*args).asnumpy(), expected, rtol=1e-13, atol=1e-14)


def test_products_are_recorded():
    """Warnings are errors here: a function that could not be recorded would warn."""
    matrices = [sparse.csr_array(DENSE[:, :4]).asformat(form) for form in ("csr", "csc", "coo")]
    function = dg.jit(dg.grad(lambda x: sum(ops.sum((m @ x) ** 2 + x @ m) for m in matrices)))
    square = DENSE[:, :4]
    for x in RNG.standard_normal((4, 4)):
        expected = 3 * (2 * square.T @ square @ x + square.sum(1))
        np.testing.assert_allclose(function(f64(x)).asnumpy(), expected, rtol=1e-12)


def test_types_and_sizes():
    a = sparse.csr_array(DENSE)
    assert (a @ f32(np.ones(5))).dtype == dg.float64
    assert (a.astype(np.float32) @ f32(np.ones(5))).dtype == dg.float32
    assert (a.astype(np.int8) @ f32(np.ones(5))).dtype == dg.float32
    assert (a @ Tensor([1, 2, 3, 4, 5])).dtype == dg.float64
    assert ((a * 1j) @ f64(np.ones(5))).dtype == dg.complex128
    half = a.astype(np.float32) @ Tensor(np.ones(5, np.float16))
    assert half.dtype == dg.float32
    assert (a.astype(bool) @ Tensor(np.ones(5, np.float16))).dtype == dg.float16
    found = dg.grad(lambda x: ops.real(ops.sum((a * (1 + 1j)) @ x)))(f64(np.ones(5)))
    np.testing.assert_allclose(found.asnumpy(), DENSE.sum(0))
    for m, n, k in ((0, 5, 2), (4, 0, 2), (4, 5, 0)):
        empty = sparse.csr_array((m, n))
        assert (empty @ f64(np.ones((n, k)))).shape == (m, k)
        assert (f64(np.ones((k, m))) @ empty).shape == (k, n)


def test_errors():
    a, x = sparse.csr_array(DENSE), f64(np.ones(5))
    csr = lambda data, indices, indptr, shape=(2, 2): dg.sparse.csr_matmul(
        f64(data), indices, indptr, shape, f64([1.0, 2])
    )
    table = (
        (ValueError, lambda: a @ f64(np.ones(4)), "shapes (4, 5) and (4,) do not multiply", "expected 5 elements"),
        (ValueError, lambda: x @ a, "shapes (5,) and (4, 5) do not multiply", "expected 4 elements"),
        (ValueError, lambda: a @ f64(2.0), "no axes"),
        (ValueError, lambda: dg.sparse.matmul(sparse.coo_array(np.ones(5)), x), "shape (5,)", "two axes"),
        (TypeError, lambda: dg.sparse.matmul(x, x), "got Tensor and Tensor"),
        (TypeError, lambda: dg.sparse.matmul(a, a), "got csr_array and csr_array"),
        (TypeError, lambda: a.astype(int) @ Tensor([1, 2, 3, 4, 5]), "integers"),
        (TypeError, lambda: x @ "a", "str"),
        (ValueError, lambda: csr([1.0], [2], [0, 1, 1]), "no matrix of shape (2, 2)"),
        (ValueError, lambda: csr([1.0], [-1], [0, 1, 1]), "no matrix of shape (2, 2)"),
        (ValueError, lambda: csr([1.0], [0], [0, 1]), "no matrix of shape (2, 2)"),
        (ValueError, lambda: csr([1.0, 2.0], [0], [0, 1, 1]), "2 entries"),
        (ValueError, lambda: csr([[1.0]], [0], [0, 1, 1]), "shape (1, 1)", "expected a vector"),
        (ValueError, lambda: csr([1.0], [0], [0, 1, 1], (2, 2, 2)), "two axes"),
        (TypeError, lambda: csr([1.0], [0.5], [0, 1, 1]), "indices has type float64"),
    )  # fmt: skip
    for kind, call, *words in table:
        assert_raises(kind, call, *words)


def test_without_scipy_everything_else_works():
    code = """
import sys
sys.modules["scipy"] = sys.modules["scipy.sparse"] = None
import dualgrad as dg
print(dg.Tensor([[1.0]]) @ dg.Tensor([2.0]))
try:
    dg.sparse.csr_matmul(dg.Tensor([1.0]), [0], [0, 1], (1, 1), dg.Tensor([1.0]))
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[2.]",
        "dualgrad.sparse: this needs SciPy; install it with pip install 'dualgrad[scipy]'",
    ]


@pytest.mark.parametrize("change", ["entries", "array of entries", "places"])
def test_products_are_recorded_and_see_another_matrix(change):
    matrix = sparse.random_array((5, 4), density=0.6, rng=1, format="csr")
    x = Tensor(np.arange(1.0, 5.0))
    product = dg.jit(lambda x: dg.sparse.matmul(matrix, x))
    for k in range(3):
        for _ in range(4):
            np.testing.assert_allclose(product(x).asnumpy(), matrix @ x.asnumpy(), rtol=1e-15)
        if change == "entries":
            matrix.data[0] = 2.0 + k
        elif change == "array of entries":
            matrix.data = matrix.data * 2
        else:
            matrix.indices[:] = (matrix.indices + 1) % 4


def test_a_product_is_the_first_thing_that_a_program_does():
    program = (
        "import dualgrad as dg, numpy as np; from scipy import sparse; m = sparse.csr_array(np.eye(2) * 3.0); "
        "u = dg.Tensor([1.0, 2.0], dg.float64); print((m @ u).tolist(), (u @ m).tolist())"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "[3.0, 6.0] [3.0, 6.0]\n", run.stderr
