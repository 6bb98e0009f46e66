"""Steps of random programs with the shape of what compilers rewrite: several operators that belong together.

Single operators, put together at random, seldom make a chain of layers, a stencil, or the same sum twice with a factor.
Here a step is such a pattern; its operands, lengths, orders, constants and places are chosen at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from random_steps import Pick, Shape, Unfit, broadcasts

WIDEST = 65  # columns of a matrix that is made for a product
SCALES = (2.0, 4.0, 0.5, -2.0, 3.0)
SHIFTS = (1.5, -0.5, 3.0)
BENT = ("{}", "ops.sin({})", "ops.tanh({})", "{} * 0.5", "-{}")


def _rng(pick: Pick) -> np.random.Generator:
    """For more choices than a gene has."""
    return np.random.default_rng([pick.number(60), pick.number(60)])


def _rows(shape: Shape) -> bool:
    return len(shape) >= 2 and 0 < shape[-1] <= WIDEST and 0 not in shape


def _matrix(pick: Pick, m: int, square: bool = False) -> str:
    """A matrix with m rows: a weight, a value, or a constant."""
    fits = lambda shape: len(shape) == 2 and shape[0] == m and 0 < shape[1] <= (m if square else WIDEST)
    held = {name: value for name, value in pick.scope.weights.items() if fits(value.shape)}
    held |= {name: value for name, value in pick.scope.values.items() if fits(value.shape)}
    n = m if square else pick.of([m, 1, 3, 5])
    made = f"constant(np.sin(np.arange({m * n}) + {pick.number(7)}.0).reshape({m}, {n}), {pick.value()})"
    return pick.of([*[name for name, value in held.items() if not square or value.shape == (m, m)][:2], made])


def layers(pick: Pick) -> str:
    """Rows through one matrix after the other."""
    code = pick.value(_rows)
    m = pick.shape(code)[-1]
    bent = pick.of(("ops.tanh({})", "ops.sin({})"))
    for _ in range(1 + pick.number(6)):
        code = bent.format(f"{code} @ {_matrix(pick, m, square=True)}")
    return code


def strided(pick: Pick) -> str:
    """A product of what does not lie side by side."""
    x = pick.value(lambda shape: _rows(shape) and shape[-1] > 1)
    m = pick.shape(x)[-1]
    step, other = pick.of(("::2", "::-1", "1::3")), pick.of((":", "::2", "::-1"))
    return f"{x}[..., {step}] @ {_matrix(pick, m)}[{step}, {other}]"


def merged(pick: Pick) -> str:
    """The rows of a stack as those of one matrix, in some order, through a matrix."""
    x = pick.value(lambda shape: _rows(shape) and len(shape) <= 3)
    shape = pick.shape(x)
    if len(shape) == 2:
        axis = pick.of((1, 0))
        x, shape = f"ops.stack(({x}, ops.sin({x}), {x}), axis={axis})", (*shape[:axis], 3, *shape[axis:])
    order = pick.of(((1, 0, 2), (0, 2, 1), (1, 0, 2), (2, 0, 1)))
    m = shape[order[2]]
    if m > WIDEST:
        raise Unfit
    code = f"ops.reshape(ops.transpose({x}, {order}), (-1, {m}))"
    return pick.of((f"ops.sin({code} @ {_matrix(pick, m)})", f"ops.sin({code})"))


def _primes(n: int) -> Iterator[int]:
    p = 2
    while n > 1:
        while n % p == 0:
            yield p
            n //= p
        p += 1


def shuffled(pick: Pick) -> str:
    """Elements in another order: an array of many short axes, which change places."""
    x = pick.value(lambda shape: 0 not in shape)
    shape = pick.shape(x)
    parts = tuple(p for n in shape for p in _primes(n))
    order = tuple(_rng(pick).permutation(len(parts)).tolist())
    return f"ops.reshape(ops.transpose(ops.reshape(ops.sin({x}), {parts}), {order}), {shape})"


def beside(pick: Pick) -> str:
    """Rows with those further on: differences and stencils along the first axis, each row bent first."""
    x = pick.value(lambda shape: len(shape) > 0 and shape[0] > 2)
    n = pick.shape(x)[0]
    inner = pick.of(("{}", "ops.sin({})", "ops.exp(-{0} * {0})")).format(x)
    wide = pick.of((2, 3))
    code = ""
    for k in _rng(pick).permutation(wide).tolist():
        row = pick.of(BENT).format(f"({inner})[{k}:{n - wide + 1 + k}]")
        code = f"{code} {pick.of('*-+')} ({row})" if code else f"({row})"
    return code


def signs(pick: Pick) -> str:
    """Sums within sums, of few values, with few signs."""
    x = pick.value()
    y = pick.value(lambda shape: broadcasts(pick.shape(x), shape))
    code, signs = pick.of((f"-{x}", x, f"-({x} * {y})")), pick.of(("-", "-+", "+--"))
    for k in range(1 + pick.number(14)):
        code = f"({code} {signs[k % len(signs)]} {(y, x)[k % 2]})"
    return pick.of(("ops.sin({})", "ops.abs(-{})", "ops.square({})", "-ops.sum({}, axis=-1)")).format(code)


def scaled(pick: Pick) -> str:
    """Constants that multiply, divide and shift the same value, some of them twice."""
    x = pick.value()
    c, d, k = pick.of(SCALES), pick.of(SCALES), pick.of(SHIFTS)
    forms = [
        *(f"{x} * {c}", f"({k} - {x}) * {c}", f"({x} + {k}) * {c}", f"({x} * {d}) * {c}", f"{x} / {c}"),
        *(f"({x} / {d}) * {c}", f"-({x} * {c})"),
    ]
    return f"ops.sin({pick.of(forms)}) {pick.of('+*-')} ops.cos({pick.of(forms)}) * ops.tanh({pick.of(forms)})"


def _linear(rng: np.random.Generator, depth: int, x: str, y: str, factor: str) -> str:
    """An expression that is linear in its first two values: sums, differences and products with a third."""
    if depth == 0:
        return str(rng.choice((x, y)))
    first = _linear(rng, rng.integers(depth), x, y, factor)
    kind = rng.integers(4)
    other = factor if kind < 2 else _linear(rng, rng.integers(depth), x, y, factor)
    return f"({first} {'**+-'[kind]} {other})"


def multiples(pick: Pick) -> str:
    """Something linear, and the same of multiples: by one number for each row."""
    x = pick.value(_rows)
    shape = pick.shape(x)
    y, z = (pick.value(lambda other: other == shape) for _ in range(2))
    seed = [pick.number(60), pick.number(60)]
    f = pick.of((f"{x}[..., :1]", f"ops.sin({y}[..., -1:])", f"ops.sum({z}, axis=-1, keepdims=True)", f"ops.sum({z})"))
    plain, multiple = (
        _linear(np.random.default_rng(seed), 2, *operands, z) for operands in ((x, y), (f"({f} * {x})", f"({f} * {y})"))
    )
    w = _matrix(pick, shape[-1])
    return f"ops.sin({plain} @ {w}) {pick.of('*+')} ops.cos({multiple} @ {w})"


def placed(pick: Pick) -> str:
    """A column between zeros, and the unit vector in that place, through the same matrix."""
    x = pick.value(_rows)
    *lead, m = pick.shape(x)
    k, column = pick.number(m), pick.number(m)
    zeros = [f"constant(np.zeros({(*lead, n)}), {x})" for n in (k, m - 1 - k) if n]
    parts = [*zeros[: k > 0], f"{x}[..., {column}:{column + 1}]", *zeros[k > 0 :], ""]
    w = _matrix(pick, m)
    unit = f"constant(np.eye({m})[np.full({tuple(lead)}, {k})], {x})"
    return f"ops.cos({unit} @ {w}) * ops.sin(ops.cat(({', '.join(parts)}), axis=-1) @ {w})"


def moments(pick: Pick) -> str:
    """Rows with a number each that belongs to one side of a product, and to the other."""
    x = pick.value(lambda shape: len(shape) == 2 and shape[0] > 1 and 0 < shape[1] <= WIDEST)
    y = pick.value(lambda other: other == pick.shape(x))
    f = pick.of((f"{x}[:, :1]", f"ops.sin({y}[:, -1:])", f"ops.sum({x} * {y}, axis=-1, keepdims=True)"))
    sides = [f"ops.transpose({f} * {x}, (1, 0)) @ {y}", f"ops.transpose({x}, (1, 0)) @ ({f} * {y})"]
    k = pick.number(2)
    return f"ops.sin({sides[k]}) {pick.of('+*-')} ops.cos({sides[1 - k]})"


def ways(pick: Pick) -> str:
    """A sum of what went one way, through products and other linear steps."""
    x = pick.value(_rows)
    shape = pick.shape(x)
    starts = [pick.of(BENT).format(pick.value(lambda other: other == shape)) for _ in range(2 + pick.number(2))]
    steps = ["({} @ {})".format("{}", _matrix(pick, shape[-1], square=True)), f"({{}} * {x})", "-{}"]
    way = "{}"
    for _ in range(1 + pick.number(3)):
        way = pick.of(steps).format(way)
    way = steps[0].format(way)
    code = way.format(starts[0])
    for start in starts[1:]:
        code = f"{code} {pick.of('+-')} {way.format(start)}"
    return code


def totals(pick: Pick) -> str:
    """Products added up, along rows or columns."""
    x = pick.value(lambda shape: len(shape) > 0)
    y = pick.value(lambda shape: broadcasts(pick.shape(x), shape))
    bent = [pick.of(BENT).format(name) for name in (x, y)]
    return f"ops.{pick.of(('sum', 'mean'))}(({bent[0]}) * ({bent[1]}), axis={pick.of((0, -1))})"


def special(pick: Pick) -> str:
    """A constant matrix with structure, beside a value or multiplied with it."""
    x = pick.value(_rows)
    shape = pick.shape(x)
    m, k = shape[-1], pick.number(shape[-1])
    made = pick.of((f"np.eye({m})", f"np.diag(np.cos(np.arange({m}.0)))", f"np.eye({m})[{k}:{k + 1}].T"))
    number = pick.of(SCALES)
    return pick.of((f"{x} @ constant({made}, {x})", f"ops.sin({x}) * constant(np.full({shape}, {number}), {x})"))


PATTERNS: list[Callable[[Pick], str]] = [
    *(layers, strided, merged, shuffled, beside, signs, scaled, multiples, placed, moments, ways, totals, special),
]
