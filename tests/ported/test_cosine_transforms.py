"""`scipy.fft` with MindSpore's signatures: against SciPy's orthonormal transforms, and their transposes."""

import numpy as np
import pytest
from derivatives import assert_derivatives_agree, assert_replays_agree
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad.scipy import fft

pytestmark = pytest.mark.usefixtures("mode")
reference = pytest.importorskip("scipy.fft")
RNG = np.random.default_rng(5)
X = RNG.standard_normal((3, 4, 5))
DTYPES = [np.int32, np.float16, np.float32, np.float64, np.complex64, np.complex128]
POINTS = [None, 1, 2, 4, 7]


def wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def expected(name, x, n, axis):
    """SciPy's result, of parts where the numbers are complex."""
    function = getattr(reference, name)
    keyword = "s" if name.endswith("n") else "n"
    place = "axes" if name.endswith("n") else "axis"
    return function(wide(x), **{keyword: n, place: axis}, norm="ortho")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["dct", "idct"])
def test_one_axis(name, dtype):
    x = (4 * X).astype(dtype) + (1j * X[::-1]).astype(dtype) if np.dtype(dtype).kind == "c" else (4 * X).astype(dtype)
    tensor = dg.Tensor(x)
    for n in POINTS:
        for axis in (0, 1, -1):
            found = getattr(fft, name)(tensor, 2, n, axis)
            assert_close(found, expected(name, x, n, axis), scale=10.0)
            assert_close(getattr(fft, name)(tensor, n=n, axis=axis, norm="ortho"), found.asnumpy())
    assert found.dtype.numpy == np.result_type(dtype, np.float32) if np.dtype(dtype).kind != "i" else np.float32


@pytest.mark.parametrize(("s", "axes"), [(None, None), (None, (0, 2)), ((2, 6), None), ((4, 3), (2, 0)), ((3,), -1)])
@pytest.mark.parametrize("name", ["dctn", "idctn"])
def test_several_axes(name, s, axes):
    assert_close(getattr(fft, name)(f64(X), 2, s, axes), expected(name, X, s, axes), scale=10.0)


@pytest.mark.parametrize("name", ["dct", "idct", "dctn", "idctn"])
def test_derivatives(name):
    function = getattr(fft, name)
    assert_derivatives_agree(lambda t: function(t) * function(dg.ops.sin(t)), (X[0],), 3)
    assert_replays_agree(lambda t: function(t) ** 2, (X[0],))


@pytest.mark.parametrize("n", [3, 5, 8])
def test_gradient_is_the_inverse_of_an_orthogonal_transform(n):
    """Cutting points off and putting zeros behind are each other's transposes."""
    dy = RNG.standard_normal(n)
    found = dg.grad(lambda x: (fft.dct(x, 2, n) * f64(dy)).sum())(f64(X[0, 0]))
    back = reference.idct(dy, norm="ortho")[:5]
    assert_close(found, np.pad(back, (0, 5 - len(back))), scale=1.0)


def test_samples_of_vmap():
    assert_close(dg.vmap(fft.dct, 1)(f64(X[0])), fft.dct(f64(X[0]).T).asnumpy(), scale=1.0)


def test_errors():
    x = f64(X)
    assert_raises(ValueError, lambda: fft.dct(x, 3), "dct", "type=3", "2")
    assert_raises(ValueError, lambda: fft.idct(x, norm="forward"), "idct", "forward", "ortho")
    assert_raises(ValueError, lambda: fft.dct(x, n=0), "dct", "0")
    assert_raises(TypeError, lambda: fft.dct(x, n=1.5), "n must be an int")
    assert_raises(np.exceptions.AxisError, lambda: fft.dct(x, axis=3), "axis 3")
    assert_raises(ValueError, lambda: fft.dctn(x, s=(2,), axes=(0, 1)), "s has 1 entries for 2 axes")


def test_where_the_alias_has_them():
    import dualgrad.mindspore

    dualgrad.mindspore.install()
    try:
        from mindspore.scipy.fft import dct, idctn

        assert dct is fft.dct
        assert idctn is fft.idctn
    finally:
        dualgrad.mindspore.uninstall()
