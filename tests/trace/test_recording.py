"""Recorded functions: what is replayed is what eager execution gives, and what cannot be replayed runs eagerly."""

import contextlib
import gc
import warnings

import numpy as np
import pytest
from engine import programs
from support import assert_close, assert_raises, f32, f64, repeated_grad

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.programs import interpreted, verify
from dualgrad.programs._listing import recording_of
from dualgrad.testing import Calls, tape_reports, taped_backward

pytestmark = [pytest.mark.eager("records by itself"), pytest.mark.usefixtures("own_programs")]

X = np.array([1.0, -2.0, 3.0])
RNG = np.random.default_rng(31)


def state_of(name):
    """Whether the function of that name is replayed, and its text."""
    found = [(replayed, text) for label, replayed, text in programs() if name in label]
    assert found, f"no program of {name} among {[p[0] for p in programs()]}"
    return found[-1]


def test_third_call_is_a_replay_without_python():
    calls = Calls()

    @dg.jit
    def f(x):
        calls.note()
        return ops.sin(x) * x

    for k in range(5):
        assert_close(f(f64(X + k)), np.sin(X + k) * (X + k), rtol=1e-15)
    assert len(calls) == 2
    assert state_of("f")[0]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_equal_steps_are_one_with_any_number_of_operands(count):
    """Steps with few operands and those with many are found in tables of their own."""

    def f(x):
        parts = [x * float(k + 2) for k in range(count)]
        once, again = (ops.concat(parts), ops.concat(parts)) if count > 1 else (ops.sin(x), ops.sin(x))
        other = ops.concat(parts[::-1]) if count > 1 else ops.cos(x)
        return once + again, other

    steps = recording_of(f, (Tensor(X),), {}).program.steps
    assert len({tuple(step[:1]) + tuple(step[2]) for step in steps}) == len(steps)
    assert len(steps) == (3 if count == 1 else count + 3)
    assert_close(dg.jit(f)(Tensor(X))[0], f(Tensor(X))[0])


def test_steps_with_other_settings_or_operands_in_another_order_are_others():
    """A sum may exchange its operands, a difference may not; settings that are equal numbers of other types differ."""

    def f(x, y):
        sums = x + y, y + x, x - y, y - x
        pieces = x[0:2], x[0:2], x[1:3], x[0:2:1], x[0:3:2]
        return [*sums, *(ops.exp(piece) for piece in pieces)]

    args = Tensor(X), Tensor(X + 0.5)
    steps = recording_of(f, args, {}).program.steps
    assert len(steps) == 3 + 3 + 3
    recorded = dg.jit(f)
    for _ in range(3):
        for a, b in zip(recorded(*args), f(*args), strict=True):
            assert_close(a, b)


@pytest.mark.parametrize("lead", [(), (700,), pytest.param((5000,), marks=pytest.mark.exhaustive)], ids=str)
def test_copies_along_more_axes_than_an_instruction_has(lead):
    """Eight axes of which no two lie behind each other, alone and in blocks of rows."""
    x = RNG.standard_normal((*lead, 2, 3, 2, 1, 2, 3, 2, 2))
    n = len(lead)
    order = (*range(n), *(n + k for k in (7, 5, 3, 1, 6, 4, 2, 0)))

    def f(x):
        turned = ops.sin(x).transpose(order)
        doubled = ops.concat([turned, turned[..., ::-1]], -1)
        return ops.cos(doubled), ops.exp(turned.reshape(*lead, -1)), ops.concat([turned, turned * 2.0], n)

    recorded = dg.jit(f)
    assert verify(f)(Tensor(x)) > 0
    for k in range(4):
        for a, b in zip(recorded(Tensor(x + k)), f(Tensor(x + k)), strict=True):
            assert_close(a, b, rtol=1e-14)


def test_equal_components_are_one_step():
    """K nested gradients of exp(sin(x)): the program grows slowly with k, not like 2**k."""
    sizes = []
    for k in range(1, 11):
        f = lambda x: ops.exp(ops.sin(x))
        for _ in range(k):
            f = dg.grad(f)
        recorded = dg.jit(f)
        for _ in range(3):
            recorded(f64([0.3]))
        sizes.append(sum(" = " in line and "(%" in line for line in programs()[-1][2].split("\n")))
    assert all(size <= (k + 1) ** 3 for k, size in enumerate(sizes, 1)), sizes


def test_functions_that_differ_in_what_they_close_over_are_different():
    f = lambda x: ops.exp(ops.sin(x))
    expected = []
    for _ in range(5):
        expected.append(f(f64([0.3])).asnumpy())
        recorded = dg.jit(f)
        for _ in range(3):
            assert_close(recorded(f64([0.3])), expected[-1], rtol=1e-13)
        f = lambda x, g=f: dg.jvp(g, x, ops.ones_like(x))[1]

    def count(n):
        return 0 if n == 0 else 1 + count(n - 1)

    recorded = dg.jit(lambda x: x * count(3))
    for _ in range(3):
        assert_close(recorded(f64(X)), 3 * X)


