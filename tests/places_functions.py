"""Functions and what belongs to them, as places that a factor can come from: see places.py."""

from places import CLOSURE, place

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
