"""Interpolation has SciPy's values: at any place, for every kind, degree, end and mode."""

import itertools

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
from cases.interpolation import CALLS, CASES, CHOSEN, OURS, case_of

import dualgrad as dg
from dualgrad import Tensor
from dualgrad.scipy import interpolate, ndimage
from dualgrad.testing import check


@pytest.mark.parametrize(("label", "call", "args"), CALLS, ids=[label for label, _, _ in CALLS])
def test_values_are_those_of_scipy(label, call, args):
    found = call(OURS, *[Tensor(a) for a in args])
    np.testing.assert_allclose(found.asnumpy(), call(scipy, *args), rtol=1e-11, atol=1e-12)


def test_cases_are_chosen_from_all_calls():
    assert len(CASES) == len(CHOSEN)


@pytest.mark.exhaustive
@pytest.mark.parametrize("found", [call for call in CALLS if call[0] not in CHOSEN], ids=lambda call: call[0])
def test_every_way_of_differentiating_agrees(found):
    case = case_of(*found)
    check(case.fn, case.args, order=case.order, rtol=case.rtol, narrow=bool(case.narrow))


def line(n, axis):
    """Points, and values with their axis among others."""
    rng = np.random.default_rng([n, axis])
    shape = [2, 3]
    shape.insert(axis, n)
    return np.sort(rng.uniform(-1.0, 3.0, n)), rng.normal(size=shape), rng.uniform(-2.0, 4.0, (4, 5))


def same(ours, theirs):
    try:
        expected = theirs()
    except ValueError as error:
        with pytest.raises(type(error), match=r"\w+: .*|outside of the points"):
            ours().asnumpy()
        return
    np.testing.assert_allclose(ours().asnumpy(), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("n", "axis"), [(2, 0), (3, 1), (4, 2), (9, 1)])
def test_splines(n, axis):
    x, y, places = line(n, axis)
    row = y.take(0, axis)
    ends = [None, "not-a-knot", "natural", "clamped", ((1, row + 0.5), (2, row)), ("natural", (1, row))]
    for bc_type, extrapolate, nu in itertools.product(ends[1:], (None, False, "periodic"), range(5)):
        settings = {"axis": axis, "bc_type": bc_type, "extrapolate": extrapolate}
        same(
            lambda s=settings, nu=nu: interpolate.CubicSpline(Tensor(x), Tensor(y), **s)(Tensor(places), nu),
            lambda s=settings, nu=nu: scipy.interpolate.CubicSpline(x, y, **s)(places, nu),
        )
    for k, bc_type, nu in itertools.product(range(6), ends[:4], range(3)):
        settings = {"k": k, "axis": axis, "bc_type": bc_type}
        same(
            lambda s=settings, nu=nu: interpolate.make_interp_spline(Tensor(x), Tensor(y), **s)(Tensor(places), nu),
            # above its degree SciPy 1.15 writes outside of its memory
            lambda s=settings, nu=nu, k=k: (
                scipy.interpolate.make_interp_spline(x, y, **s)(places, min(nu, k)) * (nu <= k)
            ),
        )


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_periodic_splines(n):
    x, y, places = line(n, 0)
    y[-1] = y[0]
    same(
        lambda: interpolate.CubicSpline(Tensor(x), Tensor(y), bc_type="periodic")(Tensor(places)),
        lambda: scipy.interpolate.CubicSpline(x, y, bc_type="periodic")(places),
    )


@pytest.mark.parametrize("kind", ["linear", "nearest", "nearest-up", "previous", "next", "zero", "quadratic", 4])
def test_lines_and_steps(kind):
    x, y, places = line(6, 1)
    places[0, :3] = x[0], x[-1], 0.5 * (x[2] + x[3])
    for fill, bounds in ((0.5, False), ((1.5, -2.0), None), ("extrapolate", None), (np.nan, None)):
        settings = {"kind": kind, "axis": 1, "fill_value": fill, "bounds_error": bounds}
        for at in (places, np.clip(places, x[0], x[-1])):
            same(
                lambda s=settings, at=at: interpolate.interp1d(Tensor(x[::-1]), Tensor(y), **s)(Tensor(at)),
                lambda s=settings, at=at: scipy.interpolate.interp1d(x[::-1], y, **s)(at),
            )


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic", "quintic"])
@pytest.mark.parametrize("sizes", [(7,), (6, 8), (6, 7, 8)])
def test_grids(method, sizes):
    """Cubic and quintic interpolants are products of splines along each axis; SciPy's own solution is iterative."""
    rng = np.random.default_rng(sizes)
    points = [np.cumsum(rng.uniform(0.5, 1.0, n)) for n in sizes]
    values, places = rng.normal(size=(*sizes, 2)), rng.uniform(0.0, 8.0, (5, len(sizes)))
    inside = np.stack([rng.uniform(p[0], p[-1], 5) for p in points], -1)
    turned = [points[0][::-1], *points[1:]]
    rtol = 1e-4 if method in ("cubic", "quintic") else 1e-11
    for at, fill, bounds in ((places, None, False), (places, 0.5, False), (inside, np.nan, True)):
        settings = {"method": method, "bounds_error": bounds, "fill_value": fill}
        ours = interpolate.RegularGridInterpolator([Tensor(p) for p in turned], Tensor(values), **settings)
        theirs = scipy.interpolate.RegularGridInterpolator(turned, values, **settings)
        expected = theirs(at)
        np.testing.assert_allclose(ours(Tensor(at)).asnumpy(), expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    with pytest.raises(ValueError, match="outside of the points"):
        interpolate.interpn(points, Tensor(values), Tensor(places + 10.0), method)
    if rtol == 1e-4:
        degree, product = {"cubic": 3, "quintic": 5}[method], values
        for axis in range(len(sizes)):
            product = scipy.interpolate.make_interp_spline(points[axis], product, degree, axis=axis)(inside[:, axis])
        found = interpolate.interpn(points, Tensor(values), Tensor(inside), method).asnumpy()
        np.testing.assert_allclose(found, product[(np.arange(5),) * len(sizes)], rtol=1e-9, atol=1e-9)


EXACT = [mode for mode in ndimage._MODES if mode not in ("reflect", "grid-mirror")]


@pytest.mark.parametrize("shape", [(7,), (1,), (2, 3), (4, 1, 5), (40,)], ids=str)
def test_images(shape):
    """SciPy's own spline does not go through the elements in two modes, where the axes are short."""
    rng = np.random.default_rng(shape)
    image, places = rng.normal(size=shape), rng.uniform(-50.0, 60.0, (len(shape), 40))
    places[:, :12] = rng.uniform(0.0, 1.0, (len(shape), 12)) * (np.array(shape)[:, None] - 1)
    places[:, 12:14] = np.round(places[:, 12:14])
    own = np.indices(shape).reshape(len(shape), -1).astype(float)
    for mode, order, prefilter in itertools.product(ndimage._MODES, range(6), (True, False)):
        settings = {"order": order, "mode": mode, "cval": 1.5, "prefilter": prefilter}
        if not prefilter or mode in EXACT or shape == (40,):
            found = ndimage.map_coordinates(Tensor(image), Tensor(places), **settings).asnumpy()
            expected = scipy.ndimage.map_coordinates(image, places, **settings)
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10, err_msg=str(settings))
        if prefilter:
            found = ndimage.map_coordinates(Tensor(image), Tensor(own), **settings).asnumpy()
            np.testing.assert_allclose(found, image.ravel(), rtol=1e-10, atol=1e-10, err_msg=str(settings))


