"""Values that leave a derivative: what is ours joins, what would cut the derivative raises, what says so is a constant.

Three tables of programs, each run by every transform, eagerly and recorded. The derivatives of a program that joins are
those of the same elements written by hand with scalars; a program that takes plain numbers raises, and says what to do.
"""

import inspect
import pickle

import numpy as np
import pytest
from engine import open_levels
from leaving_programs import (
    CONSTANTS,
    INSIDE,
    JOINS,
    NAMES,
    POINT,
    RAISES,
    ROWS,
    TABLE,
    TRANSFORMS,
    WAYS,
    V,
    X,
    assert_same,
    by_hand,
    read,
    stored,
)

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import LeavesDerivativeError, Parameter, Tensor, ops
from dualgrad.numpy._arguments import ARRAYS, COLLECTIONS, STATIC
from dualgrad.numpy._table import FUNCTIONS, on_numbers

# Without further words a program is run in the first two; graph mode records the same calls.


@pytest.mark.rotated("way")
@pytest.mark.parametrize("way", ["eager", "recorded"])
@pytest.mark.parametrize("name", JOINS)
def test_what_is_ours_joins(name, way):
    program, elements = JOINS[name]
    for transform, derived in TRANSFORMS.items():
        found = WAYS[way](lambda: derived(lambda x: read(program(x))))  # noqa: B023
        expected = derived(lambda x: by_hand(elements(x[0], x[1], x[2])))
        assert_same(found, expected, transform)


@pytest.mark.parametrize("name", JOINS)
def test_joined_values_are_those_of_the_elements(name):
    program, elements = JOINS[name]
    found = program(X)
    expected = [float(e) for e in elements(*POINT.tolist())] if name not in WITH_OPS else None
    assert found.dtype == dg.float64
    if expected is not None:
        np.testing.assert_allclose(found.asnumpy().ravel(), expected, rtol=1e-14)


#: Programs whose elements are written with functions of `ops`.
WITH_OPS = ("mnp.exp", "mnp.linalg.norm", "ops.elu")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RAISES)
def test_plain_numbers_are_not_taken_without_a_word(name, way):
    program, error = RAISES[name]

    def f(x):
        program(x)
        return (x * x).sum()

    for derived in TRANSFORMS.values():
        with pytest.raises(error) as caught:
            WAYS[way](lambda: derived(f))  # noqa: B023
        assert not open_levels()
        assert (error is LeavesDerivativeError) == isinstance(caught.value, LeavesDerivativeError)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("way", ["eager", "recorded"])
@pytest.mark.parametrize("name", [name for name, (_, error) in RAISES.items() if error is LeavesDerivativeError])
def test_outside_of_derivatives_numbers_are_taken(name, way):
    program, _ = RAISES[name]
    WAYS[way](lambda: (program(X), X * 2)[1])


@pytest.mark.parametrize("name", CONSTANTS)
def test_what_says_so_is_a_constant(name):
    factor = CONSTANTS[name]
    value = factor(X)
    value = value.asnumpy() if isinstance(value, Tensor) else value
    for transform, derived in TRANSFORMS.items():
        if "vmap" not in transform:  # there numbers differ from sample to sample
            found = derived(lambda x: (x**2 * factor(x)).sum())
            assert_same(found, derived(lambda x: (x**2 * value).sum()), transform)


@pytest.mark.parametrize("transform", NAMES)
def test_the_message_says_where_and_what_to_do(transform):
    with pytest.raises(LeavesDerivativeError) as caught:
        TRANSFORMS[transform](lambda x: x.sum() * float(x[1]))
    message = str(caught.value)
    line = test_the_message_says_where_and_what_to_do.__code__.co_firstlineno + 3
    assert message.startswith(f"{transform}: float() ")
    for word in ("Float64", "shape ()", f"test_leaving.py, line {line}", "dualgrad.ops", "dualgrad.numpy"):
        assert word in message
    assert ("samples" if transform == "vmap" else ".asnumpy()") in message


def test_the_line_is_the_users_where_numpy_stands_between():
    with pytest.raises(LeavesDerivativeError, match=r"test_leaving\.py, line \d+\)"):
        dg.grad(lambda x: x.sum() * np.mean([x[0], x[1]]))(X)


def test_a_parameter_that_is_differentiated_does_not_leave():
    w, frozen = Parameter(POINT, name="w"), Parameter(POINT, name="frozen", requires_grad=False)
    for take in (np.asarray, lambda p: float(p[0]), pickle.dumps, lambda p: np.array([p[0], p[1]])):
        with pytest.raises(LeavesDerivativeError):
            dg.grad(lambda: (take(w), (w * w).sum())[1], None, [w])()  # noqa: B023
        found = dg.grad(lambda: (take(frozen), (w * w * frozen).sum())[1], None, [w])()[0]  # noqa: B023
        np.testing.assert_allclose(found.asnumpy(), 2 * POINT**2)
    joined = dg.grad(lambda: (Tensor(w) ** 3).sum() + (Tensor([w[0], 0.5]) ** 2).sum(), None, [w])()[0]
    np.testing.assert_allclose(joined.asnumpy(), 3 * POINT**2 + [2 * POINT[0], 0.0, 0.0])


