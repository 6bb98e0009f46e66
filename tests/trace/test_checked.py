"""`dualgrad.programs.checked`: no alarm where a replay is right, one where it is not. And `jit(pure=True)`."""

import copy
import threading
import types
import warnings
from collections import namedtuple
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from engine import Repeated, compare_deferred_by, deferring, forget_programs, synchronize
from support import f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.programs import ReplayError, checked
from dualgrad.programs.checking import compare_deferred
from dualgrad.testing import Calls

X = np.array([0.5, -1.0, 2.0])
SCALE = 1.0


pytestmark = pytest.mark.eager("records and checks by itself")


@pytest.fixture(autouse=True)
def _no_programs_of_other_tests():
    forget_programs()
    globals()["SCALE"] = 1.0
    yield
    forget_programs()


def by_global(x):
    return x * SCALE


# --------------------------------------------------------------------------------------------------- no false alarms


@dataclass
class Record:
    a: Tensor
    b: float


Pair = namedtuple("Pair", "first second")


def updates():
    w = Parameter(np.ones(3), name="w")

    def f(x):
        w.set_data(w * 0.5 + x)
        return (w * x).sum()

    return f, lambda: (f64(X),)


def training():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dropout(p=0.3), nn.Dense(4, 1)).set_train(True)
    optimizer = nn.Adam(net.trainable_params(), learning_rate=0.01)
    gradient = dg.value_and_grad(lambda x: (net(x) ** 2).mean(), None, net.trainable_params())

    def step(x):
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss

    return step, lambda: (Tensor(np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)),)


def statistics():
    layer = nn.BatchNorm1d(3).set_train(True)
    return (lambda x: layer(x).sum()), lambda: (
        Tensor(np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)),
    )


def in_place():
    def f(x):
        x[0] = x[1] * 2
        return x.sum()

    return f, lambda: (f64(X),)


def raises():
    """An error that comes from the numbers of an index, at replays too."""
    return (lambda x, i: ops.gather(x, i, 0)), lambda: (f64(X), Tensor(np.array([7])))


def simple(f, *args):
    return lambda: (f, lambda: tuple([a() if isinstance(a, types.FunctionType) else a for a in args]))


def large():
    a = np.linspace(-1.0, 1.0, 400_000).reshape(-1, 4)
    return (lambda x: ((ops.tanh(x @ x[:4]) ** 2).sum(0), ops.exp(x).mean(), ops.cumsum(x, 0)[-1])), lambda: (f64(a),)


def keeps_a_result():
    w = Parameter(np.ones(3), name="w")
    return (lambda x: (w, x, x * w, x)), lambda: (f64(X),)


#: name -> make, which returns a function and what makes its arguments for a call
FUNCTIONS = {
    "values": simple(lambda x: ops.sin(x) * x, lambda: f64(X)),
    "gradients": simple(dg.grad(lambda x: (ops.sin(x) ** 2).sum()), lambda: f64(X)),
    "Hessian": simple(dg.hessian(lambda x: (x**3).sum() * x[0]), lambda: f64(X)),
    "draws": simple(lambda x: ops.dropout(x, 0.5) + ops.standard_normal((3,)), lambda: f64(X)),
    "updates": updates,
    "training": training,
    "statistics": statistics,
    "in place": in_place,
    "lists": simple(lambda x: [x[0] + x[1], {"a": (x[0], None, 2, "b")}], lambda: [f64(X), f64(X)]),
    "records": simple(lambda r: Record(r.a * r.b, 3.0), lambda: Record(f64(X), 2.0)),
    "named tuples": simple(lambda p: Pair(p.second, p.first * 2), lambda: Pair(f64(X), f64(X))),
    "None": simple(lambda x: None, lambda: f64(X)),
    "nothing but numbers": simple(lambda x: (1, 2.5, "text", True, None, b"c", 1j), lambda: f64(X)),
    "nan": simple(lambda x: (ops.log(x), float("nan")), lambda: f64(X)),
    "integers": simple(lambda x: (ops.argsort(x), x > 0, x.astype(dg.int32)), lambda: f64(X)),
    "complex": simple(lambda z: (z * z.conj(), ops.exp(z), z @ z), lambda: Tensor(X + 1j)),
    "large": large,
    "argument and Parameter": keeps_a_result,
    "empty": simple(lambda x: (x[:0], x[:0].sum()), lambda: f64(X)),
    "half": simple(lambda x: (ops.softmax(x, 0), (x * x).sum()), lambda: Tensor(X.astype(np.float16))),
    "errors": raises,
    "keywords": simple(lambda x, scale=2.0: x * scale, lambda: f64(X)),
}


