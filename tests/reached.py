"""All places that a function can reach, and ways to change each: a walk in plain Python, apart from the engine's.

Design
------
The walk goes by what the interpreter says of objects: names in bytecode, closures, defaults, `__dict__`, slots, the
bases of classes, the entries of containers, and the referents of compiled objects. It enters everything that is not
dualgrad's, NumPy's or Python's own; of their modules it has the entries that code names.

A `Change` is one way to change one place. It is made by calling it, which gives the function that takes it back.
"""

import builtins
import collections
import functools
import gc
import inspect
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
from engine import TensorBase
from reached_values import (
    OF_CLASSES,
    RESERVED,
    SPARED,
    Change,
    Undo,
    attributes_of,
    chains_of,
    doubling,
    instead,
    module_of,
    more,
    trusted,
    variables_of,
)

from dualgrad import Parameter, Tensor, nn

# ------------------------------------------------------------------------------------------------- values in place


# --------------------------------------------------------------------------------------------------- names of code


# ------------------------------------------------------------------------------------------------------- the walk


class Walk:
    """What can be reached from a function: objects, with words for where they were met, and names that code uses."""

    def __init__(self, function: Any) -> None:
        self.met: dict[int, tuple[Any, str]] = {}
        self.names: set[str] = set()
        self.globals: dict[tuple[int, str], tuple[dict, str, str, set[str]]] = {}
        self.work: list[tuple[Any, str]] = []
        self.meet(function, "")
        while self.work:
            self.into(*self.work.pop())

    @property
    def tensors(self) -> list[TensorBase]:
        return [x for x, _ in self.met.values() if isinstance(x, TensorBase)]

    def meet(self, x: Any, where: str) -> None:
        if isinstance(x, type(None) | bool | int | float | complex | str | bytes | types.CodeType | np.dtype):
            return
        if id(x) not in self.met:
            self.met[id(x)] = (x, where)
            self.work.append((x, where))

    def into(self, x: Any, where: str) -> None:
        if isinstance(x, types.FunctionType):
            self.function(x, where or x.__name__)
        elif isinstance(x, TensorBase | np.ndarray | types.ModuleType | np.ufunc):
            pass
        elif isinstance(x, type):
            if not trusted(x.__module__):
                for name, value in vars(x).items():
                    if name not in OF_CLASSES:
                        self.meet(value, f"{x.__name__}.{name}")
                for base in x.__mro__[1:]:
                    self.meet(base, base.__name__)
        elif isinstance(x, types.MethodType):
            self.meet(x.__self__, where)
            self.meet(x.__func__, where)
        elif isinstance(x, list | tuple | set | frozenset | collections.deque):
            for k, item in enumerate(x):
                self.meet(item, f"{where}[{k}]")
        elif isinstance(x, dict):
            for key, item in x.items():
                self.meet(item, f"{where}[{key!r}]")
        else:
            self.instance(x, where or type(x).__name__)

    def function(self, f: types.FunctionType, where: str) -> None:
        """Of trusted functions what they close over: they may be wrapped around others."""
        theirs = trusted(module_of(f))
        for name, value in variables_of(f):
            if not theirs or callable(value) or isinstance(value, tuple) or not trusted(type(value).__module__):
                self.meet(value, f"{where}.{name}")
        if theirs:
            return
        for value in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values(), *vars(f).values()):
            self.meet(value, where)
        self.names |= attributes_of(f.__code__)
        for name, *attributes in chains_of(f.__code__):
            self.name(f.__globals__, name, attributes, name)

    def name(self, around: dict, name: str, attributes: list[str], where: str) -> None:
        """An entry of a module, and what code names of it if it is a module in turn."""
        entry = self.globals.setdefault((id(around), name), (around, name, where, set()))
        value = around.get(name)
        if isinstance(value, types.ModuleType) and attributes:
            entry[3].add(attributes[0])
            self.name(vars(value), attributes[0], attributes[1:], f"{where}.{attributes[0]}")
        elif value is not None:
            self.meet(value, where)

    def instance(self, x: Any, where: str) -> None:
        """Another object: of compiled ones, what the interpreter says that they hold."""
        self.meet(type(x), type(x).__name__)
        for name, value in own_attributes(x).items():
            self.meet(value, f"{where}.{name}")
        if isinstance(x, nn.Cell):
            return
        wrapped = getattr(x, "__wrapped__", None)
        if wrapped is not None:
            self.meet(wrapped, where)
        elif type(x).__module__ != "dualgrad._engine.trace.cache":
            for held in gc.get_referents(x):
                if isinstance(held, types.FunctionType | types.MethodType | nn.Cell | np.ndarray | TensorBase | tuple):
                    self.meet(held, where)


def slots_of(x: Any) -> list[str]:
    return [name for base in type(x).__mro__ for name, v in vars(base).items() if inspect.ismemberdescriptor(v)]


