"""Places that a factor can come from, each with the ways in which it can change.

A place is a text: a module with a function `read` that gives a factor, or with a function `f` of a tensor. A change is a
text too, run in that module; one with the name V is run for each of `VALUES`. A list of texts is run one by one. So each
run of a test has a module of its own, and eager execution can be compared on another one that is treated alike.
"""

import math
import sys
import textwrap
import types
from dataclasses import dataclass, field

#: other numbers, numbers that are equal and not the same, and back
VALUES = ("2.0", "1", "True", "0.0", "-0.0", "float('nan')", "1.0")

PRELUDE = """
import collections, copy, dataclasses, enum, functools, itertools, math, operator, types
import numpy as np
import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
"""

TYPES = {int: 0.25, bool: 0.5, float: 0.0}
NUMBER = 0


@dataclass
class Place:
    """A place: its source, its changes, whether it is common, and what puts back what is shared by all modules."""

    name: str
    source: str
    changes: dict[str, list[str]] = field(default_factory=dict)
    common: bool = False
    after: str = ""

    def __str__(self):
        return self.name.replace(" ", "-")


class Instance:
    """A module made of the source of a place, and the function of a tensor that reads it."""

    def __init__(self, place):
        global NUMBER
        NUMBER += 1
        self.place = place
        self.module = types.ModuleType(f"place{NUMBER}")
        self.run(PRELUDE)

    def __enter__(self):
        sys.modules[self.module.__name__] = self.module
        self.run(self.place.source)
        self.f = vars(self.module).get("f") or scaled_by(self.module.read)
        return self

    def __exit__(self, *_):
        self.run(self.place.after)
        del sys.modules[self.module.__name__]

    def run(self, text):
        exec(compile(text, self.module.__name__, "exec"), vars(self.module))


def scaled_by(read):
    from dualgrad import ops

    return lambda x: ops.sum(x * weight(read()))


def weight(number):
    """A number that tells numbers apart that are equal and not the same."""
    if type(number) in TYPES:
        return math.copysign(1.0, number) * 0.125 + number + TYPES[type(number)] if number == number else 77.0
    return number


PLACES = {}


def place(name, source, /, *, common=False, after="", **changes):
    """Add a place to the table."""
    if name in PLACES:
        raise ValueError(f"{name}: there is such a place already")
    found = {}
    for how, texts in changes.items():
        texts = [texts] if isinstance(texts, str) else list(texts)
        parts = [textwrap.dedent(text) for text in texts]
        found[how] = [
            text if value is None else text.replace("(V)", f"({value})") for text in parts
            for value in (VALUES if "(V)" in text else (None,))
        ]  # fmt: skip
    PLACES[name] = Place(name, textwrap.dedent(source), found, common, textwrap.dedent(after))


# ------------------------------------------------------------------------------------------------ names

place("global", "A = 1.0\ndef read(): return A", common=True, set="A = (V)", delete="del A", array="A = np.float32(3)")
place(
    "absent global",
    "def read():\n try: return A\n except NameError: return 5.0",
    common=True,
    appear=["A = (V)", "del A"],
)
place(
    "global before a builtin",
    "def read(): return float(len((1, 2)))",
    common=True,
    shadow=["len = lambda x: 7", "del len"],
)
place(
    "builtin replaced",
    """
    import builtins
    ORIGINAL = builtins.abs
    def read(): return float(abs(-2))
""",
    change=["builtins.abs = lambda x: 7", "builtins.abs = ORIGINAL"],
    after="builtins.abs = ORIGINAL",
)
place(
    "builtin that appears",
    """
    import builtins
    def read():
        try: return dg_added
        except NameError: return 3.0
""",
    appear=["builtins.dg_added = (V)", "del builtins.dg_added"],
    after="vars(builtins).pop('dg_added', 0)",
)
place(
    "builtins of a namespace",
    """
    space = {"__builtins__": {"scale": 1.0}, "__name__": "other"}
    exec("def read(): return scale", space)
    read = space["read"]
""",
    set="space['__builtins__']['scale'] = (V)",
    replace="space['__builtins__'] = {'scale': 2.0}",
)
place("global statement", "A = 1.0\ndef read():\n global A\n A = A\n return A", set="A = (V)")
place(
    "global deleted and set inside",
    "A = 1.0\ndef read():\n global B\n B = A\n try: return B\n finally: del B",
    set="A = (V)",
)
place(
    "name of another module",
    "m = types.ModuleType('m')\nexec('A = 1.0\\ndef read(): return A', vars(m))\nread = m.read",
    common=True,
    set="m.A = (V)",
    delete="del m.A",
)
place(
    "names of exec",
    "space = {}\nexec('A = 1.0\\ndef read(): return A', space)\nread = space['read']",
    set="space['A'] = (V)",
    clear="space.clear()",
)
place(
    "one code under two globals",
    """
    def scale(): return A
    one, two = types.FunctionType(scale.__code__, {"A": 1.0}), types.FunctionType(scale.__code__, {"A": 1.0})
    def read(): return one() + two()
""",
    first="one.__globals__['A'] = (V)",
    second="two.__globals__['A'] = (V)",
)
place(
    "one code under three globals",
    """
    def scale(): return A
    made = [types.FunctionType(scale.__code__, {"A": 1.0, "__name__": "u"}) for _ in range(3)]
    def read(): return sum(map(types.FunctionType.__call__, made))
""",
    second="made[1].__globals__['A'] = (V)",
    third="made[2].__globals__['A'] = (V)",
)
place(
    "function with globals of a library's name",
    """
    space = {"__name__": "math", "A": 1.0}
    exec("def read(): return A", space)
    read = space["read"]
""",
    set="space['A'] = (V)",
)

# ---------------------------------------------------------------------------------------------- functions

CLOSURE = """
    def make():
        a = 1.0
        def read(): return a
        def put(value):
            nonlocal a
            a = value
        def drop():
            nonlocal a
            del a
        return read, put, drop
    read, put, drop = make()
"""
place("closure", CLOSURE, common=True, set="put((V))", delete="drop()", cell="read.__closure__[0].cell_contents = (V)")
place(
    "nested function",
    CLOSURE + "    inner = read\n    def outer():\n        return lambda: inner()\n    read = outer()",
    common=True,
    set="put((V))",
)
place(
    "closure in a container",
    CLOSURE + "    table = {'a': [read]}\n    def read(): return table['a'][0]()",
    common=True,
    set="put((V))",
    replace="table['a'] = [lambda: 3.0]",
)
place(
    "closure of a function that is not called",
    CLOSURE + "    held = read\n    def read(): return held.__closure__[0].cell_contents",
    set="put((V))",
)
place(
    "default",
    "def read(a=1.0): return a",
    common=True,
    set="read.__defaults__ = ((V),)",
    delete="read.__defaults__ = None",
)
place("entry of a default", "A = [1.0]\ndef read(a=A): return a[0]", common=True, set="A[0] = (V)")
place(
    "keyword default",
    "def read(*, a=1.0): return a",
    common=True,
    set="read.__kwdefaults__ = {'a': (V)}",
    inside="read.__kwdefaults__['a'] = (V)",
    delete="read.__kwdefaults__ = None",
)
place(
    "code",
    "def read(): return 1.0",
    common=True,
    set=["read.__code__ = (lambda: 2.0).__code__", "read.__code__ = (lambda: 1.0).__code__"],
)
place(
    "attribute of a function",
    "def read(): return read.a\nread.a = 1.0",
    common=True,
    set="read.a = (V)",
    delete="del read.a",
    replace="read.__dict__ = {'a': (V)}",
)
place(
    "attribute of a function that is not called",
    "def config(): pass\nconfig.a = 1.0\ndef read(): return config.a",
    common=True,
    set="config.a = (V)",
    delete="del config.a",
    replace="config.__dict__ = {'a': (V)}",
)
place(
    "entry of an attribute of a function",
    "def config(): pass\nconfig.a = [1.0]\ndef read(): return config.a[0]",
    set="config.a[0] = (V)",
    replace="config.a = [2.0]",
)
place(
    "absent attribute of a function",
    "def config(): pass\ndef read(): return getattr(config, 'a', 3.0)",
    appear=["config.a = (V)", "del config.a"],
)
place(
    "name of a function",
    "def config(): pass\ndef read(): return float(len(config.__name__))",
    set=["config.__name__ = 'a'", "config.__name__ = 'config'"],
)
place(
    "name of the function itself",
    "def read(): return float(len(read.__name__) + len(read.__qualname__))",
    name="read.__name__ = 'a'",
    qualname="read.__qualname__ = 'long.name'",
)
place(
    "docstring of a function",
    "def config():\n 'abc'\ndef read(): return float(len(config.__doc__))",
    set="config.__doc__ = 'a'",
)
place(
    "module of a function",
    "def config(): pass\ndef read(): return float(len(config.__module__))",
    set="config.__module__ = 'a'",
)
place(
    "annotations of a function",
    "def config(a: 'x'): pass\ndef read(): return float(len(config.__annotations__['a']))",
    set="config.__annotations__['a'] = 'xyz'",
    replace="config.__annotations__ = {'a': 'xy'}",
)
place(
    "defaults of a function that is not called",
    "def config(a=1.0): pass\ndef read(): return config.__defaults__[0]",
    set="config.__defaults__ = ((V),)",
)
place(
    "code of a function that is not called",
    "def config(): return 1.0\ndef read(): return config.__code__.co_consts[-1]",
    set="config.__code__ = (lambda: 2.0).__code__",
)
place("lambda of a list", "fs = [lambda: 1.0]\ndef read(): return fs[0]()", common=True, set="fs[0] = lambda: (V)")
place(
    "function of a dict",
    "fs = {'a': lambda: 1.0}\ndef read(): return fs['a']()",
    common=True,
    set="fs['a'] = lambda: (V)",
    delete="del fs['a']",
)
place("recursion", "A = 1.0\ndef read(n=3): return A if n == 0 else read(n - 1)", common=True, set="A = (V)")
place(
    "mutual recursion",
    "A = 1.0\ndef odd(n): return A if n == 0 else read(n - 1)\ndef read(n=3): return odd(n) if n else A",
    common=True,
    set="A = (V)",
    replace="def odd(n): return 5.0",
)
place("partial", "A = [1.0]\nread = functools.partial(lambda a: a[0], A)", common=True, set="A[0] = (V)")
place(
    "keywords of a partial", "read = functools.partial(lambda a: a, a=1.0)", common=True, set="read.keywords['a'] = (V)"
)
place(
    "partial set anew",
    "read = functools.partial(lambda a: a, 1.0)",
    set="read.__setstate__((lambda a: a, ((V),), {}, {}))",
)
place(
    "attribute of a partial",
    "p = functools.partial(float, 1)\np.a = 1.0\ndef read(): return p.a * p()",
    set="p.a = (V)",
)
place(
    "partial method",
    """
    class C:
        def of(self, a): return a * self.b
        b = 1.0
        m = functools.partialmethod(of, 2.0)
    c = C()
    def read(): return c.m()
""",
    set="C.b = (V)",
    replace="C.m = functools.partialmethod(C.of, 3.0)",
)
place(
    "decorator",
    """
    def twice(g):
        @functools.wraps(g)
        def inner(): return FACTOR * g()
        return inner
    FACTOR = A = 1.0
    @twice
    def read(): return A
""",
    common=True,
    inner="A = (V)",
    outer="FACTOR = (V)",
    wrapped="read = read.__wrapped__",
)
place(
    "wrapped function",
    "A = 1.0\n@functools.wraps(lambda: 0)\ndef g(): return A\ndef read(): return g.__wrapped__() + g()",
    set="g.__wrapped__ = lambda: (V)",
    inner="A = (V)",
)
place(
    "decorator class",
    """
    class Times:
        def __init__(self, g): functools.update_wrapper(self, g); self.g = g; self.k = 1.0
        def __call__(self): return self.k * self.g()
    A = 1.0
    @Times
    def read(): return A
""",
    set="read.k = (V)",
    inner="A = (V)",
    replace="read.g = lambda: 4.0",
)
place("cached function", "A = 1.0\n@functools.lru_cache\ndef read(): return A", set=["A = 2.0", "read.cache_clear()"])
place(
    "cached function called",
    "A = 1.0\n@functools.cache\ndef g(k): return A * k\ndef read(): return g(2)",
    set=["A = 2.0", "g.cache_clear()"],
)
place("comprehension", "A = 1.0\ndef read(): return sum([A for _ in range(2)])", common=True, set="A = (V)")
place("generator", "A = [1.0, 2.0]\ndef read(): return sum(a for a in A)", common=True, set="A[0] = (V)")
place(
    "generator function",
    "A = 1.0\ndef parts():\n yield A\n yield A\ndef read(): return sum(parts())",
    common=True,
    set="A = (V)",
)
place("class inside of a function", "A = 1.0\ndef read():\n class C:\n  a = A\n return C.a", set="A = (V)")
place(
    "class inside of a closure",
    """
    def make(a):
        def read():
            class C:
                b = a
                def m(self): return a + self.b
            return C().m()
        return read
    read = make([1.0])
    read = make(1.0)
""",
    set="read.__closure__[0].cell_contents = (V)",
)
place(
    "star arguments",
    "A = (1.0,)\nK = {'b': 1.0}\ndef g(a, b): return a * b\ndef read(): return g(*A, **K)",
    common=True,
    position="A = ((V),)",
    keyword="K['b'] = (V)",
)
place(
    "coroutine",
    """
    A = 1.0
    async def g(): return A
    def read():
        c = g()
        try: c.send(None)
        except StopIteration as e: return e.value
""",
    set="A = (V)",
)
place(
    "generator that waits",
    "def g():\n k = 0.0\n while True:\n  k += 1.0\n  yield k\nit = g()\ndef read(): return next(it)",
    again="it = g()",
)
place(
    "imported in the function",
    """
    import sys
    sys.modules["dg_a"] = m = types.ModuleType("dg_a")
    m.A = 1.0
    def read():
        import dg_a
        return dg_a.A
""",
    common=True,
    set="m.A = (V)",
    swap=["sys.modules['dg_a'] = types.SimpleNamespace(A=(V))"],
    delete="del sys.modules['dg_a']",
    after="sys.modules.pop('dg_a', 0)",
)
place(
    "name imported in the function",
    """
    import sys
    sys.modules["dg_a"] = m = types.ModuleType("dg_a")
    m.A = 1.0
    def read():
        from dg_a import A
        return A
""",
    common=True,
    set="m.A = (V)",
    delete="del m.A",
    after="sys.modules.pop('dg_a', 0)",
)
PACKAGE = """
    import sys
    sys.modules["dg_a"] = a = types.ModuleType("dg_a")
    a.__path__ = []
    sys.modules["dg_a.b"] = a.b = b = types.ModuleType("dg_a.b")
    b.__path__ = []
    sys.modules["dg_a.b.c"] = b.c = c = types.ModuleType("dg_a.b.c")
    c.A = 1.0
"""
OVER = "sys.modules.pop('dg_a', 0); sys.modules.pop('dg_a.b', 0); sys.modules.pop('dg_a.b.c', 0)"
OTHER = "types.SimpleNamespace(A=2.0, c=types.SimpleNamespace(A=3.0), b=types.SimpleNamespace(c=types.SimpleNamespace(A=4.0)))"
for way, text in {
    "module inside of packages": "import dg_a.b.c\n        return dg_a.b.c.A",
    "module inside of packages by another name": "import dg_a.b.c as m\n        return m.A",
    "module from a package": "from dg_a.b import c\n        return c.A",
    "name from inside of packages": "from dg_a.b.c import A\n        return A",
}.items():
    place(
        way,
        PACKAGE + f"    def read():\n        {text}",
        after=OVER,
        set="c.A = (V)",
        top=f"sys.modules['dg_a'] = {OTHER}",
        middle=f"sys.modules['dg_a.b'] = {OTHER}",
        low=f"sys.modules['dg_a.b.c'] = {OTHER}",
        inner=f"a.b = {OTHER}",
        innermost=f"b.c = {OTHER}",
    )
