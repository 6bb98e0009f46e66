"""No object outlives its use: memory stays constant, interpreters exit without output, levels are not copied.

Memory is measured in a new process, since earlier tests determine the peak of this one. Arrays and tapes do not
use Python's allocator, so the tests watch the size of the process and the number of Python's blocks. In debug
builds the engine counts its live objects, and the counts must return to their start.
"""

import copy
import gc
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import nn, ops
from dualgrad._engine.arrays import array
from dualgrad._engine.tape import tape
from dualgrad._engine.trace.cache import forget_programs
from dualgrad._engine.transforms import custom
from dualgrad._engine.values import algebra, levels

pytestmark = pytest.mark.eager("measures memory")


class Layer(nn.Cell):
    """A small network with a derivative inside its forward function."""

    def __init__(self):
        super().__init__()
        self.w = dg.Parameter(np.linspace(-1.0, 1.0, 12).reshape(3, 4), name="w")
        self.slope = ops.GradOperation()(self.energy)

    def energy(self, x):
        return ops.tanh(ops.matmul(x, self.w))

    def construct(self, x):
        return self.slope(x) * x


class Doubled(nn.Cell):
    """A custom rule, so that outer derivatives record the backward pass."""

    def construct(self, x):
        return x * 2

    def bprop(self, x, out, dout):
        return (dout * 2,)


def cube(x):
    return x * x * x


X = dg.Tensor(np.linspace(0.5, 1.5, 6).reshape(2, 3))
LONG = dg.Tensor(np.linspace(0.5, 1.5, 60_000))
LAYER = Layer()
DOUBLED = Doubled()
SECOND = ops.GradOperation(get_all=True, sens_param=True)(ops.GradOperation(get_all=True)(lambda x, y: x * x * y))
TRAINING = dg.value_and_grad(lambda x: LAYER(x).sum(), None, weights=LAYER.trainable_params())
ESCAPED = []


def raises_inside():
    def broken(x):
        ESCAPED[:] = [x * x]
        raise ArithmeticError

    nested = dg.grad(lambda x: LAYER(x) * broken(x), 0, weights=LAYER.trainable_params())
    for transform in (dg.grad(dg.grad(nested)), dg.grad(lambda x: x * dg.jvp(broken, x, x)[0])):
        with pytest.raises(ArithmeticError):
            transform(X)


def escapes():
    def leaking(x):
        ESCAPED[:] = [x, x * x, dg.grad(cube)(x)]
        return cube(x)

    dg.grad(dg.grad(leaking))(X)
    return ESCAPED[0] + ESCAPED[1] * ESCAPED[2]


def pulls():
    _, pull = dg.vjp(lambda x: dg.grad(cube)(x) * x, X)
    pull(X)
    dg.grad(lambda v: pull(v)[0].sum())(X)
    ESCAPED[:] = [pull]


def assigns():
    def function(x):
        h = x * 1.0
        h[0] = x[1] * x[0]
        return dg.grad(cube)(h).sum()

    dg.grad(function)(X)


def records():
    program = dg.jit(lambda x: ops.sin(x) * cube(x))
    for _ in range(4):
        program(X)
        program(LONG)
    forget_programs()


USES = {
    "a gradient in a gradient": lambda: SECOND(X, X, (X, X)),
    "third order": lambda: dg.grad(dg.grad(dg.grad(lambda x: ops.sin(cube(x)))))(X),
    "training through a derivative": lambda: TRAINING(X),
    "forward over reverse over forward": lambda: dg.jvp(dg.grad(lambda x: dg.jvp(cube, x, x)[1] * x), X, X),
    "a rule of its own": lambda: dg.grad(dg.grad(lambda x: DOUBLED(x) * x * x))(X),
    "pullbacks": pulls,
    "values that escape": escapes,
    "errors inside levels": raises_inside,
    "assignment to a part": assigns,
    "samples": lambda: dg.grad(lambda x: dg.vmap(dg.grad(lambda r: cube(r).sum()))(x).sum())(X),
    "printing and pickling": lambda: (repr(X * X), pickle.loads(pickle.dumps(X)), copy.deepcopy(LAYER)),
}


def repeat(use, times):
    for _ in range(times):
        use()
    ESCAPED.clear()
    gc.collect()


def growth(use, warm_up, calls):
    """Growth after a warm-up: bytes of the process, and blocks of Python."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    repeat(use, warm_up)
    size, blocks = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sys.getallocatedblocks()
    repeat(use, calls)
    return (
        (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size) * unit,
        sys.getallocatedblocks() - blocks,
    )


def interpreter(*arguments):
    """Run code in a new process that imports this package."""
    environment = {**os.environ, "PYTHONPATH": str(Path(dg.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


@pytest.mark.rotated("name")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell the size of a process this way")
@pytest.mark.parametrize("name", USES)
def test_memory_stays_constant(name):
    """10,000 calls show a leak of 100 bytes in each, or of a Python object in every tenth."""
    result = interpreter(__file__, name)
    assert result.returncode == 0, result.stderr
    size, blocks = map(int, result.stdout.split())
    assert size < 1_000_000
    assert blocks < 1_000


@pytest.mark.skipif(not array.live["Array"], reason="the engine counts its objects in debug builds")
@pytest.mark.parametrize("name", [*USES, "programs"])
def test_no_object_of_the_engine_is_left(name):
    use = USES.get(name, records)
    repeat(use, 3)
    before = dict(array.live)
    repeat(use, 20)
    assert array.live == before


SCRIPT = """
import sys, threading
import dualgrad as dg
from dualgrad import ops

