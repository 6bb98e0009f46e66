"""Random bodies of loops that read and write variables of Python, under every loop and in every mode.

A body is a few moves, each of which may do something else according to a state of Python: a counter, a flag, a list, a
random draw, a variable that is bound anew. Most moves change no number, only a derivative. The state changes once more
between the loop and its derivative. What comes is compared with a Python loop that is executed the same way.
"""

import itertools
import random

import numpy as np

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops

SHORT, LONG = 5, 70


def f64(x):
    return Tensor(x, dg.float64)


# ------------------------------------------------------------------------------------------------ states of Python


class State:
    """All variables that the moves of one body read and write."""

    def __init__(self, seed, pure=False):
        self.pure = pure
        self.log, self.cell, self.names, self.array, self.handles = [], [1], {}, np.zeros(3), []
        self.p = Parameter(f64([0.7, 0.4]), name="p")
        self.seed = seed
        self.start(0)

    def start(self, call):
        """Begin a call, the same way whatever ran before: bodies that run again leave another state."""
        self.rng, self.np_rng = random.Random(self.seed + call), np.random.default_rng(self.seed + call)
        self.count, self.flag, self.cell[0] = call, bool((self.seed + call) % 2), 1 + call
        self.log[:], self.handles[:] = [0] * call, []
        self.cycle = itertools.cycle([True, False, False])
        self.names["on"] = call % 3 == 0
        self.array[:] = np.roll([1.0, 0.0, 1.0], call)
        self.p.requires_grad = True
        self.p.set_data(f64([0.7, 0.4 + 0.1 * call]))

    def changed(self):
        """What happens between the loop and its derivative."""
        self.flag = not self.flag
        self.count += 1
        self.log.append(0)
        self.cell[0] += 1
        self.names["on"] = not self.names["on"]
        self.array[:] = 1.0 - self.array
        self.rng.random()
        self.np_rng.random()
        next(self.cycle)
        self.p.requires_grad = not self.p.requires_grad
        self.p.set_data(self.p * 1.5)
        for handle in self.handles[:1]:
            handle.remove()


def counter(s):
    s.count += 1
    return s.count % 2 == 0


def growing(s):
    s.log.append(1)
    return len(s.log) % 3 == 0


def in_cell(s):
    s.cell[0] = s.cell[0] % 3 + 1
    return s.cell[0] == 2


def in_dict(s):
    s.names["on"] = not s.names["on"]
    return s.names["on"]


def in_array(s):
    s.array[:] = np.roll(s.array, 1)
    return s.array[0] > 0.5


READINGS = {
    "counter": counter,
    "flag": lambda s: s.flag,
    "list": growing,
    "cell": in_cell,
    "dict": in_dict,
    "array": in_array,
    "random": lambda s: s.rng.random() < 0.5,
    "np.random": lambda s: s.np_rng.random() < 0.5,
    "iterator": lambda s: next(s.cycle),
    "constant": lambda s: False,  # a body that is pure
    "constant True": lambda s: True,
}


# ------------------------------------------------------------------------------------------------ moves of a body


def scaled_rule(k):
    @dg.custom_vjp
    def f(x):
        return x * 1.0

    @f.defbwd
    def bwd(x, out, dout):
        return (dout * k,)

    return f


class Ruled(dg.nn.Cell):
    """A Cell with a rule of its own, which reads an attribute."""

    def __init__(self):
        super().__init__()
        self.k = 1.0

    def construct(self, x):
        return x * 1.0

    def bprop(self, x, out, dout):
        return (dout * self.k,)


RULES = scaled_rule(2.0), scaled_rule(3.0)
CELLS = Ruled(), Ruled()
CELLS[1].k = 5.0


def hooked(c, s):
    c = c * 1.0
    handle = c.register_hook(lambda g: 2.0 * g)
    if len(s.handles) < 3 and not s.pure:
        s.handles.append(handle)
    return c


def rebound(c, on):
    act = lambda x: x * 1.0
    if on:
        act = lambda x: ops.stop_gradient(x) + 0.0 * x
    return act(c)


def scaled_here(c, on):
    k = 3.0 if on else 2.0
    return scaled_rule(k)(c)


def frozen(c, s, on):
    s.p.requires_grad = not on
    return c * 0.9 + 0.1 * dg.grad(lambda x: (x * s.p * x).sum(), None, [s.p])(c)[0]


def inner_scan(c, on):
    step = lambda d, t: ((ops.stop_gradient(d) if on and float(len("x")) else d) * 0.9 + t * 0.0, None)
    return ops.scan(step, c, f64([[0.1, 0.2], [0.3, 0.4]]))[0]