place(
    "relative import",
    PACKAGE
    + """
    exec("def read():\\n from .c import A\\n return A\\ndef other():\\n from . import c\\n return c.A", vars(b))
    b.__package__ = "dg_a.b"
    read, other = b.read, b.other
""",
    after=OVER,
    set="c.A = (V)",
    swap=f"sys.modules['dg_a.b.c'] = {OTHER}",
)
place(
    "relative import of a module",
    PACKAGE
    + """
    exec("def read():\\n from . import c\\n return c.A\\n", vars(b))
    b.__package__ = "dg_a.b"
    read = b.read
""",
    after=OVER,
    set="c.A = (V)",
    swap=f"b.c = {OTHER}",
    package="b.__package__ = 'dg_a'",
)
place(
    "import from two levels up",
    PACKAGE
    + """
    exec("def read():\\n from ..b.c import A\\n return A\\n", vars(c))
    c.__package__ = "dg_a.b"
    read = c.read
""",
    after=OVER,
    set="c.A = (V)",
    swap=f"sys.modules['dg_a.b.c'] = {OTHER}",
)
place(
    "the function that imports",
    PACKAGE
    + """
    import builtins
    ORIGINAL = builtins.__import__
    def read():
        from dg_a.b import c
        return c.A
""",
    after=OVER + "\nbuiltins.__import__ = ORIGINAL",
    replace=[f"builtins.__import__ = lambda *a, **k: {OTHER}", "builtins.__import__ = ORIGINAL"],
)

# ---------------------------------------------------------------------------------------------- modules

MODULE = "m = types.ModuleType('m')\nm.A = 1.0\n"
place(
    "module",
    MODULE + "def read(): return m.A",
    common=True,
    set="m.A = (V)",
    delete="del m.A",
    replace="m = types.SimpleNamespace(A=(V))",
)
place(
    "module in a variable",
    MODULE + "def make(m): return lambda: m.A\nread = make(m)",
    common=True,
    set="m.A = (V)",
    delete="del m.A",
)
place("module passed on", MODULE + "def g(m): return m.A\ndef read(): return g(m)", common=True, set="m.A = (V)")
place("module in a list", MODULE + "l = [m]\ndef read(): return l[0].A", set="m.A = (V)")
place(
    "module in a module",
    MODULE + "top = types.ModuleType('top')\ntop.m = m\ndef read(): return top.m.A",
    common=True,
    set="m.A = (V)",
    replace="top.m = types.SimpleNamespace(A=2.0)",
)
place(
    "module by a computed name",
    MODULE + "name = 'A'\ndef read(): return getattr(m, name)",
    set="m.A = (V)",
    name="name = 'B'; m.B = 2.0",
)
place("dict of a module", MODULE + "def read(): return vars(m)['A']", set="m.A = (V)")
place(
    "module that computes its attributes",
    MODULE + "B = 1.0\nm.__getattr__ = lambda name: B\ndef read(): return m.B",
    set="B = (V)",
    replace="m.__getattr__ = lambda name: 3.0",
    delete="del m.__getattr__",
    hide="m.B = 7.0",
)
place(
    "module that begins to compute",
    MODULE + "def read():\n try: return m.B\n except AttributeError: return 3.0",
    appear=["m.__getattr__ = lambda name: 4.0", "m.B = 5.0"],
)
place(
    "passed module that computes",
    MODULE + "m.__getattr__ = lambda name: 1.0\ndef g(m): return m.B\ndef read(): return g(m)",
    replace="m.__getattr__ = lambda name: 3.0",
    delete="del m.__getattr__",
)
place(
    "passed module that begins to compute",
    MODULE + "def g(m):\n try: return m.B\n except AttributeError: return 3.0\ndef read(): return g(m)",
    appear=["m.__getattr__ = lambda name: 4.0", "m.B = 5.0"],
)
place(
    "class of a module",
    MODULE + "class M(types.ModuleType):\n B = 1.0\nm.__class__ = M\ndef read(): return m.B",
    set="M.B = (V)",
    hide="m.B = 2.0",
    replace="class N(types.ModuleType):\n B = 4.0\nm.__class__ = N",
)
place(
    "property of a module",
    MODULE
    + "class M(types.ModuleType):\n @property\n def B(self): return C\nC = 1.0\nm.__class__ = M\ndef read(): return m.B",
    set="C = (V)",
    replace="M.B = property(lambda self: 3.0)",
)
place(
    "library module",
    "ORIGINAL = math.pi\ndef read(): return math.pi",
    common=True,
    set=["math.pi = 3.0", "math.pi = ORIGINAL"],
    after="math.pi = ORIGINAL",
)
place(
    "library module by a computed name",
    "ORIGINAL = math.pi\nname = 'pi'\ndef read(): return getattr(math, name)",
    set=["math.pi = 3.0", "math.pi = ORIGINAL"],
    name="name = 'e'",
    after="math.pi = ORIGINAL",
)
place(
    "library module in a list",
    "l = [math]\nORIGINAL = math.pi\ndef read(): return l[0].pi",
    set="math.pi = 3.0",
    after="math.pi = ORIGINAL",
)
place(
    "function of numpy",
    "ORIGINAL = np.sin\ndef read(): return float(np.sin(1.0))",
    common=True,
    set=["np.sin = lambda x: 3.0", "np.sin = ORIGINAL"],
    after="np.sin = ORIGINAL",
)
place(
    "this package's module",
    "ORIGINAL = ops.sum\ndef f(x): return ops.sum(x * 2)",
    set=["ops.sum = lambda x: x[0] * 3", "ops.sum = ORIGINAL"],
    after="ops.sum = ORIGINAL",
)
place(
    "this package's module by a computed name",
    "ORIGINAL = ops.sum\nname = 'sum'\ndef f(x): return getattr(ops, name)(x * 2)",
    set=["ops.sum = lambda x: x[0] * 3", "ops.sum = ORIGINAL"],
    name="name = 'mean'",
    after="ops.sum = ORIGINAL",
)
place(
    "method of tensors",
    "ORIGINAL = Tensor.sum\ndef f(x): return (x * 2).sum()",
    set=["Tensor.sum = lambda x: x[0] * 3", "Tensor.sum = ORIGINAL"],
    after="Tensor.sum = ORIGINAL",
)

# ---------------------------------------------------------------------------------------------- attributes

