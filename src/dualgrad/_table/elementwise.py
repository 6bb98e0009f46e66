"""Rows of the elementwise family: scalar functions applied to every element, operands broadcast.

``sech2`` (the slope of tanh), ``half_step`` (the slope of maximum: 1, 1/2 on ties, 0) and ``step`` are primitives of
their own so that slopes are formed without cancellation, and to any order. ``absorb_mul`` is the product of a
partial with a tangent or cotangent: zero times anything is zero there, also beside inf and nan.

Partials hold for complex operands too. ``x - -1`` stands where ``1 + x`` would lose the sign of a zero imaginary part,
which chooses the side of a branch cut.
"""

from __future__ import annotations

import math
from typing import Any

from .row import INF, Row, elementwise

_PI2 = math.pi / 2

ARITHMETIC = (
    elementwise("add", "1", "1", c="x + y", ufunc="add", keeps_ints=True, summary="x + y",
                exact="x + y", example=("[1.0, 2.0], [10.0, 20.0]", "[11. 22.]")),
    elementwise("sub", "1", "-1", c="x - y", ufunc="subtract", keeps_ints=True, summary="x - y",
                exact="x - y", example=("[1.0, 2.0], [10.0, 30.0]", "[ -9. -28.]")),
    elementwise("mul", "y", "x", c="x * y", ufunc="multiply", keeps_ints=True, summary="x * y",
                exact="x * y", example=("[1.0, 2.0], [10.0, 20.0]", "[10. 40.]")),
    elementwise("div", "reciprocal(y)", "-(out / y)", c="x / y", ufunc="true_divide",
                domain=((-INF, INF), (0, INF)), summary="x / y",
                exact="x / y", example=("[1.0, 3.0], [4.0, 2.0]", "[0.25 1.5 ]")),
    elementwise("absorb_mul", "y", "x", c="((x == 0) | (y == 0)) ? (T)0 : x * y", ufunc="multiply",
                c_complex="((T){DG_ABSORB(x.re, y.re) - DG_ABSORB(x.im, y.im), "
                          "DG_ABSORB(x.re, y.im) + DG_ABSORB(x.im, y.re)})",
                keeps_ints=True, summary="x * y, and 0 where either is 0, also beside inf and nan", exact="x * y"),
    elementwise("neg", "-1", c="-x", ufunc="negative", keeps_ints=True, function="neg", cls="Neg", method="neg",
                summary="-x", exact="-x", example=("[1.0, -2.0]", "[-1.  2.]")),
    elementwise("square", "2 * x", c="x * x", ufunc="square", keeps_ints=True, function="square", cls="Square",
                method="square", summary="x * x", exact="x * x", example=("[3.0, -0.5]", "[9.   0.25]")),
    elementwise("reciprocal", "-(out * out)", c="(T)1 / x", ufunc="reciprocal", domain=(0, INF),
                function="reciprocal", cls="Reciprocal", method="reciprocal", summary="1 / x",
                exact="1 / x", example=("[4.0, -0.5]", "[ 0.25 -2.  ]")),
    elementwise("sqrt", "0.5 / out", c="sqrt(x)", ufunc="sqrt", domain=(0, INF), function="sqrt", cls="Sqrt",
                method="sqrt", summary="square root of x",
                slope_note="inf at 0; 0 when the incoming derivative is 0",
                exact="mp.sqrt(x)", example=("[4.0, 6.25]", "[2.  2.5]")),
    elementwise("rsqrt", "-0.5 * out / x", c="(T)1 / sqrt(x)", domain=(0, INF), function="rsqrt", cls="Rsqrt",
                method="rsqrt", summary="1 / sqrt(x)", exact="1 / mp.sqrt(x)", example=("[4.0, 0.25]", "[0.5 2. ]")),
    elementwise("pow", "absorb_mul(y, pow(x, y - 1))", "where(x == 0, 0, out * log(x))", takes_ints=True, ufunc="power",
                domain=((0, INF), (-INF, INF)), summary="x to the power y",
                slope_note="with respect to y: 0 at x = 0, nan below",
                exact="mp.power(x, y)", example=("[2.0, 4.0], [3.0, 0.5]", "[8. 2.]")),
    elementwise("abs", "sign(x)", c="fabs(x)", ufunc="absolute", keeps_ints=True, function="abs", cls="Abs",
                method="abs", summary="absolute value of x", slope_note="0 at 0",
                exact="abs(x)", reach="abs(x)", example=("[-1.5, 2.0]", "[1.5 2. ]")),
    elementwise("sign", None, c="(T)((x > 0) - (x < 0)) + (x != x ? x : (T)0)", ufunc="sign", function="sign",
                cls="Sign", method="sign", summary="-1, 0 or 1",
                exact="mp.sign(x)", reach="abs(x)", example=("[-1.5, 0.0, 2.0]", "[-1.  0.  1.]")),
    elementwise("maximum", "half_step(x, y)", "half_step(y, x)", takes_ints=True, c="((x > y) | (x != x)) ? x : y",
                ufunc="maximum", function="maximum", cls="Maximum", method="maximum",
                summary="the larger of x and y, nan if either is", slope_note="1/2 to each where x == y",
                exact="max(x, y)", reach="abs(x - y)", example=("[1.0, 5.0], [3.0, 2.0]", "[3. 5.]")),
    elementwise("minimum", "half_step(y, x)", "half_step(x, y)", takes_ints=True, c="((x < y) | (x != x)) ? x : y",
                ufunc="minimum", function="minimum", cls="Minimum", method="minimum",
                summary="the smaller of x and y, nan if either is", slope_note="1/2 to each where x == y",
                exact="min(x, y)", reach="abs(x - y)", example=("[1.0, 5.0], [3.0, 2.0]", "[1. 2.]")),
    elementwise("half_step", None, None, c="(x > y) ? (T)1 : ((x == y) ? (T)0.5 : (T)0)",
                summary="1 where x > y, 1/2 where x == y, 0 elsewhere", exact="(1 + mp.sign(x - y)) / 2", reach="abs(x - y)"),
    elementwise("step", None, c="(x > 0) ? (T)1 : (T)0", summary="1 where x > 0, else 0", exact="mp.mpf(x > 0)", reach="abs(x)"),
    elementwise("mod", "1", "-floor_divide(x, y)", takes_ints=True, ufunc="remainder", domain=((-INF, INF), (0, INF)), summary="remainder of x / y with the sign of y",
                exact="x - y * mp.floor(x / y)",
                reach="abs(y) * abs(x / y - mp.nint(x / y)) / (1 + abs(x / y))", example=("[7.0, -7.0], [4.0, 4.0]", "[3. 1.]")),
    elementwise("fmod", "1", "-trunc(x / y)", takes_ints=True, ufunc="fmod", domain=((-INF, INF), (0, INF)),
                summary="remainder of x / y with the sign of x",
                exact="x - y * mp.sign(x / y) * mp.floor(abs(x / y))",
                reach="abs(y) * abs(x / y - mp.nint(x / y)) / (1 + abs(x / y))", example=("[7.0, -7.0], [4.0, 4.0]", "[ 3. -3.]")),
    elementwise("floor_divide", None, None, ufunc="floor_divide", domain=((-INF, INF), (0, INF)), summary="floor(x / y)",
                exact="mp.floor(x / y)",
                reach="abs(y) * abs(x / y - mp.nint(x / y)) / (1 + abs(x / y))", example=("[7.0, -7.0], [4.0, 4.0]", "[ 1. -2.]")),
)  # fmt: skip

