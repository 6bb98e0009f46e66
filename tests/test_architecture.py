"""The layers of the package: a file imports only from layers below its own.

At the top of a file there is no exception. Inside a function an import may reach upwards where that is listed
here with its reason: it runs when the package is complete. Stubs and imports for type checkers do not count.
"""

import ast
import inspect
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import dualgrad as dg

PACKAGE = Path(dg.__file__).parent
EXT = Path(__file__).parents[1] / "ext"

# Lowest first. A name stands for a module and all below it; members of a layer do not import each other. The
# empty name is the package's own __init__. Headers have their places among the files that include them.
LAYERS = (
    ("_table", "_engine.opcodes", "generated/kernels.h"),
    ("dg_thread_local.h", "dg_pages.h", "dg_loop.h", "dg_threads.h", "dg_functions.h", "dg_bessel.h", "dg_gamma.h"),
    ("dg_slopes.h", "dg_igamma.h", "dg_vector.h"),
    ("dg_vector_exp.h", "dg_vector_trig.h", "dg_fused.h", "dg_cast.h", "dg_gather.h", "dg_product.h"),
    ("dg_vector_log.h", "dg_vector_erf.h"),
    ("dg_vector_float.h", "dg_erf.h"),
    ("dg_vector_loops.h",),
    ("dg_memory.h", "dg_kernels.h", "dg_ufunc.h", "dg_foreign.h", "dg_scalar.h", "dg_executor.h"),
    ("_engine.array", "_engine.sets", "_engine.colouring"),
    ("_engine.primitives", "_engine.assembly"),
    ("_engine.executor",),
    ("_engine.elementwise", "_engine.structural"),
    ("_engine.execute",),
    ("_engine.promises", "_engine.watch"),
    ("_engine.values",),
    ("_engine.rules",),
    ("_engine.batching",),
    ("_engine.series",),
    ("_engine.duality",),
    ("_engine.tape",),
    ("_engine.sweeps",),
    ("_engine.composite", "_engine.region"),
    ("_engine.tensor",),
    ("_engine.pytrees",),
    ("_engine.nests",),
    ("_engine.program", "_engine.tables"),
    ("_engine.identities", "_engine.views"),
    ("_engine.multiples",),
    ("_engine.lowering",),
    ("_engine.regions",),
    ("_engine.fusion", "_engine.joining", "_engine.placement"),
    ("_engine.encoding",),
    ("_engine.emission",),
    ("_engine.blocks", "_engine.scalars"),
    ("_engine.plan",),
    ("_engine.naming",),
    ("_engine.inspection", "_engine.recorder", "_engine.bytecode", "_engine.executed", "_engine.guards"),
    ("_engine.transformed",),
    ("_engine.arguments", "_engine.reachability"),
    ("_engine.dependence",),
    ("_engine.recordings", "_engine.capture"),
    ("_engine.replay",),
    ("_engine.algebra", "_engine.substitution"),
    ("_engine.inputs",),
    ("_engine.gradient",),
    ("_engine.forward", "_engine.custom", "_engine.extension", "_engine.mapping", "_engine.remake"),
    ("_transformed",),
    ("_archive", "_boxes", "_format", "_joined", "context", "dtype", "finite", "leaving", "modes", "random"),
    ("tensor",),
    ("parameter", "_nests", "pytrees"),
    ("gradient", "vectorize", "extend", "threads", "recompute", "_reads"),
    ("_selection", "linearization", "taylor", "sparsity"),
    ("jacobians",),
    ("hessians",),
    ("ops", "_colour"),
    ("branches", "_sweeps", "common", "implicit", "numpy", "sparse"),
    ("_accumulation", "_coloured"),
    ("compressed",),
    ("dataset", "nn", "operators", "scipy"),
    ("amp", "programs", "self_check", "serialization", "testing"),
    ("",),
)

UPWARDS = {
    ("tensor", "ops"): "Python's round() of a tensor is a function of ops",
    ("tensor", "common"): "Tensor(shape=..., init=...) fills itself by an initializer",
    ("parameter", "common"): "Parameter.clone(init=...) does",
}


def layer_of(name):
    """The layer of a module or header, and the member of it that the name belongs to."""
    for level, members in enumerate(LAYERS):
        for member in members:
            if name == member or (member and name.startswith(f"{member}.")):
                return level, member
    raise LookupError(f"{name} belongs to no layer; give it a place in LAYERS")


