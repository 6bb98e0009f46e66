"""Docstrings of the public names are complete: a summary, every parameter, the result, an example.

The examples run as tests by themselves (``--doctest-modules``). A docstring may leave parameters and results to another
public name that it mentions in backticks (`amin` to `amax`), a class its constructor's arguments to the base it has the
constructor from.
"""

import importlib
import inspect
import re

import pytest

from dualgrad.dtype import DType

MODULES = (
    "dualgrad",
    "dualgrad.ops",
    "dualgrad.nn",
    "dualgrad.extend",
    "dualgrad.testing",
    "dualgrad.sparse",
    "dualgrad.amp",
    "dualgrad.dataset",
    "dualgrad.train",
    "dualgrad.distributed",
    "dualgrad.ode",
    "dualgrad.scipy.interpolate",
    "dualgrad.scipy.linalg",
    "dualgrad.scipy.ndimage",
    "dualgrad.scipy.special",
    "dualgrad.stats",
    "dualgrad.stats.bijections",
)
# Base classes: their children have examples.
WITHOUT_EXAMPLE = {"LossScaler", "Optimizer"}
# Classes whose objects come from functions; users do not call the constructor.
RETURNED = {"Primitive", "Report", "Starts"}


def public():
    """Every public function and class, once, with the namespace in which names in its docstring are found."""
    seen = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and not isinstance(thing, DType) and thing.__module__.startswith("dualgrad"):
                seen.setdefault(id(thing), (f"{module_name}.{name}", thing, module))
    return [pytest.param(thing, module, id=name) for name, thing, module in seen.values()]


def section(doc, title):
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n---|\Z)", doc, re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def documented(doc):
    """The names that the section on parameters explains."""
    heads = [line.split(" : ")[0] for line in section(doc, "Parameters").splitlines() if line[:1].strip()]
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def neighbours(doc, module):
    """Docstrings of the public names that a docstring mentions."""
    for name in re.findall(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)", doc):
        target = module
        for part in name.removeprefix("dualgrad.").split("."):
            target = getattr(target, part, None)
        if callable(target):
            yield inspect.getdoc(target) or ""


def parameters(thing):
    if isinstance(thing, type) and not {"__init__", "__new__"} & vars(thing).keys():
        return set()  # explained in the class that defines the constructor
    if thing.__name__ in RETURNED:
        return set()
    return {
        name
        for name, parameter in inspect.signature(thing).parameters.items()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }


@pytest.mark.parametrize(("thing", "module"), public())
def test_docstring_is_complete(thing, module):
    doc = inspect.getdoc(thing) or ""
    assert re.match(r"\S.*[.:]$", doc.split("\n")[0]), "no summary line"
    around = [doc, *neighbours(doc, module)]
    missing = parameters(thing) - set().union(*map(documented, around))
    assert not missing, f"parameters without a word: {', '.join(sorted(missing))}"
    if not isinstance(thing, type) and inspect.signature(thing).return_annotation not in (None, "None"):
        assert any(section(text, "Returns") for text in around), "nothing on what it returns"
    if thing.__name__ not in WITHOUT_EXAMPLE:
        assert ">>>" in section(doc, "Examples"), "no example"


def test_exemptions_are_needed():
    named = {param.values[0].__name__: param.values[0] for param in public()}
    for name in WITHOUT_EXAMPLE:
        assert not section(inspect.getdoc(named[name]), "Examples"), f"{name} has an example now"
