"""Programs for arrays that write through views: makers x ways to take a view x writers x readers x ways to run.

Each part is written for a namespace, NumPy's or `dualgrad.numpy`. A program makes an array of its input, takes a view
of it, writes into one of them and reads both.
"""

import warnings

import numpy as np

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor

START = np.array([[0.5, -1.5, 2.0], [1.25, 0.75, -0.6]])


def _filled(np, x):
    a = np.zeros((2, 3), dtype=np.float64)
    a[0] = x[0] * 2.0
    a[1, 1:] = x[1, 1:]
    return a


def _moved(np, x):
    x -= 0.5 * x.mean()
    return x


MAKERS = {
    "input": lambda np, x: x,
    "operator": lambda np, x: 2.0 * x,
    "array on the left": lambda np, x: START * x,
    "negative": lambda np, x: -x,
    "power": lambda np, x: x**2,
    "sum of two": lambda np, x: x + x[::-1],
    "filled": _filled,
    "moved in place": _moved,
    "copy": lambda np, x: np.copy(x),
    "method copy": lambda np, x: x.copy(),
    "array": lambda np, x: np.array(x),
    "asarray": lambda np, x: np.asarray(x),
    "stack": lambda np, x: np.stack([x[0], x[1] * 2.0]),
    "concatenate": lambda np, x: np.concatenate([x[:1], 3.0 * x[1:]]),
    "ufunc": lambda np, x: np.sin(x),
    "where": lambda np, x: np.where(x > 0.0, x, 0.1 * x),
    "clip": lambda np, x: x.clip(-1.0, 1.0),
    "cumsum": lambda np, x: np.cumsum(x, axis=1),
    "roll": lambda np, x: np.roll(x, 1, axis=1),
    "zeros_like": lambda np, x: np.zeros_like(x) + x,
    "ones_like": lambda np, x: np.ones_like(x) * x,
    "full": lambda np, x: np.full((2, 3), 2.0) * x,
    "outer": lambda np, x: np.outer(x[:, 0], x[0]),
    "matmul": lambda np, x: x @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [2.0, 0.0, 1.0]]),
    "of a transpose": lambda np, x: (2.0 * np.concatenate([x.T, x.T], axis=1)[:, 1:3]).T,
    "transpose plus one": lambda np, x: x.T.T + 1.0,
    "in columns": lambda np, x: (x.T * 2.0).T,
    "flatten": lambda np, x: x.flatten().reshape(2, 3),
    "astype": lambda np, x: x.astype(np.float64),
    "tile": lambda np, x: np.tile(x[:1], (2, 1)) * x,
    "row of an array": lambda np, x: np.stack([x, 2.0 * x])[1],
    "every other": lambda np, x: np.concatenate([x, 2.0 * x], axis=1)[:, ::2],
    "round": lambda np, x: np.round(0.87 * x, 1) + x,
    "sum": lambda np, x: np.stack([x, 2.0 * x]).sum(axis=0),
    "einsum": lambda np, x: np.einsum("ij,j->ij", x, x[0]),
}

TAKEN = {
    "int": lambda np, a: a[1],
    "negative": lambda np, a: a[-1],
    "slice": lambda np, a: a[:, 1:],
    "stride": lambda np, a: a[::-1, ::2],
    "column": lambda np, a: a[:, 1],
    "new axis": lambda np, a: a[None, 1],
    "ellipsis": lambda np, a: a[..., :2],
    "whole": lambda np, a: a[:],
    "of a view": lambda np, a: a[:, 1:][0],
    "three": lambda np, a: a[::-1][:, ::-1][1],
    "iterated": lambda np, a: [row for row in a][0],  # noqa: C416, RUF015
    "zipped": lambda np, a: next(zip(a, a, strict=True))[1],
    "reshape": lambda np, a: np.reshape(a, (3, 2)),
    "method reshape": lambda np, a: a.reshape(-1),
    "reshape of a part": lambda np, a: a[:, :2].reshape(-1),
    "ravel": lambda np, a: np.ravel(a),
    "method ravel": lambda np, a: a.ravel(),
    "ravel of a transpose": lambda np, a: a.T.ravel(),
    "T": lambda np, a: a.T,
    "transpose": lambda np, a: np.transpose(a),
    "method transpose": lambda np, a: a.transpose(1, 0),
    "part of a transpose": lambda np, a: a.T[1:],
    "swapaxes": lambda np, a: np.swapaxes(a, 0, 1),
    "method swapaxes": lambda np, a: a.swapaxes(0, 1),
    "moveaxis": lambda np, a: np.moveaxis(a, 0, -1),
    "squeeze": lambda np, a: np.squeeze(a[:1]),
    "method squeeze": lambda np, a: a[:, :1].squeeze(),
    "expand_dims": lambda np, a: np.expand_dims(a, 1),
    "split": lambda np, a: np.split(a, 2)[1],
    "array_split": lambda np, a: np.array_split(a, 2, axis=1)[0],
    "hsplit": lambda np, a: np.hsplit(a, 3)[2],
    "vsplit": lambda np, a: np.vsplit(a, 2)[0],
    "flip": lambda np, a: np.flip(a, 1),
    "fliplr": lambda np, a: np.fliplr(a),
    "rot90": lambda np, a: np.rot90(a),
    "diagonal": lambda np, a: np.diagonal(a),
    "method diagonal": lambda np, a: a.diagonal(),
    "broadcast_to": lambda np, a: np.broadcast_to(a, (2, 2, 3)),
    "atleast_3d": lambda np, a: np.atleast_3d(a),
    "asarray": lambda np, a: np.asarray(a),
    "real": lambda np, a: np.real(a),
    "same": lambda np, a: a,
    "fancy": lambda np, a: a[[0, 1, 0]],
    "mask": lambda np, a: a[a > -9.0],
    "copy": lambda np, a: a.copy(),
    "flatten": lambda np, a: a.flatten(),
}


