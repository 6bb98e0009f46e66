# Values and arrays. See array.pyx for the design.
from cpython.object cimport PyObject

cdef enum:
    # Kinds of value as bits, so that "is any operand a node" is one `or`.
    ARRAY = 0
    DUAL = 1
    BATCH = 2
    NODE = 4
    INLINE_DIMS = 3
    INLINE_BYTES = 16
    MAX_DIMS = 64
    N_TYPES = 24            # NumPy's type numbers end below this (half is 23)


cdef extern from *:
    const bint DG_DEBUG     # defined by the build: 1 in debug builds

cdef extern from "numpy/ndarraytypes.h":
    enum:
        NPY_HALF


cdef class Value:
    cdef unsigned char kind


cdef class Array(Value):
    cdef unsigned char typenum
    cdef unsigned char ndim
    cdef unsigned char itemsize
    cdef unsigned char contiguous
    cdef unsigned char owner    # the array frees its data, or they lie inside the object
    cdef unsigned char basis    # rows of an identity matrix, one for each index of the first axis
    cdef int trace              # the mark of its recording, or 0,
    cdef int slot               # and its slot there
    cdef Py_ssize_t size
    cdef Py_ssize_t *shape      # inside the object up to INLINE_DIMS axes, else allocated
    cdef Py_ssize_t *strides
    cdef char *data             # NULL while the array is deferred
    cdef object base            # the other object that owns the data
    cdef Py_ssize_t[2 * INLINE_DIMS] inline_dims
    cdef double[2] inline_data


cdef enum:
    # Hooks that are Python objects.
    CELL_CALLED             # the call of a Cell in Graph mode or while recording,
    TRANSFORM_CALLED        # and the outermost one of a transform in Graph mode
    LEAVING                 # the error for numbers that leave a derivative
    GET_RANDOM              # how the state of random numbers is read,
    PUT_RANDOM              # and set
    BY_ENTRIES              # a program by the entries of its arrays
    N_HOOKS


cdef struct Hooks:
    # What lower layers call of higher ones. `_engine/assembly.pyx` fills it in, and checks that nothing is missing.
    int (*compute)(Array a) except -1           # the numbers of a deferred array
    Array (*defer)(Array a)                     # an eager call has made its first large array
    Value (*dual)(int op, object params, PyObject **args, int n)        # a primitive on duals and batches,
    Value (*node)(int op, object params, PyObject **args, int n)        # with a node among its operands,
    Value (*batch)(int op, object params, PyObject **args, int n, object level)         # on batches of a level,
    Value (*algebra)(int op, object params, PyObject **args, int n, object level, object algebra)   # on elements
    PyObject *objects[N_HOOKS]


cdef Hooks HOOKS

cdef extern from "memory/shared.h":
    char *dg_read_data(char **place) noexcept


cdef inline bint is_deferred(Array a) noexcept:
    """Whether an array has no data yet. What else `take_over` gives it is read after this was asked."""
    return dg_read_data(&a.data) is NULL and a.size > 0


cdef inline Array with_numbers(Array a):
    """An array that has data: what is deferred is computed, maybe by the thread that has deferred it."""
    if is_deferred(a):
        HOOKS.compute(a)
    return a


cdef Array without_numbers(int typenum, int ndim, const Py_ssize_t *shape)
cdef int take_over(Array a, Array numbers) except -1
cdef Array new_array(int typenum, int ndim, const Py_ssize_t *shape)
cdef Array new_view(Array a, int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides, char *data)
cdef Array full(int typenum, int ndim, const Py_ssize_t *shape, double value)
cdef Array scalar(int typenum, double value)
cdef bint uniform(Array a) except -1
cdef double first_number(Array a) except? -1
cdef Array contiguous(Array a)
cdef object to_ndarray(Array a)
cdef object writable(Array a)
cdef Array from_ndarray(object array)
cdef Array copy_of(object array)
cdef tuple shape_tuple(Array a)

cdef inline bint same_shape(Array a, Array b) noexcept:
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.shape[i] != b.shape[i]:
            return False
    return True

cdef inline bint same_form(Array a, Array b) noexcept:
    """Whether two arrays have one type and shape."""
    return a.typenum == b.typenum and same_shape(a, b)

cdef bint has_form(Array a, int typenum, tuple shape) except -1
cdef int item_size(int typenum) noexcept nogil
cdef bint is_inexact(int typenum) noexcept nogil
cdef bint is_complex(int typenum) noexcept nogil
cdef void count(str name, int change)
cdef Array cast(Array a, int typenum)
cdef int fill(Array out, object source) except -1
