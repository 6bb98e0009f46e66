"""Numbers and NumPy arrays as inputs: each is taken as a tensor of its type, with every transform, also in nests."""

import numpy as np
import pytest
from support import assert_close, assert_raises

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.testing import Calls

pytestmark = pytest.mark.usefixtures("mode")

SQUARE = np.arange(16.0).reshape(4, 4) / 8

# Name -> an input that is no tensor, and the type it has.
INPUTS = {
    "float": (1.5, dg.float64),
    "np.float16": (np.float16(1.5), dg.float16),
    "np.float32": (np.float32(1.5), dg.float32),
    "np.float64": (np.float64(1.5), dg.float64),
    "array of no axes": (np.array(1.5), dg.float64),
    "float32 array": (np.array([0.5, 1.5, 2.0], np.float32), dg.float32),
    "float64 array": (np.array([0.5, 1.5, 2.0]), dg.float64),
    "empty array": (np.zeros((0,)), dg.float64),
    "matrix": (np.array([[0.5, 1.5], [2.0, 1.0]]), dg.float64),
    "every second": (SQUARE[1, ::2], dg.float64),
    "transposed": (SQUARE[:2, 1:3].T, dg.float64),
    "swapped bytes": (np.array([0.5, 1.5], ">f8"), dg.float64),
    "read only": (np.broadcast_to(np.float64(1.5), (2,)), dg.float64),
    "complex": (1.5 + 0.5j, dg.complex128),
    "np.complex64": (np.complex64(1.5 + 0.5j), dg.complex64),
    "complex array": (np.array([1.0 + 0.5j, 2.0 - 1.0j]), dg.complex128),
}


def like(x, number):
    """A tangent of an input, of its own kind."""
    if isinstance(x, np.ndarray):
        return np.full(x.shape, number, x.dtype.newbyteorder("="))
    return type(x)(number)


def f(x):
    assert isinstance(x, Tensor)
    return x * x * x + x.sum() * x


def total(x):
    return f(x).sum()


# Name -> what is called with an input and two tangents for it.
TRANSFORMS = {
    "grad": lambda x, v, w: dg.grad(f)(x),
    "value_and_grad": lambda x, v, w: dg.value_and_grad(f)(x),
    "grad by two": lambda x, v, w: dg.grad(lambda x, y: f(x) * y, (0, 1))(x, v),
    "grad, the other a constant": lambda x, v, w: dg.grad(lambda y, x: f(x) * y, 1)(3, x),
    "grad with a sensitivity": lambda x, v, w: dg.grad(f, sens_param=True)(x, v),
    "grad with sens": lambda x, v, w: dg.value_and_grad(f, sens_param=True)(x, sens=v),
    "grad of grad": lambda x, v, w: dg.grad(dg.grad(f))(x),
    "jvp": lambda x, v, w: dg.jvp(f, x, v),
    "jvp of two": lambda x, v, w: dg.jvp(lambda x, y: f(x) * y, (x, v), (v, w)),
    "vjp": lambda x, v, w: dg.vjp(f, x)[1](v),
    "vjp of two": lambda x, v, w: dg.vjp(lambda x, y: (f(x), y), x, v)[1](v, w),
    "linearize": lambda x, v, w: dg.linearize(f, x)[1](v),
    "linearize of two": lambda x, v, w: dg.linearize(lambda x, y: f(x) * y, (x, v))[1](v, w),
    "jacfwd": lambda x, v, w: dg.jacfwd(f)(x),
    "jacrev": lambda x, v, w: dg.jacrev(f)(x),
    "hessian": lambda x, v, w: dg.hessian(total)(x),
    "hvp": lambda x, v, w: dg.hvp(total)(x, v),
    "hvp with v": lambda x, v, w: dg.hvp(total, with_value=True)(x, v=v),
    "derivative": lambda x, v, w: ops.derivative(f, x, 3),
    "derivative of two": lambda x, v, w: ops.derivative(lambda x, y: f(x) * y, (x, v), 2),
}


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_numbers_and_arrays_are_tensors_of_their_type(transform, kind):
    x, dtype = INPUTS[kind]
    call = TRANSFORMS[transform]
    given = x, like(x, 0.5), like(x, -2.0)
    as_tensors = [Tensor(np.asarray(a)) for a in given]
    assert as_tensors[0].dtype == dtype
    expected, found = leaves(call(*as_tensors)), leaves(call(*given))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert isinstance(a, Tensor)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def leaves(x):
    if isinstance(x, tuple | list):
        return [leaf for item in x for leaf in leaves(item)]
    if isinstance(x, dict):
        return [leaf for item in x.values() for leaf in leaves(item)]
    return [x]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_derivatives_of_curves(dtype):
    x, series = np.array([0.5, 1.0], dtype), np.array([[1.0, 2.0], [0.5, 0.0], [0.0, 1.0]], dtype)
    expected = ops.jet(f, Tensor(x), Tensor(series))
    for found in (ops.jet(f, x, series), ops.jet(f, (x,), (series,)), ops.jet(f, x, Tensor(series))):
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    assert_close(ops.jet(lambda x: x**3, 2.0, np.array([1.0, 0.0]))[1], [12.0, 12.0], dtype=dg.float64)


