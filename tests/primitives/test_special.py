"""Special functions beside what every row of the table is tested for: poles, tails, incomplete gamma functions."""

import exact_special
import mpmath
import numpy as np
import pytest
from support import assert_raises, f32, f64, repeated_grad

import dualgrad as dg
from dualgrad import Tensor, ops

mp = mpmath.mp
INF, NAN = np.inf, np.nan

# -------------------------------------------------------------------------------------------- poles and limits


@pytest.mark.parametrize(
    ("f", "at", "value", "slope"),
    [
        (ops.erfinv, [-1.0, 1.0, 1.5, NAN], [-INF, INF, NAN, NAN], [INF, INF, NAN, NAN]),
        (ops.erfcinv, [0.0, 2.0, -0.5, 1.0], [INF, -INF, NAN, 0.0], [-INF, -INF, NAN, -np.sqrt(np.pi) / 2]),
        (ops.lgamma, [0.0, -1.0, INF, 1.0], [INF, INF, INF, 0.0], [-INF, NAN, INF, -np.euler_gamma]),
        (ops.digamma, [0.0, -3.0, INF], [-INF, NAN, INF], [INF, INF, 0.0]),
        (lambda x: ops.polygamma(2, x), [0.0, INF, NAN], [-INF, 0.0, NAN], [INF, 0.0, NAN]),
        (lambda x: ops.polygamma(1.5, x), [2.0], [NAN], [NAN]),
        (lambda x: ops.zeta(3.0, x), [0.0, -2.0, INF], [INF, INF, 0.0], [-INF, -INF, 0.0]),
        (lambda x: ops.zeta(0.5, x), [2.0], [NAN], [-0.5 * 2.612375348685488 + 0.5]),
        (ops.bessel_j0, [0.0, INF], [1.0, 0.0], [0.0, 0.0]),
        (ops.bessel_y0, [0.0, -1.0], [-INF, NAN], [INF, NAN]),
        (ops.bessel_y1, [0.0, -1.0], [-INF, NAN], [INF, NAN]),
        (ops.bessel_k0, [0.0, -1.0, INF], [INF, NAN, 0.0], [-INF, NAN, 0.0]),
        (ops.bessel_k1, [0.0, 1e4], [INF, 0.0], [-INF, 0.0]),
        (ops.bessel_k0e, [0.0, INF], [INF, 0.0], [-INF, 0.0]),
        (ops.bessel_i0, [0.0, 800.0, -800.0], [1.0, INF, INF], [0.0, INF, -INF]),
        (ops.bessel_i0e, [0.0, INF], [1.0, 0.0], [0.0, 0.0]),
        (ops.bessel_i1e, [0.0, -INF], [0.0, 0.0], [0.5, 0.0]),
        (lambda x: ops.igamma(2.0, x), [0.0, INF, -1.0], [0.0, 1.0, NAN], [0.0, 0.0, NAN]),
        (lambda x: ops.igammac(0.5, x), [0.0, INF], [1.0, 0.0], [-INF, 0.0]),
        (lambda a: ops.igamma(a, 1.0), [0.0, -1.0], [NAN, NAN], [NAN, NAN]),
    ],
)
def test_poles_and_limits(f, at, value, slope):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(f(f64(at)).asnumpy(), value, rtol=1e-15)
        np.testing.assert_allclose(dg.grad(f)(f64(at)).asnumpy(), slope, rtol=1e-14)


def test_between_negative_poles():
    """Relative to the terms whose difference the value is there."""
    x = np.array([-0.5, -1.25, -2.75, -10.1, -1000.75])
    with mp.workdps(40):
        for order in (0, 1, 2, 5):
            for got, v in zip(ops.polygamma(order, f64(x)).asnumpy(), map(mpmath.mpf, x), strict=True):
                r = v - mp.floor(v)
                terms = (
                    mp.factorial(order) * (mp.zeta(order + 1, r) + mp.zeta(order + 1, 1 - r))
                    if order
                    else (abs(mp.digamma(1 - v)) + abs(mp.pi * mp.cot(mp.pi * v)))
                )
                assert abs(mpmath.mpf(float(got)) - mp.polygamma(order, v)) <= 1e-15 * terms, (order, v)


def test_derivatives_at_zero_of_functions_with_a_power_series():
    """I0, J0 and their neighbours: even derivatives (2m choose m) / 4^m, odd ones 0."""
    for order in range(9):
        m = order // 2
        central = 0.0 if order % 2 else np.prod([(2 * i - 1) / (2 * i) for i in range(1, m + 1)])
        assert repeated_grad(ops.bessel_i0, order)(f64(0.0)) == central
        assert repeated_grad(ops.i0, order)(f64(0.0)) == central
        assert repeated_grad(ops.bessel_j0, order)(f64(0.0)) == central * (-1) ** m


