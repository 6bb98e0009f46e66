"""What ported code imports from ``common``: the same objects as at the top of the package.

`dualgrad.common.dtype`, `.parameter` and `.tensor` are not copies but the very modules of these names one
level up: types are compared by identity, so there must be only one of each.
"""

import sys
from types import ModuleType

from dualgrad.common import initializer
from dualgrad.common.sparse_tensor import COOTensor, CSRTensor, RowTensor
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.random import get_seed, set_seed
from dualgrad.tensor import Tensor

# By way of `sys.modules`, since `dualgrad.tensor` as an attribute is the function of that name.
dtype: ModuleType = sys.modules["dualgrad.dtype"]
parameter: ModuleType = sys.modules["dualgrad.parameter"]
tensor: ModuleType = sys.modules["dualgrad.tensor"]
for _module in (dtype, parameter, tensor):
    sys.modules[_module.__name__.replace("dualgrad", __name__, 1)] = _module
del _module

__all__ = [
    "COOTensor", "CSRTensor", "Parameter", "ParameterTuple", "RowTensor", "Tensor", "dtype", "get_seed", "initializer",
    "set_seed",
]  # fmt: skip
