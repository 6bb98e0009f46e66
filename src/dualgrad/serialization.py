"""Checkpoint files: parameters by name, written whole or not at all.

A checkpoint is an uncompressed `.npz` archive. Its members are the arrays and a `header`. The arrays are called 0, 1, 2
and so on, so that any text can be the name of a parameter. The header holds the bytes of a JSON object with a format
name, a version and, for each array, the parameter's name, type, shape, `requires_grad` and a checksum. NumPy alone can
open the file (`numpy.load`). Nothing in it is ever executed: pickled objects are neither written nor read.

`_archive` describes how the file is written and read.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from dualgrad import _archive, log
from dualgrad.dtype import as_dtype
from dualgrad.nn.cell import Cell
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

__all__ = ["load_checkpoint", "load_param_into_net", "save_checkpoint"]

_FORMAT = "dualgrad checkpoint"
_VERSION = 1


def _entries(save_obj: Any) -> Iterable[tuple[str, Any]]:
    """List the entries to save as pairs of name and value."""
    if isinstance(save_obj, Cell):
        return save_obj.parameters_dict().items()
    if isinstance(save_obj, Mapping):
        return save_obj.items()
    if not isinstance(save_obj, (list, tuple)):
        raise TypeError(
            "save_checkpoint: expected a Cell, a dict of name to Parameter, a list of Parameters or a list "
            f"of {{'name': ..., 'data': ...}}, got {type(save_obj).__name__}"
        )
    pairs: list[tuple[str, Any]] = []
    for index, entry in enumerate(save_obj):
        if isinstance(entry, Parameter):
            pairs.append((entry.name, entry))
        elif isinstance(entry, Mapping) and {"name", "data"} <= set(entry):
            pairs.append((entry["name"], entry["data"]))
        else:
            raise TypeError(
                f"save_checkpoint: entry {index} is neither a Parameter nor a dict with 'name' and 'data' "
                f"but {type(entry).__name__}"
            )
    return pairs


def _array(name: Any, value: Any) -> np.ndarray:
    """Convert one value to an array of numbers."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"save_checkpoint: a name must be a str that is not empty, got {name!r}")
    # A Parameter is a leaf; any other tensor must not carry a derivative, so np.asarray checks it.
    array = value.asnumpy() if isinstance(value, Parameter) else np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"save_checkpoint: '{name}' must be a Tensor or numbers, got {type(value).__name__}")
    as_dtype(array.dtype, where=f"save_checkpoint: '{name}'")
    return array.astype(array.dtype.newbyteorder("="), order="C", copy=False)


def save_checkpoint(
    save_obj: Any,
    ckpt_file_name: str | os.PathLike[str],
    integrated_save: bool = True,
    async_save: bool = False,
    append_dict: Mapping[str, Any] | None = None,
    choice_func: Callable[[str], bool] | None = None,
) -> None:
    """Write parameters to a file.

    Parameters
    ----------
    save_obj : Cell, dict, or list
        A Cell (an optimiser is one too), a dict of name to Parameter or Tensor, a list of Parameters, or a
        list of dicts with 'name' and 'data'.
    ckpt_file_name : str or path
        The file name with its ending. An existing file is replaced in one move and keeps its mode; if the path is a
        link, its target is replaced.
    integrated_save, async_save : bool
        Accepted so that ported code runs; the file is always whole, and written before the call returns.
    append_dict : dict, optional
        More entries: names to Tensors, arrays or numbers.
    choice_func : callable, optional
        Called with each name of `save_obj`; an entry is left out if it returns False.

    Raises
    ------
    TypeError
        If an entry does not hold numbers.
    ValueError
        If two entries have the same name.
    OSError
        If the file cannot be written, or is a directory, a device or a pipe.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualgrad as dg
    >>> from dualgrad import nn
    >>> net, twin = nn.Dense(2, 3), nn.Dense(2, 3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "net.ckpt")
    ...     dg.save_checkpoint(net, path)
    ...     dg.load_param_into_net(twin, dg.load_checkpoint(path))
    ([], [])
    >>> bool((twin.weight == net.weight).all())
    True
    """
    if append_dict is not None and not isinstance(append_dict, Mapping):
        raise TypeError(f"save_checkpoint: append_dict must be a dict, got {type(append_dict).__name__}")
    if choice_func is not None and not callable(choice_func):
        raise TypeError(f"save_checkpoint: choice_func must be a function, got {type(choice_func).__name__}")
    pairs = [(name, value) for name, value in _entries(save_obj) if choice_func is None or choice_func(name)]
    pairs += (append_dict or {}).items()
    records: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    names: set[str] = set()
    for name, value in pairs:
        array = _array(name, value)
        if name in names:
            raise ValueError(f"save_checkpoint: two entries are named '{name}'")
        names.add(name)
        arrays[str(len(records))] = array
        requires_grad = value.requires_grad if isinstance(value, Parameter) else True
        records.append(
            {
                "name": name,
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "crc32": _checksum(array),
                "requires_grad": bool(requires_grad),
            }
        )
    header = json.dumps({"format": _FORMAT, "version": _VERSION, "entries": records})
    arrays["header"] = np.frombuffer(header.encode(), np.uint8)
    _archive.write(os.fsdecode(ckpt_file_name), arrays)