def python_files():
    """Every Python module of the package by its name below `dualgrad`; the engine's own __init__ is empty."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent.name != "_engine"]
    return {name_of(path, PACKAGE): path for path in paths}


def engine_files():
    """Sources and declarations of the engine, by module name."""
    paths = [path for kind in ("pyx", "pxd") for path in sorted(EXT.rglob(f"*.{kind}"))]
    return [(name_of(path, EXT / "dualgrad"), path) for path in paths if path.stem != "__init__"]


def name_of(path, root):
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {*python_files(), *(name for name, _ in engine_files())}


def absolute(package, level, module):
    """The name below `dualgrad` that `from <dots><module>` means in a package; None for other projects."""
    if level:
        parents = package.split(".") if package else []
        return ".".join(parents[: len(parents) - level + 1] + (module.split(".") if module else []))
    if module == "dualgrad" or module.startswith("dualgrad."):
        return module.partition(".")[2]
    return None


def members(base, names):
    """What `from base import names` reads: submodules where names are modules, else the module itself."""
    for name in names:
        full = f"{base}.{name}" if base else name
        yield full if full in MODULES else base


def imports_of_python(name, path):
    """(imported module, whether inside a function, whether of another project) for every import of a file."""
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    found = []

    def visit(node, lazy):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for child in node.orelse:
                visit(child, lazy)
            return
        if isinstance(node, ast.Import):
            for alias in node.names:
                target = absolute(package, 0, alias.name)
                found.append((alias.name if target is None else target, lazy, target is None))
        if isinstance(node, ast.ImportFrom):
            base = absolute(package, node.level, node.module or "")
            if base is None:
                found.append((node.module, lazy, True))
            else:
                found.extend((m, lazy, False) for m in members(base, [alias.name for alias in node.names]))
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, lazy)

    visit(ast.parse(path.read_text()), False)
    return found


CYTHON_FROM = re.compile(r"^\s*from\s+(\.*)([\w.]*)\s+c?import\s+(?:\(([^)]*)\)|([^\n(#]*))", re.MULTILINE)
CYTHON_IMPORT = re.compile(r"^\s*c?import\s+([\w.]+)", re.MULTILINE)
CYTHON_HEADER = re.compile(r'^\s*cdef extern from "((?:dg_|generated/)[\w./]+)"', re.MULTILINE)
C_INCLUDE = re.compile(r'^\s*#\s*include\s+"((?:dg_|generated/)[\w./]+)"', re.MULTILINE)


def imports_of_cython(name, path):
    """The modules and headers of this project that a Cython file uses."""
    text = path.read_text()
    found = CYTHON_HEADER.findall(text)
    for dots, module, several, few in CYTHON_FROM.findall(text):
        base = absolute(name.rpartition(".")[0], len(dots), module)
        if base is not None:
            words = [word.split()[0] for word in (several or few).split(",") if word.strip()]
            found.extend(members(base, words))
    found.extend(filter(None, (absolute("", 0, module) for module in CYTHON_IMPORT.findall(text))))
    return found


def faults_of(name, targets):
    """The imports of a file that do not go downwards."""
    level, member = layer_of(name)
    for target in targets:
        at, owner = layer_of(target)
        if at >= level and owner != member:
            yield f"{name or 'dualgrad'} (layer {level}) imports {target or 'dualgrad'} (layer {at})"


@pytest.mark.parametrize("name", python_files())
def test_python_files_import_downwards(name):
    imports = imports_of_python(name, python_files()[name])
    ours = {(target, lazy) for target, lazy, foreign in imports if not foreign}
    member = layer_of(name)[1]
    excepted = {(target, True) for target, _ in ours if (member, layer_of(target)[1]) in UPWARDS}
    assert not [*faults_of(name, sorted(target for target, _ in ours - excepted))]


@pytest.mark.parametrize(("name", "path"), engine_files(), ids=lambda x: x.name if isinstance(x, Path) else "")
def test_engine_files_import_downwards(name, path):
    assert not [*faults_of(name, imports_of_cython(name, path))]


@pytest.mark.parametrize("path", sorted((EXT / "include").glob("*.h")), ids=lambda path: path.name)
def test_headers_include_downwards(path):
    assert not [*faults_of(path.name, C_INCLUDE.findall(path.read_text()))]


def test_every_exception_is_needed():
    pairs = {
        (layer_of(name)[1], layer_of(target)[1])
        for name, path in python_files().items()
        for target, lazy, foreign in imports_of_python(name, path)
        if lazy and not foreign
    }
    assert UPWARDS.keys() <= pairs


def test_the_parsers_see_imports():
    """The tests above find nothing to complain about; here is that they would."""
    engine = {name: path for name, path in engine_files() if path.suffix == ".pyx"}
    primitives = imports_of_cython("_engine.primitives", engine["_engine.primitives"])
    assert {"_table", "_engine.array", "_engine.opcodes", "dg_kernels.h"} <= {*primitives}
    assert "dg_pages.h" in C_INCLUDE.findall((EXT / "include/dg_memory.h").read_text())
    tensor = imports_of_python("tensor", PACKAGE / "tensor.py")
    assert ("_engine.tensor", False, False) in tensor
    assert ("ops", True, False) in tensor
    assert ("numpy", False, True) in tensor
    assert [*faults_of("_engine.execute", ["_engine.values"])]
    assert [*faults_of("tensor", ["ops.indexing"])]
    assert [*faults_of("dtype", ["context"])]
    assert not [*faults_of("ops.shape", ["ops.gather", "tensor", "_engine.tensor"])]


@pytest.mark.parametrize("name", python_files())
def test_only_numpy_is_imported_at_the_top(name):
    foreign = {t for t, lazy, foreign in imports_of_python(name, python_files()[name]) if foreign and not lazy}
    assert not {t.partition(".")[0] for t in foreign} - sys.stdlib_module_names - {"numpy"}


def run(*arguments):
    """A fresh interpreter that finds this package."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
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
