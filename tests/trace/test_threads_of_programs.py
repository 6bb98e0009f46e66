"""Recorded programs on several threads, and in blocks of rows that threads share."""

import os
import sys
import threading

import numpy as np
import pytest
from engine import programs
from support import f64, numbers

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops

pytestmark = [pytest.mark.eager("records by itself"), pytest.mark.usefixtures("own_programs")]


def test_threads_may_run_one_program_at_once():
    w = Parameter(np.linspace(0.1, 1.0, 20), name="w")
    f = dg.jit(dg.grad(lambda x: ops.sum(ops.tanh(x * w) ** 2)))
    for _ in range(3):
        f(f64(np.ones((2000, 20))))
    inputs = [np.full((2000, 20), 0.1 * k) for k in range(4)]
    expected = [f(f64(a)).asnumpy() for a in inputs]
    wrong = []

    def work(k):
        for _ in range(20):
            if not np.array_equal(f(f64(inputs[k])).asnumpy(), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


ROWS = (63, 64, 1000, 5000)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_networks_in_blocks_of_rows(rows, dtype):
    """A residual with second derivatives, and its gradient by all weights, planned and eager."""
    rng = np.random.default_rng(rows)
    shapes = [(2, 8), (8, 8), (8, 1)]
    ws = [Parameter((rng.standard_normal(s) / np.sqrt(s[0])).astype(dtype), name=f"w{i}") for i, s in enumerate(shapes)]
    bs = [Parameter(rng.standard_normal(s[1]).astype(dtype), name=f"b{i}") for i, s in enumerate(shapes)]
    x, y = (Tensor(rng.standard_normal((rows, 1)).astype(dtype)) for _ in range(2))
    one = ops.ones_like(x)

    def net(x, y):
        h = ops.cat((x, y), 1)
        for w, b in zip(ws[:-1], bs[:-1], strict=True):
            h = ops.tanh(ops.matmul(h, w) + b)
        return ops.matmul(h, ws[-1]) + bs[-1]

    def loss():
        slope = lambda x: dg.jvp(lambda x: net(x, y), x, one)[1]
        first, second = dg.jvp(slope, x, one)
        u = net(x, y)
        weight = ops.where(u > 0, u, 0.5 * u)
        return ops.mean((second + weight * first) ** 2) + ops.sum(ops.softmax(u, 0) * u)

    gradient = dg.value_and_grad(loss, None, ws + bs)
    expected = numbers(gradient())
    recorded = dg.jit(gradient)
    for _ in range(3):
        found = numbers(recorded())
    assert programs()[-1][1]
    tolerance = 1e-4 if dtype is np.float32 else 1e-11
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_give_the_same_numbers_in_every_run(threads):
    w = Parameter(np.random.default_rng(0).standard_normal((6, 6)), name="w")
    x = f64(np.random.default_rng(1).standard_normal((60_000, 6)))
    f = dg.value_and_grad(lambda x: ops.sum(ops.tanh(ops.tanh(ops.matmul(x, w)) @ w) ** 2), 0, [w])
    expected = numbers(f(x))
    before = dg.get_num_threads()
    dg.set_num_threads(threads)
    try:
        recorded = dg.jit(f)
        runs = [numbers(recorded(x)) for _ in range(6)]
        for a, b in zip(runs[-1], expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-9)
        for again in runs[3:]:
            assert all(np.array_equal(a, b) for a, b in zip(again, runs[2], strict=True))
    finally:
        dg.set_num_threads(before)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="where threads run is left to the system")
def test_the_calling_thread_has_its_processor_for_itself():
    """If there are enough of them. Schedulers put both threads on one, one behind the other."""
    available = os.sched_getaffinity(0)
    x = f64(np.linspace(0.0, 1.0, 3_000_000))
    recorded = dg.jit(lambda x: ops.sum(ops.sin(x) * ops.exp(x)))

    def left_out(threads):
        """The processors that threads of this process do not run on."""
        dg.set_num_threads(threads)
        for _ in range(4):
            recorded(x)
        return {frozenset(available - os.sched_getaffinity(int(task))) for task in os.listdir("/proc/self/task")}

    before = dg.get_num_threads()
    try:
        if len(available) > 1:
            assert any(len(others) == 1 for others in left_out(2))
        if len(available) < 64:
            assert left_out(len(available) + 1) == {frozenset()}
    finally:
        dg.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_fork_after_a_call_on_several_threads_works():
    x = f64(np.linspace(0.0, 1.0, 3_000_000))
    f = dg.jit(lambda x: ops.sum(ops.sin(x) * ops.exp(x)))
    before = dg.get_num_threads()
    dg.set_num_threads(2)
    try:
        for _ in range(4):
            expected = f(x).asnumpy()
        child = os.fork()
        if child == 0:
            os._exit(0 if f(x).asnumpy() == expected else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert f(x).asnumpy() == expected
    finally:
        dg.set_num_threads(before)
