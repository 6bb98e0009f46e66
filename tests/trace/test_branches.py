"""What stands in the way of guards keeps no function from being replayed while code does not come to it."""

import sys
import warnings

import numpy as np
import pytest
from engine import forget_programs, programs
from places import Instance, Place

import dualgrad as dg
from dualgrad import Tensor

pytestmark = [
    pytest.mark.eager("records by itself"),
    pytest.mark.skipif(sys.version_info >= (3, 12), reason="instructions are not told one by one"),
]

X = np.array([0.5, -1.0, 2.0])

#: what no guard can follow: name -> (what makes it, an expression that uses it)
HIDDEN = {
    "iterator": ("gen = iter(lambda: 3.0, None)", "next(gen)"),
    "random source": ("rng = np.random.default_rng(1)", "(3.0 + 0 * rng.random())"),
    "random numbers of a module": ("", "(3.0 + 0 * np.random.random())"),
    "cache": ("@functools.lru_cache\ndef cached(): return 3.0", "cached()"),
    "queue": ("import queue\nq = queue.SimpleQueue()", "(3.0 + q.qsize())"),
    "context variable": ("import contextvars\nv = contextvars.ContextVar('v', default=3.0)", "v.get()"),
    "globals": ("K = 3.0", "globals()['K']"),
    "eval": ("K = 3.0", "eval('K')"),
    "identity": ("", "(3.0 + 0 * (id(ops) < 0))"),
    "weak reference": ("import weakref\nclass C: k = 3.0\nheld = C()\nw = weakref.ref(held)", "w().k"),
    "objects": ("a = np.array([3.0], dtype=object)", "float(a[0])"),
    "compiled object of a module": (
        "import queue\nforeign = types.ModuleType('foreign')\nforeign.size = queue.SimpleQueue()",
        "(3.0 + foreign.size.qsize())",
    ),
    "frame": ("import sys\nK = 3.0", "sys._getframe().f_globals['K']"),
}

#: how code comes to it only where FLAG is true
BRANCHES = {
    "statement": "def f(x):\n if FLAG: x = x * {use}\n return ops.sum(x * 2)",
    "expression": "def f(x): return ops.sum(x * ({use} if FLAG else 2.0))",
    "and": "def f(x): return ops.sum(x * (FLAG and {use} or 2.0))",
    "early return": "def f(x):\n if not FLAG: return ops.sum(x * 2)\n return ops.sum(x * {use})",
    "loop": "def f(x):\n for _ in range(int(FLAG)): x = x * {use}\n return ops.sum(x * 2)",
    "while": "def f(x):\n n = int(FLAG)\n while n:\n  x = x * {use}\n  n -= 1\n return ops.sum(x * 2)",
    "break": "def f(x):\n for i in range(3):\n  if i >= FLAG: break\n  x = x * {use}\n return ops.sum(x * 2)",
    "comprehension": "def f(x): return ops.sum(x * (2.0 + sum([{use} for i in range(2) if FLAG])))",
    "handler": "table = {{False: 2.0}}\ndef f(x):\n"
    " try: k = table[FLAG]\n except KeyError: k = {use}\n return ops.sum(x * k)",
    "else of a try": "def f(x):\n k = 2.0\n try: [0][not FLAG]\n"
    " except IndexError: pass\n else: k = {use}\n return ops.sum(x * k)",
    "match": "def f(x):\n match FLAG:\n  case True: x = x * {use}\n  case _: pass\n return ops.sum(x * 2)",
    "assertion": "def f(x):\n assert not FLAG or {use} == 3.0\n return ops.sum(x * (3 if FLAG else 2))",
    "method": "class C:\n def __call__(self, x):\n  if FLAG: x = x * {use}\n  return ops.sum(x * 2)\nf = C()",
    "Cell": "class C(nn.Cell):\n def construct(self, x):\n  if FLAG: x = x * {use}\n"
    "  return ops.sum(x * 2)\nc = C()\ndef f(x): return c(x)",
    "helper": "def g(x):\n if FLAG: return x * {use}\n return x * 2\ndef f(x): return ops.sum(g(x))",
    "comparison chain": "def f(x): return ops.sum(x * (2.0 if 0 > int(FLAG) - 1 or {use} < 0 else 3.0))",
}


@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_names_in_branches_that_are_not_taken_do_not_count(hidden, branch):
    """Nor does a flag that changes leave an old number."""
    make, use = HIDDEN[hidden]
    source = f"FLAG = False\n{make}\n{BRANCHES[branch].format(use=use)}"
    x = Tensor(X)
    forget_programs()
    with Instance(Place(branch, source)) as instance:
        f = instance.f
        recorded = dg.jit(lambda x: f(x))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(5):
                np.testing.assert_array_equal(recorded(x).asnumpy(), f(x).asnumpy())
        assert any(replayed for _, replayed, _ in programs())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for flag in (True, False, True):
                vars(instance.module)["FLAG"] = flag
                for _ in range(4):
                    np.testing.assert_array_equal(recorded(x).asnumpy(), f(x).asnumpy())


#: builtins of which the other hook tells that they were not called
SEEN = {"globals", "eval", "identity"}


@pytest.mark.parametrize("hidden", sorted(HIDDEN.keys() - SEEN))
def test_a_debugger_leaves_names_in_branches_unknown(hidden):
    make, use = HIDDEN[hidden]
    source = f"FLAG = False\n{make}\n{BRANCHES['statement'].format(use=use)}"
    seen = []

    def tracer(frame, event, _):
        seen.append(event)
        return tracer

    forget_programs()
    with Instance(Place("traced", source)) as instance:
        recorded = dg.jit(instance.f)
        former = sys.gettrace()
        sys.settrace(tracer)
        try:
            recorded(Tensor(X))
            with pytest.warns(UserWarning, match="runs eagerly"):
                recorded(Tensor(X))
            assert sys.gettrace() is tracer
        finally:
            sys.settrace(former)
        assert "line" in seen
