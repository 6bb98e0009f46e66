"""What is refused: packages that are missing, arguments that do not fit, functions that cannot be distributed."""

import os
import sys
import threading
import types

import numpy as np
import pytest
from shard_cases import CHUNK, POINT, X, Y, misfit
from worker_tasks import threads_at_work, threads_of_process

import dualgrad as dg
from dualgrad import Parameter, Tensor, distributed, nn, ops
from dualgrad.distributed import Shards, SumOfShards

#: engine -> the packages that it needs, and the extra that installs them
PACKAGES = {
    "joblib": (("joblib", "cloudpickle", "threadpoolctl"), "joblib"),
    "dask": (("distributed", "cloudpickle", "threadpoolctl"), "dask"),
    "ray": (("ray",), "ray"),
    "mpi": (("mpi4py",), "mpi"),
}


@pytest.mark.parametrize(("engine", "package"), [(e, p) for e, (packages, _) in PACKAGES.items() for p in packages])
def test_a_missing_package_is_named(engine, package, monkeypatch):
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    extra = PACKAGES[engine][1] if package not in ("cloudpickle", "threadpoolctl") else "joblib"
    with pytest.raises(ImportError, match=rf"needs {package}; install it with pip install 'dualgrad\[{extra}\]'"):
        distributed.connect(engine, workers=1)


def test_the_library_that_mpi_needs_is_named(monkeypatch):
    for name in "mpi4py", "mpi4py.MPI":
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="an MPI library beside it"):
        distributed.connect("mpi")


def test_scipy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match=r"multi_start needs scipy; install it with pip install 'dualgrad\[scipy\]'"):
        distributed.multi_start(lambda x: x.sum(), [np.ones(2)], backend="local")


