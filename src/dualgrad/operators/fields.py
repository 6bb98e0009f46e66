"""Operators on vector fields: divergence and curl."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..tensor import Tensor
from ..transforms.transformed import transformation
from .algebras import gradient_scheme
from .evaluation import Derivatives, check_rows, checked_point, coefficients

if TYPE_CHECKING:
    from typing import Concatenate, Literal, overload

    from ..transforms.transformed import Input, P

__all__ = ["curl", "divergence"]


if TYPE_CHECKING:

    @overload
    def divergence(
        f: Callable[Concatenate[Tensor, P], object],
        *,
        lower: Literal[False] = False,
        check: bool = False,
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def divergence(
        f: Callable[..., Any],
        *,
        lower: bool = False,
        check: bool = False,
    ) -> Callable[..., Any]: ...


@transformation
def divergence(f: Callable[..., Any], *, lower: bool = False, check: bool = False) -> Callable[..., Any]:
    """The divergence of a vector field, the sum of the derivatives of each component by its own variable.

    Parameters
    ----------
    f : callable
        A field of one point, (D,) -> (D,), or row by row, (N, D) -> (N, D). It gets further arguments unchanged.
    lower : bool
        Return ``(result, lower)``, with the value of the field and its first derivatives, by multi-index.
    check : bool
        Check on a few rows that `f` does not mix them.

    Returns
    -------
    callable
        Takes x of shape (D,) or (N, D), a Tensor or NumPy array; the result has shape () or (N,).

    Raises
    ------
    TypeError
        If `f` is not callable, x does not hold floating-point numbers, or `f` does not return one Tensor.
    ValueError
        If x is neither (D,) nor (N, D), or `f` does not return the shape of x.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.divergence(lambda x: x * x)(dg.Tensor([1.0, 2.0, 3.0])))
    12.0
    """

    def apply(x: Tensor, *rest: Any) -> Any:
        derivatives, slopes = _jacobian("divergence", f, x, rest, check)
        dimensions = x.shape[-1]
        picked = np.eye(dimensions).reshape((dimensions,) + (1,) * (x.ndim - 1) + (dimensions,))
        result = (slopes * Tensor(picked, dtype=slopes.dtype)).sum((0, -1))
        return (result, derivatives) if lower else result

    return apply


if TYPE_CHECKING:

    @overload
    def curl(
        f: Callable[Concatenate[Tensor, P], object],
        *,
        lower: Literal[False] = False,
        check: bool = False,
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def curl(
        f: Callable[..., Any],
        *,
        lower: bool = False,
        check: bool = False,
    ) -> Callable[..., Any]: ...


@transformation
def curl(f: Callable[..., Any], *, lower: bool = False, check: bool = False) -> Callable[..., Any]:
    """The curl of a vector field in three dimensions; in two, its only component.

    Parameters
    ----------
    f : callable
        A field of one point, (D,) -> (D,), or row by row, (N, D) -> (N, D), with D of 2 or 3.
    lower, check : bool
        As for `divergence`.

    Returns
    -------
    callable
        Takes x of shape (D,) or (N, D). The result has the shape of x for D = 3; for D = 2 it is
        d f_1 / d x_0 - d f_0 / d x_1, of shape () or (N,).

    Raises
    ------
    TypeError, ValueError
        As for `divergence`, or if D is neither 2 nor 3.

    Examples
    --------
    >>> import dualgrad as dg
    >>> turning = lambda x: dg.ops.stack((-x[1], x[0], x[0] * x[1] * x[2]))
    >>> print(dg.curl(turning)(dg.Tensor([1.0, 2.0, 3.0])))
    [ 3. -6.  2.]
    """

    def apply(x: Tensor, *rest: Any) -> Any:
        derivatives, slopes = _jacobian("curl", f, x, rest, check)

        def slope(i: int, j: int) -> Tensor:
            return slopes[i][..., j]

        if x.shape[-1] == 2:
            result = slope(0, 1) - slope(1, 0)
        elif x.shape[-1] == 3:
            result = ops.stack(
                [slope((k + 1) % 3, (k + 2) % 3) - slope((k + 2) % 3, (k + 1) % 3) for k in range(3)], -1
            )
        else:
            raise ValueError(f"curl: x has {x.shape[-1]} variables; expected 2 or 3")
        return (result, derivatives) if lower else result

    return apply


def _jacobian(
    name: str, f: Callable[..., Any], x: Any, rest: tuple[Any, ...], check: bool
) -> tuple[Derivatives, Tensor]:
    """The derivatives of a field, also as one tensor with the variable along the first axis."""
    if not callable(f):
        raise TypeError(f"{name}: expected a function or Cell, got {type(f).__name__}; pass the function itself")
    x = checked_point(name, x)
    if check:
        check_rows(name, f, x, rest)
    scheme = gradient_scheme(x.shape[-1])
    parts = coefficients(name, scheme, f, x, rest)
    if tuple(parts[0].shape) != tuple(x.shape):
        raise ValueError(
            f"{name}: the field has shape {parts[0].shape} at x of shape {x.shape}; expected the shape of x"
        )
    slopes = parts[1]
    if slopes is None:
        slopes = ops.zeros_like(ops.broadcast_to(parts[0], (x.shape[-1], *x.shape)))
    elif scheme.algebra.sizes[1] == 1:
        slopes = slopes.reshape((1, *x.shape))
    return Derivatives(scheme, parts), slopes
