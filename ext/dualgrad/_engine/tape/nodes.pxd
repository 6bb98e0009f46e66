# Nodes of reverse tapes. See nodes.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport Value
from .tape cimport Tape

cdef Value without_closed(Value v)
cdef Tape highest(list values)
cdef Tape target_of(list operands, list results)
cdef Value node_rule(int op, object params, PyObject **args, int n)
cdef bint holds_node(Value v)
