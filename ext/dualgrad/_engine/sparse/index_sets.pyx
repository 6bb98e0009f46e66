"""Families of index sets: for each element of an array the inputs it depends on.

A family is a pair of arrays in the manner of compressed rows: ``starts`` (int64) and ``members`` (int32), set i being
``members[starts[i]:starts[i + 1]]``, ascending. All work runs without the interpreter, in time linear in what is read
and written, except for sorting.
"""
cimport cython
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcpy

import numpy as np


class TooDenseError(ValueError):
    """Sets with more members than there may be."""


def union(const long long[::1] p, const int[::1] a, const long long[::1] q, const int[::1] b):
    """Set by set, the union of two families."""
    cdef Py_ssize_t m = p.shape[0] - 1, i, k = 0
    cdef long long s, t
    starts = np.empty(m + 1, np.int64)
    members = np.empty(a.shape[0] + b.shape[0], np.int32)
    cdef long long[::1] r = starts
    cdef int[::1] c = members
    with nogil:
        r[0] = 0
        for i in range(m):
            s = p[i]
            t = q[i]
            while s < p[i + 1] and t < q[i + 1]:
                if a[s] < b[t]:
                    c[k] = a[s]
                    s += 1
                elif b[t] < a[s]:
                    c[k] = b[t]
                    t += 1
                else:
                    c[k] = a[s]
                    s += 1
                    t += 1
                k += 1
            while s < p[i + 1]:
                c[k] = a[s]
                s += 1
                k += 1
            while t < q[i + 1]:
                c[k] = b[t]
                t += 1
                k += 1
            r[i + 1] = k
    return starts, members[:k]


def take(const long long[::1] p, const int[::1] a, const long long[::1] which, long long most):
    """The sets named by `which`; -1 names the empty one."""
    cdef Py_ssize_t m = which.shape[0], i
    cdef long long total = 0, length
    starts = np.empty(m + 1, np.int64)
    cdef long long[::1] r = starts
    with nogil:
        r[0] = 0
        for i in range(m):
            if which[i] >= 0:
                total += p[which[i] + 1] - p[which[i]]
            r[i + 1] = total
    if total > most:
        raise TooDenseError()
    members = np.empty(total, np.int32)
    cdef int[::1] c = members
    with nogil:
        for i in range(m):
            length = r[i + 1] - r[i]
            if length:
                memcpy(&c[r[i]], &a[p[which[i]]], length * sizeof(int))
    return starts, members


cdef int ascending(const void *x, const void *y) noexcept nogil:
    return (<const int *>x)[0] - (<const int *>y)[0]


cdef void sort(int *c, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef int x
    if n > 24:
        qsort(c, n, sizeof(int), ascending)
        return
    for i in range(1, n):
        x = c[i]
        j = i
        while j > 0 and c[j - 1] > x:
            c[j] = c[j - 1]
            j -= 1
        c[j] = x


cdef struct Growing:
    int *members                    # of all sets so far,
    long long count
    long long room
    long long most                  # that there may be


cdef bint reserve(Growing *out, long long more) noexcept nogil:
    """Make room for more members; False if there is no memory, or if there are too many."""
    cdef long long wanted = 2 * out.room + more
    cdef int *bigger
    if out.count + more <= out.room:
        return True
    if out.count > out.most:
        return False
    bigger = <int *>realloc(out.members, wanted * sizeof(int))
    if bigger is NULL:
        return False
    out.members = bigger
    out.room = wanted
    return True


cdef void add_new(Growing *out, const int *members, long long length, long long *stamp, long long i) noexcept nogil:
    """Add the members that the set of number i does not have yet."""
    cdef long long j
    for j in range(length):
        if stamp[members[j]] != i:
            stamp[members[j]] = i
            out.members[out.count] = members[j]
            out.count += 1


cdef void put_in_order(Growing *out, long long first, Py_ssize_t n, const long long *stamp, long long i) noexcept nogil:
    """Put the members of the last set in order: one by one where it has a large part of all that there may be."""
    cdef Py_ssize_t j
    if 16 * (out.count - first) <= n:
        sort(out.members + first, out.count - first)
        return
    out.count = first
    for j in range(n):
        if stamp[j] == i:
            out.members[out.count] = <int>j
            out.count += 1


@cython.wraparound(False)
def gathered(const long long[::1] groups, const long long[::1] sources, const long long[::1] p, const int[::1] a,
             Py_ssize_t n, long long most):
    """For each group of sources the union of their sets, whose members are below n."""
    cdef Py_ssize_t m = groups.shape[0] - 1, i
    cdef long long g, s, first
    cdef bint fits = True, several
    cdef Growing out = Growing(NULL, 0, a.shape[0] + 1024, most)
    starts = np.empty(m + 1, np.int64)
    cdef long long[::1] r = starts
    cdef long long[::1] stamp = np.full(n + 1, -1, np.int64)
    out.members = <int *>malloc(out.room * sizeof(int))
    if out.members is NULL:
        raise MemoryError()
    try:
        with nogil:
            r[0] = 0
            for i in range(m):
                first = out.count
                several = False
                for g in range(groups[i], groups[i + 1]):
                    s = sources[g]
                    if p[s] == p[s + 1]:
                        continue
                    fits = reserve(&out, p[s + 1] - p[s])
                    if not fits or out.count - first == n:
                        break
                    several = several or out.count > first
                    add_new(&out, &a[p[s]], p[s + 1] - p[s], &stamp[0], i)
                if not fits:
                    break
                if several:
                    put_in_order(&out, first, n, &stamp[0], i)
                r[i + 1] = out.count
        if not fits or out.count > most:
            raise TooDenseError()
        members = np.empty(out.count, np.int32)
        if out.count:
            fill(members, out.members, out.count)
        return starts, members
    finally:
        free(out.members)


cdef int fill(int[::1] c, const int *source, long long n) except -1:
    memcpy(&c[0], source, n * sizeof(int))
    return 0


def transposed(const long long[::1] p, const int[::1] a, Py_ssize_t n):
    """The family of n sets with i in set j where j is in set i; and where each pair stood before."""
    cdef Py_ssize_t m = p.shape[0] - 1, i
    cdef long long k
    starts = np.zeros(n + 1, np.int64)
    members = np.empty(a.shape[0], np.int32)
    origin = np.empty(a.shape[0], np.int64)
    cdef long long[::1] r = starts
    cdef int[::1] c = members
    cdef long long[::1] o = origin
    with nogil:
        for k in range(a.shape[0]):
            r[a[k] + 1] += 1
        for i in range(n):
            r[i + 1] += r[i]
        for i in range(m):
            for k in range(p[i], p[i + 1]):
                c[r[a[k]]] = <int>i
                o[r[a[k]]] = k
                r[a[k]] += 1
        for i in range(n, 0, -1):
            r[i] = r[i - 1]
        r[0] = 0
    return starts, members, origin
