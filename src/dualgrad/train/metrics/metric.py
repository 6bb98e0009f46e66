"""The base of the metrics: numbers collected batch by batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dualgrad.tensor import Tensor

__all__ = ["Metric", "rearrange_inputs"]


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate `update` of a metric, so that it takes the inputs chosen by `Metric.set_indexes`.

    Parameters
    ----------
    func : callable
        A method that takes inputs.

    Returns
    -------
    callable
        The method.

    Examples
    --------
    >>> from dualgrad.train import MAE
    >>> metric = MAE().set_indexes([2, 0])
    >>> metric.update([1.0], None, [3.0])
    >>> metric.eval()
    2.0
    """

    @functools.wraps(func)
    def chosen(self: Any, *inputs: Any) -> Any:
        return func(self, *(inputs if self.indexes is None else [inputs[k] for k in self.indexes]))

    return chosen


class Metric:
    """Base of the metrics. A derived class defines `clear`, `update` and `eval`.

    ``metric(*inputs)`` is the value for these inputs alone.

    Examples
    --------
    >>> from dualgrad.train import Metric
    >>> class Largest(Metric):
    ...     def clear(self):
    ...         self.value = 0.0
    ...
    ...     def update(self, *inputs):
    ...         self.value = max(self.value, self._convert_data(inputs[0]).max())
    ...
    ...     def eval(self):
    ...         return float(self.value)
    >>> Largest()([1.0, 3.0, 2.0])
    3.0
    """

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """The inputs that `update` takes, in this order; None for all inputs."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Any:
        """Choose the inputs of `update`, if it is decorated with `rearrange_inputs`; return this metric."""
        if not isinstance(indexes, list) or not all(isinstance(k, int) for k in indexes):
            raise ValueError(f"{type(self).__name__}.set_indexes: expected a list of ints, got {indexes!r}")
        self._indexes = indexes
        return self

    def _convert_data(self, data: Any) -> np.ndarray:
        """An input as an array of numbers."""
        if isinstance(data, Tensor):
            return data.asnumpy()
        if isinstance(data, list | np.ndarray):
            return np.asarray(data)
        raise TypeError(f"{type(self).__name__}: expected a Tensor, an array or a list, got {type(data).__name__}")

    def _arrays(self, inputs: tuple[Any, ...], count: int) -> list[np.ndarray]:
        """The inputs of `update` as arrays; an error if there are not `count`."""
        if len(inputs) != count:
            raise ValueError(f"{type(self).__name__}.update: expected {count} inputs, got {len(inputs)}")
        return [self._convert_data(entry) for entry in inputs]

    def _ratio(self, total: Any, count: Any) -> Any:
        """A mean, of at least one sample."""
        if np.size(count) == 1 and not count:
            raise RuntimeError(f"{type(self).__name__}.eval: there are no samples; call update first")
        return total / count

    def __call__(self, *inputs: Any) -> Any:
        self.clear()
        self.update(*inputs)
        return self.eval()

    def clear(self) -> None:
        """Forget all inputs."""
        raise NotImplementedError(f"{type(self).__name__} must define clear(self)")

    def update(self, *inputs: Any) -> None:
        """Take the inputs of one batch, usually the output of a network and the labels."""
        raise NotImplementedError(f"{type(self).__name__} must define update(self, *inputs)")

    def eval(self) -> Any:
        """Return the value over all batches."""
        raise NotImplementedError(f"{type(self).__name__} must define eval(self)")
