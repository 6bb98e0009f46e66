"""The positions at which Jacobians and Hessians can have entries other than zero."""

from .sparse.patterns import Pattern, jacobian_pattern

__all__ = ["Pattern", "jacobian_pattern"]
