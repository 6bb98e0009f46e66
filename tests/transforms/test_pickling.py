"""Recorded functions, derivatives and what keeps values: copied, pickled, sent to another process."""

import copy
import functools
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import cloudpickle
import joblib
import numpy as np
import picklable
import pytest
from picklable import (
    X,
    call,
    decorated,
    decorated_gradient,
    decorated_map,
    decorated_pure,
    energy,
    moving,
    numbers,
    values,
)

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops
from dualgrad.testing import Calls

x = Tensor(X)
ROWS = Tensor(np.outer([1.0, 2.0, -1.0], X))


pytestmark = [
    pytest.mark.eager("what stands in for recorded calls is not pickled"),
    pytest.mark.usefixtures("own_programs"),
]


#: name -> (make, arguments of a call): of functions that pickle finds by their names
NAMED = {
    "jit": (lambda: dg.jit(energy), (x,)),
    "jit, pure": (lambda: dg.jit(energy, pure=True), (x,)),
    "jit of a gradient": (lambda: dg.jit(dg.grad(energy)), (x,)),
    "jit of a partial": (lambda: dg.jit(functools.partial(picklable.scaled, k=3.0)), (x,)),
    "jit of a method": (lambda: dg.jit(picklable.Plain(2.0).method), (x,)),
    "jit of a Cell": (lambda: dg.jit(picklable.Net()), (x,)),
    "decorated": (lambda: decorated, (x,)),
    "decorated, pure": (lambda: decorated_pure, (x,)),
    "decorated by grad": (lambda: decorated_gradient, (x,)),
    "decorated by vmap": (lambda: decorated_map, (ROWS,)),
    "decorated method": (lambda: picklable.Plain(2.0).recorded, (x,)),
    "decorated static method": (lambda: picklable.Plain.static, (x,)),
    "decorated in a class": (lambda: picklable.Plain.recorded, (picklable.Plain(3.0), x)),
    "grad": (lambda: dg.grad(energy), (x,)),
    "grad of grad": (lambda: dg.grad(picklable.sum_of_gradient), (x,)),
    "value_and_grad": (lambda: dg.value_and_grad(energy), (x,)),
    "GradOperation": (lambda: ops.GradOperation(get_all=True)(energy), (x,)),
    "gradient of a Cell": (lambda: dg.grad(picklable.Net()), (x,)),
    "hessian": (lambda: dg.hessian(energy), (x,)),
    "hvp": (lambda: dg.hvp(energy), (x, x)),
    "jacfwd": (lambda: dg.jacfwd(values), (x,)),
    "jacrev": (lambda: dg.jacrev(values, chunk_size=2), (x,)),
    "vmap": (lambda: dg.vmap(energy), (ROWS,)),
    "vmap, axes": (lambda: dg.vmap(energy, in_axes=1), (ROWS.T,)),
    "vmap of grad": (lambda: dg.vmap(dg.grad(energy)), (ROWS,)),
    "recompute": (lambda: dg.recompute(energy), (x,)),
    "laplacian": (lambda: dg.laplacian(energy), (x,)),
    "pull": (lambda: dg.vjp(values, x)[1], (x[1:],)),
    "pull of a Cell": (lambda: dg.vjp(picklable.Net(), x)[1], (Tensor(np.float64(2.0)),)),
    "tangent": (lambda: dg.linearize(values, x)[1], (x,)),
    "sparse_hessian": (lambda: dg.sparse_hessian(energy), (x,)),
    "sparse_jacobian": (lambda: dg.sparse_jacobian(values, mode="columns"), (x,)),
    "plan": (lambda: dg.sparse_hessian(energy).prepare(x), (x,)),
    "plan by stars": (lambda: dg.sparse_hessian(energy, mode="stars").prepare(x), (x,)),
    "objective": (lambda: dg.scipy.objective(energy, X).fun, (X,)),
    "gradient of an objective": (lambda: dg.scipy.objective(energy, {"a": X}["a"], hess="sparse").jac, (X,)),
    "Hessian of an objective": (lambda: dg.scipy.objective(energy, X, hess="sparse").hess, (X,)),
    "equations": (lambda: dg.scipy.system(values, X).fun, (X,)),
    "Jacobian of residuals": (lambda: dg.scipy.residuals(values, X, jac="sparse").jac, (X,)),
    "rhs": (lambda: dg.scipy.rhs(moving, X).fun, (0.5, X)),
    "Jacobian of rhs": (lambda: dg.scipy.rhs(moving, X, jac="dense").jac, (0.5, X)),
}


def by_closure():
    k, w = 3.0, Parameter(np.array([1.0, 2.0, 3.0, 4.0]), name="closed")

    def of_closure(x):
        return (ops.sin(x) * w).sum() * k

    return of_closure


