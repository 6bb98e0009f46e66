"""A loop as one instruction: run once, and reversed from states that are kept along the way.

A loop with a small trace is traced like a Python loop. For any other loop the first run keeps no inner values. Its
reverse rule visits the steps backwards: it runs the loop again from one of a few kept states (`_schedule`), tapes one
step, and pulls the cotangents through it. The rule is written on tensors, so higher derivatives run the same schedule
on duals, and the loop itself is never differentiated through.

A step may depend on a Python object that has changed since the first run. So the operations of a repeated step are
compared with its first operations (`watched`). And where the sweep reaches the last state that the first run kept, both
states must be equal. Deferred numbers have other rounding errors, and are not compared.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

from .. import dtype as _dtype
from .._engine.primitives.execute import is_written_down, unrepeatable
from .._engine.transforms.rematerialisation import (
    bindings,
    check_bindings,
    filled,
    function_in_words,
    kept,
    new_trail,
    own_containers,
    primal,
    pulled_back,
    recording,
    template_of,
    tensors_of,
    too_long,
    under_reverse,
    watched,
    whole,
    written_out,
)
from ..random import get_state, put_state
from ..tensor import Tensor
from ..transforms.closed import closed
from .rolling import Ahead, back, can_roll, impure
from .schedule import default_states, first_states, schedule
from .steps import Counted, Given, Results, as_tensors, check_same, chosen, described, in_order, mapped, state_of

__all__ = ["Loop", "Sweep"]

SHORT = 64  # most steps of a loop that a recorded program unrolls
SMALL = 2**19  # most bytes of a kept trace
OVERHEAD = 400  # bytes of a tensor without its numbers

_INEXACT = {_dtype.float16.num, _dtype.float32.num, _dtype.float64.num, _dtype.complex64.num, _dtype.complex128.num}
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


class Loop:
    """One call of a loop.

    Parameters
    ----------
    name : str
        The called function, for messages.
    body : callable
        ``body(carry, given)`` returns (carry, result).
    given : Given
        The source of the steps' inputs.
    n : int or None
        The number of steps; None with `proceed`.
    reverse, listed : bool
        Run the steps from the last entry to the first; put the results in a list.
    checkpoints : int, str or None
        The number or size of the states kept for the reverse rule.
    proceed : callable, optional
        ``proceed(carry)`` decides about another step.
    calls : callable, optional
        The user's function that the body calls; by default the body itself.
    """

    def __init__(
        self,
        name: str,
        body: Callable[[Any, Any], tuple[Any, Any]],
        given: Given,
        n: int | None,
        *,
        reverse: bool = False,
        listed: bool = False,
        checkpoints: Any = None,
        proceed: Callable[[Any], Any] | None = None,
        calls: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.body = body
        self.given = given
        self.n = n
        self.reverse = reverse
        self.listed = listed
        self.checkpoints = checkpoints
        self.proceed = proceed
        self.given_by_users: list[Callable[..., Any]] = [f for f in (calls or body, proceed) if f is not None]
        self.masked: bool = False  # samples of a batch end at different steps
        self.keeps: bool = False  # the first run keeps states
        self.traced: bool = False  # the steps are traced like steps of a Python loop
        self.written_out: bool = False  # the steps are unrolled in a program
        self.saved: dict[int, tuple[Any, Any]] = {}
        self.noted: dict[int, int] = {}  # entry -> a digest of its step's operations, if it is not the usual one
        self.usual: dict[bool, int] = {}  # True if the number of the step is symbolic -> the usual digest
        self.trail: Any = new_trail()  # the operations of a usual step
        self.runs_first: bool = True
        self.counts: bool = isinstance(given, Counted)
        self.unseen: set[int] = set()  # entries whose step got a symbolic number
        self.rolled: Any = None  # the instruction made in the first run, or the attempt at it
        self.starts: list[int] = []  # where the results of each step start in the list of all their tensors

    def __call__(self, init: Any) -> tuple[Any, Any]:
        """Run the loop."""
        _checked_states(self.name, self.checkpoints)
        xs = self.given.tensors
        self.template: Any = template_of(init)
        self.count: int = len(tensors_of(init))
        if recording() and not self.may_be_rolled_up(init):
            if self.n is None or self.n <= SHORT:
                self.written_out = True
                return written_out(self.first, init, xs)
            unrepeatable(f"{self.name} of {self.n} steps is too long to be written down")
        self.keeps = under_reverse()
        self.traced = self.keeps and self.checkpoints is None
        found = whole(self.name, self.first, self.forward, self.backward, (init, xs), False, self.traced)
        self.runs_first = False
        if self.traced:
            self.saved.clear()
            return found
        self.body, self.proceed = closed(self.body), closed(self.proceed)  # a derivative may run them later
        return found

    def may_be_rolled_up(self, init: Any, truth: Callable[[Any], Any] | None = None) -> bool:
        """True if the loop becomes one instruction of the recorded program.

        `truth` is its condition, if that does not run inside the closed call.
        """
        if self.listed or not can_roll():
            return False
        if self.proceed is None:
            return self.n is not None and self.n > SHORT
        return isinstance((truth or self.truth)(init), Tensor)

    def at(self, i: int) -> int:
        """The number of the entry that step i gets."""
        assert self.n is not None
        return self.n - 1 - i if self.reverse else i

    def step(self, k: int, carry: Any, leaves: list[Tensor], entry: int | None = None) -> tuple[Any, Any]:
        """Run the step that gets entry k; `entry` is its number if k is symbolic."""
        given = self.given.nest(leaves, k)
        before = bindings((carry, given)) if recording() else []
        own = own_containers(carry)  # a copy, since the body may change its lists and dicts
        result = self.compared(k, k if type(k) is int else entry, own, given)
        check_bindings(self.name, before)
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise ValueError(f"{self.name}: the body returned {described(result)}; expected a pair (carry, result)")
        after, y = result
        if not check_same(self.name, carry, after, "the carry"):
            after = in_order(self.name, carry, after)
        if self.masked:
            assert self.proceed is not None
            after = chosen(self.proceed(carry), after, carry)
        return after, y

    def compared(self, k: int, entry: int | None, carry: Any, given: Any) -> Any:
        """Call the body. Raises if its operations differ from those in the first run."""
        symbolic = self.counts and type(k) is not int  # such a step cannot be compared with one that gets an int
        usual = self.usual.get(symbolic)
        expected = usual if symbolic or entry is None else self.noted.get(entry, usual)
        trail = self.trail if (usual is None) == self.runs_first and expected == usual else None
        result, noted, again, where = watched(self.body, trail, carry, given)
        if not again:
            if symbolic and entry is not None:
                self.unseen.add(entry)
            self.usual.setdefault(symbolic, noted)
            if entry is not None and not symbolic and noted != self.usual[symbolic]:
                self.noted[entry] = noted
            return result
        known = entry in self.noted or (usual is not None and entry not in self.unseen)
        if not symbolic and not known and True in self.usual:  # the first run got a symbolic number
            if entry is None or self.rolled is None or not self.rolled.is_pure():
                raise self.changed("")
            self.noted[entry] = noted
        elif expected is not None and noted != expected:
            raise self.changed(where)
        return result

    def changed(self, where: str) -> RuntimeError:
        """The error for a step that depends on other things than its inputs."""
        return RuntimeError(
            f"{self.name}: a step gave another result when it was run again to be differentiated, or computed it in "
            f"another way{where}: {function_in_words(self.given_by_users[0])}. So the gradient would be that of "
            f"another function. What the steps compute has to follow from what they are given and the tensors that "
            f"they read: let no variable of theirs change before the derivative is taken (carry it along, or write a "
            f"Python loop), make tensors that are kept from call to call before the loop, and draw random numbers with "
            f"dualgrad"
        )

    def truth(self, carry: Any) -> Any:
        """The condition's value for a carry."""
        assert self.proceed is not None
        try:
            truth = self.proceed(carry)
        except TypeError as error:
            if type(error) is not TypeError:  # of dualgrad, which says itself what to do
                raise
            raise TypeError(f"{self.name}: cond does not take what the loop carries: {error}") from error
        if isinstance(truth, Tensor) and truth.size != 1:
            raise ValueError(f"{self.name}: cond returned a tensor of shape {truth.shape}; expected one truth value")
        return truth

    def holds(self, truth: Tensor) -> bool:
        """True if a truth value holds for at least one sample. The recording does not notice the read."""
        from .._engine.trace.rolling import truth_of

        found, many = truth_of(truth)
        self.masked = self.masked or many
        return found

    def goes_on(self, i: int, carry: Any) -> bool:
        """True if there is a step i, in the first run of the loop."""
        if self.proceed is None:
            return i < self.n  # type: ignore[operator]
        truth = self.truth(carry)
        if isinstance(truth, Tensor):
            numbers = primal(truth)
            if numbers.size > 1:
                self.masked = True
                return bool(numbers.any())
        if recording() and i == SHORT:
            unrepeatable(f"{self.name} of more than {SHORT} steps is too long to be written down")
        return bool(truth)

    def first(self, init: Any, xs: list[Tensor]) -> tuple[Any, Any]:
        """The first run. It keeps the states that the reverse rule keeps first."""
        carry, results, i = init, Results(self.name, self.listed), 0
        counting = self.n is None
        states: list[Any] = []
        steps: set[int] = set()
        if recording() and self.may_be_rolled_up(init):
            ahead = Ahead(self, init, xs, True)
            self.rolled = ahead.rolled
            if ahead.rolled.succeeded and too_long(-1):
                self.traced = False
                carry, ys, self.n = ahead.finished()
                return carry, ys
            unrepeatable(f"{self.name}: a step uses a value of a derivative around it")
            carry, results, i = ahead.carry, ahead.results, ahead.done
            states = ahead.states[:i]
        if self.n and not counting and not recording() and self.keeps:
            steps = set(first_states(self.n, self.number_of_states(self.n, init)))
            self.saved = {k: state for k, state in enumerate(states) if k in steps}
        self.traced = self.traced and not (i and self.outgrown(i))
        while self.goes_on(i, carry):
            if counting:
                self.n = i + 1
            if i in steps:
                self.saved[i] = state_of(carry)
            k = self.at(i)
            carry, y = self.step(k, carry, self.given.leaves(xs, k))
            if self.proceed is None:
                results.add(y)
            if i == 0 and self.rolled is not None and not self.rolled.is_pure():
                raise impure(self.name)  # this step has run before, with a symbolic number
            i += 1
            self.traced = self.traced and not self.outgrown(i)
        if counting:
            self.n = i
        if self.keeps and not is_written_down():
            self.saved[i] = mapped(kept, carry), None
        if self.listed:
            self.starts = [0, *itertools.accumulate([len(tensors_of(y)) for y in results.entries])]
        return carry, results.finished(self.reverse)

    def outgrown(self, i: int) -> bool:
        """True if there is no trace of the first i steps, or it is too long to be kept."""
        return too_long(SMALL if self.proceed else SMALL * (i + 4) // (self.n or 1))

    def number_of_states(self, n: int, init: Any) -> int:
        """The number of states to keep at a time."""
        if self.checkpoints is None:
            return default_states(n)
        if isinstance(self.checkpoints, int):
            return min(self.checkpoints, max(n, 1))
        nbytes = sum(primal(t).nbytes + OVERHEAD for t in tensors_of(init))
        return max(1, min(n, _bytes(self.checkpoints) // max(nbytes, 1)))

    def split(self, tensors: list[Tensor]) -> tuple[Any, list[Tensor], list[Tensor]]:
        """(initial carry, tensors of the steps' inputs, captured tensors)."""
        init = filled(self.template, tensors[: self.count])
        end = self.count + len(self.given.tensors)
        return init, tensors[self.count : end], tensors[end:]

    def advanced(self, carry: Any, xs: list[Tensor], start: int, stop: int) -> Any:
        """The carry after the steps from `start` to `stop`."""
        for i in range(start, stop):
            carry = self.step(self.at(i), carry, self.given.leaves(xs, self.at(i)))[0]
        return carry

    def forward(self, inside: Any, tensors: list[Tensor]) -> list[Tensor]:
        """Compute all results again, on other values."""
        init, xs, captured = self.split(tensors)

        def run(init: Any, xs: list[Tensor]) -> tuple[Any, Any]:
            carry, results, start = init, Results(self.name, self.listed), 0
            if recording() and self.may_be_rolled_up(init):
                ahead = Ahead(self, init, xs, False)
                if ahead.rolled.succeeded:
                    return ahead.finished()[:2]
                carry, results, start = ahead.carry, ahead.results, ahead.done
            for i in range(start, self.n or 0):
                carry, y = self.step(self.at(i), carry, self.given.leaves(xs, self.at(i)))
                if self.proceed is None:
                    results.add(y)
            return carry, results.finished(self.reverse)

        return tensors_of(inside.run(captured, run, init, xs))

    def backward(
        self, inside: Any, tensors: list[Tensor], wanted: list[int], cotangents: list[Any], first_order: bool
    ) -> list[Any]:
        """The cotangents of the wanted tensors, by running the steps backwards from kept states."""
        n = self.n or 0
        init, xs, captured = self.split(tensors)
        sweep = Sweep(self, inside, init, xs, captured, wanted, cotangents)
        symbolic = not self.counts or True in self.usual
        if (
            recording()
            and symbolic
            and self.may_be_rolled_up(init, lambda carry: inside.run(captured, self.truth, carry))
        ):
            found = self.rolled_back(sweep, init)
            if found is not None:
                return [found[j] for j in wanted]
        saved = self.saved if first_order else {}
        at_start = get_state() if inside.draws else None
        states: dict[int, tuple[Any, Any]] = {0: (init, None)}
        descending = True
        for start, stop, keep in schedule(n, self.number_of_states(n, init)):
            descending = descending and keep
            if descending and stop in saved:
                states[stop] = saved[stop]
                continue
            carry, random = states[start]
            if inside.draws:
                put_state(at_start if random is None else random)
            if stop > start:
                carry = inside.run(captured, self.advanced, carry, xs, start, stop)
            if keep:
                states[stop] = carry, get_state() if inside.draws else None
                continue
            if stop == start:
                del states[start]
            sweep.pull(stop, carry)
        return sweep.results()

    def rolled_back(self, sweep: Sweep, init: Any) -> list[Any] | None:
        """The cotangents of all inputs, by one instruction of a recording; None if that is not possible."""
        found: list[Ahead] = []

        def ahead(init: Any, xs: list[Tensor]) -> tuple[()]:
            found.append(Ahead(self, init, xs, False))
            return ()

        sweep.inside.run(sweep.captured, ahead, init, sweep.xs)
        if not found[0].rolled.succeeded:
            return None
        states = self.checkpoints
        return back(sweep, found[0].rolled, float(_bytes(states)) if isinstance(states, str) else states)


class Sweep:
    """Cotangents on their way backwards through a loop."""

    loop: Loop
    inside: Any
    xs: list[Tensor]
    captured: list[Tensor]
    wanted: list[int]
    carry: list[Any]

    def __init__(
        self,
        loop: Loop,
        inside: Any,
        init: Any,
        xs: list[Tensor],
        captured: list[Tensor],
        wanted: list[int],
        cotangents: list[Any],
    ) -> None:
        self.loop, self.inside, self.xs, self.captured, self.wanted = loop, inside, xs, captured, wanted
        self.count: int = loop.count
        cotangents = cotangents + [None] * (self.count - len(cotangents))
        self.carry = cotangents[: self.count]
        self.ys: list[Any] = cotangents[self.count :]
        end = self.count + len(xs)
        self.of_xs: bool = bool([j for j in wanted if self.count <= j < end])
        self.of_captured: list[int] = [j - end for j in wanted if j >= end]
        #     # Cotangents pass integers only if one arrives from outside: a cast from float to integer has no slope.
        given = [*tensors_of(init), *xs, *captured]
        self.through_ints: bool = bool([j for j in wanted if given[j]._typenum not in _INEXACT])
        self.totals: list[Any] = [None] * len(captured)
        self.terms: dict[int, list[Any]] = {}

    def of_results(self, i: int) -> list[Any]:
        """The cotangents of the results y of step i."""
        if self.loop.proceed is not None or not self.ys:
            return []
        k = self.loop.at(i)
        if not self.loop.listed:
            return [None if ct is None else ct[k] for ct in self.ys]
        return self.ys[self.loop.starts[k] : self.loop.starts[k + 1]]

    def pull(self, i: int, carry: Any) -> None:
        """Pull the cotangents through step i."""
        k = self.loop.at(i)
        self.carry, of_x, terms = self.pulled(
            k, [*self.carry, *self.of_results(i)], tensors_of(carry), self.loop.given.leaves(self.xs, k), carry
        )
        if self.of_xs:
            self.terms[k] = of_x
        for j, term in enumerate(terms):
            if term is not None:
                self.totals[j] = term if self.totals[j] is None else self.totals[j] + term

    def pulled(
        self, k: int, cts: list[Any], inputs: list[Tensor], leaves: list[Tensor], carry: Any = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """The cotangents of the carry before the step with entry k, of the entry, and of captured tensors."""
        loop = self.loop
        template = loop.template if carry is None else template_of(carry)
        before: list[Any] = [None] * self.count
        of_x: list[Any] = [None] * len(leaves)
        terms: list[Any] = [None] * len(self.captured)
        given = [j for j, ct in enumerate(cts) if ct is not None]
        if not given:
            return before, of_x, terms
        at_x, at_captured = len(inputs), len(inputs) + len(leaves)

        def taped(*args: Tensor) -> tuple[Tensor, ...]:
            tensors = list(args)

            def step(carry: Any, leaves: list[Tensor]) -> list[Tensor]:
                after, y = loop.step(k, carry, leaves)
                return tensors_of((after, y if loop.listed else as_tensors(y)))

            now = filled(template, tensors[:at_x])
            found = self.inside.run(tensors[at_captured:], step, now, tensors[at_x:at_captured])
            self.check(k, found)
            return tuple([found[j] for j in given])

        wanted = [j for j, t in enumerate(inputs) if self.has_slope(t)]
        if self.of_xs:
            wanted += [at_x + j for j, t in enumerate(leaves) if self.has_slope(t)]
        wanted += [at_captured + j for j in self.of_captured]
        found = pulled_back(
            loop.name, taped, [*inputs, *leaves, *self.captured], tuple(wanted), tuple([cts[j] for j in given])
        )
        for j, term in zip(wanted, found, strict=True):
            if j < at_x:
                before[j] = term
            elif j < at_captured:
                of_x[j - at_x] = term
            else:
                terms[j - at_captured] = term
        return before, of_x, terms

    def check(self, k: int, found: list[Tensor]) -> None:
        """Compare the carry after the step with entry k with the first run's state there, if it was kept."""
        if is_written_down():
            return
        state = self.loop.saved.get(self.loop.at(k) + 1)
        if state is None or same_numbers(found, tensors_of(state[0])):
            return
        raise self.loop.changed("")

    def has_slope(self, t: Tensor) -> bool:
        """True if a tensor of the loop can have a cotangent."""
        return t._typenum in _INEXACT or (self.through_ints and not t.dtype.is_bool)

    def results(self) -> list[Any]:
        """The cotangents of the wanted tensors."""
        of_xs = list(self.loop.given.spread(self.terms, self.loop.n or 0)) if self.of_xs else [None] * len(self.xs)
        found = [*self.carry, *of_xs, *self.totals]
        return [found[j] for j in self.wanted]


def same_numbers(tensors: list[Tensor], others: list[Tensor]) -> bool:
    """True if the tensors have the same bits, up to the length of the shorter list."""
    n = min(len(tensors), len(others))
    return [primal(t).tobytes() for t in tensors[:n]] == [primal(t).tobytes() for t in others[:n]]


def _bytes(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmg]?i?)b\s*", text.lower())
    if found is None or found[2] not in _UNITS:
        raise ValueError(text)
    return int(float(found[1]) * _UNITS[found[2]])


def _checked_states(name: str, checkpoints: Any) -> None:
    if checkpoints is None:
        return
    if isinstance(checkpoints, str):
        try:
            _bytes(checkpoints)
        except ValueError:
            raise ValueError(
                f"{name}: checkpoints is {checkpoints!r}; expected a number of states, or bytes such as '64 MB'"
            ) from None
    elif isinstance(checkpoints, bool) or not isinstance(checkpoints, int):
        raise TypeError(f"{name}: checkpoints is a {type(checkpoints).__name__}; expected an int, a str or None")
    elif checkpoints < 1:
        raise ValueError(f"{name}: checkpoints is {checkpoints}; expected 1 state at least")