def outcome(f, args):
    try:
        return [np.asarray(t) for t in tensors(f(*args))]
    except ReplayError:
        raise
    except Exception as error:
        return type(error)


def tensors(nest):
    if isinstance(nest, Tensor):
        return [nest.asnumpy()]
    if isinstance(nest, Record):
        return tensors(nest.a)
    if isinstance(nest, dict):
        nest = nest.values()
    return [t for part in nest for t in tensors(part)] if isinstance(nest, tuple | list | type({}.values())) else []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_false_alarms(name):
    """And the results and effects inside the block are those outside."""
    found = []
    for block in (False, True):
        forget_programs()
        dg.set_seed(5)
        f, make = FUNCTIONS[name]()
        recorded = dg.jit(f)
        rounds = []
        if block:
            with checked():
                rounds = [outcome(recorded, make()) for _ in range(6)]
        else:
            rounds = [outcome(recorded, make()) for _ in range(6)]
        found.append(rounds)
    for plain, inside in zip(*found, strict=True):
        assert isinstance(plain, type) == isinstance(inside, type)
        if isinstance(plain, type):
            assert plain is inside
            continue
        for a, b in zip(plain, inside, strict=True):
            np.testing.assert_allclose(
                b, a, rtol=1e-5 if name == "training" else 1e-6 if a.dtype.itemsize < 8 else 1e-13
            )


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_what_runs_eagerly_is_left_alone():
    seen = []

    def f(x):
        seen.append(float(x[0]))
        return x * len(seen)

    recorded = dg.jit(f)
    with checked():
        for k in range(1, 6):
            assert recorded(f64(X)).asnumpy()[0] == X[0] * k
    assert len(seen) == 5


# ------------------------------------------------------------------------------------------------------------ alarms


def alarm(recorded, *args):
    """The message of the error that a replay raises."""
    with checked(), pytest.raises(ReplayError) as caught:
        recorded(*args)
    return str(caught.value)


class PureCell(nn.Cell):
    def construct(self, x):
        return x * SCALE


class Holder:
    @dg.jit(pure=True)
    def method(self, x):
        return x * SCALE


WAYS = {
    "function": lambda: dg.jit(by_global, pure=True),
    "decorator": lambda: dg.jit(pure=True)(by_global),
    "gradient": lambda: dg.jit(dg.grad(lambda x: by_global(x).sum()), pure=True),
    "Cell": lambda: dg.jit(PureCell(), pure=True),
    "method": lambda: Holder().method,
    "bound method": lambda: dg.jit(types.MethodType(lambda self, x: x * SCALE, 3), pure=True),
    "copy": lambda: copy.copy(dg.jit(by_global, pure=True)),
    "deep copy": lambda: copy.deepcopy(dg.jit(by_global, pure=True)),
    "deep copy of a Cell": lambda: copy.deepcopy(dg.jit(PureCell(), pure=True)),
    "tuple": lambda: dg.jit(lambda x: (x * SCALE, SCALE), pure=True),
    "update": lambda: dg.jit(updating(), pure=True),
}


def updating():
    w = Parameter(np.ones(3), name="w")

    def by_update(x):
        w.set_data(x * SCALE)
        return x

    return by_update


@pytest.mark.parametrize("way", WAYS)
def test_pure_functions_are_never_looked_at_and_differences_are_found(way):
    recorded = WAYS[way]()
    x = f64(X)
    first = tensors(recorded(x))
    with checked():
        for _ in range(5):
            recorded(x)
    globals()["SCALE"] = 5.0
    for _ in range(4):
        for a, b in zip(tensors(recorded(x)), first, strict=True):
            np.testing.assert_array_equal(a, b)
    message = alarm(recorded, x)
    name = message.partition(":")[0]
    names = ("by_global", "PureCell", "method", "<lambda>", "by_update", "gradient")
    assert any(n in name for n in names), message
    assert "pure=True" in message
    assert ("a changed tensor" in message) == (way == "update")
    globals()["SCALE"] = 1.0
    with checked():
        recorded(x)


def test_pure_and_other_functions_have_programs_of_their_own():
    pure, guarded = dg.jit(by_global, pure=True), dg.jit(by_global)
    x = f64(X)
    for _ in range(4):
        pure(x), guarded(x)
    globals()["SCALE"] = 3.0
    for _ in range(4):
        np.testing.assert_array_equal(pure(x).asnumpy(), X)
        np.testing.assert_array_equal(guarded(x).asnumpy(), 3 * X)
        np.testing.assert_array_equal(copy.copy(guarded)(x).asnumpy(), 3 * X)


