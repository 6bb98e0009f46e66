"""Calls that once ended the process, damaged its memory, or went on after an error: each in a new process.

The processes run the snippets below, which contain the assertions, and print "done".
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PREAMBLE = """
import signal, sys, warnings
import numpy as np
import dualgrad as dg
from dualgrad import Tensor, extend, nn, ops
warnings.simplefilter("ignore")
dg.set_num_threads(2)

def outcome(f, *args):
    "What a call gives, or the error that it raises."
    try:
        return f(*args).asnumpy()
    except Exception as error:
        return type(error), str(error)

def same(a, b):
    return a == b if isinstance(a, tuple) or isinstance(b, tuple) else np.array_equal(a, b)
"""


def child(code, timeout=120):
    """Run a snippet after PREAMBLE; it must reach its end."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PREAMBLE + code + '\nprint("done")\n'],
        capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr


# ------------------------------------------------------------------------- loops that set an error, loops from outside

#: numbers of elements below and above which a loop runs without the GIL, in blocks, on several threads
SIZES = (1, 2, 100, 5000, 9500, 20_000, 300_000, 1_000_000)

#: name -> (setup, function, operands of n elements, statement that makes an element bad)
FAILING = {
    "integer powers": ("", "lambda x, y: ops.pow(x, y) + x", "np.full(n, 2), np.full(n, 3)", "args[1][at] = -1"),
    "narrow integer powers": (
        "", "lambda x, y: ops.pow(x, y) * 2",
        "np.full(n, 2, np.int32), np.full(n, 3, np.int32)", "args[1][at] = -2",
    ),
    "one exponent for all": ("", "lambda x, y: ops.pow(x, y)", "np.full(n, 2), np.array(3)", "args[1][...] = -1"),
    "exponents of columns": (
        "", "lambda x, y: ops.pow(x.reshape(-1, 1), y) + 1", "np.full(n, 2), np.array([3, 1])", "args[1][1] = -1",
    ),
    "a strided operand": (
        "", "lambda x, y: ops.pow(x[::2], y[::2]) + 1", "np.full(2 * n, 2), np.full(2 * n, 3)", "args[1][2 * at] = -1",
    ),
    "a ufunc of SciPy": (
        "from scipy import special; special.seterr(all='raise')\n"
        "gamma = extend.elementwise('child_gamma', special.gamma, None)",
        "lambda x: gamma(x) * 2", "np.full(n, 1.5),", "args[0][at] = -1",
    ),
}  # fmt: skip

ERRORS = """
{setup}
f = {f}
for n in {sizes}:
    recorded = dg.jit(f)
    args = {args}
    right = f(*map(Tensor, args)).asnumpy()
    for _ in range(4):
        assert np.array_equal(recorded(*map(Tensor, args)).asnumpy(), right)
    for at in sorted({{0, n // 2, n - 1}}):
        args = {args}
        {wrong}
        eager = outcome(f, *map(Tensor, args))
        assert isinstance(eager, tuple) and not issubclass(eager[0], SystemError), (n, at, eager)
        fresh = outcome(dg.jit(f), *map(Tensor, args))
        again = outcome(recorded, *map(Tensor, args))
        assert fresh == eager and again == eager, (n, at, eager, fresh, again)
    args = {args}
    assert np.array_equal(recorded(*map(Tensor, args)).asnumpy(), right)
"""


@pytest.mark.parametrize("name", FAILING)
def test_an_error_of_a_loop_is_raised(name):
    """Eager calls, first calls and replays raise the same error, at any element; the next call is right."""
    if "scipy" in FAILING[name][0]:
        pytest.importorskip("scipy")
    setup, f, args, wrong = FAILING[name]
    child(ERRORS.format(setup=setup, f=f, sizes=SIZES, args=args, wrong=wrong))


CAUGHT = """
def f(x, y):
    try:
        return ops.pow(x, y) + 1
    except ValueError:
        return x * 0
for n in (5, 100_000):
    x = Tensor(np.full(n, 2))
    good, bad = np.full(n, 3), np.full(n, 3)
    bad[-1] = -1
    recorded = dg.jit(f)
    for y in (bad, bad, bad, good, bad, good):
        assert same(outcome(recorded, x, Tensor(y)), outcome(f, x, Tensor(y))), (n, y)
"""


def test_a_function_that_catches_an_error_is_not_replayed_without_it():
    child(CAUGHT)


#: ufuncs of SciPy: some loops change the pointers that they get
UFUNCS = {"erf": "x", "jv": "1.5 + 0 * x, x", "gammainc": "1.5 + x, x", "betainc": "1 + x, 2 + x, x / 4"}

