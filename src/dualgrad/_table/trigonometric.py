"""Rows of the circular and hyperbolic functions, and of the plane: angle and distance of a point.

Slopes of the inverse functions are separate primitives, and their slopes are products of x and themselves: at no order
do they contain a difference of near numbers or a square that overflows. (For asinh's slope, x * out would be harmless
at first, but its derivatives cancel; ``direction(x, 1)`` is the same number with exact derivatives.)

Complex slopes are formulas. They contain ``x - -1``, since ``1 + x`` would lose the sign of a zero imaginary part,
which chooses the side of a branch cut.
"""

from __future__ import annotations

import math

from .row import INF, elementwise

_PI2 = math.pi / 2

_FUNCTIONS = (
    elementwise("sin", "cos(x)", vector=("f64", "f32"), ufunc="sin", function="sin", cls="Sin", method="sin", summary="sine of x",
                exact="mp.sin(x)", example=("[0.0, 1.0]", "[0. 0.841471]")),
    elementwise("cos", "-sin(x)", vector=("f64", "f32"), ufunc="cos", function="cos", cls="Cos", method="cos", summary="cosine of x",
                exact="mp.cos(x)", example=("[0.0, 1.0]", "[1. 0.540302]")),
    elementwise("tan", "1 + out * out", vector=("f64",), ufunc="tan", domain=(-_PI2, _PI2), function="tan", cls="Tan",
                method="tan", summary="tangent of x", exact="mp.tan(x)", example=("[0.0, 1.0]", "[0. 1.55741]")),
    elementwise("sinc", "sinc_derivative(1, x)", c="(T)dg_sinc(x)", function="sinc", method="sinc",
                summary="sin(pi x) / (pi x), and 1 at 0", exact="mp.sincpi(x)", example=("[0.0, 0.5, 2.0]", "[1. 0.63662 0. ]")),
    elementwise("sinc_derivative", None, "sinc_derivative(x + 1, y)", c="(T)dg_sinc_derivative(x, y)",
                domain=((0, 4), (-INF, INF)), summary="the derivative of sinc of order x, a whole number, at y"),
    elementwise("sinh", "cosh(x)", vector=("f64",), ufunc="sinh", function="sinh", cls="Sinh", method="sinh",
                summary="hyperbolic sine of x", exact="mp.sinh(x)", example=("[0.0, 1.0]", "[0. 1.1752]")),
    elementwise("cosh", "sinh(x)", vector=("f64",), ufunc="cosh", function="cosh", cls="Cosh", method="cosh",
                summary="hyperbolic cosine of x", exact="mp.cosh(x)", example=("[0.0, 1.0]", "[1. 1.54308]")),
    elementwise("tanh", "sech2(x)", vector=("f64", "f32"), ufunc="tanh", function="tanh", cls="Tanh", method="tanh",
                summary="hyperbolic tangent of x", exact="mp.tanh(x)", example=("[0.0, 1.0]", "[0. 0.761594]")),
    elementwise("sech2", "-2 * tanh(x) * out", vector=("f64", "f32"), summary="1 / cosh(x)**2, exact at every x",
                exact="mp.sech(x) ** 2"),
    elementwise("asin", "asin_slope(x)", complex_partials=("rsqrt(-((x - 1) * (x - -1)))",), ufunc="arcsin", domain=(-1, 1), function="asin", cls="Asin",
                method="asin", aliases=("arcsin",), summary="inverse sine of x",
                exact="mp.asin(x)", example=("[0.0, 0.5]", "[0. 0.523599]")),
    elementwise("acos", "-asin_slope(x)", complex_partials=("-rsqrt(-((x - 1) * (x - -1)))",), ufunc="arccos", domain=(-1, 1), function="acos",
                cls="ACos", method="acos", aliases=("arccos",), summary="inverse cosine of x",
                exact="mp.acos(x)", example=("[1.0, 0.5]", "[0. 1.0472]")),
    elementwise("atan", "atan_slope(x)", complex_partials=("reciprocal(1 + x * x)",), vector=("f64",), ufunc="arctan", function="atan", cls="Atan", method="atan",
                aliases=("arctan",), summary="inverse tangent of x", exact="mp.atan(x)", example=("[0.0, 1.0]",
                "[0. 0.785398]")),
    elementwise("atan2", "inversion(y, x)", "-inversion(x, y)", ufunc="arctan2",
                function="atan2", cls="Atan2", method="atan2", aliases=("arctan2",),
                summary="angle of the point with ordinate x and abscissa y",
                slope_note="0 at the origin",
                exact="mp.atan2(x, y)", reach="mp.hypot(x, y) if y > 0 else abs(x)", example=("[1.0, 0.0], [1.0, -1.0]", "[0.785398 3.14159]")),
    elementwise("asinh", "asinh_slope(x)", complex_partials=("rsqrt(x * x - -1)",), ufunc="arcsinh", function="asinh", cls="Asinh", method="asinh",
                aliases=("arcsinh",), summary="inverse hyperbolic sine of x", exact="mp.asinh(x)",
                example=("[0.0, 1.0]", "[0. 0.881374]")),
    elementwise("acosh", "acosh_slope(x)", complex_partials=("rsqrt(x - 1) * rsqrt(x - -1)",), ufunc="arccosh", domain=(1, INF), function="acosh",
                cls="Acosh", method="acosh", aliases=("arccosh",), summary="inverse hyperbolic cosine of x",
                exact="mp.acosh(x)", example=("[1.0, 2.0]", "[0. 1.31696]")),
    elementwise("atanh", "atanh_slope(x)", complex_partials=("reciprocal((1 - x) * (1 + x))",), ufunc="arctanh", domain=(-1, 1), function="atanh",
                cls="Atanh", method="atanh", aliases=("arctanh",), summary="inverse hyperbolic tangent of x",
                exact="mp.atanh(x)", example=("[0.0, 0.5]", "[0. 0.549306]")),
    elementwise("hypot", "direction(x, y)", "direction(y, x)", ufunc="hypot", function="hypot", method="hypot",
                summary="sqrt(x*x + y*y) without overflow", slope_note="0 at the origin",
                exact="mp.hypot(x, y)", reach="mp.hypot(x, y)", example=("[3.0, 5.0], [4.0, 12.0]", "[ 5. 13.]")),
)  # fmt: skip

