"""`data_sink`: a function bound to its dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad.dataset.pipeline import Dataset, positive

__all__ = ["data_sink"]


def data_sink(
    fn: Callable[..., Any], dataset: Dataset, sink_size: int = 1, jit_config: Any = None, input_signature: Any = None
) -> Callable[[], Any]:
    """Bind a training step to a dataset.

    Parameters
    ----------
    fn : callable
        Takes the columns of a row (of a batch).
    dataset : Dataset
        Read again from its start whenever an epoch is over.
    sink_size : int, default 1
        The number of rows that each call takes.
    jit_config, input_signature
        Accepted so that ported code runs; they have no meaning here.

    Returns
    -------
    callable
        Without arguments. It calls `fn` with the next `sink_size` rows, one after the other, and returns the last
        result.

    Raises
    ------
    TypeError
        If `fn` cannot be called, or `dataset` is not a dataset.
    ValueError
        If `sink_size` is not positive; when called, if the dataset is empty.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.dataset import NumpySlicesDataset
    >>> data = NumpySlicesDataset(([1, 2, 3], [10, 20, 30]), shuffle=False)
    >>> step = dg.data_sink(lambda x, y: x + y, data, sink_size=2)
    >>> print(step(), step())
    22 11
    """
    if not callable(fn):
        raise TypeError(f"data_sink: fn must be a function, got {type(fn).__name__}")
    if not isinstance(dataset, Dataset):
        raise TypeError(f"data_sink: expected a dataset, got {type(dataset).__name__}")
    count = positive("data_sink: sink_size", sink_size)
    rows = dataset.create_tuple_iterator()

    def sink() -> Any:
        result = None
        for _ in range(count):
            row = next(rows, None)
            if row is None:  # the next epoch
                row = next(rows, None)
            if row is None:
                raise ValueError("data_sink: the dataset is empty")
            result = fn(*row)
        return result

    return sink
