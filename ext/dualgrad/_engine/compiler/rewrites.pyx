"""Counters of rewrites: how often each pass has done what it can do.

Design
------
A rewrite that no program reaches is not tested, and nothing else shows that one is no longer reached. Rewrites are
counted when a program is planned; a run does not count.
"""
from cpython.mem cimport PyMem_Calloc

include "rewrite_names.pxi"

COUNTS = <long long *>PyMem_Calloc(N_REWRITES, sizeof(long long))


def rewrites():
    """How often each rewrite has been done, by name."""
    cdef int k
    return {REWRITES[k]: COUNTS[k] for k in range(<int>N_REWRITES)}
