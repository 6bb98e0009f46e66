"""Plans: a program as regions of compiled loops, and the memory between them.

Design
------
A program is simplified (identities.pyx, common_factors.pyx) and lowered to operations on views (lowering.pyx). These
are gathered into regions (partition.pyx), some of them become one instruction (vertical_fusion.pyx) or one product
(horizontal_fusion.pyx), results get their places (allocation.pyx), and each region becomes a list of instructions for
the executor (codegen.pyx, executor/executor.h).

*Rows.* Whether an axis that stands behind others should be that of rows is found by trying: the order of axes is taken
for which the fewest bytes pass between regions.

*Memory.* Results that live on between regions have places in one arena, by their lifetimes. Results of the program
are arrays of their own.

*Indices.* Whether the numbers of index arrays lie inside of the axes they are for is asked once, before the first
region that reads them starts; of constants when the program is lowered.

*Numbers.* A program on single numbers needs none of this, and is planned by scalars.pyx.

Operations without a compiled loop of ours (sorting, kernels in Python) are run between regions as eager execution
would.
"""
cimport numpy as cnp
from cpython.exc cimport PyErr_Occurred
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.string cimport memcpy, memset

from time import perf_counter

import numpy as np

from ..arrays.array cimport (ARRAY, DG_DEBUG, Array, Value, contiguous, copy_of, count, has_form, new_array, new_view,
                             to_ndarray)
from .tiles cimport emit_region
from .codegen cimport ARENA, BLOCK, N_BASES, TOTALS, add_root
from ..primitives.execute cimport run as execute
from .executor cimport DG_MAX_THREADS, dg_indices_fit, dg_region, dg_run_chunk, dg_run_rows, dg_run_scalars
from .vertical_fusion cimport fused
from .identities cimport simplified
from .horizontal_fusion cimport join_products
from .lowering cimport AS_GATHER, AS_GENERIC, AS_SCATTER, MANNERS, Lowering, Operation, add_loop, np_scalar
from .common_factors cimport without_multiples
from .allocation cimport ALIGN, Places, place_within
from ..primitives.registry cimport Loop, op_name
from .program cimport Program, check_signals
from .partition cimport Region, regions_of, scheduled, set_margins
from .scalars cimport region_of_numbers
from ..primitives.structural cimport outside
from ..transforms.handles cimport TensorBase
from .views cimport Root, View, is_packed, product, step_of

cdef extern from "Python.h":
    bint PyGC_Disable()
    bint PyGC_Enable()

cdef extern from "memory/memory.h":
    void *dg_alloc(size_t n)
    void dg_free(void *p, size_t n)

cdef enum:
    LARGE = 4096                    # elements of a result from which on the order of its axes may matter
    LEAST_ROWS = 64
    MOST_CANDIDATES = 4

ctypedef int (*blas_get)() noexcept
ctypedef void (*blas_set)(int n) noexcept

cdef enum:
    FIRST = 1 << 15                 # instructions that the blocks of the first chunk run
    INSTRUCTIONS = 64               # of a chunk, where they are on large arrays

cdef double PATIENCE = 0.1          # seconds that a chunk may take

cdef blas_get BLAS_GET = NULL
cdef blas_set BLAS_SET = NULL
cdef int BLAS_THREADS               # what it had before
cdef int BLAS_ALONE = 0             # programs under way that need it on one thread
cdef int THREADS = 1
cdef bint BLAS_SOUGHT = False


def set_num_threads(int n):
    """The number of threads that regions may use; returns the former one."""
    global THREADS
    if not 1 <= n <= DG_MAX_THREADS:
        raise ValueError(f"set_num_threads: got {n}; expected 1 to {DG_MAX_THREADS}")
    former = THREADS
    THREADS = n
    return former


def get_num_threads():
    """The number of threads that regions may use."""
    return THREADS


# The threads of the library for products wait for work by spinning, for a while after each product, and take the
# processors from those of a region (measured: a training step on wide layers twice as slow). So it has one while a
# program runs that has threads of its own.

cdef int blas_alone() except -1:
    global BLAS_THREADS, BLAS_ALONE
    if BLAS_ALONE == 0 and BLAS_GET is not NULL:
        BLAS_THREADS = BLAS_GET()
        BLAS_SET(1)
    BLAS_ALONE += 1
    return 0


cdef int blas_back() except -1:
    global BLAS_ALONE
    BLAS_ALONE -= 1
    if BLAS_ALONE == 0 and BLAS_SET is not NULL:
        BLAS_SET(BLAS_THREADS)
    return 0


