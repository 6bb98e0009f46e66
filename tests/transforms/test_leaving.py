"""Values that leave a derivative: what is ours joins, what would cut the derivative raises, what says so is a constant.

Three tables of programs, each run by every transform, eagerly and recorded. The derivatives of a program that joins are
those of the same elements written by hand with scalars; a program that takes plain numbers raises, and says what to do.
"""

import array
import cmath
import copy
import fractions
import inspect
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
from dualgrad._engine.values.levels import open_levels
from dualgrad.numpy._arguments import ARRAYS, COLLECTIONS, STATIC
from dualgrad.numpy._table import FUNCTIONS, on_numbers

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
# Without further words a program is run in the first two; graph mode records the same calls.


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
    "np.partition": (lambda x: np.partition(x, 1), TypeError),
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


@pytest.mark.parametrize("way", ["eager", "recorded"])
@pytest.mark.parametrize("name", JOINS)
def test_what_is_ours_joins(name, way):
    program, elements = JOINS[name]
    for transform, derived in TRANSFORMS.items():
        found = WAYS[way](lambda: derived(lambda x: read(program(x))))  # noqa: B023
        expected = derived(lambda x: by_hand(elements(x[0], x[1], x[2])))
        assert_same(found, expected, transform)


@pytest.mark.parametrize("name", JOINS)
def test_joined_values_are_those_of_the_elements(name):
    program, elements = JOINS[name]
    found = program(X)
    expected = [float(e) for e in elements(*POINT.tolist())] if name not in WITH_OPS else None
    assert found.dtype == dg.float64
    if expected is not None:
        np.testing.assert_allclose(found.asnumpy().ravel(), expected, rtol=1e-14)


#: Programs whose elements are written with functions of `ops`.
WITH_OPS = ("mnp.exp", "mnp.linalg.norm", "ops.elu")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RAISES)
def test_plain_numbers_are_not_taken_without_a_word(name, way):
    program, error = RAISES[name]

    def f(x):
        program(x)
        return (x * x).sum()

    for derived in TRANSFORMS.values():
        with pytest.raises(error) as caught:
            WAYS[way](lambda: derived(f))  # noqa: B023
        assert not open_levels()
        assert (error is LeavesDerivativeError) == isinstance(caught.value, LeavesDerivativeError)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("way", ["eager", "recorded"])
@pytest.mark.parametrize("name", [name for name, (_, error) in RAISES.items() if error is LeavesDerivativeError])
def test_outside_of_derivatives_numbers_are_taken(name, way):
    program, _ = RAISES[name]
    WAYS[way](lambda: (program(X), X * 2)[1])


@pytest.mark.parametrize("name", CONSTANTS)
def test_what_says_so_is_a_constant(name):
    factor = CONSTANTS[name]
    value = factor(X)
    value = value.asnumpy() if isinstance(value, Tensor) else value
    for transform, derived in TRANSFORMS.items():
        if "vmap" not in transform:  # there numbers differ from sample to sample
            found = derived(lambda x: (x**2 * factor(x)).sum())
            assert_same(found, derived(lambda x: (x**2 * value).sum()), transform)


@pytest.mark.parametrize("transform", NAMES)
def test_the_message_says_where_and_what_to_do(transform):
    with pytest.raises(LeavesDerivativeError) as caught:
        TRANSFORMS[transform](lambda x: x.sum() * float(x[1]))
    message = str(caught.value)
    line = test_the_message_says_where_and_what_to_do.__code__.co_firstlineno + 3
    assert message.startswith(f"{transform}: float() ")
    for word in ("Float64", "shape ()", f"test_leaving.py, line {line}", "dualgrad.ops", "dualgrad.numpy"):
        assert word in message
    assert ("samples" if transform == "vmap" else ".asnumpy()") in message


def test_the_line_is_the_users_where_numpy_stands_between():
    with pytest.raises(LeavesDerivativeError, match=r"test_leaving\.py, line \d+\)"):
        dg.grad(lambda x: x.sum() * np.mean([x[0], x[1]]))(X)