_SLOPES = (
    elementwise("asin_slope", "x * out * out * out", c="fabs(x) > (T)1 ? (T)NAN : sqrt((T)1 / fma(-x, x, (T)1))", domain=(-1, 1),
                summary="1 / sqrt(1 - x*x)"),
    elementwise("acosh_slope", "-(absorb_mul(x, out) * out * out)", c="x < (T)1 ? (T)NAN : x > (T)0x1p60 ? (T)1 / x : sqrt((T)1 / fma(x, x, (T)-1))",
                domain=(1, INF), summary="1 / sqrt(x*x - 1)"),
    elementwise("asinh_slope", "-(direction(x, 1) * out * out)", c="fabs(x) > (T)0x1p60 ? (T)1 / fabs(x) : sqrt((T)1 / fma(x, x, (T)1))",
                summary="1 / sqrt(1 + x*x)"),
    elementwise("atan_slope", "-2 * absorb_mul(x, out) * out", c="fabs(x) > (T)0x1p60 ? (T)1 / x / x : (T)1 / fma(x, x, (T)1)",
                summary="1 / (1 + x*x)"),
    elementwise("atanh_slope", "2 * x * out * out", c="fabs(x) > (T)1 ? (T)NAN : (T)1 / fma(-x, x, (T)1)", domain=(-1, 1),
                summary="1 / (1 - x*x)"),
)  # fmt: skip

# A point of the plane. First derivatives of its distance and angle are hot, and have kernels that the compiler
# vectorises; one kernel computes all higher orders, by number (see elementwise.py).
_PLANE = (
    elementwise("direction", "hypot_partial(x, y, 3)", "hypot_partial(x, y, 4)", c="dg_direction(x, y)",
                summary="x / hypot(x, y)", slope_note="0 at the origin"),
    elementwise("inversion", "-atan2_partial(x, y, 4)", "-atan2_partial(x, y, 5)", c="dg_inversion(x, y)",
                summary="x / (x*x + y*y)", slope_note="0 at the origin"),
    elementwise("hypot_partial", "hypot_partial(x, y, z + order_of(z) + 1)", "hypot_partial(x, y, z + order_of(z) + 2)", None,
                c="(T)dg_hypot_partial(x, y, z)", domain=((-INF, INF), (-INF, INF), (1, 21)),
                summary="the partial derivative of hypot(x, y) numbered z", slope_note="0 at the origin"),
    elementwise("atan2_partial", "atan2_partial(x, y, z + order_of(z) + 1)", "atan2_partial(x, y, z + order_of(z) + 2)", None,
                c="(T)dg_atan2_partial(x, y, z)", domain=((-INF, INF), (-INF, INF), (1, 21)),
                summary="the partial derivative of atan2(x, y) numbered z", slope_note="0 at the origin"),
)  # fmt: skip

TRIGONOMETRIC = (*_FUNCTIONS, *_SLOPES, *_PLANE)
