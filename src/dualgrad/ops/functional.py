"""`dualgrad.ops` under the name of MindSpore's module of functions (commonly imported as `F`): the same objects."""

from . import *
from . import __all__ as __all__
