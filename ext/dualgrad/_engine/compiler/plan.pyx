"""Plans: a program as regions of compiled loops, and its execution.

Design
------
The passes (passes.pyx) compile a program to code; a plan is that code, ready to run. Runs share nothing, so threads may
run one plan at once.

*Indices.* Index arrays are checked against the axes that they index. The check runs once, before the first region that
reads them; constants are checked when the program is lowered.

Operations without a compiled loop of ours (sorting, kernels in Python) run between regions, as in eager execution.
"""
cimport numpy as cnp
from cpython.exc cimport PyErr_Occurred
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.string cimport memcpy, memset

from time import perf_counter

from ..arrays.array cimport (ARRAY, DG_DEBUG, Array, Value, contiguous, copy_of, count, has_form, new_array, new_view,
                             same_form, to_ndarray, with_numbers, without_numbers)
from ..primitives.execute cimport run as execute
from ..primitives.registry cimport Loop, op_name
from ..primitives.forms cimport outside
from ..transforms.handles cimport TensorBase, value_in
from .allocation cimport ALIGN, ARENA, BLOCK, N_BASES, TOTALS, Located, Memory, Total
from .code cimport Code, RegionCode
from .executor cimport DG_MATMUL_ONTO, dg_instruction, dg_region, dg_scalar, dg_streams
from .lowering cimport MANNERS, Operation, add_loop, np_scalar
from .native cimport NativeCode, native_of, run_numbers
from .passes cimport Compilation, compiled
from .program cimport Program, check_signals
from .views cimport View, is_packed, product, step_of
from .workers cimport blas_alone, blas_back, num_threads, seek_blas

cdef extern from "Python.h":
    bint PyGC_Disable()
    bint PyGC_Enable()

cdef extern from "executor/executor.h":
    void dg_run_scalars(const dg_scalar *s, const dg_instruction *program, cnp.npy_intp count, char **bases) noexcept
    bint dg_run_chunk(dg_region *r) noexcept nogil
    void dg_run_rows(const dg_instruction *program, cnp.npy_intp count, char **bases, cnp.npy_intp start,
                     cnp.npy_intp stop, cnp.npy_intp block, const dg_streams *ahead) noexcept nogil
    void dg_run_block(const dg_instruction *program, cnp.npy_intp count, char **bases, cnp.npy_intp row0,
                      cnp.npy_intp block, int first, const dg_streams *ahead, cnp.npy_intp next) noexcept nogil
    bint dg_mirror(const dg_instruction *instruction, char **bases) noexcept
    bint dg_indices_fit(const char *index, cnp.npy_intp n, cnp.npy_intp step, cnp.npy_intp extent, bint wide) noexcept

cdef extern from "memory/memory.h":
    void *dg_alloc(size_t n)
    void dg_free(void *p, size_t n)

cdef enum:
    FIRST = 1 << 15                 # instructions that the tiles of the first chunk run
    INSTRUCTIONS = 64               # instructions of a chunk on large arrays

cdef double PATIENCE = 0.1          # longest wanted time of a chunk, in seconds


# A long run calls Python's signal handlers between the chunks of a region, and can be interrupted there. An error that
# a loop has set (kernels/foreign.h) is raised there too.

