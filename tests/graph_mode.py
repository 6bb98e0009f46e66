"""The suite in Graph mode: what a test differentiates is recorded and replayed, and compared with eager execution.

``pytest --mode graph`` installs a `Rehearsal`. It takes the outermost calls of a test: of Cells, of whatever the public
transforms make, and of those transforms that are called with a function (`jvp`, `root`, `scan` ...). Each such call is
executed

1. eagerly;
2. eagerly, twice, with everything deferred that can be: the second time that is computed by a plan;
3. recorded, twice: the first time that is eager execution in which equal steps are one; the second time everything is
   deferred that can be, and computed by the plan;
4. by the plain interpreter, step by step;
5. by the plan, as replayed functions are in use.

Before each run but the first, the tensors that a run changes and the source of random numbers are put back. So a test
sees these effects once, those of the last run, whose results it gets. Its own Python (a list that is appended to) runs
three times.

*The rule.* The first recording and run 4 give the results and effects of run 1 bit for bit (one nan is as good as
another). The second recording and run 5 give the same numbers, the sign of a zero aside, unless the plan is complex, or
adds numbers up or multiplies matrices, which blocks of rows may do in another order: then an array may be off by
`ROUNDING` units in the last place of its largest number. The same holds for runs 3 to 5 of a call that meets a loop or
a recomputed block, whose steps are differentiated one by one while recording and as a whole otherwise, or a
differential equation, whose steps are programs from the third on. It holds for runs 2 as well, in units of the largest
number of all results. An error has to be the same error.

A function that cannot be replayed is compared as far as it gets; the summary after the tests counts these calls and
says why.
"""

from __future__ import annotations

import collections
import functools
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from engine import capture, deferring, open_levels
from ways import programs_run

import dualgrad as dg
from dualgrad import Tensor, random
from dualgrad._engine.arrays.array import install
from dualgrad._engine.trace import cache, recordings
from dualgrad._engine.trace.signature import ByIdentity
from dualgrad._engine.transforms.handles import TensorBase, watch_rebinding
from dualgrad._engine.transforms.rematerialisation import recording
from dualgrad.loops import stepping
from dualgrad.ode import events, integrate
from dualgrad.ode.flow import flow
from dualgrad.programs._comparison import ROUNDING, difference, in_order, numbers
from dualgrad.testing import Calls

# Guards are to take the functions below, which stand in for those of the package, for a part of it.
sys.modules.setdefault("dualgrad.rehearsal", sys.modules[__name__])  # not the copy that is searched for examples
__name__ = "dualgrad.rehearsal"

#: public functions that make a function of another one
MAKERS = ("vmap", "laplacian", "biharmonic", "mixed_partial", "derivatives", "divergence", "curl")
#: public functions that call one
CALLERS = ("jvp", "scan", "fori_loop", "while_loop", "fixed_point", "root", "argmin", "linear_solve")
#: public functions that return a value and a function
LINEAR = ("vjp", "linearize")

RECORDINGS = 6  # after so many a function is replayed, or runs eagerly for ever


class _Call(threading.local):
    """What is known of the call that a thread rehearses."""

    busy = False
    recording = False  # not the eager run
    noting = False
    unrolled = False  # a loop or a block was met while recording
    key: Any = None
    start = 0  # handles of an earlier birth were there before the call
    before: dict[int, tuple[TensorBase, Tensor]]  # those that the call changes, with their first values


