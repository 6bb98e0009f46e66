"""What ported code asks of Cells beside calling them: buffers, the state, the phase; functions by types."""

import copy
import gc
import itertools
import pickle
from collections import OrderedDict

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops
from dualgrad.nn._state import Buffer


class Normalised(nn.Cell):
    """Keeps a running mean of its inputs, and how often it was called."""

    def __init__(self):
        super().__init__()
        self.scale = Parameter(np.array([2.0]), name="other")
        self.register_buffer("mean", f64([0.0, 0.0]))
        self.register_buffer("calls", Tensor(0), persistent=False)
        self.register_buffer("later", None)

    def construct(self, x):
        self.mean = 0.5 * self.mean + 0.5 * x
        self.calls = self.calls + 1
        return self.scale * (x - self.mean)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = Normalised()
        self.second = nn.SequentialCell(nn.Dense(2, 2, dtype=dg.float64), Normalised())

    def construct(self, x):
        return self.second(self.first(x))


def test_tensors_that_become_buffers():
    """The tensor that MindSpore calls `_Buffer`: assigned to an attribute it is a buffer, outside of it a tensor."""
    net = nn.Cell()
    net.mean = Buffer(f64([1.0, 2.0]))
    net.calls = Buffer(Tensor(3), persistent=False)
    assert [name for name, _ in net.named_buffers()] == ["mean", "calls"]
    assert [*net.state_dict()] == ["mean"]
    assert_close(net.mean * 2.0, [2.0, 4.0])
    net.mean = net.mean + 1.0
    assert_close(net.get_buffer("mean"), [2.0, 3.0])
    net.mean = Buffer(f64([5.0]))
    assert net.get_buffer("mean").tolist() == [5.0]
    assert_raises(TypeError, lambda: Buffer(np.ones(2)), "Buffer", "ndarray")
    assert_raises(TypeError, lambda: Buffer(Parameter([1.0], name="w")), "Buffer", "Parameter")
    assert_raises(ValueError, lambda: Buffer(None), "Buffer", "None")


@pytest.mark.eager("its calls change attributes")
def test_buffers_are_attributes():
    net = Net()
    x = f64([4.0, 8.0])
    assert_close(net.first(x), 2 * (x.asnumpy() - [2.0, 4.0]))
    assert_close(net.first.mean, np.array([2.0, 4.0]))
    assert int(net.first.calls) == 1
    assert [name for name, _ in net.named_buffers()] == [
        "first.mean", "first.calls", "second.1.mean", "second.1.calls",
    ]  # fmt: skip
    assert [name for name, _ in net.named_buffers("p", recurse=False)] == []
    assert next(iter(net.buffers())) is net.first.mean
    assert net.get_buffer("second.1.mean") is net.second[1].mean
    assert net.get_buffer("first.later") is None
    assert net.get_sub_cell("second.0") is net.second[0]
    assert net.get_sub_cell("") is net
    assert list(net.parameters_dict()) == ["first.other", "second.0.weight", "second.0.bias", "second.1.other"]


def test_a_buffer_twice_is_given_once_or_twice():
    net, shared = nn.Cell(), f64([1.0])
    net.register_buffer("a", shared)
    net.register_buffer("b", shared)
    assert [name for name, _ in net.named_buffers()] == ["a"]
    assert [name for name, _ in net.named_buffers(remove_duplicate=False)] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("a.b", f64([1.0]), KeyError),
        ("", f64([1.0]), KeyError),
        ("scale", f64([1.0]), KeyError),
        ("construct", f64([1.0]), KeyError),
        ("_buffers", f64([1.0]), KeyError),
        (3, f64([1.0]), TypeError),
        ("fine", 3.0, TypeError),
        ("fine", np.ones(2), TypeError),
        ("fine", Parameter([1.0]), TypeError),
    ],
)
def test_buffers_that_do_not_fit(name, value, kind):
    cell = Normalised()
    before = list(cell._buffers)
    assert_raises(kind, lambda: cell.register_buffer(name, value), "register_buffer")
    assert list(cell._buffers) == before
    assert_raises(TypeError, lambda: cell.register_buffer("fine", None, 1), "persistent")


