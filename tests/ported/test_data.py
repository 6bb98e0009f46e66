"""Settings, transforms and refusals of `dualgrad.dataset`, and the checks of arguments."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import _checkparam, dataset
from dualgrad.dataset import NumpySlicesDataset, config, transforms


@pytest.mark.parametrize("name", config._IGNORED)
def test_settings_without_a_meaning_are_remembered(monkeypatch, name):
    monkeypatch.setattr(config, "_settings", dict(config._IGNORED))
    before = getattr(config, f"get_{name}")()
    getattr(config, f"set_{name}")(before + 1)
    assert getattr(config, f"get_{name}")() == before + 1
    assert [key for key in config._IGNORED if config._settings[key] != config._IGNORED[key]] == [name]


def test_shuffles_follow_the_seed():
    orders = []
    for seed in (3, 3, 4):
        config.set_seed(seed)
        assert config.get_seed() == dg.get_seed() == seed
        orders.append([int(x) for (x,) in NumpySlicesDataset(np.arange(50)).create_tuple_iterator(output_numpy=True)])
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.parametrize("dtype", [dg.float32, dg.int32, np.float64, dg.bool_], ids=str)
def test_columns_are_cast(dtype):
    data = NumpySlicesDataset(([0.0, 1.5], [1, 2]), ["x", "y"], shuffle=False)
    cast = data.map(transforms.TypeCast(dtype), "x")
    wanted = np.dtype(getattr(dtype, "numpy", dtype))
    assert cast.output_types() == [wanted, data.output_types()[1]]
    assert [row[0].item() for row in cast.create_tuple_iterator(output_numpy=True)] == [
        np.float64(value).astype(wanted).item() for value in (0.0, 1.5)
    ]


def test_functions_are_composed_as_map_composes_them():
    steps = [lambda x, y: (x + y, x - y), lambda a, b: a * b, lambda c: c + 1]
    data = NumpySlicesDataset(([2.0, 5.0], [1.0, 3.0]), ["x", "y"], shuffle=False)
    one = data.map(transforms.Compose(steps), ["x", "y"], "z")
    several = data.map(steps, ["x", "y"], "z")
    for (a,), (b,) in zip(one, several, strict=True):
        assert a.item() == b.item()
    with pytest.raises(TypeError, match="Compose: expected a list of functions"):
        transforms.Compose([3])


@pytest.mark.parametrize("name", dataset.files.__all__)
def test_files_of_others_are_refused(name):
    with pytest.raises(NotImplementedError, match=f"{name}: dualgrad (reads|writes) no .*NumpySlicesDataset takes"):
        getattr(dataset, name)("file", shuffle=True)


def test_batches_have_a_class():
    data = NumpySlicesDataset(np.arange(5), shuffle=False)
    for batches in (data.batch(2), dataset.BatchDataset(data, 2)):
        assert isinstance(batches, dataset.BatchDataset)
        assert [x.tolist() for (x,) in batches] == [[0, 1], [2, 3], [4]]


# ----------------------------------------------------------------------------------------------- checks of arguments

NUMBERS = {"int": (-2, -1, 0, 1, np.int64(3)), "float": (-2.0, -0.5, 0.0, 0.25, np.float32(3.0))}
ALLOWED = {
    "positive": lambda x: x > 0, "negative": lambda x: x < 0, "non_negative": lambda x: not x < 0,
    "non_positive": lambda x: not x > 0,
}  # fmt: skip


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("sign", ALLOWED)
def test_signs_are_checked(kind, sign):
    check = getattr(_checkparam, f"check_{sign}_{kind}")
    several = getattr(_checkparam, f"check_{sign}_{kind}_sequence")
    for value in NUMBERS[kind]:
        if ALLOWED[sign](value):
            assert check(value, "n", "F") is value
            assert several([value, value]) == [value, value]
        else:
            with pytest.raises(ValueError, match=rf"^F: n must be .* 0, got {value}"):
                check(value, "n", "F")
            with pytest.raises(ValueError, match="must be"):
                several((value,))
    for wrong in ("1", None, True, [1], 0.5 if kind == "int" else 1):
        with pytest.raises(TypeError, match=f"must be {kind}, got"):
            check(wrong)
    with pytest.raises(TypeError, match="tuple or list"):
        several(NUMBERS[kind][0])


@pytest.mark.parametrize(
    "rel", [_checkparam.INC_NEITHER, _checkparam.INC_LEFT, _checkparam.INC_RIGHT, _checkparam.INC_BOTH]
)
def test_ranges_are_checked(rel):
    for value in (-1, 0, 1, 2, 3):
        inside = {"()": 0 < value < 2, "[)": 0 <= value < 2, "(]": 0 < value <= 2, "[]": 0 <= value <= 2}[rel]
        for check, number in ((_checkparam.check_int_range, value), (_checkparam.check_float_range, float(value))):
            if inside:
                assert check(number, 0, 2, rel, "n") == value
            else:
                with pytest.raises(ValueError, match=r"n must be in .0, 2"):
                    check(number, 0, 2, rel, "n")


@pytest.mark.parametrize("rel", _checkparam._COMPARE)
def test_comparisons_are_checked(rel):
    for value in (1, 2, 3):
        if eval(f"{value} {rel} 2"):
            assert _checkparam.check_int(value, 2, rel, "n") == value
            assert _checkparam.check_float(float(value), 2.0, rel, "n") == value
        else:
            with pytest.raises(ValueError, match=f"n must be {rel} 2"):
                _checkparam.check_int(value, 2, rel, "n")


OTHERS = {
    "bool": (lambda: _checkparam.check_bool(True, "b"), lambda: _checkparam.check_bool(1, "b"), True),
    "text": (lambda: _checkparam.check_string("a", ["a", "b"]), lambda: _checkparam.check_string("c", ["a", "b"]), "a"),
    "pattern": (
        lambda: _checkparam.check_str_by_regular("a/b_1.txt"), lambda: _checkparam.check_str_by_regular("a b"), True
    ),
    "class": (lambda: _checkparam.check_isinstance("x", 3, int), lambda: _checkparam.check_isinstance("x", 3, str), 3),
    "type": (
        lambda: _checkparam.check_value_type("x", 3, [int, float], "F"),
        lambda: _checkparam.check_value_type("x", True, [int, float], "F"), 3,
    ),
    "subclass": (
        lambda: _checkparam.check_subclass("x", bool, [int]), lambda: _checkparam.check_subclass("x", str, int), None
    ),
    "name of a type": (
        lambda: _checkparam.check_type_name("x", dg.float32, [dg.float32]),
        lambda: _checkparam.check_type_name("x", dg.int8, [dg.float32]), dg.float32,
    ),
    "equality": (lambda: _checkparam.check_equal_int(3, 3), lambda: _checkparam.check_equal_int(3, 4), 3),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_checks(name):
    right, wrong, expected = OTHERS[name]
    assert right() == expected
    with pytest.raises((TypeError, ValueError), match=r"must be|does not match"):
        wrong()


@pytest.mark.parametrize("epochs", [1, 3])
def test_loops_by_hand_read_a_dataset(epochs):
    x, y = np.arange(6.0), np.arange(6, dtype=np.int32)
    data = NumpySlicesDataset((x, y), ["x", "y"], shuffle=False).batch(2)
    helper = dataset.DatasetHelper(data, dataset_sink_mode=False, epoch_num=epochs)
    for _ in range(epochs):
        rows = list(helper)
        assert np.array_equal(np.concatenate([row[0].asnumpy() for row in rows]), x)
        assert np.array_equal(np.concatenate([row[1].asnumpy() for row in rows]), y)
    with pytest.raises(RuntimeError, match="all of its num_epochs"):
        list(helper)
    assert helper.types_shapes() == ([dg.float64, dg.int32], [[2], [2]])
    assert helper.sink_size() == 3
    assert helper.stop_send() is helper.continue_send() is helper.release() is None


def test_a_helper_refuses_what_only_a_device_has():
    with pytest.raises(RuntimeError, match="dataset_sink_mode=False"):
        dataset.DatasetHelper(NumpySlicesDataset([1, 2]))
    with pytest.raises(TypeError, match="got list"):
        dataset.DatasetHelper([1, 2], dataset_sink_mode=False)
