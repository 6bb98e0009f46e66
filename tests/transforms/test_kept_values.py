"""Rules that use values which their function kept, against the same rule that is given them.

A rule may find what it needs in an attribute, a closure or its arguments. Under every transform of every transform, the
three give the same number, or the first two are refused.
"""

import itertools

import numpy as np
import pytest
from engine import open_levels
from nested_transforms import TRANSFORMS, A, Ruled, W, X, base
from support import f64

import dualgrad as dg
from dualgrad import nn, ops

NOT_THERE = ("laplacian", "laplacian of both", "mixed partial", "operator", "several", "hessian of a vector", "jacfwd")
NAMES = [name for name in TRANSFORMS if name not in NOT_THERE]


class InputsKept(Ruled):
    def construct(self, x, w):
        self.x, self.w = x, w
        return self.f(x, w)

    def bprop(self, x, w, out, dout):
        return super().bprop(x, w, self.f(self.x, self.w), dout)


class InputsGiven(Ruled):
    def bprop(self, x, w, out, dout):
        return super().bprop(x, w, self.f(x, w), dout)


class OutputKept(Ruled):
    def construct(self, x, w):
        self.out = self.f(x, w)
        return self.out

    def bprop(self, x, w, out, dout):
        return super().bprop(x, w, self.out, dout)


class BetweenKept(Ruled):
    def construct(self, x, w):
        self.half = 0.5 * self.f(x, w)
        return 2.0 * self.half

    def bprop(self, x, w, out, dout):
        return super().bprop(x, w, 2.0 * self.half, dout)


class Outside(nn.Cell):
    """y, with the rule of `Ruled` for a factor that is given, or that is in a closure."""

    def construct(self, y, factor):
        return y * 1.0

    def bprop(self, y, factor, out, dout):
        return 3.0 * factor * dout, None


def outside_given(f):
    return lambda x, w: Outside()(f(x, w), ops.exp(A * x))


def outside_kept(f):
    def g(x, w):
        class Closed(nn.Cell):
            def construct(self, y):
                return y * 1.0

            def bprop(self, y, out, dout):
                return (3.0 * factor * dout,)

        factor = ops.exp(A * x)
        return Closed()(f(x, w))

    return g


def outside_hooked(f):
    def g(x, w):
        factor = ops.exp(A * x)
        return ops.InsertGradientOf(lambda dy: 3.0 * factor * dy)(f(x, w))

    return g


WAYS = {
    # name: (kept, given)
    "inputs": (InputsKept, InputsGiven),
    "output": (OutputKept, Ruled),
    "between": (BetweenKept, Ruled),
    "outside": (outside_kept, outside_given),
    "hook": (outside_hooked, outside_given),
}


def outcome(f):
    try:
        return f(f64(X), f64(W)).asnumpy()
    except (RuntimeError, NotImplementedError, ValueError) as error:  # ValueError: of samples that were mapped
        return error


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_is_kept_is_the_value_that_is_given(way, depth):
    """An attribute may be refused where the Cell has been called again: it is a value of that call."""
    kept, given = WAYS[way]
    right = 0
    for names in itertools.product(NAMES, repeat=depth):
        found, expected = kept(base), given(base)
        for name in reversed(names):
            found, expected = TRANSFORMS[name][0](found), TRANSFORMS[name][0](expected)
        found, expected = outcome(found), outcome(expected)
        assert not open_levels()
        if isinstance(found, Exception):
            continue
        assert not isinstance(expected, Exception), f"{' of '.join(names)}: {found} where {expected}"
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=" of ".join(names))
        right += 1
    assert right > len(NAMES) ** depth // 5, "nearly everything is refused"


REVERSE = ["grad", "grad by w", "value_and_grad", "GradOperation", "vjp", "weight of a Cell"]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("way", WAYS)
def test_gradients_are_not_refused(way, order):
    """A sweep tells what nodes of its tape are. Of another tape only what the rule is given is known to it."""
    kept, given = WAYS[way]
    if order > {"between": 1, "outside": 2, "hook": 2}.get(way, order):
        pytest.skip("the value was never given to the rule")
    for names in itertools.product(REVERSE, repeat=order):
        f, g = kept(base), given(base)
        for name in reversed(names):
            f, g = TRANSFORMS[name][0](f), TRANSFORMS[name][0](g)
        np.testing.assert_allclose(f(f64(X), f64(W)), g(f64(X), f64(W)), rtol=1e-12, err_msg=" of ".join(names))


