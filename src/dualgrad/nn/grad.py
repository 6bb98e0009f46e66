"""Derivatives as Cells: the tangent along a direction, and the gradient against one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad import ops
from dualgrad.nn.cell import Cell
from dualgrad.transforms.positions import check_sensitivity

__all__ = ["Jvp", "Vjp"]


class _Along(Cell):
    """The base of both: a function, called with its inputs and a direction."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(auto_prefix=False)
        if not callable(fn):
            raise TypeError(f"{type(self).__name__}: expected a function or Cell, got {type(fn).__name__}")
        self.fn = fn

    def _split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        if len(args) < 2:
            raise TypeError(f"{type(self).__name__}: got {len(args)} arguments; expected the inputs, and v after them")
        return args[:-1], args[-1]

    def _called(self, transform: Callable[..., Any], inputs: tuple[Any, ...], *others: Any) -> Any:
        """Call the transform of the function. A missing v is reported, since an input was taken for it."""
        try:
            return transform(self.fn, *others)
        except TypeError:
            check_sensitivity(type(self).__name__, self.fn, inputs, {})
            raise


class Jvp(_Along):
    """The value of a function and its derivative along a direction (forward mode), as a Cell; see `dualgrad.jvp`.

    Parameters
    ----------
    fn : callable
        The function or Cell. The Cell is called with its inputs, then v: a Tensor for one input, or a tuple with one
        for each.

    Returns
    -------
    tuple
        When called: the output, and its tangent.

    Raises
    ------
    TypeError
        If `fn` cannot be called, or v is missing or of another type than the inputs.
    ValueError
        If v has another number or shape than the inputs.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(*nn.Jvp(lambda x, y: x * y)(Tensor([2.0]), Tensor([5.0]), (Tensor([1.0]), Tensor([10.0]))))
    [10.] [25.]
    """

    def construct(self, *args: Any) -> tuple[Any, Any]:
        inputs, v = self._split(args)
        if len(inputs) == 1 and not isinstance(inputs[0], tuple | list) and not isinstance(v, tuple | list):
            return self._called(ops.jvp, inputs, inputs[0], v)
        return self._called(ops.jvp, inputs, inputs, v)


class Vjp(_Along):
    """The value of a function and its gradient against a direction (reverse mode), as a Cell; see `dualgrad.vjp`.

    Parameters
    ----------
    fn : callable
        The function or Cell. The Cell is called with its inputs, then v: nested like the output, with tensors of the
        same shapes and types.

    Returns
    -------
    tuple
        When called: the output, and the gradient: bare for one input, otherwise a tuple.

    Raises
    ------
    TypeError
        If `fn` cannot be called, or v is missing or of another type than the output.
    ValueError
        If v has another nesting or shape than the output.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> output, gradients = nn.Vjp(lambda x, y: x * y)(Tensor([2.0]), Tensor([5.0]), Tensor([10.0]))
    >>> print(output, *gradients)
    [10.] [50.] [20.]
    """

    def construct(self, *args: Any) -> tuple[Any, Any]:
        inputs, v = self._split(args)
        output, pull = self._called(ops.vjp, inputs, *inputs)
        gradients = pull(v)
        return output, gradients[0] if len(inputs) == 1 else gradients
