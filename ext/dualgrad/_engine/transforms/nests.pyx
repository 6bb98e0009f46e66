"""Nests of pytrees with tensors in them: lifted, collected, put together again.

What a transform takes and returns may be any nest. The functions here walk one, always in the same order, and never
change it; what a node is they ask pytrees.pyx. Most are two walks: the tensors as a flat list, and others put in their
place.
"""
cimport numpy as cnp

import types

import numpy as np

from ..arrays.array cimport NODE, Value, is_complex, is_inexact
from .pytrees cimport (DICT, DICTS, LEAF, LIST, LISTS, NAMED, RECORD, REGISTERED, TUPLE, TUPLES, aligned, back, branch,
                       children_of, deeper, described, holds, kind_of, labels_of, rebuilt, with_some)
from ..tape.tape cimport Node, Tape, settled, stripped
from .tensor cimport TensorBase, read, wrap
from ..values.levels cimport same_shape_of, shape_of, type_of


# ----------------------------------------------------------------------------------------------------------- the walks

cdef bint holds_tensor(object x) except -1:
    """Whether there is a tensor in a nest."""
    return isinstance(x, TensorBase) or holds(x)


cdef int tensors_in(object x, list found) except -1:
    """The tensors of a nest, in order, added to a list."""
    if isinstance(x, TensorBase):
        found.append(x)
    elif kind_of(x) != LEAF:
        deeper()
        try:
            for child in children_of(x):
                tensors_in(child, found)
        finally:
            back()
    return 0


cdef list tensors_of(object x):
    """The tensors of a nest, in order."""
    cdef list found = []
    tensors_in(x, found)
    return found


cdef object with_tensors(object x, list tensors, Py_ssize_t *at):
    """A nest with its tensors replaced, in order; what is no tensor stays."""
    cdef list children
    cdef Py_ssize_t i
    if isinstance(x, TensorBase):
        at[0] += 1
        return tensors[at[0] - 1]
    if kind_of(x) == LEAF:
        return x
    children = children_of(x)
    deeper()
    try:
        for i in range(len(children)):
            children[i] = with_tensors(children[i], tensors, at)
    finally:
        back()
    return rebuilt(x, children)


cdef object in_place(object x, list tensors):
    """A nest with these tensors in the place of its own."""
    cdef Py_ssize_t at = 0
    return with_tensors(x, tensors, &at)


cdef object arranged(object x, list gradients, Py_ssize_t *at):
    """Gradients in the nest of the input they belong to. Tuples, lists and dicts leave out what holds no tensor; what
    has fields, and what is registered, keeps it."""
    cdef list children, kept = [], found = []
    cdef Py_ssize_t i
    cdef int kind
    if isinstance(x, TensorBase):
        at[0] += 1
        return gradients[at[0] - 1]
    kind = kind_of(x)
    if kind == LEAF:
        return x
    children = children_of(x)
    deeper()
    try:
        for i in range(len(children)):
            if holds_tensor(children[i]):
                children[i] = arranged(children[i], gradients, at)
                kept.append(i)
                found.append(children[i])
    finally:
        back()
    if kind == TUPLE or kind == TUPLES or kind == LIST or kind == LISTS or kind == DICT or kind == DICTS:
        return rebuilt(x, children) if len(found) == len(children) else with_some(x, kept, found)
    return rebuilt(x, children)


cdef class Hole:
    """Where a tensor stood in the arguments of a call; what is kept of it holds none of the tape's own tensors."""


cdef Hole HOLE = Hole()


cdef object emptied(object x):
    """A nest with holes in place of its tensors."""
    cdef list children
    cdef Py_ssize_t i
    cdef int kind
    if isinstance(x, TensorBase):
        return HOLE
    kind = kind_of(x)
    if kind == LEAF:
        return x
    children = children_of(x)
    deeper()
    try:
        for i in range(len(children)):
            children[i] = emptied(children[i])
    finally:
        back()
    return branch(x, children) if kind == REGISTERED else rebuilt(x, children)


