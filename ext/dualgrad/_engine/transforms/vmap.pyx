"""Calls on many samples at once: the engine's side of `vmap`.

Design
------
Inputs become batches of a level (batch.pyx), the function runs once, and its results are unpacked. Under an open
reverse level the call gets a tape of its own, whose leaves are those batches. The call becomes one instruction of the
outer tape (nested.pyx), so nodes stay outermost.
"""
cimport numpy as cnp

from ..arrays.array import np
from ..arrays.array cimport ARRAY, BATCH, NODE, Array, Value, from_ndarray, scalar
from ..arrays.shared cimport apart
from ..values.batch cimport enter, leave, moved_axis
from ..tape.nested cimport SubMap
from .gradient cimport links_of, outer_reverse, release, remember_outer
from ..primitives.execute cimport deferring, may_defer
from ..primitives.opcodes cimport *
from .containers cimport aligned_children, children_of, described
from .pytrees cimport Pairing, in_place, tensors_of
from ..tape.report cimport report
from ..tape.runs cimport Run
from ..tape.nodes cimport holds_node, without_closed, target_of
from ..tape.tape cimport Node, Tape, new_tape, stripped
from ..tape.tape import observers
from .handles cimport (TRANSFORMED, Moment, TensorBase, back_to, entering, heir, hooks_of, note_operand, noting, now,
                       read, value_in, wrap)
from ..values.levels cimport (Batch, BatchLevel, Level, bind1, bind2, current_level, ndim_of, new_batch_level,
                              pop_level, push_level, settle, shape_of, show_leaving, size_of, type_of)


cdef class Call:
    """The data that the parts of one call share."""
    cdef str name
    cdef BatchLevel level
    cdef Tape tape                  # under an outer reverse level, else None
    cdef list inputs                # slots of the leaves that are batched
    cdef list links                 # the values that these leaves stand for
    cdef list slots                 # slots of the outputs
    cdef dict results               # slot -> value outside, samples first


cdef class Axes(Pairing):
    """The axis of each tensor of a pytree, from one axis for all of it or a pytree of axes like it. Below a field,
    leaves that are not tensors accept any entry."""
    cdef str what

    cdef int leaf(self, str name, object like, object given, bint named, object where, list found) except -1:
        if isinstance(like, TensorBase):
            found.append(given)
        elif given is not None and not named and self.what == "in_axes":
            raise TypeError(f"{name}: in_axes names axis {given} of {described(like)}; expected a Tensor there, or "
                            f"None in in_axes")
        return 0

    cdef list children(self, object like, object given):
        if given is None or isinstance(given, int):
            return [given] * len(children_of(like))
        return aligned_children(like, given, False)

    cdef object misfit(self, str name, object like, object given, object where):
        return ValueError(f"{name}: {self.what} {given!r} does not have the nesting of what it belongs to, "
                          f"{described(like)}; pass one axis for all of it, or a nest of axes like it")


cdef Axes IN_AXES = Axes()
cdef Axes OUT_AXES = Axes()
IN_AXES.what = "in_axes"
OUT_AXES.what = "out_axes"


cdef int checked_axis(Call call, object axis, int ndim, tuple shape, str what) except -1:
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f"{call.name}: {what} holds {axis!r}; expected an int, or None")
    if not -ndim <= axis < ndim:
        raise ValueError(f"{call.name}: {what} names axis {axis}, but the tensor there has shape {shape}")
    return axis % ndim


cdef object lift_samples(Call call, TensorBase x, object axes):
    """A tensor as a batch, if it is mapped."""
    cdef Value v = without_closed(read(x))
    cdef Node node
    cdef TensorBase sample
    cdef int axis
    if v.kind == ARRAY:
        v = apart(<Array>v)
    note_operand(x)
    if axes is None:
        return heir(x, v)
    axis = checked_axis(call, axes, ndim_of(v), shape_of(v), "in_axes")
    v = moved_axis(v, axis, 0)
    if call.level.size < 0:
        call.level.size = shape_of(v)[0]
    elif call.level.size != shape_of(v)[0]:
        raise ValueError(f"{call.name}: mapped axes have different lengths, {call.level.size} and "
                         f"{shape_of(v)[0]}; expected one sample of each input at a time")
    if call.tape is None or not holds_node(v):
        sample = heir(x, enter(call.level, v))
    else:
        node = call.tape.leaf(enter(call.level, stripped(v)), None)
        call.inputs.append(node.slot)
        call.links.append(v)
        sample = heir(x, node)
    sample.hooks = hooks_of(x)
    return sample


