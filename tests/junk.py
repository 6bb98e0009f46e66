"""Arguments that nobody should pass, and some that fit: what the fuzzer calls public names with.

Each entry of a table makes a new object, so that a call which changes its argument spoils no other call.
"""

import itertools
import math

import numpy as np

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops

# ----------------------------------------------------------------------------- objects that raise, lie or go on


class Mischief(Exception):
    """What the objects below raise: an error that is theirs, not the library's."""


class Bare:
    """Has nothing but what every object has."""


def _raises(*_, **__):
    raise Mischief("an object that raises")


class RaisesAlways:
    """Every question about it is answered by an error."""

    __hash__ = __bool__ = __len__ = __iter__ = __index__ = __int__ = __float__ = __complex__ = _raises
    __eq__ = __lt__ = __getitem__ = __array__ = __call__ = __add__ = __radd__ = __mul__ = __rmul__ = _raises
    __fspath__ = __contains__ = __str__ = __format__ = __enter__ = __exit__ = _raises


class RaisesOnAttributes:
    def __getattr__(self, name):
        raise Mischief(name)


class NegativeLength:
    def __len__(self):
        return -1

    def __getitem__(self, index):
        return 1.0


class WrongLength:
    """Says that it has three items, and has five."""

    def __len__(self):
        return 3

    def __iter__(self):
        return iter((1, 2, 3, 4, 5))

    def __getitem__(self, index):
        return index


class EndlessItems:
    """Iterates for longer than anyone should listen."""

    def __iter__(self):
        return iter(range(100_000))


class IndexRaises:
    def __index__(self):
        raise Mischief("__index__")


class IndexLies:
    def __index__(self):
        return 2**70


class IndexIsWrong:
    def __index__(self):
        return "one"


class IndexIsThree:
    def __index__(self):
        return 3


class FloatLies:
    def __float__(self):
        return math.nan

    def __complex__(self):
        return "no"


class ArrayLies:
    def __array__(self, dtype=None, copy=None):
        return "no array"


class ArrayOfObjects:
    def __array__(self, dtype=None, copy=None):
        return np.array([None, Bare()], dtype=object)


class ArrayInterfaceLies:
    __array_interface__ = {"shape": (-1,), "typestr": "<f8", "data": (0, False), "version": 3}  # noqa: RUF012


class ArrayThatFits:
    def __array__(self, dtype=None, copy=None):
        return np.ones(3)


class BoolRaises:
    def __bool__(self):
        raise Mischief("__bool__")


class ComparesToArrays:
    """Equal to nothing and everything, as arrays are."""

    def __eq__(self, other):
        return np.array([True, False])

    __hash__ = None


class Unhashable(dict):
    pass


class UnwillingInt(int):
    def __eq__(self, other):
        raise Mischief("__eq__")

    def __hash__(self):
        raise Mischief("__hash__")

    def __lt__(self, other):
        raise Mischief("__lt__")


class OtherTuple(tuple):
    __slots__ = ()

    def __new__(cls, one, two):
        return super().__new__(cls, (one, two))


class OddCell(nn.Cell):
    def construct(self, *inputs):
        return inputs[0] if inputs else None


class CellWithoutInit(nn.Cell):
    def __init__(self):
        """Forget the base."""

    def construct(self, x):
        return x


class SubTensor(Tensor):
    pass


def _self_referential_list():
    items = [1.0]
    items.append(items)
    return items


def _self_referential_dict():
    items = {"one": 1.0}
    items["self"] = items
    return items


def _deep_list():
    items = 1.0
    for _ in range(3000):
        items = [items]
    return items


def _generator():
    yield 1.0
    yield Tensor([1.0, 2.0])


def _raising_generator():
    yield 1.0
    raise Mischief("generator")


# ------------------------------------------------------------------------------------------------- the tables

INTEGERS = [0, 1, 2, 3, -1, -2, 7, 33, 65, 128, 255, 256, 1000, 10**6, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1]
INTEGERS += [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**30, -(10**30)]
FLOATS = [0.0, -0.0, 0.5, 1.0, -1.5, 1e-310, 1e308, -1e308, math.nan, math.inf, -math.inf, 1e18]
COMPLEX = [0j, 1 + 2j, complex(math.nan, math.inf)]
TEXTS = ["", "a", "mean", "sum", "none", "valid", "same", "float32", "ij,jk->ik", "...", "\x00", "é" * 40, "x" * 5000]
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 3), (0, 3), (3, 0), (2, 1, 3), (1, 2, 4, 4), (2, 0, 2), (5,), (1,) * 9]