OBJECT = "class C:\n    b = 1.0\n    def __init__(self): self.a = 1.0\n    def m(self): return self.a\nc = C()\n"
place(
    "attribute",
    OBJECT + "def read(): return c.a",
    common=True,
    set="c.a = (V)",
    delete="del c.a",
    replace="c = C(); c.a = (V)",
    dict="c.__dict__ = {'a': (V)}",
    update="c.__dict__.update(a=(V))",
    raw="object.__setattr__(c, 'a', (V))",
)
place("method", OBJECT + "read = c.m", common=True, set="c.a = (V)", delete="del c.a", replace="C.m = lambda self: 3.0")
place(
    "method called",
    OBJECT + "def read(): return c.m()",
    common=True,
    set="c.a = (V)",
    replace="C.m = lambda self: 3.0",
    hide="c.m = lambda: 4.0",
)
place(
    "attribute of an attribute",
    OBJECT + "c.c = C()\ndef read(): return c.c.a",
    common=True,
    set="c.c.a = (V)",
    replace="c.c = types.SimpleNamespace(a=2.0)",
)
place(
    "class attribute",
    OBJECT + "def read(): return c.b",
    common=True,
    set="C.b = (V)",
    hide=["c.b = (V)", "del c.b"],
    delete="del C.b",
)
place("attribute of a class", OBJECT + "def read(): return C.b", common=True, set="C.b = (V)", delete="del C.b")
place(
    "inherited attribute",
    OBJECT + "class D(C): pass\nc = D()\ndef read(): return c.b",
    common=True,
    set="C.b = (V)",
    between=["D.b = (V)", "del D.b"],
)
place(
    "absent attribute",
    OBJECT + "def read():\n try: return c.z\n except AttributeError: return 3.0",
    common=True,
    own=["c.z = (V)", "del c.z"],
    inherited=["C.z = (V)", "del C.z"],
    fallback="C.__getattr__ = lambda self, name: 4.0",
)
place(
    "attribute with a default",
    OBJECT + "def read(): return getattr(c, 'z', 3.0)",
    common=True,
    own=["c.z = (V)", "del c.z"],
    inherited="C.z = (V)",
)
place(
    "attribute by a computed name",
    OBJECT + "c.a1 = 1.0\nn = 1\ndef read(): return getattr(c, f'a{n}')",
    set="c.a1 = (V)",
    name="n = 2; c.a2 = 3.0",
)
place(
    "attribute by another getattr",
    OBJECT + "ga, name = getattr, 'a'\ndef read(): return ga(c, name)",
    set="c.a = (V)",
    replace="ga = lambda c, name: 3.0",
)
place(
    "attribute by getattr in a default",
    OBJECT + "def g(c, name, get=getattr): return get(c, name)\nNAME = 'a'\ndef read(): return g(c, NAME)",
    set="c.a = (V)",
)
place(
    "attribute by a mapped getattr",
    OBJECT + "names = ['a']\ndef read(): return sum(map(functools.partial(GET, c), names))\nGET = getattr",
    set="c.a = (V)",
)
place(
    "attribute by a function's entry",
    OBJECT + "t = {'get': getattr}\nn = 'a'\ndef read(): return t['get'](c, n)",
    set="c.a = (V)",
)
place(
    "attribute by __getattribute__",
    OBJECT + "get = object.__getattribute__\nn = 'a'\ndef read(): return get(c, n)",
    set="c.a = (V)",
)
place(
    "attribute by a bound __getattribute__",
    OBJECT + "get = c.__getattribute__\nn = 'a'\ndef read(): return get(n)",
    set="c.a = (V)",
)
place("attribute by attrgetter", OBJECT + "def read(): return operator.attrgetter('a')(c)", set="c.a = (V)")
place(
    "attribute by a kept attrgetter",
    OBJECT + "get = operator.attrgetter('a')\ndef read(): return get(c)",
    set="c.a = (V)",
    replace="get = operator.attrgetter('b')",
)
place(
    "attribute by an attrgetter of another name",
    OBJECT + "from operator import attrgetter as ag\nn = 'a'\ndef read(): return ag(n)(c)",
    set="c.a = (V)",
)
place(
    "method by a methodcaller of another name",
    OBJECT + "from operator import methodcaller as mc\nn = 'm'\ndef read(): return mc(n)(c)",
    set="c.a = (V)",
    replace="C.m = lambda self: 3.0",
)
place(
    "attribute by hasattr",
    OBJECT + "has, n = hasattr, 'z'\ndef read(): return 2.0 if has(c, n) else 3.0",
    set="c.z = 1",
)
place("vars", OBJECT + "def read(): return vars(c)['a']", set="c.a = (V)", replace="c.__dict__ = {'a': (V)}")
place("vars by another name", OBJECT + "v = vars\ndef read(): return v(c)['a']", set="c.a = (V)")
place("dict of attributes", OBJECT + "def read(): return c.__dict__['a']", set="c.a = (V)", more=["c.z = 1"])
place(
    "dict of attributes held",
    OBJECT + "d = c.__dict__\ndef read(): return d['a']",
    set="c.a = (V)",
    replace="c.__dict__ = {'a': 2.0}",
)
place("number of attributes", OBJECT + "def read(): return float(len(vars(c)))", more=["c.z = 1", "c.y = 1", "del c.z"])
place("names of attributes", OBJECT + "def read(): return float(len(dir(c)))", more=["c.z = 1", "C.y = 1", "del c.z"])
place("attribute by format", OBJECT + "def read(): return float('{0.a}'.format(c))", set="c.a = (V)")
place("attribute by a kept format", OBJECT + "t = '{c.a}'.format\ndef read(): return float(t(c=c))", set="c.a = (V)")
place(
    "attribute by a mapped format",
    OBJECT + "fmt = str.format\ndef read(): return float(fmt('{0.a}', c))",
    set="c.a = (V)",
)
place("attribute by format_map", OBJECT + "def read(): return float('{c.a}'.format_map({'c': c}))", set="c.a = (V)")
place("attribute by an f-string", OBJECT + "def read(): return float(f'{c.a}')", common=True, set="c.a = (V)")
place("copy of an object", OBJECT + "def read(): return copy.copy(c).a + copy.deepcopy(c).a", set="c.a = (V)")
place(
    "slot",
    "class C:\n    __slots__ = ('a',)\nc = C()\nc.a = 1.0\ndef read(): return c.a",
    common=True,
    set="c.a = (V)",
    delete="del c.a",
    raw="C.a.__set__(c, (V))",
)
place(
    "slot by a computed name",
    "class C:\n    __slots__ = ('a',)\nc = C()\nc.a = 1.0\nn = 'a'\ndef read(): return getattr(c, n)",
    set="c.a = (V)",
    delete="del c.a",
)
place(
    "slot by its descriptor",
    "class C:\n    __slots__ = ('a',)\nc = C()\nc.a = 1.0\nget = C.a.__get__\ndef read(): return get(c)",
    set="c.a = (V)",
    delete="del c.a",
)
place(
    "slot by a renamed descriptor",
    "class C:\n    __slots__ = ('a',)\nC.b = C.a\nc = C()\nc.a = 1.0\ndef read(): return c.b",
    set="c.a = (V)",
)
place(
    "slot by another class's descriptor",
    "class C:\n    __slots__ = ('a',)\nd = C.a\nc = C()\nc.a = 1.0\ndef read(): return d.__get__(c)",
    set="c.a = (V)",
)
place(
    "inherited slot",
    "class B:\n    __slots__ = ('a',)\nclass C(B): pass\nc = C()\nc.a = 1.0\ndef read(): return c.a",
    common=True,
    set="c.a = (V)",
)
place(
    "private attribute",
    "class C:\n    def __init__(self): self.__a = 1.0\n    def read(self): return self.__a\nc = C()\nread = c.read",
    common=True,
    set="c._C__a = (V)",
)
place(
    "class of an object",
    OBJECT + "class D: \n    b = 2.0\ndef read(): return c.b",
    set=["c.__class__ = D", "c.__class__ = C"],
)
place(
    "name of a class",
    OBJECT + "def read(): return float(len(type(c).__name__) + len(C.__qualname__))",
    name="C.__name__ = 'Long'",
    qualname="C.__qualname__ = 'L.o'",
)
place("module of a class", OBJECT + "def read(): return float(len(C.__module__))", set="C.__module__ = 'a'")
place(
    "bases of a class",
    "class A:\n    b = 1.0\nclass B:\n    b = 2.0\nclass C(A): pass\nc = C()\ndef read(): return c.b",
    set=["C.__bases__ = (B,)", "C.__bases__ = (A,)"],
)
place(
    "bases read",
    "class A:\n    b = 1.0\nclass B:\n    b = 2.0\nclass C(A): pass\ndef read(): return C.__bases__[0].b + C.__mro__[1].b",
    set=["C.__bases__ = (B,)", "B.b = 3.0"],
)
place(
    "mixin",
    """
    class Base: pass
    class A(Base):
        def b(self): return 1.0
    class M(Base):
        def b(self): return 2.0 + super().b()
    class C(A): pass
    c = C()
    def read(): return c.b()
""",
    insert=["class N(M, A): pass\nC.__bases__ = (N,)", "C.__bases__ = (A,)"],
)
place(
    "super",
    "class A:\n    k = 1.0\n    def m(self): return self.k\nclass B(A):\n    def m(self): return 2 * super().m()\nc = B()\nread = c.m",
    common=True,
    set="A.k = (V)",
    replace="A.m = lambda self: 3.0",
)
place(
    "super with arguments",
    "class A:\n    k = 1.0\nclass B(A):\n    k = 5.0\n    def m(self): return super(B, self).k\nc = B()\nread = c.m",
    set="A.k = (V)",
)
place(
    "property",
    "class C:\n    _a = 1.0\n    @property\n    def a(self): return self._a\nc = C()\ndef read(): return c.a",
    common=True,
    set="c._a = (V)",
    of_class="C._a = (V)",
    replace="C.a = property(lambda self: 4.0)",
    constant="C.a = 5.0",
)
place(
    "property around a partial",
    "class C: pass\nA = [1.0]\nC.a = property(functools.partial(lambda l, self: l[0], A))\nc = C()\ndef read(): return c.a",
    set="A[0] = (V)",
)
place(
    "property around a builtin",
    "class C:\n    def __getitem__(self, k): return A\nA = 1.0\nd = {}\nclass K(dict): a = property(len)\nc = K()\ndef read(): return float(c.a)",
    more=["c['x'] = 1"],
)
place(
    "cached property",
    "A = 1.0\nclass C:\n    @functools.cached_property\n    def a(self): return A\nc = C()\ndef read(): return c.a",
    set=["A = 2.0", "del c.a", "c.a = 5.0"],
)
place(
    "data descriptor",
    "class D:\n    k = 1.0\n    def __get__(self, o, t=None): return self.k\n    def __set__(self, o, v): pass\nclass C: a = D()\nc = C()\ndef read(): return c.a",
    set="vars(C)['a'].k = (V)",
    of_class="D.k = (V)",
    hide="c.__dict__['a'] = 4.0",
    turn="del D.__set__; c.__dict__['a'] = 4.0",
)
place(
    "other descriptor",
    "class D:\n    k = 1.0\n    def __get__(self, o, t=None): return self.k\nclass C: a = D()\nc = C()\ndef read(): return c.a",
    set="vars(C)['a'].k = (V)",
    hide="c.a = 4.0",
    become="D.__set__ = lambda self, o, v: None",
)
place(
    "descriptor that appears",
    "class D: pass\nclass C: a = D()\nC.a.k = 1.0\nc = C()\ndef read(): return 2.0 if isinstance(c.a, D) else 3.0",
    appear="D.__get__ = lambda self, o, t: 1.0",
)
place(
    "__getattr__",
    "A = 1.0\nclass C:\n    def __getattr__(self, n): return A\nc = C()\ndef read(): return c.z",
    set="A = (V)",
    hide="c.z = 3.0",
    replace="C.__getattr__ = lambda self, n: 4.0",
    delete="del C.__getattr__",
)
place(
    "__getattr__ of a wrapper",
    OBJECT
    + "class W:\n    def __init__(self, o): self.o = o\n    def __getattr__(self, n): return getattr(self.o, n)\nw = W(c)\ndef read(): return w.a",
    set="c.a = (V)",
    inside="w.o = types.SimpleNamespace(a=3.0)",
)
place(
    "__getattribute__",
    "A = {'z': 1.0}\nclass C:\n    def __getattribute__(self, n): return A[n]\nc = C()\ndef read(): return c.z",
    set="A['z'] = (V)",
    replace="C.__getattribute__ = object.__getattribute__",
)
place(
    "attribute of a metaclass",
    "class M(type):\n    k = 1.0\nclass C(metaclass=M): pass\ndef read(): return C.k",
    set="M.k = (V)",
    hide="C.k = 2.0",
)
place(
    "property of a metaclass",
    "A = 1.0\nclass M(type):\n    @property\n    def k(cls): return A\nclass C(metaclass=M): pass\ndef read(): return C.k",
    set="A = (V)",
    replace="M.k = 3.0",
)
place(
    "__call__ of a metaclass",
    "class M(type):\n    def __call__(cls): return A\nA = 1.0\nclass C(metaclass=M): pass\ndef read(): return C()",
    set="A = (V)",
    replace="M.__call__ = lambda cls: 3.0",
)
place(
    "__getattr__ of a metaclass",
    "class M(type):\n    def __getattr__(cls, n): return A\nA = 1.0\nclass C(metaclass=M): pass\ndef read(): return C.zz",
    set="A = (V)",
    hide="C.zz = 2.0",
    replace="M.__getattr__ = lambda cls, n: 3.0",
)
place(
    "metaclass that is assigned",
    "class K(type): k = 1.0\nclass M(type): k = 2.0\nclass C(metaclass=K): pass\ndef read(): return C.k",
    set=["C.__class__ = M", "M.k = 3.0"],
)
place(
    "class method",
    "class C:\n    k = 1.0\n    @classmethod\n    def m(cls): return cls.k\ndef read(): return C.m()",
    common=True,
    set="C.k = (V)",
    replace="C.m = lambda: 3.0",
)
place(
    "static method",
    "A = 1.0\nclass C:\n    @staticmethod\n    def m(): return A\ndef read(): return C.m()",
    common=True,
    set="A = (V)",
    replace="C.m = staticmethod(lambda: 3.0)",
)
place(
    "bound method kept", OBJECT + "l = [c.m]\ndef read(): return l[0]()", set="c.a = (V)", replace="l[0] = lambda: 4.0"
)
place(
    "SimpleNamespace",
    "c = types.SimpleNamespace(a=1.0)\ndef read(): return c.a",
    common=True,
    set="c.a = (V)",
    delete="del c.a",
)
place(
    "text of a SimpleNamespace",
    "c = types.SimpleNamespace(a=1.0)\ndef read(): return float(len(repr(c)))",
    set="c.a = 100.0",
    more="c.b = 1",
    later="c.b = 12345",
)
place(
    "equal SimpleNamespaces",
    "c, d = types.SimpleNamespace(a=1.0), types.SimpleNamespace(a=1.0)\ndef read(): return 2.0 if c == d else 3.0",
    set="c.a = 100.0",
    more="d.b = 1",
)
place(
    "equal SimpleNamespaces deep",
    "c, d = types.SimpleNamespace(a=[1.0]), types.SimpleNamespace(a=[1.0])\ndef read(): return 2.0 if c == d else 3.0",
    set="c.a[0] = 100.0",
)
place(
    "attributes of a subclass of float",
    "class F(float): k = 1.0\nc = F(2)\nc.j = 1.0\ndef read(): return float(c) * c.k * c.j",
    of_class="F.k = (V)",
    own="c.j = (V)",
    replace="c = F(3)",
    special="F.__float__ = lambda self: 9.0",
)

# ---------------------------------------------------------------------------------------------- special methods

for name, arguments, use in (
    ("__mul__", "self, o", "c * 2"),
    ("__rmul__", "self, o", "2 * c"),
    ("__call__", "self", "c()"),
    ("__getitem__", "self, i", "c[0]"),
    ("__enter__", "self", None),
    ("__float__", "self", "float(c)"),
    ("__neg__", "self", "-c"),
    ("__round__", "self", "round(c)"),
    ("__floor__", "self", "math.floor(c)"),
    ("__abs__", "self", "abs(c)"),
    ("__lt__", "self, o", "weight(c < 1)"),
    ("__eq__", "self, o", "c == 1"),
    ("__missing__", "self, k", "c['zz']"),
    ("__matmul__", "self, o", "c @ 1"),
    ("__iadd__", "self, o", "iadd(c)"),
    ("__divmod__", "self, o", "divmod(c, 2)"),
):
    body = f"float(({use}) + 0)" if use else "enter()"
    base = "dict" if name == "__missing__" else ""
    place(
        f"special method {name}",
        f"""
    A = 1.0
    def weight(a): return a
    def enter():
        with c as a: return a
    def iadd(c):
        c += 1
        return c
    class C({base}):
        def {name}({arguments}): return A
        def __exit__(self, *_): pass
        __hash__ = object.__hash__
    c = C()
    def read(): return {body}
    """,
        set="A = (V)",
        replace=f"C.{name} = lambda {arguments}: 4.0",
        delete=f"del C.{name}",
    )
for name, arguments, use, first, second in (
    ("__len__", "self", "len(c)", "2", "3"),
    ("__contains__", "self, k", "(1 in c)", "True", "False"),
    ("__bool__", "self", "bool(c)", "True", "False"),
    ("__iter__", "self", "sum(c)", "iter([1, 2])", "iter([1, 5])"),
    ("__hash__", "self", "hash(c)", "2", "3"),
    ("__index__", "self", "[1, 2, 3][c]", "0", "1"),
    ("__format__", "self, s", "float(f'{c}')", "'1'", "'2'"),
    ("__str__", "self", "float(str(c))", "'1'", "'2'"),
    ("__repr__", "self", "float(repr(c))", "'1'", "'2'"),
    ("__int__", "self", "int(c)", "1", "2"),
    ("__length_hint__", "self", "operator.length_hint(c)", "1", "2"),
    ("__reversed__", "self", "sum(reversed(c))", "iter([1])", "iter([2])"),
    ("__bytes__", "self", "len(bytes(c))", "b'a'", "b'ab'"),
    ("__array__", "self, dtype=None, copy=None", "float(np.sum(np.asarray(c)))", "np.ones(2)", "np.ones(3)"),
):
    place(
        f"special method {name}",
        f"""
    class C:
        def {name}({arguments}): return {first}
    c = C()
    def read(): return float({use})
    """,
        replace=[f"C.{name} = lambda {arguments}: {second}", f"C.{name} = lambda {arguments}: {first}"],
        **({} if name == "__hash__" else {"delete": f"del C.{name}"}),
    )
place(
    "__array__ of an instance",
    "class C: pass\nc = C()\nl = [1.0]\nc.__array__ = lambda dtype=None, copy=None: np.array(l)\ndef read(): return float(np.sum(np.asarray(c)))",
    set="l[0] = 2.0",
    replace="c.__array__ = lambda dtype=None, copy=None: np.ones(7)",
)
place(
    "__array_interface__",
    "a = np.ones(2)\nclass C: pass\nc = C()\nc.__array_interface__ = a.__array_interface__\nc.a = a\ndef read(): return float(np.sum(np.asarray(c)))",
    set="a[0] = 7.0",
)
place(
    "__array_interface__ of something unseen",
    "a = np.ones(2)\nclass C: pass\nc = C()\nc.__array_interface__ = a.__array_interface__\ndef read(): return float(np.sum(np.asarray(c)))",
    set="a[0] = 7.0",
)
place(
    "special method that appears",
    "class C:\n    def __len__(self): return 1\nc = C()\ndef read(): return 2.0 if c else 3.0",
    appear="C.__bool__ = lambda self: False",
    change="C.__len__ = lambda self: 0",
)
place(
    "inherited special method",
    "class B: pass\nclass C(B): pass\nc, A = C(), 1.0\ndef read():\n try: return c()\n except TypeError: return 9.0",
    appear=["B.__call__ = lambda self: A", "A = 3.0", "C.__call__ = lambda self: 4.0"],
)
place(
    "hash of an entry",
    "class K:\n    h = 1\n    def __hash__(self): return self.h\n    def __eq__(self, o): return True\nk = K()\nd = {k: 2.0}\ndef read(): return d.get(k, 3.0)",
    set="k.h = 5",
)

# ---------------------------------------------------------------------------------------------- kinds of classes

