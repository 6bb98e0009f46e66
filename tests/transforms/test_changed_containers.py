"""Functions that change the lists, dicts and records that they are given: kinds x changes x transforms x modes.

Leaves are collected before the function runs, so a gradient is that of all of them. What runs a function again, or both
of two functions, gives them containers of their own, and an error says so if one is changed.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest
from leaving_programs import WAYS

import dualgrad as dg
from dualgrad import Tensor, ops

pytestmark = pytest.mark.eager(
    "each run changes the list or dict that it is given, so another run starts from another one"
)

A, B = np.array([1.0, 2.0]), np.array([3.0, 5.0])


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


class Listed(list):
    pass


def swap(pair):
    pair.a, pair.b = pair.b, pair.a


LIST_CHANGES = {
    "clear": lambda c: c.clear(),
    "pop": lambda c: c.pop(),
    "del": lambda c: c.__delitem__(0),
    "None": lambda c: c.__setitem__(0, None),
    "another tensor": lambda c: c.__setitem__(0, Tensor(1.0)),
    "append": lambda c: c.append(Tensor(9.0)),
    "insert": lambda c: c.insert(0, Tensor(8.0)),
    "reverse": lambda c: c.reverse(),
    "nest": lambda c: c.__setitem__(0, [c[0]]),
    "nothing": lambda c: None,
}
DICT_CHANGES = {
    "clear": lambda c: c.clear(),
    "pop": lambda c: c.pop("a"),
    "del": lambda c: c.__delitem__("b"),
    "None": lambda c: c.__setitem__("a", None),
    "add": lambda c: c.__setitem__("c", Tensor(1.0)),
    "popitem": lambda c: c.popitem(),
    "another order": lambda c: c.__setitem__("a", c.pop("a")),
    "nothing": lambda c: None,
}
RECORD_CHANGES = {
    "None": lambda c: setattr(c, "a", None),
    "swap": swap,
    "del": lambda c: delattr(c, "a"),
    "nothing": lambda c: None,
}


def below(changes, at):
    return {name: (lambda c, change=change: change(c[at])) for name, change in changes.items()}


#: How two tensors are held, how they are found, and what may become of it.
KINDS = {
    "list": (lambda a, b: [a, b], lambda c: (c[0], c[1]), LIST_CHANGES),
    "list of a derived class": (lambda a, b: Listed([a, b]), lambda c: (c[0], c[1]), LIST_CHANGES),
    "dict": (lambda a, b: {"a": a, "b": b}, lambda c: (c["a"], c["b"]), DICT_CHANGES),
    "record": (Pair, lambda c: (c.a, c.b), RECORD_CHANGES),
    "tuple of a list": (lambda a, b: ([a, b],), lambda c: (c[0][0], c[0][1]), below(LIST_CHANGES, 0)),
    "dict of a list": (lambda a, b: {"q": [a, b]}, lambda c: (c["q"][0], c["q"][1]), below(LIST_CHANGES, "q")),
    "list of a dict": (lambda a, b: [{"a": a, "b": b}], lambda c: (c[0]["a"], c[0]["b"]), below(DICT_CHANGES, 0)),
}

CASES = [(kind, change) for kind, (_, _, changes) in KINDS.items() for change in changes]

TWO = Tensor(np.array(2.0))

#: Transforms of a function of one pytree.
TRANSFORMS = {
    "grad": lambda f, make: dg.grad(f)(make()),
    "value_and_grad": lambda f, make: dg.value_and_grad(f)(make()),
    "GradOperation": lambda f, make: ops.GradOperation(get_all=True)(f)(make()),
    "by keyword": lambda f, make: ops.GradOperation(get_all=True)(lambda **named: f(named["c"]))(c=make()),
    "vjp": lambda f, make: dg.vjp(f, make())[1](TWO),
    "jvp": lambda f, make: dg.jvp(f, (make(),), (make(),)),
    "jacrev": lambda f, make: dg.jacrev(f)(make()),
    "jacfwd": lambda f, make: dg.jacfwd(f)(make()),
    "hessian": lambda f, make: dg.hessian(f)(make()),
    "hvp": lambda f, make: dg.hvp(f)(make(), make()),
    "linearize": lambda f, make: dg.linearize(lambda c, _: f(c), (make(), TWO))[1](make(), TWO),
    "vmap": lambda f, make: dg.vmap(f)(make()),
    "grad of grad": lambda f, make: dg.grad(lambda c: sum(ops.sum(t * t) for t in leaves(dg.grad(f)(c))))(make()),
    "vmap of grad": lambda f, make: dg.vmap(dg.grad(f))(make()),
}


def leaves(nest):
    if isinstance(nest, Tensor):
        return [nest]
    children = nest.values() if isinstance(nest, dict) else vars(nest).values() if isinstance(nest, Pair) else nest
    return [t for child in children for t in leaves(child)]


def loss(a, b):
    return (a**3).sum() + (a * b**2).sum()


def check(kind, change, whose, way):
    make, find, changes = KINDS[kind]
    made = []

    def remembered():
        made.append(make(Tensor(A), Tensor(B)))
        return made[-1]

    def changing(c):
        a, b = find(c)
        for container in [c] if whose == "argument" else made:
            changes[change](container)
        made.clear()
        return loss(a, b)

    for name, transform in TRANSFORMS.items():
        made.clear()
        expected = transform(lambda c: loss(*find(c)), lambda: make(Tensor(A), Tensor(B)))
        found = WAYS[way](lambda: transform(changing, remembered))  # noqa: B023
        found, expected = flat_numbers(found), flat_numbers(expected)
        assert len(found) == len(expected), name
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, err_msg=name)


def flat_numbers(nest):
    return [t.asnumpy() for t in leaves(nest)]


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.rotated("whose", "way")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("whose", ["argument", "caller's"])
@pytest.mark.parametrize(("kind", "change"), CASES)
def test_the_gradient_is_that_of_all_leaves(kind, change, whose, way):
    check(kind, change, whose, way)


def test_a_pullback_outlives_the_arguments():
    arguments = {"a": Tensor(A), "b": [Tensor(B)]}
    _, pull = dg.vjp(lambda c: loss(c["a"], c["b"][0]), arguments)
    arguments["b"].clear()
    arguments.clear()
    (found,) = pull(TWO)
    np.testing.assert_allclose(found["a"].asnumpy(), 2 * (3 * A**2 + B**2))
    np.testing.assert_allclose(found["b"][0].asnumpy(), 4 * A * B)


# ------------------------------------------------------------------------------------- functions that are run again


class Ruled(dg.nn.Cell):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def construct(self, c):
        return self.function(c)

    def bprop(self, c, out, dout):
        return (c,)


def ruled(function):
    @dg.custom_vjp
    def call(c):
        return function(c)

    call.defbwd(lambda c, out, dout: (c,))
    return call


CALLS = {
    "recompute": dg.recompute,
    "custom_vjp": ruled,
    "bprop": Ruled,
}


@pytest.mark.rotated("name")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("kind", "change"), CASES)
def test_what_runs_a_function_again_refuses_the_change(name, kind, change):
    make, find, changes = KINDS[kind]

    def changing(c):
        a, b = find(c)
        changes[change](c)
        return loss(a, b)

    outer = lambda x: CALLS[name](changing)(make(x, 2 * x)).sum()
    if change == "nothing":
        dg.grad(outer)(Tensor(A))
        return
    with pytest.raises(RuntimeError, match=r"changes .* that it is given"):
        dg.grad(outer)(Tensor(A))


@pytest.mark.parametrize(("kind", "change"), CASES)
def test_branches_of_samples(kind, change):
    make, find, changes = KINDS[kind]

    def changing(c):
        a, b = find(c)
        changes[change](c)
        return loss(a, b)

    choose = lambda first, second: dg.vmap(lambda x: dg.cond(x.sum() > 0, first, second, make(x, 2 * x)))
    plain = lambda c: loss(*find(c))
    rows = Tensor(np.stack([A, -A]))
    for first, second in ((changing, plain), (plain, changing)):
        if change == "nothing":
            np.testing.assert_array_equal(
                choose(first, second)(rows).asnumpy(), [loss(a, 2 * a) for a in rows.asnumpy()]
            )
            continue
        with pytest.raises(RuntimeError, match="cond: the function changes"):
            choose(first, second)(rows)


LOOPS = {
    "fori_loop": lambda body, x: dg.fori_loop(0, 3, lambda k, c: body(c, 1.5), [x, 2 * x]),
    "scan": lambda body, x: dg.scan(lambda c, s: (body(c, s), None), [x, 2 * x], Tensor(np.array([1.5, 1.2, 1.1])))[0],
    "while_loop": lambda body, x: dg.while_loop(lambda c: c[0].sum() < 50, lambda c: body(c, 3.0), [x, 2 * x]),
}
OUTER = {
    "value": lambda f: f(Tensor(A)),
    "grad": lambda f: dg.grad(f)(Tensor(A)),
    "grad of grad": lambda f: dg.grad(lambda x: (dg.grad(f)(x) ** 2).sum())(Tensor(A)),
    "jvp": lambda f: dg.jvp(f, Tensor(A), Tensor(B))[1],
    "vmap": lambda f: dg.vmap(f)(Tensor(np.stack([A, B / 2]))),
    "vmap of grad": lambda f: dg.vmap(dg.grad(f))(Tensor(np.stack([A, B / 2]))),
}


@pytest.mark.rotated("way")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LOOPS)
def test_the_body_of_a_loop_may_change_the_carry_and_return_it(name, way):
    def changing(c, factor):
        c.append(c.pop(0) * factor)
        return c

    fresh = lambda c, factor: [c[1], c[0] * factor]
    for what, derive in OUTER.items():
        expected = derive(lambda x: LOOPS[name](fresh, x)[0].sum())
        found = WAYS[way](lambda: derive(lambda x: LOOPS[name](changing, x)[0].sum()))  # noqa: B023
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-12, err_msg=what)


@pytest.mark.parametrize("name", LOOPS)
def test_the_carry_keeps_its_leaves(name):
    def losing(c, factor):
        c.pop()
        return c

    for derive in OUTER.values():
        with pytest.raises(ValueError, match="the carry is"):
            derive(lambda x: LOOPS[name](losing, x)[0].sum())
