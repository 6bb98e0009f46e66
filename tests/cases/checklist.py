"""Operators on the whole of their domain: every shape that broadcasts, special values, every kind of index.

The other modules list what is particular about an operator; here each family is run through one list of points.
"""

import itertools

import numpy as np

from cases import Case, normal, positive, spread
from dualgrad import Tensor, ops

SHAPES = [(), (1,), (2, 3)]


def between(low: float, high: float, *shape: int, seed: int = 0) -> np.ndarray:
    return low + (high - low) * (positive(*shape, seed=seed) - 0.5) / 1.5


# --------------------------------------------------------------------------------------- functions of one element

# name: (range of the argument, points at which a formula may change or lose digits)
UNARY = {
    "abs": ((0.1, 4.0), [-2.0]),
    "acos": ((-0.9, 0.9), [0.0]),
    "acosh": ((1.1, 4.0), [100.0]),
    "asin": ((-0.9, 0.9), [0.0]),
    "asinh": ((-0.9, 0.9), [0.0, 100.0, -100.0]),
    "atan": ((-2.0, 2.0), [0.0, 1000.0]),
    "atanh": ((-0.9, 0.9), [0.0]),
    "ceil": ((-1.4, -1.1), [0.25]),
    "cos": ((-2.0, 2.0), [0.0, np.pi / 4, np.pi / 2, np.pi]),
    "cosh": ((-2.0, 2.0), [0.0]),
    "deg2rad": ((-2.0, 2.0), [180.0]),
    "erf": ((-3.0, 3.0), [0.0, 10.0]),
    "erfc": ((-3.0, 3.0), [0.0, 10.0]),
    "exp": ((-2.0, 2.0), [0.0, -30.0]),
    "exp2": ((-2.0, 2.0), [0.0]),
    "expm1": ((-2.0, 2.0), [0.0, 1e-9]),
    "floor": ((-1.4, -1.1), [0.25]),
    "frac": ((-1.4, -1.1), [0.25]),
    "log": ((0.2, 2.0), [1.0, 100.0]),
    "log10": ((0.2, 2.0), [1.0]),
    "log1p": ((-0.5, 2.0), [0.0, 1e-9]),
    "log2": ((0.2, 2.0), [1.0]),
    "neg": ((-2.0, 2.0), [0.0]),
    "rad2deg": ((-0.02, 0.02), [0.0]),
    "reciprocal": ((0.3, 2.0), [-0.5]),
    "round": ((-1.4, -1.1), [0.25]),
    "rsqrt": ((0.5, 5.0), [100.0]),
    "sigmoid": ((-4.0, 5.0), [0.0, -40.0, 40.0]),
    "sign": ((0.1, 2.0), [-1.0]),
    "silu": ((-2.0, 2.0), [0.0]),
    "sin": ((-2.0, 2.0), [0.0, np.pi / 4, np.pi / 2, np.pi]),
    "sinh": ((-2.0, 2.0), [0.0]),
    "softplus": ((-2.0, 2.0), [0.0, -40.0, 40.0]),
    "sqrt": ((0.5, 5.0), [100.0]),
    "square": ((-2.0, 2.0), [0.0]),
    "tan": ((-1.1, 1.1), [0.0]),
    "tanh": ((-2.0, 2.0), [0.0, 40.0, -40.0]),
    "trunc": ((-1.4, -1.1), [0.25]),
}
ELEMENTS = [
    Case(name, f"of shape {shape}", getattr(ops, name), (between(*limits, *shape),))
    for name, (limits, _) in UNARY.items()
    for shape in SHAPES
]
POINTS = [
    Case(name, "at special values", getattr(ops, name), (np.array(points),), narrow=("float32",))
    for name, (_, points) in UNARY.items()
]
WHOLE_POWERS = [
    Case("pow", f"to the power {n}", lambda x, n=n: x**n, (np.array([0.0, 0.7, -1.3]),), narrow=("float32",))
    for n in (0, 1, 2, 3, 4, 5, 0.0, 2.0)
] + [
    Case("pow", f"to the power {n}", lambda x, n=n: x**n, (np.array([0.5, 0.7, 1.3]),), narrow=("float32",))
    for n in (-1, -2, 0.5, 1.5, -0.5)
]


