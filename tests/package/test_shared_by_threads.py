"""Threads share tensors, weights and what functions read while one of them changes these.

A writer leaves all elements of a tensor equal, so a reader that sees a mixture, or memory that was freed, is found out.
Threads run in any order, so a number may be any of those that were written.
"""

import copy
import functools
import pickle
import threading

import numpy as np
import pytest
from engine import forget_programs
from support import at_once, f64

import dualgrad as dg
from dualgrad import Parameter, nn, ops

pytestmark = [
    pytest.mark.eager("chooses what is recorded"),
    pytest.mark.usefixtures("own_programs"),
]

READERS, ROUNDS = 2, 40


def one_number(x):
    """The number that all elements of a tensor are."""
    numbers = x.asnumpy()
    assert (numbers == numbers.flat[0]).all(), numbers
    return numbers.flat[0]


def beside(write, read):
    """Two threads write while others read."""

    def work(k):
        for i in range(ROUNDS):
            if k < 2:
                for j in range(10):
                    write(10 * i + j)
            else:
                read(i)

    at_once(work, 2 + READERS)


def in_place(t, i):
    t += 1.0


WRITES = {
    "set_data": lambda t, i: t.set_data(f64(np.full(t.shape, i % 7.0))),
    "assign_value": lambda t, i: t.assign_value(np.full(t.shape, i % 7.0)),
    "assign": lambda t, i: ops.assign(t, f64(np.full(t.shape, i % 7.0))),
    "all elements": lambda t, i: t.__setitem__(..., i % 7.0),
    "in place": in_place,
}
READS = {
    "eager": lambda t: lambda: [one_number(ops.sin(t)), one_number(t * 2.0), one_number(t)],
    "looks": lambda t: lambda: [repr(t), t.shape, t.dtype, len(t), copy.deepcopy(t), pickle.dumps(t)],
    "gradient by an input": lambda t: functools.partial(of_input, dg.grad(lambda x: (x * x).sum()), t),
    "recorded gradient": lambda t: functools.partial(of_input, dg.jit(dg.grad(lambda x: (x * x).sum())), t),
    "vmap": lambda t: lambda: one_number(dg.vmap(lambda x: x * x)(t)),
    "recorded, given": lambda t: functools.partial(of_input, dg.jit(lambda x: ops.cos(x) + 1.0), t),
    "recorded, captured": lambda t: captured(t),
    "weights": lambda t: functools.partial(of_weights, dg.value_and_grad(lambda x: (t * x).sum(), None, [t])),
}


def of_input(f, t):
    return one_number(f(t))


def of_weights(f):
    return one_number(f(f64(2.0))[1][0])


def captured(t):
    recorded = dg.jit(lambda x: t * x)
    return lambda: one_number(recorded(f64(2.0)))


@pytest.mark.parametrize("size", [2, 3000], ids=["inside of the object", "memory of its own"])
@pytest.mark.parametrize("how", WRITES)
def test_a_tensor_is_whole_while_others_give_it_values(how, size):
    t = Parameter(np.ones(size), name="t")
    reads = [make(t) for make in READS.values()]
    beside(lambda i: WRITES[how](t, i), lambda i: reads[i % len(reads)]())


SHAPES = (3, 50, 4000, 1, 20_000)


@pytest.mark.parametrize("how", ["recorded, given", "recorded gradient", "vmap", "eager", "recorded, captured"])
def test_type_and_shape_are_those_of_the_numbers(how):
    """Another size arrives while an argument is looked at: the program of the former size must not read it."""
    t = f64(np.ones(SHAPES[0]))
    others = [f64(np.full(n, float(n))) for n in SHAPES]
    read = READS[how](t)
    beside(lambda i: t._rebind(others[i % len(others)]), lambda i: read())


@pytest.mark.filterwarnings("ignore:.*runs eagerly")  # since recordings meet numbers of another thread
def test_recorded_steps_change_what_others_read():
    w = Parameter(np.ones(500), name="w")

    @dg.jit
    def step(x):
        w.set_data(0.5 * w + x)
        return w * w

    x = f64(np.ones(500))

    def work(k):
        for _ in range(ROUNDS):
            one_number(step(x) if k else w)

    at_once(work)


