"""Lowering: a program as operations on views of memory.

Design
------
Reshapes, transposes, slices and broadcasts cost nothing: they are views, strides on the memory of a root (an input, a
captured tensor, a constant or one result). What is left are operations with one result each, of a few kinds: loops over
elements, selections, conversions, matrix products, contractions, sums, copies, picks, and generic ones, which run as
eager execution would run them.

*Picks.* Indexing with arrays of integers takes rows out of an array (gather), or adds rows up in one (scatter). It has
a kind of its own where the indexed axes are the first ones, or the second and following ones, and what is behind them
lies side by side. Slices beside the indices, and types without loops of ours, are left to NumPy.

*Order of axes.* Derivatives along many directions come with the directions as first axis, and the samples behind it. If
the samples are the rows that a program is run over, such results are made with the samples outermost in memory, so that
all operations on a few samples, whatever their number of directions, can run together (partition.pyx).

*Merged axes.* Rows of a stack of matrices become those of one matrix before a product. A view remembers the stack: what
is computed from it runs with the stacks as rows, together with other work on them. Where the axes do not lie one behind
the other in memory, merging them is put off until somebody needs it: products of rows, and those that add up over them,
do not care about the order.
"""
cimport numpy as cnp
from libc.string cimport memset

import numpy as np

from ..arrays.array cimport NPY_HALF, Array, contiguous, from_ndarray, item_size, new_array, to_ndarray, uniform
from ..primitives.opcodes cimport *
from ..primitives.registry cimport Loop, dg_loop, find_loop, is_elementwise, numpy_loop, rule_of
from .executor cimport DG_MAX_INDICES
from .program cimport FROM_CONSTANT, FROM_HANDLE, FROM_INPUT, FROM_STEP, Program
from .rewrites cimport CONSTANT_AS_NUMBER, LOWERED_LOOP, MERGE_DONE, MERGE_PUT_OFF, Rewrite, note
from .views cimport (Root, View, broadcast_strides, inverse, is_packed, new_root, packed, permuted, product, repeated,
                     reshaped, rows_first, step_of, turned, view, view_of)

cdef enum:
    LARGE = 4096                    # elements from which on the order of axes matters
    MANY = 64                       # matrices of a stack that may be rows of a region

cdef extern from "executor/cast.h":
    dg_loop dg_cast_loop(int source, int target) noexcept

# ------------------------------------------------------------------------------------------------------------ loops

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


cdef Loop *add_loop(int typenum) except NULL:
    return loop_of(ADD, np.add, typenum)


cdef Loop *matmul_loop(int typenum) except NULL:
    return loop_of(MATMUL, np.matmul, typenum)


cdef Loop *power_loop(int typenum) except NULL:
    return loop_of(POWER, np.power, typenum)


# --------------------------------------------------------------------------------------------------------- lowering

cdef tuple MANNERS = ("loop", "select", "cast", "matmul", "contract", "sum", "copies", "gather", "scatter", "generic")


cdef Operation new_operation(Manner kind, int op, object params, list ins, Root out):
    cdef Operation o = Operation()
    o.kind = kind
    o.op = op
    o.params = params
    o.ins = ins
    o.out = out
    return o


