"""Superinstructions: products, sums and differences in one loop give what they give one by one, bit for bit, with and
without a constant that the result is multiplied by.
"""

import itertools

import numpy as np
import pytest
from engine import OPCODES, apply

import dualgrad as dg
from dualgrad import Tensor

N = 1000
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, -1.0, 1.0])

BINARY = {
    "mul": lambda x, y: x * y,
    "absorb_mul": lambda x, y: apply(OPCODES["absorb_mul"], None, x, y),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
}
PRODUCTS, SUMS = ("mul", "absorb_mul"), ("add", "sub")

CHAINS = [
    *((one,) for one in BINARY),
    *itertools.product(BINARY, BINARY),
    *((a, b, "turned") for a, b in itertools.product(BINARY, SUMS)),
    *itertools.product(PRODUCTS, SUMS, PRODUCTS),
]


def function(chain, factor):
    """The chain as a function of four operands, and what its instruction is called."""
    inner, *rest = chain

    def fn(x, y, z, w):
        result = BINARY[inner](x, y)
        if rest[1:] == ["turned"]:
            result = BINARY[rest[0]](z, result)
        elif len(rest) == 2:
            result = BINARY[rest[0]](result, BINARY[rest[1]](z, w))
        elif rest:
            result = BINARY[rest[0]](result, z)
        return result if factor is None else factor * result

    names = [inner, *(name for name in rest if name != "turned")] + ["scale"] * (factor is not None)
    return fn, " ".join(names)


def operands(dtype):
    """Random numbers, and every special one beside every other."""
    rng = np.random.default_rng(11)
    x, y, z, w = rng.normal(size=(4, N))
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL)))
    x[: len(pairs)], y[: len(pairs)] = pairs.T
    z[100 : 100 + len(pairs)], w[100 : 100 + len(pairs)] = pairs.T
    z[: len(pairs)] = np.tile(SPECIAL, len(SPECIAL))
    with np.errstate(over="ignore"):
        return [Tensor(a.astype(dtype)) for a in (x, y, z, w)]


def bits(tensor):
    """The bits of numbers; nan is nan."""
    a = tensor.asnumpy().copy()
    a[np.isnan(a)] = np.nan
    return a.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("factor", [None, 0.7, -3.0])
@pytest.mark.parametrize("chain", CHAINS, ids=" ".join)
def test_the_same_bits_as_one_by_one(chain, factor, dtype):
    fn, name = function(chain, factor)
    args = operands(dtype)
    listing = str(dg.explain(fn)(*args)).split("region 0")[1]
    assert f" {name} " in listing
    recorded, expected = dg.jit(fn), bits(fn(*args))
    for _ in range(3):
        assert bits(recorded(*args)) == expected


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("chain", [chain for chain in CHAINS if "absorb_mul" in chain], ids=" ".join)
def test_what_is_tried_first_gives_the_same_bits(chain, dtype):
    """Absorbing products are tried as plain ones, which hold if nothing is nan: a nan undoes that for its block."""
    fn, _ = function(chain, 0.7)
    rng = np.random.default_rng(12)
    calm = np.array([0.0, -0.0, 1e-30, -1e-30, 1e30, -2.0, np.finfo(dtype).tiny, -np.finfo(dtype).tiny])
    args = [rng.choice(calm, N).astype(dtype) for _ in range(4)]
    args[1][args[1] > 1e20] = 1.0  # products of three stay finite
    args[2][args[2] > 1e20] = 1.0
    args[3][args[3] > 1e20] = 1.0
    disturbed = [a.copy() for a in args]
    for a in disturbed:
        a[::50] = np.nan
    rest = np.arange(N) % 50 != 0
    for run in (fn, dg.jit(fn)):
        quick = run(*map(Tensor, args))
        assert np.isfinite(quick.asnumpy()).all()
        assert bits(quick[rest]) == bits(run(*map(Tensor, disturbed))[rest])


def test_a_factor_of_what_is_read_elsewhere_is_a_product_of_its_own():
    def fn(x, y):
        product = x * y
        return 0.7 * product, product + 1.0

    args = operands(np.float64)[:2]
    assert "scale" not in str(dg.explain(fn)(*args))
    for found, expected in zip(dg.jit(fn)(*args), fn(*args), strict=True):
        assert bits(found) == bits(expected)


def test_a_factor_that_is_no_constant_is_an_operand():
    fn = lambda x, y, s: s * (x * y)
    x, y = operands(np.float64)[:2]
    recorded = dg.jit(fn)
    for s in (2.0, 3.0, 5.0, 7.0):
        assert bits(recorded(x, y, Tensor(s))) == bits(fn(x, y, Tensor(s)))
