"""How far the functions of `dualgrad.scipy.special` and their derivatives are from the exact ones.

A row states its function for mpmath (``exact``), which is evaluated on a grid of steps around each point in 110 digits;
central differences of the grid give the derivatives to 24 digits. Points are random ones of the intervals that the row
says are measured, spread over magnitudes where an interval spans several, and the row's own.

The unit of an error of phi^(k) is ``eps * (|phi^(k)| + sum over operands of |x phi^(k+1)|)``: the second term is what
the rounding of an operand alone would do. Where it is large the derivative is near a zero that it crosses. Every row
says how many units are allowed; more than 16 are the fault of SciPy's value, or the price of a sum on a circle.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy.special as sp
from engine import OPCODES, apply, jets, run_forward

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._table import UNDEFINED
from dualgrad.scipy.special import ENTRIES
from dualgrad.scipy.special._rows import PREFIX, Entry

mp = mpmath.mp
EPS = mpmath.mpf(2) ** -52
DIGITS, STEP_DIGITS = 110, 14

#: The rows whose function is stated exactly; the others appear in their slopes.
MEASURED = [entry for entry in ENTRIES if entry.row.exact]
NAMES = [entry.row.name for entry in MEASURED]

# ------------------------------------------------------------------------- exact functions that mpmath has not


def _wofz(z: Any) -> Any:
    return mp.exp(-z * z) * mp.erfc(-1j * z)


def _ndtri_exp(y: Any) -> Any:
    p = mp.exp(y)
    start = -mp.sqrt(-2 * y) if y < -1 else mp.sqrt(2) * mp.erfinv(2 * p - 1)
    return mp.findroot(lambda z: mp.log(mp.ncdf(z)) - y, start)


def _owens_t(h: Any, a: Any) -> Any:
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), mp.linspace(0, a, 9)) / (2 * mp.pi)


def _wright_omega(x: Any) -> Any:
    return mp.findroot(lambda w: w + mp.log(w) - x, mp.exp(x) / (1 + mp.exp(x)) if x < 1 else x - mp.log(x) + 0.01)


def _log1p_ratio(order: int, u: Any) -> Any:
    k = order
    return (-1) ** k * mp.factorial(k) / (k + 1) * mp.hyp2f1(k + 1, k + 1, k + 2, -u)


def _spherical(kind: str, n: Any, x: Any) -> Any:
    n = int(n)
    if not x:
        return mp.mpf(n == 0)
    cylindrical = {"j": mp.besselj, "y": mp.bessely, "i": mp.besseli, "k": mp.besselk}[kind]
    half = mp.mpf(1) / 2
    sign = (-1) ** n if kind in "ji" and x < 0 else 1
    return sign * mp.sqrt(mp.pi / (2 * abs(x))) * cylindrical(n + half, abs(x))


def _spherical_legendre(n: int, m: int, theta: Any) -> Any:
    """With the sign of Condon and Shortley, as a polynomial in sine and cosine that goes through the poles."""
    size = abs(m)
    t, u = mp.cos(theta), mp.sin(theta)
    terms = [
        (-1) ** k * mp.binomial(n, k) * mp.binomial(2 * n - 2 * k, n) * mp.ff(n - 2 * k, size) * t ** (n - 2 * k - size)
        for k in range((n - size) // 2 + 1)
    ]
    scale = mp.sqrt((2 * n + 1) / (4 * mp.pi) * mp.factorial(n - size) / mp.factorial(n + size))
    return (-1) ** (size if m > 0 else 0) * scale * u**size * sum(terms) / mp.mpf(2) ** n


def _betainc(a: Any, b: Any, x: Any) -> Any:
    """By the series whose terms have one sign."""
    lower = x < (a + 1) / (a + b + 2)
    if not lower:
        a, b, x = b, a, 1 - x
    term = total = x**a * (1 - x) ** b / (a * mp.beta(a, b))
    n = 0
    while term > total * mp.eps:
        term *= (a + b + n) * x / (a + 1 + n)
        total += term
        n += 1
    return total if lower else 1 - total


def _betaincinv(a: Any, b: Any, p: Any) -> Any:
    start = float(sp.betaincinv(float(a), float(b), float(p)))
    return _newton(lambda x: _betainc(a, b, x) - p, lambda x: x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b), start)


def _stdtr(n: Any, t: Any) -> Any:
    tail = _betainc(n / 2, mp.mpf(1) / 2, n / (n + t * t)) / 2
    return tail if t < 0 else 1 - tail


def _stdtrit(n: Any, p: Any) -> Any:
    start = float(sp.stdtrit(float(n), float(p)))
    slope = lambda t: (1 + t * t / n) ** (-(n + 1) / 2) / (mp.sqrt(n) * mp.beta(mp.mpf(1) / 2, n / 2))
    return _newton(lambda t: _stdtr(n, t) - p, slope, start)


def _gammaincinv(a: Any, p: Any) -> Any:
    start = float(sp.gammaincinv(float(a), float(p)))
    f = lambda x: mp.gammainc(a, 0, x, regularized=True) - p
    return _newton(f, lambda x: x ** (a - 1) * mp.exp(-x) * mp.rgamma(a), start)


def _newton(f: Any, slope: Any, start: float) -> Any:
    x = mpmath.mpf(start)
    for _ in range(5):
        x -= f(x) / slope(x)
    return x


_STATED = {name: f for name, f in globals().items() if name.startswith("_") and callable(f)} | {"mp": mp, "sp": sp}


@functools.cache
def exact_function(entry: Entry) -> Callable[..., mpmath.mpf]:
    row = entry.row
    return eval(f"lambda {', '.join('xyz'[: row.arity])}: {row.exact}", _STATED)


# ----------------------------------------------------------------------------------------------------- points


def _drawn(low: float, high: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Random numbers of an interval, spread over magnitudes on each side of 0 if there are several."""
    if low > 0 and high / low > 50:
        return np.exp(rng.uniform(np.log(low), np.log(high), count))
    if low < 0 and high == 0:
        return -_drawn(1e-3 * -low, -low, count, rng)
    if low < 0 < high and high - low > 50:
        sides = np.where(rng.uniform(size=count) < 0.5, low, high)
        return sides * np.exp(rng.uniform(np.log(1e-3), 0, count))
    return rng.uniform(low, high, count)


