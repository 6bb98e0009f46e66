"""Counters of rewrites: the number of times that each pass has applied each of its rewrites.

Design
------
A rewrite that no program reaches is not tested, and only these counters show that it is no longer reached. They count
while a program is planned, not while it runs.
"""
from cpython.mem cimport PyMem_Calloc

include "rewrite_names.pxi"

COUNTS = <long long *>PyMem_Calloc(N_REWRITES, sizeof(long long))


def rewrites():
    """The number of times that each rewrite was applied, by name."""
    cdef int k
    return {REWRITES[k]: COUNTS[k] for k in range(<int>N_REWRITES)}
