"""Shapes and types: other shapes for the same elements, padding, repetition, and tensors that are made."""

from . import conversion, creation, queries, reshaping

MODULES = (
    reshaping,
    queries,
    creation,
    conversion,
)

# Pickles look for what `dualgrad.ops.shape` had as a file.
from .reshaping import *  # noqa: E402
