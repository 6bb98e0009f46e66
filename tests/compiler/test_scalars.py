"""Programs on single numbers have a planner of their own: it gives what eager execution gives, bit for bit."""

import random

import numpy as np
import pytest
from engine import forget_programs

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops
from dualgrad.programs import verify
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.eager("records by itself")

BINARY = (lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / (2.0 + y * y))
UNARY = (ops.sin, ops.tanh, ops.exp, ops.square, ops.neg, lambda x: 0.7 * x, lambda x: x - 0.3)
#: one number under another shape
MOVES = (
    lambda x: ops.sum(x),
    lambda x: ops.reshape(x, (1, 1)),
    lambda x: ops.transpose(ops.reshape(x, (1, 1)), (1, 0)),
    lambda x: ops.reshape(x, (1, 1))[0],
    lambda x: ops.broadcast_to(ops.reshape(x, ()), (1,)),
)


def program(seed, length=60):
    """A function of two numbers: random operations, shapes that change on the way, several results."""
    draw = random.Random(seed)
    lines = []
    for k in range(length):
        kind = draw.choice(("binary", "binary", "unary", "move"))
        if kind == "binary":
            lines.append((draw.choice(BINARY), (draw.randrange(k + 2), draw.randrange(k + 2))))
        else:
            lines.append((draw.choice(UNARY if kind == "unary" else MOVES), (draw.randrange(max(0, k - 3), k + 2),)))
    chosen = [draw.randrange(length + 2) for _ in range(4)] + [length + 1, 0]

    def fn(x, y):
        values = [x, y]
        for operation, operands in lines:
            values.append(ops.tanh(operation(*(values[i] for i in operands))))
        return tuple(values[i] for i in (*chosen, chosen[0]))

    return fn


def regions(fn, *args):
    return recording_of(fn, args, {}).layout()["regions"]


def assert_bits(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        assert a.asnumpy().tobytes() == b.asnumpy().tobytes()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed, dtype, shape):
    fn = program(seed)
    args = [Tensor(np.full(shape, v, dtype)) for v in (0.3, -1.2)]
    elsewhere = [Tensor(np.full(shape, v, dtype)) for v in (-0.2, 0.9)]
    recorded = dg.jit(fn)
    for _ in range(3):
        assert_bits(recorded(*args), fn(*args))
    assert_bits(recorded(*elsewhere), fn(*elsewhere))


@pytest.mark.parametrize("seed", range(5))
def test_derivatives_of_random_programs(seed):
    fn = program(seed, 25)
    gradient = dg.grad(dg.grad(lambda x, y: sum(ops.sum(v) for v in fn(x, y)), (0, 1)), 0)
    args = Tensor(0.3), Tensor(-1.2)
    recorded = dg.jit(lambda x, y: (gradient(x, y),))
    for _ in range(3):
        assert_bits(recorded(*args), (gradient(*args),))


def test_what_the_plan_is():
    """One region, eight bytes a number that is alive, products and sums in one; the verifier has seen it."""

    def f(x, y):
        for _ in range(50):
            x = ops.sin(x) * y + x
        return x

    args = Tensor(0.3), Tensor(-1.2)
    recording = recording_of(f, args, {})
    layout = recording.layout()
    (region,) = layout["regions"]
    assert region["rows"] is None
    assert layout["block_bytes"] == 64
    assert [i["fused"] is not None for i in region["instructions"]] == [False, True] * 50
    assert len(region["operations"]) == 150
    verify(recording.program)
    assert "sin" in dg.explain(f)(*args).svg()


def test_results_that_are_nothing_new():
    """Arguments, constants, the same result twice and under another shape."""
    w = Parameter(np.array([2.0]), name="w")

    def f(x):
        y = x * w.value()
        return y, y, ops.reshape(y, (1, 1)), x, ops.reshape(x, ()), ops.reshape(w, (1, 1)), Tensor([5.0])

    args = (Tensor([3.0]),)
    recorded = dg.jit(f)
    for _ in range(4):
        assert_bits(recorded(*args), f(*args))


def test_effects():
    """A step of an optimiser on a parameter that is one number."""

    def run(wrap):
        forget_programs()
        w = Parameter(np.array([2.0]), name="w")
        gradient = dg.value_and_grad(lambda x: ops.sum(ops.square(w * x - 1.0)), None, [w])

        def step(x):
            loss, (g,) = gradient(x)
            ops.assign(w, w - 0.1 * g)
            return loss

        step = wrap(step)
        return [step(Tensor([0.5])) for _ in range(5)] + [w.value()]

    assert_bits(run(dg.jit), run(lambda step: step))


def test_other_programs_are_planned_as_ever():
    """Many numbers, other types, random numbers and sums."""
    assert regions(lambda x: ops.sin(x) * x, Tensor(np.arange(65.0)))[0]["instructions"][0]["width"] == 65
    for f in (
        lambda x: ops.cast(x, dg.float32) * 2.0,
        lambda x: ops.where(x > 0.0, x, 2.0 * x),
        lambda x: ops.matmul(ops.reshape(x, (1, 1)), ops.reshape(x + 1.0, (1, 1))),
        lambda x: x**1.7,
    ):
        recorded = dg.jit(lambda x, f=f: (f(x),))
        for _ in range(3):
            assert_bits(recorded(Tensor([0.4])), (f(Tensor([0.4])),))
