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


def calls_of(loop, n, reading, move, transform, around):
    """What comes of five calls, each in the state that the one before has left, and the last state."""
    s = State(1)
    step = lambda c, t, w: 0.9 * ops.sin(MOVES[move](s, READINGS[reading](s), c, t, w)) + 0.1 * t * w
    ts = f64(np.linspace(0.1, 1.0, 2 * n).reshape(n, 2))
    call = around(transform(lambda w: (loop(step, w * 0.5, ts, w) ** 2).sum()))
    found = [np.concatenate([np.ravel(t.asnumpy()) for t in random_bodies.leaves(call(f64(X)))]) for _ in range(5)]
    return found, (s.count, s.flag, s.log, s.cell, s.names, s.array.tolist(), s.rng.random(), next(s.cycle))


RUN_ONCE = [name for name in LOOPS if "few" not in name and "recompute" not in name]
WAYS = {
    "jit of a value": (lambda f: f, dg.jit),
    "jit of grad": (dg.grad, dg.jit),
    "grad of jit": (lambda f: f, lambda f: dg.grad(dg.jit(f))),
    "jit of value_and_grad": (dg.value_and_grad, dg.jit),
    "jit of hessian": (dg.hessian, dg.jit),
    "jit of jvp": (lambda f: lambda x: dg.jvp(f, (x,), (f64(ALONG),))[1], dg.jit),
    "Graph mode": (dg.grad, random_bodies.called_in_graph_mode),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loop", RUN_ONCE)
def test_a_recording_that_is_given_up_runs_each_step_once(loop, way):
    """So the calls behind it find the state that eager calls would find."""
    transform, around = WAYS[way]
    eager = dg.grad if way == "grad of jit" else lambda f: f
    for reading in READINGS:
        for n, move in ((5 if loop == "scan in scan" else 2, "number"), (70, "stop")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a function runs eagerly
                found = calls_of(LOOPS[loop], n, reading, move, transform, around)
            due = calls_of(LOOPS[loop], n, reading, move, transform, eager)
            np.testing.assert_allclose(found[0], due[0], rtol=1e-9, err_msg=f"{reading} {n} {move}")
            assert found[1] == due[1], (reading, n, move)


@pytest.mark.parametrize("checkpoints", [None, 30, "1 MB"])
def test_a_recording_that_is_given_up_keeps_the_same_states(checkpoints):
    """Where eager steps run again, these run again as often."""
    for n in (70, 2000):
        outcomes = []
        for around in (lambda f: f, dg.jit):
            runs = [0]

            def step(c, t, runs=runs):
                runs[0] += 1
                return ops.sin(c) * 0.9 + t, None

            def f(w, step=step, n=n):
                ts = f64(np.linspace(0.1, 1.0, n))
                return ops.scan(step, w, ts, checkpoints=checkpoints)[0]

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = float(around(dg.grad(f))(f64(0.3)))
            outcomes.append((runs[0], found))
        assert outcomes[0] == outcomes[1]


def test_a_step_that_asks_for_types_runs_once():
    """It is run again with an int; a counter would be one too high."""

    def f(w):
        def body(i, c):
            seen.append(type(i))
            return ops.sin(c) * (1.0 + len(seen))

        return ops.fori_loop(0, 70, body, w)

    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="the body changes something that it depends on"):
            dg.jit(dg.grad(f))(f64(0.3))
