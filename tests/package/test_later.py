"""Files of `dualgrad.ops` that are imported when one of their names is first asked for.

When names come or go in one of these files (a new one needs an entry without names before):

    python tests/package/test_later.py
"""

import importlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import dualgrad as dg
from dualgrad import ops
from dualgrad.ops import _gathered, _later

HEAD = '''"""The files of `dualgrad.ops` that are imported when one of their names is first asked for.

`tests/package/test_later.py`, run as a script, writes the names.
"""
'''
FILES = {file: importlib.import_module(f"dualgrad.ops.{file}") for file in _later.NAMES}


def table(name, words, rows):
    lines = [f"\n# {words}\n{name} = {{\n"]
    for file, names in rows:
        listed = textwrap.fill(" ".join(sorted(names)), 120, initial_indent=" " * 8, subsequent_indent=" " * 8)
        lines.append(f'    "{file}": """\n{listed}\n    """,\n' if names else f'    "{file}": "",\n')
    return "".join(lines) + "}\n"


def text():
    methods = [(file, module.METHODS) for file, module in FILES.items() if module.METHODS]
    names = [(file, module.__all__) for file, module in FILES.items()]
    return HEAD + table("NAMES", "Their public names.", names) + table("METHODS", "Their methods of `Tensor`.", methods)


def test_the_names_are_listed():
    """If this fails, run this file as a script."""
    assert Path(_later.__file__).read_text() == text()


def test_names_are_those_of_one_file():
    names = [name for module in (*_gathered._MODULES, *FILES.values()) for name in module.__all__]
    assert {name for name in names if names.count(name) > 1} <= {"relu", "sigmoid", "tanh"}
    methods = [name for module in (*_gathered._MODULES, *FILES.values()) for name in module.METHODS]
    assert len(methods) == len(set(methods))
    assert set(names) <= set(ops.__all__)


@pytest.mark.parametrize("file", FILES)
def test_names_and_methods_are_those_of_the_file(file):
    module = FILES[file]
    assert all(getattr(ops, name) is getattr(module, name) for name in module.__all__)
    for name, method in module.METHODS.items():
        assert method in (getattr(dg.Tensor, name), getattr(getattr(dg.Tensor, name), "__wrapped__", None))


# Each is run in a new process, with `loaded()` for the files of the list that are imported.
PROGRAMS = {
    "nothing is imported before": """
        dg.numpy, dg.Tensor, dg.grad, ops.sin
        assert not loaded(), loaded()
    """,
    "one name brings one file": """
        assert ops.quantile(dg.Tensor([1.0, 3.0]), 0.5).item() == 2.0
        assert loaded() == ["composed.quantiles"], loaded()
        assert "quantile" in vars(ops)
    """,
    "other spellings": """
        from dualgrad.ops import isclose
        from dualgrad.ops.functional import isclose as second
        from dualgrad.ops import operations as P
        assert isclose is second is P.isclose is ops.composite.isclose
        assert loaded() == ["composed.comparisons"], loaded()
        assert {"isclose", "Bernoulli"} <= set(dir(ops)) & set(dir(P)) & set(ops.__all__)
        assert loaded() == ["composed.comparisons"], loaded()
    """,
    "all names": """
        from dualgrad.ops import *
        from dualgrad.ops.operations import *
        assert ReverseV2 is ops.ReverseV2 and {*ops.__all__} <= {*globals()}
    """,
    "names that are missing": """
        for module in (ops, ops.functional):
            for name in ("quantil", "_isclose"):
                try:
                    getattr(module, name)
                except AttributeError as error:
                    assert name in str(error)
                else:
                    raise AssertionError(name)
        assert not hasattr(dg.Tensor, "quantil") and not loaded()
    """,
    "methods": """
        x = dg.Tensor([1.0, 3.0])
        assert hasattr(x, "quantile") and "add_" in dir(x) and callable(dg.Tensor.numel)
        assert x.quantile(0.5).item() == 2.0 and x.numel() == 2 and x.add_(1.0).sum().item() == 6.0
    """,
    "methods of subclasses": """
        calls = []
        class Counted(dg.Tensor):
            def numel(self):
                calls.append(self)
                return super().numel()
        assert Counted([1.0, 2.0]).numel() == 2 and len(calls) == 1
    """,
    "recordings": """
        @dg.jit
        def f(x):
            return ops.logit(x, 1e-6) + x.nanmean() + ops.functional.isclose(x, x)
        for k in range(6):
            x = dg.Tensor([0.25 + 0.1 * k, 0.5])
            assert (f(x) == f.__wrapped__(x)).all()
        assert [replayed for _, replayed, _ in programs()] == [True]
    """,
    "gradients of methods": """
        g = dg.jit(dg.grad(lambda x: x.clone().quantile(0.5) * x.numel()))
        for k in range(6):
            assert g(dg.Tensor([1.0 + k, 30.0])).asnumpy().tolist() == [1.0, 1.0]
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_a_new_process(name):
    head = f"""
import sys
import dualgrad as dg
from dualgrad import ops
from dualgrad._engine.trace.cache import programs
def loaded():
    return [file for file in {[*FILES]} if f"dualgrad.ops.{{file}}" in sys.modules]
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(dg.__file__).parents[1])}
    command = [sys.executable, "-W", "error", "-c", head + textwrap.dedent(PROGRAMS[name])]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr


if __name__ == "__main__":
    Path(_later.__file__).write_text(text())