def test_what_replaces_a_buffer():
    cell = Normalised()
    assert_raises(TypeError, lambda: setattr(cell, "mean", 3.0), "mean", "buffer")
    cell.mean = None
    assert list(cell.state_dict()) == ["scale"]
    cell.mean = f64([1.0])
    assert list(cell.state_dict()) == ["scale", "mean"]
    cell.mean = Parameter(np.ones(1), name="m")
    assert list(cell.trainable_params()) == [cell.scale, cell.mean]
    assert "mean" not in dict(cell.named_buffers())
    del cell.calls
    assert not hasattr(cell, "calls")
    assert dict(cell.named_buffers()) == {}
    assert_raises(AttributeError, lambda: cell.get_buffer("scale"), "buffer", "scale")
    assert_raises(AttributeError, lambda: cell.get_sub_cell("a.b"), "a.b")
    assert_raises(TypeError, lambda: cell.get_sub_cell(3), "get_sub_cell", "int")
    assert_raises(TypeError, lambda: cell.get_buffer(3), "get_buffer", "int")
    assert_raises(AttributeError, lambda: setattr(cell, "_buffers", {}), "_buffers")


def test_before_the_constructor_of_the_base():
    class Early(nn.Cell):
        def __init__(self):
            self.register_buffer("mean", f64([1.0]))

    assert_raises(AttributeError, Early, "mean", "super().__init__()")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_have_buffers_of_their_own(duplicate):
    cell = Normalised()
    twin = duplicate(cell)
    twin.mean = f64([5.0, 5.0])
    twin.register_buffer("extra", f64([1.0]))
    assert_close(cell.mean, np.zeros(2))
    assert_close(twin.get_buffer("mean"), np.full(2, 5.0))
    assert "extra" not in dict(cell.named_buffers())


# ------------------------------------------------------------------------------------------------------------ the state


def different(net):
    """Other values for all parameters and buffers of a Cell."""
    for i, tensor in enumerate([*net.get_parameters(), *net.buffers()]):
        tensor.set_data((tensor + (i + 1)).astype(tensor.dtype))
    return net


def test_a_state_goes_from_net_to_net():
    net, other = different(Net()), Net()
    state = net.state_dict()
    assert type(state) is OrderedDict
    assert list(state) == [
        "first.scale", "first.mean", "second.0.weight", "second.0.bias", "second.1.scale", "second.1.mean",
    ]  # fmt: skip
    assert state["first.scale"] is net.first.scale
    assert other.load_state_dict(state) == ([], [])
    for key, value in other.state_dict().items():
        assert_close(+value, state[key].asnumpy())
        assert value is not state[key]


def test_members_of_tuples_are_part_of_the_state():
    class Tupled(nn.Cell):
        def __init__(self, *numbers):
            super().__init__()
            self.first = Parameter(f64([numbers[0]]), name="first")
            self.all = ParameterTuple([self.first, *[Parameter(f64([n]), name=f"p{n}") for n in numbers[1:]]])

    one, other = Tupled(1.0, 2.0, 3.0), Tupled(4.0, 5.0, 6.0)
    assert list(one.state_dict()) == [path for path, _ in one.parameters_and_names()] == ["first", "all.1", "all.2"]
    assert other.load_state_dict(one.state_dict()) == ([], [])
    assert [p.asnumpy().item() for p in other.all] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("make", [nn.Adam, nn.AdaMax, nn.RMSProp, nn.Adagrad, lambda w: nn.Momentum(w, 0.1, 0.9)])
def test_a_step_from_a_state_is_the_next_step(make):
    gradients = [(f64([0.3, -2.0]),), (f64([1.0, 0.5]),), (f64([-0.2, 0.1]),)]
    weights = [Parameter(f64([1.0, 2.0]), name="w") for _ in range(2)]
    one, other = [make([w]) for w in weights]
    for gradient in gradients[:2]:
        one(gradient)
    weights[1].set_data(weights[0] * 1.0)
    assert other.load_state_dict(one.state_dict()) == ([], [])
    one(gradients[2])
    other(gradients[2])
    np.testing.assert_array_equal(weights[1].asnumpy(), weights[0].asnumpy())


def test_a_prefix_and_a_dict_that_is_filled():
    net, given = Normalised(), {"there": 1}
    assert net.state_dict(given, "p.") is given
    assert list(given) == ["there", "p.scale", "p.mean"]
    assert list(net.state_dict(destination=given, prefix="q.", keep_vars=True)) == [*given]
    assert_raises(TypeError, lambda: net.state_dict(prefix=3), "prefix", "int")
    assert_raises(TypeError, lambda: net.state_dict([1]), "destination", "list")
    assert_raises(TypeError, lambda: net.state_dict({}, "", False, 1), "positional")


