"""Neural networks as functions: activations, losses, layers, normalisation, convolution, pooling."""

from . import activations, clipping, convolution, layers, losses, normalisation, pooling

MODULES = (
    activations,
    losses,
    layers,
    normalisation,
    convolution,
    pooling,
    clipping,
)
