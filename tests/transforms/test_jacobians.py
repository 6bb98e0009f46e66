"""jacfwd and jacrev: against each other, row by row pulls, closed forms; nests, batches, the work they do."""

import contextlib

import numpy as np
import pytest
from support import f64, steps, work
from ways import computed_at_once

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops

RNG = np.random.default_rng(7)
MATRIX = RNG.normal(size=(3, 4))


def by_rows(f, x):
    """The Jacobian from one pull at a time."""
    y, pull = dg.vjp(f, x)
    rows = [pull(f64(row.reshape(y.shape)))[0].asnumpy() for row in np.eye(y.size)]
    return np.array(rows).reshape(y.shape + x.shape)


FUNCTIONS = {
    "elementwise": lambda x: ops.sin(x) * x,
    "one number": lambda x: (ops.exp(x) * MATRIX).sum(),
    "one number of shape (1, 1)": lambda x: ops.tanh(x).sum().reshape((1, 1)),
    "matrix on the left": lambda x: ops.tanh(f64(MATRIX.T) @ x),
    "matrix on the right": lambda x: ops.tanh(x @ f64(MATRIX.T)),
    "both": lambda x: ops.sin(f64(MATRIX.T) @ x @ f64(MATRIX.T)) @ x,
    "a product with itself": lambda x: x @ x.T,
    "a vector of it": lambda x: f64(MATRIX.T) @ x[:, 1] + x.sum(0)[:4],
    "a row of it": lambda x: x[1] @ f64(MATRIX.T),
    "stacks": lambda x: ops.stack((x, ops.cos(x))) @ ops.stack((x.T, x.T * 2.0)),
    "einsum": lambda x: ops.einsum("ij,kj,kl->il", x, f64(MATRIX), ops.exp(x)),
    "gather and sort": lambda x: x.reshape((12,))[ops.argsort(x.reshape((12,)))] ** 2,
    "a constant": lambda x: f64([1.0, 2.0]),
    "a gradient": lambda x: dg.grad(lambda y: ops.sin(y @ y.T).sum())(x),
    "a batch": lambda x: dg.vmap(lambda row: ops.outer(row, ops.sin(row)))(x),
}


@pytest.mark.parametrize("chunk_size", [None, 1, 5, 100])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_ways_against_single_pulls(name, chunk_size):
    f, x = FUNCTIONS[name], f64(RNG.normal(size=(3, 4)))
    expected = by_rows(f, x)
    for jacobian in dg.jacfwd, dg.jacrev:
        found = jacobian(f, chunk_size=chunk_size)(x)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (0,), (2, 0), (70,), (7, 11), (1, 65)])
def test_shapes_of_the_input(shape):
    """One number, none at all, and more than go into the first batch."""
    x = f64(RNG.normal(size=shape))
    f = lambda x: ops.stack((ops.sin(x), x * x))
    diagonal = np.concatenate([np.cos(x.asnumpy()).ravel(), 2 * x.asnumpy().ravel()])
    expected = (diagonal[:, None] * np.tile(np.eye(x.size), (2, 1))).reshape((2, *shape, *shape))
    for jacobian in dg.jacfwd, dg.jacrev:
        np.testing.assert_allclose(jacobian(f)(x).asnumpy(), expected, rtol=1e-14)
        np.testing.assert_allclose(dg.jit(jacobian(f))(x).asnumpy(), expected, rtol=1e-14)


@pytest.mark.parametrize("jacobian", [dg.jacfwd, dg.jacrev])
def test_nests_of_outputs_and_inputs(jacobian):
    """Output structure, then input structure; what holds no tensor is left out."""
    x, y, z = f64([1.0, 2.0]), f64([[3.0]]), f64(2.0)
    f = lambda p, q, z: {"a": (p["x"] * z, None), "b": [p["y"][0] * q.sum(), (z**3,)]}
    found = jacobian(f, (0, 2))({"x": x, "y": [y], "no": None}, y, z)
    assert list(found) == ["a", "b"]
    (of_a,) = found["a"]
    (by_p, by_z) = of_a
    np.testing.assert_array_equal(by_p["x"].asnumpy(), 2 * np.eye(2))
    np.testing.assert_array_equal(by_p["y"][0].asnumpy(), np.zeros((2, 1, 1)))
    assert list(by_p) == ["x", "y"]
    np.testing.assert_array_equal(by_z.asnumpy(), [1.0, 2.0])
    by_p, by_z = found["b"][0]
    np.testing.assert_array_equal(by_p["y"][0].asnumpy(), [[[[3.0]]]])
    np.testing.assert_array_equal(found["b"][1][0][1].asnumpy(), 12.0)


