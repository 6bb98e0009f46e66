"""The functions of `dualgrad.scipy.special`, each from its row: against mpmath, and every way of differentiating it.

What a row says is measured: its value and derivatives where they are known exactly (`special_accuracy.py`), the
agreement of all ways at the same points, the refusal of what has no formula, and the types of its results.
"""

import itertools

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
SLOW = {"betaincinv", "betainccinv", "gammaincinv", "gammainccinv", "betaincc", "jacobi_amplitude", "ellipeinc",
        "owens_t", "stdtr", "stdtrit"}  # fmt: skip


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
    """Every way of differentiating the function agrees, by all operands that have a formula.

    The check multiplies values with each other, so they are no larger than what has a fifth power.
    """
    points = np.array([point for point in operands(entry, 12) if abs(entry.kernel(*point)) < 1e50][:3]).T
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
    own = entry.row.name == "betaln"  # SciPy's own loses digits of large operands
    np.testing.assert_allclose(f(*map(f64, points)).asnumpy(), scipys, rtol=1e-10 if own else 1e-14)
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
    # BLAS adds the nodes in an order that depends on how many elements there are.
    np.testing.assert_allclose(slopes[-5:], dg.grad(special.dawsn)(f64(x[-5:])).asnumpy(), rtol=1e-14)


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


# ----------------------------------------------------------------------- functions composed of several rows

POINT = np.array([0.4, 1.3, 2.2])
BELOW_ONE = np.array([0.2, 0.5, 0.7])
PARAMETER = np.array([0.3, 0.6, 0.9])


def parts(z):
    return ops.real(z), ops.imag(z)


COMPOSED = {
    "sici": (special.sici, (POINT,)),
    "shichi": (special.shichi, (POINT,)),
    "fresnel": (special.fresnel, (POINT,)),
    "airy": (special.airy, (np.array([-3.0, 0.0, 2.0]),)),
    "ellipj": (special.ellipj, (POINT, PARAMETER)),
    "lambertw": (special.lambertw, (POINT,)),
    "hankel1": (lambda x: parts(special.hankel1(1.5, x)), (POINT,)),
    "hankel2": (lambda x: parts(special.hankel2(1.5, x)), (POINT,)),
    "wofz": (lambda x, y: parts(special.wofz(ops.complex(x, y - 0.5))), (POINT, PARAMETER)),
    "spherical_jn": (lambda x: special.spherical_jn(2, x), (POINT,)),
    "spherical_yn": (lambda x: special.spherical_yn(2, x), (POINT,)),
    "spherical_in": (lambda x: special.spherical_in(2, x), (POINT,)),
    "spherical_kn": (lambda x: special.spherical_kn(2, x), (POINT,)),
    "sph_legendre_p": (lambda x: special.sph_legendre_p(3, -2, x), (POINT,)),
    "sph_harm_y": (lambda x, y: parts(special.sph_harm_y(3, 1, x, y)), (POINT, PARAMETER)),
    "zeta": (lambda x: special.zeta(2.5, x), (POINT,)),
    "comb": (lambda x, y: special.comb(x + 2, y), (POINT, PARAMETER)),
    "multigammaln": (lambda x: special.multigammaln(x, 2), (POINT + 1,)),
    "logit": (special.logit, (BELOW_ONE,)),
    "logsumexp": (special.logsumexp, (POINT,)),
    "softmax": (special.softmax, (POINT,)),
    "log_softmax": (special.log_softmax, (POINT,)),
}
#: Looked at by itself, and no function of tensors.
APART = {"hyp2f1", "bernoulli"}


def test_every_composed_function_has_a_case():
    of_rows = {entry.row.function for entry in PUBLIC} | set(special._OF_OPS) | set(special._SECOND_NAMES)
    assert set(special.__all__) - of_rows == COMPOSED.keys() | APART


@pytest.mark.parametrize("name", COMPOSED)
def test_every_way_of_differentiating_a_composed_function_agrees(name):
    f, args = COMPOSED[name]
    check(f, args, order=2, rtol=1e-10, batched=name not in ("softmax", "log_softmax", "logsumexp"))


