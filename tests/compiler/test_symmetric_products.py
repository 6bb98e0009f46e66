"""Products that equal their transposes: half of them is computed, where the program says so, and the rest is copied.

Compared with products of longer numbers, within the bound of sums of k rounded products (Higham, Accuracy and Stability
of Numerical Algorithms, section 3.1). What is not finite is where eager execution has it.
"""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.programs import verify
from dualgrad.programs._listing import recording_of

pytestmark = pytest.mark.eager("records by itself")

LONGER = {np.float32: np.float64, np.float64: np.longdouble}
ROWS = 300


def scaled(x, d):
    """X^T D X, the columns of X being what all rows of X^T share."""
    return ops.matmul(x.T * d, x)


def scaled_twice(x, d):
    return ops.matmul(-(d * (x.T * d)), x)


def plain(x, d):
    return ops.matmul(x.T, x * 1)


def columns(x, d):
    """A part of the columns, in the middle: a square within the result."""
    return ops.matmul(x.T[13:131] * d, x)


def by_rows(x, d):
    """Every row has a number of its own: the result does not equal its transpose."""
    return ops.matmul(x.T * d[: x.shape[1]].reshape((-1, 1)), x)


def shifted(x, d):
    return ops.matmul(x.T + d, x)


def others(x, d):
    """The columns in reverse order, of the same array."""
    return ops.matmul(x.T[::-1] * d, x)


def arrays(dtype, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(ROWS, n)).astype(dtype), rng.uniform(0.5, 1.5, ROWS).astype(dtype)


def halves(form, args):
    """Of the products in a plan: how many columns equal rows, and the first of them."""
    layout = recording_of(form, tuple(args), {}).layout()
    kinds = [i for region in layout["regions"] for i in region["instructions"] if i["kind"].startswith("matmul")]
    return [i["half"] for i in kinds if i["half"][0]]


def recorded(form, args):
    fn = dg.jit(lambda x, d: form(x, d))
    return [fn(*args).asnumpy() for _ in range(3)][2]  # the first ones record


FORMS = {scaled: (160, 0), scaled_twice: (160, 0), columns: (118, 13), by_rows: None, shifted: None, others: None}


@pytest.mark.parametrize("form", FORMS)
def test_half_is_computed_where_the_program_says_that_it_is_enough(form):
    args = [Tensor(a) for a in arrays(np.float64, 160)]
    found = halves(form, args)
    assert found == ([FORMS[form]] if FORMS[form] and vectors() else [])


def vectors():
    """Whether this machine has loops of products of ours."""
    x, d = arrays(np.float64, 20)
    layout = recording_of(
        lambda x, d: ops.matmul((x * 2).T, x * d.reshape((-1, 1))), (Tensor(x), Tensor(d)), {}
    ).layout()
    return any(i["kind"] == "matmul_onto" for region in layout["regions"] for i in region["instructions"])


@pytest.mark.parametrize("n", [95, 96, 97, 145])
@pytest.mark.parametrize("form", [*FORMS, plain])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers(dtype, form, n):
    if form is columns and n < 131:
        n = 131
    x, d = arrays(dtype, n)
    args = Tensor(x), Tensor(d)
    if n == 97 and dtype is np.float64:
        verify(recording_of(form, args, {}).program)
    found = recorded(form, args)
    wide = LONGER[dtype]
    exact = {
        scaled: lambda x, d: (x.T * d) @ x,
        scaled_twice: lambda x, d: -(x.T * d * d) @ x,
        plain: lambda x, d: x.T @ x,
        columns: lambda x, d: (x.T[13:131] * d) @ x,
        by_rows: lambda x, d: (x.T * d[:n, None]) @ x,
        shifted: lambda x, d: (x.T + d) @ x,
        others: lambda x, d: (x.T[::-1] * d) @ x,
    }[form](x.astype(wide), d.astype(wide))
    bound = (ROWS + 6) * np.finfo(dtype).eps * (2 * (np.abs(x).T.astype(wide) + 1.5) @ np.abs(x).astype(wide))
    assert np.abs(found - exact).max() <= bound.max(), (np.abs(found - exact).max(), bound.max())
    if form in (scaled, scaled_twice, plain):
        assert np.allclose(found, found.T, rtol=1e3 * np.finfo(dtype).eps, atol=1e3 * np.finfo(dtype).eps)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [160, 161])
