"""`scipy.optimize.minimize` under MindSpore's signature, against solutions that are known."""

import numpy as np
import pytest
from support import assert_close, assert_raises

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.scipy.optimize import linear_sum_assignment, minimize

MATRIX = np.array([[3.0, 1.0, 0.0], [1.0, 4.0, -1.0], [0.0, -1.0, 2.0]])
RIGHT = np.array([1.0, -2.0, 0.5])
# By name: a function, its start, further arguments, and the solution.
PROBLEMS = {
    "quadratic": (lambda x, b: 0.5 * (x @ Tensor(MATRIX).astype(x.dtype) @ x) - (b.astype(x.dtype) * x).sum(),
                  np.zeros(3), (Tensor(RIGHT),), np.linalg.solve(MATRIX, RIGHT)),
    "rosenbrock": (lambda x: (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum(),
                   np.full(4, 1.5), (), np.ones(4)),
}  # fmt: skip


@pytest.mark.parametrize("given", [False, True], ids=["gradient computed", "gradient given"])
@pytest.mark.parametrize("method", ["BFGS", "LBFGS", "lbfgs"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_solutions(name, method, given):
    func, start, args, expected = PROBLEMS[name]
    calls = []

    def jac(x, *args):
        calls.append(1)
        return dg.grad(func)(x, *args)

    result = minimize(func, Tensor(start), args, method, jac if given else None, options={"gtol": 1e-6})
    assert (result.success, result.status, result.x.dtype, len(calls)) == (True, 0, dg.float64, given * result.njev)
    assert_close(result.x, expected, rtol=1e-5)  # the gradient there is 1e-6 and no slope changes by less than 0.3
    assert_close(result.fun, func(result.x, *args), rtol=1e-12, scale=1.0)
    assert_close(result.jac, dg.grad(func)(result.x, *args), rtol=1e-12, scale=1.0)
    assert (result.hess_inv is None) == (method != "BFGS")
    assert result.nfev >= result.nit > 0


def test_the_inverse_of_the_hessian_is_estimated():
    func, start, args, _ = PROBLEMS["quadratic"]
    result = minimize(func, Tensor(start), args, "BFGS", options={"gtol": 1e-6})
    assert_close(result.hess_inv, np.linalg.inv(MATRIX), rtol=1e-2, scale=1.0)


@pytest.mark.parametrize("method", ["BFGS", "LBFGS"])
def test_points_are_of_the_type_of_the_start(method):
    func, start, args, expected = PROBLEMS["quadratic"]
    seen = set()

    def watched(x, b):
        seen.add(x.dtype)
        return func(x, b)

    result = minimize(watched, Tensor(start, dg.float32), args, method, options={"gtol": 1e-4})
    assert {result.x.dtype, result.fun.dtype, result.jac.dtype, *seen} == {dg.float32}
    assert_close(result.x, expected.astype(np.float32), rtol=1e-3, scale=1.0)


@pytest.mark.parametrize("method", ["BFGS", "LBFGS"])
def test_iterations_are_limited(method):
    func, start, _, _ = PROBLEMS["rosenbrock"]
    result = minimize(func, Tensor(start), method=method, options={"maxiter": 2, "gtol": None})
    assert (result.success, result.nit) == (False, 2)
    assert result.status != 0


def test_parameters_are_assigned_by_the_function():
    """A program may write each point into its Parameters, and give the gradient by them."""
    dense = nn.Dense(2, 1, has_bias=False)
    points, values = Tensor(np.eye(2, dtype=np.float32)), Tensor([[2.0], [-3.0]])

    def loss():
        return ((dense(points) - values) ** 2).sum()

    def assigned(function):
        def inner(x):
            ops.assign(dense.weight, x.reshape(1, 2))
            return function()

        return inner

    slope = dg.grad(loss, None, dense.trainable_params())
    result = minimize(assigned(loss), ops.zeros(2), (), "lbfgs", assigned(lambda: slope()[0].reshape(2)))
    assert_close(result.x, np.array([2.0, -3.0], np.float32), rtol=1e-4)


def square(x):
    return (x * x).sum()


REFUSED = {
    "no method": (ValueError, lambda: minimize(square, ops.ones(2)), "'BFGS' or 'LBFGS'"),
    "another method": (ValueError, lambda: minimize(square, ops.ones(2), method="LAGRANGE"), "LAGRANGE"),
    "args": (TypeError, lambda: minimize(square, ops.ones(2), 3, "BFGS"), "args must be a tuple"),
    "option": (TypeError, lambda: minimize(square, ops.ones(2), method="BFGS", options={"steps": 1}), "steps"),
    "start": (TypeError, lambda: minimize(square, ops.ones((2, 2)), method="BFGS"), "vector"),
    "integers": (TypeError, lambda: minimize(square, Tensor([1, 2]), method="BFGS"), "floats"),
    "several numbers": (ValueError, lambda: minimize(lambda x: x, ops.ones(2), method="BFGS"), "one element"),
    **{name: (ValueError, lambda name=name: minimize(square, ops.ones(2), method="BFGS", **{name: [1]}), name)
       for name in ("hess", "hessp", "bounds", "constraints", "tol", "callback")},
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(*case)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (0, 3)])
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_assignment(dtype, shape, maximize):
    costs = (100 * np.random.default_rng(2).standard_normal(shape)).astype(dtype)
    solver = pytest.importorskip("scipy.optimize").linear_sum_assignment
    for found, expected in zip(linear_sum_assignment(Tensor(costs), maximize), solver(costs, maximize), strict=True):
        assert_close(found, expected)
    rows, columns = linear_sum_assignment(Tensor(costs), maximize, Tensor(1))
    best = solver(costs[:, :1], maximize)
    padding = np.full(min(shape) - len(best[0]), -1)
    assert_close(rows, np.concatenate([best[0], padding]))
    assert_close(columns, np.concatenate([best[1], padding]))


def test_derivatives_beside_an_assignment():
    costs = Tensor([[4.0, 1.0], [2.0, 0.5]], dg.float64)
    total = lambda c: c[linear_sum_assignment(c, False)].sum()
    assert_close(dg.grad(total)(costs), np.array([[0.0, 1.0], [1.0, 0.0]]))


def test_wrong_assignments():
    assert_raises(TypeError, lambda: linear_sum_assignment(Tensor([[1.0]]), 1), "maximize", "int")
    assert_raises(ValueError, lambda: linear_sum_assignment(Tensor([1.0]), True), "shape (1,)", "matrix")
    assert_raises(ValueError, lambda: linear_sum_assignment(Tensor([[1.0]]), True, -1), "limit of -1")
