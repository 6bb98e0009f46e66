"""The emitter collects the instructions of a region and finds the places that they read and write.

Design
------
An operand is a place: a base (an input, a constant, a result, the memory of a tile), an offset, and strides from row to
row. An operand whose elements are not at equal distances is copied first. An operand that is the same for every tile is
copied for the first tile only, into memory with no other use.
"""
from ..arrays.array import np
from ..arrays.array cimport from_ndarray
from .allocation cimport BLOCK, TOTALS, Allocation, Place, new_memory, new_places
from .executor cimport *
from .instructions cimport UNBOUND, Instruction, new_instruction
from .lowering cimport Operation, dtype_of
from .margins cimport NOWHERE, Margin
from .partition cimport Making, FusedRegion, row_size_of
from .rewrites cimport AXES_MERGED, BLOCK_REUSED, COPIED_ONCE, COPY_SPLIT, GATHERED_FACTOR, KEPT_FACTOR, note
from .schedule cimport is_kept
from .views cimport Buffer, View, broadcast_strides, new_buffer, packed, product, step_of, view_of

cdef enum:
    ONES = 4096                     # least number of ones in a constant, for products that add rows up


cdef class Ones:

    cdef int base(self, int typenum, Py_ssize_t n) except -1:
        """The base of a constant with at least `n` ones."""
        cdef Buffer r
        base, count = self.found.get(typenum, (0, 0))
        if count < n:
            n = max(n, ONES)
            r = new_buffer(typenum, (n,), None)
            base = new_memory(self.memories, r, "constant", from_ndarray(np.ones(n, dtype_of(typenum)))).base
            self.found[typenum] = base, n
        return base


