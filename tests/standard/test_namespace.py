"""`dualgrad.numpy` as the array API standard has it: types, devices, exchange, values."""

import itertools
import math

import numpy as np
import pytest

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor

TYPES = [t for t in dg.dtype.all_types if t is not dg.float16]
FLOATS = [t for t in dg.dtype.all_types if t.is_float or t.is_complex]
WHOLE = [t for t in dg.dtype.all_types if t.is_int]
PAIRS = list(itertools.combinations_with_replacement(dg.dtype.all_types, 2))
KINDS = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]


def test_a_tensor_names_its_namespace():
    x = mnp.ones(2)
    assert x.__array_namespace__() is mnp
    assert x.__array_namespace__(api_version=mnp.__array_api_version__) is mnp
    with pytest.raises(ValueError, match=r"api_version is '2020\.01'.*2025\.12"):
        x.__array_namespace__(api_version="2020.01")


# --------------------------------------------------------------------------------------------------------- types


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_limits_of_floats(dtype):
    expected = np.finfo(dtype.numpy)
    for given in (dtype, dtype.numpy, mnp.ones(2, dtype=dtype)):
        found = mnp.finfo(given)
        assert found.dtype == expected.dtype
        for name in ("bits", "eps", "max", "min", "smallest_normal", "tiny", "precision", "resolution"):
            assert getattr(found, name) == getattr(expected, name)
            assert type(getattr(found, name)) in (int, float)


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_limits_of_integers(dtype):
    found, expected = mnp.iinfo(mnp.ones(2, dtype=dtype)), np.iinfo(dtype.numpy)
    assert (found.bits, found.min, found.max, found.dtype) == (expected.bits, expected.min, expected.max, dtype)


@pytest.mark.parametrize("dtype", dg.dtype.all_types, ids=str)
def test_kinds_are_those_of_numpy(dtype):
    for kind in (*KINDS, ("bool", "complex floating")):
        assert mnp.isdtype(dtype, kind) is np.isdtype(dtype.numpy, kind)
    for other in dg.dtype.all_types:
        assert mnp.isdtype(dtype, other) is mnp.isdtype(dtype, (other, "bool") if other.is_bool else other)
        assert mnp.isdtype(dtype, other) is (dtype is other)
        assert mnp.can_cast(dtype, other) == np.can_cast(dtype.numpy, other.numpy)


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=str)
def test_result_type_is_that_of_results(one, other):
    x, y = mnp.ones(2, dtype=one), mnp.ones(2, dtype=other)
    expected = (x * y).dtype
    for given in itertools.permutations((x, other)), itertools.permutations((one, y)), [(one, other)]:
        for operands in given:
            assert mnp.result_type(*operands) is expected
    for number in (True, 2, 2.0, 2j, np.float32(2), np.int8(2)):
        assert mnp.result_type(number, one) is (x * number).dtype


def test_info_says_what_is_there():
    info = mnp.__array_namespace_info__()
    defaults = info.default_dtypes(device="cpu")
    made = {"real floating": 1.0, "complex floating": 1j, "integral": 1}
    assert {kind: mnp.asarray(number).dtype for kind, number in made.items()} == {k: defaults[k] for k in made}
    assert mnp.asarray([[1.0, 2j]]).dtype is mnp.full(2, 1j).dtype is dg.complex64
    assert mnp.argsort(mnp.ones(3)).dtype is defaults["indexing"]
    assert info.dtypes() == {t.name: t for t in TYPES}
    for kind in KINDS:
        assert info.dtypes(kind=kind) == {t.name: t for t in TYPES if mnp.isdtype(t, kind)}
    assert info.default_device() in info.devices()
    assert mnp.ones((1,) * info.capabilities()["max dimensions"]).ndim == info.capabilities()["max dimensions"]


# ------------------------------------------------------------------------------------------------------- devices

