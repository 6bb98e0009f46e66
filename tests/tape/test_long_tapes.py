"""Tapes of millions of scalar nodes: no recursion, no crash."""

import threading

import numpy as np

import dualgrad as dg
from dualgrad import Tensor


def chain(n):
    """A function of a scalar that puts n nodes on the tape; its derivative converges to 2."""
    half = np.float64(0.5)

    def f(x):
        y = x
        for _ in range(n // 2):
            y = y * half + x
        return y

    return f


def gradient(n):
    return float(dg.grad(chain(n))(Tensor(np.array(1.0))))


def test_a_tape_of_five_million_nodes_in_a_thread_with_the_default_stack():
    results = []
    worker = threading.Thread(target=lambda: results.append(gradient(5_000_000)))
    worker.start()
    worker.join()
    assert results == [2.0]


def test_a_long_tape_retained_by_an_outer_gradient():
    f = chain(100_000)
    assert float(dg.grad(lambda x: x * dg.grad(f)(x))(Tensor(np.array(1.0)))) == 2.0
