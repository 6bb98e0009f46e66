# Nodes of reverse tapes. See nodes.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Value
from ..values.levels cimport Algebra, Level
from .tape cimport Slots, Tape


cdef class Environment:
    cdef Tape tape
    cdef Slots values                   # by slot
    cdef object missing
    cdef Level level
    cdef Algebra quotient
    cdef Environment outer              # the environment of the surrounding rule


cdef Environment closed_values(Tape tape, Slots values, object missing)
cdef Environment lower_values(Level level, Algebra quotient)
cdef Environment enter_environment(Environment environment)
cdef int leave_environment(Environment environment) except -1
cdef Environment current_environment()
cdef Value lowered(Value v, Environment environment)
cdef Value lowered_one_level(Value v, Level level, Algebra quotient)
cdef Value without_closed(Value v)
cdef Tape highest(list values)
cdef Tape target_of(list operands, list results)
cdef Value node_rule(int op, object params, PyObject **args, int n)
cdef bint holds_node(Value v)
cdef Level veil(list values)
