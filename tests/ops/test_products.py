"""Products of matrices and vectors: values against NumPy, methods, types and errors (derivatives: tests/cases)."""

import numpy as np
from support import assert_raises, f32, f64

from dualgrad import Tensor, ops

RNG = np.random.default_rng(2)


def arrays(*shapes):
    return [RNG.standard_normal(shape) for shape in shapes]


A, B, C, V, W = arrays((2, 3), (3, 4), (2, 4), (3,), (2,))
S, R, Q = arrays((5, 2, 3), (5, 3, 4), (5, 2, 4))
SQUARE, CUBE = arrays((3, 3), (2, 3, 4))

VALUES = (
    # function, operands, settings, expected
    ("matmul", (A, B), {}, A @ B),
    ("matmul", (S, B), {}, S @ B),
    ("mm", (A, B), {}, A @ B),
    ("mv", (A, V), {}, A @ V),
    ("bmm", (S, R), {}, S @ R),
    ("dot", (V, V), {}, V @ V),
    ("dot", (S, R), {}, np.dot(S, R)),
    ("dot", (A, 2.0), {}, A * 2),
    ("inner", (A, S), {}, np.inner(A, S)),
    ("outer", (V, W), {}, np.outer(V, W)),
    ("ger", (V, W), {}, np.outer(V, W)),
    ("tensor_dot", (A, B, 1), {}, A @ B),
    ("tensor_dot", (CUBE, R, ((1, 2), (1, 2))), {}, np.tensordot(CUBE, R, ((1, 2), (1, 2)))),
    ("addmm", (C, A, B), {"beta": 0.5, "alpha": -2}, 0.5 * C - 2 * A @ B),
    ("addmm", (C, A, B), {}, C + A @ B),
    ("addmv", (W, A, V), {"beta": 3, "alpha": 0.25}, 3 * W + 0.25 * A @ V),
    ("baddbmm", (Q, S, R), {"beta": 0, "alpha": 2}, 2 * S @ R),
    ("trace", (SQUARE,), {}, np.trace(SQUARE)),
    ("trace", (CUBE, -1, 2, 1), {}, np.trace(CUBE, -1, 2, 1)),
    ("diag", (V,), {}, np.diag(V)),
    ("diag", (B,), {}, np.diag(B)),
    ("diagonal", (CUBE, 1, 2, 0), {}, np.diagonal(CUBE, 1, 2, 0)),
    ("tril", (S, -1), {}, np.tril(S, -1)),
    ("triu", (B, 1), {}, np.triu(B, 1)),
    ("addcmul", (A, V, A, 0.5), {}, A + 0.5 * V * A),
    ("addcdiv", (A, V, 2 + A * A, 0.5), {}, A + 0.5 * V / (2 + A * A)),
    ("lerp", (A, 2 * A, 0.25), {}, 1.25 * A),
    ("lerp", (A, V, A), {}, A + A * (V - A)),
)


def tensors(operands, dtype=np.float64):
    return [Tensor(x.astype(dtype)) if isinstance(x, np.ndarray) else x for x in operands]


def test_values_and_methods():
    for name, operands, settings, expected in VALUES:
        ways = [getattr(ops, name)(*tensors(operands), **settings)]
        if hasattr(Tensor, name):
            first, *others = tensors(operands)
            ways.append(getattr(first, name)(*others, **settings))
        for found in ways:
            assert found.shape == expected.shape, name
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-13, atol=1e-14, err_msg=name)
        assert getattr(ops, name)(*tensors(operands, np.float32), **settings).dtype == "float32", name
    np.testing.assert_array_equal(ops.addn([f64([1.0]), f64([2.0]), f64([3.0])]).asnumpy(), [6.0])


def test_primitive_classes():
    pairs = (
        (ops.MatMul(True, True)(Tensor(A), Tensor(RNG.standard_normal((4, 2)))).shape, (3, 4)),
        (ops.BatchMatMul(transpose_a=True)(Tensor(S), Tensor(Q)).shape, (5, 3, 4)),
        (ops.Ger()(Tensor(V), Tensor(W)).shape, (3, 2)),
        (ops.Trace()(Tensor(SQUARE)).shape, ()),
        (ops.AddN()([Tensor(A), Tensor(A)]).shape, (2, 3)),
        (ops.Lerp()(Tensor(A), Tensor(A), 0.5).shape, (2, 3)),
    )
    for found, expected in pairs:
        assert found == expected
    np.testing.assert_allclose(ops.MatMul(True, True)(Tensor(A), Tensor(C.T)).asnumpy(), A.T @ C, rtol=1e-13)


def test_errors():
    a, b, v = f64(A), f64(B), f64(V)
    table = (
        (TypeError, lambda: ops.matmul(a, f32(B)), "equal types"),
        (ValueError, lambda: ops.matmul(b, a), "do not multiply"),
        (ValueError, lambda: ops.matmul(a, 2.0 * v[0]), "at least one axis"),
        (ValueError, lambda: ops.mm(a, v), "mm", "expected 2 axes"),
        (ValueError, lambda: ops.mv(a, b), "mv", "expected 2 axes for the first and 1 for the second"),
        (ValueError, lambda: ops.bmm(f64(S), f64(R[:4])), "bmm", "5 is not 4"),
        (ValueError, lambda: ops.dot(a, a), "dot", "do not multiply"),
        (ValueError, lambda: ops.inner(a, b), "inner", "not equally long"),
        (ValueError, lambda: ops.outer(a, v), "outer", "expected 1 axes"),
        (ValueError, lambda: ops.tensor_dot(a, b, 2), "tensor_dot", "not equally long"),
        (ValueError, lambda: ops.tensor_dot(a, b, 3), "tensor_dot", "3 axes"),
        (ValueError, lambda: ops.MatMul()(a, v), "expected matrices (2-d)"),
        (ValueError, lambda: ops.BatchMatMul()(a, v), "two axes or more"),
        (TypeError, lambda: ops.MatMul(transpose_a=1), "transpose_a must be a bool"),
        (ValueError, lambda: ops.trace(v), "trace"),
        (ValueError, lambda: ops.addmm(f64(np.ones((3, 3))), a, b), "(3, 3)"),
        (ValueError, lambda: ops.addn([]), "addn"),
    )
    for kind, call, *words in table:
        assert_raises(kind, call, *words)
