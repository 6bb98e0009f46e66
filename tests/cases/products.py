"""Matrix products."""

from cases import Case, normal
from dualgrad import ops

CASES = [
    Case("matmul", "matrices", ops.matmul, (normal(2, 3), normal(3, 4))),
    Case("matmul", "stacks that broadcast", ops.matmul, (normal(2, 1, 2, 3), normal(3, 3, 2))),
    Case("matmul", "vectors", ops.matmul, (normal(3), normal(3, seed=1))),
]
