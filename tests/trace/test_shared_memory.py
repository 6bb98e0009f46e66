"""Memory that a NumPy array shares with a tensor: an operator reads what is there when it runs, in every mode.

The array is written to between calls, in the middle of a call, between a function and its derivative, and before a
result is read. What comes is what the same program gives with a copy of the array at each operator.
"""

import warnings

import numpy as np
import pytest
from engine import defer_from, forget_programs, synchronize

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

pytestmark = pytest.mark.eager("records by itself")

N = 6
#: what reads the shared tensor
READERS = {
    "product": lambda t: t * t * t,
    "sine": lambda t: ops.sin(t) * t,
    "exp": lambda t: ops.exp(t) * 2.0,
    "reshape": lambda t: ops.reshape(t, (2, 3)).reshape(N) * t,
    "slice": lambda t: t[1:] * t[:-1],
    "transpose": lambda t: (t.reshape(2, 3).T * 2.0).reshape(N) * t,
    "broadcast": lambda t: ops.broadcast_to(t, (2, N)) * t,
    "matmul": lambda t: ops.matmul(t.reshape(2, 3), t.reshape(3, 2)),
    "view only": lambda t: t.reshape(2, 3),
    "sum": lambda t: ops.sum(t * t),
}
SETTINGS = {"synchronous": (True, 1 << 30), "deferred": (False, 8)}


class Calling(nn.Cell):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def construct(self, x):
        return self.f(x)


#: what calls a function: recorded or not
CALLERS = {"as it is": lambda f: f, "Cell": Calling, "jit": dg.jit, "jit of a Cell": lambda f: dg.jit(Calling(f))}


@pytest.fixture(params=SETTINGS)
def setting(request):
    on, nbytes = SETTINGS[request.param]
    former = synchronize(on), defer_from(nbytes)
    forget_programs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    synchronize(former[0])
    defer_from(former[1])


def numbers(nest):
    return [np.array(t.asnumpy()) for t in (nest if isinstance(nest, tuple | list) else [nest])]


def same(found, expected, where):
    for a, b in zip(numbers(found), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=where)


def fresh(k):
    return np.linspace(0.5, 1.5, N) * k


#: how a function gets the shared tensor t -> (the function of an argument, whether t is that)
USES = {
    "captured": (lambda read, t: lambda x: read(t) * x.sum(), False),
    "argument": (lambda read, t: read, True),
    "both": (lambda read, t: lambda x: read(x) + read(t), True),
    "looked at": (lambda read, t: lambda x: read(t) * float(t[0]) * x.sum(), False),
    "looked at and argument": (lambda read, t: lambda x: read(x) * float(t.asnumpy()[1]), True),
}


def summed(f):
    return lambda x: ops.sum(f(x))


@pytest.mark.rotated("reader")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("use", USES)
def test_between_calls(setting, caller, reader, use):
    make, given = USES[use]
    array, x = fresh(1), Tensor(fresh(2))
    t = Tensor.from_numpy(array)
    f = make(READERS[reader], t)
    call, grad = CALLERS[caller](f), CALLERS[caller](dg.grad(summed(f)))
    for k in (1, 1, 1, 1, 2, 2, 3, 1, 1):
        array[:] = fresh(k)
        copied = Tensor(fresh(k))
        right = make(READERS[reader], copied)
        expected = numbers(right(copied if given else x))
        slope = numbers(dg.grad(summed(right))(copied if given else x))
        found, found_slope = call(t if given else x), grad(t if given else x)
        array[:] = -1.0  # before the results are read
        same(found, expected, str(k))
        same(found_slope, slope, str(k))


def by_vjp(f, x, write):
    y, pull = dg.vjp(f, x)
    write()
    return [y, *flat(pull(ops.ones_like(y)))]


def by_linearize(f, x, write):
    y, push = dg.linearize(f, x)
    write()
    return [y, *flat(push(Tensor(np.ones(N))))]


def by_vjp_of_grad(f, x, write):
    return by_vjp(dg.grad(summed(f)), x, write)


def flat(nest):
    return list(nest) if isinstance(nest, tuple | list) else [nest]


@pytest.mark.rotated("reader")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("use", ["captured", "argument"])
@pytest.mark.parametrize("transform", [by_vjp, by_linearize, by_vjp_of_grad])
def test_between_a_function_and_its_derivative(setting, reader, use, transform):
    make, given = USES[use]
    array, x = fresh(1), Tensor(fresh(1))
    t, copied = Tensor.from_numpy(array), Tensor(fresh(1))
    expected = transform(make(READERS[reader], copied), copied if given else x, lambda: None)
    found = transform(make(READERS[reader], t), t if given else x, lambda: array.fill(7.0))
    same(found, numbers(expected), "")


@pytest.mark.rotated("reader")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("caller", CALLERS)
def test_in_the_middle_of_a_call(setting, caller, reader):
    """What is captured is read by each operator; so a function that writes gives what NumPy would."""
    read = READERS[reader]
    array = fresh(1)
    t = Tensor.from_numpy(array)

    def writing(x):
        array[:] = fresh(1)
        first = read(t) * x.sum()
        array[:] = fresh(2)
        return first + read(t) * x.sum()

    one, two = Tensor(fresh(1)), Tensor(fresh(2))
    right = lambda x: read(one) * x.sum() + read(two) * x.sum()
    x = Tensor(fresh(3))
    call, grad = CALLERS[caller](writing), CALLERS[caller](dg.grad(lambda x: ops.sum(writing(x))))
    for k in range(5):
        found, slope = call(x), grad(x)
        array[:] = -1.0
        same(found, numbers(right(x)), str(k))
        same(slope, numbers(dg.grad(lambda x: ops.sum(right(x)))(x)), str(k))


def test_a_result_that_would_be_a_view_is_a_copy(setting):
    array = fresh(1)
    t = Tensor.from_numpy(array)
    results = {name: read(t) for name, read in READERS.items()}
    expected = {name: numbers(read(Tensor(fresh(1)))) for name, read in READERS.items()}
    array[:] = 9.0
    for name, found in results.items():
        same(found, expected[name], name)


def test_a_parameter_that_is_given_a_shared_tensor(setting):
    array = fresh(1)
    w = Parameter(np.ones(N), name="w")
    w.set_data(Tensor.from_numpy(array))
    y, pull = dg.vjp(lambda x: ops.sum(x * w * w), Tensor(fresh(1)))
    expected = numbers(w * w)
    array[:] = 9.0
    found = pull(ops.ones_like(y))
    same(found, expected, "Parameter")