@pytest.mark.parametrize("way", [way for way in WAYS if "copy" not in way])
def test_explain_says_that_a_pure_function_has_no_guards(way):
    recorded = WAYS[way]()
    text = str(dg.explain(recorded)(f64(X)))
    assert "guards     none" in text
    if way == "function":
        assert "guards     none" not in str(dg.explain(dg.jit(by_global))(f64(X)))


def test_a_cell_may_be_pure_in_graph_mode():
    cell = dg.jit(PureCell(), pure=True)
    before = dg.get_context("mode")
    dg.set_context(mode=dg.GRAPH_MODE)
    try:
        for _ in range(4):
            cell(f64(X))
        globals()["SCALE"] = 4.0
        np.testing.assert_array_equal(cell(f64(X)).asnumpy(), X)
        assert "PureCell" in alarm(cell, f64(X))
    finally:
        dg.set_context(mode=before)


def test_transforms_are_checked_in_graph_mode():
    before = dg.get_context("mode")
    dg.set_context(mode=dg.GRAPH_MODE)
    try:
        gradient = dg.grad(lambda x: (x**3).sum() * SCALE)
        with checked():
            for k in (1.0, 1.0, 2.0, 2.0, 2.0, 2.0):
                globals()["SCALE"] = k
                np.testing.assert_allclose(gradient(f64(X)).asnumpy(), 3 * k * X**2)
    finally:
        dg.set_context(mode=before)


def test_an_error_of_the_function_alone_is_a_difference():
    def f(x):
        if SCALE > 2:
            raise KeyError("only now")
        return x

    recorded = dg.jit(f, pure=True)
    for _ in range(4):
        recorded(f64(X))
    globals()["SCALE"] = 3.0
    assert "KeyError" in alarm(recorded, f64(X))


# ----------------------------------------------------------------------------------------------------------- the block


def ready():
    """A pure function that is going to be found out."""
    recorded = dg.jit(by_global, pure=True)
    for _ in range(4):
        recorded(f64(X))
    globals()["SCALE"] = 2.0
    return recorded


def test_blocks_nest_and_end_with_errors():
    recorded = ready()
    with checked():
        with checked():
            pass
        with pytest.raises(ReplayError):
            recorded(f64(X))
    recorded(f64(X))
    with pytest.raises(ZeroDivisionError), checked():
        raise ZeroDivisionError
    recorded(f64(X))


def test_a_block_is_of_its_thread():
    recorded = ready()
    found = []

    def elsewhere():
        found.append(recorded(f64(X)).asnumpy())
        with checked():
            try:
                recorded(f64(X))
            except ReplayError as error:
                found.append(error)

    with checked():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with pytest.raises(ReplayError):
            recorded(f64(X))
    recorded(f64(X))
    np.testing.assert_array_equal(found[0], X)
    assert isinstance(found[1], ReplayError)


def test_the_state_after_an_alarm_is_that_of_the_replay():
    """Parameters and draws are not advanced twice."""
    w = Parameter(np.ones(3), name="w")

    def f(x):
        w.set_data(w + x)
        return w * SCALE + ops.randn(3) * 0

    recorded = dg.jit(f, pure=True)
    for _ in range(4):
        recorded(f64(X))
    before = w.asnumpy().copy()
    globals()["SCALE"] = 2.0
    alarm(recorded, f64(X))
    np.testing.assert_allclose(w.asnumpy(), before + X)


def test_warnings_come_once():
    with warnings.catch_warnings(record=True) as caught, checked():
        warnings.simplefilter("always")
        recorded = dg.jit(lambda x: x * float(x[0]))
        for _ in range(5):
            recorded(f64(X))
    assert sum("runs eagerly" in str(w.message) for w in caught) == 1


# -------------------------------------------------------------------------------------- every way a replay begins

HIDDEN = Calls()  # what tests count is outside of programs: no guard follows it


def hidden():
    return 1.0 + len(HIDDEN)


def loss(x):
    return (x * x * hidden()).sum()


class Loss(nn.Cell):
    def construct(self, x):
        return loss(x)


class Owner:
    def method(self, x):
        return loss(x)

    @dg.jit
    def recorded(self, x):
        return loss(x)

    __call__ = method


def of_family():
    """The second of two functions with the same code, by the program of the first."""

    def make(k):
        return lambda x: loss(x) * k

    first, second = dg.jit(make(2.0)), dg.jit(make(2.0))
    for _ in range(4):
        first(f64(X))
    return second