def test_values_of_closed_levels_leave():
    kept = []
    dg.grad(lambda x: (kept.append(x * x), x.sum())[1])(X)
    dg.jvp(lambda x: (kept.append(x * x), x.sum())[1], X, V)
    for value in kept:
        np.testing.assert_allclose(np.asarray(value), POINT**2)
        assert float(value[0]) == POINT[0] ** 2


def test_values_of_closed_levels_stay_while_an_outer_derivative_needs_them():
    def outer(x):
        kept = []
        inner = dg.grad(lambda z: (kept.append(z * z), z.sum())[1])(x)
        return (inner * np.asarray(kept[0])).sum()

    with pytest.raises(LeavesDerivativeError, match="carries a derivative"):
        dg.grad(outer)(X)


def test_constants_inside_a_derivative_leave():
    c = Tensor(POINT)
    found = dg.grad(lambda x: (x * np.asarray(c * 2) * float(c[0])).sum())(X)
    np.testing.assert_allclose(found.asnumpy(), 2 * POINT * POINT[0])


class Compiled(dg.nn.Cell):
    """A function of NumPy, with a rule of its own."""

    def construct(self, x):
        return Tensor(np.sin(np.asarray(x)))

    def bprop(self, x, out, dout):
        return (dout * ops.cos(x),)


def test_functions_with_a_rule_of_their_own_may_take_numbers():
    for transform in ("grad", "grad of grad", "hessian", "jvp", "vjp", "jet", "hvp", "grad of jvp"):
        derived = TRANSFORMS[transform]
        assert_same(derived(lambda x: Compiled()(x).sum()), derived(lambda x: ops.sin(x).sum()), transform)


@pytest.mark.parametrize("name", INSIDE)
def test_calls_inside_a_derivative_are_no_way_out(name):
    for transform in ("grad", "grad of grad", "jvp", "jet", "hvp"):
        with pytest.raises(LeavesDerivativeError) as caught:
            TRANSFORMS[transform](lambda x: INSIDE[name](x, float).sum())
        assert str(caught.value).split(":")[0] == transform.split()[0]  # not a loop's or a block's name
        assert not open_levels()


