"""Nodes of reverse tapes: primitives on nodes, and the values of nodes whose tape is closed.

Design
------
A node of a closed tape is a plain value, or an error where an outer derivative might still need it. Rules of users are
an exception. A rule runs while its closed tape is swept, and may have kept nodes of this tape in a closure or an
attribute. These nodes stand for the values that the sweep has in their slots; an `Environment` maps them while the
rule runs. If a rule runs one level below its call, the environment also lowers the kept values.
"""
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF

from ..arrays.array cimport ARRAY, BATCH, DUAL, NODE, Value
from ..arrays.thread cimport thread_state
from ..values.algebra cimport truncated
from ..values.levels cimport (Algebra, Batch, Dual, Level, Node, bind, make_batch, make_dual, misuse, new_level,
                              serial_of, this_thread)
from ..values.rules cimport dual_rule, zeros_like
from .tape cimport Slots, Tape, record


cdef class Environment:
    """The meaning of kept values while a rule runs.

    A node of `tape`, a closed tape, stands for the value in its slot of `values`. A node without a slot raises
    `missing`, or is a constant if `missing` is None. A value of `level`, an open level, becomes its image in the
    quotient of its algebra, or its primal if `quotient` is None.
    """


cdef Environment closed_values(Tape tape, Slots values, object missing):
    """An environment that maps nodes of a closed tape to values."""
    cdef Environment environment = Environment.__new__(Environment)
    environment.tape = tape
    environment.values = values
    environment.missing = missing
    return environment


cdef Environment lower_values(Level level, Algebra quotient):
    """An environment that lowers values by one level."""
    cdef Environment environment = Environment.__new__(Environment)
    environment.level = level
    environment.quotient = quotient
    return environment


cdef Environment enter_environment(Environment environment):
    """Begin a rule: make this environment the innermost one on this thread."""
    environment.outer = current_environment()
    Py_INCREF(environment)
    thread_state().environment = <PyObject *>environment
    return environment


cdef int leave_environment(Environment environment) except -1:
    """End the rule of this environment."""
    thread_state().environment = NULL if environment.outer is None else <PyObject *>environment.outer
    Py_DECREF(environment)
    return 0


cdef Environment current_environment():
    cdef PyObject *environment = thread_state().environment
    return None if environment is NULL else <Environment>environment


cdef Value lowered(Value v, Environment environment):
    """A kept value as its environment sees it. The highest level is removed first."""
    if environment.outer is not None:
        v = lowered(v, environment.outer)
    return v if environment.level is None else lowered_one_level(v, environment.level, environment.quotient)


cdef Value lowered_one_level(Value v, Level level, Algebra quotient):
    """A value without the coefficients above the quotient's degree; without one, its primal. Batches around it stay."""
    if v.kind == BATCH:
        return make_batch((<Batch>v).level, lowered_one_level((<Batch>v).value, level, quotient))
    if v.kind == NODE:
        return (<Node>v).primal if (<Node>v).level is level else v
    if v.kind == DUAL and (<Dual>v).level is level:
        return <Value>(<Dual>v).parts[0] if quotient is None else truncated(v, level, quotient)
    return v


cdef Value plain_of_closed(Node v):
    """The plain value of a node whose tape is closed: its value in the running rule, or else its primal. Raises if an
    outer derivative might still need the node."""
    cdef Environment environment = current_environment()
    while environment is not None:
        if environment.tape is v.level:
            if v.slot < 0 and environment.missing is not None:
                raise environment.missing
            if v.slot < 0 or environment.values.p[v.slot] is NULL:      # dropped by the tape's only sweep
                return v.primal
            return without_closed(environment.values.get(v.slot))
        environment = environment.outer
    if v.level.depends_on_open():
        raise misuse(v.level)
    return v.primal


cdef Value without_closed(Value v):
    """A value for further use: a node of a closed tape becomes plain, or raises."""
    return plain_of_closed(<Node>v) if v.kind == NODE and not (<Node>v).level.open else v


cdef Tape highest(list values):
    """The innermost tape of the nodes in a list; None without nodes.

    A batch without nodes (the sign of one, or a result of stop_gradient) also belongs to the tape of its vmap call.
    Operations on it are recorded there, where samples are known.
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
    """The tape of the latest open vmap call that batches a value; None without such a call or tape."""
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
    """The tape for an instruction. Its results (without nodes) may be batched by later levels than its operands."""
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
    """Execute a primitive on a node one level down, and record it if it has a derivative."""
    cdef PyObject *few[8]
    cdef PyObject **work = few
    cdef Value v
    cdef Node node
    cdef Tape tape = None
    cdef bint any_node = False
    cdef int i
    cdef long long inside = -1          # the latest level of a dual or batch
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
            if v.kind == NODE and not (<Node>v).level.open:
                v = plain_of_closed(<Node>v)
                if held is None:
                    held = []
                held.append(v)
                work[i] = <PyObject *>v
            if v.kind != NODE:
                if v.kind != ARRAY:
                    inside = max(inside, serial_of(v))
                if v.kind == BATCH and (<Batch>v).level.tape is not None and (     # see highest
                        tape is None or (<Batch>v).level.tape.serial > tape.serial):
                    tape = <Tape>(<Batch>v).level.tape
                continue
            node = <Node>v
            if node.level.thread != thread:
                raise misuse(node.level)
            any_node = True
            if tape is None or node.level.serial > tape.serial:
                tape = <Tape>node.level
        if tape is None or not any_node:
            return bind(op, params, work, n)
        if inside > tape.serial:        # duals and batches of later levels treat nodes as constants
            return dual_rule(op, params, work, n)
        return record(tape, op, params, work, n)
    finally:
        if work is not few:
            PyMem_RawFree(work)


cdef bint holds_node(Value v):
    """True for a node, and for a dual or batch with nodes inside (a value of a lifted tape)."""
    if v is None or v.kind == ARRAY:
        return False
    if v.kind == DUAL:
        for p in (<Dual>v).parts:
            if holds_node(<Value>p):
                return True
        return False
    return True if v.kind == NODE else holds_node((<Batch>v).value)


cdef Level veil(list values):
    """Hide nodes beside later duals or batches of nodes, in place, from the transforms of a rule that gets the values.

    A transform would write its call on the tape of those nodes, with duals of the same tape's nodes as results. So the
    nodes become constants of a new level, which is returned; None if there is nothing to hide.
    """
    cdef Level level = None
    cdef long long latest = -1
    cdef Py_ssize_t i
    cdef Value v
    for v in values:
        if v is not None and v.kind != NODE and holds_node(v):
            latest = max(latest, serial_of(v))
    for i in range(len(values) if latest >= 0 else 0):
        v = values[i]
        if v is not None and v.kind == NODE and (<Node>v).level.serial < latest:
            if level is None:
                level = new_level("a rule")
                level.watched = False           # not a transform of the user's
            values[i] = make_dual(level, v, zeros_like(v))
    return level
