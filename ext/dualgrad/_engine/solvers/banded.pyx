"""Linear systems with a narrow band of nonzeros around the diagonal: elimination inside of the band.

Such matrices come from equations on a line, or on a grid that is narrow in one direction. Only the elements of a matrix
decide, so its origin does not matter. The first row usually shows that a dense matrix has no narrow band.

The elimination is LAPACK's: by rows, with the largest element of a column as pivot. Exchanged rows stay inside of
`width` elements that begin at the pivot's column (Martin and Wilkinson, Solution of symmetric and unsymmetric band
equations, 1967). LAPACK solves matrices with elements that are not finite, because such an element would have to meet
the zeros outside of the band.

A symmetric positive definite matrix needs no pivots and half of the work. Small ones may have any band: around them,
LAPACK's functions spend half of their time.
"""
cimport numpy as cnp
from libc.math cimport fabs, isfinite
from libc.string cimport memset

from ..arrays.array import np
from ..arrays.array cimport new_array, writable

cnp.import_array()

ctypedef fused real:
    float
    double

cdef enum:
    NARROW = 8                      # n is at least this many times the number of diagonals beside the main one
    SMALL = 64                      # a definite matrix of up to this many rows may have any band


cdef struct Band:
    Py_ssize_t n
    Py_ssize_t lower, upper         # diagonals below and above the main one


