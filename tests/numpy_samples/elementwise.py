"""Functions of single elements, and methods of ufuncs."""

import numpy as np
from cases import normal, positive, spread

from numpy_samples import sample

A, B, P, Q = normal(2, 3), normal(3, seed=1), positive(2, 3), positive(3, seed=1)
INSIDE = np.linspace(-0.9, 0.8, 5)
MASK = np.array([[True, False, True], [False, True, True]])
STARTS = [0, 3, 1, 2]

ANYWHERE = """abs absolute arctan arcsinh asinh atan cbrt cos cosh deg2rad degrees exp exp2 expm1 fabs i0
    imag negative nan_to_num positive rad2deg radians real sin sinc sinh square tanh conj conjugate"""
ABOVE_0 = "log log10 log1p log2 reciprocal sqrt"
WITHIN_1 = "tan arccos acos arcsin asin arctanh atanh"
OF_TWO = """add arctan2 atan2 copysign fmax fmin hypot logaddexp logaddexp2 maximum minimum multiply nextafter subtract
    divide true_divide fmod mod remainder heaviside"""
POWERS = "power pow float_power"


def unary(name):
    return lambda m, a: getattr(m, name)(a)


def binary(name):
    return lambda m, a, b: getattr(m, name)(a, b)


def after(m, a, name, *arguments, to=None):
    """A copy into which a function writes."""
    b = m.copy(a) if to is None else to
    getattr(m, name)(b, *arguments)
    return b


def at(m, name, a, *arguments):
    """A copy into which the method `at` of a ufunc writes."""
    b = m.copy(a)
    getattr(m, name).at(b, *arguments)
    return b


def fold(method, name, *arguments, **settings):
    return lambda m, a: getattr(getattr(m, name), method)(a, *arguments, **settings)


# `dualgrad.numpy` has functions, and ufuncs are NumPy's: methods are called on these
METHODS = {
    "reduce": [
        sample("ufunc.reduce", fold("reduce", "add", axis=1, keepdims=True, initial=2.0, where=MASK), A),
        sample("ufunc.reduce", fold("reduce", "add", (0, 1)), A),
        sample("ufunc.reduce", fold("reduce", "multiply", axis=0, where=MASK), A),
        sample("ufunc.reduce", fold("reduce", "maximum", axis=0, initial=0.1, where=MASK), spread(2, 3)),
        sample("ufunc.reduce", fold("reduce", "logaddexp", axis=1), A),
        sample("ufunc.reduce", fold("reduce", "logaddexp", axis=None, initial=0.5, where=MASK), A),
        sample("ufunc.reduce", fold("reduce", "subtract", axis=1), A),
        sample("ufunc.reduce", fold("reduce", "divide", axis=0, initial=2.0, where=MASK), P),
        sample("ufunc.reduce", fold("reduce", "float_power", axis=1), P),
        sample("ufunc.reduce", fold("reduce", "hypot", axis=None), A),
        sample("ufunc.reduce", fold("reduce", "arctan2", axis=0, keepdims=True), A),
        sample("ufunc.reduce", fold("reduce", "add", axis=(), dtype="float64"), A),
    ],
    "accumulate": [
        sample("ufunc.accumulate", fold("accumulate", "add", axis=1, dtype="float64"), A),
        sample("ufunc.accumulate", fold("accumulate", "multiply"), A),
        sample("ufunc.accumulate", fold("accumulate", "maximum", axis=1), spread(2, 3)),
        sample("ufunc.accumulate", fold("accumulate", "subtract", axis=1), A),
        sample("ufunc.accumulate", fold("accumulate", "logaddexp", axis=1), A),
        sample("ufunc.accumulate", fold("accumulate", "power", axis=1), P),
    ],
    "reduceat": [
        sample("ufunc.reduceat", fold("reduceat", "add", STARTS, dtype="float64"), normal(5)),
        sample("ufunc.reduceat", fold("reduceat", "multiply", [1, 0], axis=1), A),
        sample("ufunc.reduceat", fold("reduceat", "subtract", STARTS), normal(5, 2)),
        sample("ufunc.reduceat", fold("reduceat", "minimum", STARTS), spread(5)),
    ],
    "outer": [
        sample("ufunc.outer", lambda m, a, b: m.multiply.outer(a, b), A, B),
        sample("ufunc.outer", lambda m, a, b: m.arctan2.outer(a, b, dtype="float64"), A, B),
        sample("ufunc.outer", lambda m, a: m.add.outer(a, [1.0, 2.0]), A),
    ],
    "at": [
        sample("ufunc.at", lambda m, a, b: at(m, "add", a, ([0, 1, 0], [2, 1, 2]), b), A, B),
        sample("ufunc.at", lambda m, a, b: at(m, "subtract", a, [1, 1, 4], b), normal(5), B),
        sample("ufunc.at", lambda m, a, b: at(m, "multiply", a, [1, 1, 4], b), normal(5), B),
        sample("ufunc.at", lambda m, a, b: at(m, "divide", a, [1, 1, 4], b), normal(5), Q),
        sample("ufunc.at", lambda m, a, b: at(m, "maximum", a, [1, 1, 4], b), spread(5), spread(3) + 0.03),
        sample("ufunc.at", lambda m, a, b: at(m, "power", a, [1, 1, 4], b), positive(5), Q),
        sample("ufunc.at", lambda m, a: at(m, "square", a, [1, 1, 4, 1]), normal(5)),
        sample("ufunc.at", lambda m, a, b: at(m, "add", a, 1, b), A, B),
    ],
}

