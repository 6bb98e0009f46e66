"""One step of training for a network, an optimiser and a scale of the loss."""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad.amp import all_finite, auto_mixed_precision
from dualgrad.nn import Cell, TrainOneStepCell, WithLossCell
from dualgrad.nn.loss_scale import step_unless
from dualgrad.nn.optimizer import Optimizer
from dualgrad.train.loss_scale import LossScaleManager

__all__ = ["build_train_network"]


class ScaledStep(Cell):
    """One step whose loss is scaled: gradients that are not finite change nothing.

    The output is the loss, whether the gradients were not finite, and the scale of the step.
    """

    def __init__(self, network: Cell, optimizer: Optimizer, manager: LossScaleManager) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.manager = manager

    def construct(self, *inputs: Any) -> tuple[Any, Any, Any]:
        scaler = self.manager.scaler
        scale = scaler.scale_value._detached()

        def scaled(*inputs: Any) -> tuple[Any, Any]:
            loss = self.network(*inputs)
            return loss * scale.astype(loss.dtype), loss

        gradients, (loss,) = ops.grad(scaled, None, self.optimizer.parameters, has_aux=True)(*inputs)
        finite = all_finite(gradients)
        overflow = ops.logical_not(finite)
        done = step_unless(overflow, self.optimizer, scaler.unscale(gradients))
        scaler.adjust(finite)
        return ops.depend(loss, done), overflow, scale


def build_train_network(
    network: Cell,
    optimizer: Optimizer,
    loss_fn: Any = None,
    level: str = "O0",
    boost_level: str = "O0",
    loss_scale_manager: LossScaleManager | None = None,
    keep_batchnorm_fp32: bool | None = None,
    cast_model_type: Any = None,
) -> Cell:
    """Put a network, its loss and an optimiser together.

    Parameters
    ----------
    network : Cell
        The network; without `loss_fn` it returns the loss.
    optimizer : Optimizer
        What changes its parameters.
    loss_fn : callable, optional
        Takes the output and the label.
    level : str, default 'O0'
        As `amp_level` of `dualgrad.amp.auto_mixed_precision`: everything is computed in the types of parameters and
        inputs.
    boost_level : str, default 'O0'
        Only 'O0'.
    loss_scale_manager : LossScaleManager, optional
        How the loss is scaled.
    keep_batchnorm_fp32, cast_model_type
        Accepted so that ported code runs; they have no meaning where no type is narrowed.

    Returns
    -------
    Cell
        When called with the inputs it makes one step and returns the loss; with a manager that leaves out overflows a
        tuple of the loss, whether the gradients were not finite, and the scale.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind.
    ValueError
        If a level is not known.

    Warns
    -----
    UserWarning
        That the precision stays as it is, at the first level other than 'O0'.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> from dualgrad.train import build_train_network
    >>> net = nn.Dense(1, 1, "zeros", "zeros")
    >>> step = build_train_network(net, nn.SGD(net.trainable_params(), 0.125), nn.MSELoss())
    >>> x, y = Tensor([[1.0]]), Tensor([[2.0]])
    >>> print(step(x, y), step(x, y))
    4.0 1.0
    """
    if boost_level != "O0":
        raise ValueError(f"build_train_network: got boost_level={boost_level!r}; expected 'O0', there is no other here")
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"build_train_network: optimizer must be an Optimizer, got {type(optimizer).__name__}")
    if loss_scale_manager is not None and not isinstance(loss_scale_manager, LossScaleManager):
        raise TypeError(f"build_train_network: expected a LossScaleManager, got {type(loss_scale_manager).__name__}")
    network = auto_mixed_precision(network, level)
    if loss_fn is not None:
        network = WithLossCell(network, loss_fn)
    if loss_scale_manager is None:
        return TrainOneStepCell(network, optimizer)
    if loss_scale_manager.get_drop_overflow_update():
        return ScaledStep(network, optimizer, loss_scale_manager)
    return TrainOneStepCell(network, optimizer, loss_scale_manager.get_loss_scale())
