"""Programs that live long: memory, threads, forks and interrupts."""

import copy
import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest
from support import assert_close, f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad._engine.trace.replay import forget_programs, known_functions, programs

WORKER_TIME = 120  # seconds allowed on a busy machine


@pytest.fixture(autouse=True)
def _no_programs_of_other_tests():
    forget_programs()
    yield
    forget_programs()


# ---------------------------------------------------------------------------------------------------------- memory


def resident():
    """Resident bytes of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def held():
    """Resident bytes and blocks of Python's allocator after garbage collections.

    There are four, since each stops tracking nested tuples of numbers one level further out.
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
    """Shapes, numbers and functions change at each call: the cache fills up and does not grow further."""
    of_shapes = dg.jit(lambda x, flag: ops.sum(x * x) if flag else ops.sum(x))

    def round_of(k):
        x = f64(np.ones(1 + k % 500))
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
    assert len(known_functions()) == sizes[0] <= 256
    assert len(programs()) <= 256 * 64
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
    """A new function for each number, which is part of its key."""
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
        self.itself = [self]  # only the collector frees these

    def construct(self, x):
        return x * self.weight.sum()


def broken_guards():
    """A program with enough replays is recorded again after each change, for ever."""
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
    """Arguments that no program fits."""
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


#: pattern -> the number of replays that one of its calls counts for
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
    """Memory, blocks and objects do not grow after the first calls, which fill all caches.

    One growth may be the heap of malloc; a leak grows again.
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


@needs_proc
@pytest.mark.eager("records by itself")
@pytest.mark.parametrize("make", PATTERNS, ids=lambda make: make.__name__)
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
    """The arrays that they hold are freed too."""
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


# --------------------------------------------------------------------------------------------------------- threads


def at_once(work, n=4):
    """Run work(0) ... work(n - 1) on threads and raise their errors here."""
    failures = []
    barrier = threading.Barrier(n)

    def run(k):
        try:
            barrier.wait()
            work(k)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


W = Parameter(np.linspace(-0.3, 0.3, 36).reshape(6, 6), name="w")
SHARED = {
    "one number": (lambda x: ops.exp(ops.sin(x)).sum(), (1,)),
    "a few": (lambda x: (ops.tanh(x) ** 2).sum(), (5, 6)),
    "rows": (lambda x: (ops.tanh(ops.tanh(x @ W) @ W) ** 2).sum(), (8_000, 6)),
    "samples": (lambda x: dg.vmap(dg.grad(lambda a: (ops.sin(a) * a).sum()))(x).sum(), (300, 6)),
    "generic": (lambda x: ops.cumsum(ops.sort(x, 0)[0], 0).sum(), (50, 6)),
}


@pytest.fixture
def several_threads():
    before = dg.get_num_threads()
    dg.set_num_threads(2)
    yield
    dg.set_num_threads(before)


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize("name", SHARED)
def test_threads_record_and_replay_one_function(name):
    """Concurrent first calls with the same tensors: a recording does not change them for other threads."""
    f, shape = SHARED[name]
    function = dg.value_and_grad(f)
    inputs = [f64(np.linspace(0.0, 1.0 + k, int(np.prod(shape))).reshape(shape)) for k in range(3)]
    recorded = dg.jit(function)
    expected = [[part.asnumpy() for part in function(x)] for x in inputs]

    def work(k):
        for i in range(12):
            which = (i + k) % 3
            for a, b in zip(recorded(inputs[which]), expected[which], strict=True):
                np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-12, atol=1e-12 * np.abs(b).max())

    for _ in range(3):
        forget_programs()
        recorded = dg.jit(function)
        at_once(work)
        for x, parts in zip(inputs, expected, strict=True):
            assert x.asnumpy().shape == shape
            np.testing.assert_allclose(recorded(x)[0].asnumpy(), parts[0], rtol=1e-12)


@pytest.mark.usefixtures("several_threads")
def test_threads_run_different_programs_while_their_number_changes():
    functions = [dg.jit(dg.value_and_grad(f)) for f, _ in SHARED.values()]
    inputs = [f64(np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)) for _, shape in SHARED.values()]
    for f, x in zip(functions, inputs, strict=True):
        for _ in range(3):
            expected = f(x)
    expected = [[part.asnumpy() for part in f(x)] for f, x in zip(functions, inputs, strict=True)]

    def work(k):
        for i in range(30):
            if k == 0:
                dg.set_num_threads(1 + (7 * i) % 13)
            which = (i + k) % len(functions)
            for a, b in zip(functions[which](inputs[which]), expected[which], strict=True):
                np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-11, atol=1e-11 * np.abs(b).max())

    at_once(work)


@pytest.mark.usefixtures("several_threads")
def test_draws_of_threads_differ():
    layer = nn.Dropout(p=0.5).set_train(True)
    f = dg.jit(lambda x: layer(x))
    x = f64(np.ones(400))
    for _ in range(3):
        f(x)
    drawn = []
    at_once(lambda k: drawn.extend([f(x).asnumpy().tobytes() for _ in range(20)]))
    assert len(set(drawn)) == 80


FORKED = """
import os, threading
import numpy as np
import dualgrad as dg
from dualgrad import ops
dg.set_num_threads(2)
x = dg.Tensor(np.linspace(0.0, 1.0, 3_000_000))
f = dg.jit(lambda x: ops.sum(ops.sin(x) * ops.exp(x)))
for _ in range(4):
    expected = f(x).asnumpy()
