"""Checkpoints that a training loop writes while it runs."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

from dualgrad.nn import Cell
from dualgrad.serialization import save_checkpoint
from dualgrad.tensor import Tensor
from dualgrad.train.callback import Callback, RunContext

from .._settings import one_of

__all__ = ["CheckpointConfig", "ModelCheckpoint"]


class CheckpointConfig:
    """The times and the contents of the files of a `ModelCheckpoint`, and how many it keeps.

    Parameters
    ----------
    save_checkpoint_steps : int, default 1
        The number of steps between files; 0 or None for no files by steps.
    save_checkpoint_seconds : int, default 0
        Without `save_checkpoint_steps`: the least number of seconds between files.
    keep_checkpoint_max : int, default 5
        The largest number of files, beyond which the oldest are removed; 0 or None for no limit.
    keep_checkpoint_per_n_minutes : int, default 0
        Without `keep_checkpoint_max`: of the files of this many minutes the first is kept.
    integrated_save, async_save, crc_check : bool
        Accepted so that ported code runs; files are always written whole, before the step ends, with checksums.
    saved_network : Cell, optional
        The Cell to write; by default the network with its optimiser.
    append_info : list, optional
        More entries: ``"epoch_num"`` and ``"step_num"``, and one dict of numbers or Tensors by name.
    enc_key : None
        Not supported: files are not encrypted.
    enc_mode : str
        Accepted so that ported code runs; it has no meaning without `enc_key`.
    exception_save : bool, default False
        True to write a file when an error ends the loop.
    format : str, default "ckpt"
        Only "ckpt".

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range, or not supported.

    Examples
    --------
    >>> from dualgrad.train import CheckpointConfig
    >>> CheckpointConfig(save_checkpoint_steps=100, keep_checkpoint_max=3).save_checkpoint_steps
    100
    """

    def __init__(
        self,
        save_checkpoint_steps: int | None = 1,
        save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_per_n_minutes: int | None = 0,
        integrated_save: bool = True,
        async_save: bool | str = False,
        saved_network: Cell | None = None,
        append_info: list[Any] | None = None,
        enc_key: None = None,
        enc_mode: str = "AES-GCM",
        exception_save: bool = False,
        crc_check: bool = False,
        format: str = "ckpt",
    ) -> None:
        self.save_checkpoint_steps: int = _count("save_checkpoint_steps", save_checkpoint_steps)
        self.save_checkpoint_seconds: int = _count("save_checkpoint_seconds", save_checkpoint_seconds)
        self.keep_checkpoint_max: int = _count("keep_checkpoint_max", keep_checkpoint_max)
        self.keep_checkpoint_per_n_minutes: int = _count("keep_checkpoint_per_n_minutes", keep_checkpoint_per_n_minutes)
        if not self.save_checkpoint_steps and not self.save_checkpoint_seconds:
            raise ValueError("CheckpointConfig: give save_checkpoint_steps or save_checkpoint_seconds; both are 0")
        if saved_network is not None and not isinstance(saved_network, Cell):
            raise TypeError(f"CheckpointConfig: saved_network must be a Cell, got {type(saved_network).__name__}")
        if enc_key is not None:
            raise ValueError("CheckpointConfig: got enc_key; files are not encrypted here. Leave it out")
        if not one_of(format, ("ckpt",)):
            raise ValueError(f"CheckpointConfig: got format={format!r}; expected 'ckpt'")
        self.saved_network = saved_network
        self.exception_save = exception_save
        self.append_dict: dict[str, Any] = _appended(append_info)

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """Return the settings by name."""
        names = ("save_checkpoint_steps", "save_checkpoint_seconds", "keep_checkpoint_max")
        return {name: getattr(self, name) for name in (*names, "keep_checkpoint_per_n_minutes", "saved_network")}


def _count(name: str, value: Any) -> int:
    """Check a setting that is a count; None is 0."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"CheckpointConfig: {name} must be an int, got {type(value).__name__}")
    if value < 0:
        raise ValueError(f"CheckpointConfig: {name} must be 0 or more, got {value}")
    return value


def _appended(info: Any) -> dict[str, Any]:
    """The entries to write beside the network."""
    found: dict[str, Any] = {}
    if not isinstance(info, list | tuple | None):
        raise TypeError(f"CheckpointConfig: append_info must be a list, got {type(info).__name__}")
    for entry in info or ():
        if isinstance(entry, dict):
            found.update(entry)
        elif one_of(entry, ("epoch_num", "step_num")):
            found[entry] = 0
        else:
            raise ValueError(
                f"CheckpointConfig: got {entry!r} in append_info; expected 'epoch_num', 'step_num' or a dict"
            )
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, int | float | Tensor):
            raise TypeError(
                f"CheckpointConfig: append_info has {name!r}: {type(value).__name__}; expected numbers by name"
            )
    return found


