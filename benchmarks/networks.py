"""Tanh networks: their weights, their values in any library, and their derivatives by hand.

A network is a flat list of its weights: matrix (out, in), bias (out,), matrix, bias and so on, the
order and layout of dense layers everywhere.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

Weights = Sequence[np.ndarray]


def weights_of(widths: Sequence[int], dtype: str = "float64", seed: int = 20) -> list[np.ndarray]:
    """Random weights, the same in every process."""
    rng = np.random.default_rng(seed)
    weights = []
    for n_in, n_out in pairwise(widths):
        bound = np.sqrt(3.0 / n_in)
        weights += [rng.uniform(-bound, bound, (n_out, n_in)), rng.uniform(-0.1, 0.1, n_out)]
    return [w.astype(dtype) for w in weights]


def value(tanh: Any, weights: Sequence[Any], x: Any) -> Any:
    """The network's output for rows of inputs, in the library that ``tanh`` and the arrays are from."""
    for i in range(0, len(weights) - 2, 2):
        x = tanh(x @ weights[i].T + weights[i + 1])
    return x @ weights[-2].T + weights[-1]


def torch_value(weights: Sequence[Any], x: Any) -> Any:
    """The same with torch's own layers."""
    from torch import tanh
    from torch.nn.functional import linear

    for i in range(0, len(weights) - 2, 2):
        x = tanh(linear(x, weights[i], weights[i + 1]))
    return linear(x, weights[-2], weights[-1])


def cell(package: Any, weights: Weights) -> Any:
    """The same as a Cell of dense layers, in dualgrad or MindSpore."""
    nn = package.nn
    layers = []
    for matrix, bias in zip(weights[::2], weights[1::2], strict=True):
        start = {"weight_init": package.Tensor(matrix), "bias_init": package.Tensor(bias)}
        layers += [nn.Dense(*matrix.shape[::-1], **start, dtype=getattr(package, matrix.dtype.name)), nn.Tanh()]
    return nn.SequentialCell(layers[:-1])


def flat(weights: Weights) -> np.ndarray:
    """All weights in one vector."""
    return np.concatenate([w.ravel() for w in weights])


def unflat(vector: Any, widths: Sequence[int]) -> list[Any]:
    """The weights in a vector of any library."""
    weights, start = [], 0
    for n_in, n_out in pairwise(widths):
        middle, stop = start + n_in * n_out, start + (n_in + 1) * n_out
        weights += [vector[start:middle].reshape((n_out, n_in)), vector[middle:stop]]
        start = stop
    return weights


def doubled(nest: Any) -> Any:
    """Arrays in float64. A reference is for the numbers that contenders are given, so they are rounded first."""
    return [doubled(a) for a in nest] if isinstance(nest, tuple | list) else nest.astype("float64")


