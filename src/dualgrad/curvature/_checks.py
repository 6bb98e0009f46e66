"""Checks of numbers that work in every mode, also inside recorded programs and derivatives."""

from __future__ import annotations

import numpy as np

from .. import extend

__all__ = ["informative", "nonzero", "positive", "symmetric"]


def _positive(x: np.ndarray) -> np.ndarray:
    if not (x > 0).all():  # nan is not positive either
        raise np.linalg.LinAlgError(
            f"curvature: the smallest of the eigenvalues is {np.min(x):.6g}; a logarithm, an evidence and a covariance "
            "need a positive definite operator: add a multiple of the identity, or take a Gauss-Newton operator"
        )
    return x


def _informative(x: np.ndarray) -> np.ndarray:
    if not (x > 0).all():
        raise ValueError(
            f"laplace: prior_precision is {np.min(x):.6g}; expected numbers above 0: with a flat prior the evidence is "
            "not defined, a small precision has nearly the same variances"
        )
    return x


def _nonzero(x: np.ndarray) -> np.ndarray:
    if not x.any():
        raise ValueError("lanczos: start is zero; expected a direction")
    return x


def _symmetric(x: np.ndarray) -> np.ndarray:
    difference, largest = np.abs(x - x.T).max(initial=0.0), np.abs(x).max(initial=0.0)
    if not difference <= np.sqrt(np.finfo(x.dtype).eps) * largest:
        raise ValueError(
            f"symmetric_operator: the matrix differs from its transpose by up to {difference:.3g}; expected a "
            "symmetric one, up to rounding"
        )
    return 0.5 * (x + x.T)


positive = extend.primitive(
    "curvature_positive", _positive, jvp=(lambda dx, out, x: dx,), summary="its operand, which has to be positive"
)
informative = extend.primitive(
    "prior_precision", _informative, jvp=(lambda dx, out, x: dx,), summary="a precision, which has to be positive"
)
nonzero = extend.primitive(
    "curvature_nonzero", _nonzero, jvp=(lambda dx, out, x: dx,), summary="a vector, which must not be zero"
)
symmetric = extend.primitive(
    "curvature_symmetric",
    _symmetric,
    jvp=(lambda dx, out, x: 0.5 * (dx + dx.T),),
    summary="a matrix that equals its transpose up to rounding, made equal to it",
)
