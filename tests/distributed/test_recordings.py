"""Recordings that go along: replayed where they arrive, without the Python of the function, or not used at all."""

import functools
import math
import re
import sys
import types
import warnings

import numpy as np
import pytest
from arrivals import ROWS, arrived, calls_of_python, numbers
from engine import forget_programs
from picklable import energy
from shard_cases import CHUNK, X
from work_engines import needs

import dualgrad as dg
from dualgrad import Parameter, Tensor, distributed, nn, ops
from dualgrad.distributed import functions
from dualgrad.distributed.functions import own_recordings, packed

pytestmark = pytest.mark.usefixtures("own_programs", "plain_warnings")


@pytest.fixture
def plain_warnings():
    """Warnings are no errors here, as in workers, and no function has arrived."""
    functions._functions.clear()
    with warnings.catch_warnings():
        warnings.resetwarnings()
        yield


def called(fn, times=3):
    """A function that was called here; it is recorded then."""
    for _ in range(times):
        fn(Tensor(ROWS))
    return fn


def sent(fn):
    """A function as bytes, as it is now."""
    return packed("test", (fn, {("rows",): own_recordings(fn)}))


# ------------------------------------------------------------------------------------------------- what goes along

SCALE = 1.5


def closure():
    shift, steps, matrix = 0.25, [1.0, 2.0], np.diag([1.0, 2.0, 3.0])

    def fn(x):
        for step in steps:
            x = ops.sin(x * step + shift)
        return {"both": [x @ Tensor(matrix), x], "sum": x.sum(1)}

    return fn


def parameters():
    w = Parameter(np.array([0.5, -1.0, 2.0]), name="w")
    return lambda x: ops.tanh(x @ w) * SCALE


def helpers():
    def inner(x):
        return ops.exp(-x * x)

    return lambda x, factor=2.0: inner(x) * factor


def derivative():
    return dg.vmap(dg.grad(lambda row: (row**4).sum() + row[0] * row[1]))


def product_of_hessian():
    energies = lambda row: (row**4).sum() + row[0] * row[1]
    product = dg.hvp(energies)
    return lambda x: dg.vmap(lambda row: product(row, row))(x)


def operator():
    flat = dg.laplacian(lambda row: (row**4).sum())
    return lambda x: dg.vmap(flat)(x)


def partial_function():
    scaled = functools.partial(lambda x, factor: ops.sin(x) * factor, factor=3.0)
    return lambda x: scaled(x)


def constant_argument():
    numbers = np.linspace(0.0, 1.0, 15).reshape(5, 3)
    return lambda x: (x, x * Tensor(numbers), Tensor(np.ones(3)))


DERIVATIVES = (derivative, product_of_hessian, operator)
TRAVELLING = {f.__name__: f for f in (closure, parameters, helpers, partial_function, constant_argument, *DERIVATIVES)}


WRAPPED = pytest.mark.eager("functions that the rehearsal has wrapped cannot be sent")


of_each_kind = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[WRAPPED] if f in DERIVATIVES else []) for name, f in TRAVELLING.items()]
)


@of_each_kind
def test_it_is_replayed_where_it_arrives(name):
    fn = called(dg.jit(TRAVELLING[name]()))
    content = sent(fn)
    assert own_recordings(fn)
    again = arrived(content)
    assert again is not fn
    assert again.depends_on(Tensor(ROWS)) is not None
    assert numbers(again(Tensor(ROWS))) == numbers(fn(Tensor(ROWS)))


@pytest.mark.parametrize("engine", ["joblib", pytest.param("ray", marks=pytest.mark.exhaustive), "dask"])
def test_workers_do_not_run_its_python(engine, backend_of):
    needs(engine)
    backend = backend_of(engine, 2)
    fn = dg.jit(closure())
    before = backend.map(calls_of_python, [0], sent(fn))
    assert [count for count, _ in before] == [1], "else what follows would show nothing"
    called(fn)
    assert backend.map(calls_of_python, [0, 1], sent(fn)) == [(0, numbers(fn(Tensor(ROWS))))] * 2


@pytest.mark.parametrize("engine", ["local", "joblib", "dask"])
def test_rows_are_mapped_with_it(engine, backend_of):
    fn = called(dg.jit(parameters()))
    found = distributed.map_samples(fn, X, backend=backend_of(engine, 2), chunk=CHUNK)
    np.testing.assert_allclose(found.asnumpy(), np.tanh(X @ [0.5, -1.0, 2.0]) * 1.5, rtol=1e-14)


