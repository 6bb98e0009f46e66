"""Functions and layers with PyTorch's names of arguments, as MindSpore's `mint` has them.

Names are the same as in `dualgrad.ops` and `dualgrad.nn`; keywords, some defaults and a few meanings are PyTorch's:
``cat(tensors, dim=0)``, ``sum(input, dim, keepdim)``, ``max(input)``, ``var(input, correction=1)``.
"""

from dualgrad.mint import functions, nn
from dualgrad.mint.functions import *

__all__ = [*functions.__all__, "nn"]