cdef class Lowering:
    """The operations of a program, on views."""

    cdef Root made(self, int typenum, tuple shape):
        cdef Root r = new_root(typenum, shape, None)
        self.roots.append(r)
        return r

    cdef View emit(self, Manner kind, int op, object params, list ins, int typenum, tuple shape):
        cdef Root out = self.made(typenum, shape)
        note(<Rewrite>(<int>LOWERED_LOOP + <int>kind))
        self.operations.append(new_operation(kind, op, params, ins, out))
        return view_of(out)

    cdef View copied(self, View v):
        """The view in memory of its own, elements in order."""
        return self.emit(AS_COPIES, OP_IDENTITY, [(0, packed(v.shape, v.root.item), v)], [v], v.root.typenum, v.shape)

    cdef tuple order(self, tuple shape):
        """The order in which the axes of a result lie in memory; None for the one they have."""
        return rows_first(shape, self.rows) if self.rows and product(shape) >= LARGE else None

    cdef View elementwise(self, Manner kind, int op, list ins, int typenum, tuple shape):
        cdef tuple order = self.order(shape)
        cdef View v
        if order is None:
            return self.emit(kind, op, None, ins, typenum, shape)
        ins = [v if product(v.shape) == 1 else turned(repeated(v, shape), order) for v in ins]
        return turned(self.emit(kind, op, None, ins, typenum, permuted(shape, order)), inverse(order))

    cdef View copies(self, int op, list parts, list ins, int typenum, tuple shape):
        """Views put into their places: (start along each axis, step along each axis, view), or None for zeros
        elsewhere. The lists of steps are used up."""
        cdef tuple order = self.order(shape), back
        cdef tuple strides, made = shape, distances
        cdef list placed = [], starts, steps
        cdef Py_ssize_t offset, i
        cdef View v
        if order is not None:
            made = permuted(shape, order)
            back = inverse(order)
        strides = packed(made, item_size(typenum))
        if order is not None:
            strides = permuted(strides, back)
        for part in parts:
            if part is None:
                placed.append(None)
                continue
            starts, steps, v = part
            offset = 0
            for i in range(len(strides)):
                offset += <Py_ssize_t>starts[i] * <Py_ssize_t>strides[i]
                steps[i] = <Py_ssize_t>steps[i] * <Py_ssize_t>strides[i]
            distances = tuple(steps)
            if order is not None:
                distances = permuted(distances, order)
                v = turned(v, order)
            placed.append((offset, distances, v))
        v = self.emit(AS_COPIES, op, placed, ins, typenum, made)
        return v if order is None else turned(v, back)

    cdef int lower(self) except -1:
        cdef Program p = self.program
        cdef int slot, op
        cdef bytearray read
        cdef Root r
        self.views = [None] * len(p.kinds)
        self.roots = []
        self.operations = []
        self.numbers = {}
        read = bytearray(len(p.kinds))
        for slot in p.outputs:
            read[slot] = True
        for _, slot in p.effects:
            read[slot] = True
        for step in p.steps:
            for slot in <tuple>(<tuple>step)[2]:
                read[slot] = True
        for slot in range(len(p.kinds)):
            kind = <int>p.kinds[slot]
            if kind == FROM_STEP or (kind == FROM_CONSTANT and not read[slot]):
                continue
            if kind != FROM_INPUT and kind != FROM_HANDLE:
                self.views[slot] = self.constant(contiguous(<Array>p.sources[slot]), p.typenums[slot], p.shapes[slot])
                continue
            r = new_root(p.typenums[slot], p.shapes[slot],
                         ("input" if kind == FROM_INPUT else "handle", p.sources[slot]))
            self.roots.append(r)
            self.views[slot] = view_of(r)
        for op, params, ins, out in p.steps:
            if op != OP_RESHAPE and op != OP_TRANSPOSE and op != OP_MATMUL:
                for slot in ins:
                    self.settle(slot)
            self.views[out] = self.step(op, params, [<View>self.views[i] for i in ins], p.typenums[out],
                                        p.shapes[out])
        for slot in p.outputs:
            self.settle(slot)
        for _, slot in p.effects:
            self.settle(slot)
        return 0

    cdef int settle(self, int slot) except -1:
        """Do what was put off for a slot."""
        self.views[slot] = self.settled(<View>self.views[slot])
        return 0

    cdef View settled(self, View v):
        cdef View source
        if v.merges is None or v.strides is not None:
            return v
        note(MERGE_DONE)
        source = self.copied(v.merges)
        return view(source.root, source.offset, v.shape, packed(v.shape, source.root.item))

    cdef View constant(self, Array a, int typenum, tuple shape):
        """A constant. One whose numbers are all the same is one number to elementwise operations."""
        cdef Root r = new_root(typenum, shape, ("constant", a)), number
        self.roots.append(r)
        if a.size > 1 and uniform(a):
            number = new_root(typenum, (), ("constant", from_ndarray(np.array(to_ndarray(a).reshape(-1)[0]))))
            self.roots.append(number)
            self.numbers[r] = number
            note(CONSTANT_AS_NUMBER)
        return view_of(r)

    cdef list elements(self, list ins):
        """Operands of an elementwise operation."""
        cdef list found = []
        cdef View v
        for v in ins:
            number = self.numbers.get(v.root)
            found.append(v if number is None else view(<Root>number, 0, v.shape, (0,) * len(v.shape)))
        return found

    cdef View step(self, int op, object params, list ins, int typenum, tuple shape):
        cdef View x = <View>ins[0] if ins else None
        if op == OP_RESHAPE:
            return self.another_shape(x, shape)
        if op == OP_TRANSPOSE:
            if x.merges is None:
                return turned(x, params)
            return self.turned_merged(x, params, shape)
        if op == OP_BROADCAST_TO:
            return view(x.root, x.offset, shape, broadcast_strides(x, shape))
        if op == OP_IDENTITY:
            return x
        if op == OP_SLICE:
            return self.sliced(x, params, shape)
        if op == OP_UNSLICE and product(shape):
            return self.copies(op, [None, ([part[0] if part[1] else 0 for part in params[1]],
                                           [part[2] for part in params[1]], x)], [x], typenum, shape)
        if op == OP_CONCAT:
            return self.joined(params, ins, typenum, shape)
        if op == OP_SUM or op == OP_SUM_TO:
            return self.summed(op, params, x, typenum, shape)
        if op == OP_MATMUL:
            return self.multiplied(ins, typenum, shape)
        if op == OP_WHERE and (<View>ins[0]).root.typenum == cnp.NPY_BOOL and item_size(typenum) <= 8:
            return self.elementwise(AS_SELECT, op, self.elements(ins), typenum, shape)
        if op == OP_CAST and dg_cast_loop(x.root.typenum, typenum) is not NULL:
            return self.elementwise(AS_CAST, op, self.elements(ins), typenum, shape)
        if op == OP_GATHER or op == OP_SCATTER_ADD:
            return self.picked(op, params, ins, typenum, shape)
        if op == OP_POWER and power_loop(typenum).fn is not NULL and typenum != NPY_HALF:
            number = new_root(typenum, (), ("constant", from_ndarray(np.asarray(params, dtype_of(typenum)))))
            self.roots.append(number)
            return self.elementwise(AS_LOOP, op, [x, view_of(number)], typenum, shape)
        if (is_elementwise(op) and op != OP_POWER and params is None and len(ins) <= 3
                and (op < N_OPS or rule_of(op) is None) and find_loop(op, x.root.typenum).fn is not NULL):
            return self.elementwise(AS_LOOP, op, self.elements(ins), typenum, shape)
        return self.emit(AS_GENERIC, op, params, ins, typenum, shape)

    cdef View sliced(self, View x, tuple parts, tuple shape):
        cdef Py_ssize_t offset = x.offset, k
        cdef list strides = []
        for k, (start, count, step) in enumerate(parts):
            if count:
                offset += <Py_ssize_t>start * <Py_ssize_t>x.strides[k]
            strides.append(<Py_ssize_t>step * <Py_ssize_t>x.strides[k])
        return view(x.root, offset, shape, tuple(strides))

    cdef View turned_merged(self, View x, tuple order, tuple shape):
        cdef View merged
        if order != (1, 0) or len(x.merges.shape) != 3:
            return turned(self.settled(x), order)
        merged = merging(turned(x.merges, (2, 0, 1) if shape[0] == x.merges.shape[2] else (1, 2, 0)), shape)
        if x.strides is not None:
            merged.strides = permuted(x.strides, order)
        return merged

    cdef View joined(self, int axis, list ins, int typenum, tuple shape):
        cdef list parts = []
        cdef Py_ssize_t start = 0
        cdef int i, n = len(shape)
        cdef View x
        for x in ins:
            parts.append(([start if i == axis else 0 for i in range(n)], [1] * n, x))
            start += <Py_ssize_t>x.shape[axis]
        return self.copies(OP_CONCAT, parts, ins, typenum, shape)

    cdef View another_shape(self, View x, tuple shape):
        cdef View source = x if x.merges is None else x.merges, found
        cdef bint stacked = len(shape) == 2 and len(source.shape) == 3 and product(shape) >= LARGE
        found = reshaped(source, shape)
        if found is not None:
            if stacked and shape[1] == source.shape[2] and <Py_ssize_t>source.shape[0] >= MANY:
                found.merges = source
            return found
        if stacked and (self.order(source.shape) is not None
                        or (shape[1] == source.shape[2] and <Py_ssize_t>source.shape[0] >= MANY)):
            return merging(source, shape)
        x = self.settled(x)
        if not is_packed(x):
            x = self.copied(x)
        return view(x.root, x.offset, shape, packed(shape, x.root.item))

    cdef View multiplied(self, list ins, int typenum, tuple shape):
        cdef View a = <View>ins[0]
        cdef View b = <View>ins[1]
        cdef View source
        cdef tuple order = None
        if matmul_loop(typenum).fn is not NULL and product(shape) and product(a.shape):
            if a.merges is not None and b.merges is None and len(b.shape) == 2 and a.shape[1] == a.merges.shape[2]:
                source = a.merges
                return self.another_shape(self.multiplied([source, b], typenum, source.shape[:2] + shape[1:]), shape)
            if (a.merges is not None or b.merges is not None) and len(a.shape) == 2 and len(b.shape) == 2:
                a, b = split_alike(a, b)
                if a is not None:
                    return self.emit(AS_CONTRACT, OP_MATMUL, None, [a, b], typenum, shape)
                a, b = ins
        a = self.settled(a)
        b = self.settled(b)
        if len(a.shape) == 3 and len(b.shape) == 2 or len(a.shape) == 2 and len(b.shape) == 2:
            order = self.order(shape)
        if order == (1, 0) and len(a.shape) == 2:           # the transposed product
            a, b = turned(b, (1, 0)), turned(a, (1, 0))
        elif order == (1, 0, 2) and len(b.shape) == 2:      # stacks of the same row next to each other
            a = turned(a, order)
        else:
            order = tuple(range(len(shape)))
        ins = [a, b]
        if matmul_loop(typenum).fn is not NULL and self.multiplies(ins):
            return turned(self.emit(AS_MATMUL, OP_MATMUL, None, ins, typenum, permuted(shape, order)), inverse(order))
        return self.emit(AS_GENERIC, OP_MATMUL, None, ins, typenum, shape)

    cdef View picked(self, int op, object params, list ins, int typenum, tuple shape):
        """A gather, or a scatter-add; generic where the loops for picks do not do it."""
        cdef bint gather = op == OP_GATHER
        cdef View x = <View>ins[0]
        cdef tuple pattern = params if gather else params[1], whole = x.shape if gather else shape
        cdef int outer = int(len(pattern) > 0 and not isinstance(pattern[0], int) and pattern[0] == (0, whole[0], 1))
        cdef int n = len(pattern) - outer, i
        cdef list indices = []
        cdef tuple behind = whole[outer + n:]
        if (not 1 <= n <= DG_MAX_INDICES or pattern[outer:] != tuple(range(n)) or product(x.shape) == 0
                or product(shape) == 0 or not gather and typenum != cnp.NPY_DOUBLE and typenum != cnp.NPY_FLOAT):
            return self.emit(AS_GENERIC, op, params, ins, typenum, shape)
        for i in range(n):
            index = self.index_of(<View>ins[1 + i], whole[outer + i], outer)
            if index is None or (<View>index).root.typenum != (<View>ins[1]).root.typenum \
                    or outer and (<View>index).shape != (<View>ins[1]).shape:
                return self.emit(AS_GENERIC, op, params, ins, typenum, shape)
            indices.append(index)
        if not gather:
            x = <View>self.elements([x])[0]
        elif x.strides[outer + n:] != packed(behind, x.root.item):
            x = self.copied(x)
        return self.emit(AS_GATHER if gather else AS_SCATTER, op, (outer, whole), [x] + indices, typenum, shape)

    cdef View index_of(self, View index, Py_ssize_t extent, bint outer):
        """An index array as picks read it: side by side if each row reads it again. None if they cannot read it, or it
        is known to lie outside of the axis."""
        cdef int typenum = index.root.typenum
        if typenum != cnp.NPY_INT and typenum != cnp.NPY_LONG and typenum != cnp.NPY_LONGLONG:
            return None
        if index.root.source is not None and (<tuple>index.root.source)[0] == "constant":
            numbers = to_ndarray(<Array>(<tuple>index.root.source)[1])
            if numbers.min() < -extent or numbers.max() >= extent:
                return None
        if step_of(index.strides, index.shape, False) is None or outer and not is_packed(index):
            index = self.copied(index)
        return index

    cdef View summed(self, int op, object params, View x, int typenum, tuple shape):
        cdef list axes
        cdef tuple order
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
        order = self.order(x.shape)
        kept = tuple([x.shape[i] for i in range(len(x.shape)) if i not in axes])
        if order is not None:
            turned_axes = sorted([order.index(axis) for axis in axes])
            if turned_axes == list(range(turned_axes[0], turned_axes[0] + len(axes))):
                s = self.summed(OP_SUM, (tuple(turned_axes), False), turned(x, order), typenum,
                                tuple([x.shape[i] for i in order if i not in axes]))
                left = [i for i in order if i not in axes]
                s = turned(s, tuple([left.index(i) for i in sorted(left)]))
                return self.another_shape(s, shape)
        i = len(axes)
        if axes != list(range(<Py_ssize_t>axes[0], <Py_ssize_t>axes[0] + i)):
            s = self.emit(AS_GENERIC, OP_SUM, (tuple(axes), False), [x], typenum, kept)
        elif (typenum != cnp.NPY_DOUBLE and typenum != cnp.NPY_FLOAT) or product(x.shape) == 0:
            s = self.emit(AS_GENERIC, OP_SUM, (tuple(axes), False), [x], typenum, kept)
        else:
            s = self.emit(AS_SUM, OP_SUM, tuple(axes), [x], typenum, kept)
        return view(s.root, s.offset, shape, packed(shape, s.root.item))

    cdef bint multiplies(self, list ins):
        """Whether one call of the product's loop does it: at most one axis of stacks, and something to add up."""
        cdef View a = <View>ins[0]
        cdef View b = <View>ins[1]
        return (len(a.shape) <= 3 and len(b.shape) <= 3 and product(a.shape) > 0 and product(b.shape) > 0
                and not (len(b.shape) == 3 and len(a.shape) == 3 and a.shape[0] != b.shape[0]
                         and a.shape[0] != 1 and b.shape[0] != 1))