def test_python_may_read_numbers_of_a_function_with_a_rule():
    class Counted(nn.Cell):
        def construct(self, x):
            self.seen = float(x.asnumpy().sum())
            return dg.Tensor(np.exp(x.asnumpy())) if self.seen > 0 else x * 0.0

        def bprop(self, x, out, dout):
            return (out * dout,)

    np.testing.assert_allclose(dg.grad(Counted())(f64(X)), np.exp(X))
    np.testing.assert_allclose(dg.grad(dg.grad(Counted()))(f64(X)), np.exp(X))


def test_what_lies_between_is_refused_with_the_remedy():
    f = BetweenKept(base)
    with pytest.raises(RuntimeError, match=r"BetweenKept: the rule uses a value that the function computed and kept"):
        dg.grad(dg.grad(f))(f64(X), f64(W))


# --------------------------------------------------- a tensor that a loop's body reads first in a function with a rule


def by_custom_vjp(forward, backward):
    f = dg.custom_vjp(forward)
    f.defbwd(lambda q, out, dout: backward(dout))
    return f


def by_function(forward, backward):
    class Kept(dg.Function):
        @staticmethod
        def forward(ctx, q):
            return forward(q)

        @staticmethod
        def backward(ctx, dout):
            return backward(dout)

    return Kept.apply


def by_cell(forward, backward):
    class Kept(nn.Cell):
        def construct(self, q):
            return forward(q)

        def bprop(self, q, out, dout):
            return (backward(dout),)

    return Kept()


RULED = {"custom_vjp": by_custom_vjp, "Function": by_function, "bprop": by_cell}

# name -> (forward, backward) of a function with a rule, which reads x from outside
READERS = {
    "forward": lambda x: (lambda q: q * x, lambda dout: 2 * dout),
    "backward": lambda x: (lambda q: q * 1.0, lambda dout: dout * x),
    "both": lambda x: (lambda q: q * ops.stop_gradient(x), lambda dout: dout * ops.stop_gradient(x)),
}

LOOPS = {
    "scan": lambda body, x: dg.scan(lambda c, _: (body(c), None), x, length=2)[0],
    "one step": lambda body, x: body(dg.scan(lambda c, _: (body(c), None), x, length=1)[0]),
    "checkpoints": lambda body, x: dg.scan(lambda c, _: (body(c), None), x, length=2, checkpoints=1)[0],
    "fori_loop": lambda body, x: dg.fori_loop(0, 2, lambda i, c: body(c), x),
    "while_loop": lambda body, x: dg.while_loop(lambda s: s[1] < 2, lambda s: (body(s[0]), s[1] + 1), (x, 0))[0],
    "in a loop": lambda body, x: dg.scan(lambda c, _: (LOOPS["one step"](body, c), None), x, length=1)[0],
    "recompute": lambda body, x: dg.recompute(lambda c: body(body(c)))(x),
}

ONES = f64([1.0, -0.4])
FORWARD = {
    "jvp": lambda f, x: dg.jvp(f, x, ONES)[1],
    "jacfwd": lambda f, x: dg.jacfwd(f)(x),
    "vmap of jvp": lambda f, x: dg.vmap(lambda v: dg.jvp(f, x, v)[1])(ops.stack([ONES, x])),
    "linearize": lambda f, x: dg.linearize(f, x)[1](ONES),
    "grad": lambda f, x: dg.grad(lambda x: f(x).sum())(x),
    "grad of grad": lambda f, x: dg.grad(lambda x: (dg.grad(lambda x: f(x).sum())(x) * ONES).sum())(x),
    "jvp of grad": lambda f, x: dg.jvp(dg.grad(lambda x: f(x).sum()), x, ONES)[1],
    "hessian": lambda f, x: dg.hessian(lambda x: f(x).sum())(x),
}


@pytest.mark.eager("may refuse in one mode only")
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("reader", READERS)
def test_a_loop_whose_rule_reads_a_tensor_first_is_its_steps(reader, loop):
    for (kind, ruled), (way, derivative) in itertools.product(RULED.items(), FORWARD.items()):
        if loop == "recompute" and kind == "Function":
            continue  # a class made in each run counts as another function

        def f(x, ruled=ruled, run=LOOPS[loop]):
            h = ruled(*READERS[reader](x))
            return run(lambda c: h(c) * x, ops.sin(x))

        if way == "grad of grad" and reader == "backward" and loop in ("checkpoints", "recompute"):
            with pytest.raises(RuntimeError, match="used after that call has returned"):
                derivative(f, f64([0.6, 1.1]))  # only the rule reads x, so a block that runs again does not know x
            continue
        found = derivative(f, f64([0.6, 1.1]))
        expected = derivative(lambda x, f=f: f(x, run=lambda body, x: body(body(x))), f64([0.6, 1.1]))
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"{way}, {kind}")


