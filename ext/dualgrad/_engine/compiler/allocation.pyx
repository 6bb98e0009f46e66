"""Placement: where results lie in memory.

Design
------
Memory is handed out by lifetimes, in the order in which results come and go; what nobody reads any more is used again.

A result that is copied into some rows of another one, zeros elsewhere (the transpose of a slice), is made there: the
copy is not done. Others who read it find it there as well.
"""
from .lowering cimport AS_COPIES, Operation
from .partition cimport HALO, Region, row_size
from .views cimport Root, View, is_packed, packed


cdef Py_ssize_t aligned(Py_ssize_t nbytes):
    """Bytes that are taken for so many."""
    return (nbytes + ALIGN - 1) // ALIGN * ALIGN


cdef class Places:
    """Offsets in one piece of memory, by lifetimes: what is given back is used again."""
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
        return self.keep(nbytes) if offsets is None else (<list>offsets).pop()

    cdef Py_ssize_t keep(self, Py_ssize_t nbytes):
        """Memory nobody had before: what is written there for the first block only has to outlive every block."""
        self.end += aligned(nbytes)
        return self.end - aligned(nbytes)

    cdef int give(self, Py_ssize_t nbytes, Py_ssize_t offset) except -1:
        self.free.setdefault(aligned(nbytes), []).append(offset)
        return 0


cdef int place_within(Region region) except -1:
    """Find the results of a region of rows that are made where they would be copied to."""
    cdef Operation o
    cdef Root r
    cdef View v
    cdef Py_ssize_t start
    if region.rows is None:
        return 0
    for o in region.operations:
        # what others read is written by the block that owns the row
        if o.kind != AS_COPIES or o.out.outside or len(o.params) != 2 or o.params[0] is not None:
            continue
        offset, strides, v = <tuple>o.params[1]
        r = v.root
        start = offset // row_size(o.out)
        if (r.region == region.number and r.rows and not r.outside and r.within is None
                and v.shape == r.shape and v.shape[1:] == o.out.shape[1:] and v.offset == 0 and is_packed(v)
                and strides == packed(o.out.shape, r.item) and offset % row_size(o.out) == 0 and start <= HALO):
            r.within = o.out
            r.start = start
    return 0


cdef Root owner(Root r):
    """The result whose memory a root lies in."""
    while r.within is not None:
        r = r.within
    return r
