"""Places that functions read, and the sparse derivatives and objects for SciPy that keep what they found there."""

import itertools
import operator
import types
from collections import deque

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

POINTS = (np.array([0.5, -1.0, 2.0, 1.5, -0.7]), np.array([1.0, 0.3, -2.0, 0.1, 0.9]))


N = 5


V = np.array([0.3, -1.2, 0.8, 2.0])  # multipliers of the equations


SCALE = 1.0


def number(k):
    """A number that Python may look at."""
    return k.item() if isinstance(k, Tensor) else k


def of_global():
    globals()["SCALE"] = 1.0
    return (lambda: SCALE), lambda v: globals().__setitem__("SCALE", v)


def of_closure():
    scale = 1.0

    def change(v):
        nonlocal scale
        scale = v

    return (lambda: scale), change


def of_captured_tensor():
    t = Tensor(np.float64(1.0))

    def change(v):
        nonlocal t
        t = Tensor(np.float64(v))

    return (lambda: t), change


def of(holder, read, change):
    return lambda: (lambda h: (lambda: read(h), lambda v: change(h, v)))(holder())


def setting(name):
    return lambda h, v: setattr(h, name, v)


class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = 1.0
        self.weight = Parameter(np.float64(1.0), name="weight")

    def construct(self, x):
        return x * self.scale * self.weight


class Plain:
    scale = 1.0


class Slotted:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 1.0


def put(key):
    return lambda h, v: operator.setitem(h, key, v)


ONE = Tensor(np.float64(1.0))


#: name -> make, which returns (what reads the factor, what changes it)
SURROUNDINGS = {
    "Parameter": of(
        lambda: Parameter(np.float64(1.0), name="p"), lambda p: p, lambda p, v: p.set_data(Tensor(np.float64(v)))
    ),
    "item of a Parameter": of(
        lambda: Parameter(np.float64(1.0), name="p"), lambda p: p.item(), lambda p, v: p.set_data(Tensor(np.float64(v)))
    ),
    "tensor changed in place": of(lambda: Tensor(np.ones(2)), lambda t: t[1], put(1)),
    "item of a tensor": of(lambda: Tensor(np.ones(2)), lambda t: t[1].item(), put(1)),
    "asnumpy of a tensor": of(lambda: Tensor(np.ones(2)), lambda t: float(t.asnumpy()[1]), put(1)),
    "captured tensor": of_captured_tensor,
    "global": of_global,
    "closure": of_closure,
    "list": of(lambda: [1.0], lambda h: h[0], put(0)),
    "list in a tuple": of(lambda: ([1.0],), lambda h: h[0][0], lambda h, v: operator.setitem(h[0], 0, v)),
    "tensor of a list": of(lambda: [ONE], lambda h: h[0], lambda h, v: operator.setitem(h, 0, Tensor(np.float64(v)))),
    "dict": of(lambda: {"k": 1.0}, lambda h: h["k"], put("k")),
    "deque": of(lambda: deque([1.0]), lambda h: h[0], put(0)),
    "set": of(lambda: {1.0}, max, lambda h, v: (h.clear(), h.add(v))),
    "attribute": of(Plain, lambda h: h.scale, setting("scale")),
    "attribute of a class": of(
        lambda: type("Own", (Plain,), {"scale": 1.0}), lambda h: h().scale, lambda h, v: setattr(h, "scale", v)
    ),
    "slot": of(Slotted, lambda h: h.scale, setting("scale")),
    "module": of(
        lambda: (lambda m: (setattr(m, "scale", 1.0), m)[1])(types.ModuleType("own")),
        lambda h: h.scale,
        setting("scale"),
    ),
    "computed name": of(Plain, lambda h: getattr(h, "sca" + "le"), setting("scale")),
    "attribute of a Cell": of(Scaled, lambda h: h(ONE), setting("scale")),
    "Parameter of a Cell": of(Scaled, lambda h: h(ONE), lambda h, v: h.weight.set_data(Tensor(np.float64(v)))),
    "array": of(lambda: np.ones(3), lambda h: float(h[1]), put(1)),
    "array as a tensor": of(lambda: np.ones(3), lambda h: Tensor(h)[1], put(1)),
    "array of one number": of(lambda: np.ones(()), lambda h: h[()], put(())),
    "array of objects": of(lambda: np.array([1.0], object), lambda h: h[0], put(0)),
}


