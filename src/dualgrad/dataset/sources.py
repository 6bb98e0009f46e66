"""Sources of rows: Python objects and functions, and arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from types import GeneratorType
from typing import Any

import numpy as np

from dualgrad.dataset.pipeline import Dataset, Row, as_array, names_of, positive
from dualgrad.dtype import as_dtype
from dualgrad.random import generator

from .._settings import sequence, truth_value

__all__ = ["GeneratorDataset", "NumpySlicesDataset"]


class GeneratorDataset(Dataset):
    """Rows from a Python object or function.

    Parameters
    ----------
    source : callable, iterable or sequence
        An object with ``__getitem__`` and ``__len__``; another iterable; or a function that returns an iterator, called
        again for each epoch. A row is a tuple of arrays, Tensors or numbers; for a single column it may be bare.
    column_names : str or sequence of str
        One name for each entry of a row.
    column_types : sequence of types, optional
        The types to which columns are cast.
    schema : None
        Not supported.
    num_samples : int, optional
        The largest number of rows.
    num_parallel_workers, python_multiprocessing, max_rowsize
        Accepted so that ported code runs; they have no meaning here.
    shuffle : bool, optional
        True to take the rows in a new order in each epoch; supported by, and the default for, sources with
        ``__getitem__``.
    sampler : iterable of int, optional
        The order of the rows of a source with ``__getitem__``.
    num_shards, shard_id : int, optional
        Take only rows shard_id, shard_id + num_shards and so on.

    Raises
    ------
    TypeError
        If the source is of another kind; a generator that has begun cannot be read twice.
    ValueError
        If settings exclude each other; when read, if a row does not have one entry for each name.

    Examples
    --------
    >>> from dualgrad.dataset import GeneratorDataset
    >>> def points():
    ...     for k in range(3):
    ...         yield k, k * k
    >>> data = GeneratorDataset(points, ["x", "y"]).batch(2)
    >>> data.get_dataset_size()
    2
    >>> for x, y in data.create_tuple_iterator():
    ...     print(x, y)
    [0 1] [0 1]
    [2] [4]
    """

    def __init__(
        self,
        source: Any,
        column_names: Any = None,
        column_types: Any = None,
        schema: Any = None,
        num_samples: int | None = None,
        num_parallel_workers: int = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        python_multiprocessing: bool = True,
        max_rowsize: Any = None,
    ) -> None:
        if column_names is None:
            raise TypeError("GeneratorDataset: column_names is missing; name the entries of a row")
        if schema is not None:
            raise TypeError("GeneratorDataset: schema is not supported; use column_names and column_types")
        super().__init__(names_of("GeneratorDataset: column_names", column_names))
        if isinstance(source, GeneratorType):
            raise TypeError(
                "GeneratorDataset: the source is a generator, which can be read only once; pass the function "
                "that makes it"
            )
        self._by_index = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if not self._by_index and not callable(source) and not isinstance(source, Iterable):
            raise TypeError(
                f"GeneratorDataset: expected a function, an iterable or a sequence, got {type(source).__name__}"
            )
        shuffle = None if shuffle is None else truth_value("GeneratorDataset", "shuffle", shuffle)
        if not self._by_index and (shuffle or sampler is not None or num_shards is not None):
            raise ValueError(
                "GeneratorDataset: shuffle, sampler and num_shards need a source with __getitem__ and __len__; "
                "use dataset.shuffle(buffer_size) for others"
            )
        if sampler is not None and (shuffle or num_shards is not None):
            raise ValueError("GeneratorDataset: a sampler sets the order alone; leave out shuffle and num_shards")
        if (num_shards is None) != (shard_id is None):
            raise ValueError("GeneratorDataset: num_shards and shard_id belong together; give both or none")
        if num_shards is not None and not 0 <= shard_id < positive("GeneratorDataset: num_shards", num_shards):  # type: ignore[operator]
            raise ValueError(f"GeneratorDataset: shard_id is {shard_id}; expected 0 to {num_shards - 1}")
        self._source = source
        self._types = (
            None
            if column_types is None
            else [
                as_dtype(dtype, where="GeneratorDataset").numpy
                for dtype in sequence("GeneratorDataset: column_types", column_types)
            ]
        )
        self._limit = None if num_samples is None else positive("GeneratorDataset: num_samples", num_samples)
        self._shuffled = self._by_index and sampler is None and shuffle is not False
        self._sampler = sampler
        self._shard = None if num_shards is None else slice(shard_id, None, num_shards)

    def _order(self) -> Any:
        """The indices of the rows in one epoch."""
        if self._sampler is not None:
            return itertools.islice(iter(self._sampler), self._limit)
        n = len(self._source)
        order = generator().permutation(n) if self._shuffled else np.arange(n)
        return order[self._shard or slice(None)][: self._limit]

    def _rows(self) -> Iterator[Row]:
        rows: Iterable[Any]
        if self._by_index:
            rows = (self._source[int(place)] for place in self._order())
        else:
            rows = itertools.islice(self._source() if callable(self._source) else self._source, self._limit)
        for row in rows:
            yield self._row(row)

    def _row(self, row: Any) -> Row:
        # a list is a row only where it cannot be the entry of a single column
        several = isinstance(row, tuple) or (isinstance(row, list) and len(self._columns) > 1)
        entries = row if several else (row,)
        if len(entries) != len(self._columns):
            raise ValueError(
                f"GeneratorDataset: a row has {len(entries)} entries; expected one for each of the columns "
                f"{list(self._columns)}"
            )
        arrays = tuple([as_array(entry) for entry in entries])
        if not self._types:
            return arrays
        return tuple([array.astype(dtype) for array, dtype in zip(arrays, self._types, strict=True)])

    def get_dataset_size(self) -> int:
        if self._by_index and self._sampler is None:
            return len(range(len(self._source))[self._shard or slice(None)][: self._limit])
        if self._sampler is not None and hasattr(self._sampler, "__len__"):
            return min(len(self._sampler), len(self._sampler) if self._limit is None else self._limit)
        return super().get_dataset_size()


class NumpySlicesDataset(GeneratorDataset):
    """Rows from arrays, sliced along their first axis.

    Parameters
    ----------
    data : array, list, tuple or dict
        A dict of columns by name; a tuple of columns; an array or list, which is a single column.
    column_names : str or sequence of str, optional
        Names of the columns; by default the keys of a dict, or ``column_0``, ``column_1`` and so on.
    num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id
        As in `GeneratorDataset`; the rows are shuffled by default.

    Raises
    ------
    TypeError
        If the data are not numbers.
    ValueError
        If the columns have different lengths, or names and columns differ in number.

    Examples
    --------
    >>> from dualgrad.dataset import NumpySlicesDataset
    >>> data = NumpySlicesDataset({"x": [1, 2], "y": [[3, 4], [5, 6]]}, shuffle=False)
    >>> [row["y"].tolist() for row in data.create_dict_iterator()]
    [[3, 4], [5, 6]]
    """

    def __init__(
        self,
        data: Any,
        column_names: Any = None,
        num_samples: int | None = None,
        num_parallel_workers: int = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        names: Any = None
        if isinstance(data, Mapping):
            names, columns = list(data), list(data.values())
        else:
            columns = list(data) if isinstance(data, tuple) else [data]
        arrays = [as_array(column) for column in columns]
        if not arrays or any(array.ndim == 0 for array in arrays):
            raise TypeError("NumpySlicesDataset: expected arrays with at least one axis, along which rows are cut")
        if len({len(array) for array in arrays}) > 1:
            raise ValueError(f"NumpySlicesDataset: the columns have {[len(array) for array in arrays]} rows")
        if column_names is not None:
            names = names_of("NumpySlicesDataset: column_names", column_names)
        names = names or [f"column_{k}" for k in range(len(arrays))]
        super().__init__(
            _Slices(arrays), names, num_samples=num_samples, shuffle=shuffle, sampler=sampler,
            num_shards=num_shards, shard_id=shard_id,
        )  # fmt: skip
        if len(self._columns) != len(arrays):
            raise ValueError(
                f"NumpySlicesDataset: there are {len(arrays)} columns and the names {list(self._columns)}; "
                "expected one for each"
            )


class _Slices:
    """Arrays of one length as a sequence of rows."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self._arrays = arrays

    def __len__(self) -> int:
        return len(self._arrays[0])

    def __getitem__(self, place: int) -> tuple[Any, ...]:
        return tuple([array[place] for array in self._arrays])
