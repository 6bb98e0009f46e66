"""Random numbers."""

from . import distributions, drawing

MODULES = (drawing, distributions)