# ------------------------------------------------------------------------------------ functions of two elements

PAIRS = [
    *[((), ()), ((), (3,)), ((3,), ()), ((3,), (3,)), ((1,), (3,)), ((2, 3), (3,)), ((2, 1), (3,)), ((2, 3), (2, 1))],
    *[((1, 3), (2, 1)), ((), (2, 3)), ((2, 1, 2), (2, 3, 2)), ((0, 3), (1, 3)), ((2, 3), (1, 1))],
]
BINARY = {
    "add": (normal, normal),
    "sub": (normal, normal),
    "mul": (normal, normal),
    "div": (normal, positive),
    "maximum": (spread, normal),
    "minimum": (spread, normal),
    "atan2": (normal, positive),
    "hypot": (normal, positive),
    "pow": (positive, normal),
    "remainder": (normal, positive),
    "fmod": (normal, positive),
    "floor_mod": (normal, positive),
    "xlogy": (normal, positive),
}
BROADCAST = [
    Case(name, f"shapes {a} and {b}", getattr(ops, name), (first(*a, seed=3), second(*b, seed=4)))
    for name, (first, second) in BINARY.items()
    for a, b in PAIRS
]
SIGNS = [
    Case(name, label, getattr(ops, name), (x, y), narrow=("float32",))
    for name in ("div", "remainder", "fmod", "floor_mod")
    for label, x, y in [
        ("negative divisors", normal(4, seed=5), -positive(4, seed=6)),
        ("both negative", -positive(4, seed=7), -positive(4, seed=8)),
    ]
] + [
    Case("pow", "second derivative at the exponent 0", ops.pow, (np.array([4.0, 0.3]), np.zeros(2))),
    Case(
        "where",
        "a condition of fewer axes",
        lambda x, y: ops.where(Tensor([True, False, True]), x, y),
        (normal(2, 3), normal(3)),
    ),
    Case("mul", "the same tensor twice", lambda x: x * x, (normal(2, 3),)),
    # the derivatives are zero, by cancellation
    Case("div", "the same tensor twice", lambda x: x / x, (positive(2, 3),), narrow=()),
    Case("maximum", "the same tensor twice", lambda x: ops.maximum(x, x), (normal(2, 3),)),
    Case("remainder", "of a number", lambda x: 5.0 % x, (positive(3),)),
    Case("clamp", "between tensors", ops.clamp, (normal(2, 3), normal(2, 3) - 10.0, normal(2, 3) + 10.0)),
    Case("clamp", "below the lower limit", lambda x, y: ops.clamp(x, y, y + 20.0), (normal(2, 3), normal(2, 3) + 10.0)),
]


# ------------------------------------------------------------------------------------------------- reductions

AXES = [None, 0, 2, -1, (1, 2), (0, 2), (0, 1, 2), (-1, 0)]
REDUCTIONS = (
    [
        Case(
            name,
            f"over {axis}{', kept' if keepdims else ''}",
            lambda x, f=f, a=axis, k=keepdims: f(x, axis=a, keepdims=k),
            (x,),
        )
        for name, f, x in [
            ("sum", ops.sum, normal(2, 3, 2)),
            ("mean", ops.mean, normal(2, 3, 2)),
            ("prod", ops.prod, normal(2, 3, 2)),
            ("amax", ops.amax, spread(2, 3, 2)),
            ("amin", ops.amin, spread(2, 3, 2)),
            ("logsumexp", ops.logsumexp, normal(2, 3, 2)),
            ("var", ops.var, normal(2, 3, 2)),
            ("std", ops.std, normal(3, 4, 3)),  # of two numbers it is a straight line
        ]
        for axis, keepdims in itertools.product(AXES, (False, True))
    ]
    + [Case(name, "a single number", getattr(ops, name), (normal(),)) for name in ("sum", "mean", "prod", "logsumexp")]
    + [
        Case(name, "an axis of length 0", lambda x, n=name: getattr(ops, n)(x, axis=1), (np.zeros((3, 0, 2)),))
        for name in ("sum", "prod")
    ]
    + [
        Case(name, f"an axis of length 1{label}", lambda x, n=name: getattr(ops, n)(x, axis=1), (normal(*shape),))
        for name in ("sum", "mean", "prod", "amax", "amin", "logsumexp", "var")
        for shape, label in [((3, 1), ""), ((3, 1, 2), " between others")]
    ]
    + [
        Case(name, f"ddof {n}", lambda x, f=name, n=n: getattr(ops, f)(x, axis=1, ddof=n), (normal(3, 4),))
        for name in ("var", "std")
        for n in (0, 1, 2)
    ]
    + [Case("cumsum", f"axis {axis}", lambda x, a=axis: ops.cumsum(x, a), (normal(2, 3, 2),)) for axis in (0, 1, 2, -1)]
    + [
        Case("cumprod", f"axis {axis}", lambda x, a=axis: ops.cumprod(x, a), (normal(2, 3, 2),))
        for axis in (0, 1, 2, -1)
    ]
)


