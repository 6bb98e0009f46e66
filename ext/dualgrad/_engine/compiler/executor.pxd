# The executor's instructions, as ext/include/executor/instruction.h declares them.
cimport numpy as cnp

from ..primitives.registry cimport dg_loop
from .kinds cimport *

cdef extern from "executor/instruction.h":
    const char *dg_kind_name(int kind) noexcept
    enum:
        DG_N_KINDS
        DG_PLACES
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
        dg_operand arg[6]
        cnp.npy_intp step[6]
        cnp.npy_intp width
        cnp.npy_intp period
        cnp.npy_intp advance[6]
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
        cnp.npy_intp half
        cnp.npy_intp half_from
    enum:                           # products, sums and differences, done by one loop
        DG_F_MUL
        DG_F_ABSORB
        DG_F_ADD
        DG_F_SUB
        DG_F_BUS
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
    ctypedef struct dg_stream:
        int base
        cnp.npy_intp offset
        cnp.npy_intp row
        cnp.npy_intp low
        cnp.npy_intp high
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
    ctypedef cnp.npy_intp (*dg_native_loop)(char **args, cnp.npy_intp n) noexcept
    ctypedef bint (*dg_native_numbers)(char **bases, void **calls) noexcept
    enum:
        DG_NATIVE_ARGS
    ctypedef struct dg_native:
        dg_native_loop fn
        const dg_instruction *run
        cnp.npy_intp count
        int n_args
        dg_operand arg[256]
