"""Plans: a program as regions of compiled loops over blocks of rows.

Design
------
*Lowering.* Reshapes, transposes, slices and broadcasts cost nothing: they are views, strides on the memory of a root.
What is left are operations with one result each.

*Regions.* Most programs work on many samples, particles or options: the first axis of their large arrays. Operations
that keep the rows apart (elementwise ones, products with a shared matrix, sums over other axes), and those that add the
rows up (sums, products contracted over the rows: gradients of weights), are gathered into a region, which is run block
by block. What passes between them stays in cache, in memory that is used again for the next block; only what others
need is written out. Work that depends on a sum over all rows comes in a later region. The order of rows is kept, so
blocks change a result only where rows are added up.

*Memory.* Results that live on between regions have places in one arena, by their lifetimes. Results of the program
are arrays of their own.

Operations without a compiled loop of ours (index arrays, sorting, kernels in Python) are run between regions as
eager execution would.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.string cimport memcpy, memset

import numpy as np

from .array cimport (ARRAY, NPY_HALF, Array, Value, contiguous, copy_of, from_ndarray, item_size, new_array,
                     new_view, to_ndarray)
from .execute cimport run as execute
from .opcodes cimport *
from .primitives cimport Loop, dg_loop, find_loop, is_elementwise, numpy_loop, op_name, rule_of
from .program cimport FROM_HANDLE, FROM_INPUT, FROM_STEP, Program
from .tensor cimport TensorBase

cdef extern from "dg_memory.h":
    void *dg_alloc(size_t n)
    void dg_free(void *p, size_t n)

cdef extern from "dg_executor.h":
    enum:
        DG_LOOP
        DG_MATMUL
        DG_MATMUL_ADD
        DG_SUM_ALL
        DG_COPY
        DG_ZERO
        DG_SELECT
        DG_MAX_AXES
        DG_MAX_THREADS
    ctypedef struct dg_operand:
        int base
        cnp.npy_intp offset
        cnp.npy_intp row
    ctypedef struct dg_instruction:
        int kind
        int n_in
        dg_loop fn
        void *data
        dg_operand arg[5]
        cnp.npy_intp step[4]
        cnp.npy_intp width
        cnp.npy_intp dims[4]
        cnp.npy_intp strides[9]
        int axes
        cnp.npy_intp shape[6]
        cnp.npy_intp _from "from"[6]
        cnp.npy_intp to[6]
        cnp.npy_intp item
        int once
        dg_loop add
        void *add_data
    ctypedef struct dg_region:
        const dg_instruction *program
        cnp.npy_intp count
        cnp.npy_intp rows
        cnp.npy_intp block
        int workers
        char **bases[64]
    void dg_run_region(dg_region *r) noexcept nogil

cdef enum:
    ARENA = 0                       # bases that every run has: memory between regions,
    BLOCK = 1                       # memory of a block,
    TOTALS = 2                      # and what is added up over the rows
    N_BASES = 3
    ALIGN = 64
    LARGE = 4096                    # elements from which on an array is worth blocks
    CACHE = 1 << 19                 # bytes a block with products may fill: half of a second-level cache
    TILE = 24 << 10                 # without products: half of a first-level cache
    MOST_ROWS = 4096
    PARALLEL = 1 << 20              # elements read or written from which on a second thread is worth waking

cdef int THREADS = 1


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


cdef Loop[24] ADD
cdef Loop[24] MATMUL
cdef Loop[24] POWER
memset(ADD, 0, sizeof(ADD))
memset(MATMUL, 0, sizeof(MATMUL))
memset(POWER, 0, sizeof(POWER))


cdef Loop *loop_of(Loop *loops, object ufunc, int typenum) except NULL:
    cdef Loop *loop = &loops[typenum]
    if not loop.known:
        numpy_loop(ufunc, typenum, loop)
        loop.known = True
    return loop


# ------------------------------------------------------------------------------------------------------------ views

cdef class Root:
    """Memory: of an input, a handle, a constant, or one result."""
    cdef int typenum
    cdef Py_ssize_t item
    cdef tuple shape
    cdef Py_ssize_t size
    cdef object source              # ("input", i), ("handle", tensor), ("constant", array) or None
    cdef int base                   # where a run finds it
    cdef Py_ssize_t offset
    cdef Py_ssize_t total           # its place among the totals of its region, where it is added up
    cdef bint dynamic               # it is whatever array a kernel returns
    cdef object which               # number of the input, handle, or constant
    cdef int region                 # the region that makes it; -1 where it is there from the start
    cdef bint rows                  # it is made row by row
    cdef bint added                 # it is added up over the rows
    cdef bint outside               # somebody outside its region reads it
    cdef int last                   # the last region that reads it


cdef class View:
    """A root, seen through strides."""
    cdef Root root
    cdef Py_ssize_t offset
    cdef tuple shape
    cdef tuple strides


cdef class Operation:
    """One result from views."""
    cdef int op
    cdef object params
    cdef list ins
    cdef Root out
    cdef str kind                   # loop, select, matmul, sum, copies (target, view), or generic


cdef Py_ssize_t product(object shape):
    cdef Py_ssize_t n = 1
    for extent in shape:
        n *= extent
    return n


cdef tuple packed(tuple shape, Py_ssize_t item):
    """Strides of elements in order."""
    cdef list strides = []
    for extent in reversed(shape):
        strides.append(item)
        item *= max(<Py_ssize_t>extent, 1)
    strides.reverse()
    return tuple(strides)


cdef Root new_root(int typenum, tuple shape, object source):
    cdef Root r = Root()
    r.typenum = typenum
    r.item = item_size(typenum)
    r.shape = shape
    r.size = product(shape)
    r.source = source
    r.region = -1
    r.last = -1
    r.base = -1
    return r


cdef View view_of(Root root):
    return view(root, 0, root.shape, packed(root.shape, root.item))


cdef View view(Root root, Py_ssize_t offset, tuple shape, tuple strides):
    cdef View v = View()
    v.root = root
    v.offset = offset
    v.shape = shape
    v.strides = strides
    return v


cdef bint is_packed(View v):
    cdef Py_ssize_t expected = v.root.item
    cdef int i
    for i in range(len(v.shape) - 1, -1, -1):
        if v.shape[i] != 1:
            if v.strides[i] != expected:
                return False
            expected *= <Py_ssize_t>v.shape[i]
    return True


cdef tuple broadcast_strides(View v, tuple shape):
    """The strides of a view that is repeated up to a shape."""
    cdef int lead = len(shape) - len(v.shape), i
    return (0,) * lead + tuple([0 if v.shape[i] == 1 and shape[lead + i] != 1 else v.strides[i]
                                for i in range(len(v.shape))])


# --------------------------------------------------------------------------------------------------------- lowering

cdef class Lowering:
    """The operations of a program, on views."""
    cdef Program program
    cdef list views                 # of each slot
    cdef list roots
    cdef list operations

    cdef Root made(self, int typenum, tuple shape):
        cdef Root r = new_root(typenum, shape, None)
        self.roots.append(r)
        return r

    cdef View emit(self, str kind, int op, object params, list ins, int typenum, tuple shape):
        cdef Operation o = Operation()
        o.kind = kind
        o.op = op
        o.params = params
        o.ins = ins
        o.out = self.made(typenum, shape)
        self.operations.append(o)
        return view_of(o.out)

    cdef View copied(self, View v):
        """The view in memory of its own, elements in order."""
        return self.emit("copies", OP_IDENTITY, [(0, packed(v.shape, v.root.item), v)], [v], v.root.typenum, v.shape)

    cdef int lower(self) except -1:
        cdef Program p = self.program
        cdef int slot, op
        cdef Root r
        self.views = [None] * len(p.kinds)
        self.roots = []
        self.operations = []
        for slot in range(len(p.kinds)):
            kind = <int>p.kinds[slot]
            if kind == FROM_STEP:
                continue
            source = (("input", p.sources[slot]) if kind == FROM_INPUT
                      else ("handle", p.sources[slot]) if kind == FROM_HANDLE
                      else ("constant", contiguous(<Array>p.sources[slot])))
            r = new_root(p.typenums[slot], p.shapes[slot], source)
            self.roots.append(r)
            self.views[slot] = view_of(r)
        for op, params, ins, out in p.steps:
            self.views[out] = self.step(op, params, [<View>self.views[i] for i in ins], p.typenums[out],
                                        p.shapes[out])
        return 0

    cdef View step(self, int op, object params, list ins, int typenum, tuple shape):
        cdef View x = <View>ins[0] if ins else None
        cdef int i
        if op == OP_RESHAPE:
            if not is_packed(x):
                x = self.copied(x)
            return view(x.root, x.offset, shape, packed(shape, x.root.item))
        if op == OP_TRANSPOSE:
            return view(x.root, x.offset, shape, tuple([x.strides[i] for i in params]))
        if op == OP_BROADCAST_TO:
            return view(x.root, x.offset, shape, broadcast_strides(x, shape))
        if op == OP_IDENTITY:
            return x
        if op == OP_SLICE:
            return view(x.root, x.offset + sum([part[0] * stride for part, stride in zip(params, x.strides)
                                                if part[1]]),
                        shape, tuple([part[2] * stride for part, stride in zip(params, x.strides)]))
        if op == OP_UNSLICE and product(shape):
            strides = packed(shape, x.root.item)
            offset = sum([part[0] * stride for part, stride in zip(params[1], strides) if part[1]])
            placed = tuple([part[2] * stride for part, stride in zip(params[1], strides)])
            return self.emit("copies", op, [None, (offset, placed, x)], [x], typenum, shape)
        if op == OP_CONCAT:
            return self.joined(params, ins, typenum, shape)
        if op == OP_SUM or op == OP_SUM_TO:
            return self.summed(op, params, x, typenum, shape)
        if op == OP_MATMUL and loop_of(MATMUL, np.matmul, typenum).fn is not NULL and self.multiplies(ins):
            return self.emit("matmul", op, None, ins, typenum, shape)
        if op == OP_WHERE and (<View>ins[0]).root.typenum == cnp.NPY_BOOL and item_size(typenum) <= 8:
            return self.emit("select", op, None, ins, typenum, shape)
        if op == OP_POWER and loop_of(POWER, np.power, typenum).fn is not NULL and typenum != NPY_HALF:
            number = new_root(typenum, (), ("constant", from_ndarray(np.asarray(params, dtype_of(typenum)))))
            self.roots.append(number)
            return self.emit("loop", op, None, [x, view_of(number)], typenum, shape)
        if (is_elementwise(op) and op != OP_POWER and params is None and len(ins) <= 3
                and (op < N_OPS or rule_of(op) is None) and find_loop(op, x.root.typenum).fn is not NULL):
            return self.emit("loop", op, None, ins, typenum, shape)
        return self.emit("generic", op, params, ins, typenum, shape)

    cdef View joined(self, int axis, list ins, int typenum, tuple shape):
        cdef list parts = []
        cdef Py_ssize_t start = 0
        cdef tuple strides = packed(shape, item_size(typenum))
        cdef View x
        for x in ins:
            parts.append((start * <Py_ssize_t>strides[axis], strides, x))
            start += <Py_ssize_t>x.shape[axis]
        return self.emit("copies", OP_CONCAT, parts, ins, typenum, shape)

    cdef View summed(self, int op, object params, View x, int typenum, tuple shape):
        cdef list axes
        cdef int lead, i
        cdef View s
        if op == OP_SUM:
            axes = list(params[0])
        else:
            lead = len(x.shape) - len(params)
            axes = list(range(lead))
            axes += [lead + i for i in range(len(params)) if params[i] == 1 and x.shape[lead + i] != 1]
        axes = [axis for axis in axes if x.shape[axis] != 1]
        if not axes:
            return self.step(OP_RESHAPE, None, [x], typenum, shape)
        kept = tuple([x.shape[i] for i in range(len(x.shape)) if i not in axes])
        i = len(axes)
        if axes != list(range(i)) and axes != list(range(len(x.shape) - i, len(x.shape))):
            s = self.emit("generic", OP_SUM, (tuple(axes), False), [x], typenum, kept)
        elif (typenum != cnp.NPY_DOUBLE and typenum != cnp.NPY_FLOAT) or product(x.shape) == 0:
            s = self.emit("generic", OP_SUM, (tuple(axes), False), [x], typenum, kept)
        else:
            s = self.emit("sum", OP_SUM, tuple(axes), [x], typenum, kept)
        return view(s.root, s.offset, shape, packed(shape, s.root.item))

    cdef bint multiplies(self, list ins):
        """Whether one call of the product's loop does it: at most one axis of stacks, and something to add up."""
        cdef View a = <View>ins[0]
        cdef View b = <View>ins[1]
        return (len(a.shape) <= 3 and len(b.shape) <= 3 and product(a.shape) > 0 and product(b.shape) > 0
                and not (len(b.shape) == 3 and len(a.shape) == 3 and a.shape[0] != b.shape[0]
                         and a.shape[0] != 1 and b.shape[0] != 1))


