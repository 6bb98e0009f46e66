"""Margins: the rows beside its own that a tile needs of each result, and results that are made inside of others.

Design
------
If operations read rows before or after their own, a tile also computes a few rows of its neighbours.

The transpose of a slice copies a result into some rows of a larger array of zeros. Then the result is made inside of
that array, without a copy, and its other readers find it there.
"""
from cpython.mem cimport PyMem_Calloc, PyMem_Free

from .lowering cimport AS_COPIES, Operation
from .partition cimport HALO, Partition, FusedRegion
from .rewrites cimport HALO_ROWS, MADE_WITHIN, note
from .vertical_fusion cimport Fused
from .views cimport Buffer, View, is_packed, packed


cdef class Margins:

    def __dealloc__(self):
        PyMem_Free(self.of)

    cdef Buffer around(self, Buffer r):
        """The result in whose memory a buffer is made; None if the buffer has memory of its own."""
        cdef int within = self.of[r.number].within
        return None if within == NOWHERE else <Buffer>self.fused.partition.lowered.buffers[within]

    cdef Buffer owner(self, Buffer r):
        """The result that owns the memory of a buffer."""
        while self.of[r.number].within != NOWHERE:
            r = self.around(r)
        return r


cdef int nest(Margins m, FusedRegion region) except -1:
    """Find results of a region with rows that can be made inside of their copies."""
    cdef Partition p = m.fused.partition
    cdef Operation o
    cdef Buffer r
    cdef View v
    cdef Py_ssize_t start, row
    for o in region.operations:
        # of a buffer that other regions read, each tile writes only its own rows
        if (o.kind != AS_COPIES or p.of[o.out.number].outside or len(o.params) != 2 or o.params[0] is not None):
            continue
        offset, strides, v = <tuple>o.params[1]
        r = v.buffer
        row = p.row_size(o.out)
        start = offset // row
        if (p.here(v, region) and p.of[r.number].rows and not p.of[r.number].outside
                and m.of[r.number].within == NOWHERE
                and v.shape == r.shape and v.shape[1:] == o.out.shape[1:] and v.offset == 0 and is_packed(v)
                and strides == packed(o.out.shape, r.item) and offset % row == 0 and start <= HALO):
            m.of[r.number].within = o.out.number
            m.of[r.number].start = start
            note(MADE_WITHIN)
    return 0


cdef Py_ssize_t set_margins(Margins m, FusedRegion region) except -1:
    """Set the margin of each buffer: the rows beside its own that a tile needs for later operations. Return the largest
    margin.

    Each tile computes its margins itself, so tiles stay independent of each other.
    """
    cdef Operation o
    cdef Buffer buffer
    cdef Margin *own
    cdef Margin *outer
    cdef Py_ssize_t shift, halo = 0
    for o in reversed(region.operations):
        own = &m.of[o.out.number]
        for buffer, shift in m.fused.partition.shifts(o, region):
            outer = &m.of[buffer.number]
            outer.before = max(outer.before, own.before - shift)
            outer.after = max(outer.after, own.after + shift)
    for o in region.operations:     # a result inside of a larger one needs its rows there
        own = &m.of[o.out.number]
        while own.within != NOWHERE:
            outer = &m.of[own.within]
            outer.before = max(outer.before, own.before - own.start)
            outer.after = max(outer.after, own.after + own.start)
            own = outer
    for o in region.operations:
        own = &m.of[o.out.number]
        halo = max(halo, own.before + own.after)
    if halo:
        note(HALO_ROWS)
    return halo


cdef Margins margins_of(Fused fused):
    """The margins of all results."""
    cdef Margins m = Margins()
    cdef FusedRegion region
    cdef Py_ssize_t i, n = len(fused.partition.lowered.buffers)
    m.fused = fused
    m.halos = []
    m.of = <Margin *>PyMem_Calloc(max(1, n), sizeof(Margin))
    if m.of is NULL:
        raise MemoryError()
    for i in range(n):
        m.of[i].within = NOWHERE
    for region in fused.regions:
        if region.rows is None:
            m.halos.append(0)
            continue
        nest(m, region)
        m.halos.append(set_margins(m, region))
    return m