def test_the_faddeeva_function_in_the_whole_plane():
    """By w' = 2i / sqrt(pi) - 2 z w, which cancels little for numbers of this size."""
    z = np.array([3 * np.exp(1j * angle) for angle in np.linspace(0, 2 * np.pi, 25)] + [0.0, 0.1, -0.1j])
    w = sp.wofz(z)
    slope = 2j / np.sqrt(np.pi) - 2 * z * w
    second = -2 * w - 2 * z * slope
    x, y = f64(z.real), f64(z.imag)
    for part in (ops.real, ops.imag):
        numbers = np.real if part is ops.real else np.imag
        f = lambda x, y, part=part: part(special.wofz(ops.complex(x, y)))
        np.testing.assert_allclose(f(x, y).asnumpy(), numbers(w), rtol=1e-15)
        scale = abs(slope) + abs(z * second) + abs(z * w)
        assert (abs(dg.grad(f)(x, y).asnumpy() - numbers(slope)) < 1e-14 * scale).all()
        error = abs(dg.grad(dg.grad(f))(x, y).asnumpy() - numbers(second))
        assert (error < 1e-13 * (abs(second) + abs(z) * scale + scale)).all()


def test_orders_that_cancel_for_small_parameters_are_refused():
    """I_x(a, 1) is x**a."""
    f = lambda a: special.betainc(a, 1.0, f64(0.3))
    for a, order in itertools.product((1e-6, 1e-3, 0.5), (1, 2)):
        found = float(ops.derivative(f, f64(a), order)[-1])
        np.testing.assert_allclose(found, np.log(0.3) ** order * 0.3**a, rtol=1e-14 if order == 1 else 1e-15 / a)
    assert_raises(NotImplementedError, lambda: ops.derivative(f, f64(1e-6), 3), "betainc", "1e-06", "expected")


def flat(results):
    return list(results) if isinstance(results, tuple) else [results]


@pytest.mark.parametrize("name", ["sici", "shichi", "fresnel", "airy", "ellipj", "lambertw", "logsumexp", "softmax"])
def test_values_of_composed_functions_are_those_of_scipy(name):
    f, args = COMPOSED[name]
    theirs = getattr(sp, name)(*args)
    for ours, scipys in zip(flat(f(*map(f64, args))), flat(theirs), strict=True):
        np.testing.assert_allclose(ours.asnumpy(), np.real(scipys), rtol=1e-13, atol=1e-15)


def test_functions_of_orders_take_them_as_scipy_does():
    x, n = f64(POINT), np.array([0, 1, 4])
    for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"):
        ours, theirs = getattr(special, name), getattr(sp, name)
        np.testing.assert_allclose(ours(n, x).asnumpy(), theirs(n, POINT), rtol=1e-13)
        np.testing.assert_allclose(ours(n, x, True).asnumpy(), theirs(n, POINT, True), rtol=1e-12)
    harmonic = special.sph_harm_y(4, n - 1, x, 0.3).asnumpy()
    np.testing.assert_allclose(harmonic, sp.sph_harm_y(4, n - 1, POINT, 0.3), rtol=1e-13)
    np.testing.assert_allclose(special.hyp2f1(0.5, n + 1.0, 2.5, 0.5 * x / 3).asnumpy(),
                               sp.hyp2f1(0.5, n + 1.0, 2.5, POINT / 6), rtol=1e-14)  # fmt: skip


