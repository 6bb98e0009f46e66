"""The stubs that list what is made at run time: the methods that `dualgrad.ops` gives Tensor, and what rows make.

The build writes the stubs of functions, classes and methods that are rows of the table. Compiled modules have stubs
written by hand, and `.ci/run lint` compares them with the modules. When other methods come or go:

    python tests/package/test_stubs.py && ruff format src/dualgrad/_methods.pyi
"""

import ast
import inspect
import re
from pathlib import Path

import dualgrad as dg
from dualgrad import ops
from dualgrad._table import generate
from dualgrad.ops.math import elementwise

STUB = Path(dg.__file__).with_name("_methods.pyi")
HEAD = '''"""The methods of `Tensor` that `dualgrad.ops` attaches, for type checkers and editors."""

import builtins
from typing import Any

import numpy as np

from ._elementwise_methods import ElementwiseMethods
from .ops.math._parts import Part
from .tensor import Tensor

class TensorMethods(ElementwiseMethods):
'''


HIDDEN = re.compile(r"\b(bool|float|int)\b")
"""Types that have the name of a method."""


def attached():
    """The functions that became methods, by name; without those of rows."""
    ours = {name: f for name in sorted(vars(dg.Tensor)) if inspect.isfunction(f := getattr(dg.Tensor, name, None))}
    folders = (ops.__name__, dg.numpy.__name__)
    return {name: f for name, f in ours.items() if f.__module__.startswith(folders) and name not in elementwise.METHODS}


def attributes():
    """The properties that were attached, by name."""
    found = {name: p for name, p in sorted(vars(dg.Tensor).items()) if isinstance(p, property)}
    return {name: p for name, p in found.items() if p.fget.__module__.startswith(ops.__name__)}


def both_ways(name, attribute):
    """How a stub declares a property."""
    kind = inspect.signature(attribute.fget).return_annotation
    return (
        f"    @property\n    def {name}(self) -> {kind}: ...\n"
        f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n"
    )


def declaration(name, function):
    """How a stub declares a method: the function's signature, its first parameter called self."""
    arguments, starred = [], False
    for i, p in enumerate(inspect.signature(function).parameters.values()):
        if p.kind is p.KEYWORD_ONLY and not starred:
            arguments.append("*")
        starred = starred or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        text = "self" if i == 0 else f"{mark}{p.name}: {spelled(p.annotation)}"
        if p.default is not p.empty:
            text += f" = {p.default!r}" if isinstance(p.default, int | float | str | None) else " = ..."
        arguments.append(text)
    return f"def {name}({', '.join(arguments)}) -> {spelled(inspect.signature(function).return_annotation)}: ..."


def spelled(annotation):
    return HIDDEN.sub(r"builtins.\1", str(annotation))


def text():
    """The stub, without line breaks inside declarations."""
    methods = "".join(f"    {declaration(name, function)}\n" for name, function in attached().items())
    return HEAD + methods + "".join(both_ways(name, attribute) for name, attribute in attributes().items())


def test_the_methods_of_tensors_are_declared():
    """If this fails, run this file as a script."""
    assert {"sum", "reshape", "astype", "matmul"} <= attached().keys()
    assert attributes().keys() == {"imag", "real"}
    assert ast.dump(ast.parse(STUB.read_text())) == ast.dump(ast.parse(text()))


def declared(body):
    """The parameters of each function, the names of other things: what a stub declares."""
    functions = {node.name: [a.arg for a in node.args.args] for node in body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: None for node in body if isinstance(node, ast.ClassDef)}
    aliases = {
        node.targets[0].id: functions[node.value.id]
        for node in body
        if isinstance(getattr(node, "value", None), ast.Name)
    }
    return functions | classes | aliases


def test_the_build_declares_what_the_rows_make():
    made = {
        name: None if isinstance(f, type) else [*inspect.signature(f).parameters]
        for name, f in elementwise._MADE.items()
    }
    tree = ast.parse(generate.functions_stub())
    assert declared(tree.body) == made
    methods = {name: ["self", *[*inspect.signature(f).parameters][1:]] for name, f in elementwise.METHODS.items()}
    (owner,) = [node for node in ast.parse(generate.methods_stub()).body if isinstance(node, ast.ClassDef)]
    assert declared(owner.body) == methods
    for path, text in (
        ("ops/math/elementwise.pyi", generate.functions_stub()),
        ("_elementwise_methods.pyi", generate.methods_stub()),
    ):
        assert (STUB.parent / path).read_text() == text, "the build is older than the table"


if __name__ == "__main__":
    STUB.write_text(text())
