"""One training step for a network, an optimiser and a scale of the loss."""

from __future__ import annotations

from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad._nests import mapped
from dualgrad._seen import cast_of
from dualgrad.amp.levels import auto_mixed_precision, check_level, keep_normalisation
from dualgrad.amp.managers import DynamicLossScaleManager, LossScaleManager
from dualgrad.amp.scalers import all_finite
from dualgrad.dtype import DType, as_dtype
from dualgrad.nn import Cell, TrainOneStepCell, WithLossCell
from dualgrad.nn.loss_scale import step_unless
from dualgrad.nn.optimizer import Optimizer

from .._settings import one_of

__all__ = ["build_train_network"]

BY_LEVEL: Any = object()  # a setting that the level decides


class ScaledStep(Cell):
    """One step whose loss is scaled: gradients that are not finite change nothing.

    The output is the loss, True if the gradients were not finite, and the scale of the step.
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


class WithLossInFloat32(WithLossCell):
    """A network and its loss, which is computed in Float32."""

    def construct(self, data: Any, label: Any) -> Any:
        output, label = mapped((self._backbone(data), label), lambda t: cast_of(t, mstype.float32))
        return self._loss_fn(output, label)


def build_train_network(
    network: Cell,
    optimizer: Optimizer,
    loss_fn: Any = None,
    level: str = "O0",
    boost_level: str = "O0",
    loss_scale_manager: LossScaleManager | None = BY_LEVEL,
    keep_batchnorm_fp32: bool | None = None,
    cast_model_type: Any = None,
) -> Cell:
    """Combine a network, its loss and an optimiser, in mixed precision.

    Parameters
    ----------
    network : Cell
        The network; without `loss_fn` it returns the loss. A level other than 'O0' changes it.
    optimizer : Optimizer
        Changes the parameters, which keep their types.
    loss_fn : callable, optional
        Takes the output and the label; both are converted to Float32 if the network is narrow.
    level : str, default 'O0'
        The Cells that compute in Float16, see `dualgrad.amp.auto_mixed_precision`: 'O0' none, 'O1' the white list, 'O2'
        all but the black list, with a dynamic scale of the loss, 'O3' all.
    boost_level : str, default 'O0'
        Only 'O0'.
    loss_scale_manager : LossScaleManager, optional
        The scale of the loss. By default ``DynamicLossScaleManager()`` for 'O2', otherwise None, which scales nothing.
    keep_batchnorm_fp32 : bool, optional
        True if Cells of the black list compute in Float32 in a narrow network; by default for 'O2'.
    cast_model_type : type, optional
        float16 or float32: the type of computation, whatever the level is; by default float16 for 'O2' and 'O3'.

    Returns
    -------
    Cell
        When called with the inputs it makes one step and returns the loss. With a manager that leaves out overflows it
        returns a tuple of the loss, True if the gradients were not finite, and the scale.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind.
    ValueError
        If a level is not known, or a type is not supported.
    NotImplementedError
        For the level 'auto'.

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
    name = "build_train_network"
    if not isinstance(network, Cell):
        raise TypeError(f"{name}: network must be a Cell, got {type(network).__name__}")
    check_level(name, "level", level)
    if not one_of(boost_level, ("O0",)):
        raise ValueError(f"{name}: got boost_level={boost_level!r}; expected 'O0', there is no other here")
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{name}: optimizer must be an Optimizer, got {type(optimizer).__name__}")
    if loss_scale_manager is BY_LEVEL:
        loss_scale_manager = DynamicLossScaleManager() if level == "O2" else None
    if loss_scale_manager is not None and not isinstance(loss_scale_manager, LossScaleManager):
        raise TypeError(f"{name}: expected a LossScaleManager, got {type(loss_scale_manager).__name__}")
    narrow = _narrowed(name, network, level, keep_batchnorm_fp32, cast_model_type)
    if loss_fn is not None:
        network = (WithLossInFloat32 if narrow else WithLossCell)(network, loss_fn)
    if loss_scale_manager is None:
        return TrainOneStepCell(network, optimizer)
    if loss_scale_manager.get_drop_overflow_update():
        return ScaledStep(network, optimizer, loss_scale_manager)
    return TrainOneStepCell(network, optimizer, loss_scale_manager.get_loss_scale())


def _narrowed(name: str, network: Cell, level: str, keep: Any, cast_model_type: Any) -> bool:
    """Give the Cells of a network their types; return True if all of it is narrow."""
    if keep is not None and not isinstance(keep, bool):
        raise TypeError(f"{name}: keep_batchnorm_fp32 must be a bool or None, got {type(keep).__name__}")
    keep = level == "O2" if keep is None else keep
    narrow: DType = mstype.float16
    given = narrow if level in ("O2", "O3") else mstype.float32
    if cast_model_type is not None:
        given = as_dtype(cast_model_type, where=name)
    if given is not mstype.float16 and given is not mstype.float32:
        raise ValueError(f"{name}: cast_model_type is {given}; expected float16 or float32")
    if given is narrow and keep:
        keep_normalisation(network, narrow)
    elif given is narrow or (level == "O2" and not keep):
        network.to_float(narrow)
    elif level == "O1":
        auto_mixed_precision(network, level)
    return given is narrow
