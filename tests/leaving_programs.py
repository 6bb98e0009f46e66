"""Programs in which tensors meet NumPy and Python: those that join, those that raise, those that give constants."""

import array
import cmath
import copy
import fractions
import io
import json
import math
import pickle
import statistics
import struct

import numpy as np
import pytest

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import LeavesDerivativeError, Parameter, Tensor, ops

POINT = np.array([0.3, 0.7, 1.1])


ALONG = np.array([1.0, -0.5, 0.25])


SAMPLES = np.array([[0.3, 0.7, 1.1], [0.2, 0.5, 0.9]])


X, V, ROWS = Tensor(POINT), Tensor(ALONG), Tensor(SAMPLES)


TRANSFORMS = {
    "grad": lambda f: dg.grad(f)(X),
    "value_and_grad": lambda f: dg.value_and_grad(f)(X),
    "GradOperation": lambda f: ops.GradOperation(get_all=True)(f)(X),
    "grad of grad": lambda f: dg.grad(lambda x: (dg.grad(f)(x) * V).sum())(X),
    "hessian": lambda f: dg.hessian(f)(X),
    "jacrev": lambda f: dg.jacrev(f)(X),
    "jacfwd": lambda f: dg.jacfwd(f)(X),
    "jvp": lambda f: dg.jvp(f, X, V),
    "vjp": lambda f: dg.vjp(f, X)[1](Tensor(np.float64(2.0))),
    "linearize": lambda f: dg.linearize(f, X)[1](V),
    "jet": lambda f: dg.jet(f, X, ops.stack([V, V, V])),
    "derivative": lambda f: dg.derivative(f, X, 3),
    "hvp": lambda f: dg.hvp(f)(X, V),
    "laplacian": lambda f: dg.laplacian(f)(X),
    "vmap": lambda f: dg.vmap(f)(ROWS),
    "vmap of grad": lambda f: dg.vmap(dg.grad(f))(ROWS),
    "grad of vmap": lambda f: dg.grad(lambda x: dg.vmap(f)(x).sum())(ROWS),
    "grad of jvp": lambda f: dg.grad(lambda x: dg.jvp(f, x, V)[1])(X),
}


NAMES = ("grad", "value_and_grad", "GradOperation", "jacrev", "jvp", "vjp", "linearize", "jet", "vmap", "laplacian")


def recorded(run):
    """A call of a transform, recorded, and run as often as it takes until it is replayed."""
    call = dg.jit(run)
    call()
    call()
    return call()


def in_graph_mode(run):
    before = dg.get_context("mode")
    dg.set_context(mode=dg.GRAPH_MODE)
    try:
        run()
        return run()
    finally:
        dg.set_context(mode=before)


WAYS = {"eager": lambda run: run(), "recorded": recorded, "graph mode": in_graph_mode}


def read(t):
    """One number that depends on all elements, and on each in its own way."""
    weights = np.cos(np.arange(t.size)).reshape(t.shape)
    return (ops.sin(t) * weights).sum()


def by_hand(elements):
    return sum(ops.sin(e) * float(np.cos(k)) if isinstance(e, Tensor) else math.sin(e) * np.cos(k)
               for k, e in enumerate(elements))  # fmt: skip


def flat(nest):
    if isinstance(nest, Tensor):
        return [nest.asnumpy()]
    if isinstance(nest, tuple | list):
        return [a for item in nest for a in flat(item)]
    return []


def assert_same(found, expected, what):
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected), what
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape, what
        assert a.dtype == b.dtype == np.float64, what
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11, err_msg=what)


def det(a, b, c, d):
    return a * d - b * c


def assigned(x):
    t = Tensor(np.zeros(4))
    t[0] = x[0] * x[1]
    t[1:3] = [x[1], x[2] ** 2]
    return t


def solved(a, b, c):
    """The solution of [[a, 2], [b, c]] u = [b, 1]."""
    d = det(a, 2, b, c)
    return [(b * c - 2) / d, (a - b * b) / d]


TABLE = np.array([1.0, 2.0, 4.0])


