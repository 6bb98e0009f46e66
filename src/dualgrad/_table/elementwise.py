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
    elementwise("add", "1", "1", c="x + y", ufunc="add", keeps_ints=True, summary="x + y"),
    elementwise("sub", "1", "-1", c="x - y", ufunc="subtract", keeps_ints=True, summary="x - y"),
    elementwise("mul", "y", "x", c="x * y", ufunc="multiply", keeps_ints=True, summary="x * y"),
    elementwise("div", "reciprocal(y)", "-(out / y)", c="x / y", ufunc="true_divide",
                domain=((-INF, INF), (0, INF)), summary="x / y"),
    elementwise("absorb_mul", "y", "x", c="((x == 0) | (y == 0)) ? (T)0 : x * y", ufunc="multiply",
                c_complex="((T){DG_ABSORB(x.re, y.re) - DG_ABSORB(x.im, y.im), "
                          "DG_ABSORB(x.re, y.im) + DG_ABSORB(x.im, y.re)})",
                keeps_ints=True, summary="x * y, and 0 where either is 0, also beside inf and nan"),
    elementwise("neg", "-1", c="-x", ufunc="negative", keeps_ints=True, function="neg", cls="Neg", method="neg",
                summary="-x"),
    elementwise("square", "2 * x", c="x * x", ufunc="square", keeps_ints=True, function="square", cls="Square",
                method="square", summary="x * x"),
    elementwise("reciprocal", "-(out * out)", c="(T)1 / x", ufunc="reciprocal", domain=(0, INF),
                function="reciprocal", cls="Reciprocal", method="reciprocal", summary="1 / x"),
    elementwise("sqrt", "0.5 / out", c="sqrt(x)", ufunc="sqrt", domain=(0, INF), function="sqrt", cls="Sqrt",
                method="sqrt", summary="square root of x",
                slope_note="inf at 0; 0 when the incoming derivative is 0"),
    elementwise("rsqrt", "-0.5 * out / x", c="(T)1 / sqrt(x)", domain=(0, INF), function="rsqrt", cls="Rsqrt",
                method="rsqrt", summary="1 / sqrt(x)"),
    elementwise("pow", "absorb_mul(y, pow(x, y - 1))", "where(x == 0, 0, out * log(x))", takes_ints=True, ufunc="power",
                domain=((0, INF), (-INF, INF)), summary="x to the power y",
                slope_note="with respect to y: 0 at x = 0, nan below"),
    elementwise("abs", "sign(x)", c="fabs(x)", ufunc="absolute", keeps_ints=True, function="abs", cls="Abs",
                method="abs", summary="absolute value of x", slope_note="0 at 0"),
    elementwise("sign", None, c="(T)((x > 0) - (x < 0)) + (x != x ? x : (T)0)", ufunc="sign", function="sign",
                cls="Sign", method="sign", summary="-1, 0 or 1"),
    elementwise("maximum", "half_step(x, y)", "half_step(y, x)", takes_ints=True, c="((x > y) | (x != x)) ? x : y",
                ufunc="maximum", function="maximum", cls="Maximum", method="maximum",
                summary="the larger of x and y, nan if either is", slope_note="1/2 to each where x == y"),
    elementwise("minimum", "half_step(y, x)", "half_step(x, y)", takes_ints=True, c="((x < y) | (x != x)) ? x : y",
                ufunc="minimum", function="minimum", cls="Minimum", method="minimum",
                summary="the smaller of x and y, nan if either is", slope_note="1/2 to each where x == y"),
    elementwise("half_step", None, None, c="(x > y) ? (T)1 : ((x == y) ? (T)0.5 : (T)0)",
                summary="1 where x > y, 1/2 where x == y, 0 elsewhere"),
    elementwise("step", None, c="(x > 0) ? (T)1 : (T)0", summary="1 where x > 0, else 0"),
    elementwise("mod", "1", "-floor_divide(x, y)", takes_ints=True, ufunc="remainder", domain=((-INF, INF), (0, INF)), summary="remainder of x / y with the sign of y"),
    elementwise("fmod", "1", "-trunc(x / y)", takes_ints=True, ufunc="fmod", domain=((-INF, INF), (0, INF)),
                summary="remainder of x / y with the sign of x"),
    elementwise("floor_divide", None, None, ufunc="floor_divide", summary="floor(x / y)"),
)  # fmt: skip

