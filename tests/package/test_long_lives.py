"""Programs that live long: memory."""

import copy
import gc
import itertools
import os
import pickle
import sys
import warnings
import weakref

import numpy as np
import pytest
from engine import known_functions, programs
from support import f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("own_programs")


# ---------------------------------------------------------------------------------------------------------- memory


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def held():
    """Bytes in memory and blocks of Python's allocator, after collections: each stops watching tuples of numbers one
    level further out.
    """
    for _ in range(4):
        gc.collect()
    return resident(), sys.getallocatedblocks()


def scalar_program():
    f = dg.jit(dg.grad(dg.grad(lambda x: ops.exp(ops.sin(x)))))
    x = f64([0.3])
    return lambda: f(x)


def training_step():
    net = nn.SequentialCell(nn.Dense(3, 8), nn.Tanh(), nn.Dense(8, 1))
    optimizer = nn.Adam(net.trainable_params(), learning_rate=0.01)
    gradient = dg.value_and_grad(lambda x: (net(x) ** 2).mean(), None, net.trainable_params())
    x = Tensor(np.random.default_rng(0).standard_normal((16, 3)).astype(np.float32))

    def step(x):
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss

    recorded = dg.jit(step)
    return lambda: recorded(x)


def constant_memory(make, calls):
    call = make()
    for _ in range(1000):
        call()
    assert programs()[-1][1]
    before = held()
    for _ in range(calls):
        call()
    after = held()
    assert after[0] - before[0] < 1 << 20
    assert after[1] - before[1] < 100


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not say")


@needs_proc
@pytest.mark.parametrize("make", [scalar_program, training_step])
def test_calls_leave_memory_as_it_was(make):
    constant_memory(make, 20_000)


@needs_proc
@pytest.mark.exhaustive
@pytest.mark.parametrize("make", [scalar_program, training_step])
def test_a_million_calls_leave_memory_as_it_was(make):
    constant_memory(make, 1_000_000)