def operands(entry: Entry, count: int) -> list[tuple[float, ...]]:
    """The points at which a row is measured."""
    row = entry.row
    rng = np.random.default_rng(sum(map(ord, row.name)))
    columns = [
        _drawn(*entry.sampled[i], count, rng) if row.partials[i] != UNDEFINED else rng.choice(row.orders, count)
        for i in range(row.arity)
    ]
    chosen = [tuple(map(float, point)) for point in zip(*columns, strict=True)]
    return chosen + [point if isinstance(point, tuple) else (point,) for point in row.points]


def orders_up_to(entry: Entry, order: int) -> list[tuple[int, ...]]:
    """How often to differentiate by each operand, up to a total order."""
    ranges = [range(order + 1) if i in entry.row.differentiable else (0,) for i in range(entry.row.arity)]
    return [k for k in itertools.product(*ranges) if sum(k) <= order]


def exact_derivatives(entry: Entry, point: tuple[float, ...], order: int) -> dict[tuple[int, ...], mpmath.mpf]:
    """All partial derivatives up to a total order, by central differences on a grid of half steps."""
    f = exact_function(entry)
    with mp.workdps(DIGITS):
        centre = [mpmath.mpf(x) for x in point]
        steps = [mpmath.mpf(10) ** -STEP_DIGITS * _room(entry, i, x) for i, x in enumerate(centre)]
        grid: dict[tuple[int, ...], mpmath.mpf] = {}

        def at(*nodes: int) -> mpmath.mpf:
            if nodes not in grid:
                grid[nodes] = mp.mpf(f(*[c + n * h / 2 for c, n, h in zip(centre, nodes, steps, strict=True)]))
            return grid[nodes]

        found = {}
        for orders in orders_up_to(entry, order):
            total = mpmath.mpf(0)
            for picks in itertools.product(*[range(k + 1) for k in orders]):
                weight = math.prod((-1) ** j * math.comb(k, j) for j, k in zip(picks, orders, strict=True))
                total += weight * at(*[k - 2 * j for j, k in zip(picks, orders, strict=True)])
            if abs(total) <= mpmath.mpf(10) ** (8 - DIGITS) * max(map(abs, grid.values())):
                total = mpmath.mpf(0)  # rounding of the largest terms
            found[orders] = total / math.prod(h**k for k, h in zip(orders, steps, strict=True))
        return found


