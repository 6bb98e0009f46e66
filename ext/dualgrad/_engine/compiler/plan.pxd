# Plans of programs. See plan.pyx.
from ..arrays.array cimport Array
from .allocation cimport Located
from .code cimport Code, RegionCode
from .native cimport NativeCode
from .program cimport Program


cdef class Plan:
    cdef readonly Program program       # the program that it runs: the recorded one, simplified
    cdef readonly list tasks            # regions, in order
    cdef readonly list memories         # memory whose address each run sets
    cdef readonly list results          # views of the results: outputs, then effects
    cdef Py_ssize_t arena
    cdef Py_ssize_t block_bytes
    cdef Py_ssize_t total_bytes
    cdef bint parallel                  # some region is worth several threads
    cdef bint products                  # and some region multiplies matrices
    cdef Py_ssize_t n_bases
    cdef char **bases                   # addresses for a run, with constants already set
    cdef list held                      # arrays by memory, with constants already set
    cdef list given                     # memory of inputs
    cdef list read                      # memory of handles
    cdef list made                      # memory of results
    cdef list whole                     # for each result, True if it is all of its memory
    cdef int take(self, Code code) except -1
    cdef int sort_memories(self) except -1
    cdef bint find(self, list inputs, list held, char **bases) except -1
    cdef list run(self, list inputs)
    cdef int run_region(self, object task, char **bases, int threads) except -1
    cdef int run_on_threads(self, RegionCode region, char **bases, int threads) except -1
    cdef int look_up(self, object index, int axis, object whole, char **bases) except -1
    cdef bint run_generic(self, object task, char **bases, list held) except -1


cdef int run_instruction(RegionCode region, Py_ssize_t at, char **bases, Py_ssize_t row0) except -1
cdef int run_instructions(RegionCode region, NativeCode native, char **bases) except -1
cdef Array loose(Located at, char **bases)
cdef bint is_on_numbers(Plan plan)
cdef Plan make_plan(Program program)
