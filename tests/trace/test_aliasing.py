"""Replays keep aliasing: of arguments with each other and with captured arrays, and of results."""

import itertools
import random

import numpy as np
import pytest

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad._engine.trace.cache import forget_programs, programs
from dualgrad.ops.index._views import switched


@pytest.fixture(autouse=True)
def _views():
    """Another test may have installed the alias of MindSpore."""
    switched(True)


PAIRS = {
    "separate": lambda: (mnp.ones((2, 3)), mnp.full(3, 2.0)),
    "row": lambda: (lambda a: (a, a[0]))(mnp.ones((2, 3))),
    "row of a part": lambda: (lambda a: (a, a[1:][0]))(mnp.ones((2, 3))),
    "column of a transpose": lambda: (lambda a: (a, a.T[:, 1]))(mnp.ones((2, 3))),
    "row of another": lambda: (mnp.ones((2, 3)), mnp.full((4, 3), 2.0)[2]),
    "rows of one": lambda: (lambda a: (a[:2], a[1]))(mnp.ones((4, 3))),
    "rows apart": lambda: (lambda a: (a[:2], a[2]))(mnp.ones((4, 3))),
    "captured": lambda: (HELD["array"], mnp.full(3, 2.0)),
    "row of captured": lambda: (mnp.ones((2, 3)), HELD["array"][1]),
    "both captured": lambda: (HELD["array"], HELD["row"]),
    "captured row": lambda: (mnp.ones((2, 3)), HELD["row"]),
}
"""Ways in which an array (2, 3) and a row (3,) belong together."""


def _held():
    array = mnp.zeros((2, 3))
    return {"array": array, "row": array[0]}


HELD = _held()


def functions():
    """Functions of an array and a row: what they return, and what they write into."""
    captured, row_of_captured = HELD["array"], HELD["row"]

    def reads(a, r):
        return a.sum() + 2.0 * r.sum()

    def writes_row(a, r):
        r[0] = 5.0
        return a.sum()

    def writes_array(a, r):
        a[:, 1] = 7.0
        return r.sum() + a[0].sum()

    def writes_both(a, r):
        r += 1.0
        a *= 2.0
        return (a * 3.0).sum() + r.sum()

    def writes_captured(a, r):
        captured[0, 2] = r[1]
        return a.sum() + row_of_captured.sum()

    def writes_captured_row(a, r):
        row_of_captured[1] = a[0, 0] + 1.0
        return captured * 1.0 + r

    def returns_argument(a, r):
        return a, r * 2.0

    def returns_view(a, r):
        return a[1], r[1:]

    def returns_new(a, r):
        new = a * 2.0
        new[0] = r
        return new, new[1], new.T

    def returns_row_of_new(a, r):
        return (a + r)[0]

    def returns_view_of_captured(a, r):
        return captured[:, 1:], a + r

    return [f for f in locals().values() if callable(f)]


def leaves(x):
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, tuple) else [x]


def state(result, pair):
    """All numbers, before and after each result is written into."""
    tensors = [*leaves(result), *pair, HELD["array"], HELD["row"]]
    found = [x.asnumpy().tolist() for x in tensors]
    for k, x in enumerate(leaves(result)):
        if x.ndim:
            x[0] = 100.0 + k
            found += [y.asnumpy().tolist() for y in tensors]
    return found


def run(place, sequence, way):
    """What each call of a sequence leaves behind."""
    HELD.update(_held())
    f = way(functions()[place])
    found = []
    for name in sequence:
        pair = PAIRS[name]()
        found.append(state(f(*pair), pair))
        HELD["array"][...] = 0.5
    return found


@pytest.mark.filterwarnings("ignore:.* view that it was given is")
@pytest.mark.parametrize("place", range(11), ids=[f.__name__ for f in functions()])
def test_replays_share_what_eager_calls_share(place):
    rng = random.Random(place)
    for turn in range(8):
        names = [rng.choice(list(PAIRS))] * 3 if turn % 2 else []
        sequence = [*names, *rng.choices(list(PAIRS), k=6), *rng.choices(list(PAIRS)[:2], k=4)]
        assert run(place, sequence, dg.jit) == run(place, sequence, lambda f: f), sequence


def is_replayed(f):
    return {replayed for name, replayed, _ in programs() if name.endswith(f.__qualname__)} == {True}


