"""Ordinary differential equations, with derivatives of every order in forward and reverse mode."""

from __future__ import annotations

from .events import odeint_event
from .integrate import odeint

__all__ = ["odeint", "odeint_event"]