def test_incomplete_gamma_at_zero_has_the_derivatives_of_its_series():
    """P(1, x) = 1 - exp(-x), and P(3, x) = x^3/6 - x^4/8 + ..."""
    for a, derivatives in ((1.0, [0, 1, -1, 1, -1]), (3.0, [0, 0, 0, 1, -3])):
        for order, expected in enumerate(derivatives):
            assert repeated_grad(lambda x, a=a: ops.igamma(a, x), order)(f64(0.0)) == expected


# ----------------------------------------------------------------------------------------------- against mpmath

GRID = [
    (a, a * ratio)
    for a in (1e-6, 0.02, 0.5, 0.99, 1.0, 3.5, 7.99, 8.01, 60.0, 900.0, 1e5)
    for ratio in (1e-3, 0.4, 0.97, 1.0, 1.03, 2.5)
] + [(0.3, 1.0), (0.3, 0.31), (1e-3, 20.0), (2.0, 1e-300), (5.0, 200.0)]


def distribution(a, x, upper):
    """The tail of the gamma distribution on the given side, as mpmath has it."""
    return mp.gammainc(a, x, mp.inf, regularized=True) if upper else mp.gammainc(a, 0, x, regularized=True)


def derivative_by_a(a, x, order):
    """Central differences of the smaller tail, so that nothing is lost next to 1."""
    upper = x > a
    with mp.workdps(60 + 30 * order):
        a, x = mpmath.mpf(a), mpmath.mpf(x)
        h = a * mpmath.mpf(10) ** -20
        values = [distribution(a + (mpmath.mpf(order) / 2 - j) * h, x, upper) for j in range(order + 1)]
        total = sum((-1) ** j * mp.binomial(order, j) * v for j, v in enumerate(values)) / h**order
        return -total if upper else total


@pytest.mark.parametrize("upper", [False, True])
def test_incomplete_gamma_functions(upper):
    """Relative to what the rounding of exponents a log x - x does: x^a exp(-x) is in every formula."""
    f = ops.igammac if upper else ops.igamma
    shapes, limits = np.array(GRID).T
    for got, (a, x) in zip(f(f64(shapes), f64(limits)).asnumpy(), GRID, strict=True):
        with mp.workdps(60):
            exact = distribution(mpmath.mpf(a), mpmath.mpf(x), upper)
            exponent = abs(a * mp.log(mpmath.mpf(x) / a) - x + a)
            assert abs(got - exact) <= mpmath.mpf(2) ** -52 * (8 + exponent) * exact + 1e-300, (a, x)


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_incomplete_gamma_functions_by_a(order, every):
    """Relative to the largest derivative of that order at nearby x, which is where zeros are."""
    grid = GRID[order % every :: every]
    shapes, limits = np.array(grid).T
    found = repeated_grad(lambda a: ops.igamma(a, f64(limits)), order)(f64(shapes)).asnumpy()
    other = repeated_grad(lambda a: ops.igammac(a, f64(limits)), order)(f64(shapes)).asnumpy()
    np.testing.assert_array_equal(found, -other)
    for got, (a, x) in zip(found, grid, strict=True):
        exact = derivative_by_a(a, x, order)
        if abs(exact) < 1e-290:
            continue
        with mp.workdps(30):
            around = max(abs(derivative_by_a(a, x * (1 + s / (1 + mp.sqrt(a))), order)) for s in (-0.9, 1))
            exponent = abs(a * mp.log(mpmath.mpf(x) / a) - x + a)
            assert abs(got - exact) <= mpmath.mpf(2) ** -52 * (16 + exponent) * (abs(exact) + around), (a, x)


def test_incomplete_gamma_functions_in_both_operands():
    """The mixed derivative is that of the density: f (log x - digamma(a))."""
    a, x = f64([0.4, 2.0, 30.0]), f64([0.7, 5.0, 25.0])
    mixed = dg.grad(dg.grad(ops.igamma, 1), 0)(a, x)
    density = dg.grad(ops.igamma, 1)(a, x)
    np.testing.assert_allclose(mixed.asnumpy(), (density * (ops.log(x) - ops.digamma(a))).asnumpy(), rtol=1e-14)


def largest_error(values, truth):
    """In units of the last place."""
    return max(
        float(abs(mpmath.mpf(float(v)) - e)) / np.spacing(abs(float(e))) for v, e in zip(values, truth, strict=True)
    )


