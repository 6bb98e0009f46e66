"""Executed: the Python code that runs while a function is recorded.

Design
------
A replay repeats one execution. So only objects that the executed code reads can matter, and code that did not run needs
no guards. The interpreter's profiling hook reports each Python function that begins and each compiled function that
Python code calls. The hook is set during a recording, on its thread only; a hook that was set before is called too.

The tracing hook also reports each instruction of users' code. It is slow. It is set only if a name stops the walk and
the code that uses the name may not have run. If a debugger holds this hook, the instructions are not known and all
names count.

The garbage collector may run at any time. The functions in `gc.callbacks` and the finalizers that it calls are not part
of the execution. Two functions of this module stand at the ends of that list, and tell when a collection begins and
ends.

The module of a piece of code decides its trust. This package, NumPy and the stateless part of the standard library are
constant. The rest of the standard library (clocks, files, random numbers, threads) cannot be repeated.
"""
cimport cython

import gc
import sys

from cpython.dict cimport PyDict_CheckExact
from cpython.long cimport PyLong_FromVoidPtr
from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_get_thread_ident

from ..arrays.array cimport DG_DEBUG
from ..primitives.execute cimport active_tracer, tracing
from .recorder cimport Recorder

cdef extern from "memory/shared.h":
    long long dg_read_shared(long long *counter) noexcept
    void dg_write_shared(long long *counter, long long n) noexcept

cdef extern from *:
    """
    #include <frameobject.h>
    static Py_tracefunc dg_profile_function(void) { return PyThreadState_Get()->c_profilefunc; }
    static Py_tracefunc dg_trace_function(void) { return PyThreadState_Get()->c_tracefunc; }
    static PyObject *dg_profile_argument(void)
    {
        PyObject *found = PyThreadState_Get()->c_profileobj;
        found = found ? found : Py_None;
        Py_INCREF(found);
        return found;
    }
    static void *dg_method_of(PyObject *f) { return ((PyCFunctionObject *)f)->m_ml; }
    static PyObject *dg_self_of(PyObject *f) { return ((PyCFunctionObject *)f)->m_self; }       /* borrowed */
    static PyObject *dg_globals_of(PyFrameObject *frame)    /* borrowed: the frame holds it */
    {
        PyObject *found = PyFrame_GetGlobals(frame);
        Py_XDECREF(found);
        return found;
    }
    static PyFrameObject *dg_caller_of(PyFrameObject *frame)        /* borrowed */
    {
        PyFrameObject *found = PyFrame_GetBack(frame);
        Py_XDECREF(found);
        return found;
    }
    static void *dg_code_of(PyFrameObject *frame)           /* borrowed */
    {
        PyCodeObject *found = PyFrame_GetCode(frame);
        Py_XDECREF(found);
        return found;
    }
    """
    ctypedef struct PyFrameObject
    ctypedef int (*Py_tracefunc)(PyObject *, PyFrameObject *, int, PyObject *) except -1
    Py_tracefunc dg_profile_function()
    Py_tracefunc dg_trace_function()
    object dg_profile_argument()
    void *dg_method_of(PyObject *f)
    PyObject *dg_self_of(PyObject *f) noexcept
    PyObject *dg_globals_of(PyFrameObject *frame)
    PyFrameObject *dg_caller_of(PyFrameObject *frame)
    void *dg_code_of(PyFrameObject *frame)
    void PyEval_SetProfile(Py_tracefunc hook, PyObject *argument)
    void PyEval_SetTrace(Py_tracefunc hook, PyObject *argument)
    int PyFrame_GetLasti(PyFrameObject *frame)
    int PY_VERSION_HEX
    int PyTrace_CALL
    int PyTrace_OPCODE
    int PyTrace_C_CALL
    bint PyCFunction_Check(PyObject *x)
    bint PyFunction_Check(object x)

# ---------------------------------------------------------------------------------------------------------- trust

