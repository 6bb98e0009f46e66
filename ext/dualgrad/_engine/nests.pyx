"""Nests of tuples, lists and dicts with tensors in them: lifted, collected, put together again.

What a transform takes and returns may be any nest. The functions here walk one, always in the same order, and never
change it.
"""
cimport numpy as cnp

from .array cimport NODE, Value, is_complex, is_inexact
from .tape cimport Node, Tape, settled, stripped
from .tensor cimport TensorBase, read, wrap
from .values cimport same_shape_of, shape_of, type_of


cdef bint holds_tensor(object x):
    """Whether there is a tensor in a nest of tuples, lists and dicts."""
    if isinstance(x, TensorBase):
        return True
    if isinstance(x, (tuple, list)):
        for item in x:
            if holds_tensor(item):
                return True
    elif isinstance(x, dict):
        for item in x.values():
            if holds_tensor(item):
                return True
    return False


cdef object rebuilt(object like, list items):
    """A tuple or list of the kind of another."""
    if type(like) is tuple:
        return tuple(items)
    if type(like) is list:
        return items
    if hasattr(like, "_fields"):
        return type(like)(*items)
    return tuple(items) if isinstance(like, tuple) else items


cdef object lift(Tape tape, object x, list leaves):
    """The same nest with every tensor replaced by a leaf of the tape."""
    cdef Value v
    cdef Node node
    if isinstance(x, TensorBase):
        v = settled(read(<TensorBase>x))
        node = tape.leaf(stripped(v), v if v.kind == NODE else None)
        leaves.append(node.slot)
        if (<TensorBase>x).parameter and not x.requires_grad:
            return wrap(v)          # frozen: the function sees a constant of this level, the leaf stays unused
        return wrap(node)
    if isinstance(x, (tuple, list)):
        return rebuilt(x, [lift(tape, item, leaves) for item in x])
    if isinstance(x, dict):
        return {key: lift(tape, item, leaves) for key, item in x.items()}
    return x


cdef int collect(Tape tape, object out, list slots) except -1:
    """The slots of the tensors of an output, in order; -1 for those that are constants of the tape."""
    cdef Value v
    if isinstance(out, TensorBase):
        v = settled(read(<TensorBase>out))
        slots.append((<Node>v).slot if v.kind == NODE and (<Node>v).level is tape else -1)
    elif isinstance(out, (tuple, list)):
        for item in out:
            collect(tape, item, slots)
    elif isinstance(out, dict):
        for item in out.values():
            collect(tape, item, slots)
    elif callable(out) and not isinstance(out, type):
        raise TypeError(f"{tape.name}: the function returned a function ({out!r}); a derivative of a function that "
                        f"returns functions has no meaning, return tensors")
    return 0


cdef object replaced(Tape tape, object out, dict exported):
    """The output with values of the closed tape replaced by what left it."""
    cdef Value v
    if isinstance(out, TensorBase):
        v = read(<TensorBase>out)
        if v.kind == NODE and (<Node>v).level is tape:
            return wrap(<Value>exported[(<Node>v).slot])
        return wrap(v)
    if isinstance(out, (tuple, list)):
        return rebuilt(out, [replaced(tape, item, exported) for item in out])
    if isinstance(out, dict):
        return {key: replaced(tape, item, exported) for key, item in out.items()}
    return out


cdef object arranged(object x, list gradients, Py_ssize_t *at):
    """Gradients in the nest of the input they belong to."""
    if isinstance(x, TensorBase):
        at[0] += 1
        return wrap(<Value>gradients[at[0] - 1])
    if isinstance(x, (tuple, list)):
        return rebuilt(x, [arranged(item, gradients, at) for item in x if holds_tensor(item)])
    return {key: arranged(item, gradients, at) for key, item in x.items() if holds_tensor(item)}


cdef int collect_quietly(Tape tape, object out, list slots) except -1:
    cdef Value v
    if isinstance(out, TensorBase):
        v = (<TensorBase>out).value
        if v is not None and v.kind == NODE and (<Node>v).level is tape and (<Node>v).slot not in slots:
            slots.append((<Node>v).slot)
    elif isinstance(out, (tuple, list)):
        for item in out:
            collect_quietly(tape, item, slots)
    elif isinstance(out, dict):
        for item in out.values():
            collect_quietly(tape, item, slots)
    return 0


cdef int tensors_in(object x, list found) except -1:
    if isinstance(x, TensorBase):
        found.append(x)
    elif isinstance(x, (tuple, list)):
        for item in x:
            tensors_in(item, found)
    elif isinstance(x, dict):
        for item in x.values():
            tensors_in(item, found)
    return 0


cdef class Hole:
    """Where a tensor stood in the arguments of a call; what is kept of it holds none of the tape's own tensors."""


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


cdef object described(object x):
    if isinstance(x, (tuple, list)):
        return f"a {type(x).__name__} of {len(x)}"
    if isinstance(x, TensorBase):
        return f"one tensor of shape {x.shape}"
    return f"a {type(x).__name__}"


