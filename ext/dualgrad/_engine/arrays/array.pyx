"""Arrays: a dtype, a shape, strides and a buffer.

Design
------
An `Array` is immutable after the primitive that made it has returned. An assignment to a Tensor rebinds its handle and
never writes a buffer, so it cannot change a retained tape. The one exception is a sweep, which adds into a cotangent
that no other object holds.

Derivatives of high order are many operations on very small arrays. So an array of up to 16 bytes and three axes is a
single object that holds data, shape and strides. Objects and data come from `memory/memory.h`. Views (transposes,
slices, broadcasts) share the buffer of their `base`.

A deferred array of a recording has no data yet (deferred.pyx).

An array is never part of a reference cycle, so garbage collection ignores it: a tape of millions of arrays costs the
collector nothing.
"""
cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

import types

import numpy

from .thread cimport dg_thread, thread_state

# A program may replace NumPy's functions, and return values of replacements could have unexpected memory.
np = types.SimpleNamespace(**vars(numpy))

cnp.import_array()

cdef extern from "memory/shared.h":
    void dg_write_data(char **place, char *value) noexcept

cdef extern from "memory/memory.h":
    void *dg_alloc(size_t n)
    void dg_free(void *p, size_t n)
    void dg_use_slabs(PyTypeObject *type)
    void dg_object_free(void *p) noexcept
    bint dg_exceeds(Py_ssize_t *product, Py_ssize_t factor)
    const size_t DG_OBJECT_HEAD

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(PyTypeObject *subtype, cnp.dtype descr, int nd, cnp.npy_intp *dims,
                                cnp.npy_intp *strides, void *data, int flags, object obj)
    int PyArray_SetBaseObject(cnp.ndarray arr, PyObject *obj) except -1
    int PyArray_CopyInto(cnp.ndarray dest, cnp.ndarray src) except -1
    void PyArray_UpdateFlags(cnp.ndarray arr, int flags)

cdef Hooks HOOKS
cdef int[N_TYPES] ITEM_SIZE
memset(ITEM_SIZE, 0, sizeof(ITEM_SIZE))

# Several NumPy type numbers can mean one dtype (long and long long). This table keeps one of them.
_CANONICAL = {}
for _name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
              "float16", "float32", "float64", "complex64", "complex128"):
    ITEM_SIZE[np.dtype(_name).num] = np.dtype(_name).itemsize
    _CANONICAL[np.dtype(_name).str] = np.dtype(_name).num

HOOK_NAMES = ("cell_called", "transform_called", "leaving", "get_random", "put_random", "by_entries")


def install(**hooks):
    """Fill in hooks that are Python objects. Each stays referenced for ever."""
    for name, hook in hooks.items():
        Py_INCREF(hook)
        HOOKS.objects[<Py_ssize_t>HOOK_NAMES.index(name)] = <PyObject *>hook


cdef dict LIVE = dict.fromkeys(
    ("Array", "Batch", "Dual", "Level", "Node", "Plan", "Program", "Region", "Run", "Tape"), 0)
live = LIVE             # objects alive; counted in debug builds only


cdef void count(str name, int change):
    """Count the live objects of a type. This works even at exit, when the interpreter has cleared the module."""
    LIVE[name] += change


cdef int item_size(int typenum) noexcept nogil:
    return ITEM_SIZE[typenum]


cdef bint is_inexact(int typenum) noexcept nogil:
    return (typenum == cnp.NPY_DOUBLE or typenum == cnp.NPY_FLOAT or typenum == NPY_HALF
            or typenum == cnp.NPY_CDOUBLE or typenum == cnp.NPY_CFLOAT)


cdef bint is_complex(int typenum) noexcept nogil:
    return typenum == cnp.NPY_CDOUBLE or typenum == cnp.NPY_CFLOAT


cdef class Value:
    """An operand or result of primitives: an array, a dual, a batch or a node."""


@cython.final
@cython.no_gc
cdef class Array(Value):
    """A dtype, a shape, strides and a buffer; see the module's design note."""

    def __cinit__(self):
        self.kind = ARRAY
        if DG_DEBUG:
            count("Array", 1)

    def __dealloc__(self):
        if self.owner and self.data is not <char *>self.inline_data:
            dg_free(self.data, self.size * self.itemsize)
        if self.shape is not self.inline_dims:
            free(self.shape)
        if DG_DEBUG:
            count("Array", -1)

    def numpy(self):
        """A read-only view of the data."""
        return to_ndarray(self)


