"""Methods of `Tensor` that have no function of their own, and methods that change a tensor in place.

A method whose name ends with an underscore computes a new value of the tensor's own shape and type and points the
handle at it, as ``t[index] = value`` does. Values computed from the old value keep it. A new value of another kind,
such as floating numbers for a tensor of integers, is an error, as in NumPy; `copy_` and `fill_` convert their argument.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._engine.transforms.handles import one_step
from ..._settings import truth_value
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import (
    converted,
    dropped,
    expanded,
    integer,
    kept,
    lengths,
    new_shape,
    one_axis,
    operand,
    to_shape,
    total,
    unpacked,
)
from ..index._elements import replaced
from ..index._scatter import index_add, scatter, scatter_add, tensor_scatter_add
from ..index.choice import clamp, masked_fill
from ..index.gather import gather_elements
from ..index.indexing import rewritten, written
from ..index.sorting import sort
from ..index.updates import (
    index_fill,
    tensor_scatter_div,
    tensor_scatter_max,
    tensor_scatter_min,
    tensor_scatter_mul,
    tensor_scatter_sub,
)
from ..linalg.determinants import det, slogdet
from ..math import elementwise as _rows
from ..math.arithmetic import div
from ..math.products import addmm
from ..neural._thresholds import hardshrink, softshrink
from ..random._samples import _ones, _uniform, _whole
from ..random.drawing import _source, randn
from ..shape._repeating import tile
from ..shape.creation import full, zeros
from .filling import new_ones, new_zeros
from .reversals import reverse_sequence
from .shapes import expand, view_as

__all__: list[str] = []


# -------------------------------------------------------------------------------------------- facts and types


def _number_of_elements(x: Tensor) -> int:
    return x.size


def _number_of_axes(x: Tensor) -> int:
    return x.ndim


def _is_contiguous(x: Tensor) -> bool:
    return True


def _is_signed(x: Tensor) -> bool:
    return x.dtype.numpy.kind in "ifc"


def _stride(x: Tensor, dim: int | None = None) -> Any:
    """The number of elements between neighbours along each axis."""
    steps = [math.prod(x.shape[k + 1 :]) for k in range(x.ndim)]
    return tuple(steps) if dim is None else steps[one_axis("stride", dim, x.shape)]


def _same(x: Tensor) -> Tensor:
    return +x


def _typed(name: str) -> Callable[[Tensor], Tensor]:
    target = as_dtype(getattr(_dtype, name), where=name)

    def method(x: Tensor) -> Tensor:
        return _engine.convert(x, target.num)

    return method


def _to(x: Tensor, dtype: Any) -> Tensor:
    """Convert to a type."""
    if isinstance(dtype, str) and dtype.partition(":")[0].lower() in (
        "cpu",
        "cuda",
        "gpu",
        "tpu",
        "npu",
        "ascend",
        "mps",
    ):
        raise TypeError(f"to: {dtype!r} is a device; expected a type. All tensors are on the CPU; leave it out")
    return x.astype(dtype)


def _type(x: Tensor, dtype: Any = None) -> Any:
    """Convert to a type; without one return the name of the tensor's type."""
    return str(x.dtype) if dtype is None else x.astype(dtype)


# ---------------------------------------------------------------------------------------------- other tensors


def _new_full(x: Tensor, size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    return full(size, fill_value, dtype=x.dtype if dtype is None else dtype)


def _fill(x: Tensor, value: Any) -> Tensor:
    """Make a tensor of the same shape and type, full of a number."""
    return full(x.shape, value, dtype=x.dtype)


def _expand(x: Tensor, *size: Any) -> Tensor:
    return expand(x, unpacked(size))


def _repeat(x: Tensor, *repeats: Any) -> Tensor:
    """Repeat the whole tensor along each axis; further numbers add axes in front."""
    times = lengths("repeat", unpacked(repeats))
    if len(times) < x.ndim:
        raise ValueError(f"repeat: {times} for a tensor of shape {x.shape}; expected a number for each axis")
    return tile(x, times)


def _sum_to_size(x: Tensor, *size: Any) -> Tensor:
    """Sum over axes down to a shape that broadcasts to the tensor's shape."""
    shape = new_shape("sum_to_size", unpacked(size))
    lead = x.ndim - len(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape, x.shape[max(lead, 0) :], strict=False)):
        raise ValueError(f"sum_to_size: {shape} does not broadcast to the shape {x.shape} of the tensor")
    axes = (*range(lead), *[lead + k for k, n in enumerate(shape) if n != x.shape[lead + k]])
    return to_shape(total(x, axes, False), shape)


