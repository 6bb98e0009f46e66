"""Parameters, ParameterTuples and Cells: names, order, attributes, containers."""

import contextlib
import inspect
import warnings

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops

# -------------------------------------------------------------------------------------------------- Parameter


@pytest.mark.parametrize(
    "data",
    [Tensor([1.0, 2.0]), np.array([1.0, 2.0]), [1.0, 2.0], 3.0, 3],
    ids=["tensor", "array", "list", "float", "int"],
)
def test_a_parameter_is_made_of_anything_with_numbers(data):
    parameter = Parameter(data, name="p")
    assert isinstance(parameter, Tensor)
    expected = data.asnumpy() if isinstance(data, Tensor) else np.asarray(data)
    assert np.array_equal(parameter.asnumpy(), expected)


def test_attributes_of_a_parameter():
    parameter = Parameter(f64([1.0, 2.0]), name="p", requires_grad=False)
    assert (parameter.name, parameter.requires_grad, parameter.shape) == ("p", False, (2,))
    assert Parameter(f64([1.0])).requires_grad is True
    assert_close(parameter.value(), [1.0, 2.0])
    assert np.array_equal(parameter.data.asnumpy(), [1.0, 2.0])


@pytest.mark.usefixtures("mode")
def test_a_parameter_works_in_operators_and_gives_plain_tensors():
    p = Parameter(f64([1.0, 2.0]), name="p")
    results = (p * 2, 3 - p, p @ p, ops.exp(p), p[0], np.sin(p), p.sum(), -p)
    values = np.array([1.0, 2.0])
    expected = (values * 2, 3 - values, 5.0, np.exp(values), 1.0, np.sin(values), 3.0, -values)
    assert_close(results, expected)


def test_parameters_without_a_name_are_numbered():
    names = [Parameter(1.0).name for _ in range(3)]
    numbers = [int(name.removeprefix("Parameter#")) for name in names]
    assert numbers == list(range(numbers[0], numbers[0] + 3))


def test_set_data_changes_the_value_and_returns_the_parameter():
    parameter = Parameter(f32([1.0, 2.0]), name="p")
    assert parameter.set_data(f32([5.0, 6.0])) is parameter
    assert_close(parameter * 1, [5.0, 6.0], dtype=dg.float32)
    assert parameter.name == "p"


def test_set_data_does_not_touch_earlier_results_nor_the_given_tensor():
    parameter, given = Parameter(f64([1.0]), name="p"), f64([5.0])
    before = parameter.value()
    parameter.set_data(given)
    parameter[0] = 7.0
    assert_close((before, given, parameter.value()), ([1.0], [5.0], [7.0]))


def test_clone():
    parameter = Parameter(f64([1.0, 2.0]), name="p", requires_grad=False)
    same, zeros, ones = parameter.clone(), parameter.clone(init="zeros"), parameter.clone(init="ones")
    assert_close((same * 1, zeros * 1, ones * 1), ([1.0, 2.0], [0.0, 0.0], [1.0, 1.0]))
    assert (type(same), same.requires_grad, same.dtype) == (Parameter, False, dg.float64)
    same.set_data(f64([9.0, 9.0]))
    assert_close(parameter * 1, [1.0, 2.0])


def test_texts_of_parameters():
    w, b = Parameter(f32([1.0, 2.0]), name="w"), Parameter(f64(1.0), name="b", requires_grad=False)
    text_w = "Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)"
    text_b = "Parameter (name=b, shape=(), dtype=Float64, requires_grad=False)"
    assert str(w) == repr(w) == text_w
    assert str(ParameterTuple([w, b])) == repr(ParameterTuple([w, b])) == f"({text_w}, {text_b})"
    assert str(ParameterTuple([b])) == f"({text_b},)"


# --------------------------------------------------------------------------------------------- ParameterTuple


def test_a_parameter_tuple_is_a_tuple():
    w, b = Parameter(1.0, name="w"), Parameter(2.0, name="b")
    weights = ParameterTuple(p for p in (w, b))
    assert isinstance(weights, tuple)
    assert weights[0] is w
    assert list(weights) == [w, b]
    assert len(weights) == 2
    assert ParameterTuple([]) == ()


