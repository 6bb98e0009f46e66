"""Composed operators against NumPy: values, on several shapes, in both modes; names, settings and refusals."""

import itertools

import numpy as np
import pytest
import scipy.spatial.distance
import scipy.special
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Tensor, ops

RNG = np.random.default_rng(23)
X, Y = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
P = RNG.uniform(0.05, 0.95, (3, 4))
CUBE = RNG.standard_normal((2, 4, 6))
NAN = np.where(RNG.random((4, 5)) < 0.3, np.nan, RNG.standard_normal((4, 5)))
NAN[:, 0] = RNG.standard_normal(4)
TARGETS = np.array([0, 3, 1])
WHOLE, OTHER = RNG.integers(-20, 20, 7), RNG.integers(1, 6, 7)
SPECIAL = np.array([1.0, -2.0, 0.0, -0.0, np.inf, -np.inf, np.nan])

PLANE = np.stack(np.meshgrid(SPECIAL, np.append(SPECIAL, 1e-9)), -1).view(complex).ravel()
BYTES = [np.arange(np.iinfo(kind).min, np.iinfo(kind).max, 25, kind) for kind in "bB"]


def diagonals(x, offset):
    return np.stack([np.diag(row, offset) for row in x.reshape(-1, x.shape[-1])]).reshape(
        *x.shape[:-1], *[x.shape[-1] + abs(offset)] * 2
    )


def banded(x, lower, upper):
    i, j = np.indices(x.shape[-2:])
    return np.where(((lower < 0) | (i - j <= lower)) & ((upper < 0) | (j - i <= upper)), x, 0)


def written(x, index, value):
    x = x.copy()
    x[index] = value
    return x


def reversed_rows(x, lengths):
    return np.stack([np.concatenate([row[:n][::-1], row[n:]]) for row, n in zip(x, lengths, strict=True)])


def shortened(x, p, axis, most):
    others = tuple(k for k in range(x.ndim) if k != axis)
    length = (np.abs(x) ** p).sum(others, keepdims=True) ** (1 / p)
    return np.where(length > most, x / length * most, x)


