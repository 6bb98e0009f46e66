"""`recompute`: less memory for more time; inner values are computed again instead of kept."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._engine.transforms.rematerialisation import (
    filled,
    pulled_back,
    recording,
    serial,
    share,
    shared_with,
    template_of,
    tensors_of,
    under_reverse,
    whole,
)
from ..tensor import Tensor
from .closed import closed
from .transformed import made_by

if TYPE_CHECKING:
    from typing import overload

    from .transformed import F, R

__all__ = ["recompute"]


if TYPE_CHECKING:

    @overload
    def recompute(block: F) -> F: ...
    @overload
    def recompute(
        block: Callable[..., R],
        *args: Any,
        use_reentrant: bool = True,
        output_recompute: bool = False,
        early_stop: bool = True,
        context_fn: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> R: ...


def recompute(
    block: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = True,
    output_recompute: bool = False,
    early_stop: bool = True,
    context_fn: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Call a function or Cell without keeping its inner values; the gradient computes them again.

    Parameters
    ----------
    block : callable
        A function or Cell. Its results may depend only on its inputs, on parameters and tensors it reads, and on random
        numbers drawn with dualgrad. Its closure variables keep their values of the call; other variables and attributes
        must not change until the gradient exists. Tensors that its first call would make and keep (a cache) have to be
        made before.
    *args, **kwargs
        Its inputs. Without any, the result is a function that calls `block` this way.
    use_reentrant, output_recompute, early_stop, context_fn
        Accepted so that ported code runs; they have no meaning here.

    Returns
    -------
    object
        The result of `block`, or a function.

    Raises
    ------
    TypeError
        If `block` cannot be called.
    RuntimeError
        If it changes an input in place, or the second run computes something else than the first.

    Notes
    -----
    A gradient keeps only the inputs and results of the call: for a chain of n blocks, n results and the inner values of
    one block at a time. The price is one more run of each block. Derivatives are exact at every order and in every
    mode. Parameters that the block updates (running statistics) are updated once, and random numbers (dropout) are the
    same in both runs. Inside a recorded function (`jit`, Graph mode) the call is an ordinary one, since a program plans
    its memory itself.

    See Also
    --------
    dualgrad.nn.Cell.recompute : Recompute every call of a Cell.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops, recompute
    >>> layer = recompute(lambda x: ops.sin(ops.exp(x)))
    >>> x = dg.Tensor([0.5], dg.float64)
    >>> print(dg.grad(layer)(x), dg.grad(dg.grad(layer))(x))
    [-0.12834653] [-2.83837942]
    """
    if not callable(block):
        raise TypeError(f"recompute: expected a function or Cell, got {type(block).__name__}")
    if args or kwargs:
        return called(block, args, kwargs)

    @functools.wraps(block, updated=())
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        return called(block, args, kwargs)

    return made_by(recompute, recomputed, block)


def called(block: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record one call as one instruction of the tape."""
    if recording() or not under_reverse():
        return block(*args, **kwargs)
    inputs = (args, kwargs)
    template = template_of(inputs)
    count = len(tensors_of(inputs))

    start = serial()
    shared: list[Any] = []

    def first(inputs: tuple[Any, Any]) -> Any:
        out = block(*inputs[0], **inputs[1])
        if not shared:
            shared.append(shared_with(out, tensors_of(inputs), start))
        return out

    first.__wrapped__ = block  # type: ignore[attr-defined]  # for messages

    def forward(inside: Any, tensors: list[Tensor]) -> list[Tensor]:
        return inside.run_whole(tensors[count:], first, filled(template, tensors[:count]))

    def backward(
        inside: Any, tensors: list[Tensor], wanted: list[int], cotangents: list[Any], first_order: bool
    ) -> list[Any]:
        given = [i for i, ct in enumerate(cotangents) if ct is not None]

        def again(*tensors: Tensor) -> tuple[Tensor, ...]:
            results = forward(inside, list(tensors))
            return tuple([results[i] for i in given])

        return pulled_back("recompute", again, tensors, tuple(wanted), tuple([cotangents[i] for i in given]))

    found = whole("recompute", first, forward, backward, (inputs,), True)
    block = closed(block)  # the gradient runs it later
    found = share(found, shared[0], tensors_of(inputs), start)
    shared[0] = None
    return found


class Recomputed:
    """The `construct` of a Cell whose calls are computed again; stored as an attribute of that Cell."""

    def __init__(self, cell: Any) -> None:
        self.cell = cell

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Cell's own construct."""
        return called(self.cell._own_construct(), args, kwargs)
