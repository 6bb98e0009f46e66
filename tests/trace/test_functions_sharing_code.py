"""Random calls of functions that share their code: each call gives what the function that is called gives now.

A *family* is the text of a factory, put together from places that its functions read: variables, defaults, helpers and
their variables, attributes, code. Two worlds are made of it, one for eager execution and one that is recorded. Both are
called and changed alike, between the calls, and every call has to give the same.
"""

import functools
import random
import types
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
from engine import forget_programs, programs

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.testing import Calls

pytestmark = pytest.mark.eager("records by itself")

VALUES = (1.0, 2.0, 3.0)  # few, so that functions of a family are often alike
POINTS = (np.array([1.0, 2.0]), np.array([-0.5, 3.0]), np.array([1.5]))


@dataclass(frozen=True)
class Place:
    """Lines of the factory, a factor that its function reads, and changes of it: text about an instance `o`."""

    factor: str
    before: str = ""
    changes: tuple[str, ...] = ()
    parameters: str = ""
    after: str = ""
    globals: str = ""
    lines: str = ""


#: What a function of a factory reads. `v` is a number of the instance, in a change the next one.
PLACES = {
    "variable": Place("k", "k = v\ndef set_k(v):\n    nonlocal k\n    k = v", ("o.set_k(v)",)),
    "deleted variable": Place(
        "(z if given() else 9.0)",
        "z = v\ndef given():\n    try: z\n    except NameError: return False\n    return True\n"
        "def set_z(v):\n    nonlocal z\n    z = v\ndef drop_z():\n    nonlocal z\n    z = v\n    del z",
        ("o.set_z(v)", "o.drop_z()"),
    ),
    "variable of two": Place(
        "k2 * reads_k2()",
        "k2 = v\ndef reads_k2(): return k2\ndef set_k2(v):\n    nonlocal k2\n    k2 = v",
        ("o.set_k2(v)",),
    ),
    "default": Place("d", changes=("o.f.__defaults__ = (v, *o.f.__defaults__[1:])",), parameters="d=v"),
    "keyword default": Place(
        "q", changes=("o.f.__kwdefaults__['q'] = v", "o.f.__kwdefaults__ = {**o.f.__kwdefaults__, 'q': v}"),
        parameters="*, q=v",
    ),
    "code": Place("1.0", changes=("o.f.__code__ = (o.other if v > 2.0 else o.once).__code__",)),
    "helper": Place(
        "h()",
        "m = v\ndef h(): return m\ndef set_m(v):\n    nonlocal m\n    m = v\ndef set_h(v):\n    nonlocal h\n"
        "    def h(): return v",
        ("o.set_m(v)", "o.set_h(v)"),
    ),
    "default of a helper": Place("hd()", "def hd(e=v): return e", ("o.hd.__defaults__ = (v,)",)),
    "keyword default of a helper": Place(
        "hq()", "def hq(*, e=v): return e", ("o.hq.__kwdefaults__['e'] = v", "o.hq.__kwdefaults__ = {'e': v}")
    ),
    "code of a helper": Place(
        "hc()",
        "def hc(): return 1.0\ndef hc1(): return 2.0\ndef hc2(): return 3.0\nif v > 1.0: hc.__code__ = hc1.__code__",
        ("o.hc.__code__ = (o.hc1 if v > 2.0 else o.hc2).__code__",),
    ),
    "helper of a helper of a helper": Place(
        "h1()",
        "n = v\ndef h3(a=v): return n * a\ndef h2(): return h3()\ndef h1(): return h2()\n"
        "def set_n(v):\n    nonlocal n\n    n = v",
        ("o.set_n(v)", "o.h3.__defaults__ = (v,)"),
    ),
    "helper in a default": Place(
        "g()", "w = v\ndef gg(): return w\ndef set_w(v):\n    nonlocal w\n    w = v", ("o.set_w(v)",), "g=gg"
    ),
    "helpers in a tuple": Place(
        "pair[0]() + pair[1]",
        "t = v\ndef tt(): return t\npair = (tt, v)\ndef set_t(v):\n    nonlocal t\n    t = v\n"
        "def set_pair(v):\n    nonlocal pair\n    pair = (tt, v)",
        ("o.set_t(v)", "o.set_pair(v)"),
    ),
    "helper that all share": Place(
        "shared()", globals="def shared(s=1.0): return s", changes=("shared.__defaults__ = (v,)",)
    ),
    "global": Place("G", globals="G = 1.0", changes=("globals().update(G=v)",)),
    "list": Place("l[0]", "l = [v]", ("o.l[0] = v", "o.l.insert(0, v)")),
    "list that all share": Place("L[0]", "L = common", ("o.L[0] = v",)),
    "dict": Place("di['k']", "di = {'k': v}", ("o.di['k'] = v",)),
    "array": Place("float(a[0])", "a = np.array([v])", ("o.a[0] = v",)),
    "tensor": Place("w_t", "w_t = Tensor(np.array([v]))", ("o.w_t.set_data(Tensor(np.array([v])))",)),
    "attribute of an object": Place("ob.k", "ob = Object(v)", ("o.ob.k = v", "Object.k = v")),
    "method of an object": Place(
        "om.get()", "om = Object(v)", ("o.om.k = v", "o.om.get = lambda: v", "Object.get = lambda self: self.k + v")
    ),
    "attribute of a helper": Place("ha.k", "def ha(): return 0\nha.k = v", ("o.ha.k = v",)),
    "arguments of a partial": Place(
        "pa()", "pa = functools.partial(lambda y: y, v)", ("o.pa.__setstate__((o.pa.func, (v,), {}, {}))",)
    ),
    "attribute of a number": Place("nu.k", "nu = Number(1.0)\nnu.k = v", ("o.nu.k = v",)),
    "attribute of a transform": Place("tr.k", "tr = dg.grad(lambda y: y)\ntr.k = v", ("o.tr.k = v",)),
    "annotation": Place("an.__annotations__['y']", "def an(y: v): pass", ("o.an.__annotations__['y'] = v",)),
    "table of helpers": Place(
        "TABLE.get(key, 5.0)",
        "def key(): pass\nif v > 1.0: TABLE[key] = v",
        ("TABLE[o.key] = v", "TABLE.pop(o.key, None)"),
        globals="TABLE = {}",
    ),
    "identity of helpers": Place(
        "(2.0 if same is FIRST[-1] else 3.0)",
        "def same(): pass\nif v > 1.0 or not FIRST: FIRST.append(same)",
        ("FIRST.append(o.same)",),
        globals="FIRST = []",
    ),
    "hash of a helper": Place(
        "(2.0 if hash(hh) == hash(LAST[-1]) else 3.0)",
        "def hh(): pass\nif v > 1.0 or not LAST: LAST.append(hh)",
        ("LAST.append(o.hh)",),
        globals="LAST = []",
    ),
    "variable that a call changes": Place(
        "count", "count = v", lines="nonlocal count\ncount = min(count + 1.0, 4.0)"
    ),
    "variable that a call makes": Place(
        "made", "made = None\ndef forget(v):\n    nonlocal made\n    made = v", ("o.forget(v)",),
        lines="nonlocal made\nif made is None: made = 2.0",
    ),
    "variable that a call restores": Place(
        "part", "kept = v\ndef reads_kept(): return kept\nreader = v > 1.0 and READERS and READERS[-1] or reads_kept\n"
        "READERS.append(reads_kept)\ndef set_kept(v):\n    nonlocal kept\n    kept = v",
        ("o.set_kept(v)",),
        globals="READERS = []",
        lines="nonlocal kept\nold = kept\nkept = old + 1.0\npart = reader()\nkept = old",
    ),
}  # fmt: skip