# --------------------------------------------------------------------------------------------------- indexing

FIELD = normal(4, 3, 5)
INDICES = {
    "ints": np.s_[3, 0, 1],
    "one int": np.s_[-1],
    "slices": np.s_[::-1, 1:3, :],
    "slices with steps": np.s_[1:4:2, ::2, -2::-2],
    "an empty slice": np.s_[2:2, 1:],
    "a list": np.s_[[0, 1, 2], :, :],
    "a list with the same index again": np.s_[[0, 0, 2, 0]],
    "negative indices": np.s_[[-1, -2]],
    "two lists": np.s_[[0, 2], [1, 0]],
    "two lists apart": np.s_[[0, 2], :, [1, 3]],
    "an int, a slice, a list": np.s_[3, 1:, [1, 3]],
    "a list between slices": np.s_[:, [0, 2, 2], ::2],
    "a matrix of indices": np.s_[:, np.array([[0, 1], [2, 2]])],
    "lists that broadcast": np.s_[np.array([[0], [3]]), np.array([0, 2])],
    "None": np.s_[None, :, 1, None],
    "Ellipsis": np.s_[..., 2],
    "Ellipsis and a list": np.s_[..., [4, 0]],
    "a mask of rows": np.s_[np.array([True, False, True, True])],
    "a mask of everything": np.s_[FIELD > 0.3],
    "a mask of the last axis": np.s_[:, 1, np.array([True, False, True, True, False])],
    "a mask that is false": np.s_[np.zeros(4, bool)],
}
READ = [Case("getitem", label, lambda x, i=index: x[i], (FIELD,)) for label, index in INDICES.items()] + [
    Case("getitem", "overlapping slices", lambda x: x[::-1, :2] + x[:, 1:], (FIELD,)),
    Case("getitem", "a slice of a slice", lambda x: x[2:6][1:3], (normal(7),)),
    Case("getitem", "halves multiplied", lambda x: x[:2] @ x[2:], (normal(4),)),
    Case("getitem", "a scalar", lambda x: x[()] * x[None] * x[...], (normal(),)),
    Case("getitem", "a computed index", lambda x, y: x[ops.argsort(y)], (normal(3, 2), spread(3))),
]


def write(index):
    def f(x, y):
        z = x * 1.0
        z[index] = y
        return z * x

    return f


ONCE = [
    name
    for name in INDICES
    if "again" not in name and "2, 2" not in str(INDICES[name]) and name != "a matrix of indices"
]
WRITTEN = [
    Case("setitem", label, write(INDICES[label]), (FIELD, normal(*FIELD[INDICES[label]].shape, seed=9)))
    for label in ONCE
    if label != "a list between slices"
] + [
    Case("setitem", "one number everywhere", write(np.s_[1:, 0]), (FIELD, normal())),
    Case("setitem", "a row that is repeated", write(np.s_[1:, :2]), (FIELD, normal(5))),
    Case("setitem", "a constant", lambda x: write(np.s_[..., 0])(x, 2.0), (FIELD,)),
    Case("setitem", "the diagonal", write((np.arange(3), np.arange(3))), (normal(3, 3), normal(3))),
]


# ------------------------------------------------------------------------------------------------ shapes, joins

