"""MindSpore's experimental package: optimisers and schedules that are used as in PyTorch."""

from dualgrad.experimental import optim

__all__ = ["optim"]
