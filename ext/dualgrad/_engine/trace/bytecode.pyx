"""Bytecode: the names by which Python code reaches objects outside of it.

Design
------
The walk over all objects that a function can reach (reachability.pyx) follows only the names that the code uses. The
instruction tells if a name is a global, a free variable or an attribute. A chain such as `np.linalg.norm` is kept
whole, so that the walk reads from a module only the attributes that the code reads.

Code that uses `getattr`, `vars` or `__dict__` is dynamic: it may read any attribute of any object. The exceptions are
`getattr(x, "name")` and `"{0.name}".format(x)`, which name the attribute. Code that uses `__globals__`, `f_back` and
the like is refused, since no walk can follow them.

If a recording has noted the instructions that ran, only these are read. A basic block is entered at its first
instruction only, so every instruction before one that ran has run too.

A chain ends with `CALLED` if the code calls the object at its end at once. The hook of a recording (executed.pyx) sees
such a call of a compiled function.
"""
import _string
import dis
import opcode
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.long cimport PyLong_FromVoidPtr

cdef extern from "Python.h":
    int PY_VERSION_HEX
    bint PyCode_Check(object x)

cdef enum:
    MAX_CODE_OBJECTS = 1 << 14      # code objects whose names are kept
    OPTIMIZED = 1                   # the flag CO_OPTIMIZED of code objects of functions

cdef int CACHE = opcode.opmap.get("CACHE", -1)
cdef int EXTENDED_ARG = opcode.opmap["EXTENDED_ARG"]
cdef int MATCH_CLASS = opcode.opmap["MATCH_CLASS"]
cdef int ATTRIBUTE_SHIFT = 0 if PY_VERSION_HEX < 0x030C0000 else 1

cdef int LOAD_BUILD_CLASS = opcode.opmap["LOAD_BUILD_CLASS"]
cdef int LOAD_CONST = opcode.opmap["LOAD_CONST"]
cdef int LOAD_METHOD = opcode.opmap.get("LOAD_METHOD", -1)
cdef int LOAD_GLOBAL = opcode.opmap["LOAD_GLOBAL"]
cdef int LOAD_ATTR = opcode.opmap["LOAD_ATTR"]
cdef int IS_OP = opcode.opmap["IS_OP"]
# From Python 3.13 on it follows the called object, before the arguments. Before, the load of this object has a flag.
cdef int PUSH_NULL = opcode.opmap["PUSH_NULL"] if PY_VERSION_HEX >= 0x030D0000 else -1
cdef set CONSTANTS = {opcode.opmap[name] for name in (
    "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT") if name in opcode.opmap}
cdef set NAMES = {opcode.opmap[name] for name in (
    "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME")
    if name in opcode.opmap}
