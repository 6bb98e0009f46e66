"""What a benchmark is made of: cases, contenders, the check of their numbers, and the clock.

A *case* is one workload at one size and dtype, with reference results in float64. A *contender* is one way to
compute it: a library in one of its modes. A contender's factory imports the library, prepares everything that
a user would prepare once (arrays, weights, Cells, compiled functions), and returns a `Run`, whose ``call``
computes the case once and has finished when it returns; work that a library puts in a queue is waited for
inside the call. The same definitions serve pytest-benchmark (``bench_*.py``), ``compare.py``, and the worker
process that measures a library which cannot live in this interpreter.
"""

import gc
import itertools
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


def _nothing() -> None:
    """Enter no mode."""


#: Pause before a round, in seconds. The threads of NumPy's OpenBLAS keep a processor busy for about 0.1 s
#: after the last product, which would slow down whoever comes next.
SETTLE = 0.15


@dataclass(frozen=True)
class Run:
    """A contender, ready to be timed."""

    #: Computes the case once and returns its results, in the library's own types.
    call: Callable[[], Any]
    #: Puts a library's global switches (its execution mode) in place before a round of calls; not timed.
    enter: Callable[[], None] = _nothing
    #: The function and its arguments, where a recorded program of it says what the machine needs at best.
    recorded: tuple[Callable[..., Any], Sequence[Any]] | None = None
    #: Why the times are shown but not counted among the rivals', e.g. because less is computed than the case
    #: asks for; empty for a contender like the others. Its results are float64, whatever the case says.
    aside: str = ""


@dataclass(frozen=True)
class Case:
    """One workload at one size and dtype."""

    #: As it is spelled on the command line and in the tables, e.g. ``mlp/2-20x8-1/float32``.
    name: str
    #: Results in float64, in the order in which contenders return them.
    reference: Callable[[], Sequence[np.ndarray]]
    #: dtype that every result must have.
    dtype: str
    #: Allowed error of every result, relative to the norm of its reference.
    tolerance: float
    #: Factories by contender; the first one is what the ratios are relative to.
    contenders: Mapping[str, Callable[[], Run]] = field(repr=False)
    #: Contenders that take long to compile; they run when they are asked for.
    slow: Collection[str] = ()
    #: Times are also shown divided by this number of ``unit``.
    count: int = 1
    unit: str = ""


class WrongNumbersError(AssertionError):
    """A contender's results do not agree with the reference; its times would mean nothing."""


def leaves(results: Any) -> Iterator[np.ndarray]:
    """Arrays of a nesting of tuples and lists of any library's tensors, depth first."""
    if isinstance(results, tuple | list):
        for result in results:
            yield from leaves(result)
    elif hasattr(results, "asnumpy"):
        yield results.asnumpy()
    else:
        yield np.asarray(results)


def check(case: Case, results: Sequence[np.ndarray], dtype: str | None = None) -> float:
    """Largest relative error of ``results``; raises `WrongNumbersError` where one is above the tolerance."""
    dtype = dtype or case.dtype
    reference = [np.asarray(expected, dtype=np.float64) for expected in case.reference()]
    if len(results) != len(reference):
        raise WrongNumbersError(f"{case.name}: {len(results)} results, expected {len(reference)}")
    largest = 0.0
    for i, (result, expected) in enumerate(zip(results, reference, strict=True)):
        if result.shape != expected.shape or result.dtype != np.dtype(dtype):
            raise WrongNumbersError(
                f"{case.name}: result {i} has shape {result.shape} and dtype {result.dtype}, "
                f"expected {expected.shape} and {dtype}"
            )
        error = float(np.linalg.norm(result.astype(np.float64) - expected))
        error /= float(np.linalg.norm(expected)) or 1.0  # a result that should be zero: its own norm
        if not error <= case.tolerance:  # nan must fail too
            raise WrongNumbersError(
                f"{case.name}: result {i} has relative error {error:.1e}, allowed {case.tolerance:.0e}"
            )
        largest = max(largest, error)
    return largest


def prepare(case: Case, contender: str) -> tuple[Run, float]:
    """Build a contender; return it with its largest relative error, which `check` has found small enough.

    The first calls only warm up: libraries compile or record in them, and what will be timed, and is therefore
    checked, are the calls after them. Nor is the first always typical in its numbers: on a busy machine torch's first
    call was seen to be a hundred times less accurate than its second, in one process out of twenty.
    """
    run = case.contenders[contender]()
    run.enter()
    run.call()  # compiles, or records
    run.call()  # checks the recording
    dtype = "float64" if run.aside else case.dtype
    return run, max(check(case, list(leaves(run.call())), dtype) for _ in range(2))


def time_round(run: Run, number: int) -> float:
    """Seconds per call, over ``number`` calls in a row.

    A contender pays for what it does and for nobody else's doings: threads that the one before left spinning
    are given time to fall asleep, and the garbage is collected. The collector then stays on, as for users.
    """
    run.enter()
    call = run.call
    gc.collect()
    time.sleep(SETTLE)
    if number > 1:
        call()  # wakes the caches and the contender's own threads; nothing beside a call that takes long
    start = time.perf_counter()
    for _ in itertools.repeat(None, number):
        call()
    return (time.perf_counter() - start) / number


def calls_per_round(run: Run, seconds: float = 0.05) -> tuple[int, float]:
    """Calls that fill a round of about ``seconds``, and the seconds that one of them takes."""
    number = 1
    while True:
        per_call = time_round(run, number)
        if per_call * number >= seconds / 4:
            return max(1, round(seconds / per_call)), per_call
        number *= 4
