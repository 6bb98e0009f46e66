"""What of a large product the default run takes: a part in which everything occurs; the rest is `exhaustive`.

``@pytest.mark.rotated("way")`` on a test of cases times ways runs each case in one of the ways by default, and with
``@pytest.mark.rotated("case", key="operator")`` the cases of an operator take turns. Which of them runs follows from
the names of the test and of all else that it is run with, so different tests of one operator meet different cases of
it, and between them nearly all. ``-m exhaustive`` runs what is left.

``--part 3/8`` runs the third of eight parts of the selected tests. Each test belongs to exactly one of them, which
follows from its name alone: a new test moves no other.
"""

import argparse
import re
import zlib

import pytest


def rotate(items):
    """Mark what is not in turn as exhaustive."""
    groups, places = {}, {}
    for item in items:
        marker = item.get_closest_marker("rotated")
        if marker is not None:
            function = item.nodeid.split("[")[0]
            values = places.setdefault(function, {})
            groups.setdefault((function, *others(item.callspec.params, marker, values)), []).append(item)
    for name, group in groups.items():
        turn = zlib.crc32(repr(name).encode()) % len(group)
        for item in group[:turn] + group[turn + 1 :]:
            item.add_marker(pytest.mark.exhaustive)


def others(params, marker, values):
    """What an item is run with beside what takes turns; with a key that of the axes, and the axes without it too.

    What has no key is told apart by its place among the values of the test, a dict that is filled meanwhile.
    """
    key = marker.kwargs.get("key")
    for axis, value in params.items():
        if key is not None and axis in marker.args:
            yield axis, getattr(value, key, None) or str(value)
        elif axis not in marker.args:
            yield axis, values.setdefault((axis, id(value)), len(values))


def part(text):
    """The two numbers of ``--part``."""
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
    place, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= place <= parts:
        raise argparse.ArgumentTypeError(f"expected K/N with 1 <= K <= N, such as 3/8; got {text!r}")
    return place, parts


def take_part(config, items, place, parts):
    """Deselect the tests of other parts."""
    taken = {item for item in items if zlib.crc32(item.nodeid.encode()) % parts == place - 1}
    config.hook.pytest_deselected(items=[item for item in items if item not in taken])
    items[:] = [item for item in items if item in taken]