# Modules of the standard library whose functions depend on their arguments only.
cdef object PURE_LIBRARY = frozenset("""
    abc array bisect builtins cmath collections colorsys contextlib copy copyreg dataclasses enum fractions functools
    graphlib heapq itertools keyword math numbers operator re reprlib sre_compile sre_constants sre_parse statistics
    string struct textwrap types typing unicodedata warnings _abc _bisect _collections _collections_abc _functools
    _heapq _operator _py_abc _sitebuiltins _sre _statistics _string _struct _typing _warnings _weakrefset __future__
    """.split())
# Parts of NumPy and of this package that read files or draw numbers.
cdef tuple IMPURE_PARTS = ("numpy.random", "numpy.lib.npyio", "numpy.lib._npyio_impl", "numpy.lib._datasource",
                           "numpy.lib.format", "numpy.testing", "numpy.ctypeslib", "numpy.f2py",
                           "dualgrad.serialization", "dualgrad.dataset")
cdef object LIBRARY = frozenset(sys.stdlib_module_names)
cdef dict TRUSTED = {}              # name of a module -> Trust
cdef dict TRUSTED_GLOBALS = {}      # address of a dict -> the dict: globals of modules found under their names


cdef Trust trust_of_name(object name):
    """The trust in a module, by its name."""
    if not isinstance(name, str):
        return USERS
    found = TRUSTED.get(name)
    if found is None:
        found = TRUSTED[name] = trust_of_new_name(name)
    return <Trust><int>found


cdef int trust_of_new_name(str name):
    cdef str package = name.partition(".")[0]
    for part in IMPURE_PARTS:
        if name == part or name.startswith(part + "."):
            return IMPURE
    if package == "dualgrad":
        return OURS
    if package == "numpy" or name in PURE_LIBRARY or package in PURE_LIBRARY:
        return PURE
    return IMPURE if package in LIBRARY else USERS


cdef Trust trust_of(dict around):
    """The trust in code with these globals. Globals that only carry a module's `__name__` are the user's."""
    cdef Trust found = trust_of_name(around.get("__name__"))
    if found == USERS:                          # __new__ of a named tuple has its own globals
        return PURE if "_tuple_new" in around and len(around) == 3 else USERS
    identity = PyLong_FromVoidPtr(<void *>around)
    if identity in TRUSTED_GLOBALS:
        return found
    module = sys.modules.get(around["__name__"])
    if getattr(module, "__dict__", None) is not around and around["__name__"] != "builtins":
        return USERS
    TRUSTED_GLOBALS[identity] = around
    return found


# Attributes of a class, read without code of its metaclass.
cdef object MRO_OF = type.__dict__["__mro__"].__get__
cdef object ENTRIES_OF = type.__dict__["__dict__"].__get__
cdef object MODULE_OF = type.__dict__["__module__"].__get__
cdef object QUALNAME_OF = type.__dict__["__qualname__"].__get__
cdef object IMPURE_BUILTINS = frozenset({"open", "input", "eval", "exec", "compile", "globals", "__import__",
                                         "breakpoint", "id"})


cdef str why_not_repeatable(object f):
    """The name of a compiled function whose call cannot be repeated; None if it can."""
    cdef str name = f.__name__
    module = f.__module__
    owner = f.__self__
    if isinstance(module, str):
        if module == "builtins" and name in IMPURE_BUILTINS:
            return name
        return None if trust_of_name(module) in (OURS, PURE) else f"{module}.{name}"
    for of in (owner, type(owner)):
        for kind in MRO_OF(of) if isinstance(of, type) else ():
            # The Python method that called this one by super() is skipped.
            if name in ENTRIES_OF(kind) and not PyFunction_Check(ENTRIES_OF(kind)[name]):
                if trust_of_name(MODULE_OF(kind)) in (OURS, PURE):
                    return None
                return f"{MODULE_OF(kind)}.{QUALNAME_OF(kind)}.{name}"
    return name


# -------------------------------------------------------------------------------------------------------- collections

