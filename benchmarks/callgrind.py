"""Profiles of callgrind: the instructions of one call, by function.

A workload runs twice in processes of their own under callgrind, with different numbers of calls. The difference of the
two profiles, divided by the difference of the numbers, is the cost of one call without imports and recordings.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

#: How to get callgrind where it is missing.
INSTALL = "valgrind is missing: install it, for instance by `apt install valgrind` or `dnf install valgrind`"

#: A function: the file it is in, and its name; the name is empty where the file has no symbols.
Function = tuple[str, str]

#: Options that make counts of two runs comparable.
STEADY = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "DUALGRAD_NUM_THREADS": "1"}


@dataclass
class Profile:
    """Instructions of functions."""

    #: In the function itself.
    own: dict[Function, float] = field(default_factory=lambda: defaultdict(float))
    #: (caller, callee) -> in the callee and below, when it is called from there.
    below: dict[tuple[Function, Function], float] = field(default_factory=lambda: defaultdict(float))
    #: (caller, callee) -> how often.
    calls: dict[tuple[Function, Function], float] = field(default_factory=lambda: defaultdict(float))

    def per_call(self, fewer: "Profile", calls: int) -> "Profile":
        """The cost of one call, from two profiles that differ in a number of calls."""
        result = Profile()
        for name in ("own", "below", "calls"):
            for key, cost in getattr(self, name).items():
                getattr(result, name)[key] = (cost - getattr(fewer, name).get(key, 0.0)) / calls
        return result


def read_profile(path: Path, maps: list[tuple[int, int, str]]) -> Profile:
    """The profile in a file of callgrind. `maps`: where the process had its files, for functions without names."""
    names: dict[tuple[str, str], str] = {}
    profile = Profile()
    here, there = {"ob": "", "fn": ""}, {"ob": "", "fn": ""}
    called = 0
    for line in path.read_text().splitlines():
        if match := re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?$", line):
            prefix, kind, number, name = match.groups()
            if name is not None:
                names[kind, number] = name
            (there if prefix else here)[kind] = names[kind, number]
            if kind == "ob" and not prefix:
                there["ob"] = here["ob"]
        elif line.startswith("calls="):
            called = int(line[6:].split()[0])
        elif re.match(r"[\d+*-]", line):
            cost = float(line.split()[1])
            caller = function(here, maps)
            if called:
                callee = function(there, maps)
                profile.below[caller, callee] += cost
                profile.calls[caller, callee] += called
                there["ob"], called = here["ob"], 0
            else:
                profile.own[caller] += cost
    return profile


def function(place: dict[str, str], maps: list[tuple[int, int, str]]) -> Function:
    """The file and the name of a function. Names that are addresses are looked up in `maps`."""
    ob, fn = place["ob"], place["fn"]
    if not fn.startswith("0x"):
        return ob, fn
    if ob == "???":
        address = int(fn.split("'")[0], 16)
        ob = next((name for start, end, name in maps if start <= address < end), ob)
    return ob, ""


def read_maps(path: Path) -> list[tuple[int, int, str]]:
    """The files that a process has in memory, from its /proc/self/maps: (start, end, path)."""
    found = []
    for line in path.read_text().splitlines():
        if match := re.match(r"(\w+)-(\w+) \S+ \S+ \S+ \S+ +(/.*)", line):
            found.append((int(match[1], 16), int(match[2], 16), match[3]))
    return found


def profile_of(command: list[str], folder: Path, fewer: int, more: int) -> Profile:
    """The instructions of one call of a workload. The command is given a file for its maps and a number of calls."""
    if shutil.which("valgrind") is None:
        raise SystemExit(INSTALL)
    profiles = []
    subprocess.run([sys.executable, *command, os.devnull, "0"], env=os.environ | STEADY, check=True)  # writes bytecode
    for calls in (fewer, more):
        out, maps = folder / f"profile.{calls}", folder / f"maps.{calls}"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, *command]
        done = subprocess.run(
            [*valgrind, str(maps), str(calls)], env=os.environ | STEADY, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(valgrind)} failed:\n{done.stderr[-2000:]}")
        profiles.append(read_profile(out, read_maps(maps)))
    return profiles[1].per_call(profiles[0], more - fewer)
