"""Random programs, nests of derivatives among their instructions: every engine agrees, and so do 120 digits.

`random_programs` makes them, `exact_ops` is the reference. A failing program is printed as Python. Thousands are run by
``-m exhaustive``; the environment variable DUALGRAD_PROGRAMS says how many, DUALGRAD_SEED draws others.
"""

import inspect
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import random_patterns
import random_programs
import random_steps
from engine import jets, run_forward
from exact_ops import TooLong, exact, fresh, grad
from hypothesis import Phase, given, settings
from random_lines import ENGINE, REFERENCE, Line, Program
from random_programs import programs
from random_steps import SMALL
from random_sweep import COMMON, EXHAUSTIVE, TALLY, WILD, directions, leaves, series, size_of, sweep
from rounding import allowed, from_single, saturated, spread

import dualgrad as dg
from dualgrad import Tensor, extend, ops
from dualgrad.testing import check

pytestmark = pytest.mark.eager("runs each program in every mode by itself")

BUDGET = 25_000  # elements of 120 digits for one program


def by_digits(program):
    """Values, and first and second derivatives, by differences of 120 digits; corners have values alone.

    Nothing where a value near a corner decides, or where it takes too long.
    """
    with fresh(BUDGET) as state:
        weights = {name: exact(w) for name, w in program.weights.items()}
        f = program.compiled(REFERENCE, weights)
        xs = [exact(x) for x in program.points]
        try:
            middle = leaves(f(*xs))
            corner = state.corner < 1e-6
            if corner and ("dg." in program.text or "where" in program.text):
                return {}  # a derivative inside has no meaning there, or a choice depends on the last digit
            found = {f"value of result {k}": value for k, value in enumerate(middle)}
            if not corner:
                h = exact(np.array(1e-12))
                steps = [exact(d) * h for d in directions(program)]
                up = leaves(f(*[x + s for x, s in zip(xs, steps, strict=True)]))
                down = leaves(f(*[x - s for x, s in zip(xs, steps, strict=True)]))
                for k, (a, b, c) in enumerate(zip(up, middle, down, strict=True)):
                    found[f"first derivative of result {k}"] = (a - c) / (2 * h)
                    found[f"second derivative of result {k}"] = (a - 2 * b + c) / (h * h)
                if weights:
                    gradients = grad(f, None, list(weights.values()))(*xs)
                    found |= {f"gradient by {name}": g for name, g in zip(weights, gradients, strict=True)}
        except TooLong:
            return {}
    return {what: np.asarray(value.a).astype(np.float64) for what, value in found.items()}


def by_engine(program, dtype=np.float64):
    """The same, by name."""
    found = {}
    for k, derivatives in enumerate(series(program, 2, dtype)):
        names = "value", "first derivative", "second derivative"
        found |= {f"{name} of result {k}": d for name, d in zip(names, derivatives, strict=True)}
    parameters = program.parameters(dtype)
    if parameters:
        f = program.compiled(ENGINE, parameters)
        gradients = dg.grad(f, None, list(parameters.values()))(*[Tensor(x.astype(dtype)) for x in program.points])
        found |= {f"gradient by {name}": g.asnumpy() for name, g in zip(parameters, gradients, strict=True)}
    return found


def compare_with_digits(program, size):
    expected = by_digits(program)
    if not expected:
        return
    TALLY["compared with 120 digits"] += 1
    found = by_engine(program)
    rounding = None
    for what, b in expected.items():
        a = found[what]
        assert np.shape(a) == b.shape or np.ndim(a) == 0, f"{what}: {np.shape(a)}, {b.shape}"
        error = np.abs(a - b).max(initial=0.0)
        if not error <= 1e-10 * size * (SMALL.largest if "by" in what else 1.0):
            if rounding is None:
                run = lambda dtype, points: by_engine(replace(program, points=tuple(points)), dtype)
                rounding = allowed(run, program.points)
            assert error <= rounding[what], (
                f"{what}: {a} instead of {b}, off by {error:.1e}; rounding gives {rounding[what]:.1e}"
            )
            TALLY["ill-conditioned"] += 1


def check_types(program):
    """float32 stays float32: values, and gradients by inputs and weights."""
    parameters = program.parameters(np.float32)
    f = program.compiled(ENGINE, parameters)
    xs = [Tensor(x.astype(np.float32)) for x in program.points]
    value, (dx, dw) = dg.value_and_grad(f, tuple(range(len(xs))), list(parameters.values()))(*xs)
    for what, tensors in ("value", leaves(value)), ("gradient", leaves(dx)), ("gradient by a weight", leaves(dw)):
        for t in tensors:
            assert t.dtype == "float32", f"{what} is {t.dtype}"


