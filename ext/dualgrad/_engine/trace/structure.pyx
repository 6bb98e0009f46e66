"""Structure: the kinds and levels of a value around its arrays.

A structure is a nest of tuples: kinds, levels, algebras, and the forms of arrays. Values of one structure differ in
numbers only.
"""
from ..arrays.array cimport ARRAY, BATCH, DUAL, NODE, Array, Value, full, shape_tuple
from ..tape.tape cimport Tape
from ..values.batch cimport leave
from ..values.levels cimport Batch, BatchLevel, Dual, Level, Node, make_batch, new_dual, new_node


class OnATape(Exception):
    """A value is part of a tape that is being written."""


cdef object structure(object v, list arrays, Level traced=None):
    """The structure of a value, or None. Its arrays are appended to `arrays`. Only the tape `traced` may be written."""
    cdef Dual d
    if v is None:
        return None
    if (<Value>v).kind == ARRAY:
        arrays.append(v)
        return ARRAY, (<Array>v).typenum, shape_tuple(<Array>v)
    if (<Value>v).kind == DUAL:
        d = <Dual>v
        return DUAL, d.level, d.algebra, tuple([structure(p, arrays) for p in d.parts])
    if (<Value>v).kind == BATCH:
        return BATCH, (<Batch>v).level, structure((<Batch>v).value, arrays)
    if not (<Tape>(<Node>v).level).light and (<Node>v).level is not traced:
        raise OnATape("a tape is written in it")
    return NODE, (<Node>v).level, structure((<Node>v).primal, arrays)


cdef object restored(object found, object arrays, object former=None):
    """A value of a structure, from an iterator of its arrays. A node gets the slot of `former`, if that is a node."""
    if found is None:
        return None
    kind = found[0]
    if kind == ARRAY:
        return next(arrays)
    if kind == DUAL:
        return new_dual(<Level>found[1], found[2], tuple([restored(p, arrays) for p in found[3]]))
    if kind == BATCH:
        return make_batch(<BatchLevel>found[1], <Value>restored(found[2], arrays))
    return placed(<Tape>found[1], <Value>restored(found[2], arrays), former)


cdef Node placed(Tape tape, Value primal, object former):
    """A node of a tape: another form of a former node in its slot, or a new one."""
    if former is not None and (<Value>former).kind == NODE:
        return new_node(tape, primal, (<Node>former).slot)
    return tape.place(primal)


cdef list axes_of(object found, int batches):
    """For each array of a structure, the number of the first axis that users see."""
    if found is None:
        return []
    kind = found[0]
    if kind == ARRAY:
        return [batches]
    if kind == DUAL:
        return [axis for p in found[3] for axis in axes_of(p, batches)]
    return axes_of(found[2], batches + (1 if kind == BATCH else 0))


cdef object entry_of(object found, int batches):
    """The structure of an entry, from the structure of a stack."""
    if found is None:
        return None
    kind = found[0]
    if kind == ARRAY:
        return ARRAY, found[1], found[2][:batches] + found[2][batches + 1:]
    if kind == DUAL:
        return DUAL, found[1], found[2], tuple([entry_of(p, batches) for p in found[3]])
    return kind, found[1], entry_of(found[2], batches + (1 if kind == BATCH else 0))


cdef object stack_of(object found, Py_ssize_t n, int batches):
    """The structure of a stack, from the structure of an entry."""
    if found is None:
        return None
    kind = found[0]
    if kind == ARRAY:
        return ARRAY, found[1], found[2][:batches] + (n,) + found[2][batches:]
    if kind == DUAL:
        return DUAL, found[1], found[2], tuple([stack_of(p, n, batches) for p in found[3]])
    return kind, found[1], stack_of(found[2], n, batches + (1 if kind == BATCH else 0))


cdef Level head(Value v):
    """The outermost level of a value; None for an array."""
    return (<Dual>v).level if v.kind == DUAL else (<Batch>v).level if v.kind == BATCH else None


cdef Value grown(Value v, Value like):
    """A value with the missing structure of another one: with zeros, and repeated for samples."""
    cdef Level a, b, level
    cdef list parts
    cdef tuple p, q
    cdef Py_ssize_t k
    if like is None:
        return v
    if v is None:
        return zeros_like(like)
    if v.kind == NODE or like.kind == NODE:
        level = (<Node>v).level if v.kind == NODE else (<Node>like).level
        return placed(<Tape>level, grown((<Node>v).primal if v.kind == NODE else v,
                                         (<Node>like).primal if like.kind == NODE else like), v)
    a, b = head(v), head(like)
    if a is None and b is None:
        return v
    level = a if b is None or a is not None and a.serial >= b.serial else b
    if isinstance(level, BatchLevel):
        return make_batch(<BatchLevel>level, grown((<Batch>v).value if a is level else leave(<BatchLevel>level, v),
                                                   (<Batch>like).value if b is level
                                                   else leave(<BatchLevel>level, like)))
    p = (<Dual>v).parts if a is level else (v,)
    q = (<Dual>like).parts if b is level else (like,)
    parts = []
    for k in range(max(len(p), len(q))):
        parts.append(grown_part(p[k] if k < len(p) else None, q[k] if k < len(q) else None))
    return new_dual(level, (<Dual>v).algebra if a is level else (<Dual>like).algebra, tuple(parts))


cdef object grown_part(object v, object like):
    return None if v is None and like is None else grown(<Value>v, <Value>like)


cdef Value zeros_like(Value v):
    """Zeros with the structure of a value."""
    if v.kind == NODE:
        return (<Tape>(<Node>v).level).place(zeros_like((<Node>v).primal))
    if v.kind == BATCH:
        return make_batch((<Batch>v).level, zeros_like((<Batch>v).value))
    if v.kind == DUAL:
        return new_dual((<Dual>v).level, (<Dual>v).algebra,
                        tuple([None if p is None else zeros_like(<Value>p) for p in (<Dual>v).parts]))
    return full((<Array>v).typenum, (<Array>v).ndim, (<Array>v).shape, 0.0)
