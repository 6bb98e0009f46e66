"""Callbacks: functions that a training loop calls at its beginnings and ends.

A loop describes its state in a dict, wraps it in a `RunContext`, and passes this to every callback: before and after
the whole, each epoch and each step. The dict has MindSpore's names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

__all__ = ["Callback", "InternalCallbackParam", "LambdaCallback", "RunContext"]

# The moments of a loop, as parts of the names of methods.
MOMENTS = ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")


class InternalCallbackParam(dict[str, Any]):
    """The state of a loop for its callbacks: a dict whose entries are attributes too.

    Examples
    --------
    >>> from dualgrad.train import InternalCallbackParam
    >>> told = InternalCallbackParam(cur_step_num=3)
    >>> told.batch_num = 10
    >>> (told.cur_step_num, told["batch_num"])
    (3, 10)
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the loop says nothing about {name!r}; it says {', '.join(self)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext:
    """The argument of a callback: the state of the loop, and a way to stop it.

    Parameters
    ----------
    original_args : dict
        The state of the loop. `Model` fills in an `InternalCallbackParam`, whose entries are attributes too: in
        training ``cur_epoch_num``, ``cur_step_num`` (over all epochs), ``batch_num`` (steps in an epoch),
        ``epoch_num``, ``net_outputs``, ``train_network``, ``network``, ``loss_fn``, ``optimizer``, ``train_dataset``,
        ``train_dataset_element``, ``list_callback``, ``mode`` and ``dataset_sink_mode``.

    Raises
    ------
    TypeError
        If it is not a dict.

    Examples
    --------
    >>> from dualgrad.train import RunContext
    >>> context = RunContext({"cur_step_num": 3})
    >>> context.original_args()["cur_step_num"]
    3
    >>> context.request_stop()
    >>> context.get_stop_requested()
    True
    """

    def __init__(self, original_args: dict[str, Any]) -> None:
        if not isinstance(original_args, dict):
            raise TypeError(f"RunContext: original_args must be a dict, got {type(original_args).__name__}")
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self) -> dict[str, Any]:
        """Return the state of the loop; callbacks see each other's changes to it."""
        return self._original_args

    def request_stop(self) -> None:
        """Have the loop end after this step."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Return True if the loop is to end."""
        return self._stop_requested


class Callback:
    """Base of the callbacks. A derived class defines the methods that it needs.

    ``on_train_begin``, ``on_train_epoch_begin``, ``on_train_step_begin``, ``on_train_step_end``, ``on_train_epoch_end``
    and ``on_train_end`` are called in training, the same with ``on_eval_`` in evaluation. Each calls the method without
    this prefix (``begin``, ``epoch_begin`` and so on), so that one definition serves both. A callback is a context
    manager too: the loop runs inside of it.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import nn
    >>> from dualgrad.dataset import NumpySlicesDataset
    >>> class Steps(dg.train.Callback):
    ...     def step_end(self, run_context):
    ...         print("step", run_context.original_args().cur_step_num)
    >>> net = nn.Dense(1, 1)
    >>> model = dg.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    >>> x = np.array([[1.0], [2.0]], np.float32)
    >>> model.train(1, NumpySlicesDataset((x, 2 * x)).batch(1), callbacks=Steps())
    step 1
    step 2
    """

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> Any:
        return None

    def begin(self, run_context: RunContext) -> None:
        """Before the loop."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before each epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before each step."""

    def step_end(self, run_context: RunContext) -> None:
        """After each step."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After each epoch."""

    def end(self, run_context: RunContext) -> None:
        """After the loop."""


def _forwarded(phase: str, moment: str) -> Callable[[Callback, RunContext], None]:
    """The method for a moment of one phase: it calls the method for this moment of any phase."""

    def method(self: Callback, run_context: RunContext) -> None:
        getattr(self, moment)(run_context)

    method.__name__ = f"on_{phase}_{moment}"
    method.__qualname__ = f"Callback.{method.__name__}"
    method.__doc__ = f"Call `{moment}` in {'training' if phase == 'train' else 'evaluation'}."
    return method


for _phase in ("train", "eval"):
    for _moment in MOMENTS:
        setattr(Callback, f"on_{_phase}_{_moment}", _forwarded(_phase, _moment))