def line_derivatives(program, order):
    """Derivatives of orders 0 to `order` of one number, as `check` forms it, but all by Taylor coefficients."""
    f = program.compiled(ENGINE, program.parameters())
    rng = np.random.default_rng(0)
    slopes = [rng.standard_normal(x.shape) for x in program.points]

    def run(points):
        def total(*xs):
            weights = np.random.default_rng(7)
            terms = [ops.sum(ops.sin(a) * Tensor(weights.uniform(0.5, 1.5, a.shape))) for a in leaves(f(*xs))]
            return (sum(terms[1:], terms[0]),)

        along = [[Tensor(x), Tensor(d)] + [None] * (order - 1) for x, d in zip(points, slopes, strict=True)]
        (found,) = run_forward("series", jets(order), total, along)
        return np.array([0.0 if c is None else float(c.asnumpy()) * math.factorial(k) for k, c in enumerate(found)])

    return run


def compare_ways(program, order, size):
    """Every way of differentiating; what they differ by is as small as rounding is.

    False where neither float32 nor nudges of the inputs tell how large rounding is: what cancels is always zero.
    """
    f = program.compiled(ENGINE, program.parameters())
    tolerance = 1e-12 * size
    settings = {"order": order, "smooth": False, "narrow": False}
    try:
        check(f, program.points, rtol=tolerance, **settings)
        return True
    except AssertionError as error:
        failure = str(error)
    inside = program.compiled(ENGINE, program.parameters(np.float32))

    def narrowed(*xs):
        out = inside(*[ops.cast(x, dg.float32) for x in xs])
        return tuple([ops.cast(leaf, dg.float64) for leaf in leaves(out)])

    errors = check(f, program.points, rtol=math.inf, **settings).errors
    single = [check(narrowed, program.points, rtol=math.inf, seed=k, **settings).errors for k in range(3)]
    last = lambda what: what.rsplit(", ", 1)[-1]  # "order 2": all ways share the terms that cancel
    moved, covered = None, True
    for what, error in errors.items():
        alike = [e for s in single for other, e in s.items() if last(other) == last(what)]
        rounding = max(tolerance, from_single(alike))
        degree = re.fullmatch(r"order (\d+)", last(what))
        if error > rounding and degree and saturated(alike):
            if moved is None:
                moved = spread(line_derivatives(program, order), program.points)
            TALLY["judged by nudges"] += 1
            covered &= bool(error <= moved[int(degree[1])])
        else:
            assert error <= rounding, f"{failure}; rounding gives {rounding:.1e} in {what}"
    TALLY["ill-conditioned" if covered else "rejected, too ill-conditioned"] += 1
    return covered


def examine(program, order):
    """Whether the program could be compared."""
    try:
        size = size_of(program, order)
        if not size < WILD:
            TALLY["rejected, wild"] += 1
            return False
        check_types(program)
        compare_with_digits(program, size)
        return compare_ways(program, order, size)
    except NotImplementedError as error:  # a Cell with a bprop under nests that cannot reach its rule; it says so
        if "own.sine" not in program.text or "bprop" not in str(error):
            raise
        TALLY["rejected, no rule"] += 1
        return False


def test_programs():
    sweep(80, programs(), examine, 2)


@pytest.mark.exhaustive
def test_many_programs():
    sweep(EXHAUSTIVE, programs(), examine, 3)


