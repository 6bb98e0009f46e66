"""Names that users of other frameworks look for, and advice on the equivalent here. Only error messages use it.

There is one table for each kind of owner. In a class, each name is a descriptor that raises. It costs nothing until it
is read (a `__getattr__` would slow every attribute down), and `hasattr` stays False.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final, NoReturn

__all__ = ["attach", "check_keywords", "missing", "refuse_keywords", "without_foreign"]

_RETURNED: Final = "gradients are returned by dualgrad.grad and dualgrad.value_and_grad and stored nowhere"
_TAPE: Final = "what is computed is recorded only while a gradient is taken"
_CPU: Final = "all tensors are on the CPU; leave it out"
_CUT: Final = "use ops.stop_gradient(x)"
_NUMBERS: Final = "use x.asnumpy()"
_WEIGHTS: Final = "dualgrad.value_and_grad(fn, None, net.trainable_params()) for the weights of a Cell"

TENSOR: Final = {
    "backward": f"write what leads to it as a function fn and call dualgrad.grad(fn)(x), or {_WEIGHTS}",
    "grad": f"{_RETURNED}: call dualgrad.grad(fn)(x)",
    "requires_grad": "dualgrad.grad(fn, grad_position) says which inputs are differentiated; a Parameter has the flag",
    "requires_grad_": "dualgrad.grad(fn, grad_position) says which inputs are differentiated; make weights a Parameter",
    "retain_grad": "use x.register_hook(fn), which is called with the gradient",
    "grad_fn": f"{_TAPE}; dualgrad.explain(fn) shows the program of a function",
    "is_leaf": _TAPE,
    "detach": _CUT,
    "detach_": "use x = ops.stop_gradient(x)",
    "stop_gradient": _CUT,
    "data": "use ops.stop_gradient(x), or x.asnumpy() for the numbers",
    "cuda": _CPU,
    "cpu": _CPU,
    "is_cuda": _CPU,
    "pin_memory": _CPU,
    "devices": "use x.device: all tensors are on the CPU",
    "share_memory_": "use dualgrad.distributed, or x.asnumpy() for the numbers",
    "at": "copy and assign: y = x.copy(); y[index] = value; derivatives pass",
    "block_until_ready": "reading the numbers waits for them: x.asnumpy()",
    "aval": "use x.shape and x.dtype",
    "weak_type": "use x.dtype",
    "element_size": "use x.itemsize",
    "new_tensor": "use dualgrad.Tensor(data, x.dtype)",
    "char": "use x.astype(dualgrad.int8)",
    "bfloat16": "there is no such type here; use x.half() or x.float()",
    "relu": "use ops.relu(x)",
    "log_softmax": "use ops.log_softmax(x)",
    "dot": "use x @ y, or ops.dot(x, y)",
    "mv": "use x @ v",
    "eig": "use ops.eig(x)",
    "assign": "use x.assign_value(value)",
    "assign_add": "use x += value",
    "get_shape": "use x.shape",
    "set_shape": "use x.reshape(shape)",
    "t_": "use x = x.T",
    "squeeze_": "use x = x.squeeze()",
    "unsqueeze_": "use x = x.unsqueeze(axis)",
    "tobytes": "use x.asnumpy().tobytes()",
    "tofile": "use x.asnumpy().tofile(file)",
    "flat": "use x.flatten()",
    "put": "use dualgrad.numpy.put",
    "choose": "use dualgrad.numpy.choose",
    "compress": "use dualgrad.numpy.compress",
    "partition": "use dualgrad.numpy.partition",
    "flags": _NUMBERS,
    "base": _NUMBERS,
    "ctypes": _NUMBERS,
    "data_ptr": _NUMBERS,
    "storage": _NUMBERS,
    "untyped_storage": _NUMBERS,
}

CELL: Final = {
    "parameters": "use trainable_params(), or get_parameters() for all",
    "named_parameters": "use parameters_and_names()",
    "modules": "use cells_and_names()",
    "named_modules": "use cells_and_names()",
    "children": "use cells()",
    "named_children": "use name_cells()",
    "add_module": "use insert_child_to_cell(name, cell), or assign it to an attribute",
    "register_parameter": "use insert_param_to_cell(name, parameter), or assign it to an attribute",
    "train": "use set_train()",
    "eval": "use set_train(False)",
    "zero_grad": f"{_RETURNED}, so nothing is to be cleared; leave it out",
    "requires_grad_": "set requires_grad of each Parameter: for p in net.get_parameters(): p.requires_grad = False",
    "forward": "call the Cell itself; its method is called construct",
    "cuda": _CPU,
    "cpu": _CPU,
    "to": "all tensors are on the CPU; layers take their type as dtype=",
    "half": "layers take their type as dtype=dualgrad.float16",
    "double": "layers take their type as dtype=dualgrad.float64, each its own: dualgrad.set_default_dtype leaves them",
    "float": "layers take their type as dtype=dualgrad.float32",
    "fit": "use dualgrad.Model(net, loss_fn, optimizer).train(epochs, data)",
    "summary": "print(net) shows the Cells; net.parameters_and_names() has the parameters",
}

OPTIMIZER: Final = {
    "step": "call the optimiser with the gradients: opt(gradients), in the order of opt.parameters; "
    f"{_WEIGHTS} gives them",
    "zero_grad": f"{_RETURNED}, so nothing is to be cleared; leave it out",
    "param_groups": "groups are given when the optimiser is made, as dicts; opt.parameters has what is trained, and "
    "opt.learning_rate.set_data(0.01) changes the rate",
    "add_param_group": "groups are given when the optimiser is made, as dicts",
    "update": "call the optimiser with the gradients: opt(gradients) changes the Parameters in place",
    "init": "the state is made with the optimiser and lies in it; call it with the gradients: opt(gradients)",
    "apply_gradients": "call the optimiser with the gradients: opt(gradients)",
    "minimize": "take the gradients by dualgrad.value_and_grad, and call the optimiser with them: opt(gradients)",
}

_INTEGRATE: Final = "use dualgrad.ode.odeint, or scipy.integrate.solve_ivp with dualgrad.scipy.rhs"
_MINIMIZE: Final = "use dualgrad.scipy.fit, or scipy.optimize.minimize with dualgrad.scipy.objective"
_LEAST: Final = (
    "use dualgrad.scipy.fit(fn, start, method='lm'), where fn returns the residuals, or scipy.optimize.least_squares "
    "with dualgrad.scipy.residuals"
)
_ROOT: Final = "use dualgrad.root, or scipy.optimize.root with dualgrad.scipy.system"
_RATES: Final = (
    "optimisers here take a schedule as learning_rate: nn.ExponentialDecayLR, nn.CosineDecayLR, or a list of rates as "
    "of nn.piecewise_constant_lr; those of dualgrad.experimental.optim take PyTorch's, of its lr_scheduler"
)
_NO_TAPE: Final = f"{_TAPE}, so there is nothing to switch off; inside of one ops.stop_gradient(x) cuts it"

MODULES: Final = {
    "dualgrad": {
        "no_grad": _NO_TAPE,
        "enable_grad": _TAPE,
        "set_grad_enabled": _NO_TAPE,
        "inference_mode": _NO_TAPE,
        "is_grad_enabled": _TAPE,
        "autograd": "use dualgrad.grad, value_and_grad, vjp, jvp, jacrev and hessian, which take functions",
        "func": "use dualgrad.grad, vjp, jvp, jacrev, jacfwd, hessian and vmap themselves",
        "functional": "use dualgrad.ops, or dualgrad.grad, vjp and jvp",
        "GradientTape": "use dualgrad.grad(fn) of a function",
        "jacobian": "use dualgrad.jacrev(fn), or dualgrad.jacfwd(fn) where there are fewer inputs than outputs",
        "elementwise_grad": "use dualgrad.grad(fn), which differentiates the sum of all elements",
        "holomorphic_grad": "use dualgrad.grad(fn)",
        "deriv": "use dualgrad.derivative(fn, primals, order)",
        "custom_jvp": "use dualgrad.extend.primitive(name, fn, jvp=rule)",
        "custom_gradient": "use dualgrad.custom_vjp",
        "stop_gradient": _CUT,
        "checkpoint": "use dualgrad.recompute",
        "remat": "use dualgrad.recompute",
        "compile": "use dualgrad.jit(fn)",
        "function": "use dualgrad.jit(fn)",
        "make_jaxpr": "use dualgrad.explain(fn)",
        "lax": "use dualgrad.scan, while_loop, fori_loop and cond, and dualgrad.ops for all else",
        "pmap": "use dualgrad.vmap, or dualgrad.distributed for several processes",
        "pjit": "use dualgrad.jit, or dualgrad.distributed for several processes",
        "tree_map": "transforms take pytrees as they are; dualgrad.register_pytree adds a class",
        "tree_util": "transforms take pytrees as they are; dualgrad.register_pytree adds a class",
        "tree": "transforms take pytrees as they are; dualgrad.register_pytree adds a class",
        "manual_seed": "use dualgrad.set_seed",
        "seed": "use dualgrad.set_seed",
        "enable_x64": "use dualgrad.set_default_dtype(dualgrad.float64); layers take their type as dtype=",
        "special": "use dualgrad.scipy.special, which is imported by itself, or dualgrad.ops",
        "interpolate": "use dualgrad.scipy.interpolate for splines, ops.interpolate for images",
        "odeint": _INTEGRATE,
        "solve_ivp": _INTEGRATE,
        "integrate": _INTEGRATE,
        "minimize": _MINIMIZE,
        "optimize": _MINIMIZE,
        "curve_fit": _LEAST,
        "least_squares": _LEAST,
        "from_numpy": "use dualgrad.Tensor(array), or dualgrad.Tensor.from_numpy(array) to share its memory",
        "as_tensor": "use dualgrad.Tensor",
        "is_tensor": "use isinstance(x, dualgrad.Tensor)",
        "Variable": "use dualgrad.Parameter",
        "Module": "use dualgrad.nn.Cell, whose method is called construct",
        "Cell": "use dualgrad.nn.Cell",
        "optim": "use dualgrad.nn: nn.Adam, nn.SGD, nn.AdamWeightDecay ...",
        "optimizers": "use dualgrad.nn: nn.Adam, nn.SGD, nn.AdamWeightDecay ...",
        "device": _CPU,
        "devices": _CPU,
        "device_put": _CPU,
        "device_get": _NUMBERS,
        "cuda": _CPU,
        "block_until_ready": "reading the numbers waits for them: x.asnumpy()",
        "config": "use dualgrad.set_default_dtype(dualgrad.float64) for double precision, dualgrad.set_context",
        "set_default_tensor_type": "use dualgrad.set_default_dtype",
        "save": "use dualgrad.save_checkpoint, or pickle",
        "load": "use dualgrad.load_checkpoint, or pickle",
        "float": "use dualgrad.float32",
        "int": "use dualgrad.int32",
        "long": "use dualgrad.int64",
        "bool": "use dualgrad.bool_",
        "bfloat16": "there is no such type here; use dualgrad.float16 or dualgrad.float32",
        "np": "use dualgrad.numpy",
        "jnp": "use dualgrad.numpy",
    },
    "dualgrad.nn": {
        "Linear": "use nn.Dense(in_channels, out_channels)",
        "Module": "use nn.Cell, whose method is called construct",
        "Sequential": "use nn.SequentialCell",
        "ModuleList": "use nn.CellList",
        "ModuleDict": "use nn.CellDict",
        "Parameter": "use dualgrad.Parameter",
        "ParameterList": "use dualgrad.ParameterTuple",
        "functional": "use dualgrad.ops",
        "init": "use dualgrad.common.initializer",
        "utils": "ops.clip_by_global_norm clips gradients",
        "ConvTranspose1d": "use nn.Conv1dTranspose",
        "ConvTranspose2d": "use nn.Conv2dTranspose",
        "ConvTranspose3d": "use nn.Conv3dTranspose",
        "Bilinear": "use nn.BiDense",
        "Hardswish": "use nn.HSwish",
        "AdamW": "use nn.AdamWeightDecay",
        "RMSprop": "use nn.RMSProp",
        "Adamax": "use nn.AdaMax",
        "LBFGS": "use dualgrad.scipy.fit(loss, net.trainable_params()), whose method is L-BFGS-B",
        "optim": "the optimisers are here: nn.Adam, nn.SGD, nn.AdamWeightDecay ...",
        "lr_scheduler": _RATES,
        "StepLR": _RATES,
        "MultiStepLR": _RATES,
        "ExponentialLR": _RATES,
        "CosineAnnealingLR": _RATES,
        "LambdaLR": _RATES,
        "DataParallel": "use dualgrad.distributed",
    },
    "dualgrad.scipy": {
        "minimize": _MINIMIZE,
        "curve_fit": _LEAST,
        "least_squares": _LEAST,
        "root": _ROOT,
        "fsolve": _ROOT,
        "integrate": _INTEGRATE,
        "odeint": _INTEGRATE,
        "solve_ivp": _INTEGRATE,
        "stats": "use dualgrad.stats",
        "sparse": "use dualgrad.sparse",
    },
    "dualgrad.ops": {
        "no_grad": _NO_TAPE,
        "detach": _CUT,
        "linear": "use ops.dense(x, weight, bias)",
        "lax": "use dualgrad.scan, while_loop, fori_loop and cond, and ops for all else",
        "normalize": "divide by the norm: x / ops.norm(x, dim=axis, keepdim=True)",
        "checkpoint": "use dualgrad.recompute",
        "manual_seed": "use dualgrad.set_seed",
        "tensor": "use dualgrad.Tensor",
        "array": "use dualgrad.Tensor, or dualgrad.numpy.array",
    },
}

# By keyword: the names of the same setting here, of which the called function has at least one, and further advice.
_POSITION: Final = "positions count from 0, and a tuple of one gives a bare gradient"
_AGAIN: Final = "any gradient can be taken again and differentiated again; leave it out"
KEYWORDS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "argnums": (("grad_position",), _POSITION),
    "argnum": (("grad_position",), _POSITION),
    "create_graph": ((), _AGAIN),
    "retain_graph": ((), _AGAIN),
    "inputs": (("grad_position",), "inputs are given when the gradient function is called, and chosen by position"),
    "requires_grad": ((), "dualgrad.grad(fn, grad_position) says which inputs are differentiated; a Parameter has it"),
    "in_dims": (("in_axes",), ""),
    "out_dims": (("out_axes",), ""),
    "lr": (("learning_rate",), ""),
    "betas": (("beta1", "beta2"), "two numbers"),
    "amsgrad": (("use_amsgrad",), ""),
    "nesterov": (("use_nesterov",), ""),
    "eps": (("epsilon",), ""),
    "epsilon": (("eps",), ""),
    "parameters": (("params",), ""),
    "in_features": (("in_channels", "input_size"), ""),
    "out_features": (("out_channels", "hidden_size"), ""),
    "bias": (("has_bias",), ""),
    "groups": (("group",), ""),
    "num_embeddings": (("vocab_size",), ""),
    "embedding_dim": (("embedding_size",), ""),
    "negative_slope": (("alpha",), ""),
    "elementwise_affine": ((), "gamma and beta are always there; freeze them by requires_grad = False"),
    "dim": (("axis",), ""),
    "axis": (("dim",), ""),
    "device": ((), _CPU),
}


class _Foreign:
    """An attribute of another framework. Reading it raises an error with advice."""

    __slots__ = ("advice", "name")

    def __init__(self, name: str, advice: str) -> None:
        self.name = name
        self.advice = advice

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        text = f"{owner.__name__!r} object has no attribute {self.name!r}: {self.advice}"
        raise AttributeError(text, name=self.name)  # given a name, Python adds no suggestion of its own


def attach(cls: type, table: Mapping[str, str]) -> None:
    """Add each name of a table that a class lacks, so that reading it raises with its advice."""
    for name, advice in table.items():
        if not any(name in vars(base) for base in cls.__mro__):  # `hasattr` would import methods
            setattr(cls, name, _Foreign(name, advice))


def without_foreign(x: Any, names: Iterable[str]) -> list[str]:
    """The names that are attributes of an object and not mere advice."""
    return [name for name in names if not isinstance(inspect.getattr_static(x, name, None), _Foreign)]


def missing(module: str, name: str) -> AttributeError:
    """The error for a name that a module lacks. Its advice: the equivalent here, the owning module, or a close name."""
    text = f"module {module!r} has no attribute {name!r}"
    advice = "" if name.startswith("_") else _advice(module, name)  # Python and other programs look for these
    # Given a name, Python adds no suggestion of its own.
    return AttributeError(f"{text}{advice}", name=name) if advice else AttributeError(text)


def _advice(module: str, name: str) -> str:
    """The advice in the error for a name that a module lacks."""
    if advice := MODULES.get(module, {}).get(name):
        return f": {advice}"
    import difflib  # takes time to import, and a wrong name is rare
    from importlib.util import find_spec

    if name.isidentifier() and find_spec(f"{module}.{name}"):
        return f": it is a module that is imported by itself, import {module}.{name}"
    places = ("dualgrad", "dualgrad.ops", "dualgrad.nn", "dualgrad.scipy", "dualgrad.numpy")
    offered = {place: vars(sys.modules[place]).get("__all__", ()) for place in places if place in sys.modules}
    if found := [f"{place}.{name}" for place in offered if name in offered[place]]:
        return f": use {' or '.join(found)}"
    names: dict[str, list[str]] = {}
    for each in offered.get(module, ()):
        names.setdefault(each.lower(), []).append(each)
    close = [each for key in difflib.get_close_matches(name.lower(), names, n=2, cutoff=0.75) for each in names[key]]
    if close:
        return f". Did you mean {' or '.join(close)}?"
    if name in getattr(sys.modules.get("dualgrad.numpy"), "__all__", ()):  # dualgrad.numpy collects these names
        return f": use dualgrad.numpy.{name}"
    return ""


def refuse_keywords(name: str, accepted: Container[str], keywords: Iterable[str]) -> None:
    """Raise for a keyword of another framework that a function does not accept."""
    for keyword in keywords:
        if keyword in KEYWORDS and keyword not in accepted:
            names, advice = KEYWORDS[keyword]
            here = [each for each in names if each in accepted]
            if here or not names:
                use = f"use {' and '.join(here)}" if here else ""
                raise TypeError(f"{name}: there is no keyword {keyword!r}: {'; '.join(filter(None, (use, advice)))}")


def check_keywords(name: str, fn: Callable[..., Any], keywords: Iterable[str]) -> None:
    """Call `refuse_keywords` with the parameters of a function."""
    if KEYWORDS.keys().isdisjoint(keywords):
        return
    parameters = inspect.signature(fn).parameters
    if all(p.kind is not p.VAR_KEYWORD for p in parameters.values()):
        refuse_keywords(name, parameters, keywords)