cdef object drop_out(Call call, TensorBase t):
    """A tensor of the output. If it is on the tape, it becomes a batch and its slot is noted."""
    cdef Value v = read(t)
    note_operand(t)
    if call.tape is not None and v.kind == NODE and (<Node>v).level is call.tape:
        if stripped(v).kind != BATCH or (<Batch>stripped(v)).level is not call.level:   # the same for every sample
            v = bind2(OP_ADD, None, v, enter(call.level, repeated_zero(call, v)))
        if (<Node>v).slot not in call.slots:
            call.slots.append((<Node>v).slot)
    return heir(t, v)


cdef Value repeated_zero(Call call, Value v):
    """A zero for each sample that broadcasts against a value."""
    return bind1(OP_BROADCAST_TO, (call.level.size,) + (1,) * ndim_of(v), scalar(type_of(v), 0.0))


cdef object unpack(Call call, TensorBase t, object axes):
    """A tensor of the output with the samples along the wanted axis."""
    cdef Value v = value_in(t)
    cdef int axis
    if v.kind == NODE and (<Node>v).level is call.tape:
        v = <Value>call.results[(<Node>v).slot]
    else:
        v = leave(call.level, without_closed(v))
    if axes is None:
        raise ValueError(f"{call.name}: out_axes is None for an output; expected the axis the samples go along")
    axis = checked_axis(call, axes, ndim_of(v), shape_of(v), "out_axes")
    return heir(t, moved_axis(v, 0, axis))


def basis(TensorBase x not None, Py_ssize_t first, Py_ssize_t rows):
    """Some unit vectors of a tensor's space, in its shape, along a new first axis: rows of the identity."""
    cdef Value v = value_in(x)
    cdef tuple shape = shape_of(v)
    cdef Array a
    units = np.eye(rows, size_of(v), first, dtype=cnp.PyArray_DescrFromType(type_of(v)))
    a = from_ndarray(units.reshape((rows,) + shape))
    a.basis = True
    return wrap(a)


def run_vmap(str name, fn, tuple args, dict kwargs, in_axes, out_axes):
    """The results of a function for every sample of its inputs."""
    if may_defer():
        return deferring(run_vmap, (name, fn, args, kwargs, in_axes, out_axes), {})
    cdef Call call = Call()
    cdef Level opened
    cdef list axes = []
    cdef Moment before
    if noting() is not None:
        entering((TRANSFORMED, name, in_axes, out_axes))
    call.name = name
    call.level = new_batch_level(name)
    call.inputs = []
    call.links = []
    call.slots = []
    call.results = {}
    if outer_reverse(current_level()):
        call.tape = new_tape(name)
    IN_AXES.walk(call.name, args, in_axes, False, "", axes)
    lifted = in_place(args, [lift_samples(call, <TensorBase>t, axis) for t, axis in zip(tensors_of(args), axes)])
    if call.level.size < 0:
        raise ValueError(f"{name}: in_axes is {in_axes!r}, so nothing is mapped over; expected the axis of one input "
                         f"at least")
    opened = call.level if call.tape is None else call.tape
    push_level(opened)
    call.level.tape = call.tape
    try:
        out = fn(*lifted, **kwargs)
        settle(opened)
        out = in_place(out, [drop_out(call, <TensorBase>t) for t in tensors_of(out)])
    except ValueError as error:
        show_leaving(error)
        raise
    finally:
        pop_level(opened)
        call.level.open = False
        call.level.tape = None
    before = now()
    if call.tape is not None:
        compose_map(call)
        back_to(before)
    axes = []
    OUT_AXES.walk(call.name, out, out_axes, False, "", axes)
    return in_place(out, [unpack(call, <TensorBase>t, axis) for t, axis in zip(tensors_of(out), axes)])


cdef int compose_map(Call call) except -1:
    """A call under a reverse level, as one instruction of the outer tape."""
    cdef SubMap sub = SubMap.__new__(SubMap)
    cdef Run run = Run()
    cdef Tape target
    cdef list leaf_slots, leaf_links, operands, results
    leaf_slots, leaf_links = links_of(call.tape)
    operands = call.links + leaf_links
    remember_outer(call.tape, operands)
    target = target_of(operands, [call.tape.values.get(slot) for slot in call.slots])
    results = [leave(call.level, call.tape.values.get(slot)) for slot in call.slots]
    if target is not None:
        run.tape = call.tape
        run.primals = call.tape.values
        run.samples = call.level
        sub.name = call.name
        sub.run = run
        sub.level = call.level
        sub.input_slots = call.inputs
        sub.leaf_slots = leaf_slots
        sub.value_slots = call.slots
        results = target.write(OP_SUBTAPE, sub, operands, results)
        target.exact = target.exact and call.tape.exact
    call.results.update(zip(call.slots, results))
    for observer in observers:
        observer(report(call.tape))
    release(call.tape)
    return 0
