"""Loops: against the same loop written in Python, in every mode; how often steps are run, and what is kept."""

import functools

import numpy as np
import pytest
from mixed_loops import XS, N, W, mixed
from nested_transforms import every_batch, every_mode
from support import assert_leaves_nothing, assert_raises, f64, numbers

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.loops import stepping
from dualgrad.loops.schedule import advances, default_states, first_states, schedule, visits

INNER = Parameter(f64(1.1), name="inner")


@pytest.fixture
def runs_again(monkeypatch):
    """Loops run again however small their traces are."""
    monkeypatch.setattr(stepping, "SMALL", -1)


def swing(carry, x):
    """A pendulum that is kicked: dicts, a parameter, and a derivative inside."""
    q, p = carry["q"], carry["p"]
    force = dg.grad(lambda q: W * ops.cos(q) * x)(q)
    p = p + 0.3 * force
    return {"q": q + 0.3 * p, "p": p}, (q * p, {"p": p})


def by_scan(start, xs, reverse=False, checkpoints=None):
    carry, (ys, more) = dg.scan(swing, {"q": start, "p": start * W}, xs, reverse=reverse, checkpoints=checkpoints)
    return carry["q"] * carry["p"] + (ys**2).sum() + (more["p"] * xs).sum()


def by_hand(start, xs, reverse=False):
    carry, ys = {"q": start, "p": start * W}, [None] * N
    for i in reversed(range(N)) if reverse else range(N):
        carry, ys[i] = swing(carry, xs[i])
    total = sum(y * y for y, _ in ys) + sum(more["p"] * xs[i] for i, (_, more) in enumerate(ys))
    return carry["q"] * carry["p"] + total


def collatz_like(x, loop):
    """A carry of several types, a captured value of the outer function, and a step that has no slope."""
    scale = ops.sin(x)

    def step(i, carry):
        value, count = carry
        return value * scale + ops.stop_gradient(value) * 0.5 + ops.where(value > 0.3, value, 0.0) * i, count + 1

    return loop(step, (x, Tensor(0, dg.int32)))


def fori(step, carry):
    value, count = dg.fori_loop(2, 6, step, carry, checkpoints=2)
    return value * count


def for_by_hand(step, carry):
    for i in range(2, 6):
        carry = step(i, carry)
    return carry[0] * carry[1]


def newton(a, loop):
    step = lambda x: 0.5 * (x + a / x)
    return loop(lambda x: ops.abs(x * x - a) > 1e-3, step, a)


def while_by_hand(going, step, x):
    while going(x):
        x = step(x)
    return x


PAIRS = {
    "scan": (by_scan, by_hand, (f64(0.4), XS)),
    "scan, one state": (functools.partial(by_scan, checkpoints=1), by_hand, (f64(0.4), XS)),
    "scan, two states, backwards": (
        functools.partial(by_scan, reverse=True, checkpoints=2),
        functools.partial(by_hand, reverse=True),
        (f64(0.4), XS),
    ),
    "fori_loop": (lambda x: collatz_like(x, fori), lambda x: collatz_like(x, for_by_hand), (f64(0.6),)),
    "while_loop": (lambda a: newton(a, dg.while_loop), lambda a: newton(a, while_by_hand), (f64(3.0),)),
}


def nests(f, args):
    yield dg.grad(lambda *args: f(*args), tuple(range(len(args))), [W])(*args)
    yield from every_mode(lambda x: f(x, *args[1:]), args[0], f64(0.3), W)


def batches(f, args):
    return every_batch(lambda x: f(x, *args[1:]), ops.stack([args[0] * k for k in (0.5, 1.0, 1.7)]), W)


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        for x, y in zip(numbers(a), numbers(b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", PAIRS)
def test_a_loop_is_differentiated_like_the_loop_in_python(name):
    loop, plain, args = PAIRS[name]
    assert_same(nests(loop, args), nests(plain, args))


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "while_loop"])
def test_a_loop_of_samples(name):
    loop, plain, args = PAIRS[name]
    assert_same(batches(loop, args), batches(plain, args))