def _swapped(np, v, x):
    v[0], v[-1] = v[-1] * 1.0, v[0] * 1.0


def _function(np, v, x):
    def change(t):
        t *= 1.5
        t[..., 0] += x[0, 0]

    change(v)


def _augmented(sign, value="x[1, 1]"):
    found = {}
    exec(f"def change(np, v, x):\n    v {sign}= {value}\n", found)
    return found["change"]


def _statement(line):
    found = {}
    exec(f"def change(np, v, x):\n    {line}\n", found)
    return found["change"]


def _augmented_item(index, sign):
    found = {}
    exec(f"def change(np, v, x):\n    v[{index}] {sign}= x[0, 2]\n", found)
    return found["change"]


WRITES = {
    "first": lambda np, v, x: v.__setitem__(0, x[0, 1]),
    "all": lambda np, v, x: v.__setitem__(slice(None), x[1, 2] * 3.0),
    "last": lambda np, v, x: v.__setitem__((..., -1), x[0, 1] ** 2),
    "constant": lambda np, v, x: v.__setitem__((..., slice(1, None)), 4.0),
    "mask": lambda np, v, x: v.__setitem__(v < 0.63, x[0, 0]),
    "places": lambda np, v, x: v.__setitem__([0, -1], x[1, 0]),
    "shifted": lambda np, v, x: v.__setitem__((..., slice(1, None)), v[..., :-1]),
    "item of an item": lambda np, v, x: v[-1:].__setitem__(0, x[0, 0]),
    "swapped": _swapped,
    "in a function": _function,
    "add": _augmented("+"),
    "subtract": _augmented("-"),
    "multiply": _augmented("*"),
    "divide": _augmented("/"),
    "power": _augmented("**", "2"),
    "multiply by one": _augmented("*", "1.0"),
    "add to itself": _augmented("+", "v"),
    "matrix product": _augmented("@", "np.eye(v.shape[-1]) * 2.0"),
    "item added": _augmented_item("0", "+"),
    "slice multiplied": _augmented_item("..., 1:", "*"),
    "mask subtracted": _augmented_item("v > 0", "-"),
    "put": lambda np, v, x: np.put(v, [0, 1], 5.0),
    "copyto": lambda np, v, x: np.copyto(v, x[0, 0]),
    "putmask": lambda np, v, x: np.putmask(v, v > 0.0, 2.5),
    "fill": _statement("v.fill(3.0)"),
    "sort": _statement("v.sort()"),
    "twice": lambda np, v, x: (v.__setitem__(0, x[0, 0]), v.__setitem__((..., 0), v[..., -1] * 2.0)),
    "nothing": lambda np, v, x: None,
}


def _weights(shape):
    n = int(np.prod(shape))
    return np.cos(np.arange(1.0, n + 1)).reshape(shape)


def _one(a):
    return (a * _weights(a.shape)).sum()


READS = {
    "both": lambda np, a, v: _one(a) + 2.0 * _one(v),
    "base": lambda np, a, v: _one(a**2),
    "view": lambda np, a, v: _one(v**2),
    "rows": lambda np, a, v: sum([_one(row) * (k + 1.0) for k, row in enumerate(a)]) + _one(v),
    "transposed": lambda np, a, v: _one(a.T) + _one(np.ravel(v)),
    "function": lambda np, a, v: np.sum(np.sin(a)) + np.mean(v * v),
    "element": lambda np, a, v: a[0, 0] * 3.0 + a[1, -1] + _one(v),
}