class Affine(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(f64([[1.0, 2.0], [3.0, 4.0]]), name="w")
        self.b = Parameter(f64([0.5, -0.5]), name="b")

    def construct(self, x):
        return x @ self.w + self.b * self.b


@pytest.mark.parametrize("jacobian", [dg.jacfwd, dg.jacrev])
def test_weights(jacobian):
    cell, x = Affine(), f64([2.0, 5.0])
    by_w = np.einsum("i,jk->jik", x.asnumpy(), np.eye(2))
    by_b = np.diag([1.0, -1.0])
    same = np.testing.assert_array_equal
    same(jacobian(cell, None, weights=cell.w)(x).asnumpy(), by_w)
    found = jacobian(cell, 0, weights=ParameterTuple([cell.b, cell.w]))(x)
    same(found[0].asnumpy(), cell.w.asnumpy().T)
    same(found[1][0].asnumpy(), by_b)
    same(found[1][1].asnumpy(), by_w)
    assert isinstance(jacobian(cell, None, weights=[cell.w])(x), tuple)
    # a parameter that is an input as well; one that is frozen; one that is changed between two calls
    same(jacobian(lambda w: w * cell.w, 0, weights=cell.w)(cell.w)[1].asnumpy()[1, 0], [[0.0, 0.0], [3.0, 0.0]])
    derivative = jacobian(cell, None, weights=[cell.w, cell.b])
    cell.b.set_data(f64([3.0, 4.0]))
    same(derivative(x)[1].asnumpy(), np.diag([6.0, 8.0]))
    cell.w.requires_grad = False
    same(derivative(x)[0].asnumpy(), np.zeros((2, 2, 2)))
    same(jacobian(lambda w: w * 2.0)(cell.w).asnumpy(), np.zeros((2, 2, 2, 2)))


def test_a_derivative_by_weights_inside_one_by_weights():
    """The inner one reads the values that stand for the parameters in the outer one."""
    cell, x = Affine(), f64([2.0, 5.0])
    gradient = lambda x: dg.grad(lambda x: (cell(x) ** 3).sum(), None, cell.w)(x)
    expected = dg.jacrev(lambda w: dg.grad(lambda w: ((x @ w + cell.b * cell.b) ** 3).sum())(w))(cell.w).asnumpy()
    for jacobian in dg.jacfwd, dg.jacrev:
        np.testing.assert_allclose(jacobian(gradient, None, weights=cell.w)(x).asnumpy(), expected, rtol=1e-14)
    through = lambda x: dg.jacfwd(cell, None, weights=cell.b)(x).sum()
    np.testing.assert_array_equal(dg.grad(through, None, cell.b)(x).asnumpy(), [2.0, 2.0])


@pytest.mark.parametrize("jacobian", [dg.jacfwd, dg.jacrev, dg.hessian])
def test_further_outputs(jacobian):
    x = f64([1.0, 2.0])
    _, other = jacobian(lambda x: (x.sum() ** 2, x * 2.0), has_aux=True)(x)
    np.testing.assert_array_equal(other.asnumpy(), [2.0, 4.0])
    _, others = jacobian(lambda x: (x.sum() ** 2, "text", {"y": x}), has_aux=True)(x)
    assert others[0] == "text"
    np.testing.assert_array_equal(others[1]["y"].asnumpy(), [1.0, 2.0])
    # their own values can be differentiated further out
    outer = dg.grad(lambda x: (jacobian(lambda y: (y.sum() ** 2, y * x), has_aux=True)(x)[1]).sum())(x)
    np.testing.assert_array_equal(outer.asnumpy(), [2.0, 4.0])


@pytest.mark.parametrize("dtype", [dg.float16, dg.float32, dg.float64, dg.complex64, dg.complex128])
@pytest.mark.parametrize("jacobian", [dg.jacfwd, dg.jacrev])
def test_types(jacobian, dtype):
    x = Tensor([1.0, 2.0], dtype)
    found = jacobian(lambda x: x * x * x)(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.asnumpy(), np.diag([3.0, 12.0]))


def test_types_of_a_mixture():
    """Forwards a column is a change of the output, backwards a row is one of the input."""
    f = lambda x: x.astype(dg.float64) * 2.0
    assert dg.jacfwd(f)(Tensor([1.0, 2.0])).dtype == dg.float64
    assert dg.jacrev(f)(Tensor([1.0, 2.0])).dtype == dg.float32
    integers = dg.jacfwd(lambda n: n * n)(Tensor([1, 2]))
    np.testing.assert_array_equal(integers.asnumpy(), [[2, 0], [0, 4]])
    assert integers.dtype == dg.int64


def test_complex_derivatives_that_are_none():
    z, x = Tensor(np.array([1 + 2j])), f64([1.0])
    for jacobian in dg.jacfwd, dg.jacrev:
        with pytest.raises(TypeError, match=r"real values has no complex derivative"):
            jacobian(lambda z: ops.abs(z))(z)
    with pytest.raises(TypeError, match="use jacfwd"):
        dg.jacrev(lambda x: ops.Complex()(x, x * x))(x)
    np.testing.assert_array_equal(dg.jacfwd(lambda x: ops.Complex()(x, x * x))(x).asnumpy(), [[1 + 2j]])


# ------------------------------------------------------------------------------------------------------------- work


def test_what_does_not_depend_on_the_direction_is_computed_once():
    """One sine, its slope and one product with the basis, however many directions there are."""
    f = lambda x: ops.sin(x)
    for n in 2, 50, 200:
        found = work(dg.jacfwd(f, chunk_size=n), f64(np.ones(n)))
        assert sorted(found) == ["absorb_mul", "cos"], found
    many = work(dg.jacfwd(lambda x: ops.exp(ops.sin(x)), chunk_size=20), f64(np.ones(100)))
    assert many.count("sin") == many.count("cos") == many.count("exp") == 1
    assert many.count("absorb_mul") == 10


def test_products_of_a_shared_matrix_with_a_batch_are_one_product():
    x, m = f64(np.ones(50)), f64(RNG.normal(size=(30, 50)))
    vectors = f64(RNG.normal(size=(8, 50)))
    matmuls = [s for s in steps(lambda v: dg.vmap(lambda v: m @ v)(v), vectors) if s[0] == "matmul"]
    assert matmuls == [("matmul", "(8, 30)")]
    matmuls = [s for s in steps(lambda v: dg.vmap(lambda v: v @ m.T)(v), vectors) if s[0] == "matmul"]
    assert matmuls == [("matmul", "(8, 30)")]
    matmuls = [
        s
        for s in steps(lambda v: dg.vmap(lambda v: m @ v.reshape((5, 50, 1)))(v), f64(RNG.normal(size=(8, 250))))
        if s[0] == "matmul"
    ]
    assert matmuls == [("matmul", "(40, 30)")]
    # a batch of unit vectors picks columns: no product at all
    assert work(dg.jacfwd(lambda x: m @ x), x) == []
    assert work(dg.jacrev(lambda x: m @ x), x) == []


@pytest.mark.parametrize(("first", "rows"), [(0, 7), (0, 3), (4, 3), (6, 1)])
def test_rows_of_the_identity_keep_their_mark_only_while_they_are_rows(first, rows):
    """Whatever happens to a batch of unit vectors before it meets a matrix."""
    m = f64(RNG.normal(size=(7, 7)))
    changes = [
        lambda v: v,
        lambda v: v.reshape((1, 7)),
        lambda v: v.reshape((7, 1)).T,
        lambda v: v[::-1],
        lambda v: v[1:],
        lambda v: v * 2.0,
        lambda v: -v,
        lambda v: ops.cat((v, v)),
        lambda v: ops.stack((v, v)),
        lambda v: ops.roll(v, 1, 0),
        lambda v: ops.expand_dims(v, 0).T,
        lambda v: v.astype(dg.float32).astype(dg.float64),
    ]
    from dualgrad._engine.transforms.vmap import basis

    x = f64(np.zeros(7))
    for change in changes:
        each = [change(f64(row)) for row in np.eye(7)[first : first + rows]]
        n = each[0].shape[-1]
        square = f64(RNG.normal(size=(n, n))) if n != 7 else m
        expected = np.array([(v @ square).asnumpy() for v in each])
        found = dg.vmap(lambda v, change=change, square=square: change(v) @ square)(basis(x, first, rows))
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-14)