EXPONENTIAL = (
    elementwise("exp", "out", ufunc="exp", function="exp", cls="Exp", method="exp", summary="e to the power x",
                exact="mp.exp(x)", example=("[0.0, 1.0]", "[1. 2.71828]")),
    elementwise("expm1", "exp(x)", ufunc="expm1", function="expm1", cls="Expm1", method="expm1",
                summary="exp(x) - 1, exact near 0", exact="mp.expm1(x)", example=("[0.0, 1.0]", "[0. 1.71828]")),
    elementwise("exp2", "LN2 * out", ufunc="exp2", function="exp2", summary="2 to the power x",
                exact="mp.power(2, x)", example=("[3.0, -1.0]", "[8.  0.5]")),
    elementwise("log", "reciprocal(x)", ufunc="log", domain=(0, INF), function="log", cls="Log", method="log",
                summary="natural logarithm of x", exact="mp.log(x)", example=("[1.0, 2.0]", "[0. 0.693147]")),
    elementwise("log1p", "reciprocal(1 + x)", ufunc="log1p", domain=(-1, INF), function="log1p", cls="Log1p",
                method="log1p", summary="log(1 + x), exact near 0",
                exact="mp.log1p(x)", example=("[0.0, 1.0]", "[0. 0.693147]")),
    elementwise("log2", "reciprocal(LN2 * x)", ufunc="log2", domain=(0, INF), function="log2", method="log2",
                summary="logarithm of x to base 2",
                exact="mp.log(x) / mp.ln(2)", example=("[8.0, 0.5]", "[ 3. -1.]")),
    elementwise("log10", "reciprocal(LN10 * x)", ufunc="log10", domain=(0, INF), function="log10",
                method="log10", summary="logarithm of x to base 10",
                exact="mp.log(x) / mp.ln(10)", example=("[10.0, 1000.0]", "[1. 3.]")),
    elementwise("sigmoid", "out * sigmoid(-x)", c="dg_sigmoid(x)", function="sigmoid", cls="Sigmoid",
                method="sigmoid", summary="1 / (1 + exp(-x))",
                exact="1 / (1 + mp.exp(-x))", example=("[0.0, 1.0]", "[0.5       0.731059]")),
    elementwise("softplus", "sigmoid(x)", c="fmax(x, (T)0) + log1p(dg_exp_negative(-fabs(x))) + (x != x ? x : (T)0)",
                function="softplus", cls="Softplus", summary="log(1 + exp(x))",
                exact="mp.log1p(mp.exp(x))", example=("[0.0, 1.0]", "[0.693147 1.31326]")),
    elementwise("relu", "step(x)", c="(x > 0) ? x : ((x != x) ? x : (T)0)", function="relu", cls="ReLU",
                summary="max(x, 0)", slope_note="0 at 0", exact="max(x, 0)", reach="abs(x)", example=("[-1.0, 2.0]", "[0. 2.]")),
)  # fmt: skip

