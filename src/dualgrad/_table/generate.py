"""Generates files from tables: opcodes and scalar kernels, kinds of instructions, stubs of elementwise functions.

``setup.py`` runs it before Cython. A file is rewritten only if its text changes, so builds stay incremental.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from . import ROWS, Row

HEAD = "generated from src/dualgrad/_table, do not edit"
TYPES = (("f64", "double", "NPY_DOUBLE"), ("f32", "float", "NPY_FLOAT"))
CIRCLE = ("sin", "cos")  # one function computes both
COMPLEX_TYPES = (("c128", "dg_c128", "NPY_CDOUBLE"), ("c64", "dg_c64", "NPY_CFLOAT"))


def opcodes() -> str:
    """A Cython declaration file with the enum of opcodes, one for each row in order."""
    lines = [f"# {HEAD}", "cdef enum:"]
    lines += [f"    OP_{row.name.upper()} = {code}" for code, row in enumerate(ROWS)]
    lines += [f"    N_OPS = {len(ROWS)}", ""]
    return "\n".join(lines)


def _kernel(row: Row) -> list[str]:
    macro = {1: "DG_UNARY", 2: "DG_BINARY", 3: "DG_TERNARY"}[row.arity]
    lines = []
    for tag, ctype, _, body in _bodies(row):
        name = f"dg_{row.name}_{tag}"
        if row.c_quick and body == row.c:
            lines.append(f"DG_EACH_LEVEL({macro}, {name}_exact, {ctype}, {body})")
            lines.append(f"DG_EACH_LEVEL({macro}_QUICK, {name}, {ctype}, {row.c_quick})")
        elif row.arity == 3:
            lines.append(f"{macro}({name}, {ctype}, {body})")
        else:
            lines.append(f"DG_EACH_LEVEL({macro}, {name}, {ctype}, {body})")
    for tag, ctype, _ in _vectors(row):
        kernel = f"dgv_{row.name}{'' if tag == 'f64' else '_f'}"
        lines.append(f"DG_EACH_LEVEL(DG_VECTOR_LOOP, dg_{row.name}_{tag}, {ctype}, {kernel})")
        lines.append(f"DG_EACH_WIDE(dg_{row.name}_{tag}_wide, {ctype}, {kernel})")
        if row.name not in CIRCLE:
            lines.append(f"DG_EACH_LEVEL(DG_VECTOR_ONE, {_function(row, tag)}, {ctype}, {kernel})")
    return lines


def _function(row: Row, tag: str) -> str:
    """The function on one number with the body of a vector kernel."""
    return f"dg_{'circle' if row.name in CIRCLE else row.name}_{tag}_one"


def _bodies(row: Row) -> list[tuple[str, str, str, str]]:
    """The types that a row has a body for, each with that body."""
    bodies = [(*kind, row.c) for kind in TYPES if kind[0] not in row.vector]
    bodies += [(*kind, row.c_complex) for kind in COMPLEX_TYPES]
    return [(tag, ctype, num, body) for tag, ctype, num, body in bodies if body]


def _vectors(row: Row) -> list[tuple[str, str, str]]:
    """The types that a row has a vector kernel for."""
    return [kind for kind in TYPES if kind[0] in row.vector]


def kernels() -> str:
    """The loops of every row with its own kernel, and the function that looks them up."""
    rows = [(code, row) for code, row in enumerate(ROWS) if row.c or row.vector]
    out = [f"/* {HEAD} */"]
    for _, row in rows:
        out += _kernel(row)
    out += ["static dg_loop dg_own_loop(int op, int typenum)", "{", "    switch (op) {"]
    for code, row in rows:
        loops = [(num, f"dg_{row.name}_{tag}") for tag, _, num, *_ in (*_bodies(row), *_vectors(row))]
        choice = "{}" if row.arity == 3 else "DG_CHOOSE({})"
        picks = " : ".join(f"typenum == {num} ? {choice.format(loop)}" for num, loop in loops)
        out.append(f"    case {code}: return {picks} : (dg_loop)0;")
    out += ["    }", "    return (dg_loop)0;", "}", ""]
    out += [
        f"DG_EACH_LEVEL(DG_CIRCLE_ONE, dg_circle_{tag}_one, {ctype}, {suffix})"
        for tag, ctype, suffix in (("f64", "double", ""), ("f32", "float", "f"))
    ]
    vectors = [(code, row) for code, row in rows if row.vector]
    out += _functions("dg_own_function", vectors, "DG_CHOOSE_FUNCTION", _function)
    out += _functions("dg_own_wide", vectors, "DG_CHOOSE_WIDE", lambda row, tag: f"dg_{row.name}_{tag}_wide")
    return "\n".join(out)


def _functions(name: str, rows: list[tuple[int, Row]], choose: str, called: Callable[[Row, str], str]) -> list[str]:
    """A function that looks up functions of vector kernels."""
    out = [f"static dg_function {name}(int op, int typenum)", "{", "    switch (op) {"]
    for code, row in rows:
        functions = [(num, f"{choose}({called(row, tag)})") for tag, _, num in _vectors(row)]
        picks = " : ".join(f"typenum == {num} ? {function}" for num, function in functions)
        out.append(f"    case {code}: return {picks} : (dg_function)0;")
    return [*out, "    }", "    return (dg_function)0;", "}", ""]


def _declared(name: str, first: str, row: Row) -> str:
    return f"def {name}({', '.join([first, 'y: Any'][: row.arity])}) -> Tensor: ..."


def functions_stub() -> str:
    """The stub of `dualgrad.ops.math.elementwise`, for type checkers."""
    names = [name for row in ROWS for name in (*row.functions, *row.classes)]
    lines = [f"# {HEAD}", "from typing import Any", "", "from ...tensor import Tensor"]
    lines += ["from ._rows import ElementwisePrimitive", "", "__all__ = ["]
    lines += [*(f'    "{name}",' for name in sorted(names)), "]", ""]
    for row in ROWS:
        lines += [_declared(name, "x: Any", row) for name in row.functions[:1]]
        lines += [f"{name} = {row.functions[0]}" for name in row.functions[1:]]
        lines += [f"class {name}(ElementwisePrimitive): ..." for name in row.classes]
    return "\n".join([*lines, ""])


def methods_stub() -> str:
    """The stub of the `Tensor` methods that rows name, for type checkers."""
    lines = [f"# {HEAD}", "from typing import Any", "", "from ._engine.transforms.tensor import Operators"]
    lines += ["from .tensor import Tensor", "", "class ElementwiseMethods(Operators):"]
    lines += [f"    {_declared(name, 'self', row)}" for row in ROWS for name in row.methods]
    return "\n".join([*lines, ""])


def kinds(rows: str) -> str:
    """A Cython declaration file with the kinds of the executor's instructions, from the rows of instructions.def."""
    names = re.findall(r"^DG_INSTRUCTION\((\w+),", rows, re.MULTILINE)
    lines = ["# generated from ext/include/executor/instructions.def, do not edit"]
    lines += ['cdef extern from "executor/instruction.h":', "    enum:", *(f"        DG_{name}" for name in names), ""]
    return "\n".join(lines)


def rewrites(declarations: str) -> str:
    """A Cython include file with the names of the rewrites that rewrites.pxd declares."""
    names = re.findall(r"^    ([A-Z_]+)$", declarations, re.MULTILINE)[:-1]  # the last one is their count
    lines = ["# generated from rewrites.pxd, do not edit", "cdef tuple REWRITES = ("]
    return "\n".join([*lines, *(f'    "{name.lower()}",' for name in names), ")", ""])


def write(root: Path) -> None:
    """Write the generated files below ``root`` (the folder that holds ``ext``)."""
    instructions = root / "ext/include/executor/instructions.def"
    compiler = root / "ext/dualgrad/_engine/compiler"
    for path, text in (
        (root / "ext/dualgrad/_engine/primitives/opcodes.pxd", opcodes()),
        (root / "ext/include/generated/kernels.h", kernels()),
        (root / "src/dualgrad/ops/math/elementwise.pyi", functions_stub()),
        (root / "src/dualgrad/_elementwise_methods.pyi", methods_stub()),
        (compiler / "rewrite_names.pxi", rewrites((compiler / "rewrites.pxd").read_text())),
        (compiler / "kinds.pxd", kinds(instructions.read_text())),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
