"""A loop of a recorded function as one instruction: its steps and the reverse steps, as functions of tensors.

The engine runs a few of them and makes one instruction of the loop (`_engine/trace/rolling.pyx`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._engine.primitives.execute import unrepeatable
from .._engine.transforms.rematerialisation import filled, template_of, tensors_of
from ..tensor import Tensor
from .schedule import visits
from .steps import Counted, Results, as_tensors, same_rest, state_of

if TYPE_CHECKING:
    from .._engine.trace.rolling import Rolled
    from .stepping import Loop, Sweep

__all__ = ["Ahead", "back", "can_roll", "impure"]


def impure(name: str) -> RuntimeError:
    """The error for a body whose steps ran more often than without a recording, if that makes a difference."""
    return RuntimeError(
        f"{name}: the body changes something that it depends on, beside the carry; make it a part of what is carried "
        f"along"
    )


def can_roll() -> bool:
    """True if a recording is active that turns loops into one instruction."""
    from .._engine.trace.rolling import rolls  # takes time to import, and not every program records

    return rolls()


class Ahead:
    """The steps of a loop that run while its instruction is made.

    Parameters
    ----------
    loop : Loop
        The loop.
    init : pytree
        The first carry.
    xs : list of Tensor
        The tensors whose entries the steps get.
    first : bool
        True in the first run of the loop, which must find out if the body is pure.
    """

    done: int

    carry: Any
    results: Results
    beyond: int

    def __init__(self, loop: Loop, init: Any, xs: list[Tensor], first: bool) -> None:
        from .._engine.trace.rolling import roll

        self.loop, self.first = loop, first
        self.template: Any = template_of(init)
        self.carry, self.results, self.done = init, Results(loop.name, False), 0
        self.states: list[Any] = []  # before each step, for the reverse rule
        self.beyond = 0  # steps run beyond the end of the loop
        self.fields: Any = None  # of the results y
        truth = None
        self.over: bool = False
        if loop.proceed is not None:
            truth = loop.truth(init)
            assert isinstance(truth, Tensor)
            self.over = not loop.holds(truth)
        reached = [*loop.given_by_users, self.template, loop.given.template] if first else None
        n = -1 if loop.proceed is not None or loop.n is None else loop.n
        counts = isinstance(loop.given, Counted)
        pick = (lambda k: loop.given.leaves(xs, k)) if first and loop.traced else None
        self.rolled: Rolled = roll(
            loop.name, self.step, tensors_of(init), xs, n, loop.reverse, truth, reached, counts=counts, pick=pick
        )
        if self.rolled.misled:
            self.carry, self.results, self.done, self.states = init, Results(loop.name, False), 0, []
        if self.rolled.impure and self.beyond:
            raise impure(loop.name)

    def step(self, tensors: list[Tensor], leaves: list[Tensor], k: int) -> tuple[list[Tensor], list[Tensor], Any]:
        """Run one step on tensors: (carry, results, truth value of another step)."""
        loop = self.loop
        before = filled(self.template, tensors)
        beyond = self.over
        self.beyond += beyond
        try:
            if self.first and loop.keeps:
                self.states.append(state_of(self.carry))
            entry = None if beyond or not self.first else self.done if loop.n is None else loop.at(self.done)
            after, y = loop.step(k, before, leaves, entry)
            if not same_rest(before, after):
                unrepeatable(f"{loop.name}: a part of the carry that is no Tensor changes from step to step")
            if not beyond:
                self.carry, self.done = after, self.done + 1
            if loop.proceed is not None:
                return tensors_of(after), [], self.after_step(after, beyond)
        except Exception:
            if not beyond:
                raise
            unrepeatable(f"{loop.name}: its body fails after the last step, where its program is looked for")
            return tensors, [], None
        self.results.add(y)
        return tensors_of(after), tensors_of(as_tensors(y)), None

    def after_step(self, carry: Any, beyond: bool) -> Any:
        """The truth value of another step."""
        truth = self.loop.truth(carry)
        if not isinstance(truth, Tensor):
            unrepeatable(f"{self.loop.name}: its condition is no Tensor")
            self.over = self.over or not truth
            return None
        self.over = not self.loop.holds(truth) or beyond
        return truth

    def finished(self) -> tuple[Any, Any, int]:
        """(the last carry, the stacked results, the number of steps)."""
        carry, made, count = self.rolled.result()
        ys = filled(self.results.template, made) if self.loop.proceed is None else None
        return filled(self.template, carry), ys, count


def back(sweep: Sweep, forward: Rolled, states: int | float | None) -> list[Any] | None:
    """The cotangents of a loop's inputs, by one instruction; None if its steps cannot be repeated."""
    from .._engine.trace.rolling import roll

    loop = sweep.loop
    count, n_xs = loop.count, len(sweep.xs)
    ys = [ct for ct in sweep.ys if ct is not None] if loop.proceed is None else []
    of_xs: list[int] = []

    def step(carry: list[Any], entries: list[Tensor], k: int) -> tuple[list[Any], list[Tensor], None]:
        state, leaves = entries[:count], entries[count : count + n_xs]
        given = iter(entries[count + n_xs :])
        of_ys = [] if loop.proceed is not None else [None if ct is None else next(given) for ct in sweep.ys]
        cts, of_x, terms = sweep.pulled(k, [*carry[:count], *of_ys], state, leaves)
        totals = [
            term if total is None else total if term is None else total + term
            for total, term in zip(carry[count:], terms, strict=True)
        ]
        of_xs[:] = [j for j, term in enumerate(of_x) if term is not None]
        return [*cts, *totals], [term for term in of_x if term is not None], None

    n = -1 if loop.proceed is not None or loop.n is None else loop.n
    start = [*sweep.carry, *[None] * len(sweep.captured)]
    rolled = roll(loop.name, step, start, [*sweep.xs, *ys], n, loop.reverse, before=forward)
    if not rolled.succeeded:
        return None
    found, made = forward.reversed_by(rolled, states, visits)
    stacked: list[Any] = [None] * n_xs
    for j, term in zip(of_xs, made, strict=True):
        stacked[j] = term
    return [*found[:count], *stacked, *found[count:]]
