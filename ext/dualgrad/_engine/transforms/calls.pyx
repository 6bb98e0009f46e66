"""Calls of Cells and of transforms, and the decision to record them."""
import copyreg

from ..arrays.array cimport CELL_CALLED, HOOKS, TRANSFORM_CALLED
from ..arrays.thread cimport is_outermost
from ..primitives.execute cimport deferring, may_defer, tracing

cdef extern from "memory/shared.h":
    long long dg_read_shared(long long *counter) noexcept
    void dg_write_shared(long long *counter, long long n) noexcept

cdef long long GRAPH_MODE = 0


cdef bint outermost_in_graph_mode() noexcept:
    """True if a call is to be recorded by itself: it is the outermost call in Graph mode."""
    return dg_read_shared(&GRAPH_MODE) and is_outermost()


cdef object transform_called(str name, fn, tuple settings, parameters, call, tuple args, dict kwargs):
    """Record and run a call of a transform. Beside the function and the arguments, the computation depends only on
    `settings` and `parameters`."""
    return (<object>HOOKS.objects[TRANSFORM_CALLED])(name, fn, settings, parameters, call, args, kwargs)


def set_graph_mode(bint on):
    """Switch the recording of outermost calls of Cells and gradient functions on or off."""
    dg_write_shared(&GRAPH_MODE, on)


cdef class CellCall:
    """The call of a Cell: its construct, without a Python frame in between."""

    def __call__(self, *args, **kwargs):
        if dg_read_shared(&GRAPH_MODE) or self._recorded or tracing():
            return (<object>HOOKS.objects[CELL_CALLED])(self, args, kwargs)
        construct = self.construct
        if may_defer():
            return deferring(construct, args, kwargs)
        return construct(*args, **kwargs) if kwargs else construct(*args)

    def __reduce__(self):
        return self.__reduce_ex__(2)

    def __reduce_ex__(self, protocol):
        """The copy of a recorded Cell is recorded too."""
        if self._recorded:
            return recorded_cell, (self._pure, type(self)), self.__getstate__()
        return copyreg.__newobj__, (type(self),), self.__getstate__()


def recorded_cell(bint pure, kind):
    """A new Cell whose calls are recorded, before its attributes are set."""
    cdef CellCall cell = kind.__new__(kind)
    cell._recorded = True
    cell._pure = pure
    return cell
