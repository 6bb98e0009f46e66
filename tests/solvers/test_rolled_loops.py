"""Long loops of recorded functions, which are one instruction: every kind of loop under every transform."""

import decimal
import fractions
import sys
import warnings

import numpy as np
import pytest
from mixed_loops import W
from nested_transforms import TRANSFORMS
from support import f64, numbers
from ways import WAYS, programs_run

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.loops import stepping

SHORT = 8  # steps that are written out, so that loops of a loop stay short here
N = 11
XS = f64(np.linspace(0.2, 0.9, N))
MATRIX = f64(np.linspace(-0.4, 0.4, 9).reshape(3, 3))


@pytest.fixture(autouse=True)
def _short_loops(monkeypatch):
    monkeypatch.setattr(stepping, "SHORT", SHORT)


def along(x, w, **options):
    """Dicts, results of several kinds, a parameter, and a derivative inside."""

    def step(c, y):
        force = dg.grad(lambda q: ops.cos(q * w) * W)(c["q"])
        p = c["p"] * 0.9 + 0.1 * force * y
        return {"q": c["q"] + 0.1 * p, "p": p}, (c["q"] * p, {"p": p})

    c, (a, b) = ops.scan(step, {"q": x, "p": x * 0.2}, XS, **options)
    return c["q"] * w + (a * XS).sum() + (b["p"] ** 2).sum()


def shifted(x, w):
    """A carry that comes to depend on something only after some steps."""
    zero = Tensor(0.0, dg.float64)
    step = lambda c, _: ((ops.sin(c[0]) + w * 0.01, c[0] * 0.5, c[1] + 0.1 * c[2]), None)
    a, b, c = ops.scan(step, (x, zero, zero), length=N)[0]
    return a + b * w + c


def given(x, w):
    """Derivatives by what the steps are given, forwards and backwards."""
    xs = ops.sin(XS * x)
    first = ops.scan(lambda c, y: (c * 0.9 + y * w, c * y), x, xs)
    second = ops.scan(lambda c, y: (c * 0.9 + ops.sin(y), y * y), w, first[1], reverse=True)
    return first[0] * second[0] + (second[1] * XS).sum()


def counted(x, w):
    """The number of the step as every kind of operand, and as an index."""

    def step(i, c):
        t = 0.01 * i
        return c + 0.01 * ops.cos(x * t) * XS[i - 3] - c * (i + 1) / 4 * 0.001 + (2 - i) * 1e-4 * w - t / 100 * (-t) * x

    return ops.fori_loop(3, 3 + N, step, x)


def of_types(x, w):
    """Carries of several types, and a slope that ends."""

    def step(i, c):
        value, half, count = c
        value = value * 0.99 + ops.stop_gradient(value) * 0.01 + 0.001 * ops.where(value > 0.3, value * w, 0.0)
        return value, (half + ops.cast(value, dg.float32)) * 0.5, count + 1

    value, half, count = ops.fori_loop(0, N, step, (x, Tensor(0.5, dg.float32), Tensor(0, dg.int32)))
    return value * count * 0.01 + ops.cast(half, dg.float64)


def until(x, w):
    """As many steps as it takes."""
    a = x * 3.0 + w * w
    return ops.while_loop(lambda y: ops.abs(y * y - a) > 1e-9, lambda y: 0.5 * (y + a / y), a)


def inside(x, w):
    """A loop in a loop, and another one that ends by itself."""

    def outer(c, y):
        d = ops.scan(lambda d, _: (d * 0.97 + 0.02 * ops.sin(y * w * d), None), c, length=N)[0]
        root = ops.while_loop(lambda r: ops.abs(r * r - 2.0 - d) > 1e-6, lambda r: 0.5 * (r + (2.0 + d) / r), 1.5 + d)
        return 0.5 * d + 0.1 * root, d

    c, ds = ops.scan(outer, x, XS)
    return c + (ds * XS).sum() * 0.1