SAMPLES = [
    *(sample(name, unary(name), A) for name in ANYWHERE.split()),
    *(sample(name, unary(name), P) for name in ABOVE_0.split()),
    *(sample(name, unary(name), INSIDE) for name in WITHIN_1.split()),
    *(sample(name, unary(name), 1.0 + P) for name in ("arccosh", "acosh")),
    *(sample(name, binary(name), A, Q) for name in OF_TWO.split()),
    *(sample(name, binary(name), P, B) for name in POWERS.split()),
    sample("divmod", lambda m, a, b: list(m.divmod(a, b)), A, Q),
    sample("modf", lambda m, a: list(m.modf(a)), 3 * A),
    sample("frexp", lambda m, a: m.frexp(a)[0], 3 * A),
    sample("ldexp", lambda m, a: m.ldexp(a, np.array([2, -1, 3])), A),
    sample("sin", lambda m, a: m.sin(a, dtype="float64"), A, label="of a type"),
    sample("clip", lambda m, a, b: m.clip(a, a_min=b, a_max=2.0), A, B - 1.0),
    sample("clip", lambda m, a, b: m.clip(a, min=b, max=0.7), A, B - 1.0, since="2.1.0"),
    sample(
        "nan_to_num", lambda m, a: m.nan_to_num(a / (a - a[0, 0]), True, 7.0, posinf=5.0, neginf=-3.0), A, smooth=False
    ),
    sample("angle", lambda m, a, b: m.angle(a + 1j * b, deg=True), A, B),
    sample("real", lambda m, a: m.real(a * (1 + 2j)), A),
    sample("imag", lambda m, a: m.imag(a * (1 + 2j)), A),
    sample("conj", lambda m, a: m.conj(a * (1 + 2j)), A),
    sample("real_if_close", lambda m, a: m.real_if_close(a * 1j, tol=50), A, batched=False),  # looks at numbers
    sample("real_if_close", lambda m, a: m.real_if_close(a + 0j), A, batched=False),
    sample("unwrap", lambda m, a: m.unwrap(a), np.array([0.3, 3.0, -2.9, -0.4, 5.9, 12.0])),
    sample("unwrap", lambda m, a: m.unwrap(a, axis=0, discont=1.4, period=2.0), 3 * normal(4, 2)),
    *(one for samples in METHODS.values() for one in samples),
]
