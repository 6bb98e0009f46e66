"""Choosing, gathering, scattering, segments: index tensors with repetitions and negative entries."""

import numpy as np

from cases import Case, normal, spread
from dualgrad import Tensor, ops

X = normal(2, 3, 4)
M = normal(3, 4)
BLOCK = normal(3, 4, 2)
V = normal(5)
MASK = np.array([[True, False, True, True], [False] * 4, [True] * 4])
EVERY = np.array([True, True, False])
ROWS = Tensor([2, 0, 2, -1])
POINTS = Tensor([[0, 1], [2, -1], [0, 1]])
ELEMENTS = Tensor([[0, 2], [1, 1], [-1, 0]])
TWICE = Tensor([[1], [0], [1], [1]])
SEGMENTS = Tensor([2, 0, 2, -1, 2])
BOTH = Tensor([[0, 1, 1], [1, -1, 3]])
FLAT = np.array([0.0, 2.0, 0.0, 3.0, -1.5])
HOLES = np.array([np.nan, 0.0, np.inf, 1.0, -np.inf])
TIES = np.array([3.0, 1.0, 3.0, 7.0, 3.0])


def case(operator, label, fn, *args):
    return Case(operator, label, fn, args)


def counted(operator, label, fn, *args):
    """A case whose shapes depend on the numbers, so that samples cannot share a call."""
    return Case(operator, label, fn, args, batched=False)


def corner(operator, label, fn, *args):
    return Case(operator, label, fn, args, smooth=False)


def callable_named(name):
    """A function of ops, or a primitive made without settings."""
    found = getattr(ops, name)
    return found() if isinstance(found, type) else found


def number(seed=0):
    return normal(1, seed=seed)[0]


COMPARISONS = (
    *("gt", "ge", "lt", "le", "equal", "ne"),
    *("Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual"),
)
CHOICE = [
    *[case(name, "", callable_named(name), M, normal(4)) for name in ("maximum", "Maximum", "minimum", "Minimum")],
    corner("maximum", "ties", ops.maximum, np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, -3.0])),
    corner("minimum", "ties", ops.minimum, np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, -3.0])),
    *[
        case(name, "as a mask", lambda x, y, f=f: ops.where(f(x, y), x * x, x * y), M, normal(4))
        for name in COMPARISONS
        for f in (callable_named(name),)
    ],
    *[
        case(name, "as a mask", lambda x, y, f=f: ops.where(f(x > 0, y > 0), x * x, x * y), M, normal(4))
        for name in ("logical_and", "logical_or", "LogicalAnd", "LogicalOr")
        for f in (callable_named(name),)
    ],
    *[
        case(name, "as a mask", lambda x, f=f: ops.where(f(x > 0), x * x, x), M)
        for name in ("logical_not", "LogicalNot")
        for f in (callable_named(name),)
    ],
    *[
        case(name, "as a mask", lambda x, f=f: ops.where(f(HOLES + x), x * x, x), V)
        for name in ("isnan", "IsNan", "isfinite", "IsFinite")
        for f in (callable_named(name),)
    ],
    case("where", "", lambda x, y: ops.where(MASK, x, y), M, normal(4)),
    case("where", "numbers", lambda x: ops.where(x > 0, x * x, 2.0), M),
    case("where", "not taken", lambda x: ops.where(EVERY, x, ops.sqrt(x)), np.array([0.0, -1.0, 4.0])),
    case("where", "method", lambda x, y: x.where(Tensor(MASK), y), M, number()),
    case("select", "", lambda x, y: ops.select(Tensor(MASK), x, y), M, normal(3, 4, seed=1)),
    case("Select", "", lambda x, y: ops.Select()(Tensor(MASK), x, y), M, normal(3, 4, seed=1)),
    case("masked_fill", "", lambda x, v: ops.masked_fill(x, Tensor(MASK), v), M, number()),
    case("MaskedFill", "", lambda x, v: ops.MaskedFill()(x, Tensor(MASK[0]), v), M, number()),
    case("masked_select", "", lambda x: ops.masked_select(x, Tensor(MASK)), M),
    counted("masked_select", "computed", lambda x: ops.masked_select(x, x > 0), M),
    case("masked_select", "broadcast", lambda x: ops.masked_select(x, Tensor(MASK)), normal(4)),
    case("MaskedSelect", "", lambda x: ops.MaskedSelect()(x, Tensor(MASK[0])), M),
    case("clamp", "", lambda x: ops.clamp(x, -0.5, 0.5), M),
    case("clamp", "tensors", ops.clamp, M, normal(4) - 1, normal(3, 1) + 1),
    corner("clamp", "at limits", lambda x: ops.clamp(x, -1.0, 1.0), np.array([-1.0, 0.0, 1.0, 2.0])),
    case("clip", "one", lambda x: ops.clip(x, max=0.1), M),
    case("clip_by_value", "", lambda x, y: ops.clip_by_value((x, [y]), -0.5, 0.5), M, V),
    counted("nonzero", "as an index", lambda x: x[ops.nonzero(x > 0, as_tuple=True)] ** 2, M),
    case("index_fill", "", lambda x, v: ops.index_fill(x, -1, Tensor([2, 0, 2]), v), M, number()),
]

