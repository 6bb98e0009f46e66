"""Find out what SciPy's functions do with tensors, for the page on them.

``python docs/survey.py`` calls all that is in SciPy's own list (`tests/scipy_arrays`), which takes minutes, and writes
docs/scipy.json; ``python docs/survey.py stats.zscore fft`` looks only at what begins with these names. The page takes
what is stored, and says of which SciPy it is.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
FILE = DOCS / "scipy.json"
sys.path.insert(0, str(DOCS.parent / "tests"))


def survey(names: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The findings of every sample of the functions that begin with one of the names; of all without names."""
    import scipy_arrays  # noqa: F401  # before SciPy
    from scipy_arrays.capabilities import entries
    from scipy_arrays.samples import samples
    from scipy_arrays.survey import look_at

    found: dict[str, list[dict[str, Any]]] = {}
    for path, entry in entries().items():
        if entry.kind == "array" and (not names or path.removeprefix("scipy.").startswith(tuple(names))):
            given = samples().get(path, [])
            found[path] = [_said_of(s) | look_at(entry.thing, s).as_dict() for s in given]
            print(path, *[finding["outcome"] for finding in found[path]], file=sys.stderr, flush=True)
    return found


def _said_of(sample: Any) -> dict[str, Any]:
    said = {"label": sample.label, "wrong": sample.wrong, "exact": bool(sample.exact)}
    return {key: value for key, value in said.items() if value}


def listed() -> list[str]:
    """The functions that SciPy says take arrays of other libraries."""
    from scipy_arrays.capabilities import entries

    return sorted(path for path, entry in entries().items() if entry.kind == "array")


def leaks(names: list[str]) -> dict[str, dict[str, Any]]:
    """What becomes of slopes in SciPy's other functions."""
    import scipy_arrays  # noqa: F401
    from scipy_arrays.capabilities import entries
    from scipy_arrays.leaks import LEFT_OUT, look_for_a_leak

    found = {}
    for path, entry in entries().items():
        if entry.kind != "array" and not path.startswith(LEFT_OUT):
            if not names or path.removeprefix("scipy.").startswith(tuple(names)):
                leak = look_for_a_leak(entry)
                found[path] = {"outcome": leak.outcome} | ({"error": leak.error} if leak.error else {})
                print(path, leak.outcome, file=sys.stderr, flush=True)
    return found


def learners(names: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The findings of scikit-learn's estimators and metrics that take arrays of other libraries."""
    import scipy_arrays  # noqa: F401
    from scipy_arrays.learning import learners, learning_samples
    from scipy_arrays.survey import look_at

    things, given = learners(), learning_samples()
    return {
        name: [_said_of(s) | look_at(thing, s).as_dict() for s in given[name]]
        for name, thing in things.items()
        if not names or name.startswith(tuple(names))
    }


VERSIONS = ("scipy", "sklearn")
PARTS = {"functions": survey, "others": leaks, "learners": learners}


def stored() -> dict[str, Any]:
    """What the file says: the versions, the findings, the other functions."""
    return (
        json.loads(FILE.read_text())
        if FILE.exists()
        else {**dict.fromkeys(VERSIONS, ""), **{part: {} for part in PARTS}}
    )


def write(results: dict[str, Any]) -> None:
    """Write the file, a line for each function."""
    lines = ["{"] + [f' "{name}": {json.dumps(results[name])},' for name in VERSIONS]
    for part in PARTS:
        inside = ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in sorted(results[part].items())
        )
        lines.append(f' "{part}": {{\n{inside}\n }}' + ("," if part != [*PARTS][-1] else ""))
    FILE.write_text("\n".join(lines) + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="beginnings of names; all without")
    parser.add_argument("--print", action="store_true", help="print what was found instead of writing the file")
    parser.add_argument("--only", choices=PARTS, help="one part of the file")
    given = parser.parse_args()
    parts = (given.only,) if given.only else tuple(PARTS)
    found = {part: PARTS[part](given.names) for part in parts}
    versions = {name: sys.modules[name].__version__ for name in VERSIONS if name in sys.modules}
    if given.print:
        print(json.dumps(versions | {"names": listed()} | found))
        return
    results = stored() | versions
    for part, new in found.items():
        results[part] = results[part] | new if given.names else new
    write(results)


if __name__ == "__main__":
    main()