def rows(x):
    assert isinstance(x, Tensor)
    return (x[..., 0] ** 3) * x[..., 1] ** 2


def field(x):
    assert isinstance(x, Tensor)
    return x * x * x[..., ::-1]


OPERATORS = {
    "laplacian": dg.laplacian(rows),
    "laplacian, estimated": dg.laplacian(lambda x: (x * x).sum(-1), samples=3),
    "biharmonic": dg.biharmonic(rows),
    "mixed_partial": dg.mixed_partial(rows, (2, 1)),
    "linear_operator": dg.linear_operator({(1, 0): 1, (0, 2): -0.5})(rows),
    "derivatives": dg.derivatives(rows, {"u_x": (1, 0), "u_yy": (0, 2)}),
    "divergence": dg.divergence(field),
    "curl": dg.curl(field),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(2,), (3, 2)], ids=str)
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators(operator, shape, dtype):
    x = np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape).astype(dtype)
    found, expected = leaves(OPERATORS[operator](x)), leaves(OPERATORS[operator](Tensor(x)))
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def test_starts_of_equations():
    for start in (1.0, np.array(1.0)):
        assert_close(dg.root(lambda x, a: x**3 - a, start, 8.0), np.array(2.0), rtol=1e-7)
        assert_close(dg.argmin(lambda x: (x - 2.0) ** 2, start), np.array(2.0), rtol=1e-7)
        assert_close(dg.fixed_point(lambda x: x / 2 + 1, start), np.array(2.0), rtol=1e-7)
    found = dg.linear_solve(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 4.0]))
    assert_close(found, [1.0, 1.0])
    a = Tensor(8.0, dg.float64)
    assert_close(dg.grad(lambda a: dg.root(lambda x, a: x**3 - a, 1.0, a))(a), np.array(1 / 12), rtol=1e-7)


# -------------------------------------------------------------------------------------------------------------- nests


def test_nests_of_numbers_and_arrays():
    def energy(tree):
        (a, b), c = tree["pair"], tree["list"][0]
        assert all(isinstance(x, Tensor) for x in (a, b, c))
        return a * b * (c * c).sum()

    tree = {"pair": (2.0, Tensor(3.0, dg.float64)), "list": [np.array([1.0, 2.0])], "none": None, "text": "kept"}
    expected = {"pair": (15.0, 10.0), "list": [np.array([12.0, 24.0])]}
    assert_close(dg.grad(energy)(tree), expected, dtype=dg.float64)
    assert_close(dg.value_and_grad(energy)(tree)[1], expected, dtype=dg.float64)
    assert_close(dg.vjp(energy, tree)[1](1.0), (expected,), dtype=dg.float64)
    assert_close(dg.jacrev(energy)(tree), expected)
    assert_close(dg.jacfwd(energy)(tree), expected)
    assert_close(dg.hessian(energy)(tree)["pair"][0]["pair"], (0.0, 5.0))
    assert tree["pair"][0] == 2.0
    assert isinstance(tree["list"][0], np.ndarray)


def test_lists_of_numbers():
    product = lambda xs: xs[0] * xs[1] * xs[2]
    assert_close(dg.grad(product)([2.0, 3.0, 4.0]), [12.0, 8.0, 6.0], dtype=dg.float64)
    assert_close(dg.jvp(product, ([2.0, 3.0, 4.0],), ([1.0, 0.0, 0.0],))[1], np.array(12.0))
    assert_close(dg.linearize(product, ([2.0, 3.0, 4.0],))[1]([0.0, 1.0, 0.0]), np.array(8.0))
    assert_close(dg.hvp(product)([2.0, 3.0, 4.0], [1.0, 0.0, 0.0]), [0.0, 4.0, 3.0])


# ------------------------------------------------------------------------------------------- what is refused, or left