def test_a_parameter_that_is_differentiated_does_not_leave():
    w, frozen = Parameter(POINT, name="w"), Parameter(POINT, name="frozen", requires_grad=False)
    for take in (np.asarray, lambda p: float(p[0]), pickle.dumps, lambda p: np.array([p[0], p[1]])):
        with pytest.raises(LeavesDerivativeError):
            dg.grad(lambda: (take(w), (w * w).sum())[1], None, [w])()  # noqa: B023
        found = dg.grad(lambda: (take(frozen), (w * w * frozen).sum())[1], None, [w])()[0]  # noqa: B023
        np.testing.assert_allclose(found.asnumpy(), 2 * POINT**2)
    joined = dg.grad(lambda: (Tensor(w) ** 3).sum() + (Tensor([w[0], 0.5]) ** 2).sum(), None, [w])()[0]
    np.testing.assert_allclose(joined.asnumpy(), 3 * POINT**2 + [2 * POINT[0], 0.0, 0.0])


def test_values_of_closed_levels_leave():
    kept = []
    dg.grad(lambda x: (kept.append(x * x), x.sum())[1])(X)
    dg.jvp(lambda x: (kept.append(x * x), x.sum())[1], X, V)
    for value in kept:
        np.testing.assert_allclose(np.asarray(value), POINT**2)
        assert float(value[0]) == POINT[0] ** 2


def test_values_of_closed_levels_stay_while_an_outer_derivative_needs_them():
    def outer(x):
        kept = []
        inner = dg.grad(lambda z: (kept.append(z * z), z.sum())[1])(x)
        return (inner * np.asarray(kept[0])).sum()

    with pytest.raises(LeavesDerivativeError, match="carries a derivative"):
        dg.grad(outer)(X)


def test_constants_inside_a_derivative_leave():
    c = Tensor(POINT)
    found = dg.grad(lambda x: (x * np.asarray(c * 2) * float(c[0])).sum())(X)
    np.testing.assert_allclose(found.asnumpy(), 2 * POINT * POINT[0])


class Compiled(dg.nn.Cell):
    """A function of NumPy, with a rule of its own."""

    def construct(self, x):
        return Tensor(np.sin(np.asarray(x)))

    def bprop(self, x, out, dout):
        return (dout * ops.cos(x),)


def test_functions_with_a_rule_of_their_own_may_take_numbers():
    for transform in ("grad", "grad of grad", "hessian", "jvp", "vjp", "jet", "hvp", "grad of jvp"):
        derived = TRANSFORMS[transform]
        assert_same(derived(lambda x: Compiled()(x).sum()), derived(lambda x: ops.sin(x).sum()), transform)


INSIDE = {
    "while_loop": lambda x: dg.while_loop(lambda u: float(u.sum()) < 10, lambda u: u * 2, x),
    "scan": lambda x: dg.scan(lambda c, y: (c * float(c[0]), y), x, X)[0],
    "fori_loop": lambda x: dg.fori_loop(0, 2, lambda k, c: c * float(c[0]), x),
    "recompute": lambda x: dg.recompute(lambda y: y * float(y[0]))(x),
    "recompute, from outside": lambda x: dg.recompute(lambda y: y * float(x[0]))(x),
    "cond": lambda x: dg.cond(x[0] > 0, lambda y: y * float(y[0]), lambda y: y, x),
    "jit": lambda x: dg.jit(lambda y: y * float(y[0]))(x),
    "vmap": lambda x: dg.vmap(lambda y: y * float(x[0]))(x),
    "a constant's gradient": lambda x: dg.grad(lambda y: (y**2 * float(x[0])).sum())(X),
}


