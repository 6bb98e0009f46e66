"""How far values and derivatives of elementwise rows are from the exact ones, in units of the last place.

Every row states its function for mpmath (``exact``). Here it is only ever *evaluated*, on a grid of steps around each
point in hundreds to thousands of digits, and central differences of the grid give the derivatives to 25 digits or
more. For special functions the derivatives are stated in closed form (``exact_special.py``). Nothing is shared with the
engine.

Points are the same kinds for every row: a bulk over many magnitudes, both signs, ladders towards each end of the
domain and towards 0 (1e-1 ... 1e-16, and down to the subnormal numbers at 0), tails up to the largest number, and
the row's own ``points``. None is left out for being hard; only kinks and jumps are,
where derivatives are conventions (``reach`` of the row is 0 there).

What is required of a result r with the exact value t = phi^(k)(x):

* value and first derivative: ``|r - t| <= 4 ULP`` of t. Where the value is computed by NumPy's own loop, or C's own
  function, and that one is further off, no further than that. For functions that oscillate, whose zeros are numbers
  like any other, an ULP of t and ``eps * |x phi^(k+1)|`` are the unit together;
* order k >= 2, and the slope of a row without an ``example``, which exists to be the slope of another:
  ``|r - t| <= FACTOR * eps * (|phi^(k)| + |x phi^(k+1)|)``, the second term (one for each operand) being what the
  rounding of x alone would do;
* beyond the largest number: infinite, with the right sign. A result may be infinite too where another partial
  derivative of its order is beyond the largest number, since they are products of the same factors;
* near the smallest number: within 4 of the smallest subnormal numbers. Where the result is below 1e-270 and
  derivatives of its order or a lower one are subnormal or less, the digits these have lost may be missing in it too,
  again since they are products of the same factors.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import exact_special
import mpmath
import numpy as np
from engine import OPCODES, apply, jets, run_forward

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._table import ROWS, Row

mp = mpmath.mp

VALUE_ULP = 4
FACTOR = 16
EPS = mpmath.mpf(2) ** -52
TINY = mpmath.mpf(2) ** -1074
LOW = mpmath.mpf(10) ** -270
NORMAL = mpmath.mpf(2) ** -1022
HUGE = mpmath.mpf(2) ** 1024 * (1 - mpmath.mpf(2) ** -54)
STEP_BITS = 90  # steps are 2**-90 of the distance to the nearest end of the domain

#: Rows with a statement of their exact function.
ACCURATE = [row for row in ROWS if row.exact]


# ------------------------------------------------------------------------------------------------------- points


@dataclass(frozen=True)
class Point:
    """Operands, and for each the length over which the function may change its nature."""

    operands: tuple[float, ...]
    scales: tuple[mpmath.mpf, ...]


def _ladder(dense: bool) -> list[float]:
    digits = range(1, 17) if dense else (1, 2, 4, 8, 12, 16)
    return [10.0**-d for d in digits]


def _tiny(dense: bool) -> list[float]:
    most = [1e-20, 1e-100, 1e-160, 1e-300, 5e-324]
    return most + [1e-40, 1e-60, 1e-78, 1e-104, 1e-150, 1e-200, 2.3e-308, 5e-310, 3e-320] if dense else most


def _large(dense: bool) -> list[float]:
    most = [2.5, 6.0, 19.7, 26.7, 37.43, 89.5, 354.3, 708.5, 745.0, 1e3, 1e6, 1e16, 1e100, 1e200, 1.7e308]
    more = [3.7, 9.1, 14.2, 27.25, 177.4, 600.1, 690.3, 709.7, 712.0, 744.3, 1e4, 1e8, 1e22, 1e40, 1e77, 1e154, 1e300]
    return most + more if dense else most


def operand_values(low: float, high: float, dense: bool, seed: int) -> list[float]:
    """Points of one operand whose domain is the open interval from low to high."""
    rng = np.random.default_rng(seed)
    values: list[float] = []
    bulk = 10.0 ** rng.uniform(-6, 3, 120 if dense else 16)
    signs = (1.0, -1.0)
    if math.isinf(low) and math.isinf(high):
        values += [sign * x for sign in signs for x in (*_large(dense), *_ladder(dense), *_tiny(dense))]
        values += list(bulk * rng.choice(signs, bulk.size))
        values += list(rng.uniform(-4, 4, 60 if dense else 8))
        values.append(0.0)
    else:
        for end, inward in ((low, 1.0), (high, -1.0)):
            if math.isinf(end):
                values += [-inward * x for x in _large(dense)]
                continue
            values += [end + inward * max(1.0, abs(end)) * d for d in _ladder(dense)]
            if end == 0:
                values += [inward * d for d in _tiny(dense)]
        if low < 0 < high:
            values += [0.0, *(sign * x for sign in signs for x in (*_ladder(dense), *_tiny(dense)))]
        if math.isinf(high):
            values += list(low + bulk)
        elif math.isinf(low):
            values += list(high - bulk)
        else:
            values += list(rng.uniform(low, high, bulk.size))
    return sorted({float(x) for x in values if low < x < high})


def _scales(row: Row, operands: tuple[float, ...]) -> tuple[mpmath.mpf, ...]:
    """For each operand a length over which the function is smooth; 0 at a kink or a jump."""
    scales = []
    for x, (low, high) in zip(operands, row.domain, strict=True):
        distances = [abs(mpmath.mpf(x) - end) for end in (low, high) if math.isfinite(end)]
        half_line = math.isinf(low) != math.isinf(high)
        scales.append(min(distances) if half_line else min([mpmath.mpf(1), *distances]))
    if row.reach is None:
        return tuple(scales)
    with mp.workprec(4400):
        reach = _function(row.reach, row.arity)(*map(mpmath.mpf, operands))
        return tuple(+min(scale, reach) for scale in scales)


def points(row: Row, dense: bool = False) -> list[Point]:
    """The points at which a row is measured."""
    seed = sum(map(ord, row.name))
    axes = [
        operand_values(*row.domain[i], dense, seed + i) if i in row.differentiable else list(map(float, row.orders))
        for i in range(row.arity)
    ]
    rng = np.random.default_rng(seed)
    if row.arity == 1:
        chosen = [(x,) for x in axes[0]]
    else:
        everything = list(itertools.product(*axes))
        count = min(len(everything), 1000 if dense else 60)
        chosen = [everything[i] for i in sorted(rng.choice(len(everything), count, replace=False))]
        moderate = [[x for x in axis if 1e-3 < abs(x) < 1e3 or x in row.orders] for axis in axes]
        chosen += [tuple(float(rng.choice(axis)) for axis in moderate) for _ in range(count // 2)]
    chosen += [p if isinstance(p, tuple) else (p,) for p in row.points]
    return [p for p in (Point(p, _scales(row, p)) for p in dict.fromkeys(chosen)) if all(p.scales)]


# ------------------------------------------------------------------------------------------------------ reference


@functools.cache
def _function(exact: str, arity: int) -> Callable[..., mpmath.mpf]:
    return eval(f"lambda {', '.join('xyz'[:arity])}: {exact}", {"mp": mp})


def exact_derivatives(row: Row, point: Point, order: int) -> dict[tuple[int, ...], mpmath.mpf]:
    """All partial derivatives up to a total order, by central differences on a grid of half steps.

    A difference of order k cancels k * STEP_BITS bits, and the truncation error is that of h**2: 2**-180 relative to
    the change over the scale. Absolutely it has to see 2**-1140, below the smallest subnormal number.
    """
    closed = exact_special.DERIVATIVES.get(row.name)
    if closed:
        with mp.workprec(400):
            operands = [mpmath.mpf(x) for x in point.operands]
            return {orders: closed(orders[-1], *operands) for orders in _orders(order, row)}
    f = _function(row.exact, row.arity)
    operands = point.operands
    exponents = [int(mp.mag(scale)) - STEP_BITS for scale in point.scales]
    with mp.workprec(120):
        steps = [mpmath.ldexp(mpmath.mpf(1), e - 1) for e in exponents]
        around = [f(*[x + n * order * h for x, h in zip(operands, steps, strict=True)]) for n in (-1, 0, 1)]
        magnitude = max(min(2000, int(mp.mag(value))) if value else 0 for value in around)
    if magnitude < -60000:  # so far below that no derivative is in sight
        return dict.fromkeys(_orders(order, row), mpmath.mpf(0))
    # What a difference of the highest order loses; the value itself is known relative to its own size.
    lost = max(sum(-k * e for k, e in zip(split, exponents, strict=True)) for split in _splits(order, row))
    spread = max(abs(math.frexp(x)[1] - e) for x, e in zip(operands, exponents, strict=True))
    with mp.workprec(max(180, magnitude + 1200) + max(lost, 0) + spread + 64):
        steps = [mpmath.ldexp(mpmath.mpf(1), e - 1) for e in exponents]
        centre = [mpmath.mpf(x) for x in operands]
        grid: dict[tuple[int, ...], mpmath.mpf] = {}

        def at(*nodes: int) -> mpmath.mpf:
            if nodes not in grid:
                grid[nodes] = f(*[c + n * h for c, n, h in zip(centre, nodes, steps, strict=True)])
            return grid[nodes]

        found = {}
        for orders in _orders(order, row):
            total = mpmath.mpf(0)
            for picks in itertools.product(*[range(k + 1) for k in orders]):
                weight = math.prod((-1) ** j * math.comb(k, j) for j, k in zip(picks, orders, strict=True))
                total += weight * at(*[k - 2 * j for j, k in zip(picks, orders, strict=True)])
            if abs(total) <= max(map(abs, grid.values())) * mpmath.ldexp(1, 30 - mp.prec):
                total = mpmath.mpf(0)  # rounding of the largest terms, where these are beyond all double precision
            for k, h in zip(orders, steps, strict=True):
                total /= (2 * h) ** k
            found[orders] = total
    with mp.workprec(200):
        return {orders: +t for orders, t in found.items()}


def _orders(order: int, row: Row) -> list[tuple[int, ...]]:
    """How often to differentiate by each operand, up to a total order."""
    ranges = [range(order + 1) if i in row.differentiable else (0,) for i in range(row.arity)]
    return [k for k in itertools.product(*ranges) if sum(k) <= order]


def _splits(order: int, row: Row) -> Iterator[tuple[int, ...]]:
    return (k for k in _orders(order, row) if sum(k) == order)


# --------------------------------------------------------------------------------------------------------- engine


def _gradients(f: Callable[..., Tensor], orders: tuple[int, ...]) -> Callable[..., Tensor]:
    for position, k in enumerate(orders):
        for _ in range(k):
            f = dg.grad(f, position)
    return f


def engine_derivatives(row: Row, chosen: list[Point], order: int) -> dict[str, dict[tuple[int, ...], np.ndarray]]:
    """The engine's derivatives by nested gradients, and Taylor coefficients (derivative / k!) by jets."""
    code = OPCODES[row.name]

    def f(*xs: Tensor) -> Tensor:
        return apply(code, None, *xs)

    xs = [Tensor(np.array([p.operands[i] for p in chosen])) for i in range(row.arity)]
    nested = {orders: _gradients(f, orders)(*xs).asnumpy() for orders in _orders(order, row)}
    jet: dict[tuple[int, ...], np.ndarray] = {}
    for i in row.differentiable:
        x = xs[i]

        def along(z: Tensor, i: int = i) -> Tensor:
            return f(*xs[:i], z, *xs[i + 1 :])

        parts = run_forward("jet", jets(order), along, [[x, ops.ones_like(x)] + [None] * (order - 1)])
        for k in range(1, order + 1):
            orders = tuple(k if j == i else 0 for j in range(row.arity))
            jet[orders] = np.zeros(x.shape) if parts[k] is None else parts[k].asnumpy()
    return {"gradients": nested, "jet": jet}