#: What joins: the program, and the elements of its result in order, written with scalars.
JOINS = {
    "Tensor of a list": (lambda x: Tensor([x[0], x[1] ** 2]), lambda a, b, c: [a, b**2]),
    "Tensor of a tuple": (lambda x: Tensor((x[0], x[2] * x[1])), lambda a, b, c: [a, c * b]),
    "Tensor of one": (lambda x: Tensor([x[0] * x[1]]), lambda a, b, c: [a * b]),
    "Tensor with numbers": (lambda x: Tensor([[x[0], 1.0], [2, x[1]]]), lambda a, b, c: [a, 1.0, 2, b]),
    "Tensor with NumPy's numbers": (lambda x: Tensor([np.float64(0.1), x[1], 0.1]), lambda a, b, c: [0.1, b, 0.1]),
    "Tensor with arrays": (lambda x: Tensor([x, TABLE]), lambda a, b, c: [a, b, c, 1.0, 2.0, 4.0]),
    "Tensor of rows": (lambda x: Tensor([x[:2], [x[2], 0.5]]), lambda a, b, c: [a, b, c, 0.5]),
    "Tensor of deep lists": (
        lambda x: Tensor([[[x[0]], [x[1] * 2]], [(x[2],), [1.5]]]), lambda a, b, c: [a, b * 2, c, 1.5],
    ),
    "Tensor with a type": (lambda x: Tensor([x[0], 0.1], dg.float64), lambda a, b, c: [a, 0.1]),
    "Tensor of a Tensor": (lambda x: Tensor(x * x), lambda a, b, c: [a * a, b * b, c * c]),
    "Tensor of the input": (lambda x: Tensor(x), lambda a, b, c: [a, b, c]),
    "Tensor of a Tensor, with a type": (lambda x: Tensor(x, dg.float64), lambda a, b, c: [a, b, c]),
    "tensor": (lambda x: dg.tensor([x[0], [x[1]][0]]), lambda a, b, c: [a, b]),
    "copy": (lambda x: copy.copy(x * 2), lambda a, b, c: [2 * a, 2 * b, 2 * c]),
    "deepcopy": (lambda x: copy.deepcopy([x * 2])[0], lambda a, b, c: [2 * a, 2 * b, 2 * c]),
    "assignment": (assigned, lambda a, b, c: [a * b, b, c**2, 0.0]),
    "from_elements of sum": (lambda x: Tensor(sum([x[0], x[1]])), lambda a, b, c: [a + b]),
    "math.prod": (lambda x: Tensor([math.prod([x[0], x[1], 2.0])]), lambda a, b, c: [a * b * 2]),
    "mnp.array": (lambda x: mnp.array([x[0], x[1] ** 2]), lambda a, b, c: [a, b**2]),
    "mnp.array with axes": (lambda x: mnp.array([x[0], x[1]], ndmin=2), lambda a, b, c: [a, b]),
    "mnp.array with a type": (lambda x: mnp.array([[x[0], 1], [0.1, x[1]]], "float64"), lambda a, b, c: [a, 1, 0.1, b]),
    "mnp.asarray": (lambda x: mnp.asarray([x, x * 2]), lambda a, b, c: [a, b, c, 2 * a, 2 * b, 2 * c]),
    "mnp.full": (lambda x: mnp.full((2,), x[0]), lambda a, b, c: [a, a]),
    "mnp.full of a list": (lambda x: mnp.full((2,), [x[0], x[1]]), lambda a, b, c: [a, b]),
    "mnp.diag": (lambda x: mnp.diag([x[0], x[1]]), lambda a, b, c: [a, 0.0, 0.0, b]),
    "mnp.mean": (lambda x: mnp.mean([x[0], x[1] * x[2]]), lambda a, b, c: [(a + b * c) / 2]),
    "mnp.sum": (lambda x: mnp.sum([[x[0], 2.0], [x[1], x[2]]], axis=0), lambda a, b, c: [a + b, 2.0 + c]),
    "mnp.prod": (lambda x: mnp.prod([x[0], x[1], 3.0]), lambda a, b, c: [a * b * 3]),
    "mnp.var": (lambda x: mnp.var([x[0], x[1]]), lambda a, b, c: [(a - b) ** 2 / 4]),
    "mnp.stack": (lambda x: mnp.stack([x[0], x[1]]), lambda a, b, c: [a, b]),
    "mnp.stack of lists": (lambda x: mnp.stack([[x[0], 0.1], [1.0, x[1]]], axis=1), lambda a, b, c: [a, 1.0, 0.1, b]),
    "mnp.concatenate": (lambda x: mnp.concatenate(([x[0]], [x[1], 0.1])), lambda a, b, c: [a, b, 0.1]),
    "mnp.hstack": (lambda x: mnp.hstack(([x[0]], x[1:])), lambda a, b, c: [a, b, c]),
    "mnp.vstack": (lambda x: mnp.vstack(([x[0], x[1]], [x[2], 1.0])), lambda a, b, c: [a, b, c, 1.0]),
    "mnp.column_stack": (lambda x: mnp.column_stack(([x[0], x[1]], [x[2], 0.1])), lambda a, b, c: [a, c, b, 0.1]),
    "mnp.append": (lambda x: mnp.append([x[0]], [0.1, x[1]]), lambda a, b, c: [a, 0.1, b]),
    "mnp.dot": (lambda x: mnp.dot([x[0], x[1]], [x[1], 0.1]), lambda a, b, c: [a * b + 0.1 * b]),
    "mnp.matmul": (lambda x: mnp.matmul([[x[0], x[1]]], [[x[2]], [0.1]]), lambda a, b, c: [a * c + 0.1 * b]),
    "mnp.outer": (lambda x: mnp.outer([x[0], 0.1], [x[1], x[2]]), lambda a, b, c: [a * b, a * c, 0.1 * b, 0.1 * c]),
    "mnp.where": (lambda x: mnp.where([True, False], [x[0], 0.1], [x[1], x[2]]), lambda a, b, c: [a, c]),
    "mnp.maximum": (lambda x: mnp.maximum([x[0], x[2]], [x[1], 0.1]), lambda a, b, c: [b, c]),
    "mnp.add": (lambda x: mnp.add(x, [0.1, 0.2, 0.3]), lambda a, b, c: [a + 0.1, b + 0.2, c + 0.3]),
    "mnp.multiply": (lambda x: mnp.multiply([x[0], x[1]], [x[1], 0.1]), lambda a, b, c: [a * b, 0.1 * b]),
    "mnp.exp": (lambda x: mnp.exp([x[0], x[1]]), lambda a, b, c: [ops.exp(a), ops.exp(b)]),
    "mnp.clip": (lambda x: mnp.clip([x[0], 9.0], 0.1, [x[1], x[2]]), lambda a, b, c: [a, c]),
    "mnp.linspace": (lambda x: mnp.linspace(x[0], x[1], 3), lambda a, b, c: [a, (a + b) / 2, b]),
    "mnp.interp": (
        lambda x: mnp.interp([x[0], 1.25], [0.0, 1.0, 2.0], [x[0], x[1], x[2]]),
        lambda a, b, c: [a + a * (b - a), b + 0.25 * (c - b)],
    ),
    "mnp.trapezoid": (lambda x: mnp.trapezoid([x[0], x[1]], [0.1, x[2]]), lambda a, b, c: [(a + b) / 2 * (c - 0.1)]),
    "mnp.cumsum": (lambda x: mnp.cumsum([x[0], 0.1, x[1]]), lambda a, b, c: [a, a + 0.1, a + 0.1 + b]),
    "mnp.diff": (lambda x: mnp.diff([x[0], x[1] * x[2]], prepend=[0.1]), lambda a, b, c: [a - 0.1, b * c - a]),
    "mnp.linalg.norm": (lambda x: mnp.linalg.norm([x[0], x[1]]), lambda a, b, c: [ops.sqrt(a * a + b * b)]),
    "mnp.linalg.det": (lambda x: mnp.linalg.det([[x[0], 2.0], [x[1], x[2]]]), lambda a, b, c: [det(a, 2.0, b, c)]),
    "mnp.linalg.solve": (lambda x: mnp.linalg.solve([[x[0], 2.0], [x[1], x[2]]], [x[1], 1.0]), solved),
    "mnp.linalg.inv": (
        lambda x: mnp.linalg.inv([[x[0], 2.0], [x[1], x[2]]]),
        lambda a, b, c: [e / det(a, 2.0, b, c) for e in (c, -2.0, -b, a)],
    ),
    "mnp.einsum": (
        lambda x: mnp.einsum("i,ij->j", [x[0], x[1]], [[x[1], 1.0], [0.1, x[2]]]),
        lambda a, b, c: [a * b + 0.1 * b, a + b * c],
    ),
    "mnp.kron": (lambda x: mnp.kron([x[0], 0.1], [x[1], x[2]]), lambda a, b, c: [a * b, a * c, 0.1 * b, 0.1 * c]),
    "mnp.polyval": (lambda x: mnp.polyval([x[0], 0.1, x[1]], x[2]), lambda a, b, c: [a * c * c + 0.1 * c + b]),
    "mnp.select": (
        lambda x: mnp.select([[True, False], [True, True]], [[x[0], x[0]], [x[1], x[2]]]), lambda a, b, c: [a, c],
    ),
    "mnp.gradient": (lambda x: mnp.gradient([x[0], x[1], x[2]]), lambda a, b, c: [b - a, (c - a) / 2, c - b]),
    "mnp.convolve": (
        lambda x: mnp.convolve([x[0], x[1]], [x[2], 0.1]), lambda a, b, c: [a * c, b * c + 0.1 * a, 0.1 * b],
    ),
    "mnp.average": (
        lambda x: mnp.average([x[0], x[1]], weights=[x[2], 0.1]), lambda a, b, c: [(a * c + 0.1 * b) / (c + 0.1)],
    ),
    "mnp.meshgrid": (lambda x: mnp.stack(mnp.meshgrid([x[0], x[1]], [x[2]])), lambda a, b, c: [a, b, c, c]),
    "mnp.pad": (lambda x: mnp.pad([x[0], x[1]], 1, constant_values=x[2]), lambda a, b, c: [c, a, b, c]),
    "mnp.tile": (lambda x: mnp.tile([x[0], 0.1], 2), lambda a, b, c: [a, 0.1, a, 0.1]),
    "mnp.roll": (lambda x: mnp.roll([x[0], x[1], x[2]], 1), lambda a, b, c: [c, a, b]),
    "mnp.sort": (lambda x: mnp.sort([x[2], x[0], x[1]]), lambda a, b, c: [a, b, c]),
    "mnp.take": (lambda x: mnp.take([x[0], x[1]], [1, 1]), lambda a, b, c: [b, b]),
    "mnp.trace": (lambda x: mnp.trace([[x[0], 1.0], [x[1], x[2]]]), lambda a, b, c: [a + c]),
    "mnp.transpose": (lambda x: mnp.transpose([[x[0], 1.0], [x[1], x[2]]]), lambda a, b, c: [a, b, 1.0, c]),
    "np.stack": (lambda x: np.stack([x[0], x[1]]), lambda a, b, c: [a, b]),
    "np.concatenate": (lambda x: np.concatenate([x[:1], [x[1], 0.1]]), lambda a, b, c: [a, b, 0.1]),
    "np.where": (lambda x: np.where([True, False, True], [x[1], x[2], 0.1], x), lambda a, b, c: [b, b, 0.1]),
    "np.dot": (lambda x: np.dot(x, [x[1], 0.1, 2]), lambda a, b, c: [a * b + 0.1 * b + 2 * c]),
    "np.add": (lambda x: np.add(x, [x[1], 0.1, x[0]]), lambda a, b, c: [a + b, b + 0.1, c + a]),
    "np.einsum": (lambda x: np.einsum("i,i->", x, [x[2], 0.1, x[1]]), lambda a, b, c: [a * c + 0.1 * b + c * b]),
    "np.einsum by axes": (lambda x: np.einsum(x, [0], [x[2], 1.0, x[1]], [0], []), lambda a, b, c: [a * c + b + c * b]),
    "np.linalg.solve": (lambda x: np.linalg.solve(mnp.array([[x[0], 2.0], x[1:]]), [x[1], 1.0]), solved),
    "np.interp": (lambda x: np.interp(x[0], [0.0, 1.0, 2.0], [x[1], x[2], 0.1]), lambda a, b, c: [b + a * (c - b)]),
    "np.array, like": (lambda x: np.array([x[0], 0.1], like=x), lambda a, b, c: [a, 0.1]),
    "ops.full": (lambda x: ops.full((2,), x[1]), lambda a, b, c: [b, b]),
    "ops.elu": (lambda x: ops.elu(-x, x[2] - POINT[2] + 1.0), lambda a, b, c: [
        (c - POINT[2] + 1.0) * ops.expm1(-e) for e in (a, b, c)
    ]),
}  # fmt: skip


