"""Training loops under MindSpore's names: `Model`, callbacks, metrics, checkpoints and scales of the loss.

You can train without all this: `dualgrad.value_and_grad` and an optimiser are enough.
"""

from __future__ import annotations

import os

from dualgrad.amp import managers, steps
from dualgrad.amp.managers import *
from dualgrad.amp.steps import *
from dualgrad.dataset import data_sink
from dualgrad.serialization import load_checkpoint, load_param_into_net, save_checkpoint
from dualgrad.train import callback, checkpoints, graphs, metrics, model, monitors, summary
from dualgrad.train.callback import *
from dualgrad.train.checkpoints import *
from dualgrad.train.graphs import *
from dualgrad.train.metrics import *
from dualgrad.train.model import *
from dualgrad.train.monitors import *
from dualgrad.train.summary import *

_MODULES = (callback, checkpoints, graphs, managers, metrics, model, monitors, steps, summary)
__all__ = ["data_sink", "load_checkpoint", "load_param_into_net", "save_checkpoint"]
__all__ += sorted(name for module in _MODULES for name in module.__all__)


def _make_directory(path: str, arg_name: str = "path") -> str:
    """Make a folder; returns its real path."""
    if not isinstance(path, str) or not path.strip():
        raise TypeError(f"{arg_name} must be a path, got {path!r}")
    os.makedirs(path, exist_ok=True)
    return os.path.realpath(path)
