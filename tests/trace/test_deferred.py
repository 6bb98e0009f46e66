"""Results that are deferred while a function is recorded: reading one gives its numbers, and computes no other.

Every operator, and random programs, are recorded this way in test_recorded_cases.py and test_random_recordings.py.
"""

import threading

import numpy as np
import pytest
from engine import forget_programs, programs
from ways import programs_run

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops
from dualgrad._engine.arrays.array import largest_array

pytestmark = pytest.mark.eager("records by itself")

N = 20_000
X = np.linspace(-1.0, 1.0, N)


@pytest.fixture(params=["large arrays", "everything"])
def deferred(request):
    """What is deferred."""
    with programs_run("deferred" if request.param == "everything" else "planned"):
        forget_programs()
        yield


def assert_same(found, expected, rtol=1e-12):
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=rtol, atol=1e-14)


def chain(x, steps=6):
    for _ in range(steps):
        x = ops.sin(x) * x + ops.cos(x)
    return x


def test_a_first_call_makes_no_array_in_between():
    """Values and gradient of a long computation whose result is one number."""
    x, w = Tensor(X.reshape(-1, 1)), Tensor(np.linspace(0.5, 1.5, 8))
    gradient = dg.value_and_grad(lambda x, w: ops.sum(chain(x * w) ** 2), 1)
    expected = gradient(x, w)
    recorded = dg.jit(gradient)
    largest_array(True)
    found = recorded(x, w)
    assert largest_array(False) < 2 * X.nbytes
    for a, b in zip(found, expected, strict=True):
        assert_same(a, b)


def test_what_no_other_object_holds_is_not_computed():
    """Where Python reads a number, the call goes on eagerly, and deferred arrays that were dropped stay so."""

    def f(x):
        ops.expand_dims(x, 1) * x[:50]
        y = ops.sin(x)
        return y if float(x[0]) < 0 else -y

    recorded = dg.jit(f)
    largest_array(True)
    with pytest.warns(UserWarning, match="runs eagerly"):
        found = recorded(Tensor(X))
    assert largest_array(False) < 2 * X.nbytes
    assert_same(found, ops.sin(Tensor(X)))


@pytest.mark.usefixtures("deferred")
def test_numbers_that_python_is_given():
    """Of what depends on arguments: the call goes on eagerly, and everything it had deferred is there."""

    def f(x):
        y = chain(x)
        z = chain(y)
        return (z, y) if float(ops.sum(y)) > 0 else (y, z)

    expected = f(Tensor(X))
    recorded = dg.jit(f)
    with pytest.warns(UserWarning, match="runs eagerly"):
        found = recorded(Tensor(X))
    for a, b in zip(found, expected, strict=True):
        assert_same(a, b)


@pytest.mark.usefixtures("deferred")
def test_numbers_of_parameters_that_python_is_given():
    """They may be looked at, and so may what is computed from them; the rest stays deferred."""
    w = Parameter(X, name="w")

    def f(x):
        scaled = 3.0 * chain(w)
        return x * (2.0 if float(ops.sum(scaled)) > 0 else -2.0) + scaled

    expected = f(Tensor(X))
    recorded = dg.jit(f)
    for _ in range(4):
        assert_same(recorded(Tensor(X)), expected)
    assert programs()[-1][1]