def _read(path: str) -> list[tuple[dict[str, Any], np.ndarray]]:
    """Read the archive. An invalid content raises a ValueError that names the file."""
    try:
        return _checked(_archive.read(path))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise ValueError(f"load_checkpoint: '{path}' is not a checkpoint of this library: {error}") from error


def _checked(archive: dict[str, np.ndarray]) -> list[tuple[dict[str, Any], np.ndarray]]:
    """Compare the members of an archive with its header."""
    if "header" not in archive:
        raise ValueError("it has no header")
    header = json.loads(archive["header"].tobytes())
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise ValueError("its header is that of another format")
    if header.get("version") != _VERSION:
        raise ValueError(f"its version is {header.get('version')!r}, this library reads version {_VERSION}")
    records = header.get("entries")
    if not isinstance(records, list) or archive.keys() != {"header", *map(str, range(len(records)))}:
        raise ValueError("its members are not those that the header lists")
    entries = [(_settled(number, record, archive[str(number)])) for number, record in enumerate(records)]
    names = [record["name"] for record, _ in entries]
    if len(set(names)) != len(names):
        raise ValueError("two entries have the same name")
    return entries


def _settled(number: int, record: Any, array: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Check that an array is the one that its entry of the header describes."""
    agrees = (
        isinstance(record, dict)
        and isinstance(record.get("name"), str)
        and bool(record["name"])
        and isinstance(record.get("requires_grad"), bool)
        and record.get("dtype") == array.dtype.name
        # Files of earlier versions of this library have neither of these two.
        and record.get("shape", list(array.shape)) == list(array.shape)
        and ("crc32" not in record or record["crc32"] == _checksum(array))
    )
    if not agrees:
        raise ValueError(f"entry {number} does not agree with the header")
    as_dtype(array.dtype, where=f"entry {number}")
    return record, array.astype(array.dtype.newbyteorder("="), copy=False)


def _checksum(array: np.ndarray) -> int:
    """The checksum of the numbers in row-major order."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def load_checkpoint(
    ckpt_file_name: str | os.PathLike[str],
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | Iterable[str] | None = None,
) -> dict[str, Parameter]:
    """Read a checkpoint.

    Parameters
    ----------
    ckpt_file_name : str or path
        The file.
    net : Cell, optional
        The Cell to load the parameters into, as `load_param_into_net` does.
    strict_load : bool, default False
        As in `load_param_into_net`.
    filter_prefix : str or iterable of str, optional
        Entries whose names begin with one of these are left out.

    Returns
    -------
    dict of str to Parameter
        In saved order.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is not a checkpoint, or is damaged.
    TypeError
        If an argument is of another kind.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualgrad as dg
    >>> from dualgrad import nn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "net.ckpt")
    ...     dg.save_checkpoint(nn.Dense(2, 3), path)
    ...     parameters = dg.load_checkpoint(path, filter_prefix="bias")
    >>> parameters
    {'weight': Parameter (name=weight, shape=(3, 2), dtype=Float32, requires_grad=True)}
    """
    refused = (filter_prefix,) if isinstance(filter_prefix, str) else filter_prefix or ()
    refused = tuple(refused) if isinstance(refused, Iterable) else (refused,)
    if not all(isinstance(prefix, str) for prefix in refused):
        raise TypeError(f"load_checkpoint: filter_prefix must be a str or several, got {filter_prefix!r:.60}")
    loaded = {
        record["name"]: Parameter(array, name=record["name"], requires_grad=record["requires_grad"])
        for record, array in _read(os.fsdecode(ckpt_file_name))
        if not record["name"].startswith(refused)
    }
    if net is not None:
        load_param_into_net(net, loaded, strict_load)
    return loaded