FUNCTIONS = [
    lambda *x: x[0] if x else None,
    lambda x: x * x,
    lambda x: ops.sin(x).sum(),
    lambda x, y: x * y,
    lambda *x: None,
    lambda *x: x,
    lambda *x: "text",
    lambda *x: [x, {"a": x}],
    lambda: 1.0,
    lambda x: x > 0,
    lambda x, y=2.0, *, z=1.0: x * y * z,
    lambda *x: 3,
    lambda *x: np.ones(2),
    lambda *x: iter(x),
    _raises,
    ops.sin,
    ops.add,
    np.sin,
    len,
    int,
]


def array(rng):
    """Make an array of any type, shape and layout."""
    dtype, shape = rng.choice(DTYPES), rng.choice(SHAPES)
    size = math.prod(shape)
    with np.errstate(all="ignore"):
        kind = rng.randrange(4)
        values = np.arange(size) if kind else np.array([rng.choice(INTEGERS[:20] + FLOATS) for _ in range(size)])
        found = (values if kind != 2 else -values).astype(dtype).reshape(shape)
    layout = rng.randrange(8)
    if layout == 0:
        return np.asfortranarray(found)
    if layout == 1 and shape:
        return found[..., ::-1]
    if layout == 2 and shape:
        return np.repeat(found, 2, axis=0)[::2]
    if layout == 3:
        return found.astype(found.dtype.newbyteorder(">"))
    return found


ODD_ARRAYS = [
    lambda: np.array([None, 1, "a"], dtype=object),
    lambda: np.array(None, dtype=object),
    lambda: np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    lambda: np.array(["text", "b"]),
    lambda: np.array([b"bytes"]),
    lambda: np.array(["2020-01-01"], dtype="M8[D]"),
    lambda: np.array([1], dtype="m8[s]"),
    lambda: np.ones(3, np.longdouble),
    lambda: np.broadcast_to(np.float32(1), (3, 10**5)),
    lambda: np.frombuffer(b"\0" * 9, np.uint8)[1:].view(np.float64),
    lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    lambda: np.matrix([[1.0, 2.0]]),
    lambda: np.float32(2),
    lambda: np.int8(-3),
    lambda: np.uint64(2**64 - 1),
    lambda: np.bool_(True),
    lambda: np.complex64(1j),
    lambda: np.str_("a"),
    lambda: np.datetime64("2020-01-01"),
    lambda: np.array([2**63, 2**64 - 1], np.uint64),
]

