"""A recorded function that reads numbers from objects of every sort that guards follow."""

import abc
import collections
import contextlib
import enum
import functools
import math
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

FACTOR = 1.25
TABLE = {"a": 1.5, "nested": {"b": [0.5, (1.75, {"c": 2.25})]}}
ENTRIES = [1.5, 0.75]
MEMBERS = {1.25, 0.5}
QUEUE = collections.deque([1.5, 2.5], maxlen=3)
COUNTS = collections.defaultdict(lambda: 1.5, a=0.75)
ORDERED = collections.OrderedDict(a=1.25, b=0.5)
CHAIN = collections.ChainMap({"a": 1.25}, {"b": 1.5})
ARRAY = np.array([[1.0, 2.0], [3.0, 4.0]])
MASK = np.array([True, False])
SETTINGS = types.SimpleNamespace(rate=1.25, inner=types.SimpleNamespace(rate=0.75))
CAPTURED = Tensor(np.array([0.5, 1.5]))
MODULE = types.ModuleType("settings_of_a_module")
MODULE.rate = 1.75


class Colour(enum.Enum):
    RED = 1.25
    BLUE = 0.75


class Pair(NamedTuple):
    first: float
    second: float = 1.25


@dataclass
class Record:
    rate: float = 1.5
    entries: list = field(default_factory=lambda: [1.25])

    def product(self) -> float:
        return self.rate * self.entries[0]


@dataclass(frozen=True)
class Frozen:
    rate: float = 0.75


class Meta(type):
    rate = 1.25

    def doubled(cls) -> float:
        return cls.of_class * 2


class Base(metaclass=Meta):
    of_class: ClassVar[float] = 0.75
    shared: ClassVar[list] = [1.5]

    def scaled(self, x: Any) -> Any:
        return x * self.of_class

    @staticmethod
    def fixed(x: Any) -> Any:
        return x * 1.25

    @classmethod
    def of(cls, x: Any) -> Any:
        return x * cls.shared[0]


class Slotted(Base):
    __slots__ = ("rate",)

    def __init__(self) -> None:
        self.rate = 1.5

    @property
    def twice(self) -> float:
        return self.rate * 2

    @functools.cached_property
    def cached(self) -> float:
        return self.rate + 1

    def scaled(self, x: Any) -> Any:
        return super().scaled(x) + self.rate

    def __call__(self, x: Any) -> Any:
        return x + self.rate

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[float]:
        return iter((self.rate, 0.5))

    def __contains__(self, x: float) -> bool:
        return x > self.rate

    def __getitem__(self, k: int) -> float:
        return (0.0, self.rate, 2 * self.rate)[k]  # it ends: a loop comes here where there is no __iter__

    def __mul__(self, x: Any) -> Any:
        return x * self.rate

    def __enter__(self) -> float:
        return self.rate

    def __exit__(self, *args: Any) -> None:
        return None

    def __bool__(self) -> bool:
        return self.rate > 1


