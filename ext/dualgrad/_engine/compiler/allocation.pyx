"""Allocation: the offset of each result in memory. `Plan.run` (plan.pyx) gets the memory itself.

Design
------
Offsets follow lifetimes, in the order of the operations; the memory of a result without further readers is reused.
Results that later regions read lie in one arena. Results of the program and of kernels are arrays of their own. A
result that only its own region reads lies in the memory of a tile. While it makes the instructions, the emitter
(emitter.pyx) finds the offset there, with a `FreeList` of this module.
"""
from cpython.mem cimport PyMem_Calloc, PyMem_Free

from .horizontal_fusion cimport Joined
from .lowering cimport AS_GENERIC, Operation
from .partition cimport FusedRegion
from .rewrites cimport ARENA_REUSED, Rewrite, note
from .views cimport Buffer, View


cdef Py_ssize_t aligned(Py_ssize_t nbytes):
    """Round `nbytes` up to a multiple of the alignment."""
    return (nbytes + ALIGN - 1) // ALIGN * ALIGN


cdef class FreeList:
    """Offsets in one piece of memory, by lifetimes: freed offsets are reused."""
    def __cinit__(self):
        self.free = {}

    cdef Py_ssize_t take(self, Py_ssize_t nbytes):
        cdef Py_ssize_t best = -1
        cdef list found
        nbytes = aligned(nbytes)
        offsets = self.free.get(nbytes)
        if not offsets:
            for size, found in self.free.items():
                if nbytes <= <Py_ssize_t>size <= 2 * nbytes and found and (best < 0 or <Py_ssize_t>size < best):
                    best = size
            offsets = self.free[best] if best >= 0 else None
        if offsets is None:
            return self.keep(nbytes)
        note(self.rewrite)
        return (<list>offsets).pop()

    cdef Py_ssize_t keep(self, Py_ssize_t nbytes):
        """Memory that is never reused: data written for the first tile only must outlive all tiles."""
        self.end += aligned(nbytes)
        return self.end - aligned(nbytes)

    cdef int give(self, Py_ssize_t nbytes, Py_ssize_t offset) except -1:
        self.free.setdefault(aligned(nbytes), []).append(offset)
        return 0


cdef FreeList new_places(Rewrite rewrite):
    cdef FreeList places = FreeList()
    places.rewrite = rewrite
    return places


cdef Memory new_memory(list memories, Buffer r, str kind, object which):
    """Give a buffer a base of its own."""
    cdef Memory made = Memory()
    made.base = N_BASES + <int>len(memories)
    made.typenum = r.typenum
    made.shape = r.shape
    made.kind = kind
    made.which = which
    made.identity = r
    memories.append(made)
    return made


cdef Located new_located(View v, int base, Py_ssize_t offset):
    cdef Located made = Located()
    made.view = v
    made.base = base
    made.offset = offset + v.offset
    return made


cdef class Allocation:

    def __dealloc__(self):
        PyMem_Free(self.of)

    cdef Located located(self, View v):
        """A view with its base and offset."""
        cdef Place *place = &self.of[v.buffer.number]
        return new_located(v, place.base, place.offset)

    cdef int found(self, Buffer r, str kind, object which=None) except -1:
        """Give a buffer a base of its own."""
        self.of[r.number].base = new_memory(self.memories, r, kind, which).base
        return 0

    cdef int total(self, FusedRegion region) except -1:
        """Lay out the totals that a region adds up over its rows."""
        cdef list totals = []
        cdef Py_ssize_t nbytes = 0
        cdef Operation o
        cdef Total made
        cdef Place *place
        for o in region.operations:
            if self.partition.of[o.out.number].added:
                place = &self.of[o.out.number]
                place.total = nbytes
                nbytes += aligned(o.out.size * o.out.item)
                made = Total()
                made.buffer = o.out
                made.total = place.total
                made.base = place.base
                made.offset = place.offset
                totals.append(made)
        self.totals.append(totals)
        self.total_bytes.append(nbytes)
        return 0

    cdef int place(self, FusedRegion region, FreeList places, set leaving) except -1:
        """Find places for the results of a region that outlive it."""
        cdef Operation o
        cdef Buffer r
        for o in region.operations:
            r = o.out
            if o.kind == AS_GENERIC:
                self.found(r, "generic")
            elif r in leaving:
                self.found(r, "result")
            elif self.partition.of[r.number].outside:
                self.of[r.number].base = ARENA
                self.of[r.number].offset = places.take(r.size * r.item)
        return 0


cdef Allocation new_allocation(Joined joined):
    cdef Allocation a = Allocation()
    cdef Py_ssize_t i, n
    a.joined = joined
    a.partition = joined.margins.fused.partition
    a.memories = []
    a.totals = []
    a.total_bytes = []
    n = len(a.partition.lowered.buffers)
    a.of = <Place *>PyMem_Calloc(max(1, n), sizeof(Place))
    if a.of is NULL:
        raise MemoryError()
    for i in range(n):
        a.of[i].base = IN_BLOCK
    return a


cdef Allocation allocated(Joined joined):
    """Find places for all memory that outlives a region."""
    cdef Allocation a = new_allocation(joined)
    cdef FreeList places = new_places(ARENA_REUSED)
    cdef dict dying = {}                        # region -> results that it is the last to read
    cdef set leaving = {(<View>v).buffer for v in a.partition.lowered.results}
    cdef Buffer r
    cdef Operation o
    cdef FusedRegion region
    for r in a.partition.lowered.buffers:
        if r.source is not None:
            kind, which = <tuple>r.source
            a.found(r, kind, which)
    for o in a.partition.lowered.operations:
        dying.setdefault(a.partition.of[o.out.number].last, []).append(o.out)
    for region in joined.regions:
        a.place(region, places, leaving)
        a.total(region)
        for r in dying.get(region.number, ()):
            if a.of[r.number].base == ARENA:
                places.give(r.size * r.item, a.of[r.number].offset)
    a.arena = places.end
    return a
