"""Tiles: the number of rows of a region that run at once, and the number of threads.

Design
------
Instructions of a region read the results of earlier ones, so a tile has as many rows as stay in cache. Without matrix
products that is the first-level cache; with them it is the second-level cache, since each tile fetches the shared
factor. A tile always has enough rows for a call of a loop to pay. Large regions are divided among threads by whole
tiles; data that they read outside of their tiles is prefetched.

The emitter assigns offsets in the memory of a tile (emitter.pyx); the largest end is its size. `Plan.run` (plan.pyx)
allocates that memory once for each thread.
"""

from ..primitives.opcodes cimport OP_POWER
from ..primitives.registry cimport find_loop
from .allocation cimport IN_BLOCK, Allocation, aligned
from .code cimport Code, RegionCode, finish_code, finish_scalars
from .codegen cimport emitted
from .emitter cimport Emitter, Ones
from .executor cimport *
from .lowering cimport (AS_CONTRACT, AS_GATHER, AS_GENERIC, AS_LOOP, AS_MATMUL, AS_SCATTER, Operation)
from .partition cimport HALO, Partition, FusedRegion
from .rewrites cimport SEVERAL_THREADS, SHORTER_BLOCKS, STREAMS, note
from .views cimport Buffer, View, product

cdef extern from "executor/cache.h":
    long dg_first_cache_size()

cdef enum:
    MOST_ROWS = 4096
    LEAST_BYTES = 4096              # least bytes of a result in a tile, for the calls of its loops to pay
    FEW_BLOCKS = 4                  # least tiles of a region for several threads to pay
    STREAMING = 4 << 20             # a region that walks along more bytes than this exceeds the cache
    PARALLEL = 1 << 19              # least elements read or written for a second thread to pay


# Bytes that a tile may fill: three quarters of a first-level cache, since the inputs and outputs of the rows pass
# through it too. With products the limit exceeds a second-level cache: each tile packs the shared factor anew, and that
# costs more than fetching the tile from farther away.
cdef Py_ssize_t TILE = min(max(dg_first_cache_size(), 32 << 10), 64 << 10) * 3 // 4
cdef Py_ssize_t CACHE = 1 << 20