def test_clone_of_a_parameter_tuple():
    weights = ParameterTuple([Parameter(1.0, name="w"), Parameter(2.0, name="b")])
    copies, zeros = weights.clone("moments"), weights.clone(prefix="v", init="zeros")
    assert type(copies) is ParameterTuple
    assert [p.name for p in copies] == ["moments.w", "moments.b"]
    assert [p.name for p in zeros] == ["v.w", "v.b"]
    assert [float(p) for p in (*copies, *zeros)] == [1.0, 2.0, 0.0, 0.0]


# ------------------------------------------------------------------------------------------------------ Cells


class Tree(nn.Cell):
    """Own parameters before and after two children, one frozen."""

    def __init__(self):
        super().__init__()
        self.scale = Parameter(np.array([2.0], np.float32))
        self.fc = nn.Dense(2, 3)
        self.offset = Parameter(np.array([1.0], np.float32), name="named", requires_grad=False)
        self.seq = nn.SequentialCell(nn.Dense(3, 1, has_bias=False), nn.ReLU())

    def construct(self, x):
        return self.seq(self.fc(x * self.scale)) + self.offset


NAMES = ["scale", "named", "fc.weight", "fc.bias", "seq.0.weight"]


def test_names_and_order_of_parameters():
    net = Tree()
    assert [p.name for p in net.get_parameters()] == NAMES
    assert [p.name for p in net.trainable_params()] == [name for name in NAMES if name != "named"]
    assert [p.name for p in net.untrainable_params()] == ["named"]
    assert type(net.trainable_params()) is list
    assert list(net.parameters_dict()) == NAMES
    assert net.parameters_dict()["fc.weight"] is net.fc.weight


def test_parameters_and_names_go_by_the_attribute_path():
    net = Tree()
    pairs = dict(net.parameters_and_names())
    assert list(pairs) == ["scale", "offset", "fc.weight", "fc.bias", "seq.0.weight"]
    assert pairs["offset"] is net.offset


def test_own_parameters_of_a_cell_can_be_asked_for_alone():
    assert [p.name for p in Tree().get_parameters(expand=False)] == ["scale", "named"]


def test_children():
    net = Tree()
    assert [name for name, _cell in net.cells_and_names()] == ["", "fc", "seq", "seq.0", "seq.1"]
    assert next(iter(net.cells_and_names()))[1] is net
    assert list(net.cells()) == [net.fc, net.seq]
    assert list(net.name_cells()) == ["fc", "seq"]


