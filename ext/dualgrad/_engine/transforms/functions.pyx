"""A primitive's kernel and derivatives as functions: a jvp, a vjp, or a residual and its correction.

Design
------
A rule is given forwards (jvp: linear in each tangent), backwards (vjp: linear in the cotangent), or both. A missing
rule is the transpose of the given one: the gradient of <vjp(c), v> by c is jvp(v), and the gradient of <jvp(v), c> by v
is vjp(c). Rules are functions of tensors, so they are themselves differentiated for higher orders.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from ..arrays.array import np
from ..arrays.array cimport Array, Value, copy_of, from_ndarray, is_inexact, to_ndarray
from ..primitives.opcodes cimport OP_CONCAT, OP_RESHAPE, OP_SLICE
from ..values.algebra cimport derived, make, truncated
from ..values.batch cimport leave, padded
from ..values.levels cimport (Algebra, BatchLevel, Level, bind1, bind_list, called_rule, make_dual, ndim_of,
                              new_level, part, shape_of, this_thread, type_of)
from ..values.rules cimport add, typed, zeros_like
from ..values.taylor cimport times
from ..tape.nodes cimport veil
from .gradient cimport ALL_INPUTS, NOTHING, gradients, paired
from .handles cimport TensorBase, read, wrap

READS = {}                          # name -> a rule for the elements that it reads, for sparsity
ACCUMULATED = {}                    # name -> a rule for entries of Jacobians


cdef Array array_from(str name, object result):
    """The result of a kernel as an array of the engine."""
    if not isinstance(result, np.ndarray) and not np.isscalar(result):
        raise TypeError(f"{name}: the kernel returned a {type(result).__name__}; expected one NumPy array")
    a = np.asarray(result)
    if a.dtype.kind not in "biufc":
        raise TypeError(f"{name}: the kernel returned an array of {a.dtype}; expected numbers or bools")
    return from_ndarray(a) if a.flags.owndata and a is result else copy_of(a)


cdef class Functions:
    """Kernel and derivatives as functions: kernel(*arrays), jvp and vjp of tensors."""

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef int i
        arrays = [to_ndarray(<Array>args[i]) for i in range(n)]
        return array_from(self.name, self.kernel(*arrays, **dict(params)) if params else self.kernel(*arrays))

    cdef Value push(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        """The tangent of the result."""
        cdef Value total = None
        cdef int i
        cdef list held = values_at(ins, n) + values_at(tangents, n) + [out]
        cdef Level level = veil(held)
        cdef bytearray room
        if level is not None:
            room = pointers(held)
            ins = <PyObject **><char *>room
            return part(self.push(params, ins, n, <Value>held[2 * n], ins + n), level, 0)
        settings = dict(params) if params else {}
        primals = [wrap(<Value>ins[i]) for i in range(n)]
        if self.implicit:
            return self.implicit_push(params, ins, n, out, tangents)
        if self.jvps is None:
            return self.transposed_pull(settings, primals, n, out, tangents)
        if callable(self.jvps):
            dots = [wrap(zeros_like(<Value>ins[i]) if tangents[i] is NULL else <Value>tangents[i]) for i in range(n)]
            term = called_rule(self.jvps, (tuple(dots), wrap(out), *primals), settings)
            return self.checked("jvp", "tangent", term, out)
        for i in range(n):
            if tangents[i] is not NULL and self.jvps[i] is not None:
                term = called_rule(self.jvps[i], (wrap(<Value>tangents[i]), wrap(out), *primals), settings)
                total = add(total, self.checked("jvp", f"tangent for operand {i}", term, out))
        return total

    cdef Value implicit_push(self, object params, PyObject **ins, int n, Value out, PyObject **tangents):
        """The tangent of y(x) with R(x, y) = 0: the correction of the tangent of R at fixed y."""
        cdef Level level = new_level(self.name)
        cdef bytearray room = bytearray(n * sizeof(PyObject *))
        cdef PyObject **duals = <PyObject **><char *>room
        cdef Value left
        held = [make_dual(level, <Value>ins[i], None if tangents[i] is NULL else <Value>tangents[i]) for i in range(n)]
        for i in range(n):
            duals[i] = <PyObject *>held[i]
        left = part(self.residual(params, duals, n, out), level, 1)
        return None if left is None else self.correction(params, ins, n, out, left)

    cdef Value residual(self, object params, PyObject **ins, int n, Value out):
        """The residual, which is zero where `out` is the result for these operands."""
        settings = dict(params) if params else {}
        left = called_rule(self.residual_of, (wrap(out), *[wrap(<Value>ins[i]) for i in range(n)]), settings)
        if not isinstance(left, TensorBase):
            raise TypeError(f"{self.name}: residual returned {described(left)}; expected a Tensor")
        return read(<TensorBase>left)

    cdef Value correction(self, object params, PyObject **ins, int n, Value out, Value residual):
        """The change of the result that removes a small residual; linear in it."""
        settings = dict(params) if params else {}
        primals = [wrap(<Value>ins[i]) for i in range(n)]
        change = called_rule(self.correction_of, (wrap(residual), wrap(out), *primals), settings)
        return self.checked("correction", "change of the result", change, out)

    cdef list pull(self, object params, PyObject **ins, int n, Value out, Value ct, const char *wanted):
        """The cotangents of the wanted operands (all, where `wanted` is NULL); None where zero."""
        cdef list terms = [None] * n
        cdef int i
        cdef list held = values_at(ins, n) + [out, ct]
        cdef Level level = veil(held)
        cdef bytearray room
        if level is not None:
            room = pointers(held)
            terms = self.pull(params, <PyObject **><char *>room, n, <Value>held[n], <Value>held[n + 1], wanted)
            return [part(<Value>term, level, 0) for term in terms]
        settings = dict(params) if params else {}
        primals = [wrap(<Value>ins[i]) for i in range(n)]
        if self.vjps is None:
            return self.transposed_push(params, settings, primals, ins, n, out, ct, wanted)
        if callable(self.vjps):
            found = called_rule(self.vjps, (wrap(ct), wrap(out), *primals), settings)
            if isinstance(found, TensorBase) and n == 1:
                found = (found,)
            if not isinstance(found, (tuple, list)) or len(found) != n:
                raise TypeError(f"{self.name}: vjp returned {described(found)}; expected a tuple of {n}, one cotangent "
                                f"(a Tensor, or None for zero) for each operand")
            for i in range(n):
                if wanted is NULL or wanted[i]:
                    terms[i] = self.checked("vjp", f"cotangent of operand {i}", found[i], <Value>ins[i])
            return terms
        for i in range(n):
            if (wanted is NULL or wanted[i]) and self.vjps[i] is not None:
                term = called_rule(self.vjps[i], (wrap(ct), wrap(out), *primals), settings)
                terms[i] = self.checked("vjp", f"cotangent of operand {i}", term, <Value>ins[i])
        return terms

    cdef Value pulled(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        """The cotangent of one operand."""
        cdef bytearray wanted = bytearray(n)
        wanted[i] = 1
        return self.pull(params, ins, n, out, ct, wanted)[i]

    cdef Value batched(self, object params, PyObject **args, int n, BatchLevel level):
        cdef int i, ndim = 0
        cdef Py_ssize_t sample, size = level.size
        cdef list results = [], operands
        cdef tuple core = self.core_of(params)
        cdef Value v
        if core is not None:
            for i in range(n):
                ndim = max(ndim, ndim_of(<Value>args[i]) - <int>core[i])
            return bind_list(self.op, params, [padded(<Value>args[i], level, ndim, core[i]) for i in range(n)])
        if size == 0:
            raise ValueError(f"{self.name}: mapped over no samples, so the shape of its result is not known; state "
                             f"core when you define it")
        operands = [leave(level, <Value>args[i]) for i in range(n)]
        for sample in range(size):
            v = bind_list(self.op, params, [sample_of(<Value>x, sample) for x in operands])
            results.append(bind1(OP_RESHAPE, (1,) + shape_of(v), v))
        return bind_list(OP_CONCAT, 0, results)

    cdef tuple core_of(self, object params):
        """For each operand the number of axes one application works on, or None."""
        return tuple(self.core(**dict(params or ()))) if callable(self.core) else self.core

    cdef object reads(self, step, int k):
        """The elements of operand k that a step reads, see dualgrad/sparse/reads.py."""
        rule = READS.get(self.name)
        found = NotImplemented if rule is None else rule(step, k)
        return step.dense(k, self.core_of(step.params)) if found is NotImplemented else found

    cdef list accumulated(self, walk, step, int k, list parts, list moving):
        rule = ACCUMULATED.get(self.name)
        return walk.refused() if rule is None else rule(walk, step, k, parts, moving)

    cdef Value checked(self, str rule, str what, object term, Value like):
        """A result of a user's rule: None for zero, or a tensor with the shape and type of `like`."""
        cdef Value v
        if term is None:
            return None
        if not isinstance(term, TensorBase):
            raise TypeError(f"{self.name}: {rule} returned {described(term)} as the {what}; expected a Tensor, or None "
                            f"for zero")
        v = read(<TensorBase>term)
        if shape_of(v) != shape_of(like):
            raise ValueError(f"{self.name}: {rule} returned shape {shape_of(v)} as the {what}; expected "
                             f"{shape_of(like)}")
        return typed(v, type_of(like)) if is_inexact(type_of(like)) else v

    cdef Value transposed_pull(self, dict settings, list primals, int n, Value out, PyObject **tangents):
        """The tangent, by the transpose of a vjp."""
        cdef int i
        cdef list along = [i for i in range(n) if tangents[i] is not NULL]

        def pulled(c):
            if callable(self.vjps):
                found = called_rule(self.vjps, (c, wrap(out), *primals), settings)
                found = (found,) if isinstance(found, TensorBase) else found
            else:
                found = [None if vjp is None else called_rule(vjp, (c, wrap(out), *primals), settings)
                         for vjp in self.vjps]
            return paired([wrap(zeros_like(read(primals[i]))) if found[i] is None else found[i] for i in along], cts)

        cts = [wrap(<Value>tangents[i]) for i in along]
        moved = gradients(self.name, pulled, (wrap(zeros_like(out)),), {}, ALL_INPUTS, None, NOTHING, cts, True, False,
                          False)[2]
        return read(<TensorBase>moved[0])

    cdef list transposed_push(self, object params, dict settings, list primals, PyObject **ins, int n, Value out,
                              Value ct, const char *wanted):
        """The cotangents, by the transpose of a jvp."""
        cdef int i
        cdef list terms = [None] * n
        cdef list along = [i for i in range(n)
                           if (wanted is NULL or wanted[i]) and type_of(<Value>ins[i]) != cnp.NPY_BOOL]

        def pushed(*dots):
            total = None
            given = dict(zip(along, dots))
            if callable(self.jvps):
                all_dots = [given[i] if i in given else wrap(zeros_like(read(primals[i]))) for i in range(n)]
                return called_rule(self.jvps, (tuple(all_dots), wrap(out), *primals), settings)
            for i, dot in given.items():
                if self.jvps[i] is not None:
                    term = called_rule(self.jvps[i], (dot, wrap(out), *primals), settings)
                    total = term if total is None else total + term
            return total

        if not along:
            return terms
        thread = this_thread()
        if thread in self.transposing:
            raise NotImplementedError(f"{self.name}: its jvp applies {self.name} to a tangent, so the transpose of jvp "
                                      f"cannot be found by itself; give vjp as well (for a linear solve that is a "
                                      f"solve with the transposed matrix)")
        self.transposing.add(thread)
        try:
            if self.implicit:
                found = self.implicit_pull(params, settings, primals, ins, n, out, ct, along)
            else:
                zeros = tuple([wrap(zeros_like(<Value>ins[i]) if is_inexact(type_of(<Value>ins[i]))
                                    else typed(zeros_like(<Value>ins[i]), type_of(ct))) for i in along])
                found = gradients(self.name, pushed, zeros, {}, ALL_INPUTS, None, NOTHING, wrap(ct), True, False,
                                  False)[2]
        finally:
            self.transposing.discard(thread)
        for i, term in zip(along, found):
            terms[i] = read(<TensorBase>term)
        return terms

    cdef list implicit_pull(self, object params, dict settings, list primals, PyObject **ins, int n, Value out,
                            Value ct, list along):
        """The cotangents of y(x) with R(x, y) = 0: cotangents of R at fixed y, for the transpose of the correction."""
        def corrected(residual):
            return called_rule(self.correction_of, (residual, wrap(out), *primals), settings)

        def left(*moved):
            operands = list(primals)
            for i, x in zip(along, moved):
                operands[i] = x
            return called_rule(self.residual_of, (wrap(out), *operands), settings)

        zero = wrap(zeros_like(self.residual(params, ins, n, out)))
        seed = gradients(self.name, corrected, (zero,), {}, ALL_INPUTS, None, NOTHING, wrap(ct), True, False, False)[2]
        points = tuple([primals[i] for i in along])
        return gradients(self.name, left, points, {}, ALL_INPUTS, None, NOTHING, seed[0], True, False, False)[2]


