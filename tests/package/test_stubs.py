"""The stub that lists what is made at run time: `_methods.pyi`, the methods that `dualgrad.ops` gives Tensor.

Compiled modules have stubs written by hand, and `.ci/run lint` compares them with the modules. When methods
come or go:

    python tests/package/test_stubs.py && ruff format src/dualgrad/_methods.pyi
"""

import ast
import inspect
from pathlib import Path

import dualgrad as dg
from dualgrad import ops

STUB = Path(dg.__file__).with_name("_methods.pyi")
HEAD = '''"""The methods of `Tensor` that `dualgrad.ops` attaches, for type checkers and editors."""

from typing import Any

import numpy as np

from ._engine.transforms.tensor import Operators
from .tensor import Tensor

class TensorMethods(Operators):
'''


def attached():
    """The functions that became methods, by name."""
    methods = {name: f for name, f in vars(dg.Tensor).items() if inspect.isfunction(f)}
    return {name: f for name, f in sorted(methods.items()) if f.__module__.startswith(ops.__name__)}


def declaration(name, function):
    """How a stub declares a method: the function's signature, its first parameter called self."""
    arguments, starred = [], False
    for i, p in enumerate(inspect.signature(function).parameters.values()):
        if p.kind is p.KEYWORD_ONLY and not starred:
            arguments.append("*")
        starred = starred or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        text = "self" if i == 0 else f"{mark}{p.name}: {p.annotation}"
        if p.default is not p.empty:
            text += f" = {p.default!r}" if isinstance(p.default, int | float | str | None) else " = ..."
        arguments.append(text)
    return f"def {name}({', '.join(arguments)}) -> {inspect.signature(function).return_annotation}: ..."


def text():
    """The stub, without line breaks inside declarations."""
    return HEAD + "".join(f"    {declaration(name, function)}\n" for name, function in attached().items())


def test_the_methods_of_tensors_are_declared():
    """Where this fails, run this file as a script."""
    assert {"sum", "reshape", "astype", "exp", "matmul"} <= attached().keys()
    assert ast.dump(ast.parse(STUB.read_text())) == ast.dump(ast.parse(text()))


if __name__ == "__main__":
    STUB.write_text(text())
