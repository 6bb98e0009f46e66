"""`scipy.ndimage`: filters, morphology, measurements, interpolation. Compiled, so that values alone come out."""

from __future__ import annotations

import numpy as np

from ..sample import also, sample

__all__ = ["SAMPLES"]

I = "scipy.ndimage."
M = np.array([[0.3, -1.2, 2.0, 0.8], [1.1, 0.4, -0.7, 1.9], [0.2, 2.1, 0.9, -1.4], [0.5, 0.1, -0.8, 1.3]])
K = np.array([[0.5, 1.2, 0.1], [-0.3, 0.8, 0.2], [0.4, -0.6, 0.3]])
LABELS = np.array([[1, 1, 2, 2], [1, 0, 0, 2], [3, 3, 0, 2], [3, 0, 0, 2]])
MASK = M > 0


def _plain(f, c, x):
    return f(x)


def _sized(f, c, x):
    return f(x, 3)


def _masked(f, c):
    return f(c(MASK))


def _labelled(f, c, x):
    return f(x, c(LABELS), c(np.array([1, 2, 3])))


def _middle(x):
    return x[..., 4] if hasattr(x, "shape") and x.ndim > 1 else x[4]


SAMPLES = {
    **also([I + name for name in "gaussian_gradient_magnitude gaussian_laplace gaussian_filter gaussian_filter1d "
            "fourier_gaussian fourier_uniform fourier_ellipsoid fourier_shift".split()], lambda f, c, x: f(x, 1.2), M),
    **also([I + name for name in "laplace prewitt sobel spline_filter spline_filter1d".split()], _plain, M),
    **also([I + name for name in "grey_closing grey_dilation grey_erosion grey_opening black_tophat white_tophat "
            "maximum_filter minimum_filter median_filter uniform_filter maximum_filter1d minimum_filter1d "
            "uniform_filter1d morphological_gradient morphological_laplace".split()], _sized, M),
    **also([I + name for name in "convolve correlate".split()], lambda f, c, x, k: f(x, k), M, K),
    **also([I + name for name in "convolve1d correlate1d".split()], lambda f, c, x, k: f(x, k), M, K[0]),
    **also([I + name for name in "mean median minimum maximum standard_deviation variance sum_labels center_of_mass "
            "extrema maximum_position minimum_position".split()], _labelled, M),
    **also([I + name for name in "binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss "
            "binary_opening binary_propagation distance_transform_bf distance_transform_cdt distance_transform_edt "
            "label".split()], _masked),
    I + "rank_filter": [sample(lambda f, c, x: f(x, 2, size=3), M)],
    I + "percentile_filter": [sample(lambda f, c, x: f(x, 40, size=3), M)],
    I + "generic_filter": [sample(lambda f, c, x: f(x, np.mean, size=3), M)],
    I + "vectorized_filter": [sample(lambda f, c, x: f(x, lambda w, axis: (w**2).mean(axis=axis), size=3), M)],
    I + "generic_filter1d": [
        sample(lambda f, c, x: f(x, lambda a, b: np.copyto(b, a[1:-1] + a[2:]), filter_size=3), M)
    ],
    I + "generic_gradient_magnitude": [sample(lambda f, c, x: f(x, _sobel), M)],
    I + "generic_laplace": [sample(lambda f, c, x: f(x, _second), M)],
    I + "affine_transform": [sample(lambda f, c, x, m: f(x, m), M, [[0.9, 0.1], [-0.1, 0.8]])],
    I + "geometric_transform": [sample(lambda f, c, x: f(x, lambda at: (at[0] * 0.9, at[1] * 0.8)), M)],
    I + "map_coordinates": [sample(lambda f, c, x, at: f(x, at), M, [[0.4, 1.3, 2.2], [1.1, 0.6, 2.7]])],
    I + "rotate": [sample(lambda f, c, x: f(x, 20.0), M)],
    I + "shift": [sample(lambda f, c, x: f(x, 0.4), M)],
    I + "zoom": [sample(lambda f, c, x: f(x, 1.5), M)],
    I + "find_objects": [sample(lambda f, c: [s.start for found in f(c(LABELS)) for s in found])],
    I + "value_indices": [sample(lambda f, c: [x for found in f(c(LABELS)).values() for x in found])],
    I + "histogram": [sample(lambda f, c, x: f(x, -2.0, 2.0, 4), M)],
    I + "iterate_structure": [sample(lambda f, c: f(c(np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)), 2))],
    I + "labeled_comprehension": [
        sample(lambda f, c, x: f(x, c(LABELS), c(np.array([1, 2, 3])), np.mean, float, 0.0), M)
    ],
    I + "watershed_ift": [
        sample(lambda f, c: f(c((M * 10 + 20).astype(np.uint8)), c(np.where(LABELS == 2, 0, LABELS).astype(np.int16))))
    ],
}  # fmt: skip


def _sobel(x, axis, output, mode, cval):
    from scipy.ndimage import sobel

    return sobel(x, axis, output, mode, cval)


def _second(x, axis, output, mode, cval):
    from scipy.ndimage import correlate1d

    return correlate1d(x, [1, -2, 1], axis, output, mode, cval, 0)