cdef long long collector = 0        # the thread on which the garbage collector runs; 0: it does not run
cdef object JOINED = object()       # held without GIL while the two functions are put into the list


def collection_begins(str phase, dict info):
    """The first of `gc.callbacks`."""
    if phase == "start":
        dg_write_shared(&collector, <long long>PyThread_get_thread_ident())


def collection_ends(str phase, dict info):
    """The last of `gc.callbacks`."""
    if phase == "stop":
        dg_write_shared(&collector, 0)


cdef int watch_collections() except -1:
    """Put the two functions at the ends of the list, which other code may have extended."""
    cdef list callbacks = gc.callbacks
    with cython.critical_section(JOINED):
        if callbacks and callbacks[0] is collection_begins and callbacks[len(callbacks) - 1] is collection_ends:
            return 0
        for function in (collection_begins, collection_ends):
            if function in callbacks:
                callbacks.remove(function)
        callbacks.insert(0, collection_begins)
        callbacks.append(collection_ends)
    return 0


cdef bint collecting() noexcept:
    """True if the garbage collector runs on this thread."""
    cdef long long now = dg_read_shared(&collector)
    return now != 0 and now == <long long>PyThread_get_thread_ident()


# ----------------------------------------------------------------------------------------------------------- the hook

cdef int on_event(PyObject *argument, PyFrameObject *frame, int what, PyObject *detail) except -1:
    cdef Executed e = <Executed>argument
    cdef void *code
    cdef void *around
    if collecting():
        pass
    elif what == PyTrace_CALL:
        code = dg_code_of(frame)
        around = <void *>dg_globals_of(frame)
        if DG_DEBUG and (<str>(<object>code).co_filename).endswith(".pyx"):
            pass    # a debug build also reports functions of the engine, some of which cannot raise
        elif code is not e.last or around is not e.last_globals:
            e.last = code
            e.last_globals = around
            python_function_begun(e, code, frame)
    elif what == PyTrace_C_CALL and PyCFunction_Check(detail):
        if dg_self_of(detail) == <PyObject *>gc and tracing() and isinstance(active_tracer(), Recorder):
            (<Recorder>active_tracer()).resume()    # the function sees the collector, or sets it, as its user has
        if e.impure is None:
            compiled_function_called(e, frame, detail)
    if e.former is not NULL:
        return (<Py_tracefunc>e.former)(<PyObject *>e.former_argument, frame, what, detail)
    return 0


cdef int python_function_begun(Executed e, void *code, PyFrameObject *frame) except -1:
    """Note a Python function that begins."""
    cdef PyObject *around = dg_globals_of(frame)
    cdef Trust trust
    identity = PyLong_FromVoidPtr(code)
    found = e.codes.get(identity)
    if not PyDict_CheckExact(<object>around):
        e.impure = f"{(<object>code).co_name} with globals that are no plain dict"
        return 0
    if found is None or not ran_under(<tuple>found, <object>around):
        trust = trust_of(<dict>around)
        if trust == IMPURE and of_import_system(<dict>around):
            e.imported = True
        if e.imported and inside_import(frame):  # a module is imported only once
            e.last = NULL
            return 0
        if trust == IMPURE or of_scipy(<dict>around):
            e.last = NULL                       # its next caller may be another one
            if not called_by_users(frame):
                return 0
            if trust == IMPURE:
                if e.impure is None:
                    e.impure = f"{(<dict>around)['__name__']}.{(<object>code).co_name}"
                return 0
        e.codes[identity] = (<object>code, <object>around) if found is None else <tuple>found + (<object>around,)
    return 0


cdef bint ran_under(tuple entry, object around) except -1:
    """True if the code of an entry ran with these globals."""
    cdef Py_ssize_t i
    for i in range(1, len(entry)):
        if entry[i] is around:
            return True
    return False


cdef bint of_scipy(dict around) except -1:
    """True if globals belong to SciPy, which this package calls."""
    name = around.get("__name__")
    return type(name) is str and ((<str>name).startswith("scipy.") or name == "scipy")


