"""Types other than float64.

float16 and float32 stay what they are through every derivative, and are as exact as they can be; integers and bools
give the documented type or a clear error.
"""

import numpy as np
import pytest
from cases import Case, all_cases
from engine import OPCODES, apply

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._table import ROWS

NARROW = [pytest.param(case, np.dtype(name), id=f"{case}-{name}") for case in all_cases() for name in case.narrow]
INTEGERS = [dg.int8, dg.int16, dg.int32, dg.int64, dg.uint8, dg.uint16, dg.uint32, dg.uint64]


def leaves(nest):
    if isinstance(nest, tuple | list):
        return [leaf for part in nest for leaf in leaves(part)]
    return [nest] if isinstance(nest, Tensor) and nest.dtype.is_float else []


def weights(rng, like):
    """Numbers that are exact in every type."""
    return Tensor(rng.integers(128, 385, like.shape) / 256, like.dtype)


def weighted(case, order):
    """Results, first or second derivatives of a case, as a function of its operands."""
    positions = tuple(range(len(case.args)))

    def total(*xs):
        rng = np.random.default_rng(11)
        terms = [ops.sum(leaf * weights(rng, leaf)) for leaf in leaves(case.fn(*xs))]
        return sum(terms[1:], terms[0])

    def slopes(*xs):
        found = dg.grad(total, positions)(*xs)
        return found if isinstance(found, tuple) else (found,)

    def along(*xs):
        rng = np.random.default_rng(12)
        return [ops.sum(g * weights(rng, g)) for g in slopes(*xs)]

    def curvatures(*xs):
        found = dg.grad(lambda *xs: sum(along(*xs)[1:], along(*xs)[0]), positions)(*xs)
        return found if isinstance(found, tuple) else (found,)

    return (lambda *xs: tuple(leaves(case.fn(*xs))), slopes, curvatures)[order]


def numbers(nest):
    return [leaf.asnumpy().astype(np.float64) for leaf in nest]


@pytest.mark.rotated("case", "dtype", key="operator")
@pytest.mark.parametrize(("case", "dtype"), NARROW)
def test_cases_in_narrow_types(case: Case, dtype):
    """The type stays, and the error is that of rounding.

    That is what a change of the operands by their rounding makes, and what results of this or a lower order lose: a
    derivative that is small because its terms cancel has no more digits than they have. Rounding of values in between
    counts to second order: where a product of rank 1 is rounded, its determinant is no longer zero.
    """
    eps, scale = float(np.finfo(dtype).eps), 0.0
    second = eps**2 * max(1.0, *(np.abs(a).max(initial=0.0) for a in case.args))
    narrow = [a.astype(dtype) for a in case.args]
    wide = [a.astype(np.float64) for a in narrow]
    for order in range(min(case.order, 2) + 1):
        f = weighted(case, order)
        found = f(*[Tensor(a) for a in narrow])
        exact = numbers(f(*[Tensor(a) for a in wide]))
        assert {leaf.dtype for leaf in found} <= {dg.dtype.as_dtype(dtype)}
        rng = np.random.default_rng(13)
        moved = [0.0] * len(exact)
        for _ in range(4):
            near = numbers(f(*[Tensor(a * (1 + eps * rng.uniform(-1, 1, a.shape))) for a in wide]))
            moved = [max(m, np.abs(n - e).max(initial=0.0)) for m, n, e in zip(moved, near, exact, strict=True)]
        scale = max(scale, *(np.abs(expected).max(initial=0.0) for expected in exact))
        assert scale < np.finfo(dtype).max / 10
        for got, expected, change in zip(numbers(found), exact, moved, strict=True):
            limit = 40 * (eps * scale + change + second) + np.finfo(dtype).tiny
            np.testing.assert_allclose(got, expected, rtol=0, atol=limit, err_msg=f"order {order}")


# ------------------------------------------------------------------------------------------------ numbers and sums


@pytest.mark.parametrize("dtype", [dg.float16, dg.float32, dg.float64], ids=str)
def test_python_numbers_take_the_type_of_the_tensor_beside_them(dtype):
    x = Tensor([0.5, 0.25], dtype)
    number = float(np.asarray(0.1, dtype.numpy))  # exact in the type, so that the results are too
    for (
        name
    ) in "xlogy xlog1py mse_loss l1_loss huber_loss smooth_l1_loss binary_cross_entropy_with_logits dot inner".split():
        f = getattr(ops, name)
        for found, same in (
            (f(x, 0.1), f(x, Tensor(number, dtype))),
            (f(0.1, x), f(Tensor(number, dtype), x)),
        ):
            assert found.dtype == dtype, name
            np.testing.assert_array_equal(found.asnumpy(), same.asnumpy(), err_msg=name)
    assert ops.float_power(x, 0.5).dtype == dg.float64
    assert ops.float_power(Tensor([1j]), 2).asnumpy() == [-1]


@pytest.mark.parametrize("dtype", [dg.float16, dg.float32, dg.float64], ids=str)
def test_what_does_not_fit_is_infinite_without_a_warning(dtype):
    most = Tensor([[np.finfo(dtype.numpy).max] * 2] * 2, dtype)
    index = Tensor([[0, 1], [0, 1]])
    results = {
        "product": most * most,
        "square": ops.square(most),
        "power": most**3,
        "sum": ops.sum(most, 0),
        "running sum": ops.cumsum(most, 0)[1],
        "matrix product": most @ most,
        "gathered cotangents": dg.grad(lambda x: most * x[index])(most[0]),
        "change of type": (Tensor(most, dg.float64) * 10).astype(dtype),
    }
    for name, result in results.items():
        assert result.dtype == dtype, name
        assert np.isposinf(result.asnumpy()).all(), name


