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
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_pass_through_functions(name):
    function = FUNCTIONS[name]
    found, expected = function(Tensor(X)), function(X.copy())
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)
    by_data = name in ("apply_where", "at, mask", "setdiff1d", "union1d")  # masks and shapes depend on the numbers
    dg.testing.check(function, [X], order=3, batched=not by_data, narrow=False)
