"""Small arrays are taken apart into single numbers: nothing can tell it from eager execution, to the last bit."""

from contextlib import nullcontext

import numpy as np
import pytest
from machine_code import bits
from row_operands import ELEMENTWISE, operands, operation
from ways import whole_arrays

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops
from dualgrad._engine.compiler.rewrites import rewrites
from dualgrad._table import ROWS
from dualgrad.programs import passes, verify

pytestmark = pytest.mark.eager("records by itself")

RNG = np.random.default_rng(5)
PREDICATES = [row for row in ROWS if row.family == "constant" and row.result == "bool" and len(row.domain) == row.arity]

each_type = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def f64(*shape):
    return Tensor(RNG.normal(size=shape))


def apart(fn, *args):
    """Whether the program of a function is one on single numbers."""
    return "numbers" in passes(dg.jit(fn))(*args)


def both(fn, *args):
    """The results of a recorded function, taken apart and whole, at the arguments and at others."""
    found = []
    others = [Tensor((a.asnumpy() * 0.7).astype(a.asnumpy().dtype)) for a in args]
    for surroundings in (nullcontext(), whole_arrays()):
        with surroundings:
            recorded = dg.jit(lambda *args: fn(*args))
            for _ in range(3):
                result = recorded(*args)
            found.append((*result, *recorded(*others)))
    return found


@each_type
@pytest.mark.parametrize("row", [*ELEMENTWISE, *PREDICATES], ids=lambda row: row.name)
def test_rows_give_the_same_bits(row, dtype):
    """Each elementwise primitive, on ordinary and on special numbers, alike in shape and spread out."""
    xs = operands(row, 8, dtype)
    f = operation(row)
    spread = [xs[0].reshape((2, 4)), *[x[:4] for x in xs[1:]]]
    with np.errstate(all="ignore"):
        for args in (xs, spread):
            a, b = both(lambda *xs: (f(*xs), ops.concat([x.reshape((x.size,)) for x in xs])), *args)
            assert bits(a) == bits(b)


#: Shapes of two operands; where one is repeated, a loop of NumPy's may give another last bit, or sign.
PAIRS = (((4,), (4,)), ((4,), ()), ((), (4,)), ((4,), (1,)), ((2, 2), (2, 1)), ((2, 1), (1, 2)), ((), ()))
LOOPS_OF_NUMPY = [row for row in ELEMENTWISE if row.arity == 2 and not row.c and not row.vector]


@each_type
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
@pytest.mark.parametrize("row", LOOPS_OF_NUMPY, ids=lambda row: row.name)
def test_loops_that_look_at_strides(row, shapes, dtype):
    """Beside many numbers that are only copied, and among numbers."""
    f = operation(row)
    few = np.array([-np.inf, -0.0, 0.0, 2.5, -1.0, np.inf, np.nan, 0.5], dtype)
    for first in range(len(few)):
        x, y = [
            Tensor(np.resize(np.roll(few, -k), shape).astype(dtype))
            for k, shape in zip((first, 7), shapes, strict=True)
        ]
        with np.errstate(all="ignore"):
            for fn in (
                lambda x, y: (f(x, y), ops.broadcast_to(x.reshape((x.size,))[:1], (9, 1))),
                lambda x, y: (f(x, y) * 1.0, x * y, f(x, y), (x - y) * x),
            ):
                a, b = both(fn, x, y)
                assert bits(a) == bits(b)


