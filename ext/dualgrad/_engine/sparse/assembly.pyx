"""Entries of sparse matrices: build the compressed rows, and add numbers to the entries.

Numbers for the same entry are added up. A counting sort orders the entries, in linear time if rows are short. Numbers
are added one block of entries at a time, so that the block stays in cache.

Arrays come from the engine's memory, which is reused: page faults for new memory would take longer than the work.
"""
cimport numpy as cnp
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from ..arrays.array cimport new_array, writable

from ..arrays.array import np

cnp.import_array()

ctypedef fused real:
    float
    double

cdef enum:
    BLOCK = 4096                    # entries


cdef object reused_memory(int typenum, Py_ssize_t n):
    """An uninitialized array in memory of the engine, which is reused after it is freed."""
    return writable(new_array(typenum, 1, &n))


def uninitialized(dtype, Py_ssize_t n):
    """An uninitialized array of n numbers of a dtype."""
    return reused_memory(np.dtype(dtype).num, n)


# ---------------------------------------------------------------------------------------------------- places

cdef struct MatrixEntry:
    int column
    int number


cdef int by_column(const void *x, const void *y) noexcept nogil:
    return (<const MatrixEntry *>x).column - (<const MatrixEntry *>y).column


cdef void sort_entries(MatrixEntry *c, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef MatrixEntry x
    if n > 24:
        qsort(c, n, sizeof(MatrixEntry), by_column)
        return
    for i in range(1, n):
        x = c[i]
        j = i
        while j > 0 and c[j - 1].column > x.column:
            c[j] = c[j - 1]
            j -= 1
        c[j] = x


def assembled(const int[::1] rows, const int[::1] columns, Py_ssize_t m):
    """Entries (rows[k], columns[k]) of a matrix of m rows in compressed form.

    Returns (starts, members, the index into members for each k).
    """
    cdef Py_ssize_t i, k, count = rows.shape[0]
    cdef long long at, end, kept = 0
    cdef int last
    starts = np.zeros(m + 1, np.int64)
    if count == 0:
        return starts, np.empty(0, np.int32), np.empty(0, np.int32)
    members = reused_memory(cnp.NPY_INT32, count)
    places = reused_memory(cnp.NPY_INT32, count)
    room = reused_memory(cnp.NPY_INT64, count)
    cdef long long[::1] r = starts, table = room
    cdef int[::1] c = members, place = places
    cdef MatrixEntry *entries = <MatrixEntry *>&table[0]
    with nogil:
        for k in range(count):
            r[rows[k]] += 1
        at = 0
        for i in range(m):              # r[i]: start of row i
            end = at + r[i]
            r[i] = at
            at = end
        for k in range(count):          # afterwards r[i]: end of row i
            at = r[rows[k]]
            entries[at].column = columns[k]
            entries[at].number = <int>k
            r[rows[k]] = at + 1
        at = 0
        for i in range(m):
            end = r[i]
            sort_entries(entries + at, end - at)
            r[i] = kept
            last = -1
            for k in range(at, end):
                if entries[k].column != last:
                    last = entries[k].column
                    c[kept] = last
                    kept += 1
                place[entries[k].number] = <int>(kept - 1)
            at = end
        r[m] = kept
    return starts, members[:kept], places


# --------------------------------------------------------------------------------------------------- numbers

cdef struct Deposit:
    int output                      # number of the array
    const int *source               # indices of its elements; NULL: all elements in order
    bint alone                      # the array has one element, which is added to every target entry
    const int *target               # indices of the entries, ascending
    long long first, stride         # if stride is not 0, the targets are first, first + stride, ...
    double scale                    # factor by which the numbers are multiplied


cdef void add_block(Deposit *d, const real *numbers, Py_ssize_t first, Py_ssize_t last, real *out) noexcept nogil:
    cdef Py_ssize_t i
    cdef real scale = <real>d.scale
    if d.alone:
        for i in range(first, last):
            out[d.target[i]] += scale * numbers[0]
    elif d.source is NULL and d.stride:
        for i in range(first, last):
            out[d.first + i * d.stride] += scale * numbers[i]
    elif d.source is NULL:
        for i in range(first, last):
            out[d.target[i]] += scale * numbers[i]
    else:
        for i in range(first, last):
            out[d.target[i]] += scale * numbers[d.source[i]]


cdef class Deposits:
    """A plan for adding a few arrays of numbers to the entries of a matrix.

    `deposits`: (number of the array, indices of its elements or None for all, targets, factor, has one element).
    """
    cdef list held
    cdef cnp.ndarray table
    cdef object limits
    cdef Py_ssize_t size, blocks

    def __init__(self, list deposits not None, Py_ssize_t size):
        cdef Py_ssize_t k
        cdef const int[::1] view
        cdef Deposit *d
        self.size = size
        self.blocks = (size + BLOCK - 1) // BLOCK
        self.held = []
        self.table = np.empty(len(deposits) * sizeof(Deposit), np.uint8)
        self.limits = np.empty((len(deposits), self.blocks + 1), np.int64)
        edges = np.minimum(np.arange(self.blocks + 1) * BLOCK, size)
        for k in range(len(deposits)):
            output, source, target, scale, alone = deposits[k]
            if np.any(np.diff(target) < 0):
                order = np.argsort(target, kind="stable")
                target = target[order]
                if not alone:
                    source = order if source is None else source[order]
            self.limits[k] = np.searchsorted(target, edges)
            d = self.at(k)
            d.output = output
            d.scale = scale
            d.alone = alone
            d.source = NULL
            target = np.ascontiguousarray(target, np.int32)
            view = target
            d.target = &view[0]
            steps = np.diff(target)
            d.first = target[0]
            d.stride = steps[0] if len(steps) and np.all(steps == steps[0]) else 0
            if source is not None and not alone:
                source = np.ascontiguousarray(source, np.int32)
                view = source
                d.source = &view[0]
            self.held.append((target, source))

    cdef Deposit *at(self, Py_ssize_t k) except NULL:
        return <Deposit *>cnp.PyArray_DATA(self.table) + k

    def filled(self, real[::1] base, list numbers not None, bint empty):
        """A new array: `base` (zeros if `empty`) plus the numbers."""
        cdef Py_ssize_t b, k, n = len(self.held), first, count
        cdef const long long[:, ::1] limits = self.limits
        cdef const real[::1] view
        result = reused_memory(cnp.NPY_FLOAT if real is float else cnp.NPY_DOUBLE, self.size)
        if self.size == 0:
            return result
        cdef real[::1] out_view = result
        cdef real *out = &out_view[0]
        cdef Deposit *deposit = self.at(0)
        pointers = np.empty(n + 1, np.intp)
        cdef Py_ssize_t[::1] address = pointers
        for k in range(n):
            view = numbers[self.at(k).output]
            address[k] = <Py_ssize_t>&view[0]
        with nogil:
            for b in range(self.blocks):
                first = b * BLOCK
                count = min(BLOCK, self.size - first)
                if empty:
                    memset(out + first, 0, count * sizeof(real))
                else:
                    memcpy(out + first, &base[first], count * sizeof(real))
                for k in range(n):
                    if limits[k, b] < limits[k, b + 1]:
                        add_block[real](deposit + k, <const real *>address[k],
                                        limits[k, b], limits[k, b + 1], out)
        return result


def copy_entries(const real[::1] numbers, const int[::1] source, const int[::1] target, real[::1] out):
    """out[target] = numbers[source]."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(source.shape[0]):
            out[target[i]] = numbers[source[i]]