MAKERS = {
    "arange": lambda **k: mnp.arange(3, **k), "asarray": lambda **k: mnp.asarray([1.0], **k),
    "empty": lambda **k: mnp.empty(3, **k), "empty_like": lambda **k: mnp.empty_like(mnp.ones(2), **k),
    "eye": lambda **k: mnp.eye(2, **k), "full": lambda **k: mnp.full(2, 1.5, **k),
    "full_like": lambda **k: mnp.full_like(mnp.ones(2), 2, **k), "linspace": lambda **k: mnp.linspace(0, 1, 3, **k),
    "ones": lambda **k: mnp.ones(2, **k), "ones_like": lambda **k: mnp.ones_like(mnp.ones(2), **k),
    "zeros": lambda **k: mnp.zeros(2, **k), "zeros_like": lambda **k: mnp.zeros_like(mnp.ones(2), **k),
    "astype": lambda **k: mnp.astype(mnp.ones(2), mnp.int8, **k),
    "from_dlpack": lambda **k: mnp.from_dlpack(np.ones(2), **k),
    "fft.fftfreq": lambda **k: mnp.fft.fftfreq(4, **k), "fft.rfftfreq": lambda **k: mnp.fft.rfftfreq(4, **k),
    "to_device": lambda device=None: mnp.ones(2).to_device(device),
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_there_is_one_device(name):
    x = MAKERS[name](device="cpu")
    assert x.device == "cpu" == x.device == "CPU"
    assert x.device in {"CPU": 1}
    assert x.device != "gpu"
    np.testing.assert_array_equal(MAKERS[name](device=x.device).asnumpy(), x.asnumpy())
    with pytest.raises(ValueError, match=f"{name.rpartition('.')[2]}: device is 'gpu'"):
        MAKERS[name](device="gpu")


# ------------------------------------------------------------------------------------------- copies and exchange


def test_copies_are_made_where_they_are_asked_for():
    x = mnp.asarray([1.0, 2.0])
    same = [mnp.asarray(x, copy=False), mnp.astype(x, x.dtype, copy=False), mnp.from_dlpack(x, copy=False)]
    copies = [mnp.asarray(x, copy=True), mnp.astype(x, x.dtype), mnp.from_dlpack(x, copy=True)]
    x[0] = 5.0
    assert all(y is x for y in same)
    assert [y.tolist() for y in copies] == [[1.0, 2.0]] * 3
    for data in ([1.0], np.ones(2)):
        with pytest.raises(ValueError, match="copy=False"):
            mnp.asarray(data, copy=False)


class Capsule:
    """What another library gets."""

    def __init__(self, tensor, **keywords):
        self.capsule = tensor.__dlpack__(**keywords)
        self.device = tensor.__dlpack_device__()

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_other_libraries_get_the_elements(dtype):
    x = mnp.asarray([[0, 1], [1, 0]], dtype=dtype)
    shared, copied = np.from_dlpack(Capsule(x, copy=False)), np.from_dlpack(Capsule(x))
    for array in (shared, copied):
        assert array.dtype == dtype
        np.testing.assert_array_equal(array, x.asnumpy())
    assert np.shares_memory(shared, x._numpy())
    assert not np.shares_memory(copied, x._numpy())
    np.testing.assert_array_equal(mnp.from_dlpack(x.asnumpy()).asnumpy(), x.asnumpy())


def test_memory_is_shared_only_as_it_is():
    with pytest.raises(BufferError, match="dl_device"):
        mnp.ones(2).__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="one after another"):
        mnp.broadcast_to(mnp.ones(2), (3, 2)).T.__dlpack__(copy=False)
    shared = mnp.from_dlpack(np.arange(3.0), copy=True)
    assert shared.tolist() == [0.0, 1.0, 2.0]


def test_limits_go_by_both_names():
    x = Tensor(X)
    assert mnp.clip(x, min=-1.0, max=1.0).tolist() == mnp.clip(x, -1.0, 1.0).tolist() == np.clip(X, -1, 1).tolist()
    assert mnp.clip(x, max=0.5).tolist() == np.clip(X, None, 0.5).tolist()