@pytest.mark.usefixtures("deferred")
@pytest.mark.parametrize("raises", [False, True])
def test_what_is_kept_outside_has_its_numbers(raises):
    kept = []

    def f(x):
        y = chain(x)
        kept.append(ops.transpose(ops.reshape(y, (2, N // 2)), (1, 0))[3:])
        kept.append(ops.sum(y))
        if raises:
            raise ArithmeticError("here")
        return ops.exp(y)

    try:
        f(Tensor(X))
    except ArithmeticError:
        assert raises
    expected, kept = kept, []
    try:
        dg.jit(f)(Tensor(X))
    except ArithmeticError:
        assert raises
    for a, b in zip(kept, expected, strict=True):
        assert_same(a, b)


@pytest.mark.usefixtures("deferred")
def test_results_that_share_memory():
    """The same tensor twice, views of it, an argument and a view of an argument."""

    def f(x):
        y = chain(x)
        return y, y, y[::2], ops.reshape(y, (2, N // 2)), x, x[1:], ops.broadcast_to(y, (2, N))

    expected = f(Tensor(X))
    recorded = dg.jit(f)
    for _ in range(4):
        for a, b in zip(recorded(Tensor(X)), expected, strict=True):
            assert a.shape == b.shape
            assert_same(a, b)


@pytest.mark.usefixtures("deferred")
def test_random_numbers_are_drawn_once():
    def f(x):
        return chain(x) * ops.randn(N, dtype=dg.float64) + ops.rand(N, dtype=dg.float64)

    dg.set_seed(5)
    expected = [f(Tensor(X)) for _ in range(4)]
    dg.set_seed(5)
    recorded = dg.jit(f)
    for e in expected:
        assert_same(recorded(Tensor(X)), e)


@pytest.mark.usefixtures("deferred")
def test_training_steps():
    """Updates of weights and of the optimiser's state, from the first call on, with the program's own inputs."""

    def run(wrap):
        dg.set_seed(1)
        net = nn.SequentialCell(nn.Dense(2, 16), nn.Tanh(), nn.Dense(16, 1))
        optimiser = nn.Adam(net.trainable_params(), 1e-2)
        points = Tensor(np.stack([X, X * X], 1).astype(np.float32))
        gradient = dg.value_and_grad(lambda p: ops.mean(net(p) ** 2), None, net.trainable_params())

        def step(p):
            loss, grads = gradient(p)
            optimiser(grads)
            return loss

        step = wrap(step)
        losses = [step(points) for _ in range(5)]
        return losses + [p.value() for p in net.trainable_params()]

    for a, b in zip(run(dg.jit), run(lambda step: step), strict=True):
        assert_same(a, b, rtol=1e-4)  # weights are float32


@pytest.mark.usefixtures("deferred")
def test_arguments_that_are_changed_in_place():
    def f(x):
        x[3:] = chain(x)[3:]
        return ops.sum(x)

    eager, x = Tensor(X), Tensor(X)
    recorded = dg.jit(f)
    for _ in range(4):
        assert_same(recorded(x), f(eager))
        assert_same(x, eager)


@pytest.mark.usefixtures("deferred")
def test_errors_are_raised_where_the_operands_do_not_fit():
    line = []

    def f(x):
        y = chain(x)
        line.append(1)
        y = ops.matmul(ops.reshape(y, (2, N // 2)), ops.reshape(y, (2, N // 2)))
        line.append(2)
        return y

    with pytest.raises(ValueError, match="do not multiply"):
        dg.jit(f)(Tensor(X))
    assert line == [1]


@pytest.mark.usefixtures("deferred")
def test_a_pattern_is_found_while_a_function_is_recorded():
    """The search executes the function by itself."""
    n = 300

    def f(x):
        return ops.sum((x[1:] - x[:-1] ** 2) ** 2)

    def g(x):
        y = chain(x)
        plan = dg.sparse_hessian(f).prepare(y)
        return y * float(plan.n_colours + 2)

    x = Tensor(np.linspace(0, 1, n))
    expected = g(x)
    recorded = dg.jit(g)
    for _ in range(3):
        assert_same(recorded(x), expected)


def test_several_threads_record_at_once():
    recorded = dg.jit(lambda x: ops.sum(chain(x)))
    expected = ops.sum(chain(Tensor(X)))
    found, start = [], threading.Barrier(4)

    def work():
        start.wait()
        found.extend(recorded(Tensor(X)) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 20
    for value in found:
        assert_same(value, expected)


def test_another_thread_has_no_numbers_of_a_recording():
    """It gets an error, and the numbers of its own when the recording has ended."""
    seen, raised = [], []

    def elsewhere(y):
        try:
            raised.append(ops.sum(ops.sin(y)).asnumpy())
        except RuntimeError as error:
            raised.append(error)

    def body(x):
        y = ops.exp(chain(x))
        worker = threading.Thread(target=elsewhere, args=(y,))
        worker.start()
        worker.join()
        seen.append(y)
        return ops.sum(y)

    with pytest.warns(UserWarning, match="runs eagerly"):
        dg.jit(body)(Tensor(X))
    assert "another thread records" in str(raised[0])
    assert_same(seen[0], ops.exp(chain(Tensor(X))))
