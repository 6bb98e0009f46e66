"""Random programs: a list of numbers becomes the text of a Python function of tensors.

Design
------
A *gene* is the kind of one instruction, some small numbers that choose operands and settings, and the genes of a
nested function. `build` reads genes in order; what cannot be applied to the values at hand is left out, so any list of
genes is a program, and Hypothesis shrinks a failing one by dropping genes. Lines are kept as data; `Program.text` is
Python that can be pasted into a file. It is also what runs: with `dualgrad` for the engine, and with `exact_ops` for
the reference, so both mean the same lines.

Shapes, and a rough size of the numbers, are found while building, by running each line on floats. A result above 4
is scaled down, so that derivatives of high order stay moderate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import exact_ops
import numpy as np
from exact_ops import Exact
from hypothesis import strategies as st

import dualgrad as dg
from dualgrad import Parameter, Tensor, extend, nn, ops

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
        return cls(inputs, ((), (m,), (m, m)), ((), (m,)), 40_000)


_SHAPES = ((), (2,), (3,), (2, 3), (1,), (3, 1), (2, 2), (3, 2), (1, 3), (2, 2, 2), (2, 1, 3), (0,), (2, 0), (3, 2, 1))
SMALL = Sizes(_SHAPES, ((), (3,), (2, 3)), _SHAPES[:6], 24)
TABLES = tuple(Sizes.rows(n, m) for n, m in ((128, 40), (300, 16), (64, 65), (257, 17), (1024, 5), (100, 100)))


# ------------------------------------------------------------------------------------------ names that programs use


class Sine(nn.Cell):
    """A sine with the rule that it has anyway: a Cell with a bprop."""

    def construct(self, x: Tensor) -> Tensor:
        return ops.sin(x)

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> Tensor:
        return dout * ops.cos(x)


class Weighted(nn.Cell):
    """A function with the parameters it reads."""

    def __init__(self, fn: Callable[..., Any], *weights: Parameter) -> None:
        super().__init__()
        self.fn = fn
        for k, w in enumerate(weights):
            setattr(self, f"w{k}", w)

    def construct(self, *xs: Tensor) -> Any:
        return self.fn(*xs)


_reverse = extend.linear("random_reverse", lambda x: x[..., ::-1].copy(), lambda ct, x: _reverse(ct), core=(1,))
_pairs = extend.bilinear(
    "random_pairs",
    lambda x, y: x[..., :, None] * y[..., None, :],
    (lambda ct, x, y: (ct * y[..., None, :]).sum(-1), lambda ct, x, y: (ct * x[..., :, None]).sum(-2)),
    core=(1, 1),
)
_inverse = extend.primitive("random_inverse", np.linalg.inv, jvp=(lambda dx, out, x: -(out @ dx @ out),), core=(2,))
own = SimpleNamespace(
    cube=extend.elementwise("random_cube", lambda x: x * x * x, "3 * x * x"),
    bell=extend.elementwise("random_bell", lambda x: np.exp(-x * x), "-2 * x * out"),
    tangent=extend.primitive("random_tangent", np.tan, jvp=(lambda dx, out, x: dx * (1.0 + out * out),), core=(0,)),
    reverse=_reverse,
    pairs=_pairs,
    inverse=_inverse,
    sine=Sine(),
)


def constant(data: Any, like: Tensor) -> Tensor:
    return Tensor(np.array(data, like.dtype.numpy))


ENGINE = {"np": np, "dg": dg, "ops": ops, "own": own, "constant": constant, "cell": Weighted}
_REFERENCE_OWN = SimpleNamespace(
    cube=exact_ops.cube,
    bell=exact_ops.bell,
    tangent=exact_ops.tangent,
    reverse=exact_ops.reverse,
    pairs=exact_ops.pairs,
    inverse=exact_ops.inverse,
    sine=exact_ops.sin,
)
REFERENCE = {
    "np": np,
    "dg": exact_ops,
    "ops": exact_ops,
    "own": _REFERENCE_OWN,
    "constant": exact_ops.constant,
    "cell": exact_ops.cell,
}


# ------------------------------------------------------------------------------------------------------- programs


@dataclass(frozen=True)
class Line:
    """Results, and the code that makes them; `body` for the definition of a nested function."""

    results: tuple[str, ...]
    code: str
    body: tuple[Line, ...] = ()

    def render(self, indent: str) -> list[str]:
        if self.body:
            return [f"{indent}def {self.code}:", _text(self.body, indent + "    ")]
        target = f"{', '.join(self.results)} = " if self.results else ""
        return [f"{indent}{target}{self.code}"]


@dataclass(frozen=True)
class Program:
    """Lines, and the arrays they are run on."""

    lines: tuple[Line, ...]
    points: tuple[np.ndarray, ...]
    weights: dict[str, np.ndarray]
    widest: int = 1  # elements of its largest value, over all samples where it is inside a vmap

    @property
    def text(self) -> str:
        names = ", ".join(f"x{k}" for k in range(len(self.points)))
        return _text([Line((), f"program({names})", self.lines)])

    @property
    def watched(self) -> Program:
        """The same program, with all its values as results."""
        made = [name for line in self.lines for name in line.results if name[0] == "v"]
        return replace(self, lines=(*self.lines[:-1], Line((), f"return {', '.join(made) or 'x0,'}")))

    def __repr__(self) -> str:
        shapes = {f"x{k}": x.shape for k, x in enumerate(self.points)} | {n: w.shape for n, w in self.weights.items()}
        return f"# {shapes}\n{self.text}"

    def compiled(self, names: dict[str, Any], weights: dict[str, Any]) -> Callable[..., Any]:
        """The function, with the given meaning of operators."""
        space = {**names, **weights}
        exec(compile(self.text, "<random program>", "exec"), space)
        return space["program"]

    def parameters(self, dtype: Any = np.float64) -> dict[str, Parameter]:
        return {name: Parameter(w.astype(dtype), name=name) for name, w in self.weights.items()}

    def uses(self, word: str) -> bool:
        return word in self.text


@dataclass
class Gene:
    """See the design note."""

    kind: int
    choices: tuple[int, ...]
    inner: tuple[Gene, ...] = ()


class Unfit(Exception):
    """An instruction that cannot be applied to the values at hand."""


# -------------------------------------------------------------------------------------------------------- building


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
        if elements > max(SMALL.largest * self.samples, self.shared.sizes.largest):
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
                names[letter] = pick.value(lambda shape: _broadcasts(*shapes, shape))
                shapes.append(pick.shape(names[letter]))
        return template.format(**names)

    return choose


def _broadcasts(*shapes: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


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
    return f"{x}[{_index(pick, pick.shape(x))}]"


def _index(pick: Pick, shape: tuple[int, ...]) -> str:
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
        return f"own.pairs({x}, {pick.value(lambda b: len(b) > 0 and a[:-1] == b[:-1])})"
    if f == "einsum" and len(a) == 2:
        return pick.of(
            [
                f"ops.einsum('ij,ij->i', {x}, {pick.value(lambda b: b == a)})",
                f"ops.einsum('ij->ji', {x})",
                f"ops.einsum('ij,k->kj', {x}, {pick.value(lambda b: len(b) == 1)})",
                *([f"ops.einsum('ii->i', {x})"] if a[0] == a[1] else []),
            ]
        )
    return f"{x} @ {pick.value(lambda b: len(b) > 0 and b[max(0, len(b) - 2)] == a[-1])}"


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
    y = pick.value(lambda other: _broadcasts(shape, other))
    return pick.of([f"{w} * {y}", f"{y} + {w} * {w}"])


PLAIN: list[Callable[[Pick], str]] = [
    *(smooth, binary, smooth, binary, cornered, power, reduction, along, reshaped, indexed, indexed),
    *(ordered, joined, product, product, matrix, made, stopped, weight),
]


def _assign(scope: Scope, code: str) -> None:
    value = scope.run(code)
    if value.ndim > 4 or not np.isfinite(value.a.astype(float)).all():
        raise Unfit
    size = np.abs(value.a).max(initial=0.0)
    if size > 4.0:
        factor = 2.0 ** -np.ceil(np.log2(size))
        code, value = f"{factor} * ({code})", factor * value
    name = scope.name()
    scope.lines.append(Line((name,), code))
    scope.keep(name, value)


def written(scope: Scope, pick: Pick) -> None:
    """A copy of a value, part of which is written anew."""
    x = pick.value(lambda shape: len(shape) > 0 and 0 not in shape)
    index = _index(pick, pick.shape(x))
    part = scope.run(f"{x}[{index}]").shape
    y = pick.value(lambda shape: _broadcasts(shape, part) and np.broadcast_shapes(shape, part) == part)
    value = scope.run(f"{x} * 1.0")
    value[eval(f"np.s_[{index}]")] = scope.values[y]
    name = scope.name()
    scope.lines += [Line((name,), f"{x} * 1.0"), Line((), f"{name}[{index}] = {y}")]
    scope.keep(name, value)


def _define(
    scope: Scope, inner: tuple[Gene, ...], arguments: list[Exact], several: bool, samples: int = 1
) -> tuple[str, list[Exact]]:
    """A nested function of arguments like those given; its name, and values like its results."""
    nested = Scope(dict(scope.values), scope.shared, scope.weights, scope.samples * samples)
    names = [scope.name("y") for _ in arguments]
    for name, argument in zip(names, arguments, strict=True):
        nested.keep(name, argument)
    fill(nested, inner)
    text = _text(nested.lines)
    for name in names:
        if not _used(name, text):  # a derivative by it would be nothing but zeros
            _assign(nested, f"{nested.own[-1]} * ops.cos(ops.sum({name}))")
    results = nested.own[-2:] if several and len(nested.own) > 1 else nested.own[-1:]
    name = scope.name("f")
    lines = (*nested.lines, Line((), f"return {', '.join(results)}"))
    scope.lines.append(Line((), f"{name}({', '.join(names)})", lines))
    return name, [nested.values[r] for r in results]


def _like(scope: Scope, code: str, values: list[Exact]) -> None:
    """Results of a derivative: of these shapes, wrapped in a sine since their size is not known."""
    names = [scope.name() for _ in values]
    scope.lines.append(Line(tuple(names), code))
    for name, value in zip(names, values, strict=True):
        bounded = scope.name()
        scope.lines.append(Line((bounded,), f"ops.sin({name})"))
        scope.keep(bounded, exact_ops.sin(value))


NESTS = [
    *("grad", "jvp", "vmap", "grad of two", "value_and_grad", "vjp", "GradOperation", "sens", "jvp of two", "weights"),
    *("vmap, shared", "vmap, last axis", "hessian", "both", "cell", "call", "taken twice"),
]


def nest(scope: Scope, pick: Pick, kind: str, inner: tuple[Gene, ...]) -> None:
    """A derivative or a map of a nested function, which may read everything outside."""
    floating = lambda shape: True
    x = pick.value((lambda shape: len(shape) > 0 and 0 not in shape) if kind.startswith("vmap") else floating)
    y = pick.value()
    a, b = scope.values[x], scope.values[y]
    w = pick.of(scope.weights)
    if kind.startswith("vmap"):
        axis = a.ndim - 1 if kind == "vmap, last axis" else 0
        row = Exact(a.a.take(0, axis))
        size = a.shape[axis]
        arguments = [row, b] if kind == "vmap, shared" else [row]
        f, out = _define(scope, inner, arguments, pick.number(2) == 1, size)
        stacked = [Exact(np.broadcast_to(o.a, (size, *o.shape))) for o in out]
        if kind == "vmap, last axis":
            stacked = [Exact(np.moveaxis(o.a, 0, -1)) for o in stacked]
            return _like(scope, f"dg.vmap({f}, in_axes={axis}, out_axes=-1)({x})", stacked)
        call = f"dg.vmap({f}, (0, None))({x}, {y})" if kind == "vmap, shared" else f"dg.vmap({f})({x})"
        return _like(scope, call, stacked)
    two = kind in ("grad of two", "jvp of two", "GradOperation")
    f, out = _define(scope, inner, [a, b] if two else [a], several=pick.number(3) == 1 and kind not in ("call", "sens"))
    sens = f"tuple([ops.cos(o) for o in {f}({x})])" if len(out) > 1 else f"ops.cos({f}({x}))"
    if kind == "grad":
        return _like(scope, f"dg.grad({f})({x})", [a])
    if kind == "taken twice":
        return _like(scope, f"dg.grad({f})({x}) * dg.value_and_grad({f})({x})[1]", [a])
    if kind == "hessian":
        return _like(scope, f"dg.grad(dg.grad({f}))({x})", [a])
    if kind == "grad of two":
        return _like(scope, f"dg.grad({f}, (0, 1))({x}, {y})", [a, b])
    if kind == "GradOperation":
        return _like(scope, f"ops.GradOperation(get_all=True)({f})({x}, {y})", [a, b])
    if kind == "value_and_grad":
        if len(out) > 1:
            raise Unfit
        return _like(scope, f"dg.value_and_grad({f})({x})", [*out, a])
    if kind == "sens":
        return _like(scope, f"dg.grad({f}, sens_param=True)({x}, {sens})", [a])
    if kind == "vjp":
        out_name, pull = scope.name(), scope.name("pull")
        scope.lines.append(Line((out_name, pull), f"dg.vjp({f}, {x})"))
        return _like(scope, f"{pull}({sens})[0]", [a])
    if kind == "jvp" or kind == "jvp of two":
        call = f"{f}, {x}, ops.cos({x})" if kind == "jvp" else f"{f}, ({x}, {y}), (ops.cos({x}), ops.sin({y}))"
        if len(out) > 1:
            return _like(scope, f"dg.jvp({call})[1]", out)
        return _like(scope, f"dg.jvp({call})", [*out, *out])
    v = scope.weights[w]
    if kind == "weights":
        return _like(scope, f"dg.grad({f}, None, {w})({x})", [v])
    if kind == "both":
        return _like(scope, f"dg.grad({f}, 0, {w})({x})", [a, v])
    if kind == "cell":
        return _like(scope, f"dg.grad(cell({f}, {w}), 0, {w})({x})", [a, v])
    return _like(scope, f"{f}({x})", out)


def fill(scope: Scope, genes: tuple[Gene, ...]) -> None:
    """Add the lines that genes stand for; those that do not fit add nothing."""
    for gene in genes:
        before = len(scope.lines), len(scope.own), dict(scope.values)
        pick = Pick(scope, gene.choices)
        try:
            if gene.inner:
                nest(scope, pick, NESTS[gene.kind % len(NESTS)], gene.inner)
            elif gene.kind == len(PLAIN):
                written(scope, pick)
            else:
                _assign(scope, PLAIN[gene.kind](pick))
        except Unfit:
            del scope.lines[before[0] :], scope.own[before[1] :]
            scope.values = before[2]


def build(shapes: tuple[int, ...], genes: tuple[Gene, ...], sizes: Sizes = SMALL) -> Program:
    """The program that genes stand for, of inputs with the given shapes (places among those of `sizes`)."""
    rng = np.random.default_rng([len(shapes), *shapes])
    points = [rng.standard_normal(sizes.inputs[k % len(sizes.inputs)]) for k in shapes]
    weights = {f"w{k}": rng.standard_normal(shape) for k, shape in enumerate(sizes.weights)}
    scope = Scope({}, Shared(sizes), {name: Exact(w) for name, w in weights.items()})
    for k, x in enumerate(points):
        scope.keep(f"x{k}", Exact(x))
    fill(scope, genes)
    text = _text(scope.lines)
    unused = [name for name in scope.own if not _used(name, text)] or scope.own[-1:]
    lines = (*scope.lines, Line((), f"return {', '.join(unused)}"))
    return Program(lines, tuple(points), {n: w for n, w in weights.items() if _used(n, text)}, scope.shared.widest)


def _text(lines: Sequence[Line], indent: str = "") -> str:
    return "\n".join(text for line in lines for text in line.render(indent))


def _used(name: str, text: str) -> bool:
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text.replace(f"{name} = ", "")).split()
    return name in words


# -------------------------------------------------------------------------------------------------------- strategy


def programs(most: int = 30, deep: int = 2, sizes: Sequence[Sizes] = (SMALL,)) -> st.SearchStrategy[Program]:
    """Programs of up to `most` instructions at the top, with functions nested up to `deep` deep."""
    choices = st.tuples(*[st.integers(0, 59)] * 7)
    plain = st.builds(Gene, st.integers(0, len(PLAIN)), choices)
    genes = plain
    for _ in range(deep):
        inner = st.lists(genes, min_size=1, max_size=5).map(tuple)
        nested = st.builds(Gene, st.integers(0, len(NESTS) - 1), choices, inner)
        genes = st.one_of(plain, plain, plain, plain, nested)
    shapes = st.lists(st.integers(0, len(_SHAPES) - 1), min_size=1, max_size=3).map(tuple)
    instructions = st.lists(genes, min_size=3, max_size=most).map(tuple)
    return st.builds(build, shapes, instructions, st.sampled_from(sizes))
