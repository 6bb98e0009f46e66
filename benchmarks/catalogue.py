"""All cases of all benchmark files, by name."""

from collections.abc import Sequence
from fnmatch import fnmatch
from importlib import import_module

from workload import Case

#: In the order of the tables.
BENCHES = (
    "bench_second_order",
    "bench_nested",
    "bench_black_scholes",
    "bench_sabr",
    "bench_rosenbrock",
    "bench_chain",
    "bench_hessian",
    "bench_sparse_hessian",
    "bench_pinn",
    "bench_particles",
    "bench_laplacian",
    "bench_wavefunction",
    "bench_pendulum",
    "bench_rk4",
    "bench_mlp",
    "bench_tape",
    "bench_app_burgers",
    "bench_app_vmc",
    "bench_app_plate",
    "bench_app_gaussian",
    "bench_app_lynx",
    "bench_app_hmc",
    "bench_app_registration",
    "bench_app_implicit",
)

CASES = {case.name: case for bench in BENCHES for case in import_module(bench).CASES}


def select(wanted: Sequence[str]) -> list[Case]:
    """Cases whose name is, begins with (at a slash) or matches (``*``) one of ``wanted``; all for none."""
    for pattern in wanted:
        if not any(_matches(name, pattern) for name in CASES):
            raise ValueError(f"no workload {pattern!r}; there are: {', '.join(CASES)}")
    return [case for name, case in CASES.items() if not wanted or any(_matches(name, w) for w in wanted)]


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or name.startswith(f"{pattern}/") or fnmatch(name, pattern)
