"""Tensors with as many axes as NumPy allows: a recorded call gives what the function gives, or its error."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops

pytestmark = pytest.mark.eager("records by itself")

#: what may need an axis more on the way
FUNCTIONS = {
    "elementwise": lambda x: x * ops.sin(x) + x,
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: ops.sum(x, 0),
    "sum of some axes": lambda x: ops.sum(x * x, tuple(range(0, x.ndim, 2))),
    "kept axes": lambda x: ops.sum(x * x, -1, keepdim=True),
    "mean": lambda x: x.mean(axis=0),
    "variance": lambda x: x.var(),
    "maximum": lambda x: x.max(),
    "product": lambda x: ops.prod(x),
    "running sum": lambda x: ops.cumsum(x, 0),
    "reshape": lambda x: (x * 2).reshape(-1) + 1,
    "transpose": lambda x: (x * 2).T * 3,
    "index": lambda x: (x * 2)[0] + 1,
    "slice": lambda x: (x * 2)[..., :1] + 1,
    "rows": lambda x: (x * 2)[np.array([0, 0])],
    "new axis": lambda x: ops.expand_dims(x, 0) * 2,
    "broadcast": lambda x: x + ops.zeros((1,) * (x.ndim - 1) + (3,), x.dtype),
    "concat": lambda x: ops.concat([x, x], 0) * 2,
    "stack": lambda x: ops.stack([x, x]) * 2,
    "where": lambda x: ops.where(x > 0, x, -x),
    "matmul": lambda x: ops.matmul(x * 2, x.swapaxes(-1, -2)),
    "flip": lambda x: dg.numpy.flip(x * 2, 0),
    "tile": lambda x: dg.numpy.tile(x * 2, 2),
    "loop": lambda x: dg.scan(lambda c, _: (ops.sin(c), None), x, None, length=70)[0],
    "results of a loop": lambda x: dg.scan(lambda c, _: (ops.sin(c), c), x, None, length=70)[1],
    "gradient": dg.grad(lambda x: (ops.sin(x) * x).sum()),
    "gradient of a loop": dg.grad(lambda x: dg.scan(lambda c, _: (ops.sin(c), None), x, length=70)[0].sum()),
    "samples": dg.vmap(lambda x: (ops.sin(x) * 2).sum()),
    "Jacobian": dg.jacrev(lambda x: ops.sin(x.reshape(-1))),
    "forward Jacobian": dg.jacfwd(lambda x: ops.sin(x)),
    "Hessian": dg.hessian(lambda x: ops.sin(x).sum()),
}


def outcome(f, x):
    try:
        found = f(x).asnumpy()
        return found.shape, found.ravel().tolist()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_recorded_calls_with_the_most_axes(name):
    f = FUNCTIONS[name]
    for n in (33, 63, 64):
        for shape in ((1,) * n, (2, *(1,) * (n - 2), 3)):
            x = Tensor(np.linspace(0.5, 1.0, int(np.prod(shape))).reshape(shape))
            expected = outcome(f, x)
            recorded = dg.jit(f)
            for _ in range(4):
                form, content = outcome(recorded, x)
                assert form == expected[0]
                assert isinstance(content, str) or content == pytest.approx(expected[1], rel=1e-14)