class Described:
    """A descriptor."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __get__(self, x: Any, kind: type) -> float:
        return self.rate


class Holder:
    described = Described(1.25)

    def __getattr__(self, name: str) -> float:
        if name == "missing":
            return 1.5
        raise AttributeError(name)


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...


class Square(Shape):
    side = 1.25

    def area(self) -> float:
        return self.side**2


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.rate = 1.5
        self.w = Parameter(np.array([0.5, 0.25]), name="w")
        self.act = nn.Tanh()
        self.blocks = nn.CellList([nn.Sigmoid(), nn.LeakyReLU(0.1)])
        self._hidden = {"k": [0.5]}

    def construct(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.act(x) * self.w * self.rate + self._hidden["k"][0]


def logged(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapper(*args: Any, rate: float = 1.25, **kwargs: Any) -> Any:
        return f(*args, **kwargs) * rate

    return wrapper


@logged
def decorated(x: Any, /, a: float = 0.5, *, b: float = 1.5) -> Any:
    return x * a + b


@contextlib.contextmanager
def raised(x: float) -> Iterator[float]:
    yield x * FACTOR


def numbers() -> Iterator[float]:
    yield from ENTRIES
    yield FACTOR


def power(x: Any, by: float) -> Any:
    return x * by


def matched(x: Any) -> Any:
    match x:
        case Pair(first=a, second=b):
            return a * b
        case Record(rate=r):
            return r
        case {"a": a}:
            return a
    return 1.0


def functions() -> dict[str, Callable[[Tensor], Any]]:
    """Functions of one vector of two, by what they read."""
    slotted, holder, record, frozen, square, net = Slotted(), Holder(), Record(), Frozen(), Square(), Net()
    pair, half = Pair(1.5), functools.partial(power, by=0.5)
    counter, keys = [1.25], sorted(TABLE)
    methods = {"scaled": slotted.scaled, "of": Base.of}

    def recursive(x: Any, depth: int) -> Any:
        return x * counter[0] if depth == 0 else recursive(x, depth - 1) * FACTOR

    return {
        "globals": lambda x: x * FACTOR * TABLE["a"] * TABLE["nested"]["b"][1][1]["c"] + len(keys),
        "containers": lambda x: x * sum(ENTRIES) + sum(sorted(MEMBERS)) + QUEUE[0] + COUNTS["a"] + ORDERED["b"],
        "missing key": lambda x: x * COUNTS.get("z", 1.5) + (TABLE.get("none") or 1.0),
        "chain of dicts": lambda x: x * CHAIN["a"] + CHAIN["b"],
        "loops": lambda x: functools.reduce(lambda a, b: a * b, [e for e in ENTRIES if e > 0.6], x),
        "items": lambda x: x * sum(v for k, v in ORDERED.items() if k != "z") * max(ORDERED.values()),
        "arrays": lambda x: x * ARRAY[0, 1] + Tensor(ARRAY) @ x + ARRAY.T.sum() + ARRAY[:, 1][MASK][0],
        "namespaces": lambda x: x * SETTINGS.rate + SETTINGS.inner.rate + MODULE.rate,
        "tensors": lambda x: x * CAPTURED + net.w,
        "enumerations": lambda x: x * Colour.RED.value + Colour["BLUE"].value + len(Colour),
        "named tuples": lambda x: x * pair.first + pair[1],
        "records": lambda x: x * record.product() + frozen.rate + record.entries[0],
        "class": lambda x: Base.of(x) + slotted.fixed(x) + Base.rate + Base.doubled() + Slotted.of_class,
        "object": lambda x: slotted.scaled(x) + slotted(x) * slotted.twice + slotted.cached,
        "special methods": lambda x: x * len(slotted) + sum(slotted) + (2.0 in slotted) + slotted[2] + slotted * x,
        "truth": lambda x: x if slotted else -x,
        "with": lambda x: with_blocks(x, slotted),
        "descriptors": lambda x: x * holder.described + holder.missing,
        "abstract": lambda x: x * square.area() + isinstance(square, Shape),
        "functions": lambda x: decorated(x) + decorated(x, 0.75, rate=2.0) + half(x) + recursive(x, 2),
        "bound methods": lambda x: methods["scaled"](x) + methods["of"](x),
        "generators": lambda x: x * sum(numbers()),
        "matching": lambda x: x * matched(pair) + matched(record) + matched(TABLE),
        "mapped": lambda x: sum(map(half, (x, x * FACTOR, slotted(x)))),
        "library": lambda x: x * math.sqrt(FACTOR) + np.linalg.norm(ARRAY) + np.float64(FACTOR),
        "network": lambda x: net(x),
        "gradient of a network": lambda x: dg.grad(lambda y: ops.sum(net(y) * FACTOR))(x),
        "try": lambda x: tried(x, holder),
        "global function": decorated,
        "method": slotted.scaled,
        "object that is called": slotted,
        "partial function": half,
    }


def with_blocks(x: Any, manager: Any) -> Any:
    with manager as a, raised(2.0) as b:
        return x * a * b


def tried(x: Any, holder: Any) -> Any:
    try:
        return x * holder.nothing
    except AttributeError:
        return x * FACTOR


FUNCTIONS = functions()
POINT = (Tensor(np.array([0.3, -0.7])),)
