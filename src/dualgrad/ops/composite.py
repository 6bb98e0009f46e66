"""`dualgrad.ops` under the name of MindSpore's module of composed functions (commonly imported as `C`): the same objects."""

from . import *
from . import __all__ as __all__
