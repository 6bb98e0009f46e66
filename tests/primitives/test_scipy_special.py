"""The functions of `dualgrad.scipy.special`, each from its row: against mpmath, and every way of differentiating it.

What a row says is measured: its value and derivatives where they are known exactly (`special_accuracy.py`), the
agreement of all ways at the same points, the refusal of what has no formula, and the types of its results.
"""

import numpy as np
import pytest
from support import assert_raises, f32, f64

import dualgrad as dg
from dualgrad import ops
from dualgrad._table import BY_NAME, UNDEFINED
from dualgrad._table.partials import check_partial
from dualgrad.extend import rows
from dualgrad.testing import check

sp = pytest.importorskip("scipy.special")

from special_accuracy import MEASURED, NAMES, measure, operands  # noqa: E402

from dualgrad.scipy import special  # noqa: E402

pytestmark = pytest.mark.eager("looks at primitives and the ways of differentiating them, recorded ones among them")

PUBLIC = [entry for entry in special.ENTRIES if entry.row.function]
PUBLIC_NAMES = [entry.row.name for entry in PUBLIC]

#: Their exact values take long; all but one of a kind are measured with the exhaustive product.
SLOW = {"betaincinv", "betainccinv", "gammaincinv", "gammainccinv", "betaincc", "jacobi_amplitude", "ellipeinc"}


def quick(entries):
    return [
        pytest.param(entry, id=entry.row.name, marks=[pytest.mark.exhaustive] * (entry.row.name in SLOW))
        for entry in entries
    ]


@pytest.mark.parametrize("entry", quick(MEASURED))
def test_values_and_derivatives_are_right(entry):
    _, failures = measure(entry, 1, 1 if entry.row.arity == 3 else 2)
    assert not failures, "\n".join(failures)


@pytest.mark.exhaustive
@pytest.mark.parametrize("entry", MEASURED, ids=NAMES)
def test_values_and_derivatives_are_right_at_many_points(entry):
    _, failures = measure(entry, 12 if entry.row.name in SLOW else 60, 3 if entry.row.arity == 3 else 4)
    assert not failures, "\n".join(failures[:20])


def agreement(entry, order):
    """Every way of differentiating the function agrees, by all operands that have a formula."""
    points = np.array(operands(entry, 3)[:3]).T
    free = entry.row.differentiable
    f = getattr(special, entry.row.function)

    def moved(*xs):
        given = iter(xs)
        return f(*[next(given) if i in free else points[i] for i in range(len(points))])

    return check(moved, [points[i] for i in free], order=order, smooth=False, rtol=1e-8, narrow=False)


@pytest.mark.parametrize("entry", quick(PUBLIC))
def test_every_way_of_differentiating_agrees(entry):
    agreement(entry, 1 if entry.row.arity == 3 else 2)


@pytest.mark.exhaustive
@pytest.mark.parametrize("entry", PUBLIC, ids=PUBLIC_NAMES)
def test_every_way_of_differentiating_agrees_at_higher_orders(entry):
    agreement(entry, 4)


def test_slopes_are_written_with_functions_that_exist():
    arities = {row.name: row.arity for row in rows() if row.partials} | {"where": 3}
    arities |= {entry.row.name: entry.row.arity for entry in special.ENTRIES}
    for entry in special.ENTRIES:
        row = entry.row
        assert row.name not in BY_NAME, f"{row.name} is built in"
        for partial in row.partials:
            if partial not in (None, UNDEFINED):
                check_partial(row.name, partial, "xyz"[: row.arity], arities)


def refusals(entry):
    """A derivative by an operand without a formula, asked for in several modes."""
    xs = [f64([x]) for x in operands(entry, 1)[0]]
    f = getattr(special, entry.row.function)
    for i in set(range(entry.row.arity)) - set(entry.row.differentiable):

        def along(x, i=i):
            return f(*xs[:i], x, *xs[i + 1 :])

        yield i, lambda x=xs[i], along=along: dg.grad(along)(x)
        yield i, lambda x=xs[i], along=along: dg.jvp(along, x, ops.ones_like(x))
        yield i, lambda x=xs[i], along=along: dg.jit(dg.grad(along))(x)
        yield i, lambda x=xs[i], along=along: ops.derivative(along, x, 2)


def test_a_derivative_without_a_formula_is_refused():
    for entry in PUBLIC:
        for i, ask in refusals(entry):
            assert_raises(NotImplementedError, ask, entry.row.name, "derivative", f"operand {i + 1}", "stop_gradient")


