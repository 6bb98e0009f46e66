"""Registration of two images: the mean squared difference, and its gradient by the map between them; float64.

`affine/1` and `affine/3`: a map of six numbers, images of 256 by 256 points, splines of degree 1 and 3; `field/1`: a
displacement at each of 120 by 120 points, and the squares of its differences. Coefficients of the splines are computed
beforehand (`scipy.ndimage.spline_filter`), and no place lies outside. `dualgrad` is `dualgrad.scipy.ndimage`; JAX has
that function for degree 1 only, so `taps` are the products of weights and elements written out, in both. The
reference and `hand` are the same in NumPy with slopes written out.
"""

import functools
import itertools
from typing import Any

import numpy as np
import styles
from workload import Case, Run

MARGIN, SMOOTH = 4, 0.1


def picture(n: int, shift: float) -> np.ndarray:
    """Smooth blobs, at places that `shift` moves."""
    y, x = np.meshgrid(*[np.linspace(-1.0, 1.0, n)] * 2, indexing="ij")
    rng = np.random.default_rng(3)
    blobs = ((*rng.uniform(-0.7, 0.7, 2), rng.uniform(4.0, 40.0)) for _ in range(12))
    return sum(np.exp(-k * ((y - a - shift) ** 2 + (x - b + shift) ** 2)) for a, b, k in blobs)


@functools.cache
def problem(kind: str, order: int) -> tuple:
    """The map; coefficients of the moving image, the fixed image, and where its points are (3 or 2, ...)."""
    from scipy.ndimage import spline_filter

    rng = np.random.default_rng(4)
    n = 256 if kind == "affine" else 128
    moving, fixed = picture(n, 0.0), picture(n, 0.05)
    moving = spline_filter(moving, order) if order > 1 else moving
    if kind == "affine":
        middle = (n - 1) / 2
        grid = np.stack([*np.meshgrid(*[np.linspace(-1.0, 1.0, n)] * 2, indexing="ij"), np.ones((n, n))])
        theta = middle * np.array([[0.9, 0.02, 1.01], [-0.03, 0.88, 1.02]])
        return theta, moving, fixed, grid
    inner = slice(MARGIN, n - MARGIN)
    grid = np.stack(np.meshgrid(*[np.arange(MARGIN, n - MARGIN, dtype=float)] * 2, indexing="ij"))
    return rng.uniform(-1.5, 1.5, grid.shape), moving, np.ascontiguousarray(fixed[inner, inner]), grid


def places_of(kind: str, theta: Any, grid: Any) -> Any:
    """Where the points go: (2, ...)."""
    if kind == "field":
        return grid + theta
    return (theta @ grid.reshape((3, -1))).reshape((2, *grid.shape[1:]))


def loss_of(kind: str, theta: Any, sampled: Any, fixed: Any) -> Any:
    apart = sampled - fixed
    loss = (apart * apart).mean()
    if kind == "field":
        down, right = theta[:, 1:] - theta[:, :-1], theta[:, :, 1:] - theta[:, :, :-1]
        loss = loss + SMOOTH * ((down * down).mean() + (right * right).mean())
    return loss


def weights(t: Any, order: int) -> list:
    """B-splines at the taps around a place, t behind the element before it."""
    if order == 1:
        return [1.0 - t, t]
    s = 1.0 - t
    return [s * s * s / 6, (3 * t - 6) * t * t / 6 + 2 / 3, (3 * s - 6) * s * s / 6 + 2 / 3, t * t * t / 6]


def slopes(t: Any, order: int) -> list:
    """Their derivatives."""
    if order == 1:
        return [-1.0, 1.0]
    s = 1.0 - t
    return [-s * s / 2, (3 * t - 4) * t / 2, -(3 * s - 4) * s / 2, t * t / 2]


def contracted(image: Any, i: Any, j: Any, by_row: list, by_column: list) -> Any:
    """The sum of products of weights and elements."""
    first = 1 - len(by_row) // 2
    taps = itertools.product(enumerate(by_row, first), enumerate(by_column, first))
    return sum(wy * wx * image[i + a, j + b] for (a, wy), (b, wx) in taps)