def test_a_tensor_that_it_reads_is_read_at_each_call():
    """It is that of the function which has arrived."""
    fn = called(dg.jit(parameters()))
    again = arrived(sent(fn))
    w = next(c.cell_contents for c in again.__wrapped__.__closure__)
    for k in range(3):
        w.set_data(np.full(3, float(k)))
        np.testing.assert_allclose(again(Tensor(ROWS)).asnumpy(), np.tanh(k * ROWS.sum(1)) * 1.5, rtol=1e-14)


# ----------------------------------------------------------------------------------------- what has changed meanwhile


class Held:
    """What a function reads, and the changes of it after the function was recorded."""

    def __init__(self):
        self.w = Parameter(np.array([0.5, -1.0, 2.0]), name="w")
        self.steps, self.matrix, self.table = [1.0, 2.0], np.eye(3), {"shift": 0.5}
        self.inner = lambda x: x * 2.0
        self.part = functools.partial(lambda x, factor: x * factor, factor=0.5)

    def function(self):
        w, steps, matrix, table, inner, part = self.w, self.steps, self.matrix, self.table, self.inner, self.part
        return lambda x: inner(ops.sin(x @ w) * steps[0]) + part((x @ Tensor(matrix)).sum(1)) + table["shift"]


def read(held):
    """Python reads the numbers of the Parameter."""
    w = held.w
    return lambda x: x.sum(1) * float(w[0])


