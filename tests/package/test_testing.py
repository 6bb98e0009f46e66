"""`dualgrad.testing.check`: right rules pass; for a wrong one the error names the comparison that fails."""

import numpy as np
import pytest
from engine import open_levels

import dualgrad as dg
from dualgrad import Tensor, extend, nn, ops
from dualgrad.testing import Report, check

X = np.array([0.5, -1.0, 2.0])


def failure(fn, *args, kind=AssertionError, **settings):
    """The text of check's error for a function, or of the note it adds to the function's own error."""
    with pytest.raises(kind) as caught:
        check(fn, args or (X,), **settings)
    assert not open_levels()
    return str(caught.value), "".join(getattr(caught.value, "__notes__", []))


# ------------------------------------------------------------------------------------------------ right rules


def test_a_right_rule_passes_and_is_reported():
    cube = extend.elementwise("tt_cube", lambda x: x**3, "3 * x * x")
    report = check(cube, [X], value=lambda x: x**3, broadcasts=True, special=[[np.array([0.0, np.inf, np.nan])]])
    assert isinstance(report, Report)
    for name in (
        "value and reference",
        "jvp and vjp of argument 0",
        "nested gradients and nested dual numbers, order 4",
        "nested gradients and Taylor coefficients, order 4",
        "composite node and recorded backward pass",
        "captured value, reverse and forward",
        "gradient of a value used twice",
        "gradient and differences, order 1",
        "gradient of a broadcast argument",
        "value of a batch and of its samples",
        "second derivative of a batch and of its samples",
        "gradient through a batch",
        "gradient, float32 and float64",
        "derivative of order 2 at special points",
    ):
        assert report.errors[name] < 1e-5, name
        assert name in str(report)


def test_it_checks_what_it_is_asked_to():
    names = check(ops.sin, [X], order=2, smooth=False, batched=False, narrow=False).errors
    assert not [name for name in names if "order 3" in name or "differences" in name or "batch" in name or "32" in name]


def test_functions_of_several_arguments_and_nests_of_results():
    def f(x, y):
        return {"product": x @ y, "rest": (ops.sin(x), [y.sum(), 3.0])}

    check(f, [np.ones((2, 3)), np.ones((3, 2))], value=lambda x, y: [x @ y, np.sin(x), y.sum()])


def test_a_function_that_takes_derivatives():
    def f(x):
        return dg.jvp(lambda y: dg.grad(lambda z: z * z * y)(x), x, ops.cos(x))[1] * x

    assert "composite node and recorded backward pass" in check(f, [X]).errors


def test_a_corner_is_no_error_if_it_is_announced():
    assert "gradient and differences, order 1" in failure(ops.relu, np.array([0.0, 1.0]))[0]
    check(ops.relu, [np.array([0.0, 1.0])], smooth=False)


def test_nothing_to_differentiate():
    assert "nothing to check" in failure(lambda x: x > 0.0)[0]


# ------------------------------------------------------------------------------------------------ wrong rules


def test_a_wrong_first_derivative():
    wrong = extend.elementwise("tt_first", lambda x: x**3, "2 * x * x")
    assert "tt_first: gradient and differences, order 1" in failure(wrong)[0]


def test_a_wrong_second_derivative():
    """The slope is right, but a constant to every level."""
    wrong = extend.primitive("tt_second", lambda x: x**3, jvp=(lambda dx, out, x: dx * ops.stop_gradient(3.0 * x * x),))
    assert "tt_second: gradient and differences, order 2" in failure(wrong)[0]


def test_jvp_and_vjp_that_are_not_transposes():
    wrong = extend.primitive(
        "tt_transpose",
        lambda x: x**3,
        jvp=(lambda dx, out, x: 3.0 * x * x * dx,),
        vjp=lambda ct, out, x: 2.0 * x * x * ct,
    )
    assert "tt_transpose: jvp and vjp of argument 0" in failure(wrong)[0]


def test_the_transpose_of_one_of_two_arguments():
    wrong = extend.bilinear(
        "tt_bilinear",
        np.matmul,
        (lambda ct, x, y: ct @ y.swapaxes(-1, -2), lambda ct, x, y: ct @ x),
        core=(2, 2),
    )
    square = np.arange(9.0).reshape(3, 3)
    assert "tt_bilinear: jvp and vjp of argument 1" in failure(wrong, square, square.T + 1.0)[0]


def test_a_linear_map_that_is_not():
    wrong = extend.linear("tt_linear", lambda x: 2.0 * x + 1.0, lambda ct, x: 2.0 * ct)
    assert "tt_linear: jvp and vjp of argument 0" in failure(wrong)[0]


def test_a_rule_of_second_order_that_differs_between_modes():
    wrong = extend.primitive(
        "tt_modes",
        lambda x: x**3,
        jvp=(lambda dx, out, x: 3.0 * x * x * dx,),
        vjp=lambda ct, out, x: 3.0 * ops.stop_gradient(x) * x * ct,
    )
    assert "tt_modes: nested gradients and nested dual numbers, order 2" in failure(wrong)[0]


def test_a_false_core():
    """The kernel claims to work on many samples at once, but mixes them."""
    wrong = extend.linear("tt_core", lambda x: x - x.mean(), lambda ct, x: wrong(ct), core=(1,))
    assert "tt_core: value of a batch and of its samples" in failure(wrong)[0]


