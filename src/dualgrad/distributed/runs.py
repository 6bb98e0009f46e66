"""`checkpointed`: a long run with its state on disk, which can continue elsewhere.

The state is written whole or not at all (`dualgrad.save_checkpoint`), with the number of the next step and the state of
the random numbers. It does not depend on workers: the run can continue with another number of them, or with another
engine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.transforms.pytrees import with_leaves
from .._nests import refilled, tensors_in
from ..nn.cell import Cell
from ..parameter import Parameter
from ..random import get_state, put_state
from ..serialization import former_names, load_checkpoint, load_param_into_net, save_checkpoint
from ..tensor import Tensor
from .backend import Backend, checked_count

__all__ = ["checkpointed"]


def checkpointed(
    step: Callable[[int, Any], Any],
    state: Any,
    steps: int,
    path: str | os.PathLike[str],
    *,
    every: int = 100,
    backend: Backend | None = None,
) -> Any:
    """Run ``state = step(k, state)`` for k from 0 to `steps`, continuing from the last checkpoint if there is one.

    Parameters
    ----------
    step : callable
        Takes the number of the step and the state, and returns the next state. For a Cell the state is its parameters,
        which `step` changes; its return value is ignored.
    state : Tensor, pytree of Tensors, or Cell
        The first state. A ``TrainOneStepCell`` contains the parameters of its network and of its optimiser.
    steps : int
        The number of steps in the whole run.
    path : str or path
        The file. If it exists, the run continues from it; delete it to start again.
    every : int, default 100
        Steps between checkpoints; the end of the run writes one more.
    backend : Backend, optional
        Needed for MPI: process 0 reads and writes, and sends the others the state.

    Returns
    -------
    Tensor, pytree or Cell
        The last state.

    Raises
    ------
    TypeError
        If the state holds anything but Tensors, which would be missing in the file.
    ValueError
        If the file holds a state with other shapes, types or names, or a longer run, or is damaged.

    Notes
    -----
    An interrupted run loses at most `every` steps, and repeats them. Its final numbers equal the numbers of an
    uninterrupted run if a step depends only on its number, the state and `dualgrad`'s random numbers.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualgrad as dg
    >>> from dualgrad import distributed
    >>> halve = lambda k, state: {"x": state["x"] / 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.ckpt")
    ...     half = distributed.checkpointed(halve, {"x": dg.Tensor([8.0])}, 2, path)
    ...     whole = distributed.checkpointed(halve, {"x": dg.Tensor([8.0])}, 3, path)
    >>> print(half["x"], whole["x"])
    [2.] [1.]
    """
    if not callable(step):
        raise TypeError(f"checkpointed: step is a {type(step).__name__}; expected a function of a number and the state")
    total, between = checked_count("checkpointed", "steps", steps, 0), checked_count("checkpointed", "every", every)
    if backend is not None and not isinstance(backend, Backend):
        raise TypeError(f"checkpointed: backend is a {type(backend).__name__}; expected what connect returns")
    if not isinstance(state, Cell):
        with_leaves(state, _refused)
        if not tensors_in(state):
            raise TypeError("checkpointed: the state holds no Tensor")
    file = os.fsdecode(path)
    begin, state = _restored(file, state, total, backend)
    for k in range(begin, total):
        following = step(k, state)
        state = state if isinstance(state, Cell) else following
        if (k + 1) % between == 0 or k + 1 == total:
            _write(file, k + 1, state, backend)
    return state


def _refused(leaf: Any, _: bool) -> Any:
    raise TypeError(f"checkpointed: the state holds {leaf!r:.60}, a {type(leaf).__name__}; expected Tensors alone")


def _entries(state: Any) -> dict[str, Any]:
    """The entries of the state, by name."""
    if isinstance(state, Cell):
        return {f"state.{name}": p for name, p in state.parameters_dict().items()}
    return {f"state.{k}": t for k, t in enumerate(tensors_in(state))}


def _write(path: str, done: int, state: Any, backend: Backend | None) -> None:
    if backend is not None and not backend.writes:
        return
    draws = np.frombuffer(json.dumps(get_state()).encode(), np.uint8)
    save_checkpoint({**_entries(state), "step": np.int64(done), "random": draws}, path)


def _restored(path: str, state: Any, total: int, backend: Backend | None) -> tuple[int, Any]:
    """The number of the first step and the state, from the file if it exists."""
    read: dict[str, np.ndarray] | None = None
    if (backend is None or backend.writes) and os.path.exists(path):
        read = {name: p.asnumpy() for name, p in load_checkpoint(path).items()}
        if isinstance(state, Cell):
            for name, former in former_names(state).items():
                if f"state.{former}" in read:
                    read.setdefault(f"state.{name}", read.pop(f"state.{former}"))
    read = read if backend is None else backend.agreed(read)
    if read is None:
        return 0, state
    expected = {name: (t.shape, t.dtype.numpy) for name, t in _entries(state).items()}
    kinds = {name: (a.shape, a.dtype) for name, a in read.items() if name.startswith("state.")}
    if kinds != expected or "step" not in read or "random" not in read:
        different = sorted(name for name in expected.keys() | kinds.keys() if expected.get(name) != kinds.get(name))
        raise ValueError(
            f"checkpointed: '{path}' is the checkpoint of another state ({', '.join(different[:3]) or 'no step'}); "
            "give another path, or delete the file to begin anew"
        )
    done = int(read["step"])
    if done > total:
        raise ValueError(f"checkpointed: '{path}' was written after {done} steps, and the run has {total}")
    put_state(json.loads(read["random"].tobytes()))
    if isinstance(state, Cell):
        values = {name.removeprefix("state."): Parameter(a) for name, a in read.items() if name.startswith("state.")}
        load_param_into_net(state, values, strict_load=True)
        return done, state
    return done, refilled(state, [Tensor(read[name]) for name in expected])
