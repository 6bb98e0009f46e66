"""Products and joins of NumPy with operands of two types: values, types, derivatives are those of the common type."""

import itertools

import numpy as np
import pytest
from cases import normal

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor
from dualgrad.dtype import promote

CALLS = {
    "dot": lambda m, x, y: m.dot(x, y),
    "dot of vectors": lambda m, x, y: m.dot(x[0], y[0]),
    "dot with a number": lambda m, x, y: m.dot(x[0, 0], y),
    "inner": lambda m, x, y: m.inner(x, y),
    "vdot": lambda m, x, y: m.vdot(x, y),
    "outer": lambda m, x, y: m.outer(x, y),
    "matmul": lambda m, x, y: m.matmul(x, y),
    "operator": lambda m, x, y: x @ y,
    "tensordot": lambda m, x, y: m.tensordot(x, y, 1),
    "einsum": lambda m, x, y: m.einsum("ij,jk->ik", x, y),
    "kron": lambda m, x, y: m.kron(x, y),
    "convolve": lambda m, x, y: m.convolve(x[0], y[0]),
    "concatenate": lambda m, x, y: m.concatenate([x, y]),
    "stack": lambda m, x, y: m.stack([x, y]),
    "append": lambda m, x, y: m.append(x, y),
    "where": lambda m, x, y: m.where(np.eye(2) > 0, x, y),
}
JOINS = ("concatenate", "stack", "append", "where")
TYPES = ["float32", "float64", "complex64", "complex128", "int64"]


def operands(a, b):
    """Numbers that each type holds exactly."""
    real = [np.round(4 * normal(2, 2, seed=seed)) for seed in (0, 1)]
    imaginary = [np.round(4 * normal(2, 2, seed=seed)) for seed in (2, 3)]
    parts = zip((a, b), real, imaginary, strict=True)
    return [(x + 1j * y if "complex" in name else x).astype(name) for name, x, y in parts]


@pytest.mark.parametrize(("a", "b"), [pair for pair in itertools.product(TYPES, TYPES) if pair[0] != pair[1]])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_types(name, a, b):
    call, (x, y) = CALLS[name], operands(a, b)
    found = call(mnp, Tensor(x), Tensor(y))
    assert found.dtype is promote(dg.dtype.as_dtype(a), dg.dtype.as_dtype(b))
    np.testing.assert_array_equal(found.asnumpy(), call(np, x, y))


@pytest.mark.parametrize(("a", "b"), [("float32", "float64"), ("float64", "complex128"), ("complex64", "float64")])
@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name, a, b):
    """Gradients have the types of the operands, and the numbers that operands converted beforehand give."""
    call, (x, y) = CALLS[name], operands(a, b)
    common = promote(dg.dtype.as_dtype(a), dg.dtype.as_dtype(b)).numpy
    loss = lambda x, y: mnp.sum(mnp.real(call(mnp, x, y) ** 2))
    found = dg.grad(loss, (0, 1))(Tensor(x), Tensor(y))
    expected = dg.grad(loss, (0, 1))(Tensor(x.astype(common)), Tensor(y.astype(common)))
    for gradient, wide, given in zip(found, expected, (x, y), strict=True):
        assert gradient.dtype == given.dtype
        wide = wide.asnumpy() if np.iscomplexobj(given) else wide.asnumpy().real
        np.testing.assert_array_equal(gradient.asnumpy(), wide.astype(given.dtype))
    # Euler: the gradient of the square of a product is of degree three in both operands, that of a join of degree one
    degree = 1 if name in JOINS else 3
    second = dg.jvp(dg.grad(loss), (Tensor(x), Tensor(y)), (Tensor(x), Tensor(y)))[1]
    assert second.dtype == x.dtype
    np.testing.assert_allclose(second.asnumpy(), degree * found[0].asnumpy(), rtol=1e-6)