ODD_OBJECTS = [
    lambda: None,
    lambda: True,
    lambda: False,
    lambda: Ellipsis,
    lambda: NotImplemented,
    lambda: b"",
    lambda: b"bytes",
    lambda: bytearray(b"abc"),
    lambda: memoryview(b"abcd"),
    list,
    lambda: (),
    dict,
    set,
    lambda: {1, 2},
    lambda: frozenset({"a"}),
    lambda: [[]],
    lambda: [[], [1.0]],
    lambda: [[1.0, 2.0], [3.0]],
    lambda: [1, 2, 3],
    lambda: (1, 2),
    lambda: (0, 1),
    lambda: [1.0, None],
    lambda: [None],
    lambda: (None, None),
    lambda: ["a", "b"],
    lambda: [True, False],
    lambda: {"a": 1.0},
    lambda: {1: Tensor([1.0])},
    lambda: {"a": [Tensor(1.0), None], "b": {}},
    lambda: {1: OddCell()},
    lambda: [OddCell(), nn.ReLU()],
    lambda: [Tensor([1.0, 2.0]), Tensor([3.0, 4.0])],
    lambda: (Tensor([1.0]), Tensor([[3.0, 4.0]])),
    lambda: [Parameter([1.0], name="a"), Parameter([2.0], name="a")],
    lambda: [Parameter([1.0], name="a")],
    lambda: ParameterTuple([Parameter([1.0], name="a")]),
    lambda: slice(None),
    lambda: slice(5, -7, -2),
    lambda: slice("a", None, 0),
    lambda: (slice(None), None, ..., 0),
    lambda: range(3),
    lambda: range(10**9),
    lambda: itertools.repeat(1.0, 1000),
    lambda: map(Tensor, (1, 2)),
    _generator,
    _raising_generator,
    lambda: Bare,
    Bare,
    RaisesAlways,
    RaisesOnAttributes,
    NegativeLength,
    WrongLength,
    EndlessItems,
    IndexRaises,
    IndexLies,
    IndexIsWrong,
    IndexIsThree,
    FloatLies,
    ArrayLies,
    ArrayOfObjects,
    ArrayInterfaceLies,
    ArrayThatFits,
    BoolRaises,
    ComparesToArrays,
    Unhashable,
    lambda: UnwillingInt(1),
    lambda: OtherTuple(1.0, Tensor([2.0])),
    OddCell,
    CellWithoutInit,
    lambda: nn.Cell(),
    lambda: nn.Dense(3, 2),
    lambda: nn.SequentialCell(nn.Dense(3, 2), nn.Tanh()),
    lambda: SubTensor([1.0, 2.0]),
    lambda: Tensor,
    lambda: Parameter,
    lambda: nn.Dense,
    lambda: int,
    lambda: float,
    lambda: object,
    lambda: type,
    lambda: math,
    lambda: np,
    lambda: dg.ops,
    lambda: dg.float32,
    lambda: np.float64,
    lambda: np.dtype("i4"),
    lambda: np.dtype([("a", "i4")]),
    lambda: np.random.default_rng(0),
    lambda: Mischief("an instance"),
    object,
]

ENDLESS = [_self_referential_list, _self_referential_dict, _deep_list]

# What one argument of a call that works is replaced by.
SPOILS = [
    *[lambda n=n: n for n in (2**62, -1, 2**63, 10**30, -(2**31) - 1, 0, math.nan, math.inf, -0.5, 1j)],
    *[lambda one=one: one for one in (None, True, ...)],
    *[lambda text=text: text for text in ("a", "", b"a")],
    *[lambda kind=kind: kind for kind in (int, len, slice(None), range(3))],
    list, tuple, dict, object, nn.ReLU,
    lambda: [[]], lambda: [1], lambda: [[1.0], [2.0, 3.0]], lambda: [None], lambda: [Tensor([1.0]), None],
    lambda: (1, 2, 3, 4, 5, 6, 7), lambda: (2**62, 0), lambda: {"a": 1}, lambda: {1, 2},
    lambda: np.zeros((0,)), lambda: np.zeros((0, 0)), lambda: np.zeros((0, 3)), lambda: np.array(3),
    lambda: np.array([None, 1], object), lambda: np.array(["a"]),
    lambda: Tensor(np.zeros((0, 0))), lambda: Tensor(3.0), lambda: Tensor(np.ones((2, 3)) > 0),
    lambda: Tensor(np.ones((1,) * 9)), lambda: Tensor(np.ones(2) + 1j),
]  # fmt: skip