def test_a_type_that_is_widened():
    wrong = extend.primitive(
        "tt_wide", lambda x: np.asarray(x, np.float64) ** 3, jvp=(lambda dx, out, x: 3.0 * x * x * dx,)
    )
    assert "the value of float32 arguments is Float64" in failure(wrong)[0]
    assert "the value of float32 arguments" in failure(lambda x: x * np.array([1.0, 2.0, 3.0]))[0]
    check(lambda x: x * np.array([1.0, 2.0, 3.0]), [X], narrow=False)


def test_a_gradient_that_is_wrong_in_float32_alone():
    def f(x):
        return x * x if x.dtype == "float64" else x * ops.stop_gradient(x)

    assert "gradient, float32 and float64" in failure(f)[0]


def test_an_argument_that_is_changed():
    def f(x):
        y = x * x
        x[0] = 7.0
        return y

    assert "the call changed its argument from" in failure(f)[0]


def test_results_that_depend_on_the_call():
    calls = []
    assert "two calls with the same arguments: " in failure(lambda x: x * float(calls.append(x) or len(calls)))[0]


def test_a_value_that_differs_while_it_is_differentiated():
    message = failure(lambda x: x * (2.0 if open_levels() else 1.0))[0]
    assert "the value and that while it is differentiated: " in message


def test_a_value_that_differs_from_the_reference():
    assert "value and reference" in failure(ops.sin, value=np.cos)[0]
    assert "value and reference: shapes (3,) and ()" in failure(ops.sin, value=np.sum)[0]


def test_what_raises_only_when_it_is_differentiated():
    def refuse(*_):
        raise ValueError("no derivative here")

    for rules in {"jvp": (refuse,)}, {"jvp": (lambda dx, out, x: dx,), "vjp": refuse}:
        wrong = extend.primitive("tt_refuses_" + str(len(rules)), np.copy, **rules)
        message, note = failure(wrong, kind=ValueError)
        assert message == "no derivative here"
        assert note.endswith("while comparing jvp and vjp")


def test_what_raises_only_at_the_second_order():
    def refuse(x):
        if len(open_levels()) > 1:
            raise ValueError("too deep")
        return x * x

    message, note = failure(refuse, kind=ValueError)
    assert message == "too deep"
    assert "higher order" in note


def test_what_raises_only_in_a_batch():
    def f(x):
        return x * x[0].item()

    message, note = failure(f, kind=ValueError, smooth=False)
    assert "vmap" in message
    assert "batches" in note


def test_nan_in_one_way_and_not_in_the_other():
    wrong = extend.primitive(
        "tt_nan",
        np.sqrt,
        jvp=(lambda dx, out, x: 0.5 * dx / out,),
        vjp=lambda ct, out, x: 0.5 * ct / ops.where(out > 0.0, out, ops.ones_like(out)),
    )
    x = np.array([0.5, 1.0])
    check(wrong, [x])
    message, _ = failure(wrong, x, special=[[np.array([0.0, 1.0])]])
    assert "derivative at special points, forward and reverse" in message
    assert "are not infinite or nan at the same places" in message


def test_a_derivative_that_is_not_finite():
    assert "the derivative of order 1 is" in failure(ops.sqrt, np.array([0.0, 1.0]))[0]


def test_a_broadcast_argument_whose_gradient_is_not_added_up():
    wrong = extend.primitive(
        "tt_broadcast",
        lambda x, y: x * y,
        arity=2,
        jvp=(lambda dx, out, x, y: dx * y, lambda dy, out, x, y: x * dy),
        vjp=lambda ct, out, x, y: (ct * y, ct * ops.broadcast_to(x, ct.shape)),
    )
    args = np.ones((2, 3)) * 0.7, np.full((2, 3), 0.3)
    check(wrong, args)
    message, note = failure(wrong, *args, broadcasts=True, kind=(AssertionError, ValueError))
    assert "broadcast argument" in message + note


def test_exceptions_that_differ():
    def checked(x):
        if not open_levels() and float(x.sum()) < 0:
            raise KeyError("negative")
        return x * x

    assert "raises KeyError, but None under grad" in failure(checked, np.ones(2), raises=[[-np.ones(2)]])[0]
    assert "nothing was raised" in failure(ops.sin, raises=[[X]])[0]


def test_a_cell_whose_rule_is_not_its_derivative():
    class Half(nn.Cell):
        def construct(self, x):
            return ops.sin(x)

        def bprop(self, x, out, dout):
            return 0.5 * ops.cos(x) * dout

    assert "Half: gradient and differences, order 1" in failure(Half(), order=3)[0]
    check(Half(), [X], order=3, smooth=False)  # every comparison uses the rule


def test_a_value_that_is_kept_from_one_call_to_the_next():
    """Results are cached by the numbers of the argument, so no derivative passes through."""
    kept = {}

    def f(x):
        key = x.asnumpy().tobytes()
        if key not in kept:
            kept[key] = Tensor(x.asnumpy()) * x.asnumpy()
        return kept[key]

    assert "gradient and differences, order 1: 0.0" in failure(f)[0]
