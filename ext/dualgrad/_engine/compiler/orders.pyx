"""Orders of axes: the operations of a program, once for each candidate order of axes.

Design
------
Only trying shows if the rows should be an axis that is not first. A program is lowered with its axes as they are. It is
lowered again for each length that is a later axis of one large result and the first axis of another. The partition
shows which order passes the fewest bytes between regions (partition.pyx).
"""
from .lowering cimport Lowering
from .program cimport Program
from .rewrites cimport ORDER_OF_AXES, note
from .views cimport Buffer, product

cdef enum:
    LARGE = 4096                    # least elements of a result for which the order of its axes may matter
    LEAST_ROWS = 64
    MOST_CANDIDATES = 4


cdef Lowered lowered(Program program):
    """The operations of a program for all candidate orders; the original order comes first."""
    cdef Lowered made = Lowered()
    made.orders = [operations_of(program, 0)]
    for rows in candidates(program):
        note(ORDER_OF_AXES)
        made.orders.append(operations_of(program, rows))
    return made


cdef Operations operations_of(Program program, Py_ssize_t rows):
    """The operations of a program, with axes of length `rows` first in memory."""
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
    """Lengths of axes that come later in one large result and first in another: candidates for the rows."""
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
