# Calls of Cells and of transforms. See calls.pyx.


cdef class CellCall:
    cdef public bint _recorded  # its calls are recorded in every mode,
    cdef dict programs          # key -> the Function of a recorded function that belongs to it
    cdef object known           # the Function of its own calls
    cdef public bint _pure      # without guards: it depends only on its arguments and parameters


cdef bint outermost_in_graph_mode() noexcept
cdef object transform_called(str name, fn, tuple settings, parameters, call, tuple args, dict kwargs)
