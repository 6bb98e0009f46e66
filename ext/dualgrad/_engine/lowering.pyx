"""Lowering: a program as operations on views of memory.

Design
------
Reshapes, transposes, slices and broadcasts cost nothing: they are views, strides on the memory of a root (an input, a
captured tensor, a constant or one result). What is left are operations with one result each, of a few kinds: loops over
elements, selections, conversions, matrix products, sums, copies, picks, and generic ones, which run as eager
execution would run them.

*Picks.* Indexing with arrays of integers takes rows out of an array (gather), or adds rows up in one (scatter). It has
a kind of its own where the indexed axes are the first ones, or the second and following ones, and what is behind them
lies side by side. Slices beside the indices, and types without loops of ours, are left to NumPy.
"""
cimport numpy as cnp
from libc.string cimport memcmp, memset

import numpy as np

from .array cimport NPY_HALF, Array, contiguous, from_ndarray, item_size, new_array, to_ndarray
from .opcodes cimport *
from .primitives cimport Loop, dg_loop, find_loop, is_elementwise, numpy_loop, rule_of
from .program cimport FROM_HANDLE, FROM_INPUT, FROM_STEP, Program

cdef extern from "dg_cast.h":
    dg_loop dg_cast_loop(int source, int target) noexcept

cdef extern from "dg_gather.h":
    enum:
        DG_MAX_INDICES

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


# ------------------------------------------------------------------------------------------------------------ views

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


cdef object step_of(tuple strides, tuple shape, bint partition):
    """Bytes from element to element, if that is the same throughout; else None. The first axis counts even where it is
    one long if it is that of rows."""
    cdef Py_ssize_t expected = 0, step = 0
    cdef bint found = False
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


# --------------------------------------------------------------------------------------------------------- lowering

cdef class Lowering:
    """The operations of a program, on views."""

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
        self.numbers = {}
        for slot in range(len(p.kinds)):
            kind = <int>p.kinds[slot]
            if kind == FROM_STEP:
                continue
            if kind != FROM_INPUT and kind != FROM_HANDLE:
                self.views[slot] = self.constant(contiguous(<Array>p.sources[slot]), p.typenums[slot], p.shapes[slot])
                continue
            r = new_root(p.typenums[slot], p.shapes[slot],
                         ("input" if kind == FROM_INPUT else "handle", p.sources[slot]))
            self.roots.append(r)
            self.views[slot] = view_of(r)
        for op, params, ins, out in p.steps:
            self.views[out] = self.step(op, params, [<View>self.views[i] for i in ins], p.typenums[out],
                                        p.shapes[out])
        return 0

    cdef View constant(self, Array a, int typenum, tuple shape):
        """A constant. One whose numbers are all the same is one number to elementwise operations."""
        cdef Py_ssize_t n = product(shape), item = item_size(typenum)
        cdef Root r = new_root(typenum, shape, ("constant", a)), number
        self.roots.append(r)
        if n > 1 and memcmp(a.data, a.data + item, (n - 1) * item) == 0:
            number = new_root(typenum, (), ("constant", from_ndarray(np.array(to_ndarray(a).reshape(-1)[0]))))
            self.roots.append(number)
            self.numbers[id(r)] = number
        return view_of(r)

    cdef list elements(self, list ins):
        """Operands of an elementwise operation."""
        cdef list found = []
        cdef View v
        for v in ins:
            number = self.numbers.get(id(v.root))
            found.append(v if number is None else view(<Root>number, 0, v.shape, (0,) * len(v.shape)))
        return found

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
        if op == OP_MATMUL and matmul_loop(typenum).fn is not NULL and self.multiplies(ins):
            return self.emit("matmul", op, None, ins, typenum, shape)
        if op == OP_WHERE and (<View>ins[0]).root.typenum == cnp.NPY_BOOL and item_size(typenum) <= 8:
            return self.emit("select", op, None, self.elements(ins), typenum, shape)
        if op == OP_CAST and dg_cast_loop(x.root.typenum, typenum) is not NULL:
            return self.emit("cast", op, None, self.elements(ins), typenum, shape)
        if op == OP_GATHER or op == OP_SCATTER_ADD:
            return self.picked(op, params, ins, typenum, shape)
        if op == OP_POWER and power_loop(typenum).fn is not NULL and typenum != NPY_HALF:
            number = new_root(typenum, (), ("constant", from_ndarray(np.asarray(params, dtype_of(typenum)))))
            self.roots.append(number)
            return self.emit("loop", op, None, [x, view_of(number)], typenum, shape)
        if (is_elementwise(op) and op != OP_POWER and params is None and len(ins) <= 3
                and (op < N_OPS or rule_of(op) is None) and find_loop(op, x.root.typenum).fn is not NULL):
            return self.emit("loop", op, None, self.elements(ins), typenum, shape)
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
            return self.emit("generic", op, params, ins, typenum, shape)
        for i in range(n):
            index = self.index_of(<View>ins[1 + i], whole[outer + i], outer)
            if index is None or (<View>index).root.typenum != (<View>ins[1]).root.typenum \
                    or outer and (<View>index).shape != (<View>ins[1]).shape:
                return self.emit("generic", op, params, ins, typenum, shape)
            indices.append(index)
        if not gather:
            x = <View>self.elements([x])[0]
        elif x.strides[outer + n:] != packed(behind, x.root.item):
            x = self.copied(x)
        return self.emit("gather" if gather else "scatter", op, (outer, whole), [x] + indices, typenum, shape)

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
        if axes != list(range(<Py_ssize_t>axes[0], <Py_ssize_t>axes[0] + i)):
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
