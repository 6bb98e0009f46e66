"""Calls with thousands of tensors take time in proportion: as arguments, captured, returned, or in all of it.

Each form runs eagerly, is recorded twice and replayed, at two sizes.
"""

import gc
import time
import warnings

import numpy as np
import pytest
from engine import forget_programs

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn

pytestmark = pytest.mark.eager("records by itself")

SMALL, LARGE = 1500, 12_000
#: of the times; what is quadratic comes to the square of the sizes' ratio, 64
MOST = 28.0


def total(tensors):
    result = tensors[0]
    for x in tensors[1:]:
        result = result + x
    return result


def squares(tensors):
    return total([x * x for x in tensors])


def tensors(n):
    return [Tensor([float(k)]) for k in range(n)]


def parameters(n):
    return [Parameter(np.ones(1), name=f"p{k}") for k in range(n)]


def named(xs):
    return {f"k{i}": x for i, x in enumerate(xs)}


def assigned(ps, x):
    for p in ps:
        p.set_data(p + x)
    return x


ONE = [Tensor([1.0])]

#: of n: a function, and its arguments
FORMS = {
    "arguments": lambda n: (lambda *xs: total(xs), tensors(n)),
    "a list of arguments": lambda n: (total, [tensors(n)]),
    "a dict of arguments": lambda n: (lambda xs: total(list(xs.values())), [named(tensors(n))]),
    "arguments that are parameters": lambda n: (lambda *xs: total(xs), parameters(n)),
    "captured in a list": lambda n: ((lambda xs: lambda x: x + total(xs))(tensors(n)), ONE),
    "captured in a dict": lambda n: ((lambda xs: lambda x: x + total(list(xs.values())))(named(tensors(n))), ONE),
    "captured parameters": lambda n: ((lambda xs: lambda x: x + total(xs))(parameters(n)), ONE),
    "results": lambda n: (lambda x: [x * float(k) for k in range(n)], ONE),
    "a dict of results": lambda n: (lambda x: named([x * float(k) for k in range(n)]), ONE),
    "results that were given": lambda n: (lambda *xs: xs[::-1], tensors(n)),
    "numbers in a list": lambda n: ((lambda xs: lambda x: x * sum(xs))([float(k) for k in range(n)]), ONE),
    "numbers as arguments": lambda n: (lambda x, xs: x * sum(xs), [*ONE, [float(k) for k in range(n)]]),
    "gradient by arguments": lambda n: (dg.grad(lambda *xs: squares(xs), tuple(range(n))), tensors(n)),
    "gradient by a list": lambda n: (dg.grad(squares), [tensors(n)]),
    "gradient by parameters": lambda n: (lambda ps: (dg.grad(lambda x: x * squares(ps), None, ps), ONE))(parameters(n)),
    "gradient beside captured": lambda n: (dg.grad((lambda xs: lambda x: x * squares(xs))(tensors(n))), ONE),
    "gradient of a gradient": lambda n: (dg.grad(lambda xs: total(dg.grad(squares)(xs))), [tensors(n)]),
    "jvp": lambda n: (lambda xs: dg.jvp(lambda xs: [x * x for x in xs], (xs,), (xs,)), [tensors(n)]),
    "vjp": lambda n: (lambda xs: dg.vjp(lambda xs: [x * x for x in xs], xs)[1](xs), [tensors(n)]),
    "vmap": lambda n: (dg.vmap(lambda xs: [x * x for x in xs]), [tensors(n)]),
    "assignments": lambda n: ((lambda ps: lambda x: assigned(ps, x))(parameters(n)), ONE),
    "layers": lambda n: (nn.SequentialCell([nn.Tanh() for _ in range(n)]).construct, ONE),
    "an optimiser": lambda n: ((lambda optimizer: lambda *gs: optimizer(gs))(nn.SGD(parameters(n))), tensors(n)),
}


def seconds(call):
    """The processor's time for a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def times(form, n):
    """Eagerly, recorded, recorded again, replayed: the least of a few each."""
    function, arguments = FORMS[form](n)
    rounds = []
    for _ in range(4):
        forget_programs()
        recorded = dg.jit(function)
        calls = [function, *[recorded] * 3]
        rounds.append([seconds(lambda call=call: call(*arguments)) for call in calls])
    forget_programs()
    return np.array(rounds).min(axis=0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", FORMS)
def test_time_grows_in_proportion(form):
    gc.collect()
    gc.disable()  # a collection looks at all objects there are, at times of its own
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # all of them are replayed
            small, large = times(form, SMALL), times(form, LARGE)
    finally:
        gc.enable()
    ratios = large / np.maximum(small, 1e-3)
    assert (ratios < MOST).all(), f"eager, recorded twice, replayed: {small} s for {SMALL}, {large} s for {LARGE}"