def by_hand(kind: str, order: int, theta: np.ndarray, image: np.ndarray, fixed: np.ndarray, grid: np.ndarray) -> list:
    places = places_of(kind, theta, grid)
    low = np.floor(places)
    (i, j), (ty, tx) = low.astype(int), places - low
    wy, wx = weights(ty, order), weights(tx, order)
    sampled = contracted(image, i, j, wy, wx)
    rows, columns = contracted(image, i, j, slopes(ty, order), wx), contracted(image, i, j, wy, slopes(tx, order))
    by_place = 2.0 * (sampled - fixed) / fixed.size * np.stack([rows, columns])
    loss = np.array(loss_of(kind, theta, sampled, fixed))
    if kind == "affine":
        return [loss, by_place.reshape(2, -1) @ grid.reshape(3, -1).T]
    for axis in (1, 2):
        ahead = np.diff(theta, axis=axis)
        pull = 2.0 * SMOOTH / ahead.size * ahead
        ends = [(0, 0)] * 3
        ends[axis] = (1, 1)
        by_place = by_place - np.diff(np.pad(pull, ends), axis=axis)
    return [loss, by_place]


def program(package: Any, kind: str, order: int, *arrays: np.ndarray) -> tuple:
    from dualgrad.scipy import ndimage

    def loss(theta, image, fixed, grid):
        places = places_of(kind, theta, grid)
        sampled = ndimage.map_coordinates(image, places, order=order, mode="nearest", prefilter=False)
        return loss_of(kind, theta, sampled, fixed)

    return package.value_and_grad(loss), [package.Tensor(a) for a in arrays]


def taps(m: Any, integers: Any) -> Any:
    """Sampling by weights written out; `integers` converts."""

    def sample(image, places, order):
        low = m.floor(places)
        (i, j), (ty, tx) = integers(low), places - low
        return contracted(image, i, j, weights(ty, order), weights(tx, order))

    return sample


def written_out(package: Any, kind: str, order: int, *arrays: np.ndarray) -> tuple:
    """The same weights as arrays of the shape of the places, which a recorded program fuses."""
    sample = taps(package.ops, lambda low: [low[axis].astype(package.int64) for axis in (0, 1)])

    def loss(theta, image, fixed, grid):
        return loss_of(kind, theta, sample(image, places_of(kind, theta, grid), order), fixed)

    return package.value_and_grad(loss), [package.Tensor(a) for a in arrays]


def jax_taps(kind: str, order: int, *arrays: np.ndarray) -> Run:
    import jax

    sample = taps(jax.numpy, lambda x: x.astype(int))
    return _jax(sample, kind, order, *arrays)


def jax_scipy(kind: str, order: int, *arrays: np.ndarray) -> Run:
    from jax.scipy.ndimage import map_coordinates

    return _jax(lambda image, places, order: map_coordinates(image, places, order, "nearest"), kind, order, *arrays)


def _jax(sample: Any, kind: str, order: int, *arrays: np.ndarray) -> Run:
    import jax

    def loss(theta, image, fixed, grid):
        return loss_of(kind, theta, sample(image, places_of(kind, theta, grid), order), fixed)

    return styles.jax_jit(jax.value_and_grad(loss), *arrays)


def torch_taps(kind: str, order: int, *arrays: np.ndarray) -> Run:
    import torch

    return _torch(taps(torch, lambda x: x.long()), kind, order, *arrays)


def torch_grid_sample(kind: str, order: int, *arrays: np.ndarray) -> Run:
    import torch

    def sample(image, places, order):
        normed = 2.0 * places / (image.shape[0] - 1) - 1.0
        grid = torch.stack([normed[1], normed[0]], -1)[None]
        options = {"mode": "bilinear", "padding_mode": "border", "align_corners": True}
        return torch.nn.functional.grid_sample(image[None, None], grid, **options)[0, 0]

    return _torch(sample, kind, order, *arrays)


def _torch(sample: Any, kind: str, order: int, *arrays: np.ndarray) -> Run:
    import torch

    theta, image, fixed, grid = styles.torch_tensors(*arrays)
    theta.requires_grad_()

    def call():
        loss = loss_of(kind, theta, sample(image, places_of(kind, theta, grid), order), fixed)
        return loss.detach(), torch.autograd.grad(loss, theta)

    return Run(call)


RIVALS = {"jax taps": jax_taps, "torch": torch_taps, "hand": lambda *arrays: Run(lambda: by_hand(*arrays))}
LINEAR = {"jax scipy": jax_scipy, "jax taps": jax_taps, "torch": torch_grid_sample, "hand": RIVALS["hand"]}


def case(kind: str, order: int) -> Case:
    return Case(
        name=f"application/registration/{kind}/{order}",
        reference=functools.cache(lambda: by_hand(kind, order, *problem(kind, order))),
        dtype="float64",
        tolerance=1e-10,
        contenders=styles.contenders(
            program,
            LINEAR if order == 1 else RIVALS,
            lambda: (kind, order, *problem(kind, order)),
            {"dualgrad jit taps": written_out, "mindspore graph": None},
        ),
    )


CASES = [case("affine", 1), case("affine", 3), case("field", 1)]


def test_registration(benchmark, run):
    benchmark(run.call)
