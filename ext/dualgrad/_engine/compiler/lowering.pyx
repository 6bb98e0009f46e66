"""Lowering: a program as operations on views of memory.

Design
------
Reshapes, transposes, slices and broadcasts cost nothing: they become views, which are strides on the memory of a buffer
(an input, a captured tensor, a constant or a result). All else becomes operations with one result each, in a few
manners: elementwise loops, selections, conversions, matrix products, contractions, sums, copies, gathers, scatters, and
generic ones, which run as in eager execution.

Each structural primitive defines its own lowering (`Primitive.lowered`); this module has the parts for it.

*Order of axes.* Derivatives along many directions have the directions as first axis and the samples behind it. If the
program runs over the samples as rows, such results have the samples outermost in memory. Then all operations on a few
samples can run together, for any number of directions (partition.pyx).

*Merged axes.* Before a product, the rows of a stack of matrices become the rows of one matrix. The merged view keeps a
reference to the stack. So operations on it can run with the stacks as rows, together with other work on them. If the
axes cannot merge in memory, merging is deferred until an operation needs it. Products of rows, and products that add up
over rows, work in either order.
"""
from libc.string cimport memset

from ..arrays.array import np
from ..arrays.array cimport Array, contiguous, from_ndarray, item_size, new_array, to_ndarray, uniform
from ..primitives.opcodes cimport OP_IDENTITY
from ..primitives.registry cimport PRIMITIVES, Loop, Primitive, find_loop, is_elementwise, numpy_loop
from .program cimport FROM_CONSTANT, FROM_HANDLE, FROM_INPUT, FROM_STEP, Program
from .rewrites cimport CONSTANT_AS_NUMBER, LOWERED_LOOP, MERGE_DONE, MERGE_PUT_OFF, Rewrite, note
from .views cimport (Buffer, View, inverse, is_packed, new_buffer, packed, permuted, product, repeated,
                     reshaped, rows_first, turned, view, view_of)

cdef extern from "memory/shared.h":
    bint dg_flag(bint *flag) noexcept

cdef enum:
    LARGE = 4096                    # least elements of a result for which the order of axes matters

# ------------------------------------------------------------------------------------------------------------ loops

cdef Loop[24] ADD
cdef Loop[24] MATMUL
cdef Loop[24] POWER
memset(ADD, 0, sizeof(ADD))
memset(MATMUL, 0, sizeof(MATMUL))
memset(POWER, 0, sizeof(POWER))


cdef Loop *loop_of(Loop *loops, object ufunc, int typenum) except NULL:
    cdef Loop *loop = &loops[typenum]
    if not dg_flag(&loop.known):
        numpy_loop(ufunc, typenum, loop)
    return loop


cdef Loop *add_loop(int typenum) except NULL:
    return loop_of(ADD, np.add, typenum)


cdef Loop *matmul_loop(int typenum) except NULL:
    return loop_of(MATMUL, np.matmul, typenum)


cdef Loop *power_loop(int typenum) except NULL:
    return loop_of(POWER, np.power, typenum)


# --------------------------------------------------------------------------------------------------------- lowering

cdef tuple MANNERS = ("loop", "select", "cast", "matmul", "contract", "sum", "copies", "gather", "scatter", "generic",
                      "scale")


cdef Operation new_operation(Manner kind, int op, object params, list ins, Buffer out):
    cdef Operation o = Operation()
    o.kind = kind
    o.op = op
    o.params = params
    o.ins = ins
    o.out = out
    return o