def test_samples_end_at_different_steps():
    a = f64([0.5, 3.0, 100.0])
    root = lambda a: newton(a, dg.while_loop)
    for f in (root, dg.grad(root), dg.grad(dg.grad(root))):
        np.testing.assert_allclose(dg.vmap(f)(a), [float(f(x)) for x in a], rtol=1e-14)
    total = lambda a: (dg.vmap(dg.grad(root))(a)).sum()
    np.testing.assert_allclose(dg.grad(total)(a), [float(dg.grad(dg.grad(root))(x)) for x in a], rtol=1e-14)


def test_the_number_of_states_does_not_matter():
    gradients = [dg.grad(functools.partial(by_scan, checkpoints=s))(f64(0.4), XS) for s in range(1, N + 2)]
    assert len({float(g) for g in gradients}) == 1


@functools.cache
def fewest(n, s):
    """The least number of steps run, by trying every place for the next state."""
    if n <= 1 or s == 1:
        return n * (n - 1) // 2
    return min(k + fewest(k, s) + fewest(n - k, s - 1) for k in range(1, n))


def test_the_schedule_is_the_best_there_is():
    for n in range(1, 30):
        for s in range(1, 8):
            kept, run, visited = {0}, 0, []
            for start, stop, keep in schedule(n, s):
                assert start in kept
                run += stop - start
                if keep:
                    kept.add(stop)
                    assert len(kept) <= s
                else:
                    visited.append(stop)
                    kept -= {stop} if start == stop else set()
            assert visited == list(reversed(range(n)))
            assert run == fewest(n, s) == advances(n, s)
    assert default_states(100_000) == 446
    assert advances(100_000, 446) < 200_000


def test_stretches_of_a_schedule_run_as_few_steps():
    for n in range(1, 30):
        for s in range(1, 8):
            kept, run, visited = {0}, 0, []
            for start, stop, first in visits(n, s, False):
                assert start in kept
                run += stop - start
                kept |= {stop} if first > stop else set()
                visited += range(stop, first - 1, -1)
                assert len(kept) + max(0, stop - first) <= s + 1  # the last state is visited where it is made
                kept -= {first} if first == start else set()
            assert visited == list(reversed(range(n)))
            assert run == advances(n, s)
    assert len(list(visits(10**6, 2**19, True))) == 3
    assert len(list(visits(10**5, 400, True))) < 1_000  # no item for each step


@pytest.mark.eager("counts calls")
@pytest.mark.parametrize(("n", "states"), [(40, 1), (40, 3), (40, 6), (40, None), (1, 1), (2, 5)])
def test_how_often_the_body_is_run(n, states, runs_again):
    calls = 0

    def step(c, _):
        nonlocal calls
        calls += 1
        return ops.sin(c), None

    f = lambda x: dg.scan(step, x, length=n, checkpoints=states)[0]
    s = min(n, states or default_states(n))
    by_first_run = max([*first_states(n, s), 0])  # the first run kept these: reaching them costs nothing
    dg.grad(f)(f64(0.5))
    assert calls == n + advances(n, s) - by_first_run + n
    calls = 0
    dg.grad(dg.grad(f))(f64(0.5))
    # values; then the gradient; then tangents along the loop, and its reverse sweep on duals
    assert calls <= (n + advances(n, s) + n) + (n + advances(n, s) + n)


def test_random_numbers_are_the_same_in_every_run():
    step = lambda c, _: (c * (ops.rand(1, dtype=dg.float64).reshape(()) + 0.5), None)

    def by_scan(x):
        return dg.scan(step, x * x, length=9, checkpoints=2)[0] * ops.rand(1, dtype=dg.float64).reshape(())

    def by_hand(x):
        x = x * x
        for _ in range(9):
            x = step(x, None)[0]
        return x * ops.rand(1, dtype=dg.float64).reshape(())

    found = []
    for f in (by_scan, by_hand):
        for order in range(4):
            g = f
            for _ in range(order):
                g = dg.grad(g)
            dg.set_seed(3)
            found.append((float(g(f64(1.3))), float(ops.rand(1))))
    np.testing.assert_allclose(found[:4], found[4:], rtol=1e-13)


