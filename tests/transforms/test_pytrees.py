"""Pytrees: objects of any kind that hold tensors, wherever a transform takes or returns tensors.

A table of kinds is crossed with a table of places, each computed eagerly and in a recorded function, and compared with
derivatives written down by hand.
"""

import collections
import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pytree_kinds import KINDS, Kind, Plain, Registered, WithMore
from pytree_places import PLACES, A, B, S, T, g
from support import assert_close, f64

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, nn, ops

# ------------------------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_a_pytree_in_a_place(place, kind):
    compute, expected = PLACES[place]
    k = Kind(kind)
    given = [f64(x) for x in (A, B, S, T)]
    assert_close(compute(k, *given), expected, rtol=1e-9)


@pytest.mark.rotated("kind")
@pytest.mark.filterwarnings("ignore:.* runs eagerly")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_a_pytree_in_a_place_of_a_recorded_function(place, kind):
    compute, expected = PLACES[place]
    k = Kind(kind)
    recorded = dg.jit(lambda a, b, s, t: compute(k, a, b, s, t))
    for _ in range(3):
        assert_close(recorded(*[f64(x) for x in (A, B, S, T)]), expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.* runs eagerly")
@pytest.mark.parametrize("kind", KINDS)
def test_a_recorded_function_takes_and_returns_pytrees(kind):
    k = Kind(kind)
    recorded = dg.jit(g(k))
    for factor in (1.0, 1.0, 1.0, 2.0):
        assert_close(k.parts(recorded(k.make(f64(factor * A), f64(B)))), [factor**2 * A * A, factor * A * B])


# ----------------------------------------------------------------------------------------------- what holds no tensor

X = f64([1.0, 2.0])


def test_tuples_lists_and_dicts_leave_it_out():
    f = lambda p: (p[0] * p[2]["a"]).sum()
    assert_close(dg.grad(f)([X, "three", {"a": X, "b": "text"}, None, ()]), [A, {"a": A}])
    found = dg.grad(lambda p: (p["a"] ** 2).sum())(collections.OrderedDict(n="three", a=X, m=None))
    assert type(found) is collections.OrderedDict
    assert list(found) == ["a"]
    assert_close(found["a"], 2 * A)


def test_fields_keep_it():
    f = lambda p: (p.a * p.b[0]).sum()
    found = dg.grad(f)(Plain(X, [X, 3.0]))
    assert_close(found.b, [A])
    found = dg.grad(lambda p: (p.a**2).sum())(Plain(X, ("text", 3)))
    assert found.b == ("text", 3)
    assert dg.jvp(lambda p: Plain(p.a, 3), (Plain(X, "text"),), (Plain(X, None),))[1].b == 3


def test_a_pytree_without_tensors_is_no_input():
    assert_close(ops.GradOperation(get_all=True)(lambda x, p: x * p.a)(X, Plain(3.0, None)), (np.full(2, 3.0),))
    with pytest.raises(TypeError, match="names a Plain"):
        dg.grad(lambda p: X * p.a)(Plain(3.0, None))


def test_vmap_leaves_fields_alone():
    found = dg.vmap(lambda p: Plain(p.a * p.b, p.b))(Plain(X, 3.0))
    assert_close(found.a, 3 * A)
    assert found.b == 3.0


def test_a_field_without_tensors_is_the_same_in_all_steps():
    _, found = ops.scan(lambda c, x: (c, Plain(x, "text")), X, X)
    assert found.b == "text"
    with pytest.raises(ValueError, match="scan: a field that holds no Tensor"):
        ops.scan(lambda c, x: ((c[0], c[1] + 1), Plain(x, c[1])), (X, 0), X)


def test_the_class_of_a_parameter_tuple_is_that_of_parameters():
    weights = ParameterTuple([Parameter(np.array([1.0, 2.0]), name="w"), Parameter(np.array([3.0]), name="b")])
    found = dg.grad(lambda w: (w[0] ** 2).sum() * w[1].sum())(weights)
    assert type(found) is tuple
    assert_close(found, (np.array([6.0, 12.0]), np.array([5.0])))
    assert ops.stop_gradient(()) == ()


def test_keys_in_another_order():
    """Dicts belong together by their keys."""
    given, other = {"a": f64(A), "b": f64(B)}, {"b": f64(T), "a": f64(S)}
    h = lambda p: (p["a"] ** 2 * p["b"]).sum()
    assert_close(dg.jvp(h, (given,), (other,))[1], float((2 * A * B * S + A * A * T).sum()))
    turned = lambda p: {"b": p["a"] * 0.25 + 1.0, "a": p["b"] * 0.5}
    fixed = dg.fixed_point(turned, {"a": f64(1.0), "b": f64(1.0)})
    assert_close(fixed, {"a": 4 / 7, "b": 8 / 7}, rtol=1e-7)
    solved = dg.linear_solve(lambda p: {"b": 4.0 * p["b"], "a": 2.0 * p["a"]}, {"a": f64(2.0), "b": f64(2.0)})
    assert_close(solved, {"a": 1.0, "b": 0.5})
    chosen = dg.vmap(lambda x: dg.cond(x > 1.5, lambda: {"a": x, "b": -x}, lambda: {"b": 10 * x, "a": 20 * x}))(X)
    assert_close(chosen, {"a": [20.0, 2.0], "b": [10.0, -2.0]})


# ------------------------------------------------------------------------------------------------------ what is refused


@dataclasses.dataclass
class Hidden:
    """A tensor beside the fields, which follows from one of them."""

    a: object

    def __post_init__(self):
        self.double = 2 * self.a


@dataclasses.dataclass
class Both(dict):
    a: object


def other_of(make):
    return lambda p: make(p.a)


MISFITS = {
    "jvp": lambda p, q: dg.jvp(lambda p: p.a, (p,), (q,)),
    "vjp": lambda p, q: dg.vjp(lambda p: p, p)[1](q),
    "hvp": lambda p, q: dg.hvp(lambda p: (p.a**2).sum())(p, q),
    "linearize": lambda p, q: dg.linearize(lambda p: p.a, (p,))[1](q),
    "grad": lambda p, q: dg.grad(lambda p: p, sens_param=True)(p, q),
    "vmap": lambda p, q: dg.vmap(lambda p: p.a, (q,))(p),
    "scan": lambda p, q: ops.scan(lambda c, _: (q, None), p, length=2),
}


@pytest.mark.parametrize(
    "given", [(X, X), {"a": X, "b": X}, Registered(X, X, "m")], ids=["tuple", "dict", "other class"]
)
@pytest.mark.parametrize("transform", MISFITS)
def test_another_nesting_is_refused(transform, given):
    with pytest.raises(ValueError, match=f"{transform}: .*Plain"):
        MISFITS[transform](Plain(X, X), given)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Hidden, "attribute 'double' of a Hidden holds a Tensor.*register_pytree"),
        (Both, "Both has fields and is a dict.*register_pytree"),
    ],
)
def test_what_cannot_be_put_together_again_is_refused(make, words):
    with pytest.raises(TypeError, match=words):
        dg.grad(lambda p: (p.a**2).sum())(make(X))
    with pytest.raises(TypeError, match=words):
        dg.vmap(lambda x: make(x))(X)