class Own(picklable.Plain):
    """A class that only this process knows."""


#: what cloudpickle sends by value
CLOSED = {
    "jit of a lambda": (lambda: dg.jit(lambda x: (x * x).sum()), (x,)),
    "jit of a closure": (lambda: dg.jit(by_closure()), (x,)),
    "pure jit of a closure": (lambda: dg.jit(by_closure(), pure=True), (x,)),
    "gradient of a closure": (lambda: dg.grad(by_closure()), (x,)),
    "Hessian of a closure": (lambda: dg.hessian(by_closure()), (x,)),
    "vmap of a closure": (lambda: dg.vmap(dg.grad(by_closure())), (ROWS,)),
    "GradOperation of a closure": (lambda: ops.GradOperation()(by_closure()), (x,)),
    "pull of a closure": (lambda: dg.vjp(by_closure(), x)[1], (Tensor(np.float64(1.5)),)),
    "tangent of a closure": (lambda: dg.linearize(by_closure(), x)[1], (x,)),
    "plan of a closure": (lambda: dg.sparse_hessian(by_closure()).prepare(x), (x,)),
    "objective of a closure": (lambda: dg.scipy.objective(by_closure(), X).jac, (X,)),
    "equations of a closure": (lambda: dg.scipy.system(lambda x: x * x, X).jac, (X,)),
    "rhs of a closure": (lambda: dg.scipy.rhs(lambda t, y: y * t, X).fun, (2.0, X)),
}
ALL = NAMED | CLOSED


def through_pickle(f):
    return pickle.loads(pickle.dumps(f))


def through_cloudpickle(f):
    return cloudpickle.loads(cloudpickle.dumps(f))


WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy in a nest": lambda f: copy.deepcopy({"f": [f]})["f"][0],
    "pickle": through_pickle,
    "old pickle": lambda f: pickle.loads(pickle.dumps(f, 2)),
    "cloudpickle": through_cloudpickle,
    "twice": lambda f: through_cloudpickle(copy.deepcopy(through_cloudpickle(f))),
}


