"""Calls of NumPy's functions, each with a module: NumPy gives the value, `dualgrad.numpy` has to give the same.

A sample names one function of NumPy and calls it with arrays that are differentiated. A function is listed as
differentiable if and only if it has samples here, and samples of a function have to use every argument that NumPy
documents, but for those that the table of NumPy's functions refuses. Each module of this package lists its samples in
``SAMPLES``.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Recorder", "Sample", "all_samples", "sample"]


@dataclass(frozen=True)
class Sample:
    """One call of a function of NumPy.

    Attributes
    ----------
    name
        The function, "percentile" or "linalg.eig".
    label
        What is special about this call.
    call
        The call, of a module and of tensors or arrays.
    args
        float64 arrays, all of which are differentiated.
    smooth
        As of `cases.Case`.
    order
        Highest order of derivatives at this point.
    batched
        Turned off, with a reason beside it, where numbers have to be read that `vmap` does not have.
    dispatched
        Whether NumPy's own function hands over a call with tensors.
    since
        The first version of NumPy that takes this call, and is right.
    rtol
        Agreement with NumPy's value.
    """

    name: str
    label: str
    call: Callable[..., Any]
    args: tuple[np.ndarray, ...]
    smooth: bool = True
    order: int = 3
    batched: bool = True
    dispatched: bool = True
    since: str = "2.0.0"
    rtol: float = 1e-13

    def __str__(self) -> str:
        return f"{self.name}-{self.label}" if self.label else self.name


def sample(name: str, call: Callable[..., Any], *args: Any, label: str = "", **more: Any) -> Sample:
    """A sample, of arrays or numbers."""
    return Sample(name, label, call, tuple([np.asarray(a, np.float64) for a in args]), **more)


def all_samples() -> list[Sample]:
    """The samples of all modules, each with a name of its own."""
    found: list[Sample] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").SAMPLES
    seen: dict[str, int] = {}
    numbered = []
    for one in found:
        count = seen[str(one)] = seen.get(str(one), 0) + 1
        label = f"{one.label} {count}".strip() if count > 1 else one.label
        numbered.append(Sample(**{**vars(one), "label": label}))
    return numbered


class Recorder:
    """A module of NumPy that remembers which arguments its functions were given."""

    def __init__(self, module: Any, used: dict[str, set[str]], prefix: str = "") -> None:
        self.module, self.used, self.prefix = module, used, prefix

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.module, name)
        if inspect.ismodule(value):
            return Recorder(value, self.used, f"{self.prefix}{name}.")
        if not callable(value) or isinstance(value, type):
            return value
        return self._recording(f"{self.prefix}{name}", value)

    def _recording(self, name: str, value: Any) -> Any:
        if isinstance(value, np.ufunc):
            return _RecordedUfunc(self, name, value)

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = inspect.signature(value).bind(*args, **kwargs).arguments
            except ValueError:
                bound = dict.fromkeys(documented(value)[: len(args)]) | kwargs
            self.used.setdefault(name, set()).update({*bound} - {"kwargs"}, bound.get("kwargs", {}))
            return value(*args, **kwargs)

        return call


class _RecordedUfunc:
    def __init__(self, recorder: Recorder, name: str, ufunc: np.ufunc) -> None:
        self.recorder, self.name, self.ufunc = recorder, name, ufunc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.recorder.used.setdefault(self.name, set()).update(kwargs)
        return self.ufunc(*args, **kwargs)

    def __getattr__(self, method: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.recorder.used.setdefault(f"ufunc.{method}", set()).update(kwargs)
            return getattr(self.ufunc, method)(*args, **kwargs)

        return call


def documented(function: Any) -> list[str]:
    """The arguments that the docstring of a function lists."""
    text = inspect.cleandoc(function.__doc__ or "").partition("Parameters\n----------\n")[2]
    text = re.split(r"\n[A-Z][\w ]*\n---+\n", text)[0]
    names = re.findall(r"^(\*{0,2}[A-Za-z_]\w*(?:, \*{0,2}[A-Za-z_]\w*)*) ?:", text, re.MULTILINE)
    return [name.lstrip("*") for line in names for name in line.split(", ")]