MOVED = (
    [
        Case("transpose", f"to {axes}", lambda x, a=axes: ops.transpose(x, a), (normal(2, 3, 4),))
        for axes in itertools.permutations(range(3))
    ]
    + [
        Case("reshape", f"{a} to {b}", lambda x, b=b: ops.reshape(x, b), (normal(*a),))
        for a, b in [
            ((3, 4), (12,)),
            ((2, 1, 4), (8,)),
            ((2, 2, 4), (2, 8)),
            ((), (1, 1)),
            ((1,), ()),
            ((2, 6), (-1, 3)),
            ((0, 3), (3, 0)),
        ]
    ]
    + [
        Case(
            "reshape",
            f"of a transpose {order}",
            lambda x, o=order: ops.reshape(ops.transpose(x, o), (2, 8)),
            (normal(2, 2, 4),),
        )
        for order in [(0, 2, 1), (2, 0, 1)]
    ]
    + [
        Case("broadcast_to", f"{a} to {b}", lambda x, b=b: ops.broadcast_to(x, b), (normal(*a),))
        for a, b in [
            ((), (2, 3)),
            ((3,), (2, 3)),
            ((2, 1), (2, 3)),
            ((2, 3), (1, 2, 2, 3)),
            ((1, 1), (3, 2)),
            ((1,), (0,)),
        ]
    ]
    + [
        Case(
            "cat",
            f"of {n} along {axis}",
            lambda *xs, a=axis: ops.cat(xs, axis=a),
            tuple(normal(*[k if d == axis % 3 else m for d, m in enumerate((2, 3, 2))], seed=k) for k in sizes),
        )
        for axis in (0, 1, -1)
        for n, sizes in [("one", [2]), ("three", [3, 1, 4]), ("two, one of them empty", [2, 0])]
    ]
    + [
        Case(
            "cat",
            "the same tensor and a constant",
            lambda x: ops.cat((x, Tensor(np.ones((1, 2)), x.dtype), x), 0),
            (normal(2, 2),),
        ),
        Case("stack", "the same tensor twice", lambda x: ops.stack((x, x * 2.0, x), 1), (normal(2, 2),)),
        Case("split", "uneven", lambda x: list(ops.split(x, [1, 3], 1)), (normal(2, 4),)),
        Case("tensor", "of numbers", lambda x: ops.stack((x, x * 1.0, x + 2.5)) * ops.stack((x, x, x)), (normal(),)),
        Case("squeeze", "a middle axis", ops.squeeze, (normal(2, 1, 3),)),
    ]
    + [
        Case(name, f"offset {k} of {shape}", lambda x, f=name, k=k: getattr(ops, f)(x, k), (normal(*shape),))
        for name in ("tril", "triu", "diagonal", "trace")
        for k in (-2, -1, 0, 1, 2)
        for shape in [(3, 3), (4, 3), (3, 4)]
    ]
    + [
        Case("diag", f"offset {k} of {shape}", lambda x, k=k: ops.diag(x, k), (normal(*shape),))
        for k in (-1, 0, 2)
        for shape in [(3,), (4, 3)]
    ]
    + [
        Case("trace", "more axes", ops.trace, (normal(3, 4, 2),)),
        Case("diagonal", "the last two axes", lambda x: ops.diagonal(x, 0, -1, -2), (normal(2, 3, 4),)),
        Case("tril", "of a stack", lambda x: ops.tril(x, 1), (normal(2, 3, 4),)),
        Case("repeat_interleave", "once", lambda x: ops.repeat_interleave(x, 1, 1), (normal(2, 3),)),
        Case("repeat_interleave", "rows twice", lambda x: ops.repeat_interleave(x, 2, 0), (normal(2, 3),)),
    ]
)


# --------------------------------------------------------------------------------------------------- products

