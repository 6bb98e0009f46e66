"""What tests look at inside of the engine: where it lies is known to this module alone."""

from dualgrad._engine.primitives.execute import deferring, synchronize
from dualgrad._engine.trace.cache import (
    Recorded,
    Repeated,
    forget_programs,
    known_functions,
    programs,
    recorded_call,
)
from dualgrad._engine.trace.capture import capture
from dualgrad._engine.trace.deferred import compare_deferred_by, defer_from
from dualgrad._engine.trace.recordings import check_programs
from dualgrad._engine.transforms.forward import run_forward
from dualgrad._engine.transforms.handles import TensorBase
from dualgrad._engine.transforms.rematerialisation import recording
from dualgrad._engine.transforms.tensor import OPCODES, apply
from dualgrad._engine.values.algebra import jets, quadratic_algebra
from dualgrad._engine.values.levels import Algebra, open_levels

__all__ = [
    "OPCODES",
    "Algebra",
    "Recorded",
    "Repeated",
    "TensorBase",
    "apply",
    "capture",
    "check_programs",
    "compare_deferred_by",
    "defer_from",
    "deferring",
    "forget_programs",
    "jets",
    "known_functions",
    "open_levels",
    "programs",
    "quadratic_algebra",
    "recorded_call",
    "recording",
    "run_forward",
    "synchronize",
]
