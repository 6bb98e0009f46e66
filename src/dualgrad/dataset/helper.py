"""`DatasetHelper`: the rows of a dataset for a training loop written by hand."""

from __future__ import annotations

import numpy as np

from dualgrad.dataset.pipeline import Dataset, Epochs
from dualgrad.dtype import DType, as_dtype

from .._settings import truth_value

__all__ = ["DatasetHelper"]


class DatasetHelper:
    """Walk over a dataset, one epoch for each ``for``.

    Parameters
    ----------
    dataset : Dataset
        The data.
    dataset_sink_mode : bool, default True
        Only False: True is for devices that fetch rows themselves, and raises an error, as MindSpore does on a CPU.
    sink_size : int, default -1
        Accepted so that ported code runs; it belongs to `dataset_sink_mode`.
    epoch_num : int, default 1
        The largest number of epochs; -1 for any number.

    Raises
    ------
    TypeError
        If `dataset` is not a dataset.
    RuntimeError
        If `dataset_sink_mode` is True; in a loop after the last epoch.

    Examples
    --------
    >>> from dualgrad.dataset import DatasetHelper, NumpySlicesDataset
    >>> helper = DatasetHelper(NumpySlicesDataset(([1, 2], [0.5, 1.5]), shuffle=False), dataset_sink_mode=False)
    >>> for x, y in helper:
    ...     print(x * y)
    0.5
    3.0
    """

    def __init__(
        self, dataset: Dataset, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1
    ) -> None:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"DatasetHelper: expected a dataset, got {type(dataset).__name__}")
        if truth_value("DatasetHelper", "dataset_sink_mode", dataset_sink_mode):
            raise RuntimeError("DatasetHelper: there is no device that fetches rows; pass dataset_sink_mode=False")
        self._dataset = dataset
        self._epochs = dataset.create_tuple_iterator(num_epochs=epoch_num)

    def __iter__(self) -> Epochs:
        return iter(self._epochs)

    def types_shapes(self) -> tuple[list[DType], list[list[int]]]:
        """Return the type and the shape of each column in the first row."""
        return [as_dtype(np.dtype(kind)) for kind in self._dataset.output_types()], self._dataset.output_shapes()

    def sink_size(self) -> int:
        """Return the number of rows in an epoch."""
        return self._dataset.get_dataset_size()

    def stop_send(self) -> None:
        """Do nothing: no device waits for rows."""

    continue_send = release = stop_send