AROUND = """
class Object:
    k = 4.0
    def __init__(self, v):
        if v > 1.0: self.k = v
    def get(self): return self.k
class Number(np.float64): pass
"""


def text_of(family):
    """The module of a family."""
    places = [PLACES[name] for name in family]
    parameters = ", ".join(["x", *[p.parameters for p in places if p.parameters and p.parameters[0] != "*"]])
    parameters += "".join(", " + p.parameters for p in places if p.parameters.startswith("*"))
    indented = lambda text, by: "".join(" " * by + line + "\n" for line in text.split("\n")) if text else ""
    product = " * ".join(p.factor for p in places)
    body = lambda name, c: (
        f"    def {name}({parameters}):\n" + "".join(indented(p.lines, 8) for p in places)
        + f"        return ops.sum(x * x * ({product}) * {c})\n"
    )  # fmt: skip
    return (
        AROUND
        + "".join(p.globals + "\n" for p in places)
        + "def make(v, common):\n"
        + "".join(indented(p.before, 4) for p in places)
        + body("f", 1.0)
        + body("once", 1.0)
        + body("other", 1.5)
        + "    return types.SimpleNamespace(**locals())\n"
    )


class Caller(nn.Cell):
    def __init__(self, f):
        super().__init__()
        self.fn = f

    def construct(self, x):
        return self.fn(x)


