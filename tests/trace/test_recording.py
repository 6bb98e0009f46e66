"""Recorded functions: what is replayed is what eager execution gives, and what cannot be replayed runs eagerly."""

import contextlib
import os
import sys
import threading
import warnings

import numpy as np
import pytest
from cases import Case, all_cases
from engine import forget_programs, programs
from support import assert_close, assert_raises, f32, f64, repeated_grad
from ways import WAYS, programs_run

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.programs import interpreted, verify
from dualgrad.programs._listing import recording_of
from dualgrad.testing import Calls, tape_reports, taped_backward

pytestmark = [pytest.mark.eager("records by itself"), pytest.mark.usefixtures("own_programs")]

CASES = all_cases()
X = np.array([1.0, -2.0, 3.0])
RNG = np.random.default_rng(31)


def state_of(name):
    """Whether the function of that name is replayed, and its text."""
    found = [(replayed, text) for label, replayed, text in programs() if name in label]
    assert found, f"no program of {name} among {[p[0] for p in programs()]}"
    return found[-1]


def numbers(nest):
    if isinstance(nest, tuple | list):
        return [a for part in nest for a in numbers(part)]
    return [nest.asnumpy()] if isinstance(nest, Tensor) else []


def leaves(nest):
    """The tensors of a nest that hold float64."""
    if isinstance(nest, tuple | list):
        return [leaf for part in nest for leaf in leaves(part)]
    return [nest] if isinstance(nest, Tensor) and nest.dtype == dg.float64 else []


def gradient_of(case: Case):
    """Value and gradient of a number made of all results of a case, and those."""

    def f(*xs):
        out = case.fn(*xs)
        total = sum(ops.sum(ops.sin(leaf)) for leaf in leaves(out))
        return total, out

    return dg.value_and_grad(f, tuple(range(len(case.args))), has_aux=True)