def _room(entry: Entry, i: int, x: mpmath.mpf) -> mpmath.mpf:
    """The distance to the nearest end of the domain, at most 1."""
    return min([mpmath.mpf(1), *(abs(x - end) for end in entry.row.domain[i] if math.isfinite(end))])


# ------------------------------------------------------------------------------------------------ measurement


def engine_derivatives(entry: Entry, points: list[tuple[float, ...]], order: int) -> dict[str, dict[Any, np.ndarray]]:
    """The engine's derivatives by nested gradients, and those by one operand from jets."""
    code = OPCODES[PREFIX + entry.row.name]
    xs = [Tensor(np.array(column)) for column in zip(*points, strict=True)]

    def f(*operands: Tensor) -> Tensor:
        return apply(code, None, *operands)

    def nested(orders: tuple[int, ...]) -> Callable[..., Tensor]:
        g = f
        for position, k in enumerate(orders):
            for _ in range(k):
                g = dg.grad(g, position)
        return g

    found: dict[str, dict[Any, np.ndarray]] = {"gradients": {}, "jet": {}}
    for orders in orders_up_to(entry, order):
        found["gradients"][orders] = nested(orders)(*xs).asnumpy()
    for i in entry.row.differentiable:

        def along(z: Tensor, i: int = i) -> Tensor:
            return f(*xs[:i], z, *xs[i + 1 :])

        parts = run_forward("jet", jets(order), along, [[xs[i], ops.ones_like(xs[i])] + [None] * (order - 1)])
        for k in range(1, order + 1):
            orders = tuple(k if j == i else 0 for j in range(entry.row.arity))
            part = np.zeros(xs[i].shape) if parts[k] is None else parts[k].asnumpy()
            found["jet"][orders] = part * math.factorial(k)
    return found


def measure(entry: Entry, count: int, order: int) -> tuple[list[float], list[str]]:
    """The largest error of each total order in units, and a line for each result that is further off than allowed."""
    points = operands(entry, count)
    found = engine_derivatives(entry, points, order)
    worst, failures = [0.0] * (order + 1), []
    for n, point in enumerate(points):
        exact = exact_derivatives(entry, point, order + 1)
        for way, table in found.items():
            for orders, numbers in table.items():
                error = _units(float(numbers[n]), orders, exact, point)
                worst[sum(orders)] = max(worst[sum(orders)], error)
                if not error <= entry.within:
                    failures.append(
                        f"{entry.row.name} {point} order {orders} by {way}: {float(numbers[n])!r}, exactly "
                        f"{mpmath.nstr(exact[orders], 20)}: {error:.3g} units"
                    )
    return worst, failures


def _units(got: float, orders: tuple[int, ...], exact: dict[Any, mpmath.mpf], point: tuple[float, ...]) -> float:
    if not math.isfinite(got):
        return math.inf
    unit = abs(exact[orders])
    for i, x in enumerate(point):
        unit += abs(x * exact.get(tuple(k + (i == j) for j, k in enumerate(orders)), 0))
    return float(abs(mpmath.mpf(got) - exact[orders]) / max(EPS * unit, mpmath.mpf(2) ** -1060))


if __name__ == "__main__":
    import sys

    count, named = int(sys.argv[1]), sys.argv[2:]
    for entry in MEASURED:
        if not named or entry.row.name in named:
            worst, failures = measure(entry, count, 3)
            print(
                f"{entry.row.name:24}", *(f"{error:10.1f}" for error in worst), f"  of {entry.within:g}", len(failures)
            )
            for failure in failures[:: max(1, len(failures) // 4)]:
                print("      ", failure)