def test_what_is_computed_once_is_computed_again():
    """A cached property is none of the fields, and belongs to one object."""
    p = WithMore("m", X, 2.5, f64(B))
    assert_close(p.product, A * B)
    found = dg.grad(lambda p: (p.product**2).sum())(p)
    assert_close([found.a, found.b], [2 * A * B * B, 2 * A * A * B])
    assert "product" not in vars(found)


REGISTRATIONS = {
    "no class": (lambda: dg.register_pytree(3, len, len), TypeError, "expected a class"),
    "a leaf": (lambda: dg.register_pytree(dg.Tensor, len, len), TypeError, "a leaf, or a pytree"),
    "a Cell": (lambda: dg.register_pytree(nn.Dense, len, len), TypeError, "a leaf, or a pytree"),
    "a list": (lambda: dg.register_pytree(list, len, len), TypeError, "a leaf, or a pytree"),
    "no function": (lambda: dg.register_pytree(Plain, 3, len), TypeError, "flatten is an int"),
    "twice": (lambda: dg.register_pytree(Registered, len, len), ValueError, "registered already"),
}


@pytest.mark.parametrize("mistake", REGISTRATIONS)
def test_registrations_are_checked(mistake):
    call, error, words = REGISTRATIONS[mistake]
    with pytest.raises(error, match=f"register_pytree: .*{words}"):
        call()


def test_what_flatten_returns_is_checked():
    class Wrong:
        pass

    dg.register_pytree(Wrong, lambda x: [X], lambda aux, parts: Wrong())
    with pytest.raises(TypeError, match="flatten of Wrong returned a list of 1"):
        dg.grad(lambda p: X)(Wrong())


# ------------------------------------------------------------------------------------------------------ without an end