cdef class Lowering:
    """The operations of a program, on views."""

    cdef Buffer made(self, int typenum, tuple shape):
        cdef Buffer r = new_buffer(typenum, shape, None)
        self.buffers.append(r)
        return r

    cdef View emit(self, Manner kind, int op, object params, list ins, int typenum, tuple shape):
        cdef Buffer out = self.made(typenum, shape)
        note(<Rewrite>(<int>LOWERED_LOOP + <int>kind))
        self.operations.append(new_operation(kind, op, params, ins, out))
        return view_of(out)

    cdef View copied(self, View v):
        """A contiguous copy of a view, in memory of its own."""
        cdef list parts = [(0, packed(v.shape, v.buffer.item), v)]
        return self.emit(AS_COPIES, OP_IDENTITY, parts, [v], v.buffer.typenum, v.shape)

    cdef tuple order(self, tuple shape):
        """The order of the axes of a result in memory; None for the usual order."""
        return rows_first(shape, self.rows) if self.rows and product(shape) >= LARGE else None

    cdef View elementwise(self, Manner kind, int op, object params, list ins, int typenum, tuple shape):
        cdef tuple order = self.order(shape)
        cdef View v
        if order is None:
            return self.emit(kind, op, params, ins, typenum, shape)
        ins = [v if product(v.shape) == 1 else turned(repeated(v, shape), order) for v in ins]
        return turned(self.emit(kind, op, params, ins, typenum, permuted(shape, order)), inverse(order))

    cdef View copies(self, int op, list parts, list ins, int typenum, tuple shape):
        """Copy views into parts of a result. Each part is (start along each axis, step along each axis, view); None
        zeros the rest. Modifies the lists of steps."""
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
        cdef Buffer r
        self.views = [None] * len(p.kinds)
        self.buffers = []
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
            r = new_buffer(p.typenums[slot], p.shapes[slot],
                           ("input" if kind == FROM_INPUT else "handle", p.sources[slot]))
            self.buffers.append(r)
            self.views[slot] = view_of(r)
        for op, params, ins, out in p.steps:
            if PRIMITIVES[op] is NULL or not (<Primitive>PRIMITIVES[op]).reads_merged:
                for slot in ins:
                    self.materialise(slot)
            self.views[out] = self.step(op, params, [<View>self.views[i] for i in ins], p.typenums[out],
                                        p.shapes[out])
        for slot in p.outputs:
            self.materialise(slot)
        for _, slot in p.effects:
            self.materialise(slot)
        return 0

    cdef int materialise(self, int slot) except -1:
        """Copy the memory of a slot's deferred merge."""
        self.views[slot] = self.materialised(<View>self.views[slot])
        return 0

    cdef View materialised(self, View v):
        cdef View source
        if v.merges is None or v.strides is not None:
            return v
        note(MERGE_DONE)
        source = self.copied(v.merges)
        return view(source.buffer, source.offset, v.shape, packed(v.shape, source.buffer.item))

    cdef View constant(self, Array a, int typenum, tuple shape):
        """A constant. If it is uniform, elementwise operations read it as a single number."""
        cdef Buffer r = new_buffer(typenum, shape, ("constant", a)), number
        self.buffers.append(r)
        if a.size > 1 and uniform(a):
            number = new_buffer(typenum, (), ("constant", from_ndarray(np.array(to_ndarray(a).reshape(-1)[0]))))
            self.buffers.append(number)
            self.numbers[r] = number
            note(CONSTANT_AS_NUMBER)
        return view_of(r)

    cdef list elements(self, list ins):
        """Operands of an elementwise operation, with uniform constants as single numbers."""
        cdef list found = []
        cdef View v
        for v in ins:
            number = self.numbers.get(v.buffer)
            found.append(v if number is None else view(<Buffer>number, 0, v.shape, (0,) * len(v.shape)))
        return found

    cdef View step(self, int op, object params, list ins, int typenum, tuple shape):
        cdef View v = None
        if PRIMITIVES[op] is not NULL:
            v = (<Primitive>PRIMITIVES[op]).lowered(params, ins, typenum, shape, self)
            return self.emit(AS_GENERIC, op, params, ins, typenum, shape) if v is None else v
        if (is_elementwise(op) and params is None and len(ins) <= 3
                and find_loop(op, (<View>ins[0]).buffer.typenum).fn is not NULL):
            return self.elementwise(AS_LOOP, op, None, self.elements(ins), typenum, shape)
        return self.emit(AS_GENERIC, op, params, ins, typenum, shape)

    cdef View turned_merged(self, View x, tuple order, tuple shape):
        cdef View merged
        if order != (1, 0) or len(x.merges.shape) != 3:
            return turned(self.materialised(x), order)
        merged = merging(turned(x.merges, (2, 0, 1) if shape[0] == x.merges.shape[2] else (1, 2, 0)), shape)
        if x.strides is not None:
            merged.strides = permuted(x.strides, order)
        return merged

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
        x = self.materialised(x)
        if not is_packed(x):
            x = self.copied(x)
        return view(x.buffer, x.offset, shape, packed(shape, x.buffer.item))


cdef View merging(View source, tuple shape):
    """A deferred merge: a view in a shape that strides cannot express."""
    cdef View v = view(source.buffer, source.offset, shape, None)
    note(MERGE_PUT_OFF)
    v.merges = source
    return v


cdef dict SCALARS = {}


cdef object dtype_of(int typenum):
    return np_scalar(typenum).numpy().dtype


cdef Array np_scalar(int typenum):
    if typenum not in SCALARS:
        SCALARS.setdefault(typenum, new_array(typenum, 0, NULL))        # another thread may have added it
    return <Array>SCALARS[typenum]