@pytest.mark.parametrize("name", INSIDE)
def test_calls_inside_a_derivative_are_no_way_out(name):
    for transform in ("grad", "grad of grad", "jvp", "jet", "hvp"):
        with pytest.raises(LeavesDerivativeError) as caught:
            TRANSFORMS[transform](lambda x: INSIDE[name](x).sum())
        assert str(caught.value).split(":")[0] == transform.split()[0]  # not a loop's or a block's name
        assert not open_levels()


SETTINGS = {
    "ddof": lambda x: ops.var(x, ddof=x[0]),
    "pinv": lambda x: ops.pinv(ops.outer(x, x), rtol=x[0]),
    "PReLU": lambda x: dg.nn.PReLU(1, [x[0]])(x),
    "decay": lambda x: dg.nn.ExponentialDecayLR(x[0], 0.5, 4)(Tensor(2)),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_are_numbers_do_not_cut_a_derivative_off(name):
    for transform in ("grad", "jvp", "jet"):
        with pytest.raises(TypeError):
            TRANSFORMS[transform](lambda x: SETTINGS[name](x).sum())


OPERANDS = {
    "elu": (lambda a: ops.elu(-X, a), 1.0),
    "dropout": (lambda p: ops.dropout(X, p, seed=3), 0.4),
    "label_smoothing": (
        lambda s: ops.cross_entropy(Tensor(np.outer(POINT, POINT)), Tensor([0, 2, 1]), None, -100, "mean", s),
        0.5,
    ),
    "no label_smoothing": (
        lambda s: ops.cross_entropy(Tensor(np.outer(POINT, POINT)), Tensor([0, 2, 1]), label_smoothing=s),
        0.0,
    ),
    "leaky_relu": (lambda a: ops.leaky_relu(-X, a), 0.2),
    "lerp": (lambda w: ops.lerp(X, V, w), 0.5),
    "pad": (lambda v: ops.pad(X, (1, 1), value=v), 0.0),
    "masked_fill": (lambda v: ops.masked_fill(X, X > 0.5, v), 0.0),
    "full_like": (lambda v: ops.full_like(X, v), 0.0),
    "coefficient": (lambda c: dg.linear_operator({(2,): c})(lambda y: (y**3).sum())(X[:1]), 0.5),
    "linspace": (lambda v: ops.linspace(v, 1.0 - v, 4, dtype=dg.float64), 0.0),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_settings_that_are_tensors_are_operands(name):
    """Also at the numbers for which a formula has a shorter form."""
    f, point = OPERANDS[name]
    at = Tensor(np.float64(point))
    with_number = lambda v: f(v).sum().item()
    h = 1e-6
    ends = (0.0, h) if name == "no label_smoothing" else (-h, h)
    slope = (with_number(point + ends[1]) - with_number(point + ends[0])) / (ends[1] - ends[0])
    for found in (dg.grad(lambda v: f(v).sum())(at), dg.jvp(lambda v: f(v).sum(), at, Tensor(np.float64(1.0)))[1]):
        np.testing.assert_allclose(found.item(), slope, rtol=1e-6, atol=1e-6)


def test_integers_that_are_indices_leave():
    n = Tensor(np.array([2, 0]))
    assert dg.grad(lambda x, n: (x[:2] * TABLE[n]).sum(), (0, 1))(X, n)[0].tolist() == [4.0, 1.0, 0.0]
    with pytest.raises(LeavesDerivativeError):
        dg.grad(lambda x, n: (x[:2] * np.asarray(n)).sum(), (0, 1))(X, n)


def test_derivatives_go_to_the_start_and_the_step_of_arange():
    for derive in (dg.jacrev, dg.jacfwd):
        found = derive(lambda x: ops.arange(x[0], x[0] + 1.5, x[1]))(X)
        np.testing.assert_allclose(found.asnumpy(), [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    with pytest.raises(ValueError, match="vmap"):
        dg.vmap(lambda x: mnp.arange(x[0], 2.0))(ROWS)


def test_lists_of_tensors_are_indices_and_places():
    n = Tensor(np.array([2, 0]))
    for pick in (lambda x: x[[n[0], 1]], lambda x: ops.gather(x, [n[0], 1], 0), lambda x: x[n[0] : 0 : -1]):
        found = dg.grad(lambda x: (pick(x) ** 2).sum())(X)  # noqa: B023
        np.testing.assert_allclose(found.asnumpy(), 2 * POINT * [0, 1, 1])
    found = dg.grad(lambda x: (ops.searchsorted(Tensor([0.0, 0.5]), [x[0], x[1]]) * x[:2]).sum())(X)
    assert found.tolist() == [1.0, 2.0, 0.0]


def test_errors_of_the_user_are_not_replaced():
    def f(x):
        try:
            float(x[0])
        except LeavesDerivativeError as error:
            raise KeyError("mine") from error

    with pytest.raises(KeyError, match="mine"):
        dg.grad(f)(X)
    with pytest.raises(ValueError, match="sequence") as caught:
        dg.grad(lambda x: x.sum() * stored([1.0, [2.0]], 0).sum())(X)
    assert not isinstance(caught.value, LeavesDerivativeError)


TYPES = {
    "float beside float32": (lambda: [Tensor([0.5])[0], 0.1], dg.float32),
    "float beside float64": (lambda: [0.1, X[0]], dg.float64),
    "float beside int64": (lambda: [Tensor(1), 0.5], dg.float32),
    "int beside float16": (lambda: [Tensor(1.0, dg.float16), 2], dg.float16),
    "NumPy's number": (lambda: [Tensor(1.0), np.float64(0.5)], dg.float32),
    "array": (lambda: [Tensor([1.0]), np.ones(1)], dg.float64),
    "two tensors": (lambda: [Tensor(1.0), Tensor(np.float64(1.0))], dg.float64),
    "complex": (lambda: [Tensor(np.float64(1.0)), 1j], dg.complex128),
    "bool": (lambda: [Tensor(True), 1], dg.int64),
}


@pytest.mark.parametrize("make", [Tensor, dg.tensor, mnp.array, mnp.asarray])
@pytest.mark.parametrize("name", TYPES)
def test_numbers_in_lists_follow_the_tensors(name, make):
    data, dtype = TYPES[name]
    found = make(data())
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.asnumpy(), np.array([np.asarray(e) for e in data()]).astype(dtype.numpy))
    assert dg.grad(lambda x: make([x, 0.5]).sum())(Tensor(1.0)).dtype == dg.float32


def test_every_parameter_of_numpys_functions_is_known_to_take_array_likes_or_not():
    seen = {
        name
        for handler in FUNCTIONS.values()
        if handler is not on_numbers
        for name in inspect.signature(handler).parameters
    }
    assert seen == ARRAYS | COLLECTIONS | STATIC
    assert len(seen) == len(ARRAYS) + len(COLLECTIONS) + len(STATIC)


def test_lists_of_numbers_beside_a_tensor_are_not_rounded():
    assert mnp.add(X, [0.1, 0.2, 0.3]).tolist() == (POINT + [0.1, 0.2, 0.3]).tolist()
    assert mnp.add(Tensor([1.0]), [0.1]).dtype == dg.float32
    assert mnp.dot(X, [0.1, 0.2, 0.3]).item() == pytest.approx(POINT @ [0.1, 0.2, 0.3], rel=1e-15)


def test_entries_of_different_shapes_are_refused():
    for make in (Tensor, mnp.array):
        with pytest.raises(ValueError, match="different shapes"):
            make([X[0], X])
        with pytest.raises(TypeError, match="expected numbers, arrays and Tensors in a list, got str"):
            make([X[0], "a"])


def test_a_tensor_of_a_tensor_has_numbers_of_its_own():
    numbers = POINT.copy()
    copied = Tensor(Tensor.from_numpy(numbers))
    numbers[0] = 9.0
    assert copied.tolist() == POINT.tolist()
