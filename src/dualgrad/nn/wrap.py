"""Cells around a network: with its loss, with its gradients, and with a whole training step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad._nests import mapped
from dualgrad._seen import cast_of
from dualgrad.nn.cell import Cell
from dualgrad.nn.layers import Identity
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.tensor import Tensor

__all__ = [
    "ForwardValueAndGrad",
    "ParameterUpdate",
    "TrainOneStepCell",
    "WithEvalCell",
    "WithGradCell",
    "WithLossCell",
]


def _check_callable(name: str, what: str, value: Any) -> None:
    if not callable(value):
        raise TypeError(f"{name}: {what} must be a Cell or a function, got {type(value).__name__}")


class WithLossCell(Cell):
    """A network and its loss: ``loss_fn(backbone(data), label)``.

    Parameters
    ----------
    backbone : Cell
        The network. Its parameters keep their names.
    loss_fn : callable
        Takes the output and the label.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> net = nn.WithLossCell(nn.Dense(1, 1, "ones", "zeros"), nn.MSELoss())
    >>> print(net(Tensor([[3.0]]), Tensor([[1.0]])))
    4.0
    """

    def __init__(self, backbone: Cell, loss_fn: Any) -> None:
        super().__init__(auto_prefix=False)
        _check_callable("WithLossCell", "backbone", backbone)
        _check_callable("WithLossCell", "loss_fn", loss_fn)
        self._backbone = backbone
        self._loss_fn = loss_fn

    @property
    def backbone_network(self) -> Cell:
        """The network."""
        return self._backbone

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)


class ForwardValueAndGrad(Cell):
    """A function together with its gradients, as one Cell.

    Parameters
    ----------
    network : callable
        The function.
    weights : Parameter or collection of Parameter, optional
        The Parameters for `get_by_list`; by default the trainable parameters of the network.
    get_all, get_by_list, sens_param : bool, default False
        As in `GradOperation`.

    Returns
    -------
    tuple
        When called: the output, and the result of `GradOperation`.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(*nn.ForwardValueAndGrad(lambda x: x * x)(Tensor([3.0])))
    [9.] [6.]
    """

    def __init__(
        self,
        network: Any,
        weights: Any = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        _check_callable("ForwardValueAndGrad", "network", network)
        self.network = network
        self.weights = weights
        self.get_all = get_all
        self.get_by_list = get_by_list
        self.sens_param = sens_param
        self.grad: ops.GradOperation = ops.GradOperation(get_all, get_by_list, sens_param)

    def construct(self, *inputs: Any) -> tuple[Any, Any]:
        weights = self.weights
        if self.get_by_list and weights is None and isinstance(self.network, Cell):
            weights = self.network.trainable_params()
        output = self.network(*(inputs[:-1] if self.sens_param else inputs))
        return output, self.grad(self.network, weights)(*inputs)


class WithGradCell(Cell):
    """The gradients of a network's loss by its trainable parameters.

    Parameters
    ----------
    network : Cell
        The network.
    loss_fn : callable, optional
        Takes the output and the label; without it the network returns the loss.
    sens : Tensor, optional
        The sensitivity of the loss.

    Returns
    -------
    tuple of Tensor
        When called: one gradient for each parameter.

    Raises
    ------
    TypeError
        If `network` is not a Cell.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> net = nn.Dense(1, 1, "ones", "zeros")
    >>> print(*nn.WithGradCell(net, nn.MSELoss())(Tensor([[3.0]]), Tensor([[1.0]])))
    [[12.]] [4.]
    """

    def __init__(self, network: Cell, loss_fn: Any = None, sens: Any = None) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(network, Cell):
            raise TypeError(f"WithGradCell: network must be a Cell, got {type(network).__name__}")
        self.network = network
        self.loss_fn = loss_fn
        self.weights: ParameterTuple = ParameterTuple(network.trainable_params())
        self.grad: ops.GradOperation = ops.GradOperation(get_by_list=True, sens_param=sens is not None)
        self.sens = sens
        self.network_with_loss: Cell = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.network_with_loss.set_train()

    def construct(self, *inputs: Any) -> Any:
        sens = () if self.sens is None else (self.sens,)
        return self.grad(self.network_with_loss, self.weights)(*inputs, *sens)


class WithEvalCell(Cell):
    """A network with its loss, as metrics need them: ``(loss, output, label)``.

    Parameters
    ----------
    network : Cell
        The network.
    loss_fn : callable
        Takes the output and the label.
    add_cast_fp32 : bool, default False
        True to convert output and label to Float32 first, if they are of floating types.

    Raises
    ------
    TypeError
        If `add_cast_fp32` is not a bool.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> net = nn.WithEvalCell(nn.Dense(1, 1, "ones", "zeros"), nn.MSELoss())
    >>> print(*net(Tensor([[3.0]]), Tensor([[1.0]])))
    4.0 [[3.]] [[1.]]
    """

    def __init__(self, network: Cell, loss_fn: Any, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(add_cast_fp32, bool):
            raise TypeError(f"WithEvalCell: add_cast_fp32 must be a bool, got {type(add_cast_fp32).__name__}")
        _check_callable("WithEvalCell", "network", network)
        _check_callable("WithEvalCell", "loss_fn", loss_fn)
        self._network = network
        self._loss_fn = loss_fn
        self.add_cast_fp32 = add_cast_fp32

    def construct(self, data: Any, label: Any) -> tuple[Any, Any, Any]:
        output = self._network(data)
        if self.add_cast_fp32:
            output, label = mapped((output, label), lambda t: cast_of(t, mstype.float32))
        return self._loss_fn(output, label), output, label


class ParameterUpdate(Cell):
    """Assigns to a Parameter, and returns the new value.

    Parameters
    ----------
    param : Parameter
        The Parameter to change.

    Raises
    ------
    TypeError
        If `param` is not a Parameter.

    Examples
    --------
    >>> from dualgrad import Parameter, Tensor, nn
    >>> w = Parameter([1.0], name="w")
    >>> print(nn.ParameterUpdate(w)(Tensor([2.0])), w.asnumpy())
    [2.] [2.]
    """

    def __init__(self, param: Parameter) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise TypeError(f"ParameterUpdate: param must be a Parameter, got {type(param).__name__}")
        self._param = param

    def construct(self, x: Any) -> Any:
        ops.assign(self._param, x)
        return x


class TrainOneStepCell(Cell):
    """One training step: the loss, its gradients, and the optimiser's update.

    Parameters
    ----------
    network : Cell
        Returns the loss, a single tensor.
    optimizer : Optimizer
        Takes the gradients by its parameters.
    sens : float, optional
        The sensitivity of the loss, which scales the gradients; not 0.
    return_grad : bool, default False
        True to return the gradients, too, as a dict by the names of the parameters.

    Raises
    ------
    TypeError
        If `sens` is not a number.
    ValueError
        If `sens` is 0.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> net = nn.Dense(1, 1, "ones", "zeros")
    >>> step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.125))
    >>> print(step(Tensor([[1.0]]), Tensor([[3.0]])), net.weight.asnumpy(), net.bias.asnumpy())
    4.0 [[1.5]] [0.5]
    """

    def __init__(self, network: Cell, optimizer: Any, sens: float | None = None, return_grad: bool = False) -> None:
        super().__init__(auto_prefix=False)
        if sens is not None and (isinstance(sens, bool) or not isinstance(sens, int | float)):
            raise TypeError(f"TrainOneStepCell: sens must be a number, got {type(sens).__name__}")
        if sens == 0:
            raise ValueError("TrainOneStepCell: sens is 0, which makes all gradients 0; expected another number")
        if not isinstance(network, Cell):
            raise TypeError(f"TrainOneStepCell: network must be a Cell, got {type(network).__name__}")
        if not callable(optimizer) or not hasattr(optimizer, "parameters"):
            raise TypeError(f"TrainOneStepCell: optimizer must be an Optimizer, got {type(optimizer).__name__}")
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights: Any = optimizer.parameters
        # for derived classes that define their own step
        self.grad: ops.GradOperation = ops.GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens: ops.GradOperation = ops.GradOperation(get_by_list=True)
        self.grad_reducer: Identity = Identity()
        self.sens: float = 1.0 if sens is None else sens
        self.return_grad = return_grad

    def construct(self, *inputs: Any) -> Any:
        loss, gradients = ops.value_and_grad(self.network, None, self.weights)(*inputs)
        if self.sens != 1.0:
            gradients = tuple([gradient * self.sens for gradient in gradients])
        loss = ops.depend(loss, self.optimizer(gradients))
        if self.return_grad:
            return loss, _by_name(self.weights, gradients)
        return loss


def _by_name(parameters: Iterable[Parameter], gradients: Iterable[Tensor]) -> dict[str, Tensor]:
    return {parameter.name: gradient for parameter, gradient in zip(parameters, gradients, strict=True)}
