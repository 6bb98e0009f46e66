"""Small changes in the sources of engine and package, each of them behind a number that is chosen at run time.

A `Mutation` replaces one piece of a source by text that does the old or the new thing, as ``dg_mutant(number)`` says,
so that all of them are compiled at once (mutant schemata). They are found by parsing the sources as they are: the
logical lines of a Cython file are cut by Python's tokenizer and their expressions parsed by Python's parser, after
casts and addresses have been masked by unary operators of the same length. Python files are read as they are. C files
are read by patterns.
"""

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

CAST = re.compile(r"<[A-Za-z_][\w.]*(?: [\w.]+)* *\**\??>(?=[\w(\"'\[{&~-])")
ADDRESS = re.compile(r"(?<![\w)\]&] )(?<!&)&(?=[A-Za-z_(])")
SILENT = (
    "import",
    "cimport",
    "from",
    "raise",
    "assert",
    "def",
    "class",
    "cdef class",
    "@",
    "with",
    "try",
    "else",
    "del",
)
OTHER_COMPARISON = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in"}
COMPARISON = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in"}
OPERATOR = {ast.Sub: "-", ast.Add: "+", ast.Div: "/", ast.FloorDiv: "//", ast.MatMult: "@", ast.Mod: "%"}
EARLY = {
    "int": "0",
    "bint": "True",
    "Py_ssize_t": "0",
    "object": "None",
    "tuple": "None",
    "list": "None",
    "set": "None",
}


@dataclass(frozen=True)
class Mutation:
    """The text from `start` to `end` of a file, and what takes its place; ``{n}`` in `form` stands for the number."""

    path: str
    start: int
    end: int
    form: str
    kind: str
    statement: str  # the logical line, its spaces made single
    change: str  # old -> new, for people

    @property
    def key(self):
        """What tells mutations apart from one version of the sources to the next."""
        return f"{self.path} | {self.kind} | {self.statement} | {self.change}"


def one_line(text):
    return " ".join(text.split())


# ---------- Cython


def masked(source):
    """The source with casts and addresses as unary operators, so that Python can read it; the length stays."""
    source = CAST.sub(lambda m: "~" + " " * (len(m[0]) - 1), source)
    return ADDRESS.sub("~", source).replace("except? ", "except  ").replace("?", " ")


@dataclass
class Line:
    """A logical line: where it lies, its tokens, and the header of the function around it."""

    start: int
    end: int
    tokens: list
    function: str


