"""The compiler: text becomes machine code in memory. The one module that touches llvmlite.

Design
------
*Fork.* llvmlite has one lock for a process, and a child that is forked while a thread holds it waits for it forever. So
all use of llvmlite here is under a lock of our own, which whoever forks holds. In the child nothing of llvmlite is
touched again: what is there already runs on, and is never freed.

*Memory.* Text is compiled in a context of its own, which is dropped with the module. Machine code lives as long as its
`Code`. Code that nobody holds is buried, and freed when something is compiled next: it may be dropped by any thread,
which must not wait for a compilation.

A linker keeps 10 kB of names for each function, also when the function is freed. So a linker serves LINKED functions
and is given up: its memory goes with the last of them.
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

FORMAT = 2  # of the text and of how it is called
LINKED = 8  # functions of a linker: a linker takes as long as five functions, and keeps names of those that are freed

NONE: Mapping[str, int] = MappingProxyType({})

#: Held during every call of llvmlite.
LOCK = threading.RLock()

_forked = False
_living: weakref.WeakSet[Code] = weakref.WeakSet()
_buried: list[Any] = []
_names = itertools.count()


class Code:
    """Machine code in memory, for as long as this object lives: where its functions begin, by name."""

    def __init__(self) -> None:
        self.trackers: list[Any] = []
        self.addresses: dict[str, int] = {}
        _living.add(self)

    def __del__(self, bury: Callable[[list[Any]], None] = _buried.extend) -> None:
        bury(self.trackers)  # a default outlives the module


class Machine:
    """A compiler for this processor.

    Attributes
    ----------
    bits
        Bits of a vector.
    compiled, loaded
        How many texts were compiled, and how many came from the cache.
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
        """Compile the text of one function, which calls others by name, and put it into memory."""
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
            self._linker.close()  # trackers hold it in turn
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
        """Never free anything."""
        self._target.detach()
        self._linker.detach()


def _version() -> str:
    try:
        return metadata.version("dualgrad")
    except metadata.PackageNotFoundError:
        return "unknown"


_machine: Machine | None = None


def machine() -> Machine:
    """The compiler of this process; ImportError where llvmlite is missing."""
    global _machine
    with LOCK:
        if _machine is None:
            _machine = Machine()
        return _machine


def forked() -> bool:
    """Whether this process was forked from one that had a compiler."""
    return _forked


def _free_buried() -> None:
    while _buried:
        _buried.pop().close()


def _let_go() -> None:
    """Never free anything: llvmlite must not be touched again."""
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
    """A compilation that runs is finished, and no other begins."""
    LOCK.acquire()
    _let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=_in_child)
atexit.register(_at_exit)