place(
    "dataclass",
    "@dataclasses.dataclass\nclass C:\n    a: float = 1.0\nc = C()\ndef read(): return c.a",
    common=True,
    set="c.a = (V)",
    replace="c = C(2.0)",
)
place(
    "frozen dataclass",
    "@dataclasses.dataclass(frozen=True)\nclass C:\n    a: float = 1.0\nc = C()\ndef read(): return c.a",
    common=True,
    replace="c = dataclasses.replace(c, a=(V))",
    raw="object.__setattr__(c, 'a', (V))",
)
place(
    "dataclass with slots",
    "@dataclasses.dataclass(slots=True)\nclass C:\n    a: float = 1.0\nc = C()\ndef read(): return c.a",
    common=True,
    set="c.a = (V)",
)
place(
    "dataclass as a dict",
    "@dataclasses.dataclass\nclass C:\n    a: float = 1.0\n    l: list = None\nc = C(1.0, [1.0])\ndef read(): return dataclasses.asdict(c)['a'] + dataclasses.astuple(c)[1][0]",
    set="c.a = (V)",
    deep="c.l[0] = 3.0",
)
place(
    "fields of a dataclass",
    "@dataclasses.dataclass\nclass C:\n    a: float = 1.0\nc = C()\ndef read(): return sum(getattr(c, f.name) for f in dataclasses.fields(c))",
    set="c.a = (V)",
)
place(
    "replaced dataclass",
    "@dataclasses.dataclass\nclass C:\n    a: float = 1.0\n    b: float = 1.0\nc = C()\ndef read(): return dataclasses.replace(c, b=3.0).a",
    set="c.a = (V)",
)
place(
    "equal dataclasses",
    "@dataclasses.dataclass\nclass C:\n    a: float = 1.0\nc, d = C(), C()\ndef read(): return 2.0 if c == d else 3.0",
    set="c.a = (V)",
)
place(
    "text of a dataclass",
    "@dataclasses.dataclass\nclass C:\n    a: float = 1.0\nc = C()\ndef read(): return float(len(repr(c)))",
    set="c.a = 12345.0",
)
place(
    "namedtuple",
    "T = collections.namedtuple('T', 'a b')\nt = T(1.0, [1.0])\ndef read(): return t.a * t.b[0]",
    common=True,
    set="t = T((V), [2.0])",
    inside="t.b[0] = (V)",
    method="t = t._replace(a=(V))",
)
place(
    "Enum",
    "class E(enum.Enum):\n    A = 1.0\n    B = 2.0\ne = E.A\ndef read(): return e.value",
    common=True,
    set=["e = E.B", "e = E.A"],
    inside="E.A._value_ = 3.0",
)
place(
    "member of an Enum",
    "class E(enum.Enum):\n    A = 1.0\n    B = 2.0\ndef read(): return E.A.value",
    common=True,
    inside="E.A._value_ = 3.0",
    members="E._member_map_['A'] = E.B",
)
place(
    "member of an Enum by name",
    "class E(enum.Enum):\n    A = 1.0\n    B = 2.0\nn = 'A'\ndef read(): return E[n].value",
    set=["n = 'B'", "n = 'A'"],
    members="E._member_map_['A'] = E.B",
)
place(
    "member of an Enum by value",
    "class E(enum.Enum):\n    A = 1\n    B = 2\nn = 1\ndef read(): return float(len(E(n).name)) + E(n).value",
    set=["n = 2", "n = 1"],
    members="E._value2member_map_[1] = E.B",
)
place(
    "IntEnum",
    "class E(enum.IntEnum):\n    A = 1\n    B = 2\ne = E.A\ndef read(): return float(e)",
    common=True,
    set=["e = E.B", "e = E.A"],
)
place(
    "Flag",
    "class E(enum.Flag):\n    A = 1\n    B = 2\ne = E.A\ndef read(): return 2.0 if E.B in e else 3.0",
    set=["e = E.A | E.B", "e = E.A"],
)
place(
    "abstract class",
    "import abc\nclass A(abc.ABC): pass\nclass C: pass\nc = C()\ndef read(): return 2.0 if isinstance(c, A) else 3.0",
    register="A.register(C)",
)
place(
    "abstract class by another isinstance",
    "import abc\nclass A(abc.ABC): pass\nclass C: pass\nc = C()\nisa = isinstance\ndef read(): return 2.0 if isa(c, A) else 3.0",
    register="A.register(C)",
)
place(
    "abstract class in a match",
    "import abc\nclass A(abc.ABC): pass\nclass C: pass\nc = C()\ndef read():\n match c:\n  case A(): return 2.0\n  case _: return 3.0",
    register="A.register(C)",
)
place(
    "abstract class by __instancecheck__",
    "import abc\nclass A(abc.ABC): pass\nclass C: pass\nc = C()\ndef read(): return 2.0 if A.__instancecheck__(c) else 3.0",
    register="A.register(C)",
)
place(
    "abstract class of numbers",
    "import numbers\nclass C: pass\nc = C()\ndef read(): return 2.0 if isinstance(c, numbers.Number) else 3.0",
    register="numbers.Number.register(C)",
)
place(
    "tuple of classes",
    "class A: pass\nclass C: pass\nc = C()\nkinds = [A]\ndef read(): return 2.0 if isinstance(c, tuple(kinds)) else 3.0",
    more="kinds.append(C)",
    other="c = A()",
)
place(
    "union of classes",
    "N = int | float\na = 1.0\ndef read(): return 2.0 if isinstance(a, N) else 3.0",
    set=["a = '1'", "N = str | int"],
)
place(
    "protocol",
    "import typing\n@typing.runtime_checkable\nclass P(typing.Protocol):\n    a: float\nclass C: pass\nc = C()\nc.a = 1\ndef read(): return 2.0 if isinstance(c, P) else 3.0",
    delete="del c.a",
)
place(
    "subclass hook",
    "import abc\nclass A(abc.ABC):\n    @classmethod\n    def __subclasshook__(cls, k): return ANSWER\nANSWER = True\nclass C: pass\ndef read(): return 2.0 if issubclass(C, A) else 3.0",
    set="ANSWER = False",
)
place(
    "instance check",
    "class M(type):\n    def __instancecheck__(cls, o): return ANSWER\nANSWER = True\nclass A(metaclass=M): pass\ndef read(): return 2.0 if isinstance(3, A) else 3.0",
    set="ANSWER = False",
    replace="M.__instancecheck__ = lambda cls, o: False",
)
place(
    "singledispatch",
    "@functools.singledispatch\ndef g(a): return 1.0\n@g.register\ndef _(a: str): return 2.0\nk = 1\ndef read(): return g(k)",
    more="@g.register\ndef _(a: int): return 5.0",
    argument="k = 'a'",
)
place(
    "single dispatch of a method",
    "class C:\n    @functools.singledispatchmethod\n    def g(self, a): return 1.0\nc = C()\ndef read(): return c.g(1)",
    replace="C.g = lambda self, a: 4.0",
    more="@vars(C)['g'].register\ndef _(self, a: int): return 5.0",
)
place(
    "match on a class",
    "class C:\n    __match_args__ = ('a', 'b')\nc = C()\nc.a, c.b = 1.0, 2.0\ndef read():\n match c:\n  case C(a, 2.0): return a\n  case C(b=b): return b + 7",
    set="c.a = (V)",
    other="c.b = 3.0",
    names="C.__match_args__ = ('b', 'a')",
)
place(
    "match on a mapping",
    "d = {'a': 1.0}\ndef read():\n match d:\n  case {'a': a, **rest}: return a + len(rest)\n  case _: return 9.0",
    set="d['a'] = (V)",
    more="d['b'] = 1",
    delete="del d['a']",
)
place(
    "match on a mapping of one's own",
    "class D(collections.UserDict): pass\nd = D(a=1.0)\ndef read():\n match d:\n  case {'a': a}: return a\n  case _: return 9.0",
    set="d['a'] = (V)",
    get="D.get = lambda self, k, default=None: 5.0",
)
place(
    "match on a sequence",
    "l = [1.0, [2.0]]\ndef read():\n match l:\n  case [a, [b]]: return a + b\n  case _: return 9.0",
    set="l[0] = (V)",
    deep="l[1][0] = 3.0",
    more="l.append(1)",
)
place(
    "match on a value",
    "class K: A = 1.0\nv = 1.0\ndef read():\n match v:\n  case K.A: return 2.0\n  case _: return 3.0",
    set="K.A = 2.0",
    value="v = 2.0",
)
place(
    "exception caught",
    "class E(Exception): pass\nclass F(E): pass\nkinds = [E]\ndef read():\n try: raise F\n except tuple(kinds): return 2.0\n except Exception: return 3.0",
    less="kinds[0] = KeyError",
)
place("argument of an exception", "e = ValueError(1.0)\ndef read(): return e.args[0]", set="e.args = (2.0,)")
place(
    "attribute of an exception", "class E(Exception): pass\ne = E()\ne.a = 1.0\ndef read(): return e.a", set="e.a = 2.0"
)

# ---------------------------------------------------------------------------------------------- containers

place(
    "list",
    "l = [1.0]\ndef read(): return l[0]",
    common=True,
    set="l[0] = (V)",
    more="l.insert(0, 3.0)",
    delete="l.clear()",
    replace="l = [(V)]",
)
place(
    "nested list",
    "l = [[1.0], [2.0]]\ndef read(): return l[0][0]",
    common=True,
    set="l[0][0] = (V)",
    swap="l.reverse()",
    replace="l[0] = [5.0]",
)
place(
    "long list",
    "l = [0.0] * 6000\nl[-1] = 1.0\ndef read(): return float(sum(l))",
    set=["l[3000] = 2.0", "l[3000] = 0", "l[5999] = True"],
    more="l.append(1.0)",
)
place(
    "list with integers above 256",
    "l = [1000000, 1000000]\ndef read(): return float(l[0])",
    set=["l[0] = int('1000000')", "l[0] = 1000001", "l[0] = 1e6"],
)
place(
    "identity of two floats",
    "A = 1e6\nB = A\ndef read(): return 2.0 if A is B else 3.0",
    set=["A = float('1e6')", "A = B"],
)
place(
    "identity of two strings",
    "A = 'ab' * 10\nB = A\nC = [A]\ndef read(): return 2.0 if C[0] is B else 3.0",
    set=["C[0] = ''.join(['ab'] * 10)", "C[0] = B"],
)
place(
    "identity with a sentinel", "S = object()\nc = S\ndef read(): return 2.0 if c is S else 3.0", set=["c = 5", "c = S"]
)
place(
    "dict",
    "d = {'a': 1.0}\ndef read(): return d['a']",
    common=True,
    set="d['a'] = (V)",
    delete="del d['a']",
    more="d['b'] = 1",
    replace="d = {'a': (V)}",
)
place(
    "nested dict",
    "d = {'a': {'b': [1.0]}}\ndef read(): return d['a']['b'][0]",
    common=True,
    set="d['a']['b'][0] = (V)",
    replace="d['a'] = {'b': [2.0]}",
)
place(
    "order of a dict",
    "d = {'a': 1.0, 'b': 2.0}\ndef read(): return next(iter(d.values())) + 10 * list(d).index('b')",
    turn="d['a'] = d.pop('a')",
)
place(
    "keys of a dict",
    "d = {1: 1.0, 2: 2.0}\ndef read(): return float(sum(d))",
    set=["del d[1]; d[True] = 1.0", "d[3] = 0"],
)
place(
    "key that is equal",
    "d = {1: 1.0}\ndef read(): return 2.0 if type(next(iter(d))) is int else 3.0",
    set="del d[1]; d[True] = 1.0",
)
place("view of a dict", "d = {'a': 1.0}\nv = d.values()\ndef read(): return sum(v)", set="d['a'] = (V)")
place("get of a dict", "d = {'a': 1.0}\nget = d.get\ndef read(): return get('a')", set="d['a'] = (V)")
place("item of a list", "l = [1.0]\nget = l.__getitem__\ndef read(): return get(0)", set="l[0] = (V)")
place("items of a list mapped", "l = [1.0]\ndef read(): return sum(map(l.__getitem__, [0]))", set="l[0] = (V)")
place("set", "s = {1.0}\ndef read(): return sum(s)", common=True, more=["s.add(2.0)", "s.discard(1.0)", "s.add(1.0)"])
place(
    "set of equal numbers",
    "s = {1.0}\ndef read(): return 2.0 if type(next(iter(s))) is float else 3.0",
    set="s.clear(); s.add(1)",
)
place("frozenset", "s = frozenset({1.0})\ndef read(): return sum(s)", common=True, replace="s = frozenset({2.0})")
place(
    "tuple with a list",
    "t = ([1.0],)\ndef read(): return t[0][0]",
    common=True,
    set="t[0][0] = (V)",
    replace="t = ([5.0],)",
)
place(
    "frozenset with an object",
    "class K: a = 1.0\nk = K()\ns = frozenset({k})\ndef read(): return next(iter(s)).a",
    set="k.a = (V)",
)
place(
    "deque",
    "q = collections.deque([1.0])\ndef read(): return q[0]",
    common=True,
    set="q[0] = (V)",
    turn="q.append(3.0); q.rotate()",
    delete="q.clear()",
)
place(
    "OrderedDict",
    "d = collections.OrderedDict(a=1.0, b=2.0)\ndef read(): return next(iter(d.values()))",
    set="d['a'] = (V)",
    turn="d.move_to_end('a')",
)
place(
    "subclass of OrderedDict",
    "class O(collections.OrderedDict): pass\nd = O(a=1.0, b=2.0)\ndef read(): return next(iter(d.values()))",
    set="d['a'] = (V)",
    turn="d.move_to_end('a')",
)
place(
    "defaultdict",
    "d = collections.defaultdict(lambda: 5.0, a=1.0)\ndef read(): return d['a']",
    common=True,
    set="d['a'] = (V)",
    delete="del d['a']",
)
place(
    "factory of a defaultdict",
    "A = 1.0\nd = collections.defaultdict(lambda: A)\ndef read(): return d['a']",
    set=["A = 2.0", "d.clear()", "d.default_factory = lambda: 7.0; d.clear()"],
)
place(
    "Counter",
    "d = collections.Counter('aab')\ndef read(): return float(d['a'])",
    common=True,
    set=["d['a'] += 1", "d.update('aaa')"],
    absent="del d['a']",
)
place(
    "most common of a Counter",
    "d = collections.Counter('aab')\ndef read(): return float(d.most_common(1)[0][1])",
    set=["d['b'] += 5"],
)
place(
    "ChainMap",
    "e, d = {'a': 1.0}, {}\nm = collections.ChainMap(d, e)\ndef read(): return m['a']",
    set="e['a'] = (V)",
    hide="d['a'] = (V)",
    maps="m.maps.insert(0, {'a': 6.0})",
)
place(
    "UserDict",
    "d = collections.UserDict(a=1.0)\ndef read(): return d['a']",
    set="d['a'] = (V)",
    data="d.data = {'a': (V)}",
)
place("UserList", "l = collections.UserList([1.0])\ndef read(): return l[0]", set="l[0] = (V)", data="l.data = [(V)]")
place(
    "mapping proxy",
    "d = {'a': 1.0}\nm = types.MappingProxyType(d)\ndef read(): return m['a']",
    set="d['a'] = (V)",
    delete="del d['a']",
)
place(
    "mapping proxy of a mapping",
    "d = collections.UserDict(a=1.0)\nm = types.MappingProxyType(d)\ndef read(): return m['a']",
    set="d['a'] = (V)",
)
place(
    "subclass of list",
    "class L(list): k = 1.0\nl = L([1.0])\nl.j = 1.0\ndef read(): return l[0] * l.k * l.j",
    set="l[0] = (V)",
    of_class="L.k = (V)",
    own="l.j = (V)",
    special="L.__getitem__ = lambda self, i: 9.0",
)
place(
    "subclass of dict",
    "class D(dict):\n    def __missing__(self, k): return A\nA = 1.0\nd = D()\ndef read(): return d['a']",
    set="A = (V)",
    add="d['a'] = (V)",
)
place(
    "attributes in a dict",
    "class D(dict):\n    def __getattr__(self, k): return self[k]\nd = D(a=1.0)\ndef read(): return d.a",
    set="d['a'] = (V)",
    hide="object.__setattr__(d, 'a', 8.0)",
)
place(
    "subclass of tuple",
    "class T(tuple): pass\nt = T((1.0,))\nt.k = 1.0\ndef read(): return t[0] * t.k",
    set="t.k = (V)",
    special="T.__getitem__ = lambda self, i: 9.0",
)
place("list that holds itself", "l = [1.0]\nl.append(l)\ndef read(): return l[1][1][0]", set="l[0] = (V)")
place("array.array", "import array\na = array.array('d', [1.0])\ndef read(): return a[0]", set=["a[0] = 2.0"])
place("bytearray", "a = bytearray(b'ab')\ndef read(): return float(a[0])", set=["a[0] = 5"])
place("memoryview", "a = bytearray(b'ab')\nm = memoryview(a)\ndef read(): return float(m[0])", set=["a[0] = 5"])
place(
    "iterator",
    "it = iter([1.0, 1.0, 1.0, 4.0, 5.0, 6.0, 7.0, 8.0])\ndef read(): return next(it)",
    again="it = iter([1.0] * 8)",
)
place("itertools.count", "it = itertools.count()\ndef read(): return float(next(it))", again="it = itertools.count(5)")
place(
    "cycle that agrees twice",
    "it = itertools.cycle([1.0, 1.0, 1.0, 2.0])\ndef read(): return next(it)",
    again="it = itertools.cycle([1.0])",
)
place(
    "next of an iterator",
    "get = itertools.count().__next__\ndef read(): return float(get())",
    again="get = itertools.count(5).__next__",
)
place(
    "iterator of one's own",
    "class I:\n    n = 0\n    def __iter__(self): return self\n    def __next__(self): self.n += 1; return self.n\ni = I()\ndef read(): return float(next(i))",
    again="i = I()",
)
place("counter that agrees twice", "n = [0]\ndef read():\n n[0] += 1\n return float(n[0] // 4)", again="n[0] = 0")
place("counter in an attribute", "class C: n = 0\ndef read():\n C.n += 1\n return float(C.n // 3)", again="C.n = 0")
place(
    "counter behind a branch",
    "n = [0]\nON = False\ndef read():\n if ON: n[0] += 1\n return float(n[0])",
    turn=["ON = True", "ON = False"],
)
place(
    "list that is used up",
    "l = [4.0, 3.0, 2.0, 1.0, 1.0, 1.0]\ndef read(): return l.pop()",
    again="l.extend([1.0, 5.0, 6.0, 7.0])",
)
place("slice", "s = slice(0, 1)\nl = [1.0, 2.0]\ndef read(): return sum(l[s])", common=True, set="s = slice(0, 2)")
place(
    "operator.itemgetter",
    "get = operator.itemgetter(0)\nl = [1.0, 2.0]\ndef read(): return get(l)",
    set="l[0] = (V)",
    replace="get = operator.itemgetter(1)",
)

