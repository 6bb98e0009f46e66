"""Variables of SciPy's solvers in pytrees of every kind, of Tensors, arrays and floats."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from pytree_kinds import KINDS, Kind, Plain
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares, minimize, root
from support import f64

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad._nests import refilled, tensors_in

adapt = dg.scipy
# Guards cannot follow what takes registered classes apart, nor dicts that are their own attributes.
pytestmark = pytest.mark.filterwarnings("ignore:.*runs eagerly:UserWarning")
each_kind = pytest.mark.parametrize("name", KINDS)
FORMS = {"Tensors": f64, "arrays": lambda x: np.array(x), "floats": lambda x: float(np.sum(x))}
each_form = pytest.mark.parametrize("form", FORMS)
A, B = np.array([1.0, -2.0]), np.array(3.0)


def start_of(kind, form):
    """An object of a kind with A and B in that form."""
    a, b = FORMS[form](A), FORMS[form](B)
    return refilled(kind.make(f64(0.0), f64(0.0)), (a, b) if kind_holds_in_order(kind) else (b, a))


def of_unpacked(x0):
    """The class of what stands for an object; a list of floats is an array."""
    return np.ndarray if type(x0) is list and isinstance(x0[0], float) else type(x0)


def kind_holds_in_order(kind):
    one, two = f64(1.0), f64(2.0)
    return kind.first(refilled(kind.make(f64(0.0), f64(0.0)), (one, two))) is one


@each_form
@each_kind
def test_values_gradients_and_hessians(name, form):
    kind = Kind(name)
    x0 = start_of(kind, form)
    f = adapt.objective(lambda x: (kind.first(x) ** 3).sum() * kind.second(x), x0, hess="dense")
    point = f.unpack(f.x0)
    total = np.sum(kind.first(point) ** 3)
    assert f.fun(f.x0) == pytest.approx(total * 3)
    gradient = f.unpack(f.jac(f.x0))
    assert type(gradient) is of_unpacked(x0)
    np.testing.assert_allclose(kind.first(gradient), 9 * kind.first(point) ** 2)
    np.testing.assert_allclose(kind.second(gradient), total)
    for k, row in enumerate(f.hess(f.x0)):
        np.testing.assert_allclose(row, f.hessp(f.x0, np.eye(f.x0.size)[k]))


@each_form
@each_kind
def test_equations(name, form):
    kind = Kind(name)
    x0 = start_of(kind, form)
    for make in (adapt.residuals, adapt.system):
        f = make(lambda x: (kind.first(x) * kind.second(x), kind.second(x) ** 2), x0)
        first, second = (kind.first(f.unpack(f.x0)), kind.second(f.unpack(f.x0)))
        np.testing.assert_allclose(f.fun(f.x0), np.append(first * second, second**2))
        for row, value in zip(f.jac(f.x0), f.fun(f.x0), strict=True):
            # Of degree two: the slope along the point is twice the value.
            np.testing.assert_allclose(row @ f.x0, 2 * value)


@each_form
@each_kind
def test_states(name, form):
    """The derivative is of the kind of the state, or one Tensor."""
    kind = Kind(name)
    y0 = start_of(kind, form)
    f = adapt.rhs(lambda t, y: refilled(y, [-x * t for x in tensors_in(y)]), y0)
    np.testing.assert_allclose(f.fun(2.0, f.y0), -2 * f.y0)
    np.testing.assert_allclose(f.jac(2.0, f.y0), -2 * np.eye(f.y0.size))
    assert type(f.unpack(f.y0)) is of_unpacked(y0)


@dataclasses.dataclass
class Circle:
    centre: Any
    radius: Any
    power: int = 2
    unit: str = "m"


def test_solvers_find_a_dataclass():
    angle = np.linspace(0.0, 5.0, 9)
    seen = np.stack([1.0 + 2.0 * np.cos(angle), -1.0 + 2.0 * np.sin(angle)], 1)

    def away(circle):
        assert circle.unit == "m"
        return ((Tensor(seen) - circle.centre) ** circle.power).sum(1) ** 0.5 - circle.radius

    start = Circle(np.array([0.5, 0.0]), 1.0)
    r = adapt.residuals(away, start)
    f = adapt.objective(lambda x: (away(x) ** 2).sum(), start, hess="dense")
    found = [
        r.unpack(least_squares(r.fun, r.x0, jac=r.jac, xtol=1e-12).x),
        f.unpack(minimize(f.fun, f.x0, jac=f.jac, hess=f.hess, method="trust-exact", tol=1e-10).x),
    ]
    for circle in found:
        assert (circle.power, circle.unit) == (2, "m")
        np.testing.assert_allclose(circle.centre, [1.0, -1.0], atol=1e-6)
        np.testing.assert_allclose(circle.radius, 2.0, atol=1e-6)


def test_roots_and_states_of_dataclasses():
    f = adapt.system(lambda x: (x.a * x.b - 6, x.a - x.b - 1), Plain(2.0, 1.0))
    found = f.unpack(root(f.fun, f.x0, jac=f.jac, tol=1e-12).x)
    np.testing.assert_allclose([found.a, found.b], [3.0, 2.0])
    g = adapt.rhs(lambda t, y: Plain(y.b, -y.a), Plain(0.0, 1.0))
    end = g.unpack(solve_ivp(g.fun, (0.0, 1.0), g.y0, method="Radau", jac=g.jac, rtol=1e-9, atol=1e-12).y[:, -1])
    np.testing.assert_allclose([end.a, end.b], [np.sin(1.0), np.cos(1.0)], rtol=1e-7)


def test_what_stands_beside_the_variables_may_change():
    settings = {"power": 2, "table": np.array([1, 2])}
    start = Plain(f64([2.0, 3.0]), settings)
    f = adapt.objective(lambda x: (x.a ** x.b["power"]).sum() * x.b["table"][1], start)
    for _ in range(4):
        assert f.fun(f.x0) == 26
    settings["table"][1] = 10
    assert f.fun(f.x0) == 130
    start.a = None  # the variables are those that were given
    assert f.fun(f.x0) == 130
    assert f.x0.tolist() == [2.0, 3.0]


def test_parts_of_a_derivative_are_found_by_their_keys():
    rates = {"x": lambda y: y["v"], "v": lambda y: -y["x"]}
    for order in itertools.permutations(rates):
        f = adapt.rhs(lambda t, y, order=order: {k: rates[k](y) for k in order}, {"x": 1.0, "v": np.zeros(1)[0]})
        assert f.fun(0.0, [1.0, 5.0]).tolist() == [5.0, -1.0]


def grown(t, y):
    return Plain(ops.stack([y.a, y.a]), y.b)


REFUSED = {
    "None": (lambda: adapt.objective(ops.sum, [None]), TypeError, "objective: the variables hold None; expected fl"),
    "text": (lambda: adapt.residuals(ops.sin, "1.5"), TypeError, "residuals: the variables hold a str"),
    "texts": (lambda: adapt.residuals(ops.sin, {"a": np.array(["1"])}), TypeError, "residuals: the variables hold a"),
    "an object": (lambda: adapt.system(ops.sin, object()), TypeError, "system: .* an object; .*register_pytree"),
    "complex": (lambda: adapt.rhs(ops.sin, (1.0, 1j)), TypeError, "rhs: the variables hold complex numbers"),
    "complex fields": (lambda: adapt.system(ops.sin, Plain(1.0, 1j)), TypeError, "variables hold complex numbers"),
    "integers": (lambda: adapt.system(ops.sin, Plain(1.0, Tensor([1]))), TypeError, "a Tensor of Int64"),
    "no floats": (lambda: adapt.system(ops.sin, Plain("a", 3)), TypeError, "system: no floats among .* a Plain"),
    "nothing": (lambda: adapt.system(ops.sin, ()), TypeError, "system: no floats among the variables"),
    "a derivative of another kind": (
        lambda: adapt.rhs(lambda t, y: (y.a, y.b), Plain(1.0, 2.0)).fun(0.0, [1.0, 2.0]),
        ValueError,
        "rhs: the derivative of the state is a tuple of 2; expected a Plain",
    ),
    "a derivative with another part": (
        lambda: adapt.rhs(lambda t, y: Plain(y.a, 0.0), Plain(1.0, 2.0)).fun(0.0, [1.0, 2.0]),
        TypeError,
        "rhs: the derivative of the state holds a float; expected Tensors",
    ),
    "a derivative of another shape": (
        lambda: adapt.rhs(grown, Plain(1.0, 2.0)).fun(0.0, [1.0, 2.0]),
        ValueError,
        r"rhs: the derivative of a part of shape \(\) has shape \(2,\)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_says_why(what):
    call, error, text = REFUSED[what]
    with pytest.raises(error, match=text):
        call()
