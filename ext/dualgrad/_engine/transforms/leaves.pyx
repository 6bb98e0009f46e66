"""Leaves of the pytrees that a transform takes and returns. They are lifted to a tape, collected from it, and matched
with given tangents and sensitivities."""
cimport numpy as cnp

import types

from ..arrays.array import np
from ..arrays.array cimport ARRAY, NODE, Array, Value, is_complex, is_inexact
from ..arrays.shared cimport apart
from .containers cimport DICT, DICTS, LEAF, children_of, described, kind_of
from .pytrees cimport Pairing, holds_tensor, in_place, tensors_of
from ..tape.nodes cimport without_closed
from ..tape.tape cimport Node, Tape, stripped
from .handles cimport TensorBase, heir, hooks_of, note_operand, noting, read, relate, value_in
from ..values.levels cimport same_shape_of, shape_of, type_of


# --------------------------------------------------------------------------------------------- arguments and results

cdef object lifted(Tape tape, TensorBase x, list leaves):
    """A tensor as a leaf of the tape."""
    cdef Value v = without_closed(read(x))
    if v.kind == ARRAY:
        v = apart(<Array>v)             # the tape reads it later
    cdef Node node = tape.leaf(stripped(v), v if v.kind == NODE else None)
    note_operand(x)
    leaves.append(node.slot)
    if x.parameter and not x.requires_grad:
        return heir(x, v)           # frozen: the function sees a constant of this level, the leaf stays unused
    cdef TensorBase seen = heir(x, node)
    seen.hooks = hooks_of(x)        # the function may take a gradient by it too
    return seen


cdef object lift(Tape tape, object x, list leaves):
    """The same nest with every tensor replaced by a leaf of the tape."""
    if isinstance(x, TensorBase):
        return lifted(tape, <TensorBase>x, leaves)
    return in_place(x, [lifted(tape, <TensorBase>t, leaves) for t in tensors_of(x)])


cdef int collect(Tape tape, object out, list slots) except -1:
    """Append the slots of an output's tensors to `slots`, in order, -1 for constants of the tape. Returns the number of
    constants; TypeError without a tensor."""
    cdef Value v
    cdef int constants = 0
    for t in (out,) if isinstance(out, TensorBase) else tensors_of(out):
        v = without_closed(read(<TensorBase>t))
        note_operand(t)
        if v.kind == NODE and (<Node>v).level is tape:
            slots.append((<Node>v).slot)
        else:
            slots.append(-1)
            constants += 1
    if not slots:
        check_result(tape.name, out)
    return constants


cdef int check_result(str name, object out) except -1:
    """Raise unless a differentiated function returned a tensor, or a nest with one in it."""
    if holds_tensor(out):
        return 0
    what = described(out)
    cut = ("return a Tensor: where its numbers were taken out (float(), item(), asnumpy(), a function of NumPy) the "
           "derivative was cut, and a NumPy array that is given as an argument is a constant")
    if kind_of(out) != LEAF:
        what += " without a Tensor in it"
        remedy = cut if children_of(out) else "return a Tensor"
    elif out is None:
        remedy = "return a Tensor (is there a return statement?)"
    elif isinstance(out, (int, float, complex)) or isinstance(out, np.ndarray) or isinstance(out, np.generic):
        remedy = cut
    elif isinstance(out, types.CoroutineType):
        out.close()
        remedy = "return a Tensor: await what is asynchronous elsewhere"
    elif isinstance(out, types.GeneratorType) or isinstance(out, types.AsyncGeneratorType):
        remedy = "return a tuple or list of what it yields"
    elif callable(out) and not isinstance(out, type):
        what = f"a function, {getattr(out, '__qualname__', type(out).__name__)}"
        remedy = "a derivative of a function that returns functions has no meaning, return a Tensor"
    else:
        remedy = "return a Tensor, or register the class with dualgrad.register_pytree if it holds Tensors"
    raise TypeError(f"{name}: the function returned {what}; expected a Tensor, or a nest of tuples, lists, dicts, "
                    f"dataclasses or registered classes with a Tensor in it; {remedy}")


