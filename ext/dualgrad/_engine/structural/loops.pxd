# Loops in programs. See loops.pyx.
cdef int OP_LOOP
cdef int OP_REVERSED_LOOP
cdef int OP_UNPACK
cdef int OP_CHOICE
