"""dualgrad: exact derivatives of any order for scientific Python."""

from __future__ import annotations

from . import amp, common, context, dataset, dtype, nn, numpy, operators, ops, scipy, sparse, sparsity
from .branches import cond
from .compressed import sparse_hessian, sparse_jacobian
from .context import GRAPH_MODE, PYNATIVE_MODE, get_context, set_context
from .dataset import data_sink
from .dtype import (
    bool_,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .finite import check_finite
from .gradient import get_grad, grad, jvp, value_and_grad, vjp
from .hessians import hessian, hvp
from .implicit import argmin, fixed_point, linear_solve, root
from .jacobians import jacfwd, jacrev
from .linearization import linearize
from .modes import jit, mutable
from .operators import biharmonic, curl, derivatives, divergence, laplacian, linear_operator, mixed_partial
from .ops.loops import fori_loop, scan, while_loop
from .parameter import Parameter, ParameterTuple
from .programs import explain, profile
from .random import get_seed, set_seed
from .recompute import recompute
from .self_check import run_check
from .serialization import load_checkpoint, load_param_into_net, save_checkpoint
from .taylor import derivative, jet
from .tensor import Tensor, tensor
from .threads import get_num_threads, set_num_threads
from .vectorize import vmap

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "Parameter",
    "ParameterTuple",
    "Tensor",
    "amp",
    "argmin",
    "biharmonic",
    "bool_",
    "check_finite",
    "common",
    "complex64",
    "complex128",
    "cond",
    "context",
    "curl",
    "data_sink",
    "dataset",
    "derivative",
    "derivatives",
    "divergence",
    "double",
    "dtype",
    "explain",
    "fixed_point",
    "float16",
    "float32",
    "float64",
    "fori_loop",
    "get_context",
    "get_grad",
    "get_num_threads",
    "get_seed",
    "grad",
    "half",
    "hessian",
    "hvp",
    "int8",
    "int16",
    "int32",
    "int64",
    "jacfwd",
    "jacrev",
    "jet",
    "jit",
    "jvp",
    "laplacian",
    "linear_operator",
    "linear_solve",
    "linearize",
    "load_checkpoint",
    "load_param_into_net",
    "mixed_partial",
    "mutable",
    "nn",
    "numpy",
    "operators",
    "ops",
    "profile",
    "recompute",
    "root",
    "run_check",
    "save_checkpoint",
    "scan",
    "scipy",
    "set_context",
    "set_num_threads",
    "set_seed",
    "sparse",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
    "tensor",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]


def __getattr__(name: str) -> str:
    # Looked up on demand: reading the metadata of packages is slower than importing everything here.
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("dualgrad")
        except PackageNotFoundError:  # a source tree on the path, not installed
            return "0.0.0+unknown"
    raise AttributeError(f"module 'dualgrad' has no attribute {name!r}")
