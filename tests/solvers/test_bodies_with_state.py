"""Bodies of loops and blocks that read and write variables of Python: their derivative is right, or refused."""

import inspect
import warnings
from collections import Counter

import numpy as np
import pytest
import random_bodies
from random_bodies import ALONG, LOOPS, MOVES, READINGS, Program, State, X, f64, python_loop

import dualgrad as dg
from dualgrad import ops

pytestmark = pytest.mark.eager("chooses by itself what is recorded")


def outcomes(seeds, pure=False):
    found, wrong = Counter(), []
    for seed in seeds:
        program = Program(seed, pure)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a function runs eagerly
            outcome = program.outcome()
        found[outcome if outcome in ("equal", "refused") else "wrong"] += 1
        if outcome not in ("equal", "refused"):
            wrong.append(f"{program}: {outcome}")
    return found, wrong


def test_random_bodies():
    found, wrong = outcomes(range(60))
    assert wrong == []
    assert found["equal"] >= 30


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(20))
def test_many_random_bodies(part):
    found, wrong = outcomes(range(100 * part, 100 * part + 100))
    print(dict(found))
    assert wrong == []
    assert found["equal"] >= 40


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 1000), marks=pytest.mark.exhaustive)])
def test_pure_bodies_are_not_refused(seeds):
    assert outcomes(seeds, pure=True) == ({"equal": len(seeds)}, [])


RUN_AGAIN = [name for name in LOOPS if "few" in name or "recompute" in name]


def derivative(loop, move, flag, mode, toggled):
    """The derivative where the flag that the move reads has been turned before it is taken."""
    s = State(0)
    step = lambda c, t, w: 0.9 * ops.sin(MOVES[move](s, s.flag, c, t, w)) + 0.1 * t * w
    ts = f64(np.linspace(0.1, 1.0, 10).reshape(5, 2))

    def f(w):
        s.flag = flag
        y = loop(step, w * 0.5, ts, w)
        s.flag = s.flag != toggled
        return (y * y).sum()

    return mode(f)(f64(X)).asnumpy()


ORDERS = {
    "grad": dg.grad,
    "jvp of grad": lambda f: lambda x: dg.jvp(dg.grad(f), (x,), (f64(ALONG),))[1],
}


@pytest.mark.parametrize(
    "loop",
    [
        "scan of few states",
        "recompute",
        *[
            pytest.param(name, marks=pytest.mark.exhaustive)
            for name in RUN_AGAIN
            if name not in ("scan of few states", "recompute")
        ],
    ],
)
@pytest.mark.parametrize("move", MOVES)
def test_each_thing_that_a_body_executes_is_compared(move, loop):
    """A body that goes the other way when it runs again is refused; one that goes the same way is not."""
    for order, mode in ORDERS.items():
        for flag in (False, True):
            try:
                due = derivative(python_loop, move, flag, mode, toggled=True)
            except NotImplementedError:  # a hook in forward mode
                continue
            found = derivative(LOOPS[loop], move, flag, mode, toggled=False)
            np.testing.assert_allclose(found, due, rtol=1e-9, err_msg=f"{order} {flag}")
            with pytest.raises(RuntimeError, match=r"in another way|a tensor now that|works on gradients"):
                derivative(LOOPS[loop], move, flag, mode, toggled=True)


@pytest.mark.parametrize("loop", ["scan of few states", "recompute of steps"])
def test_the_error_names_the_line(loop):
    k = [0]

    def step(c, t, w):
        k[0] += 1
        if k[0] > 5:  # when it runs again
            c = ops.stop_gradient(c)
        return c * 0.5 + t * w

    f = lambda w: LOOPS[loop](step, w, f64([[0.1, 0.2]] * 5), w).sum()
    lines, first = inspect.getsourcelines(step)
    at = [first + i for i, line in enumerate(lines) if "stop_gradient" in line or "return" in line]
    with pytest.raises(RuntimeError) as raised:
        dg.grad(f)(f64(X))
    assert any(f"first at {__file__}, line {line}" in str(raised.value) for line in at), raised.value


def test_hooks_of_a_body_change_inside_only():
    """A hook that is removed behind the loop would be registered again by the run for the derivative."""
    x = f64(X)
    for loop in RUN_AGAIN:
        handles = []

        def step(c, t, w, handles=handles):
            c = c * 1.0
            handles.append(c.register_hook(lambda g: 2.0 * g))
            return c

        def f(w, loop=loop, step=step, handles=handles):
            y = LOOPS[loop](step, w, f64([[0.1, 0.2]] * 5), w)
            for handle in handles:
                handle.remove()
            return y.sum()

        with pytest.raises(RuntimeError, match="remove: the hook belongs to a tensor of a loop or block"):
            dg.grad(f)(x)


def test_every_reading_and_move_is_drawn():
    programs = [Program(seed) for seed in range(2000)]
    drawn = {part for program in programs for move in program.moves for part in move}
    assert drawn == {*READINGS, *MOVES}
    assert {program.loop for program in programs} == set(LOOPS)
    assert {program.mode for program in programs} == set(random_bodies.MODES)
