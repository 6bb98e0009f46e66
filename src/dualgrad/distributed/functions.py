"""Functions that travel: pickled once, unpickled once in each process, recorded there.

A function is sent as cloudpickle writes it: by name if it is in a module that can be imported, else by value with what
it captures. Plans are not sent, since one is made for the processor that runs it. Recordings go along, if all that they
depend on goes along by value: those of a function under `jit` that was called here, and those that this process has
made of the same bytes when it was the worker. They are planned where they arrive. Whatever else is called there is
recorded there at its first calls.

Weights are not part of what is sent. Each call brings their values, so a function does not have to be sent again after
every step, and a digest of its bytes tells whether anything else about it has changed.

The bytes begin with the version of dualgrad that wrote them. A process with another version drops the recordings, and
names both versions if it cannot read the function.
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

_KEPT = 32  # functions of which a process keeps the programs
_functions: OrderedDict[str, Any] = OrderedDict()


def digest_of(content: bytes) -> str:
    """The key of what is sent."""
    return hashlib.sha256(content).hexdigest()


def packed(name: str, fn: Any, weights: Sequence[Parameter] = ()) -> bytes:
    """A function as bytes, with places for its weights.

    Parameters
    ----------
    name : str
        Who asks, for messages.
    fn : object
        The function or Cell, or a tuple of them.
    weights : sequence of Parameters
        Parameters of `fn` whose values each call brings.

    Returns
    -------
    bytes

    Raises
    ------
    TypeError
        If the function cannot be pickled, or does not carry a weight along: a function in a module travels as its name,
        and reads the Parameter that its module has at the other end.
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
    """Whether a function travels as the name of one in a module, which may be another one at the other end."""
    module = getattr(fn, "__module__", None) or ""
    by_value = needed("a function that is sent", "cloudpickle").list_registry_pickle_by_value()
    if module == "__main__" or any(module == m or module.startswith(f"{m}.") for m in by_value):
        return False
    return place_of(fn, fn) is not None or place_of(fn, getattr(fn, "of", fn)) is not None


class Kept:
    """A function as a process keeps it: its calls by their kinds, recorded.

    Parameters
    ----------
    sent : tuple
        The function, or a tuple of functions, and recordings that came along with it, by kinds.
    weights : list of Parameters
        Those in it whose values each call brings.
    """

    fn: Any

    def __init__(self, sent: tuple[Any, dict[Any, Any]], weights: list[Parameter]) -> None:
        self.fn, self._arrived = sent
        self.weights = weights
        self._calls: dict[Any, Callable[..., Any]] = {}

    def made(self, *kind: Any) -> Callable[..., Any]:
        """The function of one kind of calls, under `jit` if it can be recorded."""
        raise NotImplementedError

    def call(self, *kind: Any) -> Callable[..., Any]:
        """The same, kept, with the recordings that came along."""
        found = self._calls.get(kind)
        if found is None:
            found = self._calls[kind] = self.made(*kind)
            if isinstance(found, Recorded):
                found.take(self._arrived.pop(kind, ()))
        return found

    def recordings(self) -> dict[Any, Any]:
        """Those that may go along, by kinds."""
        found = {kind: _travelling(call) for kind, call in self._calls.items() if isinstance(call, Recorded)}
        return {kind: recordings for kind, recordings in found.items() if recordings}


def own_recordings(fn: Any) -> tuple[Any, ...]:
    """The recordings that may go along of a function under `jit` that was called here; of others there are none."""
    return () if not isinstance(fn, Recorded) or _named_in_module(fn) else _travelling(fn)


def _travelling(fn: Recorded) -> tuple[Any, ...]:
    return tuple([data for data, watched in fn.recordings() if not any(map(_named_in_module, watched))])


class Sending:
    """A function on its way to the workers of a backend; it is sent again when it has changed.

    Parameters
    ----------
    name : str
        Who asks, for messages.
    make : type
        The `Kept` that processes make of it.
    fn, weights
        As for `packed`.
    recordings : dict
        Recordings of `fn` itself, by kinds.
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
        """What tasks are given: a handle of its bytes, and the key under which processes keep what they make of it.

        The key is that of the function as it is here. A process that has it keeps its own recordings.
        """
        bare = packed(self._name, (self._fn, self._recordings), self._weights)
        key = digest_of(bare)
        if key != self._key:
            self._whole = self._with_recordings(bare, key) if backend.elsewhere else bare
            self._key = key
        self._content = backend.share(self._whole, self._content)
        return self._content.handle, key

    def _with_recordings(self, bare: bytes, key: str) -> bytes:
        """The function as this process has kept it, with its recordings; they share tensors."""
        kept = _functions.get(_name_of(key, self._make))
        if kept is None:
            return bare
        recordings = kept.recordings()
        return packed(self._name, (kept.fn, recordings), kept.weights) if recordings else bare


def unpacked(content: bytes, key: str, make: Callable[[Any, list[Parameter]], Any]) -> Any:
    """What `make` makes of a function and its weights: the same object as long as this process keeps it."""
    name = _name_of(key, make)
    found = _functions.get(name)
    if found is None:
        found = _functions[name] = make(*_read(content))
        while len(_functions) > _KEPT:
            _functions.popitem(last=False)
    _functions.move_to_end(name)
    return found


def as_sent(x: Any) -> Any:
    """The nest with other handles for its Tensors, as it arrives elsewhere.

    A recording tells a handle that some recorded function has captured from others.
    """
    return mapped(x, lambda t: t._detached() if type(t) is Tensor else t)


def _version() -> str:
    """That of this process."""
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