cdef int run_rows(dg_region *r, bint large) except -1:
    """Run all tiles of a region."""
    cdef bint more = True
    r.done = 0
    r.chunk = max(8, FIRST // max(r.count, 1)) * r.block
    while True:
        began = perf_counter() if r.rows > r.chunk else 0.0
        if large:
            with nogil:
                more = dg_run_chunk(r)
        else:
            more = dg_run_chunk(r)
        if PyErr_Occurred():
            return -1
        if not more:
            return 0
        check_signals()
        took = perf_counter() - began
        if took < PATIENCE / 4:
            r.chunk *= 4
        elif took > PATIENCE:
            r.chunk = max(r.chunk // r.block // 4, 1) * r.block


cdef int run_blocks(dg_region *r, RegionCode region) except -1:
    """Run all tiles of a region. A product that equals its transpose computes only half of itself. If that meets a
    number that is not finite, the region runs a second time and computes everything."""
    cdef NativeCode native = native_of(region)
    cdef bint right = True
    cdef Py_ssize_t i
    cdef int w
    if region.halves is not NULL:
        r.program = region.halves
        run_rows(r, region.large)
        for i in range(region.count):
            for w in range(r.workers if region.halves[i].half else 0):
                right = right and dg_mirror(&region.halves[i], r.bases[w])
                if region.halves[i].kind != DG_MATMUL_ONTO:
                    break                   # one result, not one for each worker
        if right:
            return 0
        for w in range(r.workers):
            memset(r.bases[w][TOTALS], 0, region.total_bytes)
    r.program = region.code
    if native is not None:
        r.program, r.count = native.code, native.count
    return run_rows(r, region.large)


cdef int run_instruction(RegionCode region, Py_ssize_t at, char **bases, Py_ssize_t row0) except -1:
    """Run one instruction on the tile that begins at row0."""
    dg_run_block(region.code + at, 1, bases, row0, min(region.block, region.n_rows - row0), row0 == 0, NULL, 0)
    return -1 if PyErr_Occurred() else 0


cdef int run_instructions(RegionCode region, NativeCode native, char **bases) except -1:
    """Run a region without rows."""
    cdef Py_ssize_t i = 0, n, step = INSTRUCTIONS if region.large else 256 * INSTRUCTIONS, total = region.count
    cdef const dg_instruction *code = region.code
    if native is not None and native.parts is not NULL:
        if run_numbers(region, native, bases):
            return 0
    elif native is not None:
        code, total = native.code, native.count
    while True:
        n = min(step, total - i)
        if region.scalars is not NULL:
            dg_run_scalars(region.scalars + i, region.code + i, n, bases)
        elif region.large:
            with nogil:
                dg_run_rows(code + i, n, bases, 0, 1, 1, NULL)
        else:
            dg_run_rows(code + i, n, bases, 0, 1, 1, NULL)
        i += n
        if PyErr_Occurred():
            return -1
        if i >= total:
            return 0
        check_signals()


cdef bint is_on_numbers(Plan plan):
    """True if a plan belongs to a program on single numbers; False for None."""
    return plan is not None and len(plan.tasks) == 1 and (<RegionCode>plan.tasks[0]).scalars is not NULL


cdef class Plan:
    """A compiled program, ready to run."""

    def __cinit__(self):
        if DG_DEBUG:
            count("Plan", 1)

    def __dealloc__(self):
        PyMem_Free(self.bases)
        if DG_DEBUG:
            count("Plan", -1)

    cdef int take(self, Code code) except -1:
        """Take over the code, and prepare everything that is the same for every run."""
        cdef RegionCode region
        cdef Located at
        self.tasks = code.regions
        self.memories = code.memories
        self.results = code.results
        self.arena = code.arena
        self.block_bytes = code.block_bytes
        self.total_bytes = code.total_bytes
        self.whole = [at.view.offset == at.offset == 0 and at.view.shape == at.view.buffer.shape and is_packed(at.view)
                      for at in self.results]
        for region in self.tasks:
            region.simple = (region.code is not NULL and region.region.rows is None and region.workers == 1
                             and not region.lookups and not region.totals)
        self.parallel = any([region.workers > 1 for region in self.tasks])
        self.products = self.parallel and any([region.products for region in self.tasks])
        if self.products:
            seek_blas()
        return self.sort_memories()

    cdef int sort_memories(self) except -1:
        """Sort memories by kind, and set the addresses of constants."""
        cdef Py_ssize_t n = N_BASES + len(self.memories)
        cdef Memory m
        self.n_bases = n
        self.bases = <char **>PyMem_Calloc(n, sizeof(char *))
        if self.bases is NULL:
            raise MemoryError()
        self.held = [None] * len(self.memories)
        self.given = []
        self.read = []
        self.made = []
        for m in self.memories:
            m.form = form_of(m)
            if m.kind == "input":
                self.given.append(m)
            elif m.kind == "handle":
                self.read.append(m)
            elif m.kind == "result":
                self.made.append(m)
            elif m.kind == "constant":
                self.held[m.base - N_BASES] = m.which
                self.bases[m.base] = (<Array>m.which).data
        return 0

    cdef bint find(self, list inputs, list held, char **bases) except -1:
        """Set the addresses for a run; False if the dtype or shape of a handle has changed."""
        cdef Memory m
        cdef Array a
        cdef Value value
        for m in self.given:
            a = <Array>inputs[<int>m.which]
            if not a.contiguous:
                a = contiguous(a)
            held[m.base - N_BASES] = a
            bases[m.base] = a.data
        for m in self.read:
            value = value_in(<TensorBase>m.which)
            if value.kind != ARRAY or not same_form(<Array>value, m.form):
                return False
            a = with_numbers(<Array>value)
            if not a.contiguous:
                a = contiguous(a)
            held[m.base - N_BASES] = a
            bases[m.base] = a.data
        for m in self.made:
            a = new_array(m.form.typenum, m.form.ndim, m.form.shape)
            held[m.base - N_BASES] = a
            bases[m.base] = a.data
        return True

    cdef list run(self, list inputs):
        """Run the program; return its results. None if the dtype or shape of a handle or result has changed."""
        cdef char *few[32]
        cdef char **bases = few
        cdef list held = self.held[:], found = [None] * len(self.results)
        cdef Array a
        cdef Located at
        cdef RegionCode region
        cdef Py_ssize_t i, nbytes = 0
        cdef char *memory = NULL
        cdef bint alone = False
        cdef int threads = num_threads() if self.parallel else 1    # another thread may change it during the run
        if self.n_bases > 32:
            bases = <char **>PyMem_Malloc(self.n_bases * sizeof(char *))
            if bases is NULL:
                raise MemoryError()
        memcpy(bases, self.bases, self.n_bases * sizeof(char *))
        try:
            if not self.find(inputs, held, bases):
                return None
            nbytes = self.arena + ALIGN + threads * (self.block_bytes + self.total_bytes)
            memory = <char *>dg_alloc(nbytes)
            if memory is NULL:
                raise MemoryError()
            bases[ARENA] = memory
            if self.products and threads > 1:
                blas_alone()
                alone = True
            for region in self.tasks:
                check_signals()
                if region.code is NULL:
                    if not self.run_generic(region, bases, held):
                        return None
                    continue
                self.run_region(region, bases, threads)
            for i in range(len(self.results)):
                at = <Located>self.results[i]
                a = <Array>held[at.base - N_BASES]
                found[i] = a if self.whole[i] else viewed(at.view, a, a.data + at.offset)
            return found
        finally:
            if alone:
                blas_back()
            if memory is not NULL:
                dg_free(memory, nbytes)
            if bases is not few:
                PyMem_Free(bases)

    cdef int run_region(self, object task, char **bases, int threads) except -1:
        """Run a region of compiled loops."""
        cdef RegionCode region = <RegionCode>task
        if region.simple:
            bases[BLOCK] = bases[ARENA] + self.arena
            return run_instructions(region, native_of(region), bases)
        return self.run_on_threads(region, bases, threads)

    cdef int run_on_threads(self, RegionCode region, char **bases, int threads) except -1:
        """Run a region of compiled loops on up to `threads` threads."""
        cdef dg_region r
        cdef int w, workers = min(region.workers, threads)
        cdef char **copies = NULL
        for index, axis, whole in region.lookups:
            self.look_up(index, axis, whole, bases)
        r.count = region.count
        r.rows = region.n_rows
        r.block = region.block
        r.workers = workers
        r.ahead = &region.ahead
        if workers > 1:
            copies = <char **>PyMem_Malloc(workers * self.n_bases * sizeof(char *))
            if copies is NULL:
                raise MemoryError()
        for w in range(workers):
            r.bases[w] = bases
            if w > 0:
                r.bases[w] = copies + w * self.n_bases
                memcpy(r.bases[w], bases, self.n_bases * sizeof(char *))
            r.bases[w][BLOCK] = bases[ARENA] + self.arena + w * (self.block_bytes + self.total_bytes)
            r.bases[w][TOTALS] = r.bases[w][BLOCK] + self.block_bytes
            if region.total_bytes:
                memset(r.bases[w][TOTALS], 0, region.total_bytes)
        try:
            if region.region.rows is None:
                run_instructions(region, native_of(region), r.bases[0])
            else:
                run_blocks(&r, region)
            if region.totals:
                add_totals(region, &r)
        finally:
            PyMem_Free(copies)
        return 0

    cdef int look_up(self, object index, int axis, object whole, char **bases) except -1:
        """Raise an error if an index array has a number outside of the axis that it indexes."""
        cdef Located at = <Located>index
        cdef View v = at.view
        cdef Py_ssize_t extent = (<tuple>whole)[axis], step = step_of(v.strides, v.shape, False)
        if dg_indices_fit(bases[at.base] + at.offset, product(v.shape), step, extent, v.buffer.item == 8):
            return 0
        numbers = to_ndarray(loose(at, bases))
        wrong = numbers[(numbers < -extent) | (numbers >= extent)].flat[0]
        raise outside(wrong, axis, <tuple>whole)

    cdef bint run_generic(self, object task, char **bases, list held) except -1:
        """Run an operation without a compiled loop of ours, as in eager execution. False if the result does not fit:
        some kernels choose its shape, for instance the number of small singular values."""
        cdef RegionCode region = <RegionCode>task
        cdef Operation o = <Operation>region.region.operations[0]
        cdef list operands = [loose(<Located>at, bases) for at in region.operands]
        cdef Array a
        cdef int i, n = len(operands)
        cdef bytearray room = bytearray(max(n, 1) * sizeof(PyObject *))
        cdef PyObject **args = <PyObject **><char *>room
        for i in range(n):
            args[i] = <PyObject *>operands[i]
        a = execute(o.op, o.params, args, n)
        if not has_form(a, o.out.typenum, o.out.shape):
            return False
        if not a.contiguous or not a.owner:         # memory between regions is reused, so no result may share it
            a = copy_of(to_ndarray(a))
        held[region.result - N_BASES] = a
        bases[region.result] = a.data
        return True

    def __str__(self):
        lines = []
        cdef RegionCode region
        cdef Operation o
        for region in self.tasks:
            lines.append(f"region of {region.region.rows} rows, blocks of {region.block}, {region.count} instructions, "
                         f"{region.block_bytes} bytes a block, {region.total_bytes} bytes of totals")
            for o, place in zip(region.region.operations, region.kept):
                lines.append(f"    {op_name(o.op)} {MANNERS[o.kind]} {o.out.shape} {place}")
        return "\n".join(lines)


cdef int add_totals(RegionCode region, dg_region *r) except -1:
    """Add the totals of all workers of a region, and copy the sums to their places."""
    cdef char **bases = r.bases[0]
    cdef Total total
    cdef Loop *loop
    cdef char *target
    cdef char *pointers[3]
    cdef cnp.npy_intp[3] steps
    cdef cnp.npy_intp size
    cdef int w
    for total in region.totals:
        target = bases[TOTALS] + total.total
        loop = add_loop(total.buffer.typenum)
        steps[0] = steps[1] = steps[2] = total.buffer.item
        for w in range(1, r.workers):
            pointers[0] = pointers[2] = target
            pointers[1] = r.bases[w][TOTALS] + total.total
            size = total.buffer.size
            loop.fn(pointers, &size, steps, loop.data)
        memcpy(bases[total.base] + total.offset, target, total.buffer.size * total.buffer.item)
    return 0


cdef Array form_of(Memory m):
    """An array with the dtype and shape of a memory, without data."""
    cdef Py_ssize_t[64] shape
    cdef int i
    for i in range(len(m.shape)):
        shape[i] = m.shape[i]
    return without_numbers(m.typenum, len(m.shape), shape)


cdef Array viewed(View v, Array base, char *data):
    cdef Py_ssize_t[64] shape
    cdef Py_ssize_t[64] strides
    cdef int i
    for i in range(len(v.shape)):
        shape[i] = v.shape[i]
        strides[i] = v.strides[i]
    return new_view(base, len(v.shape), shape, strides, data)


cdef Array loose(Located at, char **bases):
    """An operand as an array that is valid during one operation."""
    return viewed(at.view, np_scalar(at.view.buffer.typenum), bases[at.base] + at.offset)

cdef Plan make_plan(Program program):
    """The plan of a prepared program. Garbage collection pauses: planning makes many objects and keeps them."""
    cdef bint collecting = PyGC_Disable()
    cdef Compilation made
    cdef Plan plan
    try:
        made = compiled(program, None)
        plan = Plan()
        plan.program = made.program
        plan.take(made.code)
        return plan
    finally:
        if collecting:
            PyGC_Enable()
