"""Probability: distributions with their densities, moments, entropies and samples."""

from dualgrad.nn.probability import distribution

__all__ = ["distribution"]
