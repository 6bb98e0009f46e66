"""Special methods and kinds of classes, as places that a factor can come from: see places.py."""

from places import place

# ----------------------------------------------------------------------------------------------------- special methods

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

# ---------------------------------------------------------------------------------------------------- kinds of classes

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

for base, made, read in (
    ("dict", "a=1.0", "__getitem__(self, k): return super().__getitem__(k) * A"),
    ("dict", "a=1.0", "get(self, k, d=None): return dict.get(self, k, d) * A"),
    ("list", "[1.0]", "__getitem__(self, k): return super().__getitem__(0) * A"),
    ("collections.OrderedDict", "a=1.0", "get(self, k): return super().get(k) * A"),
):
    name = read.partition("(")[0]
    place(
        f"method that calls {name} of {base}",
        f"A = 1.0\nclass C({base}):\n    def {read}\nc = C({made})\ndef read(): return c.{name}('a')",
        common=True,
        set="A = (V)",
        replace=f"C.{name} = lambda *_: 7.0",
        delete=f"del C.{name}",
    )
