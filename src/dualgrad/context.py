"""The running environment: execution mode and device, under MindSpore's names.

Four settings have an effect. ``mode`` chooses whether calls run eagerly or are recorded and replayed; the numbers are
the same. ``pynative_synchronize`` chooses when eager execution computes large arrays: each at once, or possibly
together when the outermost call ends. ``native`` compiles programs that run often to machine code, if llvmlite is
installed; the numbers are the same. ``device_target`` accepts every device that MindSpore knows, since scripts name
one. All computation is on the CPU, and choosing another device warns once. The other keywords tune compilers, memory
pools and log files that do not exist here. They are known by name, so that a script runs unchanged and a misspelt
keyword is still an error. Their values are stored and otherwise ignored. Each of them warns once when it is set to
another value than its default.

The settings belong to the process, not to a thread: set them once, at the top of a program.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Final

from ._engine.primitives.execute import synchronize
from ._engine.transforms.calls import set_graph_mode
from ._settings import one_of
from .parallel import (
    ParallelMode,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)

if TYPE_CHECKING:
    from typing import Literal, TypedDict, Unpack

    class Settings(TypedDict, total=False):
        """The keywords of `set_context`."""

        mode: int
        device_target: str
        pynative_synchronize: bool
        native: bool | Literal["force"]
        # known, without a meaning
        device_id: Any
        max_device_memory: Any
        variable_memory_max_size: Any
        mempool_block_size: Any
        memory_optimize_level: Any
        memory_offload: Any
        op_timeout: Any
        ascend_config: Any
        gpu_config: Any
        aoe_tune_mode: Any
        aoe_config: Any
        auto_tune_mode: Any
        enable_graph_kernel: Any
        graph_kernel_flags: Any
        enable_reduce_precision: Any
        enable_auto_mixed_precision: Any
        enable_sparse: Any
        check_bprop: Any
        max_call_depth: Any
        grad_for_scalar: Any
        enable_compile_cache: Any
        compile_cache_path: Any
        save_compile_cache: Any
        load_compile_cache: Any
        inter_op_parallel_num: Any
        runtime_num_threads: Any
        disable_format_transform: Any
        support_binary: Any
        jit_syntax_level: Any
        jit_level: Any
        jit_config: Any
        jit_enable_inplace_ops: Any
        exec_order: Any
        deterministic: Any
        save_graphs: Any
        save_graphs_path: Any
        enable_dump: Any
        save_dump_path: Any
        print_file_path: Any
        env_config_path: Any
        precompile_only: Any
        reserve_class_name_in_scope: Any
        debug_level: Any


__all__ = [
    "COMPATIBLE", "GRAPH_MODE", "LAX", "PYNATIVE_MODE", "STRICT", "ParallelMode", "get_auto_parallel_context",
    "get_context", "mode", "reset_auto_parallel_context", "set_auto_parallel_context", "set_context", "set_device",
]  # fmt: skip

GRAPH_MODE: Final = 0
PYNATIVE_MODE: Final = 1
# The levels of Python syntax in MindSpore's compiler. Here every level accepts all of Python.
STRICT, COMPATIBLE, LAX = 0, 1, 2

_TARGETS: Final = ("CPU", "GPU", "Ascend")

# Keywords without an effect, with their defaults (None: no default).
_IGNORED: Final[dict[str, object]] = {
    # devices and their memory
    "device_id": 0,
    "max_device_memory": "1024GB",
    "variable_memory_max_size": None,
    "mempool_block_size": "1GB",
    "memory_optimize_level": "O0",
    "memory_offload": "OFF",
    "op_timeout": 900,
    "ascend_config": None,
    "gpu_config": None,
    "aoe_tune_mode": None,
    "aoe_config": None,
    "auto_tune_mode": None,
    # compilation and execution
    "enable_graph_kernel": False,
    "graph_kernel_flags": "",
    "enable_reduce_precision": True,
    "enable_auto_mixed_precision": False,
    "enable_sparse": False,
    "check_bprop": False,
    "max_call_depth": 1000,
    "grad_for_scalar": False,
    "enable_compile_cache": False,
    "compile_cache_path": ".",
    "save_compile_cache": False,
    "load_compile_cache": False,
    "inter_op_parallel_num": 0,
    "runtime_num_threads": 30,
    "disable_format_transform": False,
    "support_binary": False,
    "jit_syntax_level": 2,
    "jit_level": None,
    "jit_config": None,
    "jit_enable_inplace_ops": True,
    "exec_order": None,
    "deterministic": "OFF",
    # debugging
    "save_graphs": False,
    "save_graphs_path": ".",
    "enable_dump": False,
    "save_dump_path": None,
    "print_file_path": None,
    "env_config_path": None,
    "precompile_only": False,
    "reserve_class_name_in_scope": True,
    "debug_level": 0,
}

_SILENT: Final = ("device_id",)  # a part of a device name; `device_target` already warns

_settings: dict[str, object] = {
    "device_target": "CPU",
    "pynative_synchronize": os.environ.get("DUALGRAD_SYNCHRONOUS", "") not in ("", "0"),
    "native": False,
    **_IGNORED,
}
_mode: int = PYNATIVE_MODE  # not in _settings, since gradient functions read it at every call
_warned: set[str] = set()


def mode() -> int:
    """The execution mode: `GRAPH_MODE` or `PYNATIVE_MODE`.

    Examples
    --------
    >>> from dualgrad import context
    >>> context.mode() == context.get_context("mode")
    True
    """
    return _mode


def set_context(**kwargs: Unpack[Settings]) -> None:
    """Set the running environment.

    All arguments are checked before any of them takes effect.

    Parameters
    ----------
    mode : int
        `GRAPH_MODE` (0) or `PYNATIVE_MODE` (1, the default). Both give the same numbers.
    device_target : str
        ``"CPU"``, ``"GPU"`` or ``"Ascend"``. Everything is computed on the CPU; the latter two warn once.
    pynative_synchronize : bool
        True computes each array of an eager call at once. By default an outermost call of a transform or Cell may
        compute large arrays together, when it ends or when Python reads a number; it then adds sums in another order.
        The environment variable ``DUALGRAD_SYNCHRONOUS=1`` sets it when the package is imported.
    native : bool or "force"
        True compiles recorded programs that run often to machine code, in a background thread, while the interpreter
        goes on; off by default. It needs llvmlite (``pip install 'dualgrad[native]'``) and changes no result.
        ``"force"`` compiles every program before its first run. The environment variable ``DUALGRAD_NATIVE``, set to 1
        or ``force``, sets it when the package is imported.
    **kwargs
        Any other keyword of MindSpore 2, such as ``save_graphs`` or ``device_id``: stored and ignored, with a warning
        if the value is not the default (``device_id`` does not warn).

    Raises
    ------
    ValueError
        If the mode, the target or a keyword is not known, ``pynative_synchronize`` is not a bool, or ``native`` is
        neither a bool nor ``"force"``.
    ImportError
        If ``native`` is switched on and llvmlite is missing.
    RuntimeError
        If ``native`` is switched on in a fork of a process that had it on.

    Warns
    -----
    UserWarning
        If the target is not the CPU, or an ignored keyword is set to a new value; each the first time.
    RuntimeWarning
        If ``native`` is switched on and other users may write to the folder of machine code; nothing is then kept on
        disk.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.set_context(mode=dg.PYNATIVE_MODE, device_target="CPU", save_graphs=False)
    >>> dg.get_context("device_target")
    'CPU'
    """
    _set({**kwargs}, where="set_context")


def set_device(device_target: str, device_id: int = 0) -> None:
    """Set the device, as ``set_context(device_target=..., device_id=...)`` does.

    Parameters
    ----------
    device_target : str
        ``"CPU"``, ``"GPU"`` or ``"Ascend"``.
    device_id : int, optional
        Stored and ignored.

    Raises
    ------
    ValueError
        If the target is not known.

    Warns
    -----
    UserWarning
        If the target is another device than the CPU, the first time it is set.

    Examples
    --------
    >>> from dualgrad import context
    >>> context.set_device("CPU")
    """
    _set({"device_target": device_target, "device_id": device_id}, where="set_device")


def get_context(attr_key: str) -> object:
    """One setting of the running environment.

    Parameters
    ----------
    attr_key : str
        A keyword of `set_context`.

    Returns
    -------
    object
        The value set last, or the default.

    Raises
    ------
    ValueError
        If the keyword is not known.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.get_context("max_call_depth")
    1000
    """
    _check_keyword(attr_key, where="get_context")
    return _mode if attr_key == "mode" else _settings[attr_key]


def _set(new: dict[str, object], where: str) -> None:
    """Check and apply settings. Warnings point at the caller of the public function that calls this."""
    global _mode
    for keyword in new:
        _check_keyword(keyword, where)
    chosen = new.pop("mode", _mode)
    # A bool is an int in Python, but not a mode.
    if not isinstance(chosen, int) or isinstance(chosen, bool) or chosen not in (GRAPH_MODE, PYNATIVE_MODE):
        raise ValueError(
            f"{where}: got mode={chosen!r}. Expected GRAPH_MODE ({GRAPH_MODE}) or PYNATIVE_MODE ({PYNATIVE_MODE})."
        )
    target = new.get("device_target", "CPU")
    if not isinstance(target, str) or target not in _TARGETS:
        known = ", ".join(map(repr, _TARGETS))
        raise ValueError(f"{where}: got device_target={target!r}. Expected one of {known}.")
    synchronous = new.get("pynative_synchronize", _settings["pynative_synchronize"])
    if not isinstance(synchronous, bool):
        raise ValueError(f"{where}: got pynative_synchronize={synchronous!r}. Expected True or False.")
    native = new.get("native", _settings["native"])
    if not isinstance(native, bool) and native != "force":
        raise ValueError(f"{where}: got native={native!r}. Expected True, False or 'force'.")
    if native != _settings["native"]:
        from .native import switch  # needs llvmlite, and few programs use it

        switch(native)
    synchronize(synchronous)
    _mode = chosen
    set_graph_mode(_mode == GRAPH_MODE)
    _settings.update(new)
    ignored = [key for key in _IGNORED if key in new and key not in _SILENT and new[key] != _IGNORED[key]]
    if ignored := [key for key in ignored if key not in _warned]:
        _warned.update(ignored)
        warnings.warn(
            f"{where}: {', '.join(ignored)} changed nothing: {'it has' if len(ignored) == 1 else 'they have'} no "
            "meaning here. Leave out what is ignored to avoid this warning.",
            UserWarning,
            stacklevel=3,
        )
    if target != "CPU" and target not in _warned:
        _warned.add(target)
        warnings.warn(
            f"{where}: device_target={target!r} is accepted, but dualgrad computes on the CPU. "
            "Choose device_target='CPU' to avoid this warning.",
            UserWarning,
            stacklevel=3,
        )


def _check_keyword(keyword: str, where: str) -> None:
    if one_of(keyword, ("mode", *_settings)):
        return
    import difflib  # takes time to import, and a wrong name is rare

    close = difflib.get_close_matches(str(keyword), ["mode", *_settings], n=2)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise ValueError(
        f"{where}: the keyword {keyword!r} is not known. Expected mode, device_target or another keyword "
        f"of MindSpore's set_context.{hint}"
    )


synchronize(_settings["pynative_synchronize"] is True)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _settings.update(native=False))
if _wish := os.environ.get("DUALGRAD_NATIVE", "0").strip("0"):
    _set({"native": "force" if _wish == "force" else True}, where="DUALGRAD_NATIVE")
