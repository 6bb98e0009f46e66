"""Nodes of reverse tapes: their tape, what is left of them when it closes, what a primitive does to them."""
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject

from ..arrays.array cimport ARRAY, BATCH, DUAL, NODE, Value
from ..values.levels cimport Batch, Dual, Level, Node, bind, misuse, this_thread
from ..values.rules cimport dual_rule
from .tape cimport Tape, record


cdef Value plain_of_closed(Node v):
    """A node whose tape is closed: a plain value, unless an outer derivative might still need it."""
    if v.level.depends_on_open():
        raise misuse(v.level)
    return v.primal


cdef Value without_closed(Value v):
    """A value as it may be used now: a node of a closed tape has become plain, or is an error."""
    return plain_of_closed(<Node>v) if v.kind == NODE and not (<Node>v).level.open else v


cdef Tape highest(list values):
    """The innermost tape among those of the nodes in a list; None if there are none.

    A batch that is no node (the sign of one, or what stop_gradient left) belongs to the tape of its call all the same:
    what it meets is recorded there, where samples are known.
    """
    cdef Level tape = None
    cdef Level level
    cdef Value v
    cdef bint any_node = False
    for v in values:
        if v.kind == NODE:
            any_node = True
            level = (<Node>v).level
        else:
            level = tape_of_batch(v)
        if level is not None and (tape is None or level.serial > tape.serial):
            tape = level
    return <Tape>tape if any_node else None


cdef Level tape_of_batch(Value v):
    """The tape of the latest open call of vmap that a value is batched by; None if it is not, or there is no tape."""
    cdef Level tape = None
    cdef Level level
    if v is None or v.kind == ARRAY:
        return None
    if v.kind == BATCH:
        return tape_of_batch((<Batch>v).value) if (<Batch>v).level.tape is None else (<Batch>v).level.tape
    if v.kind == DUAL:
        for p in (<Dual>v).parts:
            level = tape_of_batch(<Value>p)
            if level is not None and (tape is None or level.serial > tape.serial):
                tape = level
    return tape


cdef Tape target_of(list operands, list results):
    """The tape for an instruction with these operands, whose results (without nodes) may be batched by more of them."""
    cdef Level tape = highest(operands)
    cdef Level level
    cdef Value v
    if tape is None:
        return None
    for v in results:
        level = tape_of_batch(v)
        if level is not None and level.serial > tape.serial:
            tape = level
    return <Tape>tape


cdef Value node_rule(int op, object params, PyObject **args, int n):
    """A primitive with a node among its operands: executed one level down and, if it has a slope, recorded."""
    cdef PyObject *few[8]
    cdef PyObject **work = few
    cdef Value v
    cdef Node node
    cdef Tape tape = None
    cdef bint any_node = False
    cdef int i
    cdef long long inside = -1          # the latest level of a dual or batch of nodes
    cdef list held = None
    cdef unsigned long thread = this_thread()
    if n > 8:
        work = <PyObject **>PyMem_RawMalloc(n * sizeof(PyObject *))
        if work is NULL:
            raise MemoryError()
    try:
        for i in range(n):
            work[i] = args[i]
            v = <Value>args[i]
            if v.kind != NODE:
                if v.kind != ARRAY and holds_node(v):
                    inside = max(inside, (<Batch>v).level.serial if v.kind == BATCH else (<Dual>v).level.serial)
                if v.kind == BATCH and (<Batch>v).level.tape is not None and (     # see highest
                        tape is None or (<Batch>v).level.tape.serial > tape.serial):
                    tape = <Tape>(<Batch>v).level.tape
                continue
            node = <Node>v
            if not node.level.open:
                v = plain_of_closed(node)
                if held is None:
                    held = []
                held.append(v)
                work[i] = <PyObject *>v
                continue
            if node.level.thread != thread:
                raise misuse(node.level)
            any_node = True
            if tape is None or node.level.serial > tape.serial:
                tape = <Tape>node.level
        if tape is None or not any_node:
            return bind(op, params, work, n)
        if inside > tape.serial:
            return dual_rule(op, params, work, n)
        return record(tape, op, params, work, n)
    finally:
        if work is not few:
            PyMem_RawFree(work)


cdef bint holds_node(Value v):
    """Whether a dual or batch has nodes inside, as values of a lifted tape have. To a level that is later than the
    tapes of the nodes beside it, these are constants."""
    if v is None or v.kind == ARRAY:
        return False
    if v.kind == DUAL:
        for p in (<Dual>v).parts:
            if holds_node(<Value>p):
                return True
        return False
    return True if v.kind == NODE else holds_node((<Batch>v).value)