# ---------------------------------------------------------------------------------------------- arrays

ARRAYS = {
    "array": "a = np.ones(3)", "array of a megabyte": "a = np.ones(150_000)", "array that is not contiguous": "a = np.ones((6, 4))[::2, 1]",
    "transposed array": "a = np.ones((2, 3)).T[0]", "view of an array": "base = np.ones(9)\na = base[3:6]", "reversed array": "a = np.ones(4)[::-1]",
    "float32 array": "a = np.ones(3, np.float32)", "integer array": "a = np.ones(3, int)", "bool array": "a = np.ones(3, bool)",
    "array of the other byte order": "a = np.ones(3, '>f8')", "complex array": "a = np.ones(3, complex)", "memory-mapped array": "a = np.ones(3).view(np.memmap)",
    "recarray": "a = np.ones(3).view(np.recarray)",
}  # fmt: skip
for name, text in ARRAYS.items():
    place(
        name,
        text + "\ndef read(): return float(a[0].real) + float(a[1].real)",
        common=name in ("array", "array of a megabyte", "view of an array"),
        set=["a[0] = 0", "a[0] = 1", "a[1] = 5"],
        replace="a = np.full(3, 5.0)",
    )
place("base of an array", "base = np.ones(9)\na = base[3:6]\ndef read(): return a[0]", set="base[3] = 7.0")
place(
    "array without dimensions",
    "a = np.array(1.0)\ndef read(): return float(a)",
    common=True,
    set=["a[...] = 2.0", "a[...] = -0.0"],
)
place(
    "read-only array",
    "b = np.ones(3)\na = b.view()\na.flags.writeable = False\ndef read(): return a[0]",
    set="b[0] = 2.0",
)
place(
    "flags of an array",
    "a = np.ones(3)\ndef read(): return 2.0 if a.flags.writeable else 3.0",
    set="a.flags.writeable = False",
)
place("zero of an array", "a = np.zeros(3)\ndef read(): return float(np.copysign(1, a[0]))", set="a[0] = -0.0")
place("nan of an array", "a = np.full(3, np.nan)\ndef read(): return float(np.signbit(a[0]))", set="a[0] = -np.nan")
place("sign of a nan", "A = float('nan')\ndef read(): return math.copysign(1.0, A)", set="A = -A")
place("shape of an array", "a = np.ones((2, 3))\ndef read(): return float(a.shape[0])", set="a.shape = (3, 2)")
place("dtype of an array", "a = np.ones(2, np.int64)\ndef read(): return float(a[0])", set="a.dtype = np.float64")
place("strides of an array", "a = np.arange(8.0)\ndef read(): return float(a[1])", set="a = a[::2]")
place(
    "empty array",
    "a = np.ones(0)\ndef read(): return float(a.size)",
    set="a = np.ones((0, 2)); a.resize((2, 2), refcheck=False)",
)
place("array that is resized", "a = np.ones(3)\ndef read(): return float(a.sum())", set="a.resize(5, refcheck=False)")
place(
    "broadcast array",
    "b = np.ones(1)\na = np.broadcast_to(b, (1 << 20, 1 << 20))\ndef read(): return float(a[5, 7])",
    set="b[0] = 3.0",
)
place(
    "subclass of array",
    "class A(np.ndarray): k = 1.0\na = np.ones(3).view(A)\na.j = 1.0\ndef read(): return float(a[0]) * a.k * a.j",
    set="a[0] = 2.0",
    of_class="A.k = (V)",
    own="a.j = (V)",
)
place(
    "structured array",
    "a = np.ones(3, [('u', 'f8'), ('v', 'i4')])\ndef read(): return float(a['u'][0])",
    set=["a['u'][0] = 2.0"],
    names="a.dtype.names = ('v', 'u')",
)
place(
    "structured array that is not contiguous",
    "a = np.zeros(6, np.dtype([('u', 'i1'), ('v', 'f8')], align=True))[::2]\na['v'] = 1\ndef read(): return float(a['v'][0])",
    set=["a['v'][0] = 2.0"],
)
place(
    "array of objects",
    "a = np.array([1.0, [1.0]], object)\ndef read(): return a[0] * a[1][0]",
    set="a[0] = (V)",
    deep="a[1][0] = (V)",
)
place("array of texts", "a = np.array(['1', '2'])\ndef read(): return float(a[0])", set="a[0] = '3'")
place(
    "masked array",
    "a = np.ma.masked_array([1.0, 2.0], mask=[0, 0])\ndef read(): return float(a.sum())",
    set="a[0] = 5.0",
    mask="a.mask = [1, 0]",
)
place(
    "numpy scalar of a list",
    "l = [np.float64(1)]\ndef read(): return float(l[0])",
    common=True,
    set=["l[0] = np.float64(2)", "l[0] = np.float32(1)"],
)
place("numpy record", "r = np.ones(1, [('u', 'f8')])[0]\ndef read(): return float(r['u'])", set="r['u'] = 2.0")
place(
    "numpy datetime",
    "l = [np.datetime64(1, 'D')]\ndef read(): return float((l[0] - np.datetime64(0, 's')) / np.timedelta64(1, 's'))",
    set="l[0] = np.datetime64(1, 's')",
)
place("polynomial", "p = np.poly1d([1.0, 2.0])\ndef read(): return float(p(2.0))", entry="p.coeffs[0] = 5.0")
place(
    "polynomial of a series",
    "p = np.polynomial.Polynomial([1.0, 2.0])\ndef read(): return float(p(2.0))",
    entry="p.coef[0] = 5.0",
    domain="p.domain = np.array([-2, 2])",
)
place(
    "ufunc made of a method",
    "d = {1.0: 1.0}\nu = np.frompyfunc(d.get, 1, 1)\ndef read(): return float(u(1.0))",
    set="d[1.0] = 5.0",
)
place(
    "ufunc made of a function",
    "A = 1.0\nu = np.frompyfunc(lambda x: A, 1, 1)\ndef read(): return float(u(1.0))",
    set="A = 5.0",
)
place(
    "ufunc made of a closure",
    CLOSURE
    + "    held, u = make()[0], np.frompyfunc(lambda x, r=read: r(), 1, 1)\n    def read(): return float(u(1.0)) + held()",
    set="put((V))",
)
place(
    "ufunc made inside", "d = {1.0: 1.0}\ndef read(): return float(np.frompyfunc(d.get, 1, 1)(1.0))", set="d[1.0] = 5.0"
)
place(
    "vectorised function",
    "d = {1.0: 1.0}\nu = np.vectorize(d.get)\ndef read(): return float(u(1.0))",
    set="d[1.0] = 5.0",
    replace="u.pyfunc = lambda x: 8.0",
)
place(
    "settings of numpy for errors",
    "def read(): return 2.0 if np.geterr()['divide'] == 'warn' else 3.0",
    set=["OLD = np.seterr(divide='ignore')", "np.seterr(**OLD)"],
    after="np.seterr(divide='warn')",
)
place(
    "settings of numpy for texts",
    "a = np.array([1 / 3])\ndef read(): return float(len(str(a)))",
    set=["np.set_printoptions(precision=3)", "np.set_printoptions(precision=8)"],
    after="np.set_printoptions(precision=8)",
)
place(
    "random numbers of numpy",
    "np.random.seed(1)\ndef read(): return float(np.random.rand())",
    again="np.random.seed(2)",
)
place(
    "random numbers of numpy behind a branch",
    "ON = False\nnp.random.seed(1)\ndef read():\n if ON: return float(np.random.rand())\n return 1.0",
    turn=["ON = True", "ON = False"],
)
place(
    "numpy generator",
    "g = np.random.default_rng(1)\ndef read(): return float(g.random())",
    again="g = np.random.default_rng(2)",
)
place(
    "numpy generator's method",
    "get = np.random.default_rng(1).random\ndef read(): return float(get())",
    again="get = np.random.default_rng(2).random",
)

# ---------------------------------------------------------------------------------------------- the world

