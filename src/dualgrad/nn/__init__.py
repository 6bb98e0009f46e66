"""Cells: the base class, containers, layers, activations, losses and optimisers."""

from dualgrad.nn import (
    activations,
    adaptive,
    adaptive_pooling,
    attention,
    basic,
    cell,
    classification,
    containers,
    convolution,
    grad,
    images,
    layers,
    loss_scale,
    losses,
    margins,
    normalisation,
    optimizer,
    optimizers,
    padding,
    pooling,
    rectifiers,
    recurrent,
    reducers,
    schedules,
    transformers,
    wrap,
)
from dualgrad.nn.activations import *
from dualgrad.nn.adaptive import *
from dualgrad.nn.adaptive_pooling import *
from dualgrad.nn.attention import *
from dualgrad.nn.basic import *
from dualgrad.nn.cell import *
from dualgrad.nn.classification import *
from dualgrad.nn.containers import *
from dualgrad.nn.convolution import *
from dualgrad.nn.grad import *
from dualgrad.nn.images import *
from dualgrad.nn.layers import *
from dualgrad.nn.loss_scale import *
from dualgrad.nn.losses import *
from dualgrad.nn.margins import *
from dualgrad.nn.normalisation import *
from dualgrad.nn.optimizer import *
from dualgrad.nn.optimizers import *
from dualgrad.nn.padding import *
from dualgrad.nn.pooling import *
from dualgrad.nn.rectifiers import *
from dualgrad.nn.recurrent import *
from dualgrad.nn.reducers import *
from dualgrad.nn.schedules import *
from dualgrad.nn.transformers import *
from dualgrad.nn.wrap import *

from dualgrad.nn import probability as probability  # isort: skip

_MODULES = (
    activations,
    adaptive,
    adaptive_pooling,
    attention,
    basic,
    cell,
    classification,
    containers,
    convolution,
    grad,
    images,
    layers,
    loss_scale,
    losses,
    margins,
    normalisation,
    optimizer,
    optimizers,
    padding,
    pooling,
    rectifiers,
    reducers,
    recurrent,
    schedules,
    transformers,
    wrap,
)
__all__ = sorted(name for module in _MODULES for name in module.__all__)
