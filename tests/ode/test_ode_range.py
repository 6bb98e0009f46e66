"""Trial steps that leave the numbers: they are made shorter, and count neither for the solution nor for derivatives."""

import numpy as np
import pytest
from support import assert_close, assert_raises, f64

import dualgrad as dg
from dualgrad import extend, ops
from dualgrad.ode import odeint

TIGHT = {"rtol": 1e-7, "atol": 1e-9}
TIMES = f64([0.0, 0.3, 1.0])

own_exp = extend.elementwise("own_exp", lambda x: np.exp(x), "out")
own_log = extend.elementwise("own_log", lambda x: np.log(x), "1 / x")

#: what f adds to y' = -a y off the solution: nothing on it, and no number, or none that can be squared, beyond
BEYOND = {
    "inf": lambda y, t: ops.exp(1e6 * (y * y - 4.0)),
    "-inf": lambda y, t: -ops.exp(1e6 * (y * y - 4.0)),
    "nan": lambda y, t: 0.0 * ops.log(4.0 - y * y),
    "too large to square": lambda y, t: ops.where(y * y > 4.0, 1e200, 0.0),
    "nan beside the solution": lambda y, t: 0.0 * ops.log(1e-10 - (y - ops.exp(-8.0 * t)) ** 2),
    "inf beside the solution": lambda y, t: ops.exp(1e6 * (1e10 * (y - ops.exp(-8.0 * t)) ** 2 - 1.0)),
    "an overflow in NumPy": lambda y, t: own_exp(1e6 * (y * y - 4.0)),
    "no value in NumPy": lambda y, t: 0.0 * own_log(4.0 - y * y),
}


def solution(beyond, method, **settings):
    def f(y, t, a):
        return -a * y + BEYOND[beyond](y, t)

    return lambda y0, a: odeint(f, y0, TIMES, a, method=method, **TIGHT, **settings)


@pytest.mark.parametrize("others", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("beyond", BEYOND)
def test_a_step_beyond_the_numbers_is_made_again(beyond, others):
    beside = "beside" in beyond  # a first step that is chosen looks there
    if not others:
        assert_made_again(beyond, "dopri5", None if beside else 1.0)
        return
    for method, first in ("dopri5", 1.0 if beside else None), ("rodas5p", 1.0), ("rodas5p", None):
        assert_made_again(beyond, method, first)


def assert_made_again(beyond, method, first):
    y0, a = f64([1.0]), f64(8.0)
    t = TIMES.asnumpy()
    solve = solution(beyond, method, first_step=first)
    with np.errstate(over="raise", invalid="raise"):  # what a trial step meets is no error of the program
        for _ in range(6):  # recorded, then several steps in one call
            assert_close(solve(y0, a), np.exp(-8.0 * t)[:, None], rtol=1e-5, scale=1.0)
        if "beside" not in beyond:
            slopes = dg.grad(lambda y0, a: solve(y0, a)[-1].sum(), (0, 1))(y0, a)
            assert_close(slopes, ([np.exp(-8.0)], -np.exp(-8.0)), rtol=1e-3, scale=0.0)


ENDS = {
    "no value": (lambda y, t: -1.0 + 0.0 * ops.log(y), 0.5, "t = 0.5", "f is not finite beyond it"),
    "a jump": (lambda y, t: ops.where(t > 0.5, 1e12 * (1 + y), 1.0), 0.5, "t = 0.5", "above the tolerances"),
    "too large": (lambda y, t: t * 0.0 + 1e308, 1e308, "t = 0.797693", "f is not finite beyond it"),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_reason_of_an_underflow(end):
    f, y0, *says = ENDS[end]
    assert_raises(RuntimeError, lambda: odeint(f, f64(y0), [0.0, 1.0]), "step size underflows", *says)