def test_numbers_keep_their_digits():
    assert mnp.asarray(0.1, dtype=dg.float64).item() == 0.1
    assert mnp.asarray([0.1], dtype=dg.complex128)[0].item() == 0.1
    large = [2**64 - 1, 2**63, 1]
    assert mnp.asarray(large, dtype=dg.uint64).tolist() == large
    assert np.isnan(mnp.multiply(mnp.asarray(math.inf), mnp.asarray(0.0)).item())


# -------------------------------------------------------------------------------------------------------- values

X = np.array([[2.0, -1.0, 0.5], [0.5, 3.0, -2.0]])
K = np.array([5, -3, 5, 0, 7], np.int8)
U = np.array([3, 200, 3], np.uint8)
Z = X + 1j * X[:, ::-1]
AGAIN = np.array([2.0, np.nan, 1.0, 2.0, np.nan])
S = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.5, 1.0, 2.0]])

VALUES = {
    "bitwise_left_shift": lambda m, c: m.bitwise_left_shift(c(K), c(np.array([1, 2, 7, 3, 8], np.int8))),
    "bitwise_right_shift": lambda m, c: m.bitwise_right_shift(c(K), c(np.array([1, 2, 7, 3, 8], np.int8))),
    "<<": lambda m, c: (c(K) << 2, 2 << c(np.abs(K)), c(K) >> 1, -9 >> c(np.abs(K))),
    "bitwise_invert": lambda m, c: m.bitwise_invert(c(K)),
    "signbit": lambda m, c: m.signbit(c(np.array([0.0, -0.0, -np.inf, 2.0]))),
    "nextafter": lambda m, c: m.nextafter(c(X), c(np.array([0.0, np.inf, -np.inf]))),
    "unique_all": lambda m, c: tuple(m.unique_all(c(AGAIN))),
    "unique_counts": lambda m, c: tuple(m.unique_counts(c(K))),
    "unique_inverse": lambda m, c: tuple(m.unique_inverse(c(X))),
    "unique_values": lambda m, c: m.unique_values(c(X)),
    "isin": lambda m, c: m.isin(c(K), c(np.array([7, 5], np.int16)), invert=True),
    "isin of nothing": lambda m, c: m.isin(c(K), c(np.zeros(0, np.int8))),
    "isin, nan": lambda m, c: m.isin(c(AGAIN), c(AGAIN)),
    "sum of bytes": lambda m, c: (m.sum(c(U)), m.sum(c(K)), m.prod(c(U)), m.sum(c(K), dtype=m.int16)),
    "sum of no axes": lambda m, c: m.sum(c(X), axis=(), keepdims=True),
    "var of no axes": lambda m, c: (m.var(c(X), axis=(), keepdims=True), m.std(c(X), axis=())),
    "std, correction": lambda m, c: m.std(c(X), axis=1, correction=1),
    "argsort": lambda m, c: m.argsort(c(X), axis=0),
    "searchsorted": lambda m, c: m.searchsorted(c(np.sort(K)), c(np.array([5, 6], np.int8)), side="right"),
    "nonzero": lambda m, c: m.nonzero(c(K.reshape(1, 5))),
    "clip": lambda m, c: (m.clip(c(X), -1.0, 1.0), m.clip(c(X), a_min=None, a_max=0.5), m.clip(c(X), 0.0, None)),
    "round of complex": lambda m, c: m.round(c(Z)),
    "matmul of two types": lambda m, c: m.matmul(c(X.astype(np.float32)), c(X.T)),
    "linalg.vecdot": lambda m, c: m.linalg.vecdot(c(Z), c(Z)[:1]),
    "linalg.matrix_rank": lambda m, c: m.linalg.matrix_rank(c(np.stack([S, S @ np.diag([1, 1, 0])]))),
    "linalg.trace": lambda m, c: m.linalg.trace(c(U.reshape(1, 3, 1)), offset=-1),
    "linalg.diagonal": lambda m, c: m.linalg.diagonal(c(X), offset=1),
    "linalg.svdvals": lambda m, c: m.linalg.svdvals(c(Z)),
    "linalg.matrix_norm": lambda m, c: m.linalg.matrix_norm(c(Z), ord="nuc", keepdims=True),
    "linalg.vector_norm": lambda m, c: m.linalg.vector_norm(c(X), axis=0, ord=3),
    "linalg.pinv": lambda m, c: m.linalg.pinv(c(np.stack([S, S.T])), rtol=c(np.array([1e-3, 0.3]))),
    "linalg.eigvals": lambda m, c: m.sort(m.real(m.linalg.eigvals(c(S)))),
    "linalg.solve": lambda m, c: m.linalg.solve(c(S + 1j * S.T), c(Z.T)),
    "linalg.inv": lambda m, c: m.linalg.inv(c(S + 1j * S.T)),
    "linalg.det": lambda m, c: m.linalg.det(c(S + 1j * S.T)),
    "linalg.slogdet": lambda m, c: tuple(m.linalg.slogdet(c(S + 1j * S.T))),
    "linalg.cholesky": lambda m, c: m.linalg.cholesky(c(S @ S.T + 1j * (S - S.T)), upper=True),
    "linalg.cross": lambda m, c: m.linalg.cross(c(X), c(X[::-1])),
    "a mask without elements": lambda m, c: c(np.zeros((0, 2)))[c(np.zeros((0, 0), bool))],
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_numpy(name):
    found, expected = VALUES[name](mnp, Tensor), VALUES[name](np, lambda a: a)
    pairs = list(zip(found, expected, strict=True)) if isinstance(expected, tuple) else [(found, expected)]
    for one, other in pairs:
        assert isinstance(one, Tensor)
        assert (one.shape, one.dtype) == (np.shape(other), np.asarray(other).dtype)
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-6 if one.dtype is dg.float32 else 1e-12, atol=1e-13)


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=str)
def test_products_of_two_types_have_the_type_of_both(one, other):
    if mnp.result_type(one, other).is_bool:
        return  # a product of truth values is left open
    x, y = mnp.asarray([[1, 0], [2, 3]], dtype=one), mnp.asarray([[2, 1], [1, 1]], dtype=other)
    for found in (x @ y, mnp.matmul(x, y), mnp.tensordot(x, y, axes=1), mnp.linalg.matmul(x, y)):
        assert found.dtype is mnp.result_type(x, y)
        expected = np.asarray(x.asnumpy(), complex) @ np.asarray(y.asnumpy(), complex)
        np.testing.assert_array_equal(found.asnumpy(), expected)