cdef object refilled(object x, object tensors):
    """A nest with its holes filled, in order."""
    cdef list children
    cdef Py_ssize_t i
    if x is HOLE:
        return next(tensors)
    if kind_of(x) == LEAF:
        return x
    children = children_of(x)
    deeper()
    try:
        for i in range(len(children)):
            children[i] = refilled(children[i], tensors)
    finally:
        back()
    return rebuilt(x, children)


# --------------------------------------------------------------------------------------------- arguments and results

cdef object lifted(Tape tape, TensorBase x, list leaves):
    """A tensor as a leaf of the tape."""
    cdef Value v = settled(read(x))
    cdef Node node = tape.leaf(stripped(v), v if v.kind == NODE else None)
    leaves.append(node.slot)
    if x.parameter and not x.requires_grad:
        return wrap(v)              # frozen: the function sees a constant of this level, the leaf stays unused
    return wrap(node)


cdef object lift(Tape tape, object x, list leaves):
    """The same nest with every tensor replaced by a leaf of the tape."""
    if isinstance(x, TensorBase):
        return lifted(tape, <TensorBase>x, leaves)
    return in_place(x, [lifted(tape, <TensorBase>t, leaves) for t in tensors_of(x)])


cdef int collect(Tape tape, object out, list slots) except -1:
    """The slots of the tensors of an output, in order; -1 for those that are constants of the tape. TypeError if there
    is no tensor in it."""
    cdef Value v
    for t in (out,) if isinstance(out, TensorBase) else tensors_of(out):
        v = settled(read(<TensorBase>t))
        slots.append((<Node>v).slot if v.kind == NODE and (<Node>v).level is tape else -1)
    return 0 if slots else check_result(tape.name, out)


cdef int check_result(str name, object out) except -1:
    """A function that is differentiated returns a tensor, or a nest with one in it."""
    if holds_tensor(out):
        return 0
    what = described(out)
    cut = ("return a Tensor: where its numbers were taken out (float(), item(), asnumpy(), a function of NumPy) the "
           "derivative was cut")
    if kind_of(out) != LEAF:
        what += " without a Tensor in it"
        remedy = cut if children_of(out) else "return a Tensor"
    elif out is None:
        remedy = "return a Tensor (is there a return statement?)"
    elif isinstance(out, (int, float, complex, np.ndarray, np.generic)):
        remedy = cut
    elif isinstance(out, types.CoroutineType):
        out.close()
        remedy = "return a Tensor: await what is asynchronous elsewhere"
    elif isinstance(out, (types.GeneratorType, types.AsyncGeneratorType)):
        remedy = "return a tuple or list of what it yields"
    elif callable(out) and not isinstance(out, type):
        what = f"a function, {getattr(out, '__qualname__', type(out).__name__)}"
        remedy = "a derivative of a function that returns functions has no meaning, return a Tensor"
    else:
        remedy = "return a Tensor, or register the class with dualgrad.register_pytree if it holds Tensors"
    raise TypeError(f"{name}: the function returned {what}; expected a Tensor, or a nest of tuples, lists, dicts, "
                    f"dataclasses or registered classes with a Tensor in it; {remedy}")


cdef int collect_quietly(Tape tape, object out, list slots) except -1:
    """The slots of the tensors of an output that are on the tape, each once."""
    cdef Value v
    cdef set met = set(slots)
    for t in (out,) if isinstance(out, TensorBase) else tensors_of(out):
        v = (<TensorBase>t).value
        if v is not None and v.kind == NODE and (<Node>v).level is tape and (<Node>v).slot not in met:
            met.add((<Node>v).slot)
            slots.append((<Node>v).slot)
    return 0


cdef object left(Tape tape, TensorBase t, dict exported):
    """What is left of a tensor when the tape is closed."""
    cdef Value v = read(t)
    if v.kind == NODE and (<Node>v).level is tape:
        return wrap(<Value>exported[(<Node>v).slot])
    return wrap(v)


cdef object replaced(Tape tape, object out, dict exported):
    """The output with values of the closed tape replaced by what left it."""
    if isinstance(out, TensorBase):
        return left(tape, <TensorBase>out, exported)
    return in_place(out, [left(tape, <TensorBase>t, exported) for t in tensors_of(out)])


