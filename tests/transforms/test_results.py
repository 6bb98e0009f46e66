"""What a function that is differentiated returns: a tensor, or a nest with one in it.

Anything else raises, since its derivative would be a zero that nobody asked for. The table of transforms is crossed
with the table of results; beside a tensor the same results change nothing.
"""

import gc

import numpy as np
import pytest
from support import assert_close, f64

import dualgrad as dg
from dualgrad import nn, ops

X = f64([1.0, 2.0])


class Own(nn.Cell):
    """A Cell with a rule of its own that returns what a function makes of its input."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def construct(self, x):
        return self.f(x)

    def bprop(self, x, out, dout):
        return (x,)


class Unknown:
    """A class nobody has registered, with a tensor in it."""

    def __init__(self, x):
        self.x = x


def generated(x):
    yield x * x


async def awaited(x):
    return x * x


async def streamed(x):
    yield x * x


#: what comes: (function, words that the message has beside the name of the transform)
RESULTS = {
    "float": (lambda x: x.sum().item(), ("a float", "cut", "return a Tensor")),
    "int": (lambda x: 3, ("an int", "return a Tensor")),
    "complex": (lambda x: 3j, ("a complex", "return a Tensor")),
    "bool": (lambda x: bool(x.sum() > 0), ("a bool", "return a Tensor")),
    "ndarray": (lambda x: x.asnumpy() ** 2, ("ndarray", "cut", "return a Tensor")),
    "NumPy number": (lambda x: x.asnumpy()[0], ("a float64", "cut", "return a Tensor")),
    "None": (lambda x: None, ("None", "return")),
    "str": (lambda x: "text", ("a str",)),
    "generator": (generated, ("a generator", "tuple or list")),
    "coroutine": (awaited, ("a coroutine", "await")),
    "async generator": (streamed, ("an async_generator", "tuple or list")),
    "function": (lambda x: lambda y: x * y, ("a function",)),
    "class": (lambda x: Unknown, ("a type",)),
    "object": (Unknown, ("an Unknown", "register_pytree")),
    "empty tuple": (lambda x: (), ("a tuple of 0",)),
    "empty dict": (lambda x: {}, ("a dict",)),
    "numbers": (lambda x: (3.0, [None, {"a": 2}]), ("a tuple of 2", "without a Tensor", "cut")),
}

WEIGHT = dg.Parameter(np.array([1.0]), name="weight")

#: transforms of a function of one tensor, by the name that messages have
TRANSFORMS = {
    "grad": lambda f: dg.grad(f)(X),
    "grad of weights": lambda f: dg.grad(f, None, [WEIGHT])(X),
    "grad with aux": lambda f: dg.grad(lambda x: (f(x), x), has_aux=True)(X),
    "grad twice": lambda f: dg.grad(dg.grad(f))(X),
    "value_and_grad": lambda f: dg.value_and_grad(f)(X),
    "GradOperation": lambda f: ops.GradOperation()(f)(X),
    "GradOperation of all": lambda f: ops.GradOperation(get_all=True, get_by_list=True)(f, [WEIGHT])(X),
    "vjp": lambda f: dg.vjp(f, X),
    "jvp": lambda f: dg.jvp(f, X, X),
    "jvp in grad": lambda f: dg.grad(lambda x: dg.jvp(f, x, x)[1])(X),
    "jacrev": lambda f: dg.jacrev(f)(X),
    "jacfwd": lambda f: dg.jacfwd(f)(X),
    "hessian": lambda f: dg.hessian(f)(X),
    "hvp": lambda f: dg.hvp(f)(X, X),
    "linearize": lambda f: dg.linearize(f, X),
    "jet": lambda f: dg.jet(f, X, f64([[1.0, 1.0], [0.0, 0.0]])),
    "derivative": lambda f: dg.derivative(f, X, 2),
    "laplacian": lambda f: dg.laplacian(f)(X),
    "biharmonic": lambda f: dg.biharmonic(f)(X),
    "mixed_partial": lambda f: dg.mixed_partial(f, (1, 1))(X),
    "linear_operator": lambda f: dg.linear_operator({(2, 0): 1.0})(f)(X),
    "derivatives": lambda f: dg.derivatives(f, {"u": (0, 0), "u_x": (1, 0)})(X),
    "divergence": lambda f: dg.divergence(f)(X),
    "sparsity": lambda f: dg.sparsity.jacobian_pattern(f, X),
    "sparse_jacobian": lambda f: dg.sparse_jacobian(f)(X),
    "sparse_hessian": lambda f: dg.sparse_hessian(f)(X),
    "a rule of its own in grad": lambda f: dg.grad(lambda x: (x, Own(f)(x)))(X),
    "a rule of its own in jvp": lambda f: dg.jvp(lambda x: (x, Own(f)(x)), X, X),
}
NAMES = {
    "sparse_jacobian": "sparsity",
    "sparse_hessian": "grad",
    "a rule of its own in grad": "Own",
    "a rule of its own in jvp": "Own",
}


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_result_without_a_tensor_is_refused(transform, result):
    f, words = RESULTS[result]
    called = NAMES.get(transform, transform.split()[0])
    with pytest.raises(TypeError) as caught:
        TRANSFORMS[transform](f)
    message = str(caught.value)
    assert "returned" in message, message
    assert "expected" in message, message
    assert message.startswith(f"{called}: "), message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "GradOperation", "vjp", "jvp", "hessian", "jet"])
def test_the_same_in_a_recorded_function(transform, result):
    f, _ = RESULTS[result]
    recorded = dg.jit(lambda x: TRANSFORMS[transform](f))
    for _ in range(3):
        with pytest.raises(TypeError, match="returned"):
            recorded(X)


#: what stands beside a tensor, and counts for nothing
BESIDE = {name: f for name, (f, _) in RESULTS.items() if name not in ("coroutine",)}

#: (transform of a function, what it gives for x * x beside anything)
DERIVATIVES = {
    "grad": (lambda f: dg.grad(f)(X), 2 * X.asnumpy()),
    "GradOperation": (lambda f: ops.GradOperation()(f)(X), 2 * X.asnumpy()),
    "vjp": (lambda f: dg.grad(f, sens_param=True)(X, (X, None)), 2 * X.asnumpy() ** 2),
    "jvp": (lambda f: dg.jvp(f, X, X)[1][0], 2 * X.asnumpy() ** 2),
    "jacrev": (lambda f: dg.jacrev(f)(X)[0], np.diag(2 * X.asnumpy())),
    "jacfwd": (lambda f: dg.jacfwd(f)(X)[0], np.diag(2 * X.asnumpy())),
    "hvp": (lambda f: dg.hvp(f)(X, X), 2 * X.asnumpy()),
    "linearize": (lambda f: dg.linearize(f, X)[1](X)[0], 2 * X.asnumpy() ** 2),
    "derivative": (lambda f: dg.derivative(f, X, 2)[1][0], np.full(2, 2.0)),
}


@pytest.mark.parametrize("result", BESIDE)
@pytest.mark.parametrize("transform", DERIVATIVES)
def test_beside_a_tensor_it_counts_for_nothing(transform, result):
    compute, expected = DERIVATIVES[transform]
    if result in ("float", "bool", "ndarray", "NumPy number") and transform in ("jacfwd", "jacrev", "hvp"):
        other = lambda x: 3.0  # the numbers of x cannot be taken out of a batch
    else:
        other = BESIDE[result]
    assert_close(compute(lambda x: (x * x, other(X))), expected)


@pytest.mark.eager("compares objects")
@pytest.mark.parametrize("thing", [2.5, None, "text", Unknown(X), np.ones(2), len], ids=lambda x: type(x).__name__)
def test_the_value_keeps_it(thing):
    (_, kept), gradient = dg.value_and_grad(lambda x: (x * x, thing))(X)
    assert kept is thing
    assert_close(gradient, 2 * X.asnumpy())


@pytest.mark.parametrize("constant", [lambda x: X, lambda x: x > 0, lambda x: (3.0, x > 0), lambda x: dg.Tensor(3)])
def test_constant_tensors_and_truth_values_give_zeros(constant):
    assert_close(dg.grad(constant)(X), np.zeros(2))
    assert_close(dg.grad(dg.grad(constant))(X), np.zeros(2))


# -------------------------------------------------------------------------------------------------------------- vmap

#: (what a function returns for a sample of X, what is expected for both)
NUMBERS = {
    "float": (lambda x: 3.5, np.array([3.5, 3.5], np.float32)),
    "int": (lambda x: 3, np.array([3, 3])),
    "bool": (lambda x: True, np.array([True, True])),
    "complex": (lambda x: 1j, np.array([1j, 1j], np.complex64)),
    "ndarray": (lambda x: np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0, 3.0]] * 2)),
    "NumPy number": (lambda x: np.float64(0.1), np.array([0.1, 0.1])),
    "nest": (lambda x: (x, [2.0, None]), (np.array([1.0, 2.0]), [np.array([2.0, 2.0], np.float32), None])),
}


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_the_result_of_every_sample(number):
    f, expected = NUMBERS[number]
    assert_close(dg.vmap(f)(X), expected)
    if number != "nest":
        nested = dg.vmap(lambda x: dg.vmap(f)(x * X))(X)
        assert_close(nested, np.stack([expected] * 2))


NO_NUMBER = [name for name in RESULTS if name not in (*NUMBERS, "numbers")]


@pytest.mark.parametrize("result", NO_NUMBER)
def test_vmap_refuses_what_is_no_number(result):
    f, words = RESULTS[result]
    with pytest.raises(TypeError, match="vmap: the function returned") as caught:
        dg.vmap(f)(X)
    for word in words:
        assert word in str(caught.value)


def test_vmap_says_that_numbers_differ_from_sample_to_sample():
    with pytest.raises(ValueError, match="sample"):
        dg.vmap(lambda x: x.item())(X)


def test_a_derivative_of_numbers_beside_samples():
    f = lambda w: (dg.vmap(lambda x: (w * x, 2.0))(X)[1] * w).sum()
    assert_close(dg.grad(f)(f64(3.0)), 4.0)


# ------------------------------------------------------------------------------------------------------ what else comes


def test_a_coroutine_is_closed():
    """No warning says that it was never awaited."""
    with pytest.raises(TypeError, match="coroutine"):
        dg.grad(awaited)(X)
    gc.collect()


def test_a_cell_with_its_own_rule_may_return_anything_where_nothing_is_differentiated():
    assert Own(lambda x: "text")(X) == "text"