cdef int seek_blas() except -1:
    """Find how to tell NumPy's OpenBLAS the number of its threads. Other libraries are left as they are."""
    global BLAS_SOUGHT, BLAS_GET, BLAS_SET
    BLAS_SOUGHT = True
    import ctypes
    try:
        library = ctypes.CDLL(np.linalg._umath_linalg.__file__)     # a look-up goes on to what it was linked with
    except (AttributeError, OSError):
        return 0
    for name in ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads"):
        try:
            get, put = [getattr(library, name.format(verb)) for verb in ("get", "set")]
        except AttributeError:
            continue
        BLAS_GET = <blas_get><size_t>ctypes.cast(get, ctypes.c_void_p).value
        BLAS_SET = <blas_set><size_t>ctypes.cast(put, ctypes.c_void_p).value
        return 0
    return 0


def forget_runs():
    """Programs that other threads were running do not go on in a forked process."""
    global BLAS_ALONE
    if BLAS_ALONE > 0 and BLAS_SET is not NULL:
        BLAS_SET(BLAS_THREADS)
    BLAS_ALONE = 0


# A run that takes long is interrupted where Python's signal handlers ask for it: between chunks of a region. There an
# error is raised that a loop has set (kernels/foreign.h).

cdef int run_rows(dg_region *r, bint large) except -1:
    """All blocks of a region."""
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


cdef int run_instructions(Region region, char **bases) except -1:
    """A region without rows."""
    cdef Py_ssize_t i = 0, n, step = INSTRUCTIONS if region.large else 256 * INSTRUCTIONS
    while True:
        n = min(step, region.count - i)
        if region.scalars is not NULL:
            dg_run_scalars(region.scalars + i, region.code + i, n, bases)
        elif region.large:
            with nogil:
                dg_run_rows(region.code + i, n, bases, 0, 1, 1, NULL)
        else:
            dg_run_rows(region.code + i, n, bases, 0, 1, 1, NULL)
        i += n
        if PyErr_Occurred():
            return -1
        if i >= region.count:
            return 0
        check_signals()


