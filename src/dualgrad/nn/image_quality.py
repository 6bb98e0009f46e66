"""Similarity of two images, as Cells: structural similarity, and the ratio of signal to noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgrad import ops
from dualgrad._settings import real_number
from dualgrad.nn.cell import Cell
from dualgrad.ops._arguments import floating
from dualgrad.ops.neural._sliding import one_number
from dualgrad.tensor import Tensor

__all__ = ["MSSSIM", "PSNR", "SSIM"]


def _pair(name: str, img1: Any, img2: Any, least: int = 1) -> tuple[Tensor, Tensor]:
    """Two images (N, C, H, W) of one shape and type; integers become float32."""
    x, y = floating(name, img1), floating(name, img2)
    if x.shape != y.shape or x.ndim != 4 or x.dtype is not y.dtype:
        raise ValueError(
            f"{name}: the images are {x.dtype} {x.shape} and {y.dtype} {y.shape}; expected one type and shape, "
            "(N, C, H, W)"
        )
    if min(x.shape[2:]) < least:
        raise ValueError(f"{name}: the images have shape {x.shape}, of which the filter needs {least} rows and columns")
    return x, y


class _Similarity(Cell):
    """Means, variances and covariances of images in Gaussian windows, and functions of them."""

    def __init__(
        self, max_val: float, filter_size: int, filter_sigma: float, k1: float, k2: float
    ) -> None:  # fmt: skip
        super().__init__()
        name = type(self).__name__
        for what, value in (("max_val", max_val), ("filter_sigma", filter_sigma)):
            real_number(name, what, value)
            if not value > 0:
                raise ValueError(f"{name}: {what} must be positive, got {value}")
        self.max_val = max_val
        self.filter_size = one_number(name, "filter_size", filter_size)
        self.filter_sigma = filter_sigma
        self.k1, self.k2 = k1, k2
        places = np.arange(self.filter_size) - (self.filter_size - 1) // 2
        window = np.exp(-(places**2) / (2.0 * filter_sigma**2))
        self._window = window / window.sum()

    def _smoothed(self, x: Tensor) -> Tensor:
        """The mean in each window, along one axis and then the other."""
        window = Tensor(self._window, x.dtype)
        y = ops.reshape(x, (-1, 1, *x.shape[2:]))
        for shape in ((-1, 1), (1, -1)):
            y = ops.conv2d(y, ops.reshape(window, (1, 1, *shape)))
        return ops.reshape(y, (*x.shape[:2], *y.shape[2:]))

    def _compared(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Similarity, and similarity of contrast and structure alone, of each channel: shapes (N, C)."""
        c1, c2 = (self.k1 * self.max_val) ** 2, (self.k2 * self.max_val) ** 2
        mx, my = self._smoothed(x), self._smoothed(y)
        variances = self._smoothed(x * x) - mx * mx + self._smoothed(y * y) - my * my
        covariance = self._smoothed(x * y) - mx * my
        structure = (2 * covariance + c2) / (variances + c2)
        similarity = (2 * mx * my + c1) / (mx * mx + my * my + c1) * structure
        return ops.mean(similarity, (2, 3)), ops.mean(structure, (2, 3))

    def extend_repr(self) -> str:
        return f"max_val={self.max_val}, filter_size={self.filter_size}, filter_sigma={self.filter_sigma}"


class SSIM(_Similarity):
    """Structural similarity of two images, 1 for equal ones.

    The means μ, variances σ² and the covariance are taken in a Gaussian window around each place. The result is the
    mean over places and channels of ``(2μ₁μ₂ + c₁)(2σ₁₂ + c₂) / ((μ₁² + μ₂² + c₁)(σ₁² + σ₂² + c₂))``, where c is
    ``(k max_val)²``.

    Parameters
    ----------
    max_val : float, default 1.0
        The largest value that an image may have.
    filter_size : int, default 11
        Rows and columns of the window. Places where it does not fit into the image do not count.
    filter_sigma : float, default 1.5
        The standard deviation of the window.
    k1, k2 : float
        As above; 0.01 and 0.03 by default.

    Raises
    ------
    ValueError
        If a setting is not positive, shapes or types differ, or an image is smaller than the window.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> x = ops.ones((1, 3, 16, 16))
    >>> print(nn.SSIM()(x, x))
    [1.]
    """

    def __init__(
        self, max_val: float = 1.0, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03
    ) -> None:
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        x, y = _pair("SSIM", img1, img2, self.filter_size)
        return ops.mean(self._compared(x, y)[0], -1)


class MSSSIM(_Similarity):
    """Structural similarity of two images on several scales, each half as fine as the scale before.

    The result is the mean over channels of a product of powers: of contrast and structure on each scale, and on the
    last scale of the whole similarity (see `SSIM`). Negative factors count as 0.

    Parameters
    ----------
    max_val, filter_size, filter_sigma, k1, k2
        As in `SSIM`.
    power_factors : tuple of float, optional
        The exponents, one for each scale; 0.0448, 0.2856, 0.3001, 0.2363 and 0.1333 by default.

    Raises
    ------
    ValueError
        As in `SSIM`; the image of the last scale has to be large enough.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> x = ops.ones((1, 1, 32, 32))
    >>> print(nn.MSSSIM(power_factors=(0.5, 0.5))(x, x))
    [1.]
    """

    def __init__(
        self,
        max_val: float = 1.0,
        power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        if not isinstance(power_factors, tuple | list):
            raise TypeError(f"MSSSIM: power_factors must be a tuple of numbers, got {type(power_factors).__name__}")
        self.power_factors = tuple([real_number("MSSSIM", "a power factor", k) for k in power_factors])
        if not self.power_factors:
            raise ValueError("MSSSIM: power_factors is empty; expected a number for each scale")

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        scales = len(self.power_factors)
        x, y = _pair("MSSSIM", img1, img2, self.filter_size << (scales - 1))
        product: Any = 1.0
        for scale, power in enumerate(self.power_factors, 1):
            similarity, structure = self._compared(x, y)
            product = product * ops.relu(similarity if scale == scales else structure) ** power
            x, y = [ops.avg_pool2d(image, 2, 2) for image in (x, y)]
        return ops.mean(product, -1)


class PSNR(Cell):
    """Peak signal-to-noise ratio of two images in decibels: ``10 log10(max_val² / mean((x - y)²))``.

    Parameters
    ----------
    max_val : float, default 1.0
        The largest value that an image may have.

    Raises
    ------
    ValueError
        If it is not positive, or shapes or types differ.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> print(nn.PSNR()(ops.zeros((1, 1, 2, 2)), ops.full((1, 1, 2, 2), 0.1)))
    [20.]
    """

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        real_number("PSNR", "max_val", max_val)
        if not max_val > 0:
            raise ValueError(f"PSNR: max_val must be positive, got {max_val}")
        self.max_val = max_val

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        x, y = _pair("PSNR", img1, img2)
        return 20.0 * math.log10(self.max_val) - ops.log10(ops.mean(ops.square(x - y), (1, 2, 3))) * 10.0

    def extend_repr(self) -> str:
        return f"max_val={self.max_val}"