def same(found, expected):
    for a, b in zip(flat(numbers(found)), flat(numbers(expected)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def flat(nest):
    return [leaf for part in nest for leaf in flat(part)] if isinstance(nest, list) else [nest]


@pytest.mark.rotated("way")
@pytest.mark.parametrize("calls", [0, 1, 4])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ALL)
def test_copies_give_the_same_numbers(name, way, calls):
    if name in CLOSED and "pickle" in way and "cloud" not in way:
        return
    make, args = ALL[name]
    f = make()
    expected = f(*args)
    for _ in range(calls):
        f(*args)
    twin = WAYS[way](f)
    for _ in range(4):
        same(twin(*args), expected)
        same(f(*args), expected)
    del f
    same(twin(*args), expected)


@pytest.mark.parametrize("name", CLOSED)
def test_pickle_says_what_it_cannot_find(name):
    make, _ = CLOSED[name]
    with pytest.raises((AttributeError, pickle.PicklingError), match=r"(?i)can't pickle|can't get"):
        pickle.dumps(make())


@pytest.fixture(scope="module")
def worker():
    """A process that imports nothing but what it is sent, and finds the modules of the tests."""
    before = os.environ.get("PYTHONPATH")
    paths = [str(Path(picklable.__file__).parent), str(Path(dg.__file__).parents[1])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    try:
        with joblib.Parallel(n_jobs=2, backend="loky", timeout=240) as parallel:
            yield parallel
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def test_other_processes_give_the_same_numbers(worker):
    """All at once, since a process takes a second to start."""
    here = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(here)
    try:
        functions = {name: make() for name, (make, _) in ALL.items()}
        found = worker(joblib.delayed(call)(functions[name], *ALL[name][1]) for name in ALL)
    finally:
        cloudpickle.unregister_pickle_by_value(here)
    for name, result in zip(ALL, found, strict=True):
        expected = numbers(functions[name](*ALL[name][1]))
        for a, b in zip(flat(result), flat(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=name)


SCRIPT = """
import numpy as np
import joblib, cloudpickle, pickle, multiprocessing
import dualgrad as dg
from dualgrad import Tensor, ops

K = 3.0

@dg.jit
def energy(x):
    return (x * x).sum() * K

@dg.grad
def gradient(x):
    return (x * x).sum() * K

class Holder:
    @dg.jit
    def method(self, x):
        return (x * x).sum() * K

def run(f, x):
    return f(Tensor(x)).asnumpy()

if __name__ == "__main__":
    x = np.array([1.0, 2.0])
    functions = (energy, gradient, Holder().method, dg.jit(gradient), dg.grad(energy), dg.vjp(energy, Tensor(x))[1])
    for f in functions[:-1]:
        for send in (pickle, cloudpickle):
            assert np.array_equal(run(send.loads(send.dumps(f)), x), run(f, x)), (f, send)
        energy(Tensor(x))
    found = joblib.Parallel(n_jobs=1, backend="loky")(joblib.delayed(run)(f, x) for f in functions[:-1])
    found = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(run)(f, x) for f in functions[:-1])
    assert all(np.array_equal(a, run(f, x)) for a, f in zip(found, functions)), found
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.starmap(run, [(f, x) for f in functions[:-1]])
    assert all(np.array_equal(a, run(f, x)) for a, f in zip(found, functions)), found
    print("done")
"""


def test_functions_of_the_main_program(tmp_path):
    """Decorated ones too: other processes are sent them by value where they do not import the main program."""
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    paths = os.pathsep.join([str(Path(dg.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=240, env=environment, check=False
    )
    assert done.stdout == "done\n", done.stderr[-3000:]


# ------------------------------------------------------------------------------------------------------ independence


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "cloudpickle"])
@pytest.mark.parametrize(
    "make",
    [dg.jit, dg.grad, ops.GradOperation(), dg.hessian, lambda f: dg.vjp(f, x)[1], lambda f: dg.linearize(f, x)[1]],
    ids=["jit", "grad", "GradOperation", "hessian", "pull", "tangent"],
)
def test_weights_of_a_copy_are_its_own(make, way):
    """Only jit returns a Cell; the others hold one."""
    net = picklable.Net()
    f = make(net)
    args = (Tensor(np.float64(1.0)),) if type(f).__name__ == "Pullback" else (x,)
    expected = numbers(f(*args))
    twin = WAYS[way](f)
    same(twin(*args), f(*args))
    for _ in range(4):
        twin(*args)
        f(*args)
    net.weight.set_data(np.zeros(4))
    same(numbers(twin(*args)), expected)
    if type(f).__name__ not in ("Pullback", "_Tangent"):  # these are taken at the former numbers
        assert not np.allclose(flat(numbers(f(*args)))[0], flat(expected)[0])


#: by the weights of a function that is pickled as a name
BY_WEIGHTS = {
    "grad": lambda: dg.grad(energy, 0, [picklable.WEIGHT]),
    "value_and_grad": lambda: dg.value_and_grad(energy, weights=picklable.WEIGHT),
    "jacrev": lambda: dg.jacrev(values, None, weights=(picklable.WEIGHT,)),
    "GradOperation": lambda: ops.GradOperation(get_by_list=True)(energy, [picklable.WEIGHT]),
    "pull": lambda: dg.vjp(values, x, weights=[picklable.WEIGHT])[1],
}


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "cloudpickle"])
@pytest.mark.parametrize("name", BY_WEIGHTS)
def test_copies_of_weights_are_not_those_of_a_function_in_a_module(name, way):
    if (name, way) == ("pull", "deepcopy"):  # nothing in it changes, so it is its own copy
        return
    with pytest.raises(TypeError, match="pickled as the name of a function in picklable"):
        WAYS[way](BY_WEIGHTS[name]())


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "cloudpickle"])
def test_a_cell_that_keeps_its_gradient_function(way):
    net = picklable.Tree()
    twin = WAYS[way](net)
    net.weight.set_data(np.zeros(4))
    same(net(x), Tensor(np.zeros(4)))
    same(twin(x), Tensor(2 * X * np.array([1.0, 2.0, 3.0, 4.0])))


@pytest.mark.parametrize("way", ["copy", "deepcopy"])
def test_copies_have_programs_of_their_own_state(way):
    """A shallow copy shares what it reaches, and sees it change."""
    plain = picklable.Plain(2.0)
    f = dg.jit(plain.method)
    for _ in range(4):
        f(x)
    twin = WAYS[way](f)
    for _ in range(4):
        same(twin(x), f(x))
    plain.k = 5.0
    for _ in range(4):
        same(f(x), energy(x) * 5)
        same(twin(x), energy(x) * (5 if way == "copy" else 2))


@pytest.mark.parametrize("way", WAYS)
def test_attributes_of_recorded_functions_go_along(way):
    f = dg.jit(energy)
    f.note = [1]
    twin = WAYS[way](f)
    assert twin.note == [1]
    assert twin.__name__ == "energy"
    assert twin.pure is f.pure is False
    assert WAYS[way](dg.jit(energy, pure=True)).pure


@pytest.mark.parametrize("way", ["pickle", "cloudpickle"])
@pytest.mark.parametrize("f", [decorated, decorated_pure, decorated_gradient, decorated_map], ids=lambda f: f.__name__)
def test_decorated_functions_of_a_module_are_found_by_name(f, way):
    assert WAYS[way](f) is f