def test_sums_of_float16_are_exact_to_one_rounding():
    x = np.full(4096, 1.0009765625, np.float16)  # a float16 running sum would stop at 2048
    found = ops.sum(Tensor(x))
    assert found.dtype == dg.float16
    assert found.asnumpy() == np.float16(x.astype(np.float64).sum())
    tall = Tensor(np.ones((4096, 2), np.float16) * np.float16(0.1))
    totals = {
        "over the first axis": ops.sum(tall, 0),
        "of cotangents that were broadcast": dg.grad(lambda w: tall * w)(Tensor(np.ones(2, np.float16))),
        "of cotangents that were gathered": dg.grad(lambda w: tall * w[np.zeros(4096, int)])(Tensor(tall[:1]))[0],
        "running": ops.cumsum(tall, 0)[-1],
        "of products": ops.ones((4096,), dg.float16) @ tall,
    }
    for name, total in totals.items():
        assert total.dtype == dg.float16, name
        expected = np.full(2, np.float16(4096 * np.float64(np.float16(0.1))))
        np.testing.assert_array_equal(total.asnumpy(), expected, err_msg=name)


# ------------------------------------------------------------------------------------------------ integers and bools

ELEMENTWISE = [row for row in ROWS if row.partials]
PUBLIC = [row for row in ELEMENTWISE if row.function]
VALUES = {"b": [True, False, True], "i": [1, 2, 3], "u": [1, 2, 3]}


def of_type(dtype):
    return Tensor(np.array(VALUES[dtype.numpy.kind]).astype(dtype.numpy))


def attempt(call):
    """A result, or None for a TypeError that says what to do."""
    try:
        return call()
    except TypeError as error:
        if "float type" not in str(error):
            raise
        return None


@pytest.mark.parametrize("dtype", [dg.bool_, *INTEGERS], ids=str)
@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_rows_on_integers_and_bools(row, dtype):
    """As the engine applies them, without conversion: the own type or Bool, or a clear TypeError; never another."""
    found = attempt(lambda: apply(OPCODES[row.name], None, *[of_type(dtype)] * row.arity))
    if found is not None:
        assert found.dtype == (dg.bool_ if row.result == "bool" else dtype)


@pytest.mark.parametrize("dtype", [dg.bool_, *INTEGERS], ids=str)
@pytest.mark.parametrize("row", PUBLIC, ids=lambda row: row.function)
def test_public_functions_of_integers_and_bools(row, dtype):
    """Bool for predicates; integers stay in what keeps or takes them; else float32, with float32's values."""
    f, x = getattr(ops, row.function), of_type(dtype)
    found = attempt(lambda: f(*[x] * row.arity))
    if row.result == "bool":
        assert found is not None
        assert found.dtype == dg.bool_
    elif row.keeps_ints or row.takes_ints or row.family == "constant":
        if found is None:
            # bools have no sign, and rounding integers is left to ops.round
            assert dtype is dg.bool_ or row.family == "constant"
        else:
            assert found.dtype == dtype
    else:
        assert found is not None
        assert found.dtype == dg.float32
        np.testing.assert_array_equal(found.asnumpy(), f(*[x.astype(dg.float32)] * row.arity).asnumpy())


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_are_differentiated_formally_through_sums_and_products(dtype):
    x = of_type(dtype)
    for f, expected in (
        (lambda x: x * x + x, [3, 5, 7]),
        (lambda x: ops.square(x) - x, [1, 3, 5]),
        (lambda x: ops.reshape(x, (3, 1)) * x, [12, 12, 12]),
        (lambda x: x**3, [3, 12, 27]),
        (lambda x: ops.where(x > 1, x * x, x), [1, 4, 6]),
        (lambda x: ops.cat((x[1:], x * 2)), [2, 3, 3]),
        (lambda x: x // 2, [0, 0, 0]),
        (lambda x: x % 2, [1, 1, 1]),
        (lambda x: ops.arange(10)[x.astype(dg.int64)] * 1.5, [0, 0, 0]),
        (lambda x: x > 1, [0, 0, 0]),
    ):
        gradient = dg.grad(f)(x)
        assert gradient.dtype == dtype
        np.testing.assert_array_equal(gradient.asnumpy(), expected)
    second = dg.grad(dg.grad(lambda x: x * x * x))(x)
    assert second.dtype == dtype
    np.testing.assert_array_equal(second.asnumpy(), [6, 12, 18])


def test_bools_have_bool_zeros_as_gradients():
    flags = of_type(dg.bool_)
    for f in (lambda b: ops.where(b, 2.0, 1.0), lambda b: b.astype(dg.float32) * 3.0, lambda b: b & b, lambda b: b):
        gradient = dg.grad(f)(flags)
        assert gradient.dtype == dg.bool_
        assert not gradient.asnumpy().any()


def test_bfloat16_is_refused_with_the_remedy():
    with pytest.raises(TypeError, match="compute in float32"):
        Tensor([1.0], "BFloat16")
    with pytest.raises(TypeError, match=r"astype\(np\.float32\)"):
        Tensor(np.zeros(2, [("bits", np.uint16)]))
