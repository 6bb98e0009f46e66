"""`map_samples`: apply a function to many rows, by shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.trace.cache import Recorded
from .._nests import mapped, refilled, tensors_in
from ..modes import jit
from ..tensor import Tensor
from .backend import Backend
from .connect import connected
from .functions import Kept, Sending, as_sent, own_recordings, unpacked
from .shards import CHUNK, Shard, Shards

__all__ = ["map_samples"]


def map_samples(
    fn: Callable[..., Any],
    *rows: Any,
    backend: Backend | str | Any = None,
    args: tuple[Any, ...] = (),
    chunk: int | None = None,
) -> Any:
    """Apply a function of rows to shards of many rows. Results are in order.

    Parameters
    ----------
    fn : callable
        ``fn(*args, *rows)`` takes arrays of some rows each, and returns a Tensor with as many rows, or a pytree of such
        Tensors. Row i of the results must depend only on row i of the arrays: a network on a batch,
        ``dg.vmap(dg.laplacian(u))``, ``dg.vmap(dg.grad(energy))``.
    *rows : array_like or Tensor, or one Shards
        Arrays with the same number of rows, or rows that the workers already have.
    backend : Backend, str, or an object of an engine
        As for `connect`; Shards have their own.
    args : tuple, default ()
        Leading arguments that all rows share; pytrees of tensors.
    chunk : int, default 4096
        The number of rows computed at once; Shards have their own.

    Returns
    -------
    Tensor or pytree of Tensors
        The results of `fn`, with all rows.

    Raises
    ------
    TypeError
        If rows are not arrays of numbers, `fn` does not return tensors, or it cannot be sent.
    ValueError
        If the number of rows in a result differs from the given number.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import distributed
    >>> points = np.arange(6.0).reshape(3, 2)
    >>> cubes = lambda x: (x**3).sum()
    >>> print(distributed.map_samples(dg.vmap(dg.laplacian(cubes)), points, backend="local"))
    [ 6. 30. 54.]
    >>> print(distributed.map_samples(dg.vmap(dg.grad(cubes)), points, backend="local", chunk=2))
    [[ 0.  3.]
     [12. 27.]
     [48. 75.]]
    """
    if len(rows) == 1 and isinstance(rows[0], Shards):
        shards = rows[0]
        if backend is not None and backend is not shards.backend:
            raise ValueError("map_samples: the rows are Shards, so the backend is theirs; leave out backend")
        if chunk is not None and chunk != shards.chunk:
            raise ValueError(f"map_samples: the rows are Shards in chunks of {shards.chunk}; leave out chunk")
        return _mapped(fn, shards, args)
    if any(isinstance(x, Shards) for x in rows):
        raise TypeError("map_samples: give one Shards object with all arrays, or arrays")
    with connected("map_samples", backend) as engine:
        return _mapped(fn, Shards(engine, *rows, chunk=CHUNK if chunk is None else chunk), args)


def _mapped(fn: Any, shards: Shards, args: tuple[Any, ...]) -> Any:
    if not callable(fn):
        raise TypeError(f"map_samples: expected a function or Cell, got {type(fn).__name__}")
    sending = Sending("map_samples", OfRows, fn, recordings={("rows",): own_recordings(fn)})
    parts = shards.map(_rows_of, *sending.to(shards.backend), tuple(args))
    structure = parts[0][0]
    columns = zip(*[arrays for _, arrays in parts], strict=True)
    return refilled(structure, [Tensor(np.concatenate(arrays)) for arrays in columns])


class OfRows(Kept):
    """A function of rows."""

    def made(self, *kind: Any) -> Callable[..., Any]:
        return self.fn if isinstance(self.fn, Recorded) else jit(self.fn)


def _rows_of(shard: Shard, content: bytes, key: str, args: tuple[Any, ...]) -> tuple[Any, list[np.ndarray]]:
    """The results for a shard: their structure, and the array of each tensor."""
    fn = unpacked(content, key, OfRows).call("rows")
    args = as_sent(args)
    parts: list[list[np.ndarray]] = []
    structure: Any = None
    for _, rows in shard.chunks():
        result = fn(*args, *rows)
        tensors = tensors_in(result)
        if not tensors:
            raise TypeError(f"map_samples: the function returned {type(result).__name__}; expected Tensors")
        for t in tensors:
            if not t.shape or t.shape[0] != len(rows[0]):
                raise ValueError(
                    f"map_samples: for {len(rows[0])} rows the function returned a Tensor of shape {t.shape}; expected "
                    "one row of results for each (dualgrad.vmap makes a function of one row one of many)"
                )
        parts.append([t.asnumpy() for t in tensors])
        structure = mapped(result, lambda t: Tensor(0.0)) if structure is None else structure
    return structure, [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
