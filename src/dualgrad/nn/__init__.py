"""Cells: the base class, containers, layers, activations, losses and optimisers."""

from dualgrad.nn.activations import (
    ELU,
    GELU,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Softsign,
    Tanh,
    get_activation,
)
from dualgrad.nn.cell import Cell
from dualgrad.nn.containers import CellList, SequentialCell
from dualgrad.nn.layers import Dense, Flatten, Identity
from dualgrad.nn.losses import HuberLoss, L1Loss, LossBase, MSELoss, SmoothL1Loss
from dualgrad.nn.optimizer import LearningRateSchedule, Optimizer
from dualgrad.nn.optimizers import SGD, Adam, Momentum

__all__ = [
    "ELU",
    "GELU",
    "SGD",
    "Adam",
    "Cell",
    "CellList",
    "Dense",
    "Flatten",
    "HuberLoss",
    "Identity",
    "L1Loss",
    "LeakyReLU",
    "LearningRateSchedule",
    "LogSigmoid",
    "LogSoftmax",
    "LossBase",
    "MSELoss",
    "Momentum",
    "Optimizer",
    "ReLU",
    "SequentialCell",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
    "get_activation",
]
