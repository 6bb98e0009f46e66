"""The layers of the package are its folders: a file imports only from its own folder and from those below.

There is no exception, and imports inside of functions count too. Stubs and imports for type checkers do not.
"""

import graphlib
import inspect
import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest
from imports import EXT, PACKAGE, faults_of, graph, imports_of_python, python_files

import dualgrad as dg


@pytest.mark.parametrize("name", graph())
def test_imports_lead_downwards(name):
    assert not [*faults_of(name, sorted(graph()[name]))]


def test_no_import_leads_back():
    """There is an order in which every file comes after all that it imports."""
    sorter = graphlib.TopologicalSorter({name: targets & graph().keys() for name, targets in graph().items()})
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        pytest.fail("imports lead back: " + " <- ".join(name or "dualgrad" for name in error.args[1]))


def test_the_picture_is_current():
    """`python docs/layers.py` updates the picture."""
    docs = Path(__file__).parents[2] / "docs"
    if not (EXT / "include/generated").exists():
        pytest.skip("the build makes some of the headers, and was not made here")
    drawing = runpy.run_path(str(docs / "layers.py"))["drawing"]
    assert (docs / "_static" / "layers.svg").read_text() == drawing()


def test_the_parsers_see_imports():
    """The functions that the tests above use do find a violation."""
    registry = graph()["_engine.primitives.registry"]
    assert {"_table", "_engine.arrays.array", "_engine.primitives.opcodes", "include.kernels.kernels"} <= registry
    assert "include.memory.pages" in graph()["include.memory.memory"]
    tensor = imports_of_python("tensor", PACKAGE / "tensor.py")
    assert ("_engine.transforms.tensor", False, False) in tensor
    alternatives = imports_of_python("numpy._functions", PACKAGE / "numpy/_functions.py")
    assert ("difflib", True, True) in alternatives
    assert ("numpy", False, True) in tensor
    assert [*faults_of("_engine.primitives.execute", ["_engine.values.levels"])]
    assert [*faults_of("tensor", ["ops.index.indexing"])]
    assert [*faults_of("transforms.gradient", ["ops.shape.queries"])]
    assert [*faults_of("ops.index.gather", ["ops.shape.queries"])]
    assert not [*faults_of("ops.shape._padding", ["ops.index.gather", "tensor", "_engine.transforms.tensor"])]


@pytest.mark.parametrize("name", python_files())
def test_only_numpy_is_imported_at_the_top(name):
    foreign = {t for t, lazy, foreign in imports_of_python(name, python_files()[name]) if foreign and not lazy}
    assert not {t.partition(".")[0] for t in foreign} - sys.stdlib_module_names - {"numpy"}


def run(*arguments):
    """Run code in a new interpreter that imports this package, without machine code, which imports llvmlite."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "DUALGRAD_NATIVE": "0"}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False)


def test_import_brings_numpy_and_the_standard_library_only():
    code = (
        "import sys, numpy; before = set(sys.modules); import dualgrad; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    result = run("-c", code)
    assert result.returncode == 0, result.stderr
    brought = {name for name in result.stdout.split() if not re.match("_?cython_", name)}
    assert "dualgrad" in brought
    assert not brought - sys.stdlib_module_names - {"dualgrad", "numpy"}


def test_import_warns_of_nothing():
    result = run("-W", "error", "-c", "import dualgrad")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


PUBLIC = [(module, name) for module in (dg, dg.nn, dg.ops) for name in module.__all__]


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=[f"{m.__name__}.{n}" for m, n in PUBLIC])
def test_public_names_are_documented(module, name):
    value = getattr(module, name)
    if isinstance(value, type):
        assert inspect.cleandoc(vars(value)["__doc__"] or "")
    elif callable(value) or isinstance(value, types.ModuleType):
        assert inspect.cleandoc(value.__doc__ or "")
    else:
        assert isinstance(value, int | float | dg.dtype.DType), "a constant"


@pytest.mark.parametrize("module", [dg, dg.nn, dg.ops, dg.common], ids=lambda module: module.__name__)
def test_public_names_exist_once(module):
    assert len(set(module.__all__)) == len(module.__all__)
    assert not [name for name in module.__all__ if not hasattr(module, name)]


def test_no_index_of_the_engine_is_negative():
    """The engine is compiled without wraparound: a negative index of a list reads memory before its elements."""
    negative = re.compile(r"[\w\])]\[-\d+\]")
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted((Path(__file__).parents[2] / "ext").rglob("*.p*"))
        if path.suffix in (".pyx", ".pxd", ".pxi")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if negative.search(line.split("#")[0])
    ]
    assert not found