class Replaced(nn.Cell):
    """A Cell whose `construct` is that of an instance."""

    def __init__(self, f):
        super().__init__()
        self.construct = f


class Methods:
    def __init__(self, f):
        self.f = f

    def method(self, x):
        return self.f(x)

    @dg.jit
    def recorded(self, x):
        return self.f(x)

    def __call__(self, x):
        return self.f(x)


def anew(make):
    """A call that is made anew each time."""
    return lambda f: lambda x: make(f)(x)


def second_of(g):
    return lambda x: g(x)[1]


def by_keyword(g):
    return lambda x: g(x=x)


def same(f):
    return f


graph, jitted = True, False
#: name -> (whether in Graph mode, what calls a function, and the same as it runs eagerly)
MODES = {
    "jit": (jitted, dg.jit, same),
    "jit anew": (jitted, anew(dg.jit), same),
    "jit of a fresh lambda": (jitted, anew(lambda f: dg.jit(lambda x: f(x))), same),
    "jit of a fresh gradient": (jitted, anew(lambda f: dg.jit(dg.grad(lambda x: f(x)))), anew(dg.grad)),
    "jit of grad": (jitted, lambda f: dg.jit(dg.grad(f)), dg.grad),
    "jit of grad of jit": (jitted, lambda f: dg.jit(dg.grad(dg.jit(f))), dg.grad),
    "grad of jit": (jitted, lambda f: dg.grad(dg.jit(f)), dg.grad),
    "jit of a partial": (jitted, lambda f: dg.jit(functools.partial(f)), same),
    "jit of a method": (jitted, lambda f: dg.jit(Methods(f).method), same),
    "jit of a function as a method": (jitted, lambda f: dg.jit(types.MethodType(lambda me, x: me(x), f)), same),
    "recorded method": (jitted, lambda f: Methods(f).recorded, same),
    "jit of an object": (jitted, lambda f: dg.jit(Methods(f)), same),
    "jit of a Cell": (jitted, lambda f: dg.jit(Caller(f)), same),
    "jit of a replaced construct": (jitted, lambda f: dg.jit(Replaced(f)), same),
    "keywords": (jitted, lambda f: by_keyword(dg.jit(f)), same),
    "graph grad": (graph, dg.grad, dg.grad),
    "graph grad anew": (graph, anew(dg.grad), dg.grad),
    "graph grad of a fresh lambda": (graph, anew(lambda f: dg.grad(lambda x: f(x))), dg.grad),
    "graph value_and_grad": (graph, lambda f: second_of(dg.value_and_grad(f)), dg.grad),
    "graph GradOperation": (graph, lambda f: dg.ops.GradOperation()(f), dg.grad),
    "graph hessian": (graph, dg.hessian, dg.hessian),
    "graph Cell": (graph, Caller, same),
    "graph replaced construct": (graph, Replaced, same),
    "graph grad of a Cell": (graph, lambda f: dg.grad(Caller(f)), dg.grad),
    "graph grad of a method": (graph, lambda f: dg.grad(Methods(f).method), dg.grad),
}


@dataclass
class World:
    """A family's module and its instances."""

    text: str
    call_of: object
    around: dict = field(default_factory=dict)
    instances: list = field(default_factory=list)
    calls: list = field(default_factory=list)

    def __post_init__(self):
        self.around.update(dg=dg, ops=ops, np=np, Tensor=Tensor, types=types, functools=functools)
        exec(self.text, self.around)
        self.common = [1.0]

    def grow(self, v):
        self.instances.append(self.around["make"](v, self.common))
        self.calls.append(self.call_of(self.instances[-1].f))

    def change(self, k, text, v):
        self.around.update(o=self.instances[k], v=v)
        # What a change writes is the text of a function, so that it closes over its own number.
        exec(f"def change(o, v):\n    {text}\nchange(o, v)", self.around)

    def outcome(self, k, x):
        try:
            return self.calls[k](Tensor(x)).asnumpy()
        except Exception as error:
            return type(error)