def test_gradient_functions_are_like_functions():
    f = dg.grad(energy)
    assert f.__name__ == "gradient"
    assert "energy" in repr(f)
    assert dg.vmap(energy).__wrapped__ is energy
    assert dg.hessian(energy).__doc__ == energy.__doc__

    class Has:
        gradient = dg.grad(lambda self, x: (x * x).sum(), 1)

    same(Has().gradient(x), 2 * x)


def test_gradient_functions_made_anew_share_a_program():
    calls = Calls()

    def f(x):
        calls.note()
        return (x * x).sum()

    for _ in range(6):
        same(dg.jit(dg.grad(f))(x), 2 * x)
    assert len(calls) == 2


# ----------------------------------------------------------------------------------------------------------- pullbacks


@pytest.mark.parametrize("dump", [pickle.dumps, cloudpickle.dumps])
@pytest.mark.parametrize("kind", ["pull", "tangent"])
def test_a_pullback_inside_of_a_derivative_is_not_pickled(kind, dump):
    def f(x):
        make = dg.vjp(values, x)[1] if kind == "pull" else dg.linearize(values, x)[1]
        with pytest.raises((TypeError, dg.LeavesDerivativeError)):
            dump(make)
        return (x * x).sum()

    same(dg.grad(f)(x), 2 * x)


CHANGES = {
    "value": (lambda x: (x * picklable.WEIGHT).sum(), X),
    "derivative alone": (lambda x: (x * picklable.WEIGHT).sum(), np.zeros(4)),
    "derivative of one entry": (lambda x: (x * picklable.WEIGHT**2).sum() + x[0], np.array([1.0, 1.0, 1.0, 0.0])),
}


@pytest.mark.parametrize("kind", ["pull", "tangent"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_pullback_is_not_pickled_once_the_function_is_another(name, kind):
    f, point = CHANGES[name]
    point = Tensor(point)
    made = dg.vjp(f, point)[1] if kind == "pull" else dg.linearize(f, point)[1]
    seed = Tensor(np.float64(1.0)) if kind == "pull" else x
    expected = numbers(made(seed))
    before = picklable.WEIGHT.asnumpy().copy()
    try:
        changed = before.copy()
        changed[-1] += 1.0
        picklable.WEIGHT.set_data(changed)
        with pytest.raises(ValueError, match="another value or derivative now"):
            cloudpickle.dumps(made)
        same(made(seed), expected)
    finally:
        picklable.WEIGHT.set_data(before)
    same(through_cloudpickle(made)(seed), expected)


def test_a_pullback_at_a_point_that_has_changed_is_not_pickled():
    point = Tensor(X)
    _, pull = dg.vjp(energy, point)
    point[0] = 7.0
    with pytest.raises(ValueError, match="another value or derivative now"):
        pickle.dumps(pull)


def test_pickling_a_pullback_changes_no_tensor():
    """The function is called again for that, with what it does to tensors."""
    w = Parameter(np.zeros(4), name="w")

    def f(x):
        w.set_data(w + 1)
        return (x * x).sum()

    _, pull = dg.vjp(f, x)
    before = w.asnumpy().copy()
    cloudpickle.dumps(pull)
    np.testing.assert_array_equal(w.asnumpy(), before)


def test_pickling_a_pullback_keeps_what_other_threads_change_meanwhile():
    w = Parameter(np.zeros(2), name="w")
    runs = []

    def f(a):
        runs.append(threading.Thread(target=lambda: w.set_data(w + 1)))
        runs[-1].start()
        runs[-1].join()
        return ops.sum(ops.exp(a))

    _, pull = dg.vjp(f, x)
    pull.__reduce__()
    assert len(runs) > 1
    assert np.array_equal(w.asnumpy(), np.full(2, len(runs)))


def test_pullbacks_of_all_types_are_pickled():
    def f(x, n, z, flag):
        return x.sum(), n * 2, z * z, flag, x.astype(dg.float32)

    args = (x, Tensor(np.array([1, 2])), Tensor(X + 1j), Tensor(np.array([True, False])))
    value, pull = dg.vjp(f, *args)
    again = through_cloudpickle(pull)
    cotangents = [ops.ones_like(v) for v in value]
    same(again(*cotangents), pull(*cotangents))


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
@pytest.mark.parametrize("transform", [dg.jit, dg.grad, dg.value_and_grad, dg.vmap, dg.jacrev, dg.hessian])
def test_attributes_of_what_transforms_return_are_copied(transform, way):
    f = transform(energy)
    f.note = ["set"]
    again = way(f)
    assert again.note == ["set"]
    again.other = 1
    assert not hasattr(f, "other")
    assert again.__name__ == f.__name__
