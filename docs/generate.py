"""Pages of the documentation that follow from something else: the reference, tables, the gallery, the page on speed.

`conf.py` writes them to docs/generated whenever the documentation is built. A new function, module or row of the table
of primitives appears there by itself.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import dualgrad as dg
import dualgrad.ops.math.elementwise as elementwise
from dualgrad import (
    _table,
    amp,
    curvature,
    dataset,
    distributed,
    extend,
    native,
    nn,
    ops,
    programs,
    scipy,
    sparse,
    sparsity,
    testing,
)
from dualgrad._engine.transforms.tensor import OPCODES, apply
from dualgrad._table import Row
from dualgrad.nn.probability import distribution
from dualgrad.numpy import _coverage as coverage
from dualgrad.scipy import fft as scipy_fft
from dualgrad.scipy import linalg as scipy_linalg
from dualgrad.scipy import optimize as scipy_optimize
from dualgrad.scipy import special
from dualgrad.sparse import compressed

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import benchmarks_page  # noqa: E402
import gallery  # noqa: E402
import measure  # noqa: E402
import pictures  # noqa: E402
import scipy_page  # noqa: E402
import special_functions  # noqa: E402
import topics  # noqa: E402

# ------------------------------------------------------------------------------------------------------ reference

# The parts of `dualgrad` itself; names that are in none of them follow at the end.
TOP = {
    "Derivatives": ["grad", "value_and_grad", "ops.GradOperation", "jvp", "vjp", "linearize", "jacfwd", "jacrev",
                    "hessian", "hvp", "sparse_jacobian", "sparse_hessian", "derivative", "jet", "vmap", "get_grad",
                    "ops.stop_gradient", "Function", "custom_vjp"],
    "Differential operators": ["laplacian", "biharmonic", "mixed_partial", "linear_operator", "derivatives",
                               "divergence", "curl", "operators.Plan", "operators.Way"],
    "Loops": ["scan", "while_loop", "fori_loop", "cond"],
    "Implicit functions": ["root", "fixed_point", "linear_solve", "argmin"],
    "Memory": ["recompute"],
    "Tensors and parameters": ["Tensor", "tensor", "Parameter", "ParameterTuple", "register_pytree"],
    "Modes": ["set_context", "get_context", "jit", "mutable", "set_num_threads", "get_num_threads"],
    "Names of MindSpore without a meaning here": ["ms_function", "jit_class", "ms_class", "lazy_inline", "no_inline",
                                                  "JitConfig", "ParallelMode", "set_auto_parallel_context",
                                                  "get_auto_parallel_context", "reset_auto_parallel_context",
                                                  "set_device"],
    "A look inside": ["explain", "profile", "check_finite", "LeavesDerivativeError", "allow_leaving"],
    "Ported code": ["porting.follow", "PortingWarning"],
    "Random numbers": ["set_seed", "get_seed"],
    "Checkpoints": ["save_checkpoint", "load_checkpoint", "load_param_into_net"],
}  # fmt: skip

# The modules that have a page each.
MODULES = (extend, testing, programs, native, curvature, sparse, compressed, sparsity, scipy, scipy.interpolate,
           scipy_fft, scipy_linalg, scipy.ndimage, scipy_optimize, special, dg.ode, dg.stats, dg.stats.bijections,
           distributed, amp, dataset, distribution, dg.train, dg.communication, dg.log, dg.mint, dg.mint.nn,
           dg.mint.nn.functional)  # fmt: skip


def title_of(module: ModuleType) -> str:
    """What the first line of a module's docstring says before its colon."""
    line = (module.__doc__ or module.__name__).split("\n")[0]
    words = line.split(": ")[0].rstrip(".:")
    return words[0].upper() + words[1:]


def heading(text: str, mark: str = "=") -> str:
    return f"{text}\n{mark * len(text)}\n"


def entry(name: str, thing: Any, again: bool = False) -> str:
    """The directive that prints the docstring of a function or class; links to a class lead to its first page."""
    if not inspect.isclass(thing):
        return f".. autofunction:: {name}\n"
    members = f" {', '.join(own_members())}" if thing is dg.Tensor else ""
    return f".. autoclass:: {name}\n   :members:{members}\n" + "   :no-index:\n" * again


def own_members() -> list[str]:
    """What Tensor has besides the functions of `dualgrad.ops`."""
    attached = {name for module in ops._gathered._modules() for name in module.METHODS}
    return [name for name in dir(dg.Tensor) if not name.startswith("_") and name not in attached]


