"""Settings of datasets, under MindSpore's names. Rows are read by the calling process, one after the other.

`set_seed` seeds the generator that `dualgrad.set_seed` seeds, from which shuffles are drawn. The numbers of threads and
the lengths of queues are remembered, and have no effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dualgrad.random import get_seed, set_seed

__all__ = ["get_seed", "set_seed"]

# Settings without a meaning here, with the values that they have until they are set.
_IGNORED: Final[dict[str, Any]] = {
    "prefetch_size": 16,
    "num_parallel_workers": 8,
    "numa_enable": False,
    "monitor_sampling_interval": 1000,
    "callback_timeout": 30,
    "auto_num_workers": False,
    "enable_shared_mem": True,
    "enable_autotune": False,
    "autotune_interval": 0,
    "enable_watchdog": True,
    "multiprocessing_timeout_interval": 300,
    "dynamic_shape": False,
    "fast_recovery": True,
    "debug_mode": False,
}
_settings = dict(_IGNORED)


def _setter(name: str) -> Callable[..., None]:
    def setter(value: Any, *others: Any) -> None:
        _settings[name] = value

    setter.__name__ = setter.__qualname__ = f"set_{name}"
    setter.__doc__ = f"Remember {name.replace('_', ' ')}, which has no meaning here."
    return setter


def _getter(name: str) -> Callable[[], Any]:
    def getter() -> Any:
        return _settings[name]

    getter.__name__ = getter.__qualname__ = f"get_{name}"
    getter.__doc__ = f"Return {name.replace('_', ' ')}, as it was set last."
    return getter


for _name in _IGNORED:
    globals()[f"set_{_name}"] = _setter(_name)
    globals()[f"get_{_name}"] = _getter(_name)
    __all__ += [f"get_{_name}", f"set_{_name}"]
