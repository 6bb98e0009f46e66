"""Machine code in place of instructions: its input, the time to ask for it, and its publication to a region.

Design
------
`dualgrad.native` writes machine code. It receives a region when the region has run for some time. The region keeps its
instructions until the code is ready. Then one reference is exchanged, under the interpreter's lock (without it, in the
region's critical section). A run reads that reference once, so it uses one form of the code from beginning to end. A
region without machine code after that is never offered again.
"""
cimport cython
cimport numpy as cnp
from cpython.mem cimport PyMem_Calloc, PyMem_Free

from ..primitives.opcodes cimport OP_ADD, OP_SUM
from ..primitives.registry cimport own_function
from .code cimport RegionCode
from .executor cimport *
from .facts cimport instruction_data

cdef extern from "Python.h":
    ctypedef struct PyThreadState:
        pass
    PyThreadState *PyThreadState_Get()
    void PyThreadState_EnterTracing(PyThreadState *state)
    void PyThreadState_LeaveTracing(PyThreadState *state)

cdef extern from "memory/shared.h":
    long long dg_add_shared(long long *counter, long long n) noexcept
    long long dg_read_shared(long long *counter) noexcept
    void dg_write_shared(long long *counter, long long n) noexcept

cdef extern from "executor/native.h":
    bint dg_run_numbers(const dg_native_numbers *part, cnp.npy_intp parts, char **bases, void **calls) noexcept

cdef enum:
    TRIES = 16                      # runs after which machine code that mostly meets nan is dropped

TIER = None                         # function that receives a region after it has run for PATIENCE
cdef long long PATIENCE = -1        # approximate nanoseconds; -1 while TIER is None
cdef double CALL = 15e-9            # seconds of a call of a loop,
cdef double ELEMENT = 0.3e-9        # of one element in it,
cdef double STEP = 5e-9             # and of a step on single numbers


cdef class NativeCode:

    def __dealloc__(self):
        PyMem_Free(self.code)
        PyMem_Free(self.runs)
        PyMem_Free(self.parts)
        PyMem_Free(self.calls)


def watch_regions(tier, double patience):
    """Have `tier` called once with each region that has run for about `patience` seconds; None stops this."""
    global TIER
    TIER = tier
    dg_write_shared(&PATIENCE, -1 if tier is None else <long long>(1e9 * patience))


cdef double cost_of(RegionCode region) noexcept:
    """Approximate seconds that one run of the loops of a region takes."""
    cdef double found = 0.0
    cdef Py_ssize_t i, blocks = 1 + (region.n_rows - 1) // max(region.block, 1)
    if region.scalars is not NULL:
        return STEP * region.count
    for i in range(region.count):
        if region.code[i].kind == DG_LOOP:
            found += CALL * blocks + ELEMENT * region.n_rows * region.code[i].width
    return found


cdef NativeCode native_of(RegionCode region):
    """The machine code of a region, or None. Offers the region to the tier function when it has run long enough."""
    cdef bint asks = False
    cdef long long patience = dg_read_shared(&PATIENCE)
    with cython.critical_section(region):
        native = region.native
        if native is None and patience >= 0:
            region.heat += cost_of(region)
            asks = 1e9 * region.heat >= patience
            if asks:
                region.native = False
    if asks:
        ask_for(region)
        with cython.critical_section(region):
            native = region.native
    return <NativeCode>native if type(native) is NativeCode else None


cdef int ask_for(RegionCode region) except -1:
    """Call the tier function. If a recording runs the region, it must not see the compiler's own execution."""
    cdef PyThreadState *state = PyThreadState_Get()
    tier = TIER
    if tier is None:                # switched off since
        return 0
    PyThreadState_EnterTracing(state)
    try:
        tier(region)
    finally:
        PyThreadState_LeaveTracing(state)
    return 0


cdef bint run_numbers(RegionCode region, NativeCode native, char **bases):
    """Run a program on single numbers; False if the instructions must run instead."""
    cdef long long stopped, ran = dg_add_shared(&native.ran, 1)
    if dg_run_numbers(native.parts, native.n_parts, bases, native.calls):
        return True
    stopped = dg_add_shared(&native.stopped, 1)
    if ran >= TRIES and 2 * stopped > ran:
        with cython.critical_section(region):
            if region.native is native:
                region.native = False
    return False


# ------------------------------------------------------------------------------------------------------------- input

def form_of(RegionCode region not None):
    """The size of a region for machine code: (number of instructions, rows of a tile). No rows mean a program on single
    numbers; (0, 0) means that machine code is not possible."""
    cdef Py_ssize_t i
    if region.scalars is NULL:
        return region.count, region.block
    for i in range(region.count):
        if not is_of_one_type(&region.code[i], region.listing[i]):
            return 0, 0
    return (0 if region.region.operations else region.count), 0


