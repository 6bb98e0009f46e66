"""The same elements as other numbers: cast, clip_index, complex views and conj; also identity, inspect and draw."""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array import np
from ..arrays.array cimport (MAX_DIMS, Array, Value, cast, contiguous, is_complex, is_inexact, item_size, new_view,
                             to_ndarray)
from ..arrays.shared cimport apart
from ..compiler.instructions cimport has_cast, has_index
from ..compiler.lowering cimport AS_CAST, Lowering
from ..compiler.views cimport View
from ..primitives.opcodes cimport OP_CAST, OP_CLIP_INDEX, OP_CONJ, OP_VIEW_AS_COMPLEX, OP_VIEW_AS_REAL
from ..primitives.registry cimport DRAWS, LOOKS, define, np_name
from ..primitives.forms cimport like, wrap
from ..values.families cimport Constant, Linear, by_coefficients
from ..values.levels cimport Algebra, Batch, Level, bind1, part, type_of
from ..values.rules cimport typed


cdef class Cast(Linear):
    """params: the type number. No derivative passes from floats to integers or from or to bool."""

    cdef Array execute(self, object params, PyObject **args, int n):
        return cast(<Array>args[0], params)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return like(<Array>args[0], params, ndim, shape)

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        cdef int typenum = (<Array>args[0]).typenum
        return params != typenum and not is_complex(typenum)

    cdef bint has_slope(self, object params, PyObject **args, int n) except -1:
        cdef int typenum = type_of(<Value>args[0])
        return is_inexact(<int>params) if is_inexact(typenum) else (typenum != cnp.NPY_BOOL
                                                                    and <int>params != cnp.NPY_BOOL)

    cdef Value jvp_of_integers(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return None if tangents[0] is NULL else slope_through_cast(<Value>tangents[0], type_of(out))

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(OP_CAST, type_of(<Value>ins[0]), ct)

    cdef Value vjp_of_integers(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return slope_through_cast(ct, type_of(<Value>ins[i]))

    cdef Value lifted(self, object params, PyObject **args, int n, object level, object algebra):
        cdef Value primal = part(<Value>args[0], <Level>level, 0)
        cdef PyObject *p = <PyObject *>primal
        if not self.has_slope(params, &p, 1):
            return bind1(OP_CAST, params, primal)
        return by_coefficients(self, params, args, n, <Level>level, <Algebra>algebra)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(OP_CAST, params, (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef Lowering low = <Lowering>lowering
        if not has_cast((<View>ins[0]).buffer.typenum, typenum):
            return None
        return low.elementwise(AS_CAST, OP_CAST, params, low.elements(ins), typenum, shape)

    def reads(self, step, int k):
        return step.same if is_inexact(step.typenum) else None

    def accumulated(self, walk, step, int k, list parts, list moving):
        return [part if part.slot is None else part._replace(slot=walk.emit(OP_CAST, step[1], part.slot))
                for part in parts]


cdef Value slope_through_cast(Value derivative, int typenum):
    """A derivative of an integer after a cast from or to that integer's dtype. A cast between integers passes a
    floating derivative unchanged. Of a complex derivative it passes only the real part, because the integer is real."""
    cdef int own = type_of(derivative)
    if is_complex(own):
        return bind1(OP_CAST, cnp.NPY_DOUBLE if own == cnp.NPY_CDOUBLE else cnp.NPY_FLOAT, derivative)
    return derivative if is_inexact(own) else typed(derivative, typenum)


# ------------------------------------------------------------------------------------------------------------ indices

cdef class ClipIndex(Constant):
    """Convert real numbers to indices of an axis with n elements, clipped to the axis; params: n, at least 1."""

    cdef Array execute(self, object params, PyObject **args, int n):
        self.form(params, args, n, NULL, NULL)
        x = to_ndarray(<Array>args[0]).astype(np.float64)
        return wrap(np.where(x > 0.0, np.minimum(x, params - 1), 0.0).astype(np.int64))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef Array a = <Array>args[0]
        if params < 1 or not is_inexact(a.typenum) or is_complex(a.typenum):
            raise TypeError(f"clip_index: expected real numbers and an axis with elements, got type {np_name(a)} and an"
                            f" axis of length {params}")
        return cnp.NPY_INT64 if ndim is NULL else like(a, cnp.NPY_INT64, ndim, shape)

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return True

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(OP_CLIP_INDEX, params, (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef Lowering low = <Lowering>lowering
        if not has_index((<View>ins[0]).buffer.typenum):
            return None
        return low.elementwise(AS_CAST, OP_CLIP_INDEX, params, low.elements(ins), typenum, shape)


# ---------------------------------------------------------------------------------------------------- complex numbers

cdef class Conj(Linear):
    """Cotangents pair with tangents as Re(ct * dz), without conjugation; see _table/complex.py."""

    cdef Array execute(self, object params, PyObject **args, int n):
        return wrap(np.conjugate(to_ndarray(<Array>args[0])))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return like(<Array>args[0], (<Array>args[0]).typenum, ndim, shape)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(OP_CONJ, None, ct)

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(OP_CONJ, None, (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None

    def reads(self, step, int k):
        return step.same

    def accumulated(self, walk, step, int k, list parts, list moving):
        return parts


cdef class ViewAsReal(Linear):
    """The same memory as real numbers, with a new last axis of length two."""

    cdef Array execute(self, object params, PyObject **args, int n):
        return other_view(<Array>args[0], self.form(params, args, n, NULL, NULL), (<Array>args[0]).ndim + 1)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef Array a = <Array>args[0]
        if ndim is not NULL:
            like(a, a.typenum, ndim, shape)
            shape[a.ndim] = 2
            ndim[0] = a.ndim + 1
        return cnp.NPY_DOUBLE if a.typenum == cnp.NPY_CDOUBLE else cnp.NPY_FLOAT

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(OP_CONJ, None, bind1(OP_VIEW_AS_COMPLEX, None, ct))

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(OP_VIEW_AS_REAL, None, (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None

    def reads(self, step, int k):
        return np.repeat(step.positions(0).ravel(), 2)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.refused()


cdef class ViewAsComplex(Linear):
    """The same memory as complex numbers, one for each pair; copies first if pairs are not contiguous."""

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Array a = <Array>args[0]
        if a.strides[a.ndim - 1] != a.itemsize:
            a = contiguous(a)
        return other_view(a, self.form(params, args, n, NULL, NULL), a.ndim - 1)

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef Array a = <Array>args[0]
        if ndim is not NULL:
            like(a, a.typenum, ndim, shape)
            ndim[0] = a.ndim - 1
        return cnp.NPY_CDOUBLE if a.typenum == cnp.NPY_DOUBLE else cnp.NPY_CFLOAT

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return bind1(OP_VIEW_AS_REAL, None, bind1(OP_CONJ, None, ct))

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(OP_VIEW_AS_COMPLEX, None, (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None

    def reads(self, step, int k):
        pairs = np.arange(2 * step.size)
        return step.grouped(pairs // 2, pairs)

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.refused()


cdef Array other_view(Array a, int typenum, int ndim):
    """View the memory of an array as the other dtype, real or complex, with one axis more or less."""
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef Array out
    cdef int i
    if ndim > MAX_DIMS:
        raise ValueError(f"an array of {ndim} axes; expected at most {MAX_DIMS}")
    a = apart(a)
    for i in range(min(ndim, <int>a.ndim)):
        shape[i] = a.shape[i]
        strides[i] = a.strides[i]
    if ndim > a.ndim:
        shape[a.ndim] = 2
        strides[a.ndim] = item_size(typenum)
    out = new_view(a, ndim, shape, strides, a.data)
    out.typenum = typenum
    out.itemsize = item_size(typenum)
    out.contiguous = a.contiguous
    return out


# -------------------------------------------------------------------------------------------- identity, inspect, draw

cdef class Identity(Linear):
    """The operand itself."""

    def __cinit__(self):
        self.odd = True

    cdef Array execute(self, object params, PyObject **args, int n):
        return <Array>args[0]

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return like(<Array>args[0], (<Array>args[0]).typenum, ndim, shape)

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        return ct

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return bind1(self.op, params, (<Batch>args[0]).value)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return ins[0]

    def reads(self, step, int k):
        return step.same

    def tokens(self, params, list ins, tuple shape):
        return ins[0]

    def accumulated(self, walk, step, int k, list parts, list moving):
        return parts


cdef class Inspect(Identity):
    """The operand, after an inspection; params: a function that inspects the array and may raise."""

    def __cinit__(self):
        self.odd = False
        self.effect = LOOKS

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Array a = <Array>args[0]
        params(to_ndarray(a))
        return apart(new_view(a, a.ndim, a.shape, a.strides, a.data))

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        return None if tangents[0] is NULL else <Value>tangents[0]

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None

    def tokens(self, params, list ins, tuple shape):
        return None         # None, because the inspection itself is checked too


cdef class Draw(Constant):
    """Random numbers; params: a function that returns a new array at each call."""

    def __cinit__(self):
        self.effect = DRAWS

    cdef Array execute(self, object params, PyObject **args, int n):
        return wrap(params())

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return -1

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        raise RuntimeError("draw: it has no operands that could be batched")

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return None


define(Cast(), "cast")
define(ClipIndex(), "clip_index")
define(Conj(), "conj")
define(ViewAsReal(), "view_as_real")
define(ViewAsComplex(), "view_as_complex")
define(Identity(), "identity")
define(Inspect(), "inspect")
define(Draw(), "draw")