cdef void free_array(PyObject *self) noexcept:
    """Free an array. Cython's own function would also save a pending error; nothing here can raise one."""
    cdef PyObject *base = <PyObject *>(<Array>self).base
    if (<Array>self).owner and (<Array>self).data is not <char *>(<Array>self).inline_data:
        dg_free((<Array>self).data, (<Array>self).size * (<Array>self).itemsize)
    if (<Array>self).shape is not (<Array>self).inline_dims:
        free((<Array>self).shape)
    dg_object_free(self)
    Py_XDECREF(base)


if not DG_DEBUG:                # debug builds count freed arrays in __dealloc__
    (<PyTypeObject *>Array).tp_dealloc = free_array
dg_use_slabs(<PyTypeObject *>Array)


def _check_layout():
    cdef Array a = Array.__new__(Array)
    if <size_t>a.inline_dims - <size_t><void *>a > DG_OBJECT_HEAD:
        raise ImportError("array objects are laid out differently than their allocation expects")


_check_layout()


def largest_array(bint forget):
    """Bytes of the largest array of this thread since the last call with `forget`."""
    cdef dg_thread *thread = thread_state()
    if forget:
        thread.largest = 0
    return thread.largest


cdef inline Array blank(int ndim):
    """An array with memory for shape and strides, but without data."""
    cdef Array a = Array.__new__(Array)
    a.ndim = ndim
    if ndim <= INLINE_DIMS:
        a.shape = a.inline_dims
        a.strides = a.inline_dims + INLINE_DIMS
    else:
        a.shape = <Py_ssize_t *>malloc(2 * ndim * sizeof(Py_ssize_t))
        if a.shape is NULL:
            raise no_memory_for_shape(ndim)
        a.strides = a.shape + ndim
    return a


cdef object no_memory_for_shape(int ndim):
    return MemoryError(f"no memory for the shape of an array with {ndim} axes")


cdef inline Array laid_out(int typenum, int ndim, const Py_ssize_t *shape):
    """A C-contiguous array without data."""
    cdef Array a = blank(ndim)
    cdef Py_ssize_t size = 1, nbytes = ITEM_SIZE[typenum]
    cdef int i
    a.typenum = typenum
    a.itemsize = ITEM_SIZE[typenum]
    for i in range(ndim - 1, -1, -1):
        a.shape[i] = shape[i]
        a.strides[i] = nbytes
        if dg_exceeds(&nbytes, shape[i]):
            raise too_large(ndim, shape)
        size *= shape[i]
    a.size = size
    a.contiguous = True
    return a


cdef Array without_numbers(int typenum, int ndim, const Py_ssize_t *shape):
    """A deferred array; `take_over` gives it data later."""
    return laid_out(typenum, ndim, shape)


cdef object too_large(int ndim, const Py_ssize_t *shape):
    """The error for a shape whose size in bytes overflows."""
    return ValueError(f"an array of shape {tuple([shape[i] for i in range(ndim)])} is larger than any memory")


cdef Array new_array(int typenum, int ndim, const Py_ssize_t *shape):
    """An array with memory of its own and undefined contents."""
    cdef Array a = laid_out(typenum, ndim, shape)
    cdef size_t nbytes = a.size * a.itemsize
    cdef dg_thread *thread
    if nbytes <= INLINE_BYTES:
        a.data = <char *>a.inline_data
    else:
        thread = thread_state()
        if nbytes > thread.largest:
            thread.largest = nbytes
        a.data = <char *>dg_alloc(nbytes)
        if a.data is NULL:
            raise no_memory_for_numbers(a)
    a.owner = True
    return a


cdef object no_memory_for_numbers(Array a):
    return MemoryError(f"no memory for an array of shape {shape_tuple(a)} ({a.size * a.itemsize} bytes)")


