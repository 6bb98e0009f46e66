"""Training steps with a scaled loss: for gradients of narrow types, which would vanish or overflow otherwise.

The loss is multiplied by a scale before it is differentiated, and the gradients are divided by it. A step whose
gradients are not finite changes no parameter. The scale is a Parameter, so a recorded step changes it as well.
"""

from __future__ import annotations

from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad._nests import tensors_in
from dualgrad.nn.cell import Cell
from dualgrad.nn.optimizer import check_number
from dualgrad.nn.wrap import TrainOneStepCell
from dualgrad.ops._arguments import integer
from dualgrad.parameter import Parameter
from dualgrad.tensor import Tensor

__all__ = ["DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "TrainOneStepWithLossScaleCell"]


class FixedLossScaleUpdateCell(Cell):
    """Leaves the scale of a loss as it is; for `TrainOneStepWithLossScaleCell`.

    Parameters
    ----------
    loss_scale_value : float
        The scale.

    Raises
    ------
    TypeError, ValueError
        If it is not a positive number.

    Examples
    --------
    >>> from dualgrad import nn
    >>> nn.FixedLossScaleUpdateCell(1024.0).get_loss_scale()
    1024.0
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self.loss_scale_value: float = check_number(
            f"{type(self).__name__}: loss_scale_value", loss_scale_value, positive=True
        )

    def get_loss_scale(self) -> float:
        """Return the initial scale."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        return overflow


class DynamicLossScaleUpdateCell(FixedLossScaleUpdateCell):
    """Lowers the scale of a loss after an overflow, and raises it after many steps without overflow.

    After an overflow the scale becomes ``max(scale / scale_factor, 1)``. After `scale_window` steps without overflow,
    or since it was last raised, it becomes ``scale * scale_factor``.

    Parameters
    ----------
    loss_scale_value : float
        The initial scale.
    scale_factor : int or float
        The factor by which it changes.
    scale_window : int
        The number of steps after which it is raised.

    Raises
    ------
    TypeError, ValueError
        If a setting is not a positive number.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor, nn
    >>> update, scale = nn.DynamicLossScaleUpdateCell(8.0, 2, 3), Parameter(8.0, name="scale")
    >>> update(scale, Tensor(True))
    Tensor(shape=[], dtype=Bool, value= True)
    >>> scale.asnumpy().item()
    4.0
    """

    def __init__(self, loss_scale_value: float, scale_factor: float, scale_window: int) -> None:
        super().__init__(loss_scale_value)
        name = type(self).__name__
        self.scale_factor: float = check_number(f"{name}: scale_factor", scale_factor, positive=True)
        self.scale_window: int = integer(name, "scale_window", scale_window)
        if self.scale_window < 1:
            raise ValueError(f"{name}: scale_window must be positive, got {scale_window}")
        self.minimum_loss_scale: float = 1.0
        self.cur_iter: Parameter = _count(1, "current_iterator_step")
        self.last_overflow_iter: Parameter = _count(0, "last_overflow_iterator_step")

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        if not isinstance(loss_scale, Tensor):
            raise TypeError(f"{type(self).__name__}: loss_scale must be a Parameter, got {type(loss_scale).__name__}")
        scale, step, last = loss_scale._detached(), self.cur_iter._detached(), self.last_overflow_iter._detached()
        raised = step - last >= self.scale_window
        lowered = ops.maximum(scale / self.scale_factor, self.minimum_loss_scale)
        larger = ops.where(raised, scale * self.scale_factor, scale)
        ops.assign(loss_scale, ops.where(overflow, lowered, larger))
        ops.assign(self.last_overflow_iter, ops.where(ops.logical_or(overflow, raised), step, last))
        ops.assign(self.cur_iter, step + 1)
        return overflow


def _count(value: int, name: str) -> Parameter:
    return Parameter(Tensor(value, mstype.int32), name=name, requires_grad=False)


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One training step with a scaled loss; nothing changes if a gradient is not finite.

    Parameters
    ----------
    network : Cell
        Returns the loss, a single tensor.
    optimizer : Optimizer
        Takes the gradients by its parameters.
    scale_sense : Cell or Tensor
        A `DynamicLossScaleUpdateCell` or `FixedLossScaleUpdateCell`; or the scale, of shape () or (1,), which
        `set_sense_scale` may change.

    Returns
    -------
    tuple of Tensor
        When called: the loss, True if the gradients overflow, and the scale in this step.

    Raises
    ------
    TypeError
        If `scale_sense` is neither Cell nor Tensor.
    ValueError
        If its shape is neither () nor (1,).

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> net = nn.Dense(1, 1, "ones", "zeros")
    >>> loss, opt = nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.125)
    >>> step = nn.TrainOneStepWithLossScaleCell(loss, opt, nn.DynamicLossScaleUpdateCell(1024.0, 2, 1000))
    >>> print(*step(Tensor([[1.0]]), Tensor([[3.0]])), net.weight.asnumpy())
    4.0 False 1024.0 [[1.5]]
    """

    def __init__(self, network: Cell, optimizer: Any, scale_sense: Any) -> None:
        super().__init__(network, optimizer)
        self.loss_scaling_manager: Any = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            if not hasattr(scale_sense, "get_loss_scale"):
                kind = type(scale_sense).__name__
                raise TypeError(f"TrainOneStepWithLossScaleCell: scale_sense {kind} has no method get_loss_scale")
            scale_sense = Tensor(scale_sense.get_loss_scale(), mstype.float32)
        if not isinstance(scale_sense, Tensor):
            raise TypeError(
                f"TrainOneStepWithLossScaleCell: scale_sense must be a Cell or Tensor, got {type(scale_sense).__name__}"
            )
        if scale_sense.shape not in ((), (1,)):
            raise ValueError(
                f"TrainOneStepWithLossScaleCell: scale_sense has shape {scale_sense.shape}; expected () or (1,)"
            )
        self.scale_sense: Parameter = Parameter(scale_sense, name="scale_sense", requires_grad=False)

    def set_sense_scale(self, sens: Tensor) -> None:
        """Set the scale.

        Raises
        ------
        TypeError
            If it is not a Tensor.
        ValueError
            If it has another shape.
        """
        if not isinstance(sens, Tensor):
            raise TypeError(f"set_sense_scale: expected a Tensor, got {type(sens).__name__}")
        self.scale_sense.set_data(sens)

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[Tensor, Any]:
        """Return a status for `get_overflow_status`, and the second argument; the gradients are inspected later."""
        return Tensor(False), compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:
        """Return True, as a 0-d tensor, if a number in tensors, or a pytree of them, is not finite."""
        found = Tensor(False)
        for each in tensors_in(compute_output):
            found = ops.logical_or(found, ops.logical_not(ops.all(ops.isfinite(each))))
        return found

    def process_loss_scale(self, overflow: Any) -> Any:
        """Update the scale after a step, if it was given as a Cell; return `overflow`."""
        if self.loss_scaling_manager is None:
            return overflow
        return self.loss_scaling_manager(self.scale_sense, overflow)

    def construct(self, *inputs: Any) -> Any:
        scale = self.scale_sense._detached()
        factor = scale.reshape(())

        def scaled(*inputs: Any) -> tuple[Any, Any]:
            loss = self.network(*inputs)
            return loss * factor.astype(loss.dtype), loss

        (_, loss), gradients = ops.value_and_grad(scaled, None, self.weights, has_aux=True)(*inputs)
        gradients = self.grad_reducer(tuple(g / factor.astype(g.dtype) for g in gradients))
        overflow = self.process_loss_scale(self.get_overflow_status(Tensor(False), gradients))
        step_unless(overflow, self.optimizer, gradients)
        return loss, overflow, scale


def step_unless(overflow: Any, optimizer: Any, gradients: Any) -> Any:
    """Make a step, and undo it if the gradients overflow, by a choice of values that can be recorded.

    Returns the result of the optimiser.
    """
    changed = [*optimizer.parameters, *optimizer.get_parameters()]
    before = [parameter._detached() for parameter in changed]
    done = optimizer(gradients)
    for parameter, value in zip(changed, before, strict=True):
        parameter._rebind(ops.where(overflow, value, parameter._detached()))
    return done
