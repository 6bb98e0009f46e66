"""SciPy's own list of what takes arrays of other libraries: `xp_capabilities`, as its documentation shows it.

Every public function, class and method of SciPy is an `Entry`, of one of four kinds:

* ``array``: takes arrays that follow the array API standard;
* ``numpy``: SciPy says that it takes NumPy's arrays only;
* ``out``: SciPy says that such arrays have no meaning there;
* ``unknown``: SciPy says nothing.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from dataclasses import dataclass
from typing import Any

from scipy._lib._array_api import xp_capabilities_table
from scipy._lib._array_api_docs_tables import ALIASES, is_named_function_like_object
from scipy._lib._public_api import PUBLIC_MODULES

__all__ = ["Entry", "entries"]


@dataclass(frozen=True)
class Entry:
    """A public function, class or method of SciPy: its module, its name there, the thing, and what SciPy says of it."""

    module: str
    name: str
    thing: Any
    kind: str

    @property
    def path(self) -> str:
        """The full name."""
        return f"{self.module}.{self.name}"


def _kind(thing: Any) -> str | None:
    """What SciPy says of a thing; None for constants, exceptions and modules."""
    try:
        found = xp_capabilities_table.get(thing)
    except TypeError:  # cannot be hashed
        return None
    if found is None:
        return "unknown" if is_named_function_like_object(thing) else None
    if found["out_of_scope"]:
        return "out"
    return "numpy" if found["np_only"] else "array"


def _of_module(module: str) -> list[Entry]:
    """The entries of a module, and of methods those that SciPy speaks of."""
    space, found = importlib.import_module(module), []
    for name in getattr(space, "__all__", ()):
        thing = getattr(space, name)
        if name not in ALIASES.get(module, ()) and (kind := _kind(thing)):
            found.append(Entry(module, name, thing, kind))
        if inspect.isclass(thing):
            for member, method in vars(thing).items():
                kind = _kind(getattr(method, "__func__", method))
                if kind and kind != "unknown":
                    found.append(Entry(module, f"{name}.{member}", getattr(thing, member), kind))
    return found


@functools.cache
def entries() -> dict[str, Entry]:
    """All of them by their full names; what has several names is there under the first, shortest module."""
    found: dict[Any, Entry] = {}
    for module in sorted(PUBLIC_MODULES, key=lambda name: (name.count("."), name)):
        for entry in _of_module(module):
            found.setdefault(getattr(entry.thing, "__func__", entry.thing), entry)
    return {entry.path: entry for entry in sorted(found.values(), key=lambda entry: entry.path)}