@contextmanager
def eager_runs_unmentioned():
    """No warning of what runs eagerly. Filters of warnings belong to the process, and are an error's condition: a
    recording of another thread would see them change, so only the main thread sets them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* runs eagerly")
        yield


class Rehearsal:
    """The runs of each outermost call, and what came of them."""

    _outside_of_programs = True

    def __init__(self) -> None:
        self.outcomes: collections.Counter[str] = collections.Counter()
        self._call = _Call()
        # whether a program of a function has loops in it, and whether all its plans keep the order of operations
        self._plans: dict[Any, tuple[bool, bool]] = {}
        self._call_recorded = cache.call_recorded

    # ------------------------------------------------------------------------------------------------ calls taken over

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Inside the block, outermost calls go through this object."""
        patched = [(cache, "call_recorded", self._call_recorded, self._recorded)]
        patched += [
            (m, "recording", recording, self._unrolling)
            for m in (stepping, import_module("dualgrad.transforms.recompute"))
        ]
        patched += [(m, "flow", flow, self._solving) for m in (events, integrate)]
        patched += [place for name in (*MAKERS, *CALLERS, *LINEAR) for place in self._places(name)]
        for module, name, _, new in patched:
            setattr(module, name, new)
        install(cell_called=self._cell_called)
        checked = recordings.check_programs(self._confirmed)
        watched = watch_rebinding(self._note)
        try:
            yield
        finally:
            watch_rebinding(watched)
            recordings.check_programs(checked)
            install(cell_called=cache.cell_called)
            for module, name, old, _ in patched:
                setattr(module, name, old)

    def _places(self, name: str) -> Iterator[tuple[Any, str, Any, Any]]:
        """A public function wherever users reach it, and what takes its place."""
        old = getattr(dg, name)
        new = self._wrapped(name, old)
        for path in ("dualgrad", "dualgrad.ops", "dualgrad.operators"):
            if getattr(import_module(path), name, None) is old:
                yield import_module(path), name, old, new

    def _wrapped(self, name: str, old: Callable) -> Callable:
        @functools.wraps(old)
        def new(*args: Any, **kwargs: Any) -> Any:
            if not self._outermost():
                return old(*args, **kwargs)
            if name in CALLERS:
                return self._recorded(("caller", name), None, name, old, args, kwargs)
            found = old(*args, **kwargs)
            if name in MAKERS:
                return self._made(name, found) if callable(found) else found
            return (found[0], self._made(name, found[1]), *found[2:])

        return new

    def _made(self, name: str, fn: Callable) -> Callable:
        """A function that a transform has made."""

        @functools.wraps(fn)
        def made(*args: Any, **kwargs: Any) -> Any:
            if not self._outermost():
                return fn(*args, **kwargs)
            return self._recorded(("made", ByIdentity(fn)), None, name, fn, args, kwargs)

        return made

    def _unrolling(self) -> bool:
        """In the place of `recording`, by which loops and blocks choose how they run."""
        self._call.unrolled = self._call.unrolled or recording()
        return recording()

    def _solving(self, *args: Any) -> Any:
        """In the place of `flow`, by which differential equations are solved."""
        self._call.unrolled = True
        return flow(*args)

    def _outermost(self) -> bool:
        graph = dg.get_context("mode") == dg.GRAPH_MODE
        return graph and not (self._call.busy or recording() or open_levels())

    def _cell_called(self, cell: Any, args: tuple, kwargs: dict) -> Any:
        if self._call.busy and not self._call.recording and not recording():
            return cell.construct(*args, **kwargs)
        if self._call.busy or recording() or open_levels():
            return cache.cell_called(cell, args, kwargs)
        return self._recorded(("cell", id(cell)), cell, type(cell).__name__, cell.construct, args, kwargs, cell)

    def _recorded(
        self,
        key: Any,
        alive: Any,
        name: str,
        call: Callable,
        args: tuple,
        kwargs: dict,
        fn: Any = None,
        parts: Any = None,
    ) -> Any:
        """An outermost call, in the place of the engine's `call_recorded`."""
        fn = call if fn is None else fn
        if self._call.recording:
            return self._call_recorded(key, alive, name, call, args, kwargs, fn, parts)
        if self._call.busy:
            return call(*args, **kwargs)
        self._call.busy = True
        try:
            return self._rehearse(key, alive, name, call, args, kwargs, fn)
        finally:
            self._call.busy = False

    # ------------------------------------------------------------------------------------------------------- the runs

    def _rehearse(self, key: Any, alive: Any, name: str, call: Callable, args: tuple, kwargs: dict, fn: Any) -> Any:
        calls = Calls()
        counted = calls.counted(call)
        if alive is not None and key not in self._plans:  # the key has its id, which another Cell may get
            weakref.finalize(alive, self._plans.pop, key, None).atexit = False

        def as_recorded() -> Any:
            calls.clear()
            self._call.recording = True
            try:
                return self._call_recorded(key, alive, name, counted, args, kwargs, fn)
            finally:
                self._call.recording = False

        capture(list, ())  # what is made from here on has a later birth
        self._call.start = Tensor(0.0)._birth
        self._call.before = {}
        self._call.key = key
        self._call.noting = True
        self._call.unrolled = False
        again = Repetition(self._call.before)
        try:
            outcome, expected = again(lambda: call(*args, **kwargs))
        finally:
            self._call.noting = False
        with programs_run("deferred"), eager_runs_unmentioned():
            for way in ("each deferred array", "what is deferred"):
                found = again(lambda: deferring(call, args, kwargs))[1]
                check(name, way, found, expected, ROUNDING, largest(expected[0]))
        with eager_runs_unmentioned():
            for run in range(RECORDINGS):
                with programs_run("deferred" if run else "executed"):
                    outcome, found = again(as_recorded)
                if not calls:
                    break
                rounding = self._rounding(key, run == 0) if run == 0 or key in self._plans else ROUNDING
                check(name, f"recording {run + 1}", found, expected, rounding)
                if outcome[1] is not None or cache.why_eager(key, alive, args, kwargs) is not None:
                    break
            if calls:
                why = cache.why_eager(key, alive, args, kwargs) or (
                    "an error is raised" if outcome[1] is not None else "not recorded"
                )
                self.outcomes[f"ran eagerly: {why}"] += 1
            else:
                rounding = self._rounding(key, False)
                check(name, "the plan", found, expected, rounding)
                with programs_run("interpreted"):
                    check(name, "the interpreter", again(as_recorded)[1], expected, self._rounding(key, True))
                outcome, found = again(as_recorded)
                check(name, "the plan", found, expected, rounding)
                self.outcomes["replayed, to rounding" if rounding else "replayed, bit for bit"] += 1
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    def _rounding(self, key: Any, step_by_step: bool) -> float | None:
        """How far a run may be off; None for the same bits."""
        unrolled, in_order = self._plans.get(key, (False, True))
        unrolled = unrolled or self._call.unrolled
        if step_by_step and not unrolled:
            return None
        return ROUNDING if unrolled or not in_order else 0.0

    def _note(self, handle: TensorBase) -> None:
        """A handle is about to get a new value."""
        if self._call.noting and handle._birth < self._call.start:
            self._call.before.setdefault(id(handle), (handle, handle._detached()))

    def _confirmed(self, program: Any, plan: Any) -> None:
        key = self._call.key
        unrolled, ordered = self._plans.get(key, (False, True))
        self._plans[key] = (unrolled or self._call.unrolled, ordered and (plan is None or in_order(plan)))


