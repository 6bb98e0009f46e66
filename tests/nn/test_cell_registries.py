"""The registries of a Cell cannot be set or deleted, whatever way of setting is tried."""

import copy
import pickle

import pytest
from support import assert_raises

from dualgrad import Parameter, nn

OWN = ["_params", "_param_tuples", "_cells", "_param_prefix", "_auto_prefix", "_flags"]
VALUES = [None, 5, {}, Parameter([1.0]), nn.Tanh()]


def _loop(cell, name, value):
    exec(f"for cell.{name} in [value]: pass", {"cell": cell, "value": value})


SETTING = {
    "setattr": setattr,
    "__setattr__": lambda cell, name, value: cell.__setattr__(name, value),
    "of the class": lambda cell, name, value: nn.Cell.__setattr__(cell, name, value),
    "for": _loop,
    "add_flags": lambda cell, name, value: cell.add_flags(**{name: value}),
    "add_flags_recursive": lambda cell, name, value: cell.add_flags_recursive(**{name: value}),
}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("way", SETTING)
def test_setting_is_refused_and_changes_nothing(way, value, name):
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh())
    names, flags = list(net.parameters_dict()), net.get_flags()
    assert_raises(AttributeError, lambda: SETTING[way](net, name, value), "SequentialCell", name)
    assert (list(net.parameters_dict()), net.get_flags(), len(net)) == (names, flags, 2)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("way", [delattr, lambda cell, name: cell.__delattr__(name)], ids=["del", "__delattr__"])
def test_deleting_is_refused(way, name):
    net = nn.Dense(2, 3)
    assert_raises(AttributeError, lambda: way(net, name), "Dense", name)
    assert list(net.parameters_dict()) == ["weight", "bias"]


@pytest.mark.parametrize("name", OWN)
def test_inserting_under_such_a_name_is_refused(name):
    net = nn.SequentialCell(nn.Tanh())
    assert_raises(KeyError, lambda: net.insert_child_to_cell(name, nn.Tanh()), "another attribute", name)
    assert_raises(KeyError, lambda: net.insert_param_to_cell(name, Parameter([1.0])), "another attribute", name)
    assert_raises(ValueError, lambda: nn.SequentialCell({name: nn.Tanh()}), name)
    assert len(net) == 1


@pytest.mark.parametrize("name", ["construct", "cells", "__class__", "", "a.b"])
def test_a_chain_of_named_cells_keeps_its_methods(name):
    assert_raises(ValueError, lambda: nn.SequentialCell({name: nn.Tanh()}), "SequentialCell", repr(name))


def test_a_refused_name_leaves_a_chain_as_it_was():
    assert_raises(TypeError, lambda: nn.SequentialCell({1: nn.Tanh()}), "a name must be a str, got int")
    net = nn.CellList([nn.Tanh(), nn.ReLU()])
    assert_raises(TypeError, lambda: net.insert(0, "text"), "expected a Cell, got str")
    assert [type(cell) for cell in net] == [nn.Tanh, nn.ReLU]


def test_copies_and_pickles_still_have_their_members():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh())
    for twin in (copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert list(twin.parameters_dict()) == ["0.weight", "0.bias"]
    heads = nn.CellDict({"a": nn.Dense(2, 3), "b": nn.Tanh()})
    for twin in (copy.copy(heads), copy.deepcopy(heads), pickle.loads(pickle.dumps(heads))):
        assert list(twin.parameters_dict()) == ["a.weight", "a.bias"]
        twin["c"] = twin.pop("b")
        assert (list(twin), list(heads)) == (["a", "c"], ["a", "b"])


def test_a_cell_without_its_constructor_can_be_looked_at():
    class Forgetful(nn.Cell):
        def __init__(self):
            """Not calling that of the base."""

    cell = Forgetful()
    assert repr(cell) == "Forgetful()"
    assert [*cell.get_parameters(), *cell.cells()] == []
    assert cell.phase == "predict"
    assert_raises(AttributeError, lambda: setattr(cell, "w", Parameter([1.0])), "super().__init__()")
    assert_raises(AttributeError, lambda: setattr(nn.Cell(), "child", cell), "super().__init__()")


def test_deleting_what_is_not_there():
    assert_raises(AttributeError, lambda: delattr(nn.Tanh(), "absent"), "Tanh", "absent")
