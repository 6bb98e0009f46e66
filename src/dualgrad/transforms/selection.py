"""The inputs and weights to differentiate by, and the function of those tensors alone.

A transform works on one flat list: the tensors of the selected inputs and the values of the selected weights. It
returns one result for each. `Selection` converts a call to that form, and the results to the pytree structure of
`grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._engine.transforms.substitution import call_with
from .._engine.transforms.tensor import OPCODES, apply
from .._nests import arranged, matched, refilled, tensors_in
from ..parameter import Parameter
from ..tensor import Tensor
from .positions import check_callable, checked_position, checked_weights, inputs_at


class Selection:
    """The settings `grad_position`, `weights` and `has_aux` of a transform, checked."""

    positions: tuple[int, ...]
    several: bool
    parameters: list[Parameter]
    single: bool
    weighted: bool

    _made_once = True  # copies with equal settings are equal

    def __init__(self, name: str, fn: Any, grad_position: Any, weights: Any, has_aux: Any) -> None:
        self.name = name
        self.positions, self.several = checked_position(name, grad_position, weights)
        if not isinstance(has_aux, bool):
            raise TypeError(f"{name}: has_aux is {has_aux!r}; expected True or False")
        check_callable(name, fn)
        self.has_aux = has_aux
        self.parameters = []
        self.single = self.weighted = False
        if weights is not None:
            self.parameters, self.single = checked_weights(name, weights)
            self.weighted = True

    def inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(args, kwargs) of a call, with the differentiated ones converted to tensors."""
        return inputs_at(self.name, self.positions, args, kwargs, self.weighted)

    def settings(self) -> tuple[Any, ...]:
        """The key of a selection."""
        return self.positions, tuple([id(p) for p in self.parameters]), self.single, self.weighted, self.has_aux


class Selected:
    """One call: the differentiated tensors, and the function of them."""

    def __init__(
        self, selection: Selection, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any]
    ) -> None:
        self.selection = selection
        self.fn = fn
        args, kwargs = selection.inputs(args, kwargs)
        self.args: tuple[Any, ...] = args
        self.kwargs = kwargs
        inputs = tensors_in([args[p] for p in selection.positions])
        self.leaves: list[Tensor] = [_apart(x) for x in inputs] + list(selection.parameters)

    def __call__(self, *leaves: Tensor) -> Any:
        """Call the function on the differentiated tensors. Frozen parameters are constants."""
        given: Iterator[Tensor] = iter(
            [
                old if isinstance(old, Parameter) and not old.requires_grad else new
                for old, new in zip(self.leaves, leaves, strict=True)
            ]
        )
        args = list(self.args)
        for p in self.selection.positions:
            args[p] = refilled(args[p], given)
        return call_with(self.selection.name, self.fn, self.selection.parameters, list(given), tuple(args), self.kwargs)

    def arranged(self, results: list[Any]) -> Any:
        """Arrange one result for each tensor like a gradient."""
        selection, rest = self.selection, iter(results)
        inputs = tuple([arranged(self.args[p], rest) for p in selection.positions])
        by_position: Any = inputs if selection.several else inputs[0] if inputs else None
        if not selection.weighted:
            return by_position
        weights: Any = next(rest) if selection.single else tuple(rest)
        return (by_position, weights) if inputs else weights

    def flattened(self, nest: Any, what: str) -> list[Any]:
        """The entries of a pytree with the structure of a gradient, as a list."""
        return matched(self.selection.name, self.arranged(list(self.leaves)), nest, what)


def _apart(x: Tensor) -> Tensor:
    """Copy a parameter that is an input, so that a value in its place as weight does not reach the input."""
    return apply(OPCODES["identity"], None, x) if isinstance(x, Parameter) and x.requires_grad else x
