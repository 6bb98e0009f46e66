"""Order, sets, choices, bins, and tensors that are written into.

What has a shape that depends on the data, or is found on the numbers, has no meaning for many samples at once.
"""

import numpy as np
from cases import normal, positive, spread

from numpy_samples import sample
from numpy_samples.elementwise import after

A, B, V, CUBE, S = normal(3, 4), normal(3, 4, seed=1), normal(5), normal(2, 3, 4), spread(3, 4)
HOLES = np.arange(12).reshape(3, 4) % 5 == 1
TWICE = np.array([0, 2, 2, 4, 1, 0])
POINTS, WEIGHTS = spread(8), positive(8)

ORDER = [
    sample("sort", lambda m, a: m.sort(a, axis=0, kind="stable"), S),
    sample("sort", lambda m, a: m.sort(a, axis=None, stable=True), S),
    sample("sort", lambda m, a: m.sort(a, axis=1, descending=True), S, since="2.5.0"),
    sample("sort_complex", lambda m, a: m.sort_complex(m.concatenate([a, a[:2] * 1j])), spread(5), batched=False),
    sample("partition", lambda m, a: m.partition(a, 0, axis=1, kind="introselect")[:, :1] ** 2, S),
    sample("unique", lambda m, a: m.unique(a[TWICE], equal_nan=False), POINTS, batched=False),
    sample("unique", lambda m, a: m.unique(a[TWICE], sorted=True), POINTS, batched=False, since="2.3.0"),
    sample(
        "unique",
        lambda m, a: m.unique(a[TWICE], True, return_inverse=True, return_counts=True, axis=0)[0],
        A[:, :1].repeat(5, 0).cumsum(0),
        batched=False,
    ),
    *(
        sample(
            name,
            lambda m, a, name=name: (
                getattr(m, name)(a[TWICE]) if name == "unique_values" else getattr(m, name)(a[TWICE])[0]
            ),
            POINTS,
            batched=False,
        )
        for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values")
    ),
    sample("union1d", lambda m, a: m.union1d(a[:4], a[2:6]), POINTS, batched=False),
    sample(
        "intersect1d",
        lambda m, a: m.intersect1d(a[:4], a[2:6], assume_unique=True, return_indices=True)[0],
        POINTS,
        batched=False,
    ),
    sample("intersect1d", lambda m, a: m.intersect1d(a[TWICE], a[2:6]), POINTS, batched=False),
    sample("setdiff1d", lambda m, a: m.setdiff1d(a[:4], a[2:6], assume_unique=True), POINTS, batched=False),
    sample("setdiff1d", lambda m, a: m.setdiff1d(a[TWICE], a[2:6]), POINTS, batched=False),
    sample("setxor1d", lambda m, a: m.setxor1d(a[:4], a[2:6], assume_unique=True), POINTS, batched=False),
    sample("setxor1d", lambda m, a: m.setxor1d(a[TWICE], a[2:6]), POINTS, batched=False),
]

CHOICES = [
    sample("where", lambda m, a, b: m.where(HOLES, a, b), A, B),
    sample("take", lambda m, a: m.take(a, [0, -1, 5], axis=1, mode="wrap"), A),
    sample("take_along_axis", lambda m, a: m.take_along_axis(a, np.array([[0, 3, 3]]), axis=1), A),
    sample("take_along_axis", lambda m, a: m.take_along_axis(a, np.array([3, 0]), axis=None), A),
    sample("compress", lambda m, a: m.compress([True, False, True], a, axis=1), A),
    sample("compress", lambda m, a: m.compress([True, False, True], a), A),
    sample("extract", lambda m, a: m.extract(HOLES, a), A),
    *(
        sample("choose", lambda m, a, b, mode=mode: m.choose(np.array([0, 1, 1, 0]), [a, b], mode=mode), A, B)
        for mode in ("raise", "wrap", "clip")
    ),
    sample("select", lambda m, a, b: m.select([HOLES, HOLES[:, ::-1]], [a, a * b], default=b), A, B),
    sample("piecewise", lambda m, a: m.piecewise(a, [a < 0.0, a > 0.5], [lambda x: x * x, m.exp, 0.25]), A),
    sample(
        "piecewise",
        lambda m, a, b: m.piecewise(a, [a < 0.0], [lambda x, y, z: x * y + z, lambda x, y, z: x * z], 2.0, z=3.0),
        A,
        V,
    ),
    sample(
        "apply_along_axis",
        lambda m, a: m.apply_along_axis(lambda x, c, d: m.outer(x, x[:2] * c + d), 1, a, 2.0, d=1.0),
        CUBE,
    ),
    sample("apply_over_axes", lambda m, a: m.apply_over_axes(m.sum, a, [0, 2]), CUBE),
]

BINS = [
    sample(
        "histogram",
        lambda m, a, w: list(m.histogram(a, bins=3, range=(-0.5, 0.6), density=True, weights=w)),
        POINTS,
        WEIGHTS,
    ),
    sample(
        "histogram",
        lambda m, a, w, e: list(m.histogram(a, e, weights=w)),
        POINTS,
        WEIGHTS,
        np.array([-0.7, -0.13, 0.3, 0.9]),
    ),
    sample("histogram", lambda m, a, w: list(m.histogram(a, weights=w)), POINTS, WEIGHTS),
    sample("histogram_bin_edges", lambda m, a: m.histogram_bin_edges(a, bins=4, range=None, weights=None), POINTS),
    sample("histogram_bin_edges", lambda m, a: m.histogram_bin_edges(a, "sturges"), POINTS, batched=False),
    sample(
        "histogram2d",
        lambda m, a, w: list(m.histogram2d(a, a * a, bins=[2, 3], range=None, density=True, weights=w)),
        POINTS,
        WEIGHTS,
    ),
    sample(
        "histogramdd",
        lambda m, a, w: m.histogramdd((a, a * a), bins=2, range=[(-1, 1), (0, 1)], density=True, weights=w)[0],
        POINTS,
        WEIGHTS,
    ),
    sample("histogramdd", lambda m, a, w: m.histogramdd(a, 3, weights=w)[0], normal(8, 2), WEIGHTS),
    sample(
        "histogramdd",
        lambda m, a, w: m.histogramdd(a, [[-1.0, 0.0, 1.0], [-1.0, 1.0]], weights=w)[0],
        normal(8, 2),
        WEIGHTS,
    ),
    sample("bincount", lambda m, w: m.bincount(np.array([0, 2, 2, 5, 1]), weights=w, minlength=8), V),
]

WRITTEN = [
    sample("put", lambda m, a, b: after(m, a, "put", [0, 5, -1, 13], b, "wrap"), A, normal(3)),
    sample("place", lambda m, a, b: after(m, a, "place", HOLES, b), A, normal(2)),
    sample("putmask", lambda m, a, b: after(m, a, "putmask", HOLES, b), A, V),
    sample("copyto", lambda m, a, b: after(m, a, "copyto", b, "same_kind", HOLES), A, normal(4)),
    sample("copyto", lambda m, a, b: after(m, a, "copyto", b[None, None]), A, normal(4)),
    sample("fill_diagonal", lambda m, a, b: after(m, a, "fill_diagonal", b, True), normal(5, 2), normal(3)),
    sample(
        "put_along_axis",
        lambda m, a, b: after(m, a, "put_along_axis", np.array([[1], [0], [-1]]), b, 1),
        A,
        normal(3, 1),
    ),
    sample("put_along_axis", lambda m, a, b: after(m, a, "put_along_axis", np.array([1, 5]), b, None), A, 1.5),
]

SAMPLES = [*ORDER, *CHOICES, *BINS, *WRITTEN]
