"""The state of a Cell: buffers, which are tensors that are not trained, and `state_dict`.

Keys of a state are paths of attributes, not names of parameters. A state is loaded as a whole or not at all.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast

from dualgrad.hooks import HookHandle, Hooks
from dualgrad.nn._members import Members
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

if TYPE_CHECKING:
    from dualgrad.nn.cell import Cell

__all__ = ["IncompatibleKeys", "State"]

_OWN: Final = frozenset({"_buffers", "_passing", "_state_hooks"})
_EXTRA: Final = "_extra_state"
_NONE: Final = MappingProxyType[str, Any]({})


class IncompatibleKeys(NamedTuple):
    """Result of `Cell.load_state_dict`: keys that the state lacks, and keys that the Cell does not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Buffer(Tensor):
    """A tensor that becomes a buffer of a Cell by assignment to an attribute: ``net.mean = Buffer(tensor)``.

    Parameters
    ----------
    data : Tensor
        Its values.
    persistent : bool, default True
        True to make it a part of `state_dict`.

    Raises
    ------
    TypeError
        If `data` is not a Tensor, or is a Parameter.
    ValueError
        If `data` is None.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> from dualgrad.nn._state import Buffer
    >>> net = nn.Cell()
    >>> net.mean = Buffer(Tensor([1.0, 2.0]))
    >>> print([name for name, _ in net.named_buffers()])
    ['mean']
    """

    persistent: bool

    def __init__(self, data: Tensor, *, persistent: bool = True) -> None:
        if data is None:
            raise ValueError("Buffer: got None; expected a Tensor")
        if not isinstance(data, Tensor) or isinstance(data, Parameter):
            raise TypeError(f"Buffer: expected a Tensor, got {type(data).__name__}")
        super().__init__(data._detached())
        self.persistent = persistent


