"""Complex numbers: values as NumPy's, gradients df/dx - i df/dy, every analytic row to order 4, and what is refused.

The calculus of the composed functions (abs, angle ...) at all orders is tested by cases (tests/cases/complex.py).
"""

import math
import warnings

import numpy as np
import pytest
from engine import OPCODES, apply, jets, run_forward

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad._table import REAL_ONLY, ROWS

NARROW = {np.complex64: np.float32, np.complex128: np.float64}
# Every quadrant, and the imaginary axis; apart from cuts and poles.
POINTS = np.array([0.6 + 0.3j, -0.4 + 1.2j, -0.7 - 0.5j, 1.3 - 0.8j, 0.5 + 0.1j, 0.0 + 0.4j])
OTHERS = np.array([1.5 - 0.4j, 0.3 + 0.9j, 2.0 + 0.0j, -0.6 + 0.2j, 0.8 + 1.1j, 1.0 - 2.0j])


def t(z):
    return Tensor(np.asarray(z))


def primitive(row):
    return lambda *operands: apply(OPCODES[row.name], None, *operands)


def takes_complex(row):
    try:
        primitive(row)(*[t(POINTS)] * row.arity)
    except TypeError:
        return False
    return True


ELEMENTWISE = [row for row in ROWS if row.partials]
ANALYTIC = [row for row in ELEMENTWISE if row.family == "elementwise" and takes_complex(row)]


def close(found, expected, rtol=1e-12):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found.asnumpy() if isinstance(found, Tensor) else found, expected, rtol, rtol * scale)


# ---------------------------------------------------------------------------------------------------- the rows


def test_the_rows_with_a_complex_form():
    expected = """add sub mul div absorb_mul neg square reciprocal sqrt rsqrt pow exp expm1 exp2 log log1p log2 log10
        sigmoid sin cos tan sinh cosh tanh sech2 asin acos atan asinh acosh atanh xlogy xdivy"""
    assert {row.name for row in ANALYTIC} >= set(expected.split())
    assert not {row.name for row in ANALYTIC} & REAL_ONLY


@pytest.mark.parametrize("row", ANALYTIC, ids=lambda row: row.name)
def test_the_gradient_of_an_analytic_row_is_its_complex_derivative(row):
    """The same in both directions, by differences; then orders 2 to 4 by engines that share no code."""
    f, operands = primitive(row), [t(POINTS), t(OTHERS)][: row.arity]
    for i in range(row.arity):

        def along(z, i=i):
            return f(*operands[:i], z, *operands[i + 1 :])

        z = operands[i].asnumpy()
        slope = dg.grad(along)(t(z)).asnumpy()
        for h in (1e-6, 1e-6j):
            close((along(t(z + h)).asnumpy() - along(t(z - h)).asnumpy()) / (2 * h), slope, 1e-7)
        reverse = forward = along
        jet = run_forward("jet", jets(4), along, [[t(z), ops.ones_like(t(z)), None, None, None]])
        for order in range(1, 5):
            reverse = dg.grad(reverse)
            forward = lambda z, g=forward: dg.jvp(g, z, ops.ones_like(z))[1]
            expected = reverse(t(z)).asnumpy()
            close(forward(t(z)), expected)
            top = np.zeros_like(z) if jet[order] is None else jet[order].asnumpy() * math.factorial(order)
            close(top, expected, 1e-11)


@pytest.mark.parametrize("row", ANALYTIC, ids=lambda row: row.name)
def test_complex64_stays_complex64_and_agrees_with_complex128(row):
    f, points = primitive(row), [POINTS.astype(np.complex64), OTHERS.astype(np.complex64)][: row.arity]
    narrow, wide = [t(p) for p in points], [t(p.astype(np.complex128)) for p in points]
    for g in (f, dg.grad(f), dg.grad(dg.grad(f))):
        assert g(*narrow).dtype == dg.complex64
        close(g(*narrow), g(*wide).asnumpy(), 2e-5)