cdef bint has_nonzero(const real *x, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int found = 0
    for i in range(n):
        found |= x[i] != 0
    return found


cdef bint widen(Band *band, const real *a) noexcept nogil:
    """Widen a band until it holds all nonzeros of a row-major matrix; False as soon as it is not narrow."""
    cdef Py_ssize_t n = band.n, i, j
    cdef const real *row
    for i in range(n):
        row = a + i * n
        j = i + band.upper + 1
        if j < n and has_nonzero(row + j, n - j):
            j = n - 1
            while row[j] == 0:
                j -= 1
            band.upper = j - i
        if has_nonzero(row, i - band.lower):
            j = 0
            while row[j] == 0:
                j += 1
            band.lower = i - j
        if NARROW * (band.lower + band.upper) > n:
            return False
    return True


cdef bint load(Band band, const real *a, Py_ssize_t down, Py_ssize_t right, real *rows) noexcept nogil:
    """Copy the rows of a band, each from its first band element in the matrix; False if an element is not finite."""
    cdef Py_ssize_t width = band.lower + band.upper + 1, i, j, first
    memset(rows, 0, band.n * width * sizeof(real))
    for i in range(band.n):
        first = max(i - band.lower, 0)
        for j in range(first, min(i + band.upper + 1, band.n)):
            rows[i * width + j - first] = a[i * down + j * right]
            if not isfinite(a[i * down + j * right]):
                return False
    return True


cdef void exchange(real *x, real *y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        x[i], y[i] = y[i], x[i]


cdef void subtract(real *x, real factor, const real *y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        x[i] -= factor * y[i]


cdef bint eliminate(Band band, real *rows, real *x, Py_ssize_t columns) noexcept nogil:
    """Solve for all columns of x, in place; False if a pivot is zero.

    Row k begins at column k when the loop reaches it: subtracting a pivot row removes the first element of a row.
    """
    cdef Py_ssize_t n = band.n, width = band.lower + band.upper + 1, k, i, j, pivot
    cdef real *top
    cdef real *row
    cdef real factor
    for k in range(n):
        top = rows + k * width
        pivot = k
        for i in range(k + 1, min(k + band.lower + 1, n)):
            if fabs(rows[i * width]) > fabs(rows[pivot * width]):
                pivot = i
        if rows[pivot * width] == 0:
            return False
        if pivot != k:
            exchange(top, rows + pivot * width, width)
            exchange(x + k * columns, x + pivot * columns, columns)
        for i in range(k + 1, min(k + band.lower + 1, n)):
            row = rows + i * width
            factor = row[0] / top[0]
            for j in range(1, width):
                row[j - 1] = row[j] - factor * top[j]
            row[width - 1] = 0
            subtract(x + i * columns, factor, x + k * columns, columns)
    substitute(n, width, rows, x, columns)
    return True


cdef bint eliminate_definite(Py_ssize_t n, Py_ssize_t width, real *rows, real *x, Py_ssize_t columns) noexcept nogil:
    """Solve for a symmetric matrix whose rows begin at the diagonal, in place; False if a pivot is not positive."""
    cdef Py_ssize_t k, i, length
    cdef real *top
    cdef real factor
    for k in range(n):
        top = rows + k * width
        if not top[0] > 0:
            return False
        length = min(width, n - k)
        for i in range(1, length):
            factor = top[i] / top[0]
            subtract(top + i * width, factor, top + i, length - i)
            subtract(x + (k + i) * columns, factor, x + k * columns, columns)
    substitute(n, width, rows, x, columns)
    return True


cdef void substitute(Py_ssize_t n, Py_ssize_t width, const real *rows, real *x, Py_ssize_t columns) noexcept nogil:
    """Solve for an upper triangle whose rows begin at the diagonal, in place."""
    cdef Py_ssize_t k, j
    for k in range(n - 1, -1, -1):
        for j in range(1, min(width, n - k)):
            subtract(x + k * columns, rows[k * width + j], x + (k + j) * columns, columns)
        for j in range(columns):
            x[k * columns + j] /= rows[k * width]


cdef object solution(cnp.ndarray a, cnp.ndarray b, real like):
    """The solution of a system in the dtype of `like`; None if the band is not narrow or an element is not finite."""
    cdef bint by_columns = not a.flags.c_contiguous, narrow, regular = False
    cdef const real *elements = <const real *>cnp.PyArray_DATA(a)
    cdef real *rows
    cdef real *x
    cdef Py_ssize_t columns = b.shape[1], room
    cdef Band band
    band.n = a.shape[0]
    band.lower = band.upper = 0
    with nogil:
        narrow = widen(&band, elements)
    if not narrow:
        return None
    if by_columns:
        band.lower, band.upper = band.upper, band.lower
    room = band.n * (band.lower + band.upper + 1)
    memory = writable(new_array(cnp.PyArray_TYPE(a), 1, &room))
    found = np.array(b, order="C")
    rows = <real *>cnp.PyArray_DATA(memory)
    x = <real *>cnp.PyArray_DATA(found)
    with nogil:
        narrow = load(band, elements, 1 if by_columns else band.n, band.n if by_columns else 1, rows)
        if narrow:
            regular = eliminate(band, rows, x, columns)
    if not narrow:
        return None
    if not regular:
        raise np.linalg.LinAlgError("Singular matrix")
    return found


def solve_narrow(cnp.ndarray a not None, cnp.ndarray b not None):
    """The solution x of a x = b for a narrow-banded matrix and right-hand sides as columns; None for other matrices.

    Raises LinAlgError if the matrix is singular.
    """
    cdef int typenum = cnp.PyArray_TYPE(a)
    if a.ndim != 2 or b.ndim != 2 or a.shape[0] != a.shape[1] or a.shape[0] != b.shape[0] or a.shape[0] < NARROW:
        return None
    if typenum != cnp.PyArray_TYPE(b) or not (a.flags.c_contiguous or a.flags.f_contiguous):
        return None
    if typenum == cnp.NPY_DOUBLE:
        return solution(a, b, <double>0)
    if typenum == cnp.NPY_FLOAT:
        return solution(a, b, <float>0)
    return None


cdef void load_upper(Py_ssize_t n, Py_ssize_t width, const real *a, real shift, real *rows) noexcept nogil:
    """Copy rows from the diagonal on, and subtract `shift` from the diagonal."""
    cdef Py_ssize_t i, j
    for i in range(n):
        for j in range(min(width, n - i)):
            rows[i * width + j] = a[i * n + i + j]
        rows[i * width] -= shift


cdef Py_ssize_t definite_width(cnp.ndarray a, real like) except -2:
    """Row length, from the diagonal on, of a symmetric matrix; -1 for a large matrix without a narrow band."""
    cdef Band band
    band.n = a.shape[0]
    band.lower = band.upper = 0
    if widen(&band, <const real *>cnp.PyArray_DATA(a)):
        return band.upper + 1
    return -1 if band.n > SMALL else band.n


cdef object definite_solution(cnp.ndarray a, cnp.ndarray b, real least):
    """The solution of a definite system; None for a large matrix without a narrow band."""
    cdef const real *elements = <const real *>cnp.PyArray_DATA(a)
    cdef real *rows
    cdef real *x
    cdef Py_ssize_t n = a.shape[0], columns = b.shape[1], width = definite_width(a, least), room = n * width
    cdef bint regular
    if width < 0:
        return None
    memory = writable(new_array(cnp.PyArray_TYPE(a), 1, &room))
    found = np.array(b, order="C")
    rows = <real *>cnp.PyArray_DATA(memory)
    x = <real *>cnp.PyArray_DATA(found)
    with nogil:
        load_upper(n, width, elements, least, rows)
        regular = eliminate_definite(n, width, rows, x, 0)
        if regular and columns:
            load_upper(n, width, elements, <real>0, rows)
            regular = eliminate_definite(n, width, rows, x, columns)
    if not regular:
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return found


def solve_definite(cnp.ndarray a not None, cnp.ndarray b not None, double least):
    """The solution x of a x = b for a symmetric matrix and right-hand sides as columns.

    None for a large matrix without a narrow band, or if `a` is not row-major. Raises LinAlgError unless Cholesky's
    factorisation of a - least proves that all eigenvalues of `a` exceed `least`.
    """
    cdef int typenum = cnp.PyArray_TYPE(a)
    if not a.flags.c_contiguous or typenum != cnp.PyArray_TYPE(b):
        return None
    if typenum == cnp.NPY_DOUBLE:
        return definite_solution(a, b, least)
    if typenum == cnp.NPY_FLOAT:
        return definite_solution(a, b, <float>least)
    return None
