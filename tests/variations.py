"""Functions with a factor that comes from all sorts of places, each with what changes the factor."""

import functools
import types

import numpy as np
from support import f64

from dualgrad import Parameter, Tensor, nn, ops

SCALE = 1.0


ENTRIES = [1.0]


class Plain:
    """An object that is no Cell."""

    of_class = 1.0

    def __init__(self):
        self.scale = 1.0
        self.inner = types.SimpleNamespace(scale=1.0)

    def method(self, x):
        return ops.sum(x * self.scale)

    def __call__(self, x):
        return ops.sum(x * self.scale)


class Slotted:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 1.0

    def method(self, x):
        return ops.sum(x * self.scale)


class Inner(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = 1.0

    def construct(self, x):
        return x * self.scale


class Outer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.entries = [1.0]
        self.plain = Plain()
        self.array = np.ones(3)
        self._hidden = {"scale": 1.0}

    def construct(self, x):
        factor = self.entries[0] * self.plain.scale * self._hidden["scale"]
        return ops.sum(self.inner(x) * factor * Tensor(self.array))


def by_global(x):
    return ops.sum(x * SCALE)


def by_global_entry(x):
    return ops.sum(x * ENTRIES[0])


def helper(x):
    return x * SCALE


def by_helper(x):
    return ops.sum(helper(x))


def set_global(value):
    globals()["SCALE"] = value


def put_into(holder, key):
    return lambda value: holder.__setitem__(key, value)


def attribute(holder, name="scale"):
    return lambda value: setattr(holder, name, value)


def closure():
    scale = 1.0

    def change(value):
        nonlocal scale
        scale = value

    inner = lambda x: x * scale
    return lambda x: ops.sum(inner(x)), change


def variations():
    """Name, function of x, and what changes the factor that it multiplies x with."""
    for form in ("itself", "doubled", "as a tensor"):
        array = np.ones(3)
        used = {"itself": lambda a: a, "doubled": lambda a: a * 2, "as a tensor": Tensor}[form]
        yield f"array {form}", (lambda x, a=array, used=used: ops.sum(x * used(a))), put_into(array, 0)
    large = np.ones(300_000)
    yield "large array", (lambda x: ops.sum(x * large[:3])), lambda value: large.fill(value)
    entries, table, tensors, parameters = [1.0], {"a": 1.0}, [f64([1.0] * 3)], [Parameter(np.ones(3), name="p")]
    yield "list", (lambda x: ops.sum(x * entries[0])), put_into(entries, 0)
    yield "longer list", (lambda x: ops.sum(x * sum(entries))), entries.append
    yield "dict", (lambda x: ops.sum(x * table["a"])), put_into(table, "a")
    yield "tensor of a list", (lambda x: ops.sum(x * tensors[0])), lambda v: tensors.__setitem__(0, f64([v] * 3))
    yield (
        "parameter of a list",
        (lambda x: ops.sum(x * parameters[0])),
        lambda v: parameters.__setitem__(0, Parameter(np.full(3, v), name="p")),
    )
    members = {1.0}
    yield "set", (lambda x: ops.sum(x * sum(members))), members.add
    yield "global", by_global, set_global
    yield "global of a helper", by_helper, set_global
    yield "entry of a global", by_global_entry, put_into(ENTRIES, 0)
    yield "variable of a function inside", *closure()

    def with_default(x, entries=[1.0]):  # noqa: B006
        return ops.sum(x * entries[0])

    def with_keyword(x, *, scale=1.0):
        return ops.sum(x * scale)

    yield "entry of a default", with_default, put_into(with_default.__defaults__[0], 0)
    yield "default", with_keyword, lambda value: setattr(with_keyword, "__kwdefaults__", {"scale": value})
    plain, slotted = Plain(), Slotted()
    yield "attribute", (lambda x: ops.sum(x * plain.scale)), attribute(plain)
    yield "attribute of an attribute", (lambda x: ops.sum(x * plain.inner.scale)), attribute(plain.inner)
    yield "attribute of a class", (lambda x: ops.sum(x * plain.of_class)), attribute(Plain, "of_class")
    yield "method", plain.method, attribute(plain)
    yield "object that is called", plain, attribute(plain)
    yield "method with slots", slotted.method, attribute(slotted)
    module = types.ModuleType("settings")
    module.scale = 1.0
    yield "module", (lambda x: ops.sum(x * module.scale)), attribute(module)
    bound = [1.0]
    yield "partial", functools.partial(lambda entries, x: ops.sum(x * entries[0]), bound), put_into(bound, 0)
    for how, around in (("", lambda cell: cell), (" in a closure", lambda cell: lambda x: cell(x))):
        cell = Outer()
        f = around(cell)
        yield f"inner cell{how}", f, attribute(cell.inner)
        yield f"list of a cell{how}", f, put_into(cell.entries, 0)
        yield f"object of a cell{how}", f, attribute(cell.plain)
        yield f"array of a cell{how}", f, put_into(cell.array, 0)
        yield f"private dict of a cell{how}", f, put_into(cell._hidden, "scale")
        yield f"cell replaced{how}", f, lambda _, cell=cell: setattr(cell, "inner", nn.ReLU())
