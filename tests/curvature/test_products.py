"""Operators and products against dense matrices: functions and Cells x tools x types x eager and recorded."""

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse.linalg import cg, eigsh

import dualgrad as dg
from dualgrad import Parameter, Tensor, curvature, nn, ops

TOLERANCE = {"float32": 3e-4, "float64": 1e-11}


def numbers(shape, dtype, seed=0):
    return Tensor(np.random.default_rng(seed).normal(size=shape) * 0.5, getattr(dg, dtype))


class Network(nn.Cell):
    """Two layers with a tanh between them, in one type."""

    def __init__(self, dtype):
        super().__init__()
        self.w1 = Parameter(numbers((3, 4), dtype, 1), name="w1")
        self.b1 = Parameter(numbers((4,), dtype, 2), name="b1")
        self.w2 = Parameter(numbers((4, 2), dtype, 3), name="w2")

    def construct(self, x):
        return ops.matmul(ops.tanh(ops.matmul(x, self.w1) + self.b1), self.w2)


class Problem:
    """A model by its variables, its inputs, and where the variables are."""

    def __init__(self, model, args, grad_position, weights):
        self.model, self.args = model, args
        self.by = {"grad_position": grad_position, "weights": weights}

    def jacobian(self, fn):
        """Rows for the elements of the result, columns for the variables, by `jacrev`."""
        found = dg.jacrev(fn, self.by["grad_position"], weights=self.by["weights"])(*self.args)
        leaves = found if isinstance(found, tuple) else (found,)
        rows = fn(*self.args).size
        return np.concatenate([x.asnumpy().reshape(rows, -1) for x in leaves], 1).astype(np.float64)

    def hessian(self, fn):
        """The matrix, by `hessian`."""
        found = dg.hessian(fn, self.by["grad_position"], weights=self.by["weights"])(*self.args)
        rows = found if isinstance(found, tuple) else ((found,),)
        sizes = [round(np.sqrt(row[i].size)) for i, row in enumerate(rows)]
        blocks = [
            [x.asnumpy().reshape(m, n) for x, n in zip(row, sizes, strict=True)]
            for row, m in zip(rows, sizes, strict=True)
        ]
        return np.block(blocks).astype(np.float64)


def of_one_array(dtype):
    def model(w, x):
        return ops.stack([ops.exp(0.3 * w[0] * x) * w[1], ops.sin(w[2] * x) + w[3] * w[0]], -1)

    return Problem(model, (numbers((4,), dtype), numbers((5,), dtype, 9)), 0, None)


def of_two_arrays(dtype):
    def model(x, a, b):
        return ops.tanh(x @ a) * b

    args = (numbers((5, 3), dtype, 8), numbers((3, 2), dtype), numbers((2,), dtype, 4))
    return Problem(model, args, (1, 2), None)


def of_weights(dtype):
    net = Network(dtype)
    return Problem(net, (numbers((6, 3), dtype, 7),), None, net.trainable_params())


PROBLEMS = {"array": of_one_array, "arrays": of_two_arrays, "weights": of_weights}


def log_loss(logits, labels):
    return -(labels * ops.log_softmax(logits, -1)).sum()


def hessian_tool(problem, dtype):
    fn = lambda *args: (problem.model(*args) ** 2).sum() + ops.exp(problem.model(*args)).mean()
    return curvature.hessian_operator(fn, **problem.by), problem.hessian(fn), {}


