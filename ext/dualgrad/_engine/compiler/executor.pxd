# The executor's instructions, as ext/include/executor/executor.h declares them.
cimport numpy as cnp

from ..primitives.registry cimport dg_loop

cdef extern from "executor/executor.h":
    enum:
        DG_LOOP
        DG_MATMUL
        DG_MATMUL_ADD
        DG_SUM_ALL
        DG_SUM_AXIS
        DG_COPY
        DG_ZERO
        DG_SELECT
        DG_CAST
        DG_GATHER
        DG_SCATTER_ADD
        DG_SUM_ROWS
        DG_MAX_INDICES
        DG_MAX_AXES
        DG_MAX_THREADS
        DG_MAX_STREAMS
    ctypedef struct dg_picks:
        int count
        int wide
        cnp.npy_intp width
        cnp.npy_intp step[3]
        cnp.npy_intp extent[3]
        cnp.npy_intp stride[3]
    ctypedef struct dg_operand:
        int base
        cnp.npy_intp offset
        cnp.npy_intp row
        cnp.npy_intp local
    ctypedef struct dg_instruction:
        int kind
        int n_in
        dg_loop fn
        void *data
        cnp.npy_intp low
        cnp.npy_intp high
        cnp.npy_intp before
        cnp.npy_intp after
        dg_operand arg[5]
        cnp.npy_intp step[5]
        cnp.npy_intp width
        cnp.npy_intp period
        cnp.npy_intp advance[5]
        cnp.npy_intp dims[4]
        cnp.npy_intp strides[9]
        int axes
        cnp.npy_intp shape[6]
        cnp.npy_intp _from "from"[6]
        cnp.npy_intp to[6]
        cnp.npy_intp item
        dg_picks picks
        int once
        dg_loop add
        void *add_data
    enum:
        DG_S_FUSED_3
        DG_S_FUSED_4
        DG_S_NEG
        DG_S_SQUARE
        DG_S_DIV
        DG_S_RECIPROCAL
        DG_S_CALL
        DG_S_OTHER
    ctypedef struct dg_scalar:
        short op
        short inner
        short outer
        short second
        short wide
        short n_in
        int base[5]
        int offset[5]
        dg_loop fn
        void *data
    void dg_run_scalars(const dg_scalar *s, const dg_instruction *program, cnp.npy_intp count, char **bases) noexcept
    ctypedef struct dg_stream:
        int base
        cnp.npy_intp offset
        cnp.npy_intp row
    ctypedef struct dg_streams:
        int count
        dg_stream at[16]
    ctypedef struct dg_region:
        const dg_instruction *program
        cnp.npy_intp count
        cnp.npy_intp rows
        cnp.npy_intp block
        int workers
        const dg_streams *ahead
        cnp.npy_intp done
        cnp.npy_intp chunk
        char **bases[64]
    bint dg_run_chunk(dg_region *r) noexcept nogil
    void dg_run_rows(const dg_instruction *program, cnp.npy_intp count, char **bases, cnp.npy_intp start,
                     cnp.npy_intp stop, cnp.npy_intp block, const dg_streams *ahead) noexcept nogil
    dg_loop dg_cast_loop(int source, int target) noexcept
    bint dg_indices_fit(const char *index, cnp.npy_intp n, cnp.npy_intp step, cnp.npy_intp extent, bint wide) noexcept
    void dg_run_block(const dg_instruction *program, cnp.npy_intp count, char **bases, cnp.npy_intp row0,
                      cnp.npy_intp block, int first, const dg_streams *ahead, cnp.npy_intp next) noexcept nogil
