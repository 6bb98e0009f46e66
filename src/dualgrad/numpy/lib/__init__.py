"""NumPy's ``lib``, of which only ``scimath`` is supported."""

from . import scimath

__all__ = ["scimath"]