TRIGONOMETRIC = (
    elementwise("sin", "cos(x)", ufunc="sin", function="sin", cls="Sin", method="sin", summary="sine of x",
                exact="mp.sin(x)", example=("[0.0, 1.0]", "[0. 0.841471]")),
    elementwise("cos", "-sin(x)", ufunc="cos", function="cos", cls="Cos", method="cos", summary="cosine of x",
                exact="mp.cos(x)", example=("[0.0, 1.0]", "[1. 0.540302]")),
    elementwise("tan", "1 + out * out", ufunc="tan", domain=(-_PI2, _PI2), function="tan", cls="Tan",
                method="tan", summary="tangent of x", exact="mp.tan(x)", example=("[0.0, 1.0]", "[0. 1.55741]")),
    elementwise("sinh", "cosh(x)", ufunc="sinh", function="sinh", cls="Sinh", method="sinh",
                summary="hyperbolic sine of x", exact="mp.sinh(x)", example=("[0.0, 1.0]", "[0. 1.1752]")),
    elementwise("cosh", "sinh(x)", ufunc="cosh", function="cosh", cls="Cosh", method="cosh",
                summary="hyperbolic cosine of x", exact="mp.cosh(x)", example=("[0.0, 1.0]", "[1. 1.54308]")),
    elementwise("tanh", "sech2(x)", ufunc="tanh", function="tanh", cls="Tanh", method="tanh",
                summary="hyperbolic tangent of x", exact="mp.tanh(x)", example=("[0.0, 1.0]", "[0. 0.761594]")),
    elementwise("sech2", "-2 * tanh(x) * out", c="dg_sech2(x)", summary="1 / cosh(x)**2, exact at every x",
                exact="mp.sech(x) ** 2"),
    elementwise("asin", "rsqrt(-((x - 1) * (x - -1)))", ufunc="arcsin", domain=(-1, 1), function="asin", cls="Asin",
                method="asin", summary="inverse sine of x",
                exact="mp.asin(x)", example=("[0.0, 0.5]", "[0. 0.523599]")),
    elementwise("acos", "-rsqrt(-((x - 1) * (x - -1)))", ufunc="arccos", domain=(-1, 1), function="acos",
                cls="ACos", method="acos", summary="inverse cosine of x",
                exact="mp.acos(x)", example=("[1.0, 0.5]", "[0. 1.0472]")),
    elementwise("atan", "reciprocal(1 + x * x)", ufunc="arctan", function="atan", cls="Atan", method="atan",
                summary="inverse tangent of x", exact="mp.atan(x)", example=("[0.0, 1.0]", "[0. 0.785398]")),
    elementwise("atan2", "y / (x * x + y * y)", "-(x / (x * x + y * y))", ufunc="arctan2",
                function="atan2", cls="Atan2", method="atan2", summary="angle of the point with ordinate x and abscissa y",
                exact="mp.atan2(x, y)", reach="mp.hypot(x, y) if y > 0 else abs(x)", example=("[1.0, 0.0], [1.0, -1.0]", "[0.785398 3.14159]")),
    elementwise("asinh", "rsqrt(x * x - -1)", ufunc="arcsinh", function="asinh", cls="Asinh", method="asinh",
                summary="inverse hyperbolic sine of x", exact="mp.asinh(x)", example=("[0.0, 1.0]", "[0. 0.881374]")),
    elementwise("acosh", "rsqrt(x - 1) * rsqrt(x - -1)", ufunc="arccosh", domain=(1, INF), function="acosh",
                cls="Acosh", method="acosh", summary="inverse hyperbolic cosine of x",
                exact="mp.acosh(x)", example=("[1.0, 2.0]", "[0. 1.31696]")),
    elementwise("atanh", "reciprocal((1 - x) * (1 + x))", ufunc="arctanh", domain=(-1, 1), function="atanh",
                cls="Atanh", method="atanh", summary="inverse hyperbolic tangent of x",
                exact="mp.atanh(x)", example=("[0.0, 0.5]", "[0. 0.549306]")),
    elementwise("hypot", "x / out", "y / out", ufunc="hypot", function="hypot", method="hypot",
                summary="sqrt(x*x + y*y) without overflow", slope_note="0 when the incoming derivative is 0",
                exact="mp.hypot(x, y)", reach="mp.hypot(x, y)", example=("[3.0, 5.0], [4.0, 12.0]", "[ 5. 13.]")),
)  # fmt: skip