@pytest.mark.parametrize("before", [2, 20, 60])
def test_equal_functions_share_a_program_until_they_differ(before):
    """The second one has programs of its own after many calls; what one closes over never moves the other."""
    calls = Calls()

    def new(factor):
        def f(x):
            calls.note()
            return x * factor

        def change(value):
            nonlocal factor
            factor = value

        return dg.jit(f), change

    (first, change_first), (second, change_second) = new(2.0), new(2.0)
    for f in (first, second):
        for _ in range(before):
            assert_close(f(f64(X)), 2 * X)
    assert len(calls) <= (2 if before < 32 else 4)
    change_second(3.0)
    for _ in range(4):
        assert_close(first(f64(X)), 2 * X)
        assert_close(second(f64(X)), 3 * X)
    change_first(5.0)
    change_second(2.0)
    for _ in range(4):
        assert_close(first(f64(X)), 5 * X)
        assert_close(second(f64(X)), 2 * X)


def test_parameters_are_read_at_each_call_and_steps_are_effects():
    w = Parameter(np.array([1.0, 2.0]), name="w")
    optimizer = nn.Adam([w], learning_rate=0.1)
    gradient = dg.value_and_grad(lambda x: ops.sum((w - x) ** 2), None, [w])

    def step(x):
        loss, gradients = gradient(x)
        return ops.depend(loss, optimizer(gradients))

    def train(step):
        w.set_data(f64([1.0, 2.0]))
        for state in (*optimizer.moment1, *optimizer.moment2):
            state.set_data(ops.zeros_like(state))
        optimizer.global_step.set_data(ops.zeros_like(optimizer.global_step))
        return [step(f64([0.1 * k, 0.5])).asnumpy() for k in range(8)], w.asnumpy()

    expected = train(step)
    recorded = dg.jit(step)
    found = train(recorded)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)
    assert state_of("step")[0]
    w.set_data(f64([5.0, 5.0]))
    assert_close(recorded(f64([0.0, 0.0])), 50.0)


def changes_of_parameters(state, other, const):
    """Functions that put something into a Parameter and read it again."""

    def put(*values):
        def f(x):
            for value in values:
                state.set_data(value() if callable(value) else value)
            return state * x + other

        return f

    def assigned(x):
        ops.assign(state, Tensor(np.ones(2)))
        return state * x

    def indexed(x):
        state[0] = 2.0
        return state * x

    def twice(x):
        ops.assign_add(state, other)
        y = state * x
        ops.assign(state, other)
        return state * y

    def borrowed(x):
        old = state * 1.0
        state.set_data(f64([0.0, 0.0]))
        z = state + x
        state.set_data(old)
        return z * state

    def taken(x):
        state.set_data(x)
        return state * other

    return {
        "a constant": put(lambda: f64([0.5, 0.25])),
        "a tensor from outside": put(const),
        "a Parameter": put(other),
        "a number made of one": put(lambda: other * 1.0),
        "a constant, then a sum": put(lambda: f64([1.0, 1.0]), lambda: state + other),
        "assigned": assigned,
        "indexed": indexed,
        "twice": twice,
        "borrowed": borrowed,
        "taken": taken,
    }


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("name", changes_of_parameters(None, None, None))
def test_what_is_put_into_a_parameter_is_read_again(name, order):
    def run(wrap):
        state = Parameter(np.array([3.0, 4.0]), name="state")
        other = Parameter(np.array([5.0, 6.0]), name="other")
        f = changes_of_parameters(state, other, f64([7.0, 8.0]))[name]
        g = wrap(dg.grad(lambda x: ops.sum(f(x))) if order else f)
        found = []
        for k in range(6):
            found += [g(f64([1.0 + k, 2.0])).asnumpy(), state.asnumpy().copy()]
            other.set_data(f64([5.0 + k, 6.0]))
        return found

    np.testing.assert_array_equal(run(dg.jit), run(lambda f: f))


def test_axes_merged_in_what_is_put_into_a_parameter():
    """Of a large array they are merged when its elements are wanted, in a parameter or in a result."""
    held = Parameter(np.zeros((70 * 20, 4)), name="held")

    def f(x):
        merged = ops.sin(x).transpose((1, 0, 2)).reshape((-1, 4))
        held.set_data(merged)
        return ops.cos(x).transpose((1, 0, 2)).reshape((-1, 4))

    recorded, x = dg.jit(f), RNG.normal(size=(70, 20, 4))
    for k in range(4):
        assert_close(recorded(f64(x + k)), np.cos(x + k).transpose(1, 0, 2).reshape(-1, 4), rtol=1e-14)
        assert_close(held.value(), np.sin(x + k).transpose(1, 0, 2).reshape(-1, 4), rtol=1e-14)


