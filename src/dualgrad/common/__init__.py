"""Names that ported code imports from ``common``: the same objects as at the top of the package.

`dualgrad.common.dtype`, `.parameter` and `.tensor` are the modules of these names one level up, not copies: types are
compared by identity, so each must exist once only.
"""

import sys
from types import ModuleType

from dualgrad.common import initializer
from dualgrad.common.sparse_tensor import COOTensor, CSRTensor, RowTensor
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.random import get_seed, set_seed
from dualgrad.tensor import Tensor

# By way of `sys.modules`, since the attribute `dualgrad.tensor` is the function of this name.
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