@contextmanager
def graph_mode(on):
    before = dg.get_context("mode")
    dg.set_context(mode=dg.GRAPH_MODE if on else dg.PYNATIVE_MODE)
    try:
        yield
    finally:
        dg.set_context(mode=before)


def alike(a, b):
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-12, atol=0.0)


TALLY = Counter()


def sequence(seed, modes=MODES, family=None):
    """The first call of a random sequence that gives something else than eager execution, in words, or None."""
    draw = random.Random(seed)
    drawn = draw.sample(sorted(PLACES), draw.choice((1, 1, 2, 2, 3)))
    family = drawn if family is None else family
    mode = draw.choice(sorted(modes))
    on, recorded, eager = modes[mode]
    text = text_of(family)
    changes = [change for name in family for change in PLACES[name].changes]
    with graph_mode(False):
        plain = World(text, eager)
    with graph_mode(on):
        found = World(text, recorded)
    story = []
    forget_programs()

    def both(act):
        with graph_mode(False):
            act(plain)
        with graph_mode(on):
            act(found)

    for _ in range(draw.choice((2, 2, 3))):
        v = draw.choice(VALUES[:2])
        story.append(f"make({v})")
        both(lambda world, v=v: world.grow(v))
    for _ in range(draw.randrange(6, 14)):
        k = draw.randrange(len(plain.instances))
        if changes and draw.random() < 0.35:
            change, v = draw.choice(changes), draw.choice(VALUES)
            story.append(f"{k}: {change}, v={v}")
            both(lambda world, k=k, change=change, v=v: world.change(k, change, v))
            continue
        x = POINTS[0] if draw.random() < 0.7 else draw.choice(POINTS)
        for _ in range(draw.choice((1, 1, 2, 3, 4))):
            story.append(f"{k}({x})")
            with graph_mode(False):
                right = plain.outcome(k, x)
            with graph_mode(on):
                got = found.outcome(k, x)
            if not alike(right, got):
                return f"sequence {seed}, {mode} of {family}: {got} in place of {right} after {'; '.join(story)}"
    TALLY["replayed"] += any(replayed for _, replayed, _ in programs())
    TALLY["sequences"] += 1
    TALLY[mode] += 1
    TALLY.update(family)
    return None


def wrong_among(seeds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [found for found in map(sequence, seeds) if found is not None]


@pytest.mark.rotated("part")
@pytest.mark.parametrize("part", range(100))
def test_sequences(part):
    TALLY.clear()
    assert not wrong_among(range(200 * part, 200 * part + 200))
    assert TALLY["replayed"] > 150
    assert len(MODES.keys() & TALLY.keys()) > len(MODES) - 3


#: without guards
PURE = {"jit": (jitted, lambda f: dg.jit(f, pure=True), same)}
#: a replay reads tensors; what a call makes or restores has no other value at the next call
NOT_GUARDED = {"tensor", "variable that a call makes", "variable that a call restores"}


@pytest.mark.parametrize("name", sorted(PLACES.keys() - NOT_GUARDED))
def test_sequences_see_a_guard_that_is_missing(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert any(sequence(seed, PURE, [name]) for seed in range(100))


# ------------------------------------------------------------------------------------------------- programs are shared


def closures(k, x, calls):
    def helper():
        calls.note()
        return k

    return dg.jit(lambda x: x * helper())(x)


def lambdas_of_helpers(k, x, calls):
    def helper(y, factor=k):
        calls.note()
        return y * factor

    pair = (helper, k)
    return dg.jit(lambda x, pair=pair: pair[0](x))(x)


def gradients(k, x, calls):
    def f(x):
        calls.note()
        return (x * x * k).sum()

    return dg.jit(dg.grad(f))(x)


@pytest.mark.parametrize("make", [closures, lambdas_of_helpers, gradients])
def test_functions_that_are_made_anew_are_replayed(make):
    """Two recordings for each of two values of a variable, then replays, however many functions follow."""
    forget_programs()
    calls = Calls()
    x = Tensor(POINTS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(100):
            make(float(k % 2 + 1), x, calls)
    assert len(calls) == 4
