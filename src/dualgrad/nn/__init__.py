"""Cells: the base class, containers, layers, activations, losses and optimisers."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

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
    factored,
    grad,
    image_quality,
    images,
    layers,
    layerwise,
    loss_scale,
    losses,
    margins,
    normalisation,
    optimizer,
    optimizers,
    padding,
    pooling,
    proximal,
    rectifiers,
    recurrent,
    reducers,
    schedules,
    stepwise,
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
from dualgrad.nn.factored import *
from dualgrad.nn.grad import *
from dualgrad.nn.image_quality import *
from dualgrad.nn.images import *
from dualgrad.nn.layers import *
from dualgrad.nn.layerwise import *
from dualgrad.nn.loss_scale import *
from dualgrad.nn.losses import *
from dualgrad.nn.margins import *
from dualgrad.nn.normalisation import *
from dualgrad.nn.optimizer import *
from dualgrad.nn.optimizers import *
from dualgrad.nn.padding import *
from dualgrad.nn.pooling import *
from dualgrad.nn.proximal import *
from dualgrad.nn.rectifiers import *
from dualgrad.nn.recurrent import *
from dualgrad.nn.reducers import *
from dualgrad.nn.schedules import *
from dualgrad.nn.stepwise import *
from dualgrad.nn.transformers import *
from dualgrad.nn.wrap import *

if TYPE_CHECKING:
    from dualgrad.nn import probability as probability

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
    factored,
    grad,
    image_quality,
    images,
    layerwise,
    layers,
    loss_scale,
    losses,
    margins,
    normalisation,
    optimizer,
    optimizers,
    padding,
    pooling,
    proximal,
    rectifiers,
    reducers,
    recurrent,
    schedules,
    stepwise,
    transformers,
    wrap,
)
__all__ = sorted(name for module in _MODULES for name in module.__all__)


if not TYPE_CHECKING:  # checkers see the names above, and find misspelt ones

    def __getattr__(name: str) -> Any:
        if name == "probability":  # imported on first use
            return _import_module(f"{__name__}.{name}")
        from dualgrad._foreign import missing

        raise missing(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "probability"})