SETTINGS = {
    "ddof": lambda x: ops.var(x, ddof=x[0]),
    "pinv": lambda x: ops.pinv(ops.outer(x, x), rtol=x[0]),
    "PReLU": lambda x: dg.nn.PReLU(1, [x[0]])(x),
    "decay": lambda x: dg.nn.ExponentialDecayLR(x[0], 0.5, 4)(Tensor(2)),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_are_numbers_do_not_cut_a_derivative_off(name):
    for transform in ("grad", "jvp", "jet"):
        with pytest.raises(TypeError):
            TRANSFORMS[transform](lambda x: SETTINGS[name](x).sum())


OPERANDS = {
    "elu": (lambda a: ops.elu(-X, a), 1.0),
    "dropout": (lambda p: ops.dropout(X, p, seed=3), 0.4),
    "label_smoothing": (
        lambda s: ops.cross_entropy(Tensor(np.outer(POINT, POINT)), Tensor([0, 2, 1]), None, -100, "mean", s),
        0.5,
    ),
    "no label_smoothing": (
        lambda s: ops.cross_entropy(Tensor(np.outer(POINT, POINT)), Tensor([0, 2, 1]), label_smoothing=s),
        0.0,
    ),
    "leaky_relu": (lambda a: ops.leaky_relu(-X, a), 0.2),
    "lerp": (lambda w: ops.lerp(X, V, w), 0.5),
    "pad": (lambda v: ops.pad(X, (1, 1), value=v), 0.0),
    "masked_fill": (lambda v: ops.masked_fill(X, X > 0.5, v), 0.0),
    "full_like": (lambda v: ops.full_like(X, v), 0.0),
    "coefficient": (lambda c: dg.linear_operator({(2,): c})(lambda y: (y**3).sum())(X[:1]), 0.5),
    "linspace": (lambda v: ops.linspace(v, 1.0 - v, 4, dtype=dg.float64), 0.0),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_settings_that_are_tensors_are_operands(name):
    """Also at the numbers for which a formula has a shorter form."""
    f, point = OPERANDS[name]
    at = Tensor(np.float64(point))
    with_number = lambda v: f(v).sum().item()
    h = 1e-6
    ends = (0.0, h) if name == "no label_smoothing" else (-h, h)
    slope = (with_number(point + ends[1]) - with_number(point + ends[0])) / (ends[1] - ends[0])
    for found in (dg.grad(lambda v: f(v).sum())(at), dg.jvp(lambda v: f(v).sum(), at, Tensor(np.float64(1.0)))[1]):
        np.testing.assert_allclose(found.item(), slope, rtol=1e-6, atol=1e-6)


def test_integers_that_are_indices_leave():
    n = Tensor(np.array([2, 0]))
    assert dg.grad(lambda x, n: (x[:2] * TABLE[n]).sum(), (0, 1))(X, n)[0].tolist() == [4.0, 1.0, 0.0]
    with pytest.raises(LeavesDerivativeError):
        dg.grad(lambda x, n: (x[:2] * np.asarray(n)).sum(), (0, 1))(X, n)


def test_derivatives_go_to_the_start_and_the_step_of_arange():
    for derive in (dg.jacrev, dg.jacfwd):
        found = derive(lambda x: ops.arange(x[0], x[0] + 1.5, x[1]))(X)
        np.testing.assert_allclose(found.asnumpy(), [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    with pytest.raises(ValueError, match="vmap"):
        dg.vmap(lambda x: mnp.arange(x[0], 2.0))(ROWS)


def test_lists_of_tensors_are_indices_and_places():
    n = Tensor(np.array([2, 0]))
    for pick in (lambda x: x[[n[0], 1]], lambda x: ops.gather(x, [n[0], 1], 0), lambda x: x[n[0] : 0 : -1]):
        found = dg.grad(lambda x: (pick(x) ** 2).sum())(X)  # noqa: B023
        np.testing.assert_allclose(found.asnumpy(), 2 * POINT * [0, 1, 1])
    found = dg.grad(lambda x: (ops.searchsorted(Tensor([0.0, 0.5]), [x[0], x[1]]) * x[:2]).sum())(X)
    assert found.tolist() == [1.0, 2.0, 0.0]


def test_errors_of_the_user_are_not_replaced():
    def f(x):
        try:
            float(x[0])
        except LeavesDerivativeError as error:
            raise KeyError("mine") from error

    with pytest.raises(KeyError, match="mine"):
        dg.grad(f)(X)
    with pytest.raises(ValueError, match="sequence") as caught:
        dg.grad(lambda x: x.sum() * stored([1.0, [2.0]], 0).sum())(X)
    assert not isinstance(caught.value, LeavesDerivativeError)


TYPES = {
    "float beside float32": (lambda: [Tensor([0.5])[0], 0.1], dg.float32),
    "float beside float64": (lambda: [0.1, X[0]], dg.float64),
    "float beside int64": (lambda: [Tensor(1), 0.5], dg.float32),
    "int beside float16": (lambda: [Tensor(1.0, dg.float16), 2], dg.float16),
    "NumPy's number": (lambda: [Tensor(1.0), np.float64(0.5)], dg.float32),
    "array": (lambda: [Tensor([1.0]), np.ones(1)], dg.float64),
    "two tensors": (lambda: [Tensor(1.0), Tensor(np.float64(1.0))], dg.float64),
    "complex": (lambda: [Tensor(np.float64(1.0)), 1j], dg.complex128),
    "bool": (lambda: [Tensor(True), 1], dg.int64),
}


@pytest.mark.parametrize("make", [Tensor, dg.tensor, mnp.array, mnp.asarray])
@pytest.mark.parametrize("name", TYPES)
def test_numbers_in_lists_follow_the_tensors(name, make):
    data, dtype = TYPES[name]
    found = make(data())
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.asnumpy(), np.array([np.asarray(e) for e in data()]).astype(dtype.numpy))
    assert dg.grad(lambda x: make([x, 0.5]).sum())(Tensor(1.0)).dtype == dg.float32


def test_every_parameter_of_numpys_functions_is_known_to_take_array_likes_or_not():
    seen = {
        name
        for handler in FUNCTIONS.values()
        if handler is not on_numbers
        for name in inspect.signature(handler).parameters
    }
    assert seen == ARRAYS | COLLECTIONS | STATIC
    assert len(seen) == len(ARRAYS) + len(COLLECTIONS) + len(STATIC)


def test_lists_of_numbers_beside_a_tensor_are_not_rounded():
    assert mnp.add(X, [0.1, 0.2, 0.3]).tolist() == (POINT + [0.1, 0.2, 0.3]).tolist()
    assert mnp.add(Tensor([1.0]), [0.1]).dtype == dg.float32
    assert mnp.dot(X, [0.1, 0.2, 0.3]).item() == pytest.approx(POINT @ [0.1, 0.2, 0.3], rel=1e-15)


def test_entries_of_different_shapes_are_refused():
    for make in (Tensor, mnp.array):
        with pytest.raises(ValueError, match="different shapes"):
            make([X[0], X])
        with pytest.raises(TypeError, match="expected numbers, arrays and Tensors in a list, got str"):
            make([X[0], "a"])


def test_a_tensor_of_a_tensor_has_numbers_of_its_own():
    numbers = POINT.copy()
    copied = Tensor(Tensor.from_numpy(numbers))
    numbers[0] = 9.0
    assert copied.tolist() == POINT.tolist()
