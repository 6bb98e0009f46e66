"""The modules of the alias, and the import finder for them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from dualgrad.mindspore._placeholders import Placeholder
from dualgrad.mindspore._table import CHILDREN, MODULES, RENAMED, TYPES, TYPES_IN
from dualgrad.ops.index._views import switched

__all__ = ["AliasModule", "install", "uninstall"]

_ROOT = "mindspore"
_EXTENDED = "_ext"
_VERSION = "2.10.0"  # the version of MindSpore whose names and keywords this follows


def _path_of(name: str) -> str:
    """The path below `mindspore`: "nn.loss" of "mindspore.nn.loss"."""
    return name[len(_ROOT) + 1 :]


def _name_of(path: str) -> str:
    return f"{_ROOT}.{path}".rstrip(".")


def _sources_of(path: str) -> list[ModuleType]:
    """The existing modules of dualgrad that have the names of a module."""
    return [import_module(name) for name in MODULES[path] if _exists(name)]


def _exists(name: str) -> bool:
    """True if a module of this name exists. The packages above it are imported."""
    parent = name.rpartition(".")[0]
    if name in sys.modules:
        return True
    if not parent:
        return find_spec(name) is not None
    return _exists(parent) and hasattr(import_module(parent), "__path__") and find_spec(name) is not None


def _offered(source: ModuleType, name: str) -> bool:
    """True if a module defines a name itself, rather than importing it from elsewhere."""
    if name in getattr(source, "__all__", ()):
        return True
    value = vars(source).get(name)
    return not isinstance(value, ModuleType) and str(getattr(value, "__module__", "")).startswith("dualgrad.")


def _looked_up(path: str, name: str) -> tuple[Any] | None:
    """Look up a name in a module; the result is the only entry of a tuple, or None if there is nothing."""
    if name[:2] == "__":
        return None
    if target := RENAMED.get(f"{path}.{name}".lstrip(".")):
        return (_found(target),)
    if name in TYPES and path in TYPES_IN:
        return (_type(name),)
    for source in _sources_of(path):
        if _offered(source, name):
            return (getattr(source, name),)
    if name.endswith(_EXTENDED) and path.startswith("ops."):  # MindSpore's own names of functions in `mint`
        return _looked_up("mint", name.removesuffix(_EXTENDED))
    return None


@functools.cache
def _type(name: str) -> Placeholder:
    """The placeholder for a type: a single object, since types are compared."""
    return Placeholder(f"{_ROOT}.{name}", _lacking("", name))


def _found(target: str) -> Any:
    """The object of a dotted name: the longest module, then attributes."""
    module, _, rest = target.rpartition(".")
    while not _exists(module):
        module, _, name = module.rpartition(".")
        rest = f"{name}.{rest}"
    value = sys.modules.get(module) or import_module(module)
    for part in rest.split("."):
        value = getattr(value, part)
    return value


def _public_names(path: str) -> list[str]:
    """The names of a module for star imports, `dir` and suggestions."""
    found: dict[str, None] = {}
    for source in _sources_of(path):
        found.update(dict.fromkeys(getattr(source, "__all__", ())))
    found.update(dict.fromkeys(CHILDREN[path]))
    return sorted(found)


def _lacking(path: str, name: str) -> str:
    """The text of the error for a name that does not exist."""
    import difflib  # slow to import, and a name that does not exist is rare

    text = f"{_name_of(path)}.{name}: dualgrad has no such name."
    if path in MODULES:
        names: dict[str, list[str]] = {}
        for each in _public_names(path):
            names.setdefault(each.lower(), []).append(each)
        if close := difflib.get_close_matches(name.lower(), names, n=2):
            return f"{text} Did you mean {' or '.join(each for key in close for each in names[key])}?"
    return text


class AliasModule(ModuleType):
    """A module of the alias. A name is looked up in dualgrad on first use, and is kept."""

    def __getattr__(self, name: str) -> Any:
        path = _path_of(self.__name__)
        if name == "__all__":
            return _public_names(path)
        found = _looked_up(path, name)  # before modules: `common.mutable` is the function that its file defines
        if found is None or isinstance(found[0], ModuleType):
            if name in CHILDREN[path]:
                return import_module(f"{self.__name__}.{name}")
            if found is None:
                raise AttributeError(_lacking(path, name))
        setattr(self, name, found[0])
        return found[0]

    def __setattr__(self, name: str, value: object) -> None:
        # Python assigns each imported submodule to the module above. A placeholder is left out: `hasattr` stays False.
        # A file does not hide the object that it defines under its own name.
        if isinstance(value, Placeholder):
            return
        path = _path_of(self.__name__)
        if isinstance(value, AliasModule) and (found := _looked_up(path, name)):
            value = value if isinstance(found[0], ModuleType) else found[0]
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *_public_names(_path_of(self.__name__))})


class _Finder:
    """Finds `mindspore` and everything below it. Modules outside of the table are placeholders."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name != _ROOT and not name.startswith(f"{_ROOT}."):
            return None
        return ModuleSpec(name, self, origin="dualgrad", is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> Any:
        path = _path_of(spec.name)
        if path not in MODULES:
            parent, _, name = path.rpartition(".")
            return Placeholder(spec.name, _lacking(parent, name))
        module = AliasModule(spec.name, f"`{spec.name}` is a view of {MODULES[path][0]}.")
        if not path:
            module.__version__ = _VERSION
        return module

    def exec_module(self, module: ModuleType) -> None:
        """A module of the alias has no code."""


_FINDER = _Finder()


def _loaded() -> list[str]:
    """The modules called `mindspore` that Python has loaded."""
    return [name for name in sys.modules if name == _ROOT or name.startswith(f"{_ROOT}.")]


def install() -> None:
    """Make `import mindspore` mean dualgrad. Importing `dualgrad.mindspore` has done it already.

    Raises
    ------
    ImportError
        If another `mindspore` has been imported: part of the program would continue with it.

    Examples
    --------
    >>> import dualgrad.mindspore
    >>> dualgrad.mindspore.install()
    >>> import mindspore
    >>> mindspore.nn
    <module 'mindspore.nn' (dualgrad)>
    >>> dualgrad.mindspore.uninstall()
    """
    foreign = [name for name in _loaded() if not isinstance(sys.modules[name], AliasModule | Placeholder)]
    if foreign:
        origin = getattr(sys.modules[foreign[0]], "__file__", None) or "an unknown place"
        raise ImportError(
            f"dualgrad.mindspore: {foreign[0]} was imported from {origin} before. Import dualgrad.mindspore first, or "
            "run the program by `python -m dualgrad.mindspore`."
        )
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    switched(False)  # MindSpore's arrays have no views


def uninstall() -> None:
    """Undo `install`, for example after a test. Modules imported meanwhile keep their names.

    Examples
    --------
    >>> import dualgrad.mindspore
    >>> dualgrad.mindspore.uninstall()
    >>> dualgrad.mindspore.install()
    >>> dualgrad.mindspore.uninstall()
    """
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    switched(True)
    for name in [name for name in _loaded() if isinstance(sys.modules[name], AliasModule | Placeholder)]:
        del sys.modules[name]
