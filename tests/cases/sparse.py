"""Products with sparse matrices: constant ones on both sides, and entries that are differentiated."""

import numpy as np
from scipy import sparse

import dualgrad as dg
from cases import Case, normal
from dualgrad import ops

# Integers take the type of the Tensor beside them. There is an empty row and an empty column.
A = sparse.csr_array(np.array([[0, 2, 0, -1], [0, 0, 0, 0], [3, 0, 0, 1]]))
LAPLACIAN = sparse.csc_array(4 * np.eye(4, dtype=int) - np.eye(4, k=1, dtype=int) - np.eye(4, k=-1, dtype=int))
INDICES, INDPTR, SHAPE = np.array([3, 0, 1, 0, 0]), np.array([0, 2, 2, 5]), (3, 4)  # unsorted, one place twice


def entries(data, x):
    return dg.sparse.csr_matmul(data, INDICES, INDPTR, SHAPE, x)


def conjugate_gradients(b):
    """Some steps towards the solution of a sparse system, as user code writes them."""
    x, residual = 0.0 * b, b
    direction, size = residual, ops.sum(residual * residual)
    for _ in range(2):
        image = LAPLACIAN @ direction
        step = size / ops.sum(direction * image)
        x, residual = x + step * direction, residual - step * image
        size, before = ops.sum(residual * residual), size
        direction = residual + size / before * direction
    return x


def constant(label, product, form, *shape):
    matrix = A.asformat(form)
    return Case("sparse.matmul", f"{label} {shape} {form}", lambda x: product(matrix, ops.sin(x)), (normal(*shape),))


CASES = [
    *[constant("before", lambda m, x: m @ x, form, *shape)
      for form, shape in (("csr", (4,)), ("csr", (4, 2)), ("csc", (4,)), ("coo", (4, 2)), ("dia", (2, 4, 2)))],
    *[constant("behind", lambda m, x: x @ m, form, *shape)
      for form, shape in (("csr", (3,)), ("csc", (2, 3)), ("bsr", (2, 3)), ("csr", (2, 1, 3)))],
    Case("sparse.matmul", "both sides", lambda x: (x @ A) @ (A.T @ x), (normal(3),)),
    *[Case("sparse.csr_matmul", f"{shape}", entries, (normal(5), normal(*shape)))
      for shape in ((4,), (4, 2), (2, 4, 1))],
    Case("sparse.csr_matmul", "a Gram matrix", lambda data, x: entries(data * data, entries(data, x)[0] * x),
         (normal(5), normal(4))),
    Case("sparse.csr_matmul", "no entries", lambda data, x: dg.sparse.csr_matmul(data, [], [0, 0, 0], (2, 3), x) + x[0],
         (normal(0), normal(3))),
    Case("sparse.matmul", "conjugate gradients", conjugate_gradients, (normal(4),), narrow=("float32",)),
]  # fmt: skip