INTEGERS = {
    "int": 3,
    "bool": True,
    "np.int32": np.int32(3),
    "np.bool_": np.bool_(True),
    "int array": np.array([1, 2]),
    "bool array": np.array([True, False]),
    "in a list": [1.0, 2],
    "in a dict": {"a": np.array([1.0]), "b": [np.array([1])]},
}
REFUSING = {
    "grad": lambda x: dg.grad(f)(x),
    "value_and_grad": lambda x: dg.value_and_grad(f)(x),
    "jvp": lambda x: dg.jvp(f, (x,), (1.0,)),
    "vjp": lambda x: dg.vjp(f, x),
    "linearize": lambda x: dg.linearize(f, (x,)),
    "jacfwd": lambda x: dg.jacfwd(f)(x),
    "jacrev": lambda x: dg.jacrev(f)(x),
    "hessian": lambda x: dg.hessian(f)(x),
    "hvp": lambda x: dg.hvp(f)(x, 1.0),
    "derivative": lambda x: ops.derivative(f, (x,), 2),
    "jet": lambda x: ops.jet(f, (x,), np.ones(2)),
    "laplacian": lambda x: dg.laplacian(f)(x),
    "divergence": lambda x: dg.divergence(f)(x),
    "root": lambda x: dg.root(f, x),
}


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", REFUSING)
def test_integers_are_refused(name, kind):
    assert_raises(TypeError, lambda: REFUSING[name](INTEGERS[kind]), name, "make it a float", ("int", "bool"))


@pytest.mark.parametrize("other", [None, "text", object], ids=repr)
@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "hvp", "jvp", "linearize"])
def test_what_is_no_number_is_refused(name, other):
    assert_raises(TypeError, lambda: REFUSING[name](other), name, type(other).__name__, "Tensor", "floating number")


def test_tangents_have_the_type_of_their_input():
    single = Tensor([1.0, 2.0])
    for call in (
        lambda: dg.jvp(f, single, np.ones(2)),
        lambda: dg.vjp(f, single)[1](np.ones(2)),
        lambda: dg.linearize(f, single)[1](np.ones(2)),
        lambda: dg.hvp(total)(single, np.ones(2)),
        lambda: dg.grad(f, sens_param=True)(single, np.ones(2)),
    ):
        assert_raises(TypeError, call, "float64", "float32")
    for call in (
        lambda: dg.jvp(f, 1.5, 1),
        lambda: dg.vjp(f, 1.5)[1](1),
        lambda: dg.linearize(f, 1.5)[1](1),
        lambda: dg.hvp(total)(1.5, 1),
        lambda: dg.grad(f, sens_param=True)(1.5, 1),
    ):
        assert_raises(TypeError, call, "make it a float")


@pytest.mark.parametrize("x", [2.0, 2, np.ones(3), np.float32(2.0), [2.0]], ids=repr)
def test_grad_operation_leaves_them_out(x):
    y = Tensor([3.0], dg.float64)
    power = lambda x, y: y * y
    assert_close(ops.GradOperation(get_all=True)(power)(x, y), ([6.0],))
    assert_close(ops.GradOperation()(power)(x, y), [6.0])


# -------------------------------------------------------------------------------------------------------- recordings


def test_changing_numbers_give_their_own_derivatives():
    gradient, jitted = dg.grad(total), dg.jit(dg.grad(total))
    hessian = dg.jit(dg.hessian(total))
    for x in (2.0, 3.0, 4.0, 2.0, -1.0, 0.0, -0.0, 3.0, 5.0):
        for found in (gradient(x), jitted(x)):
            assert_close(found, np.array(3 * x * x + 2 * x), dtype=dg.float64)
        assert_close(hessian(x), np.array(6 * x + 2), dtype=dg.float64)


def test_arrays_that_are_written_to():
    x = np.array([1.0, 2.0])
    gradient, jitted = dg.grad(total), dg.jit(dg.grad(total))
    for k in (1, 1, 1, 1, 2, 2, 2, 2, 3):
        x[0] = k
        for found in (gradient(x), jitted(x)):
            assert_close(found, 3 * x * x + 2 * x.sum(), dtype=dg.float64)
    _, pull = dg.vjp(total, x)
    before = pull(1.0)[0].asnumpy()
    x[1] = 7.0
    assert_close(pull(1.0)[0], before)


@pytest.mark.eager("counts calls")
def test_one_program_for_all_numbers():
    calls = Calls()
    gradient = dg.grad(calls.counted(lambda x: x * x))
    for k in range(10):
        assert_close(gradient(float(k)), np.array(2.0 * k))
    if dg.get_context("mode") == dg.GRAPH_MODE:
        assert len(calls) < 10
