"""Sparse Hessians and Jacobians by groups of colours, each computed by a worker.

This process finds the pattern and the colours once. A worker gets the seeds of some colours, and returns the products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._settings import one_of
from ..sparse.coloured import Sweeps, recorded_sweeps
from ..sparse.compressed import SparseDerivative, SparsePlan
from ..sparse.compressed import sparse_hessian as _sparse_hessian
from ..sparse.compressed import sparse_jacobian as _sparse_jacobian
from .backend import Backend, checked_count
from .connect import connected
from .functions import Kept, Sending, as_sent, unpacked

__all__ = ["sparse_hessian", "sparse_jacobian"]

COLOURS = 8  # colours of a group, by default


def sparse_hessian(
    fn: Callable[..., Any],
    backend: Backend | str | Any,
    grad_position: int | tuple[int, ...] = 0,
    *,
    colours: int = COLOURS,
    ordering: str = "best",
    pattern: Any = None,
) -> Callable[..., Any]:
    """Compute the sparse Hessian of a function by groups of colours.

    Parameters
    ----------
    fn, grad_position, ordering, pattern
        As for `dualgrad.sparse_hessian`, whose mode is ``"stars"`` here.
    backend : Backend, str, or an object of an engine
        As for `connect`.
    colours : int, default 8
        The number of colours in a group.

    Returns
    -------
    callable
        Takes the arguments of `fn` and returns a ``scipy.sparse.csr_array``. The pattern and the colours are kept as
        long as they suit the arguments.

    Raises
    ------
    TypeError, ValueError, ImportError
        As for `dualgrad.sparse_hessian`; TypeError also if `fn` cannot be sent.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import distributed
    >>> chain = lambda x: ((x[1:] - x[:-1] ** 2) ** 2).sum()
    >>> H = distributed.sparse_hessian(chain, "local", colours=1)(dg.Tensor(np.ones(4)))
    >>> H.toarray()
    array([[ 8., -4.,  0.,  0.],
           [-4., 10., -4.,  0.],
           [ 0., -4., 10., -4.],
           [ 0.,  0., -4.,  2.]])
    """
    derivative = _sparse_hessian(fn, grad_position, mode="stars", ordering=ordering, pattern=pattern)
    return _by_groups("sparse_hessian", derivative, fn, backend, checked_count("sparse_hessian", "colours", colours))


def sparse_jacobian(
    fn: Callable[..., Any],
    backend: Backend | str | Any,
    grad_position: int | tuple[int, ...] = 0,
    *,
    mode: str = "columns",
    colours: int = COLOURS,
    ordering: str = "best",
    pattern: Any = None,
) -> Callable[..., Any]:
    """Compute the sparse Jacobian of a function by groups of colours.

    Parameters
    ----------
    fn, grad_position, ordering, pattern
        As for `dualgrad.sparse_jacobian`.
    backend : Backend, str, or an object of an engine
        As for `connect`.
    mode : {"columns", "rows"}, default "columns"
        The vectors that are added up.
    colours : int, default 8
        The number of colours in a group.

    Returns
    -------
    callable
        As for `sparse_hessian`.

    Raises
    ------
    TypeError, ValueError, ImportError
        As for `dualgrad.sparse_jacobian`; TypeError also if `fn` cannot be sent.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import distributed
    >>> distributed.sparse_jacobian(lambda x: x[1:] * x[:-1], "local")(dg.Tensor([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]], dtype=float32)
    """
    if not one_of(mode, ("columns", "rows")):
        raise ValueError(f"sparse_jacobian: mode is {mode!r}; expected 'columns' or 'rows'")
    derivative = _sparse_jacobian(fn, grad_position, mode=mode, ordering=ordering, pattern=pattern)
    return _by_groups("sparse_jacobian", derivative, fn, backend, checked_count("sparse_jacobian", "colours", colours))


def _by_groups(name: str, derivative: SparseDerivative, fn: Any, backend: Any, colours: int) -> Callable[..., Any]:
    kept: list[tuple[SparsePlan, Sweeps]] = []

    def matrix(*args: Any) -> Any:
        if not kept or not kept[0][0].suits(*args):
            plan = derivative.prepare(*args)
            kept[:] = [(plan, plan.sweeps(colours))]
        plan, sweeps = kept[0]
        given = plan.checked(args)
        setting = len(given), derivative.positions, sweeps.colouring.kind, sweeps.unrolled, not plan.pattern.branches
        with connected(name, backend) as engine:
            groups = [seeds for _, seeds in sweeps.chunks]
            products = engine.map(_products, groups, *Sending(name, _Sweeps, fn).to(engine), name, setting, given)
        values = sweeps.assembled(zip([group for group, _ in sweeps.chunks], products, strict=True))
        return plan.matrix(plan.confirmed(given, values))

    return matrix


class _Sweeps(Kept):
    """A function, and its sweeps along seeds."""

    def made(self, *kind: Any) -> Callable[..., Any]:
        name, n_args, *setting = kind
        return recorded_sweeps(name, self.fn, n_args, *setting)


def _products(
    seeds: list[Any], content: bytes, key: str, name: str, setting: tuple[Any, ...], args: tuple[Any, ...]
) -> list[Any]:
    return unpacked(content, key, _Sweeps).call(name, *setting)(*as_sent(args), *seeds)
