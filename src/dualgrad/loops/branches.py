"""`cond`: call one of two functions; under `vmap` the choice may differ between samples.

`dualgrad.ops.cond` is the condition number of a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .._engine.primitives.execute import unrepeatable
from .._engine.transforms.rematerialisation import (
    branch,
    either,
    filled,
    is_batched,
    made_since,
    pulled_back,
    serial,
    share,
    shared_with,
    template_of,
    tensors_of,
    whole,
)
from .._settings import truth_value
from ..dtype import bool_
from ..tensor import Tensor
from ..transforms.closed import closed
from .masks import masked
from .rolling import can_roll
from .steps import check_same, chosen, same_rest

__all__ = ["cond"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """Call one of two functions.

    Parameters
    ----------
    pred : bool or Tensor of one element
        True selects `true_fn`.
    true_fn, false_fn : callable
        Functions of the operands.
    *operands
        The arguments of the selected function.

    Returns
    -------
    object
        The result of that function. Its tensors are new ones, also if they are operands; arrays are views of these.

    Raises
    ------
    TypeError
        If one of the functions is not callable.
    ValueError
        If `pred` has more than one element; under `vmap`, if the functions return different nestings, shapes or types.

    Notes
    -----
    Only the selected function is called. Under `vmap`, where the choice may differ between samples, both are called.
    The branch that is not taken adds nothing to a derivative, even if its slope is infinite. A `while_loop` in a branch
    runs no step for samples that do not take the branch.

    In a recorded function (`jit`, Graph mode) a choice by an argument is one instruction. Recording calls both
    branches, and their derivatives; a replay computes only the selected one. The function runs eagerly if the branches
    return different nestings, shapes or types, or if one of them raises, draws random numbers, assigns to an outside
    tensor or reads numbers.

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
    start = serial()
    if not isinstance(pred, Tensor):
        return made_since(start, (true_fn if truth_value("cond", "pred", pred) else false_fn)(*operands))
    if pred.size != 1:
        raise ValueError(f"cond: pred has shape {pred.shape}; expected one truth value (ops.where chooses by element)")
    if is_batched(pred):
        truth = pred.reshape(()).astype(bool_)
        with masked(truth):
            taken, one = branch("cond", true_fn, operands)
        with masked(~truth):
            other, two = branch("cond", false_fn, operands)
        check_same("cond", taken, other, "the result")
        return share(chosen(truth, taken, other), either(one, two), tensors_of(operands), start)
    return _both_or_one(
        pred,
        lambda: Branches(pred.reshape(()).astype(bool_), true_fn, false_fn)(operands),
        lambda: made_since(start, (true_fn if bool(pred) else false_fn)(*operands)),
    )


def _is_written_down(truth: Tensor) -> bool:
    """True if a truth value is part of an active recording."""
    if not can_roll():
        return False
    from .._engine.trace.rolling import written_down  # takes time to import, and not every program records

    return written_down(truth)


def _both_or_one(truth: Tensor, both: Callable[[], Any], one: Callable[[], Any]) -> Any:
    """Record both branches, or run one: outside of a recording, and where a program cannot contain both."""
    if _is_written_down(truth):
        try:
            return both()
        except Exception:  # raised by the branch that runs again now, or by the other one
            unrepeatable("cond: a branch raises an error, or the branches return different things")
    return one()


class Branches:
    """A choice between two functions as one instruction of a recorded function.

    Parameters
    ----------
    truth : Tensor
        The truth value that selects.
    true_fn, false_fn : callable
        Functions of the operands.
    """

    def __init__(self, truth: Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any]) -> None:
        self.truth = truth
        self.functions = [true_fn, false_fn]
        self.template: Any = None  # template of the operands
        self.count = 0  # number of tensors in them
        self.shared: Any = None  # what the results share elements with
        self.start = 0  # a number of `serial`, before the call

    def __call__(self, operands: tuple[Any, ...]) -> Any:
        """Record both functions."""
        self.template, self.count = template_of(operands), len(tensors_of(operands))
        self.start = serial()
        found = whole("cond", self.first, self.forward, self.backward, (operands,), False)
        found, self.shared = share(found, self.shared, tensors_of(operands), self.start), ()
        self.functions = [closed(f) for f in self.functions]  # a derivative may run them later
        return found

    def first(self, operands: tuple[Any, ...]) -> Any:
        """Record the result of both functions."""
        from .._engine.trace.rolling import NotRecorded

        nests: list[Any] = []
        found = self.choice([partial(noted, nests, f, operands) for f in self.functions])
        check_same("cond", nests[0], nests[1], "the result")
        if not same_rest(nests[0], nests[1]):
            raise NotRecorded
        if self.shared is None:
            self.shared = either(*[shared_with(nest, tensors_of(operands), self.start) for nest in nests])
        return filled(template_of(nests[0]), found)

    def choice(self, branches: Sequence[Callable[[], Sequence[Any]]]) -> list[Any]:
        """The result of one of two functions, by one instruction. Raises if a program cannot contain it."""
        from .._engine.trace.rolling import NotRecorded, choose

        found = choose("cond", self.truth, branches)
        if found is None:
            raise NotRecorded
        return found

    def taken(self) -> Callable[..., Any]:
        """The selected function."""
        return self.functions[0 if bool(self.truth) else 1]

    def split(self, tensors: list[Tensor]) -> tuple[Any, list[Tensor]]:
        """(the operands, captured tensors)."""
        return filled(self.template, tensors[: self.count]), tensors[self.count :]

    def forward(self, inside: Any, tensors: list[Tensor]) -> list[Tensor]:
        """Compute the tensors of the result again, on other values."""
        operands, captured = self.split(tensors)
        return _both_or_one(
            self.truth,
            lambda: tensors_of(inside.run(captured, self.first, operands)),
            lambda: tensors_of(inside.run(captured, self.taken(), *operands)),
        )

    def backward(
        self, inside: Any, tensors: list[Tensor], wanted: list[int], cotangents: list[Any], first_order: bool
    ) -> list[Any]:
        """The cotangents of the wanted tensors, from another run of the selected function."""
        given = [j for j, ct in enumerate(cotangents) if ct is not None]
        slopes = [j for j in wanted if not tensors[j].dtype.is_bool]
        if not given or not slopes:
            return [None] * len(wanted)

        def pulled(f: Callable[..., Any]) -> list[Any]:
            def taped(*args: Tensor) -> tuple[Tensor, ...]:
                operands, captured = self.split(list(args))
                found = tensors_of(inside.run(captured, f, *operands))
                return tuple([found[j] for j in given])

            return list(pulled_back("cond", taped, tensors, tuple(slopes), tuple([cotangents[j] for j in given])))

        found = _both_or_one(
            self.truth,
            lambda: self.choice([partial(pulled, f) for f in self.functions]),
            lambda: pulled(self.taken()),
        )
        terms = dict(zip(slopes, found, strict=True))
        return [terms.get(j) for j in wanted]


def noted(nests: list[Any], f: Callable[..., Any], operands: tuple[Any, ...]) -> list[Tensor]:
    """Call a function and append its result to a list. Returns the tensors of the result."""
    nests.append(f(*operands))
    return tensors_of(nests[-1])