def recordings_are_bounded(times):
    """Shapes, numbers and functions that change all the time: the cache is full after a while, and stays so."""
    of_shapes = dg.jit(lambda x, flag: ops.sum(x * x) if flag else ops.sum(x))

    def round_of(k):
        x = f64(np.ones(1 + k % 150))
        for flag in (True, False):
            of_shapes(x, flag)
            of_shapes(x, flag)
        dg.jit(lambda x, k=k: x * k)(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dg.jit(lambda x, number: x * number)(f64([1.0]), k)

    for k in range(times // 4):
        round_of(k)
    before = held()
    sizes = len(known_functions()), len(programs())
    for k in range(times // 4, times):
        round_of(k)
    after = held()
    assert len(known_functions()) == sizes[0] == 256
    assert len(programs()) <= 1024 + 256
    assert after[0] - before[0] < 4 << 20
    assert after[1] - before[1] < 20_000


@needs_proc
def test_recordings_stay_within_the_cache():
    recordings_are_bounded(1200)


@needs_proc
@pytest.mark.exhaustive
def test_a_hundred_thousand_recordings_stay_within_the_cache():
    recordings_are_bounded(20_000)  # five recordings each


SCALE = [1.0]


def raising(error):
    def f(x):
        y = ops.sin(x)
        if SCALE:
            raise error("mine")
        return y

    return f


def caught(call, *errors):
    try:
        call()
    except errors:
        return
    raise AssertionError("no error")


def fresh_lambdas():
    """Each is another function: its number is part of its key."""
    numbers, x = itertools.count(), f64([0.5, 1.5])

    def call():
        k = float(next(numbers))
        f = dg.jit(lambda x: ops.sin(x) * k)
        for _ in range(3):
            f(x)

    return call


def fresh_cells():
    x = f64([[0.5, 1.5]])

    def call():
        cell = dg.jit(Doubled())
        for _ in range(3):
            cell(x)

    return call


class Doubled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(np.ones(500), name="w")
        self.itself = [self]  # freed by the collector alone

    def construct(self, x):
        return x * self.weight.sum()


def broken_guards():
    """A program that has paid is recorded again, for ever."""
    x, numbers = f64([0.5, 1.5]), itertools.count()
    holder = [0.0]
    f = dg.jit(lambda x: ops.sin(x) * holder[0])

    def call():
        holder[0] = float(next(numbers))
        for _ in range(12):
            f(x)

    return call


def errors_while_recorded():
    x = f64([0.5, 1.5])
    functions = [dg.jit(raising(error)) for error in (ValueError, KeyError, RecursionError)]
    functions += [dg.jit(dg.grad(f)) for f in functions]

    def call():
        for f in functions:
            caught(lambda f=f: f(x), ValueError, KeyError, RecursionError)

    return call


def errors_of_leaving():
    x = f64([0.5, 1.5])
    transforms = [dg.grad, lambda f: dg.jit(dg.grad(f)), lambda f: lambda x: dg.vjp(f, x)]
    functions = [transform(lambda x: (x * np.asarray(x)).sum()) for transform in transforms]

    def call():
        for f in functions:
            caught(lambda f=f: f(x), dg.LeavesDerivativeError)

    return call


def pullbacks():
    x, v = f64([0.5, 1.5]), f64([1.0, -1.0])

    def call():
        _, pull = dg.vjp(lambda x: ops.sin(x) * x, x)
        _, tangent = dg.linearize(lambda x: ops.sin(x) * x, x)
        for _ in range(4):
            pull(v)
            tangent(v)

    return call


def kept_tangents():
    x = f64([0.5, 1.5])
    _, tangent = dg.linearize(lambda x: ops.sin(x) * x, x)
    return lambda: tangent(x)


def fresh_objectives():
    x = np.array([0.5, 1.5, -1.0])

    def call():
        f = dg.scipy.objective(lambda x: (x**3).sum() * SCALE[0], x, hess="dense")
        for _ in range(3):
            f.fun(x), f.jac(x), f.hess(x)

    return call


def one_objective():
    x, numbers = np.array([0.5, 1.5, -1.0]), itertools.count()
    f = dg.scipy.objective(lambda x: (x**3).sum() * SCALE[0], x, hess="sparse")

    def call():
        x[0] = next(numbers) % 7
        SCALE[0] = 1.0 + (x[0] == 3)
        f.fun(x), f.jac(x)

    return call


def sparse_plans():
    x = f64([0.5, 1.5, -1.0, 2.0])

    def call():
        for mode in ("entries", "stars"):
            dg.sparse_hessian(lambda x: (x[1:] * x[:-1]).sum() ** 1 * SCALE[0], mode=mode)(x)

    return call


def checked_replays():
    x = f64([0.5, 1.5])
    w = Parameter(np.ones(2), name="w")

    def step(x):
        w.set_data(w * 0.5 + x)
        return (ops.sin(x) * w).sum()

    f = dg.jit(step)

    def call():
        with dg.programs.checked():
            f(x)

    return call


def junk():
    """Arguments that no program is for."""
    x, numbers = f64([0.5, 1.5]), itertools.count()
    f, g = dg.jit(lambda x: ops.sin(x)), dg.grad(lambda x: ops.sin(x).sum())

    class Odd:
        __hash__ = None

    def call():
        for thing in (None, "text", object(), Odd(), [x], {"a": x}, next(numbers), b"", Odd, call):
            for function in (f, g):
                caught(lambda a=thing, f=function: f(a), TypeError, ValueError)

    return call


def copies():
    x = f64([0.5, 1.5])
    f = dg.jit(dg.grad(ops.sin))
    _, pull = dg.vjp(ops.sin, x)

    def call():
        for made in (f, pull):
            for twin in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
                twin(x)

    return call


def transforms_in_graph_mode():
    x, numbers = f64([0.5, 1.5]), itertools.count()

    def call():
        k = float(next(numbers))
        dg.set_context(mode=dg.GRAPH_MODE)
        try:
            gradient = dg.grad(lambda x: (ops.sin(x) * k).sum())
            for _ in range(3):
                gradient(x)
        finally:
            dg.set_context(mode=dg.PYNATIVE_MODE)

    return call


#: pattern -> how many replays one of its calls is worth
PATTERNS = {
    fresh_lambdas: 10,
    fresh_cells: 10,
    broken_guards: 10,
    errors_while_recorded: 10,
    errors_of_leaving: 4,
    pullbacks: 10,
    kept_tangents: 1,
    fresh_objectives: 50,
    one_objective: 4,
    sparse_plans: 50,
    checked_replays: 2,
    junk: 20,
    copies: 20,
    transforms_in_graph_mode: 10,
}


def flat_life(make, calls):
    """Memory, blocks and objects after many calls are what they were after some, which filled all caches. What grows
    once, as a heap of malloc's does, need not be a leak: a leak grows again.
    """
    call = make()
    limits = 2 << 20, max(200, calls // 20), max(100, calls // 50)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*runs eagerly")
        for _ in range(max(calls // 4, 600)):
            call()
        for _ in range(3):
            before = (*held(), len(gc.get_objects()))
            for _ in range(calls):
                call()
            grown = [now - then for now, then in zip((*held(), len(gc.get_objects())), before, strict=True)]
            if all(growth < limit for growth, limit in zip(grown, limits, strict=True)):
                return
    raise AssertionError(f"bytes, blocks and objects grow by {grown} in {calls} calls, again and again")


#: those whose calls take longest are left to long lives
SLOW = (fresh_lambdas, fresh_objectives)


@pytest.mark.rotated("make")
@needs_proc
@pytest.mark.eager("records by itself")
@pytest.mark.parametrize("make", [make for make in PATTERNS if make not in SLOW], ids=lambda make: make.__name__)
def test_no_pattern_of_use_leaks(make):
    flat_life(make, 20_000 // PATTERNS[make] // 4)


@needs_proc
@pytest.mark.exhaustive
@pytest.mark.parametrize("make", PATTERNS, ids=lambda make: make.__name__)
def test_no_pattern_of_use_leaks_in_a_long_life(make):
    flat_life(make, 1_000_000 // PATTERNS[make])


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("round_about", [False, True], ids=["alone", "in a circle"])
def test_a_cell_that_dies_frees_its_programs(round_about, pure):
    """And the arrays that they hold."""
    cell = dg.jit(Doubled(), pure=pure)
    if not round_about:
        cell.itself = None
    gradient = dg.grad(cell)
    for _ in range(4):
        cell(f64([1.0])), gradient(f64([1.0]))
    dead = weakref.ref(cell), weakref.ref(cell.weight)
    known = len(known_functions())
    del gradient, cell
    gc.collect()
    assert [ref() for ref in dead] == [None, None]
    assert len(known_functions()) < known