cdef View merging(View source, tuple shape):
    """A view under another shape that strides cannot describe: put off."""
    cdef View v = view(source.root, source.offset, shape, None)
    note(MERGE_PUT_OFF)
    v.merges = source
    return v


cdef tuple split_alike(View a, View b):
    """The factors of a matrix product with the axis they are contracted over split into two, that of rows first, and
    their own axis last; (None, None) where they are not merged alike."""
    cdef View p = a.merges
    cdef View q = b.merges
    if p is not None and a.shape[0] == p.shape[0]:              # (m, stack, rows)
        p = turned(p, (2, 1, 0))
    elif p is not None:
        return None, None
    if q is not None and b.shape[1] == q.shape[2]:              # (stack, rows, n)
        q = turned(q, (1, 0, 2))
    elif q is not None:
        return None, None
    if p is None:
        p = view(a.root, a.offset, (q.shape[0], q.shape[1], a.shape[0]),
                 (a.strides[1], a.strides[1] * <Py_ssize_t>q.shape[0], a.strides[0]))
    if q is None:
        q = view(b.root, b.offset, (p.shape[0], p.shape[1], b.shape[1]),
                 (b.strides[0], b.strides[0] * <Py_ssize_t>p.shape[0], b.strides[1]))
    return (p, q) if p.shape[:2] == q.shape[:2] else (None, None)


cdef dict SCALARS = {}


cdef object dtype_of(int typenum):
    return np_scalar(typenum).numpy().dtype


cdef Array np_scalar(int typenum):
    if typenum not in SCALARS:
        SCALARS[typenum] = new_array(typenum, 0, NULL)
    return <Array>SCALARS[typenum]
