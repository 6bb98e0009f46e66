"""Operations on tensors: functions, primitive classes under MindSpore's names, and the methods of `Tensor`.

Folders are layers, lowest first: `axes`, `index`, `shape`, `math`, `linalg`, then `signal`, `neural` and `random`. Each
module lists its public names in `__all__` and its methods in `METHODS`; this one gathers them. Some functions have the
name of their folder or module (`ops.shape`, `ops.gather`). Here the function is meant, so folders are imported first
and names after.
"""

from __future__ import annotations

import sys as _sys

from ..loops import looping
from ..tensor import Tensor
from ..transforms.gradient import GradOperation, get_grad, grad, jvp, stop_gradient, value_and_grad, vjp
from ..transforms.hessians import hessian, hvp
from ..transforms.jacobians import jacfwd, jacrev
from ..transforms.linearization import linearize
from ..transforms.taylor import derivative, jet
from ..transforms.vectorize import vmap
from . import dispatch, effects, index, linalg, math, neural, numpy_protocol, random, signal
from . import shape as _shape
from .linalg import norms

# isort: split
# The files that define the names: listed for type checkers, some of which see one step only.
from ..loops.looping import *
from .axes._diagonals import *
from .axes._joining import *
from .axes._order import *
from .axes._turning import *
from .dispatch import *
from .effects import *
from .index._scatter import *
from .index._windows import *
from .index.choice import *
from .index.gather import *
from .index.indexing import *
from .index.masks import *
from .index.segments import *
from .index.sorting import *
from .index.updates import *
from .linalg import *
from .linalg.norms import *
from .math._contractions import *
from .math._extremes import *
from .math._moments import *
from .math._parts import *
from .math._scans import *
from .math._truth import *
from .math.arithmetic import *
from .math.complex import *
from .math.elementwise import *
from .math.formulas import *
from .math.products import *
from .math.reductions import *
from .math.sampled import *
from .math.special import *
from .math.statistics import *
from .neural._classification import *
from .neural._directions import *
from .neural._divergences import *
from .neural._rectifiers import *
from .neural._softmax import *
from .neural._thresholds import *
from .neural.activations import *
from .neural.clipping import *
from .neural.convolution import *
from .neural.layers import *
from .neural.losses import *
from .neural.normalisation import *
from .neural.pooling import *
from .random.drawing import *
from .shape._padding import *
from .shape._patches import *
from .shape._repeating import *
from .shape._types import *
from .shape.conversion import *
from .shape.creation import *
from .shape.queries import *
from .shape.reshaping import *
from .signal._spectra import *
from .signal.fft import *

_FOLDERS = tuple(f"{__name__}.{name}." for name in ("axes", "index", "shape", "math", "signal", "neural", "random"))
_MODULES = (
    *math.MODULES,
    *_shape.MODULES,
    *index.MODULES,
    linalg,
    norms,
    *signal.MODULES,
    *neural.MODULES,
    *random.MODULES,
    looping,
    effects,
    dispatch,
    numpy_protocol,
)

__all__ = [
    "GradOperation", "derivative", "get_grad", "grad", "hessian", "hvp", "jacfwd", "jacrev", "jet", "jvp", "linearize",
    "stop_gradient", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
__all__ += sorted({name for module in _MODULES for name in module.__all__} - set(__all__))

for _module in _MODULES:
    for _name, _method in _module.METHODS.items():
        setattr(Tensor, _name, _method)

# Programs and pickles may say `dualgrad.ops.creation`: files had no folders before. All their public names are here.
_FORMER = [path.rpartition(".")[2] for path in _sys.modules if path.startswith(_FOLDERS)]
for _name in (*_FORMER, "_norms", "loops", "misc"):
    globals().setdefault(_name, _sys.modules.setdefault(f"{__name__}.{_name}", _sys.modules[__name__]))

# MindSpore's names for parts of this module. They copy it, so they come last.
from . import composite as composite  # noqa: E402
from . import functional as functional  # noqa: E402
from . import operations as operations  # noqa: E402
