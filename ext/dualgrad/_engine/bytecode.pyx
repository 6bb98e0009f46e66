"""Bytecode: the names by which Python code reaches what lies outside of it.

Design
------
A walk over all that a function can reach (reachability.pyx) follows names only where code uses them. Globals, free
variables and attributes are told apart by their instructions. A chain such as `np.linalg.norm` is kept whole, so that
the walk enters a module only where the code does.

Some names read attributes without naming them (`getattr`, `vars`, `__dict__`): such code is dynamic, and then every
attribute of every object counts. Other names lead where no walk can follow (`eval`, `globals`, `open`): such code is
refused.
"""
import opcode
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.long cimport PyLong_FromVoidPtr
from cpython.object cimport PyObject

cdef extern from "Python.h":
    int PY_VERSION_HEX
    bint PyCode_Check(object x)

cdef enum:
    MANY = 1 << 14                  # code objects that are kept
    OPTIMIZED = 1                   # a flag of the code of functions

cdef int CACHE = opcode.opmap.get("CACHE", -1)
cdef int EXTENDED_ARG = opcode.opmap["EXTENDED_ARG"]
cdef int MATCH_CLASS = opcode.opmap["MATCH_CLASS"]
cdef int ATTRIBUTE_SHIFT = 0 if PY_VERSION_HEX < 0x030C0000 else 1

cdef enum Use:
    NONE
    GLOBAL                          # also names of class bodies, which are looked up there first
    FREE
    ATTRIBUTE                       # read
    WRITTEN                         # an attribute that is set or deleted
    IMPORT

cdef Use[256] USE                   # of names by instructions
cdef int[256] SHIFT                 # of their arguments


cdef int fill_tables() except -1:
    cdef int i
    for i in range(256):
        USE[i] = NONE
        SHIFT[i] = 0
    for use, shift, instructions in (
            (GLOBAL, 1, ("LOAD_GLOBAL",)),
            (GLOBAL, 0, ("LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")),
            (FREE, 0, ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")),
            (ATTRIBUTE, ATTRIBUTE_SHIFT, ("LOAD_ATTR",)),
            (ATTRIBUTE, 0, ("LOAD_METHOD", "IMPORT_FROM")),
            (ATTRIBUTE, 2, ("LOAD_SUPER_ATTR",)),
            (WRITTEN, 0, ("STORE_ATTR", "DELETE_ATTR")),
            (IMPORT, 0, ("IMPORT_NAME",))):
        for name in instructions:
            if name in opcode.opmap:
                USE[<int>opcode.opmap[name]] = use
                SHIFT[<int>opcode.opmap[name]] = shift
    return 0


fill_tables()

# Builtins and attributes by which code reads or sets attributes that it does not name.
cdef set DYNAMIC = {
    "getattr", "setattr", "delattr", "hasattr", "vars", "dir", "__dict__", "__getattribute__", "__setattr__",
    "__delattr__", "__slots__", "__closure__", "__code__", "__defaults__", "__kwdefaults__", "__globals__",
    "cell_contents", "attrgetter", "methodcaller", "format_map", "__format__", "__reduce__", "__reduce_ex__",
    "__getstate__", "__setstate__", "__annotations__", "__match_args__", "__dir__", "getmembers", "update_wrapper",
}
# Names whose effect cannot be guarded.
cdef set REFUSED = {
    "eval", "exec", "globals", "compile", "__import__", "breakpoint", "input", "open", "id",
    "__subclasses__", "f_back", "f_globals", "f_locals", "gi_frame", "cr_frame", "ag_frame", "tb_frame",
    "import_module", "__builtins__", "fromfile", "genfromtxt", "loadtxt", "fromregex", "open_memmap",
}
cdef set TESTS_CLASS = {"isinstance", "issubclass"}

cdef dict KEPT = {}                 # address of a code object -> its Names


cdef Names names_of(object code):
    """The names in a code object."""
    identity = PyLong_FromVoidPtr(<void *>code)
    found = KEPT.get(identity)
    if found is None:
        if len(KEPT) >= MANY:
            KEPT.clear()
        found = KEPT[identity] = read(code)
    return <Names>found


cdef Names read(object code):
    cdef Names n = Names()
    cdef bytes instructions = code.co_code
    cdef const unsigned char *p = <const unsigned char *>PyBytes_AS_STRING(instructions)
    cdef Py_ssize_t i
    cdef int op, arg, high = 0
    cdef tuple names = code.co_names
    cdef list chain = None              # attributes that have followed a name so far
    cdef dict owner = None              # n.globals or n.free, for the name at the head of the chain
    head = None
    n.code = code
    n.attributes = set()
    n.globals = {}
    n.free = {}
    n.modules = set()
    n.nested = tuple([constant for constant in code.co_consts if PyCode_Check(constant)])
    for i in range(0, PyBytes_GET_SIZE(instructions), 2):
        op = p[i]
        if op == CACHE:
            continue
        arg = high | p[i + 1]
        high = arg << 8 if op == EXTENDED_ARG else 0
        if op == EXTENDED_ARG:
            continue
        if USE[op] == ATTRIBUTE:
            name = names[arg >> SHIFT[op]]
            n.attributes.add(name)
            if chain is not None:
                chain.append(name)
            continue
        if chain is not None:
            owner.setdefault(head, set()).add(tuple(chain))
            chain = None
        if USE[op] == GLOBAL or USE[op] == FREE:
            owner = n.globals if USE[op] == GLOBAL else n.free
            head = names[arg >> SHIFT[op]] if USE[op] == GLOBAL else code._varname_from_oparg(arg)
            chain = []
        elif USE[op] == WRITTEN:
            n.attributes.add(names[arg])
        elif USE[op] == IMPORT:
            n.modules.add(names[arg])
        elif op == MATCH_CLASS:
            n.dynamic = n.tests_class = True
    if chain is not None:
        owner.setdefault(head, set()).add(tuple(chain))
    return classified(n)


cdef Names classified(Names n):
    """Say what the names do besides naming."""
    if not n.code.co_flags & OPTIMIZED and "locals" in n.globals:       # there it may be the globals
        n.refused = "locals"
    for names in (n.attributes, n.globals):
        if not names:
            continue
        n.dynamic = n.dynamic or not DYNAMIC.isdisjoint(names)
        n.tests_class = n.tests_class or not TESTS_CLASS.isdisjoint(names)
        if n.refused is None and not REFUSED.isdisjoint(names):
            n.refused = sorted(REFUSED.intersection(names))[0]
    return n