cdef list values_at(PyObject **values, int n):
    """Values in a list, None for NULL."""
    cdef int i
    return [None if values[i] is NULL else <Value>values[i] for i in range(n)]


cdef bytearray pointers(list values):
    """Pointers to the values in a list, which holds them; NULL for None."""
    cdef bytearray room = bytearray(len(values) * sizeof(PyObject *))
    cdef PyObject **found = <PyObject **><char *>room
    cdef Py_ssize_t i
    for i in range(len(values)):
        found[i] = NULL if values[i] is None else <PyObject *>values[i]
    return room


cdef Value sample_of(Value v, Py_ssize_t sample):
    """One sample of a value with samples along its first axis."""
    cdef tuple shape = shape_of(v)
    v = bind1(OP_SLICE, ((sample, 1, 1),) + tuple([(0, extent, 1) for extent in shape[1:]]), v)
    return bind1(OP_RESHAPE, shape[1:], v)


cdef object described(object x):
    if isinstance(x, (tuple, list)):
        return f"a {type(x).__name__} of {len(x)}"
    return "None" if x is None else f"a {type(x).__name__}"

cdef Value by_rule(Functions given, object params, PyObject **args, int n, Level level, Algebra algebra, list primals):
    """Apply a primitive with functions as rules degree by degree, lowest first.

    With a jvp, D y = jvp(x, y; D x). An implicit function y(x) solves R(x, y) = 0. When y is known to some degree, the
    correction of the remaining residual gives the next degree (Newton's method in the algebra). Without degrees, each
    step corrects all coefficients, and the result is right for one more power of the nilpotent elements.
    """
    cdef list out = [None] * algebra.dim
    out[0] = bind_list(given.op, params, primals)
    if given.implicit:
        return by_residual(given, params, args, n, level, algebra, primals, out)
    if level.lifting is None:
        level.lifting = []
    if given.op in level.lifting:
        raise NotImplementedError(f"{given.name}: its jvp applies {given.name} to what it differentiates, so Taylor "
                                  f"coefficients cannot be found from it; give residual and correction instead of jvp")
    level.lifting.append(given.op)
    try:
        return by_jvp(given, params, args, n, level, algebra, out)
    finally:
        level.lifting.pop()