def test_separate_arguments_are_replayed():
    """The test above compares replays, not only eager calls."""

    @dg.jit
    def separate(a, r):
        r[0] = 5.0
        new = a * 2.0
        return new, new[0]

    for _ in range(5):
        a, r = PAIRS["separate"]()
        new, row = separate(a, r)
        row += 1.0
        assert r[0] == 5.0
        np.testing.assert_array_equal(new[0].asnumpy(), 3.0)
    assert is_replayed(separate)


def test_views_of_many_arrays_are_replayed():
    @dg.jit
    def squared(r):
        return (r * r).sum()

    for _ in range(6):
        assert squared(mnp.full((4, 3), 2.0)[1]) == 12.0
    assert is_replayed(squared)


BASES = {
    "rows": lambda x: 2.0 * x,
    "columns": lambda x: x.T * 2.0,
    "columns of a join": lambda x: np.concatenate([x[:, ::2], x[:, ::2]], axis=1),
    "three axes": lambda x: np.stack([x, x + 10.0]).transpose(2, 0, 1) * 1.0,
    "complex": lambda x: x * (1.0 + 2.0j),
}
"""Arrays that a function makes: the order of their numbers in memory differs."""

RESULTS = {
    "row and column": lambda a: (a[0], a[:, 0]),
    "the array, a view and its view": lambda a: (a, a[:, None], a[:, None][..., 1:]),
    "views of views": lambda a: (a[:, None], a[:, None][..., 1:]),
    "transpose and row": lambda a: (a.T, a[1]),
    "backwards and row": lambda a: (a[::-1], a[0]),
    "vector and row": lambda a: (a.reshape(-1), a[0]),
    "halves": lambda a: (a[:1], a[1:]),
    "stripes": lambda a: (a[..., ::2], a[..., 1::2]),
    "part": lambda a: (a[:, 1:],),
    "column": lambda a: (a[:, 0],),
    "backwards": lambda a: (a[::-1], 1.0),
    "all backwards": lambda a: (a[::-1, ::-1],),
    "transpose": lambda a: (a.T,),
    "the same twice": lambda a: (lambda row: (row, [row]))(a[1:]),
    "diagonal and row": lambda a: (np.diagonal(a), a[0]),
    "diagonal": lambda a: (np.diagonal(a),),
    "repeated": lambda a: (np.broadcast_to(a, (2, *a.shape)),),
    "repeated, and row": lambda a: (np.broadcast_to(a[0], a.shape), a[0]),
    "parts": lambda a: (np.real(a), np.imag(a), a[0]),
    "real part": lambda a: (np.real(a),),
    "the array": lambda a: (a,),
}
"""Results that share elements of an array, which may not be a result itself."""

AFTERWARDS = {
    "itself": lambda r: r,
    "reshape": lambda r: r.reshape(-1),
    "ravel": lambda r: r.ravel(),
    "vector of the transpose": lambda r: r.T.reshape(-1),
    "part": lambda r: r[..., 1:],
    "last part backwards": lambda r: r[::-1][..., -1:],
    "two axes": lambda r: r.reshape(1, -1, 1)[:, 1:],
}
"""Arrays made of a result outside of the function: views or copies, as the order in memory says."""


def after_writes(f, k, then):
    """Numbers of all results after a write into an array made of the k-th result, and of that array; or the error."""
    arrays = [r for result in f() for r in (result if isinstance(result, list) else [result]) if np.ndim(r)]
    if k >= len(arrays):
        return None
    made = then(arrays[k])
    try:
        made[...] = np.arange(float(made.size)).reshape(made.shape) + 100.0
        arrays[0][...] = arrays[0] * 3.0
        found = [np.asarray(r if isinstance(r, np.ndarray) else r.asnumpy()).tolist() for r in [*arrays, made]]
    except (ValueError, RuntimeError) as error:
        return type(error)
    return found


@pytest.mark.parametrize("results", RESULTS)
@pytest.mark.parametrize("base", BASES)
def test_results_share_what_numpys_share(base, results):
    x = np.arange(6.0).reshape(2, 3)
    forget_programs()

    def f(x):
        return RESULTS[results](BASES[base](x))

    recorded = dg.jit(f)
    for k in range(3):
        for name, then in AFTERWARDS.items():
            expected = after_writes(lambda: f(x), k, then)
            eager = after_writes(lambda: f(mnp.array(x)), k, then)
            assert eager in (expected, RuntimeError), (k, name)
            for _ in range(3):
                assert after_writes(lambda: recorded(mnp.array(x)), k, then) == eager, (k, name)
    assert is_replayed(f)