def of_matrices(x, w):
    """Products, sums, and elements that are taken and put together."""
    m = MATRIX * x + w * 0.1

    def step(c, y):
        c = ops.tanh(m @ c + y)
        return ops.concat([c[1:], c[:1] * 0.5 + c.mean()]), c.sum()

    c, sums = ops.scan(step, ops.stack([x, w, x * w]), XS)
    return (c * c).sum() + (sums * XS).sum()


def one_state(x, w):
    return along(x, w, checkpoints=1)


def some_states(x, w):
    return along(x, w, checkpoints=5, reverse=True)


def some_bytes(x, w):
    return along(x, w, checkpoints="3 kB")


def of_other_keys(x, w):
    """Dicts whose keys come in another order after a step, and as results."""

    def step(c, y):
        q, p = c["q"], c["rest"]["p"]
        return {"rest": {"n": c["rest"]["n"], "p": p * 0.8 + 0.1 * q * w}, "q": ops.sin(q) + 0.1 * p * y}, c

    c, cs = ops.scan(step, {"q": x, "rest": {"p": w * x * 3.0, "n": 2}}, XS)
    first, second = c.values()
    return first + (second["p"] - cs["q"].sum() * 0.1) * w + (cs["rest"]["p"] * XS).sum()


LOOPS = {
    f.__name__: f
    for f in (
        along,
        of_other_keys,
        shifted,
        given,
        counted,
        of_types,
        until,
        inside,
        of_matrices,
        one_state,
        some_states,
        some_bytes,
    )
}

POINTS = [(0.4, 0.9), (0.7, 0.6), (0.5, 0.8), (0.45, 0.85)]

#: how each transform is nested in others, beside being alone
DEEPER = ("grad", "jvp", "vmap")


def assert_recorded(f, way="planned"):
    """A recorded function gives what it gives eagerly: at its recordings, and when it is replayed elsewhere."""
    recorded = dg.jit(lambda x, w: f(x, w))
    with programs_run(way):
        for x, w in POINTS:
            expected = numbers(f(f64(x), f64(w)))
            found = numbers(recorded(f64(x), f64(w)))
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LOOPS)
def test_values(name, way):
    assert_recorded(LOOPS[name], way)


