"""Instructions under construction.

Design
------
During code generation each instruction is an object around the structure that the executor reads (executor/executor.h),
together with the loop that it calls. Afterwards they become one array (code.pyx).
"""
cimport numpy as cnp

from ..arrays.array cimport Array
from .executor cimport *
from .identities cimport is_real
from .lowering cimport add_loop, matmul_loop, power_loop
from ..primitives.opcodes cimport OP_ADD, OP_CAST, OP_GATHER, OP_MATMUL, OP_POWER, OP_SCATTER_ADD
from ..primitives.registry cimport Loop, find_loop

cdef extern from "executor/cast.h":
    dg_loop dg_cast_loop(int source, int target) noexcept
    dg_loop dg_index_loop(int source) noexcept

cdef extern from "executor/dots.h":
    enum:
        DG_FEW_DOTS
    dg_loop dg_dots_loop(bint wide) noexcept

cdef extern from "executor/fused.h":
    dg_loop dg_fused_loop(int inner, int outer, int second, int wide)

cdef extern from "executor/product.h":
    dg_loop dg_product_loop(cnp.npy_intp m, cnp.npy_intp k, cnp.npy_intp n, cnp.npy_intp step, int wide) noexcept

cdef extern from "executor/small.h":
    dg_loop dg_small_loop(cnp.npy_intp m, cnp.npy_intp k, cnp.npy_intp n, int wide) noexcept


cdef class Instruction:

    cdef int operand(self, int k, tuple place) except -1:
        """Set the place of an operand or of the result."""
        cdef dg_operand *arg = &self.code.arg[k]
        arg.base = place[0]
        arg.offset = place[1]
        arg.row = place[2]
        arg.local = place[3]
        return 0

    cdef int steps(self, list steps) except -1:
        """Set the bytes between elements of each operand and of the result."""
        cdef int k
        for k in range(len(steps)):
            self.code.step[k] = steps[k]
        return 0

    cdef int calls(self, int op, int typenum, object detail) except -1:
        """Set the elementwise loop of a primitive. `detail`: its fusion, or the target of a conversion: a dtype, or the
        length of the indexed axis."""
        cdef Loop *loop
        self.primitive = op, typenum, detail
        if self.code.kind == DG_CAST and op == OP_CAST:
            self.code.fn = dg_cast_loop(typenum, detail)
        elif self.code.kind == DG_CAST:
            self.code.fn = dg_index_loop(typenum)
            self.code.data = <void *><Py_ssize_t>detail
        elif self.code.kind == DG_LOOP and detail is not None:
            self.code.fn = fused_loop(detail[0], detail[1], detail[2], typenum == cnp.NPY_DOUBLE)
            if detail[3] is not None:           # the region's listing keeps it alive
                self.code.data = (<Array>detail[3]).data
        elif self.code.kind == DG_LOOP:
            loop = power_loop(typenum) if op == OP_POWER else find_loop(op, typenum)
            self.code.fn = loop.fn
            self.code.data = loop.data
        return 0

    cdef bint multiplies(self, int typenum, list dims, list strides) except -1:
        """Set up a product of stacks of matrices: extents (stack, m, k, n) and nine strides. Return True if a loop of
        ours computes it."""
        cdef Loop *loop = matmul_loop(typenum)
        cdef int k
        for k in range(4):
            self.code.dims[k] = dims[k]
        for k in range(9):
            self.code.strides[k] = strides[k]
        self.code.fn = loop.fn
        self.code.data = loop.data
        self.primitive = OP_MATMUL, typenum, None
        own = product_loop(typenum, dims[1], dims[2], dims[3], strides[4])
        if own is NULL or self.code.strides[8] != (8 if typenum == cnp.NPY_DOUBLE else 4):
            return False
        self.code.fn = own
        self.code.data = NULL
        self.own = True
        return True

    cdef bint adds_dots(self, int typenum) except -1:
        """Switch to the loop for few long sums, if the operands are contiguous along them; return True if so."""
        cdef Py_ssize_t item = 8 if typenum == cnp.NPY_DOUBLE else 4
        if (not are_dots(typenum, self.code.dims[1] * self.code.dims[3]) or self.code.strides[4] != item
                or self.code.strides[5] != item):
            return False
        self.code.fn = dg_dots_loop(typenum == cnp.NPY_DOUBLE)
        self.code.data = NULL
        self.own = True
        return True

    cdef int totals(self, int typenum) except -1:
        """Set the loop that adds the instruction's result to a total."""
        cdef Loop *loop = add_loop(typenum)
        if self.code.kind == DG_SUM_ALL:
            self.code.fn = loop.fn
            self.code.data = loop.data
        else:
            self.code.add = loop.fn
            self.code.add_data = loop.data
        if self.primitive is None:
            self.primitive = OP_ADD, typenum, None
        return 0

    cdef int picks(self, int typenum, bint wide, Py_ssize_t width, tuple extents, tuple strides) except -1:
        """Set the parameters of a gather or scatter with index arrays along some axes."""
        cdef int k
        cdef dg_picks *p = &self.code.picks
        p.count = <int>len(extents)
        p.wide = wide
        p.width = width
        for k in range(p.count):
            p.step[k] = self.code.step[k + 1]
            p.extent[k] = extents[k]
            p.stride[k] = strides[k]
        self.primitive = OP_GATHER if self.code.kind == DG_GATHER else OP_SCATTER_ADD, typenum, None
        return 0


cdef bint has_cast(int source, int target) noexcept:
    """True if there is a loop that converts between these dtypes."""
    return dg_cast_loop(source, target) is not NULL


cdef dg_loop cast_loop(int source, int target) noexcept:
    """The loop that converts between dtypes; NULL if there is none."""
    return dg_cast_loop(source, target)


cdef bint has_index(int source) noexcept:
    """True if there is a loop that converts numbers of a dtype to indices."""
    return dg_index_loop(source) is not NULL


cdef dg_loop fused_loop(int inner, int outer, int second, int wide) noexcept:
    """The loop of two or three elementwise operations; NULL if there is none. Only this module compiles its table."""
    return dg_fused_loop(inner, outer, second, wide)


cdef dg_loop product_loop(int typenum, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, Py_ssize_t step):
    """Our own loop for products of these extents, -1 for many; NULL if the library's loop is as fast."""
    cdef dg_loop small = small_loop(typenum, m, k, n)
    if small is not NULL or not is_real(typenum):
        return small
    return dg_product_loop(m, k, n, step, typenum == cnp.NPY_DOUBLE)


cdef dg_loop small_loop(int typenum, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n) noexcept:
    """Our own loop for stacks of small matrices with any strides; NULL for other extents."""
    return dg_small_loop(m, k, n, typenum == cnp.NPY_DOUBLE) if is_real(typenum) else NULL


cdef bint are_dots(int typenum, Py_ssize_t n) noexcept:
    """True if there is a loop that computes n sums of products at a time."""
    return is_real(typenum) and n <= DG_FEW_DOTS and dg_dots_loop(typenum == cnp.NPY_DOUBLE) is not NULL


cdef Instruction new_instruction(int kind, list places, Py_ssize_t item):
    """An instruction that reads all places except the last one, and writes the last."""
    cdef Instruction made = Instruction()
    cdef int k
    made.code.kind = kind
    made.code.n_in = <int>len(places) - 1
    made.code.item = item
    made.code.high = UNBOUND
    for k in range(len(places)):
        made.operand(k, places[k])
    return made
