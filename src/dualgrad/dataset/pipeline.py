"""Operations on datasets, and the iterators that run them.

Each operation is a small class that reads the rows of another dataset and yields its own. A row is a tuple of
NumPy arrays, one for each column.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dualgrad.random import generator
from dualgrad.tensor import Tensor

from .._settings import array_of, one_of

__all__ = ["BatchDataset", "Dataset", "zip"]

Row = tuple[np.ndarray, ...]


def positive(what: str, value: Any) -> int:
    """Check a setting that must be a positive int."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{what} must be an int, got {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{what} must be 1 or more, got {value}")
    return int(value)


def names_of(what: str, columns: Any) -> tuple[str, ...]:
    """Names of columns, given as a list or, for a single column, as a string."""
    names = (columns,) if isinstance(columns, str) else tuple(columns) if isinstance(columns, tuple | list) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} must be a name or a list of names, got {columns!r}")
    if len(set(names)) != len(names):
        raise ValueError(f"{what} has a name twice: {list(names)}")
    return names


class Dataset:
    """Base of all datasets: rows of named columns, with operations that return new datasets.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns, from the derived class.

    Examples
    --------
    >>> from dualgrad.dataset import NumpySlicesDataset
    >>> data = NumpySlicesDataset({"x": [1, 2, 3, 4, 5]}, shuffle=False).map(lambda x: 10 * x).batch(2)
    >>> [x.tolist() for (x,) in data]
    [[10, 20], [30, 40], [50]]
    """

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._columns = columns

    def _rows(self) -> Iterator[Row]:
        """Walk over the rows of one epoch."""
        raise NotImplementedError

    # Properties.

    def get_dataset_size(self) -> int:
        """Return the number of rows (of batches, after `batch`) in an epoch; an iterable is read to count them."""
        return sum(1 for _ in self._rows())

    def __len__(self) -> int:
        return self.get_dataset_size()

    def get_col_names(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._columns)

    def get_batch_size(self) -> int:
        """Return the number of rows in a batch, 1 without `batch`."""
        return 1

    def get_repeat_count(self) -> int:
        """Return how many times the rows come in one epoch."""
        return 1

    def output_shapes(self) -> list[list[int]]:
        """Return the shape of each column in the first row."""
        return [list(array.shape) for array in self._first()]

    def output_types(self) -> list[np.dtype]:
        """Return the NumPy type of each column in the first row."""
        return [array.dtype for array in self._first()]

    def _first(self) -> Row:
        row = next(self._rows(), None)
        if row is None:
            raise ValueError(f"{type(self).__name__.lstrip('_')}: the dataset is empty; there is no first row")
        return row

    # Iterating.

    def create_tuple_iterator(
        self, columns: Any = None, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> Epochs:
        """Return an iterator whose items are lists with one entry for each column.

        Parameters
        ----------
        columns : str or sequence of str, optional
            The columns, in this order; all by default.
        num_epochs : int, default -1
            The largest number of epochs; -1 for any number. Each ``for`` over the iterator is one epoch.
        output_numpy : bool, default False
            True for entries that are NumPy arrays, False for Tensors.
        do_copy : bool
            Accepted so that ported code runs; arrays are never shared.

        Raises
        ------
        ValueError
            If the column does not exist, or `num_epochs` is 0 or below -1.

        Examples
        --------
        >>> from dualgrad.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset(([1.0, 2.0], [3, 4]), ["x", "y"], shuffle=False)
        >>> for x, y in data.create_tuple_iterator():
        ...     print(x, y)
        1.0 3
        2.0 4
        """
        data = self if columns is None else self.project(columns)
        return Epochs(data, num_epochs, output_numpy, named=False)

    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False) -> Epochs:
        """Return an iterator whose items are dicts by the names of columns; see `create_tuple_iterator`.

        Examples
        --------
        >>> from dualgrad.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset({"x": [1, 2]}, shuffle=False)
        >>> [item["x"].item() for item in data.create_dict_iterator()]
        [1, 2]
        """
        return Epochs(self, num_epochs, output_numpy, named=True)

    def __iter__(self) -> Iterator[Any]:
        return iter(Epochs(self, -1, False, named=False))

    # Operations.

    def batch(
        self, batch_size: int, drop_remainder: bool = False, num_parallel_workers: int | None = None, **kwargs: Any
    ) -> Dataset:
        """Stack rows along a new first axis.

        Parameters
        ----------
        batch_size : int
            The number of rows.
        drop_remainder : bool, default False
            True to leave out a last batch with fewer rows.
        num_parallel_workers, python_multiprocessing, max_rowsize
            Accepted so that ported code runs; they have no meaning here.

        Raises
        ------
        ValueError
            If `batch_size` is not positive; when read, if the shapes of rows differ.
        """
        _ignored("batch", kwargs)
        return BatchDataset(self, positive("batch: batch_size", batch_size), drop_remainder)

    def shuffle(self, buffer_size: int) -> Dataset:
        """Draw each row at random from the next `buffer_size` rows; with all rows the order is uniform."""
        return _Shuffle(self, positive("shuffle: buffer_size", buffer_size))

    def repeat(self, count: int | None = None) -> Dataset:
        """Repeat the rows `count` times in one epoch; without end if it is None or -1."""
        return _Repeat(self, None if count in (None, -1) else positive("repeat: count", count))

    def map(
        self,
        operations: Any,
        input_columns: Any = None,
        output_columns: Any = None,
        num_parallel_workers: int | None = None,
        **kwargs: Any,
    ) -> Dataset:
        """Change columns by one function, or by several in turn.

        Parameters
        ----------
        operations : callable or sequence of callable
            Takes the arrays of the input columns; returns an array or, for several columns, a tuple.
        input_columns : str or sequence of str, optional
            The columns that the functions take; all by default.
        output_columns : str or sequence of str, optional
            The names of the results, if they differ; they take the place of the input columns.
        num_parallel_workers, python_multiprocessing, max_rowsize, cache, callbacks, offload
            Accepted so that ported code runs; they have no meaning here.
        """
        _ignored("map", kwargs)
        return _Map(self, operations, input_columns, output_columns)

    def filter(
        self, predicate: Callable[..., Any], input_columns: Any = None, num_parallel_workers: int | None = None
    ) -> Dataset:
        """Keep the rows for which `predicate` of the input columns (all by default) is true."""
        return _Filter(self, predicate, input_columns)

    def take(self, count: int = -1) -> Dataset:
        """Keep the first `count` rows; all if it is -1."""
        return self if count == -1 else _Slice(self, 0, positive("take: count", count))

    def skip(self, count: int) -> Dataset:
        """Leave out the first `count` rows."""
        return _Slice(self, 0 if count == 0 else positive("skip: count", count), None)

    def project(self, columns: Any) -> Dataset:
        """Keep the columns of these names, in this order."""
        names = names_of("project: columns", columns)
        return _Project(self, self._places("project", names), names)

    def rename(self, input_columns: Any, output_columns: Any) -> Dataset:
        """Give columns other names."""
        old, new = names_of("rename: input_columns", input_columns), names_of("rename: output_columns", output_columns)
        if len(old) != len(new):
            raise ValueError(f"rename: there are {len(old)} input and {len(new)} output columns; expected as many")
        self._places("rename", old)
        renamed = dict(builtins.zip(old, new, strict=True))
        columns = names_of("rename: the result", [renamed.get(name, name) for name in self._columns])
        return _Project(self, tuple(range(len(columns))), columns)

    def zip(self, datasets: Any) -> Dataset:
        """Put the columns of other datasets beside these; the shortest dataset ends an epoch."""
        return zip((self, *((datasets,) if isinstance(datasets, Dataset) else datasets)))

    def _places(self, what: str, names: Sequence[str]) -> tuple[int, ...]:
        for name in names:
            if name not in self._columns:
                raise ValueError(f"{what}: there is no column {name!r}; the columns are {list(self._columns)}")
        return tuple(self._columns.index(name) for name in names)


