"""SciPy's sparse matrices times tensors, sparsity patterns, and derivatives computed by patterns."""

from .products import csr_matmul, matmul

__all__ = ["csr_matmul", "matmul"]