def test_captured_tensors_and_assigned_inputs():
    a = f64(X)
    f = dg.jit(lambda x: x * a)
    for _ in range(3):
        assert_close(f(f64(X)), X * X)
    a[0] = 7.0
    assert_close(f(f64(X)), X * np.array([7.0, -2.0, 3.0]))

    @dg.jit
    def write(x):
        x[0] = x[1] * 2.0
        return x + 1.0

    for _ in range(4):
        x = f64(X)
        assert_close(write(x), [-3.0, -1.0, 4.0])
        assert_close(x, [-4.0, -2.0, 3.0])


def test_shapes_types_nesting_and_numbers_are_recorded_apart():
    f = dg.jit(lambda x, n: {"y": x * n, "n": n})
    for _ in range(3):
        for x in (f64(X), f32(X), f64([[1.0]])):
            for n in (2, 3.0):
                result = f(x, n)
                assert_close(result["y"], x.asnumpy() * n)
                assert result["n"] == n
                assert result["y"].dtype == x.dtype


def test_a_cell_with_other_attributes_is_recorded_anew():
    class Scaled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.factor = 2.0

        def construct(self, x):
            return x * self.factor

    net = dg.jit(Scaled())
    for _ in range(4):
        assert_close(net(f64(X)), 2 * X)
    net.factor = 3.0
    for _ in range(4):
        assert_close(net(f64(X)), 3 * X)


@pytest.mark.parametrize("f", [ops.cos, lambda x: ops.sin(x) * x, lambda x: x**3, lambda x: -abs(x)], ids=range(4))
@pytest.mark.parametrize("order", [1, 2])
def test_zeros_keep_their_sign(f, order):
    """A derivative of zero is +0 in eager execution, also where a product with one would give -0.

    That is what is recorded. A plan gives the same numbers.
    """
    x, gradient = f64([0.0, -0.0, 1.0]), repeated_grad(f, order)
    expected, recorded = gradient(x).asnumpy(), dg.jit(gradient)
    for _ in range(4):
        np.testing.assert_array_equal(recorded(x).asnumpy(), expected)
    with interpreted():
        for _ in range(4):
            assert recorded(x).asnumpy().tobytes() == expected.tobytes()


def test_a_parameter_that_is_frozen_later():
    class Scaled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a, self.b = Parameter(f64(2.0), name="a"), Parameter(f64(3.0), name="b")

        def construct(self, x):
            return self.a * self.b * x

    net, x = Scaled(), f64(5.0)
    by_all = dg.jit(lambda x: dg.grad(net, None, [net.a, net.b])(x))
    by_trainable = dg.jit(lambda x: ops.GradOperation(get_by_list=True)(net)(x))
    for frozen in (False, True, False):
        net.a.requires_grad = not frozen
        for _ in range(4):
            assert_close(by_all(x), (0.0 if frozen else 15.0, 10.0))
            assert_close(by_trainable(x), (10.0,) if frozen else (15.0, 10.0))

    @dg.jit
    def freezing(x):
        net.a.requires_grad = not net.a.requires_grad
        return net(x)

    with pytest.warns(UserWarning, match="freezing runs eagerly: it changes the attribute '_requires_grad'"):
        freezing(freezing(x))


def test_a_list_of_cells_that_grows():
    class Stack(nn.Cell):
        def __init__(self):
            super().__init__()
            self.cells = nn.CellList([nn.Dense(2, 2)])

        def construct(self, x):
            for cell in self.cells:  # which is read, not called
                x = cell(x)
            return x

    net = dg.jit(Stack())
    for columns in (2, 3, 4):
        for _ in range(4):
            assert net(f32([[1.0, 2.0]])).shape == (1, columns)
        net.cells.append(nn.Dense(columns, columns + 1))


def test_programs_of_the_other_backward_pass_are_not_replayed():
    f = dg.jit(repeated_grad(lambda x: x**4, 2))
    for taped in (False, True, False):
        with taped_backward() if taped else contextlib.nullcontext(), tape_reports() as reports:
            for _ in range(3):
                assert_close(f(f64(2.0)), 48.0)
        assert any("subtape" not in r["by_primitive"] for r in reports)
        assert any("subtape" in r["by_primitive"] for r in reports) != taped


