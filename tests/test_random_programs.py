"""Random programs, nests of derivatives among their instructions: every engine agrees, and so do 80 digits.

`random_programs` makes them, `exact_ops` is the reference. A failing program is printed as Python. Thousands are run by
``-m exhaustive``; the environment variable DUALGRAD_PROGRAMS says how many.
"""

import math
import os
import re
from types import SimpleNamespace

import numpy as np
import pytest
import random_programs
from exact_ops import TooLong, exact, fresh, grad
from hypothesis import HealthCheck, Phase, given, settings
from random_programs import ENGINE, LARGEST, REFERENCE, Line, Program, programs

import dualgrad as dg
from dualgrad import Tensor, extend, ops
from dualgrad._engine.algebra import jets
from dualgrad._engine.forward import run_forward
from dualgrad.testing import check

EXHAUSTIVE = int(os.environ.get("DUALGRAD_PROGRAMS", "5000"))
COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
SHORT = 20_000  # elements of 80 digits for one program
LONG = 60_000
WILD = 1e5  # programs with larger derivatives are not compared


def leaves(nest):
    if isinstance(nest, tuple):
        return [leaf for part in nest for leaf in leaves(part)]
    return [nest]


def directions(program):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(x.shape) for x in program.points]


def series(program, order):
    """Derivatives along the directions, orders 0 to `order`, of every result."""
    f = program.compiled(ENGINE, program.parameters())
    along = [
        [Tensor(x), Tensor(d)] + [None] * (order - 1) for x, d in zip(program.points, directions(program), strict=True)
    ]
    found = run_forward("series", jets(order), lambda *xs: tuple(leaves(f(*xs))), along)
    return [
        [0.0 if c is None else c.asnumpy() * math.factorial(k) for k, c in enumerate(coefficients)]
        for coefficients in found
    ]


def size_of(program, order):
    """The largest derivative of any value on the way. What comes after can cancel, so errors are relative to it."""
    sizes = [np.abs(c).max(initial=0.0) for value in series(program.watched, order) for c in value]
    return max(1.0, *sizes)


def near(found, expected, size, what):
    expected = np.asarray(expected).astype(np.float64)
    assert np.shape(found) == expected.shape or np.ndim(found) == 0, f"{what}: {np.shape(found)}, {expected.shape}"
    error = np.abs(found - expected).max(initial=0.0)
    # what happens inside nested functions is not in the size
    assert error <= 1e-10 * size, f"{what}: {found} instead of {expected}, off by {error / size:.1e}"


def compare_with_digits(program, size, budget):
    """Values, and first and second derivatives, against differences of 80 digits; corners have values alone."""
    with fresh(budget) as state:
        weights = {name: exact(w) for name, w in program.weights.items()}
        f = program.compiled(REFERENCE, weights)
        xs = [exact(x) for x in program.points]
        try:
            middle = leaves(f(*xs))
            found = series(program, 2)
            corner = state.corner < 1e-6
            if corner and ("dg." in program.text or "where" in program.text):
                return  # a derivative inside has no meaning there, or a choice depends on the last digit
            for k, (value, expected) in enumerate(zip(found, middle, strict=True)):
                near(value[0], expected.a, size, f"value of result {k}")
            if corner:
                return
            h = exact(np.array(1e-12))
            steps = [exact(d) * h for d in directions(program)]
            up = leaves(f(*[x + s for x, s in zip(xs, steps, strict=True)]))
            down = leaves(f(*[x - s for x, s in zip(xs, steps, strict=True)]))
            for k, (value, a, b, c) in enumerate(zip(found, up, middle, down, strict=True)):
                near(value[1], ((a - c) / (2 * h)).a, size, f"first derivative of result {k}")
                near(value[2], ((a - 2 * b + c) / (h * h)).a, size, f"second derivative of result {k}")
            if weights:
                expected = grad(f, None, list(weights.values()))(*xs)
                parameters = program.parameters()
                engine = program.compiled(ENGINE, parameters)
                by_weight = dg.grad(engine, None, list(parameters.values()))(*[Tensor(x) for x in program.points])
                for name, one, other in zip(weights, by_weight, expected, strict=True):
                    near(one.asnumpy(), other.a, LARGEST * size, f"gradient by {name}")
        except TooLong:
            return


