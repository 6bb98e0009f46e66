"""Operations on tensors: functions, primitive classes under MindSpore's names, and the methods of `Tensor`.

Each module lists its public names in `__all__` and its methods in `METHODS`; this one gathers them. Some
functions have the name of their module (`ops.shape`, `ops.gather`). Here the function is meant, so modules
are imported first and their names after.
"""

from __future__ import annotations

from ..tensor import Tensor
from ..transforms.gradient import GradOperation, get_grad, grad, jvp, stop_gradient, value_and_grad, vjp
from ..transforms.hessians import hessian, hvp
from ..transforms.jacobians import jacfwd, jacrev
from ..transforms.linearization import linearize
from ..transforms.taylor import derivative, jet
from ..transforms.vectorize import vmap
from . import activations as _activations
from . import arithmetic as _arithmetic
from . import choice as _choice
from . import complex as _complex
from . import conversion as _conversion
from . import convolution as _convolution
from . import creation as _creation
from . import dispatch as _dispatch
from . import elementwise as _elementwise
from . import fft as _fft
from . import formulas as _formulas
from . import gather as _gather
from . import indexing as _indexing
from . import layers as _layers
from . import linalg as _linalg
from . import loops as _loops
from . import losses as _losses
from . import masks as _masks
from . import misc as _misc
from . import normalisation as _normalisation
from . import numpy_protocol as _numpy_protocol
from . import pooling as _pooling
from . import products as _products
from . import reductions as _reductions
from . import sampled as _sampled
from . import segments as _segments
from . import shape as _shape
from . import sorting as _sorting
from . import special as _special
from . import statistics as _statistics
from . import updates as _updates

# isort: split
# Files that others gather: named again for type checkers, some of which see one step only.
from ._classification import *
from ._contractions import *
from ._diagonals import *
from ._directions import *
from ._divergences import *
from ._extremes import *
from ._joining import *
from ._moments import *
from ._norms import *
from ._order import *
from ._padding import *
from ._patches import *
from ._rectifiers import *
from ._repeating import *
from ._scans import *
from ._scatter import *
from ._softmax import *
from ._spectra import *
from ._truth import *
from ._turning import *
from ._windows import *
from .activations import *
from .arithmetic import *
from .choice import *
from .complex import *
from .conversion import *
from .convolution import *
from .creation import *
from .dispatch import *
from .elementwise import *
from .fft import *
from .formulas import *
from .gather import *
from .indexing import *
from .layers import *
from .linalg import *
from .loops import *
from .losses import *
from .masks import *
from .misc import *
from .normalisation import *
from .pooling import *
from .products import *
from .reductions import *
from .sampled import *
from .segments import *
from .shape import *
from .sorting import *
from .special import *
from .statistics import *
from .updates import *

_MODULES = (
    _elementwise,
    _arithmetic,
    _formulas,
    _special,
    _choice,
    _reductions,
    _shape,
    _products,
    _indexing,
    _gather,
    _masks,
    _sorting,
    _segments,
    _updates,
    _sampled,
    _creation,
    _activations,
    _loops,
    _losses,
    _layers,
    _linalg,
    _misc,
    _complex,
    _convolution,
    _pooling,
    _normalisation,
    _fft,
    _statistics,
    _conversion,
    _dispatch,
    _numpy_protocol,
)

__all__ = [
    "GradOperation", "derivative", "get_grad", "grad", "hessian", "hvp", "jacfwd", "jacrev", "jet", "jvp", "linearize",
    "stop_gradient", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
__all__ += sorted({name for module in _MODULES for name in module.__all__} - set(__all__))

for _module in _MODULES:
    for _name, _method in _module.METHODS.items():
        setattr(Tensor, _name, _method)

# MindSpore's names for parts of this module. They copy it, so they come last.
from . import composite as composite  # noqa: E402
from . import functional as functional  # noqa: E402
from . import operations as operations  # noqa: E402
