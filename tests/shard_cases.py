"""What is computed by shards, and the same computed at once: the table that the tests of `dualgrad.distributed` read.

Each operation has a function of a backend and one that needs none. The latter is written another way: on all rows at
once, and where there is one by a closed formula or by a dense matrix of derivatives.
"""

import math

import numpy as np

import dualgrad as dg
from dualgrad import Parameter, Tensor, distributed, nn, ops
from dualgrad.distributed import Shards, SumOfShards

ROWS, CHUNK = 37, 5  # eight chunks, the last of them shorter

X = np.random.default_rng(1).normal(size=(ROWS, 3))
Y = np.random.default_rng(2).normal(size=ROWS)
POINT = {"w": Tensor(np.array([0.3, -0.7, 0.4])), "b": Tensor(np.array(0.1))}
ALONG = {"w": Tensor(np.array([1.0, 0.5, -2.0])), "b": Tensor(np.array(0.25))}


def loaded(start, stop):
    return X[start:stop], Y[start:stop]


# ------------------------------------------------------------------------------------------------------- functions


def model(p, x):
    return ops.tanh(x @ p["w"]) + p["b"]


def residuals(p, x, y):
    return model(p, x) - y


def misfit(p, x, y):
    """One number for each row."""
    r = residuals(p, x, y)
    return ops.exp(0.3 * r) * r * r


def logistic(outputs, x, y):
    return ops.softplus(-outputs * y).sum()


def periodic(p, x, y):
    """It reads a module, which may be another one elsewhere."""
    return ops.sin(math.tau * (x @ p["w"])) * p["b"]


def features(x):
    return {"norm": (x * x).sum(1), "pair": (x[:, :2], ops.sin(x[:, 2]))}


def energy(point):
    return (point**4).sum() + point[0] * point[1] * point[2]


def curve(x, scale):
    return ops.exp(-scale * (x * x).sum()) + (x[1:] * x[:-1]).sum() ** 2


def fields(x, scale):
    return ops.stack([ops.sin(scale * x[:-1]) * x[1:], x[1:] ** 2])


def chain(x):
    return ((x[1:] - x[:-1] ** 2) ** 2).sum() + ops.cos(x[2:] * x[:-2]).sum()


def wells(x):
    return ((x * x - 1) ** 2 + 0.2 * x).sum()