def test_infinite_entries_are_picked_exactly():
    """Zero times infinity does not come in: the other directions do not move."""
    m = f64([[np.inf, 1.0], [np.nan, 2.0]])
    np.testing.assert_array_equal(dg.jacfwd(lambda x: m @ x)(f64([1.0, 1.0])).asnumpy(), m.asnumpy())


@pytest.mark.eager("counts calls")
@pytest.mark.parametrize("at_once", [True, False], ids=["computed at once", "deferred"])
def test_the_size_of_batches_follows_their_cost(monkeypatch, at_once):
    """Batches whose arrays stay in cache, or one program of all directions, where they are not too many."""
    from dualgrad.transforms import jacobians

    sizes = []
    run = jacobians.run_vmap

    def noted(name, fn, args, *rest):
        sizes.append(args[0].shape[0])
        return run(name, fn, args, *rest)

    monkeypatch.setattr(jacobians, "run_vmap", noted)
    monkeypatch.setattr(jacobians, "CACHE_BYTES" if at_once else "BATCH_BYTES", 40 * 8 * 1000)
    wide = lambda x: ops.sin(x[:1] * ops.ones((1000,), dg.float64)) * x.sum()
    with computed_at_once() if at_once else contextlib.nullcontext():
        dg.jacfwd(wide)(f64(np.ones(100)))
        assert sizes == [16, 40, 40, 4]
        sizes.clear()
        dg.jacfwd(lambda x: x * x)(f64(np.ones(100)))  # small arrays are computed at once in any case
        assert sizes == [16, 84]
        sizes.clear()
        monkeypatch.undo()
        monkeypatch.setattr(jacobians, "run_vmap", noted)
        dg.jacfwd(wide)(f64(np.ones(100)))
        assert sizes == ([16, 65, 19] if at_once else [16, 100])


# ----------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("transform", [dg.jacfwd, dg.jacrev, dg.hessian])
def test_errors(transform):
    name = transform.__name__
    f = lambda x: x * x
    for arguments, error, words in (
        ((3,), TypeError, "a function or Cell"),
        ((f, "0"), TypeError, "grad_position is '0'"),
        ((f, -1), ValueError, "count from 0"),
        ((f, None), ValueError, "nothing to differentiate"),
        ((f, 0, 1), TypeError, "has_aux is 1"),
    ):
        with pytest.raises(error, match=rf"{name}: .*{words}"):
            transform(*arguments)
    for size, error in ((0, ValueError), (2.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match=f"{name}: chunk_size"):
            transform(f, chunk_size=size)
    with pytest.raises(IndexError, match=f"{name}: .*beyond the 1 positional"):
        transform(f, 1)(f64([1.0]))
    with pytest.raises(TypeError, match=f"{name}: grad_position 0 is 3.*make it a float"):
        transform(f)(3)
    with pytest.raises(TypeError, match=f"{name}: weights"):
        transform(f, weights=f64([1.0]))
    with pytest.raises(ValueError, match=f"{name}: has_aux=True"):
        transform(f, has_aux=True)(f64([1.0]))
