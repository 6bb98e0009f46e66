"""Machine code on disk, for later processes.

Design
------
A file is named by a digest of all that the code follows from: the text it was made of, the processor with its
features, and the versions of everything that had a part in it. So a file never has to be proved current. It begins
with a digest of its contents, and what does not agree is deleted and made again. Files are written beside their place
and moved there, so a reader finds all of one or none.

The folder belongs to the user alone: what lies there is run. A folder that others may write to is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from pathlib import Path

__all__ = ["Cache", "default_folder"]

MAGIC = b"dualgrad machine code 1\n"
MOST_FILES = 2000
SELDOM = 64  # stores from one look at the number of files to the next


def default_folder() -> Path | None:
    """Where machine code is kept; None where it is not: `DUALGRAD_NATIVE_CACHE` names a folder, or is 0."""
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
    except RuntimeError:  # there is no home
        return None


class Cache:
    """Machine code by the digest of what it follows from.

    Parameters
    ----------
    folder
        Where it is kept; None to keep nothing.
    maker
        Versions and processor, as text.
    """

    def __init__(self, folder: Path | None, maker: str) -> None:
        self.folder = folder
        self.maker = hashlib.sha256(maker.encode()).digest()
        self._usable: bool | None = None if folder else False
        self._stored = 0

    def path(self, text: str) -> Path:
        """The file of the machine code of a text."""
        assert self.folder is not None
        return self.folder / f"{hashlib.sha256(self.maker + text.encode()).hexdigest()}.o"

    def load(self, text: str) -> bytes | None:
        """The machine code of a text; None where there is none that can be trusted."""
        if not self._is_usable():
            return None
        path = self.path(text)
        try:
            found = path.read_bytes()
        except OSError:
            return None
        head, code = found[: len(MAGIC) + 32], found[len(MAGIC) + 32 :]
        if head == MAGIC + hashlib.sha256(self.maker + code).digest():
            return code
        with contextlib.suppress(OSError):
            path.unlink()
        return None

    def store(self, text: str, code: bytes) -> None:
        """Keep the machine code of a text. A disk that is full or read-only changes nothing."""
        if not self._is_usable():
            return
        assert self.folder is not None
        try:
            handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".part")
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(self.maker + code).digest() + code)
            os.replace(temporary, self.path(text))
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            return
        if self._stored % SELDOM == 0:
            self._prune()
        self._stored += 1

    def _is_usable(self) -> bool:
        if self._usable is None:
            self._usable = self._prepare()
        return self._usable

    def _prepare(self) -> bool:
        """Make the folder; whether it is the user's alone."""
        assert self.folder is not None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            state = self.folder.stat()
        except OSError:
            return False
        if hasattr(os, "getuid"):
            return state.st_uid == os.getuid() and not state.st_mode & 0o022
        return True

    def _prune(self) -> None:
        """Delete the oldest quarter where files are too many."""
        assert self.folder is not None
        files = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # another process may have deleted it meanwhile
                    files.append((entry.stat().st_mtime, entry.path))
        if len(files) <= MOST_FILES:
            return
        for _, path in sorted(files)[: MOST_FILES // 4]:
            with contextlib.suppress(OSError):
                os.unlink(path)