def test_numbers_that_python_asks_for_end_the_recording_with_one_warning():
    @dg.jit
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x * 3

    words = r"f runs eagerly: Python was given the truth value.*test_recording\.py, line.*choose with ops\.where"
    with pytest.warns(UserWarning, match=words):
        assert_close(f(f64(X)), 2 * X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_close(f(f64(-X)), -3 * X)


def test_numbers_of_what_does_not_depend_on_the_arguments_end_nothing():
    a = f64(X)

    @dg.jit
    def f(x):
        return x * 2 if a[0] > 0 else x * 3

    for _ in range(3):
        assert_close(f(f64(X)), 2 * X)
    assert state_of("f")[0]
    a[0] = -1.0
    assert_close(f(f64(X)), 3 * X)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_counters_and_attributes_written_inside_are_never_frozen():
    count = iter(range(100))
    f = dg.jit(lambda x: x * next(count))
    for k in range(6):
        assert_close(f(f64(X)), k * X)

    class Counting(nn.Cell):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def construct(self, x):
            self.calls += 1
            return x * self.calls

    net = dg.jit(Counting())
    for k in range(6):
        assert_close(net(f64(X)), (k + 1) * X)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_a_number_that_always_differs_is_not_recorded_for_ever():
    f = dg.jit(lambda x, n: x * n)
    for k in range(40):
        assert_close(f(f64(X), float(k)), X * k)
    assert state_of("<lambda>") == (False, "eager")


def test_random_numbers_are_drawn_anew_and_follow_the_seed():
    f = dg.jit(lambda x: x + ops.rand(3, dtype=dg.float64))
    x = f64(X)
    dg.set_seed(3)
    recorded = [f(x).asnumpy() for _ in range(6)]
    assert state_of("<lambda>")[0]
    dg.set_seed(3)
    eager = [(x + ops.rand(3, dtype=dg.float64)).asnumpy() for _ in range(6)]
    np.testing.assert_array_equal(recorded, eager)


def test_errors_leave_arguments_and_recording_as_they_were():
    @dg.jit
    def f(x):
        ops.sin(x)
        raise ArithmeticError("inside")

    x = f64(X)
    for _ in range(4):
        assert_raises(ArithmeticError, lambda: f(x), "inside")
        assert_close(x, X)
    assert_close(ops.sin(x), np.sin(X))


def test_recorded_functions_inside_derivatives_and_derivatives_inside():
    f = dg.jit(lambda x: ops.sin(x) * x)
    for _ in range(4):
        f(f64(X))
        assert_close(dg.grad(f)(f64(X)), np.cos(X) * X + np.sin(X), rtol=1e-14)
        assert_close(dg.vmap(dg.grad(f))(f64(X)), np.cos(X) * X + np.sin(X), rtol=1e-14)
    second = dg.jit(lambda x: dg.jvp(dg.grad(f), x, ops.ones_like(x))[1])
    for _ in range(4):
        assert_close(second(f64(X)), 2 * np.cos(X) - X * np.sin(X), rtol=1e-13)
    assert state_of("<lambda>")[0]


def test_checks_of_arguments_are_repeated_by_programs():
    f = dg.jit(lambda x, t: ops.cross_entropy(x, t))
    x = f64([[1.0, 2.0], [0.5, 0.1]])
    for _ in range(4):
        f(x, Tensor([0, 1]))
    assert_raises(ValueError, lambda: f(x, Tensor([0, 5])), "class 5")


COLLECTOR = {
    "asks": lambda: 2.0 if gc.isenabled() else 3.0,
    "asks later": lambda: (gc.get_count(), 2.0 if gc.isenabled() else 3.0)[1],
    "switches off": lambda: (gc.disable(), 2.0)[1],
    "switches on": lambda: (gc.enable(), 2.0)[1],
    "turns": lambda: (gc.disable() if gc.isenabled() else gc.enable(), 2.0)[1],
}
CALLED = {
    "alone": lambda number: lambda x: x * number(),
    "in a gradient": lambda number: dg.grad(lambda x: x * number()),
    "in a loop": lambda number: lambda x: ops.fori_loop(0, 70, lambda i, c: c * 0.5 * number(), x),
    "in a branch": lambda number: lambda x: dg.cond(x > 0, lambda x: x * number(), lambda x: x, x),
}


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("number", COLLECTOR)
def test_a_function_meets_the_garbage_collector_as_its_user_has_set_it(number, called, enabled):
    """Recordings switch the collector off, and no function may see that, or find its own setting undone."""
    f = CALLED[called](COLLECTOR[number])
    recorded = dg.jit(f)
    former = gc.isenabled()
    try:
        for _ in range(4):
            found = []
            for g in (f, recorded):
                (gc.enable if enabled else gc.disable)()
                found.append((float(g(f64(0.5))), gc.isenabled()))
            assert found[0] == found[1]
    finally:
        (gc.enable if former else gc.disable)()
