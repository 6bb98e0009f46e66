"""power: an elementwise row whose exponent is a parameter."""
from cpython.object cimport PyObject

from ..arrays.array import np
from ..arrays.array cimport NPY_HALF, Array, Value, from_ndarray, is_complex, scalar, to_ndarray
from ..compiler.lowering cimport AS_LOOP, Lowering, dtype_of, power_loop
from ..compiler.views cimport new_buffer, view_of
from ..primitives.opcodes cimport OP_ABSORB_MUL, OP_MUL, OP_POW_PARTIAL, OP_POWER
from ..primitives.registry cimport define
from ..primitives.forms cimport is_float, like, wrap
from ..values.families cimport Elementwise, functional_of_vjp
from ..values.levels cimport Level, bind1, bind2, bind3, make_dual, part, type_of
from ..values.rules cimport to_shape_of_moved


cdef class Power(Elementwise):
    """params: the exponent, a number. Algebras treat it as a series, see values/taylor.pyx."""

    cdef Array execute(self, object params, PyObject **args, int n):
        a = to_ndarray(<Array>args[0])
        exponent = params
        with np.errstate(all="ignore"):
            if isinstance(exponent, int) and exponent < 0 and a.dtype.kind in "iu":
                raise ValueError(f"pow: an integer tensor to the negative power {exponent}; convert it to a float type "
                                 "first")
            # NumPy's own loop, in the operand's dtype: a Python number must not widen it
            return wrap(np.power(a, exponent, dtype=a.dtype))

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        return like(<Array>args[0], (<Array>args[0]).typenum, ndim, shape)

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return is_float((<Array>args[0]).typenum)

    cdef Value jvp(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        if tangents[0] is NULL or params == 0:
            return None
        if params == 1:
            return <Value>tangents[0]
        return bind2(OP_ABSORB_MUL, None, <Value>tangents[0], power_partial(params, <Value>ins[0]))

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        if params == 0:
            return None
        return ct if params == 1 else bind2(OP_ABSORB_MUL, None, ct, power_partial(params, <Value>ins[0]))

    cdef Value vjp_tangent(self, object params, PyObject **ins, int n, Value out, int i, Value ct, Value ct_dot,
                           PyObject **in_dots, Value out_dot, object level):
        cdef Value partial, dot = None
        if params == 0 or params == 1:
            return ct_dot if params == 1 else None
        if ct is not None and in_dots[0] is not NULL:
            partial = power_partial(params, make_dual(<Level>level, <Value>ins[0], <Value>in_dots[0]))
            dot = part(partial, <Level>level, 1)
            partial = part(partial, <Level>level, 0)
        elif ct_dot is None:
            return None
        else:
            partial = power_partial(params, <Value>ins[0])
        return to_shape_of_moved(ct, dot, ct_dot, partial, <Value>ins[0])

    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra):
        return functional_of_vjp(self, params, ins, n, out, i, ct, level, algebra)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        cdef Lowering low = <Lowering>lowering
        if power_loop(typenum).fn is NULL or typenum == NPY_HALF:
            return None
        with np.errstate(all="ignore"):
            exponent = np.asarray(params, dtype_of(typenum))
        number = new_buffer(typenum, (), ("constant", from_ndarray(exponent)))
        low.buffers.append(number)
        return low.elementwise(AS_LOOP, OP_POWER, None, [ins[0], view_of(number)], typenum, shape)

    def reads(self, step, int k):
        return step.broadcast(k)


cdef Value power_partial(object exponent, Value x):
    """n x**(n-1) as for polynomials: no logarithm, no division, no nan at 0. For a fractional n, n - 1 would be
    rounded; `pow_partial` corrects for that where x is real."""
    if isinstance(exponent, float) and not is_complex(type_of(x)):
        return bind3(OP_POW_PARTIAL, None, x, scalar(type_of(x), exponent), scalar(type_of(x), 1.0))
    if exponent == 2:
        return bind2(OP_MUL, None, scalar(type_of(x), 2.0), x)
    return bind2(OP_MUL, None, scalar(type_of(x), exponent), bind1(OP_POWER, exponent - 1, x))


define(Power(), "power")