# name -> move(state, whether, carry, entry, w) -> carry: numbers that are the same either way, but in the last rows
MOVES = {
    "stop": lambda s, on, c, t, w: ops.stop_gradient(c) if on else c,
    "stop of an entry": lambda s, on, c, t, w: ops.stack([ops.stop_gradient(c[0]) if on else c[0], c[1]]),
    "stop of a part": lambda s, on, c, t, w: (ops.stop_gradient(c) if on else c) * 0.5 + c * 0.5,
    "operand": lambda s, on, c, t, w: c * 0.9 + 0.1 * (w if on else ops.stop_gradient(w)),
    "entry": lambda s, on, c, t, w: c + (t - (t if on else ops.stop_gradient(t))) + 0.1 * w * t,
    "equal operands": lambda s, on, c, t, w: c * 0.9 + 0.1 * (c * 1.0 if on else c * 1.0 + 0.0 * w),
    "which copy": lambda s, on, c, t, w: (lambda a, b: c * 0.5 + (a if on else b))(c * 0.5, ops.stop_gradient(c) * 0.5),
    "square": lambda s, on, c, t, w: (c * c if on else c**2) * 0.5,
    "abs": lambda s, on, c, t, w: ops.sqrt(c * c + 0.01) if on else ops.sqrt(ops.stop_gradient(c) * c + 0.01),
    "rule": lambda s, on, c, t, w: RULES[on](c),
    "rule made here": lambda s, on, c, t, w: scaled_here(c, on),
    "Cell with a rule": lambda s, on, c, t, w: CELLS[on](c),
    "hook": lambda s, on, c, t, w: hooked(c, s) if on else c * 1.0,
    "function": lambda s, on, c, t, w: rebound(c, on),
    "Parameter": lambda s, on, c, t, w: c * 0.9 + 0.05 * (s.p if on else ops.stop_gradient(s.p)),
    "frozen": lambda s, on, c, t, w: frozen(c, s, on),
    "inner gradient": lambda s, on, c, t, w: (
        0.5 * c + 0.1 * dg.grad(lambda x: (ops.sin(x) * (w if on else ops.stop_gradient(w))).sum())(c)
    ),
    "inner jvp": lambda s, on, c, t, w: 0.5 * c + 0.1 * dg.jvp(ops.sin, (c,), (w if on else ops.stop_gradient(w),))[1],
    "inner vmap": lambda s, on, c, t, w: dg.vmap(lambda x: (ops.stop_gradient(x) if on else x) * 0.9)(c),
    "cond": lambda s, on, c, t, w: dg.cond(not on, lambda c: c * 1.0, lambda c: ops.stop_gradient(c) * 1.0, c),
    "inner scan": lambda s, on, c, t, w: inner_scan(c, on),
    "inner recompute": lambda s, on, c, t, w: dg.recompute(lambda x: (ops.stop_gradient(x) if on else x) * 0.9)(c),
    "number": lambda s, on, c, t, w: c * (0.9 if on else 0.8),
    "primitive": lambda s, on, c, t, w: ops.sin(c) if on else ops.tanh(c),
    "axis": lambda s, on, c, t, w: c[::-1] if on else c,
}


# ------------------------------------------------------------------------------------------------ loops and modes


def python_loop(step, c, ts, w):
    for i in range(ts.shape[0]):
        c = step(c, ts[i], w)
    return c


def results_of(found):
    return found[0] + found[1].sum(0)


LOOPS = {
    "scan": lambda step, c, ts, w: ops.scan(lambda c, t: (step(c, t, w), None), c, ts)[0],
    "scan with results": lambda step, c, ts, w: results_of(
        ops.scan(lambda c, t: (lambda c: (c, c * 0.0))(step(c, t, w)), c, ts)
    ),
    "Scan of a list": lambda step, c, ts, w: ops.Scan()(
        lambda c, t: (step(c, t, w), None), c, [ts[i] for i in range(ts.shape[0])]
    )[0],
    "scan of few states": lambda step, c, ts, w: ops.scan(lambda c, t: (step(c, t, w), None), c, ts, checkpoints=2)[0],
    "fori_loop": lambda step, c, ts, w: ops.fori_loop(0, ts.shape[0], lambda i, c: step(c, ts[i], w), c),
    "fori_loop of few states": lambda step, c, ts, w: ops.fori_loop(
        0, ts.shape[0], lambda i, c: step(c, ts[i], w), c, checkpoints=2
    ),
    "while_loop": lambda step, c, ts, w: ops.while_loop(
        lambda c: c[0] < ts.shape[0], lambda c: (c[0] + 1, step(c[1], ts[c[0]], w)), (Tensor(0), c)
    )[1],
    "while_loop of few states": lambda step, c, ts, w: ops.while_loop(
        lambda c: c[0] < ts.shape[0], lambda c: (c[0] + 1, step(c[1], ts[c[0]], w)), (Tensor(0), c), checkpoints=2
    )[1],
    "recompute": lambda step, c, ts, w: dg.recompute(lambda c: python_loop(step, c, ts, w))(c),
    "recompute of steps": lambda step, c, ts, w: python_loop(dg.recompute(step), c, ts, w),
    "recompute in scan": lambda step, c, ts, w: ops.scan(lambda c, t: (dg.recompute(step)(c, t, w), None), c, ts)[0],
    "scan in recompute": lambda step, c, ts, w: dg.recompute(
        lambda c: ops.scan(lambda c, t: (step(c, t, w), None), c, ts)[0]
    )(c),
    "scan in scan": lambda step, c, ts, w: ops.scan(
        lambda c, t: (ops.scan(lambda d, u: (step(d, u, w), None), c, t)[0], None), c, ts.reshape(-1, 5, 2)
    )[0],
    "scan in scan of few states": lambda step, c, ts, w: ops.scan(
        lambda c, t: (ops.scan(lambda d, u: (step(d, u, w), None), c, t, checkpoints=1)[0], None),
        c,
        ts.reshape(-1, 5, 2),
        checkpoints=1,
    )[0],
}
X = [0.6, -0.3]
ALONG = [0.4, 1.1]


