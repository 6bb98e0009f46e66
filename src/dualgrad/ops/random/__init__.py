"""Random numbers."""

from . import choices, distributions, drawing, seeded

MODULES = (drawing, distributions, choices, seeded)