def test_gradients_of_a_product_come_back_in_the_types_of_its_factors():
    x, y = Tensor(S, dg.float32), Tensor(S, dg.float64)
    slopes = dg.grad(lambda x, y: (x @ y).sum(), (0, 1))(x, y)
    assert [slope.dtype for slope in slopes] == [dg.float32, dg.float64]
    np.testing.assert_allclose(slopes[0].asnumpy(), np.ones((3, 3)) @ S.T)
    np.testing.assert_allclose(slopes[1].asnumpy(), S.T @ np.ones((3, 3)))


def test_results_with_names_are_those_of_numpy():
    for name, x in (("eigh", S), ("qr", S), ("slogdet", S), ("svd", S), ("eig", S)):
        found, expected = getattr(mnp.linalg, name)(Tensor(x)), getattr(np.linalg, name)(x)
        assert found._fields == expected._fields
        assert [part.shape for part in found] == [part.shape for part in expected]


def test_vectors_belong_to_values():
    for x in (S, S + 1j * S.T):
        w, v = mnp.linalg.eig(Tensor(x))
        np.testing.assert_allclose(x @ v.asnumpy(), (v * w).asnumpy(), atol=1e-12)
    for x in (Z, Z.T):
        u, s, vh = mnp.linalg.svd(Tensor(x), full_matrices=False)
        np.testing.assert_allclose(((u * s) @ vh).asnumpy(), x, atol=1e-12)
        q, r = mnp.linalg.qr(Tensor(x))
        np.testing.assert_allclose((q @ r).asnumpy(), x, atol=1e-12)