class Repetition:
    """Runs of one call, each from where the first began."""

    def __init__(self, before: dict[int, tuple[TensorBase, Tensor]]) -> None:
        self.before = before
        self.generator = random.generator()
        self.state = random.get_state()

    def __call__(self, run: Callable[[], Any]) -> tuple[tuple[Any, Exception | None], Any]:
        """What a run returns or raises, and the numbers of that, the effects included."""
        for handle, value in self.before.values():
            handle._rebind(value)
        if random.generator() is self.generator:
            random.put_state(self.state)
        result = error = None
        try:
            result = run()
        except Exception as raised:
            error = raised
        effects = [numbers(handle) for handle, _ in self.before.values()]
        return (result, error), [numbers(result), effects, error and (type(error), str(error))]


def largest(nest: Any) -> float:
    """The largest finite number in a nest of arrays. A derivative may be a small difference of numbers of that size."""
    if isinstance(nest, list | dict):
        return max(map(largest, nest.values() if isinstance(nest, dict) else nest), default=0.0)
    if not isinstance(nest, np.ndarray) or nest.dtype.kind not in "fc":
        return 0.0
    return float(np.abs(nest[np.isfinite(nest)]).max(initial=0.0))


def check(name: str, way: str, found: Any, expected: Any, rounding: float | None, scale: float = 0.0) -> None:
    """Raise AssertionError where two nests of numbers differ."""
    where = difference(found, expected, rounding, scale=scale)
    assert where is None, f"{name}: {way} differs from eager execution: {where}\nErrors: {found[-1]}, {expected[-1]}"
