"""What is said about the project in several places is the same in all of them."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_the_version_is_the_same_everywhere():
    version = PROJECT["project"]["version"]
    assert re.search(r'^version: "(.*)"$', (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == version
    released = re.findall(r"^## \[(\d.*)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert version == released[0] or "dev" in version


def test_every_interpreter_that_is_declared_gets_wheels():
    declared = {
        name.rpartition(" ")[2]
        for name in PROJECT["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)
    }
    built = {re.fullmatch(r"cp3(\d+)(t?)-\*", name).groups() for name in PROJECT["tool"]["cibuildwheel"]["build"]}
    assert {f"3.{minor}" for minor, _ in built} == declared
    assert PROJECT["project"]["requires-python"] == ">=" + min(declared, key=lambda name: int(name[2:]))


def test_optional_libraries_have_one_minimum():
    minima = {}
    extras = PROJECT["project"]["optional-dependencies"].values()
    for wanted in sum(extras, [*PROJECT["tool"]["cibuildwheel"]["test-requires"]]):
        name, _, least = wanted.partition(">=")
        if least:
            minima.setdefault(name, set()).add(least)
    assert {name: found for name, found in minima.items() if len(found) > 1} == {}


@pytest.mark.skipif(not WORKFLOWS, reason="an sdist has no workflows")
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_name_what_they_use_exactly(path):
    used = re.findall(r"^ *- uses: (.*)$", path.read_text(), re.MULTILINE)
    assert used
    for line in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


@pytest.mark.skipif(not WORKFLOWS, reason="an sdist has no workflows")
def test_the_steps_that_workflows_call_exist():
    steps = re.search(r"^    (lint \|.*)\)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)[1].split(" | ")
    for name in ("tests", "weekly"):
        text = (ROOT / f".github/workflows/{name}.yml").read_text()
        called = re.findall(r"step: (\w+)", text) + re.search(r"step: \[(.*)\]", text)[1].split(", ")
        assert {words.split()[0] for words in called} <= set(steps)


@pytest.mark.skipif(not WORKFLOWS, reason="an sdist has no workflows")
def test_every_sweep_runs_whole_each_week():
    sweeps = re.findall(r"^    sweep (\w+)", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert sweeps
    text = (ROOT / ".github/workflows/weekly.yml").read_text()
    assert set(re.findall(r"sweeps whole (\w+)", text)) == set(sweeps)
