"""Initial values: their distributions, which a seed repeats, and what is refused."""

import math

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn
from dualgrad.common import initializer as init
from dualgrad.common.initializer import initializer

SHAPE = (400, 250)
TWO_SIDED = math.sqrt(1 - 4 * math.exp(-2) / math.sqrt(2 * math.pi) / math.erf(math.sqrt(2)))  # cut at 2 deviations

# initialiser: standard deviation, and the limit that no value passes
SPREADS = {
    "normal": (0.01, math.inf),
    "uniform": (0.07 / math.sqrt(3), 0.07),
    "truncatednormal": (0.01 * TWO_SIDED, 0.02),
    "xavier_uniform": (math.sqrt(2 / 650), math.sqrt(6 / 650)),
    "xavier_normal": (math.sqrt(2 / 650), math.inf),
    "he_uniform": (math.sqrt(2 / 250), math.sqrt(6 / 250)),
    "he_normal": (math.sqrt(2 / 250), math.inf),
    "variancescaling": (math.sqrt(1 / 250), 2 / TWO_SIDED * math.sqrt(1 / 250)),
    init.Normal(0.5, 3.0): (0.5, math.inf),
    init.Uniform(2.0): (2 / math.sqrt(3), 2.0),
    init.XavierUniform(5 / 3): (5 / 3 * math.sqrt(2 / 650), 5 / 3 * math.sqrt(6 / 650)),
    init.HeNormal(0.2, "fan_out"): (math.sqrt(2 / 1.04 / 400), math.inf),
    init.HeUniform(nonlinearity="tanh"): (5 / 3 / math.sqrt(250), 5 / 3 * math.sqrt(3 / 250)),
    init.VarianceScaling(2.0, "fan_avg", "uniform"): (math.sqrt(2 / 325), math.sqrt(6 / 325)),
    init.VarianceScaling(2.0, "fan_out", "untruncated_normal"): (math.sqrt(2 / 400), math.inf),
}


@pytest.mark.parametrize("how", SPREADS, ids=str)
@pytest.mark.parametrize("dtype", [dg.float32, dg.float64], ids=str)
def test_distributions(how, dtype):
    deviation, limit = SPREADS[how]
    dg.set_seed(11)
    values = initializer(how, SHAPE, dtype)
    assert (values.shape, values.dtype) == (SHAPE, dtype)
    array = values.asnumpy().astype(float)
    mean = getattr(how, "mean", 0.0)
    # 100,000 draws: the mean is off by 0.003 deviations, the deviation itself by 0.3 per cent
    assert abs(array.mean() - mean) < 0.015 * deviation
    assert array.std() == pytest.approx(deviation, rel=0.015)
    assert np.abs(array - mean).max() <= limit * (1 + 1e-6)
    dg.set_seed(11)
    again = initializer(how, SHAPE, dtype).asnumpy()
    assert (again == values.asnumpy()).all()
    assert (initializer(how, SHAPE, dtype).asnumpy() != again).any()


FIXED = {
    "zeros": [[0.0, 0.0, 0.0]] * 2,
    "ones": [[1.0, 1.0, 1.0]] * 2,
    init.Zero(): [[0.0, 0.0, 0.0]] * 2,
    init.One(): [[1.0, 1.0, 1.0]] * 2,
    init.Constant(0.5): [[0.5, 0.5, 0.5]] * 2,
    init.Constant(np.array([1.0, 2.0, 3.0])): [[1.0, 2.0, 3.0]] * 2,
    "identity": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
    2.5: [[2.5, 2.5, 2.5]] * 2,
}


@pytest.mark.parametrize("how", FIXED, ids=str)
def test_fixed_values(how):
    assert initializer(how, [2, 3], dg.float64).tolist() == FIXED[how]


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (6, 2), (3, 2, 2)])
def test_orthogonal_matrices(shape):
    q = initializer(init.Orthogonal(2.0), shape, dg.float64).asnumpy().reshape(shape[0], -1)
    gram = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-14)


def test_sparse_columns():
    array = initializer(init.Sparse(0.3, sigma=1.0), (10, 40), dg.float64).asnumpy()
    assert ((array == 0).sum(axis=0) == 3).all()
    assert len({tuple(column) for column in (array == 0).T}) > 20, "each column has zeros of its own"
    assert array[array != 0].std() == pytest.approx(1.0, rel=0.15)


def test_dirac_passes_inputs_on():
    array = initializer(init.Dirac(groups=2), (6, 2, 3, 5), dg.float64).asnumpy()
    assert sorted(zip(*map(list, np.nonzero(array)), strict=True)) == [
        (0, 0, 1, 2),
        (1, 1, 1, 2),
        (3, 0, 1, 2),
        (4, 1, 1, 2),
    ]
    assert array.sum() == 4


def test_where_initial_values_are_used():
    layer = nn.Dense(3, 2, weight_init=init.Constant(0.25), bias_init=Tensor([1.0, 2.0]))
    assert layer.weight.tolist() == [[0.25] * 3] * 2
    assert layer.bias.tolist() == [1.0, 2.0]
    assert Parameter(initializer("ones", 2), name="w").clone("zeros").tolist() == [0.0, 0.0]
    assert Tensor(shape=(2,), dtype=dg.float64, init=init.One()).tolist() == [1.0, 1.0]
    assert initializer(np.array([1.0, 2.0])).dtype is dg.float64


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda: initializer("gauss", 3)),
        (TypeError, lambda: initializer("ones")),
        (TypeError, lambda: initializer(None, 3)),
        (TypeError, lambda: initializer("ones", (2.0,))),
        (ValueError, lambda: initializer("ones", (-1,))),
        (ValueError, lambda: initializer(Tensor([1.0]), (2,))),
        (ValueError, lambda: initializer("xavier_uniform", 3)),
        (ValueError, lambda: initializer("orthogonal", 3)),
        (ValueError, lambda: initializer("identity", (2, 2, 2))),
        (ValueError, lambda: initializer("dirac", (2, 2))),
        (ValueError, lambda: initializer(init.Sparse(0.5), 3)),
        (ValueError, lambda: init.Sparse(1.5)),
        (ValueError, lambda: init.Normal(-1.0)),
        (ValueError, lambda: init.VarianceScaling(0.0)),
        (ValueError, lambda: init.VarianceScaling(1.0, "fan")),
        (ValueError, lambda: init.VarianceScaling(1.0, "fan_in", "normal")),
        (ValueError, lambda: init.HeNormal(mode="fan")),
        (ValueError, lambda: init.TruncatedNormal(a=8.0, b=9.0)),
    ],
)
def test_errors(error, call):
    with pytest.raises(error):
        call()


def test_ported_initialisers_register_themselves():
    """The names that subclasses outside of the package are written with."""
    from dualgrad.common import initializer as module

    @module._register("ported_ramp")
    class PortedRamp(module.Initializer):
        def _initialize(self, arr):
            fan_in, fan_out = module._calculate_fan_in_and_fan_out(arr.shape)
            module._assignment(arr, np.full(arr.shape, fan_in * 10.0 + fan_out))

    for name in "ported_ramp", "portedramp":
        assert np.array_equal(module.initializer(name, (2, 3, 5, 7)).asnumpy(), np.full((2, 3, 5, 7), 1120.0))
    number = np.zeros(())
    assert module._assignment(number, 3.0) == number == 3.0
