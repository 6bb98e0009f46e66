"""The base of the optimisers: Cells that take gradients and change parameters.

A step is tensor arithmetic on the current values, in the type of each parameter, and an assignment of the new value.
All state between steps (moments, the count of steps, the learning rate) is a Parameter too. So a recorded training step
repeats every change, and a checkpoint of the optimiser is complete. The weights belong to the network. The optimiser
refers to them but does not register them, since a training Cell would rename them.

Steps are never differentiated: values and gradients are detached first.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad._foreign import OPTIMIZER, attach
from dualgrad.nn._optimizer_parts import Decay, StepParts, centralized, decays
from dualgrad.nn.cell import Cell
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.tensor import Tensor

__all__ = ["LearningRateSchedule", "Optimizer", "opt_init_args_register"]


class LearningRateSchedule(Cell):
    """Base for learning rates that change: ``construct(self, global_step)`` returns the rate of a step.

    Any function of the step will do. The step is a 0-d int tensor that counts from 0.

    Examples
    --------
    >>> from dualgrad import Parameter, nn
    >>> class Halving(nn.LearningRateSchedule):
    ...     def construct(self, global_step):
    ...         return 0.5 * 0.5**global_step
    >>> opt = nn.SGD([Parameter([1.0], name="w")], Halving())
    >>> print(opt.get_lr())
    0.5
    """

    _takes_types = False


class Group(NamedTuple):
    """Parameters with common settings: indices, attribute of the learning rate, decay, centralised gradients."""

    indices: tuple[int, ...]
    rate: str
    decay: Decay | None
    centralize: bool


def check_number(what: str, value: Any, low: float = 0.0, below: float = math.inf, positive: bool = False) -> float:
    """Check a setting and return it as a float."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{what} must be a number, got {type(value).__name__}")
    number = float(value)
    if not low <= number < below or (positive and number == 0.0):
        limits = "positive" if positive else f"at least {low:g}"
        limits += f" and below {below:g}" if math.isfinite(below) else " and finite"
        raise ValueError(f"{what} must be {limits}, got {value}")
    return number


def check_decay(what: str, value: Any) -> Decay:
    """Check a weight decay: a number, or a function that computes it."""
    return value if callable(value) and not isinstance(value, Tensor) else check_number(what, value)


def check_flag(what: str, value: Any) -> bool:
    """Check a setting that is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{what} must be a bool, got {type(value).__name__}")
    return value


def opt_init_args_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Have the `__init__` of an optimiser keep its arguments.

    Parameters
    ----------
    fn : callable
        The method ``__init__``. Its parameters are named as in the optimisers here.

    Returns
    -------
    callable
        The method, which sets the attributes `init_params`, a dict with "params"; `init_learning_rate`, None for a
        schedule; and `init_args`, a dict of all other arguments, before `fn` runs.

    Raises
    ------
    TypeError
        If `fn` cannot be called, or the object is not a Cell.

    Examples
    --------
    >>> from dualgrad import Parameter, nn
    >>> class Halved(nn.SGD):
    ...     @nn.opt_init_args_register
    ...     def __init__(self, params, learning_rate, momentum=0.5):
    ...         super().__init__(params, learning_rate / 2, momentum)
    >>> opt = Halved([Parameter([1.0], name="w")], learning_rate=0.5)
    >>> opt.init_learning_rate, opt.init_args
    (0.5, {'momentum': 0.5})
    """
    if not callable(fn):
        raise TypeError(f"opt_init_args_register: fn must be an __init__, got {type(fn).__name__}")

    @functools.wraps(fn)
    def kept(self: Any, *args: Any, **kwargs: Any) -> None:
        if not isinstance(self, Cell):
            raise TypeError(f"opt_init_args_register: only a Cell has such an __init__, got {type(self).__name__}")
        bound = inspect.signature(fn).bind(self, *args, **kwargs)
        bound.apply_defaults()
        _, *names = bound.arguments
        arguments = {name: bound.arguments[name] for name in names}
        found: dict[str, Any] = {}
        if "params" in arguments:
            found["init_params"] = {"params": arguments.pop("params")}
        elif "optimizer" in arguments:
            found["init_params"] = {"params": arguments.pop("optimizer").init_params["params"]}
        if "learning_rate" in arguments:
            rate = arguments.pop("learning_rate")
            found["init_learning_rate"] = (
                None if isinstance(rate, Cell) else rate.tolist() if isinstance(rate, Tensor) else rate
            )
        # Not by `setattr`, which would register parameters, and which needs super().__init__() to have run.
        self.__dict__.update(found, init_args=arguments)
        fn(self, *args, **kwargs)

    return kept


