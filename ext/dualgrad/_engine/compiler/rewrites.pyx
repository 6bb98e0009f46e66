"""Counters of rewrites: how often each pass has done what it can do.

Design
------
A rewrite that no program reaches is not tested, and one that has stopped to be reached shows nowhere else. They are
counted when programs are planned; runs know nothing of them.
"""
from cpython.mem cimport PyMem_Calloc

COUNTS = <long long *>PyMem_Calloc(N_REWRITES, sizeof(long long))


def rewrites():
    """How often each rewrite has been done, by name."""
    return {rewrite.name.lower(): COUNTS[<int>rewrite.value] for rewrite in Rewrite if rewrite.value != N_REWRITES}
