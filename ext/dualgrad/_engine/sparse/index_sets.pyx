"""Families of index sets: the inputs that each element of an array depends on.

A family is a pair of arrays like compressed rows, ``starts`` (int64) and ``members`` (int32): set i is
``members[starts[i]:starts[i + 1]]``, ascending. All loops run without the GIL, in a time linear in input and output,
except for sorting.
"""
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcpy

from ..arrays.array import np


class TooDenseError(ValueError):
    """The sets have more members than allowed."""


def union(const long long[::1] p, const int[::1] a, const long long[::1] q, const int[::1] b):
    """The union of two families, set by set."""
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
    """The sets with the indices `which`; -1 stands for the empty set."""
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


cdef void sort_members(int *c, Py_ssize_t n) noexcept nogil:
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
    int *members                    # members of all sets so far
    long long count
    long long room
    long long most                  # largest count allowed


cdef bint reserve(Growing *out, long long more) noexcept nogil:
    """Make room for more members; False if memory runs out or there are more than `most` members."""
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
    """Add the members that set i does not have yet."""
    cdef long long j
    for j in range(length):
        if stamp[members[j]] != i:
            stamp[members[j]] = i
            out.members[out.count] = members[j]
            out.count += 1


cdef void put_in_order(Growing *out, long long first, Py_ssize_t n, const long long *stamp, long long i) noexcept nogil:
    """Sort the members of the last set. For a large set, scan the stamps of all n members instead."""
    cdef Py_ssize_t j
    if 16 * (out.count - first) <= n:
        sort_members(out.members + first, out.count - first)
        return
    out.count = first
    for j in range(n):
        if stamp[j] == i:
            out.members[out.count] = <int>j
            out.count += 1


cdef bint add_group(Growing *out, const long long *sources, long long count, const long long *p, const int *a,
                    Py_ssize_t n, long long *stamp, long long i) noexcept nogil:
    """Append set i, the union of the sets of a group; False if it does not fit."""
    cdef long long k, s, first = out.count
    cdef bint several = False
    for k in range(count):
        s = sources[k]
        if p[s] == p[s + 1]:
            continue
        if not reserve(out, p[s + 1] - p[s]):
            return False
        if out.count - first == n:
            break
        several = several or out.count > first
        add_new(out, a + p[s], p[s + 1] - p[s], stamp, i)
    if several:
        put_in_order(out, first, n, stamp, i)
    return True


def union_of_groups(const long long[::1] groups, const long long[::1] sources, const long long[::1] p, const int[::1] a,
                    Py_ssize_t n, long long most):
    """The union of the sets of each group of sources; members are below n."""
    cdef Py_ssize_t m = groups.shape[0] - 1, i
    cdef bint fits = True
    cdef Growing out = Growing(NULL, 0, a.shape[0] + 1024, most)
    cdef const long long *source = &sources[0] if sources.shape[0] else NULL
    cdef const int *members_of_sets = &a[0] if a.shape[0] else NULL
    cdef int[::1] c
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
                fits = add_group(&out, source + groups[i], groups[i + 1] - groups[i], &p[0], members_of_sets, n,
                                 &stamp[0], i)
                if not fits:
                    break
                r[i + 1] = out.count
        if not fits or out.count > most:
            raise TooDenseError()
        members = np.empty(out.count, np.int32)
        if out.count:
            c = members
            memcpy(&c[0], out.members, out.count * sizeof(int))
        return starts, members
    finally:
        free(out.members)


def transposed_family(const long long[::1] p, const int[::1] a, Py_ssize_t n):
    """The transposed family, of n sets: i is in set j if j is in set i. Also return the former index of each pair."""
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
