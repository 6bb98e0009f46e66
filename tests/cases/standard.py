"""Functions that the array API standard adds to NumPy's names, or has with other arguments."""

import numpy as np

import dualgrad as dg
import dualgrad.numpy as mnp
from cases import Case, normal, positive, spread
from cases.complex import of_parts

A, V = normal(3, 4), normal(5)
ONCE = spread(5)
AGAIN = np.array([0, 2, 2, 4, 1, 0])


def assigned(x, y):
    """Elements, rows and masks that are written one after the other."""
    found = mnp.zeros_like(x)
    found[0] = x[1] * y
    found[:, 1] = found[:, 1] * 2.0 + y[1]
    found[mnp.asarray([2, 0]), mnp.asarray([3, 1])] = y[0] ** 2
    found[mnp.asarray(A > 0.3)] = x[0, 0]
    found[1] += found[0] * x[1]
    return found


def in_place(x, y):
    """Operators that assign."""
    z = x * 1.0
    z += y
    z *= x
    z -= y * y
    z /= 2.0 + y * y
    z **= 2
    return z


CALLS = [
    ("astype", lambda x: mnp.astype(x, x.dtype, copy=True) ** 2, (A,)),
    ("asarray, copy", lambda x: mnp.asarray(x, copy=True) ** 2, (A,)),
    ("from_dlpack", lambda x: mnp.from_dlpack(x, copy=True) ** 2, (A,)),
    ("matrix_transpose", lambda x: mnp.matrix_transpose(x) ** 2, (normal(2, 3, 2),)),
    ("unstack", lambda x: mnp.unstack(x, axis=1)[2] * mnp.unstack(x, axis=1)[0], (A,)),
    ("clip to itself", lambda x: mnp.clip(x) ** 2, (A,)),
    ("squeeze of no axes", lambda x: mnp.squeeze(x, axis=()) ** 2, (normal(1, 2),)),
    ("expm1", lambda x: mnp.expm1(x), (A,)),
    ("tanh", lambda x: mnp.tanh(x), (A,)),
    ("nextafter", lambda x: mnp.nextafter(x, mnp.zeros_like(x)) ** 3, (A,), {"narrow": ("float32",)}),
    ("signbit", lambda x: mnp.where(mnp.signbit(x), x**2, x**3), (A,)),
    ("sort, descending", lambda x: mnp.sort(x, descending=True)[:3] ** 2, (ONCE,)),
    ("argsort", lambda x: x[mnp.argsort(x, descending=True)[:2]] ** 2, (ONCE,)),
    ("searchsorted", lambda x: x * mnp.searchsorted(mnp.sort(x), x), (ONCE,)),
    ("take_along_axis", lambda x: mnp.take_along_axis(x, mnp.asarray([[0, 0], [3, 1], [2, 3]]), axis=1) ** 2, (A,)),
    ("cumulative_sum", lambda x: mnp.cumulative_sum(x, axis=1, include_initial=True) ** 2, (A,)),
    ("cumulative_sum of a vector", lambda x: mnp.cumulative_sum(x) ** 2, (V,)),
    ("cumulative_prod", lambda x: mnp.cumulative_prod(x, axis=0, include_initial=True), (A,)),
    ("cumulative_prod of zeros", lambda x: mnp.cumulative_prod(x - x[1]), (V,)),
    ("unique_values", lambda x: mnp.unique_values(x[AGAIN]) ** 2, (ONCE,), {"batched": False}),  # shapes by data
    ("unique_all", lambda x: mnp.unique_all(x[AGAIN]).values ** 2, (ONCE,), {"batched": False}),  # the same
    ("isin", lambda x: mnp.where(mnp.isin(x, x[1:3]), x**2, x), (ONCE,)),
    ("std, correction", lambda x: mnp.std(x, axis=0, correction=1.5), (A,)),
    ("var of no axes", lambda x: mnp.var(x, axis=(), keepdims=True) + x**2, (A,)),
    ("sum of no axes", lambda x: mnp.sum(x, axis=(), keepdims=True) ** 2, (A,)),
    ("vecdot", lambda x, y: mnp.vecdot(x, y, axis=-2), (A, normal(3, 1))),
    ("matmul", lambda x, y: mnp.matmul(x, y), (normal(2, 3, 4), normal(4))),
    ("tensordot", lambda x, y: mnp.tensordot(x, y, axes=((0,), (1,))), (A, normal(2, 3))),
    ("floor_divide", lambda x: x * mnp.floor_divide(x, 0.3), (A,)),
    ("linalg.cross", lambda x, y: mnp.linalg.cross(x, y, axis=0), (normal(3, 2), normal(3, 1))),
    ("linalg.diagonal", lambda x: mnp.linalg.diagonal(x, offset=1) ** 2, (normal(2, 3, 4),)),
    ("linalg.trace", lambda x: mnp.linalg.trace(x, offset=-1) ** 2, (normal(2, 3, 4),)),
    ("linalg.outer", lambda x, y: mnp.linalg.outer(x, y), (V, normal(3))),
    ("linalg.vector_norm", lambda x: mnp.linalg.vector_norm(x, axis=(0, 1), ord=3, keepdims=True), (A,)),
    ("linalg.vector_norm of no axes", lambda x: mnp.linalg.vector_norm(x, axis=()) ** 2, (A,)),
    ("item assignment", assigned, (A, normal(4))),
    ("in-place operators", in_place, (A, normal(4))),
]

# LAPACK has no float16
MATRICES = [
    ("linalg.matrix_norm", lambda x: mnp.linalg.matrix_norm(x, ord="nuc", keepdims=True), (A,)),
    ("linalg.svdvals", lambda x: mnp.linalg.svdvals(x), (A,)),
    ("linalg.svd", lambda x: mnp.linalg.svd(x, full_matrices=False).Vh ** 2, (A,)),
    ("linalg.eigh", lambda x: mnp.linalg.eigh(x).eigenvalues, (normal(3, 3),)),
    ("linalg.eig", lambda x: mnp.real(mnp.linalg.eig(x).eigenvectors), (normal(3, 3),)),
    ("linalg.qr", lambda x: mnp.linalg.qr(x).R, (normal(4, 3),)),
    ("linalg.slogdet", lambda x: mnp.linalg.slogdet(x).logabsdet, (normal(3, 3),)),
    ("linalg.matrix_rank", lambda x: x * mnp.linalg.matrix_rank(x), (A,)),
    ("linalg.pinv, a limit for each",
     lambda x: mnp.linalg.pinv(x, rtol=mnp.asarray([1e-6, 1e-5], dtype=dg.float64)), (normal(2, 3, 2),)),
]  # fmt: skip

COMPLEX = [
    ("expm1", lambda z: mnp.expm1(z)),
    ("tanh", lambda z: mnp.tanh(z)),
    ("round", lambda z: z * mnp.round(3 * z)),
    ("vecdot", lambda z: mnp.vecdot(z, z * z)),
]


def case(label, call, args, more=None, **rest):
    return Case("numpy", label, call, args, **rest | (more or {}))


CASES = [
    *[case(*one) for one in CALLS],
    *[case(*one, narrow=("float32",)) for one in MATRICES],
    *[
        case(f"{label}, complex", of_parts(call), (positive(3), normal(3)), narrow=("float32",))
        for label, call in COMPLEX
    ],
]
