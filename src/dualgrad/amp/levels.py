"""Networks in mixed precision: Cells that compute in a narrow type, chosen by levels or by lists of classes."""

from __future__ import annotations

from typing import Any

from dualgrad import dtype as mstype
from dualgrad import nn, ops
from dualgrad._nests import mapped
from dualgrad._seen import cast_of
from dualgrad.dtype import DType, as_dtype
from dualgrad.nn import Cell
from dualgrad.nn._precision import computing_type
from dualgrad.ops.math._rows import ElementwisePrimitive

from .._settings import one_of

__all__ = ["auto_mixed_precision", "custom_mixed_precision", "get_black_list", "get_white_list"]

_WHITE = (
    nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv2dTranspose, nn.Conv3dTranspose, nn.Dense, nn.LSTMCell,
    nn.RNNCell, nn.GRUCell, ops.Conv2D, ops.Conv3D, ops.Conv3DTranspose, ops.MatMul, ops.BatchMatMul, ops.PReLU,
    ops.ReLU, ops.Ger,
)  # fmt: skip
_BLACK = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm)

_PRIMITIVES = (ops.Primitive, ElementwisePrimitive)

LEVELS = ("O0", "O1", "O2", "O3", "auto")


def get_white_list() -> list[type]:
    """Return the classes of Cells and primitives that compute in the narrow type in level 'O1'.

    Returns
    -------
    list of type
        A new list, which may be changed and passed to `custom_mixed_precision`.

    Examples
    --------
    >>> from dualgrad import amp, nn
    >>> nn.Dense in amp.get_white_list()
    True
    """
    return list(_WHITE)


def get_black_list() -> list[type]:
    """Return the classes of Cells that compute in Float32 in level 'O2'.

    Returns
    -------
    list of type
        A new list, which may be changed and passed to `custom_mixed_precision`.

    Examples
    --------
    >>> from dualgrad import amp, nn
    >>> nn.LayerNorm in amp.get_black_list()
    True
    """
    return list(_BLACK)


def auto_mixed_precision(network: Any, amp_level: str = "O0", dtype: Any = mstype.float16) -> Any:
    """Have a network compute in a narrow type, by one of MindSpore's levels.

    Parameters
    ----------
    network : Cell
        The network, which is changed; see `dualgrad.nn.Cell.to_float`. A function is accepted for 'O0'.
    amp_level : str, default 'O0'
        One of

        * 'O0': nothing is changed.
        * 'O1': Cells, and primitives that are attributes of Cells, whose class is in `get_white_list` compute in the
          narrow type and return Float32. Cells to which `to_float` gave the narrow type before stay as they are.
        * 'O2': all Cells but the classes in `get_black_list` compute in the narrow type. The latter compute in Float32
          and return the narrow type. The network returns Float32.
        * 'O3': all Cells compute in the narrow type; the network returns Float32.

    dtype : type, default float16
        The narrow type: only float16 is supported.

    Returns
    -------
    Cell
        `network`; for 'O2' and 'O3' a Cell around it, which converts its results. Parameters keep types and names.

    Raises
    ------
    TypeError
        If `network` is not a Cell and the level is not 'O0', or it cannot be called; if the type does not exist here.
    ValueError
        If the level is not known, or the type is not float16.
    NotImplementedError
        For the level 'auto', which chooses a type for each operator.

    Examples
    --------
    >>> from dualgrad import amp, nn, ops
    >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.LayerNorm((3,)))
    >>> mixed = amp.auto_mixed_precision(net, "O2")
    >>> x = ops.ones((1, 2))
    >>> net[0](x).dtype, mixed(x).dtype, net[0].weight.dtype
    (dualgrad.float16, dualgrad.float32, dualgrad.float32)
    """
    name = "auto_mixed_precision"
    check_level(name, "amp_level", amp_level)
    if not callable(network):
        raise TypeError(f"{name}: network must be a Cell or a function, got {type(network).__name__}")
    narrow = _narrow(name, dtype)
    if amp_level == "O0":
        return network
    _check_cell(name, network, f", since amp_level is {amp_level!r}")
    if amp_level == "O1":
        return _by_white_list(network, _WHITE, narrow)
    if amp_level == "O2":
        _by_black_list(network, _BLACK, narrow)
    else:
        network.to_float(narrow)
    return InFloat32(network)