def stored(x, where):
    found = np.zeros((3, 2))
    found[where] = x
    return found


def done(call, *args):
    """The result of a function that changes its first argument."""
    call(*args)
    return args[0]


class Foreign:
    """What a compiled library does with an object: it asks for an array."""

    def __init__(self, x):
        self.numbers = np.ascontiguousarray(x)


SCIPY = pytest.importorskip("scipy.integrate"), pytest.importorskip("scipy.interpolate")


integrate, interpolate = SCIPY


#: What takes plain numbers without a word: the program, and the error.
RAISES = {
    "float": (lambda x: float(x[0]), LeavesDerivativeError),
    "complex": (lambda x: complex(x[0]), LeavesDerivativeError),
    "complex of two": (lambda x: complex(1.0, x[0]), LeavesDerivativeError),
    "math.sin": (lambda x: math.sin(x[0]), LeavesDerivativeError),
    "cmath.exp": (lambda x: cmath.exp(x[0]), LeavesDerivativeError),
    "math.isnan": (lambda x: math.isnan(x[0]), LeavesDerivativeError),
    "math.hypot": (lambda x: math.hypot(x[0], x[1]), LeavesDerivativeError),
    "math.fsum": (lambda x: math.fsum(x), LeavesDerivativeError),
    "statistics.mean": (lambda x: statistics.mean([x[0], x[1]]), TypeError),
    "statistics.fmean": (lambda x: statistics.fmean([x[0], x[1]]), LeavesDerivativeError),
    "Fraction": (lambda x: fractions.Fraction(x[0]), TypeError),
    "struct": (lambda x: struct.pack("d", x[0]), struct.error),
    "array.array": (lambda x: array.array("d", list(x)), LeavesDerivativeError),
    "memoryview": (lambda x: memoryview(x), TypeError),
    "bytes": (lambda x: bytes(x), TypeError),
    "json": (lambda x: json.dumps(x[0]), TypeError),
    "np.array of elements": (lambda x: np.array([x[0], x[1] ** 2]), LeavesDerivativeError),
    "np.array of a number": (lambda x: np.array(x[0]), LeavesDerivativeError),
    "np.array of objects": (lambda x: np.array([x[0], x[1]], object), LeavesDerivativeError),
    "np.asarray": (lambda x: np.asarray(x), LeavesDerivativeError),
    "np.asarray of a result": (lambda x: np.asarray(ops.sin(x)), LeavesDerivativeError),
    "np.float64": (lambda x: np.float64(x[0]), LeavesDerivativeError),
    "np.full": (lambda x: np.full(3, x[0]), LeavesDerivativeError),
    "np.fromiter": (lambda x: np.fromiter((e for e in x), float), LeavesDerivativeError),
    "item": (lambda x: stored(x[0], (0, 1)), LeavesDerivativeError),
    "row": (lambda x: stored(x[0], 1), LeavesDerivativeError),
    "slice": (lambda x: stored(x, (slice(None), 0)), LeavesDerivativeError),
    "mask": (lambda x: stored(x[0], np.eye(3, 2, dtype=bool)), LeavesDerivativeError),
    "fill": (lambda x: done(np.ndarray.fill, np.zeros(3), x[0]), LeavesDerivativeError),
    "flat": (lambda x: done(lambda a, e: a.flat.__setitem__(0, e), np.zeros(3), x[0]), ValueError),
    "np.put": (lambda x: done(np.put, np.zeros(3), [0], x[0]), TypeError),
    "np.copyto": (lambda x: done(np.copyto, np.zeros(3), x), TypeError),
    "np.add.at": (lambda x: done(np.add.at, np.zeros(3), [0], x[0]), TypeError),
    "in place": (lambda x: done(lambda a: a.__iadd__(x), np.zeros(3)), TypeError),
    "out of a ufunc": (lambda x: np.sin(x, out=np.zeros(3)), TypeError),
    "out of a function": (lambda x: np.sum(x, out=np.zeros(())), TypeError),
    "np.mean of elements": (lambda x: np.mean([x[0], x[1]]), LeavesDerivativeError),
    "np.sin of elements": (lambda x: np.sin([x[0], x[1]]), LeavesDerivativeError),
    "np.linalg.norm of elements": (lambda x: np.linalg.norm([x[0], x[1]]), LeavesDerivativeError),
    "operator with a list": (lambda x: np.ones(2) * [x[0], 1.0], LeavesDerivativeError),
    "np.add.reduce": (lambda x: np.add.reduce([x[0], x[1]]), LeavesDerivativeError),
    "np.vectorize": (lambda x: np.vectorize(math.sin)(x), LeavesDerivativeError),
    "np.frompyfunc": (lambda x: np.frompyfunc(math.sin, 1, 1)(x), TypeError),
    "np.random": (lambda x: np.random.default_rng(0).normal(x[0], 1.0), LeavesDerivativeError),
    "np.poly1d": (lambda x: np.poly1d([x[0], x[1]]), LeavesDerivativeError),
    "np.matrix": (lambda x: np.ma.array([x[0]]), LeavesDerivativeError),
    "np.r_": (lambda x: np.r_[x[0], x[1]], LeavesDerivativeError),
    "method of an array": (lambda x: np.ones(3).searchsorted(x), LeavesDerivativeError),
    "np.lib": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 1), TypeError),
    "np.save": (lambda x: np.save(io.BytesIO(), x), LeavesDerivativeError),
    "np.savez": (lambda x: np.savez(io.BytesIO(), x=x), LeavesDerivativeError),
    "np.savetxt": (lambda x: np.savetxt(io.StringIO(), x), LeavesDerivativeError),
    "np.testing": (lambda x: np.testing.assert_allclose(x, x), LeavesDerivativeError),
    "a library": (lambda x: Foreign(x * 2).numbers, LeavesDerivativeError),
    "quad": (lambda x: integrate.quad(lambda t: t * x[0], 0.0, 1.0), LeavesDerivativeError),
    "spline": (lambda x: interpolate.CubicSpline([0.0, 1.0, 2.0], x), LeavesDerivativeError),
    "DLPack": (lambda x: np.from_dlpack(x), LeavesDerivativeError),
    "Tensor.from_dlpack": (lambda x: Tensor.from_dlpack(x), LeavesDerivativeError),
    "pickle": (lambda x: pickle.dumps(x), LeavesDerivativeError),
    "pickle of a nest": (lambda x: pickle.dumps({"x": [x]}), LeavesDerivativeError),
    "norm's order": (lambda x: ops.norm(x, x[0] + 1.0, dim=0), LeavesDerivativeError),
}


