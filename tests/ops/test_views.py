"""Views of arrays: every way to make an array, to take a view, to write, to read and to run, beside NumPy."""

import copy
import gc
import itertools
import pickle
import random
import sys
import threading
from collections import Counter

import array_programs
import numpy as np
import pytest
import view_programs as programs
from numpy_samples import all_samples

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor, ops
from dualgrad.ops.index import _views as _views_of


def there(name):
    """Whether this version of NumPy has a function."""
    space, _, last = name.rpartition(".")
    return space == "ufunc" or hasattr(np.linalg if space else np, last)


SAMPLES = [one for one in all_samples() if there(one.name) and np.lib.NumpyVersion(np.__version__) >= one.since]
PARTS = (programs.MAKERS, programs.TAKEN, programs.WRITES, programs.TARGETS, programs.READS)
WAYS_TO_RUN = [*programs.VALUES, *programs.GRADIENTS]
# What may be refused, where NumPy writes: docs/howto/views.md names these ways.
REFUSED = (
    "it depends on the order of the numbers in memory",
    "in memory is not known",
    "NumPy's view is read-only",
    "stands for all samples at once",
    "changes one of its arguments in place",
)


def drawn(seed, count, ways):
    """Programs in which every pair of parts, and of a part and a way to run, comes about; then others."""
    rng = random.Random(seed)
    axes = [list(part) for part in PARTS] + [ways]
    for one, other in itertools.combinations(range(len(axes)), 2) if count > 20_000 else ():
        for x, y in itertools.product(axes[one], axes[other]):
            key = [rng.choice(axis) for axis in axes]
            key[one], key[other] = x, y
            yield key
    for _ in range(count):
        yield [rng.choice(axis) for axis in axes]


def outcomes(seed, count, ways=WAYS_TO_RUN):
    found = Counter()
    for *key, way in drawn(seed, count, ways):
        kind, text = programs.outcome(programs.program(*key), way)
        assert kind in ("equal", "refused", "refused as by NumPy"), (key, way, kind, text)
        assert kind != "refused" or any(known in text for known in REFUSED), (key, way, text)
        found[kind] += 1
    return found


@pytest.mark.parametrize("seed", range(4))
def test_programs_that_write_through_views(seed):
    outcomes(seed, 120)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(100, 104))
def test_many_programs_that_write_through_views(seed):
    found = outcomes(seed, 25_000)
    taken = found["equal"] + found["refused"]
    print(f"{found.total()} programs: {found}")
    assert found["equal"] >= 0.9 * taken


def outcomes_of_chains(seed, count, length):
    rng, found = random.Random(seed), Counter()
    for _ in range(count):
        text, way = array_programs.drawn(rng, length), rng.choice(WAYS_TO_RUN)
        kind, said = programs.outcome(array_programs.function(text), way, array_programs.START)
        assert kind in ("equal", "refused"), (way, kind, said, text)
        assert kind == "equal" or any(known in said for known in REFUSED), (way, said, text)
        found[kind] += 1
    return found


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_for_arrays(seed):
    outcomes_of_chains(seed, 60, 8)


@pytest.mark.exhaustive
@pytest.mark.parametrize("length", [4, 6, 8, 12, 18, 25])
def test_many_random_programs_for_arrays(length):
    found = outcomes_of_chains(100 + length, 1000, length)
    print(f"{found.total()} programs: {found}")
    assert found["equal"] >= 0.85 * found.total()


@pytest.mark.filterwarnings("ignore:.* runs eagerly")
@pytest.mark.parametrize("run", [lambda: outcomes(0, 200, ["eager"]), lambda: outcomes_of_chains(0, 60, 8)])
def test_a_slice_that_is_no_view_is_noticed(run, monkeypatch):
    monkeypatch.setattr("dualgrad.ops.index.indexing.seen", _no_view)
    with pytest.raises(AssertionError):
        run()