cdef bint is_of_one_type(const dg_instruction *p, object called):
    """True if an instruction is a loop, or a copy, on floats of one dtype."""
    return ((p.kind == DG_LOOP or p.kind == DG_COPY) and p.item == p.step[0] and called is not None
            and (called[1] == cnp.NPY_DOUBLE or called[1] == cnp.NPY_FLOAT))


def numbers_of(RegionCode region not None, Py_ssize_t first, Py_ssize_t stop):
    """Instructions of a program on single numbers: (opcode, type number, fusion, operands, result). Each operand, like
    the result, is (base, offset)."""
    cdef list found = []
    cdef dg_instruction *p
    cdef Py_ssize_t i
    cdef int k
    for i in range(first, stop):
        p = &region.code[i]
        op, typenum, together = <tuple>region.listing[i]
        op = OP_ADD if op == OP_SUM else op
        found.append((op, typenum, None if together is None else (<tuple>together)[:3],
                      [(p.arg[k].base, p.arg[k].offset) for k in range(p.n_in)],
                      (p.arg[p.n_in].base, p.arg[p.n_in].offset)))
    return found


def instructions_of(RegionCode region not None, Py_ssize_t first, Py_ssize_t stop):
    """Some instructions of a region, as plain data."""
    return [instruction_data(&region.code[i], region.listing[i]) for i in range(first, stop)]


# ------------------------------------------------------------------------------------------------------- publication

def publish_numbers(RegionCode region not None, list addresses, list calls, owner):
    """Publish machine code for a program on single numbers: the addresses of its parts, and the instructions that it
    calls. Each call goes to a function on one number, or to the loop if there is none."""
    cdef NativeCode made = NativeCode()
    cdef Py_ssize_t i, n = len(calls)
    made.owner = owner
    made.n_parts = len(addresses)
    made.parts = <dg_native_numbers *>PyMem_Calloc(max(1, made.n_parts), sizeof(dg_native_numbers))
    made.calls = <void **>PyMem_Calloc(max(1, 2 * n), sizeof(void *))
    if made.parts is NULL or made.calls is NULL:
        raise MemoryError()
    for i in range(made.n_parts):
        made.parts[i] = <dg_native_numbers><size_t>addresses[i]
    for i in range(n):
        op, typenum, _ = <tuple>region.listing[<Py_ssize_t>calls[i]]
        made.calls[2 * i] = own_function(op, typenum)
        if made.calls[2 * i] is NULL:
            made.calls[2 * i] = <void *>region.code[<Py_ssize_t>calls[i]].fn
        made.calls[2 * i + 1] = region.code[<Py_ssize_t>calls[i]].data
    with cython.critical_section(region):
        region.native = made


def publish_runs(RegionCode region not None, list runs, owner):
    """Publish machine code for runs of a region's instructions, in order: (first, length, address of the code, places
    of its operands)."""
    cdef NativeCode made = NativeCode()
    cdef dg_native *native
    cdef Py_ssize_t i, first, at = 0, n = 0
    cdef int k
    made.owner = owner
    made.code = <dg_instruction *>PyMem_Calloc(max(1, region.count), sizeof(dg_instruction))
    made.runs = <dg_native *>PyMem_Calloc(max(1, len(runs)), sizeof(dg_native))
    if made.code is NULL or made.runs is NULL:
        raise MemoryError()
    for i, (first, length, address, places) in enumerate(runs):
        while at < first:
            made.code[n] = region.code[at]
            at += 1
            n += 1
        native = &made.runs[i]
        native.fn = <dg_native_loop><size_t>address
        native.run = region.code + first
        native.count = length
        native.n_args = <int>len(places)
        for k, place in enumerate(places):
            native.arg[k].base, native.arg[k].offset, native.arg[k].row, native.arg[k].local = place
        made.code[n] = instruction_of(native)
        at = first + native.count
        n += 1
    while at < region.count:
        made.code[n] = region.code[at]
        at += 1
        n += 1
    made.count = n
    with cython.critical_section(region):
        region.native = made


cdef dg_instruction instruction_of(dg_native *native) noexcept:
    """The instruction that runs machine code, with the rows of the instructions that it replaces."""
    cdef dg_instruction made = native.run[0]
    cdef int k
    made.kind = DG_NATIVE
    made.fn = NULL
    made.data = native
    made.n_in = 1
    for k in range(2):
        made.arg[k].base = made.arg[k].offset = made.arg[k].row = made.arg[k].local = 0
    made.arg[0].row = 1
    made.arg[1].local = 1
    return made
