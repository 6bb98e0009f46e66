"""Functions with a gradient rule of their own (a Cell's `bprop`).

Design
------
The function runs with no level to record on, since its rule stands for all of it, and goes on the tape as one
instruction that calls the rule when it is swept. The rule need not be the transpose of a derivative, so the tape is
marked as not exact (tape.pyx says what follows). In forward mode the tangent is the transpose of the rule, which is
linear in its cotangent.
"""
from .array cimport ARRAY, DUAL, NODE, Value
from .gradient cimport ALL_INPUTS, NOTHING, gradients
from .nests cimport described, rebuilt, tensors_in
from .opcodes cimport *
from .rules cimport zeros_like
from .sweeps cimport CustomRule
from .tape cimport Node, Tape, settled, stripped
from .tensor cimport TensorBase, read, wrap
from .values cimport (Dual, Level, bind1, constant_of, current_level, make_dual, new_level, part, pop_level, push_level,
                      shape_of, type_of)


cdef class Hole:
    """Where a tensor stood in the arguments of a call; the rule holds none of the tape's own tensors."""


cdef Hole HOLE = Hole()


cdef object emptied(object x):
    """A nest with holes in place of its tensors."""
    if isinstance(x, TensorBase):
        return HOLE
    if isinstance(x, (tuple, list)):
        return rebuilt(x, [emptied(item) for item in x])
    if isinstance(x, dict):
        return {key: emptied(item) for key, item in x.items()}
    return x


cdef object refilled(object x, object tensors):
    """A nest with its holes filled, in order."""
    if x is HOLE:
        return next(tensors)
    if isinstance(x, (tuple, list)):
        return rebuilt(x, [refilled(item, tensors) for item in x])
    if isinstance(x, dict):
        return {key: refilled(item, tensors) for key, item in x.items()}
    return x


cdef int gradient_terms(str name, str where, object x, object result, list terms) except -1:
    """The gradients at the holes of one input, in order; None where the rule gave none."""
    if x is HOLE:
        if result is not None and not isinstance(result, TensorBase):
            raise TypeError(f"{name}.bprop: gradient {where} is {described(result)}; expected a Tensor, or None for "
                            f"zero")
        terms.append(result)
    elif isinstance(x, (tuple, list)):
        if result is not None and (not isinstance(result, (tuple, list)) or len(result) != len(x)):
            raise TypeError(f"{name}.bprop: gradient {where} is {described(result)}; expected {described(x)}, the "
                            f"nesting of the input, or None for zero")
        for i, item in enumerate(x):
            gradient_terms(name, f"{where}[{i}]", item, None if result is None else result[i], terms)
    elif isinstance(x, dict):
        if result is not None and (not isinstance(result, dict) or result.keys() < x.keys()):
            raise TypeError(f"{name}.bprop: gradient {where} is {described(result)}; expected a dict with the keys of "
                            f"the input, {list(x)}, or None for zero")
        for key, item in x.items():
            gradient_terms(name, f"{where}[{key!r}]", item, None if result is None else result[key], terms)
    return 0


cdef list pulled_terms(str name, object backward, tuple template, list ins, object out, object dout):
    """What the rule gives for each tensor among the inputs: tensors, or None for zero."""
    cdef list terms = []
    cdef Py_ssize_t i
    args = refilled(template, iter([wrap(<Value>v) for v in ins]))
    result = backward(*args, out, dout)
    if isinstance(result, TensorBase):
        result = (result,)
    if not isinstance(result, (tuple, list)):
        raise TypeError(f"{name}.bprop: returned {described(result)}; expected one gradient (a Tensor) for each of the "
                        f"{len(template)} inputs")
    if len(result) < len(template):
        raise RuntimeError(f"{name}.bprop: returned {len(result)} gradients for {len(template)} inputs; expected one "
                           f"for each input")
    for i in range(len(template)):
        gradient_terms(name, str(i), template[i], result[i], terms)
    return terms