stop = []
def busy():
    while not stop:
        f(x)
threads = [threading.Thread(target=busy) for _ in range(2)]
for t in threads: t.start()
try:
    for _ in range(5):
        child = os.fork()
        if child == 0:
            answers = []
            workers = [threading.Thread(target=lambda: answers.append(f(x).asnumpy())) for _ in range(2)]
            for t in workers: t.start()
            for t in workers: t.join()
            answers.append(f(x).asnumpy())
            os._exit(0 if len(answers) == 3 and all(a == expected for a in answers) else 1)
        assert os.waitpid(child, 0)[1] == 0
finally:
    stop.append(1)
    for t in threads: t.join()
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_forks_while_other_threads_run_programs():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=WORKER_TIME
    )
    assert done.stdout == "done\n", done.stderr


# ------------------------------------------------------------------------------------------------------ interrupts

LONG = {
    "one long region": (
        """
x = dg.Tensor(np.linspace(0.0, 1.0, 1_000_000))
def f(x):
    for _ in range(60):
        x = ops.sin(x) * ops.exp(x) - x
    return x
""",
        1,
    ),
    "one long region on two threads": (
        """
x = dg.Tensor(np.linspace(0.0, 1.0, 1_000_000))
def f(x):
    for _ in range(60):
        x = ops.sin(x) * ops.exp(x) - x
    return x
""",
        2,
    ),
    "many instructions": (
        """
x = dg.Tensor(np.linspace(0.0, 1.0, 2000).reshape(20, 100))
def f(x):
    for _ in range(600):
        x = ops.cumsum(ops.sin(x), 1) * 1e-3 + ops.cos(x)
    return x
""",
        1,
    ),
    "a scan": (
        """
x = dg.Tensor(np.linspace(0.0, 1.0, 100_000))
def f(x):
    return ops.scan(lambda c, _: (ops.sin(c) * ops.exp(c) - c, None), x, length=10_000)[0]
""",
        1,
    ),
}

INTERRUPTED = """
import signal, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started in the background may ignore it
import numpy as np
import dualgrad as dg
from dualgrad import ops
warnings.simplefilter("ignore")
dg.set_num_threads({threads})
{f}
small = dg.jit(lambda x: f(x))
from dualgrad._engine.trace import replay
for _ in range({calls}):
    small(x)
print("ready", flush=True)
try:
    while True:
        small(x)
except KeyboardInterrupt:
    print("interrupted", flush=True)
y = dg.jit(lambda x: x * 2)
for _ in range(4):
    assert y(dg.Tensor([1.0])).asnumpy() == 2
print("alive", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise here")
@pytest.mark.parametrize("name", LONG)
def test_long_programs_are_interrupted(name):
    f, threads = LONG[name]
    code = INTERRUPTED.format(f=f, threads=threads, calls=0 if name == "a scan" else 3)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            process.send_signal(signal.SIGINT)
            process.wait(10)  # a second on an idle machine
            assert process.stdout.read() == "interrupted\nalive\n"
        finally:
            process.kill()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_interrupted_programs_have_no_effects():
    """A signal handler that raises while a program runs: parameters are as before, the next call goes on."""
    w = Parameter(np.ones(3), name="w")
    x = f64(np.linspace(0.0, 1.0, 200_000))

    @dg.jit
    def step(x):
        w.set_data(w + ops.sum(ops.sin(x) * ops.exp(x)) * 0 + 1)
        return ops.sum(ops.sort(x, 0)[0])

    for _ in range(3):
        step(x)
    before = w.asnumpy().copy()

    def stop(*_):
        raise InterruptedError

    def go_on():
        while True:
            step(x)

    former = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
        with pytest.raises(InterruptedError):
            go_on()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    after = w.asnumpy().copy()
    assert np.array_equal(after, np.full(3, np.rint(after[0])))
    assert after[0] >= before[0]
    step(x)
    assert_close(w + 0, after + 1)


# ---------------------------------------------------------------------------------------------------------- starts

LATER = ("dualgrad.nn", "dualgrad.dataset", "dualgrad.operators", "dualgrad.programs", "dualgrad.scipy",
         "dualgrad.serialization", "dualgrad.implicit", "numpy.random", "zipfile", "fractions", "difflib")  # fmt: skip


def test_an_import_leaves_out_what_takes_time():
    """A gradient does not need it either; it is imported on first use."""
    code = f"""
import sys, dualgrad as dg
dg.jit(dg.grad(lambda x: (x * dg.ops.sin(x)).sum()))(dg.Tensor([1.0, 2.0]))
print([name for name in {LATER!r} if name in sys.modules])
assert all(getattr(dg, name) is not None for name in dg.__all__)
assert {{"nn", "explain", "hessian"}} <= set(dir(dg))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WORKER_TIME)
    assert done.stdout == "[]\n", done.stderr