def custom_mixed_precision(
    network: Any, *, white_list: Any = None, black_list: Any = None, dtype: Any = mstype.float16
) -> Any:
    """Have a network compute in a narrow type, by a list of classes of your own.

    Parameters
    ----------
    network : Cell
        The network, which is changed.
    white_list : list of type, optional
        Classes of Cells and primitives, as level 'O1' of `auto_mixed_precision` uses them.
    black_list : list of type, optional
        Classes of Cells, as level 'O2' uses them.
    dtype : type, default float16
        The narrow type: only float16 is supported.

    Returns
    -------
    Cell
        `network`; with `black_list` a Cell around it, which converts its results to Float32.

    Raises
    ------
    TypeError
        If `network` is not a Cell, or a list holds something else.
    ValueError
        If neither or both lists are given, or the type is not float16.

    Examples
    --------
    >>> from dualgrad import amp, nn, ops
    >>> net = nn.SequentialCell(nn.Flatten(), nn.Dense(2, 3))
    >>> net = amp.custom_mixed_precision(net, white_list=[*amp.get_white_list(), nn.Flatten])
    >>> net(ops.ones((1, 2))).dtype
    dualgrad.float32
    """
    name = "custom_mixed_precision"
    _check_cell(name, network)
    if (white_list is None) == (black_list is None):
        given = "none" if white_list is None else "both"
        raise ValueError(f"{name}: expected one of white_list and black_list, got {given}")
    narrow = _narrow(name, dtype)
    if white_list is not None:
        return _by_white_list(network, _checked_list(name, "white_list", white_list, (Cell, *_PRIMITIVES)), narrow)
    _by_black_list(network, _checked_list(name, "black_list", black_list, (Cell,)), narrow)
    return InFloat32(network)


class InFloat32(Cell):
    """A network whose floating results are converted to Float32."""

    def __init__(self, network: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = network

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        return mapped(self._backbone(*args, **kwargs), lambda t: cast_of(t, mstype.float32))


class InNarrow:
    """A primitive that computes in a narrow type and returns Float32; an attribute of a Cell."""

    def __init__(self, primitive: Any, dtype: DType) -> None:
        self.primitive = primitive
        self.dtype = dtype

    def __call__(self, *args: Any) -> Any:
        found = self.primitive(*mapped(args, lambda t: cast_of(t, self.dtype)))
        return mapped(found, lambda t: cast_of(t, mstype.float32))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "primitive" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.primitive, name)

    def __repr__(self) -> str:
        return f"{self.primitive!r} in {self.dtype}"


def _by_white_list(network: Cell, classes: tuple[type, ...], dtype: DType) -> Cell:
    taken: set[int] = set()  # Cells inside of a changed Cell have its type
    for _, cell in list(network.cells_and_names()):
        if id(cell) in taken:
            continue
        if type(cell) in classes and computing_type(cell) is not dtype:
            cell.to_float(dtype)
            cell._compute_in(dtype, mstype.float32)
            taken.update(id(below) for _, below in cell.cells_and_names())
            continue
        for name, value in list(vars(cell).items()):
            if isinstance(value, _PRIMITIVES) and type(value) in classes:
                setattr(cell, name, InNarrow(value, dtype))
    return network


def _by_black_list(network: Cell, classes: tuple[type, ...], dtype: DType) -> None:
    """Give all Cells the narrow type, except for the listed classes and the Cells inside of them."""
    network.to_float(dtype)
    seen = {id(network)}

    def visit(parent: Cell) -> None:
        for cell in parent.cells():
            if id(cell) in seen:
                continue
            seen.add(id(cell))
            if isinstance(cell, classes):
                cell.to_float(mstype.float32)
                cell._compute_in(mstype.float32, dtype)
            else:
                visit(cell)

    visit(network)


def keep_normalisation(network: Cell, dtype: DType) -> None:
    """Give all Cells the narrow type, except for the classes of the black list, which compute in Float32."""
    _by_black_list(network, _BLACK, dtype)


def check_level(name: str, what: str, level: Any) -> None:
    """Raise if a level does not exist."""
    if not one_of(level, LEVELS):
        raise ValueError(f"{name}: got {what}={level!r}; expected one of {', '.join(LEVELS[:-1])}")
    if level == "auto":
        raise NotImplementedError(
            f"{name}: got {what}='auto', which chooses a type for each operator by its own list; expected 'O0', 'O1', "
            "'O2' or 'O3', which choose types for Cells; or call to_float of Cells"
        )


def _narrow(name: str, dtype: Any) -> DType:
    found = as_dtype(dtype, where=name)
    if found is not mstype.float16:
        raise ValueError(f"{name}: dtype is {found}; expected float16, the only narrow type here")
    return found


def _check_cell(name: str, network: Any, why: str = "") -> None:
    if not isinstance(network, Cell):
        raise TypeError(f"{name}: network must be a Cell{why}, got {type(network).__name__}")


def _checked_list(name: str, what: str, given: Any, kinds: tuple[type, ...]) -> tuple[type, ...]:
    if not isinstance(given, list):
        raise TypeError(f"{name}: {what} must be a list of classes, got {type(given).__name__}")
    for each in given:
        if not isinstance(each, type) or not issubclass(each, kinds):
            expected = "Cells" if kinds == (Cell,) else "Cells or primitives"
            raise TypeError(f"{name}: {what} holds {each!r:.200}; expected classes of {expected}")
    return tuple(given)
