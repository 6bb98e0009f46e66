"""Members of a Cell: registered Parameters and Cells, their order and their names.

Parameters and Cells assigned to attributes are *registered*, in the order of assignment, so that `get_parameters`,
checkpoints and optimisers find them. All else is an ordinary attribute. Reading an attribute must cost no more than a
look-up in the instance dictionary. So members are in that dictionary too, there is no `__getattr__`, and only
assignment costs more.

Names are final when a Cell is put into its parent: the path of attributes goes in front of the parameters' own names. A
Cell keeps this path for members that are added later. A Parameter that several Cells hold is named after the last of
them in the order of `cells_and_names`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self, cast

from dualgrad._engine.transforms.calls import CellCall
from dualgrad._foreign import check_keywords
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.tensor import Tensor

from .._settings import truth_value

if TYPE_CHECKING:
    from dualgrad.nn.cell import Cell

__all__ = ["Members"]

# Attributes that hold the members and names of a Cell. Other code must not assign to them: the Cell would lose its
# members and go on without them.
_OWN: Final = frozenset({"_params", "_param_tuples", "_cells", "_param_prefix", "_auto_prefix", "_flags"})
LOOKED_AT: Final = 100  # items of a list
_NONE: Final = MappingProxyType[str, Any]({})


class Members(CellCall):
    """The part of `Cell` that registers, names and finds its members."""

    # A Cell whose constructor did not call `super().__init__()` has no members, but its repr works.
    _auto_prefix: bool = True
    _param_prefix: str = ""
    _params: Mapping[str, Parameter] = _NONE
    _param_tuples: Mapping[str, ParameterTuple] = _NONE
    _cells: Mapping[str, Cell] = _NONE
    _former_names: Mapping[str, str] = _NONE  # the names that parameters had in earlier versions, by attribute

    if not TYPE_CHECKING:  # checkers look at __init__

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            """Make a Cell whose `__init__` comes next; keywords of other frameworks are reported here."""
            if kwargs and isinstance(cls, type):
                check_keywords(cls.__name__, cls.__init__, kwargs)
            return super().__new__(cls)

    def __init__(self, auto_prefix: bool) -> None:
        # Directly into the dictionary, since `__setattr__` needs the registries.
        truth_value(type(self).__name__, "auto_prefix", auto_prefix)
        self.__dict__.update(_auto_prefix=auto_prefix, _param_prefix="", _params={}, _param_tuples={}, _cells={})

    # Attributes.

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            raise self._refusal(name)
        if isinstance(getattr(type(self), name, None), property):  # a member of this name would be hidden by it
            object.__setattr__(self, name, value)
            return None
        if isinstance(value, Parameter):
            return self._take_parameter(name, value)
        if isinstance(value, Members):
            return self._take_cell(name, cast("Cell", value))
        if isinstance(value, ParameterTuple):
            self._take_tuple(name, value)
        elif name in self.__dict__ and self._is_registered(name):
            self._replace(name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in _OWN:
            raise self._refusal(name)
        if name not in self.__dict__ and not hasattr(type(self), str(name)):
            raise AttributeError(f"{type(self).__name__}: has no attribute {name!r} to delete")
        self._forget(name)
        object.__delattr__(self, name)

    def _refusal(self, name: str) -> AttributeError:
        return AttributeError(
            f"{type(self).__name__}: '{name}' is where the Cell keeps its members and cannot be set or deleted; assign "
            "Parameters and Cells to attributes of other names, or use insert_child_to_cell and insert_param_to_cell"
        )

    def _registry(self, name: str, what: str) -> dict[str, Any]:
        """Return the registry called `what`, or raise an error if it does not exist yet."""
        try:
            return self.__dict__[what]
        except KeyError:
            raise AttributeError(
                f"{type(self).__name__}: '{name}' is assigned before super().__init__() was called; call it "
                f"first in the constructor of {type(self).__name__}"
            ) from None

    def _is_registered(self, name: str) -> bool:
        attributes = self.__dict__
        return "_cells" in attributes and (
            name in attributes["_params"] or name in attributes["_cells"] or name in attributes["_param_tuples"]
        )

    def _forget(self, name: str, keep: str = "") -> None:
        """Remove `name` from all registries but `keep`, in which a new value replaces it."""
        for what in ("_params", "_cells", "_param_tuples"):
            if what != keep:
                self.__dict__.get(what, {}).pop(name, None)

    def _take_parameter(self, name: str, parameter: Parameter) -> None:
        registry = self._registry(name, "_params")
        self._forget(name, keep="_params")
        if not parameter._is_placed:
            parameter._place(self._prefix(), name)
        registry[name] = self.__dict__[name] = parameter

    def _take_tuple(self, name: str, parameters: ParameterTuple) -> None:
        registry = self._registry(name, "_param_tuples")
        self._forget(name, keep="_param_tuples")
        for index, parameter in enumerate(parameters):
            if parameter._own_name is None:
                parameter._place(self._prefix(), f"{name}.{index}")
        registry[name] = self.__dict__[name] = parameters

    def _take_cell(self, name: str, cell: Cell) -> None:
        registry = self._registry(name, "_cells")
        if "_cells" not in cell.__dict__:
            raise AttributeError(
                f"{type(self).__name__}: {type(cell).__name__} cannot become '{name}', since its constructor "
                "did not call super().__init__()"
            )
        self._forget(name, keep="_cells")
        registry[name] = self.__dict__[name] = cell
        if self._auto_prefix:
            cell._settle(self._prefix() + name)

    def _replace(self, name: str, value: Any) -> None:
        """Assign a value that is neither Parameter nor Cell to a registered attribute."""
        if isinstance(value, Tensor) and name in self._params:
            self._params[name].set_data(value)
        elif value is None:
            self._forget(name)
            self.__dict__[name] = None
        else:
            kind = "Parameter" if name in self._params else "Cell" if name in self._cells else "ParameterTuple"
            remedy = " (or a Tensor, which becomes its value; see also set_data)" if kind == "Parameter" else ""
            raise TypeError(
                f"{type(self).__name__}: attribute '{name}' is a {kind} and cannot become "
                f"{type(value).__name__}; assign a {kind}{remedy}, or delete the attribute first"
            )

    def insert_child_to_cell(self, child_name: str, child_cell: Cell) -> None:
        """Add a Cell under a computed name, as if it were assigned to an attribute.

        Parameters
        ----------
        child_name : str
            Without dots, and not the name of another attribute.
        child_cell : Cell
            The Cell to add; it may replace an earlier child of this name.

        Raises
        ------
        TypeError
            If `child_cell` is not a Cell.
        KeyError
            If the name does not fit.

        Examples
        --------
        >>> from dualgrad import nn
        >>> net = nn.Cell()
        >>> net.insert_child_to_cell("fc", nn.Dense(2, 3))
        >>> net.fc.weight.name
        'fc.weight'
        """
        if not isinstance(child_cell, Members):
            raise TypeError(f"insert_child_to_cell: child_cell must be a Cell, got {type(child_cell).__name__}")
        self._check_new_name("insert_child_to_cell", child_name, "_cells")
        self._take_cell(child_name, child_cell)

    def insert_param_to_cell(self, param_name: str, param: Parameter, check_name_contain_dot: bool = True) -> None:
        """Add a Parameter under a computed name, as if it were assigned to an attribute.

        Parameters
        ----------
        param_name : str
            Not the name of another attribute.
        param : Parameter
            The Parameter to add; it may replace an earlier one of this name.
        check_name_contain_dot : bool, default True
            True to refuse dots in the name.

        Raises
        ------
        TypeError
            If `param` is not a Parameter.
        KeyError
            If the name does not fit.

        Examples
        --------
        >>> from dualgrad import Parameter, nn
        >>> net = nn.Cell()
        >>> net.insert_param_to_cell("w0", Parameter(1.0))
        >>> net.w0
        Parameter (name=w0, shape=(), dtype=Float32, requires_grad=True)
        """
        if not isinstance(param, Parameter):
            raise TypeError(f"insert_param_to_cell: param must be a Parameter, got {type(param).__name__}")
        self._check_new_name("insert_param_to_cell", param_name, "_params", check_name_contain_dot)
        self._take_parameter(param_name, param)

    def _check_new_name(self, caller: str, name: str, what: str, dots_refused: bool = True) -> None:
        registry = self._registry(name, what)
        if not isinstance(name, str) or not name or (dots_refused and "." in name):
            raise KeyError(f"{caller}: the name must be a str that is not empty and has no dots, got {name!r}")
        if name in _OWN or (hasattr(self, name) and name not in registry):
            raise KeyError(f"{caller}: {type(self).__name__} already has another attribute '{name}'")

    # Names.

    def _prefix(self) -> str:
        """The prefix for the names of direct members."""
        return self._param_prefix + "." if self._param_prefix else ""

    def _settle(self, path: str) -> None:
        """Rename the parameters of a Cell at `path`; every Cell below keeps its path."""
        self.update_parameters_name(path + ".")
        for name, cell in self.cells_and_names():
            cell.__dict__["_param_prefix"] = f"{path}.{name}" if name else path

    @property
    def param_prefix(self) -> str:
        """The path of this Cell, which precedes the names of its own parameters; empty for the outermost Cell."""
        return self._param_prefix

    def update_cell_prefix(self) -> None:
        """Make the paths in `param_prefix`, here and below, relative to this Cell."""
        for name, cell in self.cells_and_names():
            cell.__dict__["_param_prefix"] = name

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Rename the parameters: `prefix`, then the path of Cells from here, then their own name.

        Parameters
        ----------
        prefix : str, default ''
            Taken literally; end it with a dot where you want one.
        recurse : bool, default True
            True to include the Cells below.

        Raises
        ------
        TypeError
            If `prefix` is not a string.

        Examples
        --------
        >>> from dualgrad import nn
        >>> fc = nn.Dense(2, 3)
        >>> fc.update_parameters_name("solver.")
        >>> fc.weight.name
        'solver.weight'
        """
        if not isinstance(prefix, str):
            raise TypeError(f"update_parameters_name: prefix must be a str, got {type(prefix).__name__}")
        for name, cell in self.cells_and_names() if recurse else [("", cast("Cell", self))]:
            path = f"{prefix}{name}." if name else prefix
            for attribute, parameter in cell._params.items():
                parameter._place(path, attribute)
            for attribute, parameter in cell._tuple_parameters():
                if parameter.name == f"{cell._prefix()}{parameter._own_name}":
                    parameter._place(path, attribute)

    # Members.

    def _own_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Walk over the parameters of this Cell, without the parameters of its children."""
        yield from self._params.items()
        yield from self._tuple_parameters()

    def _tuple_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Walk over the parameters that are here only as members of a ParameterTuple.

        Parameters of the Cells below are left out: a tuple often just refers to the weights of a child, which must keep
        their place in the order. For the same reason a member with a path from another Cell keeps its name.
        """
        if not self._param_tuples:
            return
        owned_below = {
            id(parameter)
            for _, cell in self.cells_and_names()
            if cell is not self
            for parameter in cell._params.values()
        }
        for name, parameters in self._param_tuples.items():
            for index, parameter in enumerate(parameters):
                if id(parameter) not in owned_below:
                    yield f"{name}.{index}", parameter

    def cells_and_names(self, cells: Iterable[Cell] = (), name_prefix: str = "") -> Iterator[tuple[str, Cell]]:
        """Walk over this Cell, called `name_prefix`, and all below, each once, parents before children.

        Parameters
        ----------
        cells : iterable of Cell, optional
            Cells to leave out.
        name_prefix : str, default ''
            The name of this Cell.

        Yields
        ------
        tuple of (str, Cell)

        Examples
        --------
        >>> from dualgrad import nn
        >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh())
        >>> [name for name, _ in net.cells_and_names()]
        ['', '0', '1']
        """
        yield from self._walk({id(cell) for cell in cells}, name_prefix)

    def _walk(self, seen: set[int], name: str) -> Iterator[tuple[str, Cell]]:
        # By id, since a subclass may compare by value (a dataclass does) and then has no hash.
        if id(self) in seen:
            return
        seen.add(id(self))
        yield name, cast("Cell", self)
        for child, cell in self._cells.items():
            yield from cell._walk(seen, f"{name}.{child}" if name else child)

    def cells(self) -> Iterable[Cell]:
        """Return the children."""
        return self.name_cells().values()

    def name_cells(self) -> dict[str, Cell]:
        """Return the children by attribute; a child under two attributes is listed once."""
        seen: set[int] = set()
        children: dict[str, Cell] = {}
        for name, cell in self._cells.items():
            if id(cell) not in seen:
                seen.add(id(cell))
                children[name] = cell
        return children

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Walk over the parameters, each once, with their paths of attributes.

        Parameters
        ----------
        name_prefix : str, default ''
            Path to put in front.
        expand : bool, default True
            True to include the Cells below.

        Yields
        ------
        tuple of (str, Parameter)

        Examples
        --------
        >>> from dualgrad import nn
        >>> net = nn.SequentialCell(nn.Dense(2, 3))
        >>> [name for name, _ in net.parameters_and_names()]
        ['0.weight', '0.bias']
        """
        seen: set[int] = set()
        for path, cell in (
            self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, cast("Cell", self))]
        ):
            for attribute, parameter in cell._own_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{path}.{attribute}" if path else attribute, parameter

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """Walk over the parameters: own parameters in order of assignment, then the parameters of the children."""
        for _, parameter in self.parameters_and_names(expand=expand):
            yield parameter

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Return the parameters with `requires_grad`; warn of weights in plain lists, which are left out."""
        if recurse:
            self._warn_of_lists()
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def _warn_of_lists(self) -> None:
        """Warn of Cells and Parameters in lists, tuples and dicts of attributes: optimisers do not get them."""
        cells = dict(self.cells_and_names())
        known = {id(cell) for cell in cells.values()} | {id(p) for p in self.get_parameters()}
        for path, cell in cells.items():
            for name, value in vars(cell).items():
                if type(value) not in (list, tuple, dict) or name in _OWN:
                    continue
                for item in itertools.islice(value.values() if type(value) is dict else value, LOOKED_AT):
                    if id(item) not in known and _has_weights(item):
                        where = f"{path}.{name}" if path else name
                        warnings.warn(
                            f"{type(self).__name__}: '{where}' is a {type(value).__name__} with a "
                            f"{type(item).__name__}, whose weights are not among those of the Cell, so an optimiser "
                            f"does not train them; expected nn.CellList or nn.SequentialCell, or ParameterTuple",
                            UserWarning,
                            stacklevel=3,
                        )
                        break

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Return the parameters without `requires_grad`."""
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """Return the parameters by name, in order.

        Raises
        ------
        ValueError
            If two parameters have the same name.

        Examples
        --------
        >>> from dualgrad import nn
        >>> list(nn.Dense(2, 3).parameters_dict())
        ['weight', 'bias']
        """
        by_name: dict[str, Parameter] = {}
        for path, parameter in self.parameters_and_names(expand=recurse):
            if parameter.name in by_name:
                raise ValueError(
                    f"{type(self).__name__}: two parameters are named '{parameter.name}', the second is "
                    f"attribute '{path}'; give it another name"
                )
            by_name[parameter.name] = parameter
        return by_name

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Return every parameter mapped to itself: initial values are always computed at once here."""
        return {parameter: parameter for parameter in self.get_parameters()}

    # Copies.

    def __copy__(self) -> Self:
        # Sharing the registries would let an assignment to the copy change the original.
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        for what in ("_params", "_param_tuples", "_cells"):
            if what in twin.__dict__:
                twin.__dict__[what] = dict(twin.__dict__[what])
        return twin


def _has_weights(x: Any) -> bool:
    return isinstance(x, Parameter) or (isinstance(x, Members) and any(True for _ in x.get_parameters()))