TARGETS = ("view", "base")
"""What is written into."""


def program(maker, take, write, target, read):
    """A function of (namespace, input)."""
    made, taken, written, found = MAKERS[maker], TAKEN[take], WRITES[write], READS[read]

    def run(np, x):
        a = made(np, x)
        v = taken(np, a)
        written(np, v if target == "view" else a, x)
        return found(np, a, v)

    return run


def _aux(f, x):
    return dg.grad(lambda x: (_one(x), f(x)), has_aux=True)(x)[1][0]


def _scanned(f, x):
    twice = mnp.stack([mnp.array(x), mnp.array(x)])
    return dg.scan(lambda c, t: (c + f(t), None), Tensor(np.zeros(())), twice)[0] / 2.0


def _graph(f, x):
    dg.set_context(mode=dg.GRAPH_MODE)
    try:
        gradient = dg.grad(f)
        for _ in range(3):
            found = gradient(x)
    finally:
        dg.set_context(mode=dg.PYNATIVE_MODE)
    return found


def _recorded(f, x, calls=5):
    recorded = dg.jit(f)
    found = [recorded(mnp.array(x)) for _ in range(calls)]
    for one in found[1:]:
        np.testing.assert_allclose(np.asarray(one), np.asarray(found[0]), rtol=1e-13, atol=1e-13)
    return found[-1]


VALUES = {
    "eager": lambda f, x: f(mnp.array(x)),
    "value_and_grad": lambda f, x: dg.value_and_grad(f)(x)[0],
    "has_aux": _aux,
    "vjp": lambda f, x: dg.vjp(f, mnp.array(x))[0],
    "jvp": lambda f, x: dg.jvp(f, mnp.array(x), mnp.array(x))[0],
    "vmap": lambda f, x: dg.vmap(f)(mnp.stack([mnp.array(x), 2.0 * mnp.array(x)]))[0],
    "scan": _scanned,
    "recorded": _recorded,
    "recompute": lambda f, x: dg.recompute(f)(mnp.array(x)),
}
"""Ways to run a program that return its value."""

GRADIENTS = {
    "grad": lambda f, x: dg.grad(f)(x),
    "recorded gradient": lambda f, x: _recorded(dg.grad(f), x),
    "Graph mode": _graph,
    "forward": lambda f, x: np.stack(
        [dg.jvp(f, mnp.array(x), mnp.array(e))[1].asnumpy() for e in np.eye(x.size).reshape(-1, *x.shape)]
    ).reshape(x.shape),
    "pullback": lambda f, x: dg.vjp(f, mnp.array(x))[1](Tensor(np.ones(()))),
    "mapped": lambda f, x: dg.vmap(dg.grad(f))(mnp.stack([mnp.array(x), mnp.array(x)]))[1],
    "of recompute": lambda f, x: dg.grad(dg.recompute(f))(x),
}
"""Ways to run a program that return its gradient."""


def of_arrays(run, x):
    """The value and the gradient (by central differences) of a program of NumPy's arrays; None where NumPy refuses."""
    try:
        value = run(np, x.copy())
    except (ValueError, TypeError, IndexError):
        return None
    gradient = np.zeros_like(x)
    h = 1e-5
    for k in np.ndindex(x.shape):
        ends = []
        for step in (h, -h):
            moved = x.copy()
            moved[k] += step
            ends.append(run(np, moved))
        gradient[k] = (ends[0] - ends[1]) / (2 * h)
    return value, gradient


REFUSALS = (RuntimeError, ValueError, TypeError, IndexError, AttributeError)


def outcome(run, way, x=START, expected=None):
    """How a program ends: "equal", "refused", "refused as by NumPy" or what differs."""
    expected = of_arrays(run, x) if expected is None else expected
    wanted = None if expected is None else expected[way in GRADIENTS]
    try:
        with warnings.catch_warnings():  # recorded programs whose masks depend on numbers run eagerly
            warnings.filterwarnings("ignore", ".* runs eagerly: Python was given the numbers")
            found = np.asarray((GRADIENTS | VALUES)[way](lambda x: run(mnp, x), x.copy()))
    except REFUSALS as error:
        return ("refused as by NumPy" if expected is None else "refused"), str(error)
    if expected is None:
        return "not refused", repr(found)
    if np.allclose(found, wanted, rtol=1e-6, atol=1e-6):
        return "equal", ""
    return "different", f"{found} and not {wanted}"