def test_engines_are_imported_when_they_are_asked_for():
    """In a new process, since others have asked here."""
    import subprocess

    code = (
        "import sys, dualgrad.distributed as d; d.connect('local'); "
        "print({'joblib', 'dask', 'distributed', 'ray', 'mpi4py'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "set()\n", done.stderr


# ------------------------------------------------------------------------------------------------------- arguments


@pytest.fixture
def backend():
    with distributed.connect("local", threads_per_worker=1) as made:
        yield made


@pytest.fixture
def shards(backend):
    return Shards(backend, X, Y, chunk=CHUNK)


CONNECTIONS = {
    "engine": (lambda: distributed.connect("spark"), ValueError, "no engine 'spark'; expected one of local, joblib"),
    "object": (lambda: distributed.connect(3), TypeError, "got int; expected one of local, joblib"),
    "workers": (lambda: distributed.connect("local", workers=0), ValueError, "workers is 0; expected 1 or more"),
    "kind": (lambda: distributed.connect("local", workers=1.5), TypeError, "workers is 1.5; expected an int"),
    "threads": (lambda: distributed.connect("local", threads_per_worker=65), ValueError, "expected 1 to 64"),
    "options": (lambda: distributed.connect("local", port=1), TypeError, "local takes no port"),
}


@pytest.mark.parametrize("name", CONNECTIONS)
def test_connections(name):
    call, kind, message = CONNECTIONS[name]
    with pytest.raises(kind, match=message):
        call()


ROWS = {
    "none": (lambda b: Shards(b), TypeError, "no arrays"),
    "different numbers": (lambda b: Shards(b, X, Y[1:]), ValueError, r"the arrays have \[37, 36\] rows"),
    "text": (lambda b: Shards(b, ["a", "b"]), TypeError, "rows are arrays of numbers"),
    "a number": (lambda b: Shards(b, 3.0), TypeError, "with an axis of rows"),
    "no rows": (lambda b: Shards(b, X[:0]), ValueError, "number of rows is 0"),
    "chunk": (lambda b: Shards(b, X, chunk=0), ValueError, "chunk is 0"),
    "backend": (lambda b: Shards("local", X), TypeError, "expected what distributed.connect returns"),
    "load": (lambda b: Shards.load(b, X, 37), TypeError, "expected a function of two row numbers"),
    "rows loaded": (lambda b: Shards.load(b, lambda i, j: X, 30), ValueError, r"returned arrays of \[37\] rows"),
    "types loaded": (
        lambda b: Shards.load(b, lambda i, j: np.ones(j - i, "f" if i else "d"), 30, chunk=20),
        ValueError,
        "different types or shapes",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows(name, backend):
    call, kind, message = ROWS[name]
    with pytest.raises(kind, match=message):
        call(backend)


FIXED = Parameter(np.ones(3), name="fixed")


def by_name(x, y):
    return (x * FIXED).sum()


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(np.zeros(1), name="count", requires_grad=False)
        self.w = Parameter(np.ones(3), name="w")

    def construct(self, x, y):
        self.count.set_data(self.count + 1)
        return (x * self.w).sum()


def counted(shards):
    net = Counting()
    return SumOfShards(net, shards, weights=[net.w]).value_and_grad()


SUMS = {
    "function": (lambda s: SumOfShards(3, s), TypeError, "expected a function or Cell"),
    "shards": (lambda s: SumOfShards(misfit, X), TypeError, "expected Shards"),
    "loss": (lambda s: SumOfShards(misfit, s, loss=3), TypeError, "loss is a int"),
    "deterministic": (lambda s: SumOfShards(misfit, s, deterministic=1), TypeError, "expected True or False"),
    "no parameters": (lambda s: SumOfShards(misfit, s)(), TypeError, "got 0 arguments for the parameters"),
    "parameters": (lambda s: SumOfShards(misfit, s)("text"), TypeError, "expected Tensors of floats"),
    "both": (lambda s: SumOfShards(Counting(), s, weights=[FIXED]), TypeError, "does not take the weights fixed"),
    "weights of a module": (lambda s: SumOfShards(by_name, s, weights=[FIXED]), TypeError, "name of a function"),
    "direction": (lambda s: SumOfShards(misfit, s).hvp(POINT, Tensor([1.0])), (TypeError, ValueError), "direction"),
    "no direction": (lambda s: SumOfShards(misfit, s).hvp(), TypeError, "needs a direction"),
    "no tensor": (lambda s: SumOfShards(lambda p, x, y: 3.0, s)(POINT), TypeError, "returned float"),
    "draws": (
        lambda s: SumOfShards(lambda p, x, y: (x * ops.randn(3)).sum(), s)(POINT),
        ValueError,
        "draws random numbers",
    ),
    "assigns": (counted, ValueError, "assigns to the Parameter count"),
    "cannot be sent": (
        lambda s: SumOfShards(lambda p, x, y: LOCK.locked(), s),
        TypeError,
        "cannot be sent to workers",
    ),
}
LOCK = threading.Lock()  # cannot be pickled


@pytest.mark.filterwarnings("ignore::UserWarning")  # of functions that run eagerly
@pytest.mark.parametrize("name", SUMS)
def test_sums(name, shards):
    call, kind, message = SUMS[name]
    with pytest.raises(kind, match=message):
        call(shards)


def test_rows_of_a_closed_backend(backend):
    shards = Shards(backend, X, Y)
    total = SumOfShards(misfit, shards)
    backend.close()
    with pytest.raises(RuntimeError, match="the backend that has the rows is closed"):
        total(POINT)


x = Tensor(np.ones(3))
OTHERS = {
    "hessian of a vector": (lambda b: distributed.hessian(lambda x: x * x, b)(x), ValueError, "one element"),
    "hessian by integers": (lambda b: distributed.hessian(lambda x: x, b)(Tensor([1])), TypeError, "Tensor of floats"),
    "columns": (lambda b: distributed.hessian(lambda x: x, b, columns=0), ValueError, "columns is 0"),
    "mode": (lambda b: distributed.jacobian(lambda x: x, b, mode="both"), ValueError, "mode is 'both'"),
    "jacobian of a pytree": (lambda b: distributed.jacobian(lambda x: (x, x), b)(x), TypeError, "returned tuple"),
    "rows of results": (
        lambda b: distributed.map_samples(lambda x: x.sum(), X, backend=b),
        ValueError,
        "dualgrad.vmap",
    ),
    "no tensors": (lambda b: distributed.map_samples(lambda x: None, X, backend=b), TypeError, "expected Tensors"),
    "no backend": (lambda b: distributed.map_samples(lambda x: x, X), TypeError, "backend is missing"),
    "no starts": (lambda b: distributed.multi_start(lambda x: x.sum(), [], backend=b), ValueError, "no starts"),
    "a start": (
        lambda b: distributed.multi_start(lambda x: x, [1.0, np.ones(2)], backend=b),
        ValueError,
        "start 1: objective: the function returned shape",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_operations(name, backend):
    call, kind, message = OTHERS[name]
    with pytest.raises(kind, match=message):
        call(backend)


# ------------------------------------------------------------------------------- changes and losses that are noticed


def test_rows_that_were_not_added_up_are_noticed(backend, monkeypatch):
    """An engine that loses a part, or gives one twice."""
    with distributed.connect("local", workers=3, threads_per_worker=1) as losing:
        shards = Shards(losing, X, Y, chunk=CHUNK)
        whole = losing.map
        for deterministic in (False, True):
            total = SumOfShards(misfit, shards, deterministic=deterministic)
            for parts in (lambda found: found[1:], lambda found: [*found, found[0]]):
                monkeypatch.setattr(losing, "map", lambda *a, parts=parts: parts(whole(*a)))
                with pytest.raises(RuntimeError, match=r"rows were added up|not complete|came twice"):
                    total(POINT)


def test_different_processors_are_refused_for_a_fixed_order(monkeypatch):
    import dualgrad.distributed.sums as sums

    kinds = iter([{"processor": "one kind"}, {"processor": "another"}])
    monkeypatch.setattr(sums, "processor", lambda: next(kinds))
    with distributed.connect("local", workers=2, threads_per_worker=1) as backend:
        total = SumOfShards(misfit, Shards(backend, X, Y, chunk=CHUNK), deterministic=True)
        with pytest.raises(ValueError, match=r"processors and libraries of one kind.*another \| one kind"):
            total(POINT)


def test_libraries_that_one_worker_alone_has_loaded_do_not_matter(monkeypatch):
    import dualgrad.distributed.sums as sums

    kinds = iter([{"processor": "one"}, {"processor": "one", "openblas of scipy": "openblas 0.3 one"}])
    monkeypatch.setattr(sums, "processor", lambda: next(kinds))
    with distributed.connect("local", workers=2, threads_per_worker=1) as backend:
        total = SumOfShards(misfit, Shards(backend, X, Y, chunk=CHUNK), deterministic=True)
        at_once = misfit(POINT, Tensor(X), Tensor(Y)).sum()
        np.testing.assert_allclose(total(POINT).asnumpy(), at_once.asnumpy(), rtol=1e-12)


@pytest.mark.parametrize("engine", ["local", "joblib"])
def test_a_function_that_changes_is_sent_again(engine, backend_of):
    """A closure, a Parameter that is no weight, and the values of weights."""
    held = {"scale": 1.0}
    total = SumOfShards(lambda p, x, y: (x * p).sum() * held["scale"], Shards(backend_of(engine, 2), X, Y, chunk=CHUNK))
    p = Tensor(np.ones(3))
    for scale in (1.0, 3.0, 3.0, -1.0):
        held["scale"] = scale
        np.testing.assert_allclose(total(p).asnumpy(), scale * X.sum(), rtol=1e-12)
    cell = nn.Dense(3, 1)
    of_weight = SumOfShards(lambda x, y: cell(x.astype(dg.float32)), total.shards, weights=cell.weight)
    for k in range(3):
        cell.weight.set_data(np.full((1, 3), k, np.float32))
        cell.bias.set_data(np.full(1, 2 * k, np.float32))
        value, slope = of_weight.value_and_grad()
        np.testing.assert_allclose(value.asnumpy(), k * X.sum() + 2 * k * len(X), rtol=1e-5)
        np.testing.assert_allclose(slope.asnumpy(), X.sum(0, keepdims=True), rtol=1e-5)


def test_a_module_that_a_worker_does_not_have_is_named(backend_of, monkeypatch):
    module = types.ModuleType("not_elsewhere")
    exec("def fn(p, x, y):\n    return x @ p\n", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    total = SumOfShards(module.fn, Shards(backend_of("joblib", 2), X, Y, chunk=CHUNK))
    with pytest.raises(ModuleNotFoundError, match=r"no module not_elsewhere.*register_pickle_by_value\(not_elsewhere"):
        total(Tensor(np.ones(3)))


def test_workers_that_read_the_main_program_again_are_explained(monkeypatch):
    def refused(**settings):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setitem(sys.modules, "distributed", types.SimpleNamespace(LocalCluster=refused))
    with pytest.raises(RuntimeError, match="under if __name__ == '__main__'"):
        distributed.connect("dask", workers=1)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_of_workers(threads, paths):
    with distributed.connect("joblib", workers=2, threads_per_worker=threads) as backend:
        found = backend.map(threads_of_process, [0, 1])
        working = backend.map(threads_at_work, [0]) if os.path.exists("/proc/self/task") else [1]
    for own, libraries in found:
        assert own == threads
        assert libraries
        assert set(libraries) == {threads}
    assert 1 <= working[0] <= 2 * threads - 1  # the caller's, and those beside it of recorded programs and of NumPy


def test_this_process_gets_its_threads_back():
    before = dg.get_num_threads()
    with distributed.connect("local", threads_per_worker=before + 1) as backend:
        assert backend.map(lambda _: dg.get_num_threads(), [0]) == [before + 1]
    assert dg.get_num_threads() == before


def test_workers_share_processors_by_default(monkeypatch):
    import dualgrad.distributed.processes as processes

    monkeypatch.setattr(processes, "processors_here", lambda: 8)
    assert [processes.threads_for(n) for n in (1, 2, 3, 8, 20)] == [8, 4, 2, 1, 1]