place(
    "context variable",
    "import contextvars\nv = contextvars.ContextVar('v', default=1.0)\ndef read(): return v.get()",
    set="v.set((V))",
)
place(
    "context variable's method",
    "import contextvars\nv = contextvars.ContextVar('v', default=1.0)\nget = v.get\ndef read(): return get()",
    set="v.set((V))",
)
place(
    "variable of a thread",
    "import threading\nl = threading.local()\nl.a = 1.0\ndef read(): return l.a",
    set="l.a = (V)",
)
place(
    "weak reference",
    "import weakref\nclass C: a = 1.0\nc = C()\nr = weakref.ref(c)\ndef read(): return 7.0 if r() is None else r().a",
    set="c.a = (V)",
    dead="del c",
)
place(
    "weak dictionary",
    "import weakref\nclass C: a = 1.0\nc = C()\nd = weakref.WeakValueDictionary(c=c)\ndef read(): return 7.0 if d.get('c') is None else 1.0",
    dead="del c",
)
place(
    "weak method",
    "import weakref\nclass C:\n    a = 1.0\n    def m(self): return self.a\nc = C()\nr = weakref.WeakMethod(c.m)\ndef read(): return r()() if r() else 8.0",
    set="c.a = (V)",
    dead="del c",
)
place(
    "file",
    "import tempfile, os\nfd, path = tempfile.mkstemp()\nos.write(fd, b'1.0')\ndef read():\n with open(path) as h: return float(h.read())",
    set="os.lseek(fd, 0, 0); os.write(fd, b'2.0')",
    after="os.close(fd); os.remove(path)",
)
place(
    "file by pathlib",
    "import tempfile, os, pathlib\nfd, path = tempfile.mkstemp()\nos.write(fd, b'1.0')\npath = pathlib.Path(path)\ndef read(): return float(path.read_text())",
    set="os.lseek(fd, 0, 0); os.write(fd, b'2.0')",
    after="os.close(fd); os.remove(path)",
)
place(
    "file that is there",
    "import tempfile, os\nfd, path = tempfile.mkstemp()\ndef read(): return 2.0 if os.path.exists(path) else 3.0",
    delete="os.remove(path)",
    after="os.close(fd)\nif os.path.exists(path): os.remove(path)",
)
place(
    "environment",
    "import os\nos.environ['DG_A'] = '1.0'\ndef read(): return float(os.environ['DG_A'])",
    set="os.environ['DG_A'] = '2.0'",
    after="del os.environ['DG_A']",
)
place(
    "environment by getenv",
    "import os\ndef read(): return float(os.getenv('DG_A', '1.0'))",
    set=["os.environ['DG_A'] = '2.0'", "del os.environ['DG_A']"],
    after="os.environ.pop('DG_A', 0)",
)
place(
    "environment held",
    "import os\nenv = os.environ\ndef read(): return float(env.get('DG_A', '1.0'))",
    set=["env['DG_A'] = '2.0'", "del env['DG_A']"],
    after="os.environ.pop('DG_A', 0)",
)
place(
    "clock",
    "import time\nstart = time.monotonic()\nold = []\ndef read(): return float(time.monotonic() >= start) + clock()\nn = itertools.count()\ntime.dg = lambda: float(next(n))\ndef clock(): return time.dg()",
    again="n = itertools.count(5)",
    after="del time.dg",
)
place(
    "clock by a name of its own",
    "from time import monotonic as now\nend = now() + 0.02\ndef read(): return 2.0 if now() < end else 3.0\nimport time",
    later="time.sleep(0.03)",
)
place(
    "clock in a partial",
    "import time\nnow = functools.partial(time.monotonic)\nend = now() + 0.02\ndef read(): return 2.0 if now() < end else 3.0",
    later="time.sleep(0.03)",
)
place(
    "clock mapped",
    "import time\nend = time.monotonic() + 0.02\nfs = [time.monotonic]\ndef read(): return 2.0 if max(map(lambda f: f(), fs)) < end else 3.0",
    later="time.sleep(0.03)",
)
place(
    "clock behind a branch",
    "import time\nend = time.monotonic() + 0.02\nON = False\ndef read():\n if ON and time.monotonic() > end: return 3.0\n return 2.0",
    turn="ON = True; time.sleep(0.03)",
)
place("random", "import random\nrandom.seed(1)\ndef read(): return random.random()", again="random.seed(2)")
place(
    "random by a name of its own",
    "from random import random, seed\nseed(1)\ndef read(): return random()",
    again="seed(2)",
)
place(
    "random of one's own", "import random\nr = random.Random(1)\ndef read(): return r.uniform(0, 1)", again="r.seed(5)"
)
place(
    "random behind a branch",
    "import random\nON = False\nrandom.seed(1)\ndef read():\n if ON: return random.random()\n return 1.0",
    turn=["ON = True", "ON = False"],
)
place(
    "arguments of the program",
    "import sys\nsys.argv.append('1.0')\ndef read(): return float(sys.argv[-1])",
    set="sys.argv[-1] = '2.0'",
    after="sys.argv.pop()",
)
place(
    "recursion limit",
    "import sys\nLIMIT = sys.getrecursionlimit()\ndef read(): return float(sys.getrecursionlimit())",
    set="sys.setrecursionlimit(LIMIT + 10)",
    after="sys.setrecursionlimit(LIMIT)",
)
place(
    "number of references",
    "import sys\nl = []\nd = []\ndef read(): return float(sys.getrefcount(l))",
    more="d.append(l)",
)
place(
    "collector",
    "import gc\nOLD = gc.get_threshold()\ndef read(): return float(gc.get_threshold()[0])",
    set=["gc.set_threshold(OLD[0] + 1)", "gc.set_threshold(*OLD)"],
    after="gc.set_threshold(*OLD)",
)
place(
    "decimal context",
    "import decimal\nd = decimal.Decimal(1)\ndef read(): return float(d / 3)",
    set="decimal.getcontext().prec = 3",
    after="decimal.getcontext().prec = 28",
)
place(
    "subclasses of a class",
    "class C: pass\nkept = []\ndef read(): return float(len(C.__subclasses__()))",
    more="class D(C): pass\nkept.append(D)",
)
place("stack", "import sys\nA = 1.0\ndef read(): return sys._getframe().f_globals['A']", set="A = (V)")
place(
    "warnings as errors",
    "import warnings\nwarnings.simplefilter('ignore')\ndef read():\n warnings.warn('a', stacklevel=2)\n return 1.0",
    set="warnings.simplefilter('error')",
    after="warnings.simplefilter('error')",
)
place("eval", "A = 1.0\ndef read(): return eval('A')", set="A = (V)")
place("eval by another name", "A = 1.0\nev = eval\ndef read(): return ev('A', {'A': A})", set="A = (V)")
place("eval in a partial", "space = {'A': 1.0}\nread = functools.partial(eval, 'A', space)", set="space['A'] = (V)")
place("globals", "A = 1.0\ndef read(): return globals()['A']", set="A = (V)")
place("globals by another name", "A = 1.0\ng = globals\ndef read(): return g()['A']", set="A = (V)")
place("globals of a function", "A = 1.0\ndef read(): return read.__globals__['A']", set="A = (V)")
place("globals mapped", "A = 1.0\nfs = [globals]\ndef read(): return [f() for f in fs][0]['A']", set="A = (V)")
place(
    "identity number",
    "l = [[], []]\ndef read(): return float(id(l[0]) % 1000003 == id(l[1]) % 1000003)",
    set="l[0] = l[1]",
)
place(
    "hash of an object",
    "class C: pass\nc = C()\nd = c\ndef read(): return 2.0 if hash(c) == hash(d) else 3.0",
    set="d = C()",
)

# ------------------------------------------------------------------------------------- what was thought of to mislead