EXPONENTIAL = (
    elementwise("exp", "out", ufunc="exp", function="exp", cls="Exp", method="exp", summary="e to the power x"),
    elementwise("expm1", "exp(x)", ufunc="expm1", function="expm1", cls="Expm1", method="expm1",
                summary="exp(x) - 1, exact near 0"),
    elementwise("exp2", "LN2 * out", ufunc="exp2", function="exp2", summary="2 to the power x"),
    elementwise("log", "reciprocal(x)", ufunc="log", domain=(0, INF), function="log", cls="Log", method="log",
                summary="natural logarithm of x"),
    elementwise("log1p", "reciprocal(1 + x)", ufunc="log1p", domain=(-1, INF), function="log1p", cls="Log1p",
                method="log1p", summary="log(1 + x), exact near 0"),
    elementwise("log2", "reciprocal(LN2 * x)", ufunc="log2", domain=(0, INF), function="log2", method="log2",
                summary="logarithm of x to base 2"),
    elementwise("log10", "reciprocal(LN10 * x)", ufunc="log10", domain=(0, INF), function="log10",
                method="log10", summary="logarithm of x to base 10"),
    elementwise("sigmoid", "out * sigmoid(-x)", c="dg_sigmoid(x)", function="sigmoid", cls="Sigmoid",
                method="sigmoid", summary="1 / (1 + exp(-x))"),
    elementwise("softplus", "sigmoid(x)", c="fmax(x, (T)0) + log1p(dg_exp_negative(-fabs(x))) + (x != x ? x : (T)0)",
                function="softplus", cls="Softplus", summary="log(1 + exp(x))"),
    elementwise("relu", "step(x)", c="(x > 0) ? x : ((x != x) ? x : (T)0)", function="relu", cls="ReLU",
                summary="max(x, 0)", slope_note="0 at 0"),
)  # fmt: skip

TRIGONOMETRIC = (
    elementwise("sin", "cos(x)", ufunc="sin", function="sin", cls="Sin", method="sin", summary="sine of x"),
    elementwise("cos", "-sin(x)", ufunc="cos", function="cos", cls="Cos", method="cos", summary="cosine of x"),
    elementwise("tan", "1 + out * out", ufunc="tan", domain=(-_PI2, _PI2), function="tan", cls="Tan",
                method="tan", summary="tangent of x"),
    elementwise("sinh", "cosh(x)", ufunc="sinh", function="sinh", cls="Sinh", method="sinh",
                summary="hyperbolic sine of x"),
    elementwise("cosh", "sinh(x)", ufunc="cosh", function="cosh", cls="Cosh", method="cosh",
                summary="hyperbolic cosine of x"),
    elementwise("tanh", "sech2(x)", ufunc="tanh", function="tanh", cls="Tanh", method="tanh",
                summary="hyperbolic tangent of x"),
    elementwise("sech2", "-2 * tanh(x) * out", c="dg_sech2(x)", summary="1 / cosh(x)**2, exact at every x"),
    elementwise("asin", "rsqrt(-((x - 1) * (x - -1)))", ufunc="arcsin", domain=(-1, 1), function="asin", cls="Asin",
                method="asin", summary="inverse sine of x"),
    elementwise("acos", "-rsqrt(-((x - 1) * (x - -1)))", ufunc="arccos", domain=(-1, 1), function="acos",
                cls="ACos", method="acos", summary="inverse cosine of x"),
    elementwise("atan", "reciprocal(1 + x * x)", ufunc="arctan", function="atan", cls="Atan", method="atan",
                summary="inverse tangent of x"),
    elementwise("atan2", "y / (x * x + y * y)", "-(x / (x * x + y * y))", ufunc="arctan2",
                function="atan2", cls="Atan2", method="atan2", summary="angle of the point with ordinate x and abscissa y"),
    elementwise("asinh", "rsqrt(x * x - -1)", ufunc="arcsinh", function="asinh", cls="Asinh", method="asinh",
                summary="inverse hyperbolic sine of x"),
    elementwise("acosh", "rsqrt(x - 1) * rsqrt(x - -1)", ufunc="arccosh", domain=(1, INF), function="acosh",
                cls="Acosh", method="acosh", summary="inverse hyperbolic cosine of x"),
    elementwise("atanh", "reciprocal((1 - x) * (1 + x))", ufunc="arctanh", domain=(-1, 1), function="atanh",
                cls="Atanh", method="atanh", summary="inverse hyperbolic tangent of x"),
    elementwise("hypot", "x / out", "y / out", ufunc="hypot", function="hypot", method="hypot",
                summary="sqrt(x*x + y*y) without overflow", slope_note="0 when the incoming derivative is 0"),
)  # fmt: skip