def test_a_place_that_is_not_a_number_gives_nan():
    image, places = Tensor(np.eye(3)), Tensor(np.array([[np.nan, 1.0], [0.5, 1.0]]))
    for mode, order in itertools.product(ndimage._MODES, range(1, 6)):
        found = ndimage.map_coordinates(image, places, order=order, mode=mode).asnumpy()
        assert np.isnan(found[0]), (mode, order)
        assert np.isfinite(found[1]), (mode, order)


def test_points_are_checked_in_a_recording_too():
    values = Tensor(np.arange(4.0))
    recorded = dg.jit(lambda x, at: interpolate.CubicSpline(x, values)(at))
    x, at = Tensor(np.array([0.0, 1.0, 2.0, 4.0])), Tensor(np.array([0.5]))
    for _ in range(3):
        recorded(x, at)
    with pytest.raises(ValueError, match="increase strictly"):
        recorded(Tensor(np.array([0.0, 2.0, 1.0, 4.0])), at)


WRONG = [
    (lambda: interpolate.CubicSpline(Tensor([0.0, 1.0]), Tensor([0.0, 1.0, 2.0])), "as many values along the axis"),
    (lambda: interpolate.CubicSpline(Tensor([0.0, 1.0]), Tensor([0.0, 1.0]), bc_type="free"), "'free' in bc_type"),
    (lambda: interpolate.PchipInterpolator(Tensor([1.0, 1.0]), Tensor([0.0, 1.0])), "increase strictly"),
    (lambda: interpolate.Akima1DInterpolator(Tensor([0.0, 1.0]), Tensor([0.0, 1.0]), method="x"), "method is 'x'"),
    (lambda: interpolate.PPoly(Tensor([[1.0]]), Tensor([0.0])), "expected \\(k \\+ 1, m, ...\\)"),
    (lambda: interpolate.PPoly(Tensor([[1.0]]), Tensor([0.0, 1.0]))(Tensor([0.5]), -1), "nu is -1"),
    (lambda: interpolate.BSpline(Tensor([0.0, 1.0]), Tensor([1.0]), 1), "n \\+ k \\+ 1 knots"),
    (lambda: interpolate.make_interp_spline(Tensor([0.0, 1.0]), Tensor([1.0, 2.0]), 3), "more points than the degree"),
    (lambda: interpolate.make_interp_spline(*[Tensor(np.arange(4.0))] * 2, 3, bc_type="periodic"), "CubicSpline"),
    (lambda: interpolate.interp1d(Tensor([0.0, 1.0]), Tensor([1.0, 2.0]), "smooth"), "kind is 'smooth'"),
    (lambda: interpolate.interpn((Tensor([0.0, 1.0]),), Tensor([1.0, 2.0]), Tensor([[0.5]]), "x"), "method is 'x'"),
    (lambda: ndimage.map_coordinates(Tensor(np.eye(2)), Tensor([[0.5]])), "as many rows of places"),
    (lambda: ndimage.map_coordinates(Tensor([1.0]), Tensor([[0.5]]), order=6), "order is 6"),
    (lambda: ndimage.map_coordinates(Tensor([1.0]), Tensor([[0.5]]), mode="edge"), "mode is 'edge'"),
    (lambda: ndimage.map_coordinates(Tensor([1.0]), Tensor([[0.5]]), np.empty(1)), "never written into"),
    (lambda: ndimage.affine_transform(Tensor(np.eye(2)), Tensor(np.eye(3)[:, :1])), "matrix has shape"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
