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
    kinds = [i for region in layout["regions"] for i in region["instructions"] if i["kind"] == "matmul"]
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
