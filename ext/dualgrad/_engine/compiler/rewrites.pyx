"""Counters of rewrites: how often each pass has done what it can do.

Design
------
A rewrite that no program reaches is not tested, and one that has stopped to be reached shows nowhere else. They are
counted when programs are planned; runs know nothing of them.
"""
from cpython.mem cimport PyMem_Calloc

include "rewrite_names.pxi"

COUNTS = <long long *>PyMem_Calloc(N_REWRITES, sizeof(long long))


def rewrites():
    """How often each rewrite has been done, by name."""
    cdef int k
    return {REWRITES[k]: COUNTS[k] for k in range(<int>N_REWRITES)}
