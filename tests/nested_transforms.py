"""Transforms to be nested, each with what it makes of a value that is known."""

import numpy as np
from engine import jets, run_forward

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad.testing import taped_backward

A, B = 0.7, -1.3


X, W = 0.4, 0.9


ONE = np.array(1.0)


def base(x, w):
    return ops.exp(A * x + B * w)


def like(x, number=1.0):
    return ops.ones_like(x) * number


def by_grad(f):
    return lambda x, w: dg.grad(lambda y: f(y, w))(x)


def by_grad_of_w(f):
    return lambda x, w: dg.grad(f, 1)(x, w)


def by_value_and_grad(f):
    def g(x, w):
        value, (dx, dw) = dg.value_and_grad(f, (0, 1))(x, w)
        return value + 2.0 * dx + 3.0 * dw

    return g


def by_grad_operation(f):
    def g(x, w):
        dx, dw = ops.GradOperation(get_all=True, sens_param=True)(f)(x, w, like(x, 2.0))
        return dx + dw

    return g


def by_jvp(f):
    return lambda x, w: dg.jvp(lambda y: f(y, w), x, like(x, 2.0))[1]


def by_jvp_of_both(f):
    return lambda x, w: dg.jvp(f, (x, w), (like(x), like(w, 3.0)))[1]


def by_vjp(f):
    def g(x, w):
        value, pull = dg.vjp(f, x, w)
        dx, dw = pull(like(value, 0.5))
        return value + dx + dw

    return g


def by_vmap(f):
    # samples x and x + 1 share w, which is outside
    return lambda x, w: dg.vmap(lambda y: f(y, w))(ops.stack((x, x + 1.0))).sum(0)


def by_vmap_of_both(f):
    return lambda x, w: dg.vmap(f, (0, 0))(ops.stack((x, x)), ops.stack((w, 2.0 + w))).sum(0)


def by_jacfwd(f):
    # of a vector, so that there is a batch of directions: one derivative by x, one by the 0 beside it
    def g(x, w):
        by_both = dg.jacfwd(lambda y: f(y[0] + 2.0 * y[1], w))(ops.stack((x, ops.zeros_like(x))))
        return by_both.sum()

    return g


def by_jacrev(f):
    def g(x, w):
        by_x, by_w = dg.jacrev(lambda x, w: ops.stack((f(x, w), 2.0 * f(x, w))), (0, 1))(x, w)
        return by_x.sum() + by_w[1]

    return g


def by_hessian(f):
    def g(x, w):
        (_, xw), (wx, ww) = dg.hessian(f, (0, 1))(x, w)
        return xw + 2.0 * wx + ww

    return g


def by_hessian_of_a_vector(f):
    return lambda x, w: ops.trace(dg.hessian(lambda y: f(y[0] + 2.0 * y[1], w))(ops.stack((x, ops.zeros_like(x)))))


def by_hvp(f):
    def g(x, w):
        value, gradient, product = dg.hvp(lambda y: f(y, w), with_value=True)(x, like(x, 2.0))
        return value + gradient + product

    return g


def by_linearize(f):
    def g(x, w):
        value, tangent = dg.linearize(f, (x, w))
        return value + tangent(like(x), like(w, 2.0)) + tangent(like(x), like(w))

    return g


def by_linearize_along_x(f):
    # a tangent that depends on x: exp(2 A x) by the chain rule, had its derivative been left out
    return lambda x, w: dg.linearize(lambda y: f(y, w), x)[1](ops.exp(A * x)) * ops.exp(-A * x)


def by_derivative(f):
    return lambda x, w: ops.derivative(f, (x, w), 2)[1]


def by_jet(f):
    # x = X + t + t^2, w = W: the second derivative of exp(a x) is a^2 + 2 a times it
    def g(x, w):
        value, series = ops.jet(lambda y: f(y, w), x, ops.stack((like(x), like(x, 2.0))))
        return value + series[1]

    return g


def by_stop(f):
    # f itself and its derivatives, but only if x is a constant of every level where it is stopped
    def g(x, w):
        point = ops.stop_gradient(x)
        return f(point, w) * ops.exp(A * (x - point))

    return g


def at_point(f):
    return lambda p: f(p[0], p[1])


def by_laplacian(f):
    return lambda x, w: dg.laplacian(lambda p: f(p[0], w))(ops.stack((x,)))


def by_laplacian_of_both(f):
    return lambda x, w: dg.laplacian(at_point(f))(ops.stack((x, w)))


def by_mixed_partial(f):
    return lambda x, w: dg.mixed_partial(at_point(f), (2, 1))(ops.stack((x, w)))


def by_an_operator(f):
    # an algebra whose degrees do not add up, so that functions go along lines
    return lambda x, w: dg.linear_operator({(2, 2): 1, (5, 0): 1, (0, 5): 1, (1, 0): 2})(at_point(f))(ops.stack((x, w)))