def logical_lines(text):
    """The logical lines inside functions, in order."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    headers, tokens = [], []
    skipped = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in skipped:
            continue
        if token.type != tokenize.NEWLINE:
            tokens.append(token)
            continue
        if not tokens:
            continue
        indent = tokens[0].start[1]
        start, end = (starts[row - 1] + column for row, column in (tokens[0].start, tokens[-1].end))
        while headers and headers[-1][0] >= indent:
            headers.pop()
        function = next((header for _, header in reversed(headers) if is_function(header)), "")
        if function:
            spans = [(starts[t.start[0] - 1] + t.start[1], starts[t.end[0] - 1] + t.end[1], t.string) for t in tokens]
            yield Line(start, end, spans, function)
        if tokens[-1].string == ":":
            headers.append((indent, text[start:end]))
        tokens = []


def is_function(header):
    return header.startswith(("def ", "cdef ", "cpdef ", "async ")) and "class " not in header and "(" in header


def expression_span(line):
    """Where the expression of a logical line lies, and what role it has; None if it has none that is looked at."""
    depth, marks = 0, {}
    for start, end, word in line.tokens:
        depth += (word in "([{") - (word in ")]}") if len(word) == 1 else 0
        if depth == 0 and (word in ("in", ":", ",") or (word.endswith("=") and word not in OTHER_COMPARISON)):
            marks.setdefault("=" if word.endswith("=") else word, []).append((start, end))
    first = line.tokens[0][2]
    last = line.tokens[-1]
    if first in ("if", "elif", "while"):
        return ("condition", line.tokens[0][1], last[0]) if last[2] == ":" and len(marks[":"]) == 1 else None
    if first == "for":
        return ("items", marks["in"][0][1], last[0]) if last[2] == ":" and "in" in marks else None
    if first == "return":
        return ("value", line.tokens[0][1], line.end) if len(line.tokens) > 1 else None
    if "=" in marks:
        if first == "cdef" and ("," in marks or last[2] == ":"):
            return None
        return "value", marks["="][-1][1], line.end
    return None if first in ("cdef", *SILENT) or last[2] == ":" else ("statement", line.start, line.end)


class Changes(ast.NodeVisitor):
    """The changes of one expression: (first, last, form, kind, old, new)."""

    def __init__(self, text, mask, start, end):
        self.text, self.start, self.found = text, start, []
        source = "(" + mask[start:end] + ")"
        self.rows = [0]
        for row in source.splitlines(keepends=True):
            self.rows.append(self.rows[-1] + len(row))
        self.tree = ast.parse(source, mode="eval").body
        self.visit(self.tree)

    def span(self, node):
        first = self.rows[node.lineno - 1] + node.col_offset - 1 + self.start
        return first, self.rows[node.end_lineno - 1] + node.end_col_offset - 1 + self.start

    def old(self, node):
        first, last = self.span(node)
        return self.text[first:last]

    def replace(self, node, new, kind):
        """Another value in place of a node."""
        old = self.old(node)
        self.found.append(
            (*self.span(node), f"(({braced(new)}) if dg_mutant({{n}}) else ({braced(old)}))", kind, old, new)
        )

    def condition(self, node, kind="condition"):
        old = self.old(node)
        text = braced(old)
        for form, name in (
            (f"(dg_mutant({{n}}) or ({text}))", "True"),
            (f"(not dg_mutant({{n}}) and ({text}))", "False"),
            (f"(dg_mutant({{n}}) == (not ({text})))", f"not ({old})"),
        ):
            self.found.append((*self.span(node), form, kind, old, name))

    def visit_Lambda(self, node):
        pass

    def visit_JoinedStr(self, node):
        pass

    def visit_BoolOp(self, node):
        is_and = isinstance(node.op, ast.And)
        texts = [f"({self.old(value)})" for value in node.values]
        new = (" or " if is_and else " and ").join(texts)
        # No conditional expression: Cython loses temporaries of such operands there.
        form = f"((dg_mutant({{n}}) and ({braced(new)})) or (not dg_mutant({{n}}) and ({braced(self.old(node))})))"
        self.found.append((*self.span(node), form, "and-or", self.old(node), new))
        for value in node.values:
            text = braced(self.old(value))
            form = f"(dg_mutant({{n}}) or ({text}))" if is_and else f"(not dg_mutant({{n}}) and ({text}))"
            self.found.append((*self.span(value), form, "operand dropped", self.old(value), str(is_and)))
        self.generic_visit(node)

    def visit_Compare(self, node):
        word = COMPARISON.get(type(node.ops[0]))
        if len(node.ops) == 1 and word:
            new = f"({self.old(node.left)}) {OTHER_COMPARISON[word]} ({self.old(node.comparators[0])})"
            self.replace(node, new, "comparison")
        self.generic_visit(node)

    def visit_IfExp(self, node):
        self.condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node):
        for test in node.ifs:
            self.condition(test)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        left, right = self.old(node.left), self.old(node.right)
        if isinstance(node.op, ast.Add | ast.Sub) and isinstance(node.right, ast.Constant) and node.right.value == 1:
            self.replace(node, left, "off by one")
        elif type(node.op) in OPERATOR and not isinstance(node.op, ast.Add):
            self.replace(node, f"({right}) {OPERATOR[type(node.op)]} ({left})", "operands swapped")
        elif isinstance(node.op, ast.Mult | ast.Add):
            self.replace(node, left, "operand dropped")
        self.generic_visit(node)

    def visit_Call(self, node):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        arguments = node.args
        if name == "range" and arguments:
            self.range_of(arguments)
        elif name in ("all", "any") and len(arguments) == 1:
            self.replace(node, f"{'any' if name == 'all' else 'all'}({self.old(arguments[0])})", "all-any")
            if isinstance(arguments[0], ast.ListComp):
                self.replace(arguments[0], f"{self.old(arguments[0])}[:1]", "first only")
        elif name in ("min", "max") and len(arguments) == 2:
            first, second = map(self.old, arguments)
            self.replace(node, f"{'max' if name == 'min' else 'min'}({first}, {second})", "min-max")
        elif name not in ("sizeof", "isinstance") and len(arguments) == 2 and not node.keywords:
            first, second = map(self.old, arguments)
            if all(isinstance(argument, ast.Name | ast.Attribute) for argument in arguments):
                self.replace(node, f"{self.old(node.func)}({second}, {first})", "arguments swapped")
        if name != "sizeof":
            for part in (*arguments, *node.keywords):
                self.visit(part)

    def range_of(self, arguments):
        stop = arguments[min(len(arguments), 2) - 1]
        old = self.old(stop)
        start = self.old(arguments[0]) if len(arguments) > 1 else "0"
        self.replace(stop, f"({old}) - 1", "off by one")
        if len(arguments) < 3:
            self.replace(stop, f"min({old}, {start} + 1)", "first only")
        if len(arguments) > 1:
            self.replace(arguments[0], f"({start}) + 1", "off by one")

    def visit_Slice(self, node):
        if node.lower is not None:
            self.replace(node.lower, f"({self.old(node.lower)}) + 1", "slice")
        if node.upper is not None:
            self.replace(node.upper, f"({self.old(node.upper)}) - 1", "slice")

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.replace(node, str(not node.value), "constant")
        elif isinstance(node.value, int | float):
            self.replace(node, str(node.value + 1), "constant")


def braced(text):
    return text.replace("{", "{{").replace("}", "}}")


def in_cython(path, text):
    """Every change of a Cython or Python source that is considered."""
    mask = masked(text) if path.endswith(".pyx") else text
    for line in logical_lines(mask):
        whole = text[line.start : line.end]
        if not whole.isascii() or "DG_DEBUG" in whole or "__dealloc__" in line.function:
            continue
        for first, last, form, kind, old, new in changes_of(line, text, mask):
            yield Mutation(path, first, last, form, kind, one_line(whole), one_line(f"{old} -> {new}"))


def changes_of(line, text, mask):
    span = expression_span(line)
    if span is None:
        return
    role, start, end = span
    try:
        changes = Changes(text, mask, start, end)
    except SyntaxError:
        return
    old = text[line.start : line.end]
    without = f"if not dg_mutant({{n}}): {braced(old)}"
    if role == "condition":
        changes.condition(changes.tree)
        if line.tokens[0][2] == "while":  # one that is always true ends only by the clock
            changes.found = [change for change in changes.found if change[5] != "True"]
    elif role == "statement" and isinstance(changes.tree, ast.Call):
        yield line.start, line.end, without, "call dropped", old, "pass"
    elif role == "value" and re.match(r"[\w.\[\]]+ (\S+)= ", old):
        yield line.start, line.end, without, "update dropped", old, "pass"
    if role != "condition" and line.tokens[0][2] in ("for", "return"):
        yield from early_returns(line, text, old)
    yield from changes.found


def early_returns(line, text, old):
    """A return before a loop, or before the return that is there."""
    declared = re.match(r"(?:cdef|cpdef) (?:inline )?(\w+) \w+\(", line.function)
    value = "None" if line.function.startswith("def ") else EARLY.get(declared[1]) if declared else None
    if value is not None and not one_line(old).endswith(f"return {value}"):
        indent = " " * (line.start - text.rfind("\n", 0, line.start) - 1)
        form = f"if dg_mutant({{n}}): return {value}\n{indent}{braced(old)}"
        yield line.start, line.end, form, "early return", "", f"return {value}"


# ---------- C

IN_C = (
    (re.compile(r"\bif (\((?:[^()]|\([^()]*\))*\))"), "condition", (
        ("if (dg_mutant({n}) || {0})", "true"),
        ("if (!dg_mutant({n}) && {0})", "false"),
        ("if (dg_mutant({n}) == !{0})", "not"),
    )),
    (re.compile(r"(?<=; )(\w+) < ([\w>.\-\[\]]+)(?=;)"), "off by one", (
        ("{0} < ({1}) - dg_mutant({n})", "- 1"),
        ("{0} < (dg_mutant({n}) && ({1}) > 1 ? 1 : ({1}))", "first only"),
    )),
    (re.compile(r"(?<=[(&|] )?(?<=[( ])([\w>.\-\[\]]+) (<|>|<=|>=) ([\w>.\-\[\]]+)(?=[) ])"), "comparison", (
        ("(dg_mutant({n}) ? {0} {other} {2} : {0} {1} {2})", "boundary"),
    )),
)  # fmt: skip


def in_c(path, text):
    """Every change of a C header that is considered: of lines that belong to no macro."""
    place = 0
    for line in text.splitlines(keepends=True):
        macro = line.rstrip().endswith("\\") or line.lstrip().startswith(("#", "/*", "*"))
        for start, end, form, kind, change in () if macro or "DG_DEBUG" in line else changes_in_c(line):
            yield Mutation(path, place + start, place + end, form, kind, one_line(line), change)
        place += len(line)


def changes_in_c(line):
    """The changes of one line: (start, end, form, kind, change)."""
    for pattern, kind, forms in IN_C:
        for match in pattern.finditer(line):
            other = OTHER_COMPARISON.get(match[2], "") if kind == "comparison" else ""
            for form, name in forms:
                made = form.replace("{other}", other)
                for i, part in enumerate(match.groups()):
                    made = made.replace(f"{{{i}}}", braced(part))
                yield match.start(), match.end(), made, kind, f"{match[0]} -> {name}"


# ---------- all of them together

HEADER = r"""#ifndef DG_MUTANTS_H
#define DG_MUTANTS_H
#include <stdlib.h>
static int dg_mutants_here[4096];
static int *dg_mutants = dg_mutants_here; /* the number of the mutant at work; then which of them were reached */
__attribute__((constructor)) static void dg_find_mutants(void)
{
    const char *shared = getenv("DG_MUTANTS_AT"), *number = getenv("DG_MUTANT");
    if (shared) dg_mutants = (int *)strtoull(shared, NULL, 10);
    else if (number) dg_mutants[0] = atoi(number);
}
static inline int dg_mutant(int number)
{
    dg_mutants[number] = 1;
    return dg_mutants[0] == number;
}
#endif
"""
DECLARED = 'cdef extern from "mutants.h" nogil:\n    bint dg_mutant(int number)\n'
ASKED_BY_PYTHON = '''"""The number at work, for Python sources."""
cdef extern from "mutants.h" nogil:
    bint at_work "dg_mutant"(int number)


def dg_mutant(int number):
    return at_work(number)
'''
IMPORTED = "from dualgrad._engine.mutants import dg_mutant\n"
FUTURE = "from __future__ import annotations\n"


def candidates(root):
    """The changes of all sources, by file: paths below ext, and of Python files from src on."""
    root, found = Path(root), {}
    for path in sorted((root / "ext").rglob("*.pyx")):
        name = path.relative_to(root / "ext").as_posix()
        found[name] = list(in_cython(name, path.read_text()))
    for folder in ("executor", "memory"):
        for path in sorted((root / "ext/include" / folder).glob("*.h")):
            name = path.relative_to(root / "ext").as_posix()
            found[name] = list(in_c(name, path.read_text()))
    for path in sorted((root / "src/dualgrad").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if "/_table/" not in name:  # read while the engine is built
            found[name] = list(in_cython(name, path.read_text()))
    return {name: mutations for name, mutations in found.items() if mutations}


def mutated(text, numbered, path):
    """A source with changes, a dict from number to mutation, and the lines each of them then lies in."""
    pieces, done, lines = [], 0, {}
    if path.endswith(".h"):
        # First, so that whatever is included afterwards may ask.
        pieces.append('#include "mutants.h"\n')
    elif FUTURE in text and path.endswith(".py"):
        done = text.index(FUTURE) + len(FUTURE)
        pieces += [text[:done], IMPORTED]
    else:
        words = tokenize.generate_tokens(io.StringIO(masked(text)).readline)
        row = next(token.start[0] for token in words if token.type == tokenize.NAME)  # after the docstring
        done = sum(map(len, text.splitlines(keepends=True)[: row - 1]))
        pieces += [text[:done], DECLARED if path.endswith(".pyx") else IMPORTED]
    for number, mutation in sorted(numbered.items(), key=lambda pair: pair[1].start):
        pieces.append(text[done : mutation.start])
        first = sum(piece.count("\n") for piece in pieces) + 1
        pieces.append(mutation.form.format(n=number))
        lines[number] = range(first, first + pieces[-1].count("\n") + 1)
        done = mutation.end
    return "".join([*pieces, text[done:]]), lines