SPECIAL = (
    elementwise("erf", "TWO_OVER_SQRT_PI * exp(-(x * x))", c="erf(x)", function="erf", cls="Erf", method="erf",
                summary="error function", exact="mp.erf(x)", example=("[0.0, 1.0]", "[0. 0.842701]")),
    elementwise("erfc", "-TWO_OVER_SQRT_PI * exp(-(x * x))", c="erfc(x)", function="erfc", cls="Erfc",
                method="erfc", summary="complementary error function",
                exact="mp.erfc(x) if x < 1e9 else mp.mpf(0)", example=("[0.0, 1.0]", "[1. 0.157299]")),
)  # fmt: skip

ROUNDING = (
    elementwise("floor", None, ufunc="floor", function="floor", cls="Floor", method="floor",
                summary="largest integer not above x", exact="mp.floor(x)", reach="abs(x - mp.nint(x))", example=("[1.5, -1.5]", "[ 1. -2.]")),
    elementwise("ceil", None, ufunc="ceil", function="ceil", cls="Ceil", method="ceil",
                summary="smallest integer not below x", exact="mp.ceil(x)", reach="abs(x - mp.nint(x))", example=("[1.5, -1.5]", "[ 2. -1.]")),
    elementwise("trunc", None, ufunc="trunc", function="trunc", cls="Trunc", method="trunc",
                summary="x rounded towards 0",
                exact="mp.sign(x) * mp.floor(abs(x))", reach="abs(x - mp.nint(x))", example=("[1.5, -1.5]", "[ 1. -1.]")),
    elementwise("round", None, ufunc="rint", function="round", cls="Round", method="round",
                summary="x rounded to the nearest even integer",
                exact="mp.nint(x)", reach="abs(x - mp.floor(x) - 0.5)", example=("[0.5, 1.5, -1.6]", "[ 0.  2. -2.]")),
)  # fmt: skip


