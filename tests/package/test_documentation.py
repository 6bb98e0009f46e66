"""The documentation: its examples run, its generated pages are complete, and its numbers belong to this code."""

import doctest
import json
import re
import runpy
from pathlib import Path

import pytest

import dualgrad as dg
from dualgrad import context, extend, nn, ops
from dualgrad._table import ROWS
from dualgrad.numpy._coverage import coverage

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "generated" not in path.parts)


def examples(path):
    """The examples of a Markdown page, without the fences around them."""
    text = re.sub(r"^```.*$", "", path.read_text(), flags=re.MULTILINE)
    return doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)


@pytest.fixture
def as_found():
    """Pages may choose a mode."""
    mode = context.get_context("mode")
    yield
    context.set_context(mode=mode)


def pages_to_run():
    why = {
        "distributed.md": "functions that the rehearsal has wrapped cannot be sent",
        "higher.md": "shows tapes or memory",
        "memory.md": "shows tapes or memory",
    }
    for path in PAGES:
        marks = [pytest.mark.eager(why[path.name])] if path.name in why else []
        yield pytest.param(path, id=path.relative_to(DOCS).as_posix(), marks=marks)


@pytest.mark.usefixtures("as_found")
@pytest.mark.parametrize("path", list(pages_to_run()))
def test_the_examples_of_a_page_run(path):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    said = []
    failed = runner.run(examples(path), out=said.append).failed
    assert not failed, "".join(said)


def test_python_in_pages_is_run():
    """Every block of Python is an example with prompts, except in the page on the design."""
    for path in PAGES:
        if path.name != "design.md":
            blocks = re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
            assert all(block.startswith(">>> ") for block in blocks), path


@pytest.fixture(scope="module")
def generated():
    pytest.importorskip("matplotlib")  # draws the page on speed
    return runpy.run_path(str(DOCS / "generate.py"))["pages"]()


def test_the_reference_has_every_public_name(generated):
    reference = "\n".join(text for name, text in generated.items() if name.startswith("reference/"))
    named = set(re.findall(r"[\w.]+", reference))
    for owner in (dg, ops, nn, extend):
        for name in owner.__all__:
            known = {name, f"dualgrad.{name}", f"dualgrad.ops.{name}"}
            thing = getattr(owner, name)
            if callable(thing) and str(getattr(thing, "__module__", "")).startswith("dualgrad"):
                assert known & named, f"{owner.__name__}.{name} is on no page"


def test_the_table_has_every_operator(generated):
    page = generated["operators.md"]
    named = set(re.findall(r"`(\w+)[` ]", page))
    missing = [name for name in ops.__all__ if name not in named and name not in ("grad", "jvp", "vjp", "vmap")]
    elsewhere = {"GradOperation", "get_grad", "value_and_grad", "stop_gradient", "partial"}
    elsewhere |= {"custom_vjp", "derivative", "hessian", "hvp", "jacfwd", "jacrev", "jet", "linearize"}
    assert set(missing) <= elsewhere
    rows = [row for row in ROWS if row.family != "composite"]
    assert len(rows) > 90
    lines = page.split("\n")
    for row in rows:
        shown = row.function or row.cls or row.name
        assert any(shown in line and row.summary.replace("|", "\\|") in line for line in lines), row.name


def test_the_page_of_numpys_functions_has_each_of_them(generated):
    page = generated["numpy_functions.md"]
    for name, entry in coverage().items():
        assert f"| `{name.removeprefix('linalg.')}` | {entry.kind} | {entry.why} |" in page


def test_every_line_of_the_tables_has_all_cells(generated):
    for line in generated["operators.md"].split("\n"):
        if line.startswith("| ---"):
            cells = line.count("|")
        elif line.startswith("| ") and "operator" not in line[:12] and "primitive |" not in line[:14]:
            assert len(re.findall(r"(?<!\\)\|", line)) == cells, line


def test_the_errors_in_the_table_were_measured_with_these_rows():
    measure = runpy.run_path(str(DOCS / "measure.py"))
    results = json.loads((DOCS / "accuracy.json").read_text())
    known = measure["known"]()  # measures rows that are new
    for row in measure["public"]():
        assert known[row.name]["row"] == measure["fingerprint"](row)
        assert len(known[row.name]["errors"]) == measure["HIGHEST"] + 1
    gone = results.keys() - {row.name for row in measure["public"]()}
    assert not gone, f"no such rows; python docs/measure.py drops them: {', '.join(sorted(gone))}"


def test_the_page_on_special_functions_has_all_with_their_errors(generated):
    special = runpy.run_path(str(DOCS / "special_functions.py"))
    results = json.loads((DOCS / "accuracy_special.json").read_text())
    assert results.keys() == {entry.row.name for entry in special["MEASURED"]}
    for entry in special["MEASURED"]:
        name = entry.row.name
        assert results[name]["row"] == special["fingerprint"](entry), f"python docs/special_functions.py {name}"
        assert max(results[name]["errors"]) <= entry.within
    page = generated["special.md"]
    assert not [name for name in special["special"].__all__ if f"`{name}" not in page]


#: Where the walks of docs/design.md look for a file, by how its name ends.
WALKED = {".pyx": ROOT / "ext/dualgrad/_engine", ".py": ROOT / "src/dualgrad", ".h": ROOT / "ext/include"}


def walked():
    """Each file that the walks name, and what they say is in it."""
    text = (DOCS / "design.md").read_text().partition("## Two walks")[2].partition("\n## ")[0]
    for file, names in re.findall(r"`([\w/]+\.(?:pyx|py|h))`(?: · ((?:`\w+`(?:,\s)?)+))?", " ".join(text.split())):
        for name in re.findall(r"`(\w+)`", names) or [None]:
            yield file, name


@pytest.mark.parametrize(("file", "name"), list(walked()))
def test_the_walks_lead_somewhere(file, name):
    """Every file of the walks exists and defines what they name there."""
    text = (WALKED[Path(file).suffix] / file).read_text()
    assert name is None or re.search(rf"^ *(?:cdef|cpdef|def|class|static)\b.*\b{name}\b", text, re.MULTILINE)
