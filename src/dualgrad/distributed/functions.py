"""Functions that travel: pickled once, unpickled once in each process, recorded there.

A function is sent as cloudpickle writes it: by name if it is in a module that can be imported, else by value with what
it captures. Plans are not sent, since one is made for the processor that runs it. Of a function under `jit` that was
called here the recordings go along, if all that they depend on goes along by value; they are planned where they arrive.
Any other function is recorded in each process at its first calls there.

Weights are not part of what is sent. Each call brings their values, so a function does not have to be sent again after
every step, and a digest of its bytes tells whether anything else about it has changed.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._engine.trace.cache import Recorded
from .._engine.transforms.naming import place_of
from ..modes import jit
from ..parameter import Parameter
from .packages import needed

__all__ = ["digest_of", "packed", "recorded", "unpacked", "with_recordings"]

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


def with_recordings(fn: Any) -> tuple[Any, tuple[Any, ...]]:
    """A function and the recordings that go along with it; `packed` takes both, since they share tensors."""
    if not isinstance(fn, Recorded) or _named_in_module(fn):
        return fn, ()
    return fn, tuple([data for data, watched in fn.recordings() if not any(map(_named_in_module, watched))])


def recorded(content: tuple[Any, tuple[Any, ...]], _: Any) -> Callable[..., Any]:
    """The function under `jit` that has arrived, with its recordings."""
    fn, recordings = content
    if not isinstance(fn, Recorded):
        return jit(fn)
    fn.take(recordings)
    return fn


def _named_in_module(fn: Any) -> bool:
    """Whether a function travels as the name of one in a module, which may be another one at the other end."""
    module = getattr(fn, "__module__", None) or ""
    by_value = needed("a function that is sent", "cloudpickle").list_registry_pickle_by_value()
    if module == "__main__" or any(module == m or module.startswith(f"{m}.") for m in by_value):
        return False
    return place_of(fn, fn) is not None or place_of(fn, getattr(fn, "of", fn)) is not None


def unpacked(content: bytes, digest: str, make: Callable[[Any, list[Parameter]], Any]) -> Any:
    """What `make` makes of a function and its weights: the same object as long as this process keeps it."""
    key = f"{digest} {make.__module__}.{make.__qualname__}"
    found = _functions.get(key)
    if found is None:
        found = _functions[key] = make(*_read(content))
        while len(_functions) > _KEPT:
            _functions.popitem(last=False)
    _functions.move_to_end(key)
    return found


def _read(content: bytes) -> tuple[Any, list[Parameter]]:
    weights: dict[int, Parameter] = {}

    class Unpacker(pickle.Unpickler):
        def persistent_load(self, key: Any) -> Parameter:
            k, name, requires_grad, shape, dtype = key
            if k not in weights:
                weights[k] = Parameter(np.zeros(shape, dtype), name=name, requires_grad=requires_grad)
            return weights[k]

    fn = Unpacker(io.BytesIO(content)).load()
    return fn, [weights[k] for k in range(len(weights))]


def _named(fn: Any) -> str:
    if isinstance(fn, tuple):
        return _named(fn[0])
    return getattr(fn, "__qualname__", type(fn).__name__)
