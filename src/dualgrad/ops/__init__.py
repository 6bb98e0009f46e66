"""Operations on tensors: functions, primitive classes under MindSpore's names, and the methods of `Tensor`.

Folders are layers, lowest first: `axes`, `index`, `shape`, `math`, `linalg`, then `signal`, `neural` and `random`;
`composed` is the last. `_gathered.py` collects all names.
"""

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from . import _gathered
from ._gathered import *

if TYPE_CHECKING:
    from . import composite as composite
    from . import functional as functional
    from . import operations as operations

__all__ = _gathered._NAMES

# Programs and pickles may say `dualgrad.ops.creation`: files had no folders before. All their public names are here.
_FOLDERS = tuple(f"{__name__}.{name}." for name in ("axes", "index", "shape", "math", "signal", "neural", "random"))
_FORMER = [path.rpartition(".")[2] for path in _sys.modules if path.startswith(_FOLDERS)]
for _name in (*_FORMER, "_norms", "convolution", "loops", "misc", "pooling"):
    globals().setdefault(_name, _sys.modules.setdefault(f"{__name__}.{_name}", _sys.modules[__name__]))


if not TYPE_CHECKING:  # checkers see the names above, and find misspelt names

    def __getattr__(name: str) -> Any:
        if name in ("composite", "functional", "operations"):  # the same names once more, imported on first use
            return _import_module(f"{__name__}.{name}")
        if name not in _gathered._FILE_OF:
            from .._foreign import missing

            raise missing(__name__, name)
        found = globals()[name] = getattr(_gathered, name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
