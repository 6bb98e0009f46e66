"""`dualgrad.numpy`: NumPy's names, arguments and values, on tensors."""

import math
import warnings

import numpy as np
import pytest
from cases.numpy_functions import CALLS

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor

IDS = [label for label, _, _ in CALLS]


def assert_same(found, expected):
    if isinstance(expected, list | tuple):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        return
    assert isinstance(found, Tensor)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("label", "call", "args"), CALLS, ids=IDS)
def test_compositions_have_numpys_values(label, call, args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy discourages some of its functions
        expected = call(np, *args)
    tensors = [Tensor(a) for a in args]
    assert_same(call(mnp, *tensors), expected)
    assert_same(call(mnp, *args), expected)  # arrays make tensors too
    if "linspace" not in label and "logspace" not in label:  # NumPy does arithmetic with the ends first
        assert_same(call(np, *tensors), expected)


A = np.array([[0.5, -1.5, 2.0], [1.25, 0.25, -0.75]])
S = "sin cos tan sinh cosh tanh arctan arcsinh exp expm1 exp2 square negative abs fabs sign floor ceil rint trunc \
    isnan isfinite isinf positive deg2rad rad2deg degrees radians isposinf isneginf"
EACH = {name: (lambda m, a, name=name: getattr(m, name)(a)) for name in S.split()}
EACH |= {
    name: (lambda m, a, name=name: getattr(m, name)(abs(a) + 0.5))
    for name in "log log2 log10 log1p sqrt reciprocal".split()
}
EACH |= {
    name: (lambda m, a, name=name: getattr(m, name)(a, a * a + 0.5))
    for name in "add subtract multiply divide true_divide maximum minimum hypot arctan2 remainder mod floor_divide \
        fmod greater greater_equal less less_equal equal not_equal".split()
}
EACH |= {
    name: (lambda m, a, name=name: getattr(m, name)(a))
    for name in "sum mean prod std var max min amax amin all any argmax argmin count_nonzero cumsum ravel transpose \
        squeeze flip atleast_1d atleast_2d tril triu diag diagonal trace copy zeros_like ones_like argsort".split()
}
EACH |= {
    "sum, keepdims": lambda m, a: m.sum(a, axis=(0, 1), keepdims=True),
    "mean, axis": lambda m, a: m.mean(a, axis=-1),
    "std, ddof": lambda m, a: m.std(a, axis=1, ddof=1),
    "power": lambda m, a: m.power(a, 3),
    "where": lambda m, a: m.where(a > 0, a, 0.0),
    "where, places": lambda m, a: m.where(a > 0),
    "concatenate": lambda m, a: m.concatenate((a, a[:1]), axis=0),
    "concat": lambda m, a: m.concat([a, a], axis=None),
    "stack": lambda m, a: m.stack([a, a], axis=1),
    "hstack": lambda m, a: m.hstack((a, a)),
    "vstack": lambda m, a: m.vstack((a, a)),
    "meshgrid": lambda m, a: m.meshgrid(a[0], a[1], indexing="ij"),
    "reshape": lambda m, a: m.reshape(a, (3, -1)),
    "moveaxis": lambda m, a: m.moveaxis(a, 0, 1),
    "swapaxes": lambda m, a: m.swapaxes(a, 0, 1),
    "expand_dims": lambda m, a: m.expand_dims(a, 1),
    "broadcast_to": lambda m, a: m.broadcast_to(a, (2, 2, 3)),
    "tile": lambda m, a: m.tile(a, (2, 1)),
    "repeat": lambda m, a: m.repeat(a, 2, axis=0),
    "roll": lambda m, a: m.roll(a, 1, axis=1),
    "split": lambda m, a: m.split(a, 3, axis=1),
    "array_split": lambda m, a: m.array_split(a, 2, axis=1),
    "clip": lambda m, a: m.clip(a, -1.0, 1.0),
    "take": lambda m, a: m.take(a, [0, 2], axis=1),
    "diff": lambda m, a: m.diff(a, n=2, axis=1),
    "dot": lambda m, a: m.dot(a, a.T),
    "matmul": lambda m, a: m.matmul(a, a.T),
    "inner": lambda m, a: m.inner(a, a),
    "outer": lambda m, a: m.outer(a[0], a[1]),
    "tensordot": lambda m, a: m.tensordot(a, a, axes=([1], [1])),
    "einsum": lambda m, a: m.einsum("ij,kj->ik", a, a),
    "around": lambda m, a: m.around(a, 1),
    "linalg.norm": lambda m, a: m.linalg.norm(a, axis=1),
    "fft.rfft2": lambda m, a: m.fft.irfft2(m.fft.rfft2(a) * 1j, s=(2, 3)),
    "fft.fftshift": lambda m, a: m.fft.fftshift(m.fft.fftfreq(4)),
    "convolve": lambda m, a: m.convolve(a[0], a[1], mode="same"),
    "round": lambda m, a: m.round(a),
    "logical_and": lambda m, a: m.logical_and(a > 0, a < 1),
    "divmod": lambda m, a: m.divmod(a, 0.5),
    "isclose": lambda m, a: m.isclose(a, a + 1e-12),
    "searchsorted": lambda m, a: m.searchsorted(m.asarray([-1.0, 0.0, 1.0]), a[0]),
}


@pytest.mark.parametrize("name", EACH)
def test_functions_have_numpys_values(name):
    call = EACH[name]
    assert_same(call(mnp, Tensor(A)), call(np, A))


MAKERS = {
    "zeros": lambda m: m.zeros((2, 3)),
    "zeros of a type": lambda m: m.zeros(3, m.int32),
    "ones": lambda m: m.ones(4, dtype=m.float64),
    "full": lambda m: m.full((2, 2), 0.5),
    "empty": lambda m: m.empty((0, 2)),
    "arange": lambda m: m.arange(5),
    "arange by steps": lambda m: m.arange(1.0, 2.0, 0.25),
    "linspace": lambda m: m.linspace(0, 1, 11),
    "linspace, 50 points": lambda m: m.linspace(0, 1),
    "linspace, open": lambda m: m.linspace(0, 1, 4, endpoint=False),
    "linspace with its step": lambda m: m.linspace(2.0, 3.0, 5, retstep=True)[0],
    "linspace, one point": lambda m: m.linspace(2.0, 3.0, 1),
    "logspace": lambda m: m.logspace(0, 2, 3),
    "eye": lambda m: m.eye(2, 3, k=1),
    "identity": lambda m: m.identity(3),
    "tri": lambda m: m.tri(3, 4, -1),
    "array": lambda m: m.array([[1, 2], [3, 4]]),
    "array of an array": lambda m: m.array(np.arange(3.0)),
    "array of more axes": lambda m: m.array([1.0, 2.0], ndmin=3),
    "asarray": lambda m: m.asarray([True, False]),
    "full_like": lambda m: m.full_like(np.zeros(3), 2.5),
    "sum of a list": lambda m: m.sum([1.0, 2.5]),
    "sin of a number": lambda m: m.sin(0.5),
    "add two numbers": lambda m: m.add(1, 2.5),
    "maximum of a list": lambda m: m.maximum([1.0, 5.0], 2.0),
}


@pytest.mark.parametrize("name", MAKERS)
def test_arrays_are_made(name):
    found, expected = MAKERS[name](mnp), MAKERS[name](np)
    assert isinstance(found, Tensor)
    assert found.shape == expected.shape
    # Python's floats are Float32 here
    assert found.dtype.numpy == (np.float32 if name not in FLOAT64 and expected.dtype == np.float64 else expected.dtype)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


FLOAT64 = {"ones", "array of an array", "full_like"}


def test_types_follow_the_library():
    x = mnp.array([1.0, 2.0], mnp.float64)
    assert (x * 0.1).dtype is dg.float64
    assert mnp.sin(x, dtype=mnp.float32).dtype is dg.float32
    assert mnp.sum(x, dtype=dg.float32).dtype is dg.float32
    assert mnp.array([Tensor(0.1, dg.float64), 0.1])[1].item() == 0.1, "a number takes the type of what is beside it"
    assert mnp.linspace(0, 1, 3, dtype=mnp.float64).dtype is dg.float64
    assert mnp.asarray(x) is x
    assert mnp.array(x) is not x
    assert isinstance(mnp.shape(x), tuple)
    assert mnp.allclose(x, [1.0, 2.0]).dtype is mnp.all(x == x).dtype is dg.bool_


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("descending", [False, True])
def test_nan_is_sorted_to_the_end(axis, descending):
    x = np.array([[2.0, np.nan, -0.0, np.nan, 0.0], [np.nan, 2.0, 0.0, np.inf, -np.inf]])
    order = np.argsort(-x if descending else x, axis, stable=True)
    assert mnp.argsort(x, axis, descending=descending).tolist() == order.tolist()
    expected = np.take_along_axis(x, order, axis)
    assert mnp.sort(Tensor(x), axis, descending=descending).asnumpy().tobytes() == expected.tobytes()


def test_derivatives_go_through():
    x = Tensor([0.5, 2.0], dg.float64)
    table = mnp.array([[1.0, 2.0], [3.0, 4.0]], mnp.float64)
    hessian = [
        dg.grad(lambda x, k=k: dg.grad(lambda x: mnp.sum(mnp.exp(mnp.dot(table, x))))(x)[k])(x).asnumpy()
        for k in (0, 1)
    ]
    t = table.asnumpy()
    np.testing.assert_allclose(hessian, t.T @ np.diag(np.exp(t @ x.asnumpy())) @ t)
    slope = dg.grad(lambda x: mnp.array([[x[0], 1.0], [x[1] * x[0], x[1]]])[1].sum())(x)
    assert slope.tolist() == [2.0, 1.5]


def test_every_public_name_is_there():
    assert len(set(mnp.__all__)) == len(mnp.__all__)
    for module in (mnp, mnp.fft, mnp.linalg):
        assert dir(module) == sorted(module.__all__)
        for name in module.__all__:
            value = getattr(module, name)
            assert not callable(value) or value.__doc__, name
    assert mnp.pi == np.pi
    assert mnp.newaxis is None
    assert (mnp.sum.__name__, mnp.sum.__module__) == ("sum", "dualgrad.numpy")
    wanted = """zeros ones full arange linspace eye sin cos sqrt sum mean square where concatenate stack meshgrid
        array asarray pi e inf nan norm abs log exp tanh matmul dot einsum max min argmax clip power randn rand"""
    assert not set(wanted.split()) - set(mnp.__all__)


@pytest.mark.parametrize(
    ("error", "call", "words"),
    [
        (AttributeError, lambda: mnp.summ, "did you mean sum"),
        (AttributeError, lambda: mnp.linalg.nrom, "did you mean norm"),
        (TypeError, lambda: mnp.sum(Tensor([1.0]), axes=0), "np.sum"),
        (TypeError, lambda: mnp.sin(Tensor([1.0]), out=Tensor([1.0])), "out="),
        (TypeError, lambda: mnp.array([1.0], order="F"), "order='F'"),
        (TypeError, lambda: mnp.array("text"), "expected"),
        (ValueError, lambda: mnp.array([Tensor([1.0]), Tensor([1.0, 2.0])]), "different shapes"),
        (ValueError, lambda: mnp.gradient(Tensor([1.0])), "too short"),
        (ValueError, lambda: mnp.gradient(Tensor([1.0, 2.0]), edge_order=3), "expected 1 or 2"),
        (TypeError, lambda: mnp.gradient(Tensor([1.0, 2.0]), 1.0, 2.0), "spacings"),
        (ValueError, lambda: mnp.gradient(Tensor([1.0, 2.0]), [0.0, 1.0, 2.0]), "coordinates"),
        (ValueError, lambda: mnp.average(Tensor([1.0, 2.0]), weights=[1.0, 2.0, 3.0]), "do not fit"),
        (ValueError, lambda: mnp.select([True], []), "expected as many"),
        (ValueError, lambda: mnp.vsplit(Tensor([1.0]), 1), "too few axes"),
        (ValueError, lambda: mnp.cov(mnp.zeros((2, 2, 2))), "too many axes"),
    ],
)
def test_errors(error, call, words):
    with pytest.raises(error, match=words):
        call()


JOINS = ["stack", "concatenate", "vstack", "hstack", "dstack", "column_stack"]
JOINED = [(name, shape) for name in JOINS for shape in [(3,), (2, 3), (2, 3, 2), (1, 1)]]


@pytest.mark.parametrize(("name", "shape"), [case for case in JOINED if case != ("concatenate", (3,))])
def test_an_array_is_joined_along_its_first_axis(name, shape):
    """As a list of what it holds; numbers are not concatenated."""
    x = np.arange(1.0, 1 + math.prod(shape)).reshape(shape)
    for module in (mnp, np):
        found = getattr(module, name)(Tensor(x))
        np.testing.assert_array_equal(found.asnumpy(), getattr(np, name)(x))
    slope = dg.grad(lambda x: (getattr(mnp, name)(x) ** 2).sum())(Tensor(x))
    np.testing.assert_array_equal(slope.asnumpy(), 2 * x)