def by_several(f):
    # no functional pairs these: cotangents live in the dual space
    def g(x, w):
        found = dg.derivatives(at_point(f), {"u": (0, 0), "u_x": (1, 0), "u_xx": (2, 0), "u_w": (0, 1)})(
            ops.stack((x, w))
        )
        return found["u"] + 2.0 * found["u_x"] + 3.0 * found["u_xx"] + 4.0 * found["u_w"]

    return g


class Around(nn.Cell):
    """A function of x, with w as its parameter."""

    def __init__(self, f, w):
        super().__init__()
        self.f = f
        self.w = Parameter(Tensor(np.array(w)), name="w")

    def construct(self, x):
        return self.f(x, self.w)


def by_weight_inside(f):
    """d/dw at w = W of the function of a Parameter; x is read from outside. Does not depend on the argument w."""
    cell = Around(f, W)
    return lambda x, w: dg.grad(cell, None, cell.w)(x) * ops.exp(B * (w - W))


class Ruled(nn.Cell):
    """A function with a bprop, which takes three times the slope in x and the true one in w."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def construct(self, x, w):
        return self.f(x, w)

    def bprop(self, x, w, out, dout):
        return 3.0 * A * out * dout, B * out * dout


# name: (transform, factor): the factor for c exp(A x + B w)
TRANSFORMS = {
    "grad": (by_grad, A),
    "grad by w": (by_grad_of_w, B),
    "value_and_grad": (by_value_and_grad, 1 + 2 * A + 3 * B),
    "GradOperation": (by_grad_operation, 2 * (A + B)),
    "jvp": (by_jvp, 2 * A),
    "jvp of both": (by_jvp_of_both, A + 3 * B),
    "vjp": (by_vjp, 1 + 0.5 * A + 0.5 * B),
    "vmap": (by_vmap, 1 + np.exp(A)),
    "vmap of both": (by_vmap_of_both, 1 + np.exp(2 * B)),
    "laplacian": (by_laplacian, A**2),
    "laplacian of both": (by_laplacian_of_both, A**2 + B**2),
    "mixed partial": (by_mixed_partial, A**2 * B),
    "operator": (by_an_operator, A**2 * B**2 + A**5 + B**5 + 2 * A),
    "several": (by_several, 1 + 2 * A + 3 * A**2 + 4 * B),
    "jacfwd": (by_jacfwd, 3 * A),
    "jacrev": (by_jacrev, 3 * A + 2 * B),
    "hessian": (by_hessian, 3 * A * B + B * B),
    "hessian of a vector": (by_hessian_of_a_vector, 5 * A * A),
    "hvp": (by_hvp, 1 + A + 2 * A * A),
    "linearize": (by_linearize, 1 + 2 * A + 3 * B),
    "linearize along x": (by_linearize_along_x, A),
    "derivative": (by_derivative, (A + B) ** 2),
    "jet": (by_jet, 1 + A * A + 2 * A),
    "stop_gradient": (by_stop, 1.0),
    "weight of a Cell": (by_weight_inside, B),
}


VALUE = np.exp(A * X + B * W)


def nested(names):
    f, factor = base, 1.0
    for name in reversed(names):
        transform, by = TRANSFORMS[name]
        f, factor = transform(f), factor * by
    return f, factor * VALUE


def every_mode(f, x, v, w):
    """Derivatives of a number to order four in every mode, and mixtures of modes; `w` is a parameter that f reads."""
    g = f
    for _ in range(4):
        yield g(x)
        g = lambda x, g=g: (dg.grad(g)(x) * v).sum()
    squared = lambda x: (dg.grad(f)(x) ** 2).sum()
    mixed = lambda x: dg.jvp(f, x, x * x)[1]
    yield dg.grad(f, 0, [w])(x)
    yield dg.grad(squared, 0, [w])(x)
    yield dg.jvp(f, x, v)
    yield dg.jvp(dg.grad(f), x, v)
    yield dg.grad(mixed)(x)
    yield dg.grad(lambda x: dg.jvp(lambda x: dg.grad(f)(x).sum(), x, x * x)[1])(x)
    with taped_backward():
        recorded = dg.grad(squared, 0, [w])(x), dg.grad(mixed)(x)
    yield recorded
    value, pull = dg.vjp(f, x)
    yield value, pull(ops.full_like(value, 2.0)), dg.grad(lambda c: pull(c * c)[0].sum())(ops.full_like(value, 3.0))
    yield run_forward("jet", jets(4), f, [[x, v, None, x, None]])


def every_batch(f, xs, w):
    """Maps over samples, and derivatives inside of them and around them."""
    yield dg.vmap(f)(xs)
    yield dg.vmap(dg.grad(f))(xs)
    yield dg.vmap(dg.grad(lambda x: dg.grad(f)(x).sum()))(xs)
    yield dg.grad(lambda xs: (dg.vmap(dg.grad(f))(xs) ** 2).sum(), 0, [w])(xs)
