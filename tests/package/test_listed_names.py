"""Modules whose names come late list them for type checkers, from which their `__getattr__` is hidden."""

import ast
import importlib
from pathlib import Path

import pytest

import dualgrad as dg
from dualgrad import nn, ops
from dualgrad.ops import _gathered, composite, functional, operations


def imported(module):
    """The names that a checker sees in a module, each with the module that it is imported from and its name there."""
    tree = ast.parse(Path(module.__file__).read_text())
    later = [node for each in tree.body if isinstance(each, ast.If) for node in each.body]
    package = module.__name__ if module.__file__.endswith("__init__.py") else module.__package__
    found = {}
    for node in [*tree.body, *later]:
        path = "." * getattr(node, "level", 0) + (getattr(node, "module", None) or "")
        if not isinstance(node, ast.ImportFrom) or not path.startswith((".", "dualgrad")):
            continue
        source = importlib.import_module(path, package)
        for alias in node.names:
            if alias.name == "*":
                found |= {name: (source, name) for name in getattr(source, "__all__", None) or imported(source)}
            else:
                found[alias.asname or alias.name] = (source, alias.name)
    return found


@pytest.mark.eager("with --mode graph the package has other functions than its files")
@pytest.mark.parametrize(
    "module", [dg, nn, ops, _gathered, composite, functional, operations], ids=lambda m: m.__name__
)
def test_each_public_name_is_listed_and_is_what_the_list_says(module):
    listed = imported(module)
    for name in getattr(module, "__all__", ops.__all__):
        source, there = listed[name]
        assert getattr(module, name) is getattr(source, there), name


def test_the_keywords_of_set_context_are_those_that_it_knows():
    tree = ast.parse(Path(dg.context.__file__).read_text())
    (settings,) = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "Settings"]
    listed = {node.target.id for node in settings.body if isinstance(node, ast.AnnAssign)}
    assert listed == {"mode", *dg.context._settings}
