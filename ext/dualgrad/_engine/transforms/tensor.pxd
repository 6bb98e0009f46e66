# Tensors: the handles users hold. See tensor.pyx.
from ..arrays.array cimport Value
from ..tape.closed_call cimport Region


cdef class TensorBase:
    cdef Value value
    cdef bint parameter         # a Parameter: reading it registers with the open levels that differentiate it
    cdef bint captured          # some recorded function can reach it otherwise than as an argument
    cdef long long birth        # the level serial when it was made


cdef class CellCall:
    cdef public bint recorded   # its calls are recorded in every mode,
    cdef dict programs          # those that belong to it: key -> what is known of a recorded function
    cdef object known           # that of its own calls
    cdef public bint pure       # without guards: it depends on nothing but its arguments and parameters


cdef object wrap(Value v)
cdef bint outermost_in_graph_mode() noexcept
cdef object transform_called(str name, fn, tuple settings, parameters, call, tuple args, dict kwargs)
cdef bint is_plain(object x) noexcept
cdef Value read(TensorBase t)
cdef Value value_of(object x)
cdef Region current_region()
cdef Region swap_region(Region region)
cdef int rebound(TensorBase t, Value v) except -1