def many(call, x, s, n):
    found = []
    for i in range(n):
        s.start(i // 2)
        found.append(call(x).asnumpy())
    return found


def called_in_graph_mode(f):
    def call(*args):
        dg.set_context(mode=dg.GRAPH_MODE)
        try:
            return f(*args)
        finally:
            dg.set_context(mode=dg.PYNATIVE_MODE)

    return call


def leaves(found):
    """The tensors of a result."""
    return [found] if isinstance(found, Tensor) else [t for each in found for t in leaves(each)]


def later(f, x, s):
    _, pull = dg.vjp(f, x)
    s.changed()
    return [pull(Tensor(1.0, dg.float64)).asnumpy()]


# name -> what comes of a function, as a list of arrays; the Python loop is never recorded
MODES = {
    "grad": lambda f, x, s, recorded: many(dg.grad(f), x, s, 1),
    "jvp": lambda f, x, s, recorded: [dg.jvp(f, (x,), (f64(ALONG),))[1].asnumpy()],
    "vjp later": lambda f, x, s, recorded: later(f, x, s),
    "hessian": lambda f, x, s, recorded: many(dg.hessian(f), x, s, 1),
    "grad of grad": lambda f, x, s, recorded: many(dg.grad(lambda x: (dg.grad(f)(x) * f64(ALONG)).sum()), x, s, 1),
    "jvp of grad": lambda f, x, s, recorded: [dg.jvp(dg.grad(f), (x,), (f64(ALONG),))[1].asnumpy()],
    "vmap of grad": lambda f, x, s, recorded: many(dg.vmap(dg.grad(f)), ops.stack([x, 2.0 * x, x + 0.1]), s, 1),
    "jit of grad": lambda f, x, s, recorded: many(dg.jit(dg.grad(f)) if recorded else dg.grad(f), x, s, 5),
    "Graph mode": lambda f, x, s, recorded: many(called_in_graph_mode(dg.grad(f)) if recorded else dg.grad(f), x, s, 5),
}


class Program:
    """A random body, loop and mode."""

    def __init__(self, seed, pure=False):
        rng = random.Random(seed)
        self.seed, self.pure = seed, pure
        self.loop = rng.choice(list(LOOPS))
        self.mode = rng.choice(list(MODES))
        self.n = LONG if rng.random() < 0.25 else SHORT
        self.moves = [
            (rng.choice([r for r in READINGS if not pure or "constant" in r]), rng.choice(list(MOVES)))
            for _ in range(rng.randint(1, 3))
        ]
        self.changes = not pure and rng.random() < 0.7

    def __repr__(self):
        return f"{self.seed}: {self.mode} of {self.loop}, {self.n} steps, {self.moves}, changes {self.changes}"

    def run(self, loop):
        """What comes of it, and the name of an error."""
        s = State(self.seed, self.pure)
        x, ts = f64(X), f64(np.linspace(0.1, 1.0, 2 * self.n).reshape(self.n, 2))
        moves = [(READINGS[r], MOVES[m]) for r, m in self.moves]

        def step(c, t, w):
            for reading, move in moves:
                c = move(s, reading(s), c, t, w)
            return 0.9 * ops.sin(c) + 0.1 * t * w

        def f(w):
            y = (loop or python_loop)(step, w * 0.5, ts, w)
            if self.changes:
                s.changed()
            return (y * y).sum()

        try:
            return MODES[self.mode](f, x, s, loop is not None), None
        except Exception as error:
            return None, error

    def outcome(self):
        """Tell whether that is "equal", "refused", or what is wrong."""
        found, error = self.run(LOOPS[self.loop])
        expected, due = self.run(None)
        if error is not None and type(error) is type(due):
            return "equal"
        if error is not None:
            return "refused" if isinstance(error, RuntimeError) else f"raises {type(error).__name__}: {error}"
        if due is not None:
            return f"the Python loop raises {type(due).__name__}: {due}"
        if all(np.allclose(a, b, rtol=1e-8, atol=1e-10) for a, b in zip(found, expected, strict=True)):
            return "equal"
        return f"{[a.tolist() for a in found]} instead of {[b.tolist() for b in expected]}"
