"""Losses with derivatives of a network inside, differentiated by its weights: the hardest programs users record.

Every equation, in every style in which derivatives can be written, for numbers of points that fill blocks of rows,
leave a part of one over, or fit into one: value and gradients of the recorded function are those of eager execution,
with other weights than it was recorded with, and the verifier accepts the plan.
"""

import itertools

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.programs import verify

pytestmark = pytest.mark.eager("records by itself")

ALLOWED = {np.float64: 1e-11, np.float32: 1e-4}  # of the largest element of each gradient


class Network(nn.Cell):
    """Dense layers with tanh between them: (n, 2) to (n, 1)."""

    def __init__(self, width, layers, dtype, rng):
        super().__init__()
        sizes = [2, *[width] * layers, 1]
        shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
        self.matrices = dg.ParameterTuple(
            [Parameter((rng.normal(size=s) / s[1] ** 0.5).astype(dtype), name=f"w{k}") for k, s in enumerate(shapes)]
        )
        self.shifts = dg.ParameterTuple(
            [Parameter(rng.normal(size=s[0]).astype(dtype), name=f"b{k}") for k, s in enumerate(shapes)]
        )

    def construct(self, x):
        for k, (w, b) in enumerate(zip(self.matrices, self.shifts, strict=True)):
            x = ops.matmul(x, w.T) + b
            if k + 1 < len(self.matrices):
                x = ops.tanh(x)
        return x


def slope(u, axis):
    """The derivative by one coordinate at each point, as a gradient: the points do not see each other."""
    return lambda x: dg.grad(lambda x: u(x).sum())(x)[:, axis : axis + 1]


def rate(u, axis, like):
    """The same as a directional derivative."""
    direction = np.zeros(like.shape, np.float64 if like.dtype == dg.float64 else np.float32)
    direction[:, axis] = 1
    seed = Tensor(direction)
    return lambda x: dg.jvp(u, x, seed)[1]


def by_gradients(u, x, *axes):
    """A mixed derivative at each point by nested gradients."""
    for axis in axes:
        u = slope(u, axis)
    return u(x)


def by_tangents(u, x, *axes):
    """The same by nested directional derivatives."""
    for axis in axes:
        u = rate(u, axis, x)
    return u(x)


def by_both(u, x, *axes):
    """Forward over reverse."""
    if len(axes) < 2:
        return by_gradients(u, x, *axes)
    return by_tangents(lambda x: by_gradients(u, x, *axes[:-1]), x, axes[-1])


STYLES = {"gradients": by_gradients, "tangents": by_tangents, "both": by_both}

#: residuals; d(i, j, ...) is the derivative of u by those coordinates
EQUATIONS = {
    "burgers": lambda u, x, d: d(1) + u(x) * d(0) - 0.1 * d(0, 0),
    "poisson": lambda u, x, d: d(0, 0) + d(1, 1) - ops.sin(x[:, :1]),
    "wave": lambda u, x, d: d(1, 1) - d(0, 0) * (1 + u(x) ** 2),
    "korteweg-de vries": lambda u, x, d: d(1) + 6 * u(x) * d(0) + d(0, 0, 0),
}


def loss_of(equation, style, network):
    def loss(x, border, values):
        residual = EQUATIONS[equation](network, x, lambda *axes: STYLES[style](network, x, *axes))
        return ops.mean(residual**2) + ops.mean((network(border) - values) ** 2)

    return loss


def agrees(found, expected, allowed):
    for a, b in zip(found, expected, strict=True):
        a, b = a.asnumpy(), b.asnumpy()
        assert np.abs(a - b).max() <= allowed * max(np.abs(b).max(), 1e-3)


def check(equation, style, dtype, size):
    width, layers, count = size
    rng = np.random.default_rng(width + layers + count)
    network = Network(width, layers, dtype, rng)
    weights = network.trainable_params()
    arrays = rng.normal(size=(count, 2)), rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
    args = [Tensor(a.astype(dtype)) for a in arrays]
    slopes = dg.value_and_grad(loss_of(equation, style, network), None, weights)
    recorded = dg.jit(slopes)
    assert verify(slopes)(*args) > 0
    for _ in range(4):
        value, gradients = recorded(*args)
        expected_value, expected = slopes(*args)
        agrees([value, *gradients], [expected_value, *expected], ALLOWED[dtype])
        for w in weights:
            w.set_data(w * 0.97)


#: width, layers, points
SIZES = [(20, 3, 240), (20, 3, 1000), (33, 2, 700), (8, 4, 65), (20, 2, 2048)]
CASES = list(itertools.product(EQUATIONS, STYLES, ALLOWED))


@pytest.mark.rotated("dtype", "size")
@pytest.mark.parametrize(
    ("equation", "style", "dtype", "size"),
    [(*case, size) for case, size in zip(CASES, itertools.cycle(SIZES), strict=False)],
)
def test_recorded_losses_are_those_of_eager_execution(equation, style, dtype, size):
    check(equation, style, dtype, size)


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("equation", "style", "dtype"), CASES)
def test_all_recorded_losses(equation, style, dtype, size):
    check(equation, style, dtype, size)
