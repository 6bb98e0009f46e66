"""NumPy's functions on tensors, from the table that the documentation shows: none unknown, and each as it says."""

import inspect
import warnings

import numpy as np
import pytest
from derivatives import assert_derivatives_agree, assert_replays_agree, parts
from numpy_samples import Recorder, Sample, all_samples, documented
from numpy_samples.constant import CONSTANT, A, B

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor, ops
from dualgrad.numpy import _coverage
from dualgrad.testing import check

TABLE = _coverage.coverage()
VERSION = np.lib.NumpyVersion(np.__version__)
METHODS = {f"ufunc.{method}" for method in ("reduce", "accumulate", "reduceat", "outer", "at")}


def there(name: str) -> bool:
    """Whether this version of NumPy has the function."""
    space, _, last = name.rpartition(".")
    return name in METHODS or hasattr(np.linalg if space else np, last)


SAMPLES = [one for one in all_samples() if there(one.name) and VERSION >= one.since]


def theirs(name: str):
    return getattr(np.linalg, name[7:]) if name.startswith("linalg.") else getattr(np, name)


def of_tensors(sample: Sample):
    """The call with `dualgrad.numpy`; methods of ufuncs are called on NumPy's own."""
    module = np if sample.name in METHODS else mnp
    return lambda *args: parts(sample.call(module, *args))


def in_numpy(sample: Sample, used=None):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return sample.call(Recorder(np, {} if used is None else used), *[a.copy() for a in sample.args])


def same(found, expected, rtol):
    if isinstance(expected, tuple | list):
        assert isinstance(found, tuple | list)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other, rtol)
        return
    expected = np.asarray(expected)
    assert tuple(np.shape(found)) == expected.shape
    found = found.asnumpy() if isinstance(found, Tensor) else np.asarray(found)
    if found.dtype.kind == "c" or found.dtype.kind == expected.dtype.kind:  # complex where NumPy looks at the numbers
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * max(1.0, np.abs(expected).max(initial=0.0)))
    else:
        assert found.dtype == expected.dtype


# ------------------------------------------------------------------------------------------------------- the table


def test_what_is_listed_as_differentiable_is_what_is_differentiated():
    listed = {name for name, entry in TABLE.items() if entry.kind == _coverage.DIFFERENTIABLE}
    assert listed | METHODS == {one.name for one in SAMPLES}
    assert all(entry.why for entry in TABLE.values() if entry.kind != _coverage.DIFFERENTIABLE)
    assert len(listed) > 200


def test_a_function_that_the_table_does_not_know_is_found_out(monkeypatch):
    monkeypatch.setattr(np, "__all__", [*np.__all__, "something_new"])
    monkeypatch.setattr(np, "something_new", lambda x: x, raising=False)
    with pytest.raises(LookupError, match=r"np\.something_new is neither offered nor listed"):
        _coverage.coverage()


def arguments(name: str) -> set[str]:
    """The arguments that NumPy documents."""
    function = theirs(name)
    found = set(documented(function))
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # compiled, before NumPy 2.4
        return found
    named = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    others = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return (named | found if others else named) - {"subscripts", "operands", "arrays", "args", "kwargs"}


def test_samples_use_every_argument_that_is_not_refused():
    used: dict[str, set[str]] = {}
    for one in SAMPLES:
        in_numpy(one, used)
    missing = {}
    for name in {one.name for one in SAMPLES} - METHODS:
        function = theirs(name)
        if isinstance(function, np.ufunc):
            continue
        refused = {**_coverage.REFUSED_ARGUMENTS[""], **_coverage.REFUSED_ARGUMENTS.get(name, {})}
        if left := arguments(name) - used.get(name, set()) - set(refused):
            missing[name] = left
    assert not missing
    methods = {"axis", "dtype", "keepdims", "initial", "where"}
    assert not methods - set().union(*[used[name] for name in METHODS])