CHILD = """
import dataclasses, threading, warnings
import numpy as np
import dualgrad as dg
from dualgrad import nn, ops

warnings.simplefilter("ignore")
X = dg.Tensor(np.array([1.0, 2.0]))

@dataclasses.dataclass
class Node:
    inner: object

class Chain:
    def __init__(self, inner):
        self.inner = inner

dg.register_pytree(Chain, lambda x: ((x.inner,), None), lambda _, parts: Chain(*parts))

def deep(make):
    x = X
    for _ in range(100_000):
        x = make(x)
    return x

def closed(x, put):
    put(x)
    return x

NESTS = {
    "a list that holds itself": lambda: closed([X], lambda x: x.append(x)),
    "a dict that holds itself": lambda: closed({"a": X}, lambda x: x.update(b=x)),
    "an object that holds itself": lambda: closed(Node([X]), lambda x: x.inner.append(x)),
    "deep lists": lambda: deep(lambda x: [x]),
    "deep tuples": lambda: deep(lambda x: (x,)),
    "deep dicts": lambda: deep(lambda x: {"a": x}),
    "deep dataclasses": lambda: deep(Node),
    "deep registered objects": lambda: deep(Chain),
}

class Ruled(nn.Cell):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def construct(self, p):
        return self.f(p)

    def bprop(self, p, out, dout):
        return (dout,)

def graph(f, p):
    dg.set_context(mode=dg.GRAPH_MODE)
    try:
        return dg.grad(f)(p)
    finally:
        dg.set_context(mode=dg.PYNATIVE_MODE)

# of a function and its argument; those whose function is given a tensor, and may return anything
RESULTS = {
    "grad": lambda f, p: dg.grad(f)(p),
    "value_and_grad": lambda f, p: dg.value_and_grad(f)(p),
    "aux": lambda f, p: dg.grad(lambda p: (X, f(p)), has_aux=True)(p),
    "GradOperation": lambda f, p: ops.GradOperation(get_all=True)(f)(p),
    "vjp": lambda f, p: dg.vjp(f, p),
    "jvp": lambda f, p: dg.jvp(f, (p,), (p,)),
    "jacrev": lambda f, p: dg.jacrev(f)(p),
    "jacfwd": lambda f, p: dg.jacfwd(f)(p),
    "hessian": lambda f, p: dg.hessian(f)(p),
    "hvp": lambda f, p: dg.hvp(f)(p, p),
    "linearize": lambda f, p: dg.linearize(f, (p,)),
    "vmap": lambda f, p: dg.vmap(f)(p),
    "jit of grad": lambda f, p: dg.jit(dg.grad(f))(p),
    "grad in Graph mode": graph,
    "scan": lambda f, p: ops.scan(lambda c, x: (c, f(x)), X, p),
    "recompute": lambda f, p: dg.grad(lambda x: dg.recompute(f)(p))(X),
    "rule of its own": lambda f, p: dg.grad(lambda p: (Ruled(f)(p), X))(p),
    "root": lambda f, p: dg.root(f, p),
    "fixed_point": lambda f, p: dg.fixed_point(f, p),
    "linear_solve": lambda f, p: dg.linear_solve(f, p),
}
ARGUMENTS = RESULTS | {
    "jit": lambda f, p: dg.jit(lambda p: dg.grad(f)(p))(p),
    "carry": lambda f, p: ops.scan(lambda c, _: (c, None), p, length=3),
    "while_loop": lambda f, p: ops.while_loop(lambda c: True, lambda c: c, p),
    "fori_loop": lambda f, p: ops.fori_loop(0, 3, lambda _, c: c, p),
    "argmin": lambda f, p: dg.argmin(f, p),
    "stop_gradient": lambda f, p: ops.stop_gradient(p),
    "out_axes": lambda f, p: dg.vmap(lambda x: p, 0, p)(X),
    "objective": lambda f, p: dg.scipy.objective(f, p),
}

def outcome(call):
    try:
        call()
    except (ValueError, RecursionError) as error:
        return "levels" in str(error) or isinstance(error, RecursionError) or str(error)
    except TypeError as error:
        return "float()" in str(error) or str(error)        # objective takes no objects
    return "no error"

def run():
    for nest, make in NESTS.items():
        held = {"p": make()}
        for name, call in ARGUMENTS.items():
            record(name, "argument", nest, outcome(lambda: call(lambda p: X.sum(), held["p"])))
        for name, call in RESULTS.items():
            record(name, "result", nest, outcome(lambda: call(lambda x: held["p"], X)))

def record(*found):
    if found[-1] is not True:
        print(*found, sep=": ")

threading.stack_size(STACK)
worker = threading.Thread(target=run)
worker.start()
worker.join()
print("done")
"""


@pytest.mark.parametrize("stack", [8 << 20, 512 << 10])
def test_a_nest_without_an_end_raises(stack):
    """In a process of its own, which would end without a word."""
    child = CHILD.replace("STACK", str(stack))
    path = Path(dg.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-c", child], capture_output=True, text=True, timeout=300, cwd=path, check=False
    )
    assert (run.stdout, run.returncode) == ("done\n", 0), run.stdout + run.stderr[-2000:]


def test_five_hundred_levels_are_fine():
    x = X
    for _ in range(500):
        x = Plain([x], None)
    gradient = dg.grad(lambda p: (unwrapped(p) ** 2).sum())(x)
    assert_close(unwrapped(gradient), 2 * A)


def unwrapped(x):
    while isinstance(x, Plain):
        x = x.a[0]
    return x