def gauss_newton_tool(problem, dtype):
    outputs = problem.model(*problem.args)
    labels = Tensor(np.eye(2)[np.arange(outputs.size // 2) % 2], outputs.dtype)
    middle = np.asarray(dg.hessian(log_loss)(outputs, labels).asnumpy(), np.float64)
    J = problem.jacobian(problem.model)
    expected = J.T @ middle.reshape(outputs.size, -1) @ J
    return curvature.gauss_newton_operator(log_loss, problem.model, **problem.by), expected, {"targets": (labels,)}


def fisher_tool(likelihood):
    def tool(problem, dtype):
        """The expectation over all labels, for outputs that are independent of each other."""
        outputs, J = problem.model(*problem.args).asnumpy().astype(np.float64), problem.jacobian(problem.model)
        settings = {"variance": 0.3} if likelihood == "gaussian" else {}
        if likelihood == "categorical":  # scores e_y - p, weighted by p_y
            p = np.exp(outputs) / np.exp(outputs).sum(-1, keepdims=True)
            blocks = [sum(row[y] * np.outer(np.eye(2)[y] - row, np.eye(2)[y] - row) for y in range(2)) for row in p]
            middle = np.kron(np.eye(len(p)), np.ones((2, 2))) * np.block([[b for _ in p] for b in blocks])
        elif likelihood == "bernoulli":
            p = 1 / (1 + np.exp(-outputs.ravel()))
            middle = np.diag(p * (1 - p) ** 2 + (1 - p) * p**2)
        else:
            middle = np.diag(np.exp(outputs.ravel()) if likelihood == "poisson" else np.full(outputs.size, 1 / 0.3))
        operator = curvature.fisher_operator(problem.model, likelihood, **problem.by, **settings)
        return operator, J.T @ middle @ J, {}

    return tool


def empirical_tool(problem, dtype):
    losses = lambda *args: (problem.model(*args) ** 2).sum(-1)
    J = problem.jacobian(losses)
    return curvature.empirical_fisher_operator(losses, **problem.by), J.T @ J, {}


TOOLS = {
    "hessian": hessian_tool,
    "gauss_newton": gauss_newton_tool,
    **{name: fisher_tool(name) for name in ("gaussian", "categorical", "bernoulli", "poisson")},
    "empirical": empirical_tool,
}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("tool", TOOLS)
def test_products_are_those_of_the_matrix(tool, problem, dtype):
    problem = PROBLEMS[problem](dtype)
    at, expected, settings = TOOLS[tool](problem, dtype)
    scale = TOLERANCE[dtype] * np.abs(expected).max()
    A = at(*problem.args, **settings)
    assert A.shape == expected.shape
    assert A.dtype == getattr(dg, dtype)
    assert np.allclose(A.dense().asnumpy(), expected, rtol=0, atol=scale)
    v = np.random.default_rng(5).normal(size=(A.size, 3))
    for x in (v, v[:, 0], Tensor(v), Tensor(v[:, 0].astype(np.float32))):
        plain = x.asnumpy() if isinstance(x, Tensor) else x
        found = A @ x
        assert found.dtype == A.dtype
        assert np.allclose(found.asnumpy(), expected @ plain, rtol=0, atol=10 * scale)
    direction = A.space.nest(Tensor(v[:, 1], A.dtype))
    flat = A.space.vector(A.space.flattened(A(direction), "product"))
    assert np.allclose(flat.asnumpy(), expected @ v[:, 1], rtol=0, atol=10 * scale)
    recorded = dg.jit(lambda x, *args: at(*args, **settings) @ x)
    for _ in range(4):
        again = recorded(Tensor(v, A.dtype), *problem.args).asnumpy()
        assert np.allclose(again, expected @ v, rtol=0, atol=10 * scale)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_single_products_are_those_of_the_operators(problem):
    problem = PROBLEMS[problem]("float64")
    squares = lambda out: (out**4).sum()
    losses = lambda *args: (problem.model(*args) ** 2).sum(-1)
    pairs = (
        (curvature.gauss_newton_product, curvature.gauss_newton_operator, (squares, problem.model)),
        (curvature.fisher_product, curvature.fisher_operator, (problem.model, "poisson")),
        (curvature.empirical_fisher_product, curvature.empirical_fisher_operator, (losses,)),
    )
    for product, operator, first in pairs:
        A = operator(*first, **problem.by)(*problem.args)
        v = A.space.nest(Tensor(np.arange(1.0, A.size + 1)))
        expected = A.space.vector(A.space.flattened(A(v), "product")).asnumpy()
        for made in (product(*first, **problem.by), copy.copy(product(*first, **problem.by))):
            for found in (made(*problem.args, v), made(*problem.args, v=v)):
                assert np.array_equal(A.space.vector(A.space.flattened(found, "product")).asnumpy(), expected)
    with pytest.raises(TypeError, match="direction is missing"):
        curvature.empirical_fisher_product(losses)()


def test_the_gauss_newton_matrix_is_the_hessian_where_the_model_is_linear():
    x, y = numbers((8, 3), "float64", 1), numbers((8,), "float64", 2)
    loss, model = lambda out, y: ops.logsumexp(out, 0) + (out - y).sum(), lambda w, x: x @ w
    w = numbers((3,), "float64")
    A = curvature.gauss_newton_operator(loss, model)(w, x, targets=y).dense()
    B = dg.hessian(lambda w: loss(model(w, x), y))(w)
    assert np.allclose(A.asnumpy(), B.asnumpy(), rtol=1e-12, atol=1e-13)


def test_the_variables_may_be_any_pytree():
    point = {"a": numbers((2,), "float64"), "b": (numbers((), "float64", 1), "name")}
    fn = lambda p: (p["a"] ** 3).sum() * ops.exp(p["b"][0])
    A = curvature.hessian_operator(fn)(point)
    flat = lambda z: (z[:2] ** 3).sum() * ops.exp(z[2])
    expected = dg.hessian(flat)(ops.concat([point["a"], point["b"][0].reshape((1,))])).asnumpy()
    assert np.allclose(A.dense().asnumpy(), expected, rtol=1e-13)
    product = A(A.space.nest(Tensor(np.array([1.0, 2.0, 3.0]))))
    assert np.allclose(product["a"].asnumpy(), (expected @ [1.0, 2.0, 3.0])[:2])


def test_types_may_be_mixed():
    x, y = numbers((2,), "float32"), numbers((3,), "float64")
    A = curvature.hessian_operator(lambda x, y: (x**2).sum() * (y**2).sum(), (0, 1))(x, y)
    assert A.dtype == dg.float64
    assert [part.dtype for part in A((x, y))] == [dg.float32, dg.float64]


def test_an_operator_belongs_to_its_point():
    w = Parameter(Tensor([2.0], dg.float64), name="w")
    A = curvature.hessian_operator(lambda: (w**3).sum(), weights=w)()
    w.set_data(Tensor([5.0], dg.float64))
    assert (A @ np.ones(1)).item() == 12.0


def test_frozen_weights_are_constants():
    w = Parameter(Tensor([2.0, 1.0], dg.float64), name="w")
    c = Parameter(Tensor([3.0], dg.float64), name="c", requires_grad=False)
    A = curvature.hessian_operator(lambda: (w**2).sum() * (c**2).sum(), weights=[w, c])()
    assert np.allclose(A.dense().asnumpy(), np.diag([18.0, 18.0, 0.0]))


def test_scipy_takes_them():
    problem = of_weights("float64")
    at, expected, settings = gauss_newton_tool(problem, "float64")
    A = at(*problem.args, **settings)
    found = eigsh(curvature.as_linear_operator(A), k=3, return_eigenvectors=False)
    assert np.allclose(np.sort(found), np.linalg.eigvalsh(expected)[-3:])
    damped = curvature.symmetric_operator(lambda v: A @ v + 0.1 * v, Tensor(np.zeros(A.size)))
    b = np.ones(A.size)
    x, info = cg(curvature.as_linear_operator(damped), b, rtol=1e-12)
    assert info == 0
    assert np.allclose(x, np.linalg.solve(expected + 0.1 * np.eye(A.size), b))
    of_float32 = curvature.as_linear_operator(np.eye(3, dtype=np.float32))
    assert of_float32.dtype == np.float32


def test_operators_of_matrices_are_differentiable():
    matrix = Tensor(np.array([[2.0, 1.0], [1.0, 3.0]]))
    f = lambda m: ((curvature.symmetric_operator(m) @ np.array([1.0, 2.0])) ** 2).sum()
    v, Av = np.array([1.0, 2.0]), matrix.asnumpy() @ [1.0, 2.0]
    assert np.allclose(dg.grad(f)(matrix).asnumpy(), np.outer(Av, v) + np.outer(v, Av))


def test_functions_of_products_are_pickled():
    again = pickle.loads(pickle.dumps(curvature.hessian_operator(ops.exp)))
    assert np.allclose(again(np.array([0.0, 1.0])).dense().asnumpy(), np.diag(np.exp([0.0, 1.0])))


def test_what_cannot_be_is_refused():
    x = Tensor([1.0, 2.0])
    square = lambda x: (x * x).sum()
    cases = (
        (lambda: curvature.hessian_operator(3), TypeError, "expected a function or Cell"),
        (lambda: curvature.hessian_operator(square)(Tensor([1 + 2j])), TypeError, "expected real floats"),
        (lambda: curvature.hessian_operator(square)(x) @ np.ones(3), ValueError, r"expected \(2,\), or \(2, k\)"),
        (
            lambda: curvature.hessian_operator(square)(x) @ np.arange(2),
            TypeError,
            "int64; expected a Tensor or floating",
        ),
        (lambda: curvature.hessian_operator(square)(x)((x, x)), TypeError, "direction holds a tuple"),
        (lambda: curvature.hessian_operator(square)(x)(np.ones(3)), ValueError, r"shape \(3,\); expected \(2,\)"),
        (lambda: curvature.hessian_operator(square)(x)(np.ones(2)), TypeError, "Float64; expected Float32"),
        (lambda: curvature.hessian_operator(square, weights=[])(x), ValueError, "nothing to differentiate by"),
        (lambda: curvature.hessian_operator(square)(np.zeros(0)), ValueError, "have no elements"),
        (lambda: curvature.gauss_newton_operator(lambda o: o, lambda x: x)(x), ValueError, "one element"),
        (lambda: curvature.fisher_operator(square, "cauchy"), ValueError, "expected one of gaussian"),
        (lambda: curvature.fisher_operator(square, "gaussian", variance=0.0), ValueError, "expected a positive number"),
        (lambda: curvature.fisher_operator(lambda x: (x, x), "gaussian")(x), TypeError, "expected one Tensor"),
        (lambda: curvature.symmetric_operator(np.ones((2, 3))), ValueError, r"expected \(n, n\)"),
        (lambda: curvature.symmetric_operator(np.array([[0.0, 1.0], [2.0, 0.0]])), ValueError, "its transpose"),
        (lambda: curvature.symmetric_operator("A"), TypeError, "expected an operator, a square matrix"),
        (lambda: curvature.symmetric_operator(square), TypeError, "needs `like`"),
    )
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            call()


@pytest.mark.parametrize("likelihood", ["categorical", "bernoulli", "poisson"])
def test_a_variance_belongs_to_gaussians(likelihood):
    for variance in (2.0, Tensor([1.0, 2.0])):
        with pytest.raises(ValueError, match="expected one for 'gaussian' only"):
            curvature.fisher_operator(lambda w: w, likelihood, variance=variance)
