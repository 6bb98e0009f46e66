"""Wherever a transform takes or returns tensors: calls on pytrees of a kind, and what they give."""

import numpy as np

import dualgrad as dg
from dualgrad import nn, ops

A, B, S, T = np.array([1.0, 2.0]), np.array([3.0, -1.0]), np.array([0.5, 1.5]), np.array([2.0, -0.5])


D = np.diag


class Ruled(nn.Cell):
    """Works on pytrees, with a rule of its own: three times the derivative."""

    def __init__(self, kind, nothing=False):
        super().__init__()
        self.kind, self.nothing = kind, nothing

    def construct(self, p):
        a, b = self.kind.parts(p)
        return self.kind.make(a * b, a + 0.0)

    def bprop(self, p, out, dout):
        a, b = self.kind.parts(p)
        da, db = self.kind.parts(dout)
        return (None if self.nothing else self.kind.make(3 * (b * da + db), 3 * a * da),)


def f(k):
    """sum(a^2 b)"""

    def of(p):
        a, b = k.parts(p)
        return (a * a * b).sum()

    return of


def g(k):
    """(a^2, a b)"""

    def of(p):
        a, b = k.parts(p)
        return k.make(a * a, a * b)

    return of


def step(k, h):
    """A step of a loop on a carry."""
    return lambda p: k.make(*h(*k.parts(p)))


def blocks(k, nest):
    """The four blocks of a nest of nests."""
    return [part for row in k.parts(nest) for part in k.parts(row)]


def several(k, xs):
    """Two samples: rows of a matrix."""
    return k.make(*[ops.stack((x, 2.0 * x)) for x in xs])


def turn(a, b):
    """What a step makes of its carry."""
    return a * b, b + a


def through(loop):
    """The gradient through a loop of three steps, of a pytree as the carry."""

    def of(k, a, b, s, t):
        return k.parts(dg.grad(lambda p: product(k, loop(k, p)).sum())(k.make(a, b)))

    return of


def of_steps(a, b):
    """What `through` gives: (a, b) -> (a b, b + a), three times, and the product; by dual numbers."""
    found = []
    for seed in ((1.0, 0.0), (0.0, 1.0)):
        x, y, dx, dy = a, b, seed[0] + 0 * a, seed[1] + 0 * a
        for _ in range(3):
            (x, y), (dx, dy) = turn(x, y), (dx * y + x * dy, dy + dx)
        found.append(dx * y + x * dy)
    return found


def product(k, p):
    x, y = k.parts(p)
    return x * y


