"""Entries of sparse matrices: where they stand in compressed rows, and how numbers get there.

The same entry may be named several times; its numbers are added up. Entries are sorted by counting, so that the time is
linear in their number where rows are short.
"""
from libc.stdlib cimport qsort

import numpy as np

ctypedef fused real:
    float
    double


cdef struct Entry:
    int column
    int number


cdef int by_column(const void *x, const void *y) noexcept nogil:
    return (<const Entry *>x).column - (<const Entry *>y).column


cdef void sort(Entry *c, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef Entry x
    if n > 24:
        qsort(c, n, sizeof(Entry), by_column)
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

    Returns (starts, members, for each k where it stands).
    """
    cdef Py_ssize_t i, k, count = rows.shape[0]
    cdef long long at, kept = 0
    cdef int last
    starts = np.zeros(m + 1, np.int64)
    ends = np.empty(m, np.int64)
    members = np.empty(count, np.int32)
    places = np.empty(count, np.int32)
    room = np.empty((count, 2), np.int32)
    cdef long long[::1] r = starts, end = ends
    cdef int[::1] c = members, place = places
    cdef int[:, ::1] table = room
    cdef Entry *entries
    if count == 0:
        return starts, members, places
    entries = <Entry *>&table[0, 0]
    with nogil:
        for k in range(count):
            r[rows[k] + 1] += 1
        for i in range(m):
            r[i + 1] += r[i]
            end[i] = r[i]
        for k in range(count):
            at = end[rows[k]]
            entries[at].column = columns[k]
            entries[at].number = <int>k
            end[rows[k]] = at + 1
        for i in range(m):
            sort(entries + r[i], end[i] - r[i])
            at = r[i]
            r[i] = kept
            last = -1
            for k in range(at, end[i]):
                if entries[k].column != last:
                    last = entries[k].column
                    c[kept] = last
                    kept += 1
                place[entries[k].number] = <int>(kept - 1)
        r[m] = kept
    return starts, members[:kept], places


def spread(const real[::1] numbers, const int[::1] source, const int[::1] target, real[::1] out):
    """out[target] = numbers[source]."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(source.shape[0]):
            out[target[i]] = numbers[source[i]]


def deposit(const real[::1] numbers, const int[::1] source, const int[::1] target, double scale, bint alone,
            real[::1] out):
    """out[target] += scale * numbers[source]; or =, where these are `alone`.

    No source: all numbers, one after the other, or the only one again and again.
    """
    cdef Py_ssize_t i, n = target.shape[0], step = 1
    cdef real factor = <real>scale
    if source is None and numbers.shape[0] == 1:
        step = 0
    with nogil:
        if source is not None:
            if alone:
                for i in range(n):
                    out[target[i]] = factor * numbers[source[i]]
            else:
                for i in range(n):
                    out[target[i]] += factor * numbers[source[i]]
        elif alone:
            for i in range(n):
                out[target[i]] = factor * numbers[i * step]
        else:
            for i in range(n):
                out[target[i]] += factor * numbers[i * step]
