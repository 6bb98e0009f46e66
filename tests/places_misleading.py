"""What was thought of to mislead, as places that a factor can come from: see places.py."""

from places import place

place(
    "nan in a list by identity",
    "A = float('nan')\nl = [A]\ndef read(): return 2.0 if A in l else 3.0",
    set="l[0] = float('nan')",
)
place(
    "key identity in sorted",
    "l = [True, 1]\ndef read(): return 2.0 if type(max(l)) is bool else 3.0",
    turn="l.reverse()",
)
place("alias of locals", "A = 1.0\nloc = locals\ndef read():\n a = A\n return loc()['a']", set="A = (V)")
place(
    "class body names",
    "A = 1.0\ndef read():\n class C:\n  b = locals().get('zz', 1.0)\n  c = A\n return C.b + C.c",
    set="A = (V)",
)
place(
    "exec made function with a closure over a dict",
    "ns = {}\nexec('def mk(d):\\n return lambda: d[0]', ns)\nd = {0: 1.0}\nread = ns['mk'](d)",
    set="d[0] = (V)",
)
place(
    "builtin method of a class",
    "class C(dict): pass\nget = C(a=1.0).get\ndef read(): return get('a')",
    set="get.__self__['a'] = (V)",
)
place(
    "sum with a start of one's own",
    "class S:\n    def __radd__(self, o): return A\nA, l = 1.0, [S()]\nl[0] = S()\ndef read(): return sum(l)",
    set="A = (V)",
)
place(
    "sort key", "A = 1.0\nl = [3.0, 1.0, 2.0]\ndef read(): return sorted(l, key=lambda v: abs(v - A))[0]", set="A = 3.0"
)
place(
    "map over a bound method",
    "class C:\n    def __init__(self): self.k = 1.0\n    def m(self, v): return v * self.k\nc = C()\ndef read(): return sum(map(c.m, [1.0]))",
    set="c.k = (V)",
)
place(
    "star import",
    "sys_m = types.ModuleType('dg_star')\nimport sys\nsys.modules['dg_star'] = sys_m\nsys_m.A = 1.0\nexec('from dg_star import *')\ndef read(): return A",
    set="A = (V)",
    after="import sys; sys.modules.pop('dg_star', 0)",
)
place(
    "__missing__ of globals",
    "class G(dict):\n    def __missing__(self, k): return 1.0\n    def __getitem__(self, k): return VALUE[0]\nVALUE = [1.0]\ng = G()\nread = types.FunctionType(compile('def r(): return ZZ', 'a', 'exec').co_consts[0], g)",
    set="VALUE[0] = 2.0",
)
place(
    "builtins that compute",
    "class G(dict):\n    def __missing__(self, k): return VALUE[0]\nVALUE = [1.0]\ng = {'__builtins__': G()}\nread = types.FunctionType(compile('def r(): return ZZ', 'a', 'exec').co_consts[0], g)",
    set="VALUE[0] = 2.0",
)
place(
    "function that replaces its own code",
    "def read(): return 1.0\ndef g(): return read()\nh = read\ndef k():\n h.__code__ = (lambda: 2.0).__code__\n",
    set="k()",
)
place(
    "thread that changes",
    "import threading\nA = [1.0]\ndef read(): return A[0]",
    set="t = threading.Thread(target=lambda: A.__setitem__(0, (V))); t.start(); t.join()",
)
place("annotation evaluated", "A = 1.0\ndef read():\n def g(a: 'x' = A) -> float: return a\n return g()", set="A = (V)")
place(
    "decorator inside",
    "A = 1.0\ndef deco(g): return lambda: g() * A\ndef read():\n @deco\n def g(): return 2.0\n return g()",
    set="A = (V)",
)
place("walrus in a comprehension", "l = [1.0, 2.0]\ndef read(): return [y := a for a in l][-1] + y", set="l[1] = (V)")
place(
    "nested comprehension",
    "A = 2\nl = [[1.0], [2.0]]\ndef read(): return sum([a * A for row in l for a in row if a < A])",
    set="A = 3",
    entry="l[1][0] = 1.5",
)
place(
    "star expression",
    "l = [1.0, 2.0, 3.0]\ndef read():\n a, *b = l\n return a + sum(b)",
    set="l[2] = (V)",
    more="l.append(4.0)",
)
place(
    "deletion inside",
    "d = {'a': 1.0}\ndef read():\n e = dict(d)\n del e['a']\n return float(len(e)) + d['a']",
    set="d['a'] = (V)",
    more="d['b'] = 1",
)
place(
    "finally that overrides", "A = True\ndef read():\n try: return 1.0\n finally:\n  if A: return 2.0", set="A = False"
)
place(
    "exception group",
    "A = 1.0\ndef read():\n try: raise ExceptionGroup('a', [ValueError(A)])\n except* ValueError as e: r = e.exceptions[0].args[0]\n return r",
    set="A = (V)",
)
place(
    "context manager's value",
    "import contextlib\nA = [1.0]\n@contextlib.contextmanager\ndef cm(): yield A[0]\ndef read():\n with cm() as a: return a",
    set="A[0] = (V)",
)
place(
    "null context",
    "import contextlib\ncm = contextlib.nullcontext([1.0])\ndef read():\n with cm as a: return a[0]",
    set="cm.enter_result[0] = (V)",
    whole="cm.enter_result = [5.0]",
)
place(
    "exit stack",
    "import contextlib\nA = [1.0]\ndef read():\n with contextlib.ExitStack() as s:\n  s.callback(lambda: None)\n  return A[0]",
    set="A[0] = (V)",
)
place(
    "vectorised random",
    "import random\nrandom.seed(1)\ng = np.vectorize(random.gauss)\ndef read(): return float(g(0.0, 1.0))",
    again="random.seed(3)",
)
place(
    "clock called by numpy",
    "import time\nv = np.frompyfunc(lambda a: time.monotonic() > END, 1, 1)\nimport time\nEND = time.monotonic() + 0.02\ndef read(): return float(v(1.0))",
    later="time.sleep(0.03)",
)
place(
    "random called by a library",
    "import random\nrandom.seed(1)\ndef read(): return float(np.fromfunction(np.vectorize(lambda i: random.random()), (1,))[0])",
    again="random.seed(2)",
)
place(
    "clock called by a stack",
    "import contextlib, time\nout = []\nEND = time.monotonic() + 0.02\nclass T:\n    def __enter__(self): return time.monotonic\n    def __exit__(self, *a): pass\ndef read():\n with contextlib.ExitStack() as s: now = s.enter_context(T())\n return 2.0 if now() < END else 3.0",
    later="time.sleep(0.03)",
)
place(
    "environment by a library",
    "import os\nm = collections.ChainMap(os.environ)\nos.environ['DG_A'] = '1'\ndef read(): return float(m['DG_A'])",
    set="os.environ['DG_A'] = '2'",
    after="os.environ.pop('DG_A', 0)",
)
place(
    "environment by get of a mapping",
    "import os\nenv = os.environ\nfrom collections.abc import Mapping\nget = Mapping.get\nos.environ['DG_A'] = '1'\ndef read(): return float(get(env, 'DG_A'))",
    set="os.environ['DG_A'] = '2'",
    after="os.environ.pop('DG_A', 0)",
)
place(
    "environment in a dict",
    "import os\nos.environ['DG_A'] = '1'\nt = {'e': os.environ}\ndef read(): return float(dict.get(t, 'e').get('DG_A'))",
    set="os.environ['DG_A'] = '2'",
    after="os.environ.pop('DG_A', 0)",
)
place(
    "logger's level",
    "import logging\nlog = logging.getLogger('dg.a')\ndef read(): return float(log.level)",
    set="log.setLevel(10)",
    after="import logging; logging.getLogger('dg.a').setLevel(0)",
)
place(
    "logger that is asked",
    "import logging\nlog = logging.getLogger('dg.b')\ndef read(): return 2.0 if log.isEnabledFor(10) else 3.0",
    set="log.setLevel(10)",
    after="import logging; logging.getLogger('dg.b').setLevel(0)",
)
place(
    "logger's disabled flag",
    "import logging\nlog = logging.getLogger('dg.c')\ndef read(): return 2.0 if log.disabled else 3.0",
    set="log.disabled = True",
    after="import logging; logging.getLogger('dg.c').disabled = False",
)
place(
    "logger's manager",
    "import logging\nlog = logging.getLogger('dg.d')\ndef read(): return float(log.manager.disable)",
    set="logging.disable(10)",
    after="import logging; logging.disable(0)",
)
place(
    "argparse defaults",
    "import argparse\nargs = argparse.Namespace(k=1.0)\ndef read(): return vars(args)['k'] + args.k + (2.0 if 'j' in args else 0.0)",
    set="args.k = (V)",
    more="args.j = 1",
)
place(
    "module constant that is atomic",
    "import time\nOLD = time.timezone\ndef read(): return float(time.timezone)",
    set="time.timezone = 7",
    after="time.timezone = OLD",
)
place(
    "called name of a library swapped",
    "import time\nOLD = time.perf_counter\nON = False\ndef read(): return time.perf_counter() if ON else 1.0",
    set=["time.perf_counter = lambda: 5.0", "ON = True"],
    after="time.perf_counter = OLD",
)
place(
    "called name that becomes the user's",
    "from time import monotonic as now\nON = False\ndef read(): return now() if ON else 1.0",
    set=["now = lambda: 5.0", "ON = True"],
)
place(
    "call of a chain with a subscript",
    "import time\ntime.dg_fs = [lambda: A]\nA = 1.0\ndef read(): return time.dg_fs[0]()",
    set="A = (V)",
    after="del time.dg_fs",
)
place("bool of a changed array", "a = np.array([1.0])\ndef read(): return 2.0 if a else 3.0", set="a[0] = 0.0")
place(
    "array of the same bytes and another type",
    "a = np.array([1.0])\nl = [a]\ndef read(): return float(l[0][0])",
    set="l[0] = a.view(np.int64)",
)
place(
    "array whose base is freed",
    "def make():\n b = bytearray(8)\n return np.frombuffer(b, np.float64)\na = make()\ndef read(): return float(a[0])",
    set="a[0] = 2.0",
)
place(
    "array over a file",
    "import tempfile, os\nfd, path = tempfile.mkstemp()\nos.write(fd, np.ones(3).tobytes())\na = np.memmap(path, np.float64, 'r+')\ndef read(): return float(a[0])",
    set="a[0] = 2.0",
    outside="os.lseek(fd, 0, 0); os.write(fd, np.full(3, 4.0).tobytes())",
    after="os.close(fd); os.remove(path)",
)
place(
    "array made read-only and written by setflags",
    "a = np.ones(3)\ndef read():\n try: a[0] = a[0]\n except ValueError: return 5.0\n return 1.0",
    set="a.setflags(write=False)",
)
place(
    "array with a class that hides",
    "class A(np.ndarray):\n    @property\n    def shape(self): return (7,)\n    @property\n    def nbytes(self): return 0\n    def __array_finalize__(self, o):\n        COUNT[0] += 1\nCOUNT = [0]\na = np.ones(3).view(A)\nCOUNT2 = []\ndef read(): return float(np.ndarray.__getitem__(a, 0))",
    set="np.ndarray.__setitem__(a, 0, 3.0)",
)
place(
    "dtype with a changed field name",
    "dt = np.dtype([('a', 'f8'), ('b', 'f8')])\nx_ = np.array([(1.0, 2.0)], dt)\ndef read(): return float(x_['a'][0])",
    set="x_.dtype.names = ('b', 'a')",
)
place(
    "dtype by itself with changed names",
    "dt = np.dtype([('a', 'f8'), ('b', 'f8')])\ndef read(): return float(len(dt.names[0]))",
    set="dt.names = ('long', 'b')",
)
place(
    "record scalar in a list",
    "l = [np.array([(1.0,)], [('a', 'f8')])[0]]\ndef read(): return float(l[0]['a'])",
    set="l[0]['a'] = 5.0",
)
place(
    "scalar over memory",
    "a = np.ones(1, [('a', 'f8')])\ns = a[0]\nt = (s,)\ndef read(): return float(t[0]['a'])",
    set="a['a'] = 5.0",
)
place(
    "attribute of a scalar's class",
    "class F(np.float64): k = 1.0\nc = F(2.0)\nc.j = 1.0\ndef read(): return float(c) * c.k * c.j",
    set="F.k = (V)",
    own="c.j = (V)",
)
place(
    "attribute of a text's class",
    "class S(str): k = 1.0\nc = S('a')\nc.j = [1.0]\ndef read(): return c.k * c.j[0]",
    set="S.k = (V)",
    own="c.j[0] = (V)",
)
place(
    "attribute of an int's class in a set",
    "class I(int): k = 1.0\nc = I(5)\ns = {c}\ndef read(): return next(iter(s)).k",
    set="c.k = (V)",
)
place(
    "exception class attributes",
    "class E(Exception): k = 1.0\ndef read():\n try: raise E\n except E as e: return e.k",
    set="E.k = (V)",
)
place(
    "exception with a cause",
    "A = ValueError(1.0)\ndef read():\n try: raise KeyError from A\n except KeyError as e: return e.__cause__.args[0]",
    set="A.args = (3.0,)",
)
place("docstring of a class", "class C:\n    'abc'\ndef read(): return float(len(C.__doc__))", set="C.__doc__ = 'z'")
place(
    "annotations of a class",
    "class C:\n    a: 'xyz'\ndef read(): return float(len(C.__annotations__['a']))",
    set="C.__annotations__['a'] = 'z'",
)
place(
    "type hints",
    "import typing\nclass C:\n    a: int\ndef read(): return 2.0 if typing.get_type_hints(C)['a'] is int else 3.0",
    set="C.__annotations__['a'] = float",
)
place(
    "code constants of a lambda in a default",
    "def read(g=lambda: 1.0): return g()",
    set="read.__defaults__[0].__code__ = (lambda: 2.0).__code__",
)
place(
    "kwdefaults of an inner function",
    "def make():\n def inner(*, a=1.0): return a\n return inner\ninner = make()\ndef read(): return inner()",
    set="inner.__kwdefaults__['a'] = (V)",
    none="inner.__kwdefaults__ = None",
)
place(
    "cell shared by two",
    "def make():\n a = 1.0\n def one(): return a\n def two():\n  nonlocal a\n  a += 1.0\n return one, two\nread, two = make()",
    set="two()",
)
place(
    "counter in another thread's hands",
    "import itertools\nn = itertools.count()\nd = collections.defaultdict(lambda: float(next(n)))\ndef read(): return d['a']",
    set="d.clear()",
)
place(
    "default factory that counts",
    "n = [0.0]\ndef make():\n n[0] += 1\n return n[0]\nd = collections.defaultdict(make)\ndef read():\n v = d['a']\n del d['a']\n return v",
    again="n[0] = 5.0",
)
place(
    "state kept in a function's default", "def g(a=[0.0]):\n a[0] += 1\n return a[0]\ndef read(): return g()", again=""
)
place(
    "state kept in a generator",
    "def g():\n k = 0.0\n while True:\n  k += 1\n  yield k\nclass C: it = g()\nc = C()\ndef read(): return next(c.it)",
    again="",
)
place(
    "state kept in a closure",
    "def make():\n k = 0.0\n def r():\n  nonlocal k\n  k += 1\n  return k\n return r\nread = make()",
    again="",
)
place("state kept in a global", "K = 0.0\ndef read():\n global K\n K += 1\n return K", again="K = 0.0")
place(
    "state set back in the call",
    "K = [1.0]\ndef read():\n old = K[0]\n K[0] = 5.0\n try: return K[0] + old\n finally: K[0] = old",
    set="K[0] = 2.0",
)
place("state that flips", "K = [1.0]\ndef read():\n K[0] = -K[0]\n return K[0]", again="K[0] = 3.0")
place("state that saturates", "K = [0.0]\ndef read():\n K[0] = min(K[0] + 1, 2.0)\n return K[0]", again="K[0] = 0.0")
place(
    "list that is cleared and filled", "l = [1.0]\ndef read():\n v = l.pop()\n l.append(v)\n return v", set="l[0] = 2.0"
)
place(
    "dict whose order turns in the call",
    "d = {'a': 1.0, 'b': 2.0}\ndef read():\n k = next(iter(d))\n d[k] = d.pop(k)\n return d[k]",
    again="d['c'] = 5.0",
)
place(
    "random state of this package read",
    "dg.set_seed(3)\ndef f(x):\n s = dg.get_seed() if hasattr(dg, 'get_seed') else 1\n return ops.sum(x * float(s or 0))",
    set="dg.set_seed(5)",
)
place(
    "numbers from this package's source",
    "from dualgrad import random\ndg.set_seed(3)\ndef f(x): return ops.sum(x * float(random.generator().random()))",
    set="dg.set_seed(5)",
)
place(
    "state of this package's source",
    "from dualgrad.random import get_state\ndg.set_seed(3)\ndef f(x): return ops.sum(x * float(get_state()['state']['state'] % 7))",
    set="dg.set_seed(5)",
)
place(
    "source of random numbers made inside",
    "def f(x): return ops.sum(x * float(np.random.Generator(np.random.PCG64(K)).random()))\nK = 1",
    set="K = 2",
)
place(
    "source of random numbers by its class",
    "from numpy.random import default_rng\nK = 1\ndef f(x): return ops.sum(x * float(default_rng(K).random()))",
    set="K = 2",
)
place(
    "method of an argument",
    "import functools\nclass C:\n    k = 1.0\n    def m(self, x): return ops.sum(x * self.k)\nc = C()\nf = functools.partial(C.m, c)",
    set="c.k = (V)",
    of_class="C.k = (V)",
)
place(
    "function of a generator's frame",
    "def g():\n a = 1.0\n while True: yield a\nit = g()\ndef read(): return it.gi_frame.f_locals.get('a', 5.0)",
    again="next(it)",
)
place(
    "size of an object", "import sys\nl = [1.0]\ndef read(): return float(l.__sizeof__())", more="l.extend([1.0] * 50)"
)
place(
    "length by a slot wrapper", "l = [1.0]\nget = list.__len__\ndef read(): return float(get(l))", more="l.append(1.0)"
)
place("truth of a container", "l = []\ndef read(): return 2.0 if l else 3.0", more="l.append(1.0)", less="l = [0]")
place(
    "equal containers",
    "a, b = [1.0, {'x': [2.0]}], [1.0, {'x': [2.0]}]\ndef read(): return 2.0 if a == b else 3.0",
    set="a[1]['x'][0] = 5.0",
    other="b[0] = True",
)
place("text of a container", "a = [1.0, {'x': 2.0}]\ndef read(): return float(len(repr(a)))", set="a[1]['x'] = 12345.0")
place("text of an array", "a = np.ones(3)\ndef read(): return float(len(repr(a)))", set="a[0] = 12345.678")
place("hash of a tuple", "t = (1.0, 2.0)\ndef read(): return float(hash(t) % 1000)", set="t = (1.0, 3.0)")
place(
    "objects in a matrix of lists",
    "m = [[types.SimpleNamespace(k=1.0) for _ in range(3)] for _ in range(3)]\ndef read(): return sum(c.k for row in m for c in row)",
    set="m[2][1].k = (V)",
    row="m[0] = []",
)
place(
    "function stored in an array-like object",
    "class A:\n    def __init__(self): self.fs = {}\n    def on(self, n):\n        def deco(g):\n            self.fs[n] = g\n            return g\n        return deco\na = A()\n@a.on('k')\ndef g(): return 1.0\ndef read(): return a.fs['k']()",
    set="a.on('k')(lambda: (V))",
    more="a.on('j')(lambda: 1.0)",
)
place(
    "registry of subclasses",
    "class B:\n    known = {}\n    k = 1.0\n    def __init_subclass__(cls): B.known[cls.__name__] = cls\nclass C(B): k = 2.0\ndef read(): return sum(c.k for c in B.known.values())",
    more="class D(B): k = 5.0",
    set="C.k = (V)",
)
place(
    "plugin by name",
    "class P: k = 1.0\nclass Q: k = 2.0\nkinds = {'p': P, 'q': Q}\nkind = 'p'\ndef read(): return kinds[kind]().k",
    set="kind = 'q'",
    of_class="P.k = (V)",
)
place(
    "weights read by numpy inside",
    "p = Parameter(np.ones(3), name='p')\ndef f(x): return ops.sum(x * float(p.asnumpy()[0]))",
    set="p.set_data(Tensor(np.full(3, 2.0)))",
    inside="p[0] = 5.0",
)
place(
    "tensor's attributes",
    "t = Tensor(np.ones(3))\ndef f(x): return ops.sum(x * t.shape[0] * t.ndim * t.size)",
    set="t = Tensor(np.ones((2, 3)))",
)
place(
    "tensor's type",
    "t = Tensor(np.ones(3))\ndef f(x): return ops.sum(x * (2.0 if t.dtype == dg.float64 else 3.0))",
    assign="t.assign_value(Tensor(np.ones(3, np.float32)))",
    replace="t = Tensor(np.ones(3, np.int32))",
)
