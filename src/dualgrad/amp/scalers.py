"""Scaling of a loss, for gradients of narrow types, and a check that gradients are finite."""

from __future__ import annotations

from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad._engine.transforms.pytrees import with_leaves
from dualgrad._nests import mapped, tensors_in
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

__all__ = ["DynamicLossScaler", "LossScaler", "StaticLossScaler", "all_finite"]


def all_finite(inputs: Any) -> Tensor:
    """True if all numbers in tensors are finite.

    Parameters
    ----------
    inputs : Tensor, or a pytree of them
        For example gradients.

    Returns
    -------
    Tensor
        A 0-d bool tensor; True for a pytree without tensors.

    Raises
    ------
    TypeError
        If there is anything but tensors.

    Examples
    --------
    >>> from dualgrad import Tensor, amp
    >>> print(amp.all_finite((Tensor([1.0]), Tensor([float("inf"), 2.0]))))
    False
    """
    found = Tensor(True)
    for tensor in _tensors("all_finite", inputs):
        found = ops.logical_and(found, ops.all(ops.isfinite(tensor)))
    return found


def _tensors(name: str, nest: Any) -> list[Tensor]:
    """The tensors in a nest, which may hold nothing else but fields."""

    def refused(leaf: Any, named: bool) -> Any:
        if not named:
            raise TypeError(f"{name}: expected Tensors or a nest of them, got {type(leaf).__name__}")
        return leaf

    return tensors_in(with_leaves(nest, refused))


def _number(what: str, value: Any, low: float) -> float:
    """Check a setting that is a number of at least `low`, or above 0 if `low` is 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{what} must be a number, got {type(value).__name__}")
    if not (value >= low if low else value > 0):
        raise ValueError(f"{what} must be {f'at least {low:g}' if low else 'positive'}, got {value}")
    return float(value)


class LossScaler:
    """Base of the loss scalers: `scale`, `unscale`, and `adjust` after each step.

    Attributes
    ----------
    scale_value : Parameter
        The factor, a 0-d Float32.
    """

    scale_value: Parameter

    def _factor(self) -> Tensor:
        try:
            return self.scale_value._detached()
        except AttributeError:
            raise TypeError(
                f"{type(self).__name__}: has no Parameter scale_value; a class of its own sets it in its constructor"
            ) from None

    def scale(self, inputs: Any) -> Any:
        """Multiply a loss, or gradients, by `scale_value`.

        Parameters
        ----------
        inputs : Tensor, or a pytree of them
            Each keeps its type.

        Returns
        -------
        Tensor or nest
            Like `inputs`.
        """
        return self._times(self._factor(), inputs)

    def unscale(self, inputs: Any) -> Any:
        """Divide a loss, or gradients, by `scale_value`; see `scale`."""
        return self._times(1.0 / self._factor(), inputs)

    def _times(self, factor: Tensor, inputs: Any) -> Any:
        _tensors(type(self).__name__, inputs)  # an error for anything else
        return mapped(inputs, lambda x: (x * factor).astype(x.dtype))

    def adjust(self, grads_finite: Any) -> bool:
        """Change `scale_value` after a step; return True."""
        raise NotImplementedError(f"{type(self).__name__} must define adjust(self, grads_finite)")


class StaticLossScaler(LossScaler):
    """A loss scaler whose factor never changes.

    Parameters
    ----------
    scale_value : float
        The factor, positive.

    Raises
    ------
    TypeError
        If it is not a number.
    ValueError
        If it is not positive.

    Examples
    --------
    >>> from dualgrad import Tensor, amp
    >>> scaler = amp.StaticLossScaler(1024)
    >>> print(scaler.scale(Tensor([2.0])), scaler.unscale((Tensor([512.0]),))[0])
    [2048.] [0.5]
    """

    def __init__(self, scale_value: float) -> None:
        value = _number("StaticLossScaler: scale_value", scale_value, 0.0)
        self.scale_value: Parameter = Parameter(Tensor(value, mstype.float32), name="scale_value", requires_grad=False)

    def adjust(self, grads_finite: Any) -> bool:
        """Leave the factor as it is; return True."""
        return True


class DynamicLossScaler(LossScaler):
    """A loss scaler whose factor falls when gradients overflow and rises while they do not.

    Parameters
    ----------
    scale_value : float
        The initial factor, at least 1.
    scale_factor : int
        Its divisor after an overflow, and its multiplier after `scale_window` steps without overflow.
    scale_window : int
        As above.

    Attributes
    ----------
    counter : Parameter
        The number of steps since the factor changed, a 0-d Int32.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad import Tensor, amp
    >>> scaler = amp.DynamicLossScaler(scale_value=8, scale_factor=2, scale_window=2)
    >>> for finite in (True, True, False, False):
    ...     _ = scaler.adjust(Tensor(finite))
    ...     print(scaler.scale_value.item())
    8.0
    16.0
    8.0
    4.0
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        value = _number("DynamicLossScaler: scale_value", scale_value, 1.0)
        for what, number in (("scale_factor", scale_factor), ("scale_window", scale_window)):
            if not isinstance(number, int):
                raise TypeError(f"DynamicLossScaler: {what} must be an int, got {type(number).__name__}")
            _number(f"DynamicLossScaler: {what}", number, 1.0)
        self.scale_factor = scale_factor
        self.scale_window = scale_window
        self.scale_value: Parameter = Parameter(Tensor(value, mstype.float32), name="scale_value", requires_grad=False)
        self.counter: Parameter = Parameter(Tensor(0, mstype.int32), name="counter", requires_grad=False)

    def adjust(self, grads_finite: Any) -> bool:
        """Change the factor after a step.

        Parameters
        ----------
        grads_finite : Tensor or bool
            The result of `all_finite` for the gradients.

        Returns
        -------
        bool
            True.
        """
        finite = grads_finite if isinstance(grads_finite, Tensor) else Tensor(bool(grads_finite))
        value, counter = self.scale_value._detached(), self.counter._detached()
        # Chosen by `where`, not by `if`: a recorded step must not freeze the choice of the first step.
        larger = value * self.scale_factor
        grows = ops.logical_and(counter == self.scale_window - 1, ops.isfinite(larger))
        smaller = ops.maximum(value / self.scale_factor, 1.0)
        ops.assign(self.scale_value, ops.where(finite, ops.where(grows, larger, value), smaller))
        ops.assign(self.counter, ops.where(finite, (counter + 1) % self.scale_window, 0).astype(mstype.int32))
        return True
