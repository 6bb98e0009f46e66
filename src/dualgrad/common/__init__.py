"""What ported code imports from ``common``: the same objects as at the top of the package.

`dualgrad.common.dtype`, `.tensor` and `.parameter` are not copies but the very modules `dualgrad.dtype`,
`dualgrad.tensor` and `dualgrad.parameter`: types are compared by identity, so there must be only one of each.
"""

import sys

from dualgrad import dtype, parameter, tensor
from dualgrad.common import initializer
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.random import get_seed, set_seed
from dualgrad.tensor import Tensor

for _module in (dtype, parameter, tensor):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
del _module

__all__ = ["Parameter", "ParameterTuple", "Tensor", "dtype", "get_seed", "initializer", "set_seed"]
