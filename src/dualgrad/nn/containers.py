"""Containers of Cells: a chain that is called as one function, a list, a dict, and one Cell for all times.

The children of a chain or list are registered under their positions, so the parameters of the second child are called
`1.weight`. The children of a dict are registered under their keys. A slice is a container that refers to the same Cells
and does not register them, so it does not rename weights.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self, SupportsIndex, overload

import numpy as np

from dualgrad import ops
from dualgrad.nn._ensembles import over_samples
from dualgrad.nn.cell import Cell
from dualgrad.ops._arguments import integer, one_axis
from dualgrad.tensor import Tensor

__all__ = ["CellDict", "CellList", "SequentialCell", "TimeDistributed"]


class _Container(Cell):
    """Base of both containers: the behaviour of a list of Cells."""

    def __init__(self, *args: Any, auto_prefix: bool = True) -> None:
        super().__init__(auto_prefix=auto_prefix)
        one_collection = len(args) == 1 and (not isinstance(args[0], Cell) or isinstance(args[0], CellList))
        given: Any = args[0] if one_collection else args
        if isinstance(given, Mapping):
            self._arrange(list(given.items()))
        else:
            self.extend(given)

    def _checked(self, cell: Any) -> Cell:
        if not isinstance(cell, Cell):
            raise TypeError(f"{type(self).__name__}: expected a Cell, got {type(cell).__name__}")
        return cell

    def _arrange(self, items: list[tuple[str, Cell]]) -> None:
        """Register the Cells in this order; names that are positions are renumbered."""
        for name, cell in items:
            if not isinstance(name, str):
                raise TypeError(f"{type(self).__name__}: a name must be a str, got {type(name).__name__}")
            if not name or "." in name or (name not in self._cells and hasattr(self, name)):
                raise ValueError(
                    f"{type(self).__name__}: a name must not be empty, have dots or be that of another attribute, got "
                    f"{name!r}"
                )
            self._checked(cell)
        for name in self._cells:
            self.__dict__.pop(name, None)
        self._registry("_cells", "_cells").clear()
        for position, (name, cell) in enumerate(items):
            self._take_cell(str(position) if name.isdigit() else name, cell)

    def _position(self, index: SupportsIndex, end: int) -> int:
        """Count a negative index from the end, and check it."""
        number = integer(type(self).__name__, "an index", index)
        if not -end <= number < end:
            raise IndexError(f"{type(self).__name__}: index {number} is out of range for {len(self)} Cells")
        return number % end

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    @overload
    def __getitem__(self, index: SupportsIndex) -> Cell: ...
    @overload
    def __getitem__(self, index: slice) -> _Container: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._part(dict(list(self._cells.items())[index]))
        return list(self._cells.values())[self._position(index, len(self))]

    def _part(self, cells: dict[str, Cell]) -> _Container:
        # Not the class of `self`, whose constructor may take other arguments.
        kind = CellList if isinstance(self, CellList) else SequentialCell
        return kind(cells, auto_prefix=False)

    def __setitem__(self, index: SupportsIndex, cell: Cell) -> None:
        name = list(self._cells)[self._position(index, len(self))]
        self._take_cell(name, self._checked(cell))

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        items = list(self._cells.items())
        del items[index if isinstance(index, slice) else self._position(index, len(self))]
        self._arrange(items)

    def append(self, cell: Cell) -> Self:
        """Add a Cell at the end; return the container.

        Raises
        ------
        TypeError
            If `cell` is not a Cell.
        """
        self._take_cell(str(len(self)), self._checked(cell))
        return self

    def extend(self, cells: Iterable[Cell]) -> Self:
        """Add several Cells at the end; return the container.

        Raises
        ------
        TypeError
            If `cells` is not a collection of Cells.
        """
        if not isinstance(cells, Iterable) or isinstance(cells, np.ndarray):
            raise TypeError(f"{type(self).__name__}: expected Cells or one list of Cells, got {type(cells).__name__}")
        for cell in [self._checked(cell) for cell in cells]:
            self.append(cell)
        return self

    def insert(self, index: SupportsIndex, cell: Cell) -> None:
        """Put a Cell before position `index`; the Cells after it are renumbered.

        Raises
        ------
        TypeError
            If `cell` is not a Cell.
        IndexError
            If the position is beyond the end.
        """
        position = self._position(index, len(self) + 1)
        items = list(self._cells.items())
        items.insert(position, ("0", self._checked(cell)))
        self._arrange(items)


class SequentialCell(_Container):
    """A chain of Cells: each gets the output of the one before.

    Parameters
    ----------
    *args : Cell
        The Cells, or one list of Cells, or one dict from names to Cells.

    Raises
    ------
    TypeError
        If an argument is not a Cell.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad import Tensor, nn
    >>> net = nn.SequentialCell(nn.Dense(2, 8), nn.Tanh(), nn.Dense(8, 1))
    >>> net(Tensor(np.ones((5, 2), np.float32))).shape
    (5, 1)
    >>> [p.name for p in net.trainable_params()]
    ['0.weight', '0.bias', '2.weight', '2.bias']
    """

    def construct(self, x: Any) -> Any:
        """Apply the Cells in order; an empty chain returns its input."""
        for cell in self._cells.values():
            x = cell(x)
        return x


class CellList(_Container):
    """A list of Cells with registered parameters; it supports indexing and iteration, not calls.

    ``vmap(layers)`` is an ensemble: Cell k gets sample k of the inputs, and the results are stacked.

    Parameters
    ----------
    *args : Cell
        The Cells, or one list of Cells.
    auto_prefix : bool, default True
        True to put the positions in front of the names of the parameters.

    Raises
    ------
    TypeError
        If an argument is not a Cell.

    Examples
    --------
    >>> from dualgrad import nn
    >>> layers = nn.CellList([nn.Dense(2, 3), nn.Dense(3, 1)])
    >>> layers[1].weight.name
    '1.weight'
    >>> len(layers)
    2
    """

    def _over_samples(self, in_axes: Any, out_axes: Any) -> Callable[..., Any]:
        return over_samples(list(self), in_axes, out_axes)


class CellDict(Cell):
    """A dict of Cells with registered parameters; it supports look-ups by key and iteration, not calls.

    Parameters
    ----------
    cells : dict, CellDict or iterable of pairs, optional
        From keys to Cells. A key is a str without dots that is not empty and not the name of another attribute or
        method.
    auto_prefix : bool, default True
        True to put the keys in front of the names of the parameters.

    Raises
    ------
    TypeError
        If `cells` is something else, a key is not a str or a value is not a Cell.
    ValueError
        If an entry is not a pair.
    KeyError
        If a key does not fit or does not exist.

    Examples
    --------
    >>> from dualgrad import nn
    >>> heads = nn.CellDict({"energy": nn.Dense(8, 1), "charge": nn.Dense(8, 2)})
    >>> heads["energy"].weight.name
    'energy.weight'
    >>> heads.update([("spin", nn.Dense(8, 1))])
    >>> list(heads), len(heads), "charge" in heads
    (['energy', 'charge', 'spin'], 3, True)
    >>> heads.pop("spin")
    Dense(input_channels=8, output_channels=1, has_bias=True)
    """

    def __init__(self, cells: Any = None, auto_prefix: bool = True) -> None:
        super().__init__(auto_prefix=auto_prefix)
        if cells is not None:
            self.update(cells)

    def _checked(self, key: Any, cell: Any) -> None:
        name = type(self).__name__
        if not isinstance(key, str):
            raise TypeError(f"{name}: a key must be a str, got {type(key).__name__}")
        self._check_new_name(name, key, "_cells")
        if not isinstance(cell, Cell):
            raise TypeError(f"{name}: expected a Cell under the key {key!r}, got {type(cell).__name__}")

    def _found(self, key: Any) -> str:
        if not isinstance(key, str) or key not in self._cells:
            raise KeyError(f"{type(self).__name__}: there is no Cell under the key {key!r}; keys: {list(self._cells)}")
        return key

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __contains__(self, key: object) -> bool:
        return key in self._cells

    def __getitem__(self, key: str) -> Cell:
        return self._cells[self._found(key)]

    def __setitem__(self, key: str, cell: Cell) -> None:
        self._checked(key, cell)
        self._take_cell(key, cell)

    def __delitem__(self, key: str) -> None:
        delattr(self, self._found(key))

    def keys(self) -> KeysView[str]:
        """The keys, in order of insertion."""
        return self._cells.keys()

    def values(self) -> ValuesView[Cell]:
        """The Cells, in the order of their keys."""
        return self._cells.values()

    def items(self) -> ItemsView[str, Cell]:
        """The pairs of key and Cell."""
        return self._cells.items()

    def clear(self) -> None:
        """Remove all Cells."""
        for key in list(self._cells):
            del self[key]

    def pop(self, key: str) -> Cell:
        """Remove a Cell and return it.

        Raises
        ------
        KeyError
            If the key does not exist.
        """
        cell = self[key]
        del self[key]
        return cell

    def update(self, cells: Any) -> None:
        """Add the Cells of a dict, a CellDict or an iterable of pairs; a Cell replaces an old one under the same key.

        Raises
        ------
        TypeError, ValueError, KeyError
            As for the constructor; then nothing is added.
        """
        name = type(self).__name__
        if isinstance(cells, Mapping | CellDict):
            pairs = list(cells.items())
        elif isinstance(cells, Iterable) and not isinstance(cells, str | Cell | np.ndarray):
            pairs = [tuple(pair) if isinstance(pair, tuple | list) else pair for pair in cells]
        else:
            raise TypeError(f"{name}: expected a dict, a CellDict or pairs of key and Cell, got {type(cells).__name__}")
        for position, pair in enumerate(pairs):
            if not isinstance(pair, tuple):
                raise TypeError(f"{name}: entry {position} is {type(pair).__name__}; expected a pair of key and Cell")
            if len(pair) != 2:
                raise ValueError(f"{name}: entry {position} is of length {len(pair)}; expected a pair of key and Cell")
            self._checked(*pair)
        for key, cell in pairs:
            self._take_cell(key, cell)


class TimeDistributed(Cell):
    """One layer for each slice along an axis, the time: ``y[t] = layer(x[t])``, stacked along the same axis.

    Parameters
    ----------
    layer : Cell or function
        The layer to call; it returns one tensor.
    time_axis : int
        The axis of the times.
    reshape_with_axis : int, optional
        Another axis of the input, and of the result of the layer. Times are merged into it, so that the layer is called
        once. The result is the same if the layer treats slices along this axis independently, like a batch axis.
        Statistics over a batch, as of `BatchNorm1d`, are over all times then.

    Raises
    ------
    TypeError
        If the layer cannot be called, or an axis is not an integer.
    ValueError
        If an axis does not exist, both are the same, or the time axis is empty.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> dense = nn.Dense(3, 5)
    >>> nn.TimeDistributed(dense, time_axis=1, reshape_with_axis=0)(ops.ones((4, 2, 3))).shape
    (4, 2, 5)
    """

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        if not callable(layer):
            raise TypeError(f"TimeDistributed: layer is of type {type(layer).__name__}; expected a Cell or a function")
        self.layer = layer
        self.time_axis = integer("TimeDistributed", "time_axis", time_axis)
        if reshape_with_axis is not None:
            reshape_with_axis = integer("TimeDistributed", "reshape_with_axis", reshape_with_axis)
        self.reshape_with_axis = reshape_with_axis

    def construct(self, inputs: Tensor) -> Tensor:
        axis = one_axis("TimeDistributed", self.time_axis, inputs.shape)
        times = inputs.shape[axis]
        if not times:
            raise ValueError(f"TimeDistributed: axis {axis} of shape {inputs.shape} is empty; expected a time at least")
        if self.reshape_with_axis is None:
            return ops.stack([self.layer(one) for one in ops.unstack(inputs, axis)], self.time_axis)
        other = one_axis("TimeDistributed", self.reshape_with_axis, inputs.shape)
        if other == axis:
            raise ValueError(f"TimeDistributed: time_axis and reshape_with_axis are both {axis}; expected two axes")
        batch = other - (other > axis)  # the position of the axis without the times
        moved = ops.movedim(inputs, axis, batch)
        shape = moved.shape
        found = self.layer(moved.reshape((*shape[:batch], times * shape[batch + 1], *shape[batch + 2 :])))
        if found.ndim <= batch or found.shape[batch] != times * shape[batch + 1]:
            raise ValueError(
                f"TimeDistributed: the layer gives shape {found.shape}; expected length {times * shape[batch + 1]} "
                f"along axis {batch}, into which the times were merged"
            )
        apart = found.reshape((*found.shape[:batch], times, shape[batch + 1], *found.shape[batch + 1 :]))
        return ops.movedim(apart, batch, self.time_axis)