def _kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest elements along an axis, and their positions."""
    axis = one_axis("kthvalue", dim, x.shape)
    if not 1 <= integer("kthvalue", "k", k) <= x.shape[axis]:
        raise ValueError(f"kthvalue: k is {k} for axis {dim} of shape {x.shape}; expected 1 up to its length")
    place = np.full(kept(x.shape, (axis,)), k - 1)
    values, places = [gather_elements(part, axis, place) for part in sort(x, axis)]
    truth_value("kthvalue", "keepdim", keepdim)
    if not keepdim:
        values, places = [to_shape(part, dropped(x.shape, (axis,))) for part in (values, places)]
    return values, places


def _index_put(x: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """Replace elements at index tensors, or add to them."""
    new = converted("index_put", "values", values, x)
    if not accumulate:
        return replaced(x, tuple(indices), new)
    many: list[np.ndarray] = []
    for part in [operand("index_put", part) for part in indices]:
        many += np.nonzero(part._numpy()) if part.dtype.is_bool else (part._numpy(),)
    shape = np.broadcast_shapes(*[part.shape for part in many])
    points = np.stack([np.broadcast_to(part, shape) for part in many], -1)
    rest = x.shape[len(many) :]
    return tensor_scatter_add(x, points, expanded(new, (*shape, *rest)))


def _reverse_sequence(x: Tensor, seq_lengths: Any, seq_dim: int = 0, batch_dim: int = 0) -> Tensor:
    return reverse_sequence(x, seq_lengths, seq_dim, batch_dim)


def _itemset(x: Tensor, *args: Any) -> Tensor:
    """Replace one number: the only one, one counted in order, or one at an index."""
    if len(args) not in (1, 2):
        raise TypeError(f"itemset: got {len(args)} arguments; expected a number, or a place and a number")
    if len(args) == 1 and x.size != 1:
        raise IndexError(f"itemset: the tensor has shape {x.shape}; expected the place of the number as well")
    place = 0 if len(args) == 1 else args[0]
    if not isinstance(place, tuple):
        count = integer("itemset", "the place", place)
        if not -x.size <= count < x.size:
            raise IndexError(f"itemset: place {count} is beyond the {x.size} elements of the tensor")
        place = tuple(map(int, np.unravel_index(count % x.size, x.shape)))
    if len(place) != x.ndim:
        raise IndexError(f"itemset: {place} for a tensor of shape {x.shape}; expected a number for each axis")
    return replaced(x, place, args[-1])


# --------------------------------------------------------------------------------------------------- in place


def _set_dtype(x: Tensor, dtype: Any) -> Tensor:
    """Convert to a type in place."""
    value = x._detached() if x._is_parameter else x
    return rewritten("set_dtype", x, value.astype(as_dtype(dtype, where="set_dtype")))


def _of_itself(name: str, function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def method(x: Tensor) -> Tensor:
        return written(name, x, function(x))

    return method


def _with_other(name: str, function: Callable[[Tensor, Any], Tensor]) -> Callable[[Tensor, Any], Tensor]:
    def method(x: Tensor, other: Any) -> Tensor:
        return written(name, x, function(x, other))

    return method


def _add_(x: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return written("add_", x, x + (other if alpha == 1 else other * alpha))


def _sub_(x: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return written("sub_", x, x - (other if alpha == 1 else other * alpha))


def _div_(x: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    return written("div_", x, div(x, other, rounding_mode=rounding_mode))


def _addmm_(x: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return written("addmm_", x, addmm(x, mat1, mat2, beta=beta, alpha=alpha))


def _clamp_(x: Tensor, min: Any = None, max: Any = None) -> Tensor:
    return written("clamp_", x, clamp(x, min, max))


def _masked_fill_(x: Tensor, mask: Any, value: Any) -> Tensor:
    return written("masked_fill_", x, masked_fill(x, mask, value))


def _index_fill_(x: Tensor, dim: int, index: Any, value: Any) -> Tensor:
    return written("index_fill_", x, index_fill(x, dim, index, value))


def _index_add_(x: Tensor, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
    return written("index_add_", x, index_add(x, index, source if alpha == 1 else source * alpha, dim))


def _index_put_(x: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    return written("index_put_", x, _index_put(x, indices, values, accumulate))


def _scatter_(x: Tensor, dim: int, index: Any, src: Any) -> Tensor:
    return written("scatter_", x, scatter(x, dim, index, src))


def _scatter_add_(x: Tensor, dim: int, index: Any, src: Any) -> Tensor:
    return written("scatter_add_", x, scatter_add(x, dim, index, src))


def _copy_(x: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    return written("copy_", x, expanded(operand("copy_", src).astype(x.dtype), x.shape))


def _fill_(x: Tensor, value: Any) -> Tensor:
    new = operand("fill_", value).astype(x.dtype)
    if new.ndim:
        raise ValueError(f"fill_: the value has shape {new.shape}; expected a single number")
    return written("fill_", x, expanded(new, x.shape))


def _zero_(x: Tensor) -> Tensor:
    return written("zero_", x, zeros(x.shape, x.dtype))


def _normal_(x: Tensor, mean: Any = 0, std: Any = 1, *, generator: None = None) -> Tensor:
    _own_source("normal_", generator)
    return written("normal_", x, mean + std * randn(x.shape, dtype=x.dtype))


def _uniform_(x: Tensor, from_: Any = 0, to: Any = 1, *, generator: None = None) -> Tensor:
    _own_source("uniform_", generator)
    return written("uniform_", x, from_ + (to - from_) * _uniform(_source(None), x.shape, x.dtype))


def _exponential_(x: Tensor, lambd: float = 1, *, generator: None = None) -> Tensor:
    _own_source("exponential_", generator)
    return written("exponential_", x, -_rows.log1p(-_uniform(_source(None), x.shape, x.dtype)) / lambd)


def _bernoulli_(x: Tensor, p: Any = 0.5, *, generator: None = None) -> Tensor:
    _own_source("bernoulli_", generator)
    return written("bernoulli_", x, _ones("bernoulli_", x.shape, p, _source(None)))


def _random_(x: Tensor, from_: int = 0, to: int | None = None, *, generator: None = None) -> Tensor:
    _own_source("random_", generator)
    if to is None:
        digits = {"float16": 11, "float32": 24, "float64": 53}.get(x.dtype.numpy.name)
        to = np.iinfo(x.dtype.numpy).max if digits is None else 2**digits + 1
    return written("random_", x, _whole("random_", _source(None), x.shape, from_, to, _dtype.int64).astype(x.dtype))


def _own_source(name: str, generator: None) -> None:
    if generator is not None:
        raise TypeError(f"{name}: a generator is given; numbers come from the source that dualgrad.set_seed seeds")


_IN_PLACE: dict[str, Callable[..., Any]] = {
    **{
        f"{name}_": _of_itself(f"{name}_", getattr(_rows, name))
        for name in ("exp", "log", "floor", "sign", "sigmoid", "tanh", "erfinv")
    },
    **{f"{name}_": _with_other(f"{name}_", getattr(_rows, name)) for name in ("mul", "remainder", "floor_divide")},
    "add_": _add_,
    "sub_": _sub_,
    "div_": _div_,
    "addmm_": _addmm_,
    "clamp_": _clamp_,
    "masked_fill_": _masked_fill_,
    "index_fill_": _index_fill_,
    "index_add_": _index_add_,
    "index_put_": _index_put_,
    "scatter_": _scatter_,
    "scatter_add_": _scatter_add_,
    "copy_": _copy_,
    "fill_": _fill_,
    "zero_": _zero_,
    "normal_": _normal_,
    "uniform_": _uniform_,
    "exponential_": _exponential_,
    "bernoulli_": _bernoulli_,
    "random_": _random_,
}


def _in_one_step(write: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(write)
    def method(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        with one_step(x):
            return write(x, *args, **kwargs)

    return method


METHODS: dict[str, Callable[..., Any]] = {
    "numel": _number_of_elements,
    "nelement": _number_of_elements,
    "dim": _number_of_axes,
    "ndimension": _number_of_axes,
    "is_contiguous": _is_contiguous,
    "is_signed": _is_signed,
    "stride": _stride,
    "clone": _same,
    "contiguous": _same,
    "value": _same,
    **{
        name: _typed(kind)
        for name, kind in {
            "bool": "bool_",
            "byte": "uint8",
            "short": "int16",
            "int": "int32",
            "long": "int64",
            "half": "float16",
            "float": "float32",
            "double": "float64",
        }.items()
    },
    "to": _to,
    "type": _type,
    "new_zeros": new_zeros,
    "new_ones": new_ones,
    "new_empty": new_zeros,
    "new_full": _new_full,
    "fill": _fill,
    "expand": _expand,
    "repeat": _repeat,
    "reshape_as": view_as,
    "sum_to_size": _sum_to_size,
    "kthvalue": _kthvalue,
    "itemset": _itemset,
    "set_dtype": _in_one_step(_set_dtype),
    "index_put": _index_put,
    "reverse_sequence": _reverse_sequence,
    "hardshrink": hardshrink,
    "soft_shrink": softshrink,
    "matrix_determinant": det,
    "log_matrix_determinant": slogdet,
    "scatter_sub": tensor_scatter_sub,
    "scatter_div": tensor_scatter_div,
    "scatter_mul": tensor_scatter_mul,
    "scatter_max": tensor_scatter_max,
    "scatter_min": tensor_scatter_min,
    **{name: _in_one_step(write) for name, write in _IN_PLACE.items()},
}