GATHER = [
    case("gather", "", lambda x: ops.gather(x, ROWS, 0), M),
    case("gather", "matrix of indices", lambda x: ops.gather(x, ELEMENTS, 1), X),
    case("gather", "batches", lambda x: ops.gather(x, Tensor([[0, -1], [1, 1]]), 2, 1), X),
    case("gather", "method", lambda x: x.gather(ROWS, 0), M),
    case("Gather", "", lambda x: ops.Gather()(x, ROWS, -2), M),
    case("gather_d", "", lambda x: ops.gather_d(x, 1, ELEMENTS), M),
    case("GatherD", "", lambda x: ops.GatherD()(x, 0, ELEMENTS), M),
    case("gather_elements", "", lambda x: ops.gather_elements(x, dim=-1, index=ELEMENTS), M),
    case("gather_nd", "elements", lambda x: ops.gather_nd(x, POINTS), M),
    case("gather_nd", "rows", lambda x: ops.gather_nd(x, POINTS), normal(3, 2, 4)),
    case("GatherNd", "", lambda x: ops.GatherNd()(x, POINTS), M),
    case("index_select", "", lambda x: ops.index_select(x, 0, ROWS), M),
    case("take", "flat", lambda x: ops.take(x, ELEMENTS), M),
    case("take", "clip", lambda x: ops.take(x, Tensor([7, -9, 1]), 1, "clip"), M),
    case("take", "wrap", lambda x: ops.take(x, Tensor([7, -9, 1]), 1, "wrap"), M),
    case("slice", "", lambda x: ops.slice(x, (0, 1, 2), (-1, 2, 1)), X),
    case("Slice", "", lambda x: ops.Slice()(x, (1, 0), (2, 3)), M),
    case("strided_slice", "", lambda x: ops.strided_slice(x, (0, -1), (3, -5), (2, -1)), M),
    case("strided_slice", "masks", lambda x: ops.strided_slice(x, (1, 0, 1), (1, 2, 2), None, 1, 2, 0, 0, 4), X),
    case("StridedSlice", "", lambda x: ops.StridedSlice(new_axis_mask=1)(x, (0, 1), (1, 3), (1, 1)), M),
    case("one_hot", "", lambda a, b: ops.one_hot(ROWS, 3, a, b, 0), number(), number(1)),
    case("OneHot", "", lambda a, b: ops.OneHot()(ROWS, 4, a, b), number(), number(1)),
]

SCATTER = [
    case("scatter_nd", "elements", lambda u: ops.scatter_nd(POINTS, u, (3, 4)), normal(3)),
    case("scatter_nd", "rows", lambda u: ops.scatter_nd(POINTS, u, (3, 4, 2)), normal(3, 2)),
    case("ScatterNd", "", lambda u: ops.ScatterNd()(POINTS, u, (3, 4)), normal(3)),
    *[
        case(name, "", lambda x, u, f=f: f(x, POINTS, u), M, normal(3))
        for kind in ("add", "update", "sub", "mul", "div", "max", "min")
        for name in (f"tensor_scatter_{kind}", f"TensorScatter{kind.title()}")
        for f in (callable_named(name),)
    ],
    case("tensor_scatter_mul", "rows", lambda x, u: ops.tensor_scatter_mul(x, POINTS, u), BLOCK, M[:, :2]),
    case("tensor_scatter_max", "rows", lambda x, u: ops.tensor_scatter_max(x, POINTS, u), BLOCK, M[:, :2]),
    case("tensor_scatter_mul", "zeros", lambda x, u: ops.tensor_scatter_mul(x, TWICE, u), FLAT, FLAT[:4]),
    corner("tensor_scatter_max", "ties", lambda x, u: ops.tensor_scatter_max(x, TWICE, u), TIES, TIES[1:]),
    case("scatter", "", lambda x, u: ops.scatter(x, 1, ELEMENTS, u), M, normal(3, 2)),
    case("scatter", "one number", lambda x, u: ops.scatter(x, 0, ELEMENTS, u), M, number()),
    case("scatter_add", "", lambda x, u: ops.scatter_add(x, 1, ELEMENTS, u), M, normal(3, 3)),
    *[
        case("tensor_scatter_elements", kind,
             lambda x, u, k=kind: ops.tensor_scatter_elements(x, ELEMENTS, u, 1, k), M, normal(3, 2))
        for kind in ("none", "add")
    ],
    case("index_add", "", lambda x, y: ops.index_add(x, ROWS, y, 0), M, normal(4, 4)),
    case("IndexAdd", "", lambda x, y: ops.IndexAdd(1)(x, Tensor([0, 0]), y), M, normal(3, 2)),
]  # fmt: skip

SEGMENTED = [
    one
    for name in ("sum", "max", "min")
    for function in (f"unsorted_segment_{name}", f"UnsortedSegment{name.title()}")
    for f in (callable_named(function),)
    for one in (
        case(function, "vector", lambda x, f=f: f(x, SEGMENTS, 4)[::2], spread(5)),
        case(function, "rows", lambda x, f=f: f(x, SEGMENTS, 3)[2], spread(5, 2)),
        case(function, "two axes", lambda x, f=f: f(x, BOTH, 4)[0:2], spread(2, 3, 2)),
        corner(function, "ties", lambda x, f=f: f(x, SEGMENTS, 3)[2], TIES),
    )
]

CASES = [*CHOICE, *GATHER, *SCATTER, *SEGMENTED]