def towards_zero(x, y):
    return (np.abs(x) // np.abs(y)) * np.sign(x) * np.sign(y)


def pairs(x, p):
    return scipy.spatial.distance.pdist(x, "minkowski", p=p)


TABLE = {
    # name: calls of the operator as (arguments, settings, expected)
    "atleast_1d": [((X[0, 0],), {}, np.atleast_1d(X[0, 0])), ((X,), {}, X)],
    "atleast_2d": [((X[0],), {}, np.atleast_2d(X[0])), ((X,), {}, X)],
    "atleast_3d": [((a,), {}, np.atleast_3d(a)) for a in (X[0, 0], X[0], X, CUBE)],
    "column_stack": [(((X[0], Y[0]),), {}, np.column_stack((X[0], Y[0]))), (((X, Y[:, 0]),), {}, np.c_[X, Y[:, 0]])],
    "dstack": [(((X, Y),), {}, np.dstack((X, Y))), (((X[0], Y[0]),), {}, np.dstack((X[0], Y[0])))],
    "row_stack": [(((X[0], Y[0]),), {}, np.vstack((X[0], Y[0])))],
    "tensor_split": [
        ((X, n, axis), {}, tuple(np.array_split(X, n, axis))) for n in (2, 3, [1, 3], [-1]) for axis in (0, 1)
    ],
    "hsplit": [((a, 2), {}, tuple(np.hsplit(a, 2))) for a in (X, X[0])],
    "vsplit": [((X, [1]), {}, tuple(np.vsplit(X, [1])))],
    "dsplit": [((CUBE, 3), {}, tuple(np.dsplit(CUBE, 3)))],
    "expand": [((X[:, :1], (2, -1, 4)), {}, np.broadcast_to(X[:, :1], (2, 3, 4)))],
    "view_as": [((X, Y.reshape(2, 6)), {}, X.reshape(2, 6))],
    "fliplr": [((X,), {}, np.fliplr(X))],
    "flipud": [((X,), {}, np.flipud(X))],
    "reverse": [((CUBE, axis), {}, np.flip(CUBE, axis)) for axis in ([0], [0, 2], -1)],
    "reverse_sequence": [
        ((X, np.array([1, 4, 2]), 1), {}, reversed_rows(X, (1, 4, 2))),
        ((X.T, np.array([1, 4, 2]), 0, 1), {}, reversed_rows(X, (1, 4, 2)).T),
    ],
    "repeat_elements": [((X, 3, axis), {}, np.repeat(X, 3, axis)) for axis in (0, 1)],
    "sequence_mask": [((OTHER, *n), {}, np.arange(*n or [OTHER.max()]) < OTHER[:, None]) for n in ([4], [])],
    "argwhere": [((np.round(X),), {}, np.argwhere(np.round(X)))],
    "cartesian_prod": [((X[0], Y[0, :2]), {}, np.array([*itertools.product(X[0], Y[0, :2])]))],
    "combinations": [
        ((X[0], 2), {}, np.array([*itertools.combinations(X[0], 2)])),
        ((X[0], 3, True), {}, np.array([*itertools.combinations_with_replacement(X[0], 3)])),
    ],
    "tril_indices": [((3, 4, k), {}, np.stack(np.tril_indices(3, k, 4))) for k in (-1, 0, 2)],
    "triu_indices": [((3, 4, k), {}, np.stack(np.triu_indices(3, k, 4))) for k in (-1, 0, 2)],
    "diag_embed": [((CUBE, k), {}, diagonals(CUBE, k)) for k in (-2, 0, 1)],
    "diagflat": [((X, k), {}, np.diagflat(X, k)) for k in (-1, 0, 2)],
    "matrix_band_part": [((CUBE, a, b), {}, banded(CUBE, a, b)) for a in (-1, 0, 1) for b in (-1, 0, 2)],
    "select_scatter": [
        ((X, Y[0], 0, 1), {}, written(X, 1, Y[0])),
        ((X, Y[:, 0], 1, -1), {}, written(X, (..., -1), Y[:, 0])),
    ],
    "slice_scatter": [((X, Y[:, :2], 1, 0, 4, 2), {}, written(X, (..., slice(0, 4, 2)), Y[:, :2]))],
    "diagonal_scatter": [
        ((X, Y[0, :3]), {}, written(X, (range(3), range(3)), Y[0, :3])),
        ((X, Y[0, :2], -1), {}, written(X, (range(1, 3), range(2)), Y[0, :2])),
        ((X, Y[0, :2], 2), {}, written(X, (range(2), range(2, 4)), Y[0, :2])),
    ],
    "isclose": [
        ((X, X + 1e-7), {}, np.isclose(X, X + 1e-7)),
        ((SPECIAL, SPECIAL), {"equal_nan": True}, np.isclose(SPECIAL, SPECIAL, equal_nan=True)),
        ((SPECIAL[:, None], SPECIAL), {}, np.isclose(SPECIAL[:, None], SPECIAL)),
        ((WHOLE, WHOLE + OTHER), {"atol": 2.5}, np.isclose(WHOLE, WHOLE + OTHER, atol=2.5)),
        *[((PLANE[:, None], PLANE), {"equal_nan": k}, np.isclose(PLANE[:, None], PLANE, equal_nan=k)) for k in (0, 1)],
    ],
    "allclose": [((X, X + 1e-7), {}, np.array(True)), ((X, Y), {}, np.array(False))],
    "approximate_equal": [
        ((X, Y, 0.5), {}, np.abs(X - Y) < 0.5),
        *[((x[:, None], x, 30.0), {}, np.abs(x[:, None] * 1.0 - x) < 30) for x in BYTES],
    ],
    "isneginf": [((SPECIAL,), {}, np.isneginf(SPECIAL))],
    "isposinf": [((SPECIAL,), {}, np.isposinf(SPECIAL))],
    "isreal": [((SPECIAL,), {}, np.isreal(SPECIAL)), ((X + 1j * np.round(Y),), {}, np.isreal(X + 1j * np.round(Y)))],
    "signbit": [((SPECIAL[:-1],), {}, np.signbit(SPECIAL[:-1])), ((WHOLE,), {}, WHOLE < 0)],
    "logit": [((P,), {}, scipy.special.logit(P)), ((P, 0.2), {}, scipy.special.logit(P.clip(0.2, 0.8)))],
    "truncate_div": [((X, Y), {}, np.trunc(X / Y)), ((WHOLE, OTHER), {}, towards_zero(WHOLE, OTHER))],
    "truncate_mod": [((X, Y), {}, np.fmod(X, Y)), ((WHOLE, OTHER), {}, np.fmod(WHOLE, OTHER))],
    "logspace": [((-1.0, 2.0, 5), {"base": 3.0, "dtype": dg.float64}, np.logspace(-1, 2, 5, base=3))],
    "bitwise_and": [((WHOLE, OTHER), {}, WHOLE & OTHER)],
    "bitwise_or": [((WHOLE, OTHER), {}, WHOLE | OTHER)],
    "bitwise_xor": [((WHOLE, OTHER), {}, WHOLE ^ OTHER)],
    "bitwise_not": [((WHOLE,), {}, ~WHOLE)],
    "bitwise_left_shift": [((WHOLE, OTHER), {}, WHOLE << OTHER)],
    "bitwise_right_shift": [((WHOLE, OTHER), {}, WHOLE >> OTHER)],
    "accumulate_n": [(((X, Y, X),), {}, X + Y + X)],
    "addbmm": [((X[:, :2], CUBE[:, :3], CUBE[:, :2].swapaxes(1, 2)), {"beta": 2.0, "alpha": 3.0}, 2 * X[:, :2]
                + 3 * (CUBE[:, :3] @ CUBE[:, :2].swapaxes(1, 2)).sum(0))],
    "addr": [((X, X[:, 0], Y[0]), {"beta": 2.0, "alpha": 3.0}, 2 * X + 3 * np.outer(X[:, 0], Y[0]))],
    "vecdot": [((X, Y), {}, (X * Y).sum(-1)), ((X, Y), {"axis": 0}, (X * Y).sum(0)),
               ((X + 1j * Y, Y + 1j * X), {}, ((X - 1j * Y) * (Y + 1j * X)).sum(-1))],
    "batch_dot": [
        ((CUBE, CUBE.swapaxes(1, 2)), {}, CUBE @ CUBE.swapaxes(1, 2)),
        ((X, Y), {}, (X * Y).sum(1, keepdims=True)),
        ((CUBE, CUBE), {"axes": 1}, np.einsum("bij,bik->bjk", CUBE, CUBE)),
    ],
    "dist": [((X, Y, p), {}, np.linalg.norm((X - Y).ravel(), p)) for p in (1, 2, 3, np.inf)],
    "pdist": [((X, p), {}, pairs(X, p)) for p in (1.0, 2.0, 3.0)],
    "renorm": [((CUBE, p, axis, 1.5), {}, shortened(CUBE, p, axis, 1.5)) for p in (1, 2) for axis in (0, 1, 2)],
    "matrix_norm": [((X, kind), {}, np.linalg.norm(X, kind)) for kind in ("fro", "nuc", 1, 2, np.inf)],
    "nanmean": [((NAN, axis), {}, np.nanmean(NAN, axis)) for axis in (None, 0, 1)],
    "quantile": [
        ((CUBE, q, axis), {}, np.quantile(CUBE, q, axis)) for q in (0.3, [0.0, 0.55, 1.0]) for axis in (None, 0, 1, 2)
    ],
    "nanquantile": [((NAN, q, 1), {}, np.nanquantile(NAN, q, 1)) for q in (0.3, [0.0, 0.55, 1.0])],
    "ptp": [((CUBE, axis), {}, np.ptp(CUBE, axis)) for axis in (None, 1)],
    "msort": [((X,), {}, np.sort(X, 0))],
    "bincount": [
        ((OTHER,), {}, np.bincount(OTHER)),
        ((OTHER, X.ravel()[:7], 9), {}, np.bincount(OTHER, X.ravel()[:7], 9)),
        *[((OTHER[:0], None, n), {}, np.bincount(OTHER[:0], None, n)) for n in (0, 2)],
    ],
    "histc": [
        ((X, 4, -1.0, 1.0), {}, np.histogram(X, 4, (-1, 1))[0] * 1.0),
        ((X, 5), {}, np.histogram(X, 5)[0] * 1.0),
    ],
    "bucketize": [((X, [-1.0, 0.0, 0.5]), {}, np.digitize(X, [-1.0, 0.0, 0.5], right=True)),
                  ((WHOLE, [-3, 0, 5]), {"right": True}, np.digitize(WHOLE, [-3, 0, 5]))],
    "intopk": [
        *[((X, TARGETS, k), {}, (X > X[range(3), TARGETS][:, None]).sum(1) < k) for k in (1, 2, 3)],
        ((np.tile(SPECIAL, (9, 1)), np.arange(-1, 8), 9), {}, np.isfinite([np.nan, *SPECIAL, np.nan])),
    ],
    **{f"reduce_{name}": [((CUBE, axis), {}, f(CUBE, axis)) for axis in (1, (0, 2))]
       for name, f in (("sum", np.sum), ("mean", np.mean), ("max", np.max), ("min", np.min))},
    "pows": [((P, Y), {}, P**Y)],
    "movedim": [((CUBE, 0, 2), {}, np.moveaxis(CUBE, 0, 2))],
    "swapdims": [((CUBE, 0, 2), {}, CUBE.swapaxes(0, 2))],
    "tensor_add": [((X, Y), {}, X + Y)],
    "tensor_mod": [((X, Y), {}, np.mod(X, Y))],
    "positive": [((X,), {}, X)],
}  # fmt: skip


def tensors(value):
    if isinstance(value, tuple):
        return tuple(tensors(part) for part in value)
    return Tensor(value) if isinstance(value, np.ndarray | np.floating) else value


CALLS = [pytest.param(name, *call, id=f"{name}-{k}") for name, calls in TABLE.items() for k, call in enumerate(calls)]


@pytest.mark.parametrize(("name", "args", "settings", "expected"), CALLS)
@pytest.mark.usefixtures("mode")
def test_values_are_those_of_numpy(name, args, settings, expected):
    # tuples of axes, shapes and orders are settings; tuples of arrays are operands
    given = [tensors(a) if not isinstance(a, tuple) or isinstance(a[0], np.ndarray) else a for a in args]
    result = getattr(ops, name)(*given, **settings)
    for one, other in zip(
        result if isinstance(result, tuple) else (result,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        other = np.asarray(other)
        assert one.shape == other.shape
        assert one.dtype.numpy.kind == other.dtype.kind
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", np.typecodes["AllInteger"])
@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
@pytest.mark.usefixtures("mode")
def test_shifts_of_all_widths_are_those_of_numpy(kind, name):
    """Also by the last bit, which 2**n does not reach in the type, and by more than there are bits."""
    limits = np.iinfo(kind)
    x = np.array([0, 1, 5, limits.max, limits.max // 3, limits.min, limits.min // 2, limits.min + 7], kind)
    x, by = np.meshgrid(x, np.arange(min(limits.min, 0) and -1, limits.bits + 2).astype(kind))
    found = getattr(ops, f"bitwise_{name}")(Tensor(x), Tensor(by))
    np.testing.assert_array_equal(found.asnumpy(), getattr(np, name)(x, by), strict=True)


def test_medians_leave_nan_out():
    value, place = ops.nanmedian(f64(NAN), 1)
    for row, v, k in zip(NAN, value.asnumpy(), place.asnumpy(), strict=True):
        there = np.sort(row[~np.isnan(row)])
        assert v == there[(len(there) - 1) // 2] == row[k]
    assert np.isnan(ops.nanmedian(f64([np.nan, np.nan]))[0].asnumpy())
    assert np.isnan(ops.quantile(f64(NAN), 0.5).asnumpy())


@pytest.mark.parametrize("x", [WHOLE, np.round(X * 2)], ids=["vector", "matrix"])
def test_unique_elements_are_in_the_order_in_which_they_come(x):
    values, which = ops.unique(Tensor(x))
    expected = [*dict.fromkeys(x.ravel().tolist())]
    assert values.tolist() == expected
    assert np.array_equal(values.asnumpy()[which.asnumpy()], x)


CLASSES = {
    # class: settings, function, its settings
    "AccumulateNV2": ((), "accumulate_n", {}, ((X, Y),)),
    "Addcdiv": ((), "addcdiv", {}, (X, Y, P, np.array([2.0]))),
    "Addcmul": ((), "addcmul", {}, (X, Y, P, np.array([2.0]))),
    "LinSpace": ((), "linspace", {}, (0.5, 2.0, 4)),
    "ApproximateEqual": ((0.5,), "approximate_equal", {"tolerance": 0.5}, (X, Y)),
    "ArgMaxWithValue": ((1, True), "argmax_with_value", {"axis": 1, "keep_dims": True}, (X,)),
    "ArgMinWithValue": ((1,), "argmin_with_value", {"axis": 1}, (X,)),
    "CountNonZero": (([1],), "count_nonzero", {"axis": [1]}, (np.round(X),)),
    "InTopK": ((2,), "intopk", {"k": 2}, (X, np.array([0, 3, 1]))),
    "IsClose": ((0.5,), "isclose", {"rtol": 0.5}, (X, Y)),
    "Logit": ((0.2,), "logit", {"eps": 0.2}, (P,)),
    "MatrixBandPart": ((), "matrix_band_part", {"lower": 1, "upper": 0}, (X,)),
    "Renorm": ((2, 1, 1.0), "renorm", {"p": 2, "axis": 1, "maxnorm": 1.0}, (X,)),
    "ReverseSequence": ((1,), "reverse_sequence", {"seq_dim": 1}, (X, np.array([1, 4, 2]))),
    "ReverseV2": (([1],), "reverse", {"axis": [1]}, (X,)),
    "TruncateDiv": ((), "truncate_div", {}, (X, Y)),
    "TruncateMod": ((), "truncate_mod", {}, (X, Y)),
}


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.usefixtures("mode")
def test_classes_call_their_functions(name):
    settings, function, keywords, args = CLASSES[name]
    made = getattr(ops, name)(*settings)
    given = [tensors(a) for a in args]
    expected = getattr(ops, function)(*given, **keywords)
    result = made(*given, 1, 0) if name == "MatrixBandPart" else made(*given)
    for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (result, expected)], strict=True):
        assert_close(one, other.asnumpy())
    assert name in repr(made)


def test_classes_with_formulas_of_their_own():
    spread, mean = ops.ReduceStd(1, False, True)(f64(X))
    assert_close((spread, mean), (X.std(1, keepdims=True), X.mean(1, keepdims=True)), scale=1.0)
    assert_close(ops.ReduceStd()(f64(X))[0], X.std(ddof=1), scale=1.0)
    assert_close(ops.EuclideanNorm(True)(f64(X), 1), np.linalg.norm(X, axis=1, keepdims=True), scale=1.0)
    assert_close(ops.L2Loss()(f64(X)), (X**2).sum() / 2, scale=1.0)
    assert_close(ops.SquareSumAll()(f64(X), f64(Y)), ((X**2).sum(), (Y**2).sum()), scale=1.0)


def test_settings_are_attributes_and_wrong_ones_are_named():
    made = ops.Renorm(p=2, dim=1, maxnorm=1.0)
    assert (made.p, made.dim, made.maxnorm) == (2, 1, 1.0)
    assert_raises(AttributeError, lambda: made.axis, "Renorm", "'axis'")
    assert_raises(TypeError, lambda: ops.Renorm(2), "Renorm", "dim")
    assert_raises(TypeError, lambda: ops.ReverseV2(axes=1), "ReverseV2", "axis")


SCALARS = {
    "scalar_add": (7, 2, 9), "scalar_sub": (7, 2, 5), "scalar_mul": (7, 2, 14), "scalar_div": (7, 2, 3.5),
    "scalar_floordiv": (7, 2, 3), "scalar_mod": (7, 2, 1), "scalar_pow": (7, 2, 49), "scalar_eq": (7, 2, False),
    "scalar_ne": (7, 2, True), "scalar_lt": (7, 2, False), "scalar_le": (7, 7, True), "scalar_gt": (7, 2, True),
    "scalar_ge": (2, 7, False), "scalar_max": (7, 2, 7), "scalar_min": (7, 2, 2), "scalar_uadd": (7, 7),
    "scalar_usub": (7, -7), "scalar_log": (1.0, 0.0), "bool_and": (True, False, False), "bool_or": (True, False, True),
    "bool_not": (True, False), "bool_eq": (True, True, True), "tuple_len": ((1, 2), 2), "list_len": ([1], 1),
    "tuple_getitem": ((5, 6), 1, 6), "list_getitem": ([5, 6], 0, 5), "dict_getitem": ({"a": 1}, "a", 1),
    "tuple_equal": ((1,), (1,), True), "list_equal": ([1], [2], False), "shape_mul": ((2, 3), 6),
    "string_eq": ("a", "a", True), "string_concat": ("a", "b", "ab"), "is_": (None, None, True),
    "is_not": (None, 1, True), "in_dict": ("a", {"a": 1}, True), "not_in_dict": ("a", {"a": 1}, False),
}  # fmt: skip


@pytest.mark.parametrize("name", SCALARS)
def test_functions_of_python_values(name):
    *args, expected = SCALARS[name]
    result = getattr(ops, name)(*args)
    assert result == expected
    assert type(result) is type(expected)


REFUSED = {
    "parts": (ValueError, lambda: ops.tensor_split(f64(X), 0), "parts"),
    "broadcast": (ValueError, lambda: ops.expand(f64(X), (2, 2)), "broadcast"),
    "elements": (ValueError, lambda: ops.view_as(f64(X), f64(CUBE)), "shape"),
    "lengths": (ValueError, lambda: ops.reverse_sequence(f64(X), np.array([1, 2]), 1), "length"),
    "vectors": (ValueError, lambda: ops.cartesian_prod(f64(X)), "vectors"),
    "diagonal": (ValueError, lambda: ops.diagonal_scatter(f64(X), f64(Y[0])), "(3,)"),
    "bits": (TypeError, lambda: ops.bitwise_and(f64(X), 1), "integers"),
    "shift": (TypeError, lambda: ops.bitwise_left_shift(f64(X), 1), "integers"),
    "one element": (ValueError, lambda: ops.is_nonzero(f64(X)), "one"),
    "products": (ValueError, lambda: ops.addbmm(f64(X), f64(CUBE), f64(CUBE)), "(b, m, p)"),
    "samples": (ValueError, lambda: ops.batch_dot(f64(X), f64(CUBE)), "samples"),
    "quantile": (ValueError, lambda: ops.quantile(f64(X), 1.5), "0 to 1"),
    "negative": (ValueError, lambda: ops.bincount(Tensor([-1])), "0 or more"),
    "interval": (ValueError, lambda: ops.histc(f64(X), 0), "one at least"),
    "range": (ValueError, lambda: ops.histc(f64(NAN)), "histc"),
    "tolerance": (ValueError, lambda: ops.approximate_equal(f64(X), f64(Y), -1.0), "tolerance"),
    "targets": (ValueError, lambda: ops.intopk(f64(X), np.array([1]), 2), "(N,)"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(*case)