def arrived():
    """A function that replays a recording from elsewhere."""
    sent = dg.jit(loss)
    for _ in range(4):
        sent(f64(X))
    recordings = tuple([recording for recording, _ in sent.recordings()])
    assert recordings
    forget_programs()
    received = dg.jit(loss)
    received.take(recordings)
    return received


def with_kwargs(f):
    return lambda x: f(x=x)


def looping(x):
    return dg.scan(lambda carry, _: (carry * hidden(), carry), x, None, length=20)[0].sum()


#: way -> (whether in Graph mode, what makes a call that is replayed there)
STARTS = {
    "function": (False, lambda: dg.jit(loss)),
    "keywords": (False, lambda: with_kwargs(dg.jit(loss))),
    "made anew": (False, lambda: lambda x: dg.jit(lambda x: loss(x))(x)),
    "another of its family": (False, of_family),
    "gradient": (False, lambda: dg.jit(dg.grad(loss))),
    "method": (False, lambda: dg.jit(Owner().method)),
    "recorded method": (False, lambda: Owner().recorded),
    "object": (False, lambda: dg.jit(Owner())),
    "partial": (False, lambda: dg.jit(partial(lambda k, x: loss(x) * k, 2.0))),
    "Cell": (False, lambda: dg.jit(Loss())),
    "Cell by keywords": (False, lambda: with_kwargs(dg.jit(Loss()))),
    "loop": (False, lambda: dg.jit(looping)),
    "gradient of a loop": (False, lambda: dg.jit(dg.grad(looping))),
    "from another process": (False, arrived),
    "of a solver": (False, lambda: Repeated("a function", loss)),
    "Cell in Graph mode": (True, Loss),
    "Cell by keywords in Graph mode": (True, lambda: with_kwargs(Loss())),
    "grad in Graph mode": (True, lambda: dg.grad(loss)),
    "grad anew in Graph mode": (True, lambda: lambda x: dg.grad(loss)(x)),
    "value_and_grad in Graph mode": (True, lambda: dg.value_and_grad(loss)),
    "GradOperation in Graph mode": (True, lambda: ops.GradOperation()(loss)),
    "grad of a Cell in Graph mode": (True, lambda: dg.grad(Loss())),
    "hessian in Graph mode": (True, lambda: dg.hessian(loss)),
}


@pytest.mark.parametrize("way", STARTS)
@pytest.mark.parametrize("calls_in_the_block", [0, 1])
def test_a_wrong_replay_is_found_however_it_begins(way, calls_in_the_block):
    """The hidden number changes without a guard; the block sees the first replay, or the one after a right one."""
    graph, make = STARTS[way]
    before = dg.get_context("mode")
    dg.set_context(mode=dg.GRAPH_MODE if graph else dg.PYNATIVE_MODE)
    HIDDEN.clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call = make()
            x = f64(X)
            for _ in range(4):
                call(x)
            with checked():
                for _ in range(calls_in_the_block):
                    call(x)
                HIDDEN.note()
                with pytest.raises(ReplayError):
                    call(x)
                HIDDEN.clear()
                call(x)
    finally:
        HIDDEN.clear()
        dg.set_context(mode=before)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_wrong_deferred_result_is_found(recorded):
    """What a plan has computed is spoilt on the way to the comparison."""
    x = f64(np.ones(400_000))
    f = lambda x: ops.tanh(ops.sin(x) * x) * x + x
    call = dg.jit(f) if recorded else lambda x: deferring(f, (x,), {})
    former = synchronize(False)
    try:
        with checked():
            right = call(x).asnumpy()
        forget_programs()
        compare_deferred_by(lambda found, *others: compare_deferred(found * 1.001, *others))
        with checked(), pytest.raises(ReplayError, match="deferred"):
            call(x)
        np.testing.assert_array_equal(call(x).asnumpy(), right)
    finally:
        compare_deferred_by(compare_deferred)
        synchronize(former)


def test_what_a_function_catches_is_no_difference():
    """The error of a replay is what makes the function run itself."""

    def f(x):
        try:
            return ops.sum(dg.numpy.linalg.cholesky(x))
        except np.linalg.LinAlgError:
            return ops.sum(x) * 7.0

    good, bad = f64(np.eye(2)), f64(-np.eye(2))
    recorded = dg.jit(f)
    for _ in range(4):
        recorded(good)
    with checked():
        assert float(recorded(bad)) == -14.0
        assert float(recorded(good)) == 2.0