@each_type
@pytest.mark.parametrize("exponent", [0.5, -1, -0.5, 2, 3, 10, 1.5, -2.5, 0.25, 1e300])
@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 2)], ids=str)
def test_powers(shape, exponent, dtype):
    """Of infinite and ordinary numbers: as in eager execution, to the last bit."""
    numbers = np.concatenate([[-np.inf, -0.0, np.inf, np.nan], np.random.default_rng(3).uniform(0.1, 300.0, 60)])
    for start in range(0, 60, 4):
        x = Tensor(np.resize(numbers[start:], shape).astype(dtype))
        with np.errstate(all="ignore"):
            for fn in (
                lambda x: (x**exponent,),
                lambda x: (x**exponent, ops.broadcast_to(x.reshape((x.size,))[:1], (9, 1))),
                lambda x: (x**exponent * 0.5, x**exponent, x * x + x),
            ):
                a, b = both(fn, x)
                assert bits(a) == bits(b)
                assert bits(a[: len(a) // 2]) == bits(fn(x))


def test_copies_are_counted():
    """A result that only repeats numbers is no reason to take a program apart."""
    b = Tensor(RNG.normal(size=(64, 64)))
    assert not apart(lambda x: ops.broadcast_to(x * 2.0, (500, 2)), f64(2))
    assert not apart(lambda x, b: (ops.transpose(b, (1, 0)), x * 2.0), f64(2), b)


A, B, V = f64(3, 2), f64(2, 4), f64(3)
S = f64(2, 3, 2)

#: What moves elements, adds them up or multiplies matrices.
MOVES = {
    "reshape": (lambda a, b: a.reshape((2, 3)) * 2.0, A, B),
    "transpose": (lambda a, b: ops.transpose(a, (1, 0)) * b[:, :3], A, B),
    "broadcast": (lambda a, b: ops.broadcast_to(a[0], (4, 2)) + 1.0, A, B),
    "slice": (lambda a, b: a[::-2] * a[:2], A, B),
    "concat": (lambda a, b: ops.concat([a, ops.transpose(b, (1, 0)), a * a]), A, B),
    "unslice": (lambda a, b: dg.grad(lambda a: (a[1:] * a[:-1]).sum() + a[0, 0])(a), A, B),
    "zeros in a result": (lambda a, b: dg.grad(lambda a: (a[1] * 3.0).sum())(a), A, B),
    "zeros that absorb": (lambda a, b: dg.hessian(lambda a: (a[1] * a[1]).sum() * a[0, 0])(a), A, B),
    "sum": (lambda a, b: a.sum() * b, A, B),
    "sum along the first axis": (lambda a, b: a.sum(0) * 2.0, A, B),
    "sum along the last axis": (lambda a, b: b.sum(-1, keepdims=True) * 2.0, A, B),
    "sum along two axes": (lambda a, b: a.sum((0, 2)) + 1.0, S, B),
    "sum to a shape": (lambda a, b: dg.grad(lambda v: (v * a).sum())(b[:, 0]) * 1.0, A, B),
    "matmul": (lambda a, b: a @ b, A, B),
    "stack of matmuls": (lambda a, b: a @ b, S, B),
    "matmul of a vector": (lambda a, b: b @ a[0], f64(3, 4), B),
    "cast": (lambda a, b: ops.cast(ops.cast(a, dg.float32) * 3, dg.float64) * 2.0, A, B),
    "cast to truth": (lambda a, b: ops.cast(ops.cast(a > 0, dg.float64) + a, dg.bool_), A, B),
    "integers": (lambda a, b: ops.cast(a * 10, dg.int64) * 3 + 1, A, B),
    "choice": (lambda a, b: ops.where(a > a[0], a * 2, -a), A, B),
    "power": (lambda a, b: a**3 + (a * a) ** 1.5 + b[0, 0] ** -2, A, B),
    "nested": (lambda a, b: dg.hessian(lambda a: ops.sin(a @ b).sum())(a).reshape((6, 6)) * 1.0, A, B),
}


#: Those that are not worth it.
WHOLE = {"zeros that absorb", "zeros in a result", "cast to truth", "integers", "choice"}
#: Those with products of matrices, or sums of many numbers.
WHOLE |= {name for name in MOVES if "matmul" in name} | {"sum", "sum along two axes", "nested", "power"}


@pytest.mark.parametrize("name", MOVES)
def test_moves_sums_and_products(name):
    fn, *args = MOVES[name]
    program = lambda *args: (fn(*args), args[0] * 1.5)
    a, b = both(program, *args)
    for x, y in zip(a, b, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x.asnumpy(), y.asnumpy(), rtol=1e-13, atol=1e-15)
    if apart(program, *args):
        assert bits(a[:2]) == bits(program(*args))


@pytest.mark.parametrize("name", MOVES)
def test_the_verifier_agrees(name):
    """Where numbers come from is proved for what is worth it, as a chain of small steps is."""
    fn, *args = MOVES[name]

    def program(*args):
        v = args[0].reshape((args[0].size,))[:2]
        for _ in range(30):
            v = ops.concat([v[1:] * 0.5 + v[:1], v[:1] * v[1:]])
        return fn(*args), v

    assert apart(program, *args) or name in WHOLE
    assert verify(dg.jit(program))(*args) > 30


def test_sums_of_minus_zero_are_zero():
    """Their sign decides on which side of a branch cut a number lies."""

    def angle(x):
        return ops.atan2((-(x - x * 1.0)).sum(), -1.0 - x[0] * x[0])

    x = f64(2)
    assert apart(angle, x)
    a, b = both(lambda x: (angle(x),), x)
    assert bits(a) == bits(b) == 2 * bits((angle(x),))


def test_what_a_program_returns_may_be_anywhere():
    """An input, a part of one, one result twice, the same numbers in two orders."""

    def program(x, y):
        z = x * y
        for _ in range(9):
            z = z * x - y
        return z, x, z, x[1:], z[::-1], ops.concat([z, x]), ops.transpose(z.reshape((1, 3)), (1, 0)), y[0]

    args = f64(3), f64(3)
    assert apart(program, *args)
    recorded = dg.jit(program)
    for _ in range(3):
        assert bits(recorded(*args)) == bits(program(*args))
    found = recorded(*args)
    found[0][0] = 7.0
    assert float(found[6][0, 0]) != 7.0
    assert float(args[0][0]) != 7.0


def test_parameters_are_written():
    w = Parameter(f64(3), "w")
    start = w.asnumpy().copy()

    def step(x):
        ops.assign(w, w * x + x[::-1])
        return (w * w).sum()

    recorded, x = dg.jit(step), f64(3)
    found = [float(recorded(x)) for _ in range(5)]
    w.set_data(Tensor(start))
    np.testing.assert_allclose([float(step(x)) for _ in range(5)], found, rtol=1e-14)


def test_loops_carry_small_arrays():
    def run(s, p):
        def step(s, _):
            x, y, z = s[0], s[1], s[2]
            return s + 0.01 * ops.stack([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z]), s.sum()

        last, sums = ops.scan(step, s, length=50)
        return (last * last).sum() + sums.sum()

    args = Tensor([1.0, 1.5, 20.0]), Tensor([10.0, 28.0, 8 / 3])
    gradient = dg.value_and_grad(run, (0, 1))
    flat = lambda *args: (lambda v, g: (v, *g))(*gradient(*args))
    before = rewrites()["taken_apart"]
    a, b = both(flat, *args)
    assert rewrites()["taken_apart"] > before
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x.asnumpy(), y.asnumpy(), rtol=1e-12)


def test_what_is_large_or_not_worth_it_stays_whole():
    chain = lambda x: ops.exp(ops.sin(x) * x + 1.0) * 2.0
    assert apart(chain, f64(2))
    assert not apart(chain, f64(40))
    assert not apart(chain, f64(1000))
    assert not apart(lambda x: ops.sort(chain(x)), f64(2))
    with whole_arrays():
        assert not apart(chain, f64(2))
