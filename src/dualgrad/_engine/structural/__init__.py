"""The structural primitives: each module defines some of them when it is imported, and all of them are imported here.

A primitive that lacks a part, or a row of the table without its primitive, is an error of the import.
"""

from importlib import import_module
from pkgutil import iter_modules

from ..primitives.registry import undefined

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
if undefined():
    raise ImportError(f"the primitives {', '.join(undefined())} are in the table and are defined nowhere")