cdef class Tiling:
    """Cuts the regions of a program into tiles, one region after the other."""
    cdef Allocation allocation
    cdef Partition partition
    cdef Ones ones
    cdef set known                  # (index array, axis length) pairs that are already checked

    cdef Emitter attempt(self, FusedRegion region, Py_ssize_t block):
        """The instructions of a region for tiles of `block` rows."""
        return emitted(self.allocation, region, self.halo_of(region), block, self.ones)

    cdef Py_ssize_t halo_of(self, FusedRegion region) except -1:
        return self.allocation.joined.margins.halos[region.number]

    cdef Py_ssize_t block_of(self, FusedRegion region) except -1:
        """The number of rows of a tile that stays in cache."""
        cdef Operation o
        cdef Py_ssize_t a_row, room, wide, least, block
        cdef Emitter tried = self.attempt(region, 64)
        room = CACHE if tried.products else TILE
        least = self.attempt(region, 16).places.end
        a_row = max(1, (tried.places.end - least) // 48)    # bytes per row, without those of fixed size
        room -= least - 16 * a_row
        wide = 1
        for o in region.operations:
            if self.partition.of[o.out.number].rows:
                wide = max(wide, self.partition.row_size(o.out))
        if tried.products:
            least = self.least_rows(region)
        else:
            least = max(1, LEAST_BYTES // wide, 4 * self.halo_of(region))
        block = max(least, min(<Py_ssize_t>MOST_ROWS, room // a_row))
        if block > 16:              # whole vectors, and tiles that begin at aligned rows of the whole array
            block = block // 16 * 16
        return min(block, <Py_ssize_t>region.rows)

    cdef Py_ssize_t least_rows(self, FusedRegion region) except -1:
        """Least rows of a tile with products: enough for packing a large shared factor to pay."""
        cdef Operation o
        cdef View b
        cdef Py_ssize_t most = 0
        for o in region.operations:
            if o.kind == AS_MATMUL and self.partition.of[o.out.number].rows:
                b = <View>o.ins[1]
                most = max(most, <Py_ssize_t>b.shape[len(b.shape) - 2] * <Py_ssize_t>b.shape[len(b.shape) - 1])
        return max(16, min(256, most // 256))

    cdef Emitter divided(self, RegionCode made, Emitter e):
        """Allow several threads for a large region. Shorten its tiles if there would be fewer than FEW_BLOCKS."""
        cdef FusedRegion region = made.region
        cdef Operation o
        if (made.n_rows < FEW_BLOCKS * 16 or sum([work_of(o) for o in region.operations]) <= PARALLEL
                or any([asks(o) for o in region.operations])):
            return e
        made.workers = DG_MAX_THREADS
        note(SEVERAL_THREADS)
        if made.n_rows < FEW_BLOCKS * made.block:
            note(SHORTER_BLOCKS)
            made.block = max(16, (made.n_rows // FEW_BLOCKS + 15) // 16 * 16)
            e = self.attempt(region, made.block)
        return e

    cdef RegionCode code_of(self, FusedRegion region):
        """The instructions of a region, for tiles as long as stay in cache."""
        cdef RegionCode made = RegionCode()
        cdef Emitter e
        cdef Operation o
        made.region = region
        made.totals = self.allocation.totals[region.number]
        made.total_bytes = self.allocation.total_bytes[region.number]
        made.lookups = self.lookups(region)
        made.kept = [self.kept(o.out) for o in region.operations]
        o = <Operation>region.operations[0]
        if o.kind == AS_GENERIC:
            made.operands = [self.allocation.located(v) for v in o.ins]
            made.result = self.allocation.of[o.out.number].base
            return made
        made.n_rows = made.block = made.workers = 1
        if region.rows is not None:
            made.n_rows = region.rows
            made.block = self.block_of(region)
        e = self.attempt(region, made.block)
        if region.rows is not None:
            e = self.divided(made, e)
        made.block_bytes = aligned(e.places.end)
        made.products = e.products
        made.large = region.rows is not None or any([(<Operation>o).out.size > 10000 for o in region.operations])
        finish_code(made, e.code)
        finish_scalars(made)
        find_streams(made)
        return made

    cdef str kept(self, Buffer r):
        """The kind of memory for the result of an operation."""
        if self.partition.of[r.number].added:
            return "total"
        return "block" if self.allocation.of[r.number].base == IN_BLOCK else "memory"

    cdef list lookups(self, FusedRegion region):
        """The index arrays that must be checked before a region starts. Lowering has checked constants; arrays that an
        earlier region has checked, or that are clipped, need no check."""
        cdef Operation o
        cdef View v
        cdef int i
        cdef list found = []
        for o in region.operations:
            if o.kind != AS_GATHER and o.kind != AS_SCATTER:
                continue
            axis, whole = <tuple>o.params
            for i, v in enumerate(o.ins[1:], <Py_ssize_t>axis):
                key = (v.buffer, v.offset, v.shape, v.strides, whole[i])
                if (key not in self.known and (v.buffer.source is None or (<tuple>v.buffer.source)[0] != "constant")
                        and not self.partition.is_inside(v, whole[i])):
                    found.append((self.allocation.located(v), i, whole))
                self.known.add(key)
        return found


cdef Code generated(Allocation allocation):
    """The code of all regions."""
    cdef Tiling t = Tiling()
    cdef Code code = Code()
    cdef FusedRegion region
    cdef RegionCode made
    t.allocation = allocation
    t.partition = allocation.partition
    t.known = set()
    t.ones = Ones()
    t.ones.found = {}
    t.ones.memories = code.memories = list(allocation.memories)
    code.arena = allocation.arena
    code.results = [allocation.located(v) for v in t.partition.lowered.results]
    code.regions = []
    for region in allocation.joined.regions:
        made = t.code_of(region)
        code.regions.append(made)
        code.block_bytes = max(code.block_bytes, made.block_bytes)
        code.total_bytes = max(code.total_bytes, made.total_bytes)
    return code


cdef bint asks(Operation o) except -1:
    """True if an operation may set an error. It must run on the calling thread, which owns errors and their
    settings."""
    return o.kind == AS_LOOP and o.op != OP_POWER and find_loop(o.op, (<View>o.ins[0]).buffer.typenum).asks


cdef Py_ssize_t work_of(Operation o) except -1:
    """Elements read or written; for a product, the number that takes the same time."""
    cdef View a, v
    if o.kind == AS_CONTRACT:
        a = <View>o.ins[0]
        return o.out.size * <Py_ssize_t>a.shape[0] * <Py_ssize_t>a.shape[1] // 8
    if o.kind == AS_MATMUL:
        a = <View>o.ins[0]
        return max(o.out.size, o.out.size * <Py_ssize_t>a.shape[len(a.shape) - 1] // 8)
    return max([o.out.size] + [product(v.shape) for v in o.ins])


cdef int find_streams(RegionCode made) except -1:
    """Find the operands that a region walks along outside of its tiles, if together they exceed the cache."""
    cdef Py_ssize_t i, low, high, whole = 0
    cdef int k, s
    cdef dg_instruction *p
    cdef dg_operand *arg
    cdef dg_stream *stream
    made.ahead.count = 0
    for i in range(made.count):
        p = &made.code[i]
        low = p.low
        high = min(p.high, made.n_rows)
        if p.once or low >= high:
            continue
        for k in range(p.n_in + 1):
            arg = &p.arg[k]
            if arg.row <= 0:
                continue
            for s in range(made.ahead.count):
                stream = &made.ahead.at[s]
                if stream.base == arg.base and abs(stream.offset - arg.offset) <= HALO * arg.row:
                    stream.offset = min(stream.offset, arg.offset)
                    stream.low = min(stream.low, low)
                    stream.high = max(stream.high, high)
                    break
            else:
                if made.ahead.count == DG_MAX_STREAMS:
                    continue
                stream = &made.ahead.at[made.ahead.count]
                made.ahead.count += 1
                stream.base = arg.base
                stream.offset = arg.offset
                stream.row = arg.row
                stream.low = low
                stream.high = high
                whole += arg.row * (high - low)
    if whole < STREAMING:
        made.ahead.count = 0
    elif made.ahead.count:
        note(STREAMS)
    return 0