cdef int collect_quietly(Tape tape, object out, list slots) except -1:
    """Append the slots of an output's tensors that are on the tape to `slots`, each once."""
    cdef Value v
    cdef set met = set(slots)
    for t in (out,) if isinstance(out, TensorBase) else tensors_of(out):
        v = value_in(<TensorBase>t)
        if v is not None and v.kind == NODE and (<Node>v).level is tape and (<Node>v).slot not in met:
            met.add((<Node>v).slot)
            slots.append((<Node>v).slot)
    return 0


cdef object left(Tape tape, TensorBase t, dict exported):
    """A new tensor for an output when its tape is closed."""
    cdef Value v = read(t)
    if v.kind == NODE and (<Node>v).level is tape:
        return heir(t, <Value>exported[(<Node>v).slot])
    return heir(t, v)


cdef object replaced(Tape tape, object out, dict exported):
    """The output, with values of the closed tape replaced by exported values."""
    if isinstance(out, TensorBase):
        return left(tape, <TensorBase>out, exported)
    cdef list before = tensors_of(out), after = [left(tape, <TensorBase>t, exported) for t in before]
    relate(before, after)
    return in_place(out, after)


cdef tuple split_aux(str name, object out):
    """For has_aux=True: the entry that is differentiated, and the remaining entries."""
    if not isinstance(out, (tuple, list)) or len(out) < 2:
        raise ValueError(f"{name}: has_aux=True needs a function that returns a tuple of two or more, the first entry "
                         f"to be differentiated; it returned {described(out)}")
    return out[0], tuple(out[1:])


# ------------------------------------------------------------------------------------------------------------ tangents

cdef bint belongs(Value derivative, Value v):
    """True if a tangent or cotangent has the type of its value. For an integer value, it may also be floating."""
    cdef int own = type_of(v), given = type_of(derivative)
    return own == given or (not is_inexact(own) and own != cnp.NPY_BOOL and is_inexact(given)
                            and not is_complex(given))


cdef Value tangent_of(str name, object x, object t, object where):
    """The value of a tangent, checked against the tensor it belongs to."""
    cdef Value v, d
    if not isinstance(t, TensorBase):
        raise TypeError(f"{name}: the tangent{where} is a {type(t).__name__}; expected a Tensor of shape {x.shape} and "
                        f"type {x.dtype}")
    v = value_in(<TensorBase>x)
    d = without_closed(read(<TensorBase>t))
    note_operand(x)
    note_operand(t)
    if not same_shape_of(v, d):
        raise ValueError(f"{name}: the tangent{where} has shape {t.shape}; expected the shape of its input, {x.shape}")
    if not belongs(d, v):
        raise TypeError(f"{name}: the tangent{where} has type {t.dtype}; expected the type of its input, {x.dtype}")
    return d


cdef class LeafTangents(Pairing):
    """Tangents for the tensors of an input."""

    cdef int leaf(self, str name, object like, object given, bint named, object where, list found) except -1:
        if isinstance(like, TensorBase):
            found.append(tangent_of(name, like, given, where))
        return 0

    cdef object misfit(self, str name, object like, object given, object where):
        cdef int kind = kind_of(like)
        if not holds_tensor(like):
            return None
        expected = f"have the keys of the input, {list(like)}" if kind == DICT or kind == DICTS else \
            f"have the nesting of the inputs, {described(like)}"
        return ValueError(f"{name}: the tangents{where} do not {expected}; got {described(given)}")


cdef LeafTangents TANGENTS = LeafTangents()


cdef int match_tangents(str name, object x, object t, object where, list found) except -1:
    """Append the tangents for an input's tensors to `found`, checked against the input."""
    return TANGENTS.walk(name, x, t, False, where, found)


# --------------------------------------------------------------------------------------------------- sensitivities