cdef Array new_view(Array a, int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides, char *data):
    """An array that shares the memory of array `a`."""
    cdef Array v = blank(ndim)
    cdef Py_ssize_t size = 1, nbytes = a.itemsize, expected
    cdef int i
    v.typenum = a.typenum
    v.itemsize = a.itemsize
    for i in range(ndim):
        v.shape[i] = shape[i]
        v.strides[i] = strides[i]
        if dg_exceeds(&nbytes, shape[i]):
            raise too_large(ndim, shape)
        size *= shape[i]
    v.size = size
    expected = a.itemsize
    v.contiguous = True
    for i in range(ndim - 1, -1, -1):
        if shape[i] != 1:
            if strides[i] != expected and size > 0:
                v.contiguous = False
                break
            expected *= shape[i]
    if not a.owner:
        v.base = a.base            # the owner itself, so that chains of views have one link
    else:
        v.base = a
    v.data = data
    return v


cdef int take_over(Array a, Array numbers) except -1:
    """Give a deferred array the data of another array of the same type and shape."""
    if a.typenum != numbers.typenum or not same_shape(a, numbers):
        raise AssertionError(f"an array of type {np_type(a.typenum)} and shape {shape_tuple(a)} was deferred, and has "
                             f"type {np_type(numbers.typenum)} and shape {shape_tuple(numbers)}")
    memcpy(a.strides, numbers.strides, a.ndim * sizeof(Py_ssize_t))
    a.contiguous = numbers.contiguous
    a.base = numbers
    dg_write_data(&a.data, numbers.data)        # last: another thread may be testing for data
    return 0


cdef Array scalar(int typenum, double value):
    """A number as an array without axes."""
    cdef Array a = new_array(typenum, 0, NULL)
    if typenum == cnp.NPY_DOUBLE:
        (<double *>a.data)[0] = value
    elif typenum == cnp.NPY_FLOAT:
        (<float *>a.data)[0] = <float>value
    else:
        return copy_of(np.asarray(value).astype(np_type(typenum)))
    return a


cdef Array full(int typenum, int ndim, const Py_ssize_t *shape, double value):
    """An array with memory of its own whose elements are all one number."""
    cdef Array a = new_array(typenum, ndim, shape)
    cdef Py_ssize_t i
    cdef double *d
    cdef float *f
    if value == 0.0:
        memset(a.data, 0, a.size * a.itemsize)
    elif typenum == cnp.NPY_DOUBLE:
        d = <double *>a.data
        for i in range(a.size):
            d[i] = value
    elif typenum == cnp.NPY_FLOAT:
        f = <float *>a.data
        for i in range(a.size):
            f[i] = <float>value
    else:
        writable(a)[...] = value
    return a


cdef bint uniform(Array a) except -1:
    """True if all elements are equal bit for bit; False without elements."""
    cdef int i
    cdef bint one_place = True                  # all strides are zero
    if a.size == 0:
        return False
    with_numbers(a)
    for i in range(a.ndim):
        one_place = one_place and (a.shape[i] == 1 or a.strides[i] == 0)
    if not one_place:
        a = contiguous(a)
    return one_place or memcmp(a.data, a.data + a.itemsize, (a.size - 1) * a.itemsize) == 0


cdef double first_number(Array a) except? -1:
    """The first element of a real array that is not empty."""
    with_numbers(a)
    if a.typenum == cnp.NPY_DOUBLE:
        return (<double *>a.data)[0]
    if a.typenum == cnp.NPY_FLOAT:
        return (<float *>a.data)[0]
    return float(to_ndarray(a).item(0))


cdef Array contiguous(Array a):
    """The array itself if it is C-contiguous, else a contiguous copy."""
    cdef Array c
    with_numbers(a)
    if a.contiguous:
        return a
    c = new_array(a.typenum, a.ndim, a.shape)
    PyArray_CopyInto(writable(c), to_ndarray(a))
    return c


_NP_TYPES = {}


cdef object np_type(int typenum):
    cdef object t = _NP_TYPES.get(typenum)
    if t is None:
        t = cnp.PyArray_DescrFromType(typenum)
        _NP_TYPES[typenum] = t
    return t


cdef object _as_ndarray(Array a, int flags):
    cdef cnp.npy_intp[MAX_DIMS] dims
    cdef cnp.npy_intp[MAX_DIMS] strides
    cdef int i
    cdef object descr = np_type(a.typenum)
    cdef object r
    with_numbers(a)
    for i in range(a.ndim):
        dims[i] = a.shape[i]
        strides[i] = a.strides[i]
    Py_INCREF(descr)            # stolen by the call below
    r = PyArray_NewFromDescr(<PyTypeObject *>cnp.ndarray, descr, a.ndim, dims, strides, a.data, flags, None)
    Py_INCREF(a)
    PyArray_SetBaseObject(r, <PyObject *>a)
    return r