def own_attributes(x: Any) -> dict[str, Any]:
    """What an object keeps under names: in its dict, and in slots that are no secret."""
    found = dict(getattr(x, "__dict__", {}))
    found |= {name: getattr(x, name) for name in slots_of(x) if not name.startswith("_") and hasattr(x, name)}
    if trusted(type(x).__module__):
        found = {name: value for name, value in found.items() if not name.startswith("_")}
    return {name: value for name, value in found.items() if name not in RESERVED}


# ---------------------------------------------------------------------------------------------------- the changes


def changes(walk: Walk) -> Iterator[Change]:
    """Every way to change every place of a walk."""
    for around, name, where, attributes in walk.globals.values():
        yield from of_global(around, name, where, attributes)
    for x, where in walk.met.values():
        if isinstance(x, types.FunctionType):
            if not trusted(module_of(x)):
                yield from of_function(x, where or x.__name__)
        elif isinstance(x, Parameter):
            yield from of_parameter(x, where)
        elif isinstance(x, TensorBase):
            yield Change(where, "other numbers", lambda x=x: rebound(x))
        elif isinstance(x, type):
            if not trusted(x.__module__):
                yield from of_class(x, walk.names)
        elif isinstance(x, list | collections.deque):
            yield from of_list(x, where)
        elif isinstance(x, dict):
            yield from of_dict(x, where)
        elif isinstance(x, set):
            yield from of_set(x, where)
        elif isinstance(x, np.ndarray):
            yield from of_array(x, where)
        elif not isinstance(x, tuple | types.MethodType | types.ModuleType | np.ufunc):
            yield from of_instance(x, where or type(x).__name__, walk.names)


def rebound(tensor: TensorBase) -> Undo:
    former = tensor._detached()
    tensor._rebind(Tensor(more(tensor)))
    return lambda: tensor._rebind(former)


def entry(d: dict, key: Any, value: Any) -> Undo:
    """Set an entry of a dict, or delete it for `...`; taking it back keeps the order of the others."""
    former = dict(d)
    if value is ...:
        del d[key]
    else:
        d[key] = value

    def undo() -> None:
        d.clear()
        d.update(former)

    def undo_one() -> None:
        d.pop(key, None)
        d.update({key: former[key]} if key in former else {})

    return undo_one if "__builtins__" in d or "__spec__" in d else undo


def of_global(around: dict, name: str, where: str, attributes: set[str]) -> Iterator[Change]:
    if name in SPARED:
        return
    if name not in around:
        value = getattr(builtins, name, None)
        for other in instead(value):
            yield Change(where, "a global in front of the builtin", lambda other=other: entry(around, name, other))
        return
    for other in instead(around[name], attributes):
        yield Change(where, "another global", lambda other=other: entry(around, name, other))
    yield Change(where, "no global", lambda: entry(around, name, ...))


def attribute(x: Any, name: str, value: Any) -> Undo:
    """Set an attribute, or delete it for `...`."""
    undo = restoring(x, name)
    try:
        delattr(x, name) if value is ... else setattr(x, name, value)
    except BaseException:
        undo()
        raise
    return undo


def restoring(x: Any, name: str) -> Undo:
    """What brings an attribute back; of a Cell also its registries."""
    if isinstance(x, nn.Cell):
        former, inside = dict(vars(x)), {r: dict(vars(x)[r]) for r in ("_params", "_param_tuples", "_cells")}

        def undo_cell() -> None:
            vars(x).clear()
            vars(x).update(former)
            for registry, members in inside.items():
                vars(x)[registry].clear()
                vars(x)[registry].update(members)

        return undo_cell
    around = getattr(x, "__dict__", {})
    if isinstance(getattr(type(x), name, None), property):
        value = getattr(x, name)
        return lambda: setattr(x, name, value)
    if name not in around and name not in (slots_of(x) if not isinstance(x, type) else ()):
        return lambda: delattr(x, name) if name in getattr(x, "__dict__", {}) else None
    value = around[name] if name in around else getattr(x, name)
    return lambda: setattr(x, name, value)


def of_instance(x: Any, where: str, names: set[str]) -> Iterator[Change]:
    own = own_attributes(x)
    for name, value in own.items():
        for other in instead(value):
            yield Change(f"{where}.{name}", "another attribute", lambda n=name, o=other: attribute(x, n, o))
        yield Change(f"{where}.{name}", "no attribute", lambda n=name: attribute(x, n, ...))
    if trusted(type(x).__module__):
        return
    for name in sorted(names - own.keys()):
        if hasattr(type(x), name) and hasattr(x, name) and not inspect.isdatadescriptor(getattr(type(x), name)):
            for other in instead(getattr(x, name)):
                yield Change(f"{where}.{name}", "an attribute in front", lambda n=name, o=other: attribute(x, n, o))
    yield Change(where, "another class", lambda: reclassed(x))


def derived(t: type) -> type:
    """A class whose methods give twice as much."""
    methods = {n: doubling(f) for n, f in vars(t).items() if isinstance(f, types.FunctionType) and n[:2] != "__"}
    if "__call__" in vars(t) and not issubclass(t, nn.Cell):
        methods["__call__"] = doubling(t.__call__)
    return type(t)(t.__name__, (t,), methods)


