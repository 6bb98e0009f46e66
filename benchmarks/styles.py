"""How each library wants to be used: what the contenders of one library have in common.

A workload file says *what* is computed; here is how a function of arrays becomes a `Run` in a library: arrays
are converted, functions compiled or recorded, results waited for.

Programs against MindSpore's Python API are written once: ``program(package, *arguments)`` takes the package
(dualgrad or mindspore) and returns a function of tensors and the tensors. That one source serves both is part
of what is measured: a user's program does not change.
"""

import importlib
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from workload import Run, leaves

Program = Callable[..., tuple[Callable[..., Any], Sequence[Any]]]


#: libraries whose programs here keep float32
OF_EVERY_TYPE = ("dualgrad", "jax", "torch", "mindspore")


def of_type(rivals: Mapping[str, Callable[..., Run]], dtype: str) -> dict[str, Callable[..., Run]]:
    """Those rivals that compute in a type."""
    return {name: r for name, r in rivals.items() if dtype == "float64" or name.split()[0] in OF_EVERY_TYPE}


def contenders(
    program: Program,
    rivals: Mapping[str, Callable[..., Run]],
    arguments: Callable[[], Sequence[Any]] = tuple,
    others: Mapping[str, Program | None] | None = None,
) -> dict[str, Callable[[], Run]]:
    """All contenders of a case: the faces of ``program``, then the rivals.

    ``program`` runs in dualgrad, as it is, recorded (``jit``) and as machine code (``native``), and in MindSpore's
    Graph mode. ``others`` are programs for further faces, or in place of these (None: no such contender).
    ``arguments()`` are the arrays and sizes that each of them is called with, made when a contender is.
    """
    faces = ("dualgrad", "dualgrad jit", "dualgrad native", "mindspore graph")
    programs = dict.fromkeys(faces, program) | dict(others or {})
    factories = {name: partial(face, name, its) for name, its in programs.items() if its} | dict(rivals)
    return {name: lambda factory=factory: factory(*arguments()) for name, factory in factories.items()}


def face(name: str, program: Program, *arguments: Any) -> Run:
    """``program`` in the library and mode that ``name`` says."""
    library, *variant = name.split()
    package = importlib.import_module(library)
    mode = package.GRAPH_MODE if "graph" in variant else package.PYNATIVE_MODE

    def enter() -> None:
        package.set_context(mode=mode)
        if library == "dualgrad":
            package.set_context(native="force" if "native" in variant else False)

    enter()
    function, tensors = program(package, *arguments)
    if "native" in variant:
        function = _called(function)  # equal functions share programs, and those of others stay as they are
    # In Graph mode a Cell is compiled anyway; a function is not.
    if "jit" in variant or "native" in variant or ("graph" in variant and not isinstance(function, package.nn.Cell)):
        function = package.jit(function)
    if library == "mindspore":
        # Its calls return before the work is done; reading the results waits for it.
        return Run(lambda: list(leaves(function(*tensors))), enter)
    return Run(lambda: function(*tensors), enter, recorded=(function, tensors) if "jit" in variant else None)


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *tensors: function(*tensors)


def jax_jit(function: Callable[..., Any], *arguments: Any) -> Run:
    """``function`` of nests of arrays, compiled."""
    import jax

    compiled, tensors = jax.jit(function), jax_arrays(*arguments)
    return Run(lambda: jax.block_until_ready(compiled(*tensors)))


def jax_eager(function: Callable[..., Any], *arguments: Any) -> Run:
    """``function`` operation by operation, traced anew at every call."""
    import jax

    tensors = jax_arrays(*arguments)
    return Run(lambda: jax.block_until_ready(function(*tensors)))


def jax_arrays(*arguments: Any) -> Any:
    """Nests of NumPy arrays as JAX arrays of the same dtypes."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.tree.map(jax.numpy.asarray, arguments)


def torch_tensors(*arguments: Any) -> Any:
    """Nests of NumPy arrays as torch tensors that share nothing with them."""
    import torch

    return torch.utils._pytree.tree_map(torch.tensor, arguments)


def torch_value_and_grad(function: Callable[..., Any], argnums: int | tuple[int, ...]) -> Callable[..., Any]:
    """``value_and_grad`` of a function that returns a pair; ``torch.func`` has ``grad_and_value`` only."""
    import torch

    both = torch.func.grad_and_value(function, argnums, has_aux=True)
    return lambda *args: both(*args)[::-1]


def torch_eager(function: Callable[..., Any], *arguments: Any) -> Run:
    """``function`` as it is, on tensors that do not require a gradient (``torch.func`` asks for none)."""
    tensors = torch_tensors(*arguments)
    return Run(lambda: function(*tensors))


def torch_compile(function: Callable[..., Any], *arguments: Any) -> Run:
    """``function`` through ``torch.compile``, for these shapes."""
    import torch

    torch._dynamo.reset()  # otherwise a shape seen earlier makes this one dynamic
    compiled, tensors = torch.compile(function, dynamic=False), torch_tensors(*arguments)
    return Run(lambda: compiled(*tensors))


def casadi(function: Any, arguments: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]], aside: str = "") -> Run:
    """A CasADi ``Function`` called through its buffers, the way that costs least.

    CasADi's matrices are dense and lie column by column, so that a (3, n) of CasADi is an (n, 3) of NumPy.
    ``shapes`` are those of the results. What one call returns is overwritten by the next.
    """
    inputs = [np.ascontiguousarray(a, dtype=np.float64) for a in arguments]
    outputs = [np.empty(shape) for shape in shapes]
    for i, out in enumerate(outputs):
        assert function.nnz_out(i) == out.size, f"result {i} of {function} is not a dense one of {out.size} numbers"
    buffers, trigger = function.buffer()
    for i, array in enumerate(inputs):
        buffers.set_arg(i, memoryview(array))
    for i, array in enumerate(outputs):
        buffers.set_res(i, memoryview(array))

    def call() -> list[np.ndarray]:
        trigger()
        return outputs

    call.keeps = buffers, inputs  # the buffers hold addresses, not references
    return Run(call, aside=aside)


def casadi_c(function: Any) -> Any:
    """The same CasADi ``Function``, through generated C and the system's compiler."""
    import casadi as ca

    # The library stays loaded, the folder need not.
    with tempfile.TemporaryDirectory() as folder:
        generator = ca.CodeGenerator(f"{function.name()}.c")
        generator.add(function)
        source = generator.generate(f"{folder}/")
        library = Path(folder, "compiled.so")
        subprocess.run(
            ["cc", "-O3", "-march=native", "-fPIC", "-shared", source, "-o", library, "-lm"],
            check=True,
            capture_output=True,
        )
        return ca.external(function.name(), str(library))
