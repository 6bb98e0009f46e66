"""Checkpoint files: where they are written and how, and every kind of damage, which is a ValueError."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from archives import names_in, numbers, small
from support import assert_raises

import dualgrad as dg
from dualgrad import Parameter

posix = pytest.mark.skipif(os.name != "posix", reason="devices, modes and links are those of POSIX")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "net.ckpt"


# ------------------------------------------------------------------------------------------ where it is written


@posix
def test_a_link_keeps_pointing_at_its_file(tmp_path):
    real, link, link2 = tmp_path / "real", tmp_path / "link", tmp_path / "sub" / "link2"
    (tmp_path / "sub").mkdir()
    link.symlink_to("real")
    link2.symlink_to("../link")
    for _ in range(2):  # dangling, then with a file
        dg.save_checkpoint(small(), link2)
        assert link.is_symlink()
        assert link2.is_symlink()
        assert not real.is_symlink()
        assert numbers(real) == numbers(link2)
    assert names_in(tmp_path) == ["link", "real", "sub"]
    assert names_in(tmp_path / "sub") == ["link2"]


def _pipe(path):
    os.mkfifo(path)


def _loop(path):
    path.symlink_to(path)


def _loop_of_two(path):
    other = path.with_name("other")
    other.symlink_to(path)
    path.symlink_to(other)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _link_to_pipe(path):
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def _link_to_device(path):
    path.symlink_to("/dev/null")


NO_FILES = {
    "a directory": Path.mkdir,
    "a pipe": _pipe,
    "a loop": _loop,
    "a loop of two": _loop_of_two,
    "a socket": _socket,
    "a link to a pipe": _link_to_pipe,
    "a link to a device": _link_to_device,
}


@posix
@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file_is_neither_replaced_nor_read(path, kind):
    NO_FILES[kind](path)
    before, mode = names_in(path.parent), os.lstat(path).st_mode
    with pytest.raises(OSError, match=re.escape(str(path))):
        dg.save_checkpoint(small(), path)
    assert (names_in(path.parent), os.lstat(path).st_mode) == (before, mode)
    with pytest.raises((ValueError, OSError), match=re.escape(str(path))) as error:
        dg.load_checkpoint(path)
    assert isinstance(error.value, OSError) == ("loop" in kind)


@posix
def test_the_null_device_stays_a_device():
    with pytest.raises(OSError, match="a device"):
        dg.save_checkpoint(small(), "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@posix
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002, 0o000])
def test_a_new_file_has_the_mode_that_the_mask_leaves(path, mask):
    before = os.umask(mask)
    try:
        dg.save_checkpoint(small(), path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o666, 0o755])
def test_a_replaced_file_keeps_its_mode(path, mode):
    path.touch()
    path.chmod(mode)
    dg.save_checkpoint(small(), path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert len(numbers(path)) == 2


@pytest.mark.parametrize("name", ["x" * 250, "é" * 120, "a b", "[a].*", "-", "net"])
@pytest.mark.parametrize("kind", [str, os.fsencode, Path], ids=["str", "bytes", "Path"])
def test_names_of_files(tmp_path, name, kind):
    target = tmp_path / name
    for _ in range(2):
        dg.save_checkpoint(small(), kind(target))
    assert names_in(tmp_path) == [name]
    assert len(numbers(kind(target))) == 2


def test_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        dg.save_checkpoint(small(), tmp_path / "absent" / "net.ckpt")
    with pytest.raises(FileNotFoundError):
        dg.load_checkpoint(tmp_path / "absent" / "net.ckpt")


# ------------------------------------------------------------------------------------------------------ drafts

# A child that stops while it writes, when the draft is there and not complete.
STOPS = """
import signal, sys, time, numpy as np, dualgrad as dg
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have what runs in the background ignore it
def stop(file, **arrays):
    file.write(b"half"); file.flush()
    print("writing", flush=True)
    time.sleep(60)
np.savez = stop
dg.save_checkpoint({"w": dg.Parameter([1.0])}, sys.argv[1])
"""


def stopped(path):
    """Start a process that writes a checkpoint and does not end."""
    source = str(Path(dg.__file__).parent.parent)
    process = subprocess.Popen(
        [sys.executable, "-c", STOPS, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert process.stdout.readline() == "writing\n"
    return process


def end(process, number):
    process.send_signal(number)
    process.wait()
    process.stdout.close()


@posix
def test_drafts_left_by_killed_processes_are_removed_by_the_next(path):
    dg.save_checkpoint(small(), path)
    before = numbers(path)
    foreign = path.with_name("net.ckpt.mine.draft")
    foreign.touch()
    other = path.with_name("other.ckpt.0123456789abcdef.draft")
    other.touch()
    for _ in range(2):
        end(stopped(path), signal.SIGKILL)
    assert len(names_in(path.parent)) == 4  # the second removed the draft of the first
    assert numbers(path) == before
    dg.save_checkpoint(small(), path)
    assert names_in(path.parent) == ["net.ckpt", foreign.name, other.name]


@posix
def test_a_draft_that_is_being_written_is_left_alone(path):
    writer = stopped(path)
    try:
        (draft,) = names_in(path.parent)
        dg.save_checkpoint(small(), path)
        assert names_in(path.parent) == ["net.ckpt", draft]
    finally:
        end(writer, signal.SIGINT)
    assert names_in(path.parent) == ["net.ckpt"]


def test_an_error_while_writing_leaves_the_old_file(path, monkeypatch):
    dg.save_checkpoint(small(), path)
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "no space left")

    monkeypatch.setattr(np, "savez", full)
    assert_raises(OSError, lambda: dg.save_checkpoint({"w": Parameter([9.0])}, path), "no space left")
    assert path.read_bytes() == before
    assert names_in(path.parent) == ["net.ckpt"]


@posix
def test_many_writers_at_once(path):
    code = (
        "import sys, dualgrad as dg\n"
        "for k in range(30): dg.save_checkpoint({'w': dg.Parameter([float(sys.argv[2])] * 500)}, sys.argv[1])"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(dg.__file__).parent.parent)}
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), str(k)], env=environment) for k in range(3)]
    until = time.monotonic() + 60
    while any(writer.poll() is None for writer in writers) and time.monotonic() < until:
        if path.exists():
            assert len(set(numbers(path)["w"][1])) == 1
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert names_in(path.parent) == ["net.ckpt"]


# ------------------------------------------------------------------------------------------------------ damage


# ---------------------------------------------------------------------------- archives that are whole, and wrong


# --------------------------------------------------------------------------------------------------- arguments
