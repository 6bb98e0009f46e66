"""Primitives of one's own: what they accept, and what they say when something is wrong (derivatives: tests/cases)."""

import ctypes
import ctypes.util
import threading

import numpy as np
import pytest
from support import assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Tensor, extend, ops
from dualgrad.testing import check

C_MATH = ctypes.CDLL(ctypes.util.find_library("m"))


def c_function(name, real=ctypes.c_double, operands=1):
    function = ctypes.CDLL(ctypes.util.find_library("m"))[name]
    function.argtypes, function.restype = [real] * operands, real
    return function


def test_a_c_function_of_doubles_serves_every_float_type():
    extend.elementwise("test_y1", c_function("j1"), None)
    y0 = extend.elementwise("test_y0", c_function("j0"), "-test_y1(x)")
    x = np.linspace(0.5, 3.0, 7)
    expected = np.array([c_function("j0")(value) for value in x])
    np.testing.assert_array_equal(y0(f64(x)).asnumpy(), expected)
    rounded = np.array([c_function("j0")(value) for value in x.astype(np.float32)]).astype(np.float32)
    np.testing.assert_array_equal(y0(f32(x)).asnumpy(), rounded)
    assert y0(Tensor(x.astype(np.float16))).dtype == dg.float16
    np.testing.assert_array_equal(y0(f64(x)[::2]).asnumpy(), expected[::2])
    np.testing.assert_array_equal(dg.grad(y0)(f64(x)).asnumpy(), [-c_function("j1")(value) for value in x])


def test_a_c_function_of_two_floats_broadcasts():
    distance = extend.elementwise("test_distance", c_function("hypotf", ctypes.c_float, 2), "x / out", "y / out")
    x, y = f32([[3.0], [6.0]]), f32([4.0, 8.0])
    np.testing.assert_array_equal(distance(x, y).asnumpy(), np.hypot(x.asnumpy(), y.asnumpy()))
    assert dg.grad(distance, (0, 1))(x, y)[1].shape == (2,)


def test_operands_are_converted_as_for_operators():
    ratio = extend.elementwise("test_ratio", np.divide, "1 / y", "-(out / y)")
    assert ratio(f32([1.0]), f64([2.0])).dtype == dg.float64
    assert ratio(f32([1.0]), 2).dtype == dg.float32
    assert ratio(Tensor([1]), 2).dtype == dg.float32
    assert ratio(np.array([1.0]), 2.0).dtype == dg.float64


def test_a_name_may_be_defined_again_and_older_functions_keep_their_meaning():
    first = extend.elementwise("test_again", lambda x: x * 2, "2")
    second = extend.elementwise("test_again", lambda x: x * 3, "3")
    x = f64([1.0])
    assert float(first(x)) == 2.0
    assert float(dg.grad(first)(x)) == 2.0
    assert float(dg.grad(second)(x)) == 3.0


def test_rows_hold_the_built_in_and_the_new():
    extend.elementwise("test_listed", np.sin, "cos(x)")
    names = [row.name for row in extend.rows()]
    assert "sin" in names
    assert "test_listed" in names


PARTIALS = (
    ("foo(x)", "foo"),
    ("x ** 2", "pow"),
    ("sin(x, y)", "1 operand"),
    ("w * x", "names w"),
    ("x +", "no expression"),
    ("'a'", "numbers"),
    ("[x]", "no arithmetic"),
    ("sin(x=x)", "by position"),
)


@pytest.mark.parametrize(("partial", "word"), PARTIALS)
def test_a_partial_that_cannot_be_read_is_an_error_at_once(partial, word):
    assert_raises(ValueError, lambda: extend.elementwise("test_bad", np.sin, partial), "test_bad", "partial 0", word)


def test_definitions_that_make_no_sense_say_why():
    rule = lambda dx, out, x: dx
    cases = (
        (ValueError, lambda: extend.elementwise("sin", np.sin, "cos(x)"), "taken"),
        (ValueError, lambda: extend.elementwise("no name", np.sin, "cos(x)"), "no name"),
        (ValueError, lambda: extend.elementwise("test_bad", np.sin), "0 partials"),
        (ValueError, lambda: extend.elementwise("test_bad", np.add, "1"), "operands"),
        (TypeError, lambda: extend.elementwise("test_bad", 3, "1"), "ufunc"),
        (TypeError, lambda: extend.elementwise("test_bad", C_MATH["sin"], "1"), "argtypes"),
        (ValueError, lambda: extend.primitive("test_bad", np.sin), "neither"),
        (ValueError, lambda: extend.primitive("test_bad", np.sin, jvp=(rule, rule)), "2 rules"),
        (ValueError, lambda: extend.primitive("test_bad", np.sin, residual=rule), "only one"),
        (TypeError, lambda: extend.primitive("test_bad", np.sin, jvp=(3,)), "jvp[0]"),
        (ValueError, lambda: extend.primitive("test_bad", np.sin, jvp=(rule,), types="mixed"), "together"),
        (ValueError, lambda: extend.primitive("test_bad", np.sin, jvp=(rule,), core=(1, 1)), "core"),
        (ValueError, lambda: extend.bilinear("test_bad", np.multiply, (rule,)), "two"),
        (TypeError, lambda: extend.linear("test_bad", np.negative, 3), "transpose"),
    )
    for kind, call, word in cases:
        assert_raises(kind, call, word)