class LambdaCallback(Callback):
    """A callback made of functions.

    Parameters
    ----------
    on_train_begin, on_train_epoch_begin, on_train_step_begin, on_train_step_end : callable, optional
        Called with the `RunContext` at these moments.
    on_train_epoch_end, on_train_end, on_eval_begin, on_eval_epoch_begin : callable, optional
        As above.
    on_eval_step_begin, on_eval_step_end, on_eval_epoch_end, on_eval_end : callable, optional
        As above.

    Raises
    ------
    TypeError
        If one of them cannot be called, or the moment does not exist.

    Examples
    --------
    >>> from dualgrad.train import LambdaCallback, RunContext
    >>> callback = LambdaCallback(on_train_end=lambda context: print("done"))
    >>> callback.on_train_end(RunContext({}))
    done
    """

    def __init__(
        self,
        on_train_epoch_begin: Any = None,
        on_train_epoch_end: Any = None,
        on_train_step_begin: Any = None,
        on_train_step_end: Any = None,
        on_train_begin: Any = None,
        on_train_end: Any = None,
        on_eval_epoch_begin: Any = None,
        on_eval_epoch_end: Any = None,
        on_eval_step_begin: Any = None,
        on_eval_step_end: Any = None,
        on_eval_begin: Any = None,
        on_eval_end: Any = None,
    ) -> None:
        functions = {name: value for name, value in locals().items() if name.startswith("on_")}
        for name, function in functions.items():
            if function is None:
                continue
            if not callable(function):
                raise TypeError(f"LambdaCallback: {name} must be a function, got {type(function).__name__}")
            setattr(self, name, function)


def call(callbacks: Callback, phase: str, moment: str, run_context: RunContext) -> None:
    """Tell callbacks that a moment of a phase is there."""
    getattr(callbacks, f"on_{phase}_{moment}")(run_context)


def as_list(where: str, callbacks: Any) -> list[Callback]:
    """Read the user's callbacks: None, a callback, or several."""
    if callbacks is None:
        return []
    several = [callbacks] if isinstance(callbacks, Callback) else callbacks
    if not isinstance(several, Iterable) or isinstance(several, str):
        raise TypeError(f"{where}: callbacks must be a Callback or a list of them, got {type(callbacks).__name__}")
    found = list(several)
    for callback in found:
        if not isinstance(callback, Callback):
            raise TypeError(f"{where}: expected Callbacks, got {type(callback).__name__}")
    return found


class CallbackManager(Callback):
    """Several callbacks as one, each entered before the loop and left after it.

    Parameters
    ----------
    callbacks : Callback or list of Callback, optional
        In the order in which they are called.

    Examples
    --------
    >>> from dualgrad.train import LambdaCallback, RunContext
    >>> from dualgrad.train.callback import CallbackManager
    >>> both = [LambdaCallback(on_train_end=lambda context, k=k: print(k)) for k in (1, 2)]
    >>> with CallbackManager(both) as callbacks:
    ...     callbacks.on_train_end(RunContext({}))
    1
    2
    """

    def __init__(self, callbacks: Any = None) -> None:
        self._callbacks = as_list("CallbackManager", callbacks)
        self._stack = ExitStack()

    def __iter__(self) -> Iterator[Callback]:
        return iter(self._callbacks)

    def __enter__(self) -> Any:
        self._stack = ExitStack().__enter__()
        self._callbacks = [self._stack.enter_context(callback) or callback for callback in self._callbacks]
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._stack.__exit__(*error)


def _shared(name: str) -> Callable[[CallbackManager, RunContext], None]:
    def method(self: CallbackManager, run_context: RunContext) -> None:
        for callback in self._callbacks:
            getattr(callback, name)(run_context)

    method.__name__ = name
    method.__doc__ = f"Call `{name}` of each."
    return method


for _phase in ("train", "eval"):
    for _moment in MOMENTS:
        setattr(CallbackManager, f"on_{_phase}_{_moment}", _shared(f"on_{_phase}_{_moment}"))

# MindSpore's private names.
_CallbackManager = CallbackManager
_InternalCallbackParam = InternalCallbackParam
