"""Every name of tests/names.py exists and can be called."""

import pickle
from functools import reduce
from importlib import import_module

import pytest
from names import OPERATORS, SURROUNDINGS

import dualgrad as dg
from dualgrad import nn


def listed():
    """The object of a dotted name in dualgrad."""
    for forms in OPERATORS.values():
        for where, names in zip(("ops", "ops", "Tensor"), forms, strict=True):
            yield from (f"{where}.{name}" for name in names.split())
    for where, names in SURROUNDINGS.items():
        yield from (f"{where}.{name}".lstrip(".") for name in names.split())


def there(path):
    try:
        return callable(reduce(getattr, path.split("."), dg))
    except AttributeError:
        return False


def test_every_name_is_there_and_can_be_called():
    names = set(listed())
    assert len(names) > 500
    assert not {name for name in names if not there(name)}


def test_operators_are_classes_and_functions_in_their_kinds():
    for family, (classes, functions, _) in OPERATORS.items():
        for name in classes.split():
            assert isinstance(getattr(dg.ops, name), type), (family, name)
            assert getattr(dg.ops.operations, name) is getattr(dg.ops, name)
        for name in functions.split():
            assert not isinstance(getattr(dg.ops, name), type), (family, name)
            assert getattr(dg.ops.functional, name) is getattr(dg.ops, name)


def test_attributes():
    assert dg.__version__.count(".") >= 2
    assert nn.Cell().param_prefix == ""


# Files that lie in folders, or are parts of others, were modules beside these. Pickles name a function by its module.
FORMER = {
    "ops.elementwise": "sin Add",
    "ops.reductions": "sum norm ReduceSum",
    "ops._norms": "norm",
    "ops._extremes": "amax",
    "ops.creation": "zeros rand",
    "ops.misc": "shape assign clip_by_global_norm Print",
    "ops.shape": "reshape transpose cast Reshape",
    "ops.fft": "rfft",
    "ops.loops": "scan while_loop fori_loop",
    "branches": "cond",
}


@pytest.mark.parametrize("module", FORMER)
def test_former_modules_have_their_names_and_pickles_load(module):
    owner = dg if module == "branches" else dg.ops
    for name in FORMER[module].split():
        thing = getattr(owner, name)
        assert getattr(import_module(f"dualgrad.{module}"), name) is thing
        assert pickle.loads(f"cdualgrad.{module}\n{name}\n.".encode()) is thing


def test_the_module_that_answers_numpy_has_its_former_name_too():
    assert import_module("dualgrad.ops.numpy_protocol").UFUNCS
