"""Fourier transforms: values, types, gradients against the matrix of the transform, errors (orders: tests/cases)."""

import functools
import itertools

import numpy as np
from support import assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor, ops

ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MORE_AXES = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
REAL = ("rfft", "ihfft", "rfft2", "rfftn")
NORMS = (None, "backward", "forward", "ortho")

RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, 5))
Z = X + 1j * RNG.standard_normal((4, 5))


def calls():
    """(name, operand, arguments) of every function."""
    for name, norm in itertools.product(ONE_AXIS, NORMS):
        for x, n, axis in itertools.product((X,) if name in REAL else (X, Z), (None, 2, 3, 7, 8), (0, -1)):
            yield name, x, (n, axis, norm)
    for name, norm in itertools.product(MORE_AXES, NORMS):
        for x, s in itertools.product((X,) if name in REAL else (X, Z), (None, (3, 6), (7, -1))):
            yield name, x, (s, (-1, 0), norm)


def called(function, arguments, x):
    return function(x, *arguments)


def test_values_and_types_are_those_of_numpy_through_both_doors():
    for name, x, arguments in calls():
        for single in (False, True):
            a = x.astype(np.complex64 if x.dtype.kind == "c" else np.float32) if single else x
            expected = getattr(np.fft, name)(a, *arguments)
            for found in (getattr(ops, name)(Tensor(a), *arguments), getattr(np.fft, name)(Tensor(a), *arguments)):
                assert found.dtype == expected.dtype, name
                tolerance = 2e-6 if single else 1e-14
                error = np.abs(found.asnumpy() - expected).max() / np.abs(expected).max()
                assert error < tolerance, (name, arguments)


def test_gradients_are_products_with_the_matrix_of_the_transform():
    """The gradient of Re Σ v f(z) is v times the matrix, without conjugation; its real part for real operands."""
    for name, x, arguments in calls():
        ours, numpys = (functools.partial(called, getattr(place, name), arguments) for place in (ops, np.fft))
        out, pull = dg.vjp(ours, Tensor(x))
        v = RNG.standard_normal(out.shape)
        if out.dtype.is_complex:
            v = v + 1j * RNG.standard_normal(out.shape)
        units = np.eye(x.size).reshape(x.size, *x.shape)
        expected = np.array([np.sum(v * numpys(unit)).real for unit in units])
        if x.dtype.kind == "c":
            expected = expected - 1j * np.array([np.sum(v * numpys(1j * unit)).real for unit in units])
        found = pull(Tensor(v))
        found = (found[0] if isinstance(found, tuple) else found).asnumpy()
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found.ravel(), expected, rtol=1e-12, atol=1e-13, err_msg=f"{name} {arguments}")


