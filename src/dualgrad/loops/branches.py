"""`cond`: one of two functions, also where samples differ in which.

`dualgrad.ops.cond` is something else, the condition number of a matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._engine.transforms.rematerialisation import primal
from ..tensor import Tensor
from .steps import check_same, chosen

__all__ = ["cond"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """Call one of two functions.

    Parameters
    ----------
    pred : bool or Tensor of one element
        Which: `true_fn` where it holds.
    true_fn, false_fn : callable
        Functions of the operands.
    *operands
        What the function is given.

    Returns
    -------
    object
        What that function returns.

    Raises
    ------
    TypeError
        If one of the functions is not callable.
    ValueError
        If `pred` has more than one element; under `vmap`, if the functions return different nestings, shapes or types.

    Notes
    -----
    Only the function that is chosen is called. Under `vmap`, where the choice may differ from sample to sample, both
    are, and the branch that is not taken adds nothing to a derivative, not even where its own slope is infinite. In a
    recorded function (`jit`, Graph mode) a choice by an argument has the function run eagerly.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> f = lambda x: dg.cond(x > 0, ops.sqrt, ops.neg, x)
    >>> xs = dg.Tensor([4.0, -1.0])
    >>> print(f(xs[0]), dg.vmap(f)(xs), dg.vmap(dg.grad(f))(xs))
    2.0 [2. 1.] [ 0.25 -1.  ]
    """
    for what, f in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(f):
            raise TypeError(f"cond: {what} is a {type(f).__name__}; expected a function or Cell")
    if not isinstance(pred, Tensor):
        return (true_fn if pred else false_fn)(*operands)
    if pred.size != 1:
        raise ValueError(f"cond: pred has shape {pred.shape}; expected one truth value (ops.where chooses by element)")
    batched = primal(pred)
    if batched.ndim == pred.ndim:
        return (true_fn if bool(pred) else false_fn)(*operands)
    taken, other = true_fn(*operands), false_fn(*operands)
    check_same("cond", taken, other, "the result")
    return chosen(pred.reshape(()), taken, other)
