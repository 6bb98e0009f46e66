"""Programs run by the interpreter and as machine code: for tests of `dualgrad.native`."""

import contextlib

import numpy as np
from engine import forget_programs

import dualgrad as dg
from dualgrad import native


@contextlib.contextmanager
def forced():
    """Compile all that runs; what was counted inside, when it has ended. Nothing may have failed."""
    dg.set_context(native="force")
    before, counted = native.status(), {}
    try:
        yield counted
        after = native.status()
    finally:
        dg.set_context(native=False)
    counted |= {key: after[key] - before[key] for key in ("asked", "made", "failed", "compiled", "loaded")}
    assert counted["failed"] == 0, after["last_error"]


def leaves(nest):
    """The tensors in nested tuples."""
    return [leaf for part in nest for leaf in leaves(part)] if isinstance(nest, tuple | list) else [nest]


def bits(found):
    """Numbers as bits, each nan the same one: processors and compilers choose among theirs."""
    arrays = [np.asarray(leaf.asnumpy()) for leaf in leaves(found)]
    same_nan = [np.where(np.isnan(a), np.nan, a).astype(a.dtype) if a.dtype.kind in "fc" else a for a in arrays]
    return [(a.dtype, a.shape, a.tobytes()) for a in same_nan]


def compared(fn, *several):
    """Run a recorded function on several tuples of arguments, by the interpreter, then as machine code; what was
    counted.
    """
    recorded = dg.jit(fn)
    for _ in range(4):  # the first ones record: sums are added in another order there
        recorded(*several[0])
    expected = [bits(recorded(*args)) for args in several]
    with forced() as counted:
        found = [bits(recorded(*args)) for args in several]
    for args, a, b in zip(several, found, expected, strict=True):
        assert a == b, args
    return counted


def recorded_program(k=0.0, sign=1.0):
    """A recorded function that nothing is known of."""
    forget_programs()

    def fn(x, y):
        for _ in range(12):
            x, y = x * y - k, y * 0.75 + x if sign > 0 else y * 0.75 - x
        return x, y

    return dg.jit(fn)


def counted_run(fn, *args):
    """What is counted when a recorded function becomes machine code, which has to give what the interpreter gives."""
    for _ in range(4):
        expected = bits(fn(*args))
    with forced() as counted:
        assert bits(fn(*args)) == expected
    return counted
