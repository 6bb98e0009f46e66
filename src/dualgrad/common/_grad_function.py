"""`dualgrad.Function` under the name that ported code imports from ``common._grad_function``."""

from dualgrad.transforms.custom import Function

_Function = Function

__all__: list[str] = []
