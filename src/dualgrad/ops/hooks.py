"""Hooks on gradients: identities whose gradient goes through a function of the user.

Both are the identity with a reverse rule of their own, which need not be linear. So a second derivative differentiates
the rule like any other code, and forward mode raises an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._engine.transforms.custom import call_custom, unchanged
from .._settings import one_of
from ..hooks import Hooks, replaced_gradient, replaced_gradients
from ..tensor import Tensor
from ._arguments import Primitive

__all__ = ["HookBackward", "InsertGradientOf"]


class HookBackward(Primitive):
    """The identity, with a hook that receives its gradient and may replace it.

    ``ops.HookBackward(hook)(x)`` is x. ``hook(gradients)`` is called with the tuple of the gradients of the outputs,
    once in each backward pass that reaches one of them.

    Parameters
    ----------
    hook_fn : callable
        Takes a tuple of gradients, one for each input, zeros where none arrives. It returns None to leave them, or as
        many gradients of the same shapes and types; for a single input also a bare Tensor.
    cell_id : str, default ''
        Must be left empty.

    Raises
    ------
    TypeError
        If the hook cannot be called, an input is not a Tensor, or the hook does not return gradients.
    ValueError
        If a gradient from the hook has another shape; if `cell_id` is given.
    NotImplementedError
        In forward mode, which has no gradients.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> clip = ops.HookBackward(lambda gradients: (ops.clamp(gradients[0], -1.0, 1.0),))
    >>> print(dg.grad(lambda x: clip(x) ** 2)(dg.Tensor([0.25, 3.0])))
    [0.5 1. ]
    """

    __slots__ = ("hook_fn",)

    def __init__(self, hook_fn: Callable[[Any], Any], cell_id: str = "") -> None:
        Hooks().add("HookBackward", hook_fn)
        if not one_of(cell_id, ("",)):
            raise ValueError(f"HookBackward: cell_id is {cell_id!r}; a name of one's own has no meaning, leave it out")
        self.hook_fn: Callable[[Any], Any] = hook_fn

    def __call__(self, *inputs: Any) -> Any:
        if not inputs:
            raise TypeError("HookBackward: there is no input; expected one Tensor or more")
        for x in inputs:
            if not isinstance(x, Tensor):
                raise TypeError(f"HookBackward: an input is a {type(x).__name__}; expected a Tensor")
        single = len(inputs) == 1

        def backward(*called: Any) -> tuple[Any, ...]:
            gradients = (called[-1],) if single else called[-1]
            return replaced_gradients("HookBackward", self.hook_fn(gradients), gradients)

        return call_custom(unchanged if single else _all, backward, inputs, {}, "HookBackward", True)


class InsertGradientOf(Primitive):
    """The identity, whose gradient goes through a function.

    ``ops.InsertGradientOf(f)(x)`` is x. If its gradient is g, the gradient of x is f(g).

    Parameters
    ----------
    f : callable
        Takes the gradient of the output and returns the gradient of the input, of the same shape and type.

    Raises
    ------
    TypeError
        If `f` cannot be called, or does not return a gradient.
    ValueError
        If the result of `f` has another shape.
    NotImplementedError
        In forward mode, which has no gradients.

    Notes
    -----
    Operands that are not Tensors have no gradient and are returned unchanged. ``f`` may return None to keep the
    gradient.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> reverse = ops.InsertGradientOf(lambda gradient: -gradient)
    >>> print(dg.grad(lambda x: reverse(x) * x)(dg.Tensor([3.0])))
    [0.]
    """

    __slots__ = ("f",)

    def __init__(self, f: Callable[[Any], Any]) -> None:
        Hooks().add("InsertGradientOf", f)
        self.f: Callable[[Any], Any] = f

    def __call__(self, input_x: Any) -> Any:
        if not isinstance(input_x, Tensor):
            return input_x

        def backward(x: Any, out: Any, dout: Any) -> tuple[Any]:
            return (replaced_gradient("InsertGradientOf", self.f(dout), dout),)

        return call_custom(unchanged, backward, (input_x,), {}, "InsertGradientOf", True)


def _all(*inputs: Any) -> tuple[Any, ...]:
    return inputs


METHODS: dict[str, Callable[..., Any]] = {}
