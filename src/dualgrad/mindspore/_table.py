"""The modules of `mindspore`, and the sources of the names in each of them.

A row is a module below `mindspore` and the modules below `dualgrad` that are searched for its names, in this order; a
dot is `dualgrad` itself. A module of dualgrad with the same path is always searched first. The names themselves are
looked up on use, so a name that is added to dualgrad needs no row.

MindSpore defines most names in files of their own and imports them into the package above. Such files have the names of
their package: `_FILES` lists them.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CHILDREN", "MODULES", "RENAMED", "TYPES", "TYPES_IN"]

_ROWS: Final = """
.                            . dtype modes context train common
_checkparam
_extends
_extends.parse
_extends.parse.compile_config  context
amp                          train
common                       . dtype modes context train
common.initializer           _initial_values
communication
communication.management     communication
context
dataset
dataset.config
dataset.transforms
dataset.transforms.transforms  dataset.transforms
dataset.vision
experimental
experimental.optim
experimental.optim.lr_scheduler
hal
log
mindrecord                   dataset.files
mint
mint.nn
mint.nn.functional
mint.linalg                  mint numpy.linalg
mint.optim                   experimental.optim
mint.special                 mint
nn                           train.metrics
nn.probability
nn.probability.bijector
nn.probability.distribution
numpy                        numpy.linalg mindspore._numpy_names
numpy.fft
numpy.linalg
ops                          ops.language modes
parallel                     context
parallel._utils              parallel
profiler
runtime
scipy
scipy.fft
scipy.linalg                 numpy.linalg
scipy.optimize
scipy.ops_wrapper
train                        train.callback train.monitors amp serialization dataset
"""

_FILES: Final = {
    "common": """
        _decorator _register_for_tensor _stub_tensor api dtype generator hook_handle jit_config lazy_inline mutable
        np_dtype parameter recompute seed sparse_tensor tensor
    """,
    "dataset": "core engine engine.datasets engine.iterators engine.samplers",
    "nn": """
        cell dynamic_lr grad grad.cell_grad layer layer.activation layer.basic layer.channel_shuffle layer.combined
        layer.container layer.conv layer.dense layer.embedding layer.flash_attention layer.image layer.math
        layer.normalization layer.padding layer.pooling layer.rnn_cells layer.rnns layer.thor_layer
        layer.timedistributed layer.transformer learning_rate_schedule loss loss.loss metrics optim
        optim._dist_optimizer_registry optim.ada_grad optim.adadelta optim.adafactor optim.adam optim.adamax
        optim.adasum optim.asgd optim.ftrl optim.lamb optim.lars optim.lazyadam optim.momentum optim.optimizer
        optim.proximal_ada_grad optim.rmsprop optim.rprop optim.sgd optim.tft_wrapper optim.thor wrap
        wrap.cell_wrapper wrap.grad_reducer wrap.loss_scale
    """,
    "numpy": "array_creations array_ops dtypes logic_ops math_ops utils utils_const",
    "ops": """
        _grad_experimental _primitive_cache auto_generate auto_generate.gen_ops_def auto_generate.gen_ops_prim composite
        composite.base composite.math_ops composite.multitype_ops composite.random_ops function function.array_func
        function.clip_func function.debug_func function.fft_func function.grad function.grad.grad_func
        function.image_func function.linalg_func function.math_func function.nn_func function.other_func
        function.parameter_func function.random_func function.reshard_func function.sparse_func
        function.sparse_unary_func function.spectral_func function.vmap_func functional operations operations._inner_ops
        operations._grad_ops operations._sequence_ops operations._tensor_array operations.array_ops operations.comm_ops
        operations.control_ops operations.custom_ops operations.debug_ops operations.image_ops operations.inner_ops
        operations.linalg_ops operations.manually_defined operations.math_ops operations.nn_ops operations.other_ops
        operations.random_ops operations.sparse_ops operations.spectral_ops primitive vm_impl_registry
    """,
    "parallel": "_auto_parallel_context _ps_context",
    "train": """
        _utils amp callback callback._callback callback._checkpoint callback._early_stop callback._history
        callback._lambda_callback callback._loss_monitor callback._lr_scheduler_callback callback._reduce_lr_on_plateau
        callback._summary_collector callback._time_monitor data_sink dataset_helper loss_scale_manager metrics
        metrics.accuracy metrics.error metrics.loss metrics.metric metrics.topk model serialization summary
        summary.summary_record
    """,
}


def _rows() -> dict[str, tuple[str, ...]]:
    """The rows as a dict: the path below `mindspore` ("" for itself), and the modules of dualgrad with its names."""
    found = {}
    for line in _ROWS.strip().splitlines():
        path, *sources = line.split()
        path = path.strip(".")
        own = f"dualgrad.{path}".rstrip(".")
        found[path] = (own, *(f"dualgrad.{source}".rstrip(".") for source in sources))
    for folder, files in _FILES.items():
        for file in files.split():
            path = f"{folder}.{file}"
            found[path] = (f"dualgrad.{path}", *found[folder])
    return {path: tuple(dict.fromkeys(sources)) for path, sources in found.items()}


MODULES: Final = _rows()
for _path in ("ops.operations._grad_ops", "ops.auto_generate", "ops.auto_generate.gen_ops_prim"):
    MODULES[_path] += ("dualgrad.mindspore._gradient_primitives",)

# Names that differ in dualgrad.
RENAMED: Final = {
    "DatasetHelper": "dualgrad.dataset.DatasetHelper",
    "_Function": "dualgrad.transforms.custom.Function",
    "common._Function": "dualgrad.transforms.custom.Function",
    "_extends.cell_attr_register": "dualgrad.mindspore._helpers.cell_attr_register",
    "_extends.parse.compile_config.CHECK_BPROP": "dualgrad.mindspore._helpers.CHECK_BPROP",
    "common.initializer._INITIALIZER_ALIAS": "dualgrad._initial_values._BY_NAME",
    "is_tensor": "dualgrad.ops.is_tensor",
    "manual_seed": "dualgrad.set_seed",
    "from_numpy": "dualgrad.tensor.Tensor.from_numpy",
    "dataset.engine.datasets._set_training_dataset": "dualgrad.mindspore._helpers.keep_dataset",
    "runtime.launch_blocking": "dualgrad.mindspore._helpers.launch_blocking",
    "train.model._StepSync": "dualgrad.mindspore._helpers.StepSync",
    "train.model._transfer_tensor_to_tuple": "dualgrad.mindspore._helpers.as_tuple",
    "scipy.ops_wrapper.matrix_set_diag": "dualgrad.mindspore._helpers.matrix_set_diag",
    "common.parameter._Buffer": "dualgrad.nn._state.Buffer",
    "nn.GraphCell": "dualgrad.train.graphs.GraphCell",
    "numpy.float_": "dualgrad.dtype.float32",
    "numpy.utils._to_tensor": "dualgrad.mindspore._helpers.tensors_of",
    "numpy.utils_const._raise_type_error": "dualgrad.mindspore._helpers.raise_type_error",
    "numpy.utils_const._raise_value_error": "dualgrad.mindspore._helpers.raise_value_error",
    "ops._primitive_cache._get_cache_prim": "dualgrad.mindspore._helpers.primitive_of",
    "ops.function.math_func.F": "dualgrad.ops.functional",
    "ops.function.nn_func._get_cache_prim": "dualgrad.mindspore._helpers.primitive_of",
    "ops.function.nn_func._innner_log_softmax": "dualgrad.ops.log_softmax",
    "ops.Conv2DBackpropInput": "dualgrad.mindspore._gradient_primitives.Conv2DBackpropInput",
    "ops.operations.Conv2DBackpropInput": "dualgrad.mindspore._gradient_primitives.Conv2DBackpropInput",
    "ops.operations.nn_ops.Conv2DBackpropInput": "dualgrad.mindspore._gradient_primitives.Conv2DBackpropInput",
    "ops.TensorAdd": "dualgrad.ops.Add",
    "ops.functional.is_sequence_shape_unknown": "dualgrad.mindspore._helpers.is_unknown",
    "ops.functional.is_sequence_value_unknown": "dualgrad.mindspore._helpers.is_unknown",
    "ops.operations._inner_ops.ConvertToDynamic": "dualgrad.mindspore._helpers.Identity",
    "ops.operations.TensorAdd": "dualgrad.ops.Add",
    "nn.layer.activation._activation": "dualgrad.nn.activations._BY_NAME",
}

# Types that dualgrad's tensors do not have. Ported code has them in default arguments, so reading them is allowed.
TYPES: Final = (
    "bfloat16", "float8_e4m3fn", "float8_e5m2", "hifloat8", "qint4x2", "string", "float_", "int_", "uint", "number",
    "tensor_type", "list_", "tuple_", "type_none",
)  # fmt: skip
TYPES_IN: Final = ("", "common", "common.dtype")

# C's names of types.
_SECOND_NAMES: Final = {
    "byte": "int8", "ubyte": "uint8", "short": "int16", "ushort": "uint16", "intc": "int32", "uintc": "uint32",
    "intp": "int64", "uintp": "uint64", "long": "int64", "single": "float32", "cfloat": "complex64",
    "cdouble": "complex128",
}  # fmt: skip
for _path in TYPES_IN:
    RENAMED.update({f"{_path}.{name}".lstrip("."): f"dualgrad.dtype.{of}" for name, of in _SECOND_NAMES.items()})

# The names of the modules directly below each module.
CHILDREN: Final[dict[str, list[str]]] = {path: [] for path in MODULES}
for _path in filter(None, MODULES):
    CHILDREN[_path.rpartition(".")[0]].append(_path.rpartition(".")[2])