def test_the_values_are_no_further_off_than_those_of_scipy():
    """Or right to 4 units of the last place: the largest error at points near zeros and in tails."""
    scipy = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(1)
    table = [
        (ops.erfinv, scipy.erfinv, exact_special.erfinv, 1 - 10.0 ** rng.uniform(-15, -0.1, 40)),
        (ops.lgamma, scipy.gammaln, mp.loggamma, rng.uniform(0.9, 2.1, 40)),
        (ops.digamma, scipy.digamma, mp.digamma, rng.uniform(-0.6, -0.4, 40)),
        (lambda x: ops.polygamma(3, x), lambda x: scipy.polygamma(3, x), lambda x: mp.polygamma(3, x),
         rng.uniform(0.1, 60.0, 40)),
        (ops.bessel_j0, scipy.j0, lambda x: mp.besselj(0, x), np.array([2.4, 2.405, 5.52, 8.65, 11.79, 1e6, 1e8])),
        (ops.bessel_i0, scipy.i0, lambda x: mp.besseli(0, x), rng.uniform(0.0, 300.0, 40)),
        (ops.bessel_k1, scipy.k1, lambda x: mp.besselk(1, x), 10.0 ** rng.uniform(-3, 2.5, 40)),
        (lambda x: ops.igamma(8.1, x), lambda x: scipy.gammainc(8.1, x),
         lambda x: mp.gammainc(mpmath.mpf(8.1), 0, x, regularized=True), rng.uniform(0.1, 8.0, 40)),
    ]  # fmt: skip
    with mp.workdps(40):
        for f, other, exact, x in table:
            truth = [exact(mpmath.mpf(v)) for v in x]
            ours, theirs = (largest_error(values, truth) for values in (f(f64(x)).asnumpy(), other(x)))
            assert ours <= max(theirs, 4)


# ------------------------------------------------------------------------------------ operands without a slope


def test_a_derivative_without_a_formula_is_refused_in_every_mode():
    x, n = f64([0.5, 2.0]), f64(2.0)
    for f in (ops.polygamma, ops.zeta, ops.bessel_j, ops.bessel_y, ops.bessel_i, ops.bessel_k):
        by_order = lambda n, f=f: f(n, x)
        for ask in (
            lambda by_order=by_order: dg.grad(by_order)(n),
            lambda by_order=by_order: dg.jvp(by_order, n, ops.ones_like(n)),
            lambda by_order=by_order: dg.grad(dg.grad(by_order))(n),
            lambda f=f: dg.grad(f, (0, 1))(n, x),
        ):
            assert_raises(NotImplementedError, ask, f.__name__, "derivative", "operand 1", "stop_gradient")
        held = lambda n, f=f: f(ops.stop_gradient(n), x * n)
        np.testing.assert_allclose(
            dg.grad(held)(n).asnumpy(), (dg.grad(f, 1)(n, x * n) * x).sum().asnumpy(), rtol=1e-15
        )


def test_orders_may_be_numbers_and_integers():
    x = f64([0.5, 2.0])
    for f in (ops.polygamma, ops.bessel_j, ops.bessel_y, ops.bessel_i, ops.bessel_k):
        by_float = f(f64(3.0), x).asnumpy()
        for order in (3, 3.0, Tensor(np.array(3)), np.array([3, 3])):
            np.testing.assert_array_equal(f(order, x).asnumpy(), by_float)
    assert ops.polygamma(Tensor(np.array(1)), f32([1.0])).dtype == dg.float32
    assert_raises(ValueError, lambda: ops.mvlgamma(x, 0), "mvlgamma", "at least 1")
    assert_raises(TypeError, lambda: ops.mvlgamma(x, 1.5), "mvlgamma", "int")


def test_narrow_types_are_rounded_once():
    """float32 results come from double kernels."""
    x = np.linspace(0.1, 30.0, 50).astype(np.float32)
    for f in (ops.digamma, ops.bessel_j0, ops.bessel_i0e, ops.bessel_k1, lambda x: ops.igamma(2.0, x)):
        np.testing.assert_array_equal(f(f32(x)).asnumpy(), f(f64(x)).asnumpy().astype(np.float32))


# ------------------------------------------------------------------------------------------------ the reference


@pytest.mark.parametrize("name", sorted(exact_special.DERIVATIVES))
def test_the_reference_agrees_with_mpmath(name):
    """Closed forms of derivatives against differences of mpmath's own functions."""
    families = {"j": mp.besselj, "y": mp.bessely, "i": mp.besseli, "k": mp.besselk}
    plain = {
        "erfinv": mp.erfinv,
        "erfcinv": lambda x: mp.erfinv(1 - x),
        "erfinv_slope": lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(mp.erfinv(x) ** 2),
        "erfcinv_slope": lambda x: -mp.sqrt(mp.pi) / 2 * mp.exp(mp.erfinv(1 - x) ** 2),
        "lgamma": mp.loggamma,
        "digamma": mp.digamma,
        "polygamma": lambda x: mp.polygamma(2, x),
        "zeta": lambda x: mp.zeta(2, x),
    }
    if name in plain:
        f = plain[name]
    else:
        family, order = families[name[7]], int(name[8]) if len(name) > 8 else 2
        sign = {"i": -1, "k": 1}.get(name[7], 0) if name.endswith("e") else 0
        f = lambda x: family(order, x) * mp.exp(sign * x)
    with mp.workprec(100):
        x = mpmath.mpf(0.7)
        operands = (mpmath.mpf(2), x) if name in ("polygamma", "zeta") or name[-2] == "_" else (x,)
        for k in (0, 1, 2):
            exact = exact_special.DERIVATIVES[name](k, *operands)
            assert abs(exact - mp.diff(f, x, k)) <= mpmath.mpf(10) ** -24 * abs(exact)
