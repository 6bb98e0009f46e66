"""NumPy's quantiles, percentiles and medians for tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtype as _dtype
from .._joined import holds_tensor
from .._settings import array_of
from ..ops._arguments import floating
from ..ops.composed._order_statistics import quantiles
from ..tensor import Tensor
from ._creation import tensor_of
from ._entries import implements

__all__: list[str] = []


def _enter(function: Any, leave_out: bool, hundreds: bool) -> None:
    name = f"np.{function.__name__}"

    @implements(function)
    def handler(
        a: Any,
        q: Any,
        axis: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Tensor:
        if isinstance(q, list | tuple) and holds_tensor(q):
            q = tensor_of(q)
        q = q if isinstance(q, Tensor) else array_of(name, "q", q)
        if isinstance(q, np.ndarray) and q.dtype.kind not in "biuf":
            raise TypeError(f"{name}: q must be numbers, got {q!r:.60}")
        if hundreds:
            q = q.astype(_dtype.float64) / 100.0 if isinstance(q, Tensor) else np.true_divide(q, 100)
        return quantiles(name, a, q, axis, keepdims, method, weights, leave_out)


_enter(np.quantile, False, False)
_enter(np.percentile, False, True)
_enter(np.nanquantile, True, False)
_enter(np.nanpercentile, True, True)


@implements(np.median)
def _np_median(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Tensor:
    return quantiles("np.median", floating("np.median", a), 0.5, axis, keepdims)


@implements(np.nanmedian)
def _np_nanmedian(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Tensor:
    return quantiles("np.nanmedian", floating("np.nanmedian", a), 0.5, axis, keepdims, leave_out=True)
