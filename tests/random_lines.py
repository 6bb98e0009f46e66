"""Random programs as text: their lines, and the names in them, as the engine and the reference mean them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import exact_ops
import numpy as np

import dualgrad as dg
from dualgrad import Parameter, Tensor, extend, nn, ops


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


@dataclass(frozen=True)
class Line:
    """Results, and the code that makes them; `body` for the definition of a nested function."""

    results: tuple[str, ...]
    code: str
    body: tuple[Line, ...] = ()

    def render(self, indent: str) -> list[str]:
        if self.body:
            return [f"{indent}def {self.code}:", text_of(self.body, indent + "    ")]
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
        return text_of([Line((), f"program({names})", self.lines)])

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


def text_of(lines: Sequence[Line], indent: str = "") -> str:
    return "\n".join(text for line in lines for text in line.render(indent))


def used(name: str, text: str) -> bool:
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text.replace(f"{name} = ", "")).split()
    return name in words
