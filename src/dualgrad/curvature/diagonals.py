"""`hessian_diagonal`: the diagonal entries of a Hessian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._engine.transforms.forward import run_forward
from .._engine.values.algebra import jets
from .._nests import tensors_in
from .._settings import one_of
from ..sparse.compressed import sparse_hessian
from ..tensor import Tensor
from ..transforms.jacobians import along_unit_vectors
from ..transforms.selection import Selected
from ..transforms.transformed import transformation
from ._space import Space, kept, selected, selection_of
from .estimates import diagonal
from .products import hessian_operator

__all__ = ["hessian_diagonal"]

WAYS = ("forward", "reverse", "sparse")


@transformation
def hessian_diagonal(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = None,
    weights: Any = None,
    *,
    way: str = "forward",
    samples: int | None = None,
    probes: Any = "rademacher",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Make the function that computes the diagonal of the Hessian: the second derivative by each variable.

    Parameters
    ----------
    fn, grad_position, weights
        As for `hessian_operator`.
    way : {"forward", "reverse", "sparse"}
        The exact method. Forward: one evaluation along each unit vector in the algebra R[t] / t^3, whose last
        coefficient is half the entry; no gradient is formed. Reverse: a Hessian-vector product for each variable.
        Sparse: for Hessians with few entries, from the pattern, by entries or coloured products (`sparse_hessian`); not
        inside other transforms.
    samples : int, optional
        Estimate the diagonal with this many random probes instead, one Hessian-vector product each.
    probes
        As for `trace`.
    chunk_size : int, optional
        The number of directions in a batch, as for `jacfwd`; not for the sparse way.

    Returns
    -------
    callable
        Takes the inputs of `fn`. Returns Tensors in the structure of a gradient; with `samples` or given probes an
        `Estimate` of two such structures.

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `hessian_operator`, and for unknown options.

    See Also
    --------
    laplacian : The sum of the diagonal, in one sweep.

    Notes
    -----
    Forward and reverse can be recorded (`dualgrad.jit`) and differentiated to any order. A program computes entries one
    by one if most numbers along the unit vectors would be zero.

    Examples
    --------
    >>> import dualgrad as dg
    >>> f = lambda x: (x**3).sum() + x[0] * x[1]
    >>> x = dg.Tensor([1.0, 2.0], dg.float64)
    >>> print(dg.curvature.hessian_diagonal(f)(x))
    [ 6. 12.]
    >>> print(dg.grad(lambda x: dg.curvature.hessian_diagonal(f)(x).sum())(x))
    [6. 6.]
    >>> dg.set_seed(0)
    >>> value, error = dg.curvature.hessian_diagonal(f, samples=400)(x)
    >>> print(error)
    [0.05004697 0.05004697]
    """
    name = "hessian_diagonal"
    weights = kept(weights)
    selection = selection_of(name, fn, grad_position, weights)
    if not one_of(way, WAYS):
        raise ValueError(f"{name}: way is {way!r}; expected one of {', '.join(WAYS)}")
    operator = hessian_operator(fn, grad_position, weights)

    def exact(*args: Any, **kwargs: Any) -> Any:
        call = selected(selection, fn, args, kwargs)
        if way == "sparse":
            return _sparse(call)
        along = _along_forward if way == "forward" else _along_reverse(operator(*args, **kwargs)._product)
        return call.arranged([_by_leaf(name, along, call, i, chunk_size) for i in range(len(call.leaves))])

    def estimated(*args: Any, **kwargs: Any) -> Any:
        return diagonal(operator(*args, **kwargs), samples, probes=probes)

    return exact if samples is None and isinstance(probes, str) else estimated


def _by_leaf(name: str, along: Callable[..., Tensor], call: Selected, i: int, chunk_size: int | None) -> Tensor:
    """The second derivatives by the elements of one tensor, in its shape."""
    x = call.leaves[i]
    if not x.size:
        return ops.zeros_like(x)
    found, _ = along_unit_vectors(name, lambda v: along(call, i, v), x, chunk_size)
    return found.reshape(x.shape).astype(x.dtype)


def _summed(call: Selected, leaves: tuple[Tensor, ...]) -> Tensor:
    results = tensors_in(call(*leaves))
    if not results or not all(y.dtype.is_float for y in results):
        found = ", ".join(str(y.dtype) for y in results) or "no Tensor"
        raise TypeError(f"{call.selection.name}: the function returned {found}; expected Tensors of real floats")
    parts = [y.sum() for y in results]
    return sum(parts[1:], parts[0])


def _along_forward(call: Selected, i: int, v: Tensor) -> Tensor:
    """The second derivative along a direction v of the i-th tensor."""
    inputs: list[list[Tensor | None]] = [[x, None, None] for x in call.leaves]
    inputs[i][1] = v
    found = run_forward(call.selection.name, jets(2), lambda *leaves: _summed(call, leaves), inputs)
    return ops.zeros_like(found[0]) if found[2] is None else 2.0 * found[2]


def _along_reverse(product: Callable[[list[Tensor]], list[Tensor]]) -> Callable[..., Tensor]:
    def along(call: Selected, i: int, v: Tensor) -> Tensor:
        direction = [v if j == i else ops.zeros_like(x) for j, x in enumerate(call.leaves)]
        return (v * product(direction)[i]).sum()

    return along


def _sparse(call: Selected) -> Any:
    """The diagonal entries of the sparse Hessian of the flat vector."""
    space = Space(call)
    x = space.vector(call.leaves)
    plan = sparse_hessian(lambda z: _summed(call, tuple(space.pieces(z)))).prepare(x)
    rows, columns = plan.pattern.rows(), plan.pattern.indices
    place = np.full(space.size, len(rows))  # a zero after the entries, for places outside the pattern
    place[rows[rows == columns]] = np.flatnonzero(rows == columns)
    return space.nest(Tensor(np.append(plan.values(x), 0.0)[place], x.dtype))
