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

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import exact_ops
import numpy as np
from exact_ops import Exact
from hypothesis import strategies as st
from random_lines import Line, Program, text_of, used
from random_patterns import PATTERNS
from random_steps import PLAIN, SHAPES, SMALL, Pick, Scope, Shared, Sizes, Unfit, broadcasts, index_text


@dataclass
class Gene:
    """See the design note."""

    kind: int
    choices: tuple[int, ...]
    inner: tuple[Gene, ...] = ()


STEPS = [*PLAIN, *PATTERNS]
CHOICES = 12  # of a gene


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
    index = index_text(pick, pick.shape(x))
    part = scope.run(f"{x}[{index}]").shape
    y = pick.value(lambda shape: broadcasts(shape, part) and np.broadcast_shapes(shape, part) == part)
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
    text = text_of(nested.lines)
    for name in names:
        if not used(name, text):  # a derivative by it would be nothing but zeros
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
            elif gene.kind == len(STEPS):
                written(scope, pick)
            else:
                _assign(scope, STEPS[gene.kind](pick))
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
    text = text_of(scope.lines)
    unused = [name for name in scope.own if not used(name, text)] or scope.own[-1:]
    lines = (*scope.lines, Line((), f"return {', '.join(unused)}"))
    return Program(lines, tuple(points), {n: w for n, w in weights.items() if used(n, text)}, scope.shared.widest)


def programs(most: int = 30, deep: int = 2, sizes: Sequence[Sizes] = (SMALL,)) -> st.SearchStrategy[Program]:
    """Programs of up to `most` instructions at the top, with functions nested up to `deep` deep."""
    choices = st.tuples(*[st.integers(0, 59)] * CHOICES)
    plain = st.builds(Gene, st.integers(0, len(STEPS)), choices)
    genes = plain
    for _ in range(deep):
        inner = st.lists(genes, min_size=1, max_size=5).map(tuple)
        nested = st.builds(Gene, st.integers(0, len(NESTS) - 1), choices, inner)
        genes = st.one_of(plain, plain, plain, plain, nested)
    shapes = st.lists(st.integers(0, len(SHAPES) - 1), min_size=1, max_size=3).map(tuple)
    instructions = st.lists(genes, min_size=3, max_size=most).map(tuple)
    return st.builds(build, shapes, instructions, st.sampled_from(sizes))


def drawn(r: Random, sizes: Sequence[Sizes], most: int = 25, deep: int = 2) -> Program:
    """A program as `programs` has them, whatever Hypothesis does: evenly drawn, and the same for the same seed."""

    def gene(deep: int) -> Gene:
        choices = tuple(r.randrange(60) for _ in range(CHOICES))
        if deep and r.random() < 0.2:
            return Gene(r.randrange(len(NESTS)), choices, tuple(gene(deep - 1) for _ in range(r.randint(1, 5))))
        return Gene(r.choice((r.randrange(len(PLAIN)), r.randrange(len(PLAIN), len(STEPS) + 1))), choices)

    genes = tuple(gene(deep) for _ in range(r.randint(1, r.randint(3, most))))
    return build(tuple(r.randrange(len(SHAPES)) for _ in range(r.randint(1, 3))), genes, r.choice(sizes))
