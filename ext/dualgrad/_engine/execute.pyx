"""Primitives on arrays: what is left when no derivative is asked for.

Types are equal when a primitive is reached: the public functions have inserted casts.
"""
from cpython.object cimport PyObject

from .array cimport Array
from .elementwise cimport execute_elementwise
from .opcodes cimport N_OPS
from .primitives cimport Rule, rule_of
from .structural cimport execute_structural, is_structural


cdef Array execute(int op, object params, PyObject **args, int n):
    """Run a primitive on arrays."""
    if op >= N_OPS and (rule := rule_of(op)) is not None:
        return (<Rule>rule).execute(params, args, n)
    if is_structural(op):
        return execute_structural(op, params, args, n)
    return execute_elementwise(op, args, n)
