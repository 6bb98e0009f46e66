"""Every row of the table of primitives: engines that share no code agree, order by order.

The tests iterate over the rows; a new elementwise row is tested without an edit here. Points are drawn from
the domain the row declares, its ends approached but not touched.
"""

import math

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._engine.algebra import jets, run_forward
from dualgrad._engine.tensor import OPCODES, apply
from dualgrad._table import BY_NAME, ROWS

SMOOTH = [row for row in ROWS if row.family == "elementwise" and row.partials]
CONSTANT = [row for row in ROWS if row.family == "constant" and row.partials]


def t(x):
    return Tensor(np.asarray(x, np.float64))


def samples(row, size=24):
    """Points inside the domain of each operand: a bulk, and approaches to its finite ends."""
    rng = np.random.default_rng(len(row.name) * 1009 + row.arity)
    nearness = np.array([0.01, 0.05, 0.95, 0.99])
    points = []
    for low, high in row.domain:
        low, high = max(low, -4.0), min(high, 4.0)
        bulk = rng.uniform(low, high, size - 4)
        width = high - low
        ends = low + width * (nearness + 0.003 * rng.random(4))
        points.append(rng.permutation(np.concatenate([bulk, ends])))
    return points


def primitive(row):
    code = OPCODES[row.name]
    return lambda *xs: apply(code, None, *xs)


def ids(rows):
    return [row.name for row in rows]


def close(got, expected, rtol):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * max(scale, 1e-300) * 1e-2)


@pytest.mark.parametrize("row", SMOOTH, ids=ids(SMOOTH))
def test_reverse_forward_and_differences_agree_in_first_order(row):
    f, points = primitive(row), samples(row)
    for i in range(row.arity):
        tensors = [t(p) for p in points]
        reverse = dg.grad(f, i)(*tensors).asnumpy()

        def along(x, i=i, tensors=tensors):
            return f(*tensors[:i], x, *tensors[i + 1 :])

        forward = dg.jvp(along, tensors[i], ops.ones_like(tensors[i]))[1].asnumpy()
        close(forward, reverse, 1e-14)
        low, high = row.domain[i]
        h = 1e-6 * np.minimum(1.0, np.minimum(points[i] - low, high - points[i]))
        rough = (along(t(points[i] + h)).asnumpy() - along(t(points[i] - h)).asnumpy()) / (2 * h)
        close(rough, reverse, 1e-4)


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("row", SMOOTH, ids=ids(SMOOTH))
def test_nested_gradients_duals_and_jets_agree(row, order):
    f, points = primitive(row), samples(row)
    for i in range(row.arity):
        tensors = [t(p) for p in points]

        def along(x, i=i, tensors=tensors):
            return f(*tensors[:i], x, *tensors[i + 1 :])

        reverse = forward = along
        for _ in range(order):
            reverse = dg.grad(reverse)
            forward = lambda x, g=forward: dg.jvp(g, x, ops.ones_like(x))[1]
        jet = run_forward("jet", jets(order), along, [[tensors[i], ops.ones_like(tensors[i])] + [None] * (order - 1)])
        reverse, forward = reverse(tensors[i]).asnumpy(), forward(tensors[i]).asnumpy()
        top = jet[order].asnumpy() * math.factorial(order) if jet[order] is not None else np.zeros_like(reverse)
        assert np.isfinite(reverse).all()
        close(forward, reverse, 1e-12)
        close(top, reverse, 1e-11)


@pytest.mark.parametrize("row", SMOOTH, ids=ids(SMOOTH))
def test_operands_broadcast_and_gradients_come_back_in_their_shapes(row):
    f, points = primitive(row), samples(row)
    shapes = [(4, 1, 3), (2, 3), (1,)]
    tensors = [t(np.resize(p, shapes[k])) for k, p in enumerate(points)]
    full = np.broadcast_shapes(*[x.shape for x in tensors])
    assert f(*tensors).shape == full
    gradients = dg.grad(f, tuple(range(row.arity)))(*tensors)
    gradients = gradients if row.arity > 1 else (gradients,)
    wide = [t(np.broadcast_to(x.asnumpy(), full)) for x in tensors]
    whole = dg.grad(f, tuple(range(row.arity)))(*wide)
    whole = whole if row.arity > 1 else (whole,)
    for x, g, w in zip(tensors, gradients, whole, strict=True):
        assert g.shape == x.shape
        lead = len(full) - x.ndim
        axes = tuple(range(lead)) + tuple(lead + k for k in range(x.ndim) if x.shape[k] == 1 and full[lead + k] != 1)
        close(g.asnumpy(), w.asnumpy().sum(axis=axes).reshape(x.shape), 1e-13)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("row", SMOOTH, ids=ids(SMOOTH))
def test_narrow_types_stay_narrow_and_agree_with_float64(row, dtype):
    f = primitive(row)
    points = [p.astype(dtype) for p in samples(row)]
    out = f(*[Tensor(p) for p in points])
    assert out.dtype == dtype
    wide = f(*[t(p.astype(np.float64)) for p in points]).asnumpy()
    eps = np.finfo(dtype).eps
    close(out.asnumpy().astype(np.float64), wide, 40 * eps)
    gradient = dg.grad(f)(*[Tensor(p) for p in points])
    assert gradient.dtype == dtype
    exact = dg.grad(f)(*[t(p.astype(np.float64)) for p in points]).asnumpy()
    close(gradient.asnumpy().astype(np.float64), exact, 400 * eps)


@pytest.mark.parametrize("row", CONSTANT, ids=ids(CONSTANT))
def test_constant_rows_have_slope_zero(row):
    if row.name.startswith(("bitwise", "logical")):
        operand = Tensor(np.array([True, False]))
        assert apply(OPCODES[row.name], None, *[operand] * row.arity).shape == (2,)
        return
    f, x = primitive(row), t([1.5, -2.5])
    weighted = lambda *xs: ops.sum(f(*xs).astype(dg.float64) * xs[0])
    got = dg.grad(weighted)(*[x] * row.arity).asnumpy()
    np.testing.assert_array_equal(got, f(*[x] * row.arity).asnumpy().astype(np.float64))


def test_every_row_is_complete():
    for row in ROWS:
        assert row.summary, f"{row.name} has no summary"
        if row.family == "elementwise" and row.partials:
            assert row.c or row.ufunc, f"{row.name} has no kernel"
            assert len(row.domain) == row.arity == len(row.partials)
    assert len(BY_NAME) == len(ROWS) <= len(OPCODES)


def test_public_names_of_the_rows_exist():
    for row in ROWS:
        if row.function:
            assert callable(getattr(ops, row.function)), row.function
        if row.cls:
            assert callable(getattr(ops, row.cls)), row.cls
        if row.method:
            assert callable(getattr(Tensor, row.method)), row.method