cdef class Plan:
    """How a program is run."""

    def __cinit__(self):
        if DG_DEBUG:
            count("Plan", 1)

    def __dealloc__(self):
        PyMem_Free(self.bases)
        if DG_DEBUG:
            count("Plan", -1)

    cdef int settle(self) except -1:
        """What is the same for every run: the places of constants, and which roots are of which kind."""
        cdef Py_ssize_t i, n = N_BASES + len(self.roots)
        cdef Root r
        self.n_bases = n
        self.bases = <char **>PyMem_Malloc(n * sizeof(char *))
        if self.bases is NULL:
            raise MemoryError()
        memset(self.bases, 0, n * sizeof(char *))
        self.held = [None] * len(self.roots)
        self.given = []
        self.read = []
        self.made = []
        for i in range(len(self.roots)):
            r = <Root>self.roots[i]
            if r.source is None:
                if not r.dynamic:
                    self.made.append(r)
                continue
            kind, source = <tuple>r.source
            r.which = source
            if kind == "input":
                self.given.append(r)
            elif kind == "handle":
                self.read.append(r)
            else:
                self.held[i] = source
                self.bases[r.base] = (<Array>source).data
        self.whole = [(<View>v).offset == 0 and (<View>v).shape == (<View>v).root.shape and is_packed(<View>v)
                      for v in self.results]
        self.parallel = any([(<Region>task).workers > 1 for task in self.tasks])
        self.products = self.parallel and any([(<Region>task).products for task in self.tasks])
        if self.products and not BLAS_SOUGHT:
            seek_blas()
        return 0

    cdef list run(self, list inputs):
        """The arrays that leave the program; None if a handle or a result is not of the type and shape it was."""
        cdef char *few[32]
        cdef char **bases = few
        cdef list held = list(self.held), found
        cdef Root r
        cdef Array a
        cdef Value value
        cdef View v
        cdef Region region
        cdef Py_ssize_t i, nbytes = 0
        cdef char *memory = NULL
        cdef bint alone = False
        cdef int threads = THREADS if self.parallel else 1      # others may change it during the run
        if self.n_bases > 32:
            bases = <char **>PyMem_Malloc(self.n_bases * sizeof(char *))
            if bases is NULL:
                raise MemoryError()
        memcpy(bases, self.bases, self.n_bases * sizeof(char *))
        try:
            for r in self.given:
                a = <Array>inputs[<int>r.which]
                if not a.contiguous:
                    a = contiguous(a)
                held[r.base - N_BASES] = a
                bases[r.base] = a.data
            for r in self.read:
                value = (<TensorBase>r.which).value
                if value.kind != ARRAY or not has_form(<Array>value, r.typenum, r.shape):
                    return None
                a = <Array>value
                if not a.contiguous:
                    a = contiguous(a)
                held[r.base - N_BASES] = a
                bases[r.base] = a.data
            for r in self.made:
                a = shaped(r)
                held[r.base - N_BASES] = a
                bases[r.base] = a.data
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
                    if not self.run_generic(region.operations[0], bases, held):
                        return None
                    continue
                self.run_region(region, bases, threads)
            found = []
            for i in range(len(self.results)):
                v = <View>self.results[i]
                a = <Array>held[v.root.base - N_BASES]
                found.append(a if self.whole[i] else viewed(v, a, a.data + v.offset))
            return found
        finally:
            if alone:
                blas_back()
            if memory is not NULL:
                dg_free(memory, nbytes)
            if bases is not few:
                PyMem_Free(bases)

    cdef int run_region(self, object task, char **bases, int threads) except -1:
        """A region of compiled loops, on as many threads as it is worth."""
        cdef Region region = <Region>task
        cdef dg_region r
        cdef Root root
        cdef Loop *loop
        cdef int w, workers = min(region.workers, threads)
        cdef char **copies = NULL
        cdef char *target
        cdef char *pointers[3]
        cdef cnp.npy_intp[3] steps
        cdef cnp.npy_intp size
        for index, axis, whole in region.lookups:
            self.look_up(index, axis, whole, bases)
        r.program = region.code
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
            if region.rows is None:
                run_instructions(region, r.bases[0])
            else:
                run_rows(&r, region.large)
        except BaseException:
            PyMem_Free(copies)
            raise
        for root in region.totals:
            target = bases[TOTALS] + root.total
            loop = add_loop(root.typenum)
            steps[0] = steps[1] = steps[2] = root.item
            for w in range(1, workers):
                pointers[0] = pointers[2] = target
                pointers[1] = r.bases[w][TOTALS] + root.total
                size = root.size
                loop.fn(pointers, &size, steps, loop.data)
            memcpy(bases[root.base] + root.offset, target, root.size * root.item)
        PyMem_Free(copies)
        return 0

    cdef int look_up(self, object index, int axis, object whole, char **bases) except -1:
        """See to it that all numbers of an index array lie inside of an axis of what it is used on."""
        cdef View v = <View>index
        cdef Py_ssize_t extent = (<tuple>whole)[axis], step = step_of(v.strides, v.shape, False)
        cdef const char *first = bases[v.root.base] + v.root.offset + v.offset
        if dg_indices_fit(first, product(v.shape), step, extent, v.root.item == 8):
            return 0
        numbers = to_ndarray(loose(v, bases))
        wrong = numbers[(numbers < -extent) | (numbers >= extent)].flat[0]
        raise outside(wrong, axis, <tuple>whole)

    cdef bint run_generic(self, object operation, char **bases, list held) except -1:
        """An operation without a compiled loop of ours, as eager execution would run it. Whether its result fits: there
        are kernels that answer with a shape, the number of small singular values, for instance."""
        cdef Operation o = <Operation>operation
        cdef list operands = []
        cdef View v
        cdef Array a
        cdef int i, n = len(o.ins)
        cdef bytearray room = bytearray(max(n, 1) * sizeof(PyObject *))
        cdef PyObject **args = <PyObject **><char *>room
        for v in o.ins:
            operands.append(loose(v, bases))
        for i in range(n):
            args[i] = <PyObject *>operands[i]
        a = execute(o.op, o.params, args, n)
        if not has_form(a, o.out.typenum, o.out.shape):
            return False
        if not a.contiguous or not a.owner:         # memory between regions is used again: nothing may share it
            a = copy_of(to_ndarray(a))
        held[o.out.base - N_BASES] = a
        bases[o.out.base] = a.data
        return True

    def __str__(self):
        lines = []
        cdef Region region
        cdef Operation o
        for region in self.tasks:
            lines.append(f"region of {region.rows} rows, blocks of {region.block}, {region.count} instructions, "
                         f"{region.block_bytes} bytes a block, {region.total_bytes} bytes of totals")
            for o in region.operations:
                place = "total" if o.out.added else "written" if o.out.outside else "block"
                lines.append(f"    {op_name(o.op)} {MANNERS[o.kind]} {o.out.shape} {place}")
        return "\n".join(lines)


cdef Array shaped(Root r):
    cdef Py_ssize_t[64] shape
    cdef int i
    for i in range(len(r.shape)):
        shape[i] = r.shape[i]
    return new_array(r.typenum, len(r.shape), shape)


cdef Array viewed(View v, Array base, char *data):
    cdef Py_ssize_t[64] shape
    cdef Py_ssize_t[64] strides
    cdef int i
    for i in range(len(v.shape)):
        shape[i] = v.shape[i]
        strides[i] = v.strides[i]
    return new_view(base, len(v.shape), shape, strides, data)


