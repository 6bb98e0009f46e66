"""What ported code imports from ``common._grad_function``: `dualgrad.Function` under the name that it has there."""

from dualgrad.transforms.custom import Function

_Function = Function

__all__: list[str] = []
