"""Other values in place of those that a function reaches, and what is left alone."""

import dis
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from engine import TensorBase

from dualgrad import Parameter, Tensor, nn

Undo = Callable[[], None]


# What a Cell or a class keeps for itself.
RESERVED = frozenset("_params _param_tuples _cells _param_prefix _auto_prefix _flags".split())


OF_CLASSES = frozenset("__dict__ __weakref__ __module__ __doc__ __qualname__ __annotations__ __firstlineno__".split())


# What tests cannot do without while a place is changed.
SPARED = frozenset({"super", "isinstance", "__build_class__"})


class Illegal(Exception):
    """A change that Python or a Cell does not allow here."""


@dataclass(frozen=True)
class Change:
    """One way to change one place."""

    place: str
    how: str
    make: Callable[[], Undo]

    def __call__(self) -> Undo:
        try:
            return self.make()
        except (TypeError, AttributeError, ValueError, KeyError) as error:
            raise Illegal(str(error)) from error

    def __str__(self) -> str:
        return f"{self.place}: {self.how}"


def trusted(module: Any) -> bool:
    """Whether a module is dualgrad's, NumPy's or Python's own."""
    package = module.partition(".")[0] if isinstance(module, str) else ""
    return package in ("dualgrad", "numpy") or package in sys.stdlib_module_names or package.startswith("_cython")


def module_of(f: types.FunctionType) -> Any:
    """The module whose globals a function reads; `__module__` is what a decorator has copied."""
    return f.__globals__.get("__name__")


def doubled(result: Any) -> Any:
    """Twice as much of what a function returns; what it returns may be a function in turn."""
    if isinstance(result, bool | str | type) or result is None:
        return result
    if isinstance(result, TensorBase | int | float | np.ndarray):
        return result * 2
    if type(result) in (tuple, list):
        return type(result)(doubled(part) for part in result)
    return doubling(result) if callable(result) and not isinstance(result, nn.Cell) else result


def doubling(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function in place of another: its results are doubled."""

    def other(*args: Any, **kwargs: Any) -> Any:
        return doubled(f(*args, **kwargs))

    return other


class Doubling(nn.Cell):
    """The same for a Cell."""

    def __init__(self, cell: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.cell = cell

    def construct(self, *args: Any) -> Any:
        return doubled(self.cell(*args))


def copy_of_module(module: types.ModuleType, names: set[str]) -> types.ModuleType:
    """A module in which some of the functions give twice as much."""
    other = types.ModuleType(module.__name__)
    other.__dict__.update(vars(module))
    for name in names & vars(module).keys():
        if callable(getattr(module, name)):
            setattr(other, name, doubling(getattr(module, name)))
    return other


def instead(value: Any, names: set[str] = frozenset()) -> Iterator[Any]:
    """What may stand in place of a value; nothing for texts, types of numbers and other names of things."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float | complex):
        yield value * 2 if value else type(value)(1)
    elif isinstance(value, Parameter):
        yield Parameter(more(value), name=value.name, requires_grad=value.requires_grad)
    elif isinstance(value, TensorBase):
        yield Tensor(more(value))
    elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "bif":
        yield ~value if value.dtype.kind == "b" else value * 2 + 1
    elif isinstance(value, nn.Cell):
        yield Doubling(value)
    elif isinstance(value, types.ModuleType):
        yield copy_of_module(value, names)
    elif isinstance(value, staticmethod | classmethod):
        yield type(value)(doubling(value.__func__))
    elif isinstance(value, property):
        yield property(doubling(value.fget), value.fset)
    elif isinstance(value, tuple | list):
        for k, item in enumerate(value):
            for other in instead(item):
                yield type(value)([*value[:k], other, *value[k + 1 :]]) if type(value) in (tuple, list) else value
                break
    elif isinstance(value, dict):
        for key, item in value.items():
            for other in instead(item):
                yield value | {key: other}
                break
    elif callable(value):
        yield doubling(value)


def more(tensor: TensorBase) -> np.ndarray:
    """Other numbers; whole ones stay small, since they may be places."""
    a = tensor.asnumpy()
    return 2 * a if a.dtype.kind == "f" else 1 - np.minimum(a, 1) if a.dtype.kind == "i" else ~a


def chains_of(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    """Names that code reads from outside, with the attributes that follow at once; those of code inside too."""
    chain: tuple[str, ...] = ()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain = (*chain, step.argval)
            continue
        if chain:
            yield chain
        chain = (step.argval,) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else ()
    if chain:
        yield chain
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from chains_of(inner)


def attributes_of(code: types.CodeType) -> set[str]:
    """All names in code, attributes among them."""
    found = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= attributes_of(inner)
    return found


def variables_of(f: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function closes over."""
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        if name != "__class__" and cell != types.CellType():
            yield name, cell.cell_contents