OTHERS = """
from scipy import special
ufunc = special.{name}
g = extend.elementwise("child_ufunc", ufunc, *[None] * ufunc.nin)
operands = lambda x: ({operands},)
f = lambda x: g(*operands(x)) * 2 + g(*operands(x / 2))
columns = lambda x: g(*operands(x.reshape(-1, 1) + np.zeros(3)))
for n in {sizes}:
    x = np.linspace(0.1, 3.0, n)
    expected = ufunc(*operands(x)) * 2 + ufunc(*operands(x / 2))
    recorded, wide = dg.jit(f), dg.jit(columns)
    assert np.array_equal(f(Tensor(x)).asnumpy(), expected)
    for _ in range(4):
        assert np.array_equal(recorded(Tensor(x)).asnumpy(), expected)
        assert np.array_equal(wide(Tensor(x[::3])).asnumpy(), ufunc(*operands(x[::3, None] + np.zeros(3))))
    assert np.array_equal(dg.vmap(f)(Tensor(x)).asnumpy(), expected)
"""


@pytest.mark.rotated("name")
@pytest.mark.parametrize("sizes", [SIZES[:-1], pytest.param(SIZES[-1:], marks=pytest.mark.exhaustive)], ids=str)
@pytest.mark.parametrize("name", UFUNCS)
def test_loops_that_advance_their_pointers(name, sizes):
    pytest.importorskip("scipy")
    child(OTHERS.format(name=name, operands=UFUNCS[name], sizes=sizes))


# ------------------------------------------------------------------------------------------------------- signals

BLOCKED = """
import os
f = dg.jit(lambda x: ops.sum(ops.sin(x) * ops.exp(x)))
x = Tensor(np.linspace(0.0, 1.0, 2_000_000))
def tasks():
    return set(os.listdir("/proc/self/task"))
before, mask = tasks(), signal.pthread_sigmask(signal.SIG_BLOCK, [])
for _ in range(3):
    f(x)
workers = tasks() - before
assert workers
assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
for task in workers:
    with open(f"/proc/self/task/{task}/status") as status:
        blocked = next(int(line.split()[1], 16) for line in status if line.startswith("SigBlk"))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGPROF):
        assert blocked >> (number - 1) & 1, (task, number)
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL):    # for who reports the crash
        assert not blocked >> (number - 1) & 1, (task, number)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the threads of a process are not listed here")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one processor")
def test_worker_threads_leave_signals_to_others():
    child(BLOCKED)


# ------------------------------------------------------------------------------------------------ no memory

NO_MEMORY = """
from _testcapi import remove_mem_hooks, set_nomemory
from dualgrad._engine.trace.cache import forget_programs

x, v = Tensor(np.linspace(0.5, 1.5, 4)), Tensor(np.linspace(-1.0, 1.0, 4))
m, rows = Tensor(np.linspace(0.5, 1.5, 8).reshape(4, 2)), Tensor(np.linspace(0.0, 1.0, 20_000).reshape(-1, 2))
cube = lambda x: ops.sum(ops.sin(x) * x * x)

def again(step, *args):
    "A step that is taken once more where it finds no memory, as a function may do."
    try:
        return step(*args)
    except MemoryError:
        return step(*args)

def chain(step):
    "A function of as many steps as make a tape grow; the first result of each is the next one's input."
    def f(x):
        for _ in range(18):
            x = ops.tanh(again(step, x))
        return ops.sum(x * x)
    return f

class Sine(nn.Cell):
    def construct(self, x):
        return ops.sin(x), ops.cos(x)

    def bprop(self, x, out, dout):
        return (out[1] * dout[0] - out[0] * dout[1],)

sine = Sine()
two = lambda x: (ops.sin(x), ops.cos(x))

def recorded(f, *args):
    forget_programs()
    g = dg.jit(f)
    return [g(*args) for _ in range(4)]

def numbers(found):
    if isinstance(found, (tuple, list)):
        return [a for part in found for a in numbers(part)]
    return [found.asnumpy().copy()] if isinstance(found, Tensor) else []

def equal(found):
    return len(found) == len(expected) and all(map(np.array_equal, found, expected))

def attempt(first, stop):
    "What a call gives, or its error. In a function: where a long module catches something, Python needs memory itself."
    set_nomemory(first, stop)
    try:
        return f(), None
    except BaseException as error:
        return None, error
    finally:
        remove_mem_hooks()

f = {f}
for _ in range(4):
    f()
expected, passed, n = numbers(f()), 0, 0
while passed < 8:
    found, error = attempt(n, {stop})
    # Python 3.14 has another word for a frame that found no memory
    assert error is None or isinstance(error, MemoryError) or "Missing frame" in str(error), (n, error)
    assert error is not None or equal(numbers(found)), (n, found)
    passed, n = passed + 1 if error is None else 0, n + {step}
    assert n % 10 or equal(numbers(f())), n
