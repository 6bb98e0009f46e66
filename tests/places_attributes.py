"""Attributes, by whatever way they are read, as places that a factor can come from: see places.py."""

from places import place

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