#: name -> make, which returns what gives another number at each call, larger than those before
VOLATILE = {
    "generator": lambda: (lambda g: lambda: next(g))(float(k) for k in itertools.count(1)),
    "itertools.count": lambda: (lambda g: lambda: next(g))(itertools.count(1.0)),
    "counter in a list": lambda: (lambda h: lambda: (operator.setitem(h, 0, h[0] + 1.0), h[0])[1])([0.0]),
    "deque": lambda: (lambda h: lambda: h.popleft())(deque(map(float, range(1, 10_000)))),
    "counter in an attribute": lambda: (lambda h: lambda: (setattr(h, "scale", h.scale + 1.0), h.scale)[1])(Plain()),
    "np.random": lambda: lambda: (np.random.rand(), ticks())[1],  # noqa: NPY002
    "np.random.Generator": lambda: (lambda r: lambda: (r.random(), ticks(r))[1])(np.random.default_rng(0)),
}


TICKS = itertools.count(1.0)


def ticks(*_):
    return next(TICKS)


def energy(x, k, corner):
    y = (x**3).sum() * k
    return y + x[0] * x[-1] * k if corner else y


def equations(x, k, corner):
    y = x[1:] * x[:-1] * k
    return ops.concat((y[:1] + (x[-1] ** 2 * k)[None], y[1:])) if corner else y


def expected(x, k, corner):
    """What all questions are answered with, by hand."""
    h = np.diag(6 * k * x)
    g = 3 * k * x**2
    e = k * x[1:] * x[:-1]
    j = np.zeros((N - 1, N))
    j[np.arange(N - 1), np.arange(N - 1)] = k * x[1:]
    j[np.arange(N - 1), np.arange(1, N)] = k * x[:-1]
    c = k * (np.diag(V, 1) + np.diag(V, -1))
    value = k * (x**3).sum()
    if corner:
        value += k * x[0] * x[-1]
        g[0] += k * x[-1]
        g[-1] += k * x[0]
        h[0, -1] += k
        h[-1, 0] += k
        e[0] += k * x[-1] ** 2
        j[0, -1] += 2 * k * x[-1]
        c[-1, -1] += 2 * k * V[0]
    return {"value": value, "gradient": g, "hessian": h, "equations": e, "jacobian": j, "curvature": c}


#: how the number is used: (of tensors too; whether the corner is there)
USES = {"factor": lambda k: False, "pattern": lambda k: number(k) > 2.5}


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix @ np.eye(N)


def answers_of_objective(form):
    def make(f, _, x0):
        o = dg.scipy.objective(f, x0, hess=form)
        hess = (lambda x: dense(o.hess(x))) if form != "dense" else o.hess
        hessp = lambda x: np.stack([o.hessp(x, p) for p in np.eye(N)])
        return [("value", o.fun), ("gradient", o.jac), ("hessian", hess), ("hessian", hessp)]

    return make


def answers_of_weights(f, _, x0):
    """Of the Parameters; they are given the numbers of each point."""
    w = Parameter(x0, name="w")
    o = dg.scipy.objective(lambda: f(w), weights=[w], hess="dense")
    return [("value", o.fun), ("gradient", o.jac), ("hessian", o.hess)]


def answers_of_system(form, make_one):
    def make(_, e, x0):
        s = make_one(e, x0, jac=form)
        shown = dense if form != "dense" else np.asarray
        return [
            ("equations", s.fun),
            ("jacobian", lambda x: shown(s.jac(x))),
            ("curvature", lambda x: shown(s.hess(x, V))),
        ]

    return make


def answers_of_rhs(form):
    def make(_, e, x0):
        r = dg.scipy.rhs(lambda t, x: ops.concat((e(x) * t, x[:1])), x0, jac=form)
        shown = dense if form == "sparse" else np.asarray
        return [("equations", lambda x: r.fun(1.0, x)[:-1]), ("jacobian", lambda x: shown(r.jac(1.0, x))[:-1])]

    return make


