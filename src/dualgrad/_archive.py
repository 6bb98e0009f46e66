"""Archives of arrays: `.npz` files, written whole or not at all. The reader trusts nothing in them.

*Writing.* `write` fills a draft beside the destination and moves it there when it is complete: a crash leaves the old
file in place. A killed process leaves its draft; the next writer of the same file removes it. A lock on the draft shows
that its writer still runs.

*Reading.* The reader takes nothing from the file unchecked. Members are stored and never compressed, so they cannot be
larger than the file. A shape must agree with the number of bytes before an array is made. Pickled objects are refused.
Every member carries a checksum.
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

if sys.platform != "win32":  # Windows neither removes an open file nor needs another lock
    import fcntl

__all__ = ["read", "write"]

_DRAFT = ".{}.draft"
_TOKEN = "[0-9a-f]{16}"
_KINDS = "biufc"
_LOOKS = 100  # how often to compare a path and its target while other writers may replace the file

# ---------------------------------------------------------------------------------------------------- writing


def write(path: str, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays by name to a file.

    A link stays a link: its target is replaced. The new file keeps the mode and owner of the old one.

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
            if sys.platform != "win32":  # under the lock, so that no other writer takes the draft for an abandoned one
                os.replace(draft, target)
        if sys.platform == "win32":
            os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def _target(path: str) -> tuple[str, os.stat_result | None]:
    """The file behind a path after all links, and its status, or None if it does not exist."""
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
    """True if two paths lead to one file. May be False if another writer replaces the file between the two looks."""
    return os.path.exists(target) and os.path.samestat(os.stat(path), os.stat(target))


def _kind(found: os.stat_result) -> str:
    """The kind of a file that is not a regular file, in words."""
    kinds = {
        stat.S_ISDIR: "a directory", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket",
        stat.S_ISCHR: "a device", stat.S_ISBLK: "a device",
    }  # fmt: skip
    return next((words for test, words in kinds.items() if test(found.st_mode)), "something else")


def _new_draft(target: str, old: os.stat_result | None) -> tuple[str, BinaryIO]:
    """Create a locked file beside the target, with the mode and owner that the target will have."""
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
        file.close()  # another process locked the draft first and removed it as abandoned


def _lock_and_set(file: BinaryIO, old: os.stat_result | None) -> None:
    """Lock a draft and give it the mode and owner of the file that it will replace."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):  # not every file system has locks
        fcntl.flock(file, fcntl.LOCK_EX)
    if old is not None:
        with contextlib.suppress(OSError):
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))


def _stem(target: str) -> str:
    """The beginning of all draft names of a file, cut so that a draft name is not too long for a file system."""
    folder, name = os.path.split(target)
    return os.path.join(folder, os.fsdecode(os.fsencode(name)[:200]))


def _remove_left_drafts(target: str) -> None:
    """Remove the abandoned drafts of this file."""
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
        If it is not an archive that `write` has written, or is damaged.
    """
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):  # opening a pipe would wait for a writer
        raise ValueError(f"it is {_kind(found)}")
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _members(archive, found.st_size)
        except (MemoryError, OSError) as error:
            # A damaged directory makes zipfile seek before the beginning: an OSError with EINVAL that is not the disk's
            # fault.
            if getattr(error, "errno", errno.EINVAL) != errno.EINVAL or isinstance(error, MemoryError):
                raise
            raise ValueError(f"its directory of members is damaged ({error})") from error
        except zipfile.BadZipFile as error:
            raise ValueError(f"it is not an .npz archive, or a damaged one ({error})") from error
        except Exception as error:
            # zipfile raises other errors than its own for damage, too.
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
        arrays[name] = _array(name, archive.read(info))  # reading compares the checksum
    return arrays


def _array(name: str, data: bytes) -> np.ndarray:
    """Read an `.npy` file as an array. Compares the stated shape with the number of bytes first."""
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
    except (Exception, MemoryError) as error:  # the parser of literals raises MemoryError on deep nesting
        raise ValueError(f"member {name!r} has no header of an array: {error}") from error
    raise ValueError(f"member {name!r} is an .npy file of version {version}; expected 1.0 or 2.0")
