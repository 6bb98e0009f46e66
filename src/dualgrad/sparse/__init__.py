"""Sparse matrices of SciPy times tensors, patterns, and derivatives that are computed by patterns."""

from .products import csr_matmul, matmul

__all__ = ["csr_matmul", "matmul"]
