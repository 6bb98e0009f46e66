"""Steps of Newton's method: the size of a step, the point it leads to, and the test for the last step.

With few unknowns a program takes no longer than the NumPy calls around it, so each of these is one call. Arrays are
float32 or float64, both of one dtype; arrays that are not contiguous are copied.
"""
cimport numpy as cnp
from libc.math cimport INFINITY, fabs

from ..arrays.array import np
from ..arrays.array cimport new_array, writable

cnp.import_array()

ctypedef fused real:
    float
    double


cdef cnp.ndarray in_one_piece(cnp.ndarray a):
    """The array if it is contiguous, else a contiguous copy; raise TypeError unless it is float32 or float64."""
    cdef int typenum = cnp.PyArray_TYPE(a)
    if typenum != cnp.NPY_FLOAT and typenum != cnp.NPY_DOUBLE:
        raise TypeError(f"expected an array of float32 or float64, got {a.dtype}")
    return a if cnp.PyArray_IS_C_CONTIGUOUS(a) else np.ascontiguousarray(a)


cdef bint is_double(cnp.ndarray a) noexcept:
    return cnp.PyArray_TYPE(a) == cnp.NPY_DOUBLE


cdef double largest(const real *x, Py_ssize_t n) noexcept nogil:
    """The largest absolute value; inf if a number is not finite."""
    cdef Py_ssize_t i
    cdef real found = 0, odd = 0
    for i in range(n):
        found = max(found, <real>fabs(x[i]))
        odd += x[i] - x[i]          # becomes nan at the first number that is not finite, and stays nan
    return found if odd == 0 else INFINITY


def size(cnp.ndarray a not None):
    """The largest absolute value; inf if an element is not finite. Other dtypes are converted to float64."""
    if cnp.PyArray_TYPE(a) != cnp.NPY_FLOAT and cnp.PyArray_TYPE(a) != cnp.NPY_DOUBLE:
        a = np.asarray(np.abs(a), np.float64)
    a = in_one_piece(a)
    if is_double(a):
        return largest(<const double *>cnp.PyArray_DATA(a), cnp.PyArray_SIZE(a))
    return largest(<const float *>cnp.PyArray_DATA(a), cnp.PyArray_SIZE(a))


cdef bint ends(const real *x, const real *step, Py_ssize_t n, double before, double eps) noexcept nogil:
    cdef double now = largest(step, n), least = eps ** (2.0 / 3.0)
    cdef Py_ssize_t i
    if not now < before or not now * (now / before) ** 2 <= eps / 8 * largest(x, n):
        return False
    for i in range(n):
        if not fabs(step[i]) <= least * fabs(x[i]):
            return False
    return True


def is_last(cnp.ndarray x not None, cnp.ndarray step not None, double before):
    """True if only rounding errors are left after a step; `before` is the size of the previous step, or 0.

    Steps shrink quadratically: the ratio of the next step to this one is about the square of the ratio of this step to
    the previous one. In addition, the step must leave the first two thirds of each unknown's digits unchanged, so the
    steps show the curvature near the root.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(x)
    same_form(x, step)
    x, step = in_one_piece(x), in_one_piece(step)
    if is_double(x):
        return ends(<const double *>cnp.PyArray_DATA(x), <const double *>cnp.PyArray_DATA(step), n, before, 2.0**-52)
    return ends(<const float *>cnp.PyArray_DATA(x), <const float *>cnp.PyArray_DATA(step), n, before, 2.0**-23)


cdef int same_form(cnp.ndarray x, cnp.ndarray y) except -1:
    if cnp.PyArray_TYPE(x) != cnp.PyArray_TYPE(y) or cnp.PyArray_SIZE(x) != cnp.PyArray_SIZE(y):
        raise ValueError(f"expected arrays of one form, got {x.dtype} {np.shape(x)} and {y.dtype} {np.shape(y)}")
    return 0


cdef bint subtract(const real *x, const real *step, real *after, Py_ssize_t n) noexcept nogil:
    """Write x - step to `after`; True if it differs from x."""
    cdef Py_ssize_t i
    cdef bint differs = False
    for i in range(n):
        after[i] = x[i] - step[i]
        differs |= after[i] != x[i]
    return differs


def moved(cnp.ndarray x not None, cnp.ndarray step not None):
    """x - step for vectors; None if it equals x."""
    cdef Py_ssize_t n = cnp.PyArray_SIZE(x)
    cdef cnp.ndarray after
    same_form(x, step)
    x, step = in_one_piece(x), in_one_piece(step)
    after = writable(new_array(cnp.PyArray_TYPE(x), 1, &n))
    if is_double(x):
        differs = subtract(<const double *>cnp.PyArray_DATA(x), <const double *>cnp.PyArray_DATA(step),
                           <double *>cnp.PyArray_DATA(after), n)
    else:
        differs = subtract(<const float *>cnp.PyArray_DATA(x), <const float *>cnp.PyArray_DATA(step),
                           <float *>cnp.PyArray_DATA(after), n)
    return after if differs else None


cdef void average(const real *a, real *mean, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, j
    for i in range(n):
        for j in range(n):
            mean[i * n + j] = (a[i * n + j] + a[j * n + i]) / 2


def symmetric_part(cnp.ndarray a not None):
    """(a + a^T) / 2 of a square matrix."""
    cdef Py_ssize_t[2] shape
    cdef cnp.ndarray mean
    if cnp.PyArray_NDIM(a) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"expected a square matrix, got an array of shape {np.shape(a)}")
    a = in_one_piece(a)
    shape[0] = shape[1] = a.shape[0]
    mean = writable(new_array(cnp.PyArray_TYPE(a), 2, shape))
    if is_double(a):
        average(<const double *>cnp.PyArray_DATA(a), <double *>cnp.PyArray_DATA(mean), shape[0])
    else:
        average(<const float *>cnp.PyArray_DATA(a), <float *>cnp.PyArray_DATA(mean), shape[0])
    return mean
