"""`array_api_compat` and `array_api_extra`, as they are, on tensors; derivatives pass through their functions."""

import numpy as np
import pytest

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor

compat = pytest.importorskip("array_api_compat")
extra = pytest.importorskip("array_api_extra")

X = np.array([[0.5, -1.5, 2.0], [1.25, 0.25, -0.75]])


def test_tensors_are_arrays():
    x = Tensor(X)
    assert compat.is_array_api_obj(x)
    assert compat.array_namespace(x, Tensor(1.0), None) is mnp
    assert compat.device(x) == "cpu"
    assert compat.size(x) == 6
    assert compat.to_device(x, "cpu") is x
    assert not compat.is_lazy_array(x)


FUNCTIONS = {
    "atleast_nd": lambda x: extra.atleast_nd(x, ndim=3),
    "angle": lambda x: extra.angle(x + 1j * x**2),
    "apply_where": lambda x: extra.apply_where(x > 0, x, lambda t: t**3, lambda t: -t),
    "at, set": lambda x: extra.at(x * 1.0)[0, 1:].set(x[1, 1:] ** 2),
    "at, add": lambda x: extra.at(x * 1.0)[:, 0].add(x[:, 1] ** 2),
    "at, mask": lambda x: extra.at(x * 1.0)[x > 0].multiply(2.0),
    "cov": lambda x: extra.cov(x),
    "create_diagonal": lambda x: extra.create_diagonal(x[0] ** 2),
    "kron": lambda x: extra.kron(x, x),
    "nan_to_num": lambda x: extra.nan_to_num(x**2),
    "nansum": lambda x: extra.nansum(x**2, axis=0),
    "pad": lambda x: extra.pad(x**2, 1),
    "partition": lambda x: extra.partition(x[0] ** 2, 1),
    "setdiff1d": lambda x: extra.setdiff1d(x[0], x[1]) ** 2,
    "sinc": lambda x: extra.sinc(x),
    "union1d": lambda x: extra.union1d(x[0], x[1]) ** 2,
    "deg2rad": lambda x: extra.deg2rad(x**2),
    "rad2deg": lambda x: extra.rad2deg(x**2),
    "expand_dims": lambda x: extra.expand_dims(x**2, axis=(0, 2)),
    "nanmax": lambda x: extra.nanmax(x**2, axis=0),
    "nanmean": lambda x: extra.nanmean(x**2, axis=1),
    "nanmin": lambda x: extra.nanmin(x**2, axis=0),
}

INTEGERS = {
    "argpartition": lambda c: extra.argpartition(c(X[0]), 1),
    "broadcast_shapes": lambda c: extra.broadcast_shapes((2, 1), c(X).shape),
    "diag_indices": lambda c: extra.diag_indices(3, xp=compat.array_namespace(c(X))),
    "isclose": lambda c: extra.isclose(c(X), c(X + 1e-9)),
    "isin": lambda c: extra.isin(c(X), c(X[0, :2])),
    "nunique": lambda c: extra.nunique(c(np.array([1.0, 2.0, 1.0]))),
    "one_hot": lambda c: extra.one_hot(c(np.array([0, 2])), 3),
    "searchsorted": lambda c: extra.searchsorted(c(np.sort(X[0])), c(X[1])),
    "tril_indices": lambda c: extra.tril_indices(3, xp=compat.array_namespace(c(X))),
    "triu_indices": lambda c: extra.triu_indices(3, xp=compat.array_namespace(c(X))),
    "unravel_index": lambda c: extra.unravel_index(c(np.array([3, 5])), (2, 3)),
}


@pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning")  # what the standard has by now
@pytest.mark.parametrize("name", [name for name in INTEGERS if hasattr(extra, name)])
def test_functions_without_derivatives_are_those_of_arrays(name):
    found, expected = INTEGERS[name](Tensor), INTEGERS[name](np.asarray)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple | list) else [(found, expected)]
    for one, other in pairs:
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_every_function_of_the_helpers_is_tried():
    tried = {name.partition(",")[0] for name in [*FUNCTIONS, *INTEGERS]}
    about_libraries = {"__version__", "default_dtype", "lazy_apply", "testing"}
    assert set(extra.__all__) <= tried | about_libraries
    assert not compat.is_numpy_array(Tensor(X))
    assert compat.is_writeable_array(Tensor(X))
    assert extra.default_dtype(mnp) is dg.float32


@pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if hasattr(extra, name.partition(",")[0])])
def test_derivatives_pass_through_functions(name):
    function = FUNCTIONS[name]
    found, expected = function(Tensor(X)), function(X.copy())
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)
    by_data = name in (
        "apply_where",
        "at, mask",
        "nanmax",
        "nanmin",
        "setdiff1d",
        "union1d",
    )  # masks and shapes depend on the numbers
    dg.testing.check(function, [X], order=3, batched=not by_data, narrow=False)