ARRANGED = {
    "in rows": lambda np, a: a,
    "in columns": lambda np, a: np.transpose(np.ascontiguousarray(np.transpose(a))) if a.ndim else a,
    "with gaps": lambda np, a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    "backwards": lambda np, a: np.flip(np.ascontiguousarray(np.flip(a, 0)), 0) if a.ndim else a,
}
METHODS = ("ufunc.reduce", "ufunc.accumulate", "ufunc.reduceat", "ufunc.outer", "ufunc.at")


def leaves(x):
    if isinstance(x, tuple | list):
        for item in x:
            yield from leaves(item)
    else:
        yield x


def steps(strides, shape, size=1):
    return [step // size for step, n in zip(strides, shape, strict=True) if n > 1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("arranged", ARRANGED)
@pytest.mark.parametrize("name", sorted({one.name for one in SAMPLES}))
def test_results_lie_in_memory_as_in_numpy(name, arranged):
    """Each function of NumPy shares what it returns with the same arguments, and lays out new arrays alike."""
    for one in SAMPLES:
        if one.name != name:
            continue
        arrays = [ARRANGED[arranged](np, a.copy()) for a in one.args]
        tensors = [ARRANGED[arranged](mnp, mnp.array(a)) for a in one.args]
        try:
            with np.errstate(all="ignore"):
                expected = one.call(np, *arrays)
        except ValueError:  # put_along_axis(axis=None) writes into rows only
            continue
        found = one.call(np if name in METHODS else mnp, *tensors)
        for array, t in zip(leaves(expected), leaves(found), strict=True):
            if not isinstance(array, np.ndarray) or not array.size or not array.ndim or isinstance(t, np.ndarray):
                continue
            assert t._is_array
            layout = _views_of._layout(t)
            if array.dtype.kind != t.asnumpy().dtype.kind or t._alias.refused == _views_of._UNKNOWN:
                continue  # complex numbers in place of real ones; nobody can tell
            shared = [np.may_share_memory(array, other) for other in arrays]
            assert shared == [
                t is x or (_views_of._root(t) is _views_of._root(x) and _views_of._inside(layout, x)) for x in tensors
            ]
            if not any(shared) and layout.dtype == np.bool_ and not _views_of._is_part(t):
                assert steps(array.strides, array.shape, array.itemsize) == steps(layout.strides, layout.shape)


def _statements(text):
    """A function of a namespace and of arrays x, z and i; it returns all of `found`."""
    body = "\n    ".join(line.strip() for line in text.split(";"))
    names = {}
    exec(f"def program(np, x, z, i):\n    {body}\n    return found\n", names)
    return names["program"]


BESIDE_NUMPY = {
    "another type": "y = np.asarray(i, dtype=np.float64); y /= 2; found = i, y",
    "another type, from it": "y = np.asanyarray(x, dtype=complex); x += 1; found = x, y",
    "the same type": "y = x.astype(np.float64, copy=False); y *= 2.0; found = x, y",
    "joined": "a = np.r_[0.0, x, 0.0]; v = a[1:-1]; v *= 2.0; c = np.c_[x, x]; d = c[0]; d += 1; found = a, c",
    "joined, as it is": "u = np.r_[x, 1.0]; v = u; v += 1; found = u",
    "grids": "m = np.mgrid[0:2, 0:2]; a, b = m; a += 5; o = np.ogrid[0:2, 0:2]; q = o[0]; q += 1; found = m, o[0]",
    "shifts": "n = np.arange(4) << 1; v = n[1:]; v += 10; k = 8 >> i; w = k; w += 1; found = n, k",
    "parts without axes": "q = np.array(1 + 2j); r = q.imag; r += 5; found = q",
    "real part without axes": "q = np.array(2.0); t = np.real(q); q += 1; found = t",
    "arrays without axes": (
        "n = np.zeros_like(x[0]); m = n; m += 3; w = np.where(x[0] > 0, x[0], 0.0); v = w; v += 1; found = n, w"
    ),
    "products without axes": "t = np.tensordot(x, x, 1); u = t; u += 1; found = t",
    "types without axes": "s = np.array(2).astype(float); s.fill(7); found = s",
    "numbers": (
        "m = x.mean(); y = np.atleast_1d(m); y -= m; e = np.expand_dims(m, 0); "
        "e += 1; r = np.ravel(m); r += 1; found = m, y"
    ),
    "numbers, as arrays": "k = x.sum(); a = np.asarray(k); a += 1; found = k, a",
    "parts of several": (
        "r, s = np.broadcast_arrays(z.real, z.imag); a, b = np.atleast_2d(z.real, z.imag); z[:] = 9; found = r, s, a, b"
    ),
    "rows of parts": "r = np.ravel(z.real); r += 1; s = z.imag.reshape(-1); s += 1; found = z, r, s",
    "spread": "s = np.array(1.0); a, b = np.broadcast_arrays(s, np.zeros(3)); s += 1; found = a",
    "spread to": "s = np.array(1.25); b = np.broadcast_to(s, (2,)); s.fill(1); found = b",
    "empty": (
        "e = np.zeros((0, 4)); r = e.real; e += 1; "
        "e[:-1] -= e[1:]; f = np.zeros((2, 0, 3)); f[0][:] = 1; found = e, r, f"
    ),
    "ufuncs": "np.add.at(x, i, 1.0); found = x, np.add.reduce(x), np.multiply.outer(x, x), np.add.accumulate(x)",
    "sums of bytes": (
        "found = np.cumsum(np.array([200, 100], dtype=np.uint8)), np.array([200, 100], dtype=np.uint8).cumsum()"
    ),
    "sums of ints": (
        "found = np.cumsum(np.array([2**31 - 1, 1], dtype=np.int32)), "
        "np.add.accumulate(np.array([200, 100], dtype=np.uint8))"
    ),
    "counted": "found = np.trace(np.array([[True, False], [False, True]]))",
    "signs of zero": "found = np.angle(np.array([-0.0, 0.0, -1.0, np.nan], dtype=np.float64))",
    "an axis more": "found = np.ascontiguousarray(np.array(2.0))",
    "orders": "found = np.ravel(z[None].T, order='K').real, np.reshape(np.array([x, x]).T, (2, 3), order='A')",
}


@pytest.mark.parametrize("name", BESIDE_NUMPY)
def test_programs_beside_numpy(name):
    program = _statements(BESIDE_NUMPY[name])
    inputs = np.array([1.0, -2.0, 3.0]), np.array([1.0 + 2.0j, -1.5j, 3.0]), np.array([0, 0, 2])
    found, expected = program(mnp, *map(mnp.array, inputs)), program(np, *[a.copy() for a in inputs])
    for one, other in zip(leaves([found]), leaves([expected]), strict=True):
        assert np.asarray(one).dtype.kind == np.asarray(other).dtype.kind
        np.testing.assert_array_equal(np.asarray(one), other)


@pytest.mark.parametrize(
    "transform", [dg.grad, dg.jacfwd, dg.jacrev, dg.hessian], ids=lambda transform: transform.__name__
)
def test_derivatives_by_arrays_are_arrays(transform):
    found = transform(lambda x: (x**3).sum())(np.ones((2, 2)))
    row = found[0]
    row[...] = 0.0
    assert not found[0].asnumpy().any()


def test_numpys_array_of_an_array_cannot_be_written():
    a = mnp.array([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(a)[0] = 3.0
    np.array(a)[0] = 3.0


def _no_view(found, t, index):
    return found


ADD_AT = np.add.at  # of tensors, too

MAKERS = {
    "zeros": lambda np: np.zeros((3, 4)),
    "ones": lambda np: np.ones((3, 4)),
    "full": lambda np: np.full((3, 4), 2.0),
    "array": lambda np: np.array([[1.0, 2.0, 3.0, 4.0]] * 3),
    "array of an array": lambda np: np.array(np.ones((3, 4))),
    "copy": lambda np: np.copy(np.ones((3, 4))),
    "method": lambda np: (2.0 * np.ones((3, 4))).copy(),
    "zeros_like": lambda np: np.zeros_like(np.ones((3, 4))),
    "ones_like": lambda np: np.ones_like(np.ones((3, 4))),
    "full_like": lambda np: np.full_like(np.ones((3, 4)), 3.0),
    "empty_like": lambda np: np.empty_like(np.ones((3, 4))),
}

TAKEN = {
    "int": lambda a: a[1],
    "negative": lambda a: a[-1],
    "slice": lambda a: a[1:],
    "stride": lambda a: a[::2, ::-1],
    "mixed": lambda a: a[1, 1:],
    "column": lambda a: a[:, 2],
    "new axis": lambda a: a[None, 1],
    "ellipsis": lambda a: a[..., 1:],
    "whole": lambda a: a[:],
    "row of rows": lambda a: a[1:][0],
    "three": lambda a: a[:, 1:][::-1][0],
    "in turn": lambda a: list(a)[2],
}
WRITES = {
    "first": lambda v: v.__setitem__(0, 7.0),
    "all": lambda v: v.__setitem__(slice(None), 7.0),
    "last": lambda v: v.__setitem__((..., -1), 8.0),
    "mask": lambda v: v.__setitem__(v < 3.0, 9.0),
    "places": lambda v: v.__setitem__([0, -1], 6.0),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("take", TAKEN)
@pytest.mark.parametrize("maker", MAKERS)
def test_an_array_changes_with_its_view(maker, take, write):
    found = []
    for module in (np, mnp):
        a = MAKERS[maker](module)
        if module is np and maker == "empty_like":
            a[:] = 0.0
        view = TAKEN[take](a)
        WRITES[write](view)
        found.append((np.asarray(view), np.asarray(a)))
    for ours, numpys in zip(found[1], found[0], strict=True):
        np.testing.assert_array_equal(ours, numpys)
    assert found[0][1].any()


@pytest.mark.parametrize("take", TAKEN)
def test_functions_that_write(take):
    for write in (
        lambda np, v: np.put(v, [0, 1], [5.0, 6.0]),
        lambda np, v: np.place(v, v < 3.0, [5.0]),
        lambda np, v: np.putmask(v, v < 3.0, 5.0),
        lambda np, v: np.copyto(v, 4.0),
        lambda _, v: ADD_AT(v, [0, 0], 1.5),
    ):
        found = []
        for module in (np, mnp):
            a = module.ones((3, 4))
            write(module, TAKEN[take](a))
            found.append(np.asarray(a))
        np.testing.assert_array_equal(*found)


def augmented(sign, value):
    """``v sign= value`` in a function, where v is a fast local."""
    found = {}
    exec(f"def change(v):\n    v {sign}= {value}\n    return v\n", found)
    return found["change"]


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "**"])
@pytest.mark.parametrize("take", TAKEN)
def test_augmented_assignments(take, sign):
    found = []
    for module in (np, mnp):
        a = module.full((3, 4), 5.0)
        view = TAKEN[take](a)
        assert augmented(sign, 3.0)(view) is view
        found.append((np.asarray(a), np.asarray(view)))
    for ours, numpys in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, numpys)


CHANGES = {
    "item": lambda v: v.__setitem__(0, v[0] + 1.0),
    "all": lambda v: v.__setitem__(slice(1, None), 1.0),
    "augmented": lambda v: augmented("+", 1.0)(v),
    "method": lambda v: v.add_(1.0),
    "wrapped method": lambda v: v.exp_(),
    "assign": lambda v: ops.assign_add(v, Tensor(np.ones(4, np.float32))),
    "at": lambda v: ADD_AT(v, [0], 1.0),
    "put": lambda v: mnp.put(v, [1], [1.0]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_write_into_a_view_keeps_what_its_array_got_meanwhile(change):
    a = mnp.zeros((2, 4))
    row = a[1]
    a[1, 2:] = 5.0
    CHANGES[change](row)
    np.testing.assert_array_equal(a[1].asnumpy(), row.asnumpy())
    expected = Tensor(np.array([0.0, 0.0, 5.0, 5.0], np.float32))
    returned = CHANGES[change](expected)
    expected = returned if change == "augmented" else expected
    np.testing.assert_array_equal(row.asnumpy(), expected.asnumpy())


def test_what_an_augmented_assignment_refuses():
    row = mnp.zeros((2, 3), mnp.int64)[0]
    with pytest.raises(TypeError, match="cannot hold"):
        row += 0.5
    with pytest.raises(ValueError, match="shape"):
        row += mnp.ones((2, 3), mnp.int64)
    a = b = mnp.zeros(3)
    a += 1.0
    assert b.asnumpy().all()
    t = s = Tensor([1.0, 2.0])
    t += 1.0  # no array: a new tensor, as MindSpore has it
    assert s.asnumpy().tolist() == [1.0, 2.0]


def test_under_the_alias_arrays_have_no_views():
    import dualgrad.mindspore as alias

    alias.install()
    try:
        a = mnp.zeros((2, 2))
        row = a[0]
        row[0] = row[1] = 5.0
        assert not a.asnumpy().any()
    finally:
        alias.uninstall()


def program(np, x):
    """Rows filled by a function that is given one, read by another name, and in an array of an array."""
    out = np.zeros((3, 2, 3))

    def fill(row, k):
        row[0] = x * k
        row[1, 1:] = row[0][:2] + x[1]

    for k in range(3):
        fill(out[k], k + 1.0)
    out[1][0][2] = x[0] * x[1]
    last = out[2]
    out[2, 0, 0] = 0.5 * x[2]
    last[1][0] = x[2] ** 2
    return (out * out).sum() + out[2, 0, 0] * last[1, 0]


WAYS = {
    "plain": lambda f: f,
    "recorded": dg.jit,
    "gradient": dg.grad,
    "recorded gradient": lambda f: dg.jit(dg.grad(f)),
    "forward": lambda f: lambda x: dg.jvp(f, x, x)[1],
    "Hessian": dg.hessian,
    "batched": lambda f: lambda x: dg.vmap(f)(mnp.stack([x, 2.0 * x])),
    "gradient of a gradient": lambda f: dg.grad(lambda x: (dg.grad(f)(x) ** 2).sum()),
}


def without_views(x):
    """The same with tensors that are stacked."""
    rows = []
    for k in range(3):
        first = x * (k + 1.0)
        rows.append([first, mnp.concatenate([x[:1] * 0.0, first[:2] + x[1]])])
    rows[1][0] = mnp.stack([rows[1][0][0], rows[1][0][1], x[0] * x[1]])
    rows[2][0] = mnp.stack([0.5 * x[2], rows[2][0][1], rows[2][0][2]])
    rows[2][1] = mnp.stack([x[2] ** 2, rows[2][1][1], rows[2][1][2]])
    out = mnp.stack([mnp.stack(row) for row in rows])
    return (out * out).sum() + out[2, 0, 0] * out[2, 1, 0]


def test_the_program_is_numpys():
    x = np.array([0.5, -1.5, 2.0])
    np.testing.assert_allclose(program(mnp, Tensor(x)).asnumpy(), program(np, x), rtol=1e-14)


@pytest.mark.parametrize("way", WAYS)
def test_derivatives_pass_through_views(way):
    x = Tensor(np.array([0.5, -1.5, 2.0]))
    f = WAYS[way](lambda x: program(mnp, x))
    expected = WAYS[way](without_views)(x).asnumpy()
    for _ in range(3):
        np.testing.assert_allclose(f(x).asnumpy(), expected, rtol=1e-13)


def test_other_tensors_have_no_views():
    for t in (Tensor(np.ones((2, 2))), Tensor(np.ones((2, 2))) + 1.0, ops.exp(Tensor(np.ones((2, 2))))):
        row = t[0]
        row[0] = 5.0
        assert t[0, 0] != 5.0
    number = mnp.zeros(3)[1:][0]
    assert number._alias is None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_and_pickles_of_arrays_are_arrays(copied):
    for a in (mnp.zeros((2, 3)), mnp.zeros((4, 3))[1:3], mnp.zeros((3, 2)).T):
        b = copied(a)
        row = b[0]
        row += 1.0
        assert b.asnumpy().sum() == 3.0
        assert not a.asnumpy().any()
    assert not copied(Tensor([1.0]))._is_array


def test_a_copy_is_no_view():
    a = mnp.zeros((2, 2))
    for b in (mnp.array(a), mnp.copy(a), mnp.asarray(a, copy=True)):
        b[0] = 1.0
    assert not a.asnumpy().any()


def test_a_write_from_inside_is_refused():
    """The array was made outside of the function, so a derivative would end in it."""
    row = mnp.zeros((2, 2))[0]

    def f(x):
        row[0] = x
        return row.sum()

    with pytest.raises(RuntimeError, match="made outside of the function"):
        dg.grad(f)(Tensor(1.0))


def test_long_chains_of_slices_keep_little():
    x = a = mnp.zeros(20_000)
    for _ in range(10_000):
        x = x[1:]
    x[0] = 1.0
    assert a.asnumpy().nonzero()[0].tolist() == [10_000]
    del x
    gc.collect()
    a[:] = 2.0
    assert a.asnumpy().all()


def test_views_that_are_gone_are_not_listed():
    a = mnp.zeros((50, 3))
    for _ in range(3):
        rows = list(a)
        for k in random.Random(0).sample(range(50), 50):
            rows[k] = None
            a[k] = 1.0
    assert a.asnumpy().all()


@pytest.mark.parametrize("value", [1 + 2j, np.complex128(1j), np.array([1j]), Tensor([1j]), [1.0, 2j]], ids=repr)
@pytest.mark.parametrize(
    "write",
    [
        lambda a, v: a.__setitem__(slice(0, 1), v),
        lambda a, v: a.__setitem__([0], v),
        lambda a, v: a.__iadd__(v),
        lambda a, v: mnp.copyto(a[:1], v),
        lambda a, v: mnp.put(a, [0], v),
        lambda a, v: mnp.place(a, [True, False], v),
        lambda a, v: mnp.putmask(a, [True, False], v),
        lambda a, v: mnp.put_along_axis(a, mnp.array([0]), v, 0),
        lambda a, v: mnp.fill_diagonal(mnp.zeros((2, 2)), v),
        lambda a, v: mnp.asarray(v, float),
        lambda a, v: mnp.array(v, dtype=float),
        lambda a, v: mnp.full(2, v, dtype=float),
        lambda a, v: mnp.full_like(a, v),
    ],
)
def test_complex_numbers_do_not_become_real_without_a_word(write, value):
    a = mnp.zeros(2, dtype=np.float64)
    with pytest.raises(TypeError):
        write(a, value)
    assert not a.asnumpy().any()


def _overlapping():
    a = np.ones((2, 3))
    b = mnp.ones((2, 3))
    rows = mnp.ones((3, 3))
    return {"NumPy's": (a, a[0]), "view": (b, b[0]), "views": (rows[:2], rows[1]), "in a list": ([b], b[0])}


@pytest.mark.parametrize("kind", _overlapping())
@pytest.mark.parametrize("wrap", [lambda f: f, dg.jit], ids=["eager", "recorded"])
def test_inputs_that_share_elements_are_read_and_not_written(kind, wrap):
    """What is written into one would be missing in the other, which is an input of its own."""
    inputs = _overlapping()[kind]

    def read(a, r):
        return ((a[0] if isinstance(a, list) else a) * r).sum()

    def write(a, r):
        r[0] = 5.0
        return read(a, r)

    for _ in range(3):
        gradient = wrap(dg.grad(read, (0, 1)))(*inputs)
        np.testing.assert_array_equal(gradient[1].asnumpy(), 2.0)
    with pytest.raises(RuntimeError, match="shares elements with another input"):
        wrap(dg.grad(write, (0, 1)))(*inputs)
    apart = [x if isinstance(x, list) else x.copy() for x in inputs]
    wrap(dg.grad(write, (0, 1)))(*apart)


def _with_row(write):
    """A write into a row that a thread takes once."""

    def prepared(x, k):
        row = x[k]
        return lambda: write(row)

    return prepared


def _add(a, value):
    a += value


def _set(a, index, value):
    a[index] = value


OF_THREADS = {
    "row += 1": lambda x, k: lambda: _add(x[k], 1.0),
    "x[k] += 1": lambda x, k: lambda: x.__setitem__(k, x[k]._changed("+", 1.0)),
    "x[k] = x[k] + 1": lambda x, k: lambda: _set(x, k, x[k] + 1.0),
    "one view": _with_row(lambda row: _add(row, 1.0)),
    "parts of a view": _with_row(lambda row: (_add(row[:500], 1.0), _add(row[500:], 1.0))),
    "overlapping views": lambda x, k: lambda v=x[k : k + 2]: _set(v, 0, v[0] + 1.0),
    "transpose": lambda x, k: lambda: _add(x.T[:, k], 1.0),
    "vector": lambda x, k: lambda: _add(x.reshape(-1)[1000 * k : 1000 * (k + 1)], 1.0),
    "add.at": lambda x, k: lambda: np.add.at(x, k, np.ones(1000)),
    "copyto": lambda x, k: lambda: np.copyto(x[k], x[k] + 1.0),
    "copyto where": lambda x, k: lambda: np.copyto(x, x + 1.0, where=np.arange(4)[:, None] == k),
    "put": lambda x, k: lambda: np.put(x, np.arange(1000) + 1000 * k, x[k] + 1.0),
    "putmask": lambda x, k: lambda: np.putmask(x, np.tile(np.arange(4)[:, None] == k, 1000), (x + 1.0).reshape(-1)),
    "put_along_axis": lambda x, k: lambda: np.put_along_axis(x, np.full((1, 1000), k), x[k : k + 1] + 1.0, 0),
    "in place": lambda x, k: lambda: x[k].add_(1.0),
    "tensor": lambda x, k: lambda: _set(x, k, x[k] + 1.0),
    "assign_add": lambda x, k: lambda: dg.ops.assign_add(x, (np.arange(4.0) == k)[:, None] * np.ones(1000)),
}
"""Writes of thread k, which each add one to row k of an array."""


@pytest.mark.parametrize("name", OF_THREADS)
def test_no_write_of_a_thread_is_lost(name):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            x = (dg.Tensor if name == "tensor" else mnp.array)(np.zeros((4, 1000)))
            start = threading.Barrier(4)

            def work(k, x=x, start=start):
                write = OF_THREADS[name](x, k)
                start.wait()
                for _ in range(40):
                    write()

            threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            np.testing.assert_array_equal(x.asnumpy(), 40.0)
    finally:
        sys.setswitchinterval(interval)


NESTINGS = {
    "list": lambda x, y: (([x, y],), {}),
    "dict": lambda x, y: (({"p": x, "q": y},), {}),
    "nest": lambda x, y: ((((x,), y),), {}),
    "keyword": lambda x, y: ((x,), {"q": y}),
    "positions": lambda x, y: ((x, y), {}),
}
OVERLAPS = {
    "one array": lambda kind: (lambda x: (x, x))(kind([1.0, 2.0, 3.0])),
    "its view": lambda kind: (lambda x: (x[:2], x[1:]))(kind([1.0, 2.0, 3.0])),
    "two views": lambda kind: (lambda x: (x, x[::-1]))(kind([1.0, 2.0, 3.0])),
    "inside another": lambda kind: (lambda x: (x[2:4], x[1:4]))(kind([1.0, 2.0, 3.0, 4.0])),
}
DERIVED = {
    "grad": dg.grad,
    "value_and_grad": dg.value_and_grad,
    "vjp": lambda f: lambda *args: dg.vjp(f, *args)[0],
    "jacrev": dg.jacrev,
    "jacfwd": dg.jacfwd,
    "hessian": dg.hessian,
    "jit": lambda f: dg.jit(dg.grad(f)),
    "GradOperation": lambda f: ops.GradOperation(get_all=True)(f),
    "vmap": dg.vmap,
}


def _entries(args):
    """The arrays in nests, in order."""
    if isinstance(args, dict):
        return _entries(list(args.values()))
    return [x for each in args for x in _entries(each)] if isinstance(args, tuple | list) else [args]


@pytest.mark.parametrize("transform", DERIVED)
@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("kind", [np.array, mnp.array], ids=["NumPy's", "array"])
def test_leaves_that_share_elements_are_read_and_not_written(kind, nesting, transform):
    """Wherever they stand in the arguments; the same leaves apart from each other give what NumPy gives."""
    if nesting == "keyword" and transform in ("vjp", "vmap", "GradOperation"):
        pytest.skip("takes no input by keyword")
    if kind is np.array and transform in ("vmap", "GradOperation"):
        pytest.skip("takes tensors only")

    def read(*args, **kwargs):
        first, second = _entries([*args, kwargs])
        return (first[0] * second).sum() ** 2

    def write(*args, **kwargs):
        first, second = _entries([*args, kwargs])
        second *= 2.0
        return read(first, second)

    call = DERIVED[transform]
    for sharing in OVERLAPS.values():
        x, y = sharing(kind) if transform != "vmap" else sharing(lambda x: kind(x)[:, None])
        if transform == "vmap" and len(x) != len(y):
            continue
        due = _leaves(call(read)(*NESTINGS[nesting](x.copy(), y.copy())[0], **NESTINGS[nesting](x.copy(), y.copy())[1]))
        args, kwargs = NESTINGS[nesting](x, y)
        for a, b in zip(_leaves(call(read)(*args, **kwargs)), due, strict=True):
            np.testing.assert_array_equal(a, b)
        with pytest.raises((RuntimeError, ValueError), match=r"shares elements with another input|read-only"):
            call(write)(*args, **kwargs)
        np.testing.assert_array_equal(np.asarray(x).ravel(), np.asarray(sharing(kind)[0]).ravel())


def _leaves(found):
    return [np.asarray(t) for t in _entries(found)]


BESIDE = {
    "integers": (lambda x, n: ((x, n), {}), lambda args, kwargs: args[1]),
    "keyword": (lambda x, n: ((x,), {"n": n}), lambda args, kwargs: kwargs["n"]),
    "in a tuple": (lambda x, n: ((x, (0, (n,))), {}), lambda args, kwargs: args[1][1][0]),
}


@pytest.mark.parametrize("transform", [name for name in DERIVED if name not in ("vjp", "vmap")])
@pytest.mark.parametrize("place", BESIDE)
@pytest.mark.parametrize("dtype", [int, bool, np.uint8, float, complex])
def test_a_constant_array_of_the_caller_is_not_written(dtype, place, transform):
    put, get = BESIDE[place]
    n = np.array([1, 0, 1], dtype)
    kept = n.copy()

    def write(*args, **kwargs):
        get(args, kwargs)[0] = 0
        return args[0].sum()

    args, kwargs = put(mnp.array([1.0, 2.0, 3.0]), n)
    with pytest.raises(ValueError, match="read-only"):
        DERIVED[transform](write)(*args, **kwargs)
    np.testing.assert_array_equal(n, kept)
    assert n.flags.writeable
    f = lambda *args, **kwargs: (args[0] * (get(args, kwargs).astype(float).sum())).sum() ** 2
    if dtype is not complex:
        DERIVED[transform](f)(*args, **kwargs)


def test_lists_and_dicts_of_constants_stay_the_callers():
    log = []

    def f(x, log):
        log.append(np.zeros(2))
        return x.sum()

    for n in (1, 2, 3):
        dg.grad(f)(np.ones(3), log)
        assert len(log) == n
