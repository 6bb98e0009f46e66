"""Emission: the instructions of a region, and where everything lies that they read and write.

Design
------
Operands are places: a base (an input, a constant, a result, the memory of a block), an offset, and how far they move
from row to row. An operand whose elements are not at equal distances is copied first; what is the same for every
block is copied for the first one only, into memory that nobody else uses.
"""

import numpy as np

from ..arrays.array cimport from_ndarray
from .instructions cimport UNBOUND, Instruction, new_instruction, product_loop
from .executor cimport *
from .lowering cimport (AS_CAST, AS_CONTRACT, AS_COPIES, AS_GATHER, AS_LOOP, AS_SCATTER, AS_SELECT, AS_SUM, Operation,
                        dtype_of)
from .partition cimport row_size, rows_made
from .views cimport Root, View, broadcast_strides, new_root, packed, product, step_of, view_of

cdef enum:
    FEW = 8                         # numbers that are added up in a loop of ours rather than by a product with ones,
    WIDE = 32                       # and numbers of rows that are
    ONES = 4096                     # as many are kept for such products, at least


cdef class Emitter:
    """The instructions of a region."""

    cdef Py_ssize_t width(self, tuple shape):
        return product(shape[1:]) if self.region.rows is not None else product(shape)

    cdef tuple place(self, View v, Py_ssize_t row_stride):
        """(base, offset, row, local): where an operand lies, how far it moves from row to row of the whole array, and
        of the block."""
        cdef Root r = v.root
        cdef Py_ssize_t row
        if r.region != self.region.number or r not in self.local:
            if r.added and r.region == self.region.number:
                return TOTALS, r.total + v.offset, 0, 0
            return r.base, r.offset + v.offset, row_stride if self.region.rows is not None else 0, 0
        if not r.rows:
            return BLOCK, <Py_ssize_t>self.local[r] + v.offset, 0, 0
        row = row_size(r)           # its block memory begins with the rows before the block
        return BLOCK, <Py_ssize_t>self.local[r] + v.offset + r.before * row, 0, row

    cdef tuple operand(self, View v, tuple shape):
        """(place, step) of a view that is repeated up to a shape; expanded by a copy where its elements are not at
        equal distances."""
        cdef tuple strides = broadcast_strides(v, shape)
        step = step_of(strides, shape, self.region.rows is not None)
        if step is not None:
            return self.place(v, strides[0] if strides else 0), step
        return self.expand(v, strides, shape, self.capacity()), v.root.item

    cdef bint repeats(self, View v, tuple shape):
        """Whether a view is the same for every row, but not for every element of it."""
        cdef tuple strides = broadcast_strides(v, shape)
        return (self.region.rows is not None and step_of(strides, shape, True) is None and strides[0] == 0
                and v.root.region != self.region.number)

    cdef tuple expand(self, View v, tuple strides, tuple shape, Py_ssize_t rows):
        """A view copied in the order of a shape; once, into so many rows, if it is the same for every row."""
        cdef bint once = self.repeats(v, shape)
        cdef Py_ssize_t offset, nbytes = v.root.item * self.width(shape), first = len(self.code)
        key = (v.root, v.offset, strides, shape, rows) if once else None
        if once and key in self.expanded:
            return BLOCK, self.expanded[key], 0, 0
        if once:
            offset = self.expanded[key] = self.places.keep(nbytes * rows)
        else:
            offset = self.room(nbytes)
        self.copy(self.place(v, strides[0]), strides, (BLOCK, offset, 0, 0), packed(shape, v.root.item), shape,
                  v.root.item, once)
        if once:
            self.limit(first, 0, rows)
        return BLOCK, offset, 0, 0

    cdef Py_ssize_t capacity(self):
        """The most rows that an operation of the region goes over at once."""
        return self.region.block + self.region.halo

    cdef Py_ssize_t local_bytes(self, Root r):
        """Block memory of a result."""
        return row_size(r) * (self.region.block + r.before + r.after if r.rows else 1)

    cdef Py_ssize_t room(self, Py_ssize_t nbytes):
        """Block memory for so many bytes a row, until the operation is done."""
        cdef Py_ssize_t offset = self.places.take(nbytes * self.capacity())
        self.spent.append((nbytes * self.capacity(), offset))
        return offset

    cdef int copy(self, tuple source, tuple source_strides, tuple target, tuple target_strides, tuple shape,
                  Py_ssize_t item, bint once) except -1:
        cdef bint partition = self.region.rows is not None
        cdef list axes = [], merged = []
        cdef int i
        for i in range(1 if partition else 0, len(shape)):
            if shape[i] != 1:
                axes.append((shape[i], source_strides[i], target_strides[i]))
        for extent, s, t in axes:               # axes that lie behind each other become one
            i = <int>len(merged) - 1
            if i >= 0 and merged[i][1] == s * extent and merged[i][2] == t * extent:
                merged[i] = (merged[i][0] * extent, s, t)
            else:
                merged.append((extent, s, t))
        return self.copy_axes(source, target, (source_strides[0], target_strides[0]) if partition else (0, 0), merged,
                              item, once)

    cdef int copy_axes(self, tuple source, tuple target, tuple rows, list axes, Py_ssize_t item, bint once) except -1:
        """Copies along some axes (extent, strides), and rows; several where there are more axes than an instruction
        knows."""
        cdef Instruction made
        cdef Py_ssize_t k
        cdef int i
        if len(axes) >= DG_MAX_AXES:
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
        """The next instruction."""
        cdef Instruction made = new_instruction(kind, places, item)
        self.code.append(made)
        return made

    cdef int limit(self, Py_ssize_t first, Py_ssize_t low, Py_ssize_t high) except -1:
        """The rows that the instructions from one on go over."""
        cdef Py_ssize_t i
        for i in range(first, len(self.code)):
            (<Instruction>self.code[i]).code.low = low
            (<Instruction>self.code[i]).code.high = high
        return 0

    cdef int zero(self, tuple target, Py_ssize_t width, Py_ssize_t item, Py_ssize_t low=0,
                  Py_ssize_t high=UNBOUND) except -1:
        """Zeros, in some rows."""
        cdef Instruction made = self.add(DG_ZERO, [target], item)
        made.code.width = width
        made.code.low = low
        made.code.high = high
        return 0

    cdef int multiply(self, int typenum, list places, list dims, list strides) except -1:
        """A product of matrices, or of stacks of them."""
        return self.add(DG_MATMUL, places, 0).multiplies(typenum, dims, strides)

    cdef int multiply_rows(self, int typenum, Py_ssize_t item, Py_ssize_t width, list places, list dims,
                           list strides) except -1:
        """A product over the rows of a block, which is added to a total."""
        cdef Py_ssize_t scratch = self.scratch(width * item)
        cdef Instruction made = self.add(DG_MATMUL_ADD, places, 0)
        made.multiplies(typenum, dims, strides)
        made.operand(3, (BLOCK, scratch, 0, 0))
        made.totals(typenum)
        made.code.width = width
        made.steps([item, item, item])
        return 0

    cdef tuple result(self, Root r):
        """Where a result goes."""
        if r.within is not None:
            self.result(r.within)
            self.local[r] = (<Py_ssize_t>self.local[r.within]
                             + (r.within.before + r.start - r.before) * row_size(r))
        elif not r.added and not r.outside and r not in self.local:
            if r.group is not None:
                nbytes = self.local_bytes(r)
                if id(r.group) not in self.begun:
                    self.begun[id(r.group)] = self.places.take(nbytes * len(r.group))
                    self.alive[id(r.group)] = len(r.group)
                self.local[r] = self.begun[id(r.group)] + nbytes * r.group.index(r)
            else:
                self.local[r] = self.places.take(self.local_bytes(r))
        return self.place(view_of(r), row_size(r) if r.rows else 0)

    cdef int release(self, Root r) except -1:
        """Nobody reads a result in block memory any more."""
        if r.group is None:
            return self.places.give(self.local_bytes(r), self.local[r])
        self.alive[id(r.group)] -= 1
        if self.alive[id(r.group)] == 0:
            self.places.give(self.local_bytes(r) * len(r.group), self.begun[id(r.group)])
        return 0

    cdef Root ones_of(self, int typenum, Py_ssize_t n):
        cdef Root r = self.ones.get(typenum)
        if r is None or r.size < n:
            n = max(n, ONES)
            r = new_root(typenum, (n,), ("constant", from_ndarray(np.ones(n, dtype_of(typenum)))))
            add_root(self.roots, r)
            self.ones[typenum] = r
        return r

    cdef int emit(self, Operation o) except -1:
        cdef View v
        cdef tuple shape = o.out.shape
        cdef Py_ssize_t item = o.out.item
        cdef Instruction made
        cdef Py_ssize_t first = len(self.code), width, advance, period
        cdef int k
        self.spent = []
        if o.kind == AS_LOOP or o.kind == AS_SELECT or o.kind == AS_CAST:
            width = self.width(shape)
            made = new_instruction(DG_LOOP if o.kind == AS_LOOP else DG_CAST if o.kind == AS_CAST else DG_SELECT,
                                   [], item)
            period = 0
            if o.kind != AS_SELECT and any([self.repeats(v, shape) for v in o.ins]):
                period = (LEAST + width - 1) // width
            for k, v in enumerate(o.ins):
                if period and self.repeats(v, shape):
                    place, step = self.expand(v, broadcast_strides(v, shape), shape, period), v.root.item
                    advance = 0
                else:
                    place, step = self.operand(v, shape)
                    advance = step * width
                made.operand(k, place)
                made.code.step[k] = step
                made.code.advance[k] = advance
            k = <int>len(o.ins)
            made.operand(k, self.result(o.out))
            made.code.n_in = k
            made.code.step[k] = item
            made.code.advance[k] = item * width
            made.code.width = width
            made.code.period = period
            made.calls(o.op, (<View>o.ins[0]).root.typenum, o.out.typenum if o.kind == AS_CAST else o.params)
            self.code.append(made)
        elif o.kind == AS_COPIES:
            self.emit_copies(o)
        elif o.kind == AS_SUM:
            self.emit_sum(o)
        elif o.kind == AS_GATHER or o.kind == AS_SCATTER:
            self.emit_picks(o)
        else:
            self.emit_product(o)
        for nbytes, offset in self.spent:
            self.places.give(nbytes, offset)
        self.bound(first, o)
        return 0

    cdef int bound(self, Py_ssize_t first, Operation o) except -1:
        """The rows that the instructions of an operation go over, where they do not know it themselves."""
        cdef Instruction made
        cdef Py_ssize_t n = 1 if self.region.rows is None else rows_made(o), i
        for i in range(first, len(self.code)):
            made = <Instruction>self.code[i]
            if made.code.high == UNBOUND:
                made.code.high = self.capacity() if made.code.once else n
            if not made.code.once:
                made.code.before = o.out.before
                made.code.after = o.out.after
        return 0

    cdef int emit_copies(self, Operation o) except -1:
        """Views put into their places; None stands for zeros elsewhere."""
        cdef tuple target = self.result(o.out), to, source
        cdef bint partition = self.region.rows is not None
        cdef Py_ssize_t row = row_size(o.out), start, first
        cdef View v
        for part in o.params:
            if part is None:
                self.emit_zeros(o, target)
                continue
            offset, strides, v = part
            if v.root.within is o.out:              # it is there already
                continue
            if not partition:
                to = (target[0], target[1] + offset, 0, 0)
                self.copy(self.place(v, 0), v.strides, to, strides, v.shape, o.out.item, False)
                continue
            start = offset // row               # row i of the result is row i - start of the view
            to = (target[0], target[1] + offset % row, target[2], target[3])
            source = self.place(v, v.strides[0])
            source = (source[0], source[1] - start * (source[2] + source[3]), source[2], source[3])
            first = len(self.code)
            self.copy(source, v.strides, to, strides, v.shape, o.out.item, False)
            self.limit(first, start, start + <Py_ssize_t>v.shape[0])
        return 0

    cdef int emit_picks(self, Operation o) except -1:
        """Picks taken out of an array, or added up in one."""
        cdef View v = <View>o.ins[0], index
        cdef bint gather = o.kind == AS_GATHER, partition = self.region.rows is not None
        cdef Py_ssize_t item = o.out.item, step = item, stack = 1, count
        cdef int n = len(o.ins) - 1
        cdef Instruction made
        cdef tuple along = o.out.shape if gather else v.shape, picks, strides, target
        outer, whole = <tuple>o.params
        picks = along[outer:len(along) - (len(whole) - n - outer)]
        strides = v.strides if gather else packed(whole, item)     # of what is indexed
        if gather:
            place = self.place(v, v.strides[0] if outer else 0)
        else:
            place, step = self.operand(v, along)
        args = [place]
        steps = [step]
        for index in o.ins[1:]:
            place, step = (self.place(index, 0), index.root.item) if outer else self.operand(index, picks)
            args.append(place)
            steps.append(step)
        target = self.result(o.out)
        args.append(target)
        if not gather and not o.out.added:
            self.zero(target, self.width(o.out.shape), item)
        count = product(picks)
        apart = [0, 0]                          # bytes from sample to sample: of what is indexed, and of the picks
        if outer:
            stack = -1 if partition else along[0]
            apart = [strides[0], steps[0] * product(along[1:])]
        elif partition:
            count = -product(picks[1:])
        made = self.add(DG_GATHER if gather else DG_SCATTER_ADD, args, item)
        made.steps(steps)
        made.code.dims[0] = stack
        made.code.dims[1] = count
        made.code._from[0] = apart[0 if gather else 1]
        made.code.to[0] = apart[1 if gather else 0]
        made.picks(o.out.typenum, (<View>o.ins[1]).root.item == 8, product(whole[outer + n:]), whole[outer:outer + n],
                   strides[outer:outer + n])
        return 0

    cdef int emit_zeros(self, Operation o, tuple target) except -1:
        """Zeros where the one part of a copy leaves something out: in rows of its own, or all over."""
        cdef Py_ssize_t start, stop, row, width
        cdef View v
        offset, _, v = o.params[1]
        width = self.width(o.out.shape)
        if self.region.rows is not None and v.shape[1:] == o.out.shape[1:]:
            row = row_size(o.out)
            start = offset // row
            stop = start + <Py_ssize_t>v.shape[0]
            if start > 0:
                self.zero(target, width, o.out.item, 0, start)
            if stop < <Py_ssize_t>o.out.shape[0]:
                self.zero(target, width, o.out.item, stop)
            return 0
        return self.zero(target, width, o.out.item)

    cdef int emit_sum(self, Operation o) except -1:
        cdef View v = <View>o.ins[0]
        cdef tuple shape = v.shape, target
        cdef Py_ssize_t item = o.out.item, w, outer, inner
        cdef list axes = list(o.params)
        cdef bint partition = self.region.rows is not None
        cdef Instruction made
        cdef Root ones
        place, step = self.operand(v, shape)
        target = self.result(o.out)
        if len(axes) == len(shape):
            if not partition:
                self.zero(target, 1, item)
            made = self.add(DG_SUM_ALL, [place, target], 0)
            made.code.step[1] = step
            made.code.width = self.width(shape)
            return made.totals(o.out.typenum)
        w = product([shape[a] for a in axes])
        inner = product(shape[<Py_ssize_t>axes[len(axes) - 1] + 1:])
        outer = product(shape[1 if partition else 0:<Py_ssize_t>axes[0]])
        if axes[0] != 0 and step == item and (inner <= FEW and (inner > 1 or w <= FEW)):
            made = self.add(DG_SUM_AXIS, [place, target], item)
            made.code.dims[1] = -outer if partition else outer
            made.code.dims[2] = w
            made.code.dims[3] = inner
            return made.totals(o.out.typenum)
        if inner == 1 and axes[0] != 0:                                 # the last axes: a product with ones
            ones = self.ones_of(o.out.typenum, w)
            return self.multiply(o.out.typenum, [place, (ones.base, 0, 0, 0), target],
                                 [1, -outer if partition else outer, w, 1],
                                 [0, 0, 0, step * w, step, item, item, item, item])
        if axes[0] != 0:                                                # axes in the middle: a stack of ones times
            ones = self.ones_of(o.out.typenum, w)
            return self.multiply(o.out.typenum, [(ones.base, 0, 0, 0), place, target],
                                 [-outer if partition else outer, 1, w, inner],
                                 [0, step * w * inner, item * inner, item, item, step * inner, step, item * inner,
                                  item])
        outer, w = w, inner                                             # the first axes: ones times
        if partition and step == item and w >= WIDE:
            made = self.add(DG_SUM_ROWS, [place, target], item)
            made.code.width = w
            made.steps([item, item])
            return made.totals(o.out.typenum)
        if partition:
            ones = self.ones_of(o.out.typenum, self.capacity())
            return self.multiply_rows(o.out.typenum, item, w, [(ones.base, 0, 0, 0), place, target], [1, 1, -1, w],
                                      [0, 0, 0, item, item, step * w, step, item, item])
        ones = self.ones_of(o.out.typenum, outer)
        return self.multiply(o.out.typenum, [(ones.base, 0, 0, 0), place, target], [1, 1, outer, w],
                             [0, 0, 0, item, item, step * w, step, item * w, item])

    cdef Py_ssize_t scratch(self, Py_ssize_t nbytes):
        """Block memory that does not grow with the rows, until the operation is done."""
        cdef Py_ssize_t offset = self.places.take(nbytes)
        self.spent.append((nbytes, offset))
        return offset

    cdef int emit_product(self, Operation o) except -1:
        cdef View a = <View>o.ins[0]
        cdef View b = <View>o.ins[1]
        cdef Py_ssize_t item = o.out.item, m, k, n, stack = 1
        cdef bint partition = self.region.rows is not None
        cdef tuple sa, sb
        cdef int na = len(a.shape), nb = len(b.shape)
        self.region.products = True
        if o.mates is not None and o is not o.mates[0]:     # done with that one
            return 0
        if o.kind == AS_CONTRACT:
            return self.emit_contraction(o, a, b)
        m, k, n = a.shape[na - 2], a.shape[na - 1], b.shape[nb - 1]
        if o.out.added:                         # (m, rows) times (rows, n)
            pa = self.place(a, a.strides[1])
            pb = self.place(b, b.strides[0])
            sa, sb = a.strides, b.strides
            if item not in sa and m != 1:
                pa, sa = self.gathered(a, 1)
            if item not in sb and n != 1:
                pb, sb = self.gathered(b, 0)
            target = self.result(o.out)
            return self.multiply_rows(o.out.typenum, item, m * n, [pa, pb, target], [1, m, -1, n],
                                      [0, 0, 0, sa[0], sa[1], sb[0], sb[1], n * item, item])
        if partition:
            pa, sa = self.place(a, a.strides[0] if na == 3 or nb == 2 else 0), a.strides
            if not walks(a, item):
                pa, sa = self.gathered(a, 0) if na == 3 or nb == 2 else self.kept(a)
            pb, sb = self.place(b, b.strides[0] if nb == 3 else 0), b.strides
            if not walks(b, item):
                if nb == 3:
                    pb, sb = self.gathered(b, 0)
                else:
                    pb, sb = self.kept(b)
            elif na == 2 and nb == 2 and sb[1] != item and product_loop(o.out.typenum, -1, k, n, sa[1]) is not NULL:
                pb, sb = self.kept(b)                   # our own loop would put its columns in order for each block
            target = self.result(o.out)
            if o.mates is not None:
                for mate in o.mates[1:]:
                    self.result((<Operation>mate).out)
                stack = len(o.mates)
            if na == 2 and nb == 3:                     # a shared matrix times that of each row
                dims = [-1, m, k, n]
                strides = [0, sb[0], m * n * item, sa[0], sa[1], sb[1], sb[2], n * item, item]
            elif na == 2:
                dims = [stack, -1, k, n]
                strides = [self.local_bytes(a.root) if stack > 1 else 0, 0, self.local_bytes(o.out) if stack > 1 else 0,
                           sa[0], sa[1], sb[0], sb[1], n * item, item]
            elif nb == 2 and sa[0] == sa[1] * m:
                dims, strides = [1, -m, k, n], [0, 0, 0, sa[1], sa[2], sb[0], sb[1], n * item, item]
            else:
                dims = [-1, m, k, n]
                strides = [sa[0], sb[0] if nb == 3 else 0, m * n * item, sa[1], sa[2], sb[nb - 2], sb[nb - 1],
                           n * item, item]
        else:
            pa, sa = self.place(a, 0), a.strides
            if not walks(a, item):
                pa, sa = self.kept(a)
            pb, sb = self.place(b, 0), b.strides
            if not walks(b, item):
                pb, sb = self.kept(b)
            target = self.result(o.out)
            if na == 3 or nb == 3:
                stack = max(<Py_ssize_t>a.shape[0] if na == 3 else 1, <Py_ssize_t>b.shape[0] if nb == 3 else 1)
            dims = [stack, m, k, n]
            strides = [sa[0] if na == 3 and a.shape[0] != 1 else 0, sb[0] if nb == 3 and b.shape[0] != 1 else 0,
                       m * n * item, sa[na - 2], sa[na - 1], sb[nb - 2], sb[nb - 1], n * item, item]
        return self.multiply(o.out.typenum, [pa, pb, target], dims, strides)

    cdef int emit_contraction(self, Operation o, View a, View b) except -1:
        """(rows, stack, m) times (rows, stack, n), added up over rows and stacks."""
        cdef Py_ssize_t item = o.out.item, stack = a.shape[1], m = a.shape[2], n = b.shape[2]
        cdef bint partition = self.region.rows is not None
        cdef tuple sa, sb, pa, pb, target
        if partition:
            pa, sa = self.place(a, a.strides[0]), a.strides
            if not runs(a):
                pa, sa = self.gathered(a, 0)
            pb, sb = self.place(b, b.strides[0]), b.strides
            if not runs(b):
                pb, sb = self.gathered(b, 0)
        else:
            pa, sa = self.kept(a)
            pb, sb = self.kept(b)
        target = self.result(o.out)
        strides = [0, 0, 0, sa[2], sa[1], sb[1], sb[2], n * item, item]
        if partition:
            return self.multiply_rows(o.out.typenum, item, m * n, [pa, pb, target], [1, m, -stack, n], strides)
        return self.multiply(o.out.typenum, [pa, pb, target], [1, m, stack * <Py_ssize_t>a.shape[0], n], strides)

    cdef tuple gathered(self, View v, int row_axis):
        """A factor copied into block memory, its rows first; (place, strides) in the order of its own axes."""
        cdef list order = [row_axis] + [i for i in range(len(v.shape)) if i != row_axis]
        cdef tuple shape = tuple([v.shape[i] for i in order])
        cdef tuple strides = tuple([v.strides[i] for i in order])
        cdef Py_ssize_t nbytes = v.root.item * self.width(shape), offset = self.room(nbytes)
        cdef tuple made = packed(shape, v.root.item)
        self.copy(self.place(v, strides[0]), strides, (BLOCK, offset, 0, 0), made, shape, v.root.item,
                  False)
        result = [0] * len(order)
        for i, axis in enumerate(order):
            result[axis] = made[i]
        return (BLOCK, offset, 0, 0), tuple(result)

    cdef tuple kept(self, View v):
        """A shared factor copied into block memory once."""
        cdef Py_ssize_t offset = self.places.keep(v.root.item * product(v.shape))
        cdef bint partition = self.region.rows is not None
        cdef tuple made = packed(v.shape, v.root.item)
        cdef Py_ssize_t first = len(self.code)
        place = self.place(v, 0)
        if partition:               # as one row
            self.copy_axes(place, (BLOCK, offset, 0, 0), (0, 0), list(zip(v.shape, v.strides, made)), v.root.item, True)
            self.limit(first, 0, 1)
        else:
            self.copy(place, v.strides, (BLOCK, offset, 0, 0), made, v.shape, v.root.item, False)
        return (BLOCK, offset, 0, 0), made


cdef bint runs(View v):
    """Whether rows and stacks of a factor lie behind each other, their numbers side by side."""
    return (v.strides[2] == v.root.item and v.strides[1] == v.root.item * <Py_ssize_t>v.shape[2]
            and v.strides[0] == <Py_ssize_t>v.strides[1] * <Py_ssize_t>v.shape[1])


cdef bint walks(View v, Py_ssize_t item):
    """Whether a product can walk the last two axes of a factor as they lie."""
    cdef int n = len(v.shape)
    s, t = v.strides[n - 2], v.strides[n - 1]
    return (s >= item and t >= item and (s == item or t == item)
            or v.shape[n - 1] == 1 and t > 0 and s > 0 and s % item == 0)


cdef int add_root(list roots, Root r) except -1:
    """Give a root a base of its own."""
    r.base = N_BASES + len(roots)
    r.offset = 0
    roots.append(r)
    return 0
