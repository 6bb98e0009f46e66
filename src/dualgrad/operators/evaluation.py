"""One evaluation of a function in an algebra: shapes, directions, extraction of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import ops
from .._engine.transforms import leaves as engine
from .._engine.transforms.forward import run_forward
from .._engine.transforms.inputs import as_input
from ..tensor import Tensor
from .algebras import Scheme
from .symbols import Index

__all__ = ["Derivatives"]


class Derivatives(Mapping[Index, Tensor]):
    """The partial derivatives that an operator yields besides its own value, by multi-index.

    Examples
    --------
    >>> import dualgrad as dg
    >>> f = lambda x: x[0] ** 3 * x[1]
    >>> value, lower = dg.laplacian(f, lower=True)(dg.Tensor([2.0, 5.0]))
    >>> sorted(lower)
    [(0, 0), (0, 1), (1, 0)]
    >>> print(value, lower[1, 0])
    60.0 60.0
    """

    def __init__(self, scheme: Scheme, parts: list[Tensor | None]) -> None:
        self._scheme = scheme
        self._parts = parts

    def __getitem__(self, index: Index) -> Tensor:
        if index not in self._scheme.pure:
            raise KeyError(f"{index!r} is not among the derivatives that come with this operator: {list(self)}")
        block, number, factor = self._scheme.pure[index]
        part = self._parts[block]
        if part is None:
            return ops.zeros_like(self._parts[0])
        if self._scheme.algebra.sizes[block] > 1:
            part = part[number]
        return part if factor == 1.0 else part * factor

    def __iter__(self) -> Iterator[Index]:
        return iter(self._scheme.pure)

    def __len__(self) -> int:
        return len(self._scheme.pure)


def checked_point(name: str, x: Any) -> Tensor:
    """Check the input of an operator: a point (D,), or points (N, D)."""
    x = as_input(name, "x", x)
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: expected a Tensor or array of shape (D,) or (N, D), got {type(x).__name__}")
    if x.ndim not in (1, 2) or x.shape[-1] == 0:
        raise ValueError(f"{name}: x has shape {x.shape}; expected (D,), one point, or (N, D), one point in each row")
    if not x.dtype.is_float:
        raise TypeError(f"{name}: x has type {x.dtype}; expected float32 or float64")
    return x


def checked_result(name: str, out: Any, x: Tensor) -> Tensor:
    """Check the result of the function against the points."""
    if not isinstance(engine.checked_result(name, out), Tensor):
        raise TypeError(f"{name}: the function returned a {type(out).__name__}; expected one Tensor")
    if x.ndim == 2 and (out.ndim == 0 or out.shape[0] != x.shape[0]):
        raise ValueError(
            f"{name}: x has {x.shape[0]} points (rows), but the function returned shape {out.shape}, which does not "
            f"begin with them; expected (N,) or (N, m). For a function of one point use dualgrad.vmap(function)"
        )
    return out


def coefficients(name: str, scheme: Scheme, f: Callable[..., Any], x: Tensor, rest: tuple[Any, ...]) -> list[Any]:
    """The coefficients of f at x plus the scheme's element; None for zero."""
    parts: list[Tensor | None] = [x]
    for size, directions in zip(scheme.algebra.sizes[1:], scheme.seeds[1:], strict=True):
        parts.append(None if directions is None else moved(directions, size, x))
    return run_forward(name, scheme.algebra, lambda y: checked_result(name, f(y, *rest), x), [parts])


def moved(directions: np.ndarray, size: int, x: Tensor) -> Tensor:
    """Directions (size, D), repeated for every point by a view."""
    lead = (size,) if size > 1 else ()
    directions = directions.reshape(lead + (1,) * (x.ndim - 1) + directions.shape[-1:])
    return ops.broadcast_to(Tensor(directions, dtype=x.dtype), lead + tuple(x.shape))


def read(reads: Mapping[int, Any], parts: list[Any]) -> Tensor:
    """A linear combination of coefficients."""
    total = None
    for block, factor in reads.items():
        if parts[block] is not None:
            term = parts[block] if isinstance(factor, float) and factor == 1.0 else parts[block] * factor
            total = term if total is None else total + term
    return ops.zeros_like(parts[0]) if total is None else total


def check_rows(name: str, f: Callable[..., Any], x: Tensor, rest: tuple[Any, ...]) -> None:
    """Compare f of all rows with f of single rows.

    This reads numbers, so it fails inside vmap and makes recorded functions run eagerly.
    """
    if x.ndim != 2:
        return
    points = ops.stop_gradient(x)
    whole = checked_result(name, f(points, *rest), points)
    for i in sorted({0, x.shape[0] // 2, x.shape[0] - 1}):
        try:
            single = f(points[i : i + 1], *rest)
        except Exception as error:
            raise ValueError(
                f"{name}: the function mixes rows: it works for {x.shape[0]} rows together, but not for one alone"
            ) from error
        alone = checked_result(name, single, points[i : i + 1]).asnumpy()
        among = whole[i : i + 1].asnumpy()
        room = 64 * np.finfo(among.dtype).eps * max(1.0, float(np.abs(whole.asnumpy()).max()))
        if alone.shape != among.shape or not np.allclose(alone, among, rtol=1e-6, atol=room, equal_nan=True):
            raise ValueError(
                f"{name}: the function mixes rows: row {i} of its result for all {x.shape[0]} rows is {among[0]}, and "
                f"{alone[0] if len(alone) else alone} for that row alone; expected each row of the result to depend on "
                f"the same row of x only"
            )
