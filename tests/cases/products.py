"""Products of matrices and vectors, diagonals and triangles, and the sums and products that MindSpore has names for."""

from cases import Case, normal, positive
from dualgrad import ops


def case(name, label, *shapes, **settings):
    args = tuple(normal(*shape, seed=k) for k, shape in enumerate(shapes))
    return Case(name, label, lambda *xs: getattr(ops, name)(*xs, **settings), args)


def with_settings(cls, label, *shapes, **settings):
    args = tuple(normal(*shape, seed=k) for k, shape in enumerate(shapes))
    return Case(cls, label, getattr(ops, cls)(**settings), args)


CASES = [
    case("matmul", "matrices", (2, 3), (3, 4)),
    case("matmul", "stacks that broadcast", (2, 1, 2, 3), (3, 3, 2)),
    case("matmul", "vectors", (3,), (3,)),
    case("matmul", "vector and stack", (3,), (2, 3, 2)),
    case("matmul", "stack and vector", (2, 2, 3), (3,)),
    case("matmul", "vector and matrix", (2,), (2, 3)),
    Case("matmul", "a matrix with itself", lambda x: x @ x, (normal(3, 3),)),
    Case("matmul", "a matrix with its transpose", lambda x: x.T @ x, (normal(2, 3),)),
    case("matmul", "one column", (3, 1), (1, 2)),
    *[with_settings("MatMul", f"transposed {a} {b}", (3, 2) if a else (2, 3), (2, 3) if b else (3, 2),
                    transpose_a=a, transpose_b=b) for a in (False, True) for b in (False, True)],
    *[with_settings("BatchMatMul", f"transposed {a} {b}", (2, 3, 2) if a else (2, 2, 3), (2, 2, 3) if b else (2, 3, 2),
                    transpose_a=a, transpose_b=b) for a in (False, True) for b in (False, True)],
    case("mm", "", (2, 3), (3, 2)),
    case("mv", "", (2, 3), (3,)),
    case("bmm", "", (2, 2, 3), (2, 3, 2)),
    case("dot", "vectors", (3,), (3,)),
    case("dot", "stacks", (2, 2, 3), (2, 3, 2)),
    case("dot", "stack and vector", (2, 2, 3), (3,)),
    case("dot", "number and matrix", (), (2, 2)),
    case("inner", "vectors", (3,), (3,)),
    case("inner", "stacks", (2, 3), (2, 1, 3)),
    case("inner", "matrix and number", (2, 2), ()),
    case("outer", "", (2,), (3,)),
    case("ger", "", (3,), (2,)),
    case("tensor_dot", "two axes", (2, 3, 2), (3, 2, 2), axes=2),
    case("tensor_dot", "no axes", (2,), (3,), axes=0),
    case("tensor_dot", "pairs of axes", (2, 3, 2), (2, 2, 3), axes=((1, -1), (2, 0))),
    case("addmm", "", (2, 2), (2, 3), (3, 2), beta=0.5, alpha=2.0),
    case("addmm", "input broadcasts", (2,), (2, 3), (3, 2)),
    case("addmv", "", (2,), (2, 3), (3,), beta=3, alpha=-1.0),
    case("baddbmm", "", (2, 2, 2), (2, 2, 3), (2, 3, 2), beta=0, alpha=0.5),
    Case("addmm", "weights are tensors", lambda c, a, b, s, t: ops.addmm(c, a, b, beta=s, alpha=t),
         (normal(2, 2), normal(2, 3), normal(3, 2), normal(), normal(seed=1))),
    case("trace", "", (3, 3)),
    case("trace", "above the diagonal of a stack", (2, 3, 2), offset=1, axis1=-1, axis2=1),
    case("diag", "of a matrix", (3, 2)),
    case("diag", "to a matrix", (3,)),
    case("diagonal", "", (3, 4)),
    case("diagonal", "below, of other axes", (3, 2, 3), offset=-1, dim1=2, dim2=0),
    *[case(name, f"diagonal {k}", (3, 4), diagonal=k) for name in ("tril", "triu") for k in (-1, 0, 1)],
    case("tril", "stack", (2, 2, 2)),
    Case("addcmul", "", lambda x, a, b: ops.addcmul(x, a, b, 0.5), (normal(2, 3), normal(3), normal(2, 1))),
    Case("addcdiv", "", lambda x, a, b: ops.addcdiv(x, a, b, 0.5), (normal(2, 3), normal(3), positive(2, 1))),
    Case("addn", "", lambda *xs: ops.addn(xs), (normal(2, 2), normal(2, 2, seed=1), normal(2, 2, seed=2))),
    Case("addn", "one tensor twice", lambda x: ops.addn([x, x * x, x]), (normal(3),)),
    Case("lerp", "a number as weight", lambda x, y: ops.lerp(x, y, 0.3), (normal(3), normal(3, seed=1))),
    Case("lerp", "a tensor as weight", ops.lerp, (normal(2, 3), normal(2, 3, seed=1), normal(2, 3, seed=2))),
    Case("AddN", "", lambda x, y: ops.AddN()((x, y)), (normal(3), normal(3, seed=1))),
    Case("Lerp", "", ops.Lerp(), (normal(3), normal(3, seed=1), normal(3, seed=2))),
    Case("Ger", "", ops.Ger(), (normal(2), normal(3))),
    Case("Trace", "", ops.Trace(), (normal(3, 3),)),
]  # fmt: skip