def test_names_of_equal_cells_under_one_parent():
    class Twice(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second = Tree(), Tree()

    names = [p.name for p in Twice().get_parameters()]
    assert names == [f"{part}.{name}" for part in ("first", "second") for name in NAMES]


def test_attributes_can_be_replaced_and_deleted():
    net = Tree()
    net.fc = nn.Dense(2, 3, has_bias=False)
    assert [p.name for p in net.get_parameters()] == ["scale", "named", "fc.weight", "seq.0.weight"]
    del net.fc
    assert [p.name for p in net.get_parameters()] == ["scale", "named", "seq.0.weight"]
    assert not hasattr(net, "fc")


@pytest.mark.usefixtures("mode")
def test_a_shared_parameter_counts_once():
    class Tied(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a = Parameter(np.array([3.0]), name="a")
            self.b = self.a

        def construct(self, x):
            return self.a * x * self.b

    net = Tied()
    assert len(net.trainable_params()) == 1
    assert_close(dg.grad(net, None, net.trainable_params())(f64([5.0])), ([30.0],))


@pytest.mark.usefixtures("mode")
def test_arguments_of_construct():
    class Flexible(nn.Cell):
        def construct(self, x, factor=2.0, *more, offset=0.0, **named):
            return x * factor + offset + sum(more) + sum(named.values())

    net, x = Flexible(), f64([1.0])
    assert_close(net(x), [2.0])
    assert_close(net(x, 3.0, 10.0, 20.0), [33.0])
    assert_close(net(x, offset=x, other=5.0), [8.0])
    assert_close(dg.grad(net)(x, factor=7.0), [7.0])


@pytest.mark.usefixtures("mode")
def test_a_cell_may_return_anything():
    class Many(nn.Cell):
        def construct(self, x, flag=None):
            if flag is None:
                return None
            return {"x": x, "rest": [x * 2, (3, "text")]}

    assert Many()(f64([1.0])) is None
    assert_close(Many()(f64([1.0]), True), {"x": [1.0], "rest": [np.array([2.0]), (3, "text")]})


@pytest.mark.usefixtures("mode")
def test_sequential_cells():
    first, second = nn.Dense(2, 3), nn.Dense(3, 1)
    x = f32([[1.0, -2.0]])
    expected = second(ops.tanh(first(x))).asnumpy()
    for net in (
        nn.SequentialCell(first, nn.Tanh(), second),
        nn.SequentialCell([first, nn.Tanh(), second]),
    ):
        assert_close(net(x), expected)
        assert len(net) == 3
        assert net[0] is first
        assert net[-1] is second


@pytest.mark.usefixtures("mode")
def test_cell_lists():
    class Stack(nn.Cell):
        def __init__(self):
            super().__init__()
            self.cl = nn.CellList([nn.Dense(2, 2), nn.Dense(2, 2)])

        def construct(self, x):
            for cell in self.cl:
                x = cell(x)
            return x

    net, x = Stack(), f32([[1.0, -2.0]])
    assert [p.name for p in net.get_parameters()] == ["cl.0.weight", "cl.0.bias", "cl.1.weight", "cl.1.bias"]
    assert len(net.cl) == 2
    assert_close(net(x), net.cl[1](net.cl[0](x)).asnumpy())
    net.cl.append(nn.Dense(2, 1))
    assert net(x).shape == (1, 1)
    assert net.trainable_params()[-1].name == "cl.2.bias"


@pytest.mark.usefixtures("mode")
def test_cell_dicts():
    class Heads(nn.Cell):
        def __init__(self):
            super().__init__()
            self.of = nn.CellDict({"a": nn.Dense(2, 2), "b": nn.Dense(2, 1)})

        def construct(self, x, key):
            return self.of[key](x)

    net, x = Heads(), f32([[1.0, -2.0]])
    assert [p.name for p in net.get_parameters()] == ["of.a.weight", "of.a.bias", "of.b.weight", "of.b.bias"]
    for _ in range(3):
        for key, head in net.of.items():
            assert_close(net(x, key), head(x).asnumpy())
    net.of["b"] = nn.Dense(2, 3)
    assert net(x, "b").shape == (1, 3)
    assert net.trainable_params()[-1].name == "of.b.bias"


def test_a_dict_of_cells_is_like_a_dict():
    a, b, c = nn.Tanh(), nn.ReLU(), nn.Sigmoid()
    plain = {"b": b, "a": a}
    for given in (plain, list(plain.items()), iter([list(pair) for pair in plain.items()]), nn.CellDict(plain)):
        cells = nn.CellDict(given)
        assert dict(cells.items()) == plain
        assert list(cells) == list(cells.keys()) == list(plain)
        assert list(cells.values()) == list(cells.cells()) == list(plain.values())
    cells.update({"c": c, "b": a})
    assert list(cells.items()) == list({**plain, "c": c, "b": a}.items())
    assert "c" in cells
    assert "tanh" not in cells
    assert cells["c"] is cells.c is cells.pop("c")
    del cells["a"]
    assert (list(cells), len(cells), hasattr(cells, "a")) == (["b"], 1, False)
    cells.clear()
    assert (list(cells), len(cells), len(nn.CellDict())) == ([], 0, 0)
    assert nn.CellDict({"a": nn.Dense(1, 1)}, auto_prefix=False)["a"].weight.name == "weight"


WRONG_PAIRS = {
    "a Cell": (nn.Tanh(), TypeError, "Tanh"),
    "a str": ("ab", TypeError, "str"),
    "a number": (1, TypeError, "int"),
    "Cells": ([nn.Tanh()], TypeError, "entry 0", "Tanh"),
    "short": ([("c", nn.Tanh()), ("d",)], ValueError, "entry 1", "1"),
    "a number as a key": ({"c": nn.Tanh(), 1: nn.Tanh()}, TypeError, "key", "int"),
    "a number as a Cell": ({"c": nn.Tanh(), "d": 1.0}, TypeError, "'d'", "float"),
    **{name: ({"c": nn.Tanh(), name: nn.Tanh()}, KeyError, repr(name))
       for name in ("", "a.b", "keys", "construct", "_cells", "training")},
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_PAIRS)
def test_what_a_dict_of_cells_refuses_leaves_it_as_it_was(case):
    given, kind, *words = WRONG_PAIRS[case]
    cells = nn.CellDict({"a": nn.Dense(1, 1)})
    assert_raises(kind, lambda: cells.update(given), "CellDict", *words)
    assert_raises(kind, lambda: nn.CellDict(given), "CellDict", *words)
    assert list(cells) == ["a"]


def test_texts_of_cells():
    dense = "Dense(input_channels=2, output_channels=3, has_bias=True)"
    assert repr(nn.Dense(2, 3)) == str(nn.Dense(2, 3)) == dense
    assert repr(nn.ReLU()) == "ReLU()"

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(2, 3)
            self.act = nn.ReLU()

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.net = Net()

    inner = f"Net(\n  (fc): {dense}\n  (act): ReLU()\n)"
    assert repr(Net()) == inner
    assert repr(Outer()) == "Outer(\n  (net): " + inner.replace("\n", "\n  ") + "\n)"


def test_a_new_value_for_a_parameter_attribute():
    net = Tree()
    old = net.scale
    net.scale = Parameter(np.array([5.0], np.float32), name="scale")
    assert net.scale is not old
    assert [p.name for p in net.get_parameters()] == NAMES
    assert_close(net.get_parameters and net.parameters_dict()["scale"] * 1, [5.0])


def test_training_flag():
    net = Tree()
    assert net.set_train(True).training is True
    assert net.set_train(False).training is False
    assert net.seq.training is False


DESCRIPTORS = sorted(
    name
    for name in {name for kind in nn.Cell.__mro__ for name in vars(kind)}
    if not name.startswith("_") and hasattr(type(inspect.getattr_static(nn.Cell, name)), "__set__")
)
ATTRIBUTES = {
    "number": lambda: 0.5,
    "Parameter": lambda: dg.Parameter(np.array(0.5)),
    "array": lambda: np.ones(2),
    "text": lambda: "x",
}


@pytest.mark.parametrize("kind", ATTRIBUTES)
@pytest.mark.parametrize("name", [*DESCRIPTORS, "pure", "recorded", "programs", "known"])
def test_attributes_are_what_they_were_set_to(name, kind):
    """A Cell's own attributes do not swallow those of users: they are kept, or refused."""
    cell, value = nn.Cell(), ATTRIBUTES[kind]()
    with contextlib.suppress(TypeError, AttributeError) if name in DESCRIPTORS else contextlib.nullcontext():
        setattr(cell, name, value)
        assert getattr(cell, name) is value


@contextlib.contextmanager
def in_graph_mode():
    before = dg.get_context("mode")
    dg.set_context(mode=dg.GRAPH_MODE)
    try:
        yield
    finally:
        dg.set_context(mode=before)


@pytest.mark.parametrize("mode", ["eager", "jit", "graph"])
def test_attributes_of_physics(mode):
    """A state may be pure, and data recorded: such attributes are read, differentiated and guarded as others."""

    class Mixture(nn.Cell):
        def __init__(self):
            super().__init__()
            self.pure, self.recorded = dg.Parameter(np.array(0.5)), 3.0

        def construct(self, x):
            return self.pure * x * self.recorded

    cell, x = Mixture(), dg.Tensor(np.array([1.0, 2.0]))
    call = dg.jit(cell) if mode == "jit" else cell
    with in_graph_mode() if mode == "graph" else contextlib.nullcontext():
        for recorded in (3.0, 3.0, 3.0, 3.0, 5.0, 5.0):
            cell.recorded = recorded
            np.testing.assert_array_equal(call(x).asnumpy(), 0.5 * recorded * np.array([1.0, 2.0]))
    assert float(dg.grad(lambda: cell(x).sum(), None, cell.trainable_params())()[0]) == 15.0


UNSEEN = {
    "list": lambda cell: [cell],
    "tuple": lambda cell: (cell,),
    "dict": lambda cell: {"a": cell},
    "Parameters": lambda cell: [cell.weight],
}


@pytest.mark.parametrize("kind", UNSEEN)
@pytest.mark.parametrize("depth", [0, 1])
def test_weights_in_plain_lists_are_named(kind, depth):
    """Nobody would train them: a warning says so, unless they are members as well."""

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.hidden = nn.Dense(2, 2), UNSEEN[kind](nn.Dense(2, 2))

    net = nn.SequentialCell(Net()) if depth else Net()
    where = "0.hidden" if depth else "hidden"
    with pytest.warns(UserWarning, match=rf"'{where}' is a .* not among"):
        assert len(net.trainable_params()) == 2
    inner = net[0] if depth else net
    inner.hidden = UNSEEN[kind](inner.first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.trainable_params()
