"""NumPy arrays indexed by tensors: kinds of index x places in it x reading and writing x modes, against NumPy."""

import operator

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops

KINDS = {
    "int": np.array(1),
    "negative int": np.array(-1),
    "small int": np.array(1, np.uint8),
    "one int": np.array([2]),
    "one small int": np.array([2], np.int8),
    "one int, two axes": np.array([[1]]),
    "two ints": np.array([2, 0]),
    "no int": np.array([], int),
    "true": np.array(True),
    "false": np.array(False),
    "one true": np.array([True]),
    "one false": np.array([False]),
    "one true, two axes": np.array([[True]]),
    "mask": np.array([True, False, True]),
    "float": np.array(1.0),
    "one float": np.array([1.0]),
}

PLACES = {
    "alone": lambda t: t,
    "in a tuple": lambda t: (t,),
    "first": lambda t: (t, 0),
    "second": lambda t: (0, t),
    "after a slice": lambda t: (slice(None), t),
    "before a slice": lambda t: (t, slice(1)),
    "after None": lambda t: (None, t),
    "after an ellipsis": lambda t: (..., t),
    "before an ellipsis": lambda t: (t, ...),
    "twice": lambda t: (t, t),
    "beside a list": lambda t: (t, [0]),
    "beside an array": lambda t: (np.array([0, 1]), t),
    "in a list": lambda t: [t, t],
}

ARRAYS = [np.arange(3.0), np.arange(3.0).reshape(1, 3), np.arange(9.0).reshape(3, 3), np.arange(8.0).reshape(2, 2, 2)]


def read(array, index):
    return array[index]


def written(array, index):
    array = array.copy()
    array[index] = -7.0
    return array


def increased(array, index):
    array = array.copy()
    array[index] += 1.0
    return array


def taken(array, index):
    return operator.getitem(array, index)


USES = [read, written, increased, taken]


def in_grad(work):
    found = []
    dg.grad(lambda x: (found.append(work()), (x * x).sum())[1])(Tensor([1.0, 2.0]))
    return found[0]


def in_vmap(work):
    found = []
    dg.vmap(lambda x: (found.append(work()), x)[1])(Tensor([1.0, 2.0]))
    return found[0]


def recorded(work):
    found = []
    call = dg.jit(lambda x: (found.append(work()), x)[1])
    for _ in range(3):
        call(Tensor([1.0, 2.0]))
    return found[0]


MODES = {"eager": lambda work: work(), "grad": in_grad, "vmap": in_vmap, "recorded": recorded}


def outcome(work):
    """What comes, or the kind of error."""
    try:
        return np.asarray(work())
    except (IndexError, ValueError, TypeError) as error:
        return type(error)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.rotated("mode", "place")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("use", USES, ids=[use.__name__ for use in USES])
@pytest.mark.parametrize("kind", KINDS)
def test_an_array_indexed_by_a_tensor(kind, use, place, mode):
    numbers = KINDS[kind]
    index, tensor = PLACES[place](numbers), PLACES[place](Tensor(numbers))
    for array in ARRAYS:
        expected = outcome(lambda: use(array, index))  # noqa: B023
        found = outcome(lambda: MODES[mode](lambda: use(array, tensor)))  # noqa: B023
        if isinstance(expected, type):
            assert isinstance(found, type)
        else:
            assert not isinstance(found, type), found
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("place", ["alone", "first", "after a slice"])
@pytest.mark.parametrize("kind", [kind for kind, numbers in KINDS.items() if numbers.dtype.kind != "f"])
def test_the_first_places(kind, place):
    """The places in which NumPy once took a tensor for an integer."""
    index, tensor = PLACES[place](KINDS[kind]), PLACES[place](Tensor(KINDS[kind]))
    for array in ARRAYS:
        for use in USES:
            expected, found = outcome(lambda: use(array, index)), outcome(lambda: use(array, tensor))  # noqa: B023
            assert isinstance(found, type) == isinstance(expected, type)
            if not isinstance(expected, type):
                assert found.shape == expected.shape
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_inside_a_derivative(kind):
    numbers, array = KINDS[kind], ARRAYS[2]
    if numbers.dtype.kind == "f":
        return

    def f(index):
        return lambda x: (x[0] * dg.numpy.asarray(array[index])).sum()

    try:
        expected = f(numbers)(np.array([2.0])).item() / 2.0
    except IndexError:
        return
    assert dg.grad(f(Tensor(numbers)))(Tensor(np.array([2.0]))).tolist() == [expected]


def test_samples_are_no_index():
    def f(t):
        return Tensor(np.arange(3.0)[t])

    for index in ([[0], [1]], [0, 1], [[True], [False]]):
        with pytest.raises((TypeError, ValueError), match="vmap"):
            dg.vmap(f)(Tensor(index))


USED_AS_INTEGERS = {
    "range": range,
    "list": lambda t: [1, 2, 3][t],
    "slice": lambda t: [1, 2, 3][t:],
    "slice of an array": lambda t: np.arange(3)[:t],
    "operator.index": operator.index,
    "hex": hex,
}


@pytest.mark.parametrize("name", USED_AS_INTEGERS)
def test_an_integer_without_axes_is_pythons(name):
    use = USED_AS_INTEGERS[name]
    assert str(use(Tensor(1))) == str(use(1))
    for other in (Tensor([1]), Tensor([[1]]), Tensor(True), Tensor([True]), Tensor(1.0)):
        with pytest.raises(TypeError, match=r"write int\(x\)"):
            use(other)
        use(int(other))


def test_settings_and_slices_of_tensors_take_tensors_of_one_integer():
    """As in MindSpore."""
    x, one = Tensor(np.arange(6.0).reshape(2, 3)), Tensor([1])
    assert x.sum(axis=one).tolist() == x.sum(axis=1).tolist()
    assert x[:, one:].tolist() == x[:, 1:].tolist()
    assert x[..., ::-one].tolist() == x[..., ::-1].tolist()
    with pytest.raises(IndexError):
        x[Tensor([0, 1]) :]
    with pytest.raises(TypeError):
        ops.randperm(Tensor([1.0]))