FITTING_INTEGERS = [0, 1, 2, 3, -1, -2]
FITTING_SHAPES = [(), (3,), (2, 3), (3, 3), (1, 2, 4, 4), (2, 3, 4), (2, 4, 6)]
# What names of parameters stand for; names that begin alike are alike.
BY_NAME = {
    "axis": lambda rng: rng.choice([*FITTING_INTEGERS, None, (0, 1), (-1,), []]),
    "dim": lambda rng: rng.choice([*FITTING_INTEGERS, None, (0, 1)]),
    "shape": lambda rng: rng.choice([*FITTING_SHAPES, 3, (-1,), (-1, 2)]),
    "size": lambda rng: rng.choice([*FITTING_SHAPES, 3, None]),
    "dtype": lambda rng: rng.choice([*DTYPES, dg.float32, dg.int32, np.float64, None]),
    "reduction": lambda rng: rng.choice(["mean", "sum", "none"]),
    "mode": lambda rng: rng.choice(["constant", "reflect", "valid", "same", "bilinear", 0, 1]),
    "pad": lambda rng: rng.choice([0, 1, (1, 1), (1, 1, 1, 1), "same", "valid", ((1, 1), (0, 2))]),
    "kernel": lambda rng: rng.choice([1, 2, 3, (2, 2), (1, 3)]),
    "stride": lambda rng: rng.choice([1, 2, (1, 2), (2, 2)]),
    "index": lambda rng: Tensor(np.array([0, 1, 1], rng.choice(DTYPES[1:9]))),
    "indices": lambda rng: Tensor(np.array(rng.choice([[0, 1], [[0], [1]], [[0, 1]]]), rng.choice(DTYPES[1:9]))),
    "fn": lambda rng: rng.choice(FUNCTIONS),
    "func": lambda rng: rng.choice(FUNCTIONS),
    "f": lambda rng: rng.choice(FUNCTIONS),
    "cond": lambda rng: rng.choice([*FUNCTIONS, True, Tensor(True)]),
    "body": lambda rng: rng.choice(FUNCTIONS),
    "cell": lambda rng: rng.choice([OddCell, nn.Tanh, lambda: nn.Dense(3, 2)])(),
    "net": lambda rng: rng.choice([OddCell, nn.Tanh, lambda: nn.Dense(3, 2)])(),
    "params": lambda rng: [Parameter(np.ones(3, np.float32), name="w")],
    "target": lambda rng: Tensor(np.array([0, 1, 1], rng.choice(DTYPES))),
    "labels": lambda rng: Tensor(np.array([0, 1, 1], rng.choice(DTYPES))),
    "in_": lambda rng: rng.choice([1, 2, 3, 0, (0, None)]),
    "out_": lambda rng: rng.choice([1, 2, 3]),
    "num": lambda rng: rng.choice([1, 2, 3]),
    "n": lambda rng: rng.choice([1, 2, 3]),
    "k": lambda rng: rng.choice([0, 1, 2]),
    "x": lambda rng: fitting_tensor(rng),
    "input": lambda rng: fitting_tensor(rng),
    "keep": lambda rng: rng.choice([True, False]),
    "name": lambda rng: rng.choice(["name", "w"]),
    "order": lambda rng: rng.choice([1, 2, 3, "C", (1, 0)]),
}


def fitting_tensor(rng):
    """Make a Tensor that many operators take."""
    shape, dtype = rng.choice(FITTING_SHAPES), rng.choice(["float32", "float32", "float64", "int32", "complex64"])
    values = np.arange(1, 1 + math.prod(shape)).reshape(shape) / (1 if dtype == "int32" else 10)
    return Tensor(values.astype(dtype))


def fitting(name, rng):
    """Make what a parameter of this name may stand for."""
    for begin, make in BY_NAME.items():
        if name == begin or (len(begin) > 2 and name.startswith(begin)):
            return make(rng)
    return fitting_tensor(rng) if rng.random() < 0.6 else rng.choice([1, 2, 1.0, 0.5, True, None, (1, 1)])


def _tensor(rng):
    return Tensor.from_numpy(np.ascontiguousarray(array(rng)).astype(rng.choice(DTYPES)))


def _parameter(rng):
    return Parameter(_tensor(rng), name=rng.choice(["w", "p"]), requires_grad=rng.random() < 0.7)


JUNK = [
    (3, lambda rng: rng.choice(ODD_OBJECTS)()),
    (1, lambda rng: rng.choice(ODD_ARRAYS)()),
    (1.5, lambda rng: rng.choice(INTEGERS)),
    (1, lambda rng: rng.choice(FLOATS)),
    (0.3, lambda rng: rng.choice(COMPLEX)),
    (0.7, lambda rng: rng.choice(TEXTS)),
    (0.5, array),
    (2, lambda rng: np.asarray(array(rng))),
    (2, _tensor),
    (0.7, _parameter),
    (1, lambda rng: rng.choice(FUNCTIONS)),
    (0.5, lambda rng: [junk(rng) for _ in range(rng.randrange(4))]),
    (0.5, lambda rng: tuple(junk(rng) for _ in range(rng.randrange(4)))),
    (0.2, lambda rng: {rng.choice(TEXTS[:5]): junk(rng)}),
]
_WEIGHTS, _MAKERS = zip(*JUNK, strict=True)


def junk(rng):
    """Make any argument."""
    return rng.choices(_MAKERS, _WEIGHTS)[0](rng)


def endless(rng):
    """Make a nest that contains itself, or one of thousands of levels."""
    return rng.choice(ENDLESS)()
