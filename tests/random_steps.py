"""Steps of random programs: operators, whose operands and settings are chosen among the values at hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import exact_ops
import numpy as np
from exact_ops import Exact
from random_lines import REFERENCE, Line

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Sizes:
    """The shapes of inputs, of weights and of constants, and how many elements a value has at most."""

    inputs: tuple[Shape, ...]
    weights: tuple[Shape, ...]
    constants: tuple[Shape, ...]
    largest: int

    @classmethod
    def rows(cls, n: int, m: int) -> Sizes:
        """Tables of n rows, and what goes with them: what a plan runs block by block."""
        inputs = ((n, m), (m,), (n, m), (n,), (m, m), (), (n, 1), (n, m), (1, m), (m, n), (n, 2, m))
        return cls(inputs, ((), (m,), (m, m)), ((), (m,)), max(40_000, 2 * n * m))


SHAPES = ((), (2,), (3,), (2, 3), (1,), (3, 1), (2, 2), (3, 2), (1, 3), (2, 2, 2), (2, 1, 3), (0,), (2, 0), (3, 2, 1))


SMALL = Sizes(SHAPES, ((), (3,), (2, 3)), SHAPES[:6], 24)


TABLES = tuple(Sizes.rows(n, m) for n, m in ((128, 40), (300, 16), (64, 65), (257, 17), (1024, 5), (100, 100)))


#: as many rows as are worth several threads, or looking further on
TALL = tuple(Sizes.rows(n, m) for n, m in ((2000, 3), (1500, 24), (5000, 8), (3000, 12), (1100, 200)))


NUMBERS = Sizes(((), (1,), (1, 1)), ((),), ((),), 1)


MOST = 1 << 20  # elements of any result


class Unfit(Exception):
    """An instruction that cannot be applied to the values at hand."""


@dataclass
class Shared:
    """What all functions of a program share while it is built."""

    sizes: Sizes
    names: int = 0
    widest: int = 1


@dataclass
class Scope:
    """The values a function may use, the latest last, and its lines so far."""

    values: dict[str, Exact]
    shared: Shared
    weights: dict[str, Exact]
    samples: int = 1  # of the calls of vmap around it
    lines: list[Line] = field(default_factory=list)
    own: list[str] = field(default_factory=list)

    def name(self, letter: str = "v") -> str:
        self.shared.names += 1
        return f"{letter}{self.shared.names}"

    def keep(self, name: str, value: Exact) -> None:
        elements = value.a.size * self.samples
        largest = self.shared.sizes.largest
        if elements > max(min(SMALL.largest, largest) * self.samples, largest):
            raise Unfit
        self.shared.widest = max(self.shared.widest, elements)
        self.values[name] = value
        self.own.append(name)

    def run(self, code: str) -> Any:
        """What a line gives for floats; an error means that it does not fit."""
        try:
            with exact_ops.fresh(), np.errstate(all="ignore"):
                return eval(code, {**REFERENCE, **self.weights}, dict(self.values))
        except (ValueError, IndexError, ZeroDivisionError, TypeError) as error:
            raise Unfit from error


class Pick:
    """The choices of a gene, one after the other; 0 when they are used up."""

    def __init__(self, scope: Scope, choices: tuple[int, ...]) -> None:
        self.scope = scope
        self.left = list(choices)

    def number(self, n: int) -> int:
        return (self.left.pop(0) if self.left else 0) % n

    def of(self, options: Any) -> Any:
        options = list(options)
        if not options:
            raise Unfit
        return options[self.number(len(options))]

    def value(self, fits: Callable[[tuple[int, ...]], bool] = lambda shape: True) -> str:
        """The name of a value whose shape fits: one of the latest, half of the time."""
        names = [name for name, value in reversed(self.scope.values.items()) if fits(value.shape)]
        return self.of(names if self.number(2) else names[:3])

    def shape(self, name: str) -> tuple[int, ...]:
        return self.scope.values[name].shape

    def axis(self, name: str) -> int:
        """An axis, counted from either end."""
        n = len(self.shape(name))
        if n == 0:
            raise Unfit
        return self.of([*range(n), *range(-n, 0)])

    def axes(self, name: str) -> Any:
        n = len(self.shape(name))
        choices: list[Any] = [None, *range(n), *range(-n, 0)]
        choices += [(i, j) for i in range(n) for j in range(n) if i != j] + [(0, -1)] * (n > 1)
        return self.of(choices)

    def order(self, n: int) -> list[int]:
        rest, found = list(range(n)), []
        while rest:
            found.append(rest.pop(self.number(len(rest))))
        return found


def _template(*templates: str) -> Callable[[Pick], str]:
    """Code with values in the places of {x}, {y} and {z}, which broadcast."""

    def choose(pick: Pick) -> str:
        template = pick.of(templates)
        x = pick.value()
        shapes = [pick.shape(x)]
        names = {"x": x}
        for letter in "yz":
            if f"{{{letter}}}" in template:
                names[letter] = pick.value(lambda shape: broadcasts(*shapes, shape))
                shapes.append(pick.shape(names[letter]))
        return template.format(**names)

    return choose


def broadcasts(*shapes: tuple[int, ...]) -> bool:
    """Whether shapes go together, to no more elements than a machine should be asked for."""
    try:
        return math.prod(np.broadcast_shapes(*shapes)) <= MOST
    except ValueError:
        return False


smooth = _template(
    "ops.sin({x})",
    "ops.tanh({x})",
    "ops.exp(-{x} * {x})",
    "ops.cos({x})",
    "ops.sigmoid({x})",
    "ops.softplus({x})",
    "ops.erf({x})",
    "ops.atan({x})",
    "ops.square({x})",
    "-{x}",
    "ops.log1p({x} * {x})",
    "ops.sqrt({x} * {x} + 1.0)",
    "1.0 / (1.5 + ops.sin({x}))",
    "ops.gelu({x})",
    "ops.silu({x})",
    "ops.log({x} * {x} + 0.5)",
    "ops.asinh({x})",
    "ops.expm1(ops.sin({x}))",
    "ops.sinh(ops.tanh({x}))",
    "ops.erfc({x})",
    "2.5 * {x}",
    "{x} - 0.5",
    "1.5 - {x}",
    "own.cube({x})",
    "own.bell({x})",
    "own.tangent(ops.sin({x}))",
    "own.sine({x})",
)


power = _template(
    "{x} ** 2",
    "{x} ** 3",
    "{x} ** 1",
    "{x} ** 0",
    "{x} ** 4",
    "({x} * {x} + 0.5) ** -2",
    "({x} * {x} + 0.5) ** 1.5",
    "({x} * {x} + 0.5) ** {y}",
)


binary = _template(
    "{x} * {y}",
    "{x} + {y}",
    "{x} - {y}",
    "{x} / (1.5 + {y} * {y})",
    "ops.atan2({x}, 1.5 + {y} * {y})",
    "ops.hypot({x}, 1.0 + {y} * {y})",
    "ops.where({x} > {y}, {z}, {x})",
    "{x} * {y} + {z}",
)


cornered = _template(
    "ops.maximum({x}, {y})",
    "ops.minimum({x}, {y})",
    "ops.abs({x})",
    "ops.relu({x})",
    "ops.clamp({x}, -0.5, 0.5)",
    "ops.where({x} > {y}, {x}, {y} * {y})",
    # on a tie, everywhere
    "ops.maximum({x}, {x} + 0.0)",
    "ops.abs({x} - {x})",
    "ops.minimum({x} * {y}, {y} * {x})",
)


REDUCTIONS = ["sum", "mean", "prod", "logsumexp", "var", "amax", "amin", "norm"]


ALONG = ["cumsum", "softmax", "log_softmax"]


def reduction(pick: Pick) -> str:
    f = pick.of(REDUCTIONS)
    x = pick.value()
    if f == "norm":
        return f"ops.norm({x})"
    return f"ops.{f}({x}, axis={pick.axes(x)}, keepdims={bool(pick.number(2))})"


def along(pick: Pick) -> str:
    f = pick.of(ALONG)
    x = pick.value(lambda shape: len(shape) > 0)
    return f"ops.{f}({x}, axis={pick.axis(x)})"


def reshaped(pick: Pick) -> str:
    x = pick.value()
    shape = pick.shape(x)
    size, n = int(np.prod(shape)), len(shape)
    kind = pick.of(["reshape", "transpose", "T", "expand", "squeeze", "broadcast", "tile", "flip", "reverse"])
    if kind == "reshape":
        options = [(-1,), (1, *shape), (*shape, 1), (2, -1), (-1, 2), (3, -1), (1, -1, 1)]
        return f"ops.reshape({x}, {pick.of(s for s in options if -1 not in s or (size and size % -np.prod(s) == 0))})"
    if kind == "transpose":
        return f"ops.transpose({x}, {tuple(pick.order(n))})"
    if kind == "T":
        return f"{x}.T"
    if kind == "expand":
        return f"ops.expand_dims({x}, {pick.number(n + 1)})"
    if kind == "squeeze":
        return f"ops.squeeze({x}, {pick.of(k for k in range(n) if shape[k] == 1)})"
    if kind == "broadcast":
        return f"ops.broadcast_to({x}, {(pick.of([2, 1, 3]), *(3 if m == 1 else m for m in shape))})"
    if kind == "tile":
        return f"ops.tile({x}, {tuple(pick.of([1, 2]) for _ in range(max(1, n)))})"
    if kind == "flip":
        return f"ops.flip({x}, {tuple(k for k in range(n) if pick.number(2) == 0)})" if n else f"ops.sin({x})"
    return f"own.reverse({pick.value(lambda shape: len(shape) > 0)})"


def indexed(pick: Pick) -> str:
    x = pick.value(lambda shape: len(shape) > 0 and 0 not in shape)
    return f"{x}[{index_text(pick, pick.shape(x))}]"


def index_text(pick: Pick, shape: tuple[int, ...]) -> str:
    parts, rest = [], list(shape)
    kind = pick.of(["basic", "array", "mask", "mixed"])
    if kind == "mask":
        whole = pick.of([tuple(shape[:1]), shape])
        if np.prod(whole) > 400:
            raise Unfit
        mask = [(5 * k + pick.number(3)) % 3 != 0 for k in range(int(np.prod(whole)))]
        return f"np.array({np.array(mask).reshape(whole).tolist()})"
    arrays = 0
    for n in rest:
        options = ["{0}", "::2", "::-1", "1:", ":-1", ":", "-1"]
        if kind != "basic" and arrays < 2:
            options = ["[{0}, {1}, {0}]", *options]
        part = pick.of(options)
        arrays += "[" in part
        parts.append(part.format(pick.number(n), -1 - pick.number(n)))
        if kind == "array" and len(parts) == 1 and pick.number(2) == 0:
            break
    if kind == "basic" and pick.number(3) == 1:
        parts.insert(pick.number(len(parts) + 1), "None")
    elif kind != "array" and len(parts) > 1 and pick.number(3) == 1:
        parts[-2:] = ["..."] if arrays == 0 else parts[-2:]
    return ", ".join(parts)


def ordered(pick: Pick) -> str:
    """Indices that depend on values."""
    x = pick.value(lambda shape: len(shape) == 1 and shape[0] > 0)
    y = pick.value(lambda shape: len(shape) > 0 and shape[0] == pick.shape(x)[0])
    return f"ops.gather({y}, ops.argsort({x}), 0)"


def joined(pick: Pick) -> str:
    x = pick.value()
    shape = pick.shape(x)
    y = pick.value(lambda other: other == shape)
    f = pick.of(["stack", "cat"]) if shape else "stack"
    axis = pick.of(range(-len(shape), len(shape) + (f == "stack")))
    return f"ops.{f}(({x}, {y}), axis={axis})"


def product(pick: Pick) -> str:
    f = pick.of(["matmul", "einsum", "pairs"])
    x = pick.value(lambda shape: len(shape) > 0)
    a = pick.shape(x)
    if f == "pairs":
        return (
            f"own.pairs({x}, {pick.value(lambda b: len(b) > 0 and a[:-1] == b[:-1] and broadcasts((*a, 1), b[-1:]))})"
        )
    if f == "einsum" and len(a) == 2:
        return pick.of(
            [
                f"ops.einsum('ij,ij->i', {x}, {pick.value(lambda b: b == a)})",
                f"ops.einsum('ij->ji', {x})",
                f"ops.einsum('ij,k->kj', {x}, {pick.value(lambda b: len(b) == 1 and broadcasts((*a, 1), b))})",
                *([f"ops.einsum('ii->i', {x})"] if a[0] == a[1] else []),
            ]
        )
    small = lambda b: broadcasts((*a[:-1], 1), (*b[:-2], 1, b[-1]))
    return f"{x} @ {pick.value(lambda b: len(b) > 0 and b[max(0, len(b) - 2)] == a[-1] and small(b))}"


def matrix(pick: Pick) -> str:
    x = pick.value(lambda shape: len(shape) == 2 and shape[0] == shape[1] > 0)
    n = pick.shape(x)[0]
    return f"own.inverse(constant({n + 1.0} * np.eye({n}), {x}) + ops.sin({x}))"


def made(pick: Pick) -> str:
    """A constant."""
    x = pick.value()
    shape = pick.of(pick.scope.shared.sizes.constants)
    numbers = [round(0.7 * ((3 * k + pick.number(7)) % 5) - 1.3, 1) for k in range(int(np.prod(shape)))]
    return f"constant({np.array(numbers).reshape(shape).tolist()}, {x})"


def stopped(pick: Pick) -> str:
    return f"ops.stop_gradient({pick.value()})"


def weight(pick: Pick) -> str:
    w = pick.of(pick.scope.weights)
    shape = pick.scope.weights[w].shape
    y = pick.value(lambda other: broadcasts(shape, other))
    return pick.of([f"{w} * {y}", f"{y} + {w} * {w}"])


PLAIN: list[Callable[[Pick], str]] = [
    *(smooth, binary, smooth, binary, cornered, power, reduction, along, reshaped, indexed, indexed),
    *(ordered, joined, product, product, matrix, made, stopped, weight),
]
