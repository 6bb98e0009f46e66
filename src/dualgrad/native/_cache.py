"""Machine code on disk, for later processes.

Design
------
A file identifies its source. Its name and its head are the digest of everything that the code depends on: the text, the
processor with its features, the flags of the compiler, and the versions of all software involved. A digest of the head
and of the code follows. A file that does not match is made again, whatever its name is. Files are written beside their
place and moved there, so a reader finds a complete file or none.

Files in the folder are executed, so no other user may write there. Each folder on its path must belong to the user or
to the administrator, and must not be writable by others. A folder with the sticky bit, like /tmp, may be writable by
others, since they can neither move nor delete the user's files. A symbolic link on the path is followed if it belongs
to the user or to the administrator; files are then reached by the path without links, which is the checked one.
Everything else is refused: a warning names the path, and nothing is kept on disk from then on.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import sys
import tempfile
import warnings
from pathlib import Path

__all__ = ["Cache", "default_folder"]

MAGIC = b"dualgrad machine code 2\n"
MOST_FILES = 2000
MOST_BYTES = 1 << 24  # most bytes of a file; the code of 500 instructions has 100 kB
MOST_LINKS = 40  # most links in a path, as in Linux
SELDOM = 64  # stores between two counts of the files

OURS = re.compile(r"[0-9a-f]{64}\.o|dualgrad.*\.part")


class Refused(Exception):
    """Other users may write here: (path, reason)."""


def default_folder() -> Path | None:
    """The folder for machine code, or None. `DUALGRAD_NATIVE_CACHE` names a folder, or is 0 for none."""
    wish = os.environ.get("DUALGRAD_NATIVE_CACHE", "")
    if wish == "0":
        return None
    if wish:
        return Path(wish)
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        root = "~/Library/Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    if not root:
        return None
    try:
        return Path(root).expanduser() / "dualgrad" / "native"
    except RuntimeError:  # no home folder
        return None


class Cache:
    """Machine code on disk, by the digest of everything it depends on.

    Parameters
    ----------
    folder
        The folder; None to keep nothing.
    maker
        Versions, processor and flags, as text.
    """

    def __init__(self, folder: Path | None, maker: str) -> None:
        self.folder = folder
        self.maker = hashlib.sha256(maker.encode()).digest()
        self._usable: bool | None = None if folder else False
        self._stored = 0

    def path(self, text: str) -> Path:
        """The file for the machine code of a text."""
        assert self.folder is not None
        return self.folder / f"{self._origin(text).hex()}.o"

    def _origin(self, text: str) -> bytes:
        """The digest of everything that the machine code of a text depends on."""
        return hashlib.sha256(self.maker + text.encode()).digest()

    def load(self, text: str) -> bytes | None:
        """Read the machine code of a text; None without a trusted file."""
        if not self.is_usable():
            return None
        try:
            found = _content(self.path(text))
        except OSError:
            return None
        except Refused as reason:
            self._refuse(reason)
            return None
        head = MAGIC + self._origin(text)
        code = found[len(head) + 32 :]
        return code if found[: len(head) + 32] == head + hashlib.sha256(head + code).digest() else None

    def store(self, text: str, code: bytes) -> None:
        """Keep the machine code of a text. Ignores a full or read-only disk."""
        head = MAGIC + self._origin(text)
        content = head + hashlib.sha256(head + code).digest() + code
        if not self.is_usable() or len(content) > MOST_BYTES:
            return
        try:
            handle, temporary = tempfile.mkstemp(dir=self.folder, prefix="dualgrad", suffix=".part")
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, self.path(text))
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            return
        if self._stored % SELDOM == 0:
            self._prune()
        self._stored += 1

    def is_usable(self) -> bool:
        """True if the folder exists and is safe. The first call checks, and warns if other users may write there."""
        if self._usable is None:
            assert self.folder is not None
            try:
                self.folder = _safe_folder(self.folder)
                self._usable = True
            except OSError:
                self._usable = False
            except Refused as reason:
                self._refuse(reason)
        return self._usable is True

    def _refuse(self, reason: Refused) -> None:
        """Keep nothing from now on, and warn with the reason."""
        self._usable = False  # before the warning, which a filter may turn into an error
        warnings.warn(
            "native: machine code is not kept on disk, because {} {}. Expected files and folders that only you can "
            "write to. Take the rights from others (chmod go-w), or set DUALGRAD_NATIVE_CACHE to another folder, or "
            "to 0 for none.".format(*reason.args),
            RuntimeWarning,
            stacklevel=2,
        )

    def _prune(self) -> None:
        """Delete the oldest quarter of the files if there are too many."""
        assert self.folder is not None
        files = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # another process may have deleted it
                    if OURS.fullmatch(entry.name):
                        files.append((entry.stat().st_mtime, entry.path))
        if len(files) <= MOST_FILES:
            return
        for _, path in sorted(files)[: MOST_FILES // 4]:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _content(path: Path) -> bytes:
    """Read a file of the cache. Raises OSError for a link, and for a pipe without waiting for it."""
    # Windows lacks the first three, and needs the last.
    flags = [getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")]
    opened = os.open(path, os.O_RDONLY | sum(flags))
    try:
        state = os.fstat(opened)
        if not stat.S_ISREG(state.st_mode) or state.st_size > MOST_BYTES:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        _check(str(path), state, sticky=False)
        with open(opened, "rb", closefd=False) as file:
            return file.read(MOST_BYTES)
    finally:
        os.close(opened)


def _check(path: str, state: os.stat_result, *, sticky: bool) -> None:
    """Raise Refused if other users may change the object at a path. `sticky` allows a folder with the sticky bit."""
    if not hasattr(os, "geteuid"):
        return  # Windows: `stat` does not show access lists, and the folder is in the user's own profile
    if state.st_uid not in (0, os.geteuid()):
        raise Refused(path, f"belongs to another user (number {state.st_uid})")
    mode = stat.S_IMODE(state.st_mode)
    if mode & 0o022 and not stat.S_ISLNK(state.st_mode) and not (sticky and mode & stat.S_ISVTX):
        raise Refused(path, f"may be written by others (its mode is {mode:o})")


def _safe_folder(folder: Path) -> Path:
    """Make a folder, and return its path without links. Raises Refused if others may write on its path."""
    drive, *rest = Path(os.path.abspath(folder)).parts
    found, left, links = drive, rest[::-1], 0
    _check(found, os.lstat(found), sticky=True)
    while left:
        part = left.pop()
        if part == os.pardir:  # `..` comes from a link; the path to it has no more links
            found = os.path.dirname(found)
            continue
        path = os.path.join(found, part)
        try:
            state = os.lstat(path)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.mkdir(path, 0o700)
            state = os.lstat(path)
        _check(path, state, sticky=True)
        if not stat.S_ISLNK(state.st_mode):
            found = path
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
        target = Path(os.readlink(path))
        if target.is_absolute():
            found = target.anchor
        left += [each for each in target.parts[::-1] if each != target.anchor]
    state = os.lstat(found)
    _check(found, state, sticky=False)
    if not stat.S_ISDIR(state.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), found)
    return Path(found)