CHANGES = {
    "parameter": lambda h: h.w.set_data(np.array([3.0, 2.0, 1.0])),
    "list": lambda h: h.steps.__setitem__(0, 7.0),
    "array": lambda h: h.matrix.__setitem__((0, 1), 5.0),
    "dict": lambda h: h.table.__setitem__("shift", -3.0),
    "partial": lambda h: h.part.__setstate__((h.part.func, (), {"factor": 4.0}, None)),
    "argument of a partial": lambda h: h.part.keywords.__setitem__("factor", 4.0),
    "code": lambda h: setattr(h.inner, "__code__", (lambda x: x * 9.0).__code__),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("engine", ["local", "joblib"])
def test_a_stale_recording_is_not_used(name, engine, backend_of):
    held = Held()
    fn = called(dg.jit(held.function()))
    before = numbers(fn(Tensor(ROWS)))
    CHANGES[name](held)
    expected = numbers(held.function()(Tensor(ROWS)))
    assert expected != before
    content = sent(fn)
    assert bool(own_recordings(fn)) == (name == "parameter")  # whose numbers are no part of a recording
    [(_, found)] = backend_of(engine, 2).map(calls_of_python, [0], content)
    np.testing.assert_allclose(np.frombuffer(found), np.frombuffer(expected), rtol=1e-14)


def test_a_recording_of_numbers_that_have_changed_is_not_used():
    held = Held()
    fn = called(dg.jit(read(held)))
    assert own_recordings(fn)
    np.testing.assert_allclose(arrived(sent(fn))(Tensor(ROWS)).asnumpy(), 0.5 * ROWS.sum(1))
    held.w.set_data(np.array([3.0, 2.0, 1.0]))
    assert not own_recordings(fn)
    np.testing.assert_allclose(arrived(sent(fn))(Tensor(ROWS)).asnumpy(), 3.0 * ROWS.sum(1))


# --------------------------------------------------------------------------------------------- what differs elsewhere


def reads_a_module():
    return lambda x: x.sum(1) * math.tau


def reads_the_seed():
    return lambda x: x.sum(1) * (dg.get_seed() or 2)


DIFFERENCES = {
    "a module": (reads_a_module, lambda patch: patch.setattr(math, "tau", 3.0), 3.0),
    "the seed": (reads_the_seed, lambda patch: patch.setattr(sys.modules["dualgrad.random"], "_seed", 5), 5.0),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_another_state_of_the_process_is_noticed(name, monkeypatch):
    make, change, factor = DIFFERENCES[name]
    fn = called(dg.jit(make()))
    content = sent(fn)
    assert arrived(content).depends_on(Tensor(ROWS)) is not None
    forget_programs()
    functions._functions.clear()
    with monkeypatch.context() as patch:
        change(patch)
        again = arrived(content)
        assert again.depends_on(Tensor(ROWS)) is None
        np.testing.assert_allclose(again(Tensor(ROWS)).asnumpy(), ROWS.sum(1) * factor, rtol=1e-14)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_later_change_is_noticed(name, monkeypatch):
    make, change, factor = DIFFERENCES[name]
    again = arrived(sent(called(dg.jit(make()))))
    assert again.depends_on(Tensor(ROWS)) is not None
    with monkeypatch.context() as patch:
        change(patch)
        np.testing.assert_allclose(again(Tensor(ROWS)).asnumpy(), ROWS.sum(1) * factor, rtol=1e-14)


def test_errors_of_numpy_are_noticed():
    content = sent(called(dg.jit(closure())))
    with np.errstate(invalid="raise"):
        assert arrived(content).depends_on(Tensor(ROWS)) is None


@pytest.mark.parametrize("k", range(5), ids=["dualgrad", "Python", "NumPy", "primitives", "float"])
def test_another_version_is_noticed(k):
    fn = called(dg.jit(closure()))
    data = own_recordings(fn)
    assert data
    assert len(data[0][0]) == 5
    other = tuple([((*one[0][:k], "another", *one[0][k + 1 :]), *one[1:]) for one in data])
    content = packed("test", (fn, {("rows",): other}))
    assert arrived(content).depends_on(Tensor(ROWS)) is None


@pytest.fixture
def another_version(monkeypatch):
    """Turn this process into one of another version of dualgrad, where no function has arrived."""

    def turn(version="999.0"):
        forget_programs()
        functions._functions.clear()
        monkeypatch.setattr(dg, "__version__", version)

    return turn


@of_each_kind
def test_a_recording_of_another_version_is_made_anew(name, another_version):
    fn = called(dg.jit(TRAVELLING[name]()))
    content, expected = sent(fn), numbers(fn(Tensor(ROWS)))
    another_version()
    again = arrived(content)
    assert again.depends_on(Tensor(ROWS)) is None
    called(again)
    assert again.depends_on(Tensor(ROWS)) is not None
    assert numbers(again(Tensor(ROWS))) == expected


def test_recordings_of_other_versions_may_have_another_form(another_version):
    """The version is compared before anything else is read."""
    fn = called(dg.jit(closure()))
    (one,) = own_recordings(fn)
    content = packed("test", (fn, {("rows",): (one[:1], (*one, "more"))}))
    another_version()
    assert arrived(content).depends_on(Tensor(ROWS)) is None


def test_what_another_version_cannot_read_names_both(another_version, monkeypatch):
    held = types.ModuleType("dualgrad_of_old")
    held.Held = type("Held", (), {"__module__": "dualgrad_of_old"})
    monkeypatch.setitem(sys.modules, "dualgrad_of_old", held)
    content = packed("test", (held.Held, {}))
    monkeypatch.delattr(held, "Held")
    with pytest.raises(AttributeError, match="Held"):  # the version is the same
        arrived(content)
    written = dg.__version__
    another_version()
    both = f"a worker has dualgrad 999.0, and cannot read what dualgrad {written} has sent: AttributeError"
    with pytest.raises(RuntimeError, match=re.escape(both)):
        arrived(content)


# -------------------------------------------------------------------------------------------------------- what stays


def pure():
    return dg.jit(closure(), pure=True)


def named():
    """A function of a module, which may be another one elsewhere."""
    return dg.jit(lambda x: energy(ops.concat((x[0], x[0][:1]))))


def cell():
    layer = nn.Dense(3, 2).to_float(dg.float32)
    return dg.jit(lambda x: layer(x.astype(dg.float32)))


def draws():
    return dg.jit(lambda x: x + ops.randn(3))


def assigns():
    count = Parameter(np.zeros(1), name="count", requires_grad=False)

    def fn(x):
        count.set_data(count + 1)
        return x * 2

    return dg.jit(fn)


def users_object():
    held = types.SimpleNamespace(scale=2.0)
    return dg.jit(lambda x: x * held.scale)


def imports():
    def fn(x):
        import math

        return x * math.pi

    return dg.jit(fn)


def not_recorded():
    return closure()


STAYING = {f.__name__: f for f in (pure, named, cell, draws, assigns, users_object, imports, not_recorded)}


@pytest.mark.parametrize("name", STAYING)
def test_what_may_be_another_thing_elsewhere_stays(name):
    fn = STAYING[name]()
    called(fn)
    assert own_recordings(fn) == ()


def test_one_call_is_no_recording():
    assert not own_recordings(called(dg.jit(closure()), times=1))


def test_an_argument_that_is_a_parameter_stays():
    fn, w = dg.jit(closure()), Parameter(ROWS, name="rows")
    for _ in range(3):
        fn(w)
    assert not own_recordings(fn)