def raw_values(row: Row, chosen: list[Point]) -> np.ndarray | None:
    """What NumPy's own function, or the C library's of the same name, gives; None if there is none."""
    operands = [np.array([p.operands[i] for p in chosen]) for i in range(row.arity)]
    with np.errstate(all="ignore"):
        if row.ufunc:
            return getattr(np, row.ufunc)(*operands).astype(np.float64)
        if row.c == f"{row.name}(x)" and hasattr(math, row.name):
            return np.array([_from_c(row.name, p.operands) for p in chosen])
    return None


def _from_c(name: str, operands: tuple[float, ...]) -> float:
    try:
        return getattr(math, name)(*operands)
    except OverflowError:
        return math.inf


# ------------------------------------------------------------------------------------------------------ comparison


def ulp(t: mpmath.mpf) -> mpmath.mpf:
    """The distance between floating-point numbers at t."""
    return TINY if abs(t) < NORMAL else mpmath.ldexp(mpmath.mpf(1), int(mp.mag(t)) - 53)


def units_off(got: float, exact: mpmath.mpf, unit: mpmath.mpf, floor: mpmath.mpf = TINY) -> float:
    """The error as a multiple of a unit, beyond what overflow and underflow excuse."""
    if abs(exact) >= HUGE:
        right = math.isinf(got) and (got > 0) == (exact > 0)
        exact = exact if not math.isinf(got) else mpmath.mpf(0)
        if right:
            return 0.0
    if not math.isfinite(got):
        near = not math.isnan(got) and (got > 0) == (exact > 0) and abs(exact) + VALUE_ULP * unit >= HUGE
        return 0.0 if near else math.inf
    error = abs(mpmath.mpf(got) - exact)
    return 0.0 if error <= VALUE_ULP * floor else float(error / unit)


