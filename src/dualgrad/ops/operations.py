"""`dualgrad.ops` under the name of MindSpore's module of primitive classes (commonly imported as `P`): the same objects."""

from . import *
from . import __all__ as __all__
