"""The parts of an optimiser step, for classes that define a step of their own.

A class derived from `Optimizer` may replace `construct`, and call these on the gradients: they do the parts of an
optimiser step, one after another. Values read from the optimiser follow from its groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.tensor import Tensor

if TYPE_CHECKING:
    from dualgrad.nn.optimizer import Group

__all__ = ["Decay", "StepParts", "centralized", "decays"]

Decay = float | Callable[[Tensor], Any]
"""The decay of weights: a number, or a function that computes it from the number of steps so far."""


def centralized(gradient: Tensor) -> Tensor:
    """A gradient minus its mean over all axes but the first; a gradient with a single axis is unchanged."""
    if gradient.ndim < 2:
        return gradient
    return gradient - gradient.mean(axis=tuple(range(1, gradient.ndim)), keepdims=True)


def decays(decay: Any) -> bool:
    """True if a weight decays: its decay is a tensor or not 0."""
    return isinstance(decay, Tensor) or decay != 0.0


class StepParts:
    """The part of `Optimizer` that derived classes with a step of their own read and call."""

    if TYPE_CHECKING:
        weight_decay: Decay
        loss_scale: float
        global_step: Parameter
        learning_rate: Any
        _groups: list[Group]

        @property
        def parameters(self) -> ParameterTuple: ...
        def decay_filter(self, parameter: Parameter) -> bool: ...
        def _rate_at(self, attribute: str, step: Tensor) -> Tensor: ...

    # Values from the groups.

    @property
    def is_group(self) -> bool:
        """True if the parameters came in groups."""
        return self.__dict__["_is_group"]

    @property
    def is_group_lr(self) -> bool:
        """True if a group has a learning rate of its own."""
        return any(group.rate != "learning_rate" for group in self._groups)

    @property
    def is_group_params_ordered(self) -> bool:
        """True if 'order_params' sets the order of the parameters."""
        return self.__dict__["_ordered"]

    @property
    def dynamic_lr(self) -> bool:
        """True if a learning rate changes from step to step."""
        rates = [getattr(self, group.rate) for group in self._groups]
        return any(not isinstance(rate, Parameter) or rate.ndim > 0 for rate in rates)

    @property
    def dynamic_weight_decay(self) -> bool:
        """True if a weight decay changes from step to step."""
        return any(map(callable, self.group_weight_decay))

    @property
    def group_params(self) -> list[Parameter]:
        """The parameters of all groups, in the order of the gradients."""
        return list(self.parameters)

    def _by_parameter(self, setting: str) -> list[Any]:
        found: list[Any] = [None] * len(self.parameters)
        for group in self._groups:
            for index in group.indices:
                found[index] = getattr(group, setting)
        return found

    @property
    def group_lr(self) -> list[Any]:
        """The learning rate of each parameter: a Parameter, or a function that computes it."""
        return [getattr(self, rate) for rate in self._by_parameter("rate")]

    @property
    def group_weight_decay(self) -> list[Decay]:
        """The weight decay of each parameter: a number, or a function that computes it."""
        return [
            (self.weight_decay if self.decay_filter(parameter) else 0.0) if decay is None else decay
            for parameter, decay in zip(self.parameters, self._by_parameter("decay"), strict=True)
        ]

    @property
    def group_grad_centralization(self) -> list[bool]:
        """For each parameter, True if its gradient is centralised."""
        return self._by_parameter("centralize")

    @property
    def decay_flags(self) -> tuple[bool, ...]:
        """For each parameter, True if its weight decays: by its group, or else by its name."""
        if self.is_group:
            return tuple(callable(decay) or decay > 0 for decay in self.group_weight_decay)
        return tuple(self.decay_filter(parameter) for parameter in self.parameters)

    @property
    def exec_weight_decay(self) -> bool:
        """True if any weight decays."""
        return any(callable(decay) or decay for decay in self.group_weight_decay)

    @staticmethod
    def _decay_at(decay: Decay, parameter: Parameter, step: Tensor) -> Any:
        """A decay at a step: a float, or a tensor of the parameter's type if it is computed."""
        if not callable(decay):
            return decay
        value = decay(step)
        value = value._detached() if isinstance(value, Tensor) else Tensor(float(value), mstype.float64)
        return value.astype(parameter.dtype)

    def _decays_at(self, step: Tensor) -> list[Any]:
        """The decay of each parameter at a step."""
        both = zip(self.group_weight_decay, self.parameters, strict=True)
        return [self._decay_at(decay, parameter, step) for decay, parameter in both]

    @property
    def grad_centralization_flags(self) -> tuple[bool, ...]:
        """`group_grad_centralization` as a tuple."""
        return tuple(self.group_grad_centralization)

    @property
    def param_length(self) -> int:
        """The number of parameters."""
        return len(self.parameters)

    @property
    def need_scale(self) -> bool:
        """True if gradients are divided by `loss_scale`."""
        return self.loss_scale != 1.0

    @property
    def reciprocal_scale(self) -> Tensor:
        """One over `loss_scale`, a 0-d Float32 tensor."""
        return Tensor(1.0 / self.loss_scale, mstype.float32)

    @property
    def global_step_increase_tensor(self) -> Tensor:
        """The summand that a step adds to `global_step`."""
        return Tensor(1, mstype.int32)

    # All of these are stateless objects, so each may be a new one.

    @property
    def assignadd(self) -> ops.AssignAdd:
        """``assignadd(parameter, tensor)`` adds to a parameter."""
        return ops.AssignAdd()

    @property
    def map_(self) -> ops.HyperMap:
        """Maps a function over tuples."""
        return ops.HyperMap()

    map_reverse: Any = map_
    hyper_map: Any = map_
    hyper_map_reverse: Any = map_

    @property
    def optim_filter(self) -> tuple[bool, ...]:
        """For each parameter, True if this process steps it: always."""
        return (True,) * len(self.parameters)

    @property
    def use_parallel(self) -> bool:
        """False: parameters are not divided among processes."""
        return False

    @property
    def target(self) -> str:
        """The device of the steps."""
        return "CPU"

    @property
    def unique(self) -> bool:
        """The setting for indices of sparse gradients, without effect: gradients are never sparse."""
        return self.__dict__.get("_unique", True)

    @unique.setter
    def unique(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"{type(self).__name__}: unique must be a bool, got {type(value).__name__}")
        self.__dict__["_unique"] = value

    # Parts of a step.

    def get_lr_parameter(self, param: Any) -> Any:
        """Return the learning rate of a parameter, as a Parameter or function, or a list of these for a list.

        Parameters
        ----------
        param : Parameter or list of Parameter
            Trained by this optimiser.

        Returns
        -------
        Parameter, callable, or list of them

        Raises
        ------
        TypeError
            If `param` is something else.
        ValueError
            If a parameter is not trained by this optimiser.

        Examples
        --------
        >>> from dualgrad import Parameter, nn
        >>> w, b = Parameter([1.0], name="w"), Parameter([0.0], name="b")
        >>> opt = nn.SGD([{"params": [w], "lr": 0.5}, {"params": [b]}], 0.125)
        >>> print(*[rate.asnumpy() for rate in opt.get_lr_parameter([w, b])])
        0.5 0.125
        """
        name = type(self).__name__
        if isinstance(param, Parameter):
            return self.get_lr_parameter([param])[0]
        if not isinstance(param, list):
            raise TypeError(f"{name}.get_lr_parameter: expected a Parameter or a list, got {type(param).__name__}")
        place = {id(parameter): index for index, parameter in enumerate(self.parameters)}
        rates = self.group_lr
        for each in param:
            if not isinstance(each, Parameter):
                raise TypeError(f"{name}.get_lr_parameter: an entry is a {type(each).__name__}; expected a Parameter")
            if id(each) not in place:
                raise ValueError(f"{name}.get_lr_parameter: parameter '{each.name}' is not trained by this optimiser")
        return [rates[place[id(each)]] for each in param]

    def get_weight_decay(self) -> Tensor | tuple[Tensor, ...]:
        """Return the weight decay of the next step for scaled gradients.

        It is multiplied by `loss_scale`, which `scale_grad` divides by afterwards.

        Returns
        -------
        Tensor or tuple of Tensor
            With groups a tuple with one tensor for each parameter. Numbers are 0-d Float32 tensors; a computed decay
            has the type of its parameter.

        Examples
        --------
        >>> from dualgrad import Parameter, nn
        >>> opt = nn.SGD([Parameter([2.0], name="w")], 0.5, weight_decay=0.25)
        >>> opt.get_weight_decay()
        Tensor(shape=[], dtype=Float32, value= 0.25)
        """
        step = self.global_step._detached()
        found = (
            self._decays_at(step) if self.is_group else [self._decay_at(self.weight_decay, self.parameters[0], step)]
        )
        scaled = tuple(
            decay * self.loss_scale if isinstance(decay, Tensor) else Tensor(decay * self.loss_scale, mstype.float32)
            for decay in found
        )
        return scaled if self.is_group else scaled[0]

    def decay_weight(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return the scaled gradients, to each its decay times its parameter added; `scale_grad` comes after it.

        Examples
        --------
        >>> from dualgrad import Parameter, Tensor, nn
        >>> opt = nn.SGD([Parameter([2.0], name="w")], 0.5, weight_decay=0.25)
        >>> print(*opt.decay_weight((Tensor([1.0]),)))
        [1.5]
        """
        return tuple(
            gradient + decay * self.loss_scale * parameter._detached() if decays(decay) else gradient
            for gradient, parameter, decay in zip(
                gradients, self.parameters, self._decays_at(self.global_step._detached()), strict=True
            )
        )

    def gradients_centralization(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return the gradients; where a group asks for it, minus their means over all axes but the first."""
        flags = self.group_grad_centralization
        return tuple(centralized(g) if flag else g for g, flag in zip(gradients, flags, strict=True))

    def scale_grad(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return the gradients divided by `loss_scale`."""
        return tuple(g / self.loss_scale for g in gradients) if self.need_scale else tuple(gradients)

    def flatten_gradients(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return the gradients as they are: parameters are not joined in memory."""
        return tuple(gradients)

    def broadcast_params(self, optim_result: Any) -> Any:
        """Return the argument: one process has all parameters."""
        return optim_result
