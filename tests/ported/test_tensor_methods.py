"""Methods of tensors that ported code uses: facts, types, other tensors, and what changes a tensor in place."""

import itertools

import numpy as np
import pytest
import scipy.special
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops

RNG = np.random.default_rng(41)
X, Y = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
SQUARE = RNG.standard_normal((3, 3))
U = RNG.uniform(0.1, 0.9, (3, 4))


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 1, 3)])
def test_facts(shape):
    x = np.zeros(shape)
    t = f64(x)
    assert (t.numel(), t.nelement(), t.dim(), t.ndimension()) == (x.size, x.size, x.ndim, x.ndim)
    steps = tuple(n // x.itemsize for n in np.zeros(shape).strides)
    assert t.stride() == steps
    assert all(t.stride(k) == steps[k] for k in range(x.ndim))
    assert t.is_contiguous()
    assert t.device == "CPU"


TYPES = {
    "bool": dg.bool_, "byte": dg.uint8, "short": dg.int16, "int": dg.int32, "long": dg.int64, "half": dg.float16,
    "float": dg.float32, "double": dg.float64,
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    x = np.array([0.0, 1.0, 3.0])
    for converted in getattr(f64(x), name)(), f64(x).to(TYPES[name]), f64(x).type(TYPES[name]):
        assert converted.dtype is TYPES[name]
        assert np.array_equal(converted.asnumpy(), x.astype(TYPES[name].numpy))
    assert converted.is_signed() == (name not in ("bool", "byte"))
    assert converted.type() == str(TYPES[name])


VALUES = {
    # method: calls as (tensor, arguments, settings, expected)
    "clone": [(X, (), {}, X)],
    "contiguous": [(X, (), {}, X)],
    "value": [(X, (), {}, X)],
    "new_zeros": [(X, ((2, 3),), {}, np.zeros((2, 3)))],
    "new_ones": [(X, ((2, 3),), {}, np.ones((2, 3)))],
    "new_full": [(X, ((2, 3), 5.0), {}, np.full((2, 3), 5.0))],
    "fill": [(X, (5.0,), {}, np.full((3, 4), 5.0))],
    "expand": [
        (X[:, :1], (2, -1, 4), {}, np.broadcast_to(X[:, :1], (2, 3, 4))),
        (X[:, :1], ((3, 4),), {}, np.broadcast_to(X[:, :1], (3, 4))),
    ],
    "repeat": [(X, (2, 3), {}, np.tile(X, (2, 3))), (X, ((2, 1, 1),), {}, np.tile(X, (2, 1, 1)))],
    "reshape_as": [(X, (Y.reshape(2, 6),), {}, X.reshape(2, 6))],
    "sum_to_size": [
        (X, (1, 4), {}, X.sum(0, keepdims=True)),
        (X, ((4,),), {}, X.sum(0)),
        (X, (3, 1), {}, X.sum(1, keepdims=True)),
    ],
    "reverse_sequence": [(X, (np.array([1, 4, 2]), 1), {}, np.stack([X[0], X[1, ::-1], X[2, [1, 0, 2, 3]]]))],
    "hardshrink": [(X, (), {}, np.where(np.abs(X) > 0.5, X, 0))],
    "soft_shrink": [(X, (0.3,), {}, np.sign(X) * np.maximum(np.abs(X) - 0.3, 0))],
    "matrix_determinant": [(SQUARE, (), {}, np.linalg.det(SQUARE))],
    "log_matrix_determinant": [(SQUARE, (), {}, tuple(np.linalg.slogdet(SQUARE)))],
    "kthvalue": [(X, (2,), {}, (np.sort(X, 1)[:, 1], np.argsort(X, 1)[:, 1])),
                 (X, (3, 0, True), {}, (np.sort(X, 0)[2:], np.argsort(X, 0)[2:]))],
    "quantile": [(X, (0.3,), {}, np.quantile(X, 0.3))],
    "isclose": [(X, (Y, 0.5), {}, np.isclose(X, Y, 0.5))],
    "tensor_split": [(X, (2,), {}, tuple(np.array_split(X, 2)))],
    "logit": [(U, (), {}, scipy.special.logit(U))],
    "select": [
        (X, (X > 0, Y), {}, np.where(X > 0, X, Y)),
        *[(X, (axis, k), {}, np.take(X, k, axis)) for axis in (-2, -1, 0, 1) for k in (-1, 0, 2)],
        (X, (), {"dim": 1, "index": 2}, X[:, 2]),
    ],
}  # fmt: skip
for _name, _f in (("mul", np.multiply), ("max", np.maximum), ("min", np.minimum), ("sub", np.subtract)):
    _expected = X.copy()
    _expected[[2, 0]] = _f(X[[2, 0]], Y[:2])
    VALUES[f"scatter_{_name}"] = [(X, (np.array([[2], [0]]), Y[:2]), {}, _expected)]


def wrapped(value):
    return Tensor(value) if isinstance(value, np.ndarray) else value


CALLS = [pytest.param(name, *call, id=f"{name}-{k}") for name, calls in VALUES.items() for k, call in enumerate(calls)]


@pytest.mark.parametrize(("name", "x", "args", "settings", "expected"), CALLS)
@pytest.mark.usefixtures("mode")
def test_values_are_those_of_numpy(name, x, args, settings, expected):
    result = getattr(f64(x), name)(*[wrapped(a) for a in args], **settings)
    many = zip(result, expected, strict=True) if isinstance(result, tuple) else [(result, expected)]
    for one, other in many:
        assert one.shape == np.shape(other)
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-12, atol=1e-14)


def test_elements_are_put_at_indices():
    rows, columns = np.array([0, 2, 0]), np.array([1, 3, 1])
    replaced, added = X.copy(), X.copy()
    replaced[rows, columns] = [7.0, 8.0, 9.0]
    np.add.at(added, (rows, columns), [7.0, 8.0, 9.0])
    at, new = (Tensor(rows), Tensor(columns)), f64([7.0, 8.0, 9.0])
    assert_close(f64(X).index_put(at, new), replaced)
    assert_close(f64(X).index_put(at, new, True), added)
    assert_close(f64(X).index_put((Tensor(rows),), f64(1.0), accumulate=True), X + np.array([[2.0], [0.0], [1.0]]))
    mask = X > 0
    assert_close(f64(X).index_put((Tensor(mask),), f64(1.0), accumulate=True), X + mask)
    assert_close(dg.grad(lambda x, v: (x.index_put(at, v, True) ** 2).sum(), 1)(f64(X), new), 2 * added[rows, columns])


# ------------------------------------------------------------------------------------------------------ in place

SRC = Tensor(np.array([[3], [0], [1]]))
PLACES = Tensor(np.array([2, 0]))
IN_PLACE = {
    # method: arguments, the same without changing anything
    "add_": ((f64(Y),), lambda x: x + f64(Y)),
    "sub_": ((2.0,), lambda x: x - 2.0),
    "mul_": ((f64(Y),), lambda x: x * f64(Y)),
    "div_": ((f64(Y),), lambda x: x / f64(Y)),
    "remainder_": ((0.7,), lambda x: ops.remainder(x, 0.7)),
    "floor_divide_": ((0.7,), lambda x: ops.floor_divide(x, 0.7)),
    "exp_": ((), ops.exp),
    "log_": ((), ops.log),
    "floor_": ((), ops.floor),
    "sign_": ((), ops.sign),
    "sigmoid_": ((), ops.sigmoid),
    "tanh_": ((), ops.tanh),
    "erfinv_": ((), ops.erfinv),
    "clamp_": ((0.2, 0.6), lambda x: ops.clamp(x, 0.2, 0.6)),
    "addmm_": ((f64(X[:, :2]), f64(Y[:2])), lambda x: ops.addmm(x, f64(X[:, :2]), f64(Y[:2]))),
    "masked_fill_": ((Tensor(X > 0), 5.0), lambda x: ops.masked_fill(x, Tensor(X > 0), 5.0)),
    "index_fill_": ((0, PLACES, 5.0), lambda x: ops.index_fill(x, 0, PLACES, 5.0)),
    "index_add_": ((0, PLACES, f64(Y[:2])), lambda x: ops.index_add(x, PLACES, f64(Y[:2]), 0)),
    "index_put_": (((PLACES,), f64(Y[:2])), lambda x: x.index_put((PLACES,), f64(Y[:2]))),
    "scatter_": ((1, SRC, f64(Y[:, :1])), lambda x: ops.scatter(x, 1, SRC, f64(Y[:, :1]))),
    "scatter_add_": ((1, SRC, f64(Y[:, :1])), lambda x: ops.scatter_add(x, 1, SRC, f64(Y[:, :1]))),
    "copy_": ((f64(Y[:1]),), lambda x: ops.broadcast_to(f64(Y[:1]), x.shape)),
    "fill_": ((5.0,), lambda x: ops.full_like(x, 5.0)),
    "zero_": ((), ops.zeros_like),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_the_handle_has_the_new_value_and_what_came_before_keeps_the_old_one(name):
    args, plain = IN_PLACE[name]
    x = f64(U)
    before, row = x * 1.0, x[0]
    assert getattr(x, name)(*args) is x
    assert_close(x, plain(f64(U)).asnumpy())
    assert_close(before, U)
    assert_close(row, U[0])


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.usefixtures("mode")
def test_derivatives_of_every_order_go_through(name):
    args, plain = IN_PLACE[name]

    def changed(x):
        y = x * x
        getattr(y, name)(*args)
        return (y * x).sum()

    same = lambda x: (plain(x * x) * x).sum()
    for transform in dg.grad, lambda f: dg.grad(lambda x: dg.grad(f)(x).sum()):
        assert_close(transform(changed)(f64(U)), transform(same)(f64(U)).asnumpy())
    tangent = f64(Y)
    assert_close(dg.jvp(changed, f64(U), tangent)[1], dg.jvp(same, f64(U), tangent)[1].asnumpy(), scale=1.0)


def test_factors_and_kinds_of_rounding():
    x = f64(X)
    assert_close(x.add_(f64(Y), alpha=2.0), X + 2 * Y)
    assert_close(f64(X).sub_(f64(Y), alpha=2.0), X - 2 * Y)
    assert_close(f64(X).div_(f64(Y), rounding_mode="floor"), X // Y)
    expected = X.copy()
    expected[[2, 0]] += 3 * Y[:2]
    assert_close(f64(X).index_add_(0, PLACES, f64(Y[:2]), alpha=3.0), expected)


@pytest.mark.parametrize(("own", "other"), [*itertools.product("?biBefdFD", "?iBedD")][1:])
def test_a_tensor_takes_numbers_of_its_kind_only(own, other):
    """Nothing is cut off, as in NumPy; what `copy_` and `fill_` are given is converted."""
    x, y = np.ones(2, own), np.ones(2, other)
    if np.can_cast((Tensor(x) + Tensor(y)).dtype.numpy, own, "same_kind"):
        np.testing.assert_array_equal(Tensor(x).add_(Tensor(y)).asnumpy(), (x + y).astype(own), strict=True)
    else:
        assert_raises(TypeError, lambda: Tensor(x).add_(Tensor(y)), "add_", "cannot hold")
    if other != "D" or own in "?FD":
        for changed in Tensor(x).copy_(Tensor(y)), Tensor(x).fill_(Tensor(y[0])):
            np.testing.assert_array_equal(changed.asnumpy(), x, strict=True)


def test_parameters_change_in_place():
    p = Parameter(X.copy(), name="p")
    p.mul_(2.0)
    assert isinstance(p, Parameter)
    assert_close(p * 1.0, 2 * X)


def test_random_numbers_in_place():
    dg.set_seed(3)
    draws = {
        "normal_": ((5.0, 2.0), lambda x: abs(x.mean() - 5) < 0.2),
        "uniform_": ((2.0, 3.0), lambda x: (2 <= x).all() and (x < 3).all()),
        "exponential_": ((4.0,), lambda x: abs(x.mean() - 0.25) < 0.02 and (x >= 0).all()),
        "bernoulli_": ((0.25,), lambda x: set(x) == {0.0, 1.0} and abs(x.mean() - 0.25) < 0.03),
        "random_": ((2, 6), lambda x: set(x) == {2.0, 3.0, 4.0, 5.0}),
    }
    for name, (args, holds) in draws.items():
        x = f64(np.zeros(4000))
        assert getattr(x, name)(*args) is x
        assert holds(x.asnumpy()), name
        with pytest.raises(TypeError, match="set_seed"):
            getattr(x, name)(*args, generator=np.random.default_rng())
    assert f64(np.zeros(9)).random_().asnumpy().max() > 2**40


OUTSIDE = f64(X)
REFUSED = {
    "written outside": (RuntimeError, lambda: dg.grad(lambda x: OUTSIDE.add_(x).sum())(f64(Y)), "outside"),
    "another shape": (ValueError, lambda: f64(X[0]).add_(f64(X)), "(4,)"),
    "number": (ValueError, lambda: f64(X).fill_(f64(X)), "single"),
    "repeat": (ValueError, lambda: f64(X).repeat(2), "each axis"),
    "size": (ValueError, lambda: f64(X).sum_to_size(2, 4), "broadcast"),
    "condition or place": (TypeError, lambda: f64(X).select(f64(X) > 0), "dim and index"),
    "condition and place": (TypeError, lambda: f64(X).select(f64(X) > 0, dim=1), "both"),
    "axis": (np.exceptions.AxisError, lambda: dg.mint.select(f64(X), 2, 0), "select"),
    "rank": (ValueError, lambda: f64(X).kthvalue(9), "length"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(case):
    assert_raises(*case)
    assert_close(OUTSIDE, X)


ITEMS = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("place", [0, 17, -1, (1, 2, 3), (0, -1, 0)], ids=str)
def test_a_number_at_one_place(place):
    expected = ITEMS.copy()
    if isinstance(place, tuple):
        expected[place] = -7.5
    else:
        expected.reshape(-1)[place] = -7.5
    x = f64(ITEMS)
    assert_close(x.itemset(place, -7.5), expected)
    assert_close(x, ITEMS)
    slope = dg.grad(lambda t, v: (t.itemset(place, v) * x).sum(), (0, 1))(x, f64(3.0))
    kept = ITEMS * (expected == ITEMS)
    assert_close(slope, (kept, ITEMS.sum() - kept.sum()))


def test_places_that_do_not_fit():
    assert_close(f64([[2.0]]).itemset(3), np.array([[3.0]]))
    x = f64(ITEMS)
    assert_raises(IndexError, lambda: x.itemset(3), "itemset", "place")
    assert_raises(IndexError, lambda: x.itemset(24, 1.0), "beyond the 24")
    assert_raises(IndexError, lambda: x.itemset((1, 2), 1.0), "each axis")
    assert_raises(TypeError, lambda: x.itemset(), "0 arguments")


def test_another_type_in_place():
    x = f64([1.5, 2.0])
    y = x
    assert x.set_dtype(dg.float16) is x
    assert_close(y, np.array([1.5, 2.0]), dtype=dg.float16)
    w = dg.Parameter([1.5], name="w")
    assert w.set_dtype(dg.float64) is w
    assert_close(w.value(), np.array([1.5]), dtype=dg.float64)
    assert_close(dg.grad(lambda v: w * v)(f64([2.0])), np.array([1.5]))
    assert_raises(TypeError, lambda: x.set_dtype("colour"), "set_dtype")


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_extremes_of_elements_that_count(name, axis, keepdims):
    x, counts = f64(np.cos(ITEMS)), ITEMS % 5 < 2
    for initial in (-2.0, 0.25, 2.0):
        settings = {"initial": initial, "axis": axis, "keepdims": keepdims}
        assert_close(getattr(x, name)(**settings), getattr(np.cos(ITEMS), name)(**settings))
        found = getattr(x, name)(where=dg.Tensor(counts), **settings)
        assert_close(found, getattr(np.cos(ITEMS), name)(where=counts, **settings))
    if isinstance(axis, int):
        values = dg.grad(lambda t: getattr(t, name)(axis, initial=-9.0 if name == "max" else 9.0, where=counts).sum())(
            x
        )
        best = getattr(np.cos(ITEMS), name)(axis, initial=-9.0 if name == "max" else 9.0, where=counts, keepdims=True)
        assert_close(values, (counts & (np.cos(ITEMS) == best)).astype(float))
    assert_raises(ValueError, lambda: getattr(x, name)(where=counts), "where", "initial")
    assert_raises(ValueError, lambda: getattr(x, name)(0, initial=1.0, return_indices=True), "return_indices")
