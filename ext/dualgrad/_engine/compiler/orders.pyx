"""Orders of axes: the operations of a program, once for each order of axes that may be the best.

Design
------
Whether an axis that stands behind others should be that of rows is found by trying. A program is lowered as its arrays
lie, and again for each length of an axis that stands behind others in large results, and first in others. Which of
these leaves the fewest bytes to pass between regions is seen when they are partitioned (partition.pyx).
"""
from .lowering cimport Lowering
from .program cimport Program
from .rewrites cimport ORDER_OF_AXES, note
from .views cimport Buffer, product

cdef enum:
    LARGE = 4096                    # elements of a result from which on the order of its axes may matter
    LEAST_ROWS = 64
    MOST_CANDIDATES = 4


cdef Lowered lowered(Program program):
    """The operations of a program, those with the axes as they are first."""
    cdef Lowered made = Lowered()
    made.orders = [operations_of(program, 0)]
    for rows in candidates(program):
        note(ORDER_OF_AXES)
        made.orders.append(operations_of(program, rows))
    return made


cdef Operations operations_of(Program program, Py_ssize_t rows):
    """The operations of a program with axes of a length first in memory."""
    cdef Lowering lowering = Lowering()
    cdef Operations made = Operations()
    cdef Buffer buffer
    cdef int i
    lowering.program = program
    lowering.rows = rows
    lowering.lower()
    made.program = program
    made.rows = rows
    made.buffers = lowering.buffers
    made.operations = lowering.operations
    made.results = ([lowering.views[slot] for slot in program.outputs]
                    + [lowering.views[slot] for _, slot in program.effects])
    for i, buffer in enumerate(made.buffers):
        buffer.number = i
    return made


cdef list candidates(Program program):
    """Lengths of axes that stand behind others in large results, and first in others: they may be those of rows."""
    cdef set first = set(), behind = set()
    cdef tuple shape
    for shape in program.shapes:
        if product(shape) >= LARGE:
            if shape[0] >= LEAST_ROWS:
                first.add(shape[0])
            for n in shape[1:]:
                if n >= LEAST_ROWS and n != shape[0]:
                    behind.add(n)
    return sorted(first & behind)[:MOST_CANDIDATES]
