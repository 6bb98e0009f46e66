"""Blocks: how many rows of a region are run at once, and by how many threads.

Design
------
What one instruction of a region leaves behind is read by the next ones, so a block is as long as all of it stays in
cache: in the first-level one, or, with products of matrices, in a second-level one, since a factor that all rows
share is fetched for each block. Fewer rows than a loop is worth calling for are never taken. Large regions are divided
among threads, whole blocks each; what they walk along outside of their blocks is asked for ahead.
"""

from .codegen cimport LEAST, Emitter
from .instructions cimport finish_code, finish_scalars
from .executor cimport *
from .lowering cimport AS_CONTRACT, AS_GENERIC, AS_LOOP, AS_MATMUL, Operation
from ..primitives.opcodes cimport OP_POWER
from .allocation cimport Places, aligned, owner
from ..primitives.registry cimport find_loop
from .partition cimport HALO, Region, row_size
from .views cimport Root, View, product

cdef extern from "executor/executor.h":
    long dg_first_cache_size()

cdef enum:
    MOST_ROWS = 4096
    FEW_BLOCKS = 4                  # of rows that are worth several threads, at least
    STREAMING = 4 << 20             # bytes that a region walks along from which on they do not stay in cache
    PARALLEL = 1 << 19              # elements read or written from which on a second thread is worth waking


# Bytes that a block may fill: three quarters of a first-level cache, since what the rows are read from and written to
# passes through it as well. With products more than a second-level one may hold: a factor that all rows share is packed
# for each block, and that costs more than fetching the block from farther away.
cdef Py_ssize_t TILE = min(max(dg_first_cache_size(), 32 << 10), 64 << 10) * 3 // 4
cdef Py_ssize_t CACHE = 1 << 20


cdef int emit_region(list roots, Region region) except -1:
    """The instructions of a region, for blocks as long as stays in cache."""
    cdef Emitter e
    cdef Py_ssize_t a_row, room, wide, least
    cdef Operation o
    region.totals = []
    region.total_bytes = 0
    for o in region.operations:
        if o.out.added:
            o.out.total = region.total_bytes
            region.total_bytes += aligned(o.out.size * o.out.item)
            region.totals.append(o.out)
    if (<Operation>region.operations[0]).kind == AS_GENERIC:
        return 0
    region.block = region.n_rows = 1
    if region.rows is not None:
        region.n_rows = region.rows
        region.block = 64
        most = emitted(roots, region).places.end
        room = CACHE if region.products else TILE
        region.block = 16
        least = emitted(roots, region).places.end
        a_row = max(1, (most - least) // 48)        # what grows with the rows, and what does not
        room -= least - 16 * a_row
        wide = max([row_size(o.out) // o.out.item for o in region.operations if o.out.rows] + [1])
        least = least_rows(region) if region.products else max(1, LEAST // wide, 4 * region.halo)
        region.block = max(least, min(<Py_ssize_t>MOST_ROWS, room // a_row))
        if region.block > 16:       # whole vectors, and rows of the whole array that begin where vectors do
            region.block = region.block // 16 * 16
        region.block = min(region.block, region.n_rows)
    e = emitted(roots, region)
    region.block_bytes = aligned(e.places.end)
    region.workers = 1
    if region.rows is not None:
        work = sum([work_of(o) for o in region.operations])
        if work > PARALLEL and region.n_rows >= FEW_BLOCKS * 16 and not any([asks(o) for o in region.operations]):
            region.workers = DG_MAX_THREADS
            if region.n_rows < FEW_BLOCKS * region.block:       # a block for each of a few workers
                region.block = max(16, (region.n_rows // FEW_BLOCKS + 15) // 16 * 16)
                e = emitted(roots, region)
                region.block_bytes = aligned(e.places.end)
    region.large = region.rows is not None or any([(<Operation>o).out.size > 10000 for o in region.operations])
    finish_code(region, e.code)
    finish_scalars(region)
    find_streams(region)
    return 0


cdef bint asks(Operation o) except -1:
    """Whether an operation may set an error: that belongs to the calling thread, as its settings do."""
    return o.kind == AS_LOOP and o.op != OP_POWER and find_loop(o.op, (<View>o.ins[0]).root.typenum).asks


cdef Py_ssize_t work_of(Operation o) except -1:
    """Elements read or written; of a product, as many as take the time it takes."""
    cdef View a, v
    if o.kind == AS_CONTRACT:
        a = <View>o.ins[0]
        return o.out.size * <Py_ssize_t>a.shape[0] * <Py_ssize_t>a.shape[1] // 8
    if o.kind == AS_MATMUL:
        a = <View>o.ins[0]
        return max(o.out.size, o.out.size * <Py_ssize_t>a.shape[len(a.shape) - 1] // 8)
    return max([o.out.size] + [product(v.shape) for v in o.ins])


cdef Py_ssize_t least_rows(Region region) except -1:
    """Rows of a block with products, at least: a large shared factor has to be worth packing."""
    cdef Operation o
    cdef View b
    cdef Py_ssize_t most = 0
    for o in region.operations:
        if o.kind == AS_MATMUL and o.out.rows:
            b = <View>o.ins[1]
            most = max(most, <Py_ssize_t>b.shape[len(b.shape) - 2] * <Py_ssize_t>b.shape[len(b.shape) - 1])
    return max(16, min(256, most // 256))


cdef Emitter emitted(list roots, Region region):
    """The instructions of a region for the block it has."""
    cdef Emitter e = Emitter()
    cdef Operation o
    cdef Root root
    cdef View v
    cdef dict last = {}
    cdef int i
    e.region = region
    e.roots = roots
    e.code = []
    e.local = {}
    e.places = Places()
    e.ones = {}
    e.expanded = {}
    e.begun = {}
    e.alive = {}
    for i, o in enumerate(region.operations):
        for v in o.ins:
            last[owner(v.root)] = i
    for i, o in enumerate(region.operations):
        e.emit(o)
        for v in o.ins:
            root = owner(v.root)
            if last.get(root) == i and root in e.local:
                e.release(root)
                last.pop(root)
    return e


cdef int find_streams(Region region) except -1:
    """What a region walks along outside its block, if that is more than stays in cache."""
    cdef Py_ssize_t i, whole = 0
    cdef int k, s
    cdef dg_instruction *p
    cdef dg_operand *arg
    cdef dg_stream *stream
    region.ahead.count = 0
    for i in range(region.count):
        p = &region.code[i]
        for k in range(p.n_in + 1):
            arg = &p.arg[k]
            if arg.row <= 0 or p.once:
                continue
            for s in range(region.ahead.count):
                stream = &region.ahead.at[s]
                if stream.base == arg.base and abs(stream.offset - arg.offset) <= HALO * arg.row:
                    stream.offset = min(stream.offset, arg.offset)
                    break
            else:
                if region.ahead.count == DG_MAX_STREAMS:
                    continue
                stream = &region.ahead.at[region.ahead.count]
                region.ahead.count += 1
                stream.base = arg.base
                stream.offset = arg.offset
                stream.row = arg.row
                whole += arg.row * region.n_rows
    if whole < STREAMING:
        region.ahead.count = 0
    return 0