class Channels:
    """A network's value together with derivatives along its inputs, and the gradient by its weights.

    ``first`` are directions (rows of numbers, one per input); the channels are the value, the derivative along
    each direction, and, if ``second`` is set, the second derivative along the first of them. What goes through
    a layer are all channels: this is Taylor arithmetic written out, and its backward pass.
    """

    def __init__(
        self, weights: Weights, x: np.ndarray, first: Sequence[Sequence[float]] = (), second: bool = False
    ) -> None:
        self.weights, self.second = weights, second
        channels = [x] + [np.broadcast_to(np.array(direction, x.dtype), x.shape) for direction in first]
        if second:
            channels.append(np.zeros_like(x))
        self.layers = []  # channels into each layer, and before its tanh
        for matrix, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            before = [c @ matrix.T for c in channels]
            before[0] += bias
            self.layers.append((channels, before))
            channels = self._tanh(before)
        self.layers.append((channels, None))
        self.outputs = [c @ weights[-2].T for c in channels]
        self.outputs[0] += weights[-1]

    def _tanh(self, a: list[np.ndarray]) -> list[np.ndarray]:
        y = np.tanh(a[0])
        slope = 1 - y * y
        after = [y] + [slope * c for c in a[1:]]
        if self.second:
            after[-1] -= 2 * y * slope * a[1] * a[1]
        return after

    def gradient(self, cotangents: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Gradient by all weights of a function whose partials by the outputs are ``cotangents``."""
        gradients: list[np.ndarray] = []
        g = list(cotangents)
        for i in range(len(self.layers) - 1, -1, -1):
            channels = self.layers[i][0]
            gradients = [sum(gc.T @ c for c, gc in zip(channels, g, strict=True)), g[0].sum(axis=0), *gradients]
            if i:
                matrix = self.weights[2 * i]
                g = self._tanh_back(channels, self.layers[i - 1][1], [gc @ matrix for gc in g])
        return gradients

    def _tanh_back(self, after: list[np.ndarray], a: list[np.ndarray], g: list[np.ndarray]) -> list[np.ndarray]:
        y = after[0]
        slope = 1 - y * y
        by_slope = sum(c * gc for c, gc in zip(a[1:], g[1:], strict=True))
        back = [slope * gc for gc in g]
        by_y = g[0]
        if self.second:
            squared = 2 * a[1] * a[1]
            by_slope = by_slope - y * squared * g[-1]
            by_y = by_y - slope * squared * g[-1]
            back[1] -= 4 * y * slope * a[1] * g[-1]
        back[0] = slope * (by_y - 2 * y * by_slope)
        return back


class Series:
    """A network's Taylor coefficients along directions, and the gradient of a function of those of highest degree.

    Coefficients are arrays (direction, sample, unit), or (sample, unit) where all directions share them.
    """

    def __init__(self, weights: Weights, x: np.ndarray, directions: np.ndarray, degree: int) -> None:
        self.weights = weights
        series = [x, directions[:, None, :], *[np.zeros((1, 1, x.shape[1]))] * (degree - 1)]
        self.layers = []  # coefficients into each layer, before and after its tanh, and the slopes of that
        for i in range(0, len(weights) - 2, 2):
            before = [s @ weights[i].T for s in series]
            before[0] = before[0] + weights[i + 1]
            after, slopes = _tanh_series(before)
            self.layers.append((series, before, after, slopes))
            series = after
        self.layers.append((series, None, None, None))
        self.outputs = [s @ weights[-2].T for s in series]

    def gradient(self, cotangent: np.ndarray) -> list[np.ndarray]:
        """Gradient by all weights of a function whose partials by the highest coefficients are ``cotangent``."""
        g: list[Any] = [0.0] * (len(self.outputs) - 1) + [cotangent]
        gradients: list[np.ndarray] = []
        for i in range(len(self.layers) - 1, -1, -1):
            series, matrix = self.layers[i][0], self.weights[2 * i]
            by_matrix = sum(_contracted(gc, s) for s, gc in zip(series, g, strict=True) if np.ndim(gc))
            by_bias = g[0].reshape(-1, len(matrix)).sum(0) if np.ndim(g[0]) else np.zeros(len(matrix))
            gradients = [by_matrix, by_bias, *gradients]
            if i:
                _, before, after, slopes = self.layers[i - 1]
                g = _tanh_series_back(before, after, slopes, [gc @ matrix if np.ndim(gc) else gc for gc in g])
        return gradients


def _contracted(g: np.ndarray, s: np.ndarray) -> np.ndarray:
    """The sum over directions and samples of products of a cotangent's units with a coefficient's."""
    lead = np.broadcast_shapes(g.shape[:-1], s.shape[:-1])
    flat = [np.broadcast_to(a, (*lead, a.shape[-1])).reshape(-1, a.shape[-1]) for a in (g, s)]
    return flat[0].T @ flat[1]


def _tanh_series(a: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Coefficients of y = tanh(a), one after the other, from y' = (1 - y^2) a'; and those of 1 - y^2."""
    y, slopes = [np.tanh(a[0])], []
    for k in range(1, len(a)):
        square = sum(y[j] * y[k - 1 - j] for j in range(k))
        slopes.append((1.0 if k == 1 else 0.0) - square)
        y.append(sum(j * a[j] * slopes[k - j] for j in range(1, k + 1)) / k)
    return y, slopes


def _tanh_series_back(a: Sequence[Any], y: Sequence[Any], slopes: Sequence[Any], by_y: Sequence[Any]) -> list[Any]:
    """The same backwards: cotangents of y become those of a."""
    by_y, by_a, by_slope = list(by_y), [0.0] * len(a), [0.0] * len(slopes)
    for k in range(len(a) - 1, 0, -1):
        for j in range(1, k + 1):
            by_a[j] = by_a[j] + j / k * by_y[k] * slopes[k - j]
            by_slope[k - j] = by_slope[k - j] + j / k * by_y[k] * a[j]
        for j in range(k):
            by_y[j] = by_y[j] - 2 * by_slope[k - 1] * y[k - 1 - j]
    by_a[0] = by_y[0] * (1 - y[0] * y[0])
    return by_a