def former_names(net: Cell) -> dict[str, str]:
    """Return the names that earlier versions of this library gave to parameters, by present name.

    Leaves out a former name that is now the name of another parameter.
    """
    found = {}
    for _, cell in net.cells_and_names():
        for attribute, former in cell._former_names.items():
            parameter = cell._params.get(attribute)
            if parameter is not None and parameter._own_name == attribute:
                found[parameter.name] = parameter.name.removesuffix(attribute) + former
    present = net.parameters_dict()
    return {name: former for name, former in found.items() if former not in present}


def load_param_into_net(
    net: Cell, parameter_dict: Mapping[str, Parameter], strict_load: bool = False
) -> tuple[list[str], list[str]]:
    """Load values into the parameters of a Cell, by name.

    Parameters
    ----------
    net : Cell
        The Cell whose parameters are changed.
    parameter_dict : dict of str to Parameter
        The result of `load_checkpoint`; its values may also be Tensors.
    strict_load : bool, default False
        If True, names and types must agree exactly. Otherwise `Parameter.set_data` casts the values. While parameters
        lack a value, an entry whose name ends with the name of such a parameter gives a prefix: the entries under
        prefix and name are loaded, and a warning is logged.

    Returns
    -------
    param_not_load : list of str
        The names of the parameters of `net` that `parameter_dict` lacks.
    ckpt_not_load : list of str
        The names of the entries of `parameter_dict` that were not loaded.

    Raises
    ------
    TypeError
        If the arguments are of other kinds, or a type does not fit.
    ValueError
        If a shape does not fit. After each of these errors `net` is unchanged.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import Parameter, nn
    >>> dg.load_param_into_net(nn.Dense(1, 1), {"weight": Parameter([[2.0]]), "slope": Parameter([1.0])})
    (['bias'], ['slope'])
    """
    if not isinstance(net, Cell):
        raise TypeError(f"load_param_into_net: net must be a Cell, got {type(net).__name__}")
    if not isinstance(parameter_dict, Mapping):
        raise TypeError(f"load_param_into_net: parameter_dict must be a dict, got {type(parameter_dict).__name__}")
    if not isinstance(strict_load, bool):
        raise TypeError(f"load_param_into_net: strict_load must be a bool, got {type(strict_load).__name__}")
    parameters = net.parameters_dict()
    entries = _matched(list(parameters), former_names(net), parameter_dict, strict_load)
    loaded: list[tuple[Parameter, Tensor]] = []
    for name, entry in entries.items():
        parameter, value = parameters[name], parameter_dict[entry]
        if not isinstance(value, Tensor):
            raise TypeError(f"load_param_into_net: '{entry}' must be a Parameter, got {type(value).__name__}")
        if strict_load and value.dtype != parameter.dtype:
            raise TypeError(f"load_param_into_net: '{name}' is {parameter.dtype}, the loaded value is {value.dtype}")
        # A clone takes the value first, so that a value that does not fit leaves the network unchanged.
        loaded.append((parameter, parameter.clone().set_data(value)))
    for parameter, fitting in loaded:
        parameter.set_data(fitting)
    used = set(entries.values())
    return [name for name in parameters if name not in entries], [name for name in parameter_dict if name not in used]


def _matched(
    names: list[str], former: Mapping[str, str], parameter_dict: Mapping[str, Any], strict: bool
) -> dict[str, str]:
    """Match parameters with entries: by name, then by former name, then behind a prefix."""
    entries: dict[str, str] = {}
    missing, left = names, dict.fromkeys(parameter_dict)

    def take(prefix: str) -> None:
        nonlocal missing
        for known in ({name: name for name in missing}, former):
            for name in missing:
                if name in known and prefix + known[name] in left:
                    entries[name] = prefix + known[name]
                    del left[entries[name]]
            missing = [name for name in missing if name not in entries]

    take("")
    while missing and not strict:
        endings = ((entry, end) for name in missing for end in (name, former.get(name, name)) for entry in left)
        entry, end = next(((e, end) for e, end in endings if isinstance(e, str) and e.endswith(end)), ("", ""))
        if not entry:
            break
        prefix = entry.removesuffix(end)
        log.warning("load_param_into_net: the prefix %r of names in parameter_dict is left out", prefix)
        take(prefix)
    return entries
