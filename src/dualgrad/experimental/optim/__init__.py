"""Optimisers and schedules that are used as in PyTorch; `dualgrad.nn` has MindSpore's own."""

from dualgrad.experimental.optim import lr_scheduler, optimizers
from dualgrad.experimental.optim.optimizers import *

__all__ = [*optimizers.__all__, "lr_scheduler"]
