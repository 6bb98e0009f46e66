"""Programs that live long: threads, forks and interrupts."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from engine import forget_programs, programs
from support import assert_close, at_once, f64

import dualgrad as dg
from dualgrad import Parameter, nn, ops

pytestmark = pytest.mark.usefixtures("own_programs")

WORKER_TIME = 120  # seconds that a process may take on a busy machine


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
    """From the first call on, with the same tensors: those that record leave them to the others."""
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


def test_threads_record_functions_of_their_own_while_programs_are_forgotten():
    """They share the cache, which is read, changed and emptied at the same time."""
    x = f64(np.linspace(0.0, 1.0, 6))

    def work(k):
        for i in range(10):
            factors = [1.0 + 40 * i + 10 * k + j for j in range(6)]
            for c in factors:
                recorded = dg.jit(dg.grad(lambda a, c=c: ops.sin(a * c).sum()))
                for _ in range(3):
                    assert_close(recorded(x), c * np.cos(c * x.asnumpy()))
            if k == 0:
                programs()
            if k == 1 and i % 4 == 3:
                forget_programs()

    at_once(work)


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


def test_threads_call_one_function_with_more_signatures_than_it_keeps():
    """Each call looks for its signature, puts it at the end, or drops the oldest one."""
    recorded = dg.jit(dg.grad(lambda x: ops.sin(x).sum()))
    inputs = [f64(np.linspace(-1.0, 1.0, n)) for n in range(1, 81)]

    def work(k):
        for i in range(3 * len(inputs)):
            x = inputs[(i // 3 + 7 * k) % len(inputs)]
            assert_close(recorded(x), np.cos(x.asnumpy()))

    at_once(work)


SETTINGS = {
    "mode": [{"mode": mode} for mode in (dg.GRAPH_MODE, dg.PYNATIVE_MODE)],
    "deferred": [{"pynative_synchronize": on} for on in (False, True)],
    "native": [{"native": setting} for setting in (True, "force", False)],
}


@pytest.mark.eager("chooses the mode")
@pytest.mark.parametrize("name", SETTINGS)
def test_settings_change_while_threads_run(name):
    if name == "native":
        pytest.importorskip("llvmlite")
    before = {key: dg.get_context(key) for key in SETTINGS[name][0]}
    x = f64(np.linspace(-1.0, 1.0, 40_000))
    expected = 2 * np.sin(x.asnumpy()) * np.cos(x.asnumpy())
    recorded = dg.jit(dg.grad(lambda x: (ops.sin(x) ** 2).sum()))

    def work(k):
        for i in range(12):
            if k == 0:
                dg.set_context(**SETTINGS[name][i % len(SETTINGS[name])])
            for f in (recorded, dg.grad(lambda x: (ops.sin(x) ** 2).sum()), lambda x: 2 * ops.sin(x) * ops.cos(x)):
                assert_close(f(x), expected)

    try:
        at_once(work)
    finally:
        dg.set_context(**before)


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
            process.wait(10)  # a second where the machine has nothing else to do
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


LATER = ("dualgrad.nn", "dualgrad.dataset", "dualgrad.operators", "dualgrad.programs", "dualgrad.scipy",
         "dualgrad.serialization", "dualgrad.implicit", "numpy.random", "zipfile", "fractions", "difflib")  # fmt: skip


def test_an_import_leaves_out_what_takes_time():
    """Nor does a gradient need it; it is there when it is asked for."""
    code = f"""
import sys, dualgrad as dg
dg.jit(dg.grad(lambda x: (x * dg.ops.sin(x)).sum()))(dg.Tensor([1.0, 2.0]))
print([name for name in {LATER!r} if name in sys.modules])
assert all(getattr(dg, name) is not None for name in dg.__all__)
assert {{"nn", "explain", "hessian"}} <= set(dir(dg))
"""
    plain = {**os.environ, "DUALGRAD_NATIVE": "0"}  # machine code needs some of that
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WORKER_TIME, env=plain)
    assert done.stdout == "[]\n", done.stderr
