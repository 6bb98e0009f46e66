"""Random whole numbers, permutations, and choices among categories.

Choices among categories compare uniform numbers, so they are part of a recorded program; their derivative is 0. The
samples of `vmap` choose independently of each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtype as _dtype
from ..._engine.transforms import tensor as _engine
from ..._settings import room, whole_number
from ...dtype import as_dtype
from ...tensor import Tensor
from .._arguments import floating, operand
from ..math.elementwise import exp
from ..math.reductions import amax
from ._samples import _again, _by_seeds, _categories, _chosen, _ones, _shuffled, _whole
from .drawing import _source

__all__ = [
    "bernoulli", "choice_with_mask", "multinomial", "multinomial_with_replacement", "randint", "randint_like",
    "random_categorical", "randperm", "shuffle",
]  # fmt: skip


def randint(low: int, high: int, size: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Draw integers from `low` up to, but not including, `high`.

    Parameters
    ----------
    low, high : int
        The limits.
    size : int or tuple of int
        The shape.
    seed : int, optional
        As in `standard_normal`.
    dtype : type, default int64
        An integer type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.randint(3, 4, (2,)))
    [3 3]
    """
    target = _dtype.int64 if dtype is None else as_dtype(dtype, where="randint")
    return _whole("randint", _source(seed), size, low, high, target)


def randint_like(input: Any, low: int, high: int, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Draw integers in the shape of another tensor.

    Parameters
    ----------
    input : Tensor
        Gives the shape of the result, and its type if it holds integers.
    low, high, seed, dtype
        As in `randint`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.randint_like(ops.ones((2,)), 3, 4))
    [3 3]
    """
    x = operand("randint_like", input)
    own = x.dtype if x.dtype.is_int else None
    return randint(low, high, x.shape, seed, dtype=own if dtype is None else dtype)


def randperm(n: int, seed: int = 0, offset: int = 0, dtype: Any = _dtype.int64) -> Tensor:
    """The numbers from 0 to n - 1 in random order.

    Parameters
    ----------
    n : int
        The number of integers.
    seed, offset : int, default 0
        Draw from a source of its own with these seeds, unless both are 0.
    dtype : type, default int64
        The type.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from dualgrad import ops
    >>> print(ops.sort(ops.randperm(4))[0])
    [0 1 2 3]
    """
    count, target = whole_number("randperm", "n", n), as_dtype(dtype, where="randperm")
    room("randperm", (count,))
    source = _again(seed, offset)
    return _engine.draw(lambda: source().permutation(count).astype(target.numpy))


def shuffle(x: Any, seed: int | None = None) -> Tensor:
    """The rows of a tensor in random order.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> float(ops.shuffle(dg.Tensor([1.0, 2.0, 4.0])).sum())
    7.0
    """
    return _shuffled("shuffle", x, _source(seed))


# ---------------------------------------------------------------------------------------------------- choices


def bernoulli(input: Any, p: Any = 0.5, seed: int | None = None) -> Tensor:
    """Draw ones with a probability, zeros else.

    Parameters
    ----------
    input : Tensor
        Gives the shape and the type of the result.
    p : Tensor or float, default 0.5
        The probability of a one; a shape that broadcasts to the shape of `input`. The derivative by it is 0.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.bernoulli(ops.ones((3,)), dg.Tensor([0.0, 1.0, 1.0])))
    [0. 1. 1.]
    """
    x = operand("bernoulli", input)
    return _engine.convert(_ones("bernoulli", x.shape, p, _source(seed)), x._typenum)


def multinomial(input: Any, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """Draw categories by their weights.

    Parameters
    ----------
    input : Tensor
        Weights of the categories along the last axis, none negative; a vector or a matrix.
    num_samples : int
        The number of draws for each row.
    replacement : bool, default True
        True if a category may be drawn again.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    Tensor
        Type Int32, the numbers of the categories along the last axis.

    Raises
    ------
    ValueError
        If shapes or settings do not fit, or for weights that are negative, not finite or all 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.multinomial(dg.Tensor([0.0, 3.0, 0.0]), 2))
    [1 1]
    """
    name = "multinomial"
    return _categories(name, input, num_samples, replacement, _source(seed)).astype(_dtype.int32)


def multinomial_with_replacement(x: Any, seed: int, offset: int, numsamples: int, replacement: bool = False) -> Tensor:
    """Draw categories by their weights; `multinomial` with two seeds and Int64.

    Parameters
    ----------
    x : Tensor
        Weights, as `input` in `multinomial`.
    seed, offset : int or Tensor of one int
        Draw from a source of its own with these seeds, unless they are 0 and 0, or -1 and 0.
    numsamples : int
        As `num_samples` in `multinomial`.
    replacement : bool, default False
        True if a category may be drawn again. Without replacement, categories of weight 0 come last.

    Returns
    -------
    Tensor
        Type Int64.

    Raises
    ------
    TypeError
        If `replacement` is not a bool.
    ValueError
        If shapes or settings do not fit, or for weights that are negative, not finite or all 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.multinomial_with_replacement(dg.Tensor([0.0, 3.0, 0.0]), 2, 5, 2, True))
    [1 1]
    """
    return _by_seeds("multinomial_with_replacement", x, seed, offset, numsamples, replacement)


def choice_with_mask(input_x: Any, count: int = 256, seed: int | None = None) -> tuple[Tensor, Tensor]:
    """Choose places where a mask is set, each at most once, in random order.

    Parameters
    ----------
    input_x : Tensor
        The mask, type Bool, 1 to 5 axes.
    count : int, default 256
        The number of places to choose.
    seed : int, optional
        As in `standard_normal`.

    Returns
    -------
    index : Tensor
        The places, a row for each, type Int32, shape (count, axes of the mask).
    mask : Tensor
        Which rows are places, type Bool, shape (count,). If the mask has fewer set elements than `count`, all are
        chosen, and rows of zeros follow.

    Raises
    ------
    TypeError
        If the mask is not of type Bool.
    ValueError
        If it has no axes or more than 5, or `count` is not positive.
    RuntimeError
        If there are more than ``2**31 - 2`` indices.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> index, mask = ops.choice_with_mask(dg.Tensor([[False, False], [True, False]]), 2)
    >>> print(index.tolist(), mask)
    [[1, 0], [0, 0]] [ True False]
    """
    return _chosen("choice_with_mask", input_x, count, _source(seed))


def random_categorical(logits: Any, num_sample: int, seed: int = 0, dtype: Any = _dtype.int64) -> Tensor:
    """Draw categories by logarithms of their weights.

    Parameters
    ----------
    logits : Tensor
        Logarithms of weights, shape (N, categories).
    num_sample : int
        The number of draws for each row.
    seed : int, default 0
        Draw from a source of its own with this seed, unless it is 0.
    dtype : type, default int64
        Int32 or Int64.

    Returns
    -------
    Tensor
        Shape (N, num_sample).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.random_categorical(dg.Tensor([[0.0, 1000.0]]), 2))
    [[1 1]]
    """
    x = _engine.stop(floating("random_categorical", logits)).astype(_dtype.float64)
    if x.ndim != 2 or not x.size:
        raise ValueError(f"random_categorical: logits have shape {x.shape}; expected (N, categories)")
    weights = exp(x - amax(x, -1, True))
    return _categories("random_categorical", weights, num_sample, True, _again(seed, 0)).astype(dtype)


METHODS: dict[str, Callable[..., Any]] = {
    "bernoulli": bernoulli,
    "multinomial": multinomial,
    "random_categorical": random_categorical,
}
