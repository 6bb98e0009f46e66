"""Guards of recorded functions: what they can reach and what changes between two calls is seen by the next."""

import collections
import functools
import types
import warnings

import numpy as np
import pytest
from engine import forget_programs
from support import assert_close, f64
from variations import Plain, variations

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.testing import Calls

pytestmark = pytest.mark.usefixtures("own_programs")

X = np.array([1.0, -2.0, 3.0])


#: what the varied functions are wrapped in
AROUND = {
    "values": lambda f: f,
    "gradients": dg.grad,
    "gradient operation": lambda f: ops.GradOperation()(f),
    "gradient function in a closure": lambda f: (lambda gradient: lambda x: gradient(x))(ops.GradOperation()(f)),
    "gradient of a recorded function": lambda f: dg.grad(dg.jit(f)),
    "row of a Hessian": lambda f: ops.GradOperation(sens_param=True)(ops.GradOperation()(lambda x: f(x) * ops.sum(x))),
}


def row(g, x, name):
    """A call of a function of `AROUND`."""
    return g(x, ops.ones_like(x)) if name == "row of a Hessian" else g(x)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("name", "f", "change"), [pytest.param(*v, id=v[0]) for v in variations()])
def test_changes_between_calls_are_seen(name, f, change, around):
    x = f64(X)
    eager = AROUND[around](lambda x: f.construct(x) if isinstance(f, nn.Cell) else f(x))
    recorded = dg.jit(AROUND[around](f))
    for k in range(4):
        for _ in range(4):
            assert_close(row(recorded, x, around), row(eager, x, around).asnumpy(), rtol=1e-15)
        change(2.0 + k)


@pytest.fixture
def former_mode():
    """A test that switches modes leaves the one it has found."""
    before = dg.get_context("mode")
    yield before
    dg.set_context(mode=before)


@pytest.mark.usefixtures("former_mode")
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("name", "f", "change"), [pytest.param(*v, id=v[0]) for v in variations()])
def test_changes_are_seen_in_graph_mode(name, f, change, around):
    """Transforms record by themselves there, around the user's function instead of within it."""
    x = f64(X)
    g = AROUND[around](f)
    for k in range(3):
        dg.set_context(mode=dg.PYNATIVE_MODE)
        expected = row(g, x, around).asnumpy()
        dg.set_context(mode=dg.GRAPH_MODE)
        for _ in range(4):
            assert_close(row(g, x, around), expected, rtol=1e-15)
        change(2.0 + k)


def test_a_function_that_reads_the_seed_follows_it():
    recorded = dg.jit(lambda x: x * float(dg.get_seed()))
    for seed in (3, 5, 5, 3):
        dg.set_seed(seed)
        for _ in range(4):
            assert_close(recorded(f64(X)), X * float(seed), rtol=0)


def test_settings_of_an_operator_may_change():
    x = f64(np.arange(6.0).reshape(2, 3))
    softmax = ops.Softmax(axis=-1)
    f = dg.jit(lambda x: softmax(x))
    for axis in (-1, 0, -1):
        softmax.axis = axis
        for _ in range(4):
            assert_close(f(x), ops.softmax(x, axis).asnumpy(), rtol=1e-15)


@pytest.mark.parametrize("sort", [lambda: np.ones(3), lambda: [1.0] * 3, Plain], ids=["array", "list", "object"])
def test_arguments_that_are_no_tensors_may_be_changed(sort):
    given = sort()
    f = dg.jit(lambda x, given: ops.sum(x * (given.scale if isinstance(given, Plain) else given[0])))
    for k in range(3):
        if isinstance(given, Plain):
            given.scale = 2.0 + k
        else:
            given[0] = 2.0 + k
        for _ in range(4):
            assert_close(f(f64(X), given), (2.0 + k) * X.sum())


def scaled(factor, x):
    return ops.sin(x) * factor


class Scale:
    def __call__(self, factor, x):
        return scaled(factor, x)


