"""Archives of arrays: `.npz` files that are written whole or not at all, and read with suspicion.

*Writing.* A draft beside the destination is moved over it when it is complete, so that a crash leaves the old file in
place. A process that is killed leaves its draft; the next that writes the same file removes it. A draft that is still
being written is locked, which is how the two are told apart.

*Reading.* Nothing is believed that the file says of itself: members are stored as they are, never compressed, so that
they cannot be larger than the file; a shape has to agree with the number of bytes before an array is made; and pickled
objects are not read. Every member carries a checksum.
"""

from __future__ import annotations

import contextlib
import errno
import io
import math
import os
import re
import secrets
import stat
import sys
import zipfile
from typing import Any, BinaryIO

import numpy as np

if sys.platform != "win32":  # which does not remove a file that is open, and that does for a lock
    import fcntl

__all__ = ["read", "write"]

_DRAFT = ".{}.draft"
_TOKEN = "[0-9a-f]{16}"
_KINDS = "biufc"
_LOOKS = 100  # at a file that others may be replacing

# ---------------------------------------------------------------------------------------------------- writing


def write(path: str, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays by name to a file.

    A link keeps pointing at its file, which is the one to be replaced; a replaced file keeps its mode and owner.

    Raises
    ------
    OSError
        If the file cannot be written, or is a device, a pipe, a socket or a directory.
    """
    target, old = _target(path)
    _remove_left_drafts(target)
    draft, file = _new_draft(target, old)
    try:
        with file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
            if sys.platform != "win32":  # under the lock, so that nobody takes the draft for one that was left
                os.replace(draft, target)
        if sys.platform == "win32":
            os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def _target(path: str) -> tuple[str, os.stat_result | None]:
    """The file that a path stands for, and what is known of it if it is there."""
    target = os.path.realpath(path)
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return target, None
    if not stat.S_ISREG(old.st_mode):
        code = errno.EISDIR if stat.S_ISDIR(old.st_mode) else errno.EINVAL
        raise OSError(code, f"is {_kind(old)}, not a file that can be replaced", path)
    if not any(_is_same_file(path, target) for _ in range(_LOOKS)):
        raise OSError(errno.EINVAL, "is open, but has no name any more", path)
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "is there and must not be written", path)
    return target, old


def _is_same_file(path: str, target: str) -> bool:
    """Whether two paths lead to one file; maybe not if another writer replaces it between the two looks."""
    return os.path.exists(target) and os.path.samestat(os.stat(path), os.stat(target))


def _kind(found: os.stat_result) -> str:
    """What is there in place of a file, in words."""
    kinds = {
        stat.S_ISDIR: "a directory", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket",
        stat.S_ISCHR: "a device", stat.S_ISBLK: "a device",
    }  # fmt: skip
    return next((words for test, words in kinds.items() if test(found.st_mode)), "something else")


def _new_draft(target: str, old: os.stat_result | None) -> tuple[str, BinaryIO]:
    """A new file beside the target, locked, with the mode and owner that it is to have."""
    while True:
        draft = _stem(target) + _DRAFT.format(secrets.token_hex(8))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(draft, flags, 0o666 if old is None else 0o600), "wb")
        try:
            _lock_and_set(file, old)
            if os.path.exists(draft):
                return draft, file
        except BaseException:
            file.close()
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise
        file.close()  # somebody was faster than the lock and took it for one that was left


def _lock_and_set(file: BinaryIO, old: os.stat_result | None) -> None:
    """Lock a draft, and give it the mode and owner of the file that it replaces."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):  # not every file system has locks
        fcntl.flock(file, fcntl.LOCK_EX)
    if old is not None:
        with contextlib.suppress(OSError):
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))


def _stem(target: str) -> str:
    """What the names of the drafts of a file begin with; short enough that they are names."""
    folder, name = os.path.split(target)
    return os.path.join(folder, os.fsdecode(os.fsencode(name)[:200]))


def _remove_left_drafts(target: str) -> None:
    """Remove the drafts of this file that nobody is writing any more."""
    folder, stem = os.path.split(_stem(target))
    pattern = re.compile(re.escape(stem) + re.escape(_DRAFT).replace(re.escape("{}"), _TOKEN))
    with contextlib.suppress(OSError):
        for name in filter(pattern.fullmatch, os.listdir(folder)):
            with contextlib.suppress(OSError):
                _remove_if_left(os.path.join(folder, name))


def _remove_if_left(draft: str) -> None:
    if sys.platform == "win32":
        os.unlink(draft)
        return
    descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(draft)
    finally:
        os.close(descriptor)


# ---------------------------------------------------------------------------------------------------- reading


def read(path: str) -> dict[str, np.ndarray]:
    """Read the arrays of a file by name.

    Raises
    ------
    OSError
        If the file is not there or cannot be read.
    ValueError
        If it is no archive that `write` has written, or is damaged.
    """
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):  # opening a pipe would wait for somebody who writes
        raise ValueError(f"it is {_kind(found)}")
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _members(archive, found.st_size)
        except (MemoryError, OSError) as error:
            # Seeking to a place before the beginning is the fault of the file's directory, not of the disk.
            if getattr(error, "errno", errno.EINVAL) != errno.EINVAL or isinstance(error, MemoryError):
                raise
            raise ValueError(f"its directory of members is damaged ({error})") from error
        except zipfile.BadZipFile as error:
            raise ValueError(f"it is not an .npz archive, or a damaged one ({error})") from error
        except Exception as error:
            # What zipfile raises for damage is not limited to its own errors.
            raise ValueError(str(error) or type(error).__name__) from error


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, np.ndarray]:
    """Read all members of an archive in a file of this size."""
    arrays: dict[str, np.ndarray] = {}
    infos = archive.infolist()
    if sum(info.file_size for info in infos) > size:
        raise ValueError("its members are larger than the file")
    for info in infos:
        name = info.filename.removesuffix(".npy")
        if name in arrays:
            raise ValueError(f"two members are named {name!r}")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ValueError(f"member {name!r} is compressed; expected one that is stored as it is")
        arrays[name] = _array(name, archive.read(info))  # which compares the checksum
    return arrays


def _array(name: str, data: bytes) -> np.ndarray:
    """The array in an `.npy` file, whose shape is held against its length first."""
    stream = io.BytesIO(data)
    shape, in_fortran_order, dtype = _npy_header(name, stream)
    if dtype.kind not in _KINDS:
        raise ValueError(f"member {name!r} has type {dtype}; expected numbers")
    stated, there = math.prod(shape) * dtype.itemsize, len(data) - stream.tell()
    if stated != there:
        raise ValueError(f"member {name!r} states shape {shape} of {dtype}, {stated} bytes, and has {there}")
    flat = np.frombuffer(data, dtype, offset=stream.tell()) if there else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if in_fortran_order else "C")


def _npy_header(name: str, stream: BinaryIO) -> tuple[Any, bool, np.dtype]:
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(stream)
        if version == (2, 0):
            return np.lib.format.read_array_header_2_0(stream)
    except (Exception, MemoryError) as error:  # the parser of literals runs out of its own stack that way
        raise ValueError(f"member {name!r} has no header of an array: {error}") from error
    raise ValueError(f"member {name!r} is an .npy file of version {version}; expected 1.0 or 2.0")
