"""Names of NumPy that are no functions of arrays: types, tools, and arrays in brackets."""

import numpy as np
import pytest
from cases import normal

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor
from dualgrad.testing import check

CLASSES = [name for name, value in vars(np).items() if isinstance(value, type) and issubclass(value, np.generic)]
A, V, W = normal(3, 2), normal(3, seed=1), normal(3, seed=2)


@pytest.mark.parametrize("name", [name for name in CLASSES if not name.startswith("_")])
def test_scalar_classes_are_there(name):
    """A type of this library where there is one; the same questions have the same answers."""
    found, expected = getattr(mnp, name), getattr(np, name)
    assert name in dir(mnp)
    assert (found == expected) is True
    for kind in (np.floating, np.integer, np.complexfloating, np.generic):
        assert np.issubdtype(found, kind) == np.issubdtype(expected, kind)


@pytest.mark.parametrize("dtype", dg.dtype.all_types, ids=str)
def test_questions_about_types_are_those_of_numpy(dtype):
    t = Tensor([0, 1], dtype)
    for kind in ("floating", "integer", "signedinteger", "inexact", "number", "bool_"):
        found = mnp.issubdtype(t.dtype, getattr(mnp, kind))
        assert found == np.issubdtype(t.asnumpy().dtype, getattr(np, kind))


GRIDS = [np.s_[0:3], np.s_[0:2, 0:3], np.s_[0:1:5j], np.s_[-1:1:0.25, 0:2:3j], np.s_[1:4, 0:2, 0:3]]


@pytest.mark.parametrize("name", ["mgrid", "ogrid"])
@pytest.mark.parametrize("key", GRIDS, ids=str)
def test_grids(name, key):
    found, expected = getattr(mnp, name)[key], getattr(np, name)[key]
    if not isinstance(expected, np.ndarray):
        assert isinstance(found, tuple)
    else:
        found, expected = [found], [expected]
    for x, y in zip(found, expected, strict=True):
        assert x.dtype is (dg.float32 if y.dtype.kind == "f" else dg.int64)
        np.testing.assert_allclose(x.asnumpy(), y, rtol=1e-6)


JOINED = {
    "vectors": lambda m, a, v, w: m.r_[v, w * v],
    "numbers and vectors": lambda m, a, v, w: m.r_[0.1, v, 2, w[0] * v[1]],
    "steps": lambda m, a, v, w: m.r_[0:4, v, 0:1:3j],
    "lists": lambda m, a, v, w: m.r_[v, [0.1, 0.2]],
    "matrices": lambda m, a, v, w: m.r_[a, a * a],
    "one": lambda m, a, v, w: m.r_[v * w],
    "columns": lambda m, a, v, w: m.c_[v, w * v],
    "columns and matrices": lambda m, a, v, w: m.c_[v, a, [0.1, 0.2, 0.3]],
    "columns of a matrix": lambda m, a, v, w: m.c_[a * a],
    "columns of numbers": lambda m, a, v, w: m.c_[v[0] * w[0], 0.1],
}


@pytest.mark.parametrize("name", JOINED)
def test_arrays_in_brackets(name):
    call = JOINED[name]
    check(lambda *args: call(mnp, *args), [A, V, W], value=lambda *args: call(np, *args), order=3)


@pytest.mark.parametrize("joined", [mnp.r_, mnp.c_])
def test_directives_are_refused(joined):
    with pytest.raises(TypeError, match="'0,2' is a directive"):
        joined["0,2", V, W]


def test_draws_of_numpy_are_constants():
    source = mnp.random.default_rng(0)
    noise = source.normal(size=3)
    np.testing.assert_array_equal(dg.grad(lambda x: mnp.sum(noise * x**2))(V).asnumpy(), 2 * noise * V)


def test_the_class_of_arrays():
    for x in (Tensor([1.0]), Tensor(1.0), dg.Parameter(Tensor([1.0]), name="p"), np.ones(2)):
        assert isinstance(x, mnp.ndarray)
        assert issubclass(type(x), mnp.ndarray)
    for x in (1.0, [1.0], np.float64(1)):
        assert not isinstance(x, mnp.ndarray)
    made = mnp.ndarray((2, 3), int)
    assert made.shape == (2, 3)
    assert made.dtype is dg.int64