@pytest.mark.parametrize("inner", [scaled, functools.partial(scaled), Scale()], ids=["function", "partial", "object"])
def test_methods_of_anything_that_can_be_called(inner):
    x = Tensor([0.5, 1.5])
    recorded = dg.jit(types.MethodType(inner, 3.0))
    for _ in range(4):
        assert_close(recorded(x), 3 * np.sin([0.5, 1.5]), rtol=1e-6)


@pytest.mark.usefixtures("former_mode")
def test_cells_called_in_turns():
    """Each has its program, also one that comes to lie where another was."""
    x = Tensor([1.0, 2.0])

    class Times(nn.Cell):
        def __init__(self, k):
            super().__init__()
            self.construct = lambda x: x * k  # does not hold the Cell

    dg.set_context(mode=dg.GRAPH_MODE)
    cells = [Times(float(k)) for k in range(3)]
    for _ in range(5):
        for k, cell in enumerate(cells):
            assert cell(x).asnumpy().tolist() == [k, 2.0 * k]
    for k in range(40):
        cell = Times(float(k))
        for _ in range(4):
            assert cell(x).asnumpy().tolist() == [k, 2.0 * k]
        del cell


def test_code_that_is_replaced():
    def f(x):
        return x * 1

    recorded = dg.jit(f)
    for _ in range(4):
        recorded(f64(X))
    f.__code__ = (lambda x: x * 5).__code__
    assert_close(recorded(f64(X)), 5 * X)


