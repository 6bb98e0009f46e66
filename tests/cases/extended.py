"""Primitives defined with dualgrad.extend, by each way of stating one."""

import numpy as np

from cases import Case, normal, positive
from dualgrad import extend, ops

SINGLE = ("float32",)  # numpy.linalg has no float16

bell = extend.elementwise("case_bell", lambda x: np.exp(-x * x), "-2 * x * out")
ratio = extend.elementwise("case_ratio", np.divide, "1 / y", "-(out / y)")
reverse = extend.linear("case_reverse", lambda x: x[..., ::-1].copy(), lambda ct, x: reverse(ct), core=(1,))
product = extend.bilinear(
    "case_product",
    np.matmul,
    (lambda ct, x, y: product(ct, ops.swapaxes(y, -1, -2)), lambda ct, x, y: product(ops.swapaxes(x, -1, -2), ct)),
    core=(2, 2),
)
forwards = extend.primitive("case_inverse_jvp", np.linalg.inv, jvp=(lambda dx, out, x: -(out @ dx @ out),), core=(2,))
backwards = extend.primitive(
    "case_inverse_vjp", np.linalg.inv, vjp=lambda ct, out, x: -(ops.swapaxes(out, 0, 1) @ ct @ ops.swapaxes(out, 0, 1))
)
solve = extend.primitive(
    "case_solve",
    np.linalg.solve,
    arity=2,
    residual=lambda out, a, b: b - a @ out,
    correction=lambda r, out, a, b: solve(a, r),
    vjp=lambda ct, out, a, b: (-(solve(a.T, ct) @ out.T), solve(a.T, ct)),
)
scaled = extend.primitive(
    "case_scaled_sine",
    lambda x, scale: np.sin(scale * x),
    jvp=(lambda dx, out, x, scale: dx * scale * ops.cos(scale * x),),
    core=(0,),
)


def kepler_by_newton(m, e):
    x = m + 0 * e
    for _ in range(40):
        x = x - (x - e * np.sin(x) - m) / (1 - e * np.cos(x))
    return x


kepler = extend.primitive(
    "case_kepler",
    kepler_by_newton,
    arity=2,
    residual=lambda out, m, e: m - (out - e * ops.sin(out)),
    correction=lambda r, out, m, e: r / (1.0 - e * ops.cos(out)),
)

CASES = [
    Case("elementwise", "function of arrays", bell, (normal(2, 3),)),
    Case("elementwise", "ufunc of two operands", ratio, (normal(2, 1), positive(3))),
    Case("linear", "", reverse, (normal(2, 3),)),
    Case("bilinear", "", product, (normal(2, 3), normal(3, 2))),
    Case("primitive", "jvp alone", forwards, (normal(3, 3) + 3 * np.eye(3),), narrow=SINGLE),
    Case("primitive", "vjp alone", backwards, (normal(3, 3) + 3 * np.eye(3),), narrow=SINGLE),
    Case("primitive", "of two operands", solve, (normal(3, 3) + 3 * np.eye(3), normal(3, 2)), narrow=SINGLE),
    Case("primitive", "by a residual alone", kepler, (normal(3), positive(3) * 0.1), narrow=SINGLE),
    Case("primitive", "with a setting", lambda x: scaled(x, scale=2.0), (normal(3),)),
]
