"""Reduction of gradients among processes, of which there is one."""

from __future__ import annotations

from typing import Any

from dualgrad.nn.cell import Cell

from .._settings import one_of, truth_value

__all__ = ["DistributedGradReducer"]


class DistributedGradReducer(Cell):
    """Sum or mean of the gradients of all processes; with one process the gradients themselves.

    Parameters
    ----------
    parameters : list of Parameter
        The parameters of the gradients.
    mean : bool, optional
        True for the mean; with one process both are the same.
    degree : int, optional
        The number of processes: 1.
    fusion_type, group
        Accepted so that ported code runs; nothing is sent.

    Raises
    ------
    ValueError
        If `degree` is above 1: gradients would be divided by it.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor, nn
    >>> reducer = nn.DistributedGradReducer([Parameter([1.0], name="w")], mean=True)
    >>> print(*reducer((Tensor([3.0]),)))
    [3.]
    """

    def __init__(
        self,
        parameters: Any,
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: str = "hccl_world_group",
    ) -> None:
        super().__init__(auto_prefix=False)
        if not one_of(degree, (None, 1)):
            raise ValueError(f"DistributedGradReducer: got degree={degree!r}; there is one process, expected 1")
        truth_value(type(self).__name__, "mean", mean)
        self.mean: bool = bool(mean)
        self.degree = 1

    def construct(self, grads: Any) -> Any:
        return grads