cdef bint called_by_users(PyFrameObject *frame) except -1:
    """True if users' code, not trusted code, called a function of a library."""
    cdef PyObject *around
    frame = dg_caller_of(frame)
    while frame is not NULL:
        around = dg_globals_of(frame)
        found = trust_of(<dict>around)
        if found == OURS or found == PURE:
            return False
        if found == USERS and not of_scipy(<dict>around):
            return True
        frame = dg_caller_of(frame)
    return True


cdef bint inside_import(PyFrameObject *frame) except -1:
    """True if a frame runs as part of an import."""
    while frame is not NULL:
        if of_import_system(<dict>dg_globals_of(frame)):
            return True
        frame = dg_caller_of(frame)
    return False


cdef int compiled_function_called(Executed e, PyFrameObject *frame, PyObject *f) except -1:
    """Note a compiled function that a Python function calls."""
    identity = PyLong_FromVoidPtr(dg_method_of(f))
    if identity in e.calls:
        return 0
    around = <object>dg_globals_of(frame)
    if not PyDict_CheckExact(around) or trust_of(<dict>around) != USERS or (e.imported and inside_import(frame)):
        return 0
    if of_scipy(<dict>around) and not called_by_users(frame):
        return 0                                # its next caller may be another one
    e.calls.add(identity)
    e.impure = why_not_repeatable(<object>f)
    return 0


cdef int on_trace(PyObject *argument, PyFrameObject *frame, int what, PyObject *detail) except -1:
    cdef Executed e = <Executed>argument
    if collecting():
        return 0
    if what == PyTrace_CALL:
        around = <object>dg_globals_of(frame)
        if PyDict_CheckExact(around) and trust_of(<dict>around) == USERS and not of_scipy(<dict>around):
            e.offsets.setdefault(PyLong_FromVoidPtr(dg_code_of(frame)), set())
            (<object><PyObject *>frame).f_trace_opcodes = True
    elif what == PyTrace_OPCODE:
        (<set>(<dict>e.offsets)[PyLong_FromVoidPtr(dg_code_of(frame))]).add(PyFrame_GetLasti(frame))
    return 0


cdef class Executed:

    def __cinit__(self):
        self.codes = {}
        self.calls = set()

    cdef int start(self) except -1:
        """Set the profiling hook. Also set the tracing hook if instructions are wanted and the hook is free."""
        watch_collections()
        self.former = <void *>dg_profile_function()
        self.former_argument = dg_profile_argument()
        if self.traced and traceable():
            self.offsets = {}
            PyEval_SetTrace(on_trace, <PyObject *>self)
        PyEval_SetProfile(on_event, <PyObject *>self)
        return 0

    cdef int stop(self) except -1:
        self.complete = dg_profile_function() is on_event
        if self.offsets is not None and dg_trace_function() is on_trace:
            PyEval_SetTrace(<Py_tracefunc>NULL, NULL)
        elif self.offsets is not None:
            self.complete = False
        PyEval_SetProfile(<Py_tracefunc>self.former,
                          <PyObject *>self.former_argument if self.former is not NULL else NULL)
        return 0

    cdef bint same_as(self, Executed other) except -1:
        """True if the same code has run, under the same globals."""
        if len(self.codes) != len(other.codes):
            return False
        for identity, found in self.codes.items():
            before = other.codes.get(identity)
            if before is None or len(<tuple>before) != len(<tuple>found):
                return False
            if not all([a is b for a, b in zip(<tuple>found, <tuple>before)]):
                return False
        return self.offsets == other.offsets


cdef bint traceable() noexcept:
    """True if this interpreter reports single instructions, and no other tracing hook is set."""
    return PY_VERSION_HEX < 0x030C0000 and dg_trace_function() is NULL


cdef bint of_import_system(dict around) except -1:
    """True if globals belong to the import system."""
    name = around.get("__name__")
    return type(name) is str and (<str>name).startswith(("importlib", "zipimport", "encodings"))