SPECIAL = (
    elementwise("erf", "TWO_OVER_SQRT_PI * exp(-(x * x))", c="erf(x)", function="erf", cls="Erf", method="erf",
                summary="error function"),
    elementwise("erfc", "-TWO_OVER_SQRT_PI * exp(-(x * x))", c="erfc(x)", function="erfc", cls="Erfc",
                method="erfc", summary="complementary error function"),
)  # fmt: skip

ROUNDING = (
    elementwise("floor", None, ufunc="floor", function="floor", cls="Floor", method="floor",
                summary="largest integer not above x"),
    elementwise("ceil", None, ufunc="ceil", function="ceil", cls="Ceil", method="ceil",
                summary="smallest integer not below x"),
    elementwise("trunc", None, ufunc="trunc", function="trunc", cls="Trunc", method="trunc",
                summary="x rounded towards 0"),
    elementwise("round", None, ufunc="rint", function="round", cls="Round", method="round",
                summary="x rounded to the nearest even integer"),
)  # fmt: skip


def _predicate(name: str, arity: int, ufunc: str, summary: str, **names: Any) -> Row:
    return elementwise(name, *(None,) * arity, ufunc=ufunc, result="bool", summary=summary, **names)


LOGICAL = (
    _predicate("gt", 2, "greater", "x > y", function="gt", cls="Greater", method="gt"),
    _predicate("ge", 2, "greater_equal", "x >= y", function="ge", cls="GreaterEqual", method="ge"),
    _predicate("lt", 2, "less", "x < y", function="lt", cls="Less", method="lt"),
    _predicate("le", 2, "less_equal", "x <= y", function="le", cls="LessEqual", method="le"),
    _predicate("eq", 2, "equal", "x == y", function="equal", cls="Equal", method="equal"),
    _predicate("ne", 2, "not_equal", "x != y", function="ne", cls="NotEqual", method="ne"),
    _predicate("logical_and", 2, "logical_and", "x and y", function="logical_and", cls="LogicalAnd",
               method="logical_and"),
    _predicate("logical_or", 2, "logical_or", "x or y", function="logical_or", cls="LogicalOr",
               method="logical_or"),
    _predicate("logical_xor", 2, "logical_xor", "x or y, not both", function="logical_xor",
               method="logical_xor"),
    _predicate("logical_not", 1, "logical_not", "not x", function="logical_not", cls="LogicalNot",
               method="logical_not"),
    _predicate("isnan", 1, "isnan", "whether x is nan", function="isnan", cls="IsNan", method="isnan"),
    _predicate("isinf", 1, "isinf", "whether x is infinite", function="isinf", method="isinf"),
    _predicate("isfinite", 1, "isfinite", "whether x is neither infinite nor nan", function="isfinite",
               cls="IsFinite", method="isfinite"),
    elementwise("bitwise_and", None, None, ufunc="bitwise_and", summary="bits of x and y"),
    elementwise("bitwise_or", None, None, ufunc="bitwise_or", summary="bits of x or y"),
    elementwise("bitwise_xor", None, None, ufunc="bitwise_xor", summary="bits of x or y, not both"),
    elementwise("bitwise_not", None, ufunc="invert", summary="bits of x inverted"),
)  # fmt: skip

ELEMENTWISE = (*ARITHMETIC, *EXPONENTIAL, *TRIGONOMETRIC, *SPECIAL, *ROUNDING, *LOGICAL)