def test_training_and_evaluation_may_alternate_for_ever():
    layer = nn.Dropout(p=0.5)
    f = dg.jit(lambda x: layer(x))
    x = f64(np.ones(200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(12):
            layer.set_train(True)
            assert all((f(x).asnumpy() == 0).any() for _ in range(12))
            layer.set_train(False)
            assert all((f(x).asnumpy() == 1).all() for _ in range(12))


def test_parameters_that_are_frozen():
    p, q = Parameter(np.ones(3), name="p"), Parameter(np.full(3, 2.0), name="q")
    gradient = dg.grad(lambda x: ops.sum(x * p * q), None, [p, q])
    recorded = dg.jit(gradient)
    for flag in (True, False, True):
        p.requires_grad = flag
        for _ in range(4):
            for a, b in zip(recorded(f64(X)), gradient(f64(X)), strict=True):
                assert_close(a, b.asnumpy())


class Constant(nn.Cell):
    """A Cell with a rule of its own that returns what it does not compute."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def construct(self, x):
        return self.value

    def bprop(self, x, out, dout):
        return (dout * 3,)


@pytest.mark.parametrize("around", [lambda f: f, lambda f: dg.value_and_grad(lambda x: f(x).sum())])
def test_what_a_cell_with_its_own_rule_returns_is_read_anew(around):
    p = Parameter(np.ones(3), name="p")
    f = around(Constant(p))
    recorded = dg.jit(f)
    for k in range(3):
        p.set_data(f64([1.0 + k] * 3))
        for _ in range(4):
            for a, b in zip(flat(recorded(f64(X))), flat(f(f64(X))), strict=True):
                assert_close(a, b.asnumpy())


def flat(nest):
    return [leaf for part in nest for leaf in flat(part)] if isinstance(nest, tuple) else [nest]


# ------------------------------------------------------------------------------------------------------- arguments


def test_one_tensor_twice_is_not_two_tensors():
    f = dg.jit(lambda a, b: a * b)
    a, b = f64(X), f64([2.0] * 3)
    for _ in range(4):
        assert_close(f(a, a), X * X)
    for _ in range(4):
        assert_close(f(a, b), 2 * X)
        assert_close(f(a, a), X * X)


def test_an_argument_that_is_captured_too():
    w, x = f64([2.0, 2.0, 2.0]), f64(X)
    for first, second in ((w, x), (x, w)):
        forget_programs()
        f = dg.jit(lambda a: a * w)
        for given in (first, second, first):
            for _ in range(4):
                assert_close(f(given), given.asnumpy() * 2)


def test_arguments_that_the_function_changes():
    def f(x, given):
        x[0] = 7.0
        return x * 2, given[0]

    recorded = dg.jit(f)
    for k in range(5):
        x, y = f64(X + k), f64(X)
        doubled, same = recorded(x, [y])
        expected = np.array([7.0, *(X + k)[1:]])
        assert_close(x, expected)
        assert_close(doubled, 2 * expected)
        assert same is y

    @dg.jit
    def longer(given):
        given.append(given[0] * 2)
        return given[0] + 1

    with pytest.warns(UserWarning, match="a list or dict that it was given is changed"):
        longer([f64(X)])
    for k in range(4):
        given = [f64(X + k)]
        x = given[0]
        assert_close(longer(given), X + k + 1)
        assert given[0] is x
        assert_close(given[1], 2 * (X + k))


@pytest.mark.parametrize("k", [(0.0, -0.0), (1, 1.0, True), (np.nan,), (1 + 0j, 1 - 0j)], ids=str)
def test_numbers_that_are_equal_and_not_the_same(k):
    def f(x, number):
        return ops.atan2(x, x * 0 + number) if isinstance(number, float) else x * number

    recorded = dg.jit(f)
    for _ in range(4):
        for number in k:
            x = Tensor([1, 2, 3]) if len(k) == 3 else f64([0.0, 0.0, 0.0])
            found, expected = recorded(x, number), f(x, number)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())


# ------------------------------------------------------------------------------------------------- what is no program


def test_attributes_that_are_set_inside_are_set_at_each_call():
    plain = Plain()

    def f(x):
        plain.last = x * 2
        return x * 3

    recorded = dg.jit(f)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for k in range(6):
            recorded(f64(X + k))
            assert_close(plain.last, 2 * (X + k))
    assert [str(w.message).partition(";")[0].partition("eagerly: ")[2] for w in given] == [
        "it changes the attribute 'last' of a Plain, which is there before the call"
    ]


def test_values_that_are_made_at_the_first_call_only():
    plain = Plain()
    plain.cache = None

    def f(x):
        if plain.cache is None:
            plain.cache = 2.0
        return x * plain.cache

    recorded = dg.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(6):
            assert_close(recorded(f64(X + k)), 2 * (X + k))


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("every", [1, 2])
def test_counters_count(every):
    count = [0]

    def f(x):
        count[0] += 1
        return x * (count[0] // every)

    recorded = dg.jit(f)
    for k in range(9):
        assert_close(recorded(f64(X)), X * ((k + 1) // every))


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_an_exception_leaves_a_function_that_can_be_recorded():
    state = {"bad": True}

    def f(x):
        y = ops.sin(x)
        if state["bad"]:
            raise ValueError("not now")
        return y

    recorded = dg.jit(f)
    for bad in (True, False, True, False):
        state["bad"] = bad
        for k in range(4):
            if bad:
                with pytest.raises(ValueError, match="not now"):
                    recorded(f64(X))
            else:
                assert_close(recorded(f64(X + k)), np.sin(X + k), rtol=1e-15)


ASKING = {
    "bool": lambda x: 2.0 if (x.sum() > 0) else 3.0,
    "int": lambda x: int(x.sum()),
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: sum(x.tolist()),
    "asnumpy": lambda x: np.sin(x.asnumpy()).sum(),
    "array": lambda x: np.asarray(x).sum(),
    "dlpack": lambda x: float(np.from_dlpack(x).sum()),
    "text": lambda x: len(str(x)),
    "format": lambda x: float(f"{x.sum():.3f}"),
    "round": lambda x: float(round(x.sum(), 1)),
    "in": lambda x: 2.0 if 1.0 in x else 3.0,
    "iteration": lambda x: float(next(iter(x))),
    "mask": lambda x: float(x[x > 0].shape[0]),
    "recursion": lambda x: 1.0 if (x < 0.5).all() else 1 + ASKING["recursion"](x / 2),
    "generator": lambda x: sum(1.0 for item in x if item > 0),
}


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("name", ASKING)
def test_numbers_that_python_is_given_are_those_of_the_call(name):
    f = lambda x: x * ASKING[name](x)
    recorded = dg.jit(f)
    for k in (0, 1, -5, 2, -9, 3):
        assert_close(recorded(f64(X + k)), f(f64(X + k)).asnumpy(), rtol=1e-15)


def test_generators_and_recursion_without_numbers():
    def parts(x):
        for i in range(3):
            yield x * i

    def deep(x, n=3):
        return x if n == 0 else ops.sin(deep(x, n - 1))

    for f in (lambda x: sum(parts(x)), deep):
        recorded = dg.jit(f)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for k in range(5):
                assert_close(recorded(f64(X + k)), f(f64(X + k)).asnumpy(), rtol=1e-15)


def test_programs_used_lately_stay():
    calls = Calls()

    def f(x):
        calls.note()
        return x * 2

    recorded = dg.jit(f)
    for k in range(600):
        recorded(f64(X))
        dg.jit(lambda x, k=k: x + k)(f64(X))
    assert len(calls) == 2


class Part:
    """No number or text: another one is another."""

    def __init__(self, k):
        self.k = k


#: containers of objects, and how one of the objects is put there again
HOLDERS = {
    "list": (list, lambda held, part: held.__setitem__(0, part)),
    "deque": (collections.deque, lambda held, part: held.__setitem__(0, part)),
    "set": (set, lambda held, part: held.add(part)),
    "dict": (lambda parts: dict(enumerate(parts)), lambda held, part: held.__setitem__(0, part)),
    "OrderedDict": (
        lambda parts: collections.OrderedDict(enumerate(parts)), lambda held, part: held.__setitem__(0, part)
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOLDERS)
def test_the_same_objects_put_back_leave_a_program_good(kind):
    make, put = HOLDERS[kind]
    parts = [Part(1.0), Part(2.0)]
    held, calls = make(parts), Calls()

    def f(x):
        calls.note()
        return x * sum(part.k for part in (held.values() if isinstance(held, dict) else held))

    recorded = dg.jit(f)
    for _ in range(4):
        assert_close(recorded(f64(X)), 3 * X)
        put(held, parts[0])
    assert len(calls) == 2


def test_a_walk_without_end_is_broken_off():
    """A function that can reach a million objects runs eagerly, soon, and says why."""

    class Item:
        pass

    class Store:
        def __init__(self, n):
            self.parts = [[Item() for _ in range(4000)] for _ in range(n)]
            self.scale = 2.0

    for n, eager in ((2, False), (300, True)):
        store = Store(n)
        recorded = dg.jit(lambda x, store=store: x * store.scale + len(store.parts))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(4):
                assert recorded(Tensor(3.0)).asnumpy() == 6.0 + n
        assert ["too many objects" in str(w.message) for w in caught] == [True] * eager


# ------------------------------------------------------------------------------------------ a Cell that is called


def replaced(cell, k):
    cell.construct = lambda x: ops.sum(x * k)


def removed(cell, _):
    cell.__dict__.pop("construct", None)


def of_class(cell, k):
    type(cell).construct = lambda self, x: ops.sum(x * k)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("recorded_before", [False, True])
def test_a_construct_that_is_replaced(graph, derivative, recorded_before):
    """On an instance, on its class, and back; also before the first call."""
    before = dg.get_context("mode")
    dg.set_context(mode=dg.GRAPH_MODE if graph else dg.PYNATIVE_MODE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")

            class Net(nn.Cell):
                def construct(self, x):
                    return ops.sum(x * 2.0)

            net = Net()
            if not recorded_before:
                replaced(net, 7.0)
            call = dg.grad(net) if derivative else net
            call = call if graph else dg.jit(call)
            x = f64([1.0, 2.0])
            expected = 2.0 if recorded_before else 7.0
            for change, k in [
                (None, expected), (replaced, 3.0), (replaced, 4.0), (removed, 2.0), (of_class, 5.0), (replaced, 6.0),
                (of_class, 8.0), (removed, 8.0),
            ]:  # fmt: skip
                if change is not None:
                    change(net, k)
                now = 6.0 if change is of_class and k == 8.0 else k
                for _ in range(4):
                    right = [now, now] if derivative else 3.0 * now
                    np.testing.assert_array_equal(call(x).asnumpy(), right)
    finally:
        dg.set_context(mode=before)