def assert_numbers(found, expected):
    """Equal but for the order of sums."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13 * max(1.0, np.abs(b).max(initial=0.0)))


def moved(a):
    """Numbers near those of an array, in no special position; what is symmetric stays so."""
    a = np.asarray(a)
    if a.dtype.kind != "f":
        return a
    bends = [np.sin(1.0 + np.arange(n)) for n in a.shape]
    shapes = [[n if i == k else 1 for i in range(a.ndim)] for k, n in enumerate(a.shape)]
    return a - 1e-3 * (0.1 + abs(a)) * sum(
        (b.reshape(s) for b, s in zip(bends, shapes, strict=True)), start=np.zeros(a.shape)
    ).astype(a.dtype)


@pytest.mark.rotated("way")
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_cases_replayed_are_cases_executed(case: Case, way):
    """Values and gradients of every operator, recorded twice and replayed."""
    args = [Tensor(a) for a in case.args]
    gradient = gradient_of(case)
    expected = numbers(gradient(*args))
    with programs_run(way):
        recorded = dg.jit(gradient)
        for _ in range(4):
            assert_numbers(numbers(recorded(*args)), expected)


@pytest.mark.rotated("case", key="operator")
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_programs_are_good_for_other_numbers(case: Case):
    """What is recorded at one point is replayed at another: ties, zeros, singular matrices become general, and back."""
    gradient = gradient_of(case)
    points = [[Tensor(a) for a in case.args], [Tensor(moved(a)) for a in case.args]]
    with np.errstate(all="ignore"):
        expected = [numbers(gradient(*args)) for args in points]
        for first in (0, 1):
            recorded = dg.jit(gradient)
            forget_programs()
            for k in (first, first, 1 - first):
                assert_numbers(numbers(recorded(*points[k])), expected[k])


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rank", range(5))
def test_derivatives_of_determinants_follow_the_rank(rank, way):
    """How their program splits a matrix depends on the rank it was recorded with."""
    draws = np.random.default_rng(rank)
    matrices = [f64(draws.normal(size=(4, r)) @ draws.normal(size=(r, 4))) for r in (rank, *range(4, -1, -1), rank)]
    gradient = dg.grad(lambda a: ops.sum(ops.sin(ops.det(a))))
    with programs_run(way):
        recorded = dg.jit(gradient)
        for a in (matrices[0], matrices[0], *matrices):
            assert_close(recorded(a), gradient(a).asnumpy(), rtol=1e-15)


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

    with pytest.warns(UserWarning, match=r"f runs eagerly: Python was given the truth value.*test_recording\.py, line"):
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


def test_threads_may_run_one_program_at_once():
    w = Parameter(np.linspace(0.1, 1.0, 20), name="w")
    f = dg.jit(dg.grad(lambda x: ops.sum(ops.tanh(x * w) ** 2)))
    for _ in range(3):
        f(f64(np.ones((2000, 20))))
    inputs = [np.full((2000, 20), 0.1 * k) for k in range(4)]
    expected = [f(f64(a)).asnumpy() for a in inputs]
    wrong = []

    def work(k):
        for _ in range(20):
            if not np.array_equal(f(f64(inputs[k])).asnumpy(), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


ROWS = (63, 64, 1000, 5000)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_networks_in_blocks_of_rows(rows, dtype):
    """A residual with second derivatives, and its gradient by all weights, planned and eager."""
    rng = np.random.default_rng(rows)
    shapes = [(2, 8), (8, 8), (8, 1)]
    ws = [Parameter((rng.standard_normal(s) / np.sqrt(s[0])).astype(dtype), name=f"w{i}") for i, s in enumerate(shapes)]
    bs = [Parameter(rng.standard_normal(s[1]).astype(dtype), name=f"b{i}") for i, s in enumerate(shapes)]
    x, y = (Tensor(rng.standard_normal((rows, 1)).astype(dtype)) for _ in range(2))
    one = ops.ones_like(x)

    def net(x, y):
        h = ops.cat((x, y), 1)
        for w, b in zip(ws[:-1], bs[:-1], strict=True):
            h = ops.tanh(ops.matmul(h, w) + b)
        return ops.matmul(h, ws[-1]) + bs[-1]

    def loss():
        slope = lambda x: dg.jvp(lambda x: net(x, y), x, one)[1]
        first, second = dg.jvp(slope, x, one)
        u = net(x, y)
        weight = ops.where(u > 0, u, 0.5 * u)
        return ops.mean((second + weight * first) ** 2) + ops.sum(ops.softmax(u, 0) * u)

    gradient = dg.value_and_grad(loss, None, ws + bs)
    expected = numbers(gradient())
    recorded = dg.jit(gradient)
    for _ in range(3):
        found = numbers(recorded())
    assert programs()[-1][1]
    tolerance = 1e-4 if dtype is np.float32 else 1e-11
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_give_the_same_numbers_in_every_run(threads):
    w = Parameter(np.random.default_rng(0).standard_normal((6, 6)), name="w")
    x = f64(np.random.default_rng(1).standard_normal((60_000, 6)))
    f = dg.value_and_grad(lambda x: ops.sum(ops.tanh(ops.tanh(ops.matmul(x, w)) @ w) ** 2), 0, [w])
    expected = numbers(f(x))
    before = dg.get_num_threads()
    dg.set_num_threads(threads)
    try:
        recorded = dg.jit(f)
        runs = [numbers(recorded(x)) for _ in range(6)]
        for a, b in zip(runs[-1], expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-9)
        for again in runs[3:]:
            assert all(np.array_equal(a, b) for a, b in zip(again, runs[2], strict=True))
    finally:
        dg.set_num_threads(before)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="where threads run is left to the system")
def test_the_calling_thread_has_its_processor_for_itself():
    """If there are enough of them. Schedulers put both threads on one, one behind the other."""
    available = os.sched_getaffinity(0)
    x = f64(np.linspace(0.0, 1.0, 3_000_000))
    recorded = dg.jit(lambda x: ops.sum(ops.sin(x) * ops.exp(x)))

    def left_out(threads):
        """The processors that threads of this process do not run on."""
        dg.set_num_threads(threads)
        for _ in range(4):
            recorded(x)
        return {frozenset(available - os.sched_getaffinity(int(task))) for task in os.listdir("/proc/self/task")}

    before = dg.get_num_threads()
    try:
        if len(available) > 1:
            assert any(len(others) == 1 for others in left_out(2))
        if len(available) < 64:
            assert left_out(len(available) + 1) == {frozenset()}
    finally:
        dg.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_fork_after_a_call_on_several_threads_works():
    x = f64(np.linspace(0.0, 1.0, 3_000_000))
    f = dg.jit(lambda x: ops.sum(ops.sin(x) * ops.exp(x)))
    before = dg.get_num_threads()
    dg.set_num_threads(2)
    try:
        for _ in range(4):
            expected = f(x).asnumpy()
        child = os.fork()
        if child == 0:
            os._exit(0 if f(x).asnumpy() == expected else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert f(x).asnumpy() == expected
    finally:
        dg.set_num_threads(before)