cdef tuple split_aux(str name, object out):
    """For has_aux=True: the entry that is differentiated, and the others."""
    if not isinstance(out, (tuple, list)) or len(out) < 2:
        raise ValueError(f"{name}: has_aux=True needs a function that returns a tuple of two or more, the first entry "
                         f"to be differentiated; it returned {described(out)}")
    return out[0], tuple(out[1:])


cdef bint belongs(Value derivative, Value v):
    """Whether a tangent or cotangent has the type of what it belongs to; that of an integer may be floating too."""
    cdef int own = type_of(v), given = type_of(derivative)
    return own == given or (not is_inexact(own) and own != cnp.NPY_BOOL and is_inexact(given)
                            and not is_complex(given))


cdef Value tangent_of(str name, object x, object t, str where):
    """The value of a tangent, checked against the tensor it belongs to."""
    cdef Value v, d
    if not isinstance(t, TensorBase):
        raise TypeError(f"{name}: the tangent{where} is a {type(t).__name__}; expected a Tensor of shape {x.shape} and "
                        f"type {x.dtype}")
    v = (<TensorBase>x).value
    d = settled(read(<TensorBase>t))
    if not same_shape_of(v, d):
        raise ValueError(f"{name}: the tangent{where} has shape {t.shape}; expected the shape of its input, {x.shape}")
    if not belongs(d, v):
        raise TypeError(f"{name}: the tangent{where} has type {t.dtype}; expected the type of its input, {x.dtype}")
    return d


cdef int match_tangents(str name, object x, object t, str where, list found) except -1:
    """Values for the tensors of an input, checked against it."""
    if isinstance(x, TensorBase):
        found.append(tangent_of(name, x, t, where))
    elif isinstance(x, (tuple, list)):
        if not isinstance(t, (tuple, list)) or len(x) != len(t):
            raise ValueError(f"{name}: the tangents{where} do not have the nesting of the inputs, {described(x)}; got "
                             f"{described(t)}")
        for i, (item, t_item) in enumerate(zip(x, t)):
            match_tangents(name, item, t_item, f"{where}[{i}]", found)
    elif isinstance(x, dict):
        if not isinstance(t, dict) or x.keys() != t.keys():
            raise ValueError(f"{name}: the tangents{where} do not have the keys of the input, {list(x)}")
        for key, item in x.items():
            match_tangents(name, item, t[key], f"{where}[{key!r}]", found)
    return 0


cdef object with_tensors(object x, list tensors, Py_ssize_t *at):
    """A nest with its tensors replaced, in order; what is no tensor stays."""
    if isinstance(x, TensorBase):
        at[0] += 1
        return tensors[at[0] - 1]
    if isinstance(x, (tuple, list)):
        return rebuilt(x, [with_tensors(item, tensors, at) for item in x])
    if isinstance(x, dict):
        return {key: with_tensors(item, tensors, at) for key, item in x.items()}
    return x


# --------------------------------------------------------------------------------------------------- sensitivities

cdef int match(str name, object out, object sens, str where, list seeds) except -1:
    """Seeds for the tensors of an output, checked against it."""
    cdef Value v, s
    if isinstance(out, TensorBase):
        if not isinstance(sens, TensorBase):
            if isinstance(sens, (tuple, list)):
                raise ValueError(f"{name}: the sensitivity{where} is a {type(sens).__name__} of {len(sens)}, but the "
                                 f"output there is one tensor of shape {shape_of((<TensorBase>out).value)}; pass one "
                                 f"tensor")
            raise TypeError(f"{name}: the sensitivity{where} is a {type(sens).__name__}; expected a Tensor of shape "
                            f"{shape_of((<TensorBase>out).value)} and type {out.dtype}")
        v = read(<TensorBase>out)
        s = read(<TensorBase>sens)
        if not same_shape_of(v, s):
            raise ValueError(f"{name}: the sensitivity{where} has shape {shape_of(s)}; expected the shape of the "
                             f"output, {shape_of(v)}")
        if not belongs(s, v):
            raise TypeError(f"{name}: the sensitivity{where} has type {sens.dtype}; expected the type of the output, "
                            f"{out.dtype}")
        seeds.append(s)
    elif isinstance(out, (tuple, list)):
        if not isinstance(sens, (tuple, list)):
            raise (ValueError if isinstance(sens, TensorBase) else TypeError)(
                f"{name}: the sensitivity{where} is a {type(sens).__name__}; expected a tuple of {len(out)}, one entry "
                f"for each output")
        if len(out) != len(sens):
            raise ValueError(f"{name}: the sensitivity{where} has {len(sens)} entries; expected {len(out)}, one for "
                             f"each output")
        for i, (item, s_item) in enumerate(zip(out, sens)):
            match(name, item, s_item, f"{where}[{i}]", seeds)
    elif isinstance(out, dict):
        if not isinstance(sens, dict) or sens.keys() != out.keys():
            raise ValueError(f"{name}: the sensitivity{where} does not have the keys of the output, {list(out)}")
        for key, item in out.items():
            match(name, item, sens[key], f"{where}[{key!r}]", seeds)
    return 0
