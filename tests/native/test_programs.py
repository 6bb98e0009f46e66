"""Whole programs give the same bits as machine code: random ones, with derivatives, with nan and inf in some places."""

import random
from random import Random

import numpy as np
import pytest
import random_programs
from random_lines import ENGINE
from random_steps import SMALL

import dualgrad as dg
from dualgrad import Tensor, ops

pytest.importorskip("llvmlite")

from machine_code import compared, forced, leaves
from row_operands import SPECIAL

from dualgrad import native
from dualgrad._engine.primitives.registry import wide_bytes
from dualgrad.native import _machine
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.eager("records by itself")

BINARY = (ops.add, ops.sub, ops.mul, ops.div, ops.maximum, ops.minimum, ops.hypot)
UNARY = (ops.sin, ops.tanh, ops.exp, ops.square, ops.neg, ops.sqrt, ops.abs, ops.sign, ops.relu, lambda x: 0.7 * x)


def program(seed, length):
    """A function of two arrays: random operations, several results."""
    draw = random.Random(seed)
    lines = []
    for k in range(length):
        near = range(max(0, k - 6), k + 2)
        operation = draw.choice(BINARY if draw.random() < 0.7 else UNARY)
        lines.append((operation, [draw.choice(near) for _ in range(2 if operation in BINARY else 1)]))
    chosen = [draw.randrange(length + 2) for _ in range(2)] + [length + 1]

    def fn(x, y):
        values = [x, y]
        for operation, operands in lines:
            values.append(operation(*(values[i] for i in operands)))
        return tuple(values[i] for i in chosen)

    return fn


def gradient(fn):
    """Value and gradient of the sum of all results."""
    return dg.value_and_grad(lambda x, y: sum((ops.sum(v) for v in fn(x, y)), ops.sum(0.0 * x)), (0, 1))


def points(shape, dtype, special):
    """Two operands; with special numbers at some places, zeros beside inf among them."""
    rng = np.random.default_rng(11)
    found = [rng.uniform(0.2, 1.5, shape).astype(dtype) for _ in range(2)]
    if special:
        with np.errstate(over="ignore", under="ignore"):
            for x in found:
                at = rng.random(shape) < 0.02
                x[at] = rng.choice(SPECIAL, at.sum()).astype(dtype)
    return tuple(map(Tensor, found))


@pytest.mark.rotated("seed")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(), (3,), (40,), (5000,), (300, 7)])
@pytest.mark.parametrize("seed", range(8))
def test_random_elementwise_programs(seed, shape, dtype):
    fn = program(seed, 40)
    several = [points(shape, dtype, special) for special in (False, True)]
    assert compared(fn, *several)["made"] >= 1
    compared(gradient(fn), *several)


def test_numbers_that_are_read_backwards():
    fn = lambda x, y: (0.05 * x + y * y + x)[::-1] * 0.5 + 0.5 * x * (0.05 * x)
    assert compared(fn, points((7,), np.float64, special=False), points((7,), np.float64, special=True))["made"] >= 1


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    drawn = random_programs.drawn(Random(seed), [SMALL])
    fn = drawn.compiled(ENGINE, drawn.parameters())
    total = lambda *xs: sum((ops.sum(ops.sin(leaf)) for leaf in leaves(fn(*xs))), Tensor(0.0, dg.float64))
    first = dg.grad(total, tuple(range(len(drawn.points))))
    second = dg.grad(lambda *xs: sum((ops.sum(g) for g in leaves(first(*xs))), Tensor(0.0, dg.float64)))
    args = tuple(map(Tensor, drawn.points))
    for f in (fn, first, second):
        compared(f, args)


@pytest.mark.parametrize("length", [15, 100, 1000, 4097])
def test_nan_at_every_place_of_a_turn(length):
    """The instructions take over wherever nan is met, and nothing that they need is overwritten."""

    def fn(x, y):
        a = x * y
        b = a - x
        c = b * b
        d = c * a - b
        return d, d + a, b

    x, y = (np.random.default_rng(k).standard_normal(length) for k in range(2))
    gradients = dg.grad(lambda x, y: sum(ops.sum(v * ops.abs(v)) for v in fn(x, y)), (0, 1))
    several = [(Tensor(x), Tensor(y))]
    for place in (0, 1, 7, 8, 15, 16, 17, length // 2, length - 1):
        moved_x, moved_y = x.copy(), y.copy()
        moved_x[min(place, length - 1)], moved_y[min(place, length - 1)] = 0.0, np.inf
        several.append((Tensor(moved_x), Tensor(moved_y)))
    compared(fn, *several)
    compared(gradients, *several)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bits", [128, 256, 512])
def test_widths_of_vectors(bits, dtype, monkeypatch):
    """Every number of elements around those of a turn, also as wide as a lesser processor's vectors."""
    if bits > 8 * wide_bytes():
        pytest.skip("the engine has no functions of such vectors here")
    monkeypatch.setattr(_machine.machine(), "bits", bits)
    fn = program(2, 24)
    for length in (2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 65, 129):
        several = [points((length,), dtype, special) for special in (False, True)]
        counted = compared(fn, *several)
        assert counted["compiled"] + counted["loaded"] >= 1
        compared(gradient(fn), *several)


def test_long_programs_of_numbers_are_cut():
    def orbit(x, y):
        for k in range(900):
            x, y = x - 0.01 * y * x, y + 0.01 * x
            if k % 100 == 0:
                x = ops.sin(x)
        return x, y

    args = Tensor(0.5, dg.float64), Tensor(-0.25, dg.float64)
    counted = compared(orbit, args, args[::-1])
    assert counted["compiled"] + counted["loaded"] >= 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["sine", "cosine", "both", "others between"])