class Optimizer(Cell, StepParts):
    """Base of the optimisers.

    ``opt(gradients)`` takes the gradients in the order of `parameters` and changes the parameters in place. A subclass
    either defines `_updated` for one parameter, or replaces `construct` altogether.

    Parameters
    ----------
    learning_rate : float, Tensor, sequence of float, or callable
        A fixed rate; a 1-d Tensor or a sequence with the rate of each step (the last rate continues); or a callable or
        `LearningRateSchedule`, called at each step with the number of steps so far.
    parameters : iterable of Parameter, or iterable of dict
        The parameters to train. Dicts form groups: 'params', and optionally 'lr' and 'weight_decay' of their own, and
        'grad_centralization', True to subtract from each gradient its mean over all axes but the first. One more dict
        with only 'order_params' sets the order of the gradients.
    weight_decay : float or callable, default 0.0
        This times the parameter is added to its gradient; a callable, such as a Cell, is called at each step with the
        number of steps so far. Without groups, parameters with 'beta' or 'gamma' in their names do not decay.
    loss_scale : float, default 1.0
        The gradients are divided by it.

    Attributes
    ----------
    parameters : ParameterTuple
        The parameters to train, in the order of the gradients.
    learning_rate : Parameter or callable
        The rate; a fixed rate can be changed with ``opt.learning_rate.set_data(0.01)``.
    global_step : Parameter
        The number of steps made.

    Raises
    ------
    TypeError
        If `parameters` is not a collection of Parameters of float types, or a setting is not a number.
    ValueError
        If `parameters` is empty, two have the same name, or a setting is out of its range.
    """

    global_step: Parameter
    _takes_types = False
    _decay_in_gradient: bool = True  # otherwise `_updated` applies it
    _decays: list[Decay]  # of each parameter, for `_updated`

    def __init__(self, learning_rate: Any, parameters: Any, weight_decay: Any = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(auto_prefix=False)
        name = type(self).__name__
        self.weight_decay = check_decay(f"{name}: weight_decay", weight_decay)
        self.loss_scale: float = check_number(f"{name}: loss_scale", loss_scale, positive=True)
        self._add_rate("learning_rate", learning_rate)
        self.global_step = self._state_scalar(np.int32(0), "global_step")
        self.__dict__.update(_is_group=False, _ordered=False)
        trained, self._groups = self._grouped(parameters)
        # Not by `setattr`, which would register them: see the docstring of this file.
        self.__dict__["_parameters"] = trained
        self._decays = self.group_weight_decay

    # Settings.

    @property
    def parameters(self) -> ParameterTuple:
        """The parameters to train, in the order of the gradients."""
        return self.__dict__["_parameters"]

    def _grouped(self, parameters: Any) -> tuple[ParameterTuple, list[Group]]:
        """Read the parameters, or groups of parameters."""
        name = type(self).__name__
        if isinstance(parameters, (Tensor, np.ndarray, str, Mapping, Cell)) or not isinstance(parameters, Iterable):
            advice = "; pass net.trainable_params()" if isinstance(parameters, Cell) else ""
            raise TypeError(
                f"{name}: parameters must be a list of Parameters or of dicts, got {type(parameters).__name__}{advice}"
            )
        entries = list(parameters)
        if not entries:
            raise ValueError(f"{name}: there are no parameters to train; does the Cell have trainable_params()?")
        if not any(isinstance(entry, Mapping) for entry in entries):
            trained = self._checked_parameters(entries)
            return trained, [Group(tuple(range(len(trained))), "learning_rate", None, False)]
        self.__dict__["_is_group"] = True
        order: list[Parameter] | None = None
        members: list[list[Parameter]] = []
        settings: list[tuple[str, Decay, bool]] = []
        for number, entry in enumerate(entries):
            if not isinstance(entry, Mapping):
                raise TypeError(f"{name}: groups are dicts, entry {number} is {type(entry).__name__}")
            if unknown := set(entry) - {"params", "lr", "weight_decay", "grad_centralization", "order_params"}:
                raise ValueError(
                    f"{name}: group {number} has unknown keys {sorted(map(str, unknown))}; known: params, "
                    "lr, weight_decay, grad_centralization, order_params"
                )
            if "order_params" in entry:
                order = list(entry["order_params"])
                continue
            if not (group := list(entry.get("params", ()))):
                raise ValueError(f"{name}: group {number} has no parameters under 'params'")
            rate = "learning_rate"
            if "lr" in entry:
                rate = f"learning_rate_{number}"
                self._add_rate(rate, entry["lr"])
            decay = entry.get("weight_decay", self.weight_decay)
            members.append(group)
            centralize = check_flag(
                f"{name}: grad_centralization of group {number}", entry.get("grad_centralization", False)
            )
            settings.append((rate, check_decay(f"{name}: weight_decay of group {number}", decay), centralize))
        trained = self._checked_parameters([p for group in members for p in group])
        if order is not None:
            if len(order) != len(trained) or {id(p) for p in order} != {id(p) for p in trained}:
                raise ValueError(f"{name}: order_params must hold exactly the parameters of all groups")
            trained = ParameterTuple(order)
            self.__dict__["_ordered"] = True
        place = {id(parameter): index for index, parameter in enumerate(trained)}
        return trained, [
            Group(tuple(place[id(p)] for p in group), *setting)
            for group, setting in zip(members, settings, strict=True)
        ]

    def _checked_parameters(self, parameters: list[Any]) -> ParameterTuple:
        name = type(self).__name__
        for index, parameter in enumerate(parameters):
            if not isinstance(parameter, Parameter):
                raise TypeError(f"{name}: entry {index} is not a Parameter but {type(parameter).__name__}")
            if not parameter.dtype.is_float:
                raise TypeError(
                    f"{name}: parameter '{parameter.name}' is {parameter.dtype}; only float types can be trained"
                )
        return ParameterTuple(parameters)

    def _add_rate(self, attribute: str, rate: Any) -> None:
        """Keep a learning rate as an attribute: a Parameter unless it is computed."""
        what = f"{type(self).__name__}: {attribute}"
        if callable(rate):
            setattr(self, attribute, rate)
            return
        if isinstance(rate, Tensor):
            rate = rate.asnumpy()
        elif isinstance(rate, (int, float, np.number)):
            rate = check_number(what, rate)
        elif not isinstance(rate, (np.ndarray, Iterable)) or isinstance(rate, (str, Mapping)):
            raise TypeError(f"{what} must be a number, a Tensor, a sequence or a callable, got {type(rate).__name__}")
        # Always Float64: the rate is rounded once, to the type of each parameter.
        try:
            values = np.asarray(rate if isinstance(rate, (float, np.ndarray)) else list(rate), np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{what} must be a number or one row of numbers, got {rate!r:.60}") from None
        if values.ndim > 1 or not values.size:
            raise ValueError(f"{what} must be a number or one row of numbers, got shape {values.shape}")
        if not np.all((values >= 0) & np.isfinite(values)):
            raise ValueError(f"{what} must be finite and not negative, got {rate}")
        setattr(self, attribute, self._state_scalar(values, attribute))

    @staticmethod
    def _state_scalar(value: Any, name: str) -> Parameter:
        return Parameter(np.asarray(value), name=name, requires_grad=False)

    def _state(self, prefix: str, init: Any = "zeros") -> ParameterTuple:
        """Make one Parameter for each parameter, of its shape and type."""
        state = self.parameters.clone(prefix, init)
        for parameter in state:
            parameter.requires_grad = False
        return state

    def decay_filter(self, parameter: Parameter) -> bool:
        """True if `weight_decay` applies to a parameter outside of groups."""
        if not isinstance(parameter, Parameter):
            raise TypeError(f"decay_filter: expected a Parameter, got {type(parameter).__name__}")
        return "beta" not in parameter.name and "gamma" not in parameter.name

    def _take_decays(self) -> list[Decay]:
        """Return the weight decay of each parameter and reset it to 0; the caller adds the decay to the gradients."""
        taken = self.group_weight_decay
        del self.weight_decay  # a Cell that computes it is not a member any more
        self.weight_decay: Decay = 0.0
        self._groups = [group._replace(decay=None) for group in self._groups]
        self._decays = self.group_weight_decay
        return taken

    def extend_repr(self) -> str:
        return f"parameters={len(self.parameters)}, weight_decay={self.weight_decay}"

    # A step.

    def get_lr(self) -> Any:
        """Return the learning rate of the next step as a 0-d Float64 tensor.

        If groups have rates of their own it is a tuple, with one rate for each parameter.

        Examples
        --------
        >>> from dualgrad import Parameter, nn
        >>> opt = nn.Adam([Parameter([1.0], name="w")], learning_rate=[0.5, 0.25])
        >>> print(opt.get_lr())
        0.5
        """
        step = self.global_step._detached()
        if self.is_group_lr:
            return tuple(self._rate_at(rate, step) for rate in self._by_parameter("rate"))
        return self._rate_at("learning_rate", step)

    def _rate_at(self, attribute: str, step: Tensor) -> Tensor:
        rate = getattr(self, attribute)
        if not isinstance(rate, Parameter):
            value = rate(step)
            return value._detached().astype(mstype.float64) if isinstance(value, Tensor) else Tensor(np.float64(value))
        values = rate._detached()
        return values[ops.minimum(step, values.shape[0] - 1)] if values.ndim else values

    def _checked_gradients(self, gradients: Any) -> list[Tensor]:
        """Check that there is one gradient for each parameter, before anything is changed."""
        name = type(self).__name__
        if isinstance(gradients, Tensor) and len(self.parameters) == 1:
            gradients = (gradients,)
        if not isinstance(gradients, (tuple, list)):
            raise TypeError(f"{name}: gradients must be a tuple of Tensors, got {type(gradients).__name__}")
        if len(gradients) != len(self.parameters):
            raise ValueError(f"{name}: got {len(gradients)} gradients for {len(self.parameters)} parameters")
        checked = []
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if not isinstance(gradient, Tensor):
                raise TypeError(
                    f"{name}: the gradient of parameter '{parameter.name}' must be a Tensor, got "
                    f"{type(gradient).__name__}"
                )
            if tuple(gradient.shape) != tuple(parameter.shape):
                raise ValueError(
                    f"{name}: parameter '{parameter.name}' has shape {tuple(parameter.shape)}, its gradient "
                    f"{tuple(gradient.shape)}; gradients come in the order of opt.parameters"
                )
            gradient = gradient._detached()
            checked.append(gradient if gradient.dtype == parameter.dtype else gradient.astype(parameter.dtype))
        return checked

    def construct(self, gradients: Any) -> bool:
        """Make one step.

        Parameters
        ----------
        gradients : tuple or list of Tensor
            One for each of `parameters`, with its shape. With a single parameter also a bare Tensor.

        Returns
        -------
        bool
            True.

        Raises
        ------
        TypeError
            If the gradients are not a tuple or list of Tensors.
        ValueError
            If their number or a shape is wrong. Then nothing is changed.
        """
        given = self._checked_gradients(gradients)
        step = self.global_step._detached()
        rates = [self._scaled(self._rate_at(group.rate, step), step) for group in self._groups]
        added = self._decays_at(step) if self._decay_in_gradient else [0.0] * len(self.parameters)
        for group, rate in zip(self._groups, rates, strict=True):
            rate_as: dict[Any, Tensor] = {}
            for index in group.indices:
                parameter = self.parameters[index]
                dtype = parameter.dtype
                if dtype not in rate_as:
                    rate_as[dtype] = rate.astype(dtype)
                value, gradient = parameter._detached(), given[index]
                if self.loss_scale != 1.0:
                    gradient = gradient / self.loss_scale
                if decays(added[index]):
                    gradient = gradient + added[index] * value
                if group.centralize:
                    gradient = centralized(gradient)
                parameter._rebind(self._updated(index, value, gradient, rate_as[dtype], step))
        self.global_step._rebind(step + 1)
        return True

    @staticmethod
    def _stepped(
        update: Callable[..., tuple[Any, ...]],
        index: int,
        value: Tensor,
        state: tuple[ParameterTuple, ...],
        *given: Any,
    ) -> Tensor:
        """Return the new value of parameter `index` by a formula of `_steps`, and keep the new state."""
        kept = [each[index] for each in state]
        new, *after = update(value, *[each._detached() for each in kept], *given)
        for each, changed in zip(kept, after, strict=True):
            each._rebind(changed)
        return new

    def _scaled(self, rate: Tensor, step: Tensor) -> Tensor:
        """Return the learning rate corrected for the step, which counts from 0."""
        return rate

    def _updated(self, index: int, value: Tensor, gradient: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        """Return the new value of parameter `index`, and change its state.

        `value`, `gradient` and `rate` have the parameter's type; `step` counts from 0.
        """
        raise NotImplementedError(f"{type(self).__name__} must define _updated or construct")


attach(Optimizer, OPTIMIZER)
