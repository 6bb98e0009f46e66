"""Names, imports and modules, as places that a factor can come from: see places.py."""

from places import place

# --------------------------------------------------------------------------------------------------------------- names

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
    ORIGINAL = builtins.ord
    def read(): return float(ord('a'))
""",
    change=["builtins.ord = lambda x: 7", "builtins.ord = ORIGINAL"],
    after="builtins.ord = ORIGINAL",
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

# ------------------------------------------------------------------------------------------------------------- imports
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
    "function called after an import",
    PACKAGE
    + """
    A = 1.0
    def g(): return A
    def read():
        from dg_a.b import c
        return g()
""",
    after=OVER,
    set="A = (V)",
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

# ------------------------------------------------------------------------------------------------------------- modules

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
    "passed module whose class changes",
    MODULE + "def g(m): return m.A\ndef read(): return g(m)",
    replace="class N(types.ModuleType):\n A = property(lambda self: 4.0)\nm.__class__ = N",
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
