"""Dense derivatives that sparse ones are compared with."""

import numpy as np

import dualgrad as dg
from dualgrad import Tensor, ops


def t(x):
    return Tensor(np.asarray(x, np.float64))


def rng(seed=0):
    return np.random.default_rng(seed)


def dense_jacobian(fn, x):
    flat = lambda x: ops.reshape(fn(x), (-1,))
    columns = [dg.jvp(flat, x, t(e.reshape(x.shape)))[1].asnumpy() for e in np.eye(x.size)]
    return np.stack(columns, 1)


def dense_hessian(fn, x):
    return dense_jacobian(dg.grad(fn), x)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