BLOCKS = {
    "itself": lambda c: c,
    "part": lambda c: c[1:],
    "backwards": lambda c: c[::-1],
    "column": lambda c: c[:, None],
    "copy": lambda c: c * 1.0,
    "itself and part": lambda c: (c, c[1:]),
    "part and copy": lambda c: (c[:2], c[:2] * 1.0),
    "result and its part": lambda c: (lambda d: (d, d[1:]))(c * 2.0),
}
"""What a block returns of its argument."""

CALLS = {
    "recompute": lambda block, c: dg.recompute(block)(c),
    "cond": lambda block, c: dg.cond(c.sum() > 0.0, block, block, c),
    "cond on captured": lambda block, c: dg.cond(c.sum() > 0.0, lambda: block(c), lambda: block(c)),
    "cond of different": lambda block, c: dg.cond(c.sum() > 0.0, block, lambda c: leaves_like(block, c), c),
}
"""Calls of a block that a transform makes one instruction."""

OPERANDS = {"array": lambda a: a, "view": lambda a: a[0:], "columns": lambda a: a[::2]}

TRANSFORMS = {
    "eager": lambda f: f,
    "jit": dg.jit,
    "jit of a gradient": lambda f: dg.jit(in_gradient(f)),
    "gradient": lambda f: in_gradient(f),
    "vmap": lambda f: lambda x: dg.vmap(f)(mnp.stack([x]))[0],
}


def leaves_like(block, c):
    found = block(c)
    return tuple([r * 1.0 for r in found]) if isinstance(found, tuple) else found * 1.0


def in_gradient(f):
    return lambda x: dg.value_and_grad(lambda x: (lambda r: (r.sum(), r))(f(x)), has_aux=True)(x)[0][1]


@pytest.mark.eager("records by itself, and may refuse in one mode only")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("block", BLOCKS)
def test_blocks_return_views_or_refuse(block, call, transform):
    """A write into a result, and a result read after a write into the operand, are as in NumPy or an error."""

    def program(np, call, operand, k, result_first):
        def f(x):
            a = np.concatenate([x, x]) * 1.0
            c = OPERANDS[operand](a)
            found = call(BLOCKS[block], c)
            found = found if isinstance(found, tuple) else (found,)
            written = found[k % len(found)] if result_first else a
            written[...] = written * 3.0 + 1.0
            return np.concatenate([a, *[r.reshape(-1) for r in found]])

        return f

    x = np.arange(3.0) + 1.0
    done = 0
    for operand, k, result_first in itertools.product(OPERANDS, range(2), (True, False)):
        expected = program(np, lambda block, c: block(c), operand, k, result_first)(x)
        f = TRANSFORMS[transform](program(mnp, CALLS[call], operand, k, result_first))
        for _ in range(4):
            try:
                found = f(mnp.array(x))
            except RuntimeError as error:
                if "shares elements" not in str(error) or transform == "eager":
                    raise
                continue
            np.testing.assert_array_equal(found.asnumpy(), expected)
            done += 1
    assert done or call == "cond of different"


LEAVING = {
    "aux": lambda f: lambda x: dg.value_and_grad(lambda x: (x.sum(), f(x)), has_aux=True)(x)[0][1],
    "jvp": lambda f: lambda x: dg.jvp(f, (x,), (x,))[0],
    "vjp": lambda f: lambda x: dg.vjp(f, x)[0],
}
"""Transforms whose results are results of the function."""


@pytest.mark.parametrize("way", LEAVING)
@pytest.mark.parametrize("base", [base for base in BASES if base != "complex"])
def test_results_of_transforms_share_what_numpys_share(base, way):
    x = np.arange(6.0).reshape(2, 3)
    for results, k in itertools.product(RESULTS, range(3)):

        def f(x, results=results):
            return RESULTS[results](BASES[base](x))

        if any(not np.ndim(r) for r in f(x)):
            continue
        for name, then in AFTERWARDS.items():
            expected = after_writes(lambda: f(x), k, then)
            found = after_writes(lambda: LEAVING[way](f)(mnp.array(x)), k, then)
            assert found in (expected, RuntimeError), (results, k, name)