cdef set CALLS = {opcode.opmap[name] for name in ("PRECALL", "CALL") if name in opcode.opmap}
cdef set LEAVES_BLOCK = {*opcode.hasjrel, *opcode.hasjabs, *[opcode.opmap[name] for name in (
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE") if name in opcode.opmap]}
cdef int NOP = opcode.opmap["NOP"]
cdef object CALLED = "()"

cdef enum Use:
    NONE
    GLOBAL                          # and names in class bodies, which may be local or global
    FREE
    ATTRIBUTE                       # read
    WRITTEN                         # an attribute that is set or deleted
    IMPORT

cdef Use[256] USE                   # instruction -> how it uses its name
cdef int[256] SHIFT                 # instruction -> bits of its argument below the index of the name


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
            if opcode.opmap.get(name, 256) < 256:       # others are internal to the compiler
                USE[<int>opcode.opmap[name]] = use
                SHIFT[<int>opcode.opmap[name]] = shift
    return 0


fill_tables()

# Builtins and attributes by which code reads or sets attributes without naming them.
cdef set DYNAMIC = {
    "getattr", "setattr", "delattr", "hasattr", "vars", "dir", "__dict__", "__getattribute__", "__setattr__",
    "__delattr__", "__slots__", "__closure__", "__code__", "__defaults__", "__kwdefaults__",
    "cell_contents", "attrgetter", "methodcaller", "format_map", "__format__", "__reduce__", "__reduce_ex__",
    "format", "getattr_static", "_lazy_load_getattr_static",
    "__getstate__", "__setstate__", "__annotations__", "__match_args__", "__dir__", "getmembers", "update_wrapper",
}
# Names that no guard can follow.
cdef set REFUSED = {
    "__import__", "__subclasses__", "f_back", "f_globals", "f_locals", "gi_frame", "cr_frame", "ag_frame", "tb_frame",
    "import_module", "__builtins__", "__globals__", "fromfile", "genfromtxt", "loadtxt", "fromregex", "open_memmap",
    "__array_interface__", "__array_struct__",
}
cdef set TESTS_CLASS = {"isinstance", "issubclass", "__instancecheck__", "__subclasscheck__"}

cdef dict NAMES_OF_CODE = {}        # address of a code object -> its Names


cdef class Names:

    def __cinit__(self):
        self.attributes = set()
        self.globals = {}
        self.free = {}
        self.modules = set()
        self.identities = set()


cdef Names names_of(object code):
    """The names in a code object."""
    identity = PyLong_FromVoidPtr(<void *>code)
    found = NAMES_OF_CODE.get(identity)
    if found is None:
        if len(NAMES_OF_CODE) >= MAX_CODE_OBJECTS:
            NAMES_OF_CODE.clear()
        found = NAMES_OF_CODE[identity] = read_names(code, None)
    return <Names>found


cdef Names names_executed(object code, object offsets):
    """The names in the blocks of a code object that have run; `offsets` None: in all blocks."""
    return names_of(code) if offsets is None or not names_of(code).branches else read_names(code, offsets)


cdef Names read_names(object code, object offsets):
    cdef Names n = Names()
    cdef list ops = instructions_of(code, offsets)
    cdef Py_ssize_t i
    cdef int op, arg
    cdef tuple names = code.co_names
    cdef list chain = None              # the attributes after the latest name,
    cdef bint called = False            # True if the object at their end is called
    cdef dict owner = None              # n.globals or n.free: where the name at the head of the chain belongs
    cdef set known = named_by_constants(n, code, ops)   # constants that name an attribute, and the calls that read it
    head = None
    n.code = code
    n.branches = any([op in LEAVES_BLOCK for op, _ in ops[:len(ops) - 1]])
    n.nested = tuple([constant for constant in code.co_consts if PyCode_Check(constant)])
    for i in range(len(ops)):
        op, arg = ops[i]
        if USE[op] == ATTRIBUTE or (op == LOAD_CONST and i in known):
            name = code.co_consts[arg] if op == LOAD_CONST else names[arg >> SHIFT[op]]
            if op == LOAD_CONST or i not in known:
                n.attributes.add(name)
            if chain is not None:
                chain.append(name)
                called = called or op == LOAD_METHOD or (op == LOAD_ATTR and LOAD_METHOD < 0 and arg & 1)
            continue
        if chain is not None:
            called = called or op == PUSH_NULL
            owner.setdefault(head, set()).add((*chain, CALLED) if called else tuple(chain))
            chain = None
        if (USE[op] == GLOBAL or USE[op] == FREE) and i in known:
            n.globals.setdefault(names[arg >> SHIFT[op]], set())
        elif USE[op] == GLOBAL or USE[op] == FREE:
            owner = n.globals if USE[op] == GLOBAL else n.free
            head = names[arg >> SHIFT[op]] if USE[op] == GLOBAL else code._varname_from_oparg(arg)
            chain = []
            called = op == LOAD_GLOBAL and arg & 1
        elif USE[op] == WRITTEN:
            n.attributes.add(names[arg])
        elif USE[op] == IMPORT:
            n.modules.add(import_request(names[arg], code.co_consts, ops, i))
        elif op == LOAD_BUILD_CLASS:
            n.globals.setdefault("__build_class__", set())
        elif op == MATCH_CLASS:
            n.dynamic = n.tests_class = True
        elif op == IS_OP:
            note_identity_test(n, names, ops, i)
    if chain is not None:
        owner.setdefault(head, set()).add((*chain, CALLED) if called else tuple(chain))
    return classify(n, code)


cdef list instructions_of(object code, object offsets):
    """The instructions as (instruction, argument), with NOP for instructions that have not run."""
    cdef bytes instructions = code.co_code
    cdef set skipped = set() if offsets is None else offsets_not_run(code, <set>offsets)
    cdef const unsigned char *p = <const unsigned char *>PyBytes_AS_STRING(instructions)
    cdef Py_ssize_t i
    cdef int op, high = 0
    cdef list ops = []
    for i in range(0, PyBytes_GET_SIZE(instructions), 2):
        op = p[i]
        if op == CACHE:
            continue
        if op != EXTENDED_ARG:
            ops.append((NOP if i in skipped else op, high | p[i + 1]))
        high = (high | p[i + 1]) << 8 if op == EXTENDED_ARG else 0
    return ops


cdef set offsets_not_run(object code, set offsets):
    """The offsets of instructions that have not run: in each block, all after the last one that ran."""
    cdef bytes instructions = code.co_code
    cdef set entered = set(dis.findlabels(instructions)), skipped = set()
    cdef list block = []
    cdef Py_ssize_t i, last = -2
    for i in range(0, len(instructions), 2):
        if i in entered or (block and instructions[i - 2] in LEAVES_BLOCK):
            skipped.update(block)
            block = []
        block.append(i)
        if i in offsets or (0 < i == last + 2 and instructions[last] == EXTENDED_ARG):
            block = []                          # the instructions before it in the block ran too
            last = i
    return skipped.union(block)


cdef set named_by_constants(Names n, object code, list ops):
    """Find calls of `getattr`, `hasattr` or `format` whose constants name the attributes. Returns the places of the
    instructions that load the function or such a constant."""
    cdef Py_ssize_t i, at
    cdef set found = set()
    for i, (op, arg) in enumerate(ops):
        if op == LOAD_GLOBAL and code.co_names[arg >> 1] in ("getattr", "hasattr"):
            at = constant_of_call(code, ops, i + 1)
            if at >= 0:
                found.update((i, at))
        elif USE[<int>op] == ATTRIBUTE and i and code.co_names[arg >> SHIFT[<int>op]] == "format" \
                and ops[i - 1][0] == LOAD_CONST:
            fields = attributes_in_format(code.co_consts[ops[i - 1][1]])
            if fields is not None:
                n.attributes |= fields
                found.add(i)
    return found


cdef Py_ssize_t constant_of_call(object code, list ops, Py_ssize_t i) except -2:
    """The place of "name" in a call with arguments `x.y.z, "name"` or `x.y.z, "name", default`; -1 for other calls."""
    cdef Py_ssize_t at, n = len(ops)
    i = after_chain(ops, i)
    if i < 0 or i >= n or ops[i][0] != LOAD_CONST or not isinstance(code.co_consts[ops[i][1]], str):
        return -1
    at = i
    i += 1
    if i < n and ops[i][0] not in CALLS:
        i = i + 1 if ops[i][0] in CONSTANTS else after_chain(ops, i)
    return at if 0 <= i < n and ops[i][0] in CALLS else -1


cdef Py_ssize_t after_chain(list ops, Py_ssize_t i) except -2:
    """The instruction after `x.y.z`, or -1 for anything else."""
    if i >= len(ops) or ops[i][0] not in NAMES:
        return -1
    i += 1
    while i < len(ops) and ops[i][0] == LOAD_ATTR:
        i += 1
    return i


cdef set attributes_in_format(object text):
    """The attributes that a format string names; None if they cannot be known."""
    cdef set found = set()
    if not isinstance(text, str):
        return None
    try:
        for _, field, spec, _ in _string.formatter_parser(text):
            if spec and "{" in spec:
                return None
            if field:
                found.update([name for named, name in _string.formatter_field_name_split(field)[1] if named])
    except ValueError:
        return None
    return found


cdef tuple import_request(str name, tuple constants, list ops, Py_ssize_t i):
    """The module, level and names of an import instruction; level -1: the arguments are not constants."""
    cdef list asked = [constants[arg] for op, arg in ops[max(i - 2, 0):i] if op == LOAD_CONST]
    if len(asked) == 1 and i > 1:               # later versions of Python do not store small numbers as constants
        asked.insert(0, ops[i - 2][1])
    if len(asked) != 2 or not isinstance(asked[0], int) or not (asked[1] is None or isinstance(asked[1], tuple)):
        return name, -1, None
    return name, asked[0], asked[1]


cdef int note_identity_test(Names n, tuple names, list ops, Py_ssize_t i) except -1:
    """Note the second operand of `is`: a constant does not matter, a global is kept by its name."""
    cdef int op, arg
    op, arg = ops[i - 1]
    if op in CONSTANTS:
        return 0
    n.identities.add(names[arg >> 1] if op == LOAD_GLOBAL else None)
    return 0


cdef Names classify(Names n, object code):
    """Set the flags that follow from the names: dynamic, tests_class, refused."""
    if not n.code.co_flags & OPTIMIZED and "locals" in n.globals:       # outside of functions locals() is globals()
        n.refused = "locals"
    for names in (n.attributes, {name for name, chains in n.globals.items() if chains and name != "format"}):
        if not names:
            continue
        n.dynamic = n.dynamic or not DYNAMIC.isdisjoint(names)
        n.tests_class = n.tests_class or not TESTS_CLASS.isdisjoint(names)
        if n.refused is None and not REFUSED.isdisjoint(names):
            n.refused = sorted(REFUSED.intersection(names))[0]
    if n.dynamic and n.refused is None:
        n.refused = next((text for text in code.co_consts if type(text) is str and text in REFUSED
                          and "_" in text), None)
    return n
