"""check_finite: what is found, how it is described, and that nothing else is touched."""

import threading
import warnings

import numpy as np
import pytest
from engine import jets, run_forward
from support import f64

import dualgrad as dg
from dualgrad import nn, ops
from dualgrad.testing import taped_backward

pytestmark = pytest.mark.usefixtures("mode")

X = f64([4.0, 0.0])


def along(fn):
    return lambda x: dg.jvp(fn, x, ops.ones_like(x))[1]


def root(x):
    y = ops.sqrt(x)  # the line of the root
    return y.sum()


def power(exponent):
    return lambda x: (x**exponent).sum()  # the line of the power


def message(call, *args, **options):
    with pytest.raises(FloatingPointError) as caught, dg.check_finite(**options):
        call(*args)
    return str(caught.value)


FOUND = {
    "value": (lambda x: ops.log(x) * 2, "log: its value is -inf at (1,), 1 of 2 elements"),
    "reverse": (dg.grad(root), "sqrt: its derivative of order 1 (reverse) is inf at (1,), 1 of 2 elements"),
    "forward": (along(root), "sqrt: its derivative of order 1 (forward) is inf at (1,), 1 of 2 elements"),
    "GradOperation": (ops.GradOperation()(root), "sqrt: its derivative of order 1 (reverse) is inf"),
    "reverse over reverse": (dg.grad(dg.grad(power(1.5))), "power: its derivative of order 2 (reverse over reverse)"),
    "forward over reverse": (along(dg.grad(power(1.5))), "power: its derivative of order 2 (reverse over forward)"),
    "reverse over forward": (dg.grad(along(power(1.5))), "power: its derivative of order 2 (reverse over forward)"),
    "third, reverse": (dg.grad(dg.grad(dg.grad(power(2.5)))), "power: its derivative of order 3 (reverse over"),
    "third, forward": (along(along(along(power(2.5)))), "power: its derivative of order 3 (forward over forward over"),
    "third, mixed": (dg.grad(along(dg.grad(power(2.5)))), "power: its derivative of order 3 (reverse over"),
    "vmap": (dg.vmap(dg.grad(ops.sqrt)), "sqrt: its derivative of order 1 (reverse) is inf at (1,), 1 of 2 elements"),
    "vmap inside": (dg.grad(lambda x: dg.vmap(ops.sqrt)(x).sum()), "sqrt: its derivative of order 1 (reverse) is inf"),
    "nan": (lambda x: ops.log(x - 5.0), "log: its value is nan at (0,), 2 of 2 elements"),
    "complex": (lambda x: 1.0 / ops.complex(x, x), "its value is"),
    "matmul": (lambda x: ops.matmul(x * 1e200, x * 1e200), "matmul: its value is inf"),
}


@pytest.mark.parametrize("name", FOUND)
def test_the_first_is_named(name):
    call, start = FOUND[name]
    assert start in message(call, X)


def test_jets_are_looked_at_degree_by_degree():
    one = ops.ones_like(X)
    assert "order 3 (forward over forward over forward)" in message(
        lambda: run_forward("jet", jets(3), power(2.5), [[X, one, None, None]])
    )


def test_operands_and_lines_are_described():
    text = message(lambda x: x / f64([[0.0, np.nan]]), X).split("\n")
    assert text[1] == "  operand 1: float64 (2,), finite"
    assert text[2] == "  operand 2: float64 (1, 2), already with 1 nan"
    assert text[3].startswith(f"  {__file__}, line ")
    assert text[4].strip().startswith("text = message(")
    for call in (dg.grad(root), along(root), dg.grad(lambda x: root(x) * 2.0)):
        lines = message(call, X).split("\n")
        assert lines[-1] == "    y = ops.sqrt(x)  # the line of the root"
    assert message(dg.grad(dg.grad(power(1.5))), X).endswith("# the line of the power")
    with taped_backward():
        assert message(dg.grad(dg.grad(power(1.5))), X).endswith("# the line of the power")


class Doubled(nn.Cell):
    """A rule of its own, broken in its own line."""

    def construct(self, x):
        return x * 2.0

    def bprop(self, x, out, dout):
        return (dout / x,)  # the broken rule


def test_rules_of_cells_are_shown_where_they_break():
    text = message(dg.grad(lambda x: Doubled()(x).sum()), X)
    assert text.startswith("div: its derivative of order 1 (reverse) is inf")
    assert text.endswith("return (dout / x,)  # the broken rule")


def test_what_does_no_harm_is_not_reported():
    with dg.check_finite():
        gradient = dg.grad(lambda x: ops.where(x > 0, ops.sqrt(x), x).sum())(X)
        dg.grad(lambda x: ops.maximum(ops.sqrt(x), 1.0).sum())(f64([4.0, 0.0]))
    assert gradient.asnumpy().tolist() == [0.25, 1.0]
    with dg.check_finite(inf=False):
        assert ops.log(X).asnumpy()[1] == -np.inf
    assert "is nan" in message(lambda x: ops.log(x) * 0.0, X, inf=False)


def test_outside_of_the_block_nothing_is_checked():
    for _ in range(2):
        with pytest.raises(FloatingPointError), dg.check_finite():
            dg.grad(dg.grad(power(1.5)))(X)
        assert dg.grad(root)(X).asnumpy()[1] == np.inf
    with dg.check_finite(inf=False):
        assert "value is inf" in message(lambda x: 1.0 / x, X)
        assert (1.0 / X).asnumpy()[1] == np.inf


def test_a_caught_error_leaves_the_count_of_orders_as_it_was():
    with dg.check_finite():
        for _ in range(2):
            with pytest.raises(FloatingPointError, match="order 2"):
                dg.grad(dg.grad(power(1.5)))(X)
            with pytest.raises(FloatingPointError, match="order 1"):
                dg.grad(root)(X)
            with pytest.raises(FloatingPointError, match="its value"):
                ops.log(X)


def test_recorded_functions_run_eagerly_inside():
    recorded = dg.jit(dg.grad(root))
    for _ in range(3):
        assert recorded(X).asnumpy()[1] == np.inf
    assert "order 1" in message(recorded, X)
    assert recorded(X).asnumpy()[1] == np.inf


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_a_recording_that_is_going_on_ends():
    def checked(x):
        with dg.check_finite():
            return x * 2.0

    recorded = dg.jit(checked)
    for _ in range(4):
        assert recorded(X).asnumpy().tolist() == [8.0, 0.0]


def test_other_threads_are_not_checked():
    found = []
    with dg.check_finite():
        thread = threading.Thread(target=lambda: found.append(ops.log(X).asnumpy()[1]))
        thread.start()
        thread.join()
    assert found == [-np.inf]


def test_numbers_and_updates_work_as_ever():
    w = dg.Parameter(np.array([1.0, 2.0]), name="w")
    with dg.check_finite(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float((w * 2.0).sum()) == 6.0
        w.set_data(f64([3.0, 4.0]))
        optimizer = nn.SGD([w], 0.5)
        gradient = dg.grad(lambda x: (w * x).sum(), None, [w])
        optimizer(gradient(f64([1.0, 1.0])))
    assert w.asnumpy().tolist() == [2.5, 3.5]


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="inf is 1; expected True or False"), dg.check_finite(inf=1):
        pass
