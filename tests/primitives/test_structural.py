"""Every structural primitive has every part, and the parts agree with each other and with NumPy's differences.

The primitives are those of the registry: one without a sample here is a fault.
"""

import functools
import math

import numpy as np
import pytest
from engine import OPCODES, apply

import dualgrad as dg
from dualgrad import Tensor
from dualgrad._engine.primitives.registry import Primitive, missing_parts, primitive, result_form, table, undefined
from dualgrad._engine.sparse.index_sets import TooDenseError
from dualgrad.sparse.reads import SAME, Blocks, Groups, Step, reads_of

RANDOM = np.random.default_rng(27)
STEP = 1e-6


def real(*shape):
    """Distinct numbers well away from zero and from each other, so that nothing is a tie."""
    numbers = RANDOM.permutation(math.prod(shape)) + 1.0 + RANDOM.uniform(0, 0.5, math.prod(shape))
    return (numbers * RANDOM.choice([-1.0, 1.0], math.prod(shape))).reshape(shape)


def z(*shape):
    return real(*shape) + 1j * real(*shape)


INDEX = np.array([[2, 0], [1, 2]])

# Name: pairs of parameters and operands.
SAMPLES = {
    "reshape": [((3, 2), [real(2, 3)]), ((), [real(1, 1)]), ((2, 1, 3), [real(3, 2).T])],
    "transpose": [((1, 0), [real(2, 3)]), ((2, 0, 1), [real(2, 3, 4)])],
    "broadcast_to": [((2, 3, 4), [real(3, 1)]), ((2, 3), [real(2, 3)])],
    "sum_to": [((3, 1), [real(2, 3, 4)]), ((), [real(2, 3)])],
    "sum": [(((1,), False), [real(2, 3, 4)]), (((0, 2), True), [real(2, 3, 4)]), (((), False), [real(2)])],
    "cast": [(np.dtype(np.float32).num, [real(2, 3)]), (np.dtype(np.float64).num, [real(2).astype(np.float32)])],
    "clip_index": [(4, [real(2, 3)]), (2, [np.array([np.nan, np.inf, -np.inf, 0.5])])],
    "identity": [(None, [real(2, 3)])],
    "inspect": [(lambda _: None, [real(2, 3)])],
    "cumsum": [((1, False), [real(2, 3)]), ((0, True), [real(3, 2)])],
    "concat": [(1, [real(2, 3), real(2, 1), real(2, 2)]), (0, [real(2)])],
    "slice": [(((1, 2, 1), (3, 2, -2)), [real(3, 4)]), (((0, 0, 1),), [real(3)])],
    "unslice": [(((4, 5), ((0, 2, 2), (4, 3, -1))), [real(2, 3)])],
    "gather": [((0,), [real(3, 2), INDEX]), (((None, None, None), 0), [real(2, 3, 2), INDEX]),
               ((0, (0, 2, 1), 1), [real(3, 4, 3), INDEX, INDEX])],
    "scatter_add": [(((3, 2), (0,)), [real(2, 2, 2), INDEX]),
                    (((2, 3), ((None, None, None), 0)), [real(2, 2, 2), INDEX])],
    "where": [(None, [real(2, 3) > 0, real(2, 3), real(3)]), (None, [np.array(True), real(2), real(2)])],
    "matmul": [(None, [real(2, 3), real(3, 4)]), (None, [real(5, 2, 3), real(3, 4)]),
               (None, [real(2, 3), real(5, 3, 1)])],
    "power": [(3, [real(2, 3)]), (-1, [real(4)]), (1, [real(2)]), (0, [real(2)]), (2.5, [np.abs(real(3))])],
    "reduce_max": [(((1,), False), [real(2, 3)]), (((0, 1), True), [real(2, 3)])],
    "reduce_min": [(((0,), True), [real(2, 3)])],
    "argmax": [((1, False), [real(2, 3)]), ((None, False), [real(2, 3)]), ((0, True), [real(2, 3)])],
    "argmin": [((0, False), [real(2, 3)]), ((None, True), [real(2, 3)])],
    "argsort": [((1, False), [real(2, 3)]), ((0, True), [real(3, 2)])],
    "all": [(((1,), False), [real(2, 3) > 0])],
    "any": [(((0, 1), True), [real(2, 3) > 0])],
    "count_nonzero": [(((0,), False), [np.trunc(real(2, 3) / 3)]), ((None, False), [real(2, 3)])],
    "draw": [(lambda: np.zeros(3), [])],
    "conj": [(None, [z(2, 3)]), (None, [real(2)])],
    "view_as_real": [(None, [z(2, 3)])],
    "view_as_complex": [(None, [real(3, 2)])],
}  # fmt: skip

STRUCTURAL = {row.name: primitive(op) for op, row in enumerate(table()) if primitive(op) is not None}
# What others define is tested with extensions. Loops are rolled up below all transforms and have packed results.
ELSEWHERE = ("extension", "loops")
STRUCTURAL = {name: p for name, p in STRUCTURAL.items() if not type(p).__module__.endswith(ELSEWHERE)}
FAMILY = {row.name: row.family for row in table()}
CASES = [(name, i) for name, samples in SAMPLES.items() for i in range(len(samples))]
RUN = [(name, i) for name, i in CASES if SAMPLES[name][i][1]]  # it has operands
MOVING = [(name, i) for name, i in CASES if FAMILY[name] != "constant"]


