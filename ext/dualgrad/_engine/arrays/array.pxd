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
    cdef unsigned char owner    # the array frees its data, or the data lies inside the object
    cdef unsigned char basis    # rows of an identity matrix, one for each index of the first axis
    cdef int trace              # mark of the recording that knows the array, or 0
    cdef int slot               # slot of the array in that recording
    cdef Py_ssize_t size
    cdef Py_ssize_t *shape      # inside the object up to INLINE_DIMS axes, else allocated
    cdef Py_ssize_t *strides
    cdef char *data             # NULL while the array is deferred
    cdef object base            # the object that owns the data, if not this one
    cdef Py_ssize_t[2 * INLINE_DIMS] inline_dims
    cdef double[2] inline_data


cdef enum:
    # Hooks that are Python objects.
    CELL_CALLED             # a call of a Cell in Graph mode or while recording
    TRANSFORM_CALLED        # an outermost call of a transform in Graph mode
    LEAVING                 # the error for numbers that leave a derivative
    GET_RANDOM              # read the state of random numbers
    PUT_RANDOM              # set the state of random numbers
    BY_ENTRIES              # a program on the nonzero entries of its arrays
    N_HOOKS


cdef struct Hooks:
    # Functions of higher layers that lower layers call. `_engine/assembly.pyx` fills them in and checks for gaps.
    int (*compute)(Array a) except -1           # compute the data of a deferred array
    Array (*defer)(Array a)                     # an eager call has made its first large array
    Value (*dual)(int op, object params, PyObject **args, int n)        # run a primitive on duals and batches
    Value (*node)(int op, object params, PyObject **args, int n)        # run a primitive with a node among its operands
    Value (*batch)(int op, object params, PyObject **args, int n, object level)         # run one on batches of a level
    Value (*algebra)(int op, object params, PyObject **args, int n, object level, object algebra)   # on elements
    PyObject *objects[N_HOOKS]


cdef Hooks HOOKS

cdef extern from "memory/shared.h":
    char *dg_read_data(char **place) noexcept


cdef inline bint is_deferred(Array a) noexcept:
    """True if an array has no data yet. Test this before you read strides or base, which `take_over` sets first."""
    return dg_read_data(&a.data) is NULL and a.size > 0


cdef inline Array with_numbers(Array a):
    """The array, with its data computed if it was deferred. Another thread may do the computation."""
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
    """True if two arrays have the same dtype and shape."""
    return a.typenum == b.typenum and same_shape(a, b)

cdef bint has_form(Array a, int typenum, tuple shape) except -1
cdef int item_size(int typenum) noexcept nogil
cdef bint is_inexact(int typenum) noexcept nogil
cdef bint is_complex(int typenum) noexcept nogil
cdef void count(str name, int change)
cdef Array cast(Array a, int typenum)
cdef int fill(Array out, object source) except -1
