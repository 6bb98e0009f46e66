"""Objects, classes and modules that look like others, as places that a factor can come from: see places.py."""

from places import place

place(
    "list subclass with iteration of its own",
    "class L(list):\n    def __iter__(self): return iter([1.0])\n    def __len__(self): return 0\nl = L([1.0])\ndef read(): return list.__getitem__(l, 0)",
    set="l[0] = 2.0",
)
place(
    "dict subclass with values of its own",
    "class D(dict):\n    def values(self): return []\n    def items(self): return []\n    def keys(self): return []\n    def __iter__(self): return iter([])\n    def __len__(self): return 0\nd = D(a=[1.0])\ndef read(): return d['a'][0]",
    set="d['a'][0] = 2.0",
    entry="d['a'] = [4.0]",
)
place(
    "tuple subclass with iteration of its own",
    "class T(tuple):\n    def __iter__(self): return iter([])\nt = T(([1.0],))\ndef read(): return t[0][0]",
    set="t[0][0] = 2.0",
)
place(
    "set subclass with iteration of its own",
    "class S(set):\n    def __iter__(self): return iter([])\ns = S({1.0})\ndef read(): return 2.0 if 5.0 in s else 3.0",
    set="s.add(5.0)",
)
place(
    "object that lies about its class",
    "class C:\n    a = 1.0\n    @property\n    def __class__(self): return int\nc = C()\ndef read(): return c.a",
    set="C.a = 2.0",
    own="c.a = 3.0",
)
place(
    "object whose class attribute raises",
    "class C:\n    a = 1.0\n    @property\n    def __class__(self): raise ValueError('no')\nc = C()\ndef read(): return c.a",
    set="C.a = 2.0",
    own="c.a = 3.0",
)
place(
    "object whose dict is hidden",
    "class C:\n    __dict__ = {'a': 5.0}\n    def __init__(self): object.__setattr__(self, 'a', 1.0)\nc = C()\ndef read(): return c.a",
    own="c.a = 3.0",
)
place(
    "metaclass that cannot be hashed",
    "class M(type):\n    def __eq__(cls, o): return False\n    __hash__ = None\nclass C(metaclass=M):\n    a = 1.0\nc = C()\ndef read(): return c.a",
    set="C.a = 2.0",
)
place(
    "metaclass that raises",
    "class M(type):\n    def __getattribute__(cls, n):\n        if n in ('__module__', '__qualname__', '__mro__', '__dict__', '__name__'): raise ValueError(n)\n        return type.__getattribute__(cls, n)\nclass C(metaclass=M):\n    a = 1.0\nc = C()\ndef read(): return c.a",
    set="C.a = 2.0",
)
place(
    "object that cannot be compared or hashed",
    "class C:\n    a = 1.0\n    def __eq__(self, o): raise ValueError('no')\n    __hash__ = None\n    def __bool__(self): raise ValueError('no')\n    def __len__(self): raise ValueError('no')\nc = C()\nl, d = [c], {'c': c}\ndef read(): return c.a * l[0].a * d['c'].a",
    set="C.a = 2.0",
    entry="l[0] = C(); l[0].a = 7.0",
)
place(
    "module without a name",
    "m = types.ModuleType('m')\ndel m.__name__\nm.A = 1.0\ndef g(m): return m.A\ndef read(): return m.A * g(m)",
    set="m.A = (V)",
)
place(
    "module whose name is no text",
    "m = types.ModuleType('m')\nm.__name__ = 5\nm.A = 1.0\nl = [m]\ndef g(m): return m.A\ndef read(): return m.A * g(m) * l[0].A",
    set="m.A = (V)",
)
place(
    "module named like a library",
    "m = types.ModuleType('math')\nm.A = 1.0\ndef g(m): return m.A\ndef read(): return m.A * g(m)",
    set="m.A = (V)",
)
place(
    "object in a module named like a library",
    "m = types.ModuleType('math')\nm.A = [1.0]\ndef read(): return m.A[0]",
    set="m.A[0] = (V)",
)
place(
    "class that says it is of a library",
    "class C:\n    __module__ = 'math'\n    k = 1.0\nc = C()\nc.l = [1.0]\ndef read(): return c.k * c.l[0]",
    set="C.k = (V)",
    own="c.l[0] = (V)",
)
place(
    "class that says it is of this package",
    "class C:\n    __module__ = 'dualgrad.ops'\n    k = 1.0\n    def __init__(self): self._h = [1.0]\nc = C()\ndef read(): return c.k * c._h[0]",
    set="C.k = (V)",
    own="c._h[0] = (V)",
)
place(
    "class named like one of numpy's",
    "ndarray = type('ndarray', (), {'__module__': 'numpy', 'k': 1.0})\nc = ndarray()\ndef read(): return c.k",
    set="ndarray.k = (V)",
)
place(
    "class named like a part of one of numpy's",
    "Part = type('Part', (), {'__module__': 'numpy', '__qualname__': 'ndarray.Part', 'l': [1.0]})\nc = Part()\ndef read(): return c.l[0]",
    set="Part.l[0] = (V)",
)
place(
    "class named like one of this package's",
    "Tensor2 = type('Dense', (), {'__module__': 'dualgrad.nn', 'k': 1.0})\nc = Tensor2()\nc._h = 1.0\ndef read(): return c.k * c._h",
    set="Tensor2.k = (V)",
    own="c._h = (V)",
)
place(
    "function that says it is of a library",
    "def g(): return A\nA = 1.0\ng.__module__ = 'math'\ndef read(): return g()",
    set="A = (V)",
    code="g.__code__ = (lambda: 5.0).__code__",
)
place(
    "object put into a library module",
    "class C: k = 1.0\nc = C()\nmath.dg_c = c\ndef read(): return math.dg_c.k",
    set="C.k = (V)",
    after="del math.dg_c",
)
place(
    "list put into numpy", "np.dg_l = [1.0]\ndef read(): return np.dg_l[0]", set="np.dg_l[0] = (V)", after="del np.dg_l"
)
place(
    "function put into a library module",
    "A = 1.0\ndef g(): return A\nmath.dg_g = g\ndef read(): return math.dg_g()",
    set="A = (V)",
    after="del math.dg_g",
)
place(
    "function put into this package",
    "A = [1.0]\nops.dg_g = A\ndef read(): return ops.dg_g[0]",
    set="A[0] = (V)",
    after="del ops.dg_g",
)
place(
    "attribute of a library's function",
    "math_l = functools.reduce\nfunctools.update_wrapper.k = 1.0\ndef read(): return functools.update_wrapper.k",
    set="functools.update_wrapper.k = (V)",
    after="del functools.update_wrapper.k",
)
place(
    "attribute of this package's function",
    "dg.grad.k = 1.0\ndef read(): return dg.grad.k",
    set="dg.grad.k = (V)",
    after="del dg.grad.k",
)
place(
    "default of a library's function",
    "OLD = copy.deepcopy.__defaults__\ndef read(): return float(len(dataclasses.make_dataclass.__kwdefaults__))",
    set="dataclasses.make_dataclass.__kwdefaults__['zz'] = 1",
    after="dataclasses.make_dataclass.__kwdefaults__.pop('zz', 0)",
)
place(
    "method replaced in a library's class",
    "OLD = collections.Counter.most_common\nd = collections.Counter('aab')\ndef read(): return float(d.most_common(1)[0][1])",
    set="collections.Counter.most_common = lambda self, n: [('a', 9)]",
    after="collections.Counter.most_common = OLD",
)
place(
    "class attribute put into a library's class",
    "collections.Counter.dg_k = 1.0\nd = collections.Counter('aab')\ndef read(): return d.dg_k",
    set="collections.Counter.dg_k = (V)",
    after="del collections.Counter.dg_k",
)
place(
    "attribute put into this package's class",
    "nn.Dense.dg_k = 1.0\ncell = nn.ReLU()\nc = nn.Dense(2, 2)\ndef read(): return c.dg_k",
    set="nn.Dense.dg_k = (V)",
    after="del nn.Dense.dg_k",
)
place(
    "private attribute of a layer",
    "c = nn.ReLU()\nobject.__setattr__(c, '_k', [1.0])\ndef read(): return c._k[0]",
    set="c._k[0] = (V)",
    whole="object.__setattr__(c, '_k', [5.0])",
)
place(
    "attribute of a gradient function",
    "g = dg.grad(lambda x: ops.sum(x * x))\ntry: g.k = [1.0]\nexcept AttributeError: g = types.SimpleNamespace(k=[1.0])\ndef read(): return g.k[0]",
    set="g.k[0] = (V)",
    whole="g.k = [5.0]",
)
place(
    "layer by a class of one's own",
    "class C(nn.Dense):\n    k = 1.0\n    def construct(self, x): return x * self.k * self.j[0]\nc = C(3, 3)\nc.j = [1.0]\ndef f(x): return ops.sum(c(x))",
    set="C.k = (V)",
    own="c.j[0] = (V)",
)
place(
    "two Cells that share",
    "class C(nn.Cell):\n    shared = [1.0]\n    def construct(self, x): return x * self.shared[0]\na, b = C(), C()\ndef f(x): return ops.sum(a(x) + b(x))",
    set="C.shared[0] = (V)",
    own="b.shared = [6.0]",
)
place(
    "iterator made by a generator expression default",
    "def g(a=(i for i in [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])): return next(a)\ndef read(): return g()",
    again="",
)
place(
    "closure cell that is emptied and filled",
    "def make():\n a = 1.0\n def read():\n  try: return a\n  except NameError: return 9.0\n def drop():\n  nonlocal a\n  del a\n def put(v):\n  nonlocal a\n  a = v\n return read, drop, put\nread, drop, put = make()",
    set=["drop()", "put(3.0)"],
)
place(
    "descriptor in an instance",
    "class D:\n    def __get__(self, o, t=None): return 7.0\nclass C: pass\nc = C()\nc.a = 1.0\ndef read(): return c.a",
    set="C.a = D()",
    data="D.__set__ = lambda *a: None; C.a = D()",
)
place(
    "attribute hidden by a base",
    "class A: pass\nclass B: b = 1.0\nclass C(A, B): pass\nc = C()\ndef read(): return c.b",
    set="A.b = (V)",
)
place(
    "object type's base changed",
    "class A: k = 1.0\nclass B(A): pass\nclass C(B): pass\nclass Z: k = 4.0\ndef read(): return C.k",
    set="B.__bases__ = (Z,)",
)
place(
    "generic alias",
    "class Box:\n    k = 1.0\n    __class_getitem__ = classmethod(types.GenericAlias)\nalias = Box[int]\ndef read(): return alias.k",
    set="Box.k = (V)",
)
place(
    "method type around a list", "m = types.MethodType(lambda l, k=0: l[k], [1.0])\nread = m", set="m.__self__[0] = (V)"
)
