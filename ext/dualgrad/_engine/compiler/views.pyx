"""Views: memory seen through strides.

Design
------
A buffer is memory: of an input, a handle, a constant or a result. A view of it has a shape and strides, so transposes,
slices, broadcasts and most reshapes cost nothing. The axes of a view may have another order than in memory. For
example, results of many samples along many directions have the samples outermost in memory.
"""
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from ..arrays.array cimport item_size


cdef int put(tuple items, Py_ssize_t i, object x) except -1:
    """Set an item of a new tuple."""
    Py_INCREF(x)
    PyTuple_SET_ITEM(items, i, x)
    return 0


cdef Py_ssize_t product(object shape) except? -1:
    cdef Py_ssize_t n = 1, extent
    if type(shape) is tuple:
        for extent in <tuple>shape:
            n *= extent
    else:
        for extent in shape:
            n *= extent
    return n


cdef tuple packed(tuple shape, Py_ssize_t item):
    """Strides of a contiguous array."""
    cdef Py_ssize_t i, n = len(shape)
    cdef tuple strides = PyTuple_New(n)
    for i in range(n - 1, -1, -1):
        put(strides, i, item)
        item *= max(<Py_ssize_t>shape[i], 1)
    return strides


cdef Buffer new_buffer(int typenum, tuple shape, object source):
    cdef Buffer r = Buffer()
    r.typenum = typenum
    r.item = item_size(typenum)
    r.shape = shape
    r.size = product(shape)
    r.source = source
    r.number = -1
    return r


cdef View view_of(Buffer buffer):
    return view(buffer, 0, buffer.shape, packed(buffer.shape, buffer.item))


cdef View view(Buffer buffer, Py_ssize_t offset, tuple shape, tuple strides):
    cdef View v = View()
    v.buffer = buffer
    v.offset = offset
    v.shape = shape
    v.strides = strides
    return v


cdef bint is_packed(View v):
    cdef Py_ssize_t expected = v.buffer.item
    cdef int i
    for i in range(len(v.shape) - 1, -1, -1):
        if v.shape[i] != 1:
            if v.strides[i] != expected:
                return False
            expected *= <Py_ssize_t>v.shape[i]
    return True


cdef tuple broadcast_strides(View v, tuple shape):
    """The strides of a view that is broadcast to a shape."""
    cdef Py_ssize_t n = len(shape), lead = n - len(v.shape), i
    cdef tuple strides = PyTuple_New(n)
    for i in range(n):
        put(strides, i, 0 if i < lead or (v.shape[i - lead] == 1 and shape[i] != 1) else v.strides[i - lead])
    return strides


cdef object step_of(tuple strides, tuple shape, bint partition):
    """Bytes between consecutive elements, if constant; else None. An axis of length 1 does not count, except the first
    one if it is the rows."""
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


# ------------------------------------------------------------------------------------------------------ order of axes

cdef tuple rows_first(tuple shape, Py_ssize_t rows):
    """The order of axes that puts an axis of length `rows` first; None if it is first already or missing."""
    cdef int k, n = len(shape)
    if rows == 0 or n < 2 or shape[0] == rows:
        return None
    for k in range(1, n):
        if shape[k] == rows:
            return (k,) + tuple([i for i in range(n) if i != k])
    return None


cdef tuple permuted(tuple items, tuple order):
    cdef Py_ssize_t i, n = len(order)
    cdef tuple made = PyTuple_New(n)
    for i in range(n):
        put(made, i, items[<Py_ssize_t>order[i]])
    return made


cdef tuple inverse(tuple order):
    cdef Py_ssize_t i, n = len(order)
    cdef tuple made = PyTuple_New(n)
    for i in range(n):
        put(made, order[i], i)
    return made


cdef View turned(View v, tuple order):
    """A view with its axes in another order."""
    return view(v.buffer, v.offset, permuted(v.shape, order), permuted(v.strides, order))


cdef View repeated(View v, tuple shape):
    """A view broadcast to a shape."""
    return view(v.buffer, v.offset, shape, broadcast_strides(v, shape))


cdef View reshaped(View v, tuple shape):
    """The same elements in the same order under another shape; None if strides cannot express it."""
    cdef list old = [(n, s) for n, s in zip(v.shape, v.strides) if n != 1]
    cdef list strides = []
    cdef int i = 0, j = 0, k, n_new = len(shape), first
    cdef Py_ssize_t have, want, step
    if product(shape) == 0:
        return None
    while j < n_new:
        if shape[j] == 1:
            strides.append(v.buffer.item)
            j += 1
            continue
        have, want, first = old[i][0], shape[j], j
        k = i
        j += 1
        while have != want:
            if have < want:
                if old[k][1] != <Py_ssize_t>old[k + 1][0] * <Py_ssize_t>old[k + 1][1]:
                    return None                     # these two axes would merge, but are not contiguous
                k += 1
                have *= <Py_ssize_t>old[k][0]
            else:
                want *= <Py_ssize_t>shape[j]
                j += 1
        step = old[k][1]
        group = []
        for extent in reversed(shape[first:j]):
            group.append(step)
            step *= <Py_ssize_t>extent
        strides += reversed(group)
        i = k + 1
    return view(v.buffer, v.offset, shape, tuple(strides))
