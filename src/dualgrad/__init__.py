"""dualgrad: exact derivatives of any order for scientific Python.

Parts that take time to import and that few programs need are imported on first use.
"""

from __future__ import annotations

import sys as _sys
from typing import TYPE_CHECKING, Any

from . import context, dtype, numpy, ops, porting
from ._engine.arrays.array import install as _install
from ._engine.assembly import check as _check_engine
from ._engine.transforms.tensor import OTHER_PRODUCTS as _OTHER_PRODUCTS
from .context import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    ParallelMode,
    get_auto_parallel_context,
    get_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
    set_context,
    set_device,
)
from .defaults import get_default_dtype, set_default_dtype
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
from .leaving import LeavesDerivativeError, allow_leaving
from .loops import branches as branches
from .loops import cond, fori_loop, scan, while_loop
from .modes import JitConfig, jit, jit_class, lazy_inline, ms_class, ms_function, mutable, no_inline
from .numpy import _protocol as _protocol
from .parameter import Parameter, ParameterTuple
from .porting import PortingWarning
from .pytrees import register_pytree
from .random import get_seed, set_seed
from .tensor import Tensor, tensor
from .threads import get_num_threads, set_num_threads
from .tracebacks import watch as _watch
from .transforms.gradient import get_grad, grad, jvp, value_and_grad, vjp
from .transforms.linearization import linearize
from .transforms.recompute import recompute
from .transforms.taylor import derivative, jet
from .transforms.vectorize import vmap


def _by_entries(*program: Any) -> Any:
    """Rewrite a program of arrays that are mostly zeros. Returns None if that does not pay."""
    from .sparse.entrywise import Recorded, by_entries  # takes time to import, and few programs need it

    _install(by_entries=lambda *program: by_entries(Recorded(*program)))
    return by_entries(Recorded(*program))


_install(by_entries=_by_entries)
_check_engine()
_watch()


def _product(x: Any, y: Any) -> Any:
    """Compute ``@`` of a Tensor and a SciPy sparse matrix. None exists before SciPy is imported."""
    if "scipy.sparse" not in _sys.modules:
        return NotImplemented
    from .sparse.products import operator

    return operator(x, y)


_OTHER_PRODUCTS.append(_product)

if TYPE_CHECKING:
    from . import (
        amp,
        common,
        communication,
        curvature,
        dataset,
        distributed,
        log,
        mint,
        nn,
        ode,
        operators,
        scipy,
        sparse,
        sparsity,
        stats,
        train,
    )
    from .dataset import data_sink
    from .implicit import argmin, fixed_point, linear_solve, root
    from .operators import biharmonic, curl, derivatives, divergence, laplacian, linear_operator, mixed_partial
    from .programs import explain, profile  # type: ignore[no-redef]
    from .self_check import run_check
    from .serialization import load_checkpoint, load_param_into_net, save_checkpoint
    from .sparse.compressed import sparse_hessian, sparse_jacobian
    from .train import Model
    from .transforms.custom import Function, custom_vjp
    from .transforms.hessians import hessian, hvp
    from .transforms.jacobians import jacfwd, jacrev

    __version__: str

# By module: the names that it adds to the package on first use of one of them.
_LATER = {
    "amp": (),
    "common": (),
    "communication": (),
    "curvature": (),
    "sparse.compressed": ("sparse_hessian", "sparse_jacobian"),
    "dataset": ("data_sink",),
    "transforms.custom": ("Function", "custom_vjp"),
    "distributed": (),
    "transforms.hessians": ("hessian", "hvp"),
    "log": (),
    "mint": (),
    "implicit": ("argmin", "fixed_point", "linear_solve", "root"),
    "transforms.jacobians": ("jacfwd", "jacrev"),
    "nn": (),
    "ode": (),
    "operators": ("biharmonic", "curl", "derivatives", "divergence", "laplacian", "linear_operator", "mixed_partial"),
    "programs": ("explain", "profile"),
    "scipy": (),
    "sparse": (),
    "self_check": ("run_check",),
    "serialization": ("load_checkpoint", "load_param_into_net", "save_checkpoint"),
    "sparsity": (),
    "stats": (),
    "train": ("Model",),
}

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "Function",
    "JitConfig",
    "LeavesDerivativeError",
    "Model",
    "ParallelMode",
    "Parameter",
    "ParameterTuple",
    "PortingWarning",
    "Tensor",
    "allow_leaving",
    "amp",
    "argmin",
    "biharmonic",
    "bool_",
    "check_finite",
    "common",
    "communication",
    "complex64",
    "complex128",
    "cond",
    "context",
    "curl",
    "curvature",
    "custom_vjp",
    "data_sink",
    "dataset",
    "derivative",
    "derivatives",
    "distributed",
    "divergence",
    "double",
    "dtype",
    "explain",
    "fixed_point",
    "float16",
    "float32",
    "float64",
    "fori_loop",
    "get_auto_parallel_context",
    "get_context",
    "get_default_dtype",
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
    "jit_class",
    "jvp",
    "laplacian",
    "lazy_inline",
    "linear_operator",
    "linear_solve",
    "linearize",
    "load_checkpoint",
    "load_param_into_net",
    "log",
    "mint",
    "mixed_partial",
    "ms_class",
    "ms_function",
    "mutable",
    "nn",
    "no_inline",
    "numpy",
    "ode",
    "operators",
    "ops",
    "porting",
    "profile",
    "recompute",
    "register_pytree",
    "reset_auto_parallel_context",
    "root",
    "run_check",
    "save_checkpoint",
    "scan",
    "scipy",
    "set_auto_parallel_context",
    "set_context",
    "set_default_dtype",
    "set_device",
    "set_num_threads",
    "set_seed",
    "sparse",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
    "stats",
    "tensor",
    "train",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]


if not TYPE_CHECKING:  # type checkers see the names above and find misspelt ones

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        for module, names in _LATER.items():
            if name == module or name in names:
                found = import_module(f".{module}", __name__)
                globals().update({each: getattr(found, each) for each in names})
                return found if name == module else globals()[name]
        # Looked up on demand: reading the metadata of packages is slower than importing everything here.
        if name == "__version__":
            from importlib.metadata import PackageNotFoundError, version

            try:
                found = version("dualgrad")
            except PackageNotFoundError:  # a source tree on the path, not installed
                found = "0.0.0+unknown"
            return globals().setdefault(name, found)
        from ._foreign import missing

        raise missing(__name__, name)


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext dualgrad``: tracebacks in IPython and Jupyter leave out the lines of this package."""
    from .tracebacks import shorten_in

    shorten_in(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