#: What says that it takes plain numbers, or loses nothing: factors of x. `None` stands for the error of vmap.
CONSTANTS = {
    "asnumpy": lambda x: x.asnumpy(),
    "numpy": lambda x: x.numpy(),
    "item": lambda x: x[0].item(),
    "tolist": lambda x: np.array(x.tolist()),
    "stop_gradient": lambda x: ops.stop_gradient(x),
    "float of stop_gradient": lambda x: float(ops.stop_gradient(x[0])),
    "np.asarray of stop_gradient": lambda x: np.asarray(ops.stop_gradient(x)),
    "np.array of comparisons": lambda x: np.array([x[0] > 0.1, x[1] > x[2]]).sum() + 1.0,
    "int": lambda x: int(x[2]),
    "int into an array": lambda x: done(lambda a: a.__setitem__(0, int(x[2])), np.ones(3)),
    "bool": lambda x: 2.0 if x[0] < x[1] else 3.0,
    "argsort": lambda x: TABLE[ops.argsort(x)],
    "index": lambda x: TABLE[int(ops.argmax(x))],
    "np.argsort": lambda x: np.argsort(x),
    "np.allclose": lambda x: 2.0 if np.allclose(x, x) else 3.0,
    "str": lambda x: float(len(str(x))),
    "repr": lambda x: float(len(repr(x))),
    "format": lambda x: float(f"{x[0]:.1f}"),
    "%": lambda x: float("%.1f" % x[0]),  # noqa: UP031
    "str.format": lambda x: float(f"{x[0].item():.1f}{x[1]:.0f}"),
    "Parameter": lambda x: Parameter(x),
    "Parameter of a list": lambda x: Parameter([x[0], x[1], 2.0]),
    "sign": lambda x: np.asarray(ops.sign(x)) + float(ops.floor(x[2])),
    "shape": lambda x: float(np.ndim(x) + np.size(x)),
}


#: Where numbers are taken inside of other calls: a function of x, and of what takes the number.
INSIDE = {
    "while_loop": lambda x, take: dg.while_loop(lambda u: take(u.sum()) < 10, lambda u: u * 2, x),
    "scan": lambda x, take: dg.scan(lambda c, y: (c * take(c[0]), y), x, X)[0],
    "fori_loop": lambda x, take: dg.fori_loop(0, 2, lambda k, c: c * take(c[0]), x),
    "recompute": lambda x, take: dg.recompute(lambda y: y * take(y[0]))(x),
    "recompute, from outside": lambda x, take: dg.recompute(lambda y: y * take(x[0]))(x),
    "cond": lambda x, take: dg.cond(x[0] > 0, lambda y: y * take(y[0]), lambda y: y, x),
    "jit": lambda x, take: dg.jit(lambda y: y * take(y[0]))(x),
    "vmap": lambda x, take: dg.vmap(lambda y: y * take(x[0]))(x),
    "a constant's gradient": lambda x, take: dg.grad(lambda y: (y**2 * take(x[0])).sum())(X),
}