class State(Members):
    """The part of `Cell` that keeps buffers and gives and takes the state."""

    _buffers: Mapping[str, Tensor | None] = _NONE
    _passing: frozenset[str] = frozenset()  # buffers that are not part of the state
    _state_hooks: Mapping[str, Hooks] = _NONE

    # Buffers.

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            raise self._refusal(name)
        if type(value) is Buffer and name not in self._buffers:
            self.register_buffer(name, value, value.persistent)
        elif name not in self._buffers or isinstance(value, Parameter | Members):
            super().__setattr__(name, value)
            self._forget_buffer(name)
        elif value is None or isinstance(value, Tensor):
            self.__dict__["_buffers"][name] = self.__dict__[name] = value
        else:
            raise TypeError(
                f"{type(self).__name__}: attribute '{name}' is a buffer and cannot become {type(value).__name__}; "
                "assign a Tensor or None, or delete the attribute first"
            )

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._forget_buffer(name)

    def _forget_buffer(self, name: str) -> None:
        if name in self._buffers:
            self.__dict__["_buffers"].pop(name)
            self.__dict__["_passing"] = self._passing - {name}

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a tensor that is not trained, such as a running mean, as an attribute.

        Parameters
        ----------
        name : str
            Without dots, and not the name of another attribute.
        tensor : Tensor or None
            None for a buffer without a value yet, which is not a part of the state.
        persistent : bool, default True
            True to make it a part of `state_dict`.

        Raises
        ------
        TypeError
            If `name` is not a str, `tensor` is not a Tensor or is a Parameter, or `persistent` is not a bool.
        KeyError
            If the name does not fit.

        Examples
        --------
        >>> from dualgrad import Tensor, nn
        >>> net = nn.Cell()
        >>> net.register_buffer("mean", Tensor([1.0, 2.0]))
        >>> net.mean = net.mean * 2
        >>> print(net.mean, list(net.state_dict()))
        [2. 4.] ['mean']
        """
        where = f"{type(self).__name__}.register_buffer"
        if not isinstance(name, str):
            raise TypeError(f"{where}: the name must be a str, got {type(name).__name__}")
        if tensor is not None and (not isinstance(tensor, Tensor) or isinstance(tensor, Parameter)):
            raise TypeError(f"{where}: '{name}' must be a Tensor or None, got {type(tensor).__name__}")
        if not isinstance(persistent, bool):
            raise TypeError(f"{where}: persistent must be a bool, got {type(persistent).__name__}")
        self._registry(name, "_params")  # raises an error if super().__init__() was not called
        if not name or "." in name or name in _OWN or (hasattr(self, name) and name not in self._buffers):
            raise KeyError(f"{where}: {name!r} is empty, has dots, or is the name of another attribute; choose another")
        self.__dict__.setdefault("_buffers", {})[name] = self.__dict__[name] = tensor
        self.__dict__["_passing"] = self._passing - {name} if persistent else self._passing | {name}

    def get_buffer(self, target: str) -> Tensor | None:
        """Return the buffer at a path such as ``"net.mean"``.

        Raises
        ------
        AttributeError
            If it does not exist.
        TypeError
            If the path is not a str.
        """
        if not isinstance(target, str):
            raise TypeError(f"{type(self).__name__}.get_buffer: target must be a str, got {type(target).__name__}")
        path, _, name = target.rpartition(".")
        cell = self.get_sub_cell(path)
        if name not in cell._buffers:
            raise AttributeError(f"{type(self).__name__}: there is no buffer '{target}'")
        return cell._buffers[name]

    def get_sub_cell(self, target: str) -> Cell:
        """Return the Cell at a path of attributes; the empty path is this Cell.

        Raises
        ------
        AttributeError
            If it does not exist.
        TypeError
            If the path is not a str.

        Examples
        --------
        >>> from dualgrad import nn
        >>> nn.SequentialCell(nn.Dense(2, 3), nn.Tanh()).get_sub_cell("1")
        Tanh()
        """
        if not isinstance(target, str):
            raise TypeError(f"{type(self).__name__}.get_sub_cell: target must be a str, got {type(target).__name__}")
        cell: Any = self
        for name in target.split(".") if target else ():
            if name not in cell._cells:
                raise AttributeError(f"{type(self).__name__}: there is no Cell '{target}': no '{name}' on the way")
            cell = cell._cells[name]
        return cell

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Walk over the buffers that have a value, with their paths.

        Parameters
        ----------
        prefix : str, default ''
            Path to put in front.
        recurse : bool, default True
            True to include the Cells below.
        remove_duplicate : bool, default True
            True to give a tensor that occurs twice only once.

        Yields
        ------
        tuple of (str, Tensor)
        """
        seen: set[int] = set()
        for path, cell in self.cells_and_names(name_prefix=prefix) if recurse else [(prefix, cast("Cell", self))]:
            for name, tensor in cell._buffers.items():
                if tensor is not None and not (remove_duplicate and id(tensor) in seen):
                    seen.add(id(tensor))
                    yield f"{path}.{name}" if path else name, tensor

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Walk over the buffers that have a value."""
        for _, tensor in self.named_buffers(recurse=recurse):
            yield tensor

    # The state.

    def _named_state(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters, including members of a ParameterTuple, and persistent buffers of this Cell by attribute."""
        own = {id(parameter) for parameter in self._params.values()}
        yield from self._params.items()
        yield from [(path, parameter) for path, parameter in self._tuple_parameters() if id(parameter) not in own]
        for name, tensor in self._buffers.items():
            if tensor is not None and name not in self._passing:
                yield name, tensor

    def get_extra_state(self) -> Any:
        """Return the rest of the state of this Cell; meant to be overridden, with `set_extra_state`."""
        raise RuntimeError(f"{type(self).__name__}: get_extra_state is not defined")

    def set_extra_state(self, state: Any) -> None:
        """Take a result of `get_extra_state`; meant to be overridden."""
        raise RuntimeError(f"{type(self).__name__}: set_extra_state is not defined")

    def _has(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(State, method)

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the parameters and persistent buffers, here and below, by their paths of attributes.

        Parameters
        ----------
        *args
            `destination`, `prefix` and `keep_vars` by position.
        destination : dict, optional
            The dict to fill; by default a new dict.
        prefix : str, default ''
            Prefix of each path.
        keep_vars : bool, default False
            Accepted so that ported code runs: the values are the parameters and buffers themselves.

        Returns
        -------
        OrderedDict or type of `destination`

        Raises
        ------
        TypeError
            If there are more than three positional arguments, `destination` is not a dict, or `prefix` is not a str.

        Examples
        --------
        >>> from dualgrad import nn
        >>> list(nn.SequentialCell(nn.Dense(2, 3)).state_dict())
        ['0.weight', '0.bias']
        """
        if len(args) > 3:
            raise TypeError(f"state_dict: got {len(args)} positional arguments; expected at most 3")
        given: tuple[Any, ...] = (*args, *(destination, prefix, keep_vars)[len(args) :])
        destination, prefix, keep_vars = given
        if not isinstance(prefix, str):
            raise TypeError(f"state_dict: prefix must be a str, got {type(prefix).__name__}")
        if destination is not None and not isinstance(destination, MutableMapping):
            raise TypeError(f"state_dict: destination must be a dict, got {type(destination).__name__}")
        state = OrderedDict() if destination is None else destination
        for _, hook in self._hooks_for_state("before_saving"):
            hook(self, prefix, keep_vars)
        for name, tensor in self._named_state():
            state[prefix + name] = tensor
        if self._has("get_extra_state"):
            state[prefix + _EXTRA] = self.get_extra_state()
        for name, cell in self._cells.items():
            cell.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for _, hook in self._hooks_for_state("after_saving"):
            hook(self, state, prefix, {})
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Give the parameters and persistent buffers, here and below, the values of a state.

        Parameters
        ----------
        state_dict : dict
            A result of `state_dict`, of this or another Cell.
        strict : bool, default True
            True to raise an error for missing or unknown keys.

        Returns
        -------
        IncompatibleKeys
            The missing keys and the unknown keys.

        Raises
        ------
        TypeError
            If `state_dict` is not a dict.
        RuntimeError
            If `strict` is not met, or a value has another shape or does not fit the type. Then nothing is changed.

        Examples
        --------
        >>> from dualgrad import nn
        >>> net, other = nn.Dense(2, 3), nn.Dense(2, 3)
        >>> net.load_state_dict(other.state_dict())
        IncompatibleKeys(missing_keys=[], unexpected_keys=[])
        >>> bool((net.weight == other.weight).all())
        True
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict: expected a dict, got {type(state_dict).__name__}")
        state: dict[str, Any] = OrderedDict(state_dict)
        keys, errors = IncompatibleKeys([], []), list[str]()
        steps: list[Callable[[], Any]] = []
        known: set[str] = set()
        paths = list(self._cells_by_path())
        for path, cell in paths:
            for _, hook in cell._hooks_for_state("before_loading"):
                hook(cell, state, path, {}, strict, keys.missing_keys, keys.unexpected_keys, errors)
            for name, tensor in cell._named_state():
                known.add(path + name)
                if path + name in state:
                    cell._plan(path + name, tensor, state[path + name], steps, errors)
                else:
                    keys.missing_keys.append(path + name)
            if cell._has("set_extra_state"):
                known.add(path + _EXTRA)
                if path + _EXTRA in state:
                    extra = state[path + _EXTRA]
                    steps.append(functools.partial(cell.set_extra_state, extra))
                else:
                    keys.missing_keys.append(path + _EXTRA)
        keys.unexpected_keys.extend(key for key in state if key not in known)
        if strict and keys.unexpected_keys:
            errors.insert(0, f"the Cell does not know {', '.join(map(repr, keys.unexpected_keys))}")
        if strict and keys.missing_keys:
            errors.insert(0, f"the state lacks {', '.join(map(repr, keys.missing_keys))}")
        if errors:
            raise RuntimeError(f"{type(self).__name__}.load_state_dict: {'; '.join(errors)}. Nothing was changed")
        for step in steps:
            step()
        for _, cell in reversed(paths):
            for _, hook in cell._hooks_for_state("after_loading"):
                if hook(cell, keys) is not None:
                    raise RuntimeError(
                        "load_state_dict: a post-hook returned a value; it may only change the keys in place"
                    )
        return keys

    def _cells_by_path(self, path: str = "") -> Iterator[tuple[str, Cell]]:
        """Walk over this Cell and all below, under each of their paths, with a dot at the end."""
        yield path, cast("Cell", self)
        for name, cell in self._cells.items():
            yield from cell._cells_by_path(f"{path}{name}.")

    @staticmethod
    def _plan(key: str, tensor: Tensor, value: Any, steps: list[Callable[[], Any]], errors: list[str]) -> None:
        """Note the assignment of a value to a tensor, or the reason why it does not fit."""
        if not isinstance(value, Tensor):
            errors.append(f"'{key}' is a {type(value).__name__}, expected a Tensor")
        elif value.shape != tensor.shape:
            errors.append(f"'{key}' has shape {value.shape}, expected {tensor.shape}")
        elif _rank(value) > _rank(tensor):
            errors.append(f"'{key}' is {value.dtype}, which {tensor.dtype} cannot hold")
        else:
            number = value._detached()
            steps.append(
                lambda: tensor._rebind(number if number.dtype is tensor.dtype else number.astype(tensor.dtype))
            )

    # Hooks of the state.

    def _hooks_for_state(self, when: str) -> list[tuple[int, Callable[..., Any]]]:
        hooks = self._state_hooks.get(when)
        return [] if hooks is None else hooks.items()

    def _add_state_hook(self, caller: str, when: str, hook: Any) -> HookHandle:
        return self.__dict__.setdefault("_state_hooks", {}).setdefault(when, Hooks()).add(caller, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Register ``hook(cell, prefix, keep_vars)``, called before the state of this Cell is read."""
        return self._add_state_hook("register_state_dict_pre_hook", "before_saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Register ``hook(cell, state_dict, prefix, {})``, called after the state is read; it may change the dict."""
        return self._add_state_hook("register_state_dict_post_hook", "after_saving", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Register a function to call before a state is loaded: it may change the state and the three lists.

        It is called as ``hook(cell, state_dict, prefix, {}, strict, missing_keys, unexpected_keys, errors)``.
        """
        return self._add_state_hook("register_load_state_dict_pre_hook", "before_loading", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Register ``hook(cell, incompatible_keys)``, called after a state is loaded."""
        return self._add_state_hook("register_load_state_dict_post_hook", "after_loading", hook)

    def __copy__(self) -> Self:
        twin = super().__copy__()
        if "_buffers" in twin.__dict__:
            twin.__dict__["_buffers"] = dict(self._buffers)
        if "_state_hooks" in twin.__dict__:
            twin.__dict__["_state_hooks"] = {
                when: Hooks().copied_from(hooks) for when, hooks in self._state_hooks.items()
            }
        return twin


def _rank(tensor: Tensor) -> int:
    """The width of the kind of a type: truth values, integers, floating and complex numbers."""
    return "bifc".index(tensor.dtype.numpy.kind.replace("u", "i"))