cdef class CellRule(CustomRule):
    """A function with a reverse rule written by the user, at one call."""
    cdef object backward
    cdef tuple template             # the arguments of the call, with holes for tensors
    cdef object out_template

    def __init__(self, str name, backward, tuple template, out_template):
        self.name = name
        self.backward = backward
        self.template = template
        self.out_template = out_template

    cdef list pull(self, list ins, list outs, list cts):
        cdef list terms = []
        cdef Py_ssize_t i
        cdef Value v
        out = refilled(self.out_template, iter([wrap(<Value>o) for o in outs]))
        dout = refilled(self.out_template, iter([wrap(zeros_like(<Value>o) if ct is None else <Value>ct)
                                                 for o, ct in zip(outs, cts)]))
        for i, term in enumerate(pulled_terms(self.name, self.backward, self.template, ins, out, dout)):
            if term is None:
                terms.append(None)
                continue
            v = read(<TensorBase>term)
            if shape_of(v) != shape_of(<Value>ins[i]):
                raise ValueError(f"{self.name}.bprop: a gradient has shape {shape_of(v)}; expected the shape of its "
                                 f"input, {shape_of(<Value>ins[i])}")
            terms.append(v if type_of(v) == type_of(<Value>ins[i]) else bind1(OP_CAST, type_of(<Value>ins[i]), v))
        return terms


def call_custom(forward, backward, tuple args, dict kwargs, str name):
    """forward(*args), differentiated by backward(*args, out, dout) -> one gradient for each input."""
    cdef Level top = None
    cdef Level level
    cdef Value v
    cdef Tape tape
    cdef bint reverse = False
    cdef list values = [], tensors = [], found = [], by_name = []
    tensors_in(args, tensors)
    tensors_in(kwargs, by_name)
    for t in by_name:
        if (<TensorBase>t).parameter or read(<TensorBase>t).kind != ARRAY:
            raise TypeError(f"{name}: a tensor that is differentiated was passed by keyword to a Cell with its own "
                            f"bprop, which is given positional inputs only; pass it by position")
    for t in tensors:
        v = settled(read(<TensorBase>t))
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
        return detached_call(forward, args, kwargs)
    # one level down: the same call on the primals of the highest level
    template = emptied(args)
    primals = [stripped(<Value>v) if reverse else part(<Value>v, top, 0) for v in values]
    out = call_custom(forward, backward, refilled(template, iter([wrap(<Value>v) for v in primals])), kwargs, name)
    tensors_in(out, found)
    if not reverse:
        return custom_forward(backward, template, values, primals, out, found, top, name)
    tape = <Tape>top
    rule = CellRule(name, backward, template, emptied(out))
    tape.append_list(OP_CUSTOM, rule, values, len(found))
    return refilled(rule.out_template, iter([wrap(tape.place(stripped((<TensorBase>t).value))) for t in found]))


cdef object detached_call(object forward, tuple args, dict kwargs):
    """The forward function itself, with no level to record on: its rule stands for all of it."""
    cdef Level hidden = new_level("a function with its own rule")
    cdef Level outer = current_level()
    cdef list found = []
    push_level(hidden)
    hidden.outer = None
    try:
        out = forward(*args, **kwargs)
    finally:
        hidden.outer = outer
        pop_level(hidden)
    tensors_in(out, found)
    return refilled(emptied(out), iter([wrap(constant_of((<TensorBase>t).value)) for t in found]))


cdef object custom_forward(object backward, tuple template, list values, list primals, object out, list found,
                           Level top, str name):
    """The forward derivative of a function that has only a reverse rule: the transpose of that rule, which is linear
    in its cotangent, so its gradient with respect to the cotangent along the tangents."""
    cdef list tangents = []
    cdef Value tangent
    out_template = emptied(out)

    def pulled(*douts):
        terms = pulled_terms(name, backward, template, primals, out, refilled(out_template, iter(douts)))
        return tuple([wrap(zeros_like(<Value>v)) if term is None else term for term, v in zip(terms, primals)])

    for v in values:
        tangent = part(<Value>v, top, 1)
        tangents.append(wrap(zeros_like(<Value>v) if tangent is None else tangent))
    zeros = tuple([wrap(zeros_like((<TensorBase>o).value)) for o in found])
    moved = gradients(name, pulled, zeros, {}, ALL_INPUTS, None, NOTHING, tuple(tangents), True, False, False)[2]
    return refilled(out_template, iter([wrap(make_dual(top, (<TensorBase>o).value, (<TensorBase>m).value))
                                        for o, m in zip(found, moved)]))
