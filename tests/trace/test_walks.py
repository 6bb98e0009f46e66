"""What a recorded function can reach, and the hook that tells what runs: depth, cycles, hooks, threads."""

import cProfile
import io
import itertools
import pstats
import subprocess
import sys
import threading
import time
import types
import warnings

import pytest
from engine import forget_programs, known_functions

import dualgrad as dg
from dualgrad import Tensor

pytestmark = pytest.mark.usefixtures("own_programs")

WORKER_TIME = 240  # seconds that a process may take on a busy machine


# ---------------------------------------------------------------------------------------------------- deep and round

#: what a chain is made of: an expression with the former link `x`
LINKS = {
    "tuple": "(x,)",
    "list": "[x]",
    "dict": "{'a': x}",
    "dataclass": "Record(x)",
    "object": "Plain(x)",
    "slots": "Slotted(x)",
    "closure": "(lambda inner: lambda y: (inner, y)[1])(x)",
    "default": "lambda y, inner=x: y",
    "partial": "functools.partial(first, x)",
    "namespace": "types.SimpleNamespace(next=x)",
    "frozenset": "frozenset([x])",
    "property": "property(x)",
    "class": "type('T', (), {'next': x})",
    "recorded": "dg.jit(lambda y, x=x: y)",
    "method": "types.MethodType(lambda self, y: y, x)",
    "gradient": "dg.grad(x if callable(x) else abs)",
}

#: how a recorded function reaches it
REACHED = {
    "captured": "lambda x: x * 2 if chain is not None else x",
    "read": "lambda x: x * 2 if (chain, getattr(chain, 'next', 0)) else x",
    "default": "lambda x, c=chain: x * 2 if c is not None else x",
    "closure": "(lambda c: lambda x: x * 2 if c is not None else x)(chain)",
    "attribute": "holder.method",
}

CHAIN = """
import dataclasses, functools, os, sys, types, warnings
import dualgrad as dg
warnings.simplefilter("ignore")

@dataclasses.dataclass
class Record:
    next: object

class Plain:
    def __init__(self, next):
        self.next = next

class Slotted:
    __slots__ = ("next",)
    def __init__(self, next):
        self.next = next

class Holder:
    def method(self, x):
        return x * 2 if self.chain is not None else x

def first(inner, x):
    return x

chain = 2.0
for _ in range({length}):
    chain = (lambda x: {link})(chain)
holder = Holder()
holder.chain = chain
x = dg.Tensor([1.0, 2.0])
for f in ({functions},):
    for transformed in (f, dg.grad(f)):
        recorded = dg.jit(transformed)
        expected = transformed(x).tolist()
        assert [recorded(x).tolist() for _ in range(4)] == [expected] * 4
given = dg.jit(lambda x, c: x * 2 if c is not None else x)
try:
    assert [given(x, chain).tolist() for _ in range(4)] == [[2.0, 4.0]] * 4
except ValueError as error:
    assert "1000 levels" in str(error)
if callable(chain) and {link!r}[0] in "(lf" and "MethodType" not in {link!r}:
    called = dg.jit(chain)
    for _ in range(4):
        try:
            called(x)
        except RecursionError:
            pass
print("done", flush=True)
os._exit(0)  # chains so long overflow the stack where they are freed
"""