def _predicate(name: str, arity: int, ufunc: str, summary: str, **names: Any) -> Row:
    return elementwise(name, *(None,) * arity, ufunc=ufunc, result="bool", summary=summary, **names)


LOGICAL = (
    _predicate("gt", 2, "greater", "x > y", function="gt", cls="Greater", method="gt",
               example=("[1.0, 2.0, 3.0], 2.0", "[False False  True]")),
    _predicate("ge", 2, "greater_equal", "x >= y", function="ge", cls="GreaterEqual", method="ge",
               example=("[1.0, 2.0, 3.0], 2.0", "[False  True  True]")),
    _predicate("lt", 2, "less", "x < y", function="lt", cls="Less", method="lt",
               example=("[1.0, 2.0, 3.0], 2.0", "[ True False False]")),
    _predicate("le", 2, "less_equal", "x <= y", function="le", cls="LessEqual", method="le",
               example=("[1.0, 2.0, 3.0], 2.0", "[ True  True False]")),
    _predicate("eq", 2, "equal", "x == y", function="equal", cls="Equal", method="equal",
               example=("[1.0, 2.0, 3.0], 2.0", "[False  True False]")),
    _predicate("ne", 2, "not_equal", "x != y", function="ne", cls="NotEqual", method="ne",
               example=("[1.0, 2.0, 3.0], 2.0", "[ True False  True]")),
    _predicate("logical_and", 2, "logical_and", "x and y", function="logical_and", cls="LogicalAnd",
               method="logical_and", example=("[True, True, False], [True, False, False]", "[ True False False]")),
    _predicate("logical_or", 2, "logical_or", "x or y", function="logical_or", cls="LogicalOr",
               method="logical_or", example=("[True, True, False], [True, False, False]", "[ True  True False]")),
    _predicate("logical_xor", 2, "logical_xor", "x or y, not both", function="logical_xor",
               method="logical_xor", example=("[True, True, False], [True, False, False]", "[False  True False]")),
    _predicate("logical_not", 1, "logical_not", "not x", function="logical_not", cls="LogicalNot",
               method="logical_not", example=("[True, False]", "[False  True]")),
    _predicate("isnan", 1, "isnan", "whether x is nan", function="isnan", cls="IsNan", method="isnan",
               example=('[1.0, float("nan"), float("inf")]', "[False  True False]")),
    _predicate("isinf", 1, "isinf", "whether x is infinite", function="isinf", method="isinf",
               example=('[1.0, float("nan"), float("inf")]', "[False False  True]")),
    _predicate("isfinite", 1, "isfinite", "whether x is neither infinite nor nan", function="isfinite",
               cls="IsFinite", method="isfinite",
               example=('[1.0, float("nan"), float("inf")]', "[ True False False]")),
    elementwise("bitwise_and", None, None, ufunc="bitwise_and", summary="bits of x and y"),
    elementwise("bitwise_or", None, None, ufunc="bitwise_or", summary="bits of x or y"),
    elementwise("bitwise_xor", None, None, ufunc="bitwise_xor", summary="bits of x or y, not both"),
    elementwise("bitwise_not", None, ufunc="invert", summary="bits of x inverted"),
)  # fmt: skip

ELEMENTWISE = (*ARITHMETIC, *EXPONENTIAL, *TRIGONOMETRIC, *SPECIAL, *ROUNDING, *LOGICAL)