class Net(nn.Cell):
    """A small network of float64."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(3)
        self.inner = Parameter(rng.normal(size=(3, 4)), name="inner")
        self.outer = Parameter(rng.normal(size=4), name="outer")

    def construct(self, x, y):
        return (ops.tanh(x @ self.inner) @ self.outer - y) ** 2


# ------------------------------------------------------------------------------------------------------ operations


def arrays_of(nest):
    """The numbers of results, in order."""
    if isinstance(nest, dict):
        return [a for key in nest for a in arrays_of(nest[key])]
    if isinstance(nest, tuple | list):
        return [a for x in nest for a in arrays_of(x)]
    return [nest.asnumpy() if isinstance(nest, Tensor) else np.asarray(nest)]


def flat(nest):
    return np.concatenate([a.ravel() for a in arrays_of(nest)])


def vector_function(f):
    """A function of POINT as one of a vector."""
    return lambda z: f({"w": z[:3], "b": z[3]})


Z = Tensor(flat(POINT))
x, y = Tensor(X), Tensor(Y)


def dense_hessian(fn):
    return dg.hessian(vector_function(lambda p: fn(p, x, y).sum()))(Z).asnumpy()


def dense_gauss_newton():
    j = dg.jacrev(vector_function(lambda p: residuals(p, x, y)))(Z).asnumpy()
    return j.T @ j


def curved_gauss_newton():
    j = dg.jacrev(vector_function(lambda p: model(p, x)))(Z).asnumpy()
    s = 1 / (1 + np.exp(-model(POINT, x).asnumpy() * Y))
    return j.T @ np.diag(Y**2 * s * (1 - s)) @ j


def split(v):
    return {"w": v[:3], "b": v[3]}


def closed_gradient():
    """The gradient of `misfit`, by hand."""
    t = np.tanh(X @ POINT["w"].asnumpy())
    r = t + POINT["b"].asnumpy() - Y
    slope = np.exp(0.3 * r) * (0.3 * r * r + 2 * r)
    return [(np.exp(0.3 * r) * r * r).sum(), X.T @ (slope * (1 - t * t)), slope.sum()]


def weights_at_once(kind):
    net = Net()
    weights = net.trainable_params()
    of_rows = lambda: net(x, y).sum()
    if kind == "gradient":
        return dg.value_and_grad(of_rows, None, weights)()
    v = tuple([Tensor(np.cos(p.asnumpy())) for p in weights])
    if kind == "product":
        return dg.hvp(of_rows, None, weights)(v)
    rows = dg.jacrev(lambda: net(x, y), None, weights=weights)()
    j = np.concatenate([r.asnumpy().reshape(ROWS, -1) for r in rows], 1)
    gn = j.T @ (j @ flat(v))
    return gn[:12].reshape(3, 4), gn[12:]


def of_weights(call):
    def on(backend, deterministic):
        net = Net()
        total = SumOfShards(
            net, Shards(backend, X, Y, chunk=CHUNK), weights=net.trainable_params(), deterministic=deterministic
        )
        v = tuple([Tensor(np.cos(p.asnumpy())) for p in net.trainable_params()])
        return call(total, v)

    return on


def of_weights_in_a_closure(backend, deterministic):
    net = Net()
    inner, outer = net.trainable_params()
    fn = lambda x, y: (ops.tanh(x @ inner) @ outer - y) ** 2
    shards = Shards(backend, X, Y, chunk=CHUNK)
    return SumOfShards(fn, shards, weights=[inner, outer], deterministic=deterministic).value_and_grad()


def of_one_weight(backend, deterministic):
    net = Net()
    total = SumOfShards(net, Shards(backend, X, Y, chunk=CHUNK), weights=net.outer, deterministic=deterministic)
    v = Tensor(np.array([1.0, -1.0, 0.5, 2.0]))
    return [total.value_and_grad()[1], total.hvp(v), total.hessian()]


def of_one_weight_at_once():
    """The network is linear in this weight, so the Hessian is 2 H^T H."""
    net = Net()
    hidden = np.tanh(X @ net.inner.asnumpy())
    hessian = 2 * hidden.T @ hidden
    slope = 2 * hidden.T @ (hidden @ net.outer.asnumpy() - Y)
    return [slope, hessian @ np.array([1.0, -1.0, 0.5, 2.0]), hessian]


def of_halves(backend, deterministic):
    """float16 is added up as float32; the gradient has the type of the parameters."""
    total = SumOfShards(
        lambda p, x: x * p, Shards(backend, np.full(ROWS, 4.0, np.float16), chunk=CHUNK), deterministic=deterministic
    )
    value, slope = total.value_and_grad(Tensor(np.float16(1.0)))
    return [value, slope.astype(dg.float64), Tensor(np.float64(slope.dtype == dg.float16))]


def of_sum(call, fn=misfit, **settings):
    """A call of a sum over shards that are given."""
    return lambda backend, deterministic: call(
        SumOfShards(fn, Shards(backend, X, Y, chunk=CHUNK), deterministic=deterministic, **settings)
    )


def of_loaded(backend, deterministic):
    """Rows that workers load, three calls of one sum."""
    shards = Shards.load(backend, loaded, ROWS, chunk=CHUNK)
    total = SumOfShards(misfit, shards, deterministic=deterministic)
    return [total.value_and_grad(POINT) for _ in range(3)][-1]


#: name -> (by a backend, at once); sums come in an order on request
SUMS = {
    "value": (of_sum(lambda total: total(POINT)), lambda: closed_gradient()[0]),
    "gradient": (of_sum(lambda total: total.value_and_grad(POINT)), closed_gradient),
    "gradient of loaded rows": (of_loaded, closed_gradient),
    "hvp": (of_sum(lambda total: total.hvp(POINT, ALONG)), lambda: split(dense_hessian(misfit) @ flat(ALONG))),
    "hessian": (of_sum(lambda total: total.hessian(POINT, columns=3)), lambda: dense_hessian(misfit)),
    "gauss_newton": (
        of_sum(lambda total: total.gauss_newton(POINT, ALONG), residuals),
        lambda: split(dense_gauss_newton() @ flat(ALONG)),
    ),
    "gauss_newton of a loss": (
        of_sum(lambda total: total.gauss_newton(POINT, ALONG), lambda p, x, y: model(p, x), loss=logistic),
        lambda: split(curved_gauss_newton() @ flat(ALONG)),
    ),
    "one weight": (of_one_weight, of_one_weight_at_once),
    "float16": (of_halves, lambda: [4.0 * ROWS, 4.0 * ROWS, 1.0]),
    "gradient by weights": (of_weights(lambda total, v: total.value_and_grad()), lambda: weights_at_once("gradient")),
    "gradient by weights in a closure": (of_weights_in_a_closure, lambda: weights_at_once("gradient")),
    "hvp by weights": (of_weights(lambda total, v: total.hvp(v)), lambda: weights_at_once("product")),
    "gauss_newton by weights": (of_weights(lambda total, v: total.gauss_newton(v)), lambda: weights_at_once("gn")),
}


def samples(fn, *rows):
    return lambda backend, _: distributed.map_samples(fn, *rows, backend=backend, chunk=CHUNK)


def differences(fn, point, *args):
    """Central differences of a gradient."""
    h, z = 1e-5, point.asnumpy()
    gradient = dg.grad(fn)
    columns = [
        (gradient(Tensor(z + h * e), *args).asnumpy() - gradient(Tensor(z - h * e), *args).asnumpy()) / (2 * h)
        for e in np.eye(len(z))
    ]
    return np.stack(columns)


START = Tensor(np.linspace(-1.0, 1.5, 7))
SCALE = Tensor(np.array(0.3))


def field_slopes():
    """The Jacobian of `fields`, by hand."""
    z, s = START.asnumpy(), 0.3
    j = np.zeros((2, 6, 7))
    k = np.arange(6)
    j[0, k, k] = s * np.cos(s * z[:-1]) * z[1:]
    j[0, k, k + 1] = np.sin(s * z[:-1])
    j[1, k, k + 1] = 2 * z[1:]
    return j


def minima(backend, _):
    found = distributed.multi_start(wells, [np.array([0.5]), np.array([-0.5]), np.array([2.0])], backend=backend)
    return [r.x for r in found.results] + [found.best.x]


def roots_of_wells():
    """Where the slope of `wells` is zero, the outer two."""
    low, _, high = np.sort(np.roots([4, 0, -4, 0.2]).real)
    return [np.array([x]) for x in (high, low, high, low)]


#: name -> (by a backend, at once, relative error)
OTHERS = {
    "map of a pytree": (
        samples(features, X),
        lambda: {"norm": np.square(X).sum(1), "pair": (X[:, :2], np.sin(X[:, 2]))},
        1e-13,
    ),
    "map of gradients": (
        samples(dg.vmap(dg.grad(energy)), X),
        lambda: 4 * X**3 + np.stack([X[:, 1] * X[:, 2], X[:, 0] * X[:, 2], X[:, 0] * X[:, 1]], 1),
        1e-13,
    ),
    "map of an operator": (samples(dg.vmap(dg.laplacian(energy)), X), lambda: 12 * np.square(X).sum(1), 1e-13),
    "hessian by columns": (
        lambda backend, _: distributed.hessian(curve, backend, columns=3)(START, SCALE),
        lambda: differences(curve, START, SCALE),
        1e-7,
    ),
    "jacobian by columns": (
        lambda backend, _: distributed.jacobian(fields, backend, mode="forward", columns=3)(START, SCALE),
        field_slopes,
        1e-13,
    ),
    "jacobian by rows": (
        lambda backend, _: distributed.jacobian(fields, backend, mode="reverse", columns=5)(START, SCALE),
        field_slopes,
        1e-13,
    ),
    "sparse_hessian": (
        lambda backend, _: distributed.sparse_hessian(chain, backend, colours=2)(START).toarray(),
        lambda: differences(chain, START),
        1e-7,
    ),
    "sparse_jacobian by rows": (
        lambda backend, _: distributed.sparse_jacobian(lambda z: fields(z, 0.3), backend, mode="rows", colours=1)(
            START
        ).toarray(),
        lambda: field_slopes().reshape(12, 7),
        1e-13,
    ),
    "multi_start": (minima, roots_of_wells, 1e-5),
}


def assert_same(found, expected, error, name):
    found, expected = arrays_of(found), arrays_of(expected)
    assert len(found) == len(expected), name
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b), name
        np.testing.assert_allclose(a, b, rtol=error, atol=error * np.abs(b).max(initial=0.0), err_msg=name)
