"""From the start of a process to an import, and to the first gradient, for each library that is installed.

    python benchmarks/startup.py [--rounds N]

Every figure is the median over fresh processes, which alternate. The gradient is that of ``sum(x * sin(x))``
with three elements; the program is what a user of the library would write, and ends when the numbers are there.
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import time

IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"

PROGRAMS = {
    "dualgrad": """
import dualgrad as dg
from dualgrad import ops
dg.grad(lambda x: (x * ops.sin(x)).sum())(dg.Tensor([1.0, 2.0, 3.0])).asnumpy()
""",
    "dualgrad, recorded": """
import dualgrad as dg
from dualgrad import ops
gradient = dg.jit(dg.grad(lambda x: (x * ops.sin(x)).sum()))
gradient(dg.Tensor([1.0, 2.0, 3.0])).asnumpy()
""",
    "autograd": """
import autograd.numpy as np
from autograd import grad
grad(lambda x: (x * np.sin(x)).sum())(np.array([1.0, 2.0, 3.0]))
""",
    "jax": """
import jax
from jax import numpy as jnp
jax.grad(lambda x: (x * jnp.sin(x)).sum())(jnp.array([1.0, 2.0, 3.0])).block_until_ready()
""",
    "torch": """
import torch
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
torch.autograd.grad((x * torch.sin(x)).sum(), x)[0].numpy()
""",
    "casadi": """
import casadi as ca
x = ca.SX.sym("x", 3)
ca.Function("gradient", [x], [ca.gradient(ca.dot(x, ca.sin(x)), x)])([1.0, 2.0, 3.0])
""",
}


# Processes as users have them: byte code is written once and then found.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def import_seconds(module: str) -> float:
    """Seconds the import statement takes, in a process that has imported nothing else."""
    command = [sys.executable, "-c", IMPORT.format(module)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return float(out.stdout)


def process_seconds(program: str) -> float:
    """Seconds from the start of a process until ``program`` is through; its exit is not waited for."""
    start = time.perf_counter()
    command = [sys.executable, "-c", program + "\nprint('done', flush=True)"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        answer = process.stdout.readline()
        seconds = time.perf_counter() - start
    if answer != "done\n":
        raise RuntimeError(f"failed: {program}")
    return seconds


def report(rounds: int) -> list[str]:
    """The table as lines."""
    programs = {"(nothing)": ""} | {
        name: text for name, text in PROGRAMS.items() if importlib.util.find_spec(name.split(",")[0]) is not None
    }
    imports: dict[str, list[float]] = {"numpy": [], "dualgrad": []}
    gradients: dict[str, list[float]] = {name: [] for name in programs}
    for program in programs.values():
        process_seconds(program)
    for _ in range(rounds):
        for module, seconds in imports.items():
            seconds.append(import_seconds(module))
        for name, seconds in gradients.items():
            seconds.append(process_seconds(programs[name]))
    numpy, dualgrad = (1e3 * statistics.median(imports[module]) for module in ("numpy", "dualgrad"))
    lines = [
        f"import: numpy {numpy:.0f} ms, dualgrad (with numpy) {dualgrad:.0f} ms, ratio {dualgrad / numpy:.2f}",
        "process start to first gradient:",
    ]
    for name, seconds in gradients.items():
        lines.append(f"  {name:<20}{1e3 * statistics.median(seconds):8.0f} ms")
    left_out = [name for name in PROGRAMS if name not in programs]
    if left_out:
        lines.append(f"left out: {', '.join(left_out)}: not installed")
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time imports and first gradients in fresh processes.")
    parser.add_argument("--rounds", type=int, default=5, help="processes for each figure (default: 5)")
    print("\n".join(report(parser.parse_args().rounds)))
