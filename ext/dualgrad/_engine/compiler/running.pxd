# How the executor is called, as ext/include/executor/executor.h declares it.
cimport numpy as cnp

from .executor cimport dg_instruction, dg_region, dg_scalar, dg_streams

cdef extern from "executor/executor.h":
    void dg_run_scalars(const dg_scalar *s, const dg_instruction *program, cnp.npy_intp count, char **bases) noexcept
    bint dg_run_chunk(dg_region *r) noexcept nogil
    void dg_run_rows(const dg_instruction *program, cnp.npy_intp count, char **bases, cnp.npy_intp start,
                     cnp.npy_intp stop, cnp.npy_intp block, const dg_streams *ahead) noexcept nogil
    void dg_run_block(const dg_instruction *program, cnp.npy_intp count, char **bases, cnp.npy_intp row0,
                      cnp.npy_intp block, int first, const dg_streams *ahead, cnp.npy_intp next) noexcept nogil
    bint dg_indices_fit(const char *index, cnp.npy_intp n, cnp.npy_intp step, cnp.npy_intp extent, bint wide) noexcept
