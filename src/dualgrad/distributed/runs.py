"""`checkpointed`: a long run whose state is on disk, and which goes on elsewhere.

The state is written whole or not at all (`dualgrad.save_checkpoint`), beside the number of the next step and the state
of the random numbers. Nothing in it tells of workers: the run goes on with another number of them, or another engine.
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
    """Run ``state = step(k, state)`` for k from 0 to `steps`, from the last checkpoint on if there is one.

    Parameters
    ----------
    step : callable
        Takes the number of the step and the state, and returns the next state. Of a Cell the parameters are the state,
        which `step` changes; what it returns is ignored.
    state : Tensor, pytree of Tensors, or Cell
        The first state. A ``TrainOneStepCell`` has the parameters of its network and of its optimiser.
    steps : int
        How many steps the whole run has.
    path : str or path
        The file. If it is there, the run goes on from it. Delete it to begin anew.
    every : int, default 100
        Steps between checkpoints; one more is written at the end.
    backend : Backend, optional
        Of MPI: process 0 reads and writes, and the others get what it has read.

    Returns
    -------
    Tensor, pytree or Cell
        The last state.

    Raises
    ------
    TypeError
        If the state holds something else than Tensors: it would not be in the file.
    ValueError
        If the file is that of a state with other shapes, types or names, or of a longer run, or is damaged.

    Notes
    -----
    A run that is interrupted loses at most `every` steps, and repeats them: it ends with the numbers of one that is
    not, if a step depends on its number, the state and `dualgrad`'s random numbers alone.

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
    """The state by names."""
    if isinstance(state, Cell):
        return {f"state.{name}": p for name, p in state.parameters_dict().items()}
    return {f"state.{k}": t for k, t in enumerate(tensors_in(state))}


def _write(path: str, done: int, state: Any, backend: Backend | None) -> None:
    if backend is not None and not backend.writes:
        return
    draws = np.frombuffer(json.dumps(get_state()).encode(), np.uint8)
    save_checkpoint({**_entries(state), "step": np.int64(done), "random": draws}, path)


def _restored(path: str, state: Any, total: int, backend: Backend | None) -> tuple[int, Any]:
    """The step to begin with and the state: those of the file, if there is one."""
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