#: place: (tensors computed for a kind and four tensors, what they are)
PLACES = {
    "grad": (lambda k, a, b, s, t: k.parts(dg.grad(f(k))(k.make(a, b))), [2 * A * B, A * A]),
    "grad of grad": (
        lambda k, a, b, s, t: k.parts(dg.grad(lambda p: sum(x.sum() for x in k.parts(dg.grad(f(k))(p))))(k.make(a, b))),
        [2 * B + 2 * A, 2 * A],
    ),
    "value_and_grad": (lambda k, a, b, s, t: k.parts(dg.value_and_grad(g(k))(k.make(a, b))[0]), [A * A, A * B]),
    "GradOperation": (
        lambda k, a, b, s, t: k.parts(ops.GradOperation(get_all=True)(lambda p, x: f(k)(p))(k.make(a, b), a)[0]),
        [2 * A * B, A * A],
    ),
    "keyword": (
        lambda k, a, b, s, t: k.parts(ops.GradOperation(get_all=True)(lambda x, p: f(k)(p))(a, p=k.make(a, b))[1]),
        [2 * A * B, A * A],
    ),
    "result": (lambda k, a, b, s, t: [dg.grad(lambda a: k.make(a * a, 3 * a))(a)], [2 * A + 3]),
    "aux": (
        lambda k, a, b, s, t: k.parts(dg.grad(lambda a: (a * a, k.make(a, 3 * a)), has_aux=True)(a)[1][0]),
        [A, 3 * A],
    ),
    "sensitivity": (
        lambda k, a, b, s, t: [dg.grad(lambda a: k.make(a * a, 3 * a), sens_param=True)(a, k.make(s, t))],
        [2 * A * S + 3 * T],
    ),
    "vjp": (
        lambda k, a, b, s, t: k.parts(dg.vjp(g(k), k.make(a, b))[1](k.make(s, t))[0]),
        [2 * A * S + B * T, A * T],
    ),
    "jvp": (
        lambda k, a, b, s, t: [
            *k.parts(dg.jvp(g(k), (k.make(a, b),), (k.make(s, t),))[0]),
            *k.parts(dg.jvp(g(k), (k.make(a, b),), (k.make(s, t),))[1]),
        ],
        [A * A, A * B, 2 * A * S, B * S + A * T],
    ),
    "jvp in grad": (
        lambda k, a, b, s, t: k.parts(
            dg.grad(lambda p: k.parts(dg.jvp(g(k), (p,), (k.make(s, t),))[1])[1].sum())(k.make(a, b))
        ),
        [T, S],
    ),
    "linearize": (
        lambda k, a, b, s, t: k.parts(dg.linearize(g(k), (k.make(a, b),))[1](k.make(s, t))),
        [2 * A * S, B * S + A * T],
    ),
    "linearize in grad": (
        lambda k, a, b, s, t: k.parts(
            dg.grad(lambda p: k.parts(dg.linearize(g(k), (p,))[1](k.make(s, t)))[1].sum())(k.make(a, b))
        ),
        [T, S],
    ),
    "jacrev": (lambda k, a, b, s, t: blocks(k, dg.jacrev(g(k))(k.make(a, b))), [D(2 * A), 0 * D(A), D(B), D(A)]),
    "jacfwd": (lambda k, a, b, s, t: blocks(k, dg.jacfwd(g(k))(k.make(a, b))), [D(2 * A), 0 * D(A), D(B), D(A)]),
    "hessian": (
        lambda k, a, b, s, t: blocks(k, dg.hessian(f(k))(k.make(a, b))),
        [D(2 * B), D(2 * A), D(2 * A), 0 * D(A)],
    ),
    "hvp": (
        lambda k, a, b, s, t: k.parts(dg.hvp(f(k))(k.make(a, b), k.make(s, t))),
        [2 * B * S + 2 * A * T, 2 * A * S],
    ),
    "a point of jet": (
        lambda k, a, b, s, t: k.parts(
            dg.jet(g(k), (k.make(a, b),), (k.make(ops.stack((s, t)), ops.stack((t, s))),))[1]
        ),
        [
            np.stack([2 * A * S, 2 * S * S + 2 * A * T]),
            np.stack([S * B + A * T, T * B + 2 * S * T + A * S]),
        ],
    ),
    "a point of derivative": (
        lambda k, a, b, s, t: k.parts(dg.derivative(g(k), (k.make(a, b),), 2)[1]),
        [2 + 0 * A, 2 + 0 * A],
    ),
    "jet": (
        lambda k, a, b, s, t: k.parts(dg.jet(lambda a: k.make(a * a, 3 * a), a, ops.stack((s, t)))[1]),
        [np.stack([2 * A * S, 2 * S * S + 2 * A * T]), np.stack([3 * S, 3 * T])],
    ),
    "derivative": (
        lambda k, a, b, s, t: k.parts(dg.derivative(lambda a: k.make(a * a, 3 * a), a, 2)[1]),
        [2 + 0 * A, 0 * A],
    ),
    "vmap": (
        lambda k, a, b, s, t: k.parts(dg.vmap(g(k))(several(k, (a, b)))),
        [np.stack([A * A, 4 * A * A]), np.stack([A * B, 4 * A * B])],
    ),
    "in_axes": (
        lambda k, a, b, s, t: k.parts(
            dg.vmap(g(k), (k.make(1, None),), k.make(0, -1))(k.make(ops.stack((a, s), 1), b))
        ),
        [np.stack([A * A, S * S]), np.stack([A * B, S * B], 1)],
    ),
    "vmap of grad": (
        lambda k, a, b, s, t: k.parts(dg.vmap(dg.grad(f(k)))(several(k, (a, b)))),
        [np.stack([2 * A * B, 8 * A * B]), np.stack([A * A, 4 * A * A])],
    ),
    "grad of vmap": (
        lambda k, a, b, s, t: k.parts(dg.grad(lambda p: dg.vmap(f(k))(p).sum())(several(k, (a, b)))),
        [np.stack([2 * A * B, 8 * A * B]), np.stack([A * A, 4 * A * A])],
    ),
    "carry of scan": (
        through(lambda k, p: ops.scan(lambda p, _: (step(k, turn)(p), None), p, length=3, checkpoints=1)[0]),
        of_steps(A, B),
    ),
    "xs and ys of scan": (
        lambda k, a, b, s, t: [
            *k.parts(ops.scan(lambda c, p: (c + product(k, p), g(k)(p)), a, several(k, (a, b)))[1]),
            *k.parts(
                dg.grad(lambda p: ops.scan(lambda c, p: (c + product(k, p), None), a, p)[0].sum())(several(k, (a, b)))
            ),
        ],
        [np.stack([A * A, 4 * A * A]), np.stack([A * B, 4 * A * B]), np.stack([B, 2 * B]), np.stack([A, 2 * A])],
    ),
    "while_loop": (
        through(
            lambda k, p: ops.while_loop(
                lambda c: c[0] < 3, lambda c: (c[0] + 1, step(k, turn)(c[1])), (dg.Tensor(0), p), checkpoints=1
            )[1]
        ),
        of_steps(A, B),
    ),
    "fori_loop": (through(lambda k, p: ops.fori_loop(0, 3, lambda _, p: step(k, turn)(p), p)), of_steps(A, B)),
    "cond": (
        lambda k, a, b, s, t: k.parts(dg.grad(lambda p: f(k)(dg.cond(True, g(k), lambda p: p, p)))(k.make(a, b))),
        [5 * A**4 * B, A**5],
    ),
    "cond for samples": (
        lambda k, a, b, s, t: k.parts(dg.vmap(lambda x: dg.cond(x > 1.5, g(k), lambda p: p, k.make(x, b)))(a)),
        [np.array([1.0, 4.0]), np.stack([B, 2 * B])],
    ),
    "recompute": (
        lambda k, a, b, s, t: k.parts(dg.grad(lambda p: f(k)(dg.recompute(g(k))(p)))(k.make(a, b))),
        [5 * A**4 * B, A**5],
    ),
    "recompute twice": (
        lambda k, a, b, s, t: [
            dg.grad(lambda a: dg.grad(lambda a: f(k)(dg.recompute(g(k), k.make(a, b))))(a).sum())(a),
        ],
        [20 * A**3 * B],
    ),
    "root": (
        lambda k, a, b, s, t: [
            dg.grad(lambda a: sum(x.sum() for x in k.parts(dg.root(cubes(k), k.make(a, a), k.make(a, a)))))(a * a),
        ],
        [2 * (A * A) ** (-2 / 3) / 3],
    ),
    "fixed_point": (
        lambda k, a, b, s, t: [
            dg.grad(lambda s: sum(x.sum() for x in k.parts(dg.fixed_point(halves(k), k.make(a, b), k.make(s, t)))))(s)
        ],
        [2.0 + 0 * S],
    ),
    "argmin": (
        lambda k, a, b, s, t: k.parts(
            dg.grad(lambda q: sum((x * x).sum() for x in k.parts(dg.argmin(distance(k), k.make(a, b), q))))(
                k.make(s, t)
            )
        ),
        [2 * S, 8 * T],
    ),
    "linear_solve": (
        lambda k, a, b, s, t: k.parts(dg.linear_solve(step(k, lambda a, b: (2 * a + b, 4 * b)), k.make(a, b))),
        [(A - B / 4) / 2, B / 4],
    ),
    "rule of its own": (
        lambda k, a, b, s, t: k.parts(dg.grad(Ruled(k), sens_param=True)(k.make(a, b), k.make(s, t))),
        [3 * (B * S + T), 3 * A * S],
    ),
    "rule of its own that gives nothing": (
        lambda k, a, b, s, t: k.parts(dg.grad(Ruled(k, True))(k.make(a, b))),
        [0 * A, 0 * B],
    ),
    "rule of its own in jvp": (
        lambda k, a, b, s, t: k.parts(dg.jvp(Ruled(k), (k.make(a, b),), (k.make(s, t),))[1]),
        [3 * (B * S + A * T), 3 * S],
    ),
    "stop_gradient": (
        lambda k, a, b, s, t: k.parts(dg.grad(lambda p: f(k)(p) - f(k)(ops.stop_gradient(p)))(k.make(a, b))),
        [2 * A * B, A * A],
    ),
    "scaled": (lambda k, a, b, s, t: k.parts(dg.amp.StaticLossScaler(4.0).scale(k.make(a, b))), [4 * A, 4 * B]),
}


def cubes(k):
    """x^3 = the argument."""

    def of(p, q):
        (x, y), (u, v) = k.parts(p), k.parts(q)
        return k.make(x * x * x - u, y * y * y - v)

    return of


def halves(k):
    """X = x/2 + the argument."""

    def of(p, q):
        (x, y), (u, v) = k.parts(p), k.parts(q)
        return k.make(0.5 * x + u, 0.5 * y + v)

    return of


def distance(k):
    """(x - u)^2 + (y - 2 v)^2"""

    def of(p, q):
        (x, y), (u, v) = k.parts(p), k.parts(q)
        return ((x - u) ** 2).sum() + ((y - 2 * v) ** 2).sum()

    return of
