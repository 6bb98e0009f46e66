"""A watch for the first number that is not finite.

Design
------
A watch is a tracer (execute.pyx): it executes each primitive and checks the result. Therefore recorded functions run
eagerly under a watch. Without a watch the checks cost nothing.

Levels that are opened under a watch are marked. Their tapes store the line of the user's code with each instruction,
and the results of their derivative rules are checked (`rules.pyx`, `sweeps.pyx`, `algebra.pyx`). Intermediate values of
a rule are not checked: an infinite partial that meets a zero derivative does no harm.
"""
import sys

from ..arrays.array import np
from ..arrays.array cimport Array, is_inexact, to_ndarray
from .execute cimport active_tracer, run, start_tracing, stop_tracing
from .registry cimport op_name


cdef class Watch(Tracer):

    def __cinit__(self):
        self.trace = -1                         # no array belongs to it
        self.sweeps = []

    cdef Array execute(self, int op, object params, PyObject **args, int n):
        cdef Array out = run(op, params, args, n)
        if self.quiet == 0 and self.bad(out):
            self.complain(op, self.order(), out, [<Array>args[i] for i in range(n)])
        return out

    cdef int order(self):
        """The order of derivative that the running sweeps compute together."""
        return len(self.sweeps) - self.sweeps.count("")

    cdef bint bad(self, Array a) except -1:
        """True if an array holds nan, or inf where infinities are reported."""
        if not is_inexact(a.typenum) or a.size == 0:
            return False
        numbers = to_ndarray(a)
        return not np.isfinite(numbers).all() if self.infinities else bool(np.isnan(numbers).any())

    cdef int complain(self, int op, int order, Array a, list operands) except -1:
        """Report an array with such a number; `order` is the order of the derivative, 0 for a value."""
        line = self.line if self.line is not None and self.sweeps else user_line()
        self.quiet += 1                         # do not check the report's own computations
        try:
            self.report(op_name(op), order, tuple([name for name in self.sweeps if name]), to_ndarray(a),
                        [to_ndarray(<Array>operand) for operand in operands], line)
        finally:
            self.quiet -= 1
        return 0

    cdef Array reference(self, object handle, Array a):
        return a


cdef Watch active_watch():
    """The watch of this thread, or None."""
    cdef Tracer tracer = active_tracer()
    return <Watch>tracer if isinstance(tracer, Watch) else None


cdef int go_on() except -1:
    """Let the next sweep continue the one around it, in a transform where the values carry the order themselves."""
    cdef Watch watch = active_watch()
    if watch is not None:
        watch.joins = True
    return 0


# Packages between the user's code and ours.
cdef frozenset BETWEEN = frozenset(("dualgrad", "numpy", "scipy", "copy", "copyreg", "statistics", "fractions"))


cdef object user_line():
    """File and line of the innermost frame outside of this package and the packages that call it."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in BETWEEN:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def start_watch(report, bint infinities):
    """Check the results of this thread from now on; return the state that `stop_watch` needs. Ends a running
    recording."""
    cdef Watch watch = Watch()
    cdef Tracer former = active_tracer()
    if former is not None and not isinstance(former, Watch):
        former.give_up("numbers are to be watched")
        former = None
    if former is not None:
        stop_tracing(former)
    watch.report = report
    watch.infinities = infinities
    start_tracing(watch)
    return watch, former


def stop_watch(tuple both):
    """Stop checking, or return to the watch that was active before."""
    watch, former = both
    stop_tracing(<Tracer>watch)
    if former is not None:
        start_tracing(<Tracer>former)
