"""Levels: perturbations are never confused, closed levels never leak, whatever is nested in whatever."""

import contextlib
import threading

import numpy as np
import pytest
from engine import open_levels

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops


def t(x):
    return Tensor(np.asarray(x, np.float64))


def forward(f):
    """The derivative of a scalar function by forward mode."""
    return lambda x: dg.jvp(f, x, ops.ones_like(x))[1]


TRANSFORMS = {"grad": dg.grad, "jvp": forward}
PAIRS = [(a, b) for a in TRANSFORMS for b in TRANSFORMS]


@pytest.mark.parametrize(("outer", "inner"), PAIRS)
class TestConfusion:
    """The classical programs on which a differentiator without levels goes wrong."""

    def test_sum_inside_product(self, outer, inner):
        d1, d2 = TRANSFORMS[outer], TRANSFORMS[inner]
        assert float(d1(lambda x: x * d2(lambda y: x + y)(t(1.0)))(t(1.0))) == 1.0

    def test_product_inside_product(self, outer, inner):
        d1, d2 = TRANSFORMS[outer], TRANSFORMS[inner]
        assert float(d1(lambda x: x * d2(lambda y: x * y)(t(2.0)))(t(3.0))) == 6.0

    def test_inner_point_depends_on_the_outer(self, outer, inner):
        # D_x [ d/dy (x y^2) at y = x^2 ] = D_x [2 x^3] = 6 x^2
        d1, d2 = TRANSFORMS[outer], TRANSFORMS[inner]
        assert float(d1(lambda x: d2(lambda y: x * y * y)(x * x))(t(2.0))) == 24.0

    def test_sequential_inner_derivatives_do_not_share_a_level(self, outer, inner):
        d1, d2 = TRANSFORMS[outer], TRANSFORMS[inner]

        def f(x):
            a = d2(lambda y: x * y * y)(t(3.0))  # 6 x
            b = d2(lambda y: a * y * y)(x)  # 2 a x = 12 x^2
            return b

        assert float(d1(f)(t(2.0))) == 48.0

    def test_array_captured_by_closure(self, outer, inner):
        d1, d2 = TRANSFORMS[outer], TRANSFORMS[inner]
        w = np.array([1.0, 2.0, 3.0])
        # g(x) = d/ds sum(sin(w x s)) at s = 1 = sum(w x cos(w x))
        f = lambda x: d2(lambda s: ops.sum(ops.sin(w * x * s)))(t(1.0))
        x = 0.7
        expected = np.sum(w * np.cos(w * x) - w**2 * x * np.sin(w * x))
        np.testing.assert_allclose(float(d1(f)(t(x))), expected, rtol=1e-14)

    def test_inner_function_ignores_its_argument(self, outer, inner):
        d1, d2 = TRANSFORMS[outer], TRANSFORMS[inner]
        assert float(d1(lambda x: x * x + d2(lambda y: x * x)(t(1.0)))(t(5.0))) == 10.0


def test_every_nest_of_forward_and_reverse_to_order_five():
    def f(x):
        return ops.exp(ops.sin(x)) * x

    expected = {2: None, 3: None, 4: None, 5: None}
    for bits in range(2, 33):
        path = [TRANSFORMS["grad" if bit == "1" else "jvp"] for bit in bin(bits)[3:]]
        if len(path) < 2:
            continue
        g = f
        for transform in path:
            g = transform(g)
        got = float(g(t(0.4)))
        if expected[len(path)] is None:
            import mpmath

            expected[len(path)] = float(mpmath.diff(lambda x: mpmath.e ** mpmath.sin(x) * x, 0.4, len(path)))
        np.testing.assert_allclose(got, expected[len(path)], rtol=1e-12)


def test_values_captured_over_three_levels():
    # f(x) = d/dy [ d/dz (x y z^2) * y ]: d/dz = 2 x y z is 2 x y^2 at z = y; times y, 2 x y^3; d/dy = 6 x y^2
    def f(x):
        return dg.grad(lambda y: y * dg.grad(lambda z: x * y * z * z)(y + 0.0))(t(2.0))

    # with z's point a function of y, d/dy acts on it as well: 2 x y^3 differentiated is 6 x y^2 = 24 x
    assert float(dg.grad(f)(t(3.0))) == 24.0