def test_sine_and_cosine_of_one_number_are_one_call(order, dtype):
    def fn(x, y):
        if order == "sine":
            return ops.sin(x) * y + ops.sin(x + y), y * x
        if order == "cosine":
            return ops.cos(x) * y + ops.cos(x + y), y * x
        s = ops.sin(x)
        between = ops.sin(y) * ops.cos(x * y) if order == "others between" else y
        return s * ops.cos(x) + between, ops.cos(y) * ops.sin(x) - s

    near = [(0.3, -1.2), (2.0, 1e-300), (-0.0, 7.5), (1e4, -3e4)]
    far = [(2e5, 1e22), (-3e7, 0.5), (np.inf, 1.0), (np.nan, -np.inf)]
    with np.errstate(all="ignore"):
        counted = compared(fn, *(tuple(Tensor(np.array(v, dtype)) for v in pair) for pair in near + far))
    assert counted["made"] == 1


def test_a_recording_does_not_see_the_compiler():
    """A loop runs its body while it is recorded, which is compiled then."""
    pendulum = lambda x: ops.fori_loop(0, 200, lambda _, q: q - 0.01 * ops.sin(q) * q, x)
    recorded = dg.jit(dg.value_and_grad(pendulum))
    with forced() as counted:
        for _ in range(4):
            recorded(Tensor(0.7, dg.float64))
    assert counted["made"] >= 1
    assert recording_of(recorded, (Tensor(0.7, dg.float64),), {}).why is None


def test_code_that_mostly_meets_nan_is_given_up():
    """Zero beside inf: after some runs the interpreter runs alone."""
    recorded = dg.jit(dg.grad(lambda x, y: ops.sqrt(x * x) * ops.exp(y), (0, 1)))
    args = Tensor(0.0, dg.float64), Tensor(2.0, dg.float64)
    for _ in range(3):
        expected = recorded(*args)
    before = set(_machine._living)
    with forced() as counted:
        recorded(*args)
        assert len(set(_machine._living) - before) == 1
        for _ in range(40):
            found = recorded(*args)
            assert [g.asnumpy().tobytes() for g in found] == [g.asnumpy().tobytes() for g in expected]
    assert counted["made"] == 1
    assert not set(_machine._living) - before


def test_programs_of_mixed_types_and_indices():
    """What is no arithmetic keeps its place among machine code."""
    index = Tensor(np.arange(500)[::-1].copy())

    def fn(x, y):
        a = x * y + x
        b = a * a - y
        c = ops.cast(b, dg.float32)
        d = c * c - 1.0
        e = ops.cast(d * c, dg.float64) + b[index]
        f = ops.where(e > a, e * a, b - e)
        return f * f + a, ops.sum(f * b), f @ b, d

    assert compared(fn, points((500,), np.float64, False), points((500,), np.float64, True))["made"] >= 1


def test_neighbours_and_halos():
    def fn(x, y):
        u = x * y + x
        v = u * u - x
        w = v[2:] - 2.0 * v[1:-1] + v[:-2]
        z = w * u[1:-1] + w
        return ops.sum(z * z), z * w - z

    compared(fn, points((3001,), np.float64, False), points((3001,), np.float64, True))
    compared(dg.grad(lambda x, y: fn(x, y)[0], (0, 1)), points((3001,), np.float64, True))


def test_threads_of_a_region():
    former = dg.get_num_threads()
    dg.set_num_threads(2)
    try:
        compared(gradient(program(3, 30)), points((400_000,), np.float64, False))
        fn = program(5, 30)
        compared(fn, points((400_000,), np.float64, True))
    finally:
        dg.set_num_threads(former)


def test_nothing_is_compiled_while_the_switch_is_off():
    before = native.status()
    fn = dg.jit(program(1, 20))
    for _ in range(5):
        fn(*points((1000,), np.float64, False))
    assert native.status()["asked"] == before["asked"]
