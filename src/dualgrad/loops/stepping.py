"""A loop as one instruction: run once, and reversed from states that are kept along the way.

The first run keeps no inner values. Its reverse rule visits the steps backwards: it runs the loop again from one of a
few kept states (`_schedule`), tapes one step, and pulls the cotangents through it. It is written on tensors, so higher
derivatives run the same schedule on duals, and nothing is ever differentiated through it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

from .. import dtype as _dtype
from .._engine.primitives.execute import unrepeatable
from .._engine.transforms.rematerialisation import (
    drawn,
    filled,
    kept,
    primal,
    pulled_back,
    recording,
    template_of,
    tensors_of,
    under_reverse,
    whole,
)
from ..random import get_state, put_state
from ..tensor import Tensor
from .schedule import default_states, first_states, schedule
from .steps import Given, Results, as_tensors, check_same, chosen, described, mapped

__all__ = ["Loop"]

SHORT = 64  # steps of a loop that is written out where a program is recorded
OVERHEAD = 400  # bytes of a tensor without its numbers

_INEXACT = {_dtype.float16.num, _dtype.float32.num, _dtype.float64.num, _dtype.complex64.num, _dtype.complex128.num}
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


class Loop:
    """One call of a loop.

    Parameters
    ----------
    name : str
        Of the function called, for messages.
    body : callable
        ``body(carry, given)`` returns (carry, result).
    given : Given
        What the steps are given.
    n : int or None
        The number of steps; None with `proceed`.
    reverse, listed : bool
        Whether the steps go from the last entry to the first; whether results are put in a list.
    checkpoints : int, str or None
        States kept for the reverse rule.
    proceed : callable, optional
        ``proceed(carry)`` tells whether there is another step.
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
    ) -> None:
        self.name = name
        self.body = body
        self.given = given
        self.n = n
        self.reverse = reverse
        self.listed = listed
        self.checkpoints = checkpoints
        self.proceed = proceed
        self.masked = False  # samples of a batch end at different steps
        self.keeps = False  # states on the first run
        self.saved: dict[int, tuple[Any, Any]] = {}
        self.starts: list[int] = []  # of the results of each step, in a list of the tensors of all

    def __call__(self, init: Any) -> tuple[Any, Any]:
        """Run the loop."""
        _checked_states(self.name, self.checkpoints)
        xs = self.given.tensors
        if recording():
            if self.n is None or self.n <= SHORT:
                return self.first(init, xs)
            unrepeatable(f"{self.name} of {self.n} steps is too long to be written down")
        self.template = template_of(init)
        self.count = len(tensors_of(init))
        self.keeps = under_reverse()
        return whole(self.name, self.first, self.forward, self.backward, (init, xs), False)

    def at(self, i: int) -> int:
        """The number of the entry that step i is given."""
        assert self.n is not None
        return self.n - 1 - i if self.reverse else i

    def step(self, i: int, carry: Any, leaves: list[Tensor]) -> tuple[Any, Any]:
        """One step."""
        k = self.at(i)
        result = self.body(carry, self.given.nest(leaves, k))
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise ValueError(f"{self.name}: the body returned {described(result)}; expected a pair (carry, result)")
        after, y = result
        check_same(self.name, carry, after, "the carry")
        if self.masked:
            assert self.proceed is not None
            after = chosen(self.proceed(carry), after, carry)
        return after, y

    def goes_on(self, i: int, carry: Any) -> bool:
        """Whether there is a step i, when the loop is run for the first time."""
        if self.proceed is None:
            return i < self.n  # type: ignore[operator]
        truth = self.proceed(carry)
        if isinstance(truth, Tensor):
            if truth.size != 1:
                raise ValueError(
                    f"{self.name}: cond returned a tensor of shape {truth.shape}; expected one truth value"
                )
            numbers = primal(truth)
            if numbers.size > 1:
                self.masked = True
                return bool(numbers.any())
        if recording() and i == SHORT:
            unrepeatable(f"{self.name} of more than {SHORT} steps is too long to be written down")
        return bool(truth)

    def first(self, init: Any, xs: list[Tensor]) -> tuple[Any, Any]:
        """The first run; it keeps the states that the reverse rule would keep first."""
        carry, results, i = init, Results(self.name, self.listed), 0
        if self.n is not None:
            self.states = self.number_of_states(self.n, init)
        steps = set()
        if self.n and not recording() and self.keeps:
            steps = set(first_states(self.n, self.states))
        counting = self.n is None
        while self.goes_on(i, carry):
            if counting:
                self.n = i + 1
            if i in steps:
                self.saved[i] = mapped(kept, carry), get_state() if drawn() else None
            carry, y = self.step(i, carry, self.given.leaves(xs, self.at(i)))
            if self.proceed is None:
                results.add(y)
            i += 1
        if counting:
            self.n = i
            self.states = self.number_of_states(i, init)
        if self.listed:
            self.starts = [0, *itertools.accumulate([len(tensors_of(y)) for y in results.entries])]
        return carry, results.finished(self.reverse)

    def number_of_states(self, n: int, init: Any) -> int:
        """How many states may be kept at a time."""
        if self.checkpoints is None:
            return default_states(n)
        if isinstance(self.checkpoints, int):
            return min(self.checkpoints, max(n, 1))
        nbytes = sum(primal(t).nbytes + OVERHEAD for t in tensors_of(init))
        return max(1, min(n, _bytes(self.checkpoints) // max(nbytes, 1)))

    def split(self, tensors: list[Tensor]) -> tuple[Any, list[Tensor], list[Tensor]]:
        """(initial carry, tensors of what the steps are given, captured tensors)."""
        init = filled(self.template, tensors[: self.count])
        end = self.count + len(self.given.tensors)
        return init, tensors[self.count : end], tensors[end:]

    def advanced(self, carry: Any, xs: list[Tensor], start: int, stop: int) -> Any:
        """The carry some steps on."""
        for i in range(start, stop):
            carry = self.step(i, carry, self.given.leaves(xs, self.at(i)))[0]
        return carry

    def forward(self, inside: Any, tensors: list[Tensor]) -> list[Tensor]:
        """All results again, on other values."""
        init, xs, captured = self.split(tensors)

        def run(init: Any, xs: list[Tensor]) -> tuple[Any, Any]:
            carry, results = init, Results(self.name, self.listed)
            for i in range(self.n or 0):
                carry, y = self.step(i, carry, self.given.leaves(xs, self.at(i)))
                if self.proceed is None:
                    results.add(y)
            return carry, results.finished(self.reverse)

        return tensors_of(inside.run(captured, run, init, xs))

    def backward(
        self, inside: Any, tensors: list[Tensor], wanted: list[int], cotangents: list[Any], first_order: bool
    ) -> list[Any]:
        """The cotangents of the wanted tensors: the steps backwards, from kept states."""
        n = self.n or 0
        init, xs, captured = self.split(tensors)
        sweep = _Sweep(self, inside, init, xs, captured, wanted, cotangents)
        saved = self.saved if first_order else {}
        at_start = get_state() if inside.draws else None
        states: dict[int, tuple[Any, Any]] = {0: (init, None)}
        descending = True
        for start, stop, keep in schedule(n, self.states):
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


class _Sweep:
    """Cotangents on their way back through a loop."""

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
        self.count = loop.count
        cotangents = cotangents + [None] * (self.count - len(cotangents))
        self.carry = cotangents[: self.count]
        self.ys = cotangents[self.count :]
        end = self.count + len(xs)
        self.of_xs = any(self.count <= j < end for j in wanted)
        self.of_captured = [j - end for j in wanted if j >= end]
        # Slopes pass integers only where one comes from outside: what is cast from a float to an integer has none.
        given = [*tensors_of(init), *xs, *captured]
        self.through_ints = any(given[j]._typenum not in _INEXACT for j in wanted)
        self.totals: list[Any] = [None] * len(captured)
        self.terms: dict[int, list[Any]] = {}

    def of_results(self, i: int) -> list[Any]:
        """The cotangents of what step i returned beside the carry."""
        if self.loop.proceed is not None or not self.ys:
            return []
        k = self.loop.at(i)
        if not self.loop.listed:
            return [None if ct is None else ct[k] for ct in self.ys]
        return self.ys[self.loop.starts[k] : self.loop.starts[k + 1]]

    def pull(self, i: int, carry: Any) -> None:
        """The cotangents before a step, from those after it."""
        loop = self.loop
        cts = [*self.carry, *self.of_results(i)]
        given = [j for j, ct in enumerate(cts) if ct is not None]
        if not given:
            return
        template = template_of(carry)
        inputs = tensors_of(carry)
        leaves = loop.given.leaves(self.xs, loop.at(i))
        at_x, at_captured = len(inputs), len(inputs) + len(leaves)

        def taped(*args: Tensor) -> tuple[Tensor, ...]:
            tensors = list(args)

            def step(carry: Any, leaves: list[Tensor]) -> list[Tensor]:
                after, y = loop.step(i, carry, leaves)
                return tensors_of((after, y if loop.listed else as_tensors(y)))

            before = filled(template, tensors[:at_x])
            found = self.inside.run(tensors[at_captured:], step, before, tensors[at_x:at_captured])
            return tuple([found[j] for j in given])

        tensors = [*inputs, *leaves, *self.captured]
        wanted = [j for j, t in enumerate(inputs) if self.has_slope(t)]
        along = len(wanted)
        if self.of_xs:
            wanted += [at_x + j for j, t in enumerate(leaves) if self.has_slope(t)]
        behind = len(wanted)
        wanted += [at_captured + j for j in self.of_captured]
        terms = pulled_back(loop.name, taped, tensors, tuple(wanted), tuple([cts[j] for j in given]))
        self.carry = [None] * self.count
        for j, term in zip(wanted[:along], terms[:along], strict=True):
            self.carry[j] = term
        if self.of_xs:
            of_x: list[Any] = [None] * len(leaves)
            for j, term in zip(wanted[along:behind], terms[along:behind], strict=True):
                of_x[j - at_x] = term
            self.terms[loop.at(i)] = of_x
        for j, term in zip(self.of_captured, terms[behind:], strict=True):
            self.totals[j] = term if self.totals[j] is None else self.totals[j] + term

    def has_slope(self, t: Tensor) -> bool:
        """Whether a tensor of the loop can have a cotangent."""
        return t._typenum in _INEXACT or (self.through_ints and not t.dtype.is_bool)

    def results(self) -> list[Any]:
        """The cotangents of the wanted tensors."""
        of_xs = list(self.loop.given.spread(self.terms, self.loop.n or 0)) if self.of_xs else [None] * len(self.xs)
        found = [*self.carry, *of_xs, *self.totals]
        return [found[j] for j in self.wanted]


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
