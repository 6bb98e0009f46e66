"""Collective operations among processes. There is one process, so each returns its own value.

The sum, mean, largest or smallest value over one process is the value itself. A value that is gathered from it,
scattered to it, or sent by it is also unchanged. The derivative of each is the identity, in every mode.
"""

from __future__ import annotations

from typing import Any, Final

from .._settings import one_of
from ..tensor import Tensor
from ._arguments import Primitive, operand

__all__ = ["AllGather", "AllReduce", "Broadcast", "ReduceOp", "ReduceScatter"]
METHODS: dict[str, Any] = {}

_WORLD: Final = "hccl_world_group"


class ReduceOp:
    """Names of the ways to reduce values of processes to one.

    Examples
    --------
    >>> from dualgrad import ops
    >>> ops.ReduceOp.SUM
    'sum'
    """

    SUM: Final = "sum"
    MAX: Final = "max"
    MIN: Final = "min"
    PROD: Final = "prod"


def _group(name: str, group: Any) -> str:
    if not isinstance(group, str):
        raise TypeError(f"{name}: group must be the name of a group, got {type(group).__name__}")
    return group


def _reduction(name: str, op: Any) -> str:
    known = (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PROD)
    if not one_of(op, known):
        raise ValueError(f"{name}: got op={op!r}; expected one of {', '.join(known)}")
    return op


class AllReduce(Primitive):
    """Reduce the values of all processes, and give the result to all; with one process the value itself.

    Parameters
    ----------
    op : str, default ReduceOp.SUM
        'sum', 'max', 'min' or 'prod'.
    group : str, optional
        The name of a group of processes.

    Raises
    ------
    TypeError
        If the group is not a name; when called, if the operand is not a tensor.
    ValueError
        If the reduction is not known.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.AllReduce(ops.ReduceOp.SUM)(dg.Tensor([1.0, 2.0])))
    [1. 2.]
    """

    __slots__ = ("group", "op")

    def __init__(self, op: str = ReduceOp.SUM, group: str = _WORLD) -> None:
        self.op: str = _reduction("AllReduce", op)
        self.group: str = _group("AllReduce", group)

    def __call__(self, input_x: Any) -> Tensor:
        return operand("AllReduce", input_x)


class AllGather(Primitive):
    """Join the values of all processes along the first axis; with one process the value itself.

    Parameters
    ----------
    group : str, optional
        The name of a group of processes.

    Raises
    ------
    TypeError
        If the group is not a name; when called, if the operand is not a tensor.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.AllGather()(dg.Tensor([1.0, 2.0])))
    [1. 2.]
    """

    __slots__ = ("group",)

    def __init__(self, group: str = _WORLD) -> None:
        self.group: str = _group("AllGather", group)

    def __call__(self, input_x: Any) -> Tensor:
        return operand("AllGather", input_x)


class ReduceScatter(Primitive):
    """Reduce the values of all processes, and give each a part of the first axis; with one process the value itself.

    Parameters
    ----------
    op : str, default ReduceOp.SUM
        'sum', 'max', 'min' or 'prod'.
    group : str, optional
        The name of a group of processes.

    Raises
    ------
    TypeError
        If the group is not a name; when called, if the operand is not a tensor.
    ValueError
        If the reduction is not known.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(ops.ReduceScatter()(dg.Tensor([1.0, 2.0])))
    [1. 2.]
    """

    __slots__ = ("group", "op")

    def __init__(self, op: str = ReduceOp.SUM, group: str = _WORLD) -> None:
        self.op: str = _reduction("ReduceScatter", op)
        self.group: str = _group("ReduceScatter", group)

    def __call__(self, input_x: Any) -> Tensor:
        return operand("ReduceScatter", input_x)


class Broadcast(Primitive):
    """Give all processes the tensors of one; with one process the tensors themselves.

    Parameters
    ----------
    root_rank : int
        The process that sends its tensors: 0.
    group : str, optional
        The name of a group of processes.

    Raises
    ------
    TypeError
        If the group is not a name; when called, if the operand is not a tuple of tensors.
    ValueError
        If `root_rank` is not 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(*ops.Broadcast(0)((dg.Tensor([1.0]), dg.Tensor([2.0]))))
    [1.] [2.]
    """

    __slots__ = ("group", "root_rank")

    def __init__(self, root_rank: int, group: str = _WORLD) -> None:
        if not one_of(root_rank, (0,)):
            raise ValueError(f"Broadcast: got root_rank={root_rank!r}; the only process is 0")
        self.root_rank: int = 0
        self.group: str = _group("Broadcast", group)

    def __call__(self, input_x: Any) -> tuple[Tensor, ...]:
        if not isinstance(input_x, tuple):
            raise TypeError(f"Broadcast: expected a tuple of tensors, got {type(input_x).__name__}")
        return tuple([operand("Broadcast", x) for x in input_x])