@pytest.mark.exhaustive
def test_many_deep_programs():
    sweep(EXHAUSTIVE // 5, programs(most=8, deep=3), examine, 4)


# -------------------------------------------------------------------------------------- the sweep itself is tested


def test_programs_contain_everything():
    """What is drawn by default has every operator, and every kind of nest, inside a nest as well as at the top."""
    texts = []

    @settings(max_examples=500, derandomize=True, phases=(Phase.generate,), database=None, **COMMON)
    @given(programs())
    def collect(program):
        texts.append(program.text)

    collect()
    text = "\n".join(texts)
    nested = "\n".join(line for line in text.split("\n") if line.startswith("        "))
    templates = inspect.getsource(random_steps).split("smooth = ", 1)[1] + "".join(
        map(inspect.getsource, (random_programs, random_patterns))
    )
    used = set(re.findall(r"(?:ops|own)\.[a-z]\w*\(", templates)) - {"own.append("}
    used |= {f"ops.{name}(" for name in (*random_steps.REDUCTIONS, *random_steps.ALONG, "stack", "cat")}
    used |= {"dg.grad(", "dg.grad(dg.grad(", "(0, 1))(", "dg.value_and_grad(", "ops.GradOperation(get_all=True)("}
    used |= {"sens_param=True)(", "dg.vjp(", "pull", "dg.jvp(", "dg.vmap(", "(0, None))(", "out_axes=-1)(", "None, w"}
    used |= {"0, w", "cell(", "np.array([", "[0, -1, 0]", "::-1", "None", "** 3", "** -2", " @ ", "keepdims=True"}
    for call in used:
        assert call in text, call
    for call in (
        "dg.grad(",
        "dg.jvp(",
        "dg.vmap(",
        "dg.vjp(",
        "cell(",
        "ops.stop_gradient(",
        "own.sine(",
        "own.inverse(",
    ):
        assert call in nested, call


def function(name, *lines):
    return Line((), f"{name}(y)", tuple(Line((), line) if isinstance(line, str) else line for line in lines))


def program_of(*code, shape=(3,), before=(), results=1):
    lines = [Line((f"v{k}",), text) for k, text in enumerate(code)]
    point = np.random.default_rng([3, 6, 13, 11]).standard_normal(shape)
    returned = ", ".join(f"v{k}" for k in range(len(code) - results, len(code)))
    return Program((*before, *lines, Line((), f"return {returned}")), (point,), {})


def derivatives_that_cancel():
    """Zero. Terms of order 6 and size 1e5 come and go inside nests of gradients."""
    equal = function("equal", "return y * ops.cos(ops.sum(y))")
    shares = function("shares", "return ops.log_softmax(y, axis=-2)")
    odd = function("odd", equal, shares, "return ops.sin(dg.grad(shares)(ops.sin(dg.grad(equal)(y))))")
    return program_of("dg.grad(dg.grad(odd))(x0)", "ops.sin(v0)", shape=(2, 2), before=(odd,))


WRONG = {
    "slope": extend.elementwise("random_wrong_slope", lambda x: x**3, "2 * x * x"),
    "value": extend.elementwise("random_wrong_value", lambda x: x**3 + 1e-9, "3 * x * x"),
    "second order": extend.primitive(
        "random_wrong_second", lambda x: x**3, jvp=(lambda dx, out, x: dx * 3.0 * x * ops.stop_gradient(x),)
    ),
    "batches": extend.primitive(
        "random_wrong_batch", lambda x: x**3 + 0.1 * (x.ndim - 1), jvp=(lambda dx, out, x: dx * 3.0 * x * x,), core=(1,)
    ),
    "type": extend.primitive(
        "random_wrong_type", lambda x: np.asarray(x, np.float64) ** 3, jvp=(lambda dx, out, x: dx * 3.0 * x * x,)
    ),
}


PROGRAMS = {
    "plain": program_of("own.cube(x0)", "ops.sin(v0)"),
    "ill-conditioned": program_of(
        "own.cube(x0)", "far(x0)", before=(function("far", "return (own.cube(y) + 3e7) - 3e7"),), results=2
    ),
}


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_primitive_is_found(what, kind, monkeypatch):
    monkeypatch.setitem(ENGINE, "own", SimpleNamespace(cube=WRONG[what]))
    with pytest.raises(TypeError if what == "type" else AssertionError):
        examine(PROGRAMS[kind], 2)


@pytest.mark.parametrize("moved", [0.0, 1.0])
def test_float32_without_digits_is_not_believed(moved, monkeypatch):
    """Nudges decide then, and what they do not cover is rejected; only at that order, an error at another is found."""
    program = PROGRAMS["plain"]
    for wrong, order in (None, "order 4"), ("order 2", "order 4"), ("captured value", "captured value"):

        def found(f, points, rtol, wrong=wrong, where=order, **settings):
            if rtol < math.inf:
                raise AssertionError("differs")
            narrow = f.__name__ == "narrowed"
            errors = {f"ways, {where}": 1.8 if narrow else 1e-4}
            if where == "captured value":
                errors = {"captured value, mixed": 1.8e-4 if narrow else 1e-4}
            elif wrong:
                errors[f"ways, {wrong}"] = 1e-5 if narrow else 1e-8
            return SimpleNamespace(errors=errors)

        monkeypatch.setitem(globals(), "check", found)
        monkeypatch.setitem(globals(), "spread", lambda run, points: np.full(5, moved))
        if wrong:
            with pytest.raises(AssertionError, match=wrong):
                compare_ways(program, 4, 1.0)
        else:
            assert compare_ways(program, 4, 1.0) == (moved > 0)


@pytest.mark.parametrize("kind", [*PROGRAMS, "derivatives that cancel"])
def test_what_cancels_is_not_taken_for_wrong(kind):
    TALLY.clear()
    assert examine(PROGRAMS[kind] if kind in PROGRAMS else derivatives_that_cancel(), 4)
    assert TALLY["ill-conditioned"] == (kind != "plain")


def test_a_program_is_its_text():
    program = program_of("ops.sin(x0)", "v0 * x0")
    assert program.text == "def program(x0):\n    v0 = ops.sin(x0)\n    v1 = v0 * x0\n    return v1"
    assert repr(program).startswith("# {'x0': (3,)}\ndef program")