x = dg.Tensor([1.0, 2.0])
kept = []

def f(x):
    kept.append(x * x)
    return ops.sin(x) * x

class Box:
    def __del__(self):                  # derivatives while the interpreter ends
        dg.grad(dg.grad(f))(x)

box = Box()
box.me = box
dg.grad(dg.grad(f))(x)
kept.append(dg.vjp(lambda x: dg.grad(f)(x), x)[1])
kept.append(ops.GradOperation()(f))

def broken(x):
    kept.append(dg.grad(f)(x))
    raise KeyError

try:
    dg.grad(lambda x: dg.jvp(broken, x, x)[1])(x)
except KeyError as error:
    kept.append(error)

def work():
    for _ in range(50):
        kept.append(dg.grad(dg.grad(f))(x))

def work_for_ever():
    while True:
        dg.grad(lambda x: x * dg.grad(f)(x))(x)

threads = [threading.Thread(target=work) for _ in range(3)]
threads.append(threading.Thread(target=work_for_ever, daemon=True))
for thread in threads:
    thread.start()
END
"""

ENDS = {
    "by itself": "",
    "by an exit inside a level": "dg.grad(lambda x: x * dg.grad(lambda z: sys.exit(0))(x))(x)",
    "with a generator inside a level": """
def steps(x):
    yield x * x
    yield x
dg.grad(lambda x: kept.append(steps(x)) or next(kept[-1]) * x)(x)
""",
}


@pytest.mark.parametrize("end", ENDS)
def test_interpreters_end_in_silence(end):
    """With live tapes, escaped values, levels left by exceptions, and running threads."""
    result = interpreter("-X", "dev", "-W", "error", "-c", SCRIPT.replace("END", ENDS[end]))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def engine_objects():
    """Name -> an object that holds a level or a tape, or an open level."""
    found = {}

    def function(x):
        found["open tape"] = levels.open_levels()[0]
        return cube(x)

    dg.vjp(function, X)
    found["closed tape"] = found["open tape"]
    found["rule"] = custom.CellRule("rule", cube, (), None, False, None)
    found["slots"] = tape.Slots()
    found["algebra"] = algebra.jets(2)
    return found


@pytest.mark.parametrize("name", engine_objects())
@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_objects_of_the_engine_are_not_copied(name, copied):
    """A tape belongs to one call, so it cannot be copied."""
    with pytest.raises(TypeError, match="cannot pickle 'dualgrad"):
        copied(engine_objects()[name])


def test_an_open_level_is_not_copied():
    def function(x):
        with pytest.raises(TypeError, match="cannot pickle 'dualgrad"):
            copy.deepcopy({"level": levels.open_levels()[0]})
        return cube(x)

    assert dg.grad(function)(dg.Tensor(2.0)).item() == 12.0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: x.copy()], ids=["copy", "deepcopy", "method"])
def test_a_copy_inside_a_derivative_keeps_it(copied):
    x, v = dg.Tensor(3.0), dg.Tensor(1.0)
    assert dg.grad(lambda x: copied(x * x) * x)(x).item() == 27.0
    assert dg.grad(dg.grad(lambda x: copied(x * x) * x))(x).item() == 18.0
    assert dg.jvp(lambda x: copied(x * x) * x, x, v)[1].item() == 27.0


def test_gradient_functions_are_copied():
    """They own no level. The gradient of a Cell's method copies the Cell with its weights."""
    twin = copy.deepcopy(LAYER)
    twin.w.set_data(np.zeros((3, 4)))
    assert LAYER(X).asnumpy().all()
    assert not twin(X).asnumpy().any()
    assert pickle.loads(pickle.dumps(ops.GradOperation()(cube)))(dg.Tensor(2.0)).item() == 12.0


def test_a_pickle_holds_no_derivative():
    """So an object with a level is not pickled, unless the caller asks for a constant."""
    x = dg.Tensor(3.0)
    with pytest.raises(dg.LeavesDerivativeError, match="pickle"):
        dg.grad(lambda x: pickle.loads(pickle.dumps(x * x)) * x)(x)
    assert dg.grad(lambda x: pickle.loads(pickle.dumps(ops.stop_gradient(x * x))) * x)(x).item() == 9.0


READINGS = {
    "shape": lambda t: t.shape,
    "dtype": lambda t: t.dtype,
    "size": lambda t: t.size,
    "len": len,
    "truth": bool,
    "text": repr,
    "array": lambda t: t.asnumpy(),
    "sum": lambda t: t + t,
    "constant": ops.stop_gradient,
    "input": lambda t: dg.grad(cube)(t),
    "output": lambda t: dg.grad(lambda x: t)(X),
    "aux": lambda t: dg.grad(lambda x: (x, t), has_aux=True)(X),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("name", READINGS)
def test_tensors_that_were_never_made_are_refused(name):
    """A subclass whose __init__ does not call that of Tensor, or calls it late."""
    with pytest.raises(RuntimeError, match=r"before its __init__ has run; call super\(\).__init__\(\) first"):
        READINGS[name](dg.Tensor.__new__(dg.Tensor))


if __name__ == "__main__":
    print(*growth(USES[sys.argv[1]], 2_000, 10_000))
