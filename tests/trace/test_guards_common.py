"""What is common in programs is replayed: no warning, no Python of the function from the third call on."""

import warnings

import numpy as np
import pytest
from engine import forget_programs, programs
from places import Instance, Place

import dualgrad as dg
from dualgrad import Tensor

pytestmark = pytest.mark.eager("records by itself")

#: name -> a module with a function `f` of a tensor
COMMON = {
    "logging that is not used": "import logging\ndef f(x): return ops.sum(x * 2)",
    "logger in an attribute": "import logging\nclass C:\n    def __init__(self): self.log = logging.getLogger('a'); self.k = 2.0\n    def __call__(self, x): return ops.sum(x * self.k)\nf = C()",
    "logger in a Cell": "import logging\nclass C(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.log, self.k = logging.getLogger('a'), 2.0\n    def construct(self, x): return ops.sum(x * self.k)\nf = C()",
    "logger behind a branch": "import logging\nlogger = logging.getLogger('a')\nDEBUG = False\ndef f(x):\n if DEBUG: logger.debug('called %s', x)\n return ops.sum(x * 2)",
    "logger of an object behind a branch": "import logging\nclass C:\n    def __init__(self): self.log, self.verbose = logging.getLogger('a'), False\n    def __call__(self, x):\n        if self.verbose: self.log.info('called')\n        return ops.sum(x * 2)\nf = C()",
    "logging behind a branch": "import logging\nDEBUG = False\ndef f(x):\n if DEBUG: logging.info('called')\n return ops.sum(x * 2)",
    "clock behind a branch": "import time\nTIMED = False\ndef f(x):\n start = time.perf_counter() if TIMED else 0.0\n return ops.sum(x * 2) + start",
    "clock by a name of its own behind a branch": "from time import perf_counter\nTIMED = False\ndef f(x):\n if TIMED: print(perf_counter())\n return ops.sum(x * 2)",
    "environment behind a branch": "import os\nDEBUG = False\ndef f(x):\n if DEBUG and os.getenv('DG_A'): print(x)\n return ops.sum(x * 2)",
    "file behind a branch": "import json\nSAVE = None\ndef f(x):\n if SAVE:\n  with open(SAVE, 'w') as h: json.dump([1], h)\n return ops.sum(x * 2)",
    "dataclass config": "@dataclasses.dataclass\nclass Config:\n    scale: float = 2.0\n    sizes: list = dataclasses.field(default_factory=lambda: [1, 2])\n    name: str = 'a'\nconfig = Config()\ndef f(x): return ops.sum(x * config.scale * len(config.sizes))",
    "frozen dataclass with slots": "@dataclasses.dataclass(frozen=True, slots=True)\nclass Config:\n    scale: float = 2.0\nconfig = Config()\ndef f(x): return ops.sum(x * config.scale)",
    "dataclass made inside": "@dataclasses.dataclass\nclass Pair:\n    a: object\n    b: float = 2.0\ndef f(x):\n p = Pair(x)\n return ops.sum(p.a * p.b)",
    "Enum option": "class Kind(enum.Enum):\n    SUM = 'sum'\n    MEAN = 'mean'\nkind = Kind.SUM\ndef f(x): return ops.sum(x) if kind is Kind.SUM else x.mean()",
    "Enum compared": "class Kind(enum.Enum):\n    SUM = 'sum'\n    MEAN = 'mean'\nkind = Kind.SUM\ndef f(x): return ops.sum(x) if kind == Kind.SUM else x.mean()",
    "text Enum": "class Kind(str, enum.Enum):\n    SUM = 'sum'\nkind = Kind.SUM\ndef f(x): return ops.sum(x) if kind == 'sum' else x.mean()",
    "Enum as a key": "class Kind(enum.Enum):\n    SUM = enum.auto()\n    MEAN = enum.auto()\ntable = {Kind.SUM: ops.sum, Kind.MEAN: ops.mean}\ndef f(x): return table[Kind.SUM](x)",
    "Enum by value": "class Kind(enum.Enum):\n    SUM = 'sum'\ndef f(x): return ops.sum(x) if Kind('sum') is Kind.SUM else x.mean()",
    "IntFlag": "class Flags(enum.IntFlag):\n    A = 1\n    B = 2\nflags = Flags.A | Flags.B\ndef f(x): return ops.sum(x) if flags & Flags.B else x.mean()",
    "functools.wraps": "def named(g):\n @functools.wraps(g)\n def inner(*a, **k): return g(*a, **k)\n return inner\n@named\ndef f(x):\n 'Text.'\n return ops.sum(x * 2)",
    "decorator with arguments": "def times(k):\n def around(g):\n  @functools.wraps(g)\n  def inner(x): return g(x) * k\n  return inner\n return around\n@times(2.0)\ndef f(x): return ops.sum(x)",
    "functools.partial": "def g(k, x, *, b=1.0): return ops.sum(x * k * b)\nf = functools.partial(g, 2.0, b=3.0)",
    "functools.reduce": "layers = [ops.sin, ops.cos]\ndef f(x): return ops.sum(functools.reduce(lambda y, g: g(y), layers, x))",
    "annotations": "import typing\nfrom typing import Any, Callable, Optional, Union\ndef f(x: Tensor, k: Optional[float] = None, g: Union[int, Callable[[Any], Any]] = 2) -> Tensor:\n y: Tensor = x * 2\n return ops.sum(y)",
    "postponed annotations": "from __future__ import annotations\ndef f(x: Tensor, k: float | None = None) -> Tensor: return ops.sum(x * 2)",
    "generic class": "import typing\nT = typing.TypeVar('T')\nclass Box(typing.Generic[T]):\n    def __init__(self, v: T): self.v = v\n    def get(self) -> T: return self.v\nbox = Box[float](2.0)\ndef f(x): return ops.sum(x * box.get())",
    "generic class made inside": "import typing\nT = typing.TypeVar('T')\nclass Box(typing.Generic[T]):\n    def __init__(self, v: T): self.v = v\ndef f(x): return ops.sum(Box(x).v * 2)",
    "typing.NamedTuple": "import typing\nclass P(typing.NamedTuple):\n    a: float\n    b: float = 3.0\np = P(2.0)\ndef f(x): return ops.sum(x * p.a + p.b)",
    "namedtuple made inside": "P = collections.namedtuple('P', 'a b')\ndef f(x):\n p = P(x, x * 2)._replace(a=x * 3)\n return ops.sum(p.a * p.b)",
    "typing.cast": "import typing\ndef f(x): return ops.sum(typing.cast(Tensor, x) * 2)",
    "TYPE_CHECKING": "import typing\nif typing.TYPE_CHECKING: import decimal\ndef f(x): return ops.sum(x * 2)",
    "numbers.Number": "import numbers\nk = 2.0\ndef f(x): return ops.sum(x * k) if isinstance(k, numbers.Number) else x",
    "collections.abc": "import collections.abc\nk = [2.0]\ndef f(x): return ops.sum(x * k[0]) if isinstance(k, collections.abc.Sequence) else x",
    "classes of a union": "k = 2.0\ndef f(x): return ops.sum(x * k) if isinstance(k, int | float) else x",
    "class without a name of its own in a module": "VIEW = type({}.keys())\nd = {'k': 2.0}\ndef f(x): return ops.sum(x * 2) if isinstance(d.keys(), VIEW) else x",
    "classes of a tuple": "NUMBERS = (int, float, np.ndarray)\nk = 2.0\ndef f(x): return ops.sum(x * k) if isinstance(k, NUMBERS) else x",
    "union by name": "Number = int | float\nk = 2.0\ndef f(x): return ops.sum(x * k) if isinstance(k, Number) else x",
    "Tensor checked": "def f(x): return ops.sum(x * 2) if isinstance(x, Tensor) and not isinstance(x, Parameter) else x",
    "f-string": "name = 'a'\ndef f(x):\n text = f'{name}: {x.shape} {2.0:.3f}'\n return ops.sum(x * len(text))",
    "format": "def f(x):\n text = '{} {:>5} {a}'.format(1, 'b', a=2)\n return ops.sum(x * len(text))",
    "percent": "def f(x):\n text = '%s %d' % ('a', 3)\n return ops.sum(x * len(text))",
    "format of an attribute": "class C: k = 2.0\nc = C()\ndef f(x): return ops.sum(x * float('{0.k}'.format(c)))",
    "error message": "def f(x):\n if x.ndim != 1: raise ValueError('{}: expected one axis, got {}'.format('f', x.shape))\n return ops.sum(x * 2)",
    "assertion": "def f(x):\n assert x.shape == (3,), f'{x.shape}'\n return ops.sum(x * 2)",
    "getattr with a constant": "import logging\nclass C:\n    def __init__(self): self.k, self.log = 2.0, logging.getLogger('a')\n    def g(self, x): return ops.sum(x * getattr(self, 'k'))\nf = C().g",
    "getattr with a default": "import logging\nclass C:\n    log = logging.getLogger('a')\n    def g(self, x): return ops.sum(x * getattr(self, 'k', 2.0))\nf = C().g",
    "hasattr": "import logging\nclass C:\n    log = logging.getLogger('a')\n    def g(self, x): return ops.sum(x * 2) if hasattr(self, 'k') else ops.sum(x * 3)\nf = C().g",
    "getattr of numpy": "def f(x): return ops.sum(x * float(getattr(np, 'sin')(1.0)))",
    "getattr of ops": "name = 'sin'\ndef f(x): return ops.sum(getattr(ops, name)(x))",
    "activation by name": "class C(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.act = 'tanh'\n    def construct(self, x): return ops.sum(getattr(ops, self.act)(x))\nf = C()",
    "super().construct": "class A(nn.Cell):\n    def construct(self, x): return x * 2\nclass B(A):\n    def construct(self, x): return ops.sum(super().construct(x))\nf = B()",
    "numpy on constants": "def f(x):\n k = np.linspace(0, 1, 3) * np.sqrt(2.0) + np.arange(3) + np.mean([1.0, 2.0])\n return ops.sum(x * Tensor(np.concatenate([k[:1], k[1:]])))",
    "numpy on captured arrays": "a = np.arange(6.0).reshape(2, 3)\ndef f(x): return ops.sum(x * Tensor(np.sum(a, axis=0) + a.mean(0) + np.linalg.norm(a) + np.dot(a, a.T)[0, 0]))",
    "numpy.fft": "def f(x): return ops.sum(x * Tensor(np.fft.fftfreq(3)))",
    "numpy.pi": "def f(x): return ops.sum(ops.sin(x * np.pi))",
    "numpy functions by name": "from numpy import exp, linspace, newaxis\ndef f(x): return ops.sum(x * Tensor(exp(linspace(0, 1, 3))[newaxis, :]))",
    "numpy errstate": "def f(x):\n with np.errstate(all='ignore'): k = np.log(np.array([1.0, 2.0, 3.0]))\n return ops.sum(x * Tensor(k))",
    "numpy dtype": "dtype = np.dtype('float64')\ndef f(x): return ops.sum(x * Tensor(np.ones(3, dtype=dtype)))",
    "numpy.einsum": "a = np.ones((3, 3))\ndef f(x): return ops.sum(x * Tensor(np.einsum('ij->j', a)))",
    "polynomial of numpy": "def f(x): return ops.sum(x * float(np.polyval([1.0, 2.0], 3.0)))",
    "math": "def f(x): return ops.sum(x * math.sqrt(2.0) * math.pi + math.log(3.0) - math.prod([1, 2]))",
    "math by name": "from math import pi, sqrt\ndef f(x): return ops.sum(x * sqrt(pi))",
    "cmath": "import cmath\ndef f(x): return ops.sum(x * cmath.exp(1j).real)",
    "sys.float_info": "import sys\ndef f(x): return ops.sum(x + sys.float_info.epsilon + sys.maxsize * 0.0)",
    "Python's version": "import sys\ndef f(x): return ops.sum(x * (2 if sys.version_info >= (3, 8) else 3))",
    "finfo": "def f(x): return ops.sum(x + np.finfo(np.float64).eps)",
    "Fraction": "from fractions import Fraction\nq = Fraction(1, 3)\ndef f(x): return ops.sum(x * float(q + Fraction(1, 2)))",
    "statistics": "import statistics\nl = [1.0, 2.0]\ndef f(x): return ops.sum(x * statistics.fmean(l))",
    "path in an unread attribute": "import pathlib\nclass C:\n    def __init__(self): self.path, self.k = pathlib.Path('a'), 2.0\n    def __call__(self, x): return ops.sum(x * self.k)\nf = C()",
    "lock in an attribute": "import threading\nclass C:\n    def __init__(self): self.lock, self.k = threading.Lock(), 2.0\n    def __call__(self, x): return ops.sum(x * self.k)\nf = C()",
    "random source in an unread attribute": "import random\nclass C:\n    def __init__(self): self.rng, self.k = random.Random(1), 2.0\n    def __call__(self, x): return ops.sum(x * self.k)\nf = C()",
    "random source in an unread attribute of a class": "import random\nclass C:\n    rng, k = random.Random(1), 2.0\n    def __call__(self, x): return ops.sum(x * self.k)\nf = C()",
    "numpy generator in an unread attribute": "class C(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.rng = np.random.default_rng(1)\n        self.w = Parameter(self.rng.random(3), name='w')\n    def construct(self, x): return ops.sum(x * self.w)\nf = C()",
    "text": "mode = 'Train'\ndef f(x): return ops.sum(x * 2) if mode.lower().strip().startswith('tr') else x",
    "regular expression": "import re\npattern = re.compile('a+')\ndef f(x): return ops.sum(x * len(pattern.match('aab').group(0)) + len(re.sub('a', '', 'ab')))",
    "itertools": "def f(x): return ops.sum(x * sum(a * b for a, b in itertools.product([1, 2], [3])) + len(list(itertools.chain([1], [2]))))",
    "operator": "def f(x): return ops.sum(operator.mul(x, 2))",
    "operator.itemgetter": "get = operator.itemgetter('k')\nd = {'k': 2.0}\ndef f(x): return ops.sum(x * get(d))",
    "operator.attrgetter": "get = operator.attrgetter('k')\nclass C: k = 2.0\nc = C()\ndef f(x): return ops.sum(x * get(c))",
    "sorted": "d = {'b': 1.0, 'a': 2.0}\ndef f(x):\n for k, v in sorted(d.items(), key=lambda item: item[0]): x = x * v\n return ops.sum(x)",
    "zip and enumerate": "l, m = [1.0, 2.0], (3.0, 4.0)\ndef f(x):\n for i, (a, b) in enumerate(zip(l, m, strict=True)): x = x * a + b * i\n return ops.sum(x)",
    "any and all": "l = [1.0, 2.0]\ndef f(x): return ops.sum(x * 2) if all(a > 0 for a in l) and any(map(bool, l)) else x",
    "print": "def f(x): return ops.sum(x * 2)\nprint = lambda *a: None",
    "property": "class C:\n    def __init__(self): self._k = 2.0\n    @property\n    def k(self): return self._k\nc = C()\ndef f(x): return ops.sum(x * c.k)",
    "cached property": "class C:\n    def __init__(self): self.n = 3\n    @functools.cached_property\n    def k(self): return float(sum(range(self.n)))\nc = C()\ndef f(x): return ops.sum(x * c.k)",
    "total ordering": "@functools.total_ordering\nclass V:\n    def __init__(self, v): self.v = v\n    def __eq__(self, o): return self.v == o.v\n    def __lt__(self, o): return self.v < o.v\na, b = V(1), V(2)\ndef f(x): return ops.sum(x * 2) if a <= b else x",
    "abstract base class": "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def k(self): ...\nclass B(A):\n    def k(self): return 2.0\nb = B()\ndef f(x): return ops.sum(x * b.k()) if isinstance(b, A) else x",
    "protocol": "import typing\nclass P(typing.Protocol):\n    k: float\nclass C:\n    k = 2.0\nc: P = C()\ndef f(x): return ops.sum(x * c.k)",
    "match": "kind = ('scale', 2.0)\ndef f(x):\n match kind:\n  case ('scale', k): return ops.sum(x * k)\n  case _: return ops.sum(x)",
    "match on a class": "@dataclasses.dataclass\nclass S:\n    k: float\ns = S(2.0)\ndef f(x):\n match s:\n  case S(k=k): return ops.sum(x * k)",
    "with": "import contextlib\n@contextlib.contextmanager\ndef scope(k): yield k * 2\ndef f(x):\n with scope(2.0) as k: return ops.sum(x * k)",
    "suppress": "import contextlib\nd = {}\ndef f(x):\n with contextlib.suppress(KeyError): x = x * d['a']\n return ops.sum(x * 2)",
    "try and except": "d = {}\ndef f(x):\n try: k = d['a']\n except KeyError as error: k = 2.0\n return ops.sum(x * k)",
    "exception class of one's own": "class Missing(KeyError):\n    'No such entry.'\ndef g(d): raise Missing('a')\ndef f(x):\n try: g({})\n except Missing: return ops.sum(x * 2)",
    "copy": "l = [1.0, 2.0]\ndef f(x): return ops.sum(x * copy.copy(l)[1] * copy.deepcopy(l)[0])",
    "dict of settings": "settings = {'k': 2.0, 'layers': [3, 4], 'act': ops.tanh, 'on': True}\ndef f(x): return ops.sum(settings['act'](x) * settings.get('k', 1.0) * len(settings['layers'])) if settings['on'] else x",
    "SimpleNamespace of settings": "import logging\nargs = types.SimpleNamespace(k=2.0, log=logging.getLogger('a'), id=3, input='a')\ndef f(x): return ops.sum(x * args.k * args.id * len(args.input))",
    "argparse.Namespace": "import argparse\nargs = argparse.Namespace(k=2.0, lr=0.1)\ndef f(x): return ops.sum(x * args.k)",
    "attributes with builtins' names": "class C:\n    id, open, input, eval = 2.0, 3.0, 4.0, lambda self: 5.0\nc = C()\ndef f(x): return ops.sum(x * c.id * c.open * c.input * c.eval())",
    "names of builtins": "id, input = 2.0, 3.0\ndef f(x): return ops.sum(x * id * input)",
    "eval of a Cell": "cell = nn.Dense(3, 1)\ndef f(x): return ops.sum(cell(x.astype(dg.float32)))",
    "class with text": "class C:\n    'Text.'\n    def __init__(self): self.k = 2.0\n    def __repr__(self): return f'{type(self).__name__}({self.k})'\n    def __call__(self, x): return ops.sum(x * self.k * len(repr(self)))\nf = C()",
    "type of an object": "class C: k = 2.0\nc = C()\ndef f(x): return ops.sum(x * type(c).k) if type(c) is C else x",
    "identity of None": "k = None\ndef f(x): return ops.sum(x * 2) if k is None else ops.sum(x)",
    "sentinel": "MISSING = object()\ndef g(x, k=MISSING): return x * 2 if k is MISSING else x * k\ndef f(x): return ops.sum(g(x))",
    "closure of layers": "def make():\n layers = [nn.Dense(3, 3), nn.Tanh()]\n def run(x):\n  for layer in layers: x = layer(x)\n  return ops.sum(x)\n return run\nrun = make()\ndef f(x): return run(x.astype(dg.float32))",
    "default dict of lists": "d = collections.defaultdict(list)\nd['a'].append(2.0)\ndef f(x): return ops.sum(x * d['a'][0])",
    "local defaultdict": "def f(x):\n d = collections.defaultdict(list)\n d['a'].append(x)\n return ops.sum(d['a'][0] * 2)",
    "local list": "def f(x):\n l = []\n for i in range(3): l.append(x * i)\n return ops.sum(ops.stack(l))",
    "local class": "def f(x):\n class P:\n  def __init__(self, v): self.v = v\n return ops.sum(P(x).v * 2)",
    "local deque and Counter": "def f(x):\n q = collections.deque([x], maxlen=2)\n q.append(x * 2)\n return ops.sum(q[-1] * collections.Counter('aab')['a'])",
    "ChainMap of settings": "m = collections.ChainMap({'k': 2.0}, {'j': 3.0})\ndef f(x): return ops.sum(x * m['k'] * m['j'])",
    "import in the function": "def f(x):\n import math\n from numpy import pi\n import dualgrad.ops as o\n return o.sum(x * math.sqrt(2.0) * pi)",
    "datetime in an unread attribute": "import datetime\nclass C:\n    def __init__(self): self.made, self.k = datetime.datetime.now(), 2.0\n    def __call__(self, x): return ops.sum(x * self.k)\nf = C()",
    "weights by name": "class C(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.w0, self.w1 = Parameter(np.ones(3), name='w0'), Parameter(np.ones(3), name='w1')\n    def construct(self, x):\n        for i in range(2): x = x * getattr(self, f'w{i}')\n        return ops.sum(x)\nf = C()",
    "Cells in a CellList": "class C(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.parts = nn.CellList([nn.Tanh(), nn.ReLU()])\n    def construct(self, x):\n        for part in self.parts: x = part(x)\n        return ops.sum(x)\nf = C()",
    "Cells in a CellDict": "class C(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.parts = nn.CellDict({'a': nn.Tanh(), 'b': nn.ReLU()})\n    def construct(self, x):\n        for key in self.parts: x = self.parts[key](x)\n        return ops.sum(x)\nf = C()",
    "value that is made once": "class C:\n    k = None\n    def __call__(self, x):\n        if self.k is None: self.k = 2.0\n        return ops.sum(x * self.k)\nf = C()",
    "tensors kept as constants": "k = Tensor(np.arange(3.0))\ndef f(x): return ops.sum(x * k.reshape(3))",
    "global of another module": "m = types.ModuleType('m')\nexec('K = 2.0\\nclass S: k = 3.0\\ndef g(x): return x * K', vars(m))\ndef f(x): return ops.sum(m.g(x) * m.S.k)",
    "warnings behind a branch": "import warnings\nOLD = False\ndef f(x):\n if OLD: warnings.warn('old', stacklevel=2)\n return ops.sum(x * 2)",
    "uuid and os in unread globals": "import os, uuid, random, time, sys\nSEED = 2\ndef f(x): return ops.sum(x * SEED)",
    "path separator": "import os\ndef f(x): return ops.sum(x * len(os.sep) * len(os.path.sep))",
    "tuple of shapes": "shape = (3,)\ndef f(x): return ops.sum(ops.reshape(x, shape) * math.prod(shape))",
    "bisect and heapq": "import bisect, heapq\nl = [1.0, 2.0]\ndef f(x): return ops.sum(x * bisect.bisect(l, 1.5) * heapq.nlargest(1, l)[0])",
}  # fmt: skip


@pytest.mark.parametrize("name", COMMON)
def test_what_is_common_is_replayed(name):
    x = Tensor(np.array([0.5, -1.0, 2.0]))
    forget_programs()
    with Instance(Place(name, COMMON[name])) as instance, warnings.catch_warnings():
        warnings.simplefilter("error")
        f = instance.f
        expected = f(x).asnumpy()
        recorded = dg.jit((lambda x: f(x)) if isinstance(f, dg.nn.Cell) else f)
        for _ in range(4):
            np.testing.assert_allclose(recorded(x).asnumpy(), expected, rtol=1e-6)
        assert any(replayed for _, replayed, _ in programs())