@pytest.mark.rotated("link")
@pytest.mark.parametrize("length", [25_000, pytest.param(100_000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("link", LINKS)
def test_chains_are_walked_along(link, length):
    code = CHAIN.format(length=length, link=LINKS[link], functions=", ".join(REACHED.values()))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WORKER_TIME)
    assert done.stdout == "done\n", (done.returncode, done.stderr[-2000:])


def round_things():
    """Name, and something that reaches itself."""

    class Own:
        pass

    own = Own()
    own.me = own
    Own.instance = own
    entries, table = [1.0], {}
    entries.append(entries)
    table["me"] = table
    held = ([],)
    held[0].append(held)

    def closed():
        return closed

    def with_default(y=None):
        return y

    with_default.__defaults__ = (with_default,)
    with_default.me = with_default
    yield from {
        "object": own,
        "class": Own,
        "list": entries,
        "dict": table,
        "tuple": held,
        "closure": closed,
        "default": with_default,
    }.items()


@pytest.mark.parametrize(("name", "thing"), [pytest.param(*v, id=v[0]) for v in round_things()])
def test_what_reaches_itself_is_walked_once(name, thing):
    scale = [2.0]
    for f in (
        lambda x: x * scale[0] if thing is not None else x,
        lambda x, thing=thing: x * scale[0] if thing is not None else x,
    ):
        recorded = dg.jit(f)
        for k in (2.0, 3.0):
            scale[0] = k
            assert [recorded(Tensor([1.0])).item() for _ in range(4)] == [k] * 4


def test_keys_of_functions_that_share_functions_are_small():
    """Each closes over the former one twice, so there are 2^40 ways to the first."""

    def twice(f, g):
        return lambda x: f(x) if g is not None else x

    f, entries = (lambda x: x * 3), (1,)
    for _ in range(40):
        f, entries = twice(f, f), (entries, entries)
    for function in (f, lambda x, entries=entries: x * 3, dg.grad(lambda x: f(x) * x)):
        recorded = dg.jit(function)
        expected = function(Tensor([2.0])).item()
        assert [recorded(Tensor([2.0])).item() for _ in range(4)] == [expected] * 4


# ---------------------------------------------------------------------------------------------------------- hooks

SCALE = 2.0


def scaled(x):
    return x * SCALE


@pytest.fixture
def scale():
    yield lambda k: globals().__setitem__("SCALE", k)
    globals()["SCALE"] = 2.0


def follows(recorded, scale):
    """A recorded function gives what the function gives, and sees a global that changes."""
    for k in (2.0, 3.0):
        scale(k)
        assert [recorded(Tensor([1.0])).item() for _ in range(4)] == [k] * 4


@pytest.mark.parametrize("install", ["setprofile", "settrace"])
def test_hooks_that_are_set_before_are_called_and_stay(install, scale):
    events = []

    def hook(frame, event, argument):
        events.append((frame.f_code.co_name, event))
        return hook

    put, get = getattr(sys, install), getattr(sys, install.replace("set", "get"))
    former = get()
    put(hook)
    try:
        follows(dg.jit(scaled), scale)
        assert get() is hook
    finally:
        put(former)
    assert events.count(("scaled", "call")) == 4  # twice for each number, while it is recorded
    if former is None:
        assert why("scaled") is None


def why(name):
    """Why a function runs eagerly."""
    return next(reason for known, reason, _, _ in known_functions() if known == name)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("install", ["setprofile", "settrace"])
def test_hooks_that_are_set_inside(install, scale):
    put, get = getattr(sys, install), getattr(sys, install.replace("set", "get"))
    former = get()

    def hook(frame, event, argument):
        return None

    def f(x):
        put(hook)
        return x * SCALE

    try:
        follows(dg.jit(f), scale)
    finally:
        put(former)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_hooks_that_are_taken_off_inside(scale):
    former = sys.getprofile()

    def f(x):
        sys.setprofile(None)
        return x * SCALE

    try:
        follows(dg.jit(f), scale)
    finally:
        sys.setprofile(former)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_hooks_that_raise(scale):
    """An error of a hook is the user's; the function is as before."""
    former = sys.getprofile()

    def hook(frame, event, argument):
        if frame.f_code.co_name == "scaled":
            raise KeyError("mine")

    recorded = dg.jit(scaled)
    sys.setprofile(hook)
    try:
        with pytest.raises(KeyError, match="mine"):
            recorded(Tensor([1.0]))
    finally:
        sys.setprofile(former)
    follows(recorded, scale)


def test_statistics_of_profile_count_what_runs(scale):
    recorded = dg.jit(scaled)
    profile = cProfile.Profile()
    profile.enable()
    try:
        follows(recorded, scale)
    finally:
        profile.disable()
    text = io.StringIO()
    statistics = pstats.Stats(profile, stream=text)
    calls = {name: found[0] for (_, _, name), found in statistics.stats.items()}
    assert calls["scaled"] == 4
    assert calls["follows"] == 1
    statistics.print_stats()
    assert "scaled" in text.getvalue()


def test_a_profile_inside_of_a_function(scale):
    """Its hook is not the recording's; the function runs eagerly, and says so."""
    found = []

    def f(x):
        with cProfile.Profile() as profile:
            y = x * SCALE
        found[:] = [profile]
        return y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        follows(dg.jit(f), scale)
    assert pstats.Stats(found[0]).total_calls


# -------------------------------------------------------------------------------------------------------- threads


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("shared", [True, False], ids=["one function", "a function each"])
def test_threads_record_while_others_change_what_is_read(shared, scale):
    """Each call gives the number that was there at some time while it ran."""
    failures, stop = [], threading.Event()
    numbers = [float(k) for k in range(1, 6)]

    def change():
        k = 0
        while not stop.is_set():
            scale(numbers[k % 5])
            k += 1
            time.sleep(2e-4)

    recorded = dg.jit(scaled)

    def work(i):
        f = recorded if shared else dg.jit(lambda x: scaled(x) + i - i)
        try:
            for k in range(400):
                found = f(Tensor([1.0] * (1 + k % 3))).tolist()
                if len(set(found)) != 1 or found[0] not in numbers:
                    failures.append(found)
                if k % 100 == 99:
                    forget_programs()
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    changer = threading.Thread(target=change)
    changer.start()
    for t in workers:
        t.start()
    for t in workers:
        t.join()
    stop.set()
    changer.join()
    assert not failures
    for k in (7.0, 8.0):
        scale(k)
        assert [recorded(Tensor([1.0])).item() for _ in range(4)] == [k] * 4


# ------------------------------------------------------------------------------------------- modules met in code


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("statement", ["from outer.inner.leaf import K", "import outer.inner.leaf as m; K = m.K"])
def test_every_part_of_an_imported_module_is_looked_at(statement, place, monkeypatch):
    """Another module may stand in `sys.modules` under any part of the name."""
    names = ["outer", "outer.inner", "outer.inner.leaf"]

    def install(k):
        made = [types.ModuleType(name) for name in names]
        for holder, held in itertools.pairwise(made):
            setattr(holder, held.__name__.split(".")[-1], held)
        made[-1].K = k
        return made

    for name, module in zip(names, install(2.0), strict=True):
        monkeypatch.setitem(sys.modules, name, module)
    space = {}
    exec(f"def f(x):\n    {statement}\n    return x * K", space)
    f, x = space["f"], Tensor([1.0, 2.0])
    recorded = dg.jit(f)
    for _ in range(4):
        assert recorded(x).tolist() == f(x).tolist()
    for name, module in list(zip(names, install(3.0), strict=True))[place:]:
        monkeypatch.setitem(sys.modules, name, module)
    for _ in range(4):
        assert recorded(x).tolist() == f(x).tolist()
