"""Functions with a gradient rule of their own (a Cell's `bprop`).

Design
------
The function runs with no level to record on, since its rule stands for all of it, and goes on the tape as one
instruction that calls the rule when it is swept. The rule need not be the transpose of a derivative, so the tape is
marked as not exact (tape.pyx says what follows). In forward mode the tangent is the transpose of the rule, which is
linear in its cotangent.
"""
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject

from .array cimport DUAL, NODE, Value
from .gradient cimport ALL_INPUTS, NOTHING, gradients
from .nests cimport described, filled, tensors_in
from .opcodes cimport *
from .rules cimport zeros_like
from .sweeps cimport CustomRule
from .tape cimport Node, Tape, settle, stripped
from .tensor cimport TensorBase, read, wrap
from .values cimport (Dual, Level, array_of, bind1, current_level, make_dual, new_level, part, pop_level, push_level,
                      shape_of, type_of)


cdef class CellRule(CustomRule):
    """A function with a reverse rule written by the user, at one call."""
    cdef object backward
    cdef tuple template             # the arguments of the call; tensors are put in their places, which are empty
    cdef list places
    cdef object out_template

    def __init__(self, str name, backward, tuple template, list places, out_template):
        self.name = name
        self.backward = backward
        self.template = template
        self.places = places
        self.out_template = out_template

    cdef list pull(self, list ins, list outs, list cts):
        cdef list args = list(self.template)
        cdef list terms = []
        cdef Py_ssize_t i
        for i in range(len(self.places)):
            args[self.places[i]] = wrap(<Value>ins[i])
        out_tensors = [wrap(<Value>out) for out in outs]
        dout_tensors = [wrap(zeros_like(<Value>out) if ct is None else <Value>ct) for out, ct in zip(outs, cts)]
        out = filled(self.out_template, iter(out_tensors))
        dout = filled(self.out_template, iter(dout_tensors))
        result = self.backward(*args, out, dout)
        if isinstance(result, TensorBase):
            result = (result,)
        if not isinstance(result, (tuple, list)):
            raise TypeError(f"{self.name}.bprop: returned {described(result)}; expected one gradient (a Tensor) for "
                            f"each of the {len(self.template)} inputs")
        if len(result) < len(self.template):
            raise RuntimeError(f"{self.name}.bprop: returned {len(result)} gradients for {len(self.template)} inputs; "
                               f"expected one for each input")
        for i in range(len(self.places)):
            term = result[self.places[i]]
            if term is None:
                terms.append(None)
                continue
            if not isinstance(term, TensorBase):
                raise TypeError(f"{self.name}.bprop: gradient {self.places[i]} is {described(term)}; expected a Tensor "
                                f"of shape {shape_of(<Value>ins[i])}, or None for zero")
            v = read(<TensorBase>term)
            if shape_of(<Value>v) != shape_of(<Value>ins[i]):
                raise ValueError(f"{self.name}.bprop: gradient {self.places[i]} has shape {shape_of(<Value>v)}; "
                                 f"expected the shape of its input, {shape_of(<Value>ins[i])}")
            if type_of(<Value>v) != type_of(<Value>ins[i]):
                v = bind1(OP_CAST, type_of(<Value>ins[i]), <Value>v)
            terms.append(v)
        return terms


def call_custom(forward, backward, tuple args, dict kwargs, str name):
    """forward(*args), differentiated by backward(*args, out, dout) -> one gradient for each input."""
    cdef Level top = None
    cdef Value v
    cdef Level level
    cdef Tape tape
    cdef bint reverse = False
    cdef list values = [], places = [], inner = list(args)
    cdef Py_ssize_t i
    cdef PyObject **operands
    for i in range(len(args)):
        if isinstance(args[i], TensorBase):
            v = read(<TensorBase>args[i])
            if v.kind == NODE and not (<Node>v).level.open:
                v = settle(<Node>v)
            places.append(i)
            values.append(v)
            if v.kind == NODE:
                level = (<Node>v).level
                if not reverse or level.serial > top.serial:
                    top = level
                reverse = True
            elif v.kind == DUAL and not reverse:
                level = (<Dual>v).level
                if level.open and (top is None or level.serial > top.serial):
                    top = level
    if top is None:
        return detached_call(forward, inner, kwargs, top)
    # one level down: the same call on the primals of the highest level
    for i in range(len(places)):
        v = <Value>values[i]
        inner[places[i]] = wrap(stripped(v) if reverse else part(v, top, 0))
    out = call_custom(forward, backward, tuple(inner), kwargs, name)
    found = []
    tensors_in(out, found)
    if not reverse:
        return custom_forward(backward, args, values, places, inner, out, found, top, name)
    tape = <Tape>top
    rule = CellRule(name, backward, tuple([None if isinstance(x, TensorBase) else x for x in args]), places, out)
    operands = <PyObject **>PyMem_RawMalloc(max(len(values), 1) * sizeof(PyObject *))
    if operands is NULL:
        raise MemoryError()
    try:
        for i in range(len(values)):
            operands[i] = <PyObject *>values[i]
        tape.append(OP_CUSTOM, rule, operands, len(values), len(found))
    finally:
        PyMem_RawFree(operands)
    placed = [wrap(tape.place(stripped((<TensorBase>t).value))) for t in found]
    return filled(out, iter(placed))


cdef object detached_call(object forward, list args, dict kwargs, Level top):
    """The forward function itself, with no level to record on: its rule stands for all of it."""
    cdef Level hidden = new_level("a function with its own rule")
    cdef Level outer = current_level()
    push_level(hidden)
    hidden.outer = None
    try:
        out = forward(*args, **kwargs)
    finally:
        hidden.outer = outer
        pop_level(hidden)
    found = []
    tensors_in(out, found)
    return filled(out, iter([wrap(array_of((<TensorBase>t).value)) for t in found]))


cdef object custom_forward(object backward, tuple args, list values, list places, list inner, object out, list found,
                           Level top, str name):
    """The forward derivative of a function that has only a reverse rule: the transpose of that rule, which is linear
    in its cotangent, so its gradient with respect to the cotangent along the tangents."""
    cdef Value t
    cdef list tangents = []
    cdef Py_ssize_t i

    def pulled(*douts):
        result = backward(*inner, out, filled(out, iter(douts)))
        result = (result,) if isinstance(result, TensorBase) else tuple(result)
        return tuple([result[place] for place in places])

    for i in range(len(values)):
        t = part(<Value>values[i], top, 1)
        tangents.append(wrap(zeros_like(<Value>values[i]) if t is None else t))
    zeros = tuple([wrap(zeros_like((<TensorBase>o).value)) for o in found])
    moved = gradients(name, pulled, zeros, {}, ALL_INPUTS, None, NOTHING, tuple(tangents), True, False, False)[2]
    results = [wrap(make_dual(top, (<TensorBase>o).value, (<TensorBase>m).value)) for o, m in zip(found, moved)]
    return filled(out, iter(results))