FULL_H = np.eye(N, dtype=bool) | np.eye(N, dtype=bool)[::-1]


FULL_J = np.eye(N - 1, N, dtype=bool) | np.eye(N - 1, N, k=1, dtype=bool)


CORNER_J = FULL_J.copy()


CORNER_J[0, -1] = True


#: (what is asked, how a derivative is made of the functions): without the corner in a pattern that is given, and with
DERIVATIVES = {
    **{f"sparse_hessian {mode}": ("hessian", {"mode": mode}) for mode in ("auto", "entries", "stars")},
    **{f"sparse_jacobian {mode}": ("jacobian", {"mode": mode}) for mode in ("auto", "entries", "columns", "rows")},
    "sparse_hessian small pattern": ("hessian", {"pattern": np.eye(N, dtype=bool)}),
    "sparse_hessian large pattern": ("hessian", {"pattern": FULL_H}),
    **{
        f"sparse_jacobian {size} pattern {mode}": ("jacobian", {"mode": mode, "pattern": pattern})
        for size, pattern in (("small", FULL_J), ("large", CORNER_J))
        for mode in ("columns", "rows")
    },
}


def derivative_of(name, f, e):
    what, options = DERIVATIVES[name]
    make, fn = (dg.sparse_hessian, f) if what == "hessian" else (dg.sparse_jacobian, e)
    return what, make(fn, **options)


OBJECTS = {
    **{f"objective {form}": answers_of_objective(form) for form in ("dense", "sparse", "product")},
    "objective of weights": answers_of_weights,
    **{f"residuals {form}": answers_of_system(form, dg.scipy.residuals) for form in ("dense", "sparse", "product")},
    **{f"system {form}": answers_of_system(form, dg.scipy.system) for form in ("dense", "sparse")},
    **{f"rhs {form}": answers_of_rhs(form) for form in ("dense", "sparse")},
}


def close(found, wanted, what):
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=what)


def functions(read, use):
    def both(fn):
        def of_x(x):
            k = read()
            return fn(x, k, USES[use](k))

        return of_x

    return both(energy), both(equations)


STATES = (1.0, 2.0, 3.0, 2.0, 4.0)


@pytest.mark.rotated("kind")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("around", SURROUNDINGS)
def test_objects_of_scipy_give_no_number_of_former_surroundings(around, kind, use):
    read, change = SURROUNDINGS[around]()
    f, e = functions(read, use)
    answers = OBJECTS[kind](f, e, POINTS[0])
    for k in STATES:
        change(k)
        for i in (0, 0, 1, 0):
            wanted = expected(POINTS[i], k, use == "pattern" and k > 2.5)
            for what, ask in answers:
                close(ask(POINTS[i]), wanted[what], f"{what} where the number is {k}")


@pytest.mark.rotated("name")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("around", SURROUNDINGS)
def test_sparse_derivatives_find_their_patterns_anew(around, name, use):
    read, change = SURROUNDINGS[around]()
    what, derivative = derivative_of(name, *functions(read, use))
    for k in STATES:
        change(k)
        corner = use == "pattern" and k > 2.5
        for i in (0, 0, 1, 0):
            if corner and "small" in name:  # a pattern that was given is not found anew
                with pytest.raises(ValueError, match="pattern"):
                    derivative(Tensor(POINTS[i]))
                continue
            if "entries" in name and around in NOT_FOLLOWED:
                with pytest.raises(ValueError, match="mode='entries' is for"):
                    derivative(Tensor(POINTS[i]))
                continue
            found = derivative(Tensor(POINTS[i])).toarray()
            close(found, expected(POINTS[i], k, corner)[what], f"where the number is {k}")


#: what no guard can follow
NOT_FOLLOWED = {"array of objects"}


#: what tensors hold is read anew
TENSORS = {name for name, make in SURROUNDINGS.items() if isinstance(make()[0](), Tensor)} - {
    "tensor of a list",
    "captured tensor",
    "attribute of a Cell",
    "array as a tensor",
}
