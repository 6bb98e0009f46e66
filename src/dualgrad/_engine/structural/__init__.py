"""The structural primitives: each module defines some of them when it is imported, and all of them are imported here.

A primitive that lacks a part, or a row of the table without its primitive, is an error of the import.
"""

from importlib import import_module
from os import listdir

from ..primitives.registry import undefined

for _file in sorted(listdir(__path__[0])):
    if _file.endswith((".so", ".pyd")):
        import_module(f"{__name__}.{_file.partition('.')[0]}")
if undefined():
    raise ImportError(f"the primitives {', '.join(undefined())} are in the table and are defined nowhere")
