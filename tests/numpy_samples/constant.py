"""Functions without a slope: bools, positions, counts, steps, integers, constants; what is about types and shapes."""

import io

import numpy as np
from cases import normal

A, B = normal(3, 4), normal(3, 4, seed=1)
INTEGERS = np.array([[5, 12, 3], [8, 1, 7]])

SAMPLES: list = []
"""None of these is differentiated."""


def _of_one(names):
    return {name: lambda m, a, b, name=name: getattr(m, name)(a) for name in names.split()}


def _of_two(names):
    return {name: lambda m, a, b, name=name: getattr(m, name)(a, b) for name in names.split()}


def _of_integers(names):
    return {name: lambda m, a, b, name=name: getattr(m, name)(m.asarray(INTEGERS)) for name in names.split()}


def _of_two_integers(names):
    return {
        name: lambda m, a, b, name=name: getattr(m, name)(m.asarray(INTEGERS), m.asarray(INTEGERS[::-1] % 4))
        for name in names.split()
    }


def _made(names):
    return {name: lambda m, a, b, name=name: getattr(m, name)(3) for name in names.split()}


CONSTANT = {
    **_of_one("all any isfinite isinf isnan isneginf isposinf logical_not signbit iscomplex isreal"),
    **_of_two("equal greater greater_equal isclose isin less less_equal logical_and logical_or logical_xor not_equal"),
    **_of_two("allclose array_equal array_equiv floor_divide may_share_memory shares_memory result_type common_type"),
    **_of_one("argmax argmin argsort argwhere count_nonzero flatnonzero lexsort nanargmax nanargmin nonzero"),
    **_of_one("around ceil fix floor rint round sign trunc spacing"),
    **_of_one("empty_like ones_like zeros_like array2string array_repr array_str iscomplexobj isfortran isrealobj"),
    **_of_one("min_scalar_type ndim shape size tril_indices_from triu_indices_from"),
    **_of_two_integers("bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm"),
    **_of_two_integers("left_shift right_shift"),
    **_of_integers("bitwise_invert bitwise_not invert bitwise_count"),
    **_made("arange empty eye identity ones tri zeros"),
    "argpartition": lambda m, a, b: m.argpartition(a, 0)[:, 0],
    "digitize": lambda m, a, b: m.digitize(a, m.sort(b[0])),
    "searchsorted": lambda m, a, b: m.searchsorted(m.sort(b[0]), a),
    "diag_indices_from": lambda m, a, b: m.diag_indices_from(a[:, :3]),
    "ravel_multi_index": lambda m, a, b: m.ravel_multi_index((m.asarray([1, 2]), m.asarray([0, 3])), (3, 4)),
    "unravel_index": lambda m, a, b: m.unravel_index(m.asarray([5, 7]), (3, 4)),
    "ix_": lambda m, a, b: m.ix_(m.asarray([0, 2]), m.asarray([1, 3])),
    "linalg.matrix_rank": lambda m, a, b: m.linalg.matrix_rank(a, tol=0.5, hermitian=False),
    "packbits": lambda m, a, b: m.packbits(m.asarray(INTEGERS > 4)),
    "unpackbits": lambda m, a, b: m.unpackbits(m.asarray(INTEGERS.astype(np.uint8))),
    "broadcast_shapes": lambda m, a, b: m.broadcast_shapes((2, 1), (3,)),
    "can_cast": lambda m, a, b: m.can_cast(np.int32, np.float64),
    "einsum_path": lambda m, a, b: m.einsum_path("ij,kj", a, b)[1],
    "finfo": lambda m, a, b: float(m.finfo(m.float64).eps),
    "iinfo": lambda m, a, b: int(m.iinfo(m.int32).max),
    "isdtype": lambda m, a, b: m.isdtype(a.dtype, "real floating"),
    "save": lambda m, a, b: np.save(io.BytesIO(), a),
    "savetxt": lambda m, a, b: np.savetxt(io.StringIO(), a),
    "savez": lambda m, a, b: np.savez(io.BytesIO(), a),
    "savez_compressed": lambda m, a, b: np.savez_compressed(io.BytesIO(), a),
}
"""A call of each, of a module and two matrices."""