@pytest.mark.rotated("name")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", [name for name in LOOPS if name not in ("one_state", "some_states", "some_bytes")])
def test_every_transform(name, transform):
    assert_recorded(TRANSFORMS[transform][0](LOOPS[name]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["one_state", "some_states", "some_bytes", "until"])
def test_states_that_are_kept(name, way):
    for transform in ("GradOperation", "hessian"):
        assert_recorded(TRANSFORMS[transform][0](LOOPS[name]), way)


@pytest.mark.rotated("name")
@pytest.mark.parametrize("name", LOOPS)
def test_samples(name):
    f = LOOPS[name]
    xs, ws = f64([p[0] for p in POINTS]), f64([p[1] for p in POINTS])
    for g in (f, dg.grad(f), dg.grad(dg.grad(f, 1))):
        expected = [float(g(f64(x), f64(w))) for x, w in POINTS]
        recorded = dg.jit(dg.vmap(lambda x, w, g=g: g(x, w)))
        shared = dg.jit(dg.vmap(lambda x, g=g: g(x, f64(POINTS[0][1]))))
        for _ in range(3):
            np.testing.assert_allclose(recorded(xs, ws), expected, rtol=1e-11)
            assert float(shared(xs)[0]) == pytest.approx(expected[0], rel=1e-11)


@pytest.mark.parametrize("n", [5, N])
def test_keys_that_come_in_another_order(n):
    step = lambda c, _: ({"b": c["b"] * 0.9 + c["a"], "a": c["a"] * 0.5}, c)

    def by_hand(x):
        c, kept = {"a": x, "b": x * x}, []
        for _ in range(n):
            kept.append(c["b"])
            c = step(c, None)[0]
        return c["a"] + 2.0 * c["b"] + ops.stack(kept).sum()

    def by_scan(x):
        c, kept = ops.scan(step, {"a": x, "b": x * x}, length=n)
        assert list(c) == list(kept) == ["a", "b"]
        return c["a"] + 2.0 * c["b"] + kept["b"].sum()

    for transform in (lambda f: f, dg.grad, dg.hessian):
        for f in (transform(by_scan), dg.jit(transform(by_scan))):
            np.testing.assert_allclose(f(f64(0.3)), transform(by_hand)(f64(0.3)), rtol=1e-12)


# ------------------------------------------------------------------------------------------- how often Python runs


@pytest.mark.parametrize("derivative", [lambda f: f, dg.grad, lambda f: dg.hessian(f)])
def test_a_recording_takes_the_same_for_any_number_of_steps(derivative):
    def calls_of(n):
        body = lambda c, _: (c * 0.99 + 0.01 * ops.sin(c), None)
        recorded = dg.jit(derivative(lambda x: ops.scan(body, x, length=n)[0]))
        calls = []
        former = sys.getprofile()
        sys.setprofile(lambda frame, event, _: event == "call" and frame.f_code is body.__code__ and calls.append(1))
        try:
            recorded(f64(0.3))
        finally:
            sys.setprofile(former)
        return len(calls)

    assert calls_of(100) == calls_of(100_000) < 20


# ------------------------------------------------------------------------------- bodies that a program cannot repeat


class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = 0

    def construct(self, c):
        self.count += 1
        return c + self.count * 0.001


def with_an_attribute(count):
    return Counter()


def with_a_cell_variable(count):
    n = 0

    def body(c):
        nonlocal n
        n += 1
        return c + n * 0.001

    return body


def with_a_list(count):
    seen = []
    return lambda c: seen.append(0) or c + len(seen) * 0.001


def with_an_item(count):
    state = {"n": 0}

    def body(c):
        state["n"] += 1
        return c + state["n"] * 0.001

    return body


def with_an_iterator(count):
    numbers = iter(range(1, count + 10))
    return lambda c: c + next(numbers) * 0.001


def that_reads_a_number(count):
    return lambda c: c + (0.001 if float(ops.stop_gradient(c)) < 1.0 else 0.002)


def that_reads_at_some_time(count):
    calls = []
    return lambda c: calls.append(0) or c + (0.001 if len(calls) < 5 else float(c) * 0.1)


def that_draws(count):
    return lambda c: c + ops.randn(1).sum() * 0.001


CHANGING = (
    with_an_attribute,
    with_a_cell_variable,
    with_a_list,
    with_an_item,
    with_an_iterator,
    that_reads_at_some_time,
)
REPEATED = (that_reads_a_number, that_draws)  # run once more they give the same: numbers that are drawn are set back
counts_its_runs = pytest.mark.eager("what its steps change counts their runs, of which Graph mode has several")


@pytest.mark.parametrize("made", [*(pytest.param(made, marks=counts_its_runs) for made in CHANGING), *REPEATED])
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_what_steps_change_by_themselves(made):
    n, x = N + 30, f64(0.99)
    by_loop = lambda body: lambda x: ops.scan(lambda c, _: (body(c) * x, None), x, length=n)[0]
    for derivative in (lambda f: f, dg.grad)[: 2 if made in REPEATED else 1]:
        dg.set_seed(3)
        expected = float(derivative(by_loop(made(n)))(x))
        dg.set_seed(3)
        assert float(dg.jit(derivative(by_loop(made(n))))(x)) == pytest.approx(expected, rel=1e-13)


class Mark:
    """Counts how often it was seen."""

    def __init__(self):
        self.count = 0

    def seen(self):
        self.count += 1
        return self.count


CARRIED = {
    "object": (Mark, lambda m: m.seen()),
    "iterator": (lambda: iter(range(1000)), next),
    "set": (set, lambda m: m.add(len(m)) or len(m)),
    "array": (lambda: np.zeros(1), lambda m: m.__iadd__(1)[0]),
}


@counts_its_runs
@pytest.mark.parametrize("kind", CARRIED)
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_what_changes_while_it_is_carried_along(kind):
    """Each step is given the object, as a part of the carry or of what is stacked."""
    make, ask = CARRIED[kind]

    def carried(x):
        step = lambda c, _: ((c[0] * x + (1.0 if ask(c[1]) > N // 2 else 0.0), c[1]), None)
        return ops.scan(step, (x, make()), length=N)[0][0]

    def beside(x):
        step = lambda c, y: (c * x + (y[0] if ask(y[1]) > N // 2 else 0.0), None)
        return ops.scan(step, x, (XS, make()))[0]

    x = f64(0.9)
    for f in (carried, beside):
        expected = float(f(x))
        recorded = dg.jit(f)
        assert [float(recorded(x)) for _ in range(3)] == [pytest.approx(expected, rel=1e-13)] * 3


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_a_number_that_is_carried_along():
    f = lambda x: ops.scan(lambda c, _: ((c[0] * 0.9 + c[1] * x, c[1] + 1), None), (x, 0), length=N)[0][0]
    recorded = dg.jit(f)
    for x in (0.3, 0.4, 0.5):
        assert float(recorded(f64(x))) == pytest.approx(float(f(f64(x))), rel=1e-13)
    fixed = dg.jit(lambda x: ops.scan(lambda c, _: ((c[0] * 0.9 + c[1] * x, c[1]), None), (x, 2), length=N)[0][0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [float(fixed(f64(0.3))) for _ in range(3)] == [float(fixed(f64(0.3)))] * 3


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_a_condition_that_ends_the_loop_before_its_program_is_known():
    start = f64(0.5)
    for x, steps in ((2.0, 0), (0.9, 1), (0.4, 2)):
        f = lambda x: ops.while_loop(lambda c: c < 1.0, lambda c: c * 1.6 + 0 * start, x)
        recorded = dg.jit(f)
        for again in (x, x, x, 0.01, 3.0):
            assert float(recorded(f64(again))) == pytest.approx(float(f(f64(again))), rel=1e-14), steps


def test_a_body_that_changes_what_it_reads_where_there_is_no_step():
    calls = []
    step = lambda c: calls.append(0) or c * (1.0 + len(calls))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="a part of what is carried along"):
            dg.jit(lambda x: ops.while_loop(lambda c: c < 1.0, step, x))(f64(2.0))


# ------------------------------------------------------------------------------------------ the number of the step

OPERANDS = {
    "sum": lambda i, x: x + i,
    "number first": lambda i, x: i - x,
    "plus": lambda i, x: x * (i + 2),
    "minus": lambda i, x: x * (3 - i),
    "times": lambda i, x: x * (i * 3),
    "negative": lambda i, x: x * -i,
    "positive": lambda i, x: x * +i,
    "time": lambda i, x: ops.sin(x * (0.1 + i * 0.01)),
    "quotient": lambda i, x: x * (i / 7),
    "time of a time": lambda i, x: x * ((i + 1) * 0.1 - 2) / 3 - i * (i * 0.5),
    "power of a number": lambda i, x: ops.pow(2.0, x * i * 0.01),
    "square": lambda i, x: x * (i * i),
    "where": lambda i, x: ops.where(x > i * 0.01, x, i),
    "comparison": lambda i, x: ops.where(XS[:4].sum() * x > i, x, 0.0),
    "float32": lambda i, x: ops.cast(ops.cast(x, dg.float32) * (i * 0.1), dg.float64),
    "int32": lambda i, x: x * ops.cast(Tensor(3, dg.int32) * i, dg.float64),
    "type of ints": lambda i, x: x * (Tensor(3, dg.int32) + i).dtype.num,
    "type of a quotient": lambda i, x: x * (Tensor(3, dg.int32) / (i + 1)).dtype.num,
    "entry": lambda i, x: x * XS[i],
    "entry from the end": lambda i, x: x * XS[i - N],
    "entry of a matrix": lambda i, x: x * ops.outer(XS, XS)[i, 3] + ops.outer(XS, XS)[2, i],
    "row": lambda i, x: x * (ops.outer(XS, XS * x)[i] ** 2).sum(),
    "entry by what is computed": lambda i, x: x * XS[N - 1 - i],
    "maximum": lambda i, x: ops.maximum(x, i * 0.01),
    "tensor": lambda i, x: x * (Tensor(i, dg.float64) + 1),
    # what asks Python for the number
    "odd": lambda i, x: x * (i % 2),
    "whole quotient": lambda i, x: x * (i // 2),
    "condition": lambda i, x: x if i > 5 else -x,
    "truth": lambda i, x: x if i else -x,
    "equal": lambda i, x: x if i == 5 else -x,
    "exponent": lambda i, x: x**i,
    "power": lambda i, x: x * (i**2),
    "inverse": lambda i, x: x / (1 / (i + 1)),
    "by itself": lambda i, x: x * (i / (i + 1)),
    "range": lambda i, x: sum([x] * i, x) + sum(range(i)),
    "float": lambda i, x: x * float(i),
    "int": lambda i, x: x * int(i),
    "text": lambda i, x: x * len(f"{i}") * len(str(i)),
    "numpy": lambda i, x: x * np.sqrt(i),
    "array": lambda i, x: x * np.arange(100.0)[i],
    "key": lambda i, x: x * {k: 0.1 * k for k in range(100)}[i],
    "kind": lambda i, x: x * 2 if isinstance(i, int) and not isinstance(i, Tensor) else x,
    "exact kind": lambda i, x: x * 2 if type(i) is int else x,
    "bits": lambda i, x: x * i.bit_length(),
    "large": lambda i, x: x * (i * 10**17 % 7),
    "too large": lambda i, x: x * (i * 10**17),
    "beyond all floats": lambda i, x: x * ((10**400 - i) % 7),
    "divided by what no float holds": lambda i, x: x * (1 + i / 10**400 + i / (2**53 + 1)),
    "truth value": lambda i, x: x * (i + True) * (False - i),
    "complex": lambda i, x: x * abs(i * 1j + 1) * (2j - i).imag * (i / 2j).imag * (2j / (i + 1)).imag,
    "decimal": lambda i, x: (
        x * float(decimal.Decimal(1) + i) * float(i * decimal.Decimal(2)) * float(i / decimal.Decimal(3))
    ),
    "fraction": lambda i, x: x * float(fractions.Fraction(1, 3) * i) * float(i - fractions.Fraction(1, 3)),
    "number of NumPy": lambda i, x: x * float(np.float64(0.1) * i) * int(i + np.int64(3)),
    "slice": lambda i, x: x * XS[: i + 1].sum(),
    "list": lambda i, x: x * [0.1 * k for k in range(100)][i],
}


@pytest.mark.parametrize("name", OPERANDS)
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_the_number_of_a_step(name):
    def f(x):
        return ops.fori_loop(0, N, lambda i, c: c * 0.9 + 0.001 * OPERANDS[name](i, x) + c * 0.001 * x, x)

    for g in (f, dg.grad(f)):
        recorded = dg.jit(lambda x, g=g: g(x))
        for x in (0.3, 0.5, 0.7, 0.6):
            assert float(recorded(f64(x))) == pytest.approx(float(g(f64(x))), rel=1e-12)


def test_numbers_of_steps_are_replayed():
    """Whatever is a program at all is one: nothing above runs eagerly without need."""
    names = list(OPERANDS)
    for name in names[: names.index("tensor")]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f = dg.jit(lambda x, name=name: ops.fori_loop(0, N, lambda i, c: c * 0.9 + OPERANDS[name](i, x), x))
            for _ in range(3):
                f(f64(0.3))


# ----------------------------------------------------------------------------------------------------------- errors


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_errors_of_steps():
    recorded = dg.jit(lambda x, k: ops.scan(lambda c, y: (c * XS[k], None), x, length=N)[0])
    for _ in range(3):
        recorded(f64(1.0), Tensor(3))
    with pytest.raises(IndexError):
        recorded(f64(1.0), Tensor(100))
    for wrong in (lambda c, _: (c[0], None), lambda c, _: c, lambda c, _: (c, 1 / 0)):
        expected = None
        for call in (lambda f: f, dg.jit):
            with pytest.raises((ValueError, ZeroDivisionError, IndexError)) as caught:
                call(lambda x, wrong=wrong: ops.scan(wrong, x, length=N)[0])(XS[:3])
            assert expected in (None, str(caught.value))
            expected = str(caught.value)


REPEATING = {
    "scan": lambda step, c: ops.scan(lambda c, _: (step(c), None), c, length=N)[0],
    "fori_loop": lambda step, c: ops.fori_loop(0, N, lambda i, c: step(c), c),
    "while_loop": lambda step, c: ops.while_loop(
        lambda c: c[1] < N - 0.5, lambda c: (step(c[0]), c[1] + 1.0), (c, f64(0.0))
    )[0],
}
STEPS = {
    "another value": lambda q, x, c: q * 1.0,
    "a sum": lambda q, x, c: c * 0.9 + q * 0.1,
    "a product": lambda q, x, c: q * x * c,
    "only the carry": lambda q, x, c: ops.sin(c),
    "without a slope": lambda q, x, c: ops.stop_gradient(c) * q,
    "a derivative": lambda q, x, c: dg.grad(lambda r: ops.sin(r * q))(c),
}
STARTS = {
    "outside": lambda q, x: x,
    "inside": lambda q, x: q,
    "constant": lambda q, x: f64(0.7),
}
WITHIN = {
    "linearize": lambda h, x: dg.linearize(h, x)[1](x),
    "jvp": lambda h, x: dg.jvp(h, x, x)[1],
    "grad": lambda h, x: dg.grad(h)(x),
    "hvp": lambda h, x: dg.hvp(h)(x, x),
    "grad of jvp": lambda h, x: dg.grad(lambda q: dg.jvp(h, q, x)[1])(x),
}
AROUND = {
    "grad": dg.grad,
    "grad of grad": lambda f: dg.grad(dg.grad(f)),
    "jvp of grad": lambda f: lambda x: dg.jvp(dg.grad(f), x, x)[1],
    "grad of linearize": lambda f: dg.grad(lambda x: dg.linearize(f, x)[1](x)),
    "vmap of grad": lambda f: lambda x: dg.vmap(dg.grad(f))(ops.stack([x, x * 0.8])).sum(),
}


def unrolled(step, c):
    for _ in range(N):
        c = step(c)
    return c


@pytest.mark.rotated("loop", "start")
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("loop", REPEATING)
def test_what_a_step_reads_of_the_transforms_around_it(loop, start, step, within, around):
    """A step gives its carry derivatives of all levels, or takes some away."""

    def made(repeat):
        def f(x):
            h = lambda q: q * repeat(lambda c: STEPS[step](q, x, c), STARTS[start](q, x))
            return WITHIN[within](h, x)

        return AROUND[around](f)

    recorded = dg.jit(made(REPEATING[loop]))
    for x in (0.6, 0.6, 0.45, 0.8):
        expected = float(made(unrolled)(f64(x)))
        assert float(recorded(f64(x))) == pytest.approx(expected, rel=1e-9, abs=1e-12)