cdef dict SCALARS = {}


cdef object dtype_of(int typenum):
    return np_scalar(typenum).numpy().dtype


cdef Array np_scalar(int typenum):
    if typenum not in SCALARS:
        SCALARS[typenum] = new_array(typenum, 0, NULL)
    return <Array>SCALARS[typenum]


# ---------------------------------------------------------------------------------------------------------- regions

cdef enum Role:
    REFUSED
    ROWS                            # the result is made row by row
    ADDED                           # the result is added up over the rows


cdef class Region:
    """Operations that are run together, block by block over `rows` rows (one block of one row where that is None)."""
    cdef int number
    cdef object rows
    cdef list operations
    # as it is run
    cdef dg_instruction *code
    cdef Py_ssize_t count
    cdef Py_ssize_t block
    cdef Py_ssize_t block_bytes
    cdef list totals                # roots that are added up
    cdef Py_ssize_t total_bytes
    cdef Py_ssize_t n_rows
    cdef bint products
    cdef bint large                 # worth handing the interpreter over
    cdef int workers                # threads it is worth

    def __dealloc__(self):
        PyMem_Free(self.code)


cdef bint is_row(View v, Region region):
    """Whether the first axis of a view goes along the rows of a region."""
    if len(v.shape) == 0 or v.shape[0] != region.rows:
        return False
    if v.root.region == region.number:          # made here, row by row: the rows lie one after the other
        return (v.root.rows and v.strides[0] == v.root.item * (v.root.size // <Py_ssize_t>v.root.shape[0])
                and <Py_ssize_t>v.offset < <Py_ssize_t>v.strides[0])
    return v.strides[0] != 0 or region.rows == 1


cdef bint is_shared(View v, Region region):
    """Whether a view is complete before the region starts."""
    return v.root.region != region.number


cdef bint fits(View v, tuple shape, Region region):
    """Whether an operand of an elementwise operation of this shape goes along the rows, or is shared by them."""
    if len(v.shape) == len(shape) and v.shape[0] == region.rows and (v.shape[0] != 1):
        return is_row(v, region) or (v.strides[0] == 0 and is_shared(v, region))
    return is_shared(v, region)


cdef Role role(Operation o, Region region):
    """What an operation would be in a region of rows."""
    cdef View a, b, v
    cdef tuple shape = o.out.shape
    if o.kind == "generic":
        return REFUSED
    if o.kind == "loop" or o.kind == "select":
        if len(shape) == 0 or shape[0] != region.rows:
            return REFUSED
        for v in o.ins:
            if not fits(v, shape, region):
                return REFUSED
        return ROWS
    if o.kind == "copies":
        if len(shape) == 0 or shape[0] != region.rows:
            return REFUSED
        for v in o.ins:
            if len(v.shape) == 0 or v.shape[0] != region.rows or not (
                    is_row(v, region) or v.strides[0] == 0 and is_shared(v, region)):
                return REFUSED
        for part in o.params:
            if part is not None and part[0] >= o.out.item * (o.out.size // <Py_ssize_t>shape[0]):
                return REFUSED
        return ROWS
    if o.kind == "sum":
        v = <View>o.ins[0]
        if not is_row(v, region):
            return REFUSED
        axes = list(o.params)
        if 0 not in axes:
            return ROWS if axes == list(range(len(v.shape) - len(axes), len(v.shape))) else REFUSED
        return ADDED if len(axes) == len(v.shape) or axes == [0] else REFUSED
    a = <View>o.ins[0]
    b = <View>o.ins[1]
    if is_row(a, region) and len(a.shape) == 2 and len(b.shape) == 2 and is_shared(b, region):
        return ROWS
    if is_row(a, region) and len(a.shape) == 3 and (
            len(b.shape) == 3 and is_row(b, region) or len(b.shape) == 2 and is_shared(b, region)):
        return ROWS
    if len(a.shape) == 2 and len(b.shape) == 2 and a.shape[1] == region.rows and is_row(b, region) \
            and is_row(view(a.root, a.offset, (a.shape[1], a.shape[0]), (a.strides[1], a.strides[0])), region):
        return ADDED
    return REFUSED


cdef object rows_of(Operation o):
    """The number of rows a region around an operation would have; None where it is small."""
    cdef View v
    cdef tuple shape
    if o.kind == "generic":
        return None
    shape = o.out.shape
    if o.kind == "sum":
        shape = (<View>o.ins[0]).shape
    elif o.kind == "matmul" and len(shape) == 2:
        v = <View>o.ins[1]
        if <Py_ssize_t>v.shape[0] >= LARGE // 4 and <Py_ssize_t>v.shape[0] > 4 * <Py_ssize_t>shape[0]:
            return v.shape[0]
    if product(shape) < LARGE or len(shape) == 0 or <Py_ssize_t>shape[0] < 64:
        return None
    return shape[0]


cdef list regions_of(list operations, list results):
    """The operations in regions, in an order that respects what depends on what."""
    cdef list left = list(operations), later, regions = []
    cdef Region region
    cdef Operation o
    cdef View v
    cdef bint ready, alone
    cdef set waiting
    cdef Role r
    while left:
        region = Region()
        region.number = len(regions)
        region.operations = []
        o = <Operation>left[0]
        region.rows = rows_of(o)
        if region.rows is not None and role(o, region) == REFUSED:
            region.rows = None
        alone = o.kind == "generic"
        later = []
        waiting = set()             # roots that are made later
        for o in left:
            ready = not (alone and region.operations)
            for v in o.ins:
                if id(v.root) in waiting:
                    ready = False
            if ready and o.kind == "generic" and not alone:
                ready = False
            if ready and region.rows is None and not alone and region.operations and rows_of(o) is not None:
                ready = False
            if ready and region.rows is not None:
                for v in o.ins:
                    if v.root.region == region.number and v.root.added:
                        ready = False
                if ready:
                    r = role(o, region)
                    if r == REFUSED:
                        ready = False
                    else:
                        o.out.rows = r == ROWS
                        o.out.added = r == ADDED
            if ready:
                region.operations.append(o)
                o.out.region = region.number
            else:
                later.append(o)
                waiting.add(id(o.out))
        regions.append(region)
        left = later
    for region in regions:
        for o in region.operations:
            for v in o.ins:
                v.root.last = max(v.root.last, region.number)
                if v.root.region != region.number:
                    v.root.outside = True
    for v in results:
        v.root.outside = True
        v.root.last = len(regions)
    return regions


# ---------------------------------------------------------------------------------------------------------- memory

cdef class Places:
    """Offsets in one piece of memory, by lifetimes: what is given back is used again."""
    cdef list free                  # (bytes, offset)
    cdef Py_ssize_t end

    def __cinit__(self):
        self.free = []

    cdef Py_ssize_t take(self, Py_ssize_t nbytes):
        cdef Py_ssize_t best = -1, i
        nbytes = (nbytes + ALIGN - 1) // ALIGN * ALIGN
        for i in range(len(self.free)):
            if self.free[i][0] >= nbytes and (best < 0 or self.free[i][0] < self.free[best][0]):
                best = i
        if best >= 0 and self.free[best][0] <= 2 * nbytes:
            return self.free.pop(best)[1]
        self.end += nbytes
        return self.end - nbytes

    cdef Py_ssize_t keep(self, Py_ssize_t nbytes):
        """Memory nobody had before: what is written there for the first block only has to outlive every block."""
        nbytes = (nbytes + ALIGN - 1) // ALIGN * ALIGN
        self.end += nbytes
        return self.end - nbytes

    cdef int give(self, Py_ssize_t nbytes, Py_ssize_t offset) except -1:
        self.free.append(((nbytes + ALIGN - 1) // ALIGN * ALIGN, offset))
        return 0


# --------------------------------------------------------------------------------------------------------- emission

cdef class Emitter:
    """The instructions of a region."""
    cdef Region region
    cdef Plan plan
    cdef list code                  # dicts of fields, until their number is known
    cdef dict local                 # id of a root -> (offset, bytes) in block memory, per row
    cdef Places places
    cdef dict ones                  # type -> root of ones
    cdef dict expanded              # views repeated once for all blocks

    cdef Py_ssize_t width(self, tuple shape):
        return product(shape[1:]) if self.region.rows is not None else product(shape)

    cdef Py_ssize_t row_bytes(self, Root r):
        return r.item * (r.size // max(<Py_ssize_t>r.shape[0], 1)) if r.rows else r.item * r.size

    cdef tuple place(self, Root r, Py_ssize_t offset, Py_ssize_t row_stride):
        """(base, offset, row): where an operand lies."""
        if r.region == self.region.number and id(r) in self.local:
            return BLOCK, <Py_ssize_t>self.local[id(r)] + offset, 0
        if r.added and r.region == self.region.number:
            return TOTALS, r.total + offset, 0
        return r.base, r.offset + offset, row_stride if self.region.rows is not None else 0

    cdef object linear(self, tuple strides, tuple shape):
        """Bytes from element to element, if that is the same throughout; else None."""
        cdef Py_ssize_t expected = 0, step = 0
        cdef bint found = False, partition = self.region.rows is not None
        cdef int i
        for i in range(len(shape) - 1, -1, -1):
            if shape[i] == 1 and not (i == 0 and partition):
                continue
            if not found:
                step = strides[i]
                found = True
            elif strides[i] != expected:
                return None
            expected = <Py_ssize_t>strides[i] * <Py_ssize_t>shape[i]
        return step

    cdef tuple operand(self, View v, tuple shape):
        """((base, offset, row), step) of a view that is repeated up to a shape; expanded by a copy where its elements
        are not at equal distances."""
        cdef tuple strides = broadcast_strides(v, shape)
        step = self.linear(strides, shape)
        if step is not None:
            return self.place(v.root, v.offset, strides[0] if strides else 0), step
        return self.expand(v, strides, shape), v.root.item

    cdef tuple expand(self, View v, tuple strides, tuple shape):
        cdef bint partition = self.region.rows is not None
        cdef bint once = partition and strides[0] == 0 and v.root.region != self.region.number
        cdef Py_ssize_t offset, nbytes = v.root.item * self.width(shape)
        key = (id(v.root), v.offset, strides, shape) if once else None
        if once and key in self.expanded:
            return BLOCK, self.expanded[key], 0
        if once:
            offset = self.expanded[key] = self.places.keep(nbytes * self.region.block)
        else:
            offset = self.room(nbytes)
            self.spent.append((nbytes, offset))
        place = self.place(v.root, v.offset, strides[0])
        self.copy(place, strides, (BLOCK, offset, 0), packed_rows(shape, v.root.item, partition), shape, v.root.item,
                  once)
        return BLOCK, offset, 0

    cdef Py_ssize_t room(self, Py_ssize_t nbytes):
        """Block memory for so many bytes a row."""
        return self.places.take(nbytes * self.region.block)

    cdef list spent                 # block memory to be given back after the operation

    cdef int copy(self, tuple source, tuple source_strides, tuple target, tuple target_strides, tuple shape,
                  Py_ssize_t item, bint once) except -1:
        cdef bint partition = self.region.rows is not None
        cdef list axes = [], merged
        cdef int i
        for i in range(1 if partition else 0, len(shape)):
            if shape[i] != 1:
                axes.append((shape[i], source_strides[i], target_strides[i]))
        merged = []
        for extent, s, t in axes:               # axes that lie behind each other become one
            i = len(merged) - 1
            if i >= 0 and merged[i][1] == s * extent and merged[i][2] == t * extent:
                merged[i] = (merged[i][0] * extent, s, t)
            else:
                merged.append((extent, s, t))
        if len(merged) >= DG_MAX_AXES:
            raise NotImplementedError("a copy of too many axes")
        self.code.append({"kind": DG_COPY, "n_in": 1, "arg": [source, target], "item": item, "axes": len(merged),
                          "shape": [0] + [m[0] for m in merged],
                          "from": [source_strides[0] if partition else 0] + [m[1] for m in merged],
                          "to": [target_strides[0] if partition else 0] + [m[2] for m in merged], "once": once})
        return 0

    cdef tuple result(self, Root r):
        """Where a result goes."""
        if not r.added and not r.outside:
            self.local[id(r)] = self.room(self.row_bytes(r))
        return self.place(r, 0, self.row_bytes(r) if r.rows else 0)

    cdef Root ones_of(self, int typenum, Py_ssize_t n):
        cdef Root r = self.ones.get(typenum)
        if r is None or r.size < n:
            n = max(n, MOST_ROWS)
            r = new_root(typenum, (n,), ("constant", from_ndarray(np.ones(n, dtype_of(typenum)))))
            self.plan.add_root(r)
            self.ones[typenum] = r
        return r

    cdef int emit(self, Operation o) except -1:
        cdef View v
        cdef tuple shape = o.out.shape
        cdef Py_ssize_t item = o.out.item
        cdef list args, steps
        self.spent = []
        if o.kind == "loop" or o.kind == "select":
            args = []
            steps = []
            for v in o.ins:
                place, step = self.operand(v, shape)
                args.append(place)
                steps.append(step)
            args.append(self.result(o.out))
            steps.append(item)
            self.code.append({"kind": DG_SELECT if o.kind == "select" else DG_LOOP, "n_in": len(o.ins), "arg": args,
                              "step": steps, "width": self.width(shape), "item": item,
                              "loop": (o.op, (<View>o.ins[0]).root.typenum)})
        elif o.kind == "copies":
            target = self.result(o.out)
            for part in o.params:
                if part is None:
                    self.code.append({"kind": DG_ZERO, "n_in": 0, "arg": [target], "width": self.width(shape),
                                      "item": item})
                    continue
                offset, strides, v = part
                source = self.place((<View>v).root, (<View>v).offset,
                                    (<View>v).strides[0] if (<View>v).strides else 0)
                self.copy(source,
                          (<View>v).strides, (target[0], target[1] + offset, target[2]), strides, (<View>v).shape, item,
                          False)
        elif o.kind == "sum":
            self.emit_sum(o)
        else:
            self.emit_product(o)
        for nbytes, offset in self.spent:
            self.places.give(nbytes * self.region.block, offset)
        return 0

    cdef int emit_sum(self, Operation o) except -1:
        cdef View v = <View>o.ins[0]
        cdef tuple shape = v.shape, target
        cdef Py_ssize_t item = o.out.item, w, outer
        cdef list axes = list(o.params)
        cdef bint partition = self.region.rows is not None
        cdef Root ones
        place, step = self.operand(v, shape)
        target = self.result(o.out)
        if len(axes) == len(shape):
            if not partition:
                self.code.append({"kind": DG_ZERO, "n_in": 0, "arg": [target], "width": 1, "item": item})
            self.code.append({"kind": DG_SUM_ALL, "n_in": 1, "arg": [place, target], "step": [0, step, 0],
                              "width": self.width(shape), "add": o.out.typenum})
            return 0
        if axes == list(range(len(shape) - len(axes), len(shape))):     # the last axes: a product with ones
            w = product([shape[a] for a in axes])
            outer = product(shape) // w
            ones = self.ones_of(o.out.typenum, w)
            if partition:
                outer //= <Py_ssize_t>shape[0]
            self.code.append({"kind": DG_MATMUL, "n_in": 2, "arg": [place, (ones.base, 0, 0), target],
                              "dims": [1, -outer if partition else outer, w, 1],
                              "strides": [0, 0, 0, step * w, step, item, item, item, item], "matmul": o.out.typenum})
            return 0
        if axes[0] != 0 or axes != list(range(len(axes))):
            raise NotImplementedError("a sum over axes in the middle")
        w = product(shape[len(axes):])                                  # the first axes: ones times
        outer = product(shape[:len(axes)])
        if partition:
            ones = self.ones_of(o.out.typenum, self.region.block)
            scratch = self.room_once(w * item)
            self.code.append({"kind": DG_MATMUL_ADD, "n_in": 2,
                              "arg": [(ones.base, 0, 0), place, target, (BLOCK, scratch, 0)],
                              "dims": [1, 1, -1, w], "strides": [0, 0, 0, item, item, step * w, step, item, item],
                              "matmul": o.out.typenum, "add": o.out.typenum, "width": w, "step": [item, item, item]})
        else:
            ones = self.ones_of(o.out.typenum, outer)
            self.code.append({"kind": DG_MATMUL, "n_in": 2, "arg": [(ones.base, 0, 0), place, target],
                              "dims": [1, 1, outer, w],
                              "strides": [0, 0, 0, item, item, step * w, step, item * w, item],
                              "matmul": o.out.typenum})
        return 0

    cdef Py_ssize_t room_once(self, Py_ssize_t nbytes):
        """Block memory that does not grow with the rows, for the whole region."""
        return self.places.take(nbytes)

    cdef tuple factor(self, View v):
        """((base, offset, row), strides) of a factor whose last two axes a product can walk."""
        cdef tuple strides = v.strides
        cdef int n = len(v.shape)
        if (strides[n - 1] == v.root.item or strides[n - 2] == v.root.item or v.shape[n - 1] == 1
                or v.shape[n - 2] == 1) and strides[n - 1] != 0 and strides[n - 2] != 0:
            return self.place(v.root, v.offset, 0), strides
        return None

    cdef int emit_product(self, Operation o) except -1:
        cdef View a = <View>o.ins[0]
        cdef View b = <View>o.ins[1]
        cdef Py_ssize_t item = o.out.item, m, k, n, stack = 1
        cdef bint partition = self.region.rows is not None
        cdef tuple sa, sb
        cdef int na = len(a.shape), nb = len(b.shape)
        self.region.products = True
        m, k, n = a.shape[na - 2], a.shape[na - 1], b.shape[nb - 1]
        if o.out.added:                         # (m, rows) times (rows, n)
            pa = self.place(a.root, a.offset, a.strides[1])
            pb = self.place(b.root, b.offset, b.strides[0])
            sa, sb = a.strides, b.strides
            if item not in sa and m != 1:
                pa, sa = self.gathered(a, 1)
            if item not in sb and n != 1:
                pb, sb = self.gathered(b, 0)
            target = self.result(o.out)
            scratch = self.room_once(m * n * item)
            self.code.append({"kind": DG_MATMUL_ADD, "n_in": 2, "arg": [pa, pb, target, (BLOCK, scratch, 0)],
                              "dims": [1, m, -1, n],
                              "strides": [0, 0, 0, sa[0], sa[1], sb[0], sb[1], n * item, item],
                              "matmul": o.out.typenum, "add": o.out.typenum, "width": m * n,
                              "step": [item, item, item]})
            return 0
        if partition:
            pa, sa = self.place(a.root, a.offset, a.strides[0]), a.strides
            if not walks(a, item):
                pa, sa = self.gathered(a, 0)
            pb, sb = self.place(b.root, b.offset, b.strides[0] if nb == 3 else 0), b.strides
            if not walks(b, item):
                if nb == 3:
                    pb, sb = self.gathered(b, 0)
                else:
                    pb, sb = self.kept(b)
            target = self.result(o.out)
            if na == 2:
                dims, strides = [1, -1, k, n], [0, 0, 0, sa[0], sa[1], sb[0], sb[1], n * item, item]
            elif nb == 2 and sa[0] == sa[1] * m:
                dims, strides = [1, -m, k, n], [0, 0, 0, sa[1], sa[2], sb[0], sb[1], n * item, item]
            else:
                dims = [-1, m, k, n]
                strides = [sa[0], sb[0] if nb == 3 else 0, m * n * item, sa[1], sa[2], sb[nb - 2], sb[nb - 1],
                           n * item, item]
        else:
            pa, sa = self.place(a.root, a.offset, 0), a.strides
            if not walks(a, item):
                pa, sa = self.kept(a)
            pb, sb = self.place(b.root, b.offset, 0), b.strides
            if not walks(b, item):
                pb, sb = self.kept(b)
            target = self.result(o.out)
            if na == 3 or nb == 3:
                stack = max(<Py_ssize_t>a.shape[0] if na == 3 else 1, <Py_ssize_t>b.shape[0] if nb == 3 else 1)
            dims = [stack, m, k, n]
            strides = [sa[0] if na == 3 and a.shape[0] != 1 else 0, sb[0] if nb == 3 and b.shape[0] != 1 else 0,
                       m * n * item, sa[na - 2], sa[na - 1], sb[nb - 2], sb[nb - 1], n * item, item]
        self.code.append({"kind": DG_MATMUL, "n_in": 2, "arg": [pa, pb, target], "dims": dims, "strides": strides,
                          "matmul": o.out.typenum})
        return 0

    cdef tuple gathered(self, View v, int row_axis):
        """A factor copied into block memory, its rows first; (place, strides) in the order of its own axes."""
        cdef list order = [row_axis] + [i for i in range(len(v.shape)) if i != row_axis]
        cdef tuple shape = tuple([v.shape[i] for i in order])
        cdef tuple strides = tuple([v.strides[i] for i in order])
        cdef Py_ssize_t nbytes = v.root.item * self.width(shape), offset = self.room(nbytes)
        cdef tuple made = packed_rows(shape, v.root.item, True)
        self.spent.append((nbytes, offset))
        self.copy(self.place(v.root, v.offset, strides[0]), strides, (BLOCK, offset, 0), made, shape, v.root.item,
                  False)
        result = [0] * len(order)
        for i, axis in enumerate(order):
            result[axis] = made[i]
        return (BLOCK, offset, 0), tuple(result)

    cdef tuple kept(self, View v):
        """A shared factor copied into block memory once."""
        cdef Py_ssize_t offset = self.places.keep(v.root.item * product(v.shape))
        cdef bint partition = self.region.rows is not None
        cdef tuple made = packed(v.shape, v.root.item)
        cdef tuple shape = v.shape
        cdef tuple strides = v.strides
        place = self.place(v.root, v.offset, 0)
        if partition:               # an axis of rows that does not move, so that the whole is copied for one of them
            self.code.append({"kind": DG_COPY, "n_in": 1, "arg": [place, (BLOCK, offset, 0)], "item": v.root.item,
                              "axes": len(shape), "shape": [0] + list(shape), "from": [0] + list(strides),
                              "to": [0] + list(made), "once": True})
        else:
            self.copy(place, strides, (BLOCK, offset, 0), made, shape, v.root.item, False)
        return (BLOCK, offset, 0), made


cdef tuple packed_rows(tuple shape, Py_ssize_t item, bint partition):
    return packed(shape, item)


cdef bint walks(View v, Py_ssize_t item):
    """Whether a product can walk the last two axes of a factor as they lie."""
    cdef int n = len(v.shape)
    s, t = v.strides[n - 2], v.strides[n - 1]
    return (s >= item and t >= item and (s == item or t == item)
            or v.shape[n - 1] == 1 and t > 0 and s > 0 and s % item == 0)


# ------------------------------------------------------------------------------------------------------------ plans

cdef class Plan:
    """How a program is run."""

    cdef int add_root(self, object root) except -1:
        """Give a root a base of its own."""
        cdef Root r = <Root>root
        r.base = N_BASES + len(self.roots)
        r.offset = 0
        self.roots.append(r)
        return 0

    def __dealloc__(self):
        PyMem_Free(self.bases)

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
        return 0

    cdef list run(self, list inputs):
        """The arrays that leave the program; None if a handle no longer holds what it held."""
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
                if value.kind != ARRAY or not fits_root(<Array>value, r):
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
            nbytes = self.arena + ALIGN + (THREADS if self.parallel else 1) * (self.block_bytes + self.total_bytes)
            memory = <char *>dg_alloc(nbytes)
            if memory is NULL:
                raise MemoryError()
            bases[ARENA] = memory
            for region in self.tasks:
                if region.code is NULL:
                    self.run_generic(region.operations[0], bases, held)
                    continue
                self.run_region(region, bases)
            found = []
            for i in range(len(self.results)):
                v = <View>self.results[i]
                a = <Array>held[v.root.base - N_BASES]
                found.append(a if self.whole[i] else viewed(v, a, a.data + v.offset))
            return found
        finally:
            if memory is not NULL:
                dg_free(memory, nbytes)
            if bases is not few:
                PyMem_Free(bases)

    cdef int run_region(self, object task, char **bases) except -1:
        """A region of compiled loops, on as many threads as it is worth."""
        cdef Region region = <Region>task
        cdef dg_region r
        cdef Root root
        cdef Loop *loop
        cdef int w, workers = min(region.workers, THREADS)
        cdef char **copies = NULL
        cdef char *target
        cdef char *pointers[3]
        cdef cnp.npy_intp[3] steps
        cdef cnp.npy_intp size
        r.program = region.code
        r.count = region.count
        r.rows = region.n_rows
        r.block = region.block
        r.workers = workers
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
        if region.large:
            with nogil:
                dg_run_region(&r)
        else:
            dg_run_region(&r)
        for root in region.totals:
            target = bases[TOTALS] + root.total
            loop = loop_of(ADD, np.add, root.typenum)
            steps[0] = steps[1] = steps[2] = root.item
            for w in range(1, workers):
                pointers[0] = pointers[2] = target
                pointers[1] = r.bases[w][TOTALS] + root.total
                size = root.size
                loop.fn(pointers, &size, steps, loop.data)
            memcpy(bases[root.base] + root.offset, target, root.size * root.item)
        PyMem_Free(copies)
        return 0

    cdef int run_generic(self, object operation, char **bases, list held) except -1:
        """An operation without a compiled loop of ours, as eager execution would run it."""
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
        if not a.contiguous or not a.owner:         # memory between regions is used again: nothing may share it
            a = copy_of(to_ndarray(a))
        held[o.out.base - N_BASES] = a
        bases[o.out.base] = a.data
        return 0

    def __str__(self):
        lines = []
        cdef Region region
        cdef Operation o
        for region in self.tasks:
            lines.append(f"region of {region.rows} rows, blocks of {region.block}, {region.count} instructions, "
                         f"{region.block_bytes} bytes a block, {region.total_bytes} bytes of totals")
            for o in region.operations:
                place = "total" if o.out.added else "written" if o.out.outside else "block"
                lines.append(f"    {op_name(o.op)} {o.kind} {o.out.shape} {place}")
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


cdef bint fits_root(Array a, Root r):
    """Whether an array has the type and shape that a root was planned with."""
    cdef int i
    if a.typenum != r.typenum or a.ndim != len(r.shape):
        return False
    for i in range(a.ndim):
        if a.shape[i] != r.shape[i]:
            return False
    return True


cdef Array loose(View v, char **bases):
    """An operand in place, for as long as one operation takes."""
    return viewed(v, np_scalar(v.root.typenum), bases[v.root.base] + v.root.offset + v.offset)


cdef Plan make_plan(Program program):
    """The plan of a prepared program."""
    cdef Plan plan = Plan()
    cdef Lowering lowering = Lowering()
    cdef Root r
    cdef Operation o
    cdef View v
    cdef Region region
    cdef list regions
    cdef Places places = Places()
    cdef set leaving
    lowering.program = program
    lowering.lower()
    plan.roots = []
    plan.results = [lowering.views[slot] for slot in program.outputs]
    plan.results += [lowering.views[slot] for _, slot in program.effects]
    leaving = {id((<View>v).root) for v in plan.results}
    regions = regions_of(lowering.operations, plan.results)
    for r in lowering.roots:
        if r.source is not None:
            plan.add_root(r)
    for region in regions:
        for o in region.operations:
            r = o.out
            if o.kind == "generic":
                r.dynamic = True
                plan.add_root(r)
            elif id(r) in leaving:
                plan.add_root(r)
            elif r.outside:
                r.base = ARENA
                r.offset = places.take(r.size * r.item)
        for o in lowering.operations:       # what was read for the last time
            r = o.out
            if r.base == ARENA and r.last == region.number and r.region <= region.number:
                places.give(r.size * r.item, r.offset)
    plan.arena = places.end
    for region in regions:
        emit_region(plan, region)
        plan.block_bytes = max(plan.block_bytes, region.block_bytes)
        plan.total_bytes = max(plan.total_bytes, region.total_bytes)
    plan.tasks = regions
    plan.settle()
    return plan


cdef int emit_region(Plan plan, Region region) except -1:
    cdef Emitter e
    cdef Py_ssize_t a_row, room
    cdef Operation o
    region.totals = []
    region.total_bytes = 0
    for o in region.operations:
        if o.out.added:
            o.out.total = region.total_bytes
            region.total_bytes += (o.out.size * o.out.item + ALIGN - 1) // ALIGN * ALIGN
            region.totals.append(o.out)
    if (<Operation>region.operations[0]).kind == "generic":
        return 0
    region.block = region.n_rows = 1
    if region.rows is not None:
        region.n_rows = region.rows
        region.block = 64
        e = emitted(plan, region)
        a_row = max(1, e.places.end // 64)
        room = CACHE if region.products else TILE
        region.block = max(16, min(<Py_ssize_t>MOST_ROWS, room // a_row, region.n_rows))
    e = emitted(plan, region)
    region.block_bytes = (e.places.end + ALIGN - 1) // ALIGN * ALIGN
    region.workers = 1
    if region.rows is not None:
        work = sum([max((<Operation>o).out.size, max([product((<View>v).shape) for v in (<Operation>o).ins]))
                    for o in region.operations])
        if work > PARALLEL and region.n_rows >= 4 * region.block:
            region.workers = DG_MAX_THREADS
    region.large = region.rows is not None or any([(<Operation>o).out.size > 10000 for o in region.operations])
    finish_code(region, e.code)
    return 0


cdef Emitter emitted(Plan plan, Region region):
    """The instructions of a region for the block it has."""
    cdef Emitter e = Emitter()
    cdef Operation o
    cdef View v
    cdef dict last = {}
    cdef int i
    e.region = region
    e.plan = plan
    e.code = []
    e.local = {}
    e.places = Places()
    e.ones = {}
    e.expanded = {}
    for i, o in enumerate(region.operations):
        for v in o.ins:
            last[id(v.root)] = (i, v.root)
    for i, o in enumerate(region.operations):
        e.emit(o)
        for v in o.ins:
            if last.get(id(v.root), (-1, None))[0] == i and id(v.root) in e.local:
                e.places.give(e.row_bytes(v.root) * region.block, e.local[id(v.root)])
                last.pop(id(v.root))
    return e


cdef int finish_code(Region region, list code) except -1:
    """The instructions as the executor reads them."""
    cdef dg_instruction *p
    cdef Loop *loop
    cdef Py_ssize_t i
    cdef int k
    cdef dict d
    PyMem_Free(region.code)
    region.count = len(code)
    region.code = <dg_instruction *>PyMem_Malloc(max(1, region.count) * sizeof(dg_instruction))
    if region.code is NULL:
        raise MemoryError()
    memset(region.code, 0, max(1, region.count) * sizeof(dg_instruction))
    for i in range(region.count):
        p = &region.code[i]
        d = <dict>code[i]
        p.kind = d["kind"]
        p.n_in = d["n_in"]
        for k, (base, offset, row) in enumerate(d["arg"]):
            p.arg[k].base = base
            p.arg[k].offset = offset
            p.arg[k].row = row
        for k, step in enumerate(d.get("step", ())):
            p.step[k] = step
        p.width = d.get("width", 0)
        p.item = d.get("item", 0)
        p.once = d.get("once", False)
        for k, extent in enumerate(d.get("dims", ())):
            p.dims[k] = extent
        for k, stride in enumerate(d.get("strides", ())):
            p.strides[k] = stride
        p.axes = d.get("axes", 0)
        for k, extent in enumerate(d.get("shape", ())):
            p.shape[k] = extent
        for k, stride in enumerate(d.get("from", ())):
            p._from[k] = stride
        for k, stride in enumerate(d.get("to", ())):
            p.to[k] = stride
        if "loop" in d:
            op, typenum = d["loop"]
            if p.kind == DG_LOOP:
                loop = loop_of(POWER, np.power, typenum) if op == OP_POWER else find_loop(op, typenum)
                p.fn = loop.fn
                p.data = loop.data
        if "matmul" in d:
            loop = loop_of(MATMUL, np.matmul, d["matmul"])
            p.fn = loop.fn
            p.data = loop.data
        if "add" in d:
            loop = loop_of(ADD, np.add, d["add"])
            if p.kind == DG_SUM_ALL:
                p.fn = loop.fn
                p.data = loop.data
            else:
                p.add = loop.fn
                p.add_data = loop.data
    return 0
