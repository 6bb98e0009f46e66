"""Random numbers."""

from . import drawing

MODULES = (drawing,)