assert n > 4 * {step} and equal(numbers(f()))
"""

#: calls that allocate in dualgrad and Python only: without memory, some releases of NumPy return from reductions
#: and indexing without an error
USES = {
    "operations": "lambda: ops.sin(x) * x + x[1:3].sum()",
    "gradient": "lambda: dg.grad(cube)(x)",
    "gradient of a gradient": "lambda: dg.grad(lambda x: ops.sum(dg.grad(cube)(x) ** 2))(x)",
    "jvp": "lambda: dg.jvp(cube, x, v)",
    "vjp": "lambda: dg.vjp(cube, x)[1](Tensor(1.0, dg.float64))",
    "vmap": "lambda: dg.vmap(dg.grad(cube))(m)",
    "hessian": "lambda: dg.hessian(cube)(x)",
    "jacobian": "lambda: dg.jacfwd(lambda x: ops.sin(x) * x)(x)",
    "scan": "lambda: ops.scan(lambda c, x: (c * x, c + x), x[0], x)",
    "gradient of a scan": "lambda: dg.grad(lambda x: ops.scan(lambda c, x: (c * x, c + x), x[0], x)[0])(x)",
    "weights": "(lambda w: lambda: dg.value_and_grad(lambda x: ops.sum(ops.tanh(x @ w)), None, weights=[w])(m))"
    "(dg.Parameter(np.ones((2, 3)), name='w'))",
    "recording": "lambda: recorded(lambda x: ops.sum(ops.exp(x) * x[1:].sum() + ops.cos(x)), x)",
    "recording of blocks": "lambda: recorded(dg.grad(lambda x: ops.sum(ops.tanh(ops.tanh(x @ m.T) @ m))), rows)",
    "replay": "(lambda g: lambda: g(x))(dg.jit(lambda x: ops.sum(ops.exp(x) * x)))",
    "replay of blocks": "(lambda g: lambda: g(rows))(dg.jit(lambda x: ops.sin(x)[::2] * x[1::2]))",
}


#: Python alone: each allocation fails in turn while it makes functions with cells and calls them. Some interpreters
#: (3.12.1, 3.13.0) do not survive that.
PYTHON_ALONE = """
from _testcapi import remove_mem_hooks, set_nomemory
uses = [lambda x: (lambda y: (lambda: x + y))(x)(), lambda x: (lambda *a, **k: (a, k))(x, x, z=x)]

def attempt(f, n):
    set_nomemory(n, n + 1)
    try:
        f(1000)
    except MemoryError:
        pass
    finally:
        remove_mem_hooks()

for f in uses:
    for n in range(30):
        attempt(f, n)
"""


@pytest.fixture(scope="module")
def no_memory():
    """Leaves out tests where Python has no way to fail allocations, or does not survive it."""
    pytest.importorskip("_testcapi")
    if subprocess.run([sys.executable, "-c", PYTHON_ALONE], capture_output=True, timeout=120, check=False).returncode:
        pytest.skip("this interpreter ends where it finds no memory itself")


#: steps of functions that go on after one of them raised MemoryError
STEPS = {
    "operations": "lambda x: ops.sin(x) * x",
    "gradient": "dg.grad(lambda x: ops.sum(ops.sin(x) * x))",
    "value and gradient": "lambda x: sum(dg.value_and_grad(lambda x: ops.sum(ops.sin(x) * x))(x))",
    "jvp": "lambda x: sum(dg.jvp(lambda x: ops.sin(x) * x, x, x))",
    "vmap": "lambda x: sum(dg.vmap(two)(x))",
    "custom rule": "lambda x: sum(sine(x))",
    "scan": "lambda x: sum(ops.scan(lambda c, x: (c * x, ops.sin(x)), x[0], x))",
    "custom rule in a gradient": "dg.grad(lambda x: ops.sum(sine(x)[0] * x))",
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.usefixtures("no_memory")
def test_a_function_goes_on_where_a_step_found_no_memory(step):
    """Each allocation of a gradient fails in turn; the function tries each of its steps twice."""
    child(NO_MEMORY.format(f=f"lambda: dg.grad(chain({STEPS[step]}))(x)", stop="n + 1", step=1), timeout=300)


@pytest.mark.usefixtures("no_memory")
def test_a_weight_is_read_again_where_it_found_no_memory():
    """A leaf is recorded completely or not at all."""
    weights = "[dg.Parameter(np.full(4, 0.5 + k), name=f'w{k}') for k in range(12)]"
    loss = "lambda x: ops.sum(sum(again(lambda: ops.sin(p) * x) for p in w))"
    use = f"(lambda w: lambda: dg.value_and_grad({loss}, None, weights=w)(x))({weights})"
    child(NO_MEMORY.format(f=use, stop="n + 1", step=1), timeout=300)


@pytest.mark.rotated("once")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("once", [True, False], ids=["one allocation", "all from one on"])
@pytest.mark.usefixtures("no_memory")
def test_an_allocation_that_fails(use, once):
    """Each allocation of a call fails in turn, or all from it on: MemoryError or right numbers, then right numbers."""
    step = 7 if use == "recording of blocks" else 1  # there are several hundred
    child(NO_MEMORY.format(f=USES[use], stop="n + 1" if once else 0, step=step), timeout=300)