def test_the_hypergeometric_function_of_complex_numbers():
    """By both parts, each against the function with raised parameters times a power of i."""
    z = np.array([0.3 + 0.4j, -1.2 + 0.5j, 0.9 - 0.8j, 2.5 + 0.1j])
    x, y = f64(z.real), f64(z.imag)
    f = lambda x, y: special.hyp2f1(0.5, 1.25, 2.0, ops.complex(x, y))
    slope = 0.5 * 1.25 / 2 * sp.hyp2f1(1.5, 2.25, 3.0, z)
    second = 0.5 * 1.25 / 2 * 1.5 * 2.25 / 3 * sp.hyp2f1(2.5, 3.25, 4.0, z)
    np.testing.assert_array_equal(f(x, y).asnumpy(), sp.hyp2f1(0.5, 1.25, 2.0, z))
    for part, numbers in ((ops.real, np.real), (ops.imag, np.imag)):
        g = lambda x, y, part=part: part(f(x, y))
        for k, turn in enumerate((1, 1j)):
            first = dg.grad(g, k)
            for way in (first, dg.jit(first), dg.vmap(first)):
                np.testing.assert_allclose(way(x, y).asnumpy(), numbers(turn * slope), rtol=1e-14)
            np.testing.assert_allclose(dg.grad(first, k)(x, y).asnumpy(), numbers(turn**2 * second), rtol=1e-13)
    assert special.hyp2f1(0.5, 1.25, 2.0, dg.Tensor(z.astype(np.complex64))).dtype is dg.complex64


def test_the_hypergeometric_function_of_four_operands():
    """By nested gradients of each kind against the shifted function; jets are refused."""
    x = f64(BELOW_ONE)
    f = lambda z: special.hyp2f1(0.5, 1.25, 2.0, z)
    ways = {
        "reverse": lambda g: lambda z: dg.grad(g)(z),
        "forward": lambda g: lambda z: dg.jvp(g, z, ops.ones_like(z))[1],
        "recorded": lambda g: dg.jit(dg.grad(g)),
        "batched": lambda g: dg.vmap(dg.grad(g)),
    }
    factor = 1.0
    for order in range(1, 4):
        factor *= (0.5 + order - 1) * (1.25 + order - 1) / (2.0 + order - 1)
        exact = factor * sp.hyp2f1(0.5 + order, 1.25 + order, 2.0 + order, BELOW_ONE)
        for first, second in itertools.product(ways, ways):
            if "batched" in (first, second) and order > 1:
                continue
            g = f
            for k in range(order):
                g = ways[first if k else second](g)
            np.testing.assert_allclose(g(x).asnumpy(), exact, rtol=1e-13, err_msg=f"{first} {second} {order}")
    assert_raises(NotImplementedError, lambda: ops.derivative(f, x, 3), "hyp2f1", "Taylor", "nest")


def test_weights_of_sums_of_exponentials():
    a, b = np.array([[1.0, 800.0, 2.0], [0.0, -3.0, 1.0]]), np.array([[1.0, 0.0, -3.0], [2.0, 1.0, 0.5]])
    for axis in (None, 0, 1):
        ours, signs = special.logsumexp(f64(a), axis, f64(b), return_sign=True)
        theirs, scipys = sp.logsumexp(a, axis, b, return_sign=True)
        np.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-14)
        np.testing.assert_array_equal(signs.asnumpy(), scipys)
    weighted = dg.grad(lambda b: special.logsumexp(f64(a[1]), b=b))(f64(b[1])).asnumpy()
    np.testing.assert_allclose(weighted, np.exp(a[1]) / (b[1] * np.exp(a[1])).sum(), rtol=1e-14)


def test_what_composed_functions_refuse():
    x = f64([0.5])
    assert_raises(ValueError, lambda: special.lambertw(x, 1), "lambertw", "0 or -1")
    by = lambda i: dg.grad(special.hyp2f1, i)(f64(0.5), f64(1.25), f64(2.0), x)
    assert np.isfinite(by(3).asnumpy()).all()
    for i in range(3):
        assert_raises(NotImplementedError, lambda i=i: by(i), "hyp2f1", "parameter", "stop_gradient")
    assert_raises(NotImplementedError, lambda: dg.grad(special.spherical_jn)(f64([1.0]), x), "operand 1")
    assert_raises(NotImplementedError, lambda: dg.grad(special.zeta)(f64([2.0])), "operand 1")
