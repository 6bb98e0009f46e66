"""Machine code on disk: what a file is the code of, damaged files, and folders that others may write to."""

import ctypes
import os
import re
import subprocess
import sys
import threading
import warnings

import pytest
from machine_code import counted_run, recorded_program

import dualgrad as dg
from dualgrad import Tensor

pytest.importorskip("llvmlite")

from dualgrad.native import _cache, _machine

pytestmark = pytest.mark.eager("records by itself")

rights = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights on Windows are lists that `stat` does not show")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own for the machine code of one test."""
    monkeypatch.setattr(_machine.machine(), "cache", _cache.Cache(tmp_path / "parent" / "code", "one"))
    return tmp_path / "parent" / "code"


TEXT = "define double @run(double %x) {{ %y = f{} double %x, 0.5 ret double %y }}"
CALLED = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


def counts(operation="add"):
    """How many functions are compiled and loaded for one, whose results have to be right."""
    machine, code = _machine.machine(), _machine.Code()
    before = machine.compiled, machine.loaded
    machine.add(code, "run", TEXT.format(operation))
    assert CALLED(code.addresses["run"])(2.5) == {"add": 3.0, "sub": 2.0}[operation]
    return machine.compiled - before[0], machine.loaded - before[1]


def test_machine_code_is_kept(folder):
    def counts(k):
        counted = counted_run(recorded_program(k), Tensor(0.5), Tensor(0.25))
        return counted["compiled"], counted["loaded"]

    assert counts(0.5) == (1, 0)
    assert counts(0.5) == (0, 1)
    assert counts(0.625) == (0, 1)  # a number is an operand, not a part of the code
    assert len(list(folder.iterdir())) == 1
    for made in (folder, folder.parent):
        assert not hasattr(os, "geteuid") or made.stat().st_mode & 0o077 == 0


# ------------------------------------------------------------------------------------------------------------- damages

MAGIC, ORIGIN, DIGEST = len(_cache.MAGIC), 32, 32
REGIONS = {"mark": (0, MAGIC), "origin": (MAGIC, ORIGIN), "digest": (MAGIC + ORIGIN, DIGEST)}
HEAD = MAGIC + ORIGIN + DIGEST


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def content(change):
    """A damage of the content of a file."""
    return lambda file, whole: file.write_bytes(change(whole))


def instead(make):
    """Another thing under the name of a file."""

    def damage(file, whole):
        file.unlink()
        make(file, whole)

    return damage


def link_to_copy(file, whole):
    copy = file.with_suffix(".copy")
    copy.write_bytes(whole)
    file.symlink_to(copy)


def huge(file, whole):
    os.truncate(file, 1 << 40)  # takes no room


