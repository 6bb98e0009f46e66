"""Log messages under MindSpore's names: Python's `logging`, with a logger called ``dualgrad``.

Messages of level `warning` and above are shown. The environment variable ``GLOG_v`` sets another level when the package
is imported: 0 for `debug`, 1 for `info`, 2 for `warning`, 3 for `error` and 4 for `critical`.
"""

from __future__ import annotations

import logging
import os
from typing import Any, Final

__all__ = ["critical", "debug", "error", "get_level", "get_log_config", "info", "warning"]

_LEVELS: Final = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
_LOGGER: Final = logging.getLogger("dualgrad")


def _start() -> None:
    """Set the level and a handler if GLOG_v is set."""
    wanted = os.environ.get("GLOG_v", "")
    if not wanted:
        return
    if wanted not in ("0", "1", "2", "3", "4"):
        raise ValueError(f"dualgrad.log: GLOG_v is {wanted!r}; expected a number from 0 to 4")
    _LOGGER.setLevel(_LEVELS[int(wanted)])
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[%(levelname)s] %(asctime)s %(pathname)s:%(lineno)d %(message)s"))
    _LOGGER.addHandler(handler)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message of level DEBUG; arguments as in `logging.debug`.

    Examples
    --------
    >>> from dualgrad import log
    >>> log.debug("x is %s", 3)
    """
    _LOGGER.debug(msg, *args, stacklevel=2, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log an event; arguments as in `logging.info`.

    Examples
    --------
    >>> from dualgrad import log
    >>> log.info("epoch %d", 3)
    """
    _LOGGER.info(msg, *args, stacklevel=2, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a possible mistake; arguments as in `logging.warning`."""
    _LOGGER.warning(msg, *args, stacklevel=2, **kwargs)


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a failure; arguments as in `logging.error`."""
    _LOGGER.error(msg, *args, stacklevel=2, **kwargs)


def critical(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log an error that ends the program; arguments as in `logging.critical`."""
    _LOGGER.critical(msg, *args, stacklevel=2, **kwargs)


def get_level() -> str:
    """Return the lowest level that is shown, as a digit.

    Examples
    --------
    >>> from dualgrad import log
    >>> log.get_level() in ("0", "1", "2", "3", "4")
    True
    """
    level = _LOGGER.getEffectiveLevel()
    return str(sum(level > each for each in _LEVELS[:-1]))


def get_log_config() -> dict[str, str]:
    """Return the settings as texts, by the names of environment variables.

    Examples
    --------
    >>> from dualgrad import log
    >>> sorted(log.get_log_config())
    ['GLOG_logtostderr', 'GLOG_v']
    """
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}


def _get_logger() -> logging.Logger:
    return _LOGGER


_start()