@pytest.mark.parametrize("row", ANALYTIC, ids=lambda row: row.name)
def test_a_real_operand_in_complex_type_gives_the_real_result(row):
    rng = np.random.default_rng(3)
    points = []
    for low, high in row.domain:
        low, high = max(low, -3.0), min(high, 3.0)
        points.append(low + (high - low) * rng.uniform(0.1, 0.9, 5))
    for g in (primitive(row), dg.grad(primitive(row))):
        real = g(*[t(p) for p in points]).asnumpy()
        close(g(*[t(p.astype(complex)) for p in points]), real.astype(complex))


REFUSED = [row for row in ELEMENTWISE if not takes_complex(row)]


def test_what_has_no_complex_form_is_refused():
    names = {row.name for row in REFUSED}
    assert names >= {"abs", "sign", "maximum", "minimum", "gt", "le", "floor", "round", "relu", "atan2", "mod", "step"}
    z = t(POINTS)
    for row in REFUSED:
        with pytest.raises(TypeError, match=f"{row.name}: complex numbers"):
            primitive(row)(*[z] * row.arity)


@pytest.mark.parametrize(
    "call",
    [
        lambda z: z < 1, lambda z: z >= z, lambda z: ops.maximum(z, 1.0), lambda z: ops.relu(z), lambda z: z // 2,
        lambda z: z % 2, lambda z: ops.max(z), lambda z: z.min(), lambda z: ops.argmax(z), lambda z: ops.amax(z, 0),
        lambda z: ops.floor(z), lambda z: ops.erf(z), lambda z: ops.clamp(z, 0, 1), lambda z: ops.softmax(z),
        lambda z: ops.atan2(z, 1.0), lambda z: ops.hypot(z, 1.0),
    ],
)  # fmt: skip
def test_public_functions_without_a_complex_form_raise(call):
    with pytest.raises(TypeError, match="complex"):
        call(t(POINTS))


# ------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("dtype", NARROW, ids=lambda d: d.__name__)
def test_values_and_types_of_the_parts(dtype):
    z = np.append(POINTS, [0.0, complex(-1.0, -0.0), complex(-0.0, 0.0), -2.0, complex(np.inf, 1.0)]).astype(dtype)
    for name in ("real", "imag", "abs", "angle"):
        found = getattr(ops, name)(t(z))
        assert found.dtype == NARROW[dtype], name
        np.testing.assert_array_max_ulp(found.asnumpy(), getattr(np, name)(z), 1)
        assert (np.signbit(found.asnumpy()) == np.signbit(getattr(np, name)(z))).all(), name
        np.testing.assert_array_equal(getattr(np, name)(t(z)).asnumpy(), found.asnumpy())
    np.testing.assert_array_equal(ops.conj(t(z)).asnumpy(), np.conj(z))
    np.testing.assert_array_equal(np.conjugate(t(z)).asnumpy(), np.conj(z))
    close(ops.sgn(t(z[:-1])), np.sign(z[:-1]), 1e-6)
    assert ops.sign(t(z)).dtype == dtype
    parts = ops.view_as_real(t(z))
    assert parts.shape == (*z.shape, 2)
    np.testing.assert_array_equal(parts.asnumpy(), z.view(NARROW[dtype]).reshape(-1, 2))
    for again in (ops.view_as_complex(parts), ops.complex(t(z).real(), t(z).imag())):
        assert again.dtype == dtype
        np.testing.assert_array_equal(again.asnumpy().view(NARROW[dtype]), z.view(NARROW[dtype]))


def test_parts_of_views():
    z = np.arange(12.0).reshape(3, 4) + 1j * np.arange(12.0)[::-1].reshape(3, 4)
    for view in (t(z).T, t(z)[::2, ::-1], t(z)[1], t(z)[2, 1], ops.broadcast_to(t(z), (2, 3, 4)), t(z)[:0]):
        np.testing.assert_array_equal(ops.real(view).asnumpy(), view.asnumpy().real)
        np.testing.assert_array_equal(ops.view_as_real(view).asnumpy()[..., 1], view.asnumpy().imag)
    x = np.arange(12.0).reshape(2, 6)
    np.testing.assert_array_equal(ops.view_as_complex(t(x).T).asnumpy(), x[0] + 1j * x[1])