@pytest.mark.eager("a program repeats what a step changes")
def test_a_step_may_not_change_what_is_outside():
    state = Parameter(f64(1.0), name="state")

    def step(c, _):
        state.set_data(c)
        return c * 2, None

    for run in (lambda x: dg.scan(step, x, length=3)[0], dg.grad(lambda x: dg.scan(step, x, length=3)[0])):
        assert_raises(RuntimeError, lambda run=run: run(f64(1.0)), "scan", "state", "carried along")
        assert float(state) == 1.0


def test_no_steps():
    f = lambda c, x: (c + x, (c * x, {"k": x.sum()}))
    init, xs = f64([1.0, 2.0]), ops.zeros((0, 2), dg.float64)
    carry, (a, b) = dg.scan(f, init, xs)
    assert carry is init
    assert (a.shape, b["k"].shape, a.dtype) == ((0, 2), (0,), dg.float64)
    assert dg.fori_loop(3, 3, lambda i, c: c, init) is init
    np.testing.assert_array_equal(dg.grad(lambda c: dg.scan(f, c, xs)[0])(init), [1.0, 1.0])
    np.testing.assert_array_equal(dg.grad(lambda c: dg.while_loop(lambda c: False, ops.sin, c))(init), [1.0, 1.0])


def test_points_that_are_not_smooth():
    """Ties and steps that stop the gradient: as the loop in Python, also where a slope is infinite."""
    step = lambda c, x: (ops.where(x > 0.9, ops.sqrt(ops.abs(c)) * 0, ops.maximum(c, c) + ops.abs(c - c)), ops.abs(c))

    def by_hand(c):
        ys = []
        for i in range(N):
            c, y = step(c, XS[i])
            ys.append(y)
        return c + ops.stack(ys).sum()

    def by_loop(c):
        c, ys = dg.scan(step, c, XS)
        return c + ys.sum()

    for x in (0.0, 0.5):
        assert_same([dg.grad(by_loop)(f64(x))], [dg.grad(by_hand)(f64(x))])


