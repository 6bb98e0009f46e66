"""Two integer types together: what NumPy gives, or what exact integers give, in eager and recorded calls."""

import itertools
import operator

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops

SIGNED = ["int8", "int16", "int32", "int64"]
TYPES = [*SIGNED, "uint8", "uint16", "uint32", "uint64", "bool"]
PAIRS = list(itertools.product(TYPES, TYPES))
each_pair = pytest.mark.parametrize(("p", "q"), PAIRS, ids="-".join)


def where(a, b):
    return np.where(a > 1, a, b) if isinstance(a, np.ndarray) else ops.where(a > 1, a, b)


def either(of_tensors, of_arrays):
    return lambda a, b: of_arrays(a, b) if isinstance(a, np.ndarray) else of_tensors(a, b)


OPERATORS = {
    "add": operator.add,
    "mul": operator.mul,
    "sub": operator.sub,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "maximum": either(ops.maximum, np.maximum),
    "minimum": either(ops.minimum, np.minimum),
    "where": where,
    "cat": either(lambda a, b: ops.cat([a, b]), lambda a, b: np.concatenate([a, b])),
    "stack": either(lambda a, b: ops.stack([a, b]), lambda a, b: np.stack([a, b])),
}
COMPARISONS = {name: getattr(operator, name) for name in "lt le eq ne gt ge".split()}
# Float64 rounds these; narrow types hold their last bits, signed ones negative numbers.
LARGE = np.array([2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
# NumPy has bits of truth values divided; here that is an error.
REFUSED_OF_BOOLS = ("floordiv", "mod")


def ends(dtype):
    """The ends of a type, their neighbours, and what all types hold, but for 0."""
    if dtype == "bool":
        return np.array([True, True, True, True, True, True])
    info = np.iinfo(dtype)
    return np.array([info.max, info.max - 1, info.max // 2 + 1, info.min + 1 if info.min else 5, 3, 1], dtype)


def outcome(function, a, b):
    with np.errstate(all="ignore"):
        try:
            return np.asarray(function(a, b))
        except TypeError:
            return TypeError


@each_pair
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_what_numpy_gives(name, p, q):
    function, a, b = OPERATORS[name], ends(p), ends(q)[::-1].copy()
    expected = outcome(function, a, b)
    if p == q == "bool" and name in REFUSED_OF_BOOLS:
        expected = TypeError
    recorded = dg.jit(function)
    for call in (function, recorded, recorded, recorded):
        found = outcome(lambda x, y, call=call: call(x, y).asnumpy(), Tensor(a), Tensor(b))
        if expected is TypeError:
            assert found is TypeError
            continue
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@each_pair
def test_quotients_are_float32(p, q):
    """As the contract of operators has it, whichever integers meet."""
    a, b = ends(p), ends(q)
    found = Tensor(a) / Tensor(b)
    assert found.dtype is dg.float32
    np.testing.assert_array_equal(found.asnumpy(), a.astype(np.float32) / b.astype(np.float32))


@each_pair
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_exact(name, p, q):
    a, b = (np.concatenate([ends(t), LARGE.astype(t), np.array([0]).astype(t)]) for t in (p, q))
    expected = [[COMPARISONS[name](x, y) for y in b.tolist()] for x in a.tolist()]
    for x, y in ((Tensor(a)[:, None], Tensor(b)), (Tensor(a)[:, None], b), (a[:, None], Tensor(b))):
        found = COMPARISONS[name](x, y)
        assert found.dtype is dg.bool_
        np.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize("signed", SIGNED)
@pytest.mark.parametrize("join", [ops.cat, ops.stack, Tensor], ids=["cat", "stack", "Tensor"])
def test_a_float_beats_them_in_any_order(join, signed):
    parts = [Tensor(np.ones(1, t)) for t in ("uint64", signed, "float16")]
    for order in itertools.permutations(parts):
        assert join(list(order)).dtype is dg.float16


@pytest.mark.parametrize("signed", SIGNED)
def test_bits_of_them_say_what_to_do(signed):
    with pytest.raises(TypeError, match=r"bitwise_and: UInt64 and Int\d+ have no integer type in common; cast"):
        Tensor(np.ones(1, "uint64")) & Tensor(np.ones(1, signed))


@pytest.mark.parametrize("signed", SIGNED)
def test_gradients_pass(signed):
    """Each in the floating type that its slope has met."""
    x, y = Tensor(np.array([2**63 + 2048], np.uint64)), Tensor(np.array([3], signed))
    of_x, of_y = dg.grad(lambda x, y: x * y, (0, 1))(x, y)
    assert of_x.dtype is of_y.dtype is dg.float64
    assert of_x.asnumpy() == 3
    assert of_y.asnumpy() == 2.0**63 + 2048
