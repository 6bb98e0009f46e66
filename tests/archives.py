"""Small archives, and what is in them."""

import numpy as np

import dualgrad as dg
from dualgrad import Parameter


def small():
    """Few numbers, so that every byte of the file can be damaged."""
    return {"w": Parameter(np.array([[1.5, -2.0]], np.float32)), "k": Parameter(np.array([3, 4, 5], np.int16))}


def numbers(path):
    """What a checkpoint holds, as plain data."""
    loaded = dg.load_checkpoint(path)
    return {name: (str(p.dtype), p.asnumpy().tolist(), p.requires_grad) for name, p in loaded.items()}


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())