@dataclass
class Report:
    """The largest errors of a row: of value and slope in ULP, of higher orders in the unit of the criterion."""

    row: Row
    order: int
    worst: dict[tuple[int, ...], float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    library: float = 0.0  # the largest error of NumPy's or C's own value, where it is more than is asked of ours

    def by_order(self) -> list[float]:
        """The largest error among the derivatives of each total order."""
        return [max(e for k, e in self.worst.items() if sum(k) == order) for order in range(self.order + 1)]


def measure(row: Row, dense: bool = False, order: int = 6, every: int = 1) -> Report:
    """Compare a row's values and derivatives with the exact ones at all its points, or at each third, say."""
    everywhere = points(row, dense)
    chosen = everywhere[sum(map(ord, row.name)) % min(every, len(everywhere)) :: every]
    report = Report(row, order)
    found = engine_derivatives(row, chosen, order)
    results = [(way, orders, numbers) for way, table in found.items() for orders, numbers in table.items()]
    raw = raw_values(row, chosen)
    with mp.workprec(200):
        for n, point in enumerate(chosen):
            exact = exact_derivatives(row, point, order + 1)
            for way, orders, numbers in results:
                got, t = float(numbers[n]), exact[orders]
                strict = sum(orders) < (2 if row.example else 1)
                zeros = row.name in exact_special.OSCILLATING
                error, allowed = _judge(got, orders, exact, point, strict, zeros, coefficient=way == "jet")
                if sum(orders) == 0 and raw is not None and error > allowed:
                    report.library = max(report.library, units_off(float(raw[n]), t, ulp(t)))
                    allowed = max(allowed, units_off(float(raw[n]), t, ulp(t)))
                report.worst[orders] = max(error, report.worst.get(orders, 0.0))
                if not error <= allowed:
                    report.failures.append(
                        f"{row.name} {point.operands} order {orders} by {way}: {got!r}, exactly "
                        f"{mpmath.nstr(t, 20)}: {error:.3g} units"
                    )
    return report


def _judge(
    got: float,
    orders: tuple[int, ...],
    exact: dict[tuple[int, ...], mpmath.mpf],
    point: Point,
    strict: bool,
    oscillating: bool,
    coefficient: bool,
) -> tuple[float, float]:
    """The error of one result in its unit, and how large it may be."""
    order = sum(orders)
    divisor = math.factorial(order) if coefficient else 1
    t = exact[orders] / divisor
    if math.isinf(got) and any(abs(e) >= HUGE for k, e in exact.items() if sum(k) == order):
        return 0.0, 0.0
    floor = TINY
    if abs(t) < LOW:
        lost = [abs(e) for k, e in exact.items() if sum(k) <= order and 0 < abs(e) < NORMAL]
        floor = max([floor, *(abs(t) * min(1, TINY / e) for e in lost)])
    moved = mpmath.mpf(0)
    for i, x in enumerate(point.operands):
        moved += abs(mpmath.mpf(x) * exact.get(tuple(k + (i == j) for j, k in enumerate(orders)), 0))
    if strict:
        return units_off(got, t, ulp(t) + (EPS * moved if oscillating else 0), floor), VALUE_ULP
    unit = abs(exact[orders]) + moved
    return units_off(got, t, max(EPS * unit / divisor, TINY), floor), FACTOR


# ----------------------------------------------------------------------------------------------------------- table


def accuracy_table(dense: bool = False) -> str:
    """The largest errors of every public row as a Markdown table."""
    highest = 6
    head = ["operator", "domain", "value (ULP)", "slope (ULP)", *(f"order {k}" for k in range(2, highest + 1))]
    lines = [head, ["---"] * len(head)]
    for row in ACCURATE:
        if row.example is None:
            continue
        report = measure(row, dense)
        errors = report.by_order()
        cells = [f"{error:.1f}" for error in errors] + [""] * (highest + 1 - len(errors))
        if report.library:
            cells[0] += f" (library: {report.library:.1f})"
        lines.append([f"`{row.function or row.name}`", _domain(row), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _domain(row: Row) -> str:
    def text(end: float) -> str:
        sign, size = "-" if end < 0 else "", abs(end)
        return sign + ("∞" if math.isinf(size) else "π/2" if size == math.pi / 2 else f"{size:g}")

    return ", ".join(
        f"{text(low)} < {name} < {text(high)}" for name, (low, high) in zip("xyz", row.domain, strict=False)
    )


if __name__ == "__main__":
    import sys

    named = [row for row in ACCURATE if not sys.argv[1:] or row.name in sys.argv[1:]]
    for row in named:
        report = measure(row)
        print(f"{row.name:14}", " ".join(f"{error:8.2f}" for error in report.by_order()), len(report.failures))
        for failure in report.failures[:: max(1, len(report.failures) // 6)]:
            print("    ", failure)
