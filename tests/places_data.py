"""Containers and arrays, as places that a factor can come from: see places.py."""

from places import CLOSURE, place

# ---------------------------------------------------------------------------------------------------------- containers

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

# -------------------------------------------------------------------------------------------------------------- arrays

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