VECTORS = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((3, 2, 3), (3,)),
    ((3,), (2, 3, 4)),
    ((2, 1, 2, 3), (3, 3, 1)),
    ((2, 0), (0, 3)),
    ((3, 2, 2), (2, 0)),
    ((3, 2, 0), (0, 2)),
    ((0, 2, 2), (2, 3)),
    ((0, 2), (2, 3)),
]
PRODUCTS = (
    [Case("matmul", f"{a} and {b}", ops.matmul, (normal(*a), normal(*b, seed=1))) for a, b in VECTORS]
    + [
        Case("matmul", "of a tensor and itself", lambda x: x @ x, (normal(3, 3),)),
        Case("matmul", "of a tensor and its transpose", lambda x: x @ x.T, (normal(2, 3),)),
    ]
    + [
        Case(
            "tensor_dot",
            f"{a} and {b} over {axes}",
            lambda x, y, n=axes: ops.tensor_dot(x, y, n),
            (normal(*a), normal(*b, seed=1)),
        )
        for a, b, axes in [
            ((1, 3), (3,), ((1,), (0,))),
            ((2, 3, 2), (3, 4, 2), ((1,), (0,))),
            ((3, 1), (1, 3), ((0,), (1,))),
            ((2, 3), (1, 2, 3), ((0, 1), (1, 2))),
            ((2, 3), (2, 2, 3), ((1, 0), (2, 1))),
            ((4, 2, 2), (2, 2, 3), 2),
            ((2, 2), (2, 2), 1),
            ((2,), (3,), 0),
        ]
    ]
    + [
        Case(
            "einsum",
            pattern,
            lambda *xs, p=pattern: ops.einsum(p, *xs),
            tuple(normal(*s, seed=k) for k, s in enumerate(shapes)),
        )
        for pattern, *shapes in [
            ("ij->ji", (2, 3)),
            ("ij,jk->ik", (2, 3), (3, 4)),
            ("ijk,lji->lki", (2, 3, 4), (2, 3, 2)),
            ("...jk,...lj->...lk", (2, 3, 4), (2, 4, 3)),
            ("...,...->...", (2, 3), (2, 3)),
            ("ijk,lji,lli->lki", (2, 3, 2), (2, 3, 2), (2, 2, 2)),
            ("ii->i", (3, 3)),
            ("ii", (3, 3)),
            ("ij->", (2, 3)),
            ("i,j->ij", (2,), (3,)),
            ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
            ("kij,jlk->kil", (2, 3, 2), (2, 3, 2)),
            ("i,i", (3,), (3,)),
            ("ij,ij,ij->i", (2, 3), (2, 3), (2, 3)),
        ]
    ]
    + [
        Case("einsum", "with itself", lambda x: ops.einsum("ij,kj->ik", x, x), (normal(2, 3),)),
        Case("dot", "matrices", ops.dot, (normal(2, 3), normal(3, 2))),
        Case("inner", "matrices", ops.inner, (normal(2, 3), normal(4, 3))),
        Case("outer", "vectors", ops.outer, (normal(2), normal(3))),
        Case("ger", "vectors", ops.ger, (normal(2), normal(3))),
        Case("mv", "", ops.mv, (normal(2, 3), normal(3))),
        Case("mm", "", ops.mm, (normal(2, 3), normal(3, 2))),
        Case("bmm", "", ops.bmm, (normal(2, 2, 3), normal(2, 3, 2))),
        Case(
            "addmm",
            "broadcast",
            lambda x, a, b: ops.addmm(x, a, b, beta=0.5, alpha=2.0),
            (normal(3), normal(2, 3), normal(3, 3)),
        ),
        Case(
            "addmv", "", lambda x, a, b: ops.addmv(x, a, b, beta=0.5, alpha=2.0), (normal(2), normal(2, 3), normal(3))
        ),
        Case("baddbmm", "", ops.baddbmm, (normal(2, 2, 2), normal(2, 2, 3), normal(2, 3, 2))),
        Case(
            "addcmul", "broadcast", lambda x, y, z: ops.addcmul(x, y, z, 0.5), (normal(2, 3), normal(3), normal(2, 1))
        ),
        Case(
            "addcdiv", "broadcast", lambda x, y, z: ops.addcdiv(x, y, z, 0.5), (normal(2, 3), normal(3), positive(2, 1))
        ),
        Case("lerp", "three tensors", ops.lerp, (normal(2, 3), normal(3), positive(2, 1))),
    ]
)

CASES = [
    *ELEMENTS,
    *POINTS,
    *WHOLE_POWERS,
    *BROADCAST,
    *SIGNS,
    *REDUCTIONS,
    *READ,
    *WRITTEN,
    *MOVED,
    *PRODUCTS,
]