place("nan in a list by identity", "A = float('nan')\nl = [A]\ndef read(): return 2.0 if A in l else 3.0", set="l[0] = float('nan')")
place("key identity in sorted", "l = [True, 1]\ndef read(): return 2.0 if type(max(l)) is bool else 3.0", turn="l.reverse()")
place("alias of locals", "A = 1.0\nloc = locals\ndef read():\n a = A\n return loc()['a']", set="A = (V)")
place("class body names", "A = 1.0\ndef read():\n class C:\n  b = locals().get('zz', 1.0)\n  c = A\n return C.b + C.c", set="A = (V)")
place("exec made function with a closure over a dict", "ns = {}\nexec('def mk(d):\\n return lambda: d[0]', ns)\nd = {0: 1.0}\nread = ns['mk'](d)", set="d[0] = (V)")
place("list subclass with iteration of its own", "class L(list):\n    def __iter__(self): return iter([1.0])\n    def __len__(self): return 0\nl = L([1.0])\ndef read(): return list.__getitem__(l, 0)", set="l[0] = 2.0")
place("dict subclass with values of its own", "class D(dict):\n    def values(self): return []\n    def items(self): return []\n    def keys(self): return []\n    def __iter__(self): return iter([])\n    def __len__(self): return 0\nd = D(a=[1.0])\ndef read(): return d['a'][0]", set="d['a'][0] = 2.0", entry="d['a'] = [4.0]")
place("tuple subclass with iteration of its own", "class T(tuple):\n    def __iter__(self): return iter([])\nt = T(([1.0],))\ndef read(): return t[0][0]", set="t[0][0] = 2.0")
place("set subclass with iteration of its own", "class S(set):\n    def __iter__(self): return iter([])\ns = S({1.0})\ndef read(): return 2.0 if 5.0 in s else 3.0", set="s.add(5.0)")
place("object that lies about its class", "class C:\n    a = 1.0\n    @property\n    def __class__(self): return int\nc = C()\ndef read(): return c.a", set="C.a = 2.0", own="c.a = 3.0")
place("object whose class attribute raises", "class C:\n    a = 1.0\n    @property\n    def __class__(self): raise ValueError('no')\nc = C()\ndef read(): return c.a", set="C.a = 2.0", own="c.a = 3.0")
place("object whose dict is hidden", "class C:\n    __dict__ = {'a': 5.0}\n    def __init__(self): object.__setattr__(self, 'a', 1.0)\nc = C()\ndef read(): return c.a", own="c.a = 3.0")
place("metaclass that cannot be hashed", "class M(type):\n    def __eq__(cls, o): return False\n    __hash__ = None\nclass C(metaclass=M):\n    a = 1.0\nc = C()\ndef read(): return c.a", set="C.a = 2.0")
place("metaclass that raises", "class M(type):\n    def __getattribute__(cls, n):\n        if n in ('__module__', '__qualname__', '__mro__', '__dict__', '__name__'): raise ValueError(n)\n        return type.__getattribute__(cls, n)\nclass C(metaclass=M):\n    a = 1.0\nc = C()\ndef read(): return c.a", set="C.a = 2.0")
place("object that cannot be compared or hashed", "class C:\n    a = 1.0\n    def __eq__(self, o): raise ValueError('no')\n    __hash__ = None\n    def __bool__(self): raise ValueError('no')\n    def __len__(self): raise ValueError('no')\nc = C()\nl, d = [c], {'c': c}\ndef read(): return c.a * l[0].a * d['c'].a", set="C.a = 2.0", entry="l[0] = C(); l[0].a = 7.0")
place("module without a name", "m = types.ModuleType('m')\ndel m.__name__\nm.A = 1.0\ndef g(m): return m.A\ndef read(): return m.A * g(m)", set="m.A = (V)")
place("module whose name is no text", "m = types.ModuleType('m')\nm.__name__ = 5\nm.A = 1.0\nl = [m]\ndef g(m): return m.A\ndef read(): return m.A * g(m) * l[0].A", set="m.A = (V)")
place("module named like a library", "m = types.ModuleType('math')\nm.A = 1.0\ndef g(m): return m.A\ndef read(): return m.A * g(m)", set="m.A = (V)")
place("object in a module named like a library", "m = types.ModuleType('math')\nm.A = [1.0]\ndef read(): return m.A[0]", set="m.A[0] = (V)")
place("class that says it is of a library", "class C:\n    __module__ = 'math'\n    k = 1.0\nc = C()\nc.l = [1.0]\ndef read(): return c.k * c.l[0]", set="C.k = (V)", own="c.l[0] = (V)")
place("class that says it is of this package", "class C:\n    __module__ = 'dualgrad.ops'\n    k = 1.0\n    def __init__(self): self._h = [1.0]\nc = C()\ndef read(): return c.k * c._h[0]", set="C.k = (V)", own="c._h[0] = (V)")
place("class named like one of numpy's", "ndarray = type('ndarray', (), {'__module__': 'numpy', 'k': 1.0})\nc = ndarray()\ndef read(): return c.k", set="ndarray.k = (V)")
place("class named like one of this package's", "Tensor2 = type('Dense', (), {'__module__': 'dualgrad.nn', 'k': 1.0})\nc = Tensor2()\nc._h = 1.0\ndef read(): return c.k * c._h", set="Tensor2.k = (V)", own="c._h = (V)")
place("function that says it is of a library", "def g(): return A\nA = 1.0\ng.__module__ = 'math'\ndef read(): return g()", set="A = (V)", code="g.__code__ = (lambda: 5.0).__code__")
place("object put into a library module", "class C: k = 1.0\nc = C()\nmath.dg_c = c\ndef read(): return math.dg_c.k", set="C.k = (V)", after="del math.dg_c")
place("list put into numpy", "np.dg_l = [1.0]\ndef read(): return np.dg_l[0]", set="np.dg_l[0] = (V)", after="del np.dg_l")
place("function put into a library module", "A = 1.0\ndef g(): return A\nmath.dg_g = g\ndef read(): return math.dg_g()", set="A = (V)", after="del math.dg_g")
place("function put into this package", "A = [1.0]\nops.dg_g = A\ndef read(): return ops.dg_g[0]", set="A[0] = (V)", after="del ops.dg_g")
place("attribute of a library's function", "math_l = functools.reduce\nfunctools.update_wrapper.k = 1.0\ndef read(): return functools.update_wrapper.k", set="functools.update_wrapper.k = (V)", after="del functools.update_wrapper.k")
place("attribute of this package's function", "dg.grad.k = 1.0\ndef read(): return dg.grad.k", set="dg.grad.k = (V)", after="del dg.grad.k")
place("default of a library's function", "OLD = copy.deepcopy.__defaults__\ndef read(): return float(len(dataclasses.make_dataclass.__kwdefaults__))", set="dataclasses.make_dataclass.__kwdefaults__['zz'] = 1", after="dataclasses.make_dataclass.__kwdefaults__.pop('zz', 0)")
place("method replaced in a library's class", "OLD = collections.Counter.most_common\nd = collections.Counter('aab')\ndef read(): return float(d.most_common(1)[0][1])", set="collections.Counter.most_common = lambda self, n: [('a', 9)]", after="collections.Counter.most_common = OLD")
place("class attribute put into a library's class", "collections.Counter.dg_k = 1.0\nd = collections.Counter('aab')\ndef read(): return d.dg_k", set="collections.Counter.dg_k = (V)", after="del collections.Counter.dg_k")
place("attribute put into this package's class", "nn.Dense.dg_k = 1.0\ncell = nn.ReLU()\nc = nn.Dense(2, 2)\ndef read(): return c.dg_k", set="nn.Dense.dg_k = (V)", after="del nn.Dense.dg_k")
place("private attribute of a layer", "c = nn.ReLU()\nobject.__setattr__(c, '_k', [1.0])\ndef read(): return c._k[0]", set="c._k[0] = (V)", whole="object.__setattr__(c, '_k', [5.0])")
place("attribute of a gradient function", "g = dg.grad(lambda x: ops.sum(x * x))\ntry: g.k = [1.0]\nexcept AttributeError: g = types.SimpleNamespace(k=[1.0])\ndef read(): return g.k[0]", set="g.k[0] = (V)", whole="g.k = [5.0]")
place("layer by a class of one's own", "class C(nn.Dense):\n    k = 1.0\n    def construct(self, x): return x * self.k * self.j[0]\nc = C(3, 3)\nc.j = [1.0]\ndef f(x): return ops.sum(c(x))", set="C.k = (V)", own="c.j[0] = (V)")
place("two Cells that share", "class C(nn.Cell):\n    shared = [1.0]\n    def construct(self, x): return x * self.shared[0]\na, b = C(), C()\ndef f(x): return ops.sum(a(x) + b(x))", set="C.shared[0] = (V)", own="b.shared = [6.0]")
place("iterator made by a generator expression default", "def g(a=(i for i in [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])): return next(a)\ndef read(): return g()", again="")
place("closure cell that is emptied and filled", "def make():\n a = 1.0\n def read():\n  try: return a\n  except NameError: return 9.0\n def drop():\n  nonlocal a\n  del a\n def put(v):\n  nonlocal a\n  a = v\n return read, drop, put\nread, drop, put = make()", set=["drop()", "put(3.0)"])
place("descriptor in an instance", "class D:\n    def __get__(self, o, t=None): return 7.0\nclass C: pass\nc = C()\nc.a = 1.0\ndef read(): return c.a", set="C.a = D()", data="D.__set__ = lambda *a: None; C.a = D()")
place("attribute hidden by a base", "class A: pass\nclass B: b = 1.0\nclass C(A, B): pass\nc = C()\ndef read(): return c.b", set="A.b = (V)")
place("object type's base changed", "class A: k = 1.0\nclass B(A): pass\nclass C(B): pass\nclass Z: k = 4.0\ndef read(): return C.k", set="B.__bases__ = (Z,)")
place("generic alias", "class Box:\n    k = 1.0\n    __class_getitem__ = classmethod(types.GenericAlias)\nalias = Box[int]\ndef read(): return alias.k", set="Box.k = (V)")
place("method type around a list", "m = types.MethodType(lambda l, k=0: l[k], [1.0])\nread = m", set="m.__self__[0] = (V)")
place("builtin method of a class", "class C(dict): pass\nget = C(a=1.0).get\ndef read(): return get('a')", set="get.__self__['a'] = (V)")
place("sum with a start of one's own", "class S:\n    def __radd__(self, o): return A\nA, l = 1.0, [S()]\nl[0] = S()\ndef read(): return sum(l)", set="A = (V)")
place("sort key", "A = 1.0\nl = [3.0, 1.0, 2.0]\ndef read(): return sorted(l, key=lambda v: abs(v - A))[0]", set="A = 3.0")
place("map over a bound method", "class C:\n    def __init__(self): self.k = 1.0\n    def m(self, v): return v * self.k\nc = C()\ndef read(): return sum(map(c.m, [1.0]))", set="c.k = (V)")
place("star import", "sys_m = types.ModuleType('dg_star')\nimport sys\nsys.modules['dg_star'] = sys_m\nsys_m.A = 1.0\nexec('from dg_star import *')\ndef read(): return A", set="A = (V)", after="import sys; sys.modules.pop('dg_star', 0)")
place("__missing__ of globals", "class G(dict):\n    def __missing__(self, k): return 1.0\n    def __getitem__(self, k): return VALUE[0]\nVALUE = [1.0]\ng = G()\nread = types.FunctionType(compile('def r(): return ZZ', 'a', 'exec').co_consts[0], g)", set="VALUE[0] = 2.0")
place("builtins that compute", "class G(dict):\n    def __missing__(self, k): return VALUE[0]\nVALUE = [1.0]\ng = {'__builtins__': G()}\nread = types.FunctionType(compile('def r(): return ZZ', 'a', 'exec').co_consts[0], g)", set="VALUE[0] = 2.0")
place("function that replaces its own code", "def read(): return 1.0\ndef g(): return read()\nh = read\ndef k():\n h.__code__ = (lambda: 2.0).__code__\n", set="k()")
place("thread that changes", "import threading\nA = [1.0]\ndef read(): return A[0]", set="t = threading.Thread(target=lambda: A.__setitem__(0, (V))); t.start(); t.join()")
place("annotation evaluated", "A = 1.0\ndef read():\n def g(a: 'x' = A) -> float: return a\n return g()", set="A = (V)")
place("decorator inside", "A = 1.0\ndef deco(g): return lambda: g() * A\ndef read():\n @deco\n def g(): return 2.0\n return g()", set="A = (V)")
place("walrus in a comprehension", "l = [1.0, 2.0]\ndef read(): return [y := a for a in l][-1] + y", set="l[1] = (V)")
place("nested comprehension", "A = 2\nl = [[1.0], [2.0]]\ndef read(): return sum([a * A for row in l for a in row if a < A])", set="A = 3", entry="l[1][0] = 1.5")
place("star expression", "l = [1.0, 2.0, 3.0]\ndef read():\n a, *b = l\n return a + sum(b)", set="l[2] = (V)", more="l.append(4.0)")
place("deletion inside", "d = {'a': 1.0}\ndef read():\n e = dict(d)\n del e['a']\n return float(len(e)) + d['a']", set="d['a'] = (V)", more="d['b'] = 1")
place("finally that overrides", "A = True\ndef read():\n try: return 1.0\n finally:\n  if A: return 2.0", set="A = False")
place("exception group", "A = 1.0\ndef read():\n try: raise ExceptionGroup('a', [ValueError(A)])\n except* ValueError as e: r = e.exceptions[0].args[0]\n return r", set="A = (V)")
place("context manager's value", "import contextlib\nA = [1.0]\n@contextlib.contextmanager\ndef cm(): yield A[0]\ndef read():\n with cm() as a: return a", set="A[0] = (V)")
place("null context", "import contextlib\ncm = contextlib.nullcontext([1.0])\ndef read():\n with cm as a: return a[0]", set="cm.enter_result[0] = (V)", whole="cm.enter_result = [5.0]")
place("exit stack", "import contextlib\nA = [1.0]\ndef read():\n with contextlib.ExitStack() as s:\n  s.callback(lambda: None)\n  return A[0]", set="A[0] = (V)")
place("vectorised random", "import random\nrandom.seed(1)\ng = np.vectorize(random.gauss)\ndef read(): return float(g(0.0, 1.0))", again="random.seed(3)")
place("clock called by numpy", "import time\nv = np.frompyfunc(lambda a: time.monotonic() > END, 1, 1)\nimport time\nEND = time.monotonic() + 0.02\ndef read(): return float(v(1.0))", later="time.sleep(0.03)")
place("random called by a library", "import random\nrandom.seed(1)\ndef read(): return float(np.fromfunction(np.vectorize(lambda i: random.random()), (1,))[0])", again="random.seed(2)")
place("clock called by a stack", "import contextlib, time\nout = []\nEND = time.monotonic() + 0.02\nclass T:\n    def __enter__(self): return time.monotonic\n    def __exit__(self, *a): pass\ndef read():\n with contextlib.ExitStack() as s: now = s.enter_context(T())\n return 2.0 if now() < END else 3.0", later="time.sleep(0.03)")
place("environment by a library", "import os\nm = collections.ChainMap(os.environ)\nos.environ['DG_A'] = '1'\ndef read(): return float(m['DG_A'])", set="os.environ['DG_A'] = '2'", after="os.environ.pop('DG_A', 0)")
place("environment by get of a mapping", "import os\nenv = os.environ\nfrom collections.abc import Mapping\nget = Mapping.get\nos.environ['DG_A'] = '1'\ndef read(): return float(get(env, 'DG_A'))", set="os.environ['DG_A'] = '2'", after="os.environ.pop('DG_A', 0)")
place("environment in a dict", "import os\nos.environ['DG_A'] = '1'\nt = {'e': os.environ}\ndef read(): return float(dict.get(t, 'e').get('DG_A'))", set="os.environ['DG_A'] = '2'", after="os.environ.pop('DG_A', 0)")
place("logger's level", "import logging\nlog = logging.getLogger('dg.a')\ndef read(): return float(log.level)", set="log.setLevel(10)", after="import logging; logging.getLogger('dg.a').setLevel(0)")
place("logger that is asked", "import logging\nlog = logging.getLogger('dg.b')\ndef read(): return 2.0 if log.isEnabledFor(10) else 3.0", set="log.setLevel(10)", after="import logging; logging.getLogger('dg.b').setLevel(0)")
place("logger's disabled flag", "import logging\nlog = logging.getLogger('dg.c')\ndef read(): return 2.0 if log.disabled else 3.0", set="log.disabled = True", after="import logging; logging.getLogger('dg.c').disabled = False")
place("logger's manager", "import logging\nlog = logging.getLogger('dg.d')\ndef read(): return float(log.manager.disable)", set="logging.disable(10)", after="import logging; logging.disable(0)")
place("argparse defaults", "import argparse\nargs = argparse.Namespace(k=1.0)\ndef read(): return vars(args)['k'] + args.k + (2.0 if 'j' in args else 0.0)", set="args.k = (V)", more="args.j = 1")
place("module constant that is atomic", "import time\nOLD = time.timezone\ndef read(): return float(time.timezone)", set="time.timezone = 7", after="time.timezone = OLD")
place("called name of a library swapped", "import time\nOLD = time.perf_counter\nON = False\ndef read(): return time.perf_counter() if ON else 1.0", set=["time.perf_counter = lambda: 5.0", "ON = True"], after="time.perf_counter = OLD")
place("called name that becomes the user's", "from time import monotonic as now\nON = False\ndef read(): return now() if ON else 1.0", set=["now = lambda: 5.0", "ON = True"])
place("call of a chain with a subscript", "import time\ntime.dg_fs = [lambda: A]\nA = 1.0\ndef read(): return time.dg_fs[0]()", set="A = (V)", after="del time.dg_fs")
place("bool of a changed array", "a = np.array([1.0])\ndef read(): return 2.0 if a else 3.0", set="a[0] = 0.0")
place("array of the same bytes and another type", "a = np.array([1.0])\nl = [a]\ndef read(): return float(l[0][0])", set="l[0] = a.view(np.int64)")
place("array whose base is freed", "def make():\n b = bytearray(8)\n return np.frombuffer(b, np.float64)\na = make()\ndef read(): return float(a[0])", set="a[0] = 2.0")
place("array over a file", "import tempfile, os\nfd, path = tempfile.mkstemp()\nos.write(fd, np.ones(3).tobytes())\na = np.memmap(path, np.float64, 'r+')\ndef read(): return float(a[0])", set="a[0] = 2.0", outside="os.lseek(fd, 0, 0); os.write(fd, np.full(3, 4.0).tobytes())", after="os.close(fd); os.remove(path)")
place("array made read-only and written by setflags", "a = np.ones(3)\ndef read():\n try: a[0] = a[0]\n except ValueError: return 5.0\n return 1.0", set="a.setflags(write=False)")
place("array with a class that hides", "class A(np.ndarray):\n    @property\n    def shape(self): return (7,)\n    @property\n    def nbytes(self): return 0\n    def __array_finalize__(self, o):\n        COUNT[0] += 1\nCOUNT = [0]\na = np.ones(3).view(A)\nCOUNT2 = []\ndef read(): return float(np.ndarray.__getitem__(a, 0))", set="np.ndarray.__setitem__(a, 0, 3.0)")
place("dtype with a changed field name", "dt = np.dtype([('a', 'f8'), ('b', 'f8')])\nx_ = np.array([(1.0, 2.0)], dt)\ndef read(): return float(x_['a'][0])", set="x_.dtype.names = ('b', 'a')")
place("dtype by itself with changed names", "dt = np.dtype([('a', 'f8'), ('b', 'f8')])\ndef read(): return float(len(dt.names[0]))", set="dt.names = ('long', 'b')")
place("record scalar in a list", "l = [np.array([(1.0,)], [('a', 'f8')])[0]]\ndef read(): return float(l[0]['a'])", set="l[0]['a'] = 5.0")
place("scalar over memory", "a = np.ones(1, [('a', 'f8')])\ns = a[0]\nt = (s,)\ndef read(): return float(t[0]['a'])", set="a['a'] = 5.0")
place("attribute of a scalar's class", "class F(np.float64): k = 1.0\nc = F(2.0)\nc.j = 1.0\ndef read(): return float(c) * c.k * c.j", set="F.k = (V)", own="c.j = (V)")
place("attribute of a text's class", "class S(str): k = 1.0\nc = S('a')\nc.j = [1.0]\ndef read(): return c.k * c.j[0]", set="S.k = (V)", own="c.j[0] = (V)")
place("attribute of an int's class in a set", "class I(int): k = 1.0\nc = I(5)\ns = {c}\ndef read(): return next(iter(s)).k", set="c.k = (V)")
place("exception class attributes", "class E(Exception): k = 1.0\ndef read():\n try: raise E\n except E as e: return e.k", set="E.k = (V)")
place("exception with a cause", "A = ValueError(1.0)\ndef read():\n try: raise KeyError from A\n except KeyError as e: return e.__cause__.args[0]", set="A.args = (3.0,)")
place("docstring of a class", "class C:\n    'abc'\ndef read(): return float(len(C.__doc__))", set="C.__doc__ = 'z'")
place("annotations of a class", "class C:\n    a: 'xyz'\ndef read(): return float(len(C.__annotations__['a']))", set="C.__annotations__['a'] = 'z'")
place("type hints", "import typing\nclass C:\n    a: int\ndef read(): return 2.0 if typing.get_type_hints(C)['a'] is int else 3.0", set="C.__annotations__['a'] = float")
place("code constants of a lambda in a default", "def read(g=lambda: 1.0): return g()", set="read.__defaults__[0].__code__ = (lambda: 2.0).__code__")
place("kwdefaults of an inner function", "def make():\n def inner(*, a=1.0): return a\n return inner\ninner = make()\ndef read(): return inner()", set="inner.__kwdefaults__['a'] = (V)", none="inner.__kwdefaults__ = None")
place("cell shared by two", "def make():\n a = 1.0\n def one(): return a\n def two():\n  nonlocal a\n  a += 1.0\n return one, two\nread, two = make()", set="two()")
place("counter in another thread's hands", "import itertools\nn = itertools.count()\nd = collections.defaultdict(lambda: float(next(n)))\ndef read(): return d['a']", set="d.clear()")
place("default factory that counts", "n = [0.0]\ndef make():\n n[0] += 1\n return n[0]\nd = collections.defaultdict(make)\ndef read():\n v = d['a']\n del d['a']\n return v", again="n[0] = 5.0")
place("state kept in a function's default", "def g(a=[0.0]):\n a[0] += 1\n return a[0]\ndef read(): return g()", again="")
place("state kept in a generator", "def g():\n k = 0.0\n while True:\n  k += 1\n  yield k\nclass C: it = g()\nc = C()\ndef read(): return next(c.it)", again="")
place("state kept in a closure", "def make():\n k = 0.0\n def r():\n  nonlocal k\n  k += 1\n  return k\n return r\nread = make()", again="")
place("state kept in a global", "K = 0.0\ndef read():\n global K\n K += 1\n return K", again="K = 0.0")
place("state set back in the call", "K = [1.0]\ndef read():\n old = K[0]\n K[0] = 5.0\n try: return K[0] + old\n finally: K[0] = old", set="K[0] = 2.0")
place("state that flips", "K = [1.0]\ndef read():\n K[0] = -K[0]\n return K[0]", again="K[0] = 3.0")
place("state that saturates", "K = [0.0]\ndef read():\n K[0] = min(K[0] + 1, 2.0)\n return K[0]", again="K[0] = 0.0")
place("list that is cleared and filled", "l = [1.0]\ndef read():\n v = l.pop()\n l.append(v)\n return v", set="l[0] = 2.0")
place("dict whose order turns in the call", "d = {'a': 1.0, 'b': 2.0}\ndef read():\n k = next(iter(d))\n d[k] = d.pop(k)\n return d[k]", again="d['c'] = 5.0")
place("random state of this package read", "dg.set_seed(3)\ndef f(x):\n s = dg.get_seed() if hasattr(dg, 'get_seed') else 1\n return ops.sum(x * float(s or 0))", set="dg.set_seed(5)")
place("numbers from this package's source", "from dualgrad import random\ndg.set_seed(3)\ndef f(x): return ops.sum(x * float(random.generator().random()))", set="dg.set_seed(5)")
place("state of this package's source", "from dualgrad.random import get_state\ndg.set_seed(3)\ndef f(x): return ops.sum(x * float(get_state()['state']['state'] % 7))", set="dg.set_seed(5)")
place("source of random numbers made inside", "def f(x): return ops.sum(x * float(np.random.Generator(np.random.PCG64(K)).random()))\nK = 1", set="K = 2")
place("source of random numbers by its class", "from numpy.random import default_rng\nK = 1\ndef f(x): return ops.sum(x * float(default_rng(K).random()))", set="K = 2")
place("method of an argument", "import functools\nclass C:\n    k = 1.0\n    def m(self, x): return ops.sum(x * self.k)\nc = C()\nf = functools.partial(C.m, c)", set="c.k = (V)", of_class="C.k = (V)")
place("function of a generator's frame", "def g():\n a = 1.0\n while True: yield a\nit = g()\ndef read(): return it.gi_frame.f_locals.get('a', 5.0)", again="next(it)")
place("size of an object", "import sys\nl = [1.0]\ndef read(): return float(l.__sizeof__())", more="l.extend([1.0] * 50)")
place("length by a slot wrapper", "l = [1.0]\nget = list.__len__\ndef read(): return float(get(l))", more="l.append(1.0)")
place("truth of a container", "l = []\ndef read(): return 2.0 if l else 3.0", more="l.append(1.0)", less="l = [0]")
place("equal containers", "a, b = [1.0, {'x': [2.0]}], [1.0, {'x': [2.0]}]\ndef read(): return 2.0 if a == b else 3.0", set="a[1]['x'][0] = 5.0", other="b[0] = True")
place("text of a container", "a = [1.0, {'x': 2.0}]\ndef read(): return float(len(repr(a)))", set="a[1]['x'] = 12345.0")
place("text of an array", "a = np.ones(3)\ndef read(): return float(len(repr(a)))", set="a[0] = 12345.678")
place("hash of a tuple", "t = (1.0, 2.0)\ndef read(): return float(hash(t) % 1000)", set="t = (1.0, 3.0)")
place("objects in a matrix of lists", "m = [[types.SimpleNamespace(k=1.0) for _ in range(3)] for _ in range(3)]\ndef read(): return sum(c.k for row in m for c in row)", set="m[2][1].k = (V)", row="m[0] = []")
place("function stored in an array-like object", "class A:\n    def __init__(self): self.fs = {}\n    def on(self, n):\n        def deco(g):\n            self.fs[n] = g\n            return g\n        return deco\na = A()\n@a.on('k')\ndef g(): return 1.0\ndef read(): return a.fs['k']()", set="a.on('k')(lambda: (V))", more="a.on('j')(lambda: 1.0)")
place("registry of subclasses", "class B:\n    known = {}\n    k = 1.0\n    def __init_subclass__(cls): B.known[cls.__name__] = cls\nclass C(B): k = 2.0\ndef read(): return sum(c.k for c in B.known.values())", more="class D(B): k = 5.0", set="C.k = (V)")
place("plugin by name", "class P: k = 1.0\nclass Q: k = 2.0\nkinds = {'p': P, 'q': Q}\nkind = 'p'\ndef read(): return kinds[kind]().k", set="kind = 'q'", of_class="P.k = (V)")
place("weights read by numpy inside", "p = Parameter(np.ones(3), name='p')\ndef f(x): return ops.sum(x * float(p.asnumpy()[0]))", set="p.set_data(Tensor(np.full(3, 2.0)))", inside="p[0] = 5.0")
place("tensor's attributes", "t = Tensor(np.ones(3))\ndef f(x): return ops.sum(x * t.shape[0] * t.ndim * t.size)", set="t = Tensor(np.ones((2, 3)))")
place("tensor's type", "t = Tensor(np.ones(3))\ndef f(x): return ops.sum(x * (2.0 if t.dtype == dg.float64 else 3.0))", assign="t.assign_value(Tensor(np.ones(3, np.float32)))", replace="t = Tensor(np.ones(3, np.int32))")