@pytest.mark.parametrize("method", ["__call__", "reduce", "accumulate", "outer"])
def test_arguments_of_ufuncs_that_are_refused_say_so(method):
    x = Tensor([1.0, 2.0])
    calls = {
        "__call__": lambda **more: np.add(x, x, **more),
        "reduce": lambda **more: np.add.reduce(x, **more),
        "accumulate": lambda **more: np.add.accumulate(x, **more),
        "outer": lambda **more: np.add.outer(x, x, **more),
    }
    with pytest.raises(TypeError, match="out="):
        calls[method](out=np.zeros(2))
    if method == "__call__":
        with pytest.raises(TypeError, match="where="):
            calls[method](where=np.array([True, False]))
        for word, value in (("casting", "safe"), ("order", "C"), ("subok", False)):
            with pytest.raises(TypeError, match=word):
                calls[method](**{word: value})


def test_arrays_are_no_place_for_tensors():
    for call in (
        lambda x: np.add.at(np.zeros(2), [0], x),
        lambda x: np.put(np.zeros(2), [0], x),
        lambda x: np.copyto(np.zeros(2), x),
        lambda x: np.put_along_axis(np.zeros(2), np.array([0]), x, 0),
    ):
        with pytest.raises(TypeError, match="cannot hold a derivative"):
            dg.grad(call)(Tensor([1.0]))


@pytest.mark.parametrize("name", [name for name, entry in TABLE.items() if entry.kind == _coverage.REFUSED])
def test_what_is_refused_raises(name):
    with pytest.raises(TypeError, match="Tensors"):
        theirs(name)(Tensor([1.0, 2.0]))
    with pytest.raises(AttributeError):
        getattr(mnp, name)


# ---------------------------------------------------------------------------------------------- values, derivatives


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_values_are_numpys(sample: Sample):
    expected = in_numpy(sample)
    tensors = lambda: [Tensor(a) for a in sample.args]
    if sample.name not in METHODS:
        same(sample.call(mnp, *tensors()), expected, sample.rtol)
    if sample.dispatched:
        same(sample.call(np, *tensors()), expected, sample.rtol)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_three_derivatives_agree(sample: Sample):
    assert_derivatives_agree(of_tensors(sample), sample.args, sample.order, sample.smooth)


def test_there_is_a_call_of_every_function_without_slope():
    assert {name for name in CONSTANT if there(name)} == {
        name for name, entry in TABLE.items() if entry.kind == _coverage.WITHOUT_SLOPE
    }


@pytest.mark.parametrize("name", [name for name in CONSTANT if there(name)])
def test_slopes_are_zero_where_there_are_none(name):
    call = CONSTANT[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = call(np, A, B)
        found = call(mnp, Tensor(A), Tensor(B))
    if name.startswith("empty"):
        assert found.shape == np.shape(expected)
    elif isinstance(found, Tensor | np.ndarray | tuple | list) and not isinstance(expected, str):
        same(found, expected, 1e-6)
    elif isinstance(expected, str | int | float | bool | np.generic | type(None)) and not name.startswith("array_"):
        assert found == expected
    if name.startswith("save"):
        with pytest.raises(dg.LeavesDerivativeError):
            dg.grad(lambda a: call(mnp, a, B))(Tensor(A))
        return
    slope = dg.grad(lambda a: sum([ops.sum(t) for t in parts(call(mnp, a, Tensor(B)))], 0.0 * ops.sum(a)))(Tensor(A))
    assert not slope.asnumpy().any()


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_every_way_of_differentiating_agrees(sample: Sample):
    """All engines to the third order, batches, and recorded programs."""
    f = of_tensors(sample)
    check(f, sample.args, order=sample.order, smooth=sample.smooth, batched=sample.batched, narrow=False)
    assert_replays_agree(f, sample.args)


@pytest.mark.parametrize(
    ("trim", "error"), [(Tensor(1.0), TypeError), (3, TypeError), (None, TypeError), ("x", ValueError)]
)
def test_zeros_are_trimmed_at_ends_that_there_are(trim, error):
    with pytest.raises(error, match=r"np\.trim_zeros: trim is .*; expected 'f', 'b' or 'fb'"):
        np.trim_zeros(Tensor([0.0, 1.0]), trim)
