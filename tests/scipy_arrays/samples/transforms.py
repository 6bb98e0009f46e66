"""`scipy.fft`, `constants`, `linalg`, `cluster`: what works on whole arrays."""

from __future__ import annotations

import numpy as np

from ..sample import also, sample

__all__ = ["SAMPLES"]

X = np.array([0.31, 1.74, -0.92, 2.63, 1.13, -0.58, 3.41, 2.05])
M = np.array([[0.3, -1.2, 2.0, 0.8], [1.1, 0.4, -0.7, 1.9], [0.2, 2.1, 0.9, -1.4]])
S = np.array([[2.0, 0.3, -0.5], [0.4, 1.5, 0.7], [-0.2, 0.6, 1.8]])
OTHER = np.array([[0.7, 1.3, -0.4], [1.9, -0.6, 0.8], [0.5, 1.0, 2.2]])
POINTS = np.array([[0.1, 0.2], [0.3, -0.1], [2.1, 2.4], [2.6, 2.0], [5.2, 0.4], [5.0, 1.1]])
MERGED = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0]])
SIZES = np.array([2.0, 2.0, 2.0, 4.0, 6.0])
HEIGHTS = np.array([0.36, 0.64, 0.83, 3.1, 4.2])
RATIOS = np.array([[0.5, 0.1, 1.0, 0.2 * i] for i in range(5)])

F = "scipy.fft."
COMPLEX = also([F + name for name in "fft ifft".split()], lambda f, c, x, y: f(x + 1j * y, axis=0), M, M[:, ::-1])
COMPLEX |= also(
    [F + name for name in "fft2 ifft2 fftn ifftn fftshift ifftshift hfft hfft2 hfftn irfft irfft2 irfftn".split()],
    lambda f, c, x, y: f(x + 1j * y), M, M[:, ::-1].copy(),
)  # fmt: skip
REAL = also([F + name for name in "rfft rfft2 rfftn ihfft ihfft2 ihfftn".split()], lambda f, c, x: f(x), M)
COSINES = also([F + name for name in "dct idct dst idst dctn idctn dstn idstn".split()], lambda f, c, x: f(x), M)


def _tree(c, heights, first=0.0):
    """A tree of clusters, by the heights at which they are merged."""
    xp = _space(c)
    return xp.concat([c(MERGED + first), heights[:, None], c(SIZES)[:, None]], axis=1)


def _space(c):
    import dualgrad.numpy as mnp

    return np if c is np.asarray else mnp


SCATTERED = "scipy.cluster.hierarchy."
CLUSTER = {
    **also([SCATTERED + name for name in "average centroid complete median single ward weighted".split()],
           lambda f, c, x: f(x), POINTS),
    SCATTERED + "linkage": [sample(lambda f, c, x: f(x, method="average"), POINTS)],
    SCATTERED + "cophenet": [sample(lambda f, c, d: f(_tree(c, d)), HEIGHTS)],
    SCATTERED + "correspond": [sample(lambda f, c, d: f(_tree(c, d), c(np.arange(15.0) + 1)), HEIGHTS)],
    SCATTERED + "dendrogram": [sample(lambda f, c, d: f(_tree(c, d), no_plot=True)["dcoord"], HEIGHTS)],
    SCATTERED + "fcluster": [sample(lambda f, c, d: f(_tree(c, d), 1.5, criterion="distance"), HEIGHTS)],
    SCATTERED + "fclusterdata": [sample(lambda f, c, x: f(x, 1.0), POINTS)],
    SCATTERED + "from_mlab_linkage": [sample(lambda f, c, d: f(_tree(c, d, 1.0)[:, :3]), HEIGHTS)],
    SCATTERED + "to_mlab_linkage": [sample(lambda f, c, d: f(_tree(c, d)), HEIGHTS)],
    **also([SCATTERED + name for name in "inconsistent maxdists leaves_list num_obs_linkage is_monotonic "
            "is_valid_linkage".split()], lambda f, c, d: f(_tree(c, d)), HEIGHTS),
    SCATTERED + "is_isomorphic": [
        sample(lambda f, c: f(c(np.array([1, 2, 2, 3])), c(np.array([4, 1, 1, 2]))))
    ],
    SCATTERED + "is_valid_im": [
        sample(lambda f, c, r: f(r), np.array([[0.36, 0.0, 1.0, 0.0], [0.64, 0.0, 1.0, 0.0], [0.73, 0.0, 1.0, 0.0]]))
    ],
    SCATTERED + "leaders": [
        sample(lambda f, c, d: f(_tree(c, d), c(np.array([1, 1, 2, 2, 3, 3], np.int32))), HEIGHTS)
    ],
    SCATTERED + "maxinconsts": [
        sample(lambda f, c, d: f(_tree(c, d), c(RATIOS)), HEIGHTS)
    ],
    SCATTERED + "maxRstat": [
        sample(lambda f, c, d: f(_tree(c, d), c(RATIOS), 3), HEIGHTS)
    ],
    SCATTERED + "optimal_leaf_ordering": [
        sample(lambda f, c, d: f(_tree(c, d), c(np.arange(15.0) * 0.3 + 1)), HEIGHTS)
    ],
    SCATTERED + "to_tree": [sample(lambda f, c, d: f(_tree(c, d)).dist, HEIGHTS)],
    "scipy.cluster.vq.whiten": [sample(lambda f, c, x: f(x), POINTS)],
    "scipy.cluster.vq.vq": [sample(lambda f, c, x, b: f(x, b), POINTS, POINTS[[0, 2, 4]] + 0.2)],
    "scipy.cluster.vq.kmeans": [
        sample(lambda f, c, x: f(x, c(POINTS[[0, 2, 4]]), rng=np.random.default_rng(3)), POINTS)
    ],
    "scipy.cluster.vq.kmeans2": [
        sample(lambda f, c, x: f(x, c(POINTS[[0, 2, 4]]), minit="matrix", rng=np.random.default_rng(3)), POINTS)
    ],
}  # fmt: skip

SAMPLES = {
    **COMPLEX, **REAL, **COSINES, **CLUSTER,
    F + "fftfreq": [sample(lambda f, c: f(6, d=0.5, xp=_space(c)))],
    F + "rfftfreq": [sample(lambda f, c: f(6, d=0.5, xp=_space(c)))],
    F + "fht": [sample(lambda f, c, x: f(x, 0.3, 0.5), X)],
    F + "ifht": [sample(lambda f, c, x: f(x, 0.3, 0.5), X)],
    "scipy.constants.convert_temperature": [sample(lambda f, c, x: f(x, "Celsius", "Fahrenheit"), X)],
    "scipy.constants.lambda2nu": [sample(lambda f, c, x: f(x), np.abs(X), reach=0.05)],
    "scipy.constants.nu2lambda": [sample(lambda f, c, x: f(x), np.abs(X), reach=0.05)],
    "scipy.linalg.block_diag": [sample(lambda f, c, x, y: f(x, y), M, S)],
    "scipy.linalg.fiedler": [sample(lambda f, c, x: f(x), X)],
    "scipy.linalg.orthogonal_procrustes": [sample(lambda f, c, x, y: f(x, y), S, OTHER)],
}  # fmt: skip
