"""The layers of the package: one list of folders, and what every file imports, read from the sources.

A file imports only from its own folder and from folders before it in `LAYERS`: `package/test_architecture.py` proves
it, and `docs/layers.py` draws it. Stubs and imports for type checkers do not count.
"""

import ast
import functools
import re
from pathlib import Path

import dualgrad as dg

PACKAGE = Path(dg.__file__).parent
EXT = Path(__file__).parents[1] / "ext"

# Lowest first: a folder imports only from folders before it, and inside of a folder no import leads back. A folder of
# headers comes with the engine. The last ones are single modules beside the folders.
LAYERS = (
    "_table",
    "include.memory",
    "include.vector",
    "include.generated",
    "include.kernels",
    "include.executor",
    "_engine.arrays",
    "_engine.sparse",
    "_engine.solvers",
    "_engine.primitives",
    "_engine.values",
    "_engine.tape",
    "_engine.transforms",
    "_engine.compiler",
    "_engine.structural",
    "_engine.trace",
    "_engine.assembly",
    "native",
    ".",  # the modules beside the folders, where they are not named below
    "transforms",
    "ops._arguments",
    "ops.axes",
    "ops.index",
    "ops.shape",
    "ops.math",
    "ops.linalg",
    "ops.signal",
    "ops.neural",
    "ops.random",
    "ops.composed",
    "loops",
    "ops",  # what is beside the folders
    "common",
    "sparse",
    "sparsity",
    "implicit",
    "ode",
    "numpy",
    "operators",
    "nn",
    "dataset",
    "scipy",
    "curvature",
    "stats",
    "amp",
    "programs",
    "serialization",
    "distributed",
    "self_check",
    "testing",
    "communication",
    "train",
    "mint",
    "experimental",
    "mindspore",
    "",  # the package itself
)


def layer_of(name):
    """The folder that a module or header belongs to, as its number and name."""
    for level, folder in enumerate(LAYERS):
        if name == folder or (folder.strip(".") and name.startswith(f"{folder}.")):
            return level, folder
    if "." in name:
        raise LookupError(f"{name} belongs to no layer; give its folder a place in LAYERS")
    return LAYERS.index("."), "."


@functools.cache
def python_files():
    """Every Python module of the package by its name below `dualgrad`; the engine's own __init__ is empty."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if "_engine" not in path.parts]
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


@functools.cache
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
CYTHON_HEADER = re.compile(r'^\s*cdef extern from "([\w./]+)\.h"', re.MULTILINE)
C_INCLUDE = re.compile(r'^\s*#\s*include\s+"([\w./]+)\.h"', re.MULTILINE)


def headers_in(text):
    """The headers of this project that C or Cython includes, by name below the folder of each."""
    found = {*CYTHON_HEADER.findall(text), *C_INCLUDE.findall(text)}
    return sorted("include." + name.replace("/", ".") for name in found if (EXT / f"include/{name}.h").exists())


def imports_of_cython(name, path):
    """The modules and headers of this project that a Cython file uses."""
    text = path.read_text()
    found = headers_in(text)
    for dots, module, several, few in CYTHON_FROM.findall(text):
        base = absolute(name.rpartition(".")[0], len(dots), module)
        if base is not None:
            words = [word.split()[0] for word in (several or few).split(",") if word.strip()]
            found.extend(members(base, words))
    found.extend(filter(None, (absolute("", 0, module) for module in CYTHON_IMPORT.findall(text))))
    return found


def faults_of(name, targets):
    """The imports of a file that lead to folders above its own."""
    level, folder = layer_of(name)
    for target in targets:
        at, owner = layer_of(target)
        if at >= level and owner != folder:
            yield f"{name or 'dualgrad'} (in {folder}) imports {target or 'dualgrad'} (in {owner})"


def headers():
    """Every header by its name, generated ones included."""
    root = EXT / "include"
    return {f"include.{name_of(path, root)}": path for path in sorted(root.rglob("*.h"))}


@functools.cache
def graph():
    """Every file of the package, and what it imports, inside of functions as well."""
    found = {}
    for name, path in python_files().items():
        imports = imports_of_python(name, path)
        found[name] = {target for target, _, foreign in imports if not foreign}
    for name, path in engine_files():
        found.setdefault(name, set()).update(imports_of_cython(name, path))
    for name, path in headers().items():
        found[name] = set(headers_in(path.read_text()))
    return {name: targets - {name} for name, targets in found.items()}
