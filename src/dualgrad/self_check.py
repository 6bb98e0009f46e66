"""`run_check`: test that the installation computes correct derivatives."""

from __future__ import annotations

import math

from dualgrad import ops
from dualgrad.tensor import Tensor

__all__ = ["run_check"]


def run_check() -> None:
    """Compute known derivatives, compare them with exact ones, and print the result.

    Raises
    ------
    RuntimeError
        If a number is wrong.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.run_check()
    dualgrad works: products and derivatives up to order 4 are right.
    """
    product = ops.matmul(Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]]))
    if product.tolist() != [[11.0]]:
        raise RuntimeError(f"run_check: the product of two matrices is {product.tolist()}; expected [[11.0]]")
    x = 0.5
    # the derivatives of exp(2 x) sin(x)
    exact = [math.exp(2 * x) * ((2 + 1j) ** order * complex(math.cos(x), math.sin(x))).imag for order in range(5)]
    function = lambda x: ops.exp(2.0 * x) * ops.sin(x)  # noqa: E731
    for order, expected in enumerate(exact):
        found = function(Tensor(x, "float64")).item()
        if not math.isclose(found, expected, rel_tol=1e-13):
            raise RuntimeError(f"run_check: the derivative of order {order} is {found!r}; expected {expected!r}")
        function = ops.grad(function)
    print("dualgrad works: products and derivatives up to order 4 are right.")