def distinct(owner: ModuleType, names: Iterable[str]) -> dict[str, list[str]]:
    """The functions and classes behind names: each under its own name, with its other names."""
    found: dict[int, list[str]] = {}
    for name in sorted(names, key=lambda name: (getattr(getattr(owner, name), "__name__", "") != name, name)):
        thing = getattr(owner, name)
        if callable(thing) and str(thing.__module__).startswith("dualgrad"):
            found.setdefault(id(thing), []).append(name)
    groups = sorted(found.values(), key=lambda names: (inspect.isclass(getattr(owner, names[0])), names[0].lower()))
    return {name: others for name, *others in groups}


def entries(owner: ModuleType, names: Iterable[str], seen: set[Any]) -> str:
    """All docstrings, functions first; second names of the same thing in one line at the end."""
    things = distinct(owner, names)
    text = "\n".join(entry(name, getattr(owner, name), getattr(owner, name) in seen) for name in things)
    seen |= {getattr(owner, name) for name in things}
    aliases = [f"``{other}`` is `{name}`" for name, others in things.items() for other in others]
    return text + (f"\nOther names: {', '.join(sorted(aliases))}.\n" if aliases else "")


def page(title: str, owner: str, body: str, words: str = "") -> str:
    return f"{heading(title)}\n{words}\n\n.. currentmodule:: {owner}\n\n{body}"


def top_page(shown: set[Any]) -> str:
    parts, seen = [], set()
    for title, names in TOP.items():
        seen |= {name.removeprefix("ops.") for name in names}
        things = [(f"dualgrad.{name}", name) for name in names]
        body = "\n".join(entry(full, _find(full)) for full, _ in things)
        shown |= {_find(full) for full, _ in things}
        parts.append(f"{heading(title, '-')}\n{body}")
    rest = [name for name in dg.__all__ if name not in seen and callable(getattr(dg, name))]
    rest = [name for name in rest if not isinstance(getattr(dg, name), dg.dtype.DType)]
    parts.append(f"{heading('Further', '-')}\n{entries(dg, rest, shown)}")
    types = ", ".join(f"``{name}``" for name in dg.__all__ if isinstance(getattr(dg, name), dg.dtype.DType))
    parts.append(f"{heading('Types of elements', '-')}\nAlso in ``dualgrad.dtype``: {types}.\n")
    return page("dualgrad", "dualgrad", "\n".join(parts))


def _find(path: str) -> Any:
    thing: Any = dg
    for part in path.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def reference() -> dict[str, str]:
    """The pages of the reference: file name to text, in reStructuredText."""
    seen: set[Any] = set()
    pages = {"reference/dualgrad.rst": top_page(seen)}
    for module, names in homes():
        if names:
            file = f"reference/ops.{module.__name__.rsplit('.', 1)[-1]}.rst"
            pages[file] = page(title_of(module), "dualgrad.ops", entries(ops, names, seen), "In ``dualgrad.ops``.")
    for module in dict.fromkeys(importlib.import_module(getattr(nn, name).__module__) for name in nn.__all__):
        names = [name for name in nn.__all__ if getattr(nn, name).__module__ == module.__name__]
        file = f"reference/nn.{module.__name__.rsplit('.', 1)[-1]}.rst"
        pages[file] = page(title_of(module), "dualgrad.nn", entries(nn, names, seen), "In ``dualgrad.nn``.")
    for module in MODULES:
        name = module.__name__
        body = f".. automodule:: {name}\n\n{entries(module, module.__all__, seen)}"
        pages[f"reference/{name.removeprefix('dualgrad.')}.rst"] = page(name, name, body)
    pages["reference/numpy.rst"] = numpy_page()
    return pages


def homes() -> Iterator[tuple[ModuleType, list[str]]]:
    """The modules of `dualgrad.ops`, and of their public names those that no module before them has."""
    seen = {name.removeprefix("ops.") for name in TOP["Derivatives"]}
    for module in ops._gathered._modules():
        yield module, [name for name in module.__all__ if name not in seen]
        seen |= set(module.__all__)


def numpy_page() -> str:
    listed = []
    for module in (dg.numpy, dg.numpy.linalg, dg.numpy.emath):
        names = [name for name in module.__all__ if callable(getattr(module, name))]
        names = [name for name in names if not isinstance(getattr(module, name), dg.dtype.DType)]
        listed.append(f"{heading(module.__name__, '-')}\n{', '.join(f'``{name}``' for name in sorted(names))}.\n")
    return page("dualgrad.numpy", "dualgrad.numpy", ".. automodule:: dualgrad.numpy\n\n" + "\n".join(listed))


# ---------------------------------------------------------------------------------------------- table of operators

