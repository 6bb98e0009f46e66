"""Memory that a NumPy array shares with a tensor: an operator reads what is there when it runs, in every mode.

The array is written to between calls, in the middle of a call, between a function and its derivative, and before a
result is read. What comes is what the same program gives with a copy of the array at each operator.
"""

import itertools
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


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("caller", CALLERS)
def test_between_calls(setting, caller, reader):
    """The shared tensor is captured, an argument, or both; Python may read it."""
    read = READERS[reader]
    for how in ("captured", "argument", "both", "looked at", "looked at and argument"):
        array = fresh(1)
        t = Tensor.from_numpy(array)
        x = Tensor(fresh(2))
        f, given = {
            "captured": (lambda x: read(t) * x.sum(), x),
            "argument": (lambda x: read(x), t),
            "both": (lambda x: read(x) + read(t), t),
            "looked at": (lambda x: read(t) * float(t[0]) * x.sum(), x),
            "looked at and argument": (lambda x: read(x) * float(t.asnumpy()[1]), t),
        }[how]
        call = CALLERS[caller](f)
        grad = CALLERS[caller](dg.grad(lambda x: ops.sum(f(x))))
        for k in (1, 1, 1, 1, 2, 2, 3, 1, 1):
            array[:] = fresh(k)
            where = f"{how}, {k}"
            plain, at = fresh(k), Tensor(fresh(k)) if given is t else x
            t_now = t
            t = Tensor(plain)
            expected, slope = numbers(f(at)), numbers(dg.grad(lambda x: ops.sum(f(x)))(at))
            t = t_now
            found, found_slope = call(given), grad(given)
            array[:] = -1.0  # before the results are read
            same(found, expected, where)
            same(found_slope, slope, where)


@pytest.mark.parametrize("reader", READERS)
def test_between_a_function_and_its_derivative(setting, reader):
    read = READERS[reader]
    for captured, transform in itertools.product((False, True), ("vjp", "linearize", "hvp")):
        array = fresh(1)
        t = Tensor.from_numpy(array)
        x = Tensor(fresh(1))
        f = (lambda x: read(t) * x.sum()) if captured else read
        copied = Tensor(fresh(1))
        right = (lambda x: read(copied) * x.sum()) if captured else read
        given = x if captured else t

        def pulled(f, at, write, transform=transform):
            if transform == "vjp":
                y, pull = dg.vjp(f, at)
                write()
                return y, pull(ops.ones_like(y))
            if transform == "linearize":
                y, push = dg.linearize(f, at)
                write()
                return y, push(Tensor(np.ones(N)))
            y, pull = dg.vjp(dg.grad(lambda x: ops.sum(f(x))), at)
            write()
            return y, pull(ops.ones_like(y))

        def flat(nest):
            return [t for part in nest for t in (part if isinstance(part, tuple | list) else [part])]

        expected = numbers(flat(pulled(right, x if captured else copied, lambda: None)))
        same(flat(pulled(f, given, lambda: array.fill(7.0))), expected, f"{captured}, {transform}")


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
