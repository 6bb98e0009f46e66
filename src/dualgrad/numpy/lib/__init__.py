"""NumPy's ``lib``, of which tensors have ``scimath``."""

from . import scimath

__all__ = ["scimath"]
