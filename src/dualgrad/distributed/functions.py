"""Functions that are sent: pickled once, then unpickled and recorded once in each process.

cloudpickle writes a function: by name if its module can be imported, else by value with everything it captures. Plans
are not sent, since each is made for the processor that runs it. Recordings are sent with the function if everything
they depend on is sent by value. They come from a function under `jit` that was called here, or from this process's own
work as a worker on the same bytes. The receiver plans them. Other calls are recorded there when they first occur.

Weights are not part of the bytes. Each call sends their values, so a step does not require sending the function again.
A digest of the bytes tells whether anything else in it has changed.

The bytes begin with the version of dualgrad that wrote them. A process with another version drops the recordings. If it
cannot read the function, its error names both versions.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._engine.trace.cache import Recorded
from .._engine.transforms.naming import place_of
from .._nests import mapped
from ..parameter import Parameter
from ..tensor import Tensor
from .packages import needed

if TYPE_CHECKING:
    from .backend import Backend, Content

__all__ = ["Kept", "Sending", "as_sent", "digest_of", "own_recordings", "packed", "unpacked"]

_KEPT = 32  # functions whose programs a process keeps
_functions: OrderedDict[str, Any] = OrderedDict()


def digest_of(content: bytes) -> str:
    """The key of the bytes of a function."""
    return hashlib.sha256(content).hexdigest()


def packed(name: str, fn: Any, weights: Sequence[Parameter] = ()) -> bytes:
    """Pickle a function, with places for its weights.

    Parameters
    ----------
    name : str
        The function that error messages name.
    fn : object
        The function or Cell, or a tuple of them.
    weights : sequence of Parameters
        Parameters of `fn` whose values each call sends.

    Returns
    -------
    bytes

    Raises
    ------
    TypeError
        If the function cannot be pickled, or its pickle lacks a weight: a function in a module is pickled as its name,
        and the receiver reads the Parameter in its own module.
    """
    places = {id(p): k for k, p in enumerate(weights)}
    met: set[int] = set()
    file = io.BytesIO()
    pickler: Any = needed(name, "cloudpickle").Pickler

    class Packer(pickler):  # type: ignore[misc]
        def persistent_id(self, x: Any) -> Any:
            k = places.get(id(x))
            if k is None:
                return None
            met.add(k)
            return k, x.name, x.requires_grad, x.shape, x.dtype.numpy.str

    try:
        Packer(file, protocol=5).dump(_version())
        Packer(file, protocol=5).dump(fn)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        raise TypeError(f"{name}: {_named(fn)} cannot be sent to workers: {error}") from error
    missing = [p.name for k, p in enumerate(weights) if k not in met]
    if missing:
        raise TypeError(
            f"{name}: {_named(fn)} does not take the weights {', '.join(missing)} along: it does not use them, or it "
            "travels as the name of a function in a module; pass a Cell that holds them, or a method of one"
        )
    return file.getvalue()


def _named_in_module(fn: Any) -> bool:
    """True if a function is pickled as a name in a module, which may mean another function for the receiver."""
    module = getattr(fn, "__module__", None) or ""
    by_value = needed("a function that is sent", "cloudpickle").list_registry_pickle_by_value()
    if module == "__main__" or any(module == m or module.startswith(f"{m}.") for m in by_value):
        return False
    return place_of(fn, fn) is not None or place_of(fn, getattr(fn, "of", fn)) is not None


class Kept:
    """A function in a process that keeps it, with a recorded call of each kind.

    Parameters
    ----------
    sent : tuple
        The function, or a tuple of functions, and the recordings sent with it, by kind.
    weights : list of Parameters
        The Parameters in it whose values each call sends.
    """

    fn: Any

    def __init__(self, sent: tuple[Any, dict[Any, Any]], weights: list[Parameter]) -> None:
        self.fn, self._arrived = sent
        self.weights = weights
        self._calls: dict[Any, Callable[..., Any]] = {}

    def made(self, *kind: Any) -> Callable[..., Any]:
        """Make the function for one kind of call, under `jit` if it can be recorded."""
        raise NotImplementedError

    def call(self, *kind: Any) -> Callable[..., Any]:
        """The kept function for one kind of call, with the recordings that were sent."""
        found = self._calls.get(kind)
        if found is None:
            found = self._calls[kind] = self.made(*kind)
            if isinstance(found, Recorded):
                found.take(self._arrived.pop(kind, ()))
        return found

    def recordings(self) -> dict[Any, Any]:
        """The recordings that may be sent, by kind."""
        found = {kind: _travelling(call) for kind, call in self._calls.items() if isinstance(call, Recorded)}
        return {kind: recordings for kind, recordings in found.items() if recordings}


def own_recordings(fn: Any) -> tuple[Any, ...]:
    """The recordings of a function under `jit` that may be sent; empty for other functions."""
    return () if not isinstance(fn, Recorded) or _named_in_module(fn) else _travelling(fn)


def _travelling(fn: Recorded) -> tuple[Any, ...]:
    return tuple([data for data, watched in fn.recordings() if not any(map(_named_in_module, watched))])


class Sending:
    """A function and its bytes for the workers of a backend. It is sent again after a change.

    Parameters
    ----------
    name : str
        The function that error messages name.
    make : type
        The subclass of `Kept` that the receivers make.
    fn, weights
        As for `packed`.
    recordings : dict
        Recordings of `fn` itself, by kind.
    """

    def __init__(
        self,
        name: str,
        make: type[Kept],
        fn: Any,
        weights: Sequence[Parameter] = (),
        recordings: dict[Any, Any] | None = None,
    ) -> None:
        self._name, self._make = name, make
        self._fn, self._weights = fn, weights
        self._recordings = recordings or {}
        self._key = ""
        self._whole = b""
        self._content: Content | None = None

    def to(self, backend: Backend) -> tuple[Any, str]:
        """The arguments for tasks: a handle of the bytes, and the key under which processes keep the function.

        The key comes from the function in this process, without recordings. A process that knows the key keeps its own
        recordings.
        """
        bare = packed(self._name, (self._fn, self._recordings), self._weights)
        key = digest_of(bare)
        if key != self._key:
            self._whole = self._with_recordings(bare, key) if backend.elsewhere else bare
            self._key = key
        self._content = backend.share(self._whole, self._content)
        return self._content.handle, key

    def _with_recordings(self, bare: bytes, key: str) -> bytes:
        """Pickle the function that this process keeps, with its recordings; they share tensors."""
        kept = _functions.get(_name_of(key, self._make))
        if kept is None:
            return bare
        recordings = kept.recordings()
        return packed(self._name, (kept.fn, recordings), kept.weights) if recordings else bare


def unpacked(content: bytes, key: str, make: Callable[[Any, list[Parameter]], Any]) -> Any:
    """Read a function and its weights and pass them to `make`. Returns the same object while this process keeps it."""
    name = _name_of(key, make)
    found = _functions.get(name)
    if found is None:
        found = _functions[name] = make(*_read(content))
        while len(_functions) > _KEPT:
            _functions.popitem(last=False)
    _functions.move_to_end(name)
    return found


def as_sent(x: Any) -> Any:
    """Replace the handles of the Tensors in a nest, as sending would.

    A recording distinguishes handles that a recorded function has captured.
    """
    return mapped(x, lambda t: t._detached() if type(t) is Tensor else t)


def _version() -> str:
    """The version of dualgrad in this process."""
    return str(sys.modules["dualgrad"].__version__)


def _name_of(key: str, make: Callable[..., Any]) -> str:
    return f"{key} {make.__module__}.{make.__qualname__}"


def _read(content: bytes) -> tuple[Any, list[Parameter]]:
    weights: dict[int, Parameter] = {}

    class Unpacker(pickle.Unpickler):
        def persistent_load(self, key: Any) -> Parameter:
            k, name, requires_grad, shape, dtype = key
            if k not in weights:
                weights[k] = Parameter(np.zeros(shape, dtype), name=name, requires_grad=requires_grad)
            return weights[k]

    file = io.BytesIO(content)
    version = Unpacker(file).load()
    try:
        fn = Unpacker(file).load()
    except Exception as error:
        if version != _version():
            raise RuntimeError(
                f"a worker has dualgrad {_version()}, and cannot read what dualgrad {version} has sent: "
                f"{type(error).__name__}: {error}. Expected equal versions: install one of them in all processes."
            ) from error
        if not isinstance(error, ModuleNotFoundError):
            raise
        raise ModuleNotFoundError(
            f"a worker has no module {error.name}, and what is sent names something in it; install it there (on Dask: "
            f"client.upload_file), or have it sent by value: cloudpickle.register_pickle_by_value({error.name})",
            name=error.name,
        ) from error
    return fn, [weights[k] for k in range(len(weights))]


def _named(fn: Any) -> str:
    if isinstance(fn, tuple):
        return _named(fn[0])
    return getattr(fn, "__qualname__", type(fn).__name__)