def test_parts_of_real_tensors():
    x, n = t([-1.5, 0.0, 2.0]), t(np.array([-1, 2]))
    np.testing.assert_array_equal(ops.real(x).asnumpy(), x.asnumpy())
    np.testing.assert_array_equal(ops.imag(x).asnumpy(), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(ops.conj(n).asnumpy(), [-1, 2])
    np.testing.assert_array_equal(ops.angle(x).asnumpy(), [np.pi, 0.0, 0.0])
    np.testing.assert_array_equal(ops.sgn(n).asnumpy(), [-1, 1])
    assert ops.angle(n).dtype == dg.float32
    for f in (ops.imag, ops.angle, ops.sgn):
        np.testing.assert_array_equal(dg.grad(f)(x).asnumpy(), np.zeros(3))
    np.testing.assert_array_equal(dg.grad(lambda x: ops.real(x) + ops.conj(x))(x).asnumpy(), np.full(3, 2.0))
    assert (x.is_complex(), t(1j).is_complex()) == (False, True)
    assert (x.is_floating_point(), t(1j).is_floating_point(), n.is_floating_point()) == (True, False, False)


def test_matrices_and_reductions():
    a, b = POINTS.reshape(2, 3), OTHERS.reshape(3, 2)
    close(ops.matmul(t(a), t(b)), a @ b)
    close(t(a).H, a.conj().T)
    close(ops.adjoint(t(a)[None]), a.conj().T[None])
    close(np.vdot(t(a), t(b)), np.vdot(a, b))
    close(ops.sum(t(a), 0), a.sum(0))
    close(ops.mean(t(a)), a.mean())
    close(ops.prod(t(a), 1), a.prod(1))
    for found, expected in (
        (ops.var(t(a), 0), a.var(0)),
        (ops.std(t(a)), a.std()),
        (ops.norm(t(a)), np.linalg.norm(a)),
        (ops.norm(t(a), 1, 1), np.abs(a).sum(1)),
        (ops.norm(t(a), np.inf, 1), np.abs(a).max(1)),
        (ops.norm(t(a), 0, 1), np.full(2, 3.0)),
    ):
        assert found.dtype == dg.float64
        close(found, expected)


def test_wrong_operands_are_named():
    for call, kind, words in (
        (lambda: ops.view_as_real(t([1.0])), TypeError, "view_as_real: expected a complex"),
        (lambda: ops.view_as_complex(t([1j, 1j])), TypeError, "Complex128"),
        (lambda: ops.view_as_complex(t([1.0, 2.0, 3.0])), ValueError, r"\(3,\)"),
        (lambda: ops.complex(t([1j]), 1.0), TypeError, "complex already"),
        (lambda: ops.complex(t([1.0, 2.0]), t([1.0, 2.0, 3.0])), ValueError, "broadcast"),
        (lambda: ops.adjoint(t([1j])), ValueError, "two axes"),
        (lambda: t(np.ones((2, 2, 2))).H, ValueError, "mH"),
        (lambda: ops.ComplexAbs()(t([1.0])), TypeError, "ops.abs"),
        (lambda: nn.SGD([Parameter(np.array([1j]), name="w")]), TypeError, "Complex128"),
    ):
        with pytest.raises(kind, match=words):
            call()


# -------------------------------------------------------------------------------------------------------- types


def test_types_beside_complex_numbers():
    c64, c128 = t(np.ones(2, np.complex64)), t(np.ones(2, np.complex128))
    f16, f32, f64, i32 = (t(np.ones(2, d)) for d in (np.float16, np.float32, np.float64, np.int32))
    for found, expected in (
        (c64 * 0.5, dg.complex64), (c64 * 2j, dg.complex64), (c64 + 1, dg.complex64), (c64**2, dg.complex64),
        (c64**0.5, dg.complex64), (c64 / f32, dg.complex64), (c64 * f16, dg.complex64), (c64 * i32, dg.complex64),
        (c64 * f64, dg.complex128), (c64 * c128, dg.complex128), (f32 * 1j, dg.complex64), (f16 * 1j, dg.complex64),
        (i32 + 1j, dg.complex64), (f64 - 1j, dg.complex128), (2j ** f64, dg.complex128), (f64 ** 2j, dg.complex128),
        (Tensor(1j), dg.complex128), (ops.complex(f16, 1), dg.complex64), (ops.complex(1, f64), dg.complex128),
    ):  # fmt: skip
        assert found.dtype == expected


def test_each_gradient_has_the_type_of_its_input():
    x, z = t(np.array(1.5, np.float32)), t(0.5 + 0.3j)
    dx, dz = dg.grad(lambda x, z: ops.real(ops.exp(x * z) * z), (0, 1))(x, z)
    assert (dx.dtype, dz.dtype) == (dg.float32, dg.complex128)
    slope = np.exp(1.5 * z.asnumpy())
    close(dx, (z.asnumpy() ** 2 * slope).real, 1e-6)
    close(dz, slope * (1 + 1.5 * z.asnumpy()))
    angle = dg.grad(lambda t: ops.real(ops.exp(1j * t)))
    close(angle(t(0.7)), -np.sin(0.7))
    close(dg.grad(angle)(t(0.7)), -np.cos(0.7))
    second = dg.grad(lambda x, z: ops.abs(dg.grad(lambda z: ops.real(x * z * z * z))(z)), (0, 1))(x, z)
    assert [part.dtype for part in second] == [dg.float32, dg.complex128]


def test_casts():
    z = t(POINTS)
    for drop in (lambda z: z.astype(dg.float64), lambda z: ops.cast(z, "float64")):
        with pytest.warns(np.exceptions.ComplexWarning, match=r"ops\.real"):
            np.testing.assert_array_equal(drop(z).asnumpy(), POINTS.real)
    with pytest.warns(np.exceptions.ComplexWarning):
        np.testing.assert_array_equal(dg.grad(lambda z: z.astype(dg.float32))(z).asnumpy(), np.ones(6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(t([0j, 1j]).astype(dg.bool_).asnumpy(), [False, True])
        back = dg.grad(lambda x: ops.imag(x.astype(dg.complex64) * 2j))(t([1.0]))
        np.testing.assert_array_equal(back.asnumpy(), [2.0])
    wide = dg.grad(lambda z: z.astype(dg.complex128) ** 2)(t(POINTS.astype(np.complex64)))
    assert wide.dtype == dg.complex64
    close(wide, 2 * POINTS, 1e-6)


# ---------------------------------------------------------------------------------------------------- gradients

FACTS = {
    "analytic": (lambda z: z * z * z, lambda z: 3 * z**2),
    "real": (ops.real, lambda z: np.ones_like(z)),
    "imag": (ops.imag, lambda z: np.full_like(z, -1j)),
    "conj": (ops.conj, lambda z: np.ones_like(z)),
    "abs": (ops.abs, lambda z: z.conj() / np.abs(z)),
    "abs()": (abs, lambda z: z.conj() / np.abs(z)),
    "np.abs": (np.abs, lambda z: z.conj() / np.abs(z)),
    "square of abs": (lambda z: ops.abs(z) ** 2, lambda z: 2 * z.conj()),
    "z conj(z)": (lambda z: ops.real(z * ops.conj(z)), lambda z: 2 * z.conj()),
    "angle": (ops.angle, lambda z: -1j / z),
    "sgn": (ops.sgn, lambda z: 1j * z.imag * z.conj() / np.abs(z) ** 3),
    "log of abs": (lambda z: ops.log(ops.abs(z)), lambda z: 1 / z),
    "not analytic": (lambda z: z * ops.conj(z) + 2j * ops.conj(z), lambda z: 2 * z.conj() - 2j),
    "imaginary part of an analytic function": (lambda z: ops.imag(ops.exp(z)), lambda z: -1j * np.exp(z)),
    "norm": (ops.norm, lambda z: z.conj() / np.linalg.norm(z)),
    "var": (lambda z: ops.var(z), lambda z: 2 * (z - z.mean()).conj() / z.size),
    "view_as_real": (lambda z: ops.view_as_real(z) * Tensor([2.0, 3.0], dg.float64), lambda z: np.full_like(z, 2 - 3j)),
    "where": (lambda z: ops.where(ops.real(z) > 0, z * z, ops.conj(z)), lambda z: np.where(z.real > 0, 2 * z, 1)),
    "constant": (lambda z: ops.real(ops.stop_gradient(z)), np.zeros_like),
}


@pytest.mark.parametrize(("f", "gradient"), FACTS.values(), ids=FACTS)
def test_gradients(f, gradient):
    found = dg.grad(f)(t(POINTS))
    assert found.dtype == dg.complex128
    close(found, gradient(POINTS).astype(complex))
    # The pairing: Re(gradient * v) is the derivative of the real part of the sum along v, in forward mode too.
    for v in (1.0, 1j, 0.6 - 0.8j):
        moved = dg.jvp(f, t(POINTS), t(np.full_like(POINTS, v)))[1].asnumpy()
        close(moved.real.sum(), (found.asnumpy() * v).real.sum())


def test_sensitivities_are_not_conjugated():
    v = OTHERS
    for f, gradient in (
        (lambda z: z * z, 2 * POINTS * v),
        (ops.conj, v.conj()),
        (lambda z: z * ops.conj(z), 2 * v.real * POINTS.conj()),
    ):
        close(ops.GradOperation(sens_param=True)(f)(t(POINTS), t(v)), gradient)
        close(dg.vjp(f, t(POINTS))[1](t(v))[0], gradient)
    da, db = dg.vjp(ops.complex, t(POINTS.real), t(POINTS.imag))[1](t(v))
    close(da, v.real)
    close(db, -v.imag)
    with pytest.raises(TypeError, match="Float64"):
        dg.vjp(lambda z: z * z, t(POINTS))[1](t(v.real))


def test_second_derivatives_of_real_functions():
    """The Hessian of |z|^4 by x and y, from nested gradients in every nesting."""
    f = lambda z: ops.abs(z) ** 4
    z = np.array(0.6 - 0.8j) * 1.5
    r2, x, y = abs(z) ** 2, z.real, z.imag
    hessian = np.array([[4 * r2 + 8 * x * x, 8 * x * y], [8 * x * y, 4 * r2 + 8 * y * y]])
    slope = dg.grad(f)
    by_x, by_y = (lambda z: ops.real(slope(z))), (lambda z: -ops.imag(slope(z)))
    for k, part in enumerate((by_x, by_y)):
        close(dg.grad(part)(t(z)), hessian[k, 0] - 1j * hessian[k, 1])
        for m, v in enumerate((1.0, 1j)):
            close(dg.jvp(part, t(z), t(np.array(v, complex)))[1], hessian[k, m])
            along = lambda z, v=v: dg.jvp(f, z, t(np.array(v, complex)))[1]
            close(dg.grad(along)(t(z)), hessian[m, 0] - 1j * hessian[m, 1])


def test_a_gradient_by_complex_weights_of_a_norm_of_a_gradient():
    """The loss |d/dz (w z^2 + b z)|^2 = |2 w z + b|^2, by the weights."""

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(np.array([0.5 + 1j]), name="w")
            self.b = Parameter(np.array([2.0 - 1j]), name="b")

        def construct(self, z):
            return self.w * z * z + self.b * z

    net = Net()
    z = np.array([0.3 - 0.7j])
    loss = lambda z: ops.abs(dg.grad(net)(z)) ** 2
    dw, db = dg.grad(loss, None, net.trainable_params())(t(z))
    slope = (2 * net.w.asnumpy() * z + net.b.asnumpy()).conj()
    close(dw, 2 * slope * 2 * z)
    close(db, 2 * slope)
    close(dg.grad(loss)(t(z)), 2 * slope * 2 * net.w.asnumpy())


@pytest.mark.eager("cancels: compared to rounding of its terms")
def test_descent_along_the_conjugate_gradient():
    target, z = 1.0 - 2.0j, t(np.array(3.0 + 1.0j))
    for _ in range(60):
        z = z - 0.2 * ops.conj(dg.grad(lambda z: ops.abs(z * z - target) ** 2 / 8)(z))
    close(z**2, target, 1e-3)


# ------------------------------------------------------------------------------------------------------- corners


def test_slopes_at_zero_are_zero_or_the_polynomial_s():
    zero = t(np.zeros(1, complex))
    np.testing.assert_array_equal(dg.grad(ops.norm)(zero).asnumpy(), [0.0])
    for f in (ops.abs, ops.angle, ops.sgn, lambda z: ops.abs(z) * 3.0, lambda z: ops.norm(z, 1)):
        for g in (dg.grad(f), dg.grad(dg.grad(f))):
            np.testing.assert_array_equal(g(zero).asnumpy(), [0.0])
    for n in range(5):
        g, expected = (lambda z, n=n: z**n), 1.0
        for order in range(1, 5):
            g, expected = dg.grad(g), expected * (n - order + 1)
            np.testing.assert_array_equal(g(zero).asnumpy(), [expected if order == n else 0.0])


def test_zero_absorbs():
    """A branch that is not taken adds exactly 0, also where its slope is not finite."""
    z = t(np.array([0j, 4j]))
    taken = lambda z: ops.where(ops.abs(z) > 0, ops.sqrt(z), 0.0)
    for g in (dg.grad(taken), lambda z: dg.jvp(taken, z, ops.ones_like(z))[1]):
        close(g(z), [0, 0.5 / np.sqrt(4j)])
    huge = t(np.array([complex(np.inf, np.nan), complex(np.nan, 1.0)]))
    for product in (ops.zeros_like(huge), huge):
        other = huge if product is not huge else ops.zeros_like(huge)
        np.testing.assert_array_equal(apply(OPCODES["absorb_mul"], None, product, other).asnumpy(), [0, 0])
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(2, 3, 1)) @ [[1, 1j]] for _ in range(2))
    for x, y in ((a, b), (a, b[:, :1]), (a[:1, :1, :1], b), (a.T, b.T), (a[0], b), (a, np.array(2j))):
        close(apply(OPCODES["absorb_mul"], None, t(x), t(y)), x * y, 1e-15)


CUTS = {
    "sqrt": [complex(-2, 0.0), complex(-2, -0.0)],
    "log": [complex(-2, 0.0), complex(-2, -0.0)],
    "asin": [complex(2, 0.0), complex(2, -0.0), complex(-2, 0.0), complex(-2, -0.0)],
    "acos": [complex(2, 0.0), complex(2, -0.0), complex(-2, 0.0), complex(-2, -0.0)],
    "acosh": [complex(-2, 0.0), complex(-2, -0.0), complex(0.5, 0.0), complex(0.5, -0.0)],
    "atanh": [complex(2, 0.0), complex(2, -0.0), complex(-2, 0.0)],
    "asinh": [complex(0.0, 2), complex(-0.0, 2), complex(0.0, -2), complex(-0.0, -2)],
    "atan": [complex(0.0, 2), complex(-0.0, 2), complex(0.0, -2)],
}


@pytest.mark.parametrize("name", CUTS)
def test_on_a_branch_cut_the_slope_is_that_of_the_side_the_value_is_on(name):
    f = getattr(ops, name)
    for z in CUTS[name]:
        h = 1e-6
        if name in ("asinh", "atan"):
            up, down, step = complex(z.real, z.imag + h), complex(z.real, z.imag - h), 1j * h
        else:
            up, down, step = complex(z.real + h, z.imag), complex(z.real - h, z.imag), h
        rough = (f(t(up)).asnumpy() - f(t(down)).asnumpy()) / (2 * step)
        close(dg.grad(f)(t(z)), rough, 1e-7)


def test_tails_do_not_overflow():
    z = t(np.array([-800 + 1j, 800 + 1j]))
    for f in (ops.sigmoid, ops.tanh):
        for g in (f, dg.grad(f), dg.grad(dg.grad(f))):
            assert np.isfinite(g(z).asnumpy()).all()
    close(ops.sigmoid(z), [0, 1])


def test_both_halves_may_lie_at_multiples_of_four_bytes():
    """A complex64 is copied eight bytes at a time, but memory of NumPy's need not begin with a multiple of eight."""

    def f(z):
        turned = ops.transpose(z)
        return (
            ops.concat([turned, turned * 2]),
            ops.where(ops.real(z) > 9, z, z * 2),
            ops.broadcast_to(z[:1], z.shape) * z,
        )

    for shape in ((20, 30), (50, 3), (200, 1)):
        numbers = np.arange(2 * math.prod(shape) + 1, dtype=np.float32)
        numbers = numbers[(numbers.ctypes.data // 4 + 1) % 2 :]
        z = numbers[: 2 * math.prod(shape)].view(np.complex64).reshape(shape)
        recorded = dg.jit(lambda z: f(z))
        for _ in range(3):
            for found, expected in zip(recorded(Tensor.from_numpy(z)), f(t(z)), strict=True):
                np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())


# ------------------------------------------------------------------------------ parts as attributes and as methods

NUMBERS = [np.array([1 + 2j, 3 - 1j]), np.array([1.5 - 2j], np.complex64), np.array([1.0, -2.0]), np.array([1, 2])]


@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("z", NUMBERS, ids=lambda z: z.dtype.name)
def test_parts_are_attributes_and_methods(z, part):
    attribute, expected = getattr(t(z), part), getattr(z, part)
    for found in (attribute, attribute(), getattr(ops, part)(t(z)), getattr(np, part)(t(z))):
        assert found.asnumpy().dtype == expected.dtype
        np.testing.assert_array_equal(found.asnumpy(), expected)
    assert type(attribute()) is dg.Tensor
    assert type(attribute + 1) is dg.Tensor
    assert not callable(t(z))


@pytest.mark.parametrize("part", ["real", "imag"])
def test_slopes_pass_both_spellings(part):
    x = t(np.array([0.5, 1.5]))
    spellings = (
        lambda x: getattr(ops.complex(x, x * x) ** 2, part).sum(),
        lambda x: getattr(ops.complex(x, x * x) ** 2, part)().sum(),
    )
    exact = 2 * x - 4 * x**3 if part == "real" else 6 * x * x  # (x + i x*x)**2
    for f in spellings:
        for way in (dg.grad(f), dg.jit(dg.grad(f)), dg.jacfwd(f)):
            for _ in range(4):
                np.testing.assert_allclose(way(x).asnumpy(), exact.asnumpy(), rtol=1e-14)


@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("z", NUMBERS[:2], ids=lambda z: z.dtype.name)
@pytest.mark.parametrize("value", [2.5, [4.0], np.array([7.0])], ids=["number", "list", "array"])
def test_parts_are_assigned_to_as_numpys(z, part, value):
    ours, theirs = t(z.copy()), z.copy()
    setattr(ours, part, value)
    setattr(theirs, part, value)
    np.testing.assert_array_equal(ours.asnumpy(), theirs)
    assert ours.asnumpy().dtype == z.dtype


def test_slopes_pass_an_assigned_part():
    def f(x):
        z = ops.complex(x, x)
        z.real, z.imag = x**2, 3 * x
        return (abs(z) ** 2).sum()

    x = t(np.array([1.0, 2.0]))
    np.testing.assert_allclose(dg.grad(f)(x).asnumpy(), (4 * x**3 + 18 * x).asnumpy(), rtol=1e-14)


def test_what_cannot_be_assigned_to():
    with pytest.raises(TypeError, match="Float64 has no imaginary part to be set"):
        t(np.array([1.0])).imag = 1.0
    with pytest.raises(RuntimeError, match="the assignment would be lost"):
        t(np.array([1j])).real[0] = 1.0