cdef tuple split_aux(str name, object out):
    """For has_aux=True: the entry that is differentiated, and the others."""
    if not isinstance(out, (tuple, list)) or len(out) < 2:
        raise ValueError(f"{name}: has_aux=True needs a function that returns a tuple of two or more, the first entry "
                         f"to be differentiated; it returned {described(out)}")
    return out[0], tuple(out[1:])


# ------------------------------------------------------------------------------------------------------------ tangents

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
    cdef list others, children
    cdef Py_ssize_t i
    cdef int kind
    if isinstance(x, TensorBase):
        found.append(tangent_of(name, x, t, where))
        return 0
    kind = kind_of(x)
    if kind == LEAF:
        return 0
    others = aligned(x, t, False)
    if others is None and not holds_tensor(x):
        return 0
    if others is None:
        expected = f"have the keys of the input, {list(x)}" if kind == DICT or kind == DICTS else \
            f"have the nesting of the inputs, {described(x)}"
        raise ValueError(f"{name}: the tangents{where} do not {expected}; got {described(t)}")
    children = children_of(x)
    labels = labels_of(x)
    deeper()
    try:
        for i in range(len(children)):
            match_tangents(name, children[i], others[i], where + labels[i], found)
    finally:
        back()
    return 0


# --------------------------------------------------------------------------------------------------- sensitivities

cdef int match(str name, object out, object sens, str where, list seeds) except -1:
    """Seeds for the tensors of an output, checked against it."""
    cdef list others, children
    cdef Py_ssize_t i
    if isinstance(out, TensorBase):
        seeds.append(seed_of(name, <TensorBase>out, sens, where))
        return 0
    if kind_of(out) == LEAF:
        return 0
    others = aligned(out, sens, False)
    if others is None and not holds_tensor(out):
        return 0
    if others is None:
        raise misfit(name, out, sens, where)
    children = children_of(out)
    labels = labels_of(out)
    deeper()
    try:
        for i in range(len(children)):
            match(name, children[i], others[i], where + labels[i], seeds)
    finally:
        back()
    return 0


cdef Value seed_of(str name, TensorBase out, object sens, str where):
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


cdef object misfit(str name, object out, object sens, str where):
    """The error for a sensitivity that has not the nesting of its output."""
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


# ------------------------------------------------------------------------------------------------- for Python

def differentiable(x):
    """Whether there is a tensor in a nest."""
    return holds_tensor(x)


def flat(x):
    """The tensors of a nest, in order."""
    return tensors_of(x)


def placed(x, list tensors not None):
    """A nest with something else in the places of its tensors, in order; what is no tensor stays."""
    return in_place(x, tensors)


def like_gradient(x, list tensors not None):
    """The same as a gradient of the nest is arranged: tuples, lists and dicts leave out what holds no tensor."""
    cdef Py_ssize_t at = 0
    return arranged(x, tensors, &at)


def with_leaves(x, change, whole=None):
    """A nest with change(leaf, named) in place of what is no tensor and holds nothing; named: it is a field, or below
    one, or below an object of a registered class. What `whole` says yes to is a leaf."""
    return changed_leaves(x, change, whole, False)


cdef object changed_leaves(object x, object change, object whole, bint named):
    cdef list children
    cdef Py_ssize_t i
    cdef int kind
    if isinstance(x, TensorBase):
        return x
    kind = kind_of(x)
    if kind == LEAF or whole is not None and whole(x):
        return change(x, named)
    named = named or kind == NAMED or kind == RECORD or kind == REGISTERED
    children = children_of(x)
    deeper()
    try:
        for i in range(len(children)):
            children[i] = changed_leaves(children[i], change, whole, named)
    finally:
        back()
    return rebuilt(x, children)


def beside(like, given):
    """(label, child, what belongs to it) for the children of a node; None if what is given has not its nesting."""
    cdef list others = aligned(like, given, False)
    return None if others is None else list(zip(labels_of(like), children_of(like), others))


def is_leaf(x):
    """Whether a value has no children."""
    return kind_of(x) == LEAF


def in_words(x):
    """A value in a message."""
    return described(x)


def checked_result(str name, out):
    """The result of a function that is differentiated; TypeError if there is no tensor in it."""
    check_result(name, out)
    return out