WORDS = {
    "TWO_OVER_SQRT_PI": "2 / sqrt(pi)",
    "HALF_LN2": "log(2) / 2",
    "LOG10_E": "1 / log(10)",
    "LOG2_E": "1 / log(2)",
    "LN10": "log(10)",
    "LN2": "log(2)",
    " - -": " + ",
}
REFERENCE = re.compile(r"(?<!`)`(\w+)`(?!`)")  # a name in single backticks
KINDS = {"bool": "bool", "int": "int32", "float": "float32", "complex": "complex64"}
FAMILIES = {
    "linear": "linear",
    "bilinear": "linear in each operand",
    "selection": "1 for what is picked",
    "constant": "0",
    "elementwise": "",
    "rule": "by a rule",
    "composite": "by a rule",
}


def public_names(row: Row) -> tuple[list[str], list[str], list[str]]:
    """Functions, primitive classes and methods that are one row and nothing else."""
    functions = [*row.functions] or [name for name in (row.function,) if name]
    return functions, [*row.classes], [name for name in functions if hasattr(dg.Tensor, name)]


def types_taken(row: Row) -> str:
    """The kinds of elements a row takes, found by applying it; with the type of the result where it is another."""
    same, changed = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, name in KINDS.items():
            try:
                result = _applied(row, np.dtype(name)).dtype.numpy
            except (TypeError, ValueError):
                continue
            if result == np.dtype(name):
                same.append(kind)
            else:
                changed.append(f"{kind} → {result.name}")
    return ", ".join(same + changed)


def _applied(row: Row, dtype: np.dtype) -> Any:
    """A row applied to operands of a type, through its public face where there is one."""
    functions, classes, _ = public_names(row)
    low = [max(low, 0.0) if math.isfinite(low) else 0.0 for low, _ in row.domain]
    operands = [dg.Tensor(np.array([x + 0.5 if dtype.kind in "fc" else x + 1]).astype(dtype)) for x in low]
    if functions or classes:
        face = getattr(ops, functions[0]) if functions else getattr(ops, classes[0])()
        return face(*operands)
    return apply(OPCODES[row.name], None, *operands)


def groups() -> Iterator[tuple[str, list[Row]]]:
    """The rows in the groups in which the table is written."""
    written: dict[str, tuple[Row, ...]] = {}
    for info in pkgutil.iter_modules(_table.__path__):
        module = importlib.import_module(f"dualgrad._table.{info.name}")
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, tuple) and value and all(isinstance(row, Row) for row in value):
                written.setdefault(name, value)
    place = {}
    for name, rows in sorted(written.items(), key=lambda item: -len(item[1])):
        place.update({row.name: name for row in rows})
    gathered: dict[str, list[Row]] = {}
    for row in _table.ROWS:
        gathered.setdefault(place.get(row.name, "OTHER"), []).append(row)
    for name, members in gathered.items():
        yield name.replace("_", " ").capitalize(), members


def formula(partial: str | None) -> str:
    text = partial or "0"
    for name, words in WORDS.items():
        text = text.replace(name, words)
    return f"`{text}`"


def slope(row: Row) -> str:
    if not row.partials:
        return FAMILIES.get(row.family, row.family)
    if all(partial is None for partial in row.partials):
        return "0"
    return " <br> ".join(
        f"∂{name}: {formula(partial)}" if row.arity > 1 else formula(partial)
        for name, partial in zip("xyz", row.partials, strict=False)
    )


def domain(row: Row) -> str:
    def number(end: float) -> str:
        sign, size = "-" if end < 0 else "", abs(end)
        return sign + ("π/2" if size == math.pi / 2 else f"{size:g}")

    limits = []
    for name, (low, high) in zip("xyz", row.domain, strict=False):
        if math.isfinite(low) or math.isfinite(high):
            left = f"{number(low)} < " if math.isfinite(low) else ""
            right = f" < {number(high)}" if math.isfinite(high) else ""
            limits.append(f"{left}{name}{right}")
    if limits or row.family != "elementwise":
        return " <br> ".join(limits)
    return "all"


def table(head: list[str], lines: Iterable[list[str]]) -> str:
    """A Markdown table; a vertical bar inside a cell is escaped."""
    rows = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in line] for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def linked(name: str) -> str:
    """A link to the entry of a name; a second name of a class has none."""
    thing = getattr(ops, name)
    return f"`{name}`" if thing.__name__ != name else f"{{py:obj}}`{name} <dualgrad.ops.{name}>`"


def names_cell(functions: list[str], classes: list[str], methods: list[str]) -> str:
    """Functions and classes; a name that is a method too has a dot in front, and only first names are links."""
    shown = []
    for name in functions:
        dot = "." if name in methods else ""
        shown.append(dot + (linked(name) if name == functions[0] else f"`{name}`"))
    return ", ".join(shown + [linked(name) for name in classes])


def measured(result: dict[str, Any]) -> list[str]:
    """The errors of a row by order; the value marked where it is a library's own function that is off."""
    numbers = [f"{error:.1f}" for error in result.get("errors", [])]
    if "library" in result:
        numbers[0] += "\\*"
    return numbers + [""] * (measure.HIGHEST + 1 - len(numbers))