def test_a_layer_inside():
    class Net(nn.Cell):
        def __init__(self, looped):
            super().__init__()
            self.layer, self.drop, self.looped = nn.Dense(3, 3), nn.Dropout(p=0.4), looped

        def construct(self, x):
            step = lambda c, _: (ops.tanh(self.layer(self.drop(c))), None)
            if self.looped:
                return ops.scan(step, x, length=6)[0]
            for _ in range(6):
                x = step(x, None)[0]
            return x

    found, x = [], Tensor(np.ones((2, 3), np.float32))
    for looped in (True, False):
        dg.set_seed(5)
        net = Net(looped).set_train()
        found.append(dg.grad(lambda x, net=net: (net(x) ** 2).sum(), 0, net.trainable_params())(x))
    for a, b in zip(numbers(found[0]), numbers(found[1]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_rule_of_the_users_own_inside():
    class Straight(nn.Cell):
        def construct(self, x):
            return ops.round(x * 4) / 4

        def bprop(self, x, out, dout):
            return (dout * ops.cos(x),)

    cell = Straight()
    step = lambda c, _: (cell(c) * c + 0.1, None)

    def by_hand(x):
        for _ in range(4):
            x = step(x, None)[0]
        return x

    by_loop = lambda x: dg.scan(step, x, length=4, checkpoints=2)[0]
    x = f64(0.8)
    for order in range(1, 4):
        f, g = by_loop, by_hand
        for _ in range(order):
            f, g = dg.grad(f), dg.grad(g)
        assert float(f(x)) == pytest.approx(float(g(x)), rel=1e-13)


@pytest.mark.parametrize("n", [5, 300])
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_in_a_recorded_function(n):
    def run(x):
        return dg.scan(lambda c, y: (ops.sin(c * W) + x * y, c), x, ops.zeros((n,), dg.float64) + x)[0]

    before = W.asnumpy().copy()
    recorded, gradient = dg.jit(run), dg.jit(lambda x: dg.grad(dg.grad(run))(x))
    try:
        for i in range(4):
            W.set_data(f64(0.5 + 0.1 * i))
            x = f64(0.1 + i)
            assert float(recorded(x)) == pytest.approx(float(run(x)), rel=1e-14)
            assert float(gradient(x)) == pytest.approx(float(dg.grad(dg.grad(run))(x)), rel=1e-12)
    finally:
        W.set_data(before)


def loop_by_hand(f, c, xs, n):
    ys = []
    for i in range(n):
        c, y = f(c, None if xs is None else xs[i])
        ys.append(y)
    return c, ops.stack(ys)


def root_by_hand(d):
    x = d * 0 + 0.5
    for _ in range(9):
        x = x - (x**3 * 0.2 + x * W - d) / (0.6 * x * x + W)
    return x


def test_loops_blocks_and_roots_inside_each_other():
    loop = lambda f, c, xs, n: dg.scan(f, c, xs, length=n, checkpoints=2)
    f = mixed(loop, dg.recompute, lambda d: dg.root(lambda x: x**3 * 0.2 + x * W - d, f64(0.5)))
    g = mixed(loop_by_hand, lambda f: f, root_by_hand)
    x, xs = f64(0.6), f64([0.2, 0.6, 0.9])
    pairs = [
        [
            dg.grad(dg.grad(dg.grad(h)))(x),
            dg.grad(lambda x, h=h: dg.grad(h)(x) ** 2, 0, [W])(x),
            dg.jvp(lambda x, h=h: dg.grad(lambda x: dg.jvp(h, x, x)[1])(x), x, x),
            dg.grad(lambda xs, h=h: (dg.vmap(dg.grad(h))(xs) ** 2).sum(), 0, [W])(xs),
        ]
        for h in (f, g)
    ]
    for a, b in zip(numbers(pairs[0]), numbers(pairs[1]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


def test_one_of_two_functions():
    f = lambda x: dg.cond(x > 0, lambda x: ops.sqrt(x) * W, lambda x: {"a": x}["a"] ** 3, x)
    xs = f64([4.0, -2.0, 0.0])
    np.testing.assert_allclose(dg.vmap(f)(xs), [1.4, -8.0, 0.0])
    np.testing.assert_allclose(dg.vmap(dg.grad(f))(xs), [0.175, 12.0, 0.0])
    np.testing.assert_allclose(dg.vmap(dg.grad(dg.grad(f)))(xs), [-0.7 / 32, -12.0, 0.0])
    np.testing.assert_allclose(dg.grad(lambda xs: dg.vmap(f)(xs).sum(), 0, [W])(xs)[1][0], 2.0)
    assert float(dg.grad(f)(xs[0])) == pytest.approx(0.175)
    assert dg.cond(True, lambda: 1, lambda: 2) == 1


def test_the_classes():
    assert ops.Scan()(lambda s, x: (s + x, s), 0, [1, 2, 3]) == (6, [0, 1, 3])
    assert ops.Scan()(lambda s, x: (s * 2, x), 1, None, 3) == (8, [None] * 3)
    assert ops.Scan()(lambda s, x: (s, x), 1, []) == (1, [])
    assert ops.WhileLoop()(lambda x: x < 100, lambda x: x + 1, 10) == 100
    assert ops.ForiLoop()(0, 4, lambda i, s: i + s, 0) == 6

    def by_class(x):
        total, parts = ops.Scan()(lambda s, y: (s * y[0] + y[1], [s * s, y[0]]), x, [(x * k, k) for k in range(1, 5)])
        return total + sum(a * b for a, b in parts)

    def by_hand(x):
        total, s = 0, x
        for k in range(1, 5):
            total = total + s * s * (x * k)
            s = s * (x * k) + k
        return total + s

    f, g = by_class, by_hand
    for _ in range(4):
        assert float(f(f64(0.7))) == pytest.approx(float(g(f64(0.7))), rel=1e-13)
        f, g = dg.grad(f), dg.grad(g)


ERRORS = {
    "no function": (lambda: ops.scan(3, XS, XS), TypeError, "scan: f is a int"),
    "no length": (lambda: ops.scan(swing, XS), ValueError, "neither"),
    "lengths": (lambda: ops.scan(swing, XS, (XS, XS[1:])), ValueError, "[6, 7]"),
    "length": (lambda: ops.scan(swing, XS, XS, length=8), ValueError, "[7, 8]"),
    "negative": (lambda: ops.scan(swing, XS, length=-1), ValueError, "-1"),
    "no axis": (lambda: ops.scan(swing, XS, XS[0]), ValueError, "without axes"),
    "no pair": (lambda: ops.scan(lambda c, x: c, XS, XS), ValueError, "expected a pair"),
    "shape": (lambda: ops.scan(lambda c, x: (c[1:], None), XS, XS), ValueError, "(7,)"),
    "number": (lambda: ops.scan(lambda c, x: (c + x, None), 0.0, XS), ValueError, "start with a Tensor"),
    "type": (lambda: ops.scan(lambda c, x: (c > 0, None), XS, XS), ValueError, "Bool"),
    "states": (lambda: ops.scan(swing, XS, XS, checkpoints=0), ValueError, "1 state"),
    "bytes": (lambda: ops.scan(swing, XS, XS, checkpoints="much"), ValueError, "'64 MB'"),
    "type of states": (lambda: ops.scan(swing, XS, XS, checkpoints=1.5), TypeError, "float"),
    "truth": (lambda: ops.while_loop(lambda c: c > 0, lambda c: c, XS), ValueError, "one truth value"),
    "range": (lambda: ops.fori_loop(0, 2.5, lambda i, c: c, XS), TypeError, "upper is 2.5"),
    "two values": (lambda: dg.cond(XS > 0, ops.sin, ops.cos, XS), ValueError, "ops.where"),
    "branches": (
        lambda: dg.vmap(lambda x: dg.cond(x > 0, lambda x: (x,), lambda x: x, x))(XS),
        ValueError,
        "cond: the result",
    ),
    "xs of Scan": (lambda: ops.Scan()(lambda c, x: (c, x), XS, XS), TypeError, "ops.scan takes tensors"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, *words = ERRORS[name]
    assert_raises(error, call, *words)


def test_an_error_in_a_step_leaves_nothing_open():
    def step(c, _):
        raise ZeroDivisionError("here")

    assert_raises(ZeroDivisionError, lambda: dg.grad(lambda x: dg.scan(step, x, length=3)[0])(XS), "here")
    np.testing.assert_allclose(dg.grad(lambda x: (x * W).sum())(XS), [0.7] * N)


@pytest.mark.eager("counts objects")
def test_nothing_is_left_behind():
    """Tapes hold functions that close over values of those tapes; the collector finds such circles."""

    def f(x):
        y = ops.sin(x)
        return dg.scan(lambda c, _: (c * y + x, None), x, length=4)[0]

    assert_leaves_nothing(lambda: dg.grad(dg.grad(dg.grad(f)))(f64(0.5)))


# -------------------------------------------------------------------------------------------------- long loops


def rebinding(call, after, held=False):
    """A variable has another tensor by the time the function that reads it is run again."""

    def f(x):
        c = [x * 1.0]
        y = call((lambda d, c=c[0]: d * c) if held else lambda d: d * c[0], x)
        c[0] = after(x)
        return y

    return f


CALLS = {
    "scan": lambda f, x: ops.scan(lambda d, _: (f(d), None), x, length=3)[0],
    "fori_loop": lambda f, x: ops.fori_loop(0, 3, lambda i, d: f(d), x),
    "while_loop": lambda f, x: ops.while_loop(lambda d: ops.abs(d) > 1e-3, f, x),
    "recompute": lambda f, x: dg.recompute(f)(x),
    "root": lambda f, x: dg.root(lambda y: y**3 + y - f(0 * x + 1), x),
    "fixed_point": lambda f, x: dg.fixed_point(lambda y: 0.3 * ops.cos(y) + f(0 * x + 1), x),
}


@pytest.mark.eager("recorded functions are not run again later")
@pytest.mark.parametrize("after", [lambda x: x * 5.0, lambda x: x + 0.0])
@pytest.mark.parametrize("name", CALLS)
def test_another_tensor_in_a_list_by_the_time_of_the_derivative(name, after, runs_again):
    f = rebinding(CALLS[name], after)
    x = f64(0.7)
    for derivative in (dg.grad(f), dg.grad(dg.grad(f)), lambda x: dg.jvp(dg.grad(f), (x,), (x,))):
        with pytest.raises(RuntimeError, match=f"{name}: the function (reads a tensor now that|is another one now)"):
            derivative(x)


@pytest.mark.parametrize("length", [3, 100])
@pytest.mark.parametrize("call", [lambda f: f, dg.grad, dg.jit, lambda f: dg.jit(dg.grad(f))])
def test_a_step_that_changes_its_carry_in_place(call, length):
    def body(c, _):
        c[0] = c[0] + 1.0
        return ops.sin(c), None

    with pytest.raises(RuntimeError, match="scan: the function changes one of its arguments in place"):
        call(lambda x: ops.scan(body, x, length=length)[0].sum())(f64([0.7, 0.3]))


LOOPS = {
    "scan": lambda step, x: ops.scan(lambda c, _: (step(c), None), x, length=30)[0],
    "scan reversed": lambda step, x: ops.scan(lambda c, _: (step(c), None), x, length=30, reverse=True)[0],
    "scan of few states": lambda step, x: ops.scan(lambda c, _: (step(c), None), x, length=30, checkpoints=2)[0],
    "fori_loop": lambda step, x: ops.fori_loop(0, 30, lambda _, c: step(c), x),
    "while_loop": lambda step, x: ops.while_loop(lambda c: ops.abs(c).sum() > 1e-2, lambda c: 0.4 * step(c), x),
    "in a batch": lambda step, x: dg.vmap(lambda x: ops.scan(lambda c, _: (step(c), None), x, length=30)[0])(x),
}


def changing(loop, what):
    """A function whose loop reads a number of Python that changes behind the loop, or stays."""

    def f(x):
        numbers = [2.0, 1.5]
        y = loop(lambda c: ops.sin(c * numbers[0]), x)
        numbers[0] = numbers[what]
        return y

    return f


@pytest.mark.eager("recorded functions are not run again later")
@pytest.mark.parametrize("name", LOOPS)
def test_another_number_in_a_variable_by_the_time_of_the_derivative(name, runs_again):
    x = f64([0.7, 0.3])
    derivatives = (
        dg.grad,
        lambda f: dg.grad(dg.grad(f)),
        lambda f: lambda x: dg.jvp(dg.grad(f), (x,), (x,)),
        dg.jacrev,
    )
    for derivative in derivatives:
        derivative(changing(LOOPS[name], 0))(x)
        with pytest.raises(RuntimeError, match="a step gave another result when it was run again"):
            derivative(changing(LOOPS[name], 1))(x)


@pytest.mark.eager("recorded functions are not run again later")
@pytest.mark.parametrize("entry", range(12))
def test_another_number_of_one_step_by_the_time_of_the_derivative(entry, runs_again):
    def f(x):
        factors = [1.0 + 0.1 * k for k in range(12)]
        y = ops.fori_loop(0, 12, lambda i, c: ops.sin(c * factors[i]), x)
        factors[entry] += 0.5
        return y

    with pytest.raises(RuntimeError, match="fori_loop: a step gave another result"):
        dg.grad(f)(f64(0.7))


@pytest.mark.eager("recorded functions are not run again later")
def test_a_loop_in_a_loop_whose_carry_has_another_value_by_the_time_of_the_derivative():
    """The inner loop keeps what its function closes over."""

    def f(x, held=False):
        def body(c, _):
            step = (lambda d, _, c=c: (ops.sin(d) * c, None)) if held else lambda d, _: (ops.sin(d) * c, None)
            d = ops.scan(step, c, length=3)[0]
            c = c * 0.5 + d
            return c, None

        return ops.scan(body, x, length=3)[0]

    assert float(dg.grad(f)(f64(0.7))) == float(dg.grad(lambda x: f(x, held=True))(f64(0.7)))


@pytest.mark.eager("records by itself")
def test_a_long_loop_of_a_recorded_function_whose_list_has_another_tensor():
    f = rebinding(lambda f, x: ops.scan(lambda d, _: (0.9 * ops.sin(f(d)), None), x, length=70)[0], lambda x: x * 5.0)
    x = f64(0.7)
    with pytest.raises(RuntimeError, match="scan: the function reads a tensor now"):
        dg.jit(dg.grad(f))(x)
