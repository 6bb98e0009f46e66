"""`Model`: a network with its loss, optimiser and metrics, and the loops over datasets."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from dualgrad.amp.levels import check_level
from dualgrad.amp.managers import LossScaleManager
from dualgrad.amp.steps import BY_LEVEL, build_train_network
from dualgrad.dataset import Dataset
from dualgrad.nn import Cell, WithEvalCell, WithLossCell
from dualgrad.parallel import ParallelMode, get_auto_parallel_context
from dualgrad.tensor import Tensor
from dualgrad.train.callback import CallbackManager, InternalCallbackParam, RunContext, as_list, call
from dualgrad.train.metrics import Loss, get_metrics

__all__ = ["Model"]


class Model:
    """A network, with all that trains and evaluates it.

    Parameters
    ----------
    network : Cell
        The network; without `loss_fn` it returns the loss.
    loss_fn : callable, optional
        Takes the output and the label; datasets then have these two columns.
    optimizer : Optimizer, optional
        Changes the parameters; without it `train` only computes the loss.
    metrics : set of str or dict of str to Metric, optional
        The values that `eval` returns.
    eval_network : Cell, optional
        The Cell that `eval` calls; by default the network with its loss.
    eval_indexes : list of int, optional
        The positions of loss, value and label among the outputs of `eval_network`; by default metrics get all outputs.
    amp_level, boost_level : str, default 'O0'
        As in `build_train_network`.
    loss_scale_manager : LossScaleManager, optional
        The scale of the loss.
    keep_batchnorm_fp32 : bool, optional
        Accepted so that ported code runs; no type is narrowed.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind.
    ValueError
        If metrics have nothing to evaluate, `eval_indexes` are not three, or a loss is scaled without optimiser.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import nn
    >>> from dualgrad.dataset import NumpySlicesDataset
    >>> net = nn.Dense(1, 1, "zeros", "zeros")
    >>> model = dg.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mae"})
    >>> x = np.array([[0.0], [1.0]], np.float32)
    >>> data = NumpySlicesDataset((x, 2 * x + 1)).batch(2)
    >>> model.train(300, data)
    >>> model.eval(data)["mae"] < 1e-3
    True
    >>> print(model.predict(dg.Tensor([[2.0]])).shape)
    (1, 1)
    """

    def __init__(
        self,
        network: Cell,
        loss_fn: Any = None,
        optimizer: Any = None,
        metrics: Any = None,
        eval_network: Cell | None = None,
        eval_indexes: list[int] | None = None,
        amp_level: str = "O0",
        boost_level: str = "O0",
        *,
        loss_scale_manager: LossScaleManager | None = BY_LEVEL,
        keep_batchnorm_fp32: bool | None = None,
    ) -> None:
        if not isinstance(network, Cell):
            raise TypeError(f"Model: network must be a Cell, got {type(network).__name__}")
        if loss_fn is not None and not callable(loss_fn):
            raise TypeError(f"Model: loss_fn must be a function or Cell, got {type(loss_fn).__name__}")
        check_level("Model", "amp_level", amp_level)
        if optimizer is None and loss_scale_manager is not BY_LEVEL and loss_scale_manager is not None:
            raise ValueError("Model: got a loss_scale_manager and no optimizer, for whose gradients it is")
        self._network = network
        self._loss_fn = loss_fn
        self._optimizer = optimizer
        self._narrow = optimizer is not None and amp_level in ("O2", "O3")
        if optimizer is not None:
            self._train_network = build_train_network(
                network, optimizer, loss_fn, amp_level, boost_level, loss_scale_manager, keep_batchnorm_fp32
            )
        else:
            self._train_network = network if loss_fn is None else WithLossCell(network, loss_fn)
        self._metrics = get_metrics(metrics)
        self._eval_network, self._eval_indexes = self._evaluated(eval_network, eval_indexes)

    def _evaluated(self, network: Cell | None, indexes: list[int] | None) -> tuple[Cell | None, list[int] | None]:
        """The Cell that `eval` calls, and the positions of loss, value and label among its outputs."""
        if indexes is not None and (not isinstance(indexes, list) or len(indexes) != 3):
            raise ValueError(f"Model: eval_indexes are the places of loss, value and label; got {indexes!r}")
        if network is not None or not self._metrics:
            return network, indexes
        if self._loss_fn is None:
            raise ValueError("Model: got metrics, and neither eval_network nor loss_fn; give one of them")
        return WithEvalCell(self._network, self._loss_fn, self._narrow), [0, 1, 2]

    @property
    def train_network(self) -> Cell:
        """The Cell that a training step calls: network, loss and optimiser."""
        return self._train_network

    @property
    def predict_network(self) -> Cell:
        """The Cell that `predict` calls: the network."""
        return self._network

    @property
    def eval_network(self) -> Cell | None:
        """The Cell that `eval` calls."""
        return self._eval_network

    # Training.

    def train(
        self,
        epoch: int,
        train_dataset: Dataset,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Run epochs of training.

        Parameters
        ----------
        epoch : int
            The number of the last epoch.
        train_dataset : Dataset
            Batches: two columns with a `loss_fn`, otherwise the inputs of the network.
        callbacks : Callback or list of Callback, optional
            Called before and after the whole, each epoch and each step.
        dataset_sink_mode, sink_size
            Accepted so that ported code runs; every batch is one step, as in MindSpore on a CPU.
        initial_epoch : int, default 0
            The number of epochs before.

        Raises
        ------
        TypeError
            If an argument is of the wrong kind.
        ValueError
            If no epoch or no batch remains to train with, or a batch has the wrong number of columns.
        """
        self._run("Model.train", epoch, train_dataset, callbacks, initial_epoch, sink_size, None, 1)

    def fit(
        self,
        epoch: int,
        train_dataset: Dataset,
        valid_dataset: Dataset | None = None,
        valid_frequency: int | list[int] = 1,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Run epochs of training, and evaluate after some of them.

        When an epoch ends, callbacks find the values of the metrics, and the mean loss as ``eval_loss``, under
        ``eval_results``.

        Parameters
        ----------
        epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch
            As in `train`.
        valid_dataset : Dataset, optional
            The batches for evaluation.
        valid_frequency : int or list of int, default 1
            The number of epochs between evaluations, or the numbers of the epochs to evaluate.
        valid_dataset_sink_mode
            As `dataset_sink_mode`.

        Raises
        ------
        TypeError
            If an argument is of the wrong kind.
        ValueError
            As in `train`; and if there is a `valid_dataset`, but the model has no metrics.
        """
        if valid_dataset is not None and not self._metrics:
            raise ValueError("Model.fit: got a valid_dataset, and the model has no metrics; give Model some")
        if isinstance(valid_frequency, bool) or not isinstance(valid_frequency, int | list):
            raise TypeError(
                f"Model.fit: valid_frequency must be an int or a list, got {type(valid_frequency).__name__}"
            )
        self._run(
            "Model.fit", epoch, train_dataset, callbacks, initial_epoch, sink_size, valid_dataset, valid_frequency
        )

    def _run(
        self, where: str, epoch: int, data: Any, callbacks: Any, first: int, sink_size: int, valid: Any, frequency: Any
    ) -> None:
        """Run the loop over epochs."""
        for name, value in (("epoch", epoch), ("initial_epoch", first), ("sink_size", sink_size)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{where}: {name} must be an int, got {type(value).__name__}")
        if not 0 <= first < epoch:
            raise ValueError(f"{where}: got epoch={epoch} and initial_epoch={first}; there is no epoch to make")
        if sink_size < -1 or sink_size == 0:
            raise ValueError(f"{where}: sink_size must be -1 or positive, got {sink_size}")
        told = self._told(where, "train", data, callbacks)
        told.update(train_network=self._train_network, epoch_num=epoch - first, train_dataset=data)
        with CallbackManager(told.list_callback) as listeners:
            context = RunContext(told)
            call(listeners, "train", "begin", context)
            for number in range(first + 1, epoch + 1):
                told.cur_epoch_num = number
                call(listeners, "train", "epoch_begin", context)
                self._run_epoch(where, data, told, listeners, context)
                due = number % frequency == 0 if isinstance(frequency, int) else number in frequency
                if valid is not None and due:
                    self._evaluate_beside(valid, told)
                call(listeners, "train", "epoch_end", context)
                told.pop("metrics", None)
                told.pop("eval_results", None)
                if context.get_stop_requested():
                    break
            call(listeners, "train", "end", context)

    def _run_epoch(self, where: str, data: Any, told: Any, listeners: CallbackManager, context: RunContext) -> None:
        """Run the loop over the batches of an epoch."""
        for batch in data.create_tuple_iterator(num_epochs=1):
            if self._loss_fn is not None and len(batch) != 2:
                raise ValueError(f"{where}: a batch has {len(batch)} columns; with a loss_fn there must be two")
            told.cur_step_num += 1
            told.train_dataset_element = tuple(batch)
            call(listeners, "train", "step_begin", context)
            _set_mode(self._train_network, True)
            told.net_outputs = self._train_network(*batch)
            call(listeners, "train", "step_end", context)
            if context.get_stop_requested():
                break

    def _told(self, where: str, mode: str, data: Any, callbacks: Any) -> InternalCallbackParam:
        """The state of the loop for its callbacks, at the start."""
        if not isinstance(data, Dataset):
            raise TypeError(f"{where}: expected a dataset, got {type(data).__name__}; see dualgrad.dataset")
        batches = data.get_dataset_size()
        if not batches:
            raise ValueError(f"{where}: the dataset is empty")
        return InternalCallbackParam(
            mode=mode,
            network=self._network,
            loss_fn=self._loss_fn,
            optimizer=self._optimizer,
            metrics=None,
            batch_num=batches,
            cur_step_num=0,
            dataset_sink_mode=False,
            device_number=1,
            parallel_mode=get_auto_parallel_context("parallel_mode") or ParallelMode.STAND_ALONE,
            list_callback=as_list(where, callbacks),
            train_dataset_element=None,
            last_save_ckpt_step=None,
            latest_ckpt_file=None,
        )

    # Evaluation.

    def eval(self, valid_dataset: Dataset, callbacks: Any = None, dataset_sink_mode: bool = False) -> dict[str, Any]:
        """Evaluate the network.

        Parameters
        ----------
        valid_dataset : Dataset
            Batches: the inputs of `eval_network`, or two columns with a `loss_fn`.
        callbacks : Callback or list of Callback, optional
            Called before and after the whole, and each step.
        dataset_sink_mode
            Accepted so that ported code runs; it has no meaning here.

        Returns
        -------
        dict of str to number
            The values of the metrics over all batches, by their names.

        Raises
        ------
        TypeError
            If an argument is of the wrong kind.
        ValueError
            If the model has no metrics, or the dataset is empty.
        """
        told = self._told("Model.eval", "eval", valid_dataset, callbacks)
        with CallbackManager(told.list_callback) as listeners:
            self._evaluate(valid_dataset, told, listeners, None)
        return told.metrics

    def _evaluate(self, data: Any, told: Any, listeners: CallbackManager, loss: Loss | None) -> None:
        """Run the loop over batches; its end stores the values of the metrics."""
        if self._eval_network is None or not self._metrics:
            raise ValueError("Model.eval: the model has no metrics; give Model some")
        told.update(eval_network=self._eval_network, valid_dataset=data)
        for metric in self._metrics.values():
            metric.clear()
        context = RunContext(told)
        call(listeners, "eval", "begin", context)
        call(listeners, "eval", "epoch_begin", context)
        for batch in data.create_tuple_iterator(num_epochs=1):
            told.cur_step_num += 1
            told.eval_dataset_element = tuple(batch)
            call(listeners, "eval", "step_begin", context)
            _set_mode(self._eval_network, False)
            told.net_outputs = outputs = self._eval_network(*batch)
            call(listeners, "eval", "step_end", context)
            self._measure(outputs, loss)
            if context.get_stop_requested():
                break
        call(listeners, "eval", "epoch_end", context)
        told.metrics = {name: metric.eval() for name, metric in self._metrics.items()}
        if loss is not None:
            told.eval_results = {**copy.deepcopy(told.metrics), "eval_loss": loss.eval()}
        call(listeners, "eval", "end", context)

    def _measure(self, outputs: Any, loss: Loss | None) -> None:
        """Update the metrics with the outputs of a batch."""
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        if not isinstance(outputs, tuple):
            raise TypeError(f"Model.eval: eval_network must return Tensors, got {type(outputs).__name__}")
        places = self._eval_indexes
        if places is not None and len(outputs) <= max(places):
            raise ValueError(f"Model.eval: eval_network returns {len(outputs)} values; eval_indexes are {places}")
        for metric in self._metrics.values():
            if places is None:
                metric.update(*outputs)
            elif isinstance(metric, Loss):
                metric.update(outputs[places[0]])
            else:
                metric.update(outputs[places[1]], outputs[places[2]])
        if loss is not None:
            loss.update(outputs[places[0] if places else 0])

    def _evaluate_beside(self, data: Any, told: Any) -> None:
        """Evaluate between epochs of training; callbacks of the training see the evaluation too."""
        loss = Loss() if self._eval_indexes is not None else None
        inner = self._told("Model.fit", "eval", data, told.list_callback)
        inner.cur_epoch_num = told.cur_epoch_num
        self._evaluate(data, inner, CallbackManager(inner.list_callback), loss)
        told.metrics = inner.metrics
        told.eval_results = inner.get("eval_results", inner.metrics)

    # Prediction.

    def predict(self, *predict_data: Any, backend: str | None = None) -> Any:
        """Call the network, in evaluation mode.

        Parameters
        ----------
        *predict_data
            Its inputs.
        backend : None
            Accepted so that ported code runs; only None is supported.

        Returns
        -------
        object
            The result of the network.

        Raises
        ------
        ValueError
            If another backend is named.
        """
        if backend is not None:
            raise ValueError(f"Model.predict: got backend={backend!r}; there is none but this one, leave it out")
        _set_mode(self._network, False)
        return self._network(*predict_data)


def _set_mode(network: Cell, training: bool) -> None:
    """Set or unset training mode; if it is set as wanted, this visits nothing."""
    if network.training is not training or _differs(network.cells(), training):
        network.set_train(training)


def _differs(cells: Iterable[Cell], training: bool) -> bool:
    return any(cell.training is not training for cell in cells)