def reclassed(x: Any) -> Undo:
    former = type(x)
    x.__class__ = derived(former)

    def undo() -> None:
        x.__class__ = former

    return undo


def rebased(t: type) -> Undo:
    former = t.__bases__
    t.__bases__ = (derived(former[0]), *former[1:])

    def undo() -> None:
        t.__bases__ = former

    return undo


def of_class(t: type, names: set[str]) -> Iterator[Change]:
    own = {name: value for name, value in vars(t).items() if name not in OF_CLASSES}
    for name, value in own.items():
        for other in instead(value):
            yield Change(f"{t.__name__}.{name}", "another of the class", lambda n=name, o=other: attribute(t, n, o))
        yield Change(f"{t.__name__}.{name}", "none of the class", lambda n=name: attribute(t, n, ...))
    for name in sorted((names | {"__call__"}) - own.keys()):
        if inspect.isfunction(getattr(t, name, None)):
            other = doubling(getattr(t, name))
            yield Change(f"{t.__name__}.{name}", "in front of a base", lambda n=name, o=other: attribute(t, n, o))
    yield Change(t.__name__, "other bases", lambda: rebased(t))


def more_constants(code: types.CodeType) -> types.CodeType:
    """Code with other numbers in it."""
    constants = []
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            value = more_constants(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = value * 2
        constants.append(value)
    return code.replace(co_consts=tuple(constants))


def of_function(f: types.FunctionType, where: str) -> Iterator[Change]:
    yield Change(where, "other constants", lambda: attribute_of_function(f, "__code__", more_constants(f.__code__)))
    for other in instead(f.__defaults__ or ()):
        yield Change(where, "another default", lambda o=other: attribute_of_function(f, "__defaults__", o))
    for other in instead(f.__kwdefaults__ or {}):
        yield Change(where, "another default", lambda o=other: attribute_of_function(f, "__kwdefaults__", o))
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    for name, value in variables_of(f):
        for other in instead(value):
            yield Change(f"{where}.{name}", "another variable", lambda n=name, o=other: variable(cells[n], o))
        yield Change(f"{where}.{name}", "no variable", lambda n=name: variable(cells[n], ...))


def attribute_of_function(f: types.FunctionType, name: str, value: Any) -> Undo:
    former = getattr(f, name)
    setattr(f, name, value)
    return lambda: setattr(f, name, former)


def variable(cell: types.CellType, value: Any) -> Undo:
    former = cell.cell_contents
    if value is ...:
        del cell.cell_contents
    else:
        cell.cell_contents = value
    return lambda: setattr(cell, "cell_contents", former)


def of_parameter(p: Parameter, where: str) -> Iterator[Change]:
    def value() -> Undo:
        former = p._detached()
        p.set_data(Tensor(more(p)))
        return lambda: p._rebind(former)

    yield Change(where, "another value", value)
    yield Change(where, "other requires_grad", lambda: attribute(p, "requires_grad", not p.requires_grad))
    yield Change(where, "another name", lambda: attribute(p, "name", p.name + "_other"))


def refilled(x: Any, items: Any) -> Undo:
    """Another content of a list, deque or set."""
    former = list(x)
    fill = x.update if isinstance(x, set) else x.extend
    x.clear()
    fill(items)

    def undo() -> None:
        x.clear()
        fill(former)

    return undo


def of_list(x: Any, where: str) -> Iterator[Change]:
    items = list(x)
    for k, item in enumerate(items):
        for other in instead(item):
            new = [*items[:k], other, *items[k + 1 :]]
            yield Change(f"{where}[{k}]", "another entry", functools.partial(refilled, x, new))
    if items:
        yield Change(where, "an entry less", lambda: refilled(x, items[:-1]))
        yield Change(where, "an entry more", lambda: refilled(x, [*items, items[-1]]))
        yield Change(where, "another order", lambda: refilled(x, items[::-1]))


def of_dict(d: dict, where: str) -> Iterator[Change]:
    for key, item in list(d.items()):
        for other in instead(item):
            yield Change(f"{where}[{key!r}]", "another entry", lambda k=key, o=other: entry(d, k, o))
        yield Change(f"{where}[{key!r}]", "an entry less", lambda k=key: entry(d, k, ...))
        yield Change(where, "an entry more", lambda i=item: entry(d, "another key", i))


def of_set(x: set, where: str) -> Iterator[Change]:
    items = list(x)
    yield Change(where, "an entry less", lambda: refilled(x, items[:-1]))
    for other in instead(items[0] if items else 1):
        yield Change(where, "an entry more", lambda o=other: refilled(x, [*items, o]))


def of_array(a: np.ndarray, where: str) -> Iterator[Change]:
    def element(k: int) -> Undo:
        former = a.copy()
        a.flat[k] = next(instead(a.flat[k]))
        return lambda: np.copyto(a, former)

    if a.size and a.dtype.kind in "bif" and a.flags.writeable:
        yield Change(where, "another first number", lambda: element(0))
        yield Change(where, "another last number", lambda: element(a.size - 1))