@pytest.mark.parametrize("reads", [True, False])
def test_a_recording_takes_no_numbers_of_another_thread(reads):
    """It gives a tensor a value, another thread another one: that is no constant of the program."""
    w, ones = Parameter(np.ones(5), name="w"), f64(np.ones(5))

    def body(x):
        w.set_data(2.0 * x)
        other = threading.Thread(target=w.set_data, args=(ones,))
        other.start()
        other.join()
        return w * x if reads else 3.0 * x

    recorded = dg.jit(body, pure=True)
    with pytest.warns(UserWarning, match="another thread gives a new value"):
        recorded(ones)
    for k in range(2, 5):
        x = f64(np.full(5, float(k)))
        assert one_number(recorded(x)) == (k if reads else 3.0 * k)
        assert one_number(w) == 1.0


@pytest.mark.filterwarnings("ignore:.*runs eagerly")  # a copy leaves an attribute with a class that the others use
def test_a_network_is_trained_while_others_use_it():
    net = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.BatchNorm1d(8), nn.Dense(8, 1))
    optimizer = nn.Adam(net.trainable_params(), 1e-3)
    gradients = dg.value_and_grad(lambda x: (net(x) ** 2).mean(), None, net.trainable_params())
    x = f64(np.random.default_rng(0).normal(size=(16, 4))).astype(dg.float32)

    def step(x):
        value, found = gradients(x)
        optimizer(found)
        return value

    steps = step, dg.jit(step)
    uses = net, dg.jit(net), lambda x: copy.deepcopy(net)(x)

    def work(k):
        for i in range(ROUNDS // 2):
            result = steps[i % 2](x) if k < 2 else uses[i % 3](x)
            assert np.isfinite(result.asnumpy()).all()

    at_once(work)


FACTOR = 1.0


class Slotted:
    __slots__ = ("factor",)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")  # since its guards fail often
def test_what_a_function_reads_is_set_while_others_replay_it():
    """Equal numbers in new objects: the guards hold, and note another object than before."""
    global FACTOR
    slotted, plain, variable = Slotted(), nn.Cell(), 1.0
    slotted.factor = plain.factor = 1.0
    numbers, by_name, some, array = [1.0, 2.0], {"one": 1.0}, {1.0}, np.ones(3)

    def body(x):
        return (x * FACTOR * slotted.factor * plain.factor * variable * numbers[0] * by_name["one"]
                * len(some) * array[0]).sum()  # fmt: skip

    functions = [dg.jit(body)]
    x = f64(np.ones(5))

    def write(i):
        nonlocal variable
        global FACTOR
        match i % 10:
            case 0:
                FACTOR = float("1")
            case 1:
                slotted.factor = float("1")
            case 2:
                plain.factor = float("1")
            case 3:
                variable = float("1")
            case 4:
                numbers[0] = float("1")
            case 5:
                numbers.append(3.0)
            case 6:
                del numbers[2:]
            case 7:
                by_name["one"] = float("1")
            case 8:
                by_name[f"{i}"] = 2.0
            case 9:
                for name in [name for name in list(by_name) if name != "one"]:
                    by_name.pop(name, None)

    def read(i):
        if i % 8 == 7:
            functions[:] = [dg.jit(body)]
            forget_programs()
        assert functions[0](x).asnumpy() == 5.0

    beside(write, read)


def test_hooks_come_and_go_while_others_differentiate():
    w, x = Parameter(np.ones(5), name="w"), f64(np.ones(5))
    gradient = dg.grad(lambda x: (w * x * x).sum(), 0, [w])

    def write(i):
        with w.register_hook(lambda d: 2.0 * d), x.register_hook(lambda d: None):
            pass

    def read(i):
        assert one_number(gradient(x)[0]) == 2.0
        assert one_number(gradient(x)[1][0]) in (1.0, 2.0, 4.0)

    beside(write, read)