def check_types(program):
    """float32 stays float32: values, and gradients by inputs and weights."""
    parameters = program.parameters(np.float32)
    f = program.compiled(ENGINE, parameters)
    xs = [Tensor(x.astype(np.float32)) for x in program.points]
    value, (dx, dw) = dg.value_and_grad(f, tuple(range(len(xs))), list(parameters.values()))(*xs)
    for what, tensors in ("value", leaves(value)), ("gradient", leaves(dx)), ("gradient by a weight", leaves(dw)):
        for t in tensors:
            assert t.dtype == "float32", f"{what} is {t.dtype}"


def examine(program, order, budget=SHORT):
    try:
        size = size_of(program, order)
        if not size < WILD:
            return
        check_types(program)
        compare_with_digits(program, size, budget)
        f = program.compiled(ENGINE, program.parameters())
        check(f, program.points, order=order, smooth=False, narrow=False, rtol=1e-12 * size)
    except NotImplementedError as error:  # a Cell with a bprop under nests that cannot reach its rule; it says so
        if "own.sine" not in program.text or "bprop" not in str(error):
            raise


@settings(max_examples=150, derandomize=True, phases=(Phase.explicit, Phase.generate, Phase.shrink), **COMMON)
@given(programs())
def test_programs(program):
    examine(program, 2)


@pytest.mark.exhaustive
@settings(max_examples=EXHAUSTIVE, **COMMON)
@given(programs())
def test_many_programs(program):
    examine(program, 3, LONG)


@pytest.mark.exhaustive
@settings(max_examples=EXHAUSTIVE // 5, **COMMON)
@given(programs(most=8, deep=3))
def test_many_deep_programs(program):
    examine(program, 4, LONG)


# -------------------------------------------------------------------------------------- the sweep itself is tested


def test_programs_contain_everything():
    """What is drawn by default has every operator, and every kind of nest, inside a nest as well as at the top."""
    texts = []

    @settings(max_examples=300, derandomize=True, phases=(Phase.generate,), database=None, **COMMON)
    @given(programs())
    def collect(program):
        texts.append(program.text)

    collect()
    text = "\n".join(texts)
    nested = "\n".join(line for line in text.split("\n") if line.startswith("        "))
    with open(random_programs.__file__) as file:
        used = set(re.findall(r"(?:ops|own)\.[a-z]\w*\(", file.read().split("smooth = ", 1)[1])) - {"own.append("}
    used |= {f"ops.{name}(" for name in (*random_programs.REDUCTIONS, *random_programs.ALONG, "stack", "cat")}
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


def program_of(*code, shape=(3,)):
    lines = [Line((f"v{k}",), text) for k, text in enumerate(code)]
    point = np.random.default_rng(0).standard_normal(shape)
    return Program((*lines, Line((), f"return v{len(code) - 1}")), (point,), {})


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


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_primitive_is_found(what, monkeypatch):
    right = program_of("own.cube(x0)", "ops.sin(v0)")
    examine(right, 2)
    monkeypatch.setitem(ENGINE, "own", SimpleNamespace(cube=WRONG[what]))
    with pytest.raises(TypeError if what == "type" else AssertionError):
        examine(right, 2)


def test_a_program_is_its_text():
    program = program_of("ops.sin(x0)", "v0 * x0")
    assert program.text == "def program(x0):\n    v0 = ops.sin(x0)\n    v1 = v0 * x0\n    return v1"
    assert repr(program).startswith("# {'x0': (3,)}\ndef program")