# ---------------------------------------------------------------------------------------------- Cells and tensors

CELL = """
    class Inner(nn.Cell):
        k = 1.0
        def __init__(self):
            super().__init__()
            self.a, self.l, self._h = 1.0, [1.0], 1.0
        def construct(self, x): return x * self.a * self.l[0] * self._h * self.k
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner, self.table = Inner(), {'a': 1.0}
        def construct(self, x): return ops.sum(self.inner(x) * self.table['a'])
    cell = Outer()
    def f(x): return cell(x)
"""
place(
    "attribute of a Cell",
    CELL,
    common=True,
    set="cell.inner.a = (V)",
    list="cell.inner.l[0] = (V)",
    private="cell.inner._h = (V)",
    of_class="Inner.k = (V)",
    raw="object.__setattr__(cell.inner, 'a', (V))",
    dict="cell.inner.__dict__['a'] = (V)",
    child=["cell.inner = nn.ReLU()", "cell.inner = Inner()"],
    table="cell.table['a'] = (V)",
    delete="del cell.inner.a",
    cell="cell = Outer(); cell.inner.a = (V)",
)
place(
    "construct of a Cell",
    CELL,
    cls="Inner.construct = lambda self, x: x * 3",
    own=["cell.inner.construct = lambda x: x * 4", "cell.inner.construct = lambda x: x * 5"],
    base="class Other(Inner):\n    def construct(self, x): return x * 5\ncell.inner.__class__ = Other",
)
place(
    "super's construct",
    CELL
    + "    class Sub(Inner):\n        def construct(self, x): return super().construct(x) * 2\n    cell.inner = Sub()",
    common=True,
    set="cell.inner.a = (V)",
    replace="Inner.construct = lambda self, x: x * 3",
)
place(
    "Cells in a list",
    CELL + "    cells = [Inner(), Inner()]\n    def f(x):\n        for c in cells: x = c(x)\n        return ops.sum(x)",
    common=True,
    set="cells[1].a = (V)",
    replace="cells[0] = nn.Tanh()",
    more="cells.append(Inner())",
    less="cells.pop()",
)
place(
    "SequentialCell",
    CELL + "    seq = nn.SequentialCell([Inner(), Inner()])\n    def f(x): return ops.sum(seq(x))",
    common=True,
    set="seq[0].a = (V)",
    replace="seq[0] = nn.Tanh()",
    more="seq.append(nn.Tanh())",
    delete="del seq[1]",
)
place(
    "CellList",
    CELL
    + "    seq = nn.CellList([Inner(), Inner()])\n    def f(x):\n        for c in seq: x = c(x)\n        return ops.sum(x)",
    set="seq[0].a = (V)",
    replace="seq[0] = nn.Tanh()",
    more="seq.append(nn.Tanh())",
    delete="del seq[1]",
)
place(
    "training of a Cell",
    "cell = nn.Dropout(p=0.5)\ncell.set_train(False)\ndef f(x): return ops.sum(cell(x))",
    turn=["cell.p = 0.3", "cell.set_train(False)"],
)
place(
    "training flag",
    CELL + "    def f(x): return ops.sum(x * (2.0 if cell.training else 3.0))",
    turn=["cell.set_train(True)", "cell.set_train(False)"],
)
place(
    "setting of a layer",
    "d = nn.LeakyReLU(0.2)\ndef f(x): return ops.sum(d(x - 2))",
    set=["d.alpha = 0.5", "d = nn.LeakyReLU(0.7)"],
)
place(
    "setting of a primitive",
    "p = ops.ReduceSum(keep_dims=False)\ndef f(x): return ops.sum(p(x, 0)) + p(x, 0).ndim",
    set=["p.keep_dims = True", "p.keep_dims = False"],
)
place(
    "Parameter",
    "p = Parameter(np.ones(3), name='p')\ndef f(x): return ops.sum(x * p)",
    common=True,
    data="p.set_data(Tensor(np.full(3, 2.0)))",
    other="p = Parameter(np.full(3, 4.0), name='p')",
    inside="p[0] = 7.0",
    assign="ops.assign(p, Tensor(np.full(3, 5.0)))",
)
place(
    "shape of a Parameter",
    "p = Parameter(np.ones(3), name='p')\ndef f(x): return ops.sum(x * p.shape[0])",
    set="p = Parameter(np.ones(4), name='p')",
)
place(
    "flag of a Parameter",
    "p = Parameter(np.ones(3), name='p')\ndef f(x): return ops.sum(x * (2.0 if p.requires_grad else 3.0))",
    common=True,
    set=["p.requires_grad = False", "p.requires_grad = True"],
)
place(
    "name of a Parameter",
    "p = Parameter(np.ones(3), name='p')\ndef f(x): return ops.sum(x * len(p.name))",
    set=["p.name = 'long'"],
)
place(
    "attribute of a Parameter",
    "p = Parameter(np.ones(3), name='p')\np.k = 1.0\ndef f(x): return ops.sum(x * p * p.k)",
    set="p.k = (V)",
)
place(
    "list of Parameters",
    "l = [Parameter(np.ones(3), name='p')]\ndef f(x): return ops.sum(x * l[0])",
    common=True,
    set="l[0] = Parameter(np.full(3, 3.0), name='p')",
    data="l[0].set_data(Tensor(np.full(3, 5.0)))",
)
place(
    "Parameter of a Cell",
    "class C(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.p = Parameter(np.ones(3), name='p')\n    def construct(self, x): return ops.sum(x * self.p)\ncell = C()\ndef f(x): return cell(x)",
    common=True,
    data="cell.p.set_data(Tensor(np.full(3, 2.0)))",
    other="cell.p = Parameter(np.full(3, 4.0), name='p')",
)
place(
    "trainable parameters of a Cell",
    "cell = nn.Dense(3, 1)\ndef f(x): return ops.sum(x * float(len(cell.trainable_params())))",
    freeze=["cell.bias.requires_grad = False", "cell.bias.requires_grad = True"],
)
place(
    "parameters of a Cell",
    "cell = nn.Dense(3, 1)\ndef f(x): return ops.sum(x * float(len(list(cell.get_parameters()))))",
    more="cell.extra = Parameter(np.ones(2), name='q')",
    child="cell.more = nn.Dense(2, 2)",
)
place(
    "names of Cells",
    CELL + "    def f(x): return ops.sum(x * float(len([n for n, _ in cell.cells_and_names()])))",
    more="cell.other = nn.ReLU()",
    deep="cell.inner.other = nn.ReLU()",
)
place(
    "tensor",
    "t = Tensor(np.ones(3))\ndef f(x): return ops.sum(x * t)",
    common=True,
    set="t[0] = 5.0",
    replace="t = Tensor(np.full(3, 2.0))",
    assign="t.assign_value(Tensor(np.full(3, 2.0)))",
    shape="t = Tensor(np.ones((2, 3)))",
    dtype="t = Tensor(np.ones(3, np.float32))",
)
place(
    "number of a tensor",
    "t = Tensor(2.0)\ndef f(x): return ops.sum(x * float(t))",
    set="t.assign_value(Tensor(3.0))",
    replace="t = Tensor(5.0)",
)
place(
    "tensor in an object",
    "c = types.SimpleNamespace(t=Tensor(np.ones(3)))\ndef f(x): return ops.sum(x * c.t)",
    common=True,
    set="c.t[0] = 5.0",
    replace="c.t = Tensor(np.full(3, 2.0))",
)
place(
    "two handles that become one",
    "a, b = Tensor(np.ones(3)), Tensor(np.ones(3))\nl = [a, b]\ndef f(x): return ops.sum(x * (2.0 if l[0] is l[1] else 3.0))",
    set=["l[1] = l[0]", "l[1] = b"],
)
place(
    "tensor made of an array", "a = np.ones(3)\ndef f(x): return ops.sum(x * Tensor(a))", common=True, set="a[0] = 5.0"
)
place(
    "attribute of a subclass of Tensor",
    "class T(Tensor): k = 1.0\nt = T(np.ones(3))\nt.j = 1.0\ndef f(x): return ops.sum(x * t * t.k * t.j)",
    of_class="T.k = (V)",
    own="t.j = (V)",
    data="t[0] = 4.0",
)
place(
    "mode",
    "def f(x): return ops.sum(x * (2.0 if dg.get_context('max_call_depth') > 900 else 3.0))",
    set=[
        "OLD = dg.get_context('max_call_depth')\ndg.set_context(max_call_depth=500)",
        "dg.set_context(max_call_depth=OLD)",
    ],
    after="dg.set_context(max_call_depth=1000)",
)
place(
    "result of a jitted function",
    "A = 1.0\n@dg.jit\ndef g(x): return x * A\ndef f(x): return ops.sum(g(x))",
    common=True,
    set="A = (V)",
)
place(
    "pure function inside",
    "t = Tensor(np.ones(3))\ng = dg.jit(lambda x: x * t, pure=True)\ndef f(x): return ops.sum(g(x))",
    set="t[0] = 5.0",
)
place(
    "gradient inside",
    "A = 1.0\ng = dg.grad(lambda x: ops.sum(x * x * A))\ndef f(x): return ops.sum(g(x))",
    common=True,
    set="A = (V)",
)
place(
    "attribute of a jitted function",
    "@dg.jit\ndef g(x): return x * g.k\ng.k = 1.0\ndef f(x): return ops.sum(g(x))",
    set="g.k = (V)",
    wrapped="g.__wrapped__ = lambda x: x * 5",
)
place(
    "custom rule of a Cell",
    "class C(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.k = 1.0\n    def construct(self, x): return x * 2\n    def bprop(self, x, out, dout): return (dout * self.k,)\ncell = C()\ndef f(x): return ops.sum(cell(x))",
    set="cell.k = (V)",
    replace="C.bprop = lambda self, x, out, dout: (dout * 9,)",
)