cdef Array loose(View v, char **bases):
    """An operand in place, for as long as one operation takes."""
    return viewed(v, np_scalar(v.root.typenum), bases[v.root.base] + v.root.offset + v.offset)


cdef int note_lookups(list regions) except -1:
    """Which indices each region has to look at before it starts: constants were looked at when the program was lowered,
    and what an earlier region has looked at is good."""
    cdef Region region
    cdef Operation o
    cdef View v
    cdef set known = set()
    for region in regions:
        region.lookups = []
        for o in region.operations:
            if o.kind != AS_GATHER and o.kind != AS_SCATTER:
                continue
            axis, whole = <tuple>o.params
            for i, v in enumerate(o.ins[1:], <Py_ssize_t>axis):
                key = (v.root, v.offset, v.shape, v.strides, whole[i])
                if key not in known and (v.root.source is None or (<tuple>v.root.source)[0] != "constant"):
                    region.lookups.append((v, i, whole))
                known.add(key)
    return 0


# ------------------------------------------------------------------------------------------------------ order of axes

cdef list results_of(Lowering lowering):
    cdef Program program = lowering.program
    return ([lowering.views[slot] for slot in program.outputs]
            + [lowering.views[slot] for _, slot in program.effects])


cdef tuple lowered(Program program, Py_ssize_t rows):
    """(lowering, regions) of a program with axes of a length first in memory."""
    cdef Lowering lowering = Lowering()
    lowering.program = program
    lowering.rows = rows
    lowering.lower()
    return lowering, regions_of(lowering.operations, results_of(lowering))


cdef list candidates(Program program):
    """Lengths of axes that stand behind others in large results, and first in others: they may be those of rows."""
    cdef set first = set(), behind = set()
    cdef tuple shape
    for shape in program.shapes:
        if product(shape) >= LARGE:
            if shape[0] >= LEAST_ROWS:
                first.add(shape[0])
            for n in shape[1:]:
                if n >= LEAST_ROWS and n != shape[0]:
                    behind.add(n)
    return sorted(first & behind)[:MOST_CANDIDATES]


cdef Py_ssize_t traffic(list regions):
    """Bytes that regions leave to others; what is added up over the rows is read and written for each block."""
    cdef Region region
    cdef Operation o
    cdef Py_ssize_t total = 0
    for region in regions:
        for o in region.operations:
            if o.out.outside or region.rows is None:
                total += o.out.size * o.out.item * (2 if o.out.added else 1)
    return total


cdef Plan make_plan(Program program):
    """The plan of a prepared program. What is made on the way is no garbage, and not worth looking through for it."""
    cdef bint collecting = PyGC_Disable()
    try:
        return planned(program)
    finally:
        if collecting:
            PyGC_Enable()


cdef Plan planned(Program program):
    cdef Plan plan = Plan()
    cdef Lowering lowering
    cdef Root r
    cdef Operation o
    cdef View v
    cdef Region region
    cdef list regions
    cdef Places places = Places()
    cdef set leaving
    program = plan.program = without_multiples(simplified(program))
    plan.roots = []
    plan.results = []
    region = region_of_numbers(program, plan.roots, plan.results)
    if region is not None:
        plan.block_bytes = region.block_bytes
        plan.tasks = [region]
        plan.settle()
        return plan
    lowering, regions = lowered(program, 0)
    for rows in candidates(program):
        other = lowered(program, rows)
        if traffic(other[1]) < traffic(regions):
            lowering, regions = other
    plan.results = results_of(lowering)
    leaving = {(<View>v).root for v in plan.results}
    for r in lowering.roots:
        if r.source is not None:
            add_root(plan.roots, r)
    for region in regions:
        region.operations = scheduled(fused(region), region.rows is not None)
        place_within(region)
        set_margins(region)
        join_products(region)
        for o in region.operations:
            r = o.out
            if o.kind == AS_GENERIC:
                r.dynamic = True
                add_root(plan.roots, r)
            elif r in leaving:
                add_root(plan.roots, r)
            elif r.outside:
                r.base = ARENA
                r.offset = places.take(r.size * r.item)
        for o in lowering.operations:       # what was read for the last time
            r = o.out
            if r.base == ARENA and r.last == region.number and r.region <= region.number:
                places.give(r.size * r.item, r.offset)
    plan.arena = places.end
    for region in regions:
        emit_region(plan.roots, region)
        plan.block_bytes = max(plan.block_bytes, region.block_bytes)
        plan.total_bytes = max(plan.total_bytes, region.total_bytes)
    note_lookups(regions)
    plan.tasks = regions
    plan.settle()
    return plan
