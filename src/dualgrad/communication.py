"""Groups of processes under MindSpore's names: there is one process, with rank 0.

`init` refuses to run in one of several started processes: each would compute everything, and gradients would not be
reduced among them.
"""

from __future__ import annotations

import os
from typing import Final

from ._settings import one_of

__all__ = [
    "HCCL_WORLD_COMM_GROUP",
    "NCCL_WORLD_COMM_GROUP",
    "GlobalComm",
    "create_group",
    "destroy_group",
    "get_comm_name",
    "get_group_rank_from_world_rank",
    "get_group_size",
    "get_local_rank",
    "get_local_rank_size",
    "get_process_group_ranks",
    "get_rank",
    "get_world_rank_from_group_rank",
    "init",
    "release",
]  # fmt: skip

HCCL_WORLD_COMM_GROUP: Final = "hccl_world_group"
NCCL_WORLD_COMM_GROUP: Final = "nccl_world_group"
_CPU_WORLD_GROUP: Final = "mccl_world_group"

# Environment variables in which launchers state the number of processes.
_SIZES: Final = ("RANK_SIZE", "MS_WORKER_NUM", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")

_groups: set[str] = {HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, _CPU_WORLD_GROUP}


class GlobalComm:
    """Settings about all processes.

    Examples
    --------
    >>> from dualgrad.communication import GlobalComm
    >>> GlobalComm.WORLD_COMM_GROUP
    'hccl_world_group'
    """

    BACKEND: str = "mccl"
    WORLD_COMM_GROUP: Final = HCCL_WORLD_COMM_GROUP
    INITED: bool = False
    CHECK_ENVS: bool = True


def init(backend_name: str | None = None) -> None:
    """Start communication. There is only this process.

    Parameters
    ----------
    backend_name : str, optional
        'hccl', 'nccl' or 'mccl'; accepted so that ported code runs.

    Raises
    ------
    ValueError
        If the backend is not known.
    RuntimeError
        If the environment says that there are other processes.

    Examples
    --------
    >>> from dualgrad import communication
    >>> communication.init()
    >>> communication.get_rank(), communication.get_group_size()
    (0, 1)
    """
    if not one_of(backend_name, (None, "hccl", "nccl", "mccl")):
        raise ValueError(f"init: got backend_name={backend_name!r}; expected 'hccl', 'nccl' or 'mccl'")
    for name in _SIZES:
        size = os.environ.get(name, "1")
        if size not in ("", "1"):
            raise RuntimeError(
                f"init: {name}={size} says that this is one of several processes. dualgrad computes in one process: "
                "start the program once, or give each its own share of the data and none of init."
            )
    GlobalComm.INITED = True


def release() -> None:
    """Undo `init`.

    Examples
    --------
    >>> from dualgrad import communication
    >>> communication.release()
    """
    GlobalComm.INITED = False


def _check_group(where: str, group: str) -> None:
    if group not in _groups:
        raise ValueError(f"{where}: there is no group {group!r}; make it by create_group(name, [0])")


def get_rank(group: str = HCCL_WORLD_COMM_GROUP) -> int:
    """Return the number of this process in a group: 0.

    Parameters
    ----------
    group : str, optional
        The name of a group.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If the group does not exist.

    Examples
    --------
    >>> from dualgrad import communication
    >>> communication.get_rank()
    0
    """
    _check_group("get_rank", group)
    return 0


def get_local_rank(group: str = HCCL_WORLD_COMM_GROUP) -> int:
    """Return the number of this process on this machine: 0; see `get_rank`."""
    _check_group("get_local_rank", group)
    return 0


def get_group_size(group: str = HCCL_WORLD_COMM_GROUP) -> int:
    """Return the number of processes of a group: 1.

    Parameters
    ----------
    group : str, optional
        The name of a group.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If the group does not exist.

    Examples
    --------
    >>> from dualgrad import communication
    >>> communication.get_group_size()
    1
    """
    _check_group("get_group_size", group)
    return 1


def get_local_rank_size(group: str = HCCL_WORLD_COMM_GROUP) -> int:
    """Return the number of processes of a group on this machine: 1; see `get_group_size`."""
    _check_group("get_local_rank_size", group)
    return 1


def _check_only(where: str, rank: int) -> int:
    if rank != 0:
        raise ValueError(f"{where}: there is no process {rank!r}; the only one is 0")
    return 0


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """Return the rank among all processes of a process with a rank in a group: 0 for 0."""
    _check_group("get_world_rank_from_group_rank", group)
    return _check_only("get_world_rank_from_group_rank", group_rank_id)


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """Return the rank in a group of a process with a rank among all processes: 0 for 0."""
    _check_group("get_group_rank_from_world_rank", group)
    return _check_only("get_group_rank_from_world_rank", world_rank_id)


def create_group(group: str, rank_ids: list[int]) -> None:
    """Make a group. It can hold this process only.

    Parameters
    ----------
    group : str
        Its name.
    rank_ids : list of int
        ``[0]``.

    Raises
    ------
    ValueError
        If `rank_ids` has other processes, or the name is taken.

    Examples
    --------
    >>> from dualgrad import communication
    >>> communication.create_group("all", [0])
    >>> communication.get_process_group_ranks("all")
    [0]
    >>> communication.destroy_group("all")
    """
    if list(rank_ids) != [0]:
        raise ValueError(f"create_group: got rank_ids={rank_ids!r}; there is one process, expected [0]")
    if group in _groups:
        raise ValueError(f"create_group: there is a group {group!r} already")
    _groups.add(group)


def destroy_group(group: str) -> None:
    """Remove a group that `create_group` made."""
    _check_group("destroy_group", group)
    if group.endswith("_world_group"):
        raise ValueError(f"destroy_group: {group!r} is the group of all processes")
    _groups.remove(group)


def get_process_group_ranks(group: str = HCCL_WORLD_COMM_GROUP) -> list[int]:
    """Return the ranks of the processes of a group: [0]."""
    _check_group("get_process_group_ranks", group)
    return [0]


def get_comm_name(group: str = HCCL_WORLD_COMM_GROUP) -> str:
    """Return the name under which the processes of a group communicate: the name of the group."""
    _check_group("get_comm_name", group)
    return group
