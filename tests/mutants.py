"""Do the tests notice small changes in the sources? ``python tests/mutants.py`` makes them, and runs the tests.

All changes are made at once in one build of a copy of the tree, each behind a number (mutations.py says how they are
found), and the tests run against one number after the other (mutant_runs.py). Which ones are chosen depends on the
seed, the weights and the sources only: `--weights engine` takes them from the engine, `--weights areas` from seven
areas of engine and Python. `--list` shows them; `--only sweeps` takes those of paths with that text. Each meets a part
of the tests that reach it. `--again --numbers 13 34 --most 1000 --budget 10000` shows survivors to all of them.

In the end stand a table by module and the survivors. A change that nothing can observe is listed in unobservable.txt,
with the reason; such changes count neither as killed nor as survivors. Needs what `.ci/run build` installs, and an
hour or so. It is no part of the default run.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from mutations import ASKED_BY_PYTHON, HEADER, candidates, mutated

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("ext", "src", "tests", "docs", "benchmarks", "setup.py", "pyproject.toml", "README.md", "CONTRIBUTING.md",
          "CHANGELOG.md", "LICENSE", ".ci", ".gitignore")  # fmt: skip

# Of 100 mutants so many are from these folders; the first that fits a path counts.
WEIGHTS = {
    "engine": {
        "trace/(guards|signature|reachability|walk)": 13,
        "_engine/trace/": 9,
        "_engine/compiler/": 29,
        "tape/sweeps": 8,
        "_engine/tape/": 5,
        "_engine/transforms/": 9,
        "_engine/values/": 10,
        "_engine/(primitives|structural)/": 5,
        "_engine/(arrays/|assembly)": 3,
        "_engine/sparse/": 5,
        "include/": 4,
    },
    "areas": {
        "(trace/rolling|compiler/(rerolling|stretches|repetitions|steppers))": 14,
        "_engine/trace/": 18,
        "(compiler/native|src/dualgrad/native/)": 14,
        "(compiler/loops|structural/loops|src/dualgrad/loops/|transforms/rematerialisation)": 14,
        "src/dualgrad/ode/": 12,
        "(ops/index/|compiler/views)": 10,
        "src/dualgrad/": 18,
    },
}
KINDS = {"condition": 3, "operand dropped": 3, "comparison": 2, "and-or": 2, "first only": 2, "off by one": 2,
         "call dropped": 2}  # fmt: skip

# Always among them: (kind, the old text) of changes that once survived.
FIXED = (
    ("operand dropped", "(numbers == row).all()"),
    ("operand dropped", "not f or f[len(f) - 1] == 1"),
    ("comparison", "down != s.reverse"),
    ("condition", "s.reverse != other.reverse"),
    ("condition", "other.reverse"),
)


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weights", choices=list(WEIGHTS), default="engine", help="where they are (engine)")
    parser.add_argument("--count", type=int, default=140, help="how many mutants (140)")
    parser.add_argument("--only", default="", help="those of sources with this text in their path")
    parser.add_argument("--list", action="store_true", help="show what would be changed")
    parser.add_argument("--jobs", "-j", type=int, default=2, help="compilers, then forks, at a time (2)")
    parser.add_argument("--budget", type=float, default=100, help="seconds of tests for each mutant (100)")
    parser.add_argument("--most", type=int, default=25, help="tests of one function that are tried, evenly spread (25)")
    parser.add_argument("--scratch", type=Path, default=ROOT / "build" / "mutants", help="where the copy goes")
    parser.add_argument("--again", action="store_true", help="the build that is there, with the tests as they are now")
    parser.add_argument("--numbers", type=int, nargs="+", help="with --again: these mutants only (all)")
    parser.add_argument("tests", nargs="*", default=["tests", "src"], help="the tests that are looked at (all)")
    return parser.parse_args()


# ---------- the choice


def draws(seed, layer, found):
    """The changes of a layer in the order in which they are taken."""
    rng = random.Random(f"{seed} {layer}")
    left = {path: list(mutations) for path, mutations in found.items()}
    while left:
        path = rng.choices(list(left), [len(mutations) ** 0.5 for mutations in left.values()])[0]
        kinds = sorted({mutation.kind for mutation in left[path]})
        kind = rng.choices(kinds, [KINDS.get(kind, 1) for kind in kinds])[0]
        drawn = rng.choice([mutation for mutation in left[path] if mutation.kind == kind])
        left[path].remove(drawn)
        if not left[path]:
            del left[path]
        yield drawn


def collide(one, other):
    """Whether two changes cannot be made together."""
    return one.path == other.path and ((one.start < other.end and other.start < one.end)
                                       or one.statement == other.statement)  # fmt: skip


class Choice:
    """The mutants, by number; those that do not compile are taken out and others put in."""

    def __init__(self, found, seed, count, weights):
        layers = {layer: {} for layer in weights}
        for path, mutations in found.items():
            for layer in [layer for layer in weights if re.search(layer, path)][:1]:
                layers[layer][path] = mutations
        self.layers = {layer: part for layer, part in layers.items() if part}
        self.drawn = {layer: draws(seed, layer, part) for layer, part in self.layers.items()}
        self.numbers, self.next, self.dropped = {}, 1, []
        for kind, old in FIXED:
            fits = [m for part in found.values() for m in part if m.kind == kind and m.change.startswith(f"{old} ->")]
            if fits:
                self.add(fits[0])
        total = sum(weights[layer] for layer in self.layers)
        for layer in self.layers:
            for _ in range(max(1, round(count * weights[layer] / total))):
                self.draw(layer)

    def add(self, mutation):
        self.numbers[self.next] = mutation
        self.next += 1

    def draw(self, layer):
        for mutation in self.drawn[layer]:
            if not any(collide(mutation, other) for other in self.numbers.values()):
                self.add(mutation)
                return

    def replace(self, number):
        mutation = self.numbers.pop(number)
        self.dropped.append(number)
        print("does not compile:", mutation.key, flush=True)
        self.draw(next(layer for layer, part in self.layers.items() if mutation.path in part))


# ---------- the build


def source(root, path):
    """The file of a source: paths are below ext, or begin with src."""
    return root / path if path.startswith("src/") else root / "ext" / path


def copy_tree(scratch, changed):
    """A copy of the sources but for some. What is the same keeps its age; a first copy takes the build along."""
    shutil.rmtree(scratch / "tests", ignore_errors=True)
    if not (scratch / "ext").exists():
        for name in ("ext", "src"):
            shutil.copytree(ROOT / name, scratch / name)
        for path in (ROOT / "build").glob("*-release-*"):
            shutil.copytree(path, scratch / "build" / path.name)
    for name in COPIED:
        if (ROOT / name).is_dir():
            for path in sorted((ROOT / name).rglob("*")):
                if path.is_file() and path.suffix not in (".so", ".pyc", ".html") and path not in changed:
                    put(scratch / path.relative_to(ROOT), path.read_bytes())
        elif (ROOT / name).exists():
            put(scratch / name, (ROOT / name).read_bytes())


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def build(choice, sources, scratch, jobs):
    """Compile until everything does."""
    while True:
        put(scratch / "ext/include/mutants.h", HEADER.encode())
        put(scratch / "ext/dualgrad/_engine/mutants.pyx", ASKED_BY_PYTHON.encode())
        places = {}
        for path in sources:
            text = source(ROOT, path).read_text()
            own = {number: mutation for number, mutation in choice.numbers.items() if mutation.path == path}
            if own:
                text, places[path] = mutated(text, own, path)
            put(source(scratch, path), text.encode())
        done = subprocess.run(
            [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"],
            cwd=scratch, env={**os.environ, "DUALGRAD_JOBS": str(jobs)}, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode == 0 and not any(syntax_errors(scratch, places)):
            return
        wrong = {n for path, line in (*errors(done.stdout + done.stderr, scratch), *syntax_errors(scratch, places))
                 for n, lines in places.get(path, {}).items() if line in lines}  # fmt: skip
        if not wrong:
            sys.exit(done.stdout[-3000:] + done.stderr[-5000:])
        for number in sorted(wrong):
            choice.replace(number)


def errors(output, scratch):
    """The places in our sources that a compiler complains of."""
    for path, line in re.findall(r"ext/([\w/.]+\.(?:pyx|h)):(\d+):\d+: (?!note|warning)", output):
        yield path, int(line)
    for path, line in re.findall(r"(\S+\.c):(\d+):\d+: error", output):
        before = "\n".join((scratch / path).read_text().splitlines()[: int(line)])
        marks = re.findall(r'/\* "(dualgrad/[\w/.]+\.pyx)":(\d+)', before)
        if marks:
            yield marks[-1][0], int(marks[-1][1])


def syntax_errors(scratch, places):
    """The places in Python sources that do not compile."""
    for path in [path for path in places if path.endswith(".py")]:
        try:
            compile(source(scratch, path).read_text(), path, "exec")
        except SyntaxError as error:
            yield path, error.lineno


# ---------- the runs


def run(choice, scratch, given):
    folder = scratch / "runs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    mutants = {str(number): mutation.path for number, mutation in choice.numbers.items()}
    job = {"folder": str(folder), "count": choice.next, "jobs": given.jobs, "budget": given.budget,
           "most": given.most, "mutants": mutants}  # fmt: skip
    (folder / "job.json").write_text(json.dumps(job))
    environment = {
        **os.environ, "PYTHONPATH": f"{scratch}/src:{scratch}/tests", "DG_MUTANTS_JOB": str(folder / "job.json"),
        "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    left_out = [f"-pno:{plugin}" for plugin in ("cacheprovider", "xdist", "faulthandler")]
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-pmutant_runs", *left_out, "--tb=line", *given.tests]
    subprocess.run(command, cwd=scratch, env=environment, check=False)
    results = {n: json.loads((folder / f"result-{n}.json").read_text()) for n in choice.numbers}
    imported = set(json.loads((folder / "imported.json").read_text()))
    for number, result in results.items():
        if result["how"] == "survived" and not result["reaching"] and number in imported:
            results[number] = run_imported(number, choice.numbers[number], scratch, environment)
    return results


def run_imported(number, mutation, scratch, environment):
    """A mutant of what runs when the package is imported only: a process of its own."""
    layer = Path(mutation.path).parent.name
    folder = f"tests/{layer}" if (ROOT / "tests" / layer).is_dir() else "tests/primitives"
    plain = {name: value for name, value in environment.items() if name != "DG_MUTANTS_JOB"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=line", folder]
    try:
        done = subprocess.run(command, cwd=scratch, env={**plain, "DG_MUTANT": str(number)}, capture_output=True,
                              text=True, timeout=900, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"how": "timeout", "killer": [folder, []], "reaching": 0, "run": 0}
    killer = [folder, done.stdout.splitlines()[-1:]] if done.returncode else None
    return {"how": "failed" if killer else "survived", "killer": killer, "reaching": 0, "run": 0}


# ---------- the report


def unobservable():
    """The changes that nothing can observe: key -> reason."""
    path = Path(__file__).with_name("unobservable.txt")
    reasons, key = {}, None
    for line in path.read_text().splitlines() if path.exists() else ():
        if line and not line.startswith((" ", "#")):
            key = line
        elif key and line.strip():
            reasons[key] = f"{reasons.get(key, '')} {line.strip()}".strip()
    return reasons


def report(choice, results):
    """Print the table and the survivors; whether there are none."""
    reasons = unobservable()
    table = {}
    survivors = []
    for number, mutation in choice.numbers.items():
        how = results[number]["how"]
        if how == "survived":
            how = "unobservable" if mutation.key in reasons else "survived"
        table.setdefault(mutation.path.removeprefix("dualgrad/_engine/"), Counter())[how] += 1
        if how == "survived":
            survivors.append(number)
    columns = ("failed", "crashed", "timeout", "unobservable", "survived")
    print(f"\n{'':40}", *(f"{column:>13}" for column in columns))
    for path in sorted(table):
        print(f"{path:40}", *(f"{table[path][column] or '':>13}" for column in columns))
    total = sum(table.values(), Counter())
    print(f"{'all':40}", *(f"{total[column]:>13}" for column in columns))
    counted = total.total() - total["unobservable"]
    print(f"\n{counted - total['survived']} of {counted} killed")
    for number in survivors:
        mutation, result = choice.numbers[number], results[number]
        print(f"\n{number}: {mutation.path}, {mutation.kind}; {result['reaching']} tests reach it, {result['run']} ran")
        print(f"    {mutation.statement}\n    {mutation.change}\n    key: {mutation.key}")
    return not survivors


def main():
    given = options()
    sources = candidates(ROOT)
    found = {path: part for path, part in sources.items() if given.only in path}
    choice = Choice(found, given.seed, given.count, WEIGHTS[given.weights])
    if given.list:
        for number, mutation in choice.numbers.items():
            print(number, mutation.key)
        return 0
    scratch = given.scratch.resolve()
    known = scratch / "dropped.json"
    if given.again:
        for number in json.loads(known.read_text()):
            choice.replace(number)
        choice.numbers = {n: m for n, m in choice.numbers.items() if n in (given.numbers or choice.numbers)}
        shutil.rmtree(scratch / "tests")
        shutil.copytree(ROOT / "tests", scratch / "tests")
    else:
        copy_tree(scratch, {source(ROOT, path) for path in sources})
        build(choice, sources, scratch, given.jobs)
        known.write_text(json.dumps(choice.dropped))
    return 0 if report(choice, run(choice, scratch, given)) else 1


if __name__ == "__main__":
    sys.exit(main())
