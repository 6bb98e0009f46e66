"""Recurrent layers: RNN, LSTM and GRU, and their single steps.

A layer maps the inputs of all steps by one matrix product; the recurrence is `ops.scan`. So a gradient keeps few states
and a recorded network does not grow with the length of the sequence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dualgrad import dtype as mstype
from dualgrad import ops
from dualgrad.common.initializer import Uniform, initializer
from dualgrad.nn.cell import Cell
from dualgrad.ops._arguments import operand
from dualgrad.ops.neural._sliding import numbers
from dualgrad.parameter import Parameter, ParameterTuple
from dualgrad.tensor import Tensor

from .._settings import one_of, real_number

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]


# ------------------------------------------------------------------------------------------------- single steps
# A step gets the contribution of the inputs to the gates, the state, and weight and bias of the state.


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    y = ops.matmul(x, weight)
    return y if bias is None else y + bias


def _rnn_step(activation: Callable[[Any], Tensor]) -> Callable[..., tuple[Tensor, ...]]:
    def step(gates: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
        return (activation(gates + _product(state[0], weight, bias)),)

    return step


def _lstm_step(gates: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
    h, c = state
    into, forget, new, out = ops.chunk(gates + _product(h, weight, bias), 4, -1)
    c = ops.sigmoid(forget) * c + ops.sigmoid(into) * ops.tanh(new)
    return ops.sigmoid(out) * ops.tanh(c), c


def _gru_step(gates: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
    (h,) = state
    reset, keep, new = ops.chunk(gates, 3, -1)
    reset_h, keep_h, new_h = ops.chunk(_product(h, weight, bias), 3, -1)
    candidate = ops.tanh(new + ops.sigmoid(reset + reset_h) * new_h)
    return (candidate + ops.sigmoid(keep + keep_h) * (h - candidate),)


_STEPS = {
    # kind: gates, parts of the state, step
    "tanh": (1, 1, _rnn_step(ops.tanh)),
    "relu": (1, 1, _rnn_step(ops.relu)),
    "lstm": (4, 2, _lstm_step),
    "gru": (3, 1, _gru_step),
}


def _nonlinearity(name: str, nonlinearity: Any) -> str:
    if not one_of(nonlinearity, ("tanh", "relu")):
        raise ValueError(f"{name}: nonlinearity is {nonlinearity!r}; expected 'tanh' or 'relu'")
    return nonlinearity


class _Step(Cell):
    """One step of a recurrent layer: its weights, and the checks of its operands."""

    hidden_size: int
    input_size: int

    kind = "tanh"

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool, dtype: Any) -> None:
        super().__init__()
        name = type(self).__name__
        sizes = numbers(name, "input_size, hidden_size", (input_size, hidden_size), 2)
        self.input_size, self.hidden_size = sizes
        if not isinstance(has_bias, bool):
            raise TypeError(f"{name}: has_bias must be a bool, got {type(has_bias).__name__}")
        self.has_bias = has_bias
        rows = _STEPS[self.kind][0] * hidden_size
        init = Uniform(1.0 / math.sqrt(hidden_size))
        self.weight_ih: Parameter = Parameter(initializer(init, (rows, input_size), dtype), name="weight_ih")
        self.weight_hh: Parameter = Parameter(initializer(init, (rows, hidden_size), dtype), name="weight_hh")
        self.bias_ih: Parameter | None = None
        self.bias_hh: Parameter | None = None
        if has_bias:
            self.bias_ih = Parameter(initializer(init, (rows,), dtype), name="bias_ih")
            self.bias_hh = Parameter(initializer(init, (rows,), dtype), name="bias_hh")

    def _next(self, x: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        name = type(self).__name__
        x = operand(name, x)
        state = tuple([operand(name, part) for part in state])
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ValueError(f"{name}: x has shape {x.shape}; expected (N, {self.input_size})")
        for part in state:
            if part.shape != (*x.shape[:-1], self.hidden_size):
                raise ValueError(
                    f"{name}: the state has shape {part.shape} beside x of shape {x.shape}; expected "
                    f"{(*x.shape[:-1], self.hidden_size)}"
                )
        gates = _product(x, self.weight_ih.T, self.bias_ih)
        return _STEPS[self.kind][2](gates, state, self.weight_hh.T, self.bias_hh)

    def extend_repr(self) -> str:
        return f"input_size={self.input_size}, hidden_size={self.hidden_size}, has_bias={self.has_bias}"


class RNNCell(_Step):
    """One step of `RNN`: ``act(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)``.

    Called with ``(x, hx)``, it returns the next state.

    Parameters
    ----------
    input_size, hidden_size : int
        Length of the input and of the state.
    has_bias : bool, default True
        True to add a bias.
    nonlinearity : {'tanh', 'relu'}, default 'tanh'
        The activation.
    dtype : type, default float32
        Type of the parameters.

    Attributes
    ----------
    weight_ih, weight_hh : Parameter
        Shapes (hidden_size, input_size) and (hidden_size, hidden_size); uniform on ``+-1 / sqrt(hidden_size)``.
    bias_ih, bias_hh : Parameter
        Shape (hidden_size,); None without biases.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.RNNCell(3, 4)(ops.ones((2, 3)), ops.zeros((2, 4))).shape
    (2, 4)
    """

    kind: str
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self.nonlinearity = self.kind = _nonlinearity("RNNCell", nonlinearity)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._next(x, hx)[0]


class LSTMCell(_Step):
    """One step of `LSTM`; called with ``(x, (h, c))``, it returns the next ``(h, c)``.

    With the gates i, f, g and o, rows of the weights in this order: ``c' = sigmoid(f) c + sigmoid(i) tanh(g)`` and
    ``h' = sigmoid(o) tanh(c')``.

    Parameters
    ----------
    input_size, hidden_size, has_bias, dtype
        As in `RNNCell`; weights have four times as many rows.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> h, c = nn.LSTMCell(3, 4)(ops.ones((2, 3)), (ops.zeros((2, 4)), ops.zeros((2, 4))))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    kind = "lstm"

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = mstype.float32) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)

    def construct(self, x: Tensor, hx: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
        if not isinstance(hx, tuple | list) or len(hx) != 2:
            raise TypeError("LSTMCell: hx must be a pair of Tensors (h, c)")
        return self._next(x, *hx)


class GRUCell(_Step):
    """One step of `GRU`; called with ``(x, hx)``, it returns the next state.

    With the gates r, z and n, rows of the weights in this order:
    ``n = tanh(x @ w_in.T + b_in + sigmoid(r) (h @ w_hn.T + b_hn))`` and ``h' = (1 - sigmoid(z)) n + sigmoid(z) h``.

    Parameters
    ----------
    input_size, hidden_size, has_bias, dtype
        As in `RNNCell`; weights have three times as many rows.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.GRUCell(3, 4)(ops.ones((2, 3)), ops.zeros((2, 4))).shape
    (2, 4)
    """

    kind = "gru"

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = mstype.float32) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._next(x, hx)[0]


