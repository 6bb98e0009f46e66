"""Layers with PyTorch's names of arguments; `functional` has the functions that they call."""

from dualgrad.mint.nn import functional, layers
from dualgrad.mint.nn.layers import *

__all__ = [*layers.__all__, "functional"]