cdef Value by_residual(Functions given, object params, PyObject **args, int n, Level level, Algebra algebra,
                       list primals, list out):
    cdef list ins
    cdef bytearray room = bytearray(2 * n * sizeof(PyObject *))
    cdef PyObject **p = <PyObject **><char *>room
    cdef PyObject **bottom = p + n
    cdef Algebra quotient
    cdef Value left
    cdef int degree, i, k
    for i in range(n):
        bottom[i] = <PyObject *>primals[i]
    for degree in range(1, algebra.top + 1):
        quotient = algebra.truncated(degree) if algebra.graded else algebra
        ins = [truncated(<Value>args[i], level, quotient) for i in range(n)]
        for i in range(n):
            p[i] = <PyObject *>ins[i]
        left = given.residual(params, p, n, make(level, quotient, out))
        for k in range(1, algebra.dim):
            if (algebra.degrees[k] == degree or not algebra.graded) and part(left, level, k) is not None:
                out[k] = add(<Value>out[k], given.correction(params, bottom, n, <Value>out[0], part(left, level, k)))
    return make(level, algebra, out)


cdef Value by_jvp(Functions given, object params, PyObject **args, int n, Level level, Algebra algebra, list out):
    cdef list ins, dots
    cdef bytearray room = bytearray(2 * n * sizeof(PyObject *))
    cdef PyObject **p = <PyObject **><char *>room
    cdef PyObject **dot = p + n
    cdef Algebra quotient
    cdef Value moved
    cdef int degree, i, k
    for degree in range(1, algebra.top + 1):
        quotient = algebra.truncated(degree)
        ins = [truncated(<Value>args[i], level, quotient) for i in range(n)]
        dots = [derived(<Value>args[i], level, quotient) for i in range(n)]
        for i in range(n):
            p[i] = <PyObject *>ins[i]
            dot[i] = NULL if dots[i] is None else <PyObject *>dots[i]
        moved = given.push(params, p, n, make(level, quotient, out), dot)
        if moved is None:
            return <Value>out[0]
        for k in range(1, algebra.dim):
            if algebra.degrees[k] == degree and part(moved, level, k) is not None:
                out[k] = times(part(moved, level, k), 1.0 / degree)
    return make(level, algebra, out)
