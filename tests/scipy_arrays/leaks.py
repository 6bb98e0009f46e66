"""Whether SciPy's other functions cut slopes: those that take NumPy's arrays, or of which SciPy says nothing.

Each is called with some usual lists of arguments, as far as it takes them, on arrays and inside of a derivative. What
it gives there has to be the derivative, or an error: a constant where differences see a slope is a leak.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import dualgrad as dg
from dualgrad import Tensor

from .capabilities import Entry
from .survey import _leaves, _tensor_vector, _vector, in_short

__all__ = ["LEFT_OUT", "Leak", "look_for_a_leak"]

#: Files and data from elsewhere, settings, numbers that are drawn; sparse matrices, which have products of their own
#: (`dualgrad.sparse`); and what does not come back from some of the arguments below.
LEFT_OUT = ("scipy.io", "scipy.datasets", "scipy.odr", "scipy.fft.set_", "scipy.fft.register", "scipy.fft.skip",
            "scipy.special.seterr", "scipy.special.geterr", "scipy.optimize.show_options", "scipy.sparse",
            "scipy.constants", "scipy.linalg.get_", "scipy.linalg.find_best", "scipy.optimize.linprog_verbose",
            "scipy.optimize.brute", "scipy.optimize.fmin", "scipy.linalg.clarkson")  # fmt: skip

V = np.array([0.31, 0.74, 0.92, 0.63, 0.13, 0.58])
W = np.array([0.42, 0.15, 0.71, 0.98, 0.23, 0.66])
M = np.array([[2.0, 0.3, -0.5], [0.3, 1.5, 0.7], [-0.5, 0.7, 1.8]])
VELOCITY = np.array([0.5, -0.3, 0.8, 0.4, -0.6, 0.7])


def _arguments(x: Any, m: Any) -> Iterator[tuple[Any, ...]]:
    """Usual arguments, with `x` a vector of six numbers or `m` a matrix that follows from it in one place at least."""
    one = x[0]
    yield (x,)
    yield (x, x * 2.0)
    yield (x, W)
    yield (W, x)
    yield (1, x)
    yield (2, x)
    yield (2, one)
    yield (2, 1, x)
    yield (1, 2, one)
    yield (W, 0.5, x)
    yield (0.5, 0.7, x)
    yield (0.5, 0.7, 1.2, x)
    yield (0.5, 0.7, 1.2, 1.5, x)
    yield (m,)
    yield (m, x[:3])
    yield (m, m)
    yield (x, np.sort(W))
    yield (np.arange(6.0), x, np.array([0.5, 1.5]))
    yield (x, 2)
    yield (x, 3, 1)
    yield (x, W, W)
    yield (m, m, m)
    yield (m, m, m, m)
    yield (lambda t, *rest: (t - one) ** 3, 0.0, 2.0)
    yield (lambda t, *rest: (t - one) ** 2, np.array([0.2]))
    yield (lambda t, *rest: (t - one) * 2, 0.2)
    yield (lambda t, y: y * one, (0.0, 1.0), np.array([1.0]))
    yield (lambda t, y: y * 0.5, (0.0, 1.0), x[:2])
    yield ((1, 1), np.ones((3, 3)), x[:3])
    yield ((m, np.array([0, 1, 2])), x[:3])
    yield (one,)


@dataclass
class Leak:
    """What has become of an entry: ``raises``, ``right``, ``constant``, ``leak``, or ``no arguments`` that it takes."""

    outcome: str
    form: int = -1
    error: str = ""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _result(entry: Entry, form: int, x: Any, m: Any) -> Any:
    arguments = list(_arguments(x, m))[form]
    result = entry.thing(*arguments)
    for name in ("x", "y", "statistic", "root", "data"):  # results with names, and sparse matrices
        if not isinstance(result, np.ndarray | Tensor | tuple) and isinstance(
            getattr(result, name, None), np.ndarray | Tensor | float
        ):
            return getattr(result, name)
    return result


def _at(t: float) -> tuple[np.ndarray, np.ndarray]:
    return V + t * VELOCITY, M + t * np.outer(VELOCITY[:3], VELOCITY[:3])


def _forms_that_fit(entry: Entry) -> list[int]:
    """The forms that are taken, and whose floating results move with the input."""
    found = []
    for form in range(len(list(_arguments(V, M)))):
        try:
            before, after = (_vector(_leaves(_result(entry, form, *_at(t)))) for t in (0.0, 1e-3))
        except Exception:
            continue
        if before.shape == after.shape and np.all(np.isfinite(before)) and np.any(before != after):
            found.append(form)
    return found


def look_for_a_leak(entry: Entry) -> Leak:
    """Call an entry inside of a derivative, in all forms that it takes; the worst is what counts."""
    with _quiet():
        found = [_in_one_form(entry, form) for form in _forms_that_fit(entry)]
    order = ("leak", "raises", "right")
    return min(found, key=lambda leak: order.index(leak.outcome), default=Leak("no arguments"))


def _in_one_form(entry: Entry, form: int) -> Leak:
    def curve(t: Tensor) -> Tensor:
        x, m = Tensor(V) + t * Tensor(VELOCITY), Tensor(M) + t * Tensor(np.outer(VELOCITY[:3], VELOCITY[:3]))
        return _tensor_vector(_leaves(_result(entry, form, x, m)))

    try:
        found = dg.jvp(curve, Tensor(0.0, dg.float64), Tensor(1.0, dg.float64))[1].asnumpy()
    except Exception as error:
        return Leak("raises", form, in_short(error))
    step = 1e-5
    try:
        ahead, behind = (_vector(_leaves(_result(entry, form, *_at(t)))) for t in (step, -step))
    except Exception:
        return Leak("raises", form, "no difference exists")
    expected = (ahead - behind) / (2 * step)
    scale = max(np.abs(expected).max(), 1e-3)
    if found.shape == expected.shape and np.abs(found - expected).max() <= 1e-4 * scale:
        return Leak("right", form)
    return Leak("leak", form, f"{found[:4]} and {expected[:4]}")
