"""Complex numbers: functions of their real and imaginary parts, analytic and not."""

from cases import Case, normal, positive
from dualgrad import ops

PARTS = ("float32",)  # there are no complex numbers of two float16


def of_parts(f):
    """A complex function as a real one: of the parts of its operands, with the parts of its result."""

    def parts(*args):
        z = [ops.complex(x, y) for x, y in zip(args[::2], args[1::2], strict=True)]
        out = f(*z)
        return ops.view_as_real(out) if out.dtype.is_complex else out

    return parts


def case(operator, f, label="", count=1, shape=(3,), **rest):
    args = tuple(part(*shape, seed=k) for k in range(count) for part in (positive, normal))
    return Case(operator, label or "complex", of_parts(f), args, narrow=PARTS, **rest)


ANALYTIC = [
    "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "square", "reciprocal", "sigmoid", "sin",
    "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "neg",
]  # fmt: skip

CASES = [
    *[case(name, getattr(ops, name)) for name in ANALYTIC],
    *[case(name, getattr(ops, name), count=2) for name in ("add", "sub", "mul", "div", "pow", "xlogy", "xdivy")],
    *[case(name, getattr(ops, name)) for name in ("real", "imag", "conj", "abs", "angle", "sgn", "sign")],
    case("abs", lambda z: ops.abs(z - z[1]), "one is 0", smooth=False),
    case("angle", lambda z: ops.angle(z - z[1]), "one is 0", smooth=False),
    case("sgn", lambda z: ops.sgn(z - z[1]), "one is 0", smooth=False),
    case("sqrt", lambda z: ops.sqrt(-z), "left half-plane"),
    case("acosh", lambda z: ops.acosh(-z), "left half-plane"),
    case("pow", lambda z: z**3, "to a whole number"),
    case("pow", lambda z: z**-0.5, "to a fraction"),
    case("pow", lambda z: z ** (0.5 - 1j), "to a complex number"),
    case("pow", lambda z: (z - z[1]) ** 3, "one is 0"),
    case("matmul", ops.matmul, "complex", 2, (2, 2)),
    case("matmul", lambda z: ops.adjoint(z) @ z, "with the adjoint", 1, (3, 2)),
    case("sum", lambda z: ops.sum(z, 0), "complex", 1, (3, 2)),
    case("mean", lambda z: ops.mean(z, 1), "complex", 1, (3, 2)),
    case("prod", ops.prod, "complex"),
    case("cumsum", lambda z: ops.cumsum(z, 0), "complex"),
    case("where", lambda z, w: ops.where(ops.real(z) > 1.0, z, w), "complex", 2),
    case("gather", lambda z: z[[2, 0, 2]], "complex"),
    case("slice", lambda z: z[::-2], "complex"),
    case("cat", lambda z, w: ops.cat((z, ops.conj(w)), 0), "complex", 2),
    case("reshape", lambda z: ops.reshape(ops.transpose(z, (1, 0)), (6,)), "complex", 1, (3, 2)),
    case("norm", ops.norm, "complex"),
    case("norm", lambda z: ops.norm(z, 3, 1), "complex, of order 3", 1, (2, 3)),
    case("norm", lambda z: ops.norm(z * 0.0), "complex, of zeros", smooth=False),
    case("var", lambda z: ops.var(z, 0), "complex", 1, (3, 2)),
    case("std", ops.std, "complex"),
    Case("polar", "", lambda r, a: ops.view_as_real(ops.polar(r, a)), (positive(3), normal(3)), narrow=PARTS),
    Case("complex", "broadcast", lambda x, y: ops.view_as_real(ops.complex(x, y)), (normal(2, 1), normal(3)),
         narrow=PARTS),
    Case("complex", "a real beside a complex operand", lambda t, x: ops.real(ops.exp(1j * t) * ops.complex(x, t) / x),
         (normal(3), positive(3)), narrow=PARTS),
    Case("view_as_complex", "", lambda x: ops.view_as_real(ops.exp(ops.view_as_complex(x))), (normal(2, 2),),
         narrow=PARTS),
    Case("view_as_complex", "of a transpose", lambda x: ops.real(ops.exp(ops.view_as_complex(ops.t(x)))),
         (normal(2, 3),), narrow=PARTS),
]  # fmt: skip