def test_weights_at_two_levels():
    w = Parameter(Tensor(np.array(2.0)), name="w")

    def inner(x):
        return w * w * x * x * x

    # d/dx = 3 w^2 x^2 ; d/dw of it = 6 w x^2
    outer = dg.grad(lambda x: dg.grad(inner)(x), None, w)
    assert float(outer(t(3.0))) == 108.0
    # a gradient by w inside a gradient by w: d/dw (2 w x^3) = 2 x^3
    nested = dg.grad(lambda x: dg.grad(inner, None, w)(x), None, w)
    assert float(nested(t(3.0))) == 54.0
    assert not open_levels()


def test_stop_gradient_counts_at_every_level():
    f = lambda a: a * a * ops.stop_gradient(a)
    assert float(dg.grad(dg.grad(f))(t(3.0))) == 6.0
    loss = lambda a: a * ops.stop_gradient(dg.grad(lambda b: b * b * b)(a))
    assert float(dg.grad(loss)(t(2.0))) == 12.0


class Boom(Exception):
    pass


def test_a_level_is_never_left_open_by_an_exception():
    def explode(x):
        raise Boom

    def nest(depth):
        f = explode
        for k in range(depth):
            f = dg.grad(f) if k % 2 else forward(f)
        return f

    for i in range(1000):
        with pytest.raises(Boom):
            nest(1 + i % 4)(t(1.0))
        assert not open_levels()
    assert float(dg.grad(dg.grad(lambda x: x * x * x))(t(2.0))) == 12.0


def test_an_escaped_value_is_plain_once_its_levels_are_closed():
    kept = []

    def f(x):
        kept.append(x * x)
        return x * x * x

    dg.grad(f)(t(3.0))
    assert float(kept[0] + 1.0) == 10.0
    assert float(dg.grad(lambda y: kept[0] * y * y)(t(2.0))) == 36.0


def test_an_escaped_value_is_an_error_while_an_outer_derivative_waits():
    def outer(x):
        kept = []

        def inner(y):
            kept.append(x * y)
            return x * y * y

        dg.grad(inner)(x)
        return kept[0] * x

    with pytest.raises(RuntimeError, match=r"grad.*has_aux"):
        dg.grad(outer)(t(3.0))
    assert not open_levels()


@pytest.mark.parametrize("returned", [lambda v: v, lambda v: (v,), lambda v: {"a": v}], ids=["bare", "tuple", "dict"])
def test_an_escaped_value_is_an_error_or_right_where_it_is_returned_untouched(returned):
    def outer(x):
        kept = []

        def inner(y):
            kept.append(x * y)
            return x * y * y

        dg.grad(inner)(x)
        return returned(kept[0])

    for call in (lambda: dg.grad(outer)(t(3.0)), lambda: dg.vjp(outer, t(3.0))):
        with pytest.raises(RuntimeError, match="after that call has returned"):
            call()
    # a forward level has no tape that could be spent: d(x * x)/dx
    tangent = dg.jvp(outer, t(3.0), t(1.0))[1]
    (found,) = tangent.values() if isinstance(tangent, dict) else tangent if isinstance(tangent, tuple) else (tangent,)
    assert float(found) == 6.0


def test_aux_is_the_way_to_keep_an_intermediate_value():
    def outer(x):
        _, (kept,) = dg.grad(lambda y: (x * y * y, x * y), has_aux=True)(x)
        return kept * x  # x^3

    assert float(dg.grad(outer)(t(3.0))) == 27.0


@pytest.mark.eager("counts errors")
def test_a_value_of_another_threads_level_is_an_error():
    errors = []

    def f(x, meant=contextlib.nullcontext):
        def work():
            try:
                with meant():
                    _ = x * 2.0
            except RuntimeError as error:
                errors.append(str(error))

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        return x * x

    with pytest.raises(dg.LeavesDerivativeError, match="the error was caught"):
        dg.grad(f)(t(3.0))
    assert float(dg.grad(lambda x: f(x, dg.allow_leaving))(t(3.0))) == 6.0
    assert len(errors) == 2
    assert "thread" in errors[1]


def test_threads_differentiate_independently():
    results = {}

    def work(k):
        f = lambda x: ops.exp(ops.sin(x * float(k)))
        results[k] = float(dg.grad(dg.grad(f))(t(0.3)))

    workers = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k, got in results.items():
        s, c = np.sin(0.3 * k), np.cos(0.3 * k)
        np.testing.assert_allclose(got, k * k * np.exp(s) * (c * c - s), rtol=1e-13)


@pytest.mark.eager("functions made anew at each call are named")
def test_a_function_that_returns_a_function_is_rejected():
    with pytest.raises(TypeError, match="returned a function"):
        dg.grad(lambda x: lambda y: x * y)(t(1.0))