cdef class Emitter:

    cdef Py_ssize_t width(self, tuple shape):
        return product(shape[1:]) if self.rows else product(shape)

    cdef tuple place(self, View v, Py_ssize_t row_stride):
        """The place of an operand: (base, offset, row, local), with its row stride in the whole array and its row
        stride in the tile."""
        cdef Buffer r = v.buffer
        cdef Making *made = &self.partition.of[r.number]
        cdef Place *at = &self.allocation.of[r.number]
        cdef Py_ssize_t row
        if made.region != self.region.number or r not in self.local:
            if made.added and made.region == self.region.number:
                return TOTALS, at.total + v.offset, 0, 0
            return at.base, at.offset + v.offset, row_stride if self.rows else 0, 0
        if not made.rows:
            return BLOCK, <Py_ssize_t>self.local[r] + v.offset, 0, 0
        row = row_size_of(r)        # rows before the tile come first in its memory
        return BLOCK, <Py_ssize_t>self.local[r] + v.offset + self.margins.of[r.number].before * row, 0, row

    cdef tuple operand(self, View v, tuple shape):
        """(place, step) of a view broadcast to a shape; if its elements are not at equal distances, of a copy."""
        cdef tuple strides = broadcast_strides(v, shape)
        step = step_of(strides, shape, self.rows)
        if step is not None:
            return self.place(v, strides[0] if strides else 0), step
        return self.expand(v, strides, shape, self.capacity), v.buffer.item

    cdef bint repeats(self, View v, tuple shape):
        """True if a view is the same for all rows, but not a single number."""
        cdef tuple strides = broadcast_strides(v, shape)
        return (self.rows and step_of(strides, shape, True) is None and strides[0] == 0
                and not self.partition.here(v, self.region))

    cdef tuple expand(self, View v, tuple strides, tuple shape, Py_ssize_t rows):
        """Copy a view in the order of a shape. If it is the same for all rows, copy it once, to `rows` rows."""
        cdef bint once = self.repeats(v, shape)
        cdef Py_ssize_t offset, nbytes = v.buffer.item * self.width(shape), first = len(self.code)
        key = (v.buffer, v.offset, strides, shape, rows) if once else None
        if once and key in self.expanded:
            return BLOCK, self.expanded[key], 0, 0
        if once:
            note(COPIED_ONCE)
            offset = self.expanded[key] = self.places.keep(nbytes * rows)
        else:
            offset = self.room(nbytes)
        self.copy(self.place(v, strides[0]), strides, (BLOCK, offset, 0, 0), packed(shape, v.buffer.item), shape,
                  v.buffer.item, once)
        if once:
            self.limit(first, 0, rows)
        return BLOCK, offset, 0, 0

    cdef Py_ssize_t local_bytes(self, Buffer r):
        """Bytes of a result in the memory of a tile."""
        cdef Margin *m = &self.margins.of[r.number]
        cdef bint by_rows = self.partition.of[r.number].rows
        return self.partition.row_size(r) * (self.block + m.before + m.after if by_rows else 1)

    cdef Py_ssize_t room(self, Py_ssize_t nbytes):
        """Memory of the tile, `nbytes` for each row, until the operation is done."""
        cdef Py_ssize_t offset = self.places.take(nbytes * self.capacity)
        self.spent.append((nbytes * self.capacity, offset))
        return offset

    cdef Py_ssize_t scratch(self, Py_ssize_t nbytes):
        """Memory of the tile with a fixed size, until the operation is done."""
        cdef Py_ssize_t offset = self.places.take(nbytes)
        self.spent.append((nbytes, offset))
        return offset

    cdef int copy(self, tuple source, tuple source_strides, tuple target, tuple target_strides, tuple shape,
                  Py_ssize_t item, bint once) except -1:
        cdef bint rows = self.rows
        cdef list axes = [], merged = []
        cdef int i
        for i in range(1 if rows else 0, len(shape)):
            if shape[i] != 1:
                axes.append((shape[i], source_strides[i], target_strides[i]))
        for extent, s, t in axes:               # merge adjacent axes
            i = <int>len(merged) - 1
            if i >= 0 and merged[i][1] == s * extent and merged[i][2] == t * extent:
                note(AXES_MERGED)
                merged[i] = (merged[i][0] * extent, s, t)
            else:
                merged.append((extent, s, t))
        return self.copy_axes(source, target, (source_strides[0], target_strides[0]) if rows else (0, 0), merged,
                              item, once)

    cdef int copy_axes(self, tuple source, tuple target, tuple rows, list axes, Py_ssize_t item, bint once) except -1:
        """Append a copy along rows and some axes (extent, strides). If an instruction has room for fewer axes, split it
        into several."""
        cdef Instruction made
        cdef Py_ssize_t k
        cdef int i
        if len(axes) >= DG_MAX_AXES:
            note(COPY_SPLIT)
            extent, s, t = least = min(axes)
            axes = list(axes)
            axes.remove(least)
            for k in range(extent):
                self.copy_axes((source[0], source[1] + k * s) + source[2:], (target[0], target[1] + k * t) + target[2:],
                               rows, axes, item, once)
            return 0
        made = self.add(DG_COPY, [source, target], item)
        made.code.axes = <int>len(axes)
        made.code.once = once
        made.code._from[0], made.code.to[0] = rows
        for i in range(len(axes)):
            made.code.shape[i + 1], made.code._from[i + 1], made.code.to[i + 1] = <tuple>axes[i]
        return 0

    cdef Instruction add(self, int kind, list places, Py_ssize_t item):
        """Append an instruction."""
        cdef Instruction made = new_instruction(kind, places, item)
        self.code.append(made)
        return made

    cdef int limit(self, Py_ssize_t first, Py_ssize_t low, Py_ssize_t high) except -1:
        """Set the range of rows for all instructions from `first` on."""
        cdef Py_ssize_t i
        for i in range(first, len(self.code)):
            (<Instruction>self.code[i]).code.low = low
            (<Instruction>self.code[i]).code.high = high
        return 0

    cdef int zero(self, tuple target, Py_ssize_t width, Py_ssize_t item, Py_ssize_t low=0,
                  Py_ssize_t high=UNBOUND) except -1:
        """Zero some rows of a place."""
        cdef Instruction made = self.add(DG_ZERO, [target], item)
        made.code.width = width
        made.code.low = low
        made.code.high = high
        return 0

    cdef int multiply(self, int typenum, list places, list dims, list strides) except -1:
        """Append a product of matrices or of stacks of matrices."""
        self.add(DG_MATMUL, places, 0).multiplies(typenum, dims, strides)
        return 0

    cdef int multiply_rows(self, int typenum, Py_ssize_t item, Py_ssize_t width, list places, list dims,
                           list strides) except -1:
        """Append a product over the rows of a tile, which is added to a total."""
        cdef Instruction made = self.add(DG_MATMUL_ONTO, places, 0)
        cdef bint own = made.multiplies(typenum, dims, strides)
        if made.adds_dots(typenum) or own:
            return 0
        made.code.kind = DG_MATMUL_ADD              # the library's loop cannot add to a total
        made.operand(3, (BLOCK, self.scratch(width * item), 0, 0))
        made.totals(typenum)
        made.code.width = width
        made.steps([item, item, item])
        return 0

    cdef tuple result(self, Buffer r):
        """The place of a result; allocates memory of the tile if it stays there."""
        cdef Margin *m = &self.margins.of[r.number]
        cdef bint by_rows = self.partition.of[r.number].rows
        cdef Buffer around
        if m.within != NOWHERE:
            around = self.margins.around(r)
            self.result(around)
            self.local[r] = (<Py_ssize_t>self.local[around]
                             + (self.margins.of[m.within].before + m.start - m.before) * row_size_of(r))
        elif is_kept(self.partition, r) and r not in self.local:
            group = self.joined.groups.get(r)
            self.local[r] = self.places.take(self.local_bytes(r)) if group is None else self.beside(r, <list>group)
        return self.place(view_of(r), row_size_of(r) if by_rows else 0)

    cdef Py_ssize_t beside(self, Buffer r, list group):
        """The offset of a result in the memory of its group."""
        cdef Py_ssize_t nbytes = self.local_bytes(r)
        if id(group) not in self.begun:
            self.begun[id(group)] = self.places.take(nbytes * len(group))
            self.alive[id(group)] = len(group)
        return <Py_ssize_t>self.begun[id(group)] + nbytes * group.index(r)

    cdef int release(self, Buffer r) except -1:
        """Free the tile memory of a result after its last reader."""
        cdef list group = self.joined.groups.get(r)
        if group is None:
            return self.places.give(self.local_bytes(r), self.local[r])
        self.alive[id(group)] -= 1
        if self.alive[id(group)] == 0:
            self.places.give(self.local_bytes(r) * len(group), self.begun[id(group)])
        return 0

    cdef tuple gathered(self, View v, int row_axis):
        """Copy a factor into the memory of the tile, its rows first; return (place, strides) in the order of its own
        axes."""
        cdef list order = [row_axis] + [i for i in range(len(v.shape)) if i != row_axis]
        cdef tuple shape = tuple([v.shape[i] for i in order])
        cdef tuple strides = tuple([v.strides[i] for i in order])
        cdef Py_ssize_t nbytes = v.buffer.item * self.width(shape), offset = self.room(nbytes)
        cdef tuple made = packed(shape, v.buffer.item)
        note(GATHERED_FACTOR)
        self.copy(self.place(v, strides[0]), strides, (BLOCK, offset, 0, 0), made, shape, v.buffer.item,
                  False)
        result = [0] * len(order)
        for i, axis in enumerate(order):
            result[axis] = made[i]
        return (BLOCK, offset, 0, 0), tuple(result)

    cdef tuple kept(self, View v):
        """Copy a shared factor into the memory of the tile, once for all tiles."""
        cdef Py_ssize_t offset = self.places.keep(v.buffer.item * product(v.shape))
        cdef bint rows = self.rows
        cdef tuple made = packed(v.shape, v.buffer.item)
        cdef Py_ssize_t first = len(self.code)
        note(KEPT_FACTOR)
        place = self.place(v, 0)
        if rows:               # treated as one row
            axes = list(zip(v.shape, v.strides, made))
            self.copy_axes(place, (BLOCK, offset, 0, 0), (0, 0), axes, v.buffer.item, True)
            self.limit(first, 0, 1)
        else:
            self.copy(place, v.strides, (BLOCK, offset, 0, 0), made, v.shape, v.buffer.item, False)
        return (BLOCK, offset, 0, 0), made

    cdef int bound(self, Py_ssize_t first, Operation o) except -1:
        """Set the range of rows for the instructions of an operation, unless they have one already."""
        cdef Instruction made
        cdef Py_ssize_t n = 1 if not self.rows else self.partition.rows_made(o), i
        for i in range(first, len(self.code)):
            made = <Instruction>self.code[i]
            if made.code.high == UNBOUND:
                made.code.high = self.capacity if made.code.once else n
            if not made.code.once:
                made.code.before = self.margins.of[o.out.number].before
                made.code.after = self.margins.of[o.out.number].after
        return 0


cdef Emitter new_emitter(Allocation allocation, FusedRegion region, Py_ssize_t halo, Py_ssize_t block, Ones ones):
    cdef Emitter e = Emitter()
    e.region = region
    e.rows = region.rows is not None
    e.block = block
    e.capacity = block + halo
    e.partition = allocation.partition
    e.joined = allocation.joined
    e.margins = e.joined.margins
    e.allocation = allocation
    e.ones = ones
    e.code = []
    e.local = {}
    e.places = new_places(BLOCK_REUSED)
    e.expanded = {}
    e.begun = {}
    e.alive = {}
    return e
