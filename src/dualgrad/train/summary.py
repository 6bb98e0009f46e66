"""Write numbers of a loop to a file, step by step: one line of JSON for each."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.tensor import Tensor
from dualgrad.train.callback import Callback, RunContext
from dualgrad.train.monitors import loss_of

from .._settings import one_of, whole_number

__all__ = ["SummaryCollector", "SummaryRecord"]


class SummaryRecord:
    """A file of numbers. Each line is a JSON object with ``step``, ``time`` and the values by name.

    Parameters
    ----------
    log_dir : str or path
        The folder, which is created.
    file_prefix, file_suffix : str, optional
        Prefix and suffix of the name of the file, which is the time of its creation.
    num_process, network, max_file_size, raise_exception, export_options
        Accepted so that ported code runs; graphs are not written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dualgrad import Tensor
    >>> from dualgrad.train import SummaryRecord
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SummaryRecord(folder) as record:
    ...         record.add_value("scalar", "loss", Tensor(0.5))
    ...         _ = record.record(3)
    ...     print(Path(record.file_info["file_path"]).read_text())  # doctest: +ELLIPSIS
    {"step": 3, "time": ..., "loss": 0.5}
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        file_prefix: str = "events",
        file_suffix: str = "_summary",
        num_process: int = 32,
        network: Any = None,
        max_file_size: int | None = None,
        raise_exception: bool = False,
        export_options: Any = None,
    ) -> None:
        folder = Path(log_dir).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{file_prefix}.{time.time_ns()}{file_suffix}.jsonl"
        self.file_info: dict[str, str] = {"file_name": path.name, "file_path": str(path)}
        self.log_dir: str = str(folder)
        self._file = path.open("w")
        self._values: dict[str, Any] = {}
        self._mode = "train"

    def __enter__(self) -> SummaryRecord:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def set_mode(self, mode: str) -> None:
        """Set the mode of further values, 'train' or 'eval'; values of evaluation are marked."""
        if not one_of(mode, ("train", "eval")):
            raise ValueError(f"SummaryRecord.set_mode: got {mode!r}; expected 'train' or 'eval'")
        self._mode = mode

    def add_value(self, plugin: str, name: str, value: Any) -> None:
        """Keep a value for the next line.

        Parameters
        ----------
        plugin : str
            'scalar', or 'tensor' and 'histogram', whose numbers are written whole. Images and graphs raise an error.
        name : str
            The name of the value.
        value : Tensor, array or number
            For a scalar a single number.

        Raises
        ------
        TypeError
            If it is not a number or Tensor.
        ValueError
            If the plugin is not supported, or a scalar is not a single number.
        """
        if not one_of(plugin, ("scalar", "tensor", "histogram")):
            raise ValueError(
                f"SummaryRecord.add_value: got {plugin!r}; only numbers are written: 'scalar', 'tensor' and 'histogram'"
            )
        array = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"SummaryRecord.add_value: {name!r} must be numbers, got {type(value).__name__}")
        if plugin == "scalar" and array.size != 1:
            raise ValueError(f"SummaryRecord.add_value: the scalar {name!r} has shape {array.shape}")
        self._values[name] = array.reshape(()).item() if plugin == "scalar" else array.tolist()

    def record(self, step: int, train_network: Any = None, plugin_filter: Any = None) -> bool:
        """Write the values that were added since the last line; return True."""
        line = {"step": int(step), "time": time.time(), **self._values}
        if self._mode == "eval":
            line["mode"] = "eval"
        self._file.write(json.dumps(line) + "\n")
        self._values.clear()
        return True

    def flush(self) -> None:
        """Write all lines to the file."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class SummaryCollector(Callback):
    """Keep the loss of training in a file, by `SummaryRecord`.

    Parameters
    ----------
    summary_dir : str or path
        The folder, which is created.
    collect_freq : int, default 10
        The number of steps between lines.
    num_process, collect_specified_data, keep_default_action, custom_lineage_data, collect_tensor_freq, max_file_size
        Accepted so that ported code runs; only the loss is kept.
    export_options : dict, optional
        As above.

    Raises
    ------
    ValueError
        If `collect_freq` is not positive.

    Examples
    --------
    >>> import tempfile
    >>> from dualgrad.train import RunContext, SummaryCollector
    >>> context = RunContext({"cur_step_num": 1, "net_outputs": None})
    >>> with tempfile.TemporaryDirectory() as folder, SummaryCollector(folder) as collector:
    ...     collector.step_end(context)
    """

    def __init__(
        self,
        summary_dir: str | os.PathLike[str],
        collect_freq: int = 10,
        num_process: int = 32,
        collect_specified_data: Any = None,
        keep_default_action: bool = True,
        custom_lineage_data: Any = None,
        collect_tensor_freq: Any = None,
        max_file_size: Any = None,
        export_options: Any = None,
    ) -> None:
        self._directory = summary_dir
        self._frequency = whole_number("SummaryCollector", "collect_freq", collect_freq, 1)
        self._record: SummaryRecord | None = None

    def __enter__(self) -> SummaryCollector:
        self._record = SummaryRecord(self._directory)
        return self

    def __exit__(self, *error: object) -> None:
        if self._record is not None:
            self._record.close()

    def step_end(self, run_context: RunContext) -> None:
        told = run_context.original_args()
        loss = loss_of(told["net_outputs"])
        if self._record is not None and loss is not None and told["cur_step_num"] % self._frequency == 0:
            self._record.add_value("scalar", "loss", loss)
            self._record.record(told["cur_step_num"])