cdef object writable(Array a):
    """A writable NumPy view, to fill a new array."""
    return _as_ndarray(a, cnp.NPY_ARRAY_WRITEABLE | cnp.NPY_ARRAY_ALIGNED)


cdef object to_ndarray(Array a):
    """A read-only NumPy view of the data; it keeps the array alive."""
    return _as_ndarray(a, cnp.NPY_ARRAY_ALIGNED)


cdef Array from_ndarray(object array):
    """An array that shares the memory of a NumPy array. Misaligned or byte-swapped arrays are copied."""
    cdef cnp.ndarray n
    cdef Array a
    cdef int i
    cdef Py_ssize_t size = 1, expected
    num = _CANONICAL.get(array.dtype.str)
    if num is None:
        if array.dtype.isnative or array.dtype.kind not in "biufc":
            raise TypeError(f"Tensor: arrays of type {array.dtype} are not numbers dualgrad computes with; expected "
                            f"bool, int8 to int64, uint8 to uint64, float16 to float64, complex64 or complex128")
        return from_ndarray(array.astype(array.dtype.newbyteorder("=")))
    if not array.flags.aligned or array.ndim > MAX_DIMS:
        array = array.copy()
    n = array
    a = blank(n.ndim)
    a.typenum = num
    a.itemsize = ITEM_SIZE[a.typenum]
    for i in range(n.ndim):
        a.shape[i] = n.shape[i]
        a.strides[i] = n.strides[i]
        size *= n.shape[i]
    a.size = size
    expected = a.itemsize
    a.contiguous = True
    for i in range(n.ndim - 1, -1, -1):
        if a.shape[i] != 1:
            if a.strides[i] != expected and size > 0:
                a.contiguous = False
                break
            expected *= a.shape[i]
    a.base = array
    a.data = <char *>cnp.PyArray_DATA(n)
    return a


cdef Array copy_of(object array):
    """A copy of a NumPy array, with memory of its own."""
    cdef Array view = from_ndarray(array)
    cdef Array a = new_array(view.typenum, view.ndim, view.shape)
    if view.contiguous:
        memcpy(a.data, view.data, a.size * a.itemsize)
    else:
        PyArray_CopyInto(writable(a), to_ndarray(view))
    return a


cdef tuple shape_tuple(Array a):
    cdef int i
    if a.ndim == 1:
        return (a.shape[0],)
    if a.ndim == 2:
        return (a.shape[0], a.shape[1])
    return tuple([a.shape[i] for i in range(a.ndim)])


cdef bint has_form(Array a, int typenum, tuple shape) except -1:
    """True if an array has this dtype and shape."""
    cdef int i
    if a.typenum != typenum or a.ndim != len(shape):
        return False
    for i in range(a.ndim):
        if a.shape[i] != <Py_ssize_t>shape[i]:
            return False
    return True


cdef Array cast(Array a, int typenum):
    cdef Array out
    if a.typenum == typenum:
        return a
    out = new_array(typenum, a.ndim, a.shape)
    if a.size == 1 and a.typenum == cnp.NPY_DOUBLE and typenum == cnp.NPY_FLOAT:
        (<float *>out.data)[0] = <float>(<double *>a.data)[0]
    elif a.size == 1 and a.typenum == cnp.NPY_FLOAT and typenum == cnp.NPY_DOUBLE:
        (<double *>out.data)[0] = (<float *>a.data)[0]
    else:
        fill(out, to_ndarray(a))
    return out


cdef int fill(Array out, object source) except -1:
    """Copy (and convert) the elements of a NumPy array into a new array."""
    cdef object view = writable(out)
    if source.dtype.kind == "c" and view.dtype.kind not in "cb":
        source = source.real                    # the transpose of the cast from real to complex
    if view.dtype is source.dtype:
        PyArray_CopyInto(view, source)
        return 0
    with np.errstate(all="ignore"):     # too large becomes inf; nan becomes the integer that NumPy chooses
        PyArray_CopyInto(view, source)
    return 0
