"""Neural networks as functions: activations, losses, layers, normalisation, convolution, pooling, images."""

from . import (
    activations,
    clipping,
    layers,
    losses,
    normalisation,
)

MODULES = (
    activations,
    losses,
    layers,
    normalisation,
    clipping,
)
