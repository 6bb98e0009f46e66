"""Every name of tests/names.py exists and can be called."""

from functools import reduce

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
