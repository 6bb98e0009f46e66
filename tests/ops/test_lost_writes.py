"""Assignments to tensors that nothing holds would be lost, where NumPy writes through a view: they are refused."""

import operator

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops
from dualgrad.ops.index import _lost_writes


@pytest.fixture(autouse=True, params=[False, True], ids=["by bytecode", "by references"])
def _counted(request, monkeypatch):
    """Both ways to know give one answer; on Python 3.14 and newer there is one."""
    if request.param and not _lost_writes._SETTINGS["counted"]:
        pytest.skip("references of names are not counted")
    monkeypatch.setitem(_lost_writes._SETTINGS, "counted", request.param)


# In NumPy each of these changes `a` (a matrix) or `z` (complex).
LOST = [
    "a[0][1] = 7",
    "a[0][1:] = 7",
    "a[0][a[0] > 0] = 7",
    "a[0][1] += 7",
    "a.T[0] = 7",
    "a.T[0, 1:] = 7",
    "a.ravel()[2] = 7",
    "a.reshape(6)[2:4] = [7, 8]",
    "z.reshape(2, 1)[0] = 7",
    "held.rows[0].reshape(3, 1)[1] = 7",
    "a[0][1 if operator else 2] = 7",
    "a[1 if operator else 0][operator.index(1)] = 7",
    "a[0][operator.index(1)] += operator.add(3, 4)",
]
KEPT = [
    "a[0, 1] = 7",
    "a[1:, :2] = 7",
    "a[a > 0] += 7",
    "held.a[0, 1] = 7",
    "held.rows[0][1] = 7",
    "held.names['x'][1] = 7",
    "operator.setitem(a, 0, 7)",
    "a.__setitem__(0, 7)",
    "b = a\nb[0] = 7",
    "a[1 if operator else 0, operator.index(1)] = 7",
    "a[operator.index(1)] = 7 if a is None else 8",
    "a[0] += operator.add(3, 4)",
    "(a if operator else rows)[0] = 7",
    "b = c = a\nb[0], c[1] = 7, 8",
    "for row in rows: row[0] = 7",
    "[operator.setitem(row, 0, 7) for row in rows]",
    "(lambda a: operator.setitem(a, 0, 7))(a)",
]


class Held:
    """What holds tensors in an attribute, a list and a dict."""

    def __init__(self, make):
        self.a, self.rows, self.names = make([[1.0, 2.0]]), [make([1.0, 2.0, 3.0])], {"x": make([1.0, 2.0])}


def world(make):
    return {
        "a": make([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]),
        "z": make([1.0 + 2.0j, 3.0]),
        "held": Held(make),
        "rows": [make([1.0, 2.0]), make([3.0, 4.0])],
        "operator": operator,
    }


def numbers_of(names):
    held = names["held"]
    arrays = [names["a"], names["z"], held.a, *held.rows, *held.names.values(), *names["rows"]]
    return [x.asnumpy() if isinstance(x, Tensor) else x for x in arrays]


def in_function(line):
    """The line in a function, whose names are fast locals."""
    body = "\n    ".join(line.split("\n"))
    code = f"def run(a, z, held, rows, operator):\n    {body}\n"
    found = {}
    exec(code, found)
    return found["run"]


@pytest.mark.parametrize("line", LOST)
def test_a_lost_assignment_is_refused(line):
    """And it is one: NumPy's array has changed, and a copy in place of the view has not."""
    array = world(np.array)
    before = [x.copy() for x in numbers_of(array)]
    exec(line, array)
    assert not all(map(np.array_equal, numbers_of(array), before))
    for run in (lambda names: exec(line, names), lambda names: in_function(line)(**names)):
        with pytest.raises(RuntimeError, match="the assignment would be lost"):
            run(world(Tensor))


@pytest.mark.parametrize("line", KEPT)
def test_what_is_held_is_written(line):
    for run in (lambda names: exec(line, names), lambda names: in_function(line)(**names)):
        array, tensor = world(np.array), world(Tensor)
        run(array)
        run(tensor)
        for x, y in zip(numbers_of(tensor), numbers_of(array), strict=True):
            np.testing.assert_array_equal(x, y.astype(x.dtype))


@pytest.mark.parametrize("transform", [dg.grad, dg.jacfwd, dg.vmap, dg.jit], ids=lambda t: t.__name__)
def test_inside_of_transforms(transform):
    def lost(x):
        y = x * 2.0
        y.reshape(-1)[0] = 1.0
        return ops.sum(y)

    def kept(x):
        y = x * 2.0
        y[..., 0] = 1.0
        return ops.sum(y)

    x = Tensor(np.ones((2, 3)))
    with pytest.raises(RuntimeError, match="the assignment would be lost"):
        transform(lost)(x)
    for _ in range(3):
        transform(kept)(x)


def test_parameters_and_elements_of_lists():
    weights = [Parameter(Tensor([1.0, 2.0]), name="w")]
    weights[0][1] = 5.0
    assert weights[0].asnumpy().tolist() == [1.0, 5.0]


def test_compiled_code_may_hold_a_tensor_by_one_reference():
    """A variable of C counts like a temporary of Python, so only assignments of Python are looked at."""
    import ctypes

    set_item = ctypes.pythonapi.PyObject_SetItem
    set_item.argtypes = [ctypes.py_object] * 3
    x = Tensor([1.0, 2.0])
    assert set_item(x, 0, 7.0) == 0
    assert set_item(Tensor([1.0, 2.0]), 0, 7.0) == 0
    assert x.asnumpy().tolist() == [7.0, 2.0]
