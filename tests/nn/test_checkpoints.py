"""Entries of checkpoints find their parameters: by name, by a former name, behind a prefix; all of them or none."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from support import assert_raises

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn
from dualgrad.distributed import checkpointed


class Net(nn.Cell):
    def __init__(self, dtype=np.float32):
        super().__init__()
        for name in "abc":
            setattr(self, name, Parameter(np.zeros(2, dtype)))


def contents(net):
    return [p.asnumpy().copy() for p in net.get_parameters()]


# ------------------------------------------------------------------------------------------------ names

KINDS = ("same", "absent", "behind x.", "behind y.")


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("strict", [False, True])
def test_names_of_what_is_left(strict, extra):
    """Each way to name the entries of three parameters, and one more entry or none."""
    for kinds in itertools.product(KINDS, repeat=3):
        given, loaded = {}, []
        for number, (name, kind) in enumerate(zip("abc", kinds, strict=True)):
            if kind != "absent":
                given[kind.removeprefix("behind ") + name if "behind" in kind else name] = Tensor(
                    np.full(2, number + 1.0, np.float32)
                )
            if kind == "same" or ("behind" in kind and not strict):
                loaded.append(name)
        if extra:
            given["other"] = Tensor(np.ones(7, np.float32))
        net = Net()
        missing, left = dg.load_param_into_net(net, given, strict)
        assert missing == [name for name in "abc" if name not in loaded]
        behind = [name for name in given if "." in name]
        assert left == (behind if strict else []) + ["other"] * extra
        for number, (name, p) in enumerate(zip("abc", net.get_parameters(), strict=True)):
            assert p.asnumpy().tolist() == [number + 1.0 if name in loaded else 0.0] * 2


def test_an_entry_is_loaded_once():
    net = Net()
    net.insert_param_to_cell("xa", Parameter([0.0, 0.0]))
    assert dg.load_param_into_net(net, {"xa": Tensor([1.0, 2.0])}) == (["a", "b", "c"], [])
    assert net.a.asnumpy().tolist() == [0.0, 0.0]


def test_a_prefix_is_logged(caplog):
    dg.load_param_into_net(Net(), {f"net.{name}": Tensor([1.0, 2.0]) for name in "abc"})
    assert "'net.'" in caplog.text


# ------------------------------------------------------------------------------------------------ all or nothing

WRONG = {
    "shape": (ValueError, Tensor(np.ones(3, np.float32)), "shape"),
    "kind": (TypeError, Tensor(np.ones(2, np.complex64)), "Complex64"),
    "no tensor": (TypeError, [1.0, 2.0], "list"),
    "strict type": (TypeError, Tensor(np.ones(2)), "Float64"),
}


@pytest.mark.parametrize("place", "abc")
@pytest.mark.parametrize("wrong", WRONG)
def test_an_error_anywhere_changes_nothing(wrong, place):
    error, value, says = WRONG[wrong]
    given = {name: Tensor(np.ones(2, np.float32)) for name in "abc"} | {place: value}
    net = Net()
    before = contents(net)
    assert_raises(error, lambda: dg.load_param_into_net(net, given, wrong == "strict type"), f"'{place}'", says)
    assert np.array_equal(contents(net), before)


def test_arguments_of_another_kind():
    assert_raises(TypeError, lambda: dg.load_param_into_net({}, {}), "net", "dict")
    assert_raises(TypeError, lambda: dg.load_param_into_net(Net(), []), "parameter_dict", "list")
    assert_raises(TypeError, lambda: dg.load_param_into_net(Net(), {}, 1), "strict_load", "int")


W = {"w": Parameter([1.0])}
REFUSED = {
    "a number": (TypeError, lambda path: dg.save_checkpoint(3.0, path), "expected a Cell", "float"),
    "a set": (TypeError, lambda path: dg.save_checkpoint({1.0}, path), "expected a Cell", "set"),
    "a bare tensor in a list": (TypeError, lambda path: dg.save_checkpoint([Tensor([1.0])], path), "entry 0", "Tensor"),
    "an entry without data": (TypeError, lambda path: dg.save_checkpoint([{"name": "w"}], path), "entry 0", "dict"),
    "no name": (TypeError, lambda path: dg.save_checkpoint({"": W["w"]}, path), "not empty", "''"),
    "a number as name": (TypeError, lambda path: dg.save_checkpoint({3: W["w"]}, path), "must be a str", "3"),
    "text": (TypeError, lambda path: dg.save_checkpoint({"w": "text"}, path), "'w'", "str"),
    "append_dict": (TypeError, lambda path: dg.save_checkpoint(W, path, append_dict=[1]), "append_dict", "list"),
    "choice_func": (TypeError, lambda path: dg.save_checkpoint(W, path, choice_func="w"), "choice_func", "str"),
    "a name twice": (ValueError, lambda path: dg.save_checkpoint(W, path, append_dict=W), "two entries", "'w'"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_saved_leaves_no_file(kind, tmp_path):
    error, call, *says = REFUSED[kind]
    assert_raises(error, lambda: call(tmp_path / "file"), "save_checkpoint", *says)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("chosen", [None, ["a"], []])
@pytest.mark.parametrize("more", [None, {}, {"step": 3}])
def test_entries_that_are_chosen_or_added(chosen, more, tmp_path):
    keep = None if chosen is None else lambda name: name in chosen
    dg.save_checkpoint(Net(), tmp_path / "file", append_dict=more, choice_func=keep)
    assert list(dg.load_checkpoint(tmp_path / "file")) == ["a", "b", "c"][: 3 if chosen is None else len(chosen)] + [
        *(more or {})
    ]


# ------------------------------------------------------------------------------------------------ former names

FORMER = {"moving_mean": "mean", "moving_variance": "variance"}
NORMS = {
    "BatchNorm1d": (4, 3), "BatchNorm2d": (4, 3, 2, 2), "BatchNorm3d": (4, 3, 2, 2, 2), "SyncBatchNorm": (4, 3, 2),
}  # fmt: skip


class Inside(nn.Cell):
    """A normalisation at several depths; `former` gives the statistics the names of earlier versions."""

    def __init__(self, norm, former):
        super().__init__()
        self.norm = getattr(nn, norm)(3)
        self.rest = nn.SequentialCell(nn.CellList([getattr(nn, norm)(3)])[0])
        if former:
            for _, cell in self.cells_and_names():
                for attribute, name in FORMER.items():
                    if hasattr(cell, attribute):
                        parameter = getattr(cell, attribute)
                        parameter.name = name
                        parameter._place(cell._prefix(), attribute)

    def construct(self, x):
        return self.rest(self.norm(x))


def trained(norm, former):
    net = Inside(norm, former).set_train()
    net(Tensor(np.random.default_rng(3).normal(1.0, 2.0, NORMS[norm]).astype(np.float32)))
    return net.set_train(False)


EXPECTED = [f"{path}.{name}" for path in ("norm", "rest.0") for name in (*FORMER, "gamma", "beta")]


def assert_same(net, other):
    assert [p.name for p in net.get_parameters()] == list(net.parameters_dict()) == list(net.state_dict()) == EXPECTED
    for a, b in zip(contents(net), contents(other), strict=True):
        assert a.tobytes() == b.tobytes()


def through_file(net, norm, path):
    dg.save_checkpoint(net, path)
    other = Inside(norm, False)
    assert dg.load_param_into_net(other, dg.load_checkpoint(path), strict_load=True) == ([], [])
    return other


def through_a_prefix(net, norm, path):
    dg.save_checkpoint([{"name": f"net.{n}", "data": p} for n, p in net.parameters_dict().items()], path)
    other = Inside(norm, False)
    assert dg.load_param_into_net(other, dg.load_checkpoint(path)) == ([], [])
    return other


def through_pickle(net, norm, path):
    return pickle.loads(pickle.dumps(net))


def through_copy(net, norm, path):
    return copy.deepcopy(net)


def through_a_run(net, norm, path):
    def stop(k, state):
        raise KeyboardInterrupt

    checkpointed(lambda k, state: None, net, 1, path)
    with pytest.raises(KeyboardInterrupt):
        checkpointed(stop, other := Inside(norm, False), 2, path)
    return other


WAYS = (through_file, through_a_prefix, through_pickle, through_copy, through_a_run)


@pytest.mark.parametrize("former", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("norm", NORMS)
def test_statistics_of_this_and_of_earlier_versions(norm, way, former, tmp_path):
    net = trained(norm, former)
    assert any("norm.mean" == p.name for p in net.get_parameters()) is former
    assert_same(way(net, norm, tmp_path / "file"), net)


def test_statistics_alone_behind_a_prefix():
    net = nn.BatchNorm1d(2)
    given = {"net.mean": Tensor([1.0, 2.0]), "net.variance": Tensor([3.0, 4.0])}
    assert dg.load_param_into_net(net, given) == (["gamma", "beta"], [])
    assert [p.asnumpy().tolist() for p in net.get_parameters()][:2] == [[1.0, 2.0], [3.0, 4.0]]


class Both(nn.BatchNorm1d):
    """The former name of a statistic is the present name of another parameter."""

    def __init__(self):
        super().__init__(2)
        self.mean = Parameter([0.0, 0.0])


def test_a_former_name_that_is_taken(tmp_path):
    net = Both()
    missing, left = dg.load_param_into_net(net, {"mean": Tensor([1.0, 2.0])})
    assert (missing, left) == (["moving_mean", "moving_variance", "gamma", "beta"], [])
    assert net.mean.asnumpy().tolist() == [1.0, 2.0]
    assert net.moving_mean.asnumpy().tolist() == [0.0, 0.0]
    checkpointed(lambda k, state: None, net, 1, tmp_path / "run")
    again = checkpointed(lambda k, state: None, Both(), 1, tmp_path / "run")
    assert again.mean.asnumpy().tolist() == [1.0, 2.0]


class Slotted(nn.BatchNorm2d):
    __slots__ = ("note",)


def test_pickles_of_classes_with_slots():
    net = Slotted(2)
    net.note = "kept"
    assert pickle.loads(pickle.dumps(net)).note == "kept"
