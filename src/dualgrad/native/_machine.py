"""The compiler: it turns text into machine code in memory. Only this module uses llvmlite.

Design
------
*Fork.* llvmlite has one lock for each process. A child that is forked while a thread holds the lock waits for it
forever. So a lock of this module guards all use of llvmlite, and forking acquires it. The child never calls llvmlite
again: existing code still runs, and is never freed.

*Memory.* Text is compiled in a context of its own, which is freed with the module. Machine code lives as long as its
`Code`. Unused code is put in a list, and the next compilation frees it: any thread may drop the last reference, and
must not wait for a compilation.

A linker keeps 10 kB of names for each function, even a freed one. So a linker serves LINKED functions and is then
replaced: its memory is freed with the last of them.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from importlib import metadata
from types import MappingProxyType
from typing import Any

from .._engine.primitives.registry import wide_bytes
from ._cache import Cache, default_folder

__all__ = ["LOCK", "Code", "Machine", "forked", "machine"]

FORMAT = 2  # version of the text and of the calling convention
LINKED = 8  # functions for each linker: making one takes as long as five functions, and names are never freed

NONE: Mapping[str, int] = MappingProxyType({})

#: Held during every call of llvmlite.
LOCK = threading.RLock()

_forked = False
_living: weakref.WeakSet[Code] = weakref.WeakSet()
_buried: list[Any] = []
_names = itertools.count()


class Code:
    """Machine code in memory while this object lives: the addresses of its functions, by name."""

    def __init__(self) -> None:
        self.trackers: list[Any] = []
        self.addresses: dict[str, int] = {}
        _living.add(self)

    def __del__(self, bury: Callable[[list[Any]], None] = _buried.extend) -> None:
        bury(self.trackers)  # bound as a default, which outlives the module


class Machine:
    """A compiler for this processor.

    Attributes
    ----------
    bits
        Bits in a vector register.
    compiled, loaded
        The number of texts that were compiled, and of texts from the cache.
    """

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        with LOCK:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            self._llvm = llvm
            processor, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features()
            target = llvm.Target.from_default_triple()
            settings = {
                "cpu": processor,
                "features": features.flatten(),
                "opt": 1,
                "reloc": "pic",
                "codemodel": "small",
            }
            self._target = target.create_target_machine(**settings)
            self._linker = llvm.create_lljit_compiler(self._target)
            self._linked = 0
            versions = (FORMAT, _version(), llvmlite.__version__, llvm.llvm_version_info, target.triple)
        self.bits = 8 * wide_bytes()
        self.cache = Cache(default_folder(), repr((versions, sorted(settings.items()))))
        self.compiled = self.loaded = 0

    def add(self, code: Code, name: str, text: str, called: Mapping[str, int] = NONE) -> None:
        """Compile the text of one function, which calls others by name, and load it into memory."""
        with LOCK:
            _free_buried()
            found = self.cache.load(text)
            if found is not None and self._link(code, name, found, called):
                self.loaded += 1
                return
            found = self._compile(text)
            if not self._link(code, name, found, called):
                raise RuntimeError(f"the machine code of {name} cannot be loaded")
            self.compiled += 1
        self.cache.store(text, found)

    def _compile(self, text: str) -> bytes:
        context = self._llvm.create_context()
        module = self._llvm.parse_assembly(text, context)
        try:
            module.verify()
            return self._target.emit_object(module)
        finally:
            module.close()
            context.close()

    def _link(self, code: Code, name: str, found: bytes, called: Mapping[str, int]) -> bool:
        if self._linked == LINKED:
            self._linker.close()  # each tracker keeps it alive
            self._linker = self._llvm.create_lljit_compiler(self._target)
            self._linked = 0
        self._linked += 1
        builder = self._llvm.JITLibraryBuilder().add_object_img(found).export_symbol(name)
        for function, address in called.items():
            builder.import_symbol(function, address)
        try:
            tracker = builder.link(self._linker, f"dualgrad{next(_names)}")
            code.addresses[name] = tracker[name]
        except (RuntimeError, KeyError):
            return False
        code.trackers.append(tracker)
        return True

    def detach(self) -> None:
        """Give up freeing anything."""
        self._target.detach()
        self._linker.detach()


def _version() -> str:
    try:
        return metadata.version("dualgrad")
    except metadata.PackageNotFoundError:
        return "unknown"


_machine: Machine | None = None


def machine() -> Machine:
    """The compiler of this process. Raises ImportError if llvmlite is missing."""
    global _machine
    with LOCK:
        if _machine is None:
            _machine = Machine()
        return _machine


def forked() -> bool:
    """True if this process was forked from a process with a compiler."""
    return _forked


def _free_buried() -> None:
    while _buried:
        _buried.pop().close()


def _let_go() -> None:
    """Give up freeing anything: llvmlite must not be called again."""
    for tracker in [*_buried, *[tracker for code in list(_living) for tracker in code.trackers]]:
        tracker.detach()
    _buried.clear()
    if _machine is not None:
        _machine.detach()


def _in_child() -> None:
    global _forked
    _forked = _machine is not None
    _let_go()
    LOCK.release()


def _at_exit() -> None:
    """Wait for a running compilation, and let no other begin."""
    LOCK.acquire()
    _let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=_in_child)
atexit.register(_at_exit)