DAMAGES = {
    "empty": content(lambda data: b""),
    "longer": content(lambda data: data + b"0"),
    "code alone": content(lambda data: data[HEAD:]),
    "zeros": content(lambda data: bytes(len(data))),
    "huge": huge,
    "directory": instead(lambda file, whole: file.mkdir()),
    "link": instead(link_to_copy),
    "link to nothing": instead(lambda file, whole: file.symlink_to("nowhere")),
    "link to a folder": instead(lambda file, whole: file.symlink_to(".")),
    **{f"cut in the {name}": content(lambda data, at=at: data[: at + 1]) for name, (at, _) in REGIONS.items()},
    **{f"cut after the {name}": content(lambda data, at=at + n: data[:at]) for name, (at, n) in REGIONS.items()},
    "cut in the code": content(lambda data: data[: (HEAD + len(data)) // 2]),
    "last byte missing": content(lambda data: data[:-1]),
    **{f"first bit of the {name}": content(lambda data, at=at: flipped(data, at)) for name, (at, _) in REGIONS.items()},
    **{
        f"last bit of the {name}": content(lambda data, at=at + n - 1: flipped(data, at))
        for name, (at, n) in REGIONS.items()
    },
    **{
        f"a bit of the code at {part} tenths": content(
            lambda data, part=part: flipped(data, HEAD + (len(data) - HEAD - 1) * part // 10)
        )
        for part in range(0, 11, 2)
    },
}
if hasattr(os, "mkfifo"):
    DAMAGES["pipe"] = instead(lambda file, whole: os.mkfifo(file))
if hasattr(os, "geteuid"):
    DAMAGES["not to be read"] = lambda file, whole: file.chmod(0)
STAYING = {"directory"}  # nothing can be moved there
READ = {"not to be read"} if hasattr(os, "geteuid") and os.geteuid() == 0 else set()  # by the administrator


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_made_again(damage, folder):
    counts()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    DAMAGES[damage](file, whole)
    assert counts() == ((0, 1) if damage in READ else (1, 0))
    assert counts() == ((1, 0) if damage in STAYING else (0, 1))
    if damage not in STAYING:
        assert not file.is_symlink()
        assert file.read_bytes() == whole


def test_a_file_of_another_program_is_not_run(folder):
    """Both ways, and also where one file stands for two programs."""
    counts()
    (one,) = folder.iterdir()
    counts("sub")
    (two,) = set(folder.iterdir()) - {one}
    a, b = one.read_bytes(), two.read_bytes()
    assert a != b
    one.write_bytes(b)
    two.write_bytes(a)
    assert counts() == (1, 0)
    assert counts("sub") == (1, 0)
    one.unlink()
    os.link(two, one)
    assert counts() == (1, 0)
    assert counts("sub") == (0, 1)


def test_what_is_in_a_file_follows_from_all_that_it_is_the_code_of(tmp_path):
    """Text and maker: the same code of another one has another file, and is not taken from it."""
    for maker in ("one", "two"):
        for text in ("a", "b"):
            _cache.Cache(tmp_path, maker).store(text, b"code")
    files = sorted(tmp_path.glob("*.o"))
    assert len(files) == len({file.read_bytes() for file in files}) == 4
    for maker in ("one", "two"):
        for text in ("a", "b"):
            cache = _cache.Cache(tmp_path, maker)
            path = cache.path(text)
            whole = path.read_bytes()
            assert cache.load(text) == b"code"
            for other in set(files) - {path}:
                path.write_bytes(other.read_bytes())
                assert cache.load(text) is None
            path.write_bytes(whole)


def test_the_maker_is_all_that_code_follows_from(monkeypatch):
    """Versions, processor and flags."""
    makers = []
    monkeypatch.setattr(_machine, "Cache", lambda folder, maker: makers.append(maker))
    _machine.Machine()
    (maker,) = makers
    import llvmlite
    import llvmlite.binding as llvm

    for part in (
        _machine.FORMAT,
        dg.__version__,
        llvmlite.__version__,
        llvm.llvm_version_info,
        llvm.Target.from_default_triple().triple,
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        "opt",
        "reloc",
        "codemodel",
    ):
        assert str(part) in maker


def test_files_that_are_no_machine_code_are_made_again(folder, monkeypatch):
    """Their digest agrees."""
    cache = _machine.machine().cache
    texts = []
    store = cache.store
    monkeypatch.setattr(cache, "store", lambda text, code: texts.append(text))
    counts()
    store(texts[0], b"no object file")
    assert counts() == (1, 0)


def test_code_that_is_too_long_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(_cache, "MOST_BYTES", HEAD + 10)
    cache = _cache.Cache(tmp_path / "code", "one")
    for n in (9, 10, 11):
        cache.store(f"text {n}", b"0" * n)
        assert cache.load(f"text {n}") == (b"0" * n if n <= 10 else None)
    assert sorted(os.listdir(tmp_path / "code")) == sorted(cache.path(f"text {n}").name for n in (9, 10))


# ------------------------------------------------------------------------------------------------------------- several


def test_a_file_that_is_written_while_it_is_read(tmp_path):
    """A reader finds the code of one writer or of the other one, from the first store on."""
    codes = [bytes([k]) * 100_000 for k in (1, 2)]
    caches = [_cache.Cache(tmp_path, "one") for _ in range(3)]
    caches[2].store("text", codes[0])
    end, found = threading.Event(), set()

    def write(k):
        while not end.is_set():
            caches[k].store("text", codes[k])

    threads = [threading.Thread(target=write, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        found.add(caches[2].load("text"))
    end.set()
    for thread in threads:
        thread.join()
    assert found <= set(codes)
    assert len(list(tmp_path.iterdir())) == 1


PROCESS = """
import numpy as np, dualgrad as dg
dg.set_context(native="force")
for sign in (1.0, -1.0):
    fn = dg.jit(lambda x: ((x * x + sign) * x - sign) * x if sign > 0 else (x * x - sign) * (x * x) - x)
    x = dg.Tensor(np.linspace(0.1, 1.0, 3000))
    for _ in range(4):
        found = fn(x)
    x = x.asnumpy()
    right = ((x * x + sign) * x - sign) * x if sign > 0 else (x * x - sign) * (x * x) - x
    assert found.asnumpy().tobytes() == right.tobytes()
status = dg.native.status()
print(status["compiled"] + status["loaded"], status["failed"])
"""


def started(folder, **more):
    environment = {**os.environ, "DUALGRAD_NATIVE": "", "DUALGRAD_NATIVE_CACHE": str(folder)}
    command = [sys.executable, "-c", PROCESS]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def test_two_processes_at_once(tmp_path):
    both = [started(tmp_path / "code") for _ in range(2)]
    for process in both:
        out, errors = process.communicate(timeout=120)
        assert (process.returncode, out.split(), errors) == (0, ["2", "0"], "")
    assert len(os.listdir(tmp_path / "code")) == 2


# --------------------------------------------------------------------------------------------------------------- rights

OTHER = 12345  # a user


def given_away(path, patch):
    """A path that belongs to another user."""
    if os.geteuid() == 0:
        os.chown(path, OTHER, -1, follow_symlinks=False)
        return path
    mine = os.lstat(path)[:2]

    def lies(state):
        return os.stat_result((*state[:4], OTHER, *state[5:])) if state[:2] == mine else state

    lstat, fstat = os.lstat, os.fstat  # only the administrator gives files away
    patch.setattr(_cache.os, "lstat", lambda each: lies(lstat(each)))
    patch.setattr(_cache.os, "fstat", lambda each: lies(fstat(each)))
    return path


def changed(mode):
    return lambda path, patch: path.chmod(mode)


FAULTS = {
    "others": (changed(0o707), "may be written by others (its mode is 707)"),
    "the group": (changed(0o770), "may be written by others (its mode is 770)"),
    "all": (changed(0o777), "may be written by others (its mode is 777)"),
    "another user": (given_away, f"belongs to another user (number {OTHER})"),
}
PLACES = {
    "folder": lambda folder: folder,
    "parent": lambda folder: folder.parent,
    "parent of the parent": lambda folder: folder.parent.parent,
    "file": lambda folder: next(folder.glob("*.o")),
}


@rights
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fault", FAULTS)
def test_what_others_may_write_is_refused(fault, place, folder, monkeypatch):
    counts()
    _machine.machine().cache = _cache.Cache(folder, "one")  # as another process begins
    before = sorted(os.listdir(folder))
    (spoil, reason), path = FAULTS[fault], PLACES[place](folder)
    spoil(path, monkeypatch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert counts() == counts() == counts("sub") == (1, 0)
    (warning,) = caught
    assert warning.category is RuntimeWarning
    assert f"not kept on disk, because {path} {reason}. Expected " in str(warning.message)
    assert sorted(os.listdir(folder)) == before


@rights
@pytest.mark.parametrize("place", ["parent", "parent of the parent"])
def test_folders_where_others_cannot_move_what_is_ours_are_well(place, folder):
    """As /tmp."""
    folder.mkdir(parents=True, mode=0o700)
    PLACES[place](folder).chmod(0o1777)
    assert counts() == (1, 0)
    assert counts() == (0, 1)


@rights
def test_the_folder_itself_is_for_its_user(folder):
    """Others may make files in a folder with the sticky bit."""
    folder.mkdir(parents=True)
    folder.chmod(0o1777)
    with pytest.warns(RuntimeWarning, match=re.escape(f"{folder} may be written by others (its mode is 1777)")):
        assert counts() == (1, 0)


def linked(tmp_path, target):
    link = tmp_path / "link"
    link.symlink_to(target)
    return link


LINKS = {  # where a link leads: the folder that is used, or the reason to refuse the one it leads to
    "private": ("private", None),
    "private/code": ("private/code", None),
    "private/../private/code": ("private/code", None),
    "open": ("open", "may be written by others"),
    "open/code": ("open", "may be written by others"),
    "sticky": ("sticky", "may be written by others"),
    "sticky/code": ("sticky/code", None),
    "sticky/code/..": ("sticky", "may be written by others"),
}


@rights
@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("below", ["", "more"])
@pytest.mark.parametrize("leads", LINKS)
def test_links_are_as_safe_as_where_they_lead(leads, below, absolute, tmp_path):
    for name, mode in (("private", 0o700), ("open", 0o777), ("sticky", 0o1777)):
        (tmp_path / name / "code").mkdir(parents=True)
        (tmp_path / name).chmod(mode)
    real, reason = LINKS[leads]
    link = linked(tmp_path, f"{tmp_path}/{leads}" if absolute else leads)
    cache = _cache.Cache(link / below, "one")
    if below and real == "sticky":  # a folder of ours in it
        reason = None
    if reason:
        with pytest.warns(RuntimeWarning, match=re.escape(f"{tmp_path / real} {reason}")):
            assert not cache.is_usable()
        return
    cache.store("text", b"code")
    assert cache.load("text") == b"code"
    assert cache.folder == tmp_path / real / below
    link.unlink()  # the path without links is used
    assert cache.load("text") == b"code"


@rights
def test_a_link_of_another_user_is_refused(tmp_path, monkeypatch):
    (tmp_path / "private").mkdir(mode=0o700)
    link = given_away(linked(tmp_path, "private"), monkeypatch)
    with pytest.warns(RuntimeWarning, match=re.escape(f"{link} belongs to another user")):
        assert not _cache.Cache(link, "one").is_usable()


@rights
def test_links_without_an_end_are_not_followed(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert not _cache.Cache(tmp_path / "one", "one").is_usable()


@rights
def test_the_line_that_switches_it_on_warns(tmp_path):
    tmp_path.chmod(0o777)
    process = started(tmp_path / "code")
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out.split()) == (0, ["2", "0"]), errors
    assert errors.count("RuntimeWarning") == 1
    assert f"{tmp_path} may be written by others" in errors
    assert not os.listdir(tmp_path)


@rights
def test_a_warning_that_is_an_error_is_one(tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    monkeypatch.setattr(_machine.machine(), "cache", _cache.Cache(tmp_path / "code", "one"))
    with pytest.raises(RuntimeWarning, match="may be written by others"):
        dg.set_context(native="force")
    assert dg.get_context("native") is False
    assert counts() == (1, 0)


def test_folders_that_are_made_are_the_users_alone(tmp_path):
    before = os.umask(0)
    try:
        assert _cache.Cache(tmp_path / "a" / "b" / "c", "one").is_usable()
    finally:
        os.umask(before)
    for name in ("a", "a/b", "a/b/c"):
        assert not hasattr(os, "geteuid") or (tmp_path / name).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("below", ["", "below"])
def test_a_folder_that_cannot_be_made_is_not_used(below, folder, monkeypatch):
    folder.parent.mkdir()
    folder.write_text("a file")
    monkeypatch.setattr(_machine.machine(), "cache", _cache.Cache(folder / below, "one"))
    assert counts() == counts() == (1, 0)
    assert folder.read_text() == "a file"


# ----------------------------------------------------------------------------------------------------------- the folder


def test_the_oldest_files_go(folder, monkeypatch):
    """Files of others stay."""
    monkeypatch.setattr(_cache, "MOST_FILES", 8)
    monkeypatch.setattr(_cache, "SELDOM", 1)
    cache = _machine.machine().cache
    assert cache.is_usable()
    # To the process that looks it is a file that another one has just deleted.
    (folder / f"{'0' * 64}.o").symlink_to("nowhere")
    for k in range(9):
        (folder / f"other {k}.o").touch()
        os.utime(folder / f"other {k}.o", (0, 0))
        cache.store(f"text {k}", b"code")
        os.utime(cache.path(f"text {k}"), (k, k))
    cache.store("text 9", b"code")
    assert [cache.load(f"text {k}") for k in range(10)][:2] == [None, None]
    assert cache.load("text 9") == b"code"
    assert len(list(folder.glob("?" * 64 + ".o"))) <= 9
    assert len(list(folder.glob("other*"))) == 9


@pytest.mark.parametrize(("wish", "found"), [("0", None), ("/tmp/there", "/tmp/there"), ("", ...)])
def test_where_it_is_kept(wish, found, monkeypatch):
    monkeypatch.setenv("DUALGRAD_NATIVE_CACHE", wish)
    folder = _cache.default_folder()
    assert folder is None if found is None else found is ... or folder == _cache.Path(found)
