"""Attributes, special methods and kinds of classes, as places that a factor can come from: see places.py."""

from places import place

# ---------------------------------------------------------------------------------------------------------- attributes

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
