"""The world outside, Cells and tensors, as places that a factor can come from: see places.py."""

from places import place

# ----------------------------------------------------------------------------------------------------------- the world

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
place(
    "number of threads",
    "def read(): return float(dg.get_num_threads())",
    set=["dg.set_num_threads(3)", "dg.set_num_threads(5)"],
    after="dg.set_num_threads(2)",
)
place(
    "buffers of NumPy",
    "OLD = np.getbufsize()\ndef read(): return float(np.getbufsize())",
    set=["np.setbufsize(2 * OLD)", "np.setbufsize(OLD)"],
    after="np.setbufsize(OLD)",
)
place(
    "buffers of NumPy by a name of their own",
    "from numpy import getbufsize, setbufsize\nOLD = getbufsize()\ndef read(): return float(getbufsize())",
    set=["setbufsize(2 * OLD)", "setbufsize(OLD)"],
    after="setbufsize(OLD)",
)
place(
    "what NumPy calls at errors",
    "class C:\n    k = 1.0\n    def __call__(self, *a): pass\na, b = C(), C()\n"
    "def read(): return 7.0 if np.geterrcall() is None else np.geterrcall().k",
    set=["np.seterrcall(a)", "np.seterrcall(b); b.k = 2.0"],
    attribute=["np.seterrcall(a)", "a.k = 3.0"],
    class_attribute=["np.seterrcall(a)", "C.k = 4.0"],
    after="np.seterrcall(None)",
)
place(
    "level of the log",
    "from dualgrad import log\nOLD = log._get_logger().level\ndef read(): return float(log.get_level())",
    set=["log._get_logger().setLevel(40)", "log._get_logger().setLevel(10)"],
    after="log._get_logger().setLevel(OLD)",
)
place(
    "settings of parallel training",
    "def read(): return 2.0 if dg.get_auto_parallel_context('gradients_mean') else 3.0",
    set=["dg.set_auto_parallel_context(gradients_mean=True)", "dg.reset_auto_parallel_context()"],
    after="dg.reset_auto_parallel_context()",
)
place(
    "groups of processes",
    "from dualgrad import communication\ndef read():\n try: return float(communication.get_rank('places') + 2)\n"
    " except ValueError: return 3.0",
    set=["communication.create_group('places', [0])", "communication.destroy_group('places')"],
)
place(
    "name of the thread",
    "import threading\nOLD = threading.current_thread().name\n"
    "def read(): return float(len(threading.current_thread().name))",
    set=["threading.current_thread().name = 'a'", "threading.current_thread().name = OLD"],
    after="threading.current_thread().name = OLD",
)
place(
    "name of a thread",
    "import threading\nt = threading.Thread(name='abc')\ndef read(): return float(len(t.name))",
    set=["t.name = 'a'", "t.name = 'abcd'"],
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

# --------------------------------------------------------------------------------------------------- Cells and tensors

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
    back=["cell.inner.construct = lambda x: x * 4", "del cell.inner.construct"],
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
    "CellDict",
    CELL + "    cells = nn.CellDict({'a': Inner(), 'b': Inner()})\n    def f(x):\n"
    "        for c in cells.values(): x = c(x)\n        return ops.sum(x)",
    set="cells['a'].a = (V)",
    replace="cells['a'] = nn.Tanh()",
    more="cells['c'] = nn.Tanh()",
    delete="del cells['b']",
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
    "def f(x): return ops.sum(x * (2.0 if dg.get_context('device_id') < 4 else 3.0))",
    set=[
        "OLD = dg.get_context('device_id')\ndg.set_context(device_id=5)",
        "dg.set_context(device_id=OLD)",
    ],
    after="dg.set_context(device_id=0)",
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
for made in ("dg.jit", "dg.grad", "dg.value_and_grad", "dg.vmap"):
    place(
        f"absent attribute of what {made} makes",
        f"g = {made}(lambda x: ops.sum(x))\ndef f(x): return ops.sum(x * getattr(g, 'k', 1.0) * (5.0 if hasattr(g, '_h') else 1.0))",
        appear=["g.k = (V)", "g._h = 1", "g._h = 2", "del g.k"],
    )
for what, does in {
    "a number": "np.float64(1) / 0.0",
    "an array": "np.log(np.zeros(2))",
    "a captured array": "np.sqrt(a)",
}.items():
    place(
        f"numpy.seterr for {what}",
        f"a = -np.ones(2)\ndef read():\n {does}\n return 1.0",
        set=["OLD = np.seterr(all='ignore')", "np.seterr(all='raise')", "np.seterr(**OLD)"],
        after="np.seterr(divide='warn', over='warn', under='ignore', invalid='warn')",
    )
for who, does in {
    "numpy": "np.log(np.zeros(2))",
    "a function of numpy": "np.mean(np.ones(0))",
    "a partial": "warn()",
    "the interpreter": "list(map(warnings.warn, ['a']))",
    "this package": "Tensor(np.ones(1, complex)).astype(dg.float64)",
}.items():
    place(
        f"warnings by {who} as errors",
        f"import warnings\nwarnings.simplefilter('ignore')\nwarn = functools.partial(warnings.warn, 'a')\ndef read():\n {does}\n return 1.0",
        set="warnings.simplefilter('error')",
        later=["warnings.filters.insert(0, ('error', None, Warning, None, 0))"],
        inside="FILTERS = list(warnings.filters); warnings.filters[:] = [('error', None, Warning, None, 0)]",
        after="warnings.simplefilter('error')",
    )
place(
    "class statement's function",
    "import builtins\nORIGINAL = builtins.__build_class__\nA = 1.0\ndef read():\n class C: k = A\n return C.k",
    replace=[
        "builtins.__build_class__ = lambda f, n, *a, **k: types.SimpleNamespace(k=9.0)",
        "builtins.__build_class__ = ORIGINAL",
    ],
    set="A = (V)",
    after="builtins.__build_class__ = ORIGINAL",
)
