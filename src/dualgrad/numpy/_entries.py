"""The registry of NumPy functions for tensors, and the functions that fill it.

Functions without a derivative (comparisons of whole arrays, positions, printing, saving) work on the numbers.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor

__all__ = ["FUNCTIONS", "SAVES", "STANDARD", "implements", "numbers", "on_numbers", "renamed", "standard"]

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""Every NumPy function that takes tensors, with NumPy's arguments under NumPy's names."""

STANDARD: dict[str, Callable[..., Any]] = {}
"""Functions of `dualgrad.numpy` with the arguments of the array API standard, by name ("linalg.cross")."""


def standard(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function in `STANDARD`, which takes precedence over `FUNCTIONS` in the namespaces."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        space, _, name = names[0].rpartition(".")
        function.__name__ = function.__qualname__ = name
        function.__module__ = f"dualgrad.numpy.{space}" if space else "dualgrad.numpy"
        STANDARD.update(dict.fromkeys(names, function))
        return function

    return enter


def implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function in `FUNCTIONS`."""

    def enter(handler: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            FUNCTIONS[function] = handler
        return handler

    return enter


def on_numbers() -> None:
    """A mark in `FUNCTIONS`: call NumPy's own function on the numbers."""


def numbers(nest: Any) -> Any:
    """Replace each tensor in a nest of arguments by its array."""
    if isinstance(nest, Tensor):
        return nest._numpy()
    if isinstance(nest, tuple | list):
        return type(nest)([numbers(item) for item in nest])
    if isinstance(nest, dict):
        return {key: numbers(item) for key, item in nest.items()}
    return nest


_WITHOUT_DERIVATIVE: tuple[Any, ...] = (
    np.array_repr, np.array_str, np.array2string, np.save, np.savez, np.savez_compressed, np.savetxt,
    np.shares_memory, np.may_share_memory, np.iscomplexobj, np.isrealobj, np.argsort, np.nonzero, np.argwhere,
    np.flatnonzero, np.searchsorted, np.result_type, np.can_cast, np.einsum_path, np.common_type, np.min_scalar_type,
    np.isfortran, np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, np.ravel_multi_index,
    np.unravel_index, np.ix_, np.packbits, np.unpackbits,
)  # fmt: skip
"""Functions that NumPy's own code computes from the numbers."""

SAVES = frozenset((np.save, np.savez, np.savez_compressed, np.savetxt))
"""The functions in `FUNCTIONS` that write the numbers to a file."""

FUNCTIONS.update(dict.fromkeys(_WITHOUT_DERIVATIVE, on_numbers))


class _Renamed:
    """A function of this library under NumPy's parameter names. Its signature is made on first use."""

    def __init__(self, ours: Callable[..., Any], names: str) -> None:
        self.ours = ours
        self.names = names.split()

    @functools.cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of this library's function, by NumPy's names."""
        return dict(zip(self.names, inspect.signature(self.ours).parameters.values(), strict=False))

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.Signature([parameter.replace(name=name) for name, parameter in self.parameters.items()])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.ours(*args, **{self.parameters[name].name: value for name, value in kwargs.items()})


def renamed(ours: Callable[..., Any], names: str, *functions: Any) -> None:
    """Register a function whose first parameters have these names in NumPy, which has no others."""
    implements(*functions)(_Renamed(ours, names))