def test_relatives_of_several_axes():
    half = Tensor(Z)
    whole = ops.hfftn(half, (4, 8), (0, 1))
    expected = np.fft.hfft(np.fft.fft(Z, axis=0), 8, axis=1)
    np.testing.assert_allclose(whole.asnumpy(), expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(ops.hfft2(half).asnumpy(), expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(ops.hfft2(ops.ihfft2(f64(X)), (4, 5)).asnumpy(), X, rtol=1e-13, atol=1e-13)
    for norm in NORMS:
        back = ops.hfftn(ops.ihfftn(f64(X), norm=norm), X.shape, norm=norm)
        np.testing.assert_allclose(back.asnumpy(), X, rtol=1e-13, atol=1e-13)


def test_shifts_and_frequencies():
    for shape, axes in (((5,), None), ((4,), 0), ((3, 4), None), ((3, 4), (1,)), ((3, 4), (1, 0))):
        a = np.arange(np.prod(shape)).reshape(shape)
        for name in ("fftshift", "ifftshift"):
            expected = getattr(np.fft, name)(a, axes)
            np.testing.assert_array_equal(getattr(ops, name)(Tensor(a), axes).asnumpy(), expected)
            np.testing.assert_array_equal(getattr(np.fft, name)(Tensor(a), axes=axes).asnumpy(), expected)
    for name, n in itertools.product(("fftfreq", "rfftfreq"), (1, 4, 5)):
        np.testing.assert_array_equal(getattr(ops, name)(n, 0.3, dg.float64).asnumpy(), getattr(np.fft, name)(n, 0.3))
        assert getattr(ops, name)(n).dtype == dg.float32


def test_the_primitive_class_chooses_the_transform():
    cases = (
        ((1, False, False), np.fft.fft(Z)),
        ((2, True, False, "ortho"), np.fft.ifft2(Z, norm="ortho")),
        ((2, True, True, "backward", True, (4, 8)), np.fft.irfft2(Z, (4, 8))),
        ((2, True, True, "backward", False), np.fft.ifft2(Z).real),
    )
    for settings, expected in cases:
        np.testing.assert_allclose(ops.FFTWithSize(*settings)(Tensor(Z)).asnumpy(), expected, rtol=1e-13, atol=1e-14)
    for onesided, expected in ((True, np.fft.rfft(X)), (False, np.fft.fft(X))):
        found = ops.FFTWithSize(1, False, True, onesided=onesided)(f64(X)).asnumpy()
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def test_the_derivative_of_a_periodic_function_and_its_gradient():
    """By way of the spectrum u -> u_x is an antisymmetric matrix."""
    n = 32
    x = f64(2 * np.pi * np.arange(n) / n)
    k = np.append(np.fft.rfftfreq(n, 1 / n)[:-1], 0.0)

    def slope(u):
        return ops.irfft(1j * k * ops.rfft(u), n)

    u = ops.exp(ops.sin(x))
    np.testing.assert_allclose(slope(u).asnumpy(), (ops.cos(x) * u).asnumpy(), atol=1e-12)
    weights = f64(np.cos(3 * x.asnumpy()))
    found = dg.grad(lambda u: ops.sum(weights * slope(u)))(u)
    np.testing.assert_allclose(found.asnumpy(), 3 * np.sin(3 * x.asnumpy()), atol=1e-12)

    def energy(u):
        return 0.5 * ops.sum(slope(u) ** 2)

    hessian_times_u = dg.jvp(dg.grad(energy), u, u)[1]  # -u_xx
    second = ((ops.cos(x) ** 2 - ops.sin(x)) * u).asnumpy()
    np.testing.assert_allclose(hessian_times_u.asnumpy(), -second, atol=1e-10)


def test_narrow_types_and_integers_are_computed_in_single_precision():
    for x in (Tensor([1, 2, 3]), Tensor([True, False, True]), Tensor(np.arange(3, dtype=np.float16))):
        assert ops.fft(x).dtype == dg.complex64
    x = Tensor(np.array([1, 2, 3], np.float16))
    gradient = dg.grad(lambda x: ops.sum(ops.abs(ops.rfft(x)) ** 2))(x)
    assert gradient.dtype == dg.float16


def test_errors_say_what_came_and_what_was_expected():
    x = f64(X)
    table = (
        (TypeError, lambda: ops.rfft(Tensor(Z)), "rfft: expected real numbers, got type Complex128"),
        (ValueError, lambda: ops.fft(x, norm="half"), "norm is 'half'; expected 'backward'"),
        (ValueError, lambda: ops.fft(x, 0), "0 points along axis -1 of shape (4, 5)"),
        (ValueError, lambda: ops.fft(f64(np.zeros((3, 0)))), "0 points"),
        (ValueError, lambda: ops.irfft(f64([[1.0]])), "1 frequencies along axis -1 stand for 0 points"),
        (TypeError, lambda: ops.fft(x, 2.5), "n must be an int, got float"),
        (np.exceptions.AxisError, lambda: ops.fft(x, axis=2), "axis 2 is not there"),
        (ValueError, lambda: ops.fftn(x, axis=(0, -2)), "an axis comes twice"),
        (ValueError, lambda: ops.fftn(x, (1, 2, 3)), "3 numbers of points"),
        (ValueError, lambda: ops.fft2(x, (3,)), "1 numbers of points"),
        (ValueError, lambda: ops.fftn(f64(1.0)), "no axis to transform"),
        (ValueError, lambda: ops.FFTWithSize(4, False, False), "signal_ndim is 4"),
        (TypeError, lambda: ops.fft(x, axis=0, dim=0), "axis is given twice"),
        (TypeError, lambda: np.fft.fft(x, out=np.zeros((4, 5), complex)), "out= is not supported"),
    )
    for kind, call, words in table:
        assert_raises(kind, call, words)
    np.testing.assert_array_equal(ops.fft(x, dim=0).asnumpy(), ops.fft(x, axis=0).asnumpy())