def test_scans_start_where_they_are_told():
    x = Tensor(X)
    sums = np.cumsum(X, 1)
    np.testing.assert_allclose(mnp.cumulative_sum(x, axis=1).asnumpy(), sums)
    found = mnp.cumulative_sum(x, axis=-1, include_initial=True).asnumpy()
    np.testing.assert_allclose(found, np.hstack([np.zeros((2, 1)), sums]))
    found = mnp.cumulative_prod(x, axis=0, include_initial=True).asnumpy()
    np.testing.assert_allclose(found, np.vstack([np.ones((1, 3)), np.cumprod(X, 0)]))
    assert mnp.cumulative_sum(Tensor(U)).dtype is dg.uint64
    assert mnp.cumulative_prod(Tensor(K)).dtype is dg.int64
    assert mnp.cumulative_sum(Tensor(K), dtype=dg.int8).dtype is dg.int8


def test_floor_division_beside_infinity_is_that_of_the_quotient():
    numbers = np.array([np.inf, -np.inf, 2.0, -2.0, 0.0, np.nan])
    x, y = map(np.ravel, np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        quotients, both = np.floor(x / y), np.floor_divide(x, y)
    np.testing.assert_array_equal(mnp.floor_divide(Tensor(x), Tensor(y)).asnumpy(), quotients)
    np.testing.assert_array_equal((Tensor(x) // Tensor(y)).asnumpy(), both)
    assert mnp.floor_divide(Tensor(K), 2).tolist() == (K // 2).tolist()


# ------------------------------------------------------------------------------------------------------- refusals

OUTSIDE = mnp.zeros(2)
ERRORS = [
    (ValueError, lambda: mnp.isdtype(mnp.int8, "whole"), "kind is 'whole'"),
    (TypeError, lambda: mnp.finfo(mnp.int8), "no floating type"),
    (TypeError, lambda: mnp.iinfo(mnp.float32), "no integer type"),
    (ValueError, lambda: mnp.result_type(), "got none"),
    (TypeError, lambda: mnp.astype(mnp.asarray(1j), mnp.float32), "imaginary part"),
    (ValueError, lambda: mnp.cumulative_sum(mnp.ones((2, 2))), "pass axis="),
    (ValueError, lambda: mnp.vecdot(mnp.ones(3), mnp.ones(1)), "lengths 3 and 1"),
    (ValueError, lambda: mnp.linalg.cross(mnp.ones(2), mnp.ones(2)), "length 3"),
    (ValueError, lambda: mnp.linalg.outer(mnp.ones((2, 2)), mnp.ones(2)), "two vectors"),
    (ValueError, lambda: mnp.linalg.trace(mnp.ones(2)), "expected a matrix"),
    (ValueError, lambda: mnp.std(mnp.ones(2), ddof=1, correction=1), "two names of one number"),
    (ValueError, lambda: mnp.ones(2).to_device("cpu", stream=1), "stream is 1"),
    (np.linalg.LinAlgError, lambda: dg.grad(lambda a: mnp.real(mnp.linalg.eig(a)[1]).sum())(mnp.eye(2)), "equal"),
    (RuntimeError, lambda: dg.grad(lambda x: OUTSIDE.__setitem__(0, x))(mnp.ones(())), "written"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "call", "words"), ERRORS)
def test_errors_say_what_is_wrong(error, call, words):
    with pytest.raises(error, match=words):
        call()
