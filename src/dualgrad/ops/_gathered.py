"""Gather every name of `dualgrad.ops` from its files, and attach the methods of `Tensor`.

Each module lists its public names in `__all__` and its methods in `METHODS`. Some functions have the name of their
folder or module (`ops.shape`, `ops.gather`). The name must mean the function, so folders are imported before names. The
files that `_later.py` lists are imported at the first use of one of their names.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from types import ModuleType as _Module
from typing import TYPE_CHECKING, Any

from ..loops import looping as _looping
from ..tensor import Tensor
from ..transforms.gradient import GradOperation as GradOperation
from ..transforms.gradient import get_grad as get_grad
from ..transforms.gradient import grad as grad
from ..transforms.gradient import jvp as jvp
from ..transforms.gradient import stop_gradient as stop_gradient
from ..transforms.gradient import value_and_grad as value_and_grad
from ..transforms.gradient import vjp as vjp
from ..transforms.hessians import hessian as hessian
from ..transforms.hessians import hvp as hvp
from ..transforms.jacobians import jacfwd as jacfwd
from ..transforms.jacobians import jacrev as jacrev
from ..transforms.linearization import linearize as linearize
from ..transforms.taylor import derivative as derivative
from ..transforms.taylor import jet as jet
from ..transforms.vectorize import vmap as vmap
from . import _later, dispatch, effects, hooks, index, linalg, math, neural, random, signal
from .linalg import norms as _norms
from .shape import MODULES as _SHAPES

# isort: split
# The files that define the names, for type checkers that follow one import only.
from ..loops.looping import *
from .axes._diagonals import *
from .axes._joining import *
from .axes._order import *
from .axes._turning import *
from .dispatch import *
from .effects import *
from .hooks import *
from .index._scatter import *
from .index._views import followed as _followed
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
from .neural.layers import *
from .neural.losses import *
from .neural.normalisation import *
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

_MODULES = (
    *math.MODULES,
    *_SHAPES,
    *index.MODULES,
    linalg,
    _norms,
    *signal.MODULES,
    *neural.MODULES,
    *random.MODULES,
    _looping,
    effects,
    hooks,
    dispatch,
)

_NAMES = [
    "GradOperation", "custom_vjp", "derivative", "get_grad", "grad", "hessian", "hvp", "jacfwd", "jacrev", "jet", "jvp",
    "linearize", "stop_gradient", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
_FILE_OF = {name: f".{file}" for file, names in _later.NAMES.items() for name in names.split()}
_NAMES += sorted({*_FILE_OF, *(name for module in _MODULES for name in module.__all__)} - {*_NAMES})
_FILE_OF["custom_vjp"] = "..transforms.custom"

if TYPE_CHECKING:
    from ..transforms.custom import custom_vjp as custom_vjp
    from .collective import *
    from .composed.attention import *
    from .composed.bands import *
    from .composed.comparisons import *
    from .composed.counting import *
    from .composed.diagonals import *
    from .composed.filling import *
    from .composed.fractional import *
    from .composed.margins import *
    from .composed.networks import *
    from .composed.numbers import *
    from .composed.positions import *
    from .composed.quantiles import *
    from .composed.reversals import *
    from .composed.rows import *
    from .composed.scalars import *
    from .composed.sequences import *
    from .composed.shapes import *
    from .composed.steps import *
    from .composed.sums import *
    from .composed.triplets import *
    from .composed.windows import *
    from .neural._adaptive import *
    from .neural._located import *
    from .neural._pools import *
    from .neural._transposes import *
    from .neural._unpooling import *
    from .neural.blocks import *
    from .neural.boxes import *
    from .neural.colours import *
    from .neural.convolution import *
    from .neural.crops import *
    from .neural.deformable import *
    from .neural.grids import *
    from .neural.pooling import *
    from .neural.regions import *
    from .neural.resampling import *
    from .neural.suppression import *
    from .random.candidates import *
    from .random.choices import *
    from .random.distributions import *
    from .random.seeded import *
    from .random.truncated import *
    from .signal.stft import *


if not TYPE_CHECKING:  # checkers see the names above, and find misspelt names

    def __getattr__(name: str) -> Any:
        if name not in _FILE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(_import_module(_FILE_OF[name], __package__), name)
        return found


def _modules() -> list[_Module]:
    """All files that have names of `dualgrad.ops`."""
    return [*_MODULES, *(_import_module(f".{file}", __package__) for file in _later.NAMES)]


class _Method:
    """A method of `Tensor` whose file is not imported yet. The first use of one replaces all of them."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, owner: type) -> Any:
        for file in _later.METHODS:
            for name, method in _import_module(f".{file}", __package__).METHODS.items():
                if isinstance(vars(Tensor)[name], _Method):
                    setattr(Tensor, name, _followed(name, method))
        return vars(Tensor)[self.name].__get__(x, owner)


for _module in _MODULES:
    for _name, _method in _module.METHODS.items():
        setattr(Tensor, _name, _followed(_name, _method))
for _file in _later.METHODS:
    for _name in _later.METHODS[_file].split():
        setattr(Tensor, _name, _Method(_name))