# --------------------------------------------------------------- a function of a shared value that reads the sample


def hooked(forward, backward):
    def f(q):
        y = forward(q)
        y.register_hook(backward)
        return y

    return f


SAMPLED = {
    "custom_vjp": by_custom_vjp,
    "Function": by_function,
    "bprop": by_cell,
}
W0 = f64(0.6)
SAMPLES = f64([1.0, 2.0, -0.7])

IN_VMAP = {
    "vmap": lambda sample, w: dg.vmap(lambda x: sample(x, w))(SAMPLES).sum(),
    "vmap of vmap": lambda sample, w: dg.vmap(lambda x: dg.vmap(lambda z: sample(x, w) * z)(SAMPLES).sum())(
        SAMPLES
    ).sum(),
    "inner": lambda sample, w: dg.vmap(lambda x: dg.vmap(lambda z: sample(z, w) * x)(SAMPLES).sum())(SAMPLES).sum(),
    "scan": lambda sample, w: dg.vmap(lambda x: dg.scan(lambda c, _: (c + sample(x, w), None), x * 0, length=2)[0])(
        SAMPLES
    ).sum(),
    "recompute": lambda sample, w: dg.vmap(lambda x: dg.recompute(lambda w: sample(x, w))(w))(SAMPLES).sum(),
    "samples of w": lambda sample, w: dg.vmap(lambda x: sample(x, w))(SAMPLES * w).sum(),
}

BY_W = {
    "value": lambda f: f(W0),
    "grad": lambda f: dg.grad(f)(W0),
    "vjp": lambda f: dg.vjp(f, W0)[1](f64(1.0))[0],
    "jvp": lambda f: dg.jvp(f, W0, f64(1.0))[1],
    "hessian": lambda f: dg.hessian(f)(W0),
    "jvp of grad": lambda f: dg.jvp(dg.grad(f), W0, f64(1.0))[1],
    "grad of grad": lambda f: dg.grad(dg.grad(f))(W0),
    "vmap of grad": lambda f: dg.vmap(dg.grad(f))(ops.stack([W0, 2 * W0])),
}


@pytest.mark.parametrize("place", IN_VMAP)
@pytest.mark.parametrize("kind", SAMPLED)
def test_a_shared_argument_and_a_captured_sample(kind, place):
    if place == "recompute" and kind != "custom_vjp":
        pytest.skip("a class made in each run counts as another function")

    def loss(w, ruled=True):
        def sample(x, w):
            if not ruled:
                return ops.sin(ops.stop_gradient(x)) * w**2 + x - ops.stop_gradient(x)
            kept = ops.stop_gradient(x)
            h = SAMPLED[kind](lambda q: ops.sin(kept) * q, lambda dout: dout * ops.sin(kept))
            return h(w * w) + x - kept

        return IN_VMAP[place](sample, w)

    for way, derivative in BY_W.items():
        if way == "grad of grad":
            with pytest.raises(NotImplementedError, match="own bprop was called inside vmap"):
                derivative(loss)
            continue
        found = derivative(loss)
        expected = derivative(lambda w: loss(w, ruled=False))
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=way)


@pytest.mark.parametrize("kind", [*SAMPLED, "hook"])
def test_a_sample_that_only_the_rule_reads_is_refused(kind):
    """The cotangent of what all samples share is summed already, so the rule cannot have one for each sample."""

    def loss(w):
        def sample(x):
            if kind == "hook":
                return hooked(ops.sin, lambda g: g * x)(w) * x
            return SAMPLED[kind](ops.sin, lambda dout: dout * x)(w) * x

        return dg.vmap(sample)(SAMPLES).sum()

    for derivative in dg.grad(loss), dg.grad(dg.grad(loss)), lambda w: dg.vjp(loss, w)[1](w):
        with pytest.raises(RuntimeError, match="differs between the samples of vmap, but neither inputs nor outputs"):
            derivative(W0)


@pytest.mark.eager("may refuse in one mode only")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_whose_rule_reads_a_parameter_first_is_its_steps(loop):
    p, x = dg.Parameter(f64([0.6, 1.1]), name="p"), f64([0.3, -0.8])
    h = by_custom_vjp(lambda q: q * p, lambda dout: dout * p)
    found, expected = (
        dg.grad(lambda run=run: run(lambda c: h(c) * p, x).sum(), None, p)()
        for run in (LOOPS[loop], lambda body, x: body(body(x)))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
