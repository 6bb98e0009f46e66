"""Activation functions: both sides of every bend, and the bends themselves."""

import numpy as np

import dualgrad as dg
from cases import Case, normal, spread
from dualgrad import ops

X = normal(2, 5) * 2
FAR = np.array([-700.0, -40.0, -8.0, 8.0, 40.0, 700.0])
ZERO = np.array([-1.5, 0.0, 0.0, 2.0])

# Smooth everywhere.
SMOOTH = {
    "sigmoid": ops.sigmoid,
    "softplus": ops.softplus,
    "silu": ops.silu,
    "gelu": ops.gelu,
    "logsigmoid": ops.logsigmoid,
    "mish": ops.mish,
    "tanhshrink": ops.tanhshrink,
}
# Made of pieces, with the points where these meet.
PIECES = {
    "relu": (ops.relu, [0.0]),
    "elu": (lambda x: ops.elu(x, 0.7), [0.0]),
    "leaky_relu": (lambda x: ops.leaky_relu(x, 0.1), [0.0]),
    "selu": (ops.selu, [0.0]),
    "celu": (lambda x: ops.celu(x, 0.6), [0.0]),
    "softsign": (ops.softsign, [0.0, -1.0, 1.0]),
    "relu6": (ops.relu6, [0.0, 6.0]),
    "hardtanh": (lambda x: ops.hardtanh(x, -0.5, 2.0), [-0.5, 2.0]),
    "hardsigmoid": (ops.hardsigmoid, [-3.0, 3.0]),
    "hardswish": (ops.hardswish, [-3.0, 3.0]),
    "hardshrink": (lambda x: ops.hardshrink(x, 0.75), [-0.75, 0.75]),
    "softshrink": (lambda x: ops.softshrink(x, 0.75), [-0.75, 0.75]),
}

CASES = [
    *[Case(name, "", f, (X,)) for name, f in SMOOTH.items()],
    *[Case(name, "far from 0", f, (FAR,)) for name, f in SMOOTH.items()],
    *[Case(name, "near 0", f, (np.array([-0.1, 0.0, 1e-9, 0.3]),)) for name, f in SMOOTH.items()],
    Case("softplus", "beta", lambda x: ops.softplus(x, 2.5), (X,)),
    Case("gelu", "tanh", lambda x: ops.gelu(x, "tanh"), (X,)),
    Case("gelu", "tanh, far from 0", lambda x: ops.gelu(x, "tanh"), (FAR,)),
    Case("tanhshrink", "across the change of formulas", ops.tanhshrink, (np.array([-0.8661, -0.866, 0.866, 0.8661]),)),
    *[Case(name, "", f, (X,)) for name, (f, _) in PIECES.items()],
    *[Case(name, "far from 0", f, (FAR,)) for name, (f, _) in PIECES.items()],
    *[Case(name, "where pieces meet", f, (np.array(points),), smooth=False) for name, (f, points) in PIECES.items()],
    Case("elu", "alpha below 0", lambda x: ops.elu(x, -1.5), (X,)),
    Case("celu", "alpha below 0", lambda x: ops.celu(x, -1.5), (np.array([-1.0, -0.2, 0.5, 2.0]),)),
    Case("hardshrink", "threshold 0", lambda x: ops.hardshrink(x, 0.0), (ZERO,), smooth=False),
    Case("prelu", "one slope", ops.prelu, (X, np.array([0.3]))),
    Case("prelu", "a number", ops.prelu, (X, np.array(-0.3))),
    Case("prelu", "channels", ops.prelu, (normal(2, 3, 2), normal(3))),
    Case("prelu", "a vector", ops.prelu, (normal(4), np.array([0.3]))),
    Case("prelu", "at 0", ops.prelu, (ZERO, np.array([0.3])), smooth=False),
    Case("glu", "", ops.glu, (normal(3, 4),)),
    Case("glu", "first axis", lambda x: ops.glu(x, 0), (normal(4, 3),)),
]

for _name in "softmax", "log_softmax", "softmin":
    _f = getattr(ops, _name)
    CASES += [
        Case(_name, "", _f, (normal(2, 3),)),
        Case(_name, "axis", lambda x, f=_f: f(x, 0), (normal(3, 2),)),
        Case(_name, "middle axis", lambda x, f=_f: f(x, axis=-2), (normal(2, 3, 2),)),
        Case(_name, "a number", _f, (normal(),)),
        Case(_name, "ties", _f, (np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]]),)),
        Case(_name, "large", lambda x, f=_f: f(x * 100), (spread(2, 4),)),
        Case(_name, "type", lambda x, f=_f: f(x, dtype=dg.float64), (normal(3),), narrow=()),  # asks for a type
    ]