class ModelCheckpoint(Callback):
    """Write checkpoints in training: ``prefix-epoch_step.ckpt``, with the step counted in its epoch.

    Parameters
    ----------
    prefix : str or callable, default 'CKP'
        The start of file names. If files with this prefix exist, it gets a number (``CKP_1``). A function of the state
        of the loop returns the whole name without its ending.
    directory : str, path or callable, optional
        The folder of the files, which is created; by default the working directory. A function of the state of the loop
        returns it.
    config : CheckpointConfig, optional
        The times of writing, and the number of files.

    Raises
    ------
    TypeError
        If `config` is something else.
    ValueError
        If `prefix` is not a name.

    Examples
    --------
    >>> import numpy as np
    >>> import tempfile
    >>> import dualgrad as dg
    >>> from dualgrad import nn
    >>> from dualgrad.dataset import NumpySlicesDataset
    >>> net = nn.Dense(1, 1)
    >>> model = dg.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    >>> x = np.array([[1.0], [2.0]], np.float32)
    >>> data = NumpySlicesDataset((x, 2 * x)).batch(1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     config = dg.train.CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=2)
    ...     callback = dg.train.ModelCheckpoint("line", folder, config)
    ...     model.train(3, data, callbacks=callback)
    ...     print(*sorted(path.name for path in callback.files))
    line-2_2.ckpt line-3_2.ckpt
    """

    def __init__(self, prefix: Any = "CKP", directory: Any = None, config: CheckpointConfig | None = None) -> None:
        if not callable(prefix) and (not isinstance(prefix, str) or not prefix or "/" in prefix):
            raise ValueError(f"ModelCheckpoint: prefix must be a name without '/', or a function; got {prefix!r}")
        if config is not None and not isinstance(config, CheckpointConfig):
            raise TypeError(f"ModelCheckpoint: config must be a CheckpointConfig, got {type(config).__name__}")
        if not callable(directory) and not isinstance(directory, str | os.PathLike | None):
            raise TypeError(f"ModelCheckpoint: directory must be a path or a function, got {type(directory).__name__}")
        self._config = config or CheckpointConfig()
        self._prefix = prefix
        self._directory = directory if callable(directory) else Path(directory or ".").absolute()
        if isinstance(self._directory, Path):
            self._directory.mkdir(parents=True, exist_ok=True)
            if isinstance(prefix, str):
                self._prefix = _free_prefix(self._directory, prefix)
        self.files: list[Path] = []
        self._written_at: dict[Path, float] = {}
        self._last_step = 0
        self._last_time = time.time()

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the latest file, or an empty text."""
        return str(self.files[-1]) if self.files else ""

    def step_end(self, run_context: RunContext) -> None:
        told = run_context.original_args()
        every = self._config.save_checkpoint_steps
        if every:
            due = told["cur_step_num"] >= self._last_step + every
        else:
            due = time.time() - self._last_time > self._config.save_checkpoint_seconds
        if due:
            self._write(told)

    def end(self, run_context: RunContext) -> None:
        self._write(run_context.original_args())

    def _write(self, told: Any) -> None:
        """Write a file, unless this step has one, and remove files beyond the limit."""
        if told["cur_step_num"] == self._last_step:
            return
        path = self._path(told)
        self._make_room(path)
        appended = dict(self._config.append_dict)
        for name, key in (("epoch_num", "cur_epoch_num"), ("step_num", "cur_step_num")):
            if name in appended:
                appended[name] = told[key]
        network = self._config.saved_network or told["train_network"]
        save_checkpoint(network, path, append_dict=appended)
        self._last_step, self._last_time = told["cur_step_num"], time.time()
        self.files.append(path)
        self._written_at[path] = self._last_time
        told.update(latest_ckpt_file=str(path), last_save_ckpt_step=self._last_step)

    def _path(self, told: Any) -> Path:
        directory = self._directory if isinstance(self._directory, Path) else Path(self._directory(told)).absolute()
        directory.mkdir(parents=True, exist_ok=True)
        if isinstance(self._prefix, str):
            place = (told["cur_step_num"] - 1) % told["batch_num"] + 1
            return directory / f"{self._prefix}-{told['cur_epoch_num']}_{place}.ckpt"
        name = self._prefix(told)
        if not isinstance(name, str) or not name or "/" in name:
            raise ValueError(
                f"ModelCheckpoint: the function of the prefix must return a name without '/', got {name!r}"
            )
        return directory / f"{name}.ckpt"

    def _make_room(self, path: Path) -> None:
        """Remove files, so that the next one does not exceed the limit."""
        self.files = [each for each in self.files if each != path and each.exists()]
        most, minutes = self._config.keep_checkpoint_max, self._config.keep_checkpoint_per_n_minutes
        gone = []
        if most:
            gone = self.files[: max(len(self.files) + 1 - most, 0)]
        elif minutes:
            recent = [each for each in self.files if time.time() - self._written_at[each] < 60 * minutes]
            gone = recent[1:]
        for each in gone:
            each.unlink(missing_ok=True)
            self.files.remove(each)

    def __enter__(self) -> ModelCheckpoint:
        self._told = None
        return self

    def begin(self, run_context: RunContext) -> None:
        self._told = run_context.original_args()
        self._last_step = self._told.get("cur_step_num", 0)

    def __exit__(self, *error: object) -> None:
        if error[0] is not None and self._config.exception_save and self._told and self._told.get("cur_step_num"):
            self._write(self._told)

    _told: Any = None


def _free_prefix(directory: Path, prefix: str) -> str:
    """A prefix that no checkpoint in the directory has: `prefix`, or `prefix` with the next number."""
    pattern = re.compile(re.escape(prefix) + r"(?:_(\d+))?-\d+_\d+\.ckpt")
    used = [int(match[1] or 0) for name in os.listdir(directory) if (match := pattern.fullmatch(name))]
    return f"{prefix}_{max(used) + 1}" if used else prefix