_WITHOUT_MEANING = frozenset(("python_multiprocessing", "max_rowsize", "cache", "callbacks", "offload"))


def _ignored(what: str, kwargs: dict[str, Any]) -> None:
    if unknown := kwargs.keys() - _WITHOUT_MEANING:
        raise TypeError(f"{what}: unexpected keyword arguments {sorted(unknown)}")


def zip(datasets: Any) -> Dataset:
    """Put the columns of datasets beside each other; the shortest dataset ends an epoch.

    Parameters
    ----------
    datasets : tuple or list of Dataset
        Their columns must have different names.

    Returns
    -------
    Dataset

    Raises
    ------
    TypeError
        If these are not datasets.
    ValueError
        If a name comes twice.

    Examples
    --------
    >>> from dualgrad import dataset as ds
    >>> x, y = ds.NumpySlicesDataset([1, 2], "x", shuffle=False), ds.NumpySlicesDataset([3, 4], "y", shuffle=False)
    >>> ds.zip((x, y)).get_col_names()
    ['x', 'y']
    """
    datasets = tuple(datasets) if isinstance(datasets, tuple | list) else ()
    if not datasets or not all(isinstance(data, Dataset) for data in datasets):
        raise TypeError("zip: expected a tuple of datasets")
    return _Zip(datasets)


