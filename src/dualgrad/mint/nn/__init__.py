"""Layers with PyTorch's names of arguments; `functional` has the functions that they call."""

from dualgrad.mint.nn import convolution, functional, layers, normalisation, stateless
from dualgrad.mint.nn.convolution import *
from dualgrad.mint.nn.layers import *
from dualgrad.mint.nn.normalisation import *
from dualgrad.mint.nn.stateless import *

__all__ = [*convolution.__all__, *layers.__all__, *normalisation.__all__, *stateless.__all__, "functional"]
