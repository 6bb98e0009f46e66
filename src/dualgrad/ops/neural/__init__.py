"""Neural networks as functions: activations, losses, layers, normalisation, convolution, pooling, images."""

from . import (
    activations,
    blocks,
    clipping,
    convolution,
    grids,
    layers,
    losses,
    normalisation,
    pooling,
    resampling,
)

MODULES = (
    activations,
    losses,
    layers,
    normalisation,
    convolution,
    pooling,
    resampling,
    grids,
    blocks,
    clipping,
)