class _Zip(Dataset):
    def __init__(self, parts: tuple[Dataset, ...]) -> None:
        super().__init__(names_of("zip: the result", [name for part in parts for name in part._columns]))
        self._parts = parts

    def _rows(self) -> Iterator[Row]:
        for rows in builtins.zip(*[part._rows() for part in self._parts], strict=False):
            yield tuple(itertools.chain.from_iterable(rows))

    def get_dataset_size(self) -> int:
        return min(part.get_dataset_size() for part in self._parts)


class _Stage(Dataset):
    """A dataset made of another dataset."""

    def __init__(self, before: Dataset, columns: tuple[str, ...] | None = None) -> None:
        super().__init__(before._columns if columns is None else columns)
        self._before = before

    def get_dataset_size(self) -> int:
        return self._before.get_dataset_size()

    def get_batch_size(self) -> int:
        return self._before.get_batch_size()

    def get_repeat_count(self) -> int:
        return self._before.get_repeat_count()


class BatchDataset(_Stage):
    """Rows put together: the result of `Dataset.batch`.

    Parameters
    ----------
    before : Dataset
        The rows.
    size : int
        The number of rows in a batch.
    drop_remainder : bool, default False
        True to leave out a last batch with fewer rows.

    Raises
    ------
    TypeError
        If `before` is not a dataset, or `size` is not an int.
    ValueError
        If `size` is not positive.

    Examples
    --------
    >>> from dualgrad.dataset import BatchDataset, NumpySlicesDataset
    >>> isinstance(NumpySlicesDataset([1, 2, 3]).batch(2), BatchDataset)
    True
    """

    def __init__(self, before: Dataset, size: int, drop_remainder: bool = False) -> None:
        if not isinstance(before, Dataset):
            raise TypeError(f"BatchDataset: expected a dataset, got {type(before).__name__}")
        super().__init__(before)
        self._size = positive("BatchDataset: size", size)
        self._drop = drop_remainder

    def _rows(self) -> Iterator[Row]:
        rows = self._before._rows()
        while chunk := list(itertools.islice(rows, self._size)):
            if len(chunk) == self._size or not self._drop:
                yield tuple(map(self._stacked, self._columns, builtins.zip(*chunk, strict=True)))

    def _stacked(self, column: str, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
        shapes = {array.shape for array in arrays}
        if len(shapes) > 1:
            raise ValueError(
                f"batch: the rows of column {column!r} have different shapes, {sorted(shapes)}; bring them to "
                "one shape with map first"
            )
        return np.stack(arrays)

    def get_dataset_size(self) -> int:
        rows = self._before.get_dataset_size()
        return rows // self._size if self._drop else -(-rows // self._size)

    def get_batch_size(self) -> int:
        return self._size


class _Shuffle(_Stage):
    def __init__(self, before: Dataset, size: int) -> None:
        super().__init__(before)
        self._size = size

    def _rows(self) -> Iterator[Row]:
        rng = generator()
        rows = self._before._rows()
        buffer = list(itertools.islice(rows, self._size))
        for row in rows:
            place = int(rng.integers(len(buffer)))
            yield buffer[place]
            buffer[place] = row
        for place in rng.permutation(len(buffer)):
            yield buffer[place]


class _Repeat(_Stage):
    def __init__(self, before: Dataset, count: int | None) -> None:
        super().__init__(before)
        self._count = count

    def _rows(self) -> Iterator[Row]:
        for _ in itertools.count() if self._count is None else range(self._count):
            empty = True
            for row in self._before._rows():
                empty = False
                yield row
            if empty:
                return

    def get_dataset_size(self) -> int:
        return (self._count or 1) * self._before.get_dataset_size()

    def get_repeat_count(self) -> int:
        return -1 if self._count is None else self._count * self._before.get_repeat_count()


class _Slice(_Stage):
    def __init__(self, before: Dataset, start: int, stop: int | None) -> None:
        super().__init__(before)
        self._bounds = slice(start, stop)

    def _rows(self) -> Iterator[Row]:
        return itertools.islice(self._before._rows(), self._bounds.start, self._bounds.stop)

    def get_dataset_size(self) -> int:
        return len(range(self._before.get_dataset_size())[self._bounds])


class _Project(_Stage):
    def __init__(self, before: Dataset, places: tuple[int, ...], columns: tuple[str, ...]) -> None:
        super().__init__(before, columns)
        self._which = places

    def _rows(self) -> Iterator[Row]:
        for row in self._before._rows():
            yield tuple([row[place] for place in self._which])


class _Map(_Stage):
    def __init__(self, before: Dataset, operations: Any, inputs: Any, outputs: Any) -> None:
        self._functions = (operations,) if callable(operations) else tuple(operations)
        if not self._functions or not all(callable(function) for function in self._functions):
            raise TypeError("map: operations must be a function or a list of functions")
        taken = before._columns if inputs is None else names_of("map: input_columns", inputs)
        self._taken = before._places("map", taken)
        self._given = taken if outputs is None else names_of("map: output_columns", outputs)
        rest = [name for name in before._columns if name not in taken]
        self._rest = before._places("map", rest)
        # New columns get the place of the first input column; other names keep their places.
        order = [name for name in before._columns if name in self._given or name in rest]
        first = next((k for k, name in enumerate(before._columns) if name in taken), 0)
        new = [name for name in self._given if name not in order]
        order[first:first] = new
        super().__init__(before, names_of("map: the result", order))

    def _rows(self) -> Iterator[Row]:
        for row in self._before._rows():
            values: Any = tuple([row[place] for place in self._taken])
            for function in self._functions:
                values = function(*values)
                values = values if isinstance(values, tuple) else (values,)
            if len(values) != len(self._given):
                raise ValueError(
                    f"map: the operations return {len(values)} columns and the names are {list(self._given)}; "
                    "name them with output_columns"
                )
            found = {self._before._columns[place]: row[place] for place in self._rest}
            found.update(builtins.zip(self._given, map(as_array, values), strict=True))
            yield tuple([found[name] for name in self._columns])


class _Filter(_Stage):
    def __init__(self, before: Dataset, predicate: Callable[..., Any], inputs: Any) -> None:
        super().__init__(before)
        if not callable(predicate):
            raise TypeError(f"filter: predicate must be a function, got {type(predicate).__name__}")
        self._predicate = predicate
        self._taken = before._places("filter", before._columns if inputs is None else names_of("filter", inputs))

    def _rows(self) -> Iterator[Row]:
        for row in self._before._rows():
            if self._predicate(*[row[place] for place in self._taken]):
                yield row

    def get_dataset_size(self) -> int:
        return Dataset.get_dataset_size(self)


def as_array(value: Any) -> np.ndarray:
    """Convert an entry of a row to an array; a Tensor that carries a derivative raises an error."""
    array = array_of("a dataset", "an entry", value)
    if array.dtype == object:
        raise TypeError(f"a dataset holds numbers; expected arrays, got {type(value).__name__} {value!r:.60}")
    return array


class Epochs:
    """Result of `create_tuple_iterator` and `create_dict_iterator`: each ``for`` over it is an epoch.

    With ``next`` an epoch continues at its place; after its end, marked by StopIteration, the next epoch begins.
    """

    def __init__(self, data: Dataset, num_epochs: int, output_numpy: bool, named: bool) -> None:
        if not one_of(num_epochs, (-1,)):
            positive("num_epochs", num_epochs)
        self._data = data
        self._left = num_epochs
        self._numpy = output_numpy
        self._named = named
        self._rows: Iterator[Row] | None = None

    def __iter__(self) -> Epochs:
        self._rows = None
        return self

    def __next__(self) -> Any:
        if self._rows is None:
            if self._left == 0:
                raise RuntimeError("the iterator has given all of its num_epochs; make a new one")
            self._left -= self._left > 0
            self._rows = self._data._rows()
        row = next(self._rows, None)
        if row is None:
            self._rows = None
            raise StopIteration
        # Rows may be views of the source, so they are copied, as Tensor does.
        items = [array.copy() if self._numpy else Tensor(array) for array in row]
        return dict(builtins.zip(self._data._columns, items, strict=True)) if self._named else items

    def get_next(self) -> Any:
        """Return the next item; the same as ``next``."""
        return next(self)
