"""Shapes and types: reshaping, padding, repetition, and new tensors."""

from . import conversion, creation, queries, reshaping

MODULES = (
    reshaping,
    queries,
    creation,
    conversion,
)

# Pickles look here for the names of the former file `dualgrad.ops.shape`.
from .reshaping import *  # noqa: E402