def test_calls_and_rules_that_go_wrong_name_the_primitive():
    x = f64([1.0, 2.0])
    same = lambda dx, out, x: dx
    calls = (
        (TypeError, lambda: extend.elementwise("test_wrong", np.sin, "cos(x)")(x, x), "1 operand"),
        (TypeError, lambda: extend.elementwise("test_wrong", np.sin, "cos(x)")("a"), "str"),
        (TypeError, lambda: extend.elementwise("test_wrong", np.sin, "cos(x)")(x, axis=0), "axis"),
        (ValueError, lambda: extend.elementwise("test_wrong", np.sum, "1")(x), "shape"),
        (TypeError, lambda: extend.primitive("test_wrong", lambda x: [1], jvp=(same,))(x), "kernel returned"),
        (
            ValueError,
            lambda: dg.grad(extend.primitive("test_wrong", np.sin, vjp=(lambda ct, out, x: ct.sum(),)))(x),
            "expected (2,)",
        ),
        (
            TypeError,
            lambda: dg.grad(extend.primitive("test_wrong", np.sin, vjp=(lambda ct, out, x: 3.0,)))(x),
            "expected a Tensor",
        ),
        (
            TypeError,
            lambda: dg.grad(extend.primitive("test_wrong", np.add, vjp=lambda ct, out, x, y: ct, arity=2))(x, x),
            "tuple of 2",
        ),
    )
    for kind, call, word in calls:
        assert_raises(kind, call, "test_wrong", word)


def test_a_jvp_that_needs_itself_names_the_remedy():
    kernel = lambda a, b: np.linalg.solve(a, b)
    dots = lambda dots, out, a, b: solve(a, dots[1] - dots[0] @ out)
    solve = extend.primitive("test_solve", kernel, jvp=dots, arity=2)
    a, b = f64([[2.0, 1.0], [0.0, 3.0]]), f64([[1.0], [2.0]])
    assert dg.jvp(lambda b: solve(a, b), b, b)[1].shape == (2, 1)
    assert_raises(NotImplementedError, lambda: dg.grad(lambda b: solve(a, b))(b), "test_solve", "vjp")


def test_threads_read_one_rule_at_once():
    """The first thread reads the rule twice, one after the other, while the second one is inside of it."""
    entered, left = threading.Event(), threading.Event()
    found = {}

    def slope(dx, out, x):
        if threading.current_thread() is second:
            entered.set()
            assert left.wait(30)
        elif not second.ident:
            second.start()
            assert entered.wait(30)
        return dx * ops.cos(x)

    sine = extend.primitive("test_threads_sine", np.sin, jvp=(slope,))

    def work(name):
        found[name] = [float(part) for part in ops.derivative(lambda x: sine(sine(x)), f64(0.3), 3)]

    second = threading.Thread(target=work, args=("second",))
    work("first")
    left.set()
    second.join()
    expected = [float(part) for part in ops.derivative(lambda x: ops.sin(ops.sin(x)), f64(0.3), 3)]
    assert set(found) == {"first", "second"}
    for name in found:
        np.testing.assert_allclose(found[name], expected, rtol=1e-14)


def test_a_rule_that_hides_its_point_is_found_at_the_second_order():
    """All ways of differentiating share the rule and agree; differences of the gradient do not."""
    hides = extend.primitive("test_hides", np.square, vjp=(lambda ct, out, x: ct * 2.0 * ops.stop_gradient(x),))
    assert_raises(AssertionError, lambda: check(hides, [np.array([0.5])]), "differences, order 2")


def test_rules_run_in_every_thread_and_leave_no_level_open():
    def broken(ct, out, x):
        raise RuntimeError("inside a rule")

    fails = extend.primitive("test_broken", np.sin, vjp=(broken,))
    x = f64([1.0])
    assert_raises(RuntimeError, lambda: dg.grad(fails)(x), "inside a rule")
    assert float(dg.grad(ops.square)(x)) == 2.0


def test_the_axes_of_operands_may_follow_from_settings():
    """Of any number of operands; a kernel that broadcasts is called once for a batch."""
    calls = []

    def kernel(*arrays, ranks):
        calls.append([a.shape for a in arrays])
        return sum([a.reshape((*a.shape[: a.ndim - rank], -1)).sum(-1) for a, rank in zip(arrays, ranks, strict=True)])

    def jvp(tangents, out, *operands, ranks):
        return totals(*tangents, ranks=ranks)

    def vjp(ct, out, *operands, ranks):
        return tuple([x * 0 + ct for x in operands])

    totals = extend.primitive(
        "test_totals", kernel, jvp=jvp, vjp=vjp, arity=-1, types="apart", core=lambda *, ranks: ranks
    )
    xs, y = f64(np.arange(12.0).reshape((3, 2, 2))), f64([1.0, 2.0])
    f = lambda x, y: totals(x, y, y, ranks=(2, 1, 1))
    expected = xs.asnumpy().sum((1, 2)) + 6.0
    np.testing.assert_array_equal(dg.vmap(f, (0, None))(xs, y).asnumpy(), expected)
    assert calls == [[(3, 2, 2), (2,), (2,)]]
    np.testing.assert_array_equal(dg.vmap(lambda x: dg.jvp(f, (x, y), (x, y))[1])(xs).asnumpy(), expected)
    np.testing.assert_array_equal(dg.grad(lambda y: dg.vmap(f, (0, None))(xs, y).sum())(y).asnumpy(), [6.0, 6.0])