def sample(name, i):
    """The function of the operands that have a slope, and those."""
    params, operands = SAMPLES[name][i]
    where = [k for k, x in enumerate(operands) if x.dtype.kind in "fc"]

    def function(*moving):
        given = dict(zip(where, moving, strict=True))
        return apply(OPCODES[name], params, *[given[k] if k in given else Tensor(x) for k, x in enumerate(operands)])

    return function, [Tensor(operands[k]) for k in where]


def is_real(name, i):
    """Whether operands that move, and the result, are of type float64."""
    f, xs = sample(name, i)
    return all(x.dtype == dg.float64 for x in (*xs, f(*xs)))


REAL = [case for case in MOVING if is_real(*case)]


def along(xs):
    return [Tensor((z if x.asnumpy().dtype.kind == "c" else real)(*x.shape).astype(x.asnumpy().dtype)) for x in xs]


def pairing(a, b):
    return np.sum(np.real(a.asnumpy().astype(complex) * b.asnumpy()))


def moved(xs, vs, h):
    return [Tensor(x.asnumpy() + h * v.asnumpy()) for x, v in zip(xs, vs, strict=True)]


def close(x, y, tolerance=1e-12):
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * max(1.0, np.max(np.abs(y), initial=0)))


def test_every_primitive_has_a_sample():
    assert SAMPLES.keys() == STRUCTURAL.keys()


def test_every_part_is_there():
    assert undefined() == []
    assert {name for name, p in STRUCTURAL.items() if missing_parts(p)} == set()


def test_missing_parts_are_found():
    class Half(Primitive):
        def reads(self, step, k):
            return SAME

    found = missing_parts(Half())
    assert {"execute", "form", "jvp", "vjp", "batched", "lowered", "accumulated"} <= set(found)
    assert "reads" not in found


@pytest.mark.parametrize(("name", "i"), CASES)
def test_the_form_of_the_result_is_known_before(name, i):
    params, operands = SAMPLES[name][i]
    out = apply(OPCODES[name], params, *map(Tensor, operands)).asnumpy()
    form = result_form(OPCODES[name], params, [(x.dtype.num, x.shape) for x in operands])
    assert form == (None if name == "draw" else (out.dtype.num, out.shape))


@pytest.mark.parametrize(("name", "i"), MOVING)
def test_jvp_is_the_difference(name, i):
    f, xs = sample(name, i)
    vs = along(xs)
    wide = all(x.asnumpy().dtype.itemsize >= 8 for x in xs) and f(*xs).asnumpy().dtype.itemsize >= 8
    h = STEP if wide else 1e-2
    ahead, behind = f(*moved(xs, vs, h)).asnumpy(), f(*moved(xs, vs, -h)).asnumpy()
    expected = (ahead.astype(complex) - behind) / (2 * h)
    close(dg.jvp(f, tuple(xs), tuple(vs))[1].asnumpy(), expected, 1e-6 if wide else 1e-3)


@pytest.mark.parametrize(("name", "i"), MOVING)
def test_vjp_is_the_transpose(name, i):
    f, xs = sample(name, i)
    vs = along(xs)
    tangent = dg.jvp(f, tuple(xs), tuple(vs))[1]
    (ct,) = along([tangent])
    out, pull = dg.vjp(f, *xs)
    pulled = pull(ct)
    pulled = pulled if isinstance(pulled, tuple) else (pulled,)
    assert out.shape == tangent.shape
    narrow = any(x.asnumpy().dtype == np.float32 for x in (tangent, *xs))
    close(pairing(ct, tangent), sum(pairing(p, v) for p, v in zip(pulled, vs, strict=True)), 1e-5 if narrow else 1e-12)


@pytest.mark.parametrize(("name", "i"), REAL)
def test_second_derivatives_agree_between_modes(name, i):
    """Forward over forward, reverse over forward, and Taylor coefficients along one direction."""
    f, xs = sample(name, i)
    vs = along(xs)

    def slope(*points):
        return dg.jvp(f, points, tuple(vs))[1]

    twice = dg.jvp(slope, tuple(xs), tuple(vs))[1]
    weights = Tensor(real(*twice.shape))
    gradients = dg.vjp(slope, *xs)[1](weights)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    close(sum(pairing(g, v) for g, v in zip(gradients, vs, strict=True)), pairing(weights, twice), 1e-11)

    def line(t):
        return f(*[x + t * v for x, v in zip(xs, vs, strict=True)])

    close(dg.derivative(line, Tensor(0.0, dg.float64), 2)[1].asnumpy(), twice.asnumpy(), 1e-11)


