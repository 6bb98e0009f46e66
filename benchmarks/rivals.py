"""Which rivals can be measured here.

Every rival is optional. A rival that is not installed is left out by name, in the table and in the test
report, so that a missing line can never be mistaken for a fast one. Nothing here imports a rival: that costs
seconds and starts thread pools, and is left to the contender that needs it.
"""

import importlib.metadata
import importlib.util
from collections.abc import Iterable

#: Distribution that a contender needs, by the first word of the contender's name. ``hand`` is written in
#: NumPy or plain Python and is always there.
RIVALS = {
    "dualgrad": "dualgrad",
    "torch": "torch",
    "jax": "jax",
    "autograd": "autograd",
    "mindspore": "mindspore",
    "hand": "numpy",
}


def library(contender: str) -> str:
    """Library behind a contender: the first word of its name, ``jax`` for ``jax jit``."""
    return contender.split()[0]


def installed(contender: str) -> bool:
    """Whether the library behind ``contender`` can be imported by this interpreter."""
    return importlib.util.find_spec(RIVALS[library(contender)]) is not None


def versions(contenders: Iterable[str]) -> dict[str, str]:
    """Version of every library behind ``contenders`` that is installed, by distribution, in their order."""
    found = {}
    for name in dict.fromkeys(library(contender) for contender in contenders):
        if installed(name):
            try:
                found[RIVALS[name]] = importlib.metadata.version(RIVALS[name])
            except importlib.metadata.PackageNotFoundError:  # on the path without being installed
                found[RIVALS[name]] = "of unknown version"
    return found
