"""Kinds of pytrees, each with two tensors in it, as the tests of pytrees make them.

This is no test module: recorded functions reach what is written here, and an assert that pytest has rewritten reaches
all of pytest.
"""

import collections
import dataclasses
import functools
import importlib.util
from typing import Any, NamedTuple

from support import f64

import dualgrad as dg


class Named(NamedTuple):
    a: Any
    b: Any


class NamedWithMore(NamedTuple):
    a: Any
    unit: str
    b: Any


class Pair(tuple):
    """A subclass of tuple that is made in its own way."""

    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))


class Sequence(list):
    """A subclass of list with an attribute."""

    label = ""

    def __init__(self, items, label):
        super().__init__(items)
        self.label = label


class Attributes(dict):
    """A dict whose items are its attributes."""

    def __init__(self, **items):
        super().__init__(**items)
        self.__dict__ = self


@dataclasses.dataclass
class Plain:
    a: Any
    b: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    b: Any


@dataclasses.dataclass
class WithMore:
    """Fields that hold no tensor, one of which is not given to the constructor, which must not run again."""

    unit: str
    a: Any
    scale: float
    b: Any
    made: list = dataclasses.field(init=False, default_factory=list, repr=False)
    later: Any = dataclasses.field(init=False, repr=False)  # never set
    shared: dataclasses.InitVar[Any] = None
    amount: int = dataclasses.field(default=0, kw_only=True)

    def __post_init__(self, shared):
        if not isinstance(self.a, dg.Tensor | int):
            raise TypeError("for tensors, and for axes")
        self.made.append("made")
        self.note = "an attribute that is no field"

    @functools.cached_property
    def product(self):
        """Computed once for each object."""
        return self.a * self.b


@dataclasses.dataclass
class Base:
    a: Any


@dataclasses.dataclass
class Derived(Base):
    b: Any = None


class Undecorated(Derived):
    """A class that inherits its fields."""


class AttributeLike(NamedTuple):
    name: str


class LikeAttrs:
    """What a class made by attrs looks like."""

    __attrs_attrs__ = (AttributeLike("a"), AttributeLike("_b"))
    __slots__ = ("_b", "a")

    def __init__(self, a, b):
        self.a, self._b = a, b


class Registered:
    def __init__(self, a, b, unit):
        self.a, self.b, self.unit = a, b, unit


dg.register_pytree(Registered, lambda x: ((x.b, x.a), x.unit), lambda unit, parts: Registered(parts[1], parts[0], unit))


@dataclasses.dataclass
class RegisteredRecord:
    """A dataclass that says itself what its children are: the sum of both is kept beside them."""

    a: Any
    b: Any
    total: Any


dg.register_pytree(
    RegisteredRecord, lambda x: ([x.a, x.b], None), lambda _, parts: RegisteredRecord(*parts, total=None)
)


def with_default(a, b):
    found = collections.defaultdict(list)
    found["a"], found["b"] = a, b
    return found


def reordered(a, b):
    found = collections.OrderedDict([("b", b), ("a", a)])
    found.move_to_end("b")
    return found


BY_NAME = (lambda x: x.a, lambda x: x.b)
BY_KEY = (lambda x: x["a"], lambda x: x["b"])
BY_PLACE = (lambda x: x[0], lambda x: x[1])

#: kind: (an object of two tensors, its first, its second)
KINDS = {
    "tuple": (lambda a, b: (a, b), *BY_PLACE),
    "list": (lambda a, b: [a, b], *BY_PLACE),
    "dict": (lambda a, b: {"a": a, "b": b}, *BY_KEY),
    "namedtuple": (Named, *BY_NAME),
    "namedtuple with more": (lambda a, b: NamedWithMore(a, "m", b), *BY_NAME),
    "OrderedDict": (reordered, *BY_KEY),
    "defaultdict": (with_default, *BY_KEY),
    "dict of attributes": (lambda a, b: Attributes(a=a, b=b), *BY_NAME),
    "subclass of list": (lambda a, b: Sequence([a, b], "label"), *BY_PLACE),
    "subclass of tuple": (Pair, *BY_PLACE),
    "dataclass": (Plain, *BY_NAME),
    "frozen dataclass with slots": (Frozen, *BY_NAME),
    "dataclass with more": (lambda a, b: WithMore("m", a, 2.5, b), *BY_NAME),
    "derived dataclass": (Derived, *BY_NAME),
    "subclass of a dataclass": (Undecorated, *BY_NAME),
    "like attrs": (LikeAttrs, lambda x: x.a, lambda x: x._b),
    "registered": (lambda a, b: Registered(a, b, "m"), *BY_NAME),
    "registered dataclass": (lambda a, b: RegisteredRecord(a, b, None), *BY_NAME),
    "dataclass of a dict of a tuple": (
        lambda a, b: Plain({"x": (a,)}, Registered([b], 3, "m")),
        lambda x: x.a["x"][0],
        lambda x: x.b.a[0],
    ),
}

if importlib.util.find_spec("attrs"):
    import attrs

    @attrs.define
    class Defined:
        a: Any
        _b: Any
        unit: str = attrs.field(init=False, default="m")

    @attrs.frozen(slots=False)
    class FrozenAttrs:
        a: Any
        b: Any

    KINDS["attrs"] = (Defined, lambda x: x.a, lambda x: x._b)
    KINDS["frozen attrs without slots"] = (FrozenAttrs, *BY_NAME)


class Kind:
    """One row of the table."""

    def __init__(self, name):
        self.make, self.first, self.second = KINDS[name]
        self.example = self.make(f64(0.0), f64(0.0))

    def parts(self, x):
        """The two tensors of an object, of which all else is as it was made."""
        if type(x) is not type(self.example) or hasattr(x, "later"):
            raise AssertionError(f"{x!r} instead of {self.example!r}")
        for name in ("unit", "scale", "made", "amount", "note", "label", "default_factory"):
            if getattr(x, name, None) != getattr(self.example, name, None):
                raise AssertionError(f"{name} of {x!r} instead of {self.example!r}")
        return [self.first(x), self.second(x)]