def operators() -> str:
    """The page of all operators, in Markdown."""
    errors = measure.known()
    text = (DOCS / "operators.txt").read_text()
    head = ["operator", "computes", "types", "smooth for", "slope", "at corners",
            *[f"{order}" for order in range(measure.HIGHEST + 1)]]  # fmt: skip
    inner = []
    for title, rows in groups():
        lines = []
        for row in rows:
            functions, classes, methods = public_names(row)
            if row.family in ("elementwise", "constant") and row.domain and not (functions or classes):
                inner.append(row)
                continue
            if row.family == "composite":
                continue
            name = names_cell(functions, classes, methods) or f"`{row.name}`"
            types = types_taken(row) if row.domain else ""
            numbers = measured(errors.get(row.name, {}))
            lines.append([name, row.summary, types, domain(row), slope(row), row.slope_note, *numbers])
        if lines:
            text += f"\n### {title}\n\n{table(head, lines)}"
    text += "\n### Primitives that appear in slopes only\n\n"
    text += table(["primitive", "computes", "slope"], ([f"`{row.name}`", row.summary, slope(row)] for row in inner))
    return text + composed()


def composed() -> str:
    """The operators that are made of primitives, by the module that has them."""
    text = "\n## Composed operators\n"
    for module, names in homes():
        if module is elementwise or not names:
            continue
        things = distinct(ops, names)
        owners = {name: _function_of(name, things) for name in things if inspect.isclass(getattr(ops, name))}
        lines = []
        for name in sorted(things.keys() - {cls for cls, function in owners.items() if function}, key=str.lower):
            functions = [name, *things[name]]
            methods = [name for name in functions if hasattr(dg.Tensor, name)]
            classes = [alias for cls, function in owners.items() if function == name for alias in (cls, *things[cls])]
            lines.append([names_cell(functions, classes, methods), _summary(getattr(ops, name))])
        text += f"\n### {title_of(module)}\n\n{table(['operator', 'computes'], lines)}"
        known = {*things, *(other for others in things.values() for other in others)}
        if others := [f"`{name}`" for name in names if name not in known and callable(getattr(ops, name))]:
            text += f"\nFunctions of Python itself: {', '.join(others)}.\n"
    return text


def _function_of(name: str, around: Iterable[str]) -> str | None:
    """The function that a primitive class names in its docstring."""
    for other in REFERENCE.findall(inspect.getdoc(getattr(ops, name)) or ""):
        if other in around and not inspect.isclass(getattr(ops, other)):
            return other
    return None


def _summary(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n")[0].replace("``", "`")


# --------------------------------------------------------------------------------------------------- NumPy's functions


def numpy_functions() -> str:
    """The page of NumPy's functions: what becomes of each, from the table in the code, and what is refused."""
    entries = coverage.coverage()
    text = (DOCS / "numpy_functions.txt").read_text()
    kinds = (coverage.DIFFERENTIABLE, coverage.WITHOUT_SLOPE, coverage.REFUSED, coverage.NOT_OFFERED)
    counts = [f"{sum(entry.kind == kind for entry in entries.values())} {kind}" for kind in kinds]
    text += f"\nNumPy {np.__version__}: {', '.join(counts)}.\n"
    for title, prefix in (("The main namespace", ""), ("numpy.linalg", "linalg.")):
        names = [name for name in entries if name.startswith("linalg.") == bool(prefix)]
        lines = [[f"`{name.removeprefix(prefix)}`", entries[name].kind, entries[name].why] for name in names]
        text += f"\n## {title}\n\n{table(['function', 'on tensors', 'why'], lines)}"
    lines = [
        [f"`{name}`" if name and name != "ufunc" else "ufuncs" if name else "all functions", f"`{word}`", why]
        for name, words in coverage.REFUSED_ARGUMENTS.items()
        for word, why in words.items()
    ]
    return text + f"\n## Arguments that are refused\n\n{table(['function', 'argument', 'why'], lines)}"


# ----------------------------------------------------------------------------------------------------------- writing


def pages() -> dict[str, str]:
    """All generated pages: file name below docs/generated to text."""
    described = reference()
    return {
        **described,
        "reference.rst": topics.contents([name.removeprefix("reference/").removesuffix(".rst") for name in described]),
        "operators.md": operators(),
        "numpy_functions.md": numpy_functions(),
        "scipy.md": scipy_page.page(),
        "special.md": special_functions.page(),
        **benchmarks_page.pages(),
        **gallery.pages(),
        **pictures.pages(),
    }


def write(folder: Path) -> None:
    """Write the pages that differ from what is there, and remove pages of things that are gone."""
    wanted = pages()
    for path in folder.rglob("*.*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    write(DOCS / "generated")