# ---------------------------------------------------------------------------------------------------- sequences


class _Recurrent(Cell):
    """Layers of a recurrence over sequences, in one direction or both."""

    num_layers: int
    hidden_size: int
    input_size: int

    kind = "tanh"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = mstype.float32,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        sizes = numbers(name, "input_size, hidden_size, num_layers", (input_size, hidden_size, num_layers), 3)
        self.input_size, self.hidden_size, self.num_layers = sizes
        for what, flag in (("has_bias", has_bias), ("batch_first", batch_first), ("bidirectional", bidirectional)):
            if not isinstance(flag, bool):
                raise TypeError(f"{name}: {what} must be a bool, got {type(flag).__name__}")
        if not 0 <= real_number(name, "dropout", dropout) < 1:
            raise ValueError(f"{name}: dropout is {dropout}; expected a probability below 1")
        self.has_bias = has_bias
        self.batch_first = batch_first
        self.dropout: float = float(dropout)
        self.bidirectional = bidirectional
        gates, self._parts, self._step = _STEPS[self.kind]
        rows, ways = gates * hidden_size, 2 if bidirectional else 1
        init = Uniform(1.0 / math.sqrt(hidden_size))
        for what in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")[: 4 if has_bias else 2]:
            for k in range(num_layers * ways):
                widths = {"weight_ih": input_size if k < ways else hidden_size * ways, "weight_hh": hidden_size}
                shape = (rows, widths[what]) if what in widths else (rows,)
                label = self._label(what, k)
                self.insert_param_to_cell(label, Parameter(initializer(init, shape, dtype), name=label))

    def _label(self, what: str, k: int) -> str:
        """The attribute of one kind of weights, or biases, of one direction of one layer."""
        layer, way = divmod(k, 2 if self.bidirectional else 1)
        return f"{what}_l{layer}{'_reverse' if way else ''}"

    def _all(self, what: str) -> ParameterTuple:
        count = self.num_layers * (2 if self.bidirectional else 1)
        return ParameterTuple([getattr(self, self._label(what, k)) for k in range(count)])

    def _replace_all(self, what: str, given: Any) -> None:
        """Replace parameters, one for each direction of each layer."""
        former = self._all(what)
        if [p.shape for p in given] != [p.shape for p in former]:
            raise ValueError(
                f"{type(self).__name__}: {what} are set to shapes {[p.shape for p in given]}; expected "
                f"{[p.shape for p in former]}"
            )
        for k, parameter in enumerate(given):
            setattr(self, self._label(what, k), parameter)

    @property
    def w_ih_list(self) -> ParameterTuple:
        """The weights of the inputs."""
        return self._all("weight_ih")

    @w_ih_list.setter
    def w_ih_list(self, given: Any) -> None:
        self._replace_all("weight_ih", given)

    @property
    def w_hh_list(self) -> ParameterTuple:
        """The weights of the states."""
        return self._all("weight_hh")

    @w_hh_list.setter
    def w_hh_list(self, given: Any) -> None:
        self._replace_all("weight_hh", given)

    @property
    def b_ih_list(self) -> ParameterTuple:
        """The biases of the inputs."""
        return self._all("bias_ih")

    @b_ih_list.setter
    def b_ih_list(self, given: Any) -> None:
        self._replace_all("bias_ih", given)

    @property
    def b_hh_list(self) -> ParameterTuple:
        """The biases of the states."""
        return self._all("bias_hh")

    @b_hh_list.setter
    def b_hh_list(self, given: Any) -> None:
        self._replace_all("bias_hh", given)

    def construct(self, x: Tensor, hx: Any = None, seq_length: Any = None) -> tuple[Tensor, Any]:
        x = self._sequence(x)
        steps, batch, _ = x.shape
        ways = 2 if self.bidirectional else 1
        states = self._states(hx, (self.num_layers * ways, batch, self.hidden_size), x)
        live = None if seq_length is None else self._live(seq_length, steps, batch)
        last: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = ops.dropout(x, self.dropout, self.training)
            results = []
            for way in range(ways):
                k = layer * ways + way
                state, y = self._direction(k, x, tuple([part[k] for part in states]), live, bool(way))
                last.append(state)
                results.append(y)
            x = results[0] if ways == 1 else ops.cat(tuple(results), -1)
        ends = tuple([ops.stack([state[part] for state in last]) for part in range(self._parts)])
        y = ops.swapaxes(x, 0, 1) if self.batch_first else x
        return y, ends if self._parts > 1 else ends[0]

    def _direction(
        self, k: int, x: Tensor, state: tuple[Tensor, ...], live: Tensor | None, reverse: bool
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """The last state and the outputs of one layer in one direction; a sequence that has ended keeps its state."""
        weight_ih, weight_hh = [getattr(self, self._label(what, k)) for what in ("weight_ih", "weight_hh")]
        bias_ih, bias_hh = None, None
        if self.has_bias:
            bias_ih, bias_hh = [getattr(self, self._label(what, k)) for what in ("bias_ih", "bias_hh")]
        gates = _product(x, weight_ih.T, bias_ih)
        weight, step = weight_hh.T, self._step

        def advance(state: tuple[Tensor, ...], given: Any) -> tuple[tuple[Tensor, ...], Tensor]:
            if live is None:
                new = step(given, state, weight, bias_hh)
                return new, new[0]
            gates, going = given
            new = step(gates, state, weight, bias_hh)
            held = tuple([ops.where(going, a, b) for a, b in zip(new, state, strict=True)])
            return held, ops.where(going, new[0], 0.0)

        return ops.scan(advance, state, gates if live is None else (gates, live), reverse=reverse)

    def _sequence(self, x: Tensor) -> Tensor:
        name = type(self).__name__
        x = operand(name, x)
        if x.ndim != 3 or x.shape[-1] != self.input_size or not x.size:
            order = "(batch, steps" if self.batch_first else "(steps, batch"
            raise ValueError(f"{name}: x has shape {x.shape}; expected {order}, {self.input_size})")
        expected = getattr(self, self._label("weight_ih", 0)).dtype
        if x.dtype is not expected:
            raise TypeError(f"{name}: x has type {x.dtype}; expected {expected}, the type of the weights")
        return ops.swapaxes(x, 0, 1) if self.batch_first else x

    def _states(self, hx: Any, shape: tuple[int, ...], x: Tensor) -> tuple[Tensor, ...]:
        """The initial states, zeros by default."""
        name = type(self).__name__
        if hx is None:
            return (ops.zeros(shape, x.dtype),) * self._parts
        if self._parts > 1 and (not isinstance(hx, tuple | list) or len(hx) != self._parts):
            raise TypeError(f"{name}: hx must be a pair of Tensors (h, c), got {type(hx).__name__}")
        parts = [operand(name, part) for part in (hx if self._parts > 1 else (hx,))]
        for part in parts:
            if part.shape != shape or part.dtype is not x.dtype:
                raise ValueError(
                    f"{name}: a first state has shape {part.shape} and type {part.dtype}; expected {shape} and "
                    f"{x.dtype}"
                )
        return tuple(parts)

    def _live(self, seq_length: Any, steps: int, batch: int) -> Tensor:
        """Mask of the steps that belong to a sequence, shape (steps, batch, 1)."""
        lengths = operand(type(self).__name__, seq_length)
        if lengths.shape != (batch,) or not lengths.dtype.is_int:
            raise ValueError(
                f"{type(self).__name__}: seq_length has shape {lengths.shape} and type {lengths.dtype}; expected "
                f"ints of shape ({batch},)"
            )
        return ops.reshape(ops.arange(steps), (steps, 1, 1)) < ops.reshape(lengths, (1, batch, 1))

    def extend_repr(self) -> str:
        return (
            f"input_size={self.input_size}, hidden_size={self.hidden_size}, num_layers={self.num_layers}, "
            f"has_bias={self.has_bias}, batch_first={self.batch_first}, dropout={self.dropout}, "
            f"bidirectional={self.bidirectional}"
        )


class RNN(_Recurrent):
    """Recurrent network: each state is an activation of a linear map of input and previous state; see `RNNCell`.

    Called with ``(x, hx=None, seq_length=None)``: a sequence (steps, batch, input_size), the initial states (layers
    times directions, batch, hidden_size), zeros by default, and the number of steps of each sequence of the batch. It
    returns the outputs (steps, batch, directions times hidden_size), zeros behind the end of a sequence, and the last
    states.

    Parameters
    ----------
    input_size, hidden_size : int
        Length of an input and of a state.
    num_layers : int, default 1
        The number of layers, each fed by the layer before.
    has_bias : bool, default True
        True to add a bias.
    batch_first : bool, default False
        True if inputs and outputs are (batch, steps, ...); states are not.
    dropout : float, default 0.0
        The probability of an element between layers to become 0 in training.
    bidirectional : bool, default False
        True to run each layer also from the end to the start; outputs of both directions stand beside each other.
    nonlinearity : {'tanh', 'relu'}, default 'tanh'
        The activation.
    dtype : type, default float32
        Type of the parameters. Inputs must have it.

    Attributes
    ----------
    weight_ih_l0, weight_ih_l0_reverse, ..., weight_hh_l0, ..., bias_ih_l0, ..., bias_hh_l0, ... : Parameter
        For each layer and direction; uniform on ``+-1 / sqrt(hidden_size)``.
    w_ih_list, w_hh_list, b_ih_list, b_hh_list : ParameterTuple
        The same, kind by kind.

    Raises
    ------
    ValueError
        If settings or shapes do not fit.
    TypeError
        If the input has another type than the weights.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> y, h = nn.RNN(3, 4, num_layers=2, bidirectional=True)(ops.ones((5, 2, 3)))
    >>> y.shape, h.shape
    ((5, 2, 8), (4, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        nonlinearity: str = "tanh",
        dtype: Any = mstype.float32,
    ) -> None:
        self.__dict__["kind"] = _nonlinearity("RNN", nonlinearity)
        super().__init__(input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype)
        self.nonlinearity = nonlinearity


class LSTM(_Recurrent):
    """Long short-term memory; see `LSTMCell` for a step and `RNN` for arguments of a call.

    The initial states, and the last states in the result, are a pair (h, c).

    Parameters
    ----------
    input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype
        As in `RNN`; weights have four times as many rows.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> y, (h, c) = nn.LSTM(3, 4, batch_first=True)(ops.ones((2, 5, 3)))
    >>> y.shape, h.shape, c.shape
    ((2, 5, 4), (1, 2, 4), (1, 2, 4))
    """

    kind = "lstm"


class GRU(_Recurrent):
    """Gated recurrent units; see `GRUCell` for a step and `RNN` for arguments of a call.

    Parameters
    ----------
    input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype
        As in `RNN`; weights have three times as many rows.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> y, h = nn.GRU(3, 4)(ops.ones((5, 2, 3)))
    >>> y.shape, h.shape
    ((5, 2, 4), (1, 2, 4))
    """

    kind = "gru"
