"""Settings of MindSpore's parallel training, for a program that is one process.

This process computes everything itself. A setting that divides work among processes is stored, with one warning. A
setting that claims other processes is refused: gradients would be averaged over processes that do not exist.
"""

from __future__ import annotations

import warnings
from typing import Final

from ._settings import one_of

__all__ = ["ParallelMode", "get_auto_parallel_context", "reset_auto_parallel_context", "set_auto_parallel_context"]


class ParallelMode:
    """Names of the ways to divide work among processes.

    Examples
    --------
    >>> from dualgrad import ParallelMode
    >>> ParallelMode.DATA_PARALLEL
    'data_parallel'
    """

    STAND_ALONE: Final = "stand_alone"
    DATA_PARALLEL: Final = "data_parallel"
    HYBRID_PARALLEL: Final = "hybrid_parallel"
    SEMI_AUTO_PARALLEL: Final = "semi_auto_parallel"
    AUTO_PARALLEL: Final = "auto_parallel"
    MODE_LIST: Final = (STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL)


# The settings with their defaults.
_DEFAULTS: Final[dict[str, object]] = {
    "device_num": 1,
    "global_rank": 0,
    "parallel_mode": ParallelMode.STAND_ALONE,
    "gradients_mean": False,
    "gradient_fp32_sync": True,
    "loss_repeated_mean": True,
    "parameter_broadcast": False,
    "pipeline_stages": 1,
    "pipeline_result_broadcast": False,
    "pipeline_config": None,
    "auto_parallel_search_mode": "recursive_programming",
    "search_mode": "recursive_programming",
    "strategy_ckpt_load_file": "",
    "strategy_ckpt_save_file": "",
    "strategy_ckpt_config": None,
    "group_ckpt_save_file": "",
    "full_batch": False,
    "dataset_strategy": "data_parallel",
    "enable_parallel_optimizer": False,
    "parallel_optimizer_config": None,
    "optimizer_weight_shard_size": -1,
    "force_fp32_communication": False,
    "grad_accumulation_step": 1,
    "all_reduce_fusion_config": None,
    "comm_fusion": None,
    "communi_parallel_mode": "all_group_parallel",
    "enable_alltoall": False,
}
# Settings that would claim more processes than this one.
_OF_ONE_PROCESS: Final = ("device_num", "global_rank", "pipeline_stages")

_settings: dict[str, object] = dict(_DEFAULTS)
_warned = False


def set_auto_parallel_context(**kwargs: object) -> None:
    """Store settings of parallel training; they have no effect in a single process.

    Parameters
    ----------
    **kwargs
        The keywords of MindSpore's function: `parallel_mode`, `gradients_mean`, `parameter_broadcast` and so on.

    Raises
    ------
    ValueError
        If a keyword or the parallel mode is not known, or `device_num`, `global_rank` or `pipeline_stages` claim other
        processes.

    Warns
    -----
    UserWarning
        The first time that a mode other than ``"stand_alone"`` is set.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.set_auto_parallel_context(parallel_mode="stand_alone", gradients_mean=True)
    >>> dg.get_auto_parallel_context("gradients_mean")
    True
    >>> dg.reset_auto_parallel_context()
    """
    global _warned
    for keyword, value in kwargs.items():
        _check_keyword("set_auto_parallel_context", keyword)
        if keyword in _OF_ONE_PROCESS and value != _DEFAULTS[keyword]:
            raise ValueError(
                f"set_auto_parallel_context: got {keyword}={value!r}. dualgrad computes in one process; expected "
                f"{_DEFAULTS[keyword]}, or leave it out."
            )
    mode = kwargs.get("parallel_mode", ParallelMode.STAND_ALONE)
    if not one_of(mode, ParallelMode.MODE_LIST):
        raise ValueError(
            f"set_auto_parallel_context: got parallel_mode={mode!r}. Expected one of "
            f"{', '.join(map(repr, ParallelMode.MODE_LIST))}."
        )
    _settings.update(kwargs)
    if mode != ParallelMode.STAND_ALONE and not _warned:
        _warned = True
        warnings.warn(
            f"set_auto_parallel_context: parallel_mode={mode!r} is accepted, but this process computes everything. "
            "Choose parallel_mode='stand_alone' to avoid this warning.",
            UserWarning,
            stacklevel=2,
        )


def get_auto_parallel_context(attr_key: str) -> object:
    """One setting of parallel training.

    Parameters
    ----------
    attr_key : str
        A keyword of `set_auto_parallel_context`.

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
    >>> dg.get_auto_parallel_context("device_num")
    1
    """
    _check_keyword("get_auto_parallel_context", attr_key)
    return _settings[attr_key]


def reset_auto_parallel_context() -> None:
    """Restore the defaults of all settings of `set_auto_parallel_context`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.reset_auto_parallel_context()
    >>> dg.get_auto_parallel_context("parallel_mode")
    'stand_alone'
    """
    _settings.update(_DEFAULTS)


def _check_keyword(where: str, keyword: object) -> None:
    if not one_of(keyword, _DEFAULTS):
        raise ValueError(f"{where}: the keyword {keyword!r} is not known. Expected one of {', '.join(_DEFAULTS)}.")


# ------------------------------------------------------------------- names of `mindspore.parallel._utils` and others


def _get_parallel_mode() -> object:
    return _settings["parallel_mode"]


def _get_gradients_mean() -> object:
    return _settings["gradients_mean"]


def _get_parameter_broadcast() -> object:
    return _settings["parameter_broadcast"]


def _get_full_batch() -> object:
    return _settings["full_batch"]


def _get_device_num() -> int:
    """The number of devices: 1."""
    return 1


def _get_stage_device_num() -> int:
    return 1


def _get_global_rank() -> int:
    """The rank of the only process."""
    return 0


def _is_role_pserver() -> bool:
    """False: this process does not serve parameters to others."""
    return False


def _is_role_worker() -> bool:
    return False


def _device_number_check(parallel_mode: str, device_number: int) -> None:
    """Check that a mode without parallel work has one device."""
    if parallel_mode == ParallelMode.STAND_ALONE and device_number != 1:
        raise ValueError(f"parallel_mode is 'stand_alone' and there are {device_number} devices; expected 1")
