"""What the applications share: scripts of docs/examples as modules, and whole runs of SciPy's L-BFGS.

The rows `application/...` are the scripts of docs/examples, at full size, beside the same numbers in other libraries.
Our side is the script's own code wherever it has a function for what is measured.
"""

import functools
import sys
from collections.abc import Callable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from workload import Run

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"

#: SciPy's L-BFGS as the scripts call it; a value that no longer falls does not end the run.
LBFGS = {"maxcor": 50, "maxls": 50, "gtol": 1e-12, "ftol": 0.0}


@functools.cache
def example(name: str) -> ModuleType:
    """The module of a script, from its path."""
    spec = spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def lbfgs(
    value: Callable[[np.ndarray], Any], start: np.ndarray, iterations: int, gradient: Any = True
) -> list[np.ndarray]:
    """The least value and the point after some iterations; `value` returns a pair, or `gradient` is a function."""
    from scipy.optimize import minimize

    options = LBFGS | {"maxiter": iterations}
    found = minimize(value, start, jac=gradient, method="L-BFGS-B", options=options)
    if found.nit != iterations:
        raise RuntimeError(f"{found.nit} iterations, expected {iterations}: {found.message}")
    return [np.array(found.fun), found.x]


def run_of(step: Callable[[list[np.ndarray]], Any], weights: Sequence[np.ndarray], iterations: int) -> Run:
    """A whole run: `step` takes arrays like `weights`, and returns the loss and its gradients."""
    start = np.concatenate([w.ravel() for w in weights])
    ends = np.cumsum([w.size for w in weights])[:-1]

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        pieces = [piece.reshape(w.shape) for piece, w in zip(np.split(x, ends), weights, strict=True)]
        value, gradients = step(pieces)
        return float(value), np.concatenate([np.asarray(g).ravel() for g in gradients])

    return Run(lambda: lbfgs(value_and_gradient, start, iterations))
