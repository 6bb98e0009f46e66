# Loops of programs. See loops.pyx.
from cpython.object cimport PyObject

from ..arrays.array cimport Array
from .repetitions cimport Choice, Repetition, Reversal

cdef Array run_loop(Repetition loop, PyObject **args)
cdef Array run_reversed(Reversal r, PyObject **args)
cdef Array run_choice(Choice c, PyObject **args)