BAD = {
    "missing": (lambda state: state.pop("mean"), "lacks 'mean'"),
    "unexpected": (lambda state: state.update(other=f64([1.0])), "does not know 'other'"),
    "shape": (lambda state: state.update(mean=f64([1.0])), "shape (1,)"),
    "kind": (lambda state: state.update(mean=Tensor([1j, 1j])), "Complex128"),
    "no tensor": (lambda state: state.update(mean=np.zeros(2)), "ndarray"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_state_is_loaded_as_a_whole_or_not_at_all(bad):
    net, (spoil, words) = Normalised(), BAD[bad]
    state = OrderedDict(different(Normalised()).state_dict())
    spoil(state)
    assert_raises(RuntimeError, lambda: net.load_state_dict(state), "Normalised.load_state_dict", words, "Nothing")
    assert_close(+net.scale, np.array([2.0]))
    if bad in ("missing", "unexpected"):
        keys = net.load_state_dict(state, strict=False)
        assert (keys.missing_keys, keys.unexpected_keys) == ((["mean"], []) if bad == "missing" else ([], ["other"]))
        assert_close(+net.scale, np.array([3.0]))
    assert_raises(TypeError, lambda: net.load_state_dict([1]), "dict", "list")


def test_types_are_kept():
    net = Normalised()
    net.load_state_dict({"scale": f32([7.0]), "mean": Tensor([1, 2])})
    assert_close(+net.scale, np.array([7.0]), dtype=dg.float64)
    assert_close(net.mean, np.array([1.0, 2.0]), dtype=dg.float64)


def test_extra_state():
    class Counting(Normalised):
        steps = 0

        def get_extra_state(self):
            return {"steps": self.steps}

        def set_extra_state(self, state):
            self.steps = state["steps"]

    net, other = Counting(), Counting()
    net.steps = 5
    outer = nn.SequentialCell(net)
    state = outer.state_dict()
    assert state["0._extra_state"] == {"steps": 5}
    nn.SequentialCell(other).load_state_dict(state)
    assert other.steps == 5
    assert_raises(RuntimeError, lambda: Normalised().load_state_dict(net.state_dict()), "_extra_state")
    assert_raises(RuntimeError, lambda: net.load_state_dict(Normalised().state_dict()), "_extra_state")


def test_hooks_of_the_state():
    net, met = Net(), []
    net.register_state_dict_pre_hook(lambda cell, prefix, keep: met.append((prefix, keep)))
    net.first.register_state_dict_post_hook(lambda cell, state, prefix, _: state.pop(prefix + "mean"))
    state = net.state_dict()
    assert met == [("", False)]
    assert "first.mean" not in state
    added = net.first.register_load_state_dict_pre_hook(
        lambda cell, state, prefix, *_: state.setdefault(prefix + "mean", f64([8.0, 9.0]))
    )
    net.register_load_state_dict_post_hook(lambda cell, keys: met.append(keys))
    net.load_state_dict(state)
    assert_close(net.first.mean, np.array([8.0, 9.0]))
    assert met[-1] == ([], [])
    added.remove()
    assert_raises(RuntimeError, lambda: net.load_state_dict(state), "first.mean")
    net.register_load_state_dict_post_hook(lambda cell, keys: keys)
    assert_raises(RuntimeError, lambda: net.load_state_dict(state, strict=False), "post-hook")


def test_a_cell_in_two_places():
    shared = Normalised()
    net = nn.CellList([shared, shared])
    state = net.state_dict()
    assert list(state) == ["0.scale", "0.mean", "1.scale", "1.mean"]
    assert net.load_state_dict(state) == ([], [])


# ------------------------------------------------------------------------------------------------------------ the rest


def test_the_phase_is_settable():
    net = nn.ReLU()
    assert net.phase == "predict"
    assert net.set_train().phase == "train"
    net.phase = "prefill"
    assert net.phase == "prefill"
    assert_close(net(f64([-1.0, 2.0])), np.array([0.0, 2.0]))
    assert_raises(TypeError, lambda: setattr(net, "phase", 3), "phase", "int")


@pytest.mark.parametrize("shape", [[None], (None, 3), [2, None, None]])
def test_placeholders(shape):
    placeholder = Tensor(shape=shape, dtype=dg.float64)
    assert placeholder.shape == tuple(-1 if n is None else n for n in shape)
    assert (placeholder.dtype, placeholder.ndim) == (dg.float64, len(shape))
    assert "None" in repr(placeholder)
    assert isinstance(placeholder, Tensor)
    for call in (
        placeholder.asnumpy,
        lambda: placeholder + 1,
        lambda: ops.sin(placeholder),
        lambda: dg.grad(lambda x: x * x)(placeholder),
        lambda: nn.Dense(3, 1)(placeholder),
        lambda: dg.jit(lambda x: x)(placeholder) + 1,
    ):
        assert_raises(RuntimeError, call, "placeholder", "value")
    for twin in (copy.copy(placeholder), copy.deepcopy(placeholder), pickle.loads(pickle.dumps(placeholder))):
        assert (twin.shape, twin.dtype) == (placeholder.shape, placeholder.dtype)
    net = nn.Dense(3, 1)
    assert net.get_inputs() is None
    net.set_inputs(placeholder, None)
    assert net.get_inputs() == (placeholder, None)
    net.set_inputs(x=placeholder)
    assert net.get_inputs() == {"x": placeholder}
    assert_raises(ValueError, lambda: net.set_inputs(placeholder, x=placeholder), "both")
    assert_raises(ValueError, lambda: Tensor(shape=[None, -2]), "-2")


def test_a_placeholder_of_any_number_of_axes():
    placeholder = Tensor(dtype=dg.float64)
    for twin in (placeholder, copy.copy(placeholder), pickle.loads(pickle.dumps(placeholder))):
        assert (twin.shape, twin.dtype) == ((-2,), dg.float64)
        assert_raises(RuntimeError, twin.asnumpy, "placeholder")
    assert_raises(TypeError, lambda: Tensor(None), "expected data")
    assert_raises(TypeError, lambda: Tensor(dtype=dg.float64, init="zeros"), "expected data")


def test_placeholders_leave_nothing_behind():
    forms = type(Tensor(shape=[None])).forms
    gc.collect()
    before = len(forms)
    for _ in range(10):
        assert Tensor(shape=[None, 1]).shape == (-1, 1)
        assert Tensor(np.ones(2)).shape == (2,)
    assert len(forms) == before


def test_small_parts():
    net = nn.Dense(2, 1, dtype=dg.float64)
    net.bprop_debug = True
    assert net.bprop_debug
    assert_raises(TypeError, lambda: setattr(net, "bprop_debug", 1), "bprop_debug")
    x, n = net.cast_inputs((f32([1.0, 2.0]), Tensor([1])), dg.float64)
    assert (x.dtype, n.dtype) == (dg.float64, dg.int64)
    assert_close(net.compile_and_run(x), net(x).asnumpy())
    net.check_names_and_refresh_name()
    twins = nn.CellList([nn.Dense(2, 1), nn.Dense(2, 1)])
    twins[1].weight.name = twins[0].weight.name
    assert_raises(ValueError, twins.check_names_and_refresh_name, "0.weight")


NARROWEST = {
    "Tensor": f64([1.0]), "Parameter": Parameter(1.0, name="p"), "Number": 1j, "Int": np.int8(1),
    "Float": np.longdouble(1),
    "Bool": True, "String": "a", "None": None, "Tuple": (1,), "List": [1], "Dictionary": {1: 1}, "Slice": slice(1),
    "Ellipsis": ..., "Type": dg.float32, "Function": abs, "Int64": 1, "Float32": 1.0, "Float64": np.float64(1),
    "UInt8": np.uint8(1), "Any": object(),
}  # fmt: skip


def test_functions_by_the_names_of_types():
    """Each value goes to the body of its narrowest type, however many are registered and in whatever order."""
    names = list(NARROWEST)
    for order in (names, names[::-1]):
        graph = ops.MultitypeFuncGraph("kinds")
        for name in order:
            graph.register(name)(lambda x, name=name: name)
        for name, value in NARROWEST.items():
            assert graph(value) == name
    by_dtype = ops.MultitypeFuncGraph("dtypes")
    by_dtype.register(dg.float32)(lambda x: "f")
    by_dtype.register(dg.int64)(lambda x: "i")
    assert (by_dtype(1.5), by_dtype(2)) == ("f", "i")
    for name in ("RowTensor", "COOTensor", "CSRTensor", "MapTensor", "NoneType", "Dict", "TypeType"):
        by_dtype.register(name)(lambda x: x)
    assert_raises(ValueError, lambda: by_dtype.register("Tensro"), "Tensro", "Tensor")


@pytest.mark.parametrize(("first", "second"), list(itertools.product(["Number", "Tensor"], repeat=2)))
def test_two_arguments(first, second):
    graph = ops.MultitypeFuncGraph("add")
    for names in itertools.product(["Number", "Tensor"], repeat=2):
        graph.register(*names)(lambda x, y, names=names: names)
    values = {"Number": 2, "Tensor": f64([1.0])}
    assert graph(values[first], values[second]) == (first, second)
    assert ops.HyperMap(graph)((values[first],), (values[second],)) == ((first, second),)


def members(count=3):
    """Cells of one kind with different weights."""
    return nn.CellList([nn.Dense(2, 4, dtype=dg.float64, activation="tanh") for _ in range(count)])


@pytest.mark.parametrize(("axis", "out"), [(0, 0), (1, 2), (-1, -1)])
def test_an_ensemble(axis, out):
    """Each Cell of a list that vmap maps over has a sample of its own, or they share one."""
    cells, x = members(), np.random.default_rng(0).normal(size=(3, 5, 2))
    singles = [cell(f64(one)).asnumpy() for cell, one in zip(cells, x, strict=True)]
    assert_close(dg.vmap(cells, axis, out)(f64(np.moveaxis(x, 0, axis))), np.stack(singles, out))
    shared = [cell(f64(x[0])).asnumpy() for cell in cells]
    assert_close(dg.vmap(cells, None)(f64(x[0])), np.stack(shared))


class Several(nn.Cell):
    """A nest of results, a number among them, and a Parameter that is assigned to."""

    def __init__(self, start):
        super().__init__()
        self.w = Parameter(np.array([start, 1.0]), name="w")

    def construct(self, pair, scale):
        x, y = pair
        ops.assign(self.w, x)
        return {"sum": self.w + y, "number": 2.0}, scale * x


def test_an_ensemble_of_nests():
    cells, x = nn.CellList([Several(1.0), Several(2.0)]), np.arange(4.0).reshape(2, 2)
    found = dg.vmap(cells, (0, None), (0, 1))((f64(x), f64(10 * x)), f64(3.0))
    assert_close(found, ({"sum": 11 * x, "number": f32([2.0, 2.0]).asnumpy()}, 3 * x.T))
    assert_close((cells[0].w * 1.0, cells[1].w * 1.0), (x[0], x[1]))


def test_derivatives_of_an_ensemble():
    """By inputs and weights they are those of the members, to the second order."""
    cells, x = members(2), np.random.default_rng(0).normal(size=(2, 2))
    mapped = dg.vmap(cells)
    function = lambda x: (mapped(x) ** 2).sum()
    single = lambda k: lambda x: (cells[k](x) ** 2).sum()
    assert_close(dg.grad(function)(f64(x)), np.stack([dg.grad(single(k))(f64(x[k])).asnumpy() for k in range(2)]))
    curvature = dg.hessian(function)(f64(x)).asnumpy()
    for k in range(2):
        assert_close(f64(curvature[k, :, k]), dg.hessian(single(k))(f64(x[k])).asnumpy(), scale=1.0)
    weights = cells.trainable_params()
    slopes = dg.grad(function, None, weights)(f64(x))
    expected = [g for k in range(2) for g in dg.grad(single(k), None, cells[k].trainable_params())(f64(x[k]))]
    assert_close(tuple(slopes), tuple(g.asnumpy() for g in expected), scale=1.0)


ENSEMBLES = {
    "axes": (lambda: dg.vmap(members(), (0, 0))(f64(np.ones((3, 2)))), "in_axes", "1 inputs"),
    "nested axes": (lambda: dg.vmap(members(), ((0, 0),))(f64(np.ones((3, 2)))), "in_axes", "int or None"),
    "length": (lambda: dg.vmap(members())(f64(np.ones((2, 2)))), "3 Cells", "(2, 2)"),
    "no axis": (lambda: dg.vmap(members(), 2)(f64(np.ones((3, 2)))), "axis 2"),
    "no Cells": (lambda: dg.vmap(nn.CellList([]))(f64(np.ones((3, 2)))), "no Cells"),
    "results": (lambda: dg.vmap(members(), 0, None)(f64(np.ones((3, 2)))), "out_axes", "None"),
    "entries": (lambda: dg.vmap(members(), 0, (0, 0))(f64(np.ones((3, 2)))), "out_axes", "tuple"),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_what_is_no_ensemble(name):
    assert_raises(ValueError, ENSEMBLES[name][0], *ENSEMBLES[name][1:])
    assert_raises(TypeError, lambda: dg.vmap(members())(np.ones((3, 2))), "input 0", "Tensor")