cdef class Sensitivities(Pairing):
    """Seeds for the tensors of an output."""

    cdef int leaf(self, str name, object like, object given, bint named, object where, list found) except -1:
        if isinstance(like, TensorBase):
            found.append(seed_of(name, <TensorBase>like, given, where))
        return 0

    cdef object misfit(self, str name, object like, object given, object where):
        return misfit(name, like, given, where) if holds_tensor(like) else None


cdef Sensitivities SENSITIVITIES = Sensitivities()


cdef int match(str name, object out, object sens, object where, list seeds) except -1:
    """Append the seeds for an output's tensors to `seeds`, checked against the output."""
    if noting() is not None:
        for t in tensors_of(sens):
            note_operand(t)
    if isinstance(out, TensorBase):
        seeds.append(seed_of(name, <TensorBase>out, sens, where))
    elif not match_tuples(out, sens, seeds):
        SENSITIVITIES.walk(name, out, sens, False, where, seeds)
    return 0


cdef bint match_tuples(object out, object sens, list seeds) except -1:
    """`match` for a tuple of tensors and sensitivities that fit, without a walk. False, and no seeds, for others."""
    cdef Py_ssize_t i, before = len(seeds)
    cdef Value s
    if type(out) is not tuple or type(sens) is not tuple or len(<tuple>out) != len(<tuple>sens):
        return False
    for i in range(len(<tuple>out)):
        x, given = (<tuple>out)[i], (<tuple>sens)[i]
        s = read(<TensorBase>given) if isinstance(x, TensorBase) and isinstance(given, TensorBase) else None
        if s is None or not fits(s, read(<TensorBase>x)):
            del seeds[before:]
            return False
        seeds.append(s)
    return True


cdef bint fits(Value derivative, Value v):
    """True if a tangent or cotangent has a shape and type that fit its value."""
    return same_shape_of(v, derivative) and belongs(derivative, v)


cdef Value seed_of(str name, TensorBase out, object sens, object where):
    """The value of a sensitivity, checked against the tensor it belongs to."""
    cdef Value v, s
    if not isinstance(sens, TensorBase):
        if kind_of(sens) != LEAF:
            raise ValueError(f"{name}: the sensitivity{where} is {described(sens)}, but the output there is one tensor "
                             f"of shape {shape_of(out.value)}; pass one tensor")
        raise TypeError(f"{name}: the sensitivity{where} is a {type(sens).__name__}; expected a Tensor of shape "
                        f"{shape_of(out.value)} and type {out.dtype}")
    v = read(out)
    s = read(<TensorBase>sens)
    if not same_shape_of(v, s):
        raise ValueError(f"{name}: the sensitivity{where} has shape {shape_of(s)}; expected the shape of the output, "
                         f"{shape_of(v)}")
    if not belongs(s, v):
        raise TypeError(f"{name}: the sensitivity{where} has type {sens.dtype}; expected the type of the output, "
                        f"{out.dtype}")
    return s


cdef object misfit(str name, object out, object sens, object where):
    """The error for a sensitivity that does not have the nesting of its output."""
    cdef int kind = kind_of(out)
    if kind == DICT or kind == DICTS:
        return ValueError(f"{name}: the sensitivity{where} does not have the keys of the output, {list(out)}; got "
                          f"{described(sens)}")
    if not isinstance(out, (tuple, list)):
        return ValueError(f"{name}: the sensitivity{where} is {described(sens)}; expected {described(out)}, like the "
                          f"output")
    if not isinstance(sens, (tuple, list)):
        return (ValueError if isinstance(sens, TensorBase) else TypeError)(
            f"{name}: the sensitivity{where} is a {type(sens).__name__}; expected a tuple of {len(out)}, one entry "
            f"for each output")
    return ValueError(f"{name}: the sensitivity{where} has {len(sens)} entries; expected {len(out)}, one for each "
                      f"output")


def checked_result(str name, out):
    """The result of a differentiated function; TypeError without a tensor in it."""
    check_result(name, out)
    return out
