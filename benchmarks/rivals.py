"""Which rivals can be measured here.

Every rival is optional. A rival that is not installed is left out by name, in the table and in the test
report, so that a missing line can never be mistaken for a fast one. Nothing here imports a rival: that costs
seconds and starts thread pools, and is left to the contender that needs it.
"""

import importlib.metadata
import importlib.util
import shutil
from collections.abc import Iterable

#: Modules a contender needs, by the first words of its name, as many as are here. ``hand`` is written in NumPy or plain
#: Python and is always there.
MODULES = {
    "hand": ("numpy",),
    "hand scipy": ("scipy",),
    "jax folx": ("jax", "folx"),
    "jax diffrax": ("jax", "diffrax"),
    "jax jaxopt": ("jax", "jaxopt"),
    "jax optimistix": ("jax", "optimistix"),
    "dualgrad native": ("dualgrad", "llvmlite"),
}

#: Programs a contender needs.
PROGRAMS = {"casadi c": "cc"}


def library(contender: str) -> str:
    """Library behind a contender: the first word of its name, ``jax`` for ``jax jit``."""
    return contender.split()[0]


def modules(contender: str) -> tuple[str, ...]:
    """The modules a contender imports; they are called like the distributions they come from."""
    words = contender.split()
    known = (MODULES.get(" ".join(words[:count])) for count in range(len(words), 0, -1))
    return next(filter(None, known), (library(contender),))


def missing(contender: str) -> str:
    """What ``contender`` needs and this interpreter or machine does not have; empty if nothing."""
    for module in modules(contender):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed"
    program = PROGRAMS.get(contender)
    if program and shutil.which(program) is None:
        return f"there is no program {program!r}"
    return ""


def versions(contenders: Iterable[str]) -> dict[str, str]:
    """Version of every library behind ``contenders`` that is installed, in their order."""
    found = {}
    for module in dict.fromkeys(module for contender in contenders for module in modules(contender)):
        if importlib.util.find_spec(module) is not None:
            try:
                found[module] = importlib.metadata.version(module)
            except importlib.metadata.PackageNotFoundError:  # on the path without being installed
                found[module] = "of unknown version"
    return found