def test_orders_by_parameters_end_with_an_error():
    f, a = lambda a: special.betainc(a, 2.0, f64(0.5)), f64(1.5)
    assert np.isfinite(float(ops.derivative(f, a, 6)[-1]))
    assert_raises(NotImplementedError, lambda: ops.derivative(f, a, 7), "betainc_by_6_0")


@pytest.mark.parametrize("entry", PUBLIC, ids=PUBLIC_NAMES)
def test_values_are_those_of_scipy_in_both_types(entry):
    points = list(np.array(operands(entry, 5)).T)
    f, theirs = getattr(special, entry.row.function), getattr(sp, entry.row.function)
    whole = entry.row.name in ("expn", "eval_hermite", "eval_hermitenorm")  # SciPy wants integers there
    scipys = theirs(*([points[0].astype(int), points[1]] if whole else points))
    np.testing.assert_allclose(f(*map(f64, points)).asnumpy(), scipys, rtol=1e-14)
    assert f(*map(f32, points)).dtype == dg.float32
    with np.errstate(over="ignore"):
        assert f(*[dg.Tensor(p, dg.float16) for p in points]).dtype == dg.float16


def test_operands_are_numbers_arrays_and_tensors_of_real_numbers():
    assert special.gamma(dg.Tensor([3, 4])).dtype == dg.float32
    np.testing.assert_allclose(special.jv(2, np.array([1.5])).asnumpy(), sp.jv(2, np.array([1.5])), rtol=1e-15)
    assert_raises(TypeError, lambda: special.gamma(np.array([1j])), "gamma", "complex", "real")
    assert_raises(TypeError, lambda: special.jv("a", 1.0), "jv", "str")
    assert_raises(ValueError, lambda: special.beta(f64([1.0, 2.0]), f64([1.0, 2.0, 3.0])), "beta", "broadcast")


def test_large_arrays_are_computed_in_pieces():
    x = np.linspace(0.1, 20.0, 9001)
    np.testing.assert_array_equal(special.ndtr(f64(x)).asnumpy(), sp.ndtr(x))
    slopes = dg.grad(special.dawsn)(f64(x)).asnumpy()
    np.testing.assert_array_equal(slopes[-5:], dg.grad(special.dawsn)(f64(x[-5:])).asnumpy())


# ---------------------------------------------------------------------------------------------- edges


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("f", "at", "value", "slope"),
    [
        (special.gamma, [0.0, INF, NAN], [INF, INF, NAN], [-INF, INF, NAN]),
        (special.rgamma, [0.0, -1.0, -2.0], [0.0, 0.0, 0.0], [1.0, -1.0, 2.0]),
        (special.loggamma, [-0.5, 1.0], [NAN, 0.0], [NAN, -np.euler_gamma]),
        (special.ndtri, [0.0, 1.0, 0.5, 1.5], [-INF, INF, 0.0, NAN], [INF, INF, np.sqrt(2 * np.pi), NAN]),
        (special.log_ndtr, [INF, -INF], [0.0, -INF], [0.0, INF]),
        (special.erfcx, [INF, -INF], [0.0, INF], [0.0, -INF]),
        (special.dawsn, [0.0, INF, -INF], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        (special.spence, [0.0, 1.0, -1.0], [np.pi**2 / 6, 0.0, NAN], [-INF, -1.0, NAN]),
        (special.exprel, [0.0, -INF], [1.0, 0.0], [0.5, 0.0]),
        (special.entr, [0.0, -1.0], [0.0, -INF], [INF, NAN]),
        (special.ellipk, [0.0, 1.0, 1.5], [np.pi / 2, INF, NAN], [np.pi / 8, INF, NAN]),
        (special.ellipe, [0.0, 1.0], [np.pi / 2, 1.0], [-np.pi / 8, -INF]),
        (lambda x: special.betainc(2.0, 3.0, x), [0.0, 1.0, -0.5], [0.0, 1.0, NAN], [0.0, 0.0, NAN]),
        (lambda a: special.betainc(a, 3.0, 0.5), [-1.0], [NAN], [NAN]),
        (lambda x: special.spherical_jn(1, x), [0.0], [0.0], [1 / 3]),
        (lambda x: special.sph_legendre_p(1, 1, x), [0.0], [0.0], [-np.sqrt(3 / (8 * np.pi))]),
        (special.lambertw, [0.0, -0.5], [0.0, NAN], [1.0, NAN]),
    ],
)
def test_poles_and_limits(f, at, value, slope):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(f(f64(at)).asnumpy(), value, rtol=1e-14, atol=1e-16)
        np.testing.assert_allclose(dg.grad(f)(f64(at)).asnumpy(), slope, rtol=1e-13, atol=1e-16)