def test_what_is_copied_depends_on_places_alone(n, threads):
    """Not on threads and blocks. The result equals its transpose bit by bit."""
    args = [Tensor(a) for a in arrays(np.float64, n)]
    former = dg.get_num_threads()
    found = []
    try:
        for count in (1, threads):
            dg.set_num_threads(count)
            found.append(recorded(scaled, args))
    finally:
        dg.set_num_threads(former)
    assert (found[0] == found[1]).all()
    assert (found[0] == found[0].T).all() == vectors()


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("where", ["d", "x", "x and zeros", "d and zeros"])
@pytest.mark.parametrize("form", [scaled, scaled_twice, columns])
def test_what_is_not_finite_is_where_eager_execution_has_it(form, where, odd):
    x, d = arrays(np.float64, 160)
    if where.startswith("d"):
        d[17] = odd
    else:
        x[17, 40] = odd
    if where.endswith("zeros"):
        x[17, 3:30] = 0.0
        x[17, 90:150:3] = 0.0
    args = Tensor(x), Tensor(d)
    found, expected = recorded(form, args), form(*args).asnumpy()
    assert (np.isnan(found) == np.isnan(expected)).all()
    assert (np.isinf(found) == np.isinf(expected)).all()
    finite = np.isfinite(expected)
    assert np.allclose(found[finite], expected[finite], rtol=1e-10, atol=1e-10)


# ----------------------------------------------------------------------------------------- added up over long columns


def column(d):
    return d.reshape((-1, 1))


#: products that are added up over the rows -> whether the result equals its transpose
LONG = {
    "scaled": (lambda x, d: ops.matmul((x * column(d)).T, x), True),
    "scaled five times": (
        lambda x, d: ops.matmul((x * column(d) * column(d) * 0.5 * column(d) * column(d)).T, x),
        True,
    ),
    "scaled, of what is made": (lambda x, d: (lambda y: ops.matmul((y * column(d)).T, y))(ops.tanh(x)), True),
    "scaled, a part": (lambda x, d: ops.matmul((x[:, 2:] * column(d)).T, x[:, 2:]), True),
    "another part": (lambda x, d: ops.matmul((x[:, 2:] * column(d)).T, x[:, :-2]), False),
    "other rows": (lambda x, d: ops.matmul((x[2:] * column(d[2:])).T, x[:-2]), False),
    "columns backwards": (lambda x, d: ops.matmul((x * column(d)).T, x[:, ::-1]), False),
    "shifted": (lambda x, d: ops.matmul((x + column(d)).T, x), False),
    "both scaled": (lambda x, d: ops.matmul((x * column(d)).T, x * column(d)), False),
    "by columns": (lambda x, d: ops.matmul((x * d[: x.shape[1]]).T, x), False),
}


def long_arrays(dtype, n, rows=1500, seed=1):
    rng = np.random.default_rng([seed, n])
    return rng.normal(size=(rows, n)).astype(dtype), rng.uniform(0.5, 1.5, rows).astype(dtype)


@pytest.mark.parametrize("n", [16, 17, 23, 30, 33, 64])
@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_rows(dtype, name, n):
    """Half is computed where the program says that it is enough, and is right, as the other half is."""
    form, symmetric = LONG[name]
    x, d = long_arrays(dtype, n)
    args = Tensor(x), Tensor(d)
    verify(recording_of(form, args, {}).program)
    found = recorded(form, args)
    wide = LONGER[dtype]
    exact = form(Tensor(x.astype(np.float64)), Tensor(d.astype(np.float64))).asnumpy().astype(wide)
    y = np.abs(x.astype(wide)) + 1.5
    bound = (len(x) + 8) * np.finfo(dtype).eps * (np.max(y * d[:, None] ** 4, 0).max() * y.sum(0).max() + 1)
    assert np.abs(found - exact).max() <= bound
    width = n - 2 if "part" in name else n
    half = [(width, 0)] if symmetric and width >= 16 and vectors() else []
    chosen = halves(form, args)
    assert chosen == half or (width >= 64 and not chosen)  # wide ones may go by columns
    if chosen:
        assert (found == found.T).all()


@pytest.mark.parametrize("rows", [100, 300, 1500, 40_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_over_rows_in_blocks_and_threads(rows, threads):
    x, d = long_arrays(np.float64, 48, rows)
    form = LONG["scaled"][0]
    former = dg.get_num_threads()
    try:
        dg.set_num_threads(threads)
        found = recorded(form, (Tensor(x), Tensor(d)))
    finally:
        dg.set_num_threads(former)
    assert np.allclose(found, (x.T * d) @ x, rtol=1e-11, atol=1e-11 * rows)
    assert (found == found.T).all() == vectors()


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("where", ["d", "x", "x and zeros", "d and zeros"])
@pytest.mark.parametrize("name", [name for name in LONG if LONG[name][1]])
def test_sums_that_are_not_finite(name, where, odd):
    """They are where eager execution has them, on every thread: all is computed in a second run."""
    x, d = long_arrays(np.float64, 30, 40_000)
    if where.startswith("d"):
        d[17], d[-3] = odd, odd
    else:
        x[17, 4], x[-3, 20] = odd, odd
    if where.endswith("zeros"):
        x[[17, -3], 5:14] = 0.0
    args, form = (Tensor(x), Tensor(d)), LONG[name][0]
    found, expected = recorded(form, args), form(*args).asnumpy()
    assert (np.isnan(found) == np.isnan(expected)).all()
    assert (np.isinf(found) == np.isinf(expected)).all()
    finite = np.isfinite(expected)
    assert np.allclose(found[finite], expected[finite], rtol=1e-9, atol=1e-9 * len(x))