@pytest.mark.parametrize(("name", "i"), RUN)
def test_a_batch_is_its_samples(name, i):
    params, operands = SAMPLES[name][i]
    batch = 3
    stacks = [np.stack([np.roll(x, s) for s in range(batch)]) for x in operands]
    shared = range(len(operands))
    for alone in (None, *shared) if len(operands) > 1 else (None,):
        axes = tuple(0 if alone in (None, k) else None for k in shared)

        def f(*xs):
            return apply(OPCODES[name], params, *xs)

        given = [Tensor(stack if axis == 0 else x) for stack, x, axis in zip(stacks, operands, axes, strict=True)]
        found = dg.vmap(f, in_axes=axes)(*given).asnumpy()
        expected = [
            f(*[Tensor(stack[s] if axis == 0 else x) for stack, x, axis in zip(stacks, operands, axes, strict=True)])
            for s in range(batch)
        ]
        close(found, np.stack([one.asnumpy() for one in expected]))


@pytest.mark.parametrize(("name", "i"), RUN)
def test_a_program_gives_what_is_executed(name, i):
    """Between other steps, so that there are views to be lowered, and on numbers that change."""
    params, operands = SAMPLES[name][i]
    floats = [x.dtype.kind in "fc" for x in operands]

    def f(*xs):
        out = apply(OPCODES[name], params, *[x * x if grows else x for x, grows in zip(xs, floats, strict=True)])
        return out * out if out.dtype in (dg.float32, dg.float64) else out

    replayed = dg.jit(f)
    for turn in range(4):
        given = [Tensor(np.roll(x, turn)) for x in operands]
        close(replayed(*given).asnumpy(), f(*given).asnumpy())


def dense(reads, size, n):
    """What is read as a matrix of truth values."""
    found = np.zeros((size, n), bool)
    if reads is SAME:
        return np.eye(size, n, dtype=bool)
    if isinstance(reads, Blocks):
        groups = dense(reads.groups, len(reads.groups.starts) - 1, n)
        return groups[reads.which]
    if isinstance(reads, Groups):
        for row in range(size):
            found[row, reads.members[reads.starts[row] : reads.starts[row + 1]]] = True
    elif reads is not None:
        rows = np.flatnonzero(reads >= 0)
        found[rows, reads[rows]] = True
    return found


@pytest.mark.parametrize(("name", "i"), MOVING)
def test_whatever_has_a_slope_is_read(name, i):
    params, operands = SAMPLES[name][i]
    out = apply(OPCODES[name], params, *map(Tensor, operands))
    row = table()[OPCODES[name]]
    shapes = tuple(x.shape for x in operands)
    moving = [k for k, x in enumerate(operands) if x.dtype.kind in "fc"]
    f, xs = sample(name, i)
    for at, k in enumerate(moving):
        starts = np.arange(operands[k].size + 1)
        known = functools.partial(lambda moving, j, constant: None if j in moving else operands[j], moving)
        step = Step(OPCODES[name], row, params, out.shape, shapes, operands[0].dtype.num, known, lambda _, s=starts: s)
        try:
            reads = dense(reads_of(step, k), out.size, operands[k].size)
        except TooDenseError:
            pytest.fail("a small primitive is not too dense")
        for j in range(operands[k].size):
            unit = np.zeros(operands[k].size, operands[k].dtype)
            unit[j] = 1
            tangents = [Tensor(np.zeros_like(x.asnumpy())) for x in xs]
            tangents[at] = Tensor(unit.reshape(shapes[k]))
            column = dg.jvp(f, tuple(xs), tuple(tangents))[1].asnumpy().ravel()
            assert not np.any((column != 0) & ~reads[:, j])


@pytest.mark.parametrize(("name", "i"), REAL)
def test_sparse_jacobians_are_dense_ones(name, i):
    f, xs = sample(name, i)
    rest = xs[1:]

    def of_first(x):
        return f(x, *rest)

    plan = dg.sparse_jacobian(of_first).prepare(xs[0])
    found = np.zeros((f(*xs).size, xs[0].size))
    rows = np.repeat(np.arange(len(found)), np.diff(plan.pattern.indptr))
    np.add.at(found, (rows, plan.pattern.indices), plan.values(xs[0]))
    close(found, dg.jacfwd(of_first)(xs[0]).asnumpy().reshape(found.shape))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        *(("reshape", shape) for shape in [(5,), (2, 3, 5), (0,), ()]),
        *(("transpose", axes) for axes in [(0, 1), (0, 1, 3), (0, 0, 1), (0, 1, -1), (0, 1, 2, 3)]),
        *(("broadcast_to", shape) for shape in [(5,), (3, 3, 4), (4,), (2, 3, 1), ()]),
        *(("sum_to", shape) for shape in [(5,), (3, 3, 4), (1, 2, 3, 4), (2,)]),
    ],
)
@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
def test_a_shape_that_does_not_fit_reads_no_memory(name, params, recorded):
    def f(x):
        return apply(OPCODES[name], params, x)

    with pytest.raises(ValueError, match=f"{name}: .* (fit an array of|broadcast to the) shape"):
        (dg.jit(f) if recorded else f)(Tensor(real(2, 3, 4)))
