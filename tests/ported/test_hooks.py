"""Hooks on gradients and on the calls of Cells: values, order, errors, and what they mean in every mode.

A hook on a gradient is the identity with a reverse rule of its own. So the five ways to register one are compared with
NumPy, with a Cell that has that rule as `bprop`, and with each other, at every order.
"""

import numpy as np
import pytest
from support import assert_close, assert_raises, f32, f64, repeated_grad

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("mode")
with_effects = pytest.mark.filterwarnings("ignore:.*runs eagerly")


def on_tensor(hook, x):
    x = x * 1.0  # a tensor that nothing else has used
    x.register_hook(hook)
    return x


def on_array(hook, x):
    return on_tensor(hook, dg.numpy.asarray(x))


def on_view(hook, x):
    view = dg.numpy.reshape(dg.numpy.multiply(x, 1.0), x.shape)
    view.register_hook(hook)
    return view


def hook_backward(hook, x):
    return ops.HookBackward(lambda gradients: hook(gradients[0]))(x)


def gradient_of(hook, x):
    return ops.InsertGradientOf(hook)(x)


def before_cell(hook, x):
    cell = nn.Identity()
    cell.register_backward_pre_hook(lambda cell, grad_output: hook(grad_output[0]))
    return cell(x)


def behind_cell(hook, x):
    cell = nn.Identity()
    cell.register_backward_hook(lambda cell, grad_input, grad_output: hook(grad_input[0]))
    return cell(x)


WAYS = [on_tensor, on_array, on_view, hook_backward, gradient_of, before_cell, behind_cell]
ways = pytest.mark.parametrize("way", WAYS)

# What a hook does, with tensors and with NumPy; every one but the last is smooth where it is tested.
CHANGES = {
    "nothing": (lambda g: None, lambda g: g),
    "tenfold": (lambda g: 10 * g, lambda g: 10 * g),
    "squared": (lambda g: g * g, lambda g: g * g),
    "zero": (lambda g: ops.zeros_like(g), lambda g: 0 * g),
    "clipped": (lambda g: ops.clamp(g, -0.5, 0.5), lambda g: np.clip(g, -0.5, 0.5)),
}
X = np.array([0.7, -1.2, 2.0])


class Ruled(nn.Cell):
    """The identity with a rule, as a Cell with `bprop` states it."""

    def __init__(self, hook):
        super().__init__()
        self.hook = hook

    def construct(self, x):
        return x * 1.0

    def bprop(self, x, out, dout):
        changed = self.hook(dout)
        return (dout if changed is None else changed,)


@ways
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", [f32, f64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 3)])
def test_against_the_chain_rule(way, change, make, shape):
    hook, by_numpy = CHANGES[change]
    x = np.linspace(0.3, 1.7, int(np.prod(shape))).reshape(shape)
    found = dg.grad(lambda x: ops.sin(way(hook, x * x)))(make(x))
    assert_close(found, by_numpy(np.cos(x * x)) * 2 * x, rtol=1e-5 if make is f32 else 1e-12, dtype=make(x).dtype)


@ways
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_as_a_cell_with_that_rule(way, change, order):
    hook, _ = CHANGES[change]
    found = repeated_grad(lambda x: ops.sin(way(hook, x * x)), order)(f64(X))
    expected = repeated_grad(lambda x: ops.sin(Ruled(hook)(x * x)), order)(f64(X))
    assert_close(found, expected.asnumpy(), scale=1.0)


@ways
def test_the_second_derivative_goes_through_the_hook_again(way):
    """d/dx of h(2 u) with u behind h and h = 10 g: first 10 * 2 u, then 10 * 10 * 2."""
    f = lambda x: way(lambda g: 10 * g, x) ** 2
    assert_close(dg.grad(f)(f64(X)), 20 * X)
    assert_close(repeated_grad(f, 2)(f64(X)), np.full(3, 200.0))


@ways
@with_effects
def test_it_sees_the_sum_of_all_cotangents(way):
    met = []

    def f(x):
        y = way(lambda g: met.append(g.asnumpy()), x * x)
        return 3 * y + ops.sin(y) + y.sum()

    dg.grad(f)(f64(X))
    expected = 3 + np.cos(X * X) + 3.0  # y.sum() is added to each of three outputs
    np.testing.assert_allclose(met[-1], expected, rtol=1e-14)


@ways
@pytest.mark.eager("it counts the calls of the hook")
@pytest.mark.parametrize(
    ("transform", "calls"),
    [
        (dg.grad, 1),
        (dg.value_and_grad, 1),
        (ops.GradOperation(get_all=True), 1),
        (lambda f: lambda x: [dg.vjp(f, x)[1](ops.ones_like(x)) for _ in range(2)], 2),
        (lambda f: lambda x: dg.vjp(f, x), 0),
        (lambda f: f, 0),
    ],
)
def test_it_is_called_once_in_each_backward_pass(way, transform, calls, mode):
    if mode == dg.GRAPH_MODE:
        pytest.skip("calls are counted in PyNative mode")
    met = []
    transform(lambda x: ops.sin(way(lambda g: met.append(g), x * x)))(f64(X))
    assert len(met) == calls


@ways
@pytest.mark.eager("it counts the calls of the hook")
def test_a_nested_gradient_calls_it_in_both_passes(way, mode):
    if mode == dg.GRAPH_MODE:
        pytest.skip("calls are counted in PyNative mode")
    met = []
    repeated_grad(lambda x: ops.sin(way(lambda g: met.append(g), x * x)), 2)(f64(X))
    assert len(met) == 2


@ways
def test_it_is_not_called_without_a_cotangent(way):
    met = []

    def f(x):
        way(lambda g: met.append(1), x * x)
        return ops.sin(x)

    assert_close(dg.grad(f)(f64(X)), np.cos(X))
    assert met == []


@ways
@pytest.mark.parametrize("change", ["tenfold", "clipped"])
def test_under_vmap(way, change):
    hook, by_numpy = CHANGES[change]
    rows = np.stack([X, 0.5 * X])
    f = lambda x: ops.sin(way(hook, x * x)).sum()
    expected = by_numpy(np.cos(rows**2)) * 2 * rows
    assert_close(dg.vmap(dg.grad(f))(f64(rows)), expected)
    assert_close(dg.grad(lambda r: dg.vmap(f)(r).sum())(f64(rows)), expected)


@ways
def test_in_a_jacobian_by_rows(way):
    f = lambda x: ops.sin(way(lambda g: 10 * g, x * x))
    assert_close(dg.jacrev(f)(f64(X)), np.diag(10 * np.cos(X * X) * 2 * X), scale=1.0)


FORWARD = {
    "jvp": lambda f, x: dg.jvp(f, x, ops.ones_like(x)),
    "jacfwd": lambda f, x: dg.jacfwd(f)(x),
    "derivative": lambda f, x: ops.derivative(f, x, 2),
    "tangent": lambda f, x: dg.linearize(f, x)[1](ops.ones_like(x)),
    "jvp of grad": lambda f, x: dg.jvp(dg.grad(f), x, ops.ones_like(x)),
    "grad of jvp": lambda f, x: dg.grad(lambda x: dg.jvp(f, x, ops.ones_like(x))[1])(x),
    "hvp": lambda f, x: dg.hvp(lambda x: f(x).sum())(x, ops.ones_like(x)),
    "hessian": lambda f, x: dg.hessian(lambda x: f(x).sum())(x),
}


@ways
@pytest.mark.parametrize("forward", FORWARD)
def test_forward_mode_is_refused(way, forward):
    f = lambda x: ops.sin(way(lambda g: None, x * x))
    assert_raises(NotImplementedError, lambda: FORWARD[forward](f, f64(X)), "forward mode", "hook")


@ways
def test_forward_mode_beside_it(way):
    """What does not move passes a hook."""
    y = f64(X)
    f = lambda x: x * way(lambda g: 10 * g, y * y)
    assert_close(dg.jvp(f, f64(X), f64([1.0, 2.0, 3.0]))[1], X**2 * [1.0, 2.0, 3.0])


MISFITS = {
    "another shape": (lambda g: ops.concat((g, g)), ValueError, "shape"),
    "one that broadcasts": (lambda g: g.sum(), ValueError, "shape"),
    "another type": (lambda g: g.astype(dg.float32), TypeError, "Float32"),
    "a number": (lambda g: 3.0, TypeError, "float"),
    "text": (lambda g: "x", TypeError, "str"),
    "an array": (lambda g: np.ones(3), TypeError, "ndarray"),
}


@ways
@pytest.mark.parametrize("misfit", MISFITS)
def test_what_it_returns_is_checked(way, misfit):
    hook, kind, word = MISFITS[misfit]
    assert_raises(kind, lambda: dg.grad(lambda x: way(hook, x * x))(f64(X)), "hook", word)


@pytest.mark.parametrize("many", [lambda g: (*g, g[0]), lambda g: g[:1], lambda g: (g[0], None), lambda g: {}])
def test_several_gradients_come_back_in_their_number(many):
    hook = ops.HookBackward(many)
    assert_raises(TypeError, lambda: dg.grad(lambda x: sum(hook(x, x * x)))(f64(X)), "hook")


@with_effects
def test_hook_backward_of_several():
    met = []
    hook = ops.HookBackward(lambda g: (met.append([t.asnumpy() for t in g]), (2 * g[0], 3 * g[1]))[1])
    dx, dy = dg.grad(lambda x, y: hook(x, y)[0] * x, (0, 1))(f64(X), f64(X))
    assert_close((dx, dy), (2 * X + X, 0 * X))  # (hooked x) * x: x through the hook, and past it
    np.testing.assert_array_equal(met[-1], [X, 0 * X])


@pytest.mark.parametrize("bad", [3, None, "hook"])
def test_what_cannot_be_called_is_refused(bad):
    cell = nn.Identity()
    for register in (
        f64(X).register_hook,
        ops.HookBackward,
        ops.InsertGradientOf,
        cell.register_forward_pre_hook,
        cell.register_forward_hook,
        cell.register_backward_pre_hook,
        cell.register_backward_hook,
    ):
        assert_raises(TypeError, lambda register=register: register(bad), "hook", type(bad).__name__)


def test_inputs_that_are_no_tensors():
    assert_raises(TypeError, lambda: ops.HookBackward(lambda g: None)(3.0), "HookBackward", "float")
    assert_raises(ValueError, lambda: ops.HookBackward(lambda g: None, "Dense"), "cell_id")
    assert ops.InsertGradientOf(lambda g: g)(3.0) == 3.0


# ------------------------------------------------------------------------------------ hooks of inputs and parameters


class Line(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.array([3.0]), name="w")

    def construct(self, x):
        return self.w * x * x


TAKEN = {
    "grad": lambda net, x: dg.grad(net, 0, [net.w])(x),
    "GradOperation": lambda net, x: ops.GradOperation(get_by_list=True, get_all=True)(net, [net.w])(x),
    "vjp": lambda net, x: dg.vjp(net, x, weights=[net.w])[1](ops.ones_like(x)),
}


def leaves(nest):
    return [leaf for part in nest for leaf in leaves(part)] if isinstance(nest, tuple) else [nest]


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("change", CHANGES)
def test_of_inputs_and_parameters(taken, change):
    hook, by_numpy = CHANGES[change]
    net, x = Line(), f64([2.0])
    dx, dw = leaves(TAKEN[taken](net, x))
    assert_close((dx, dw), (np.array([12.0]), np.array([4.0])))
    handles = [x.register_hook(hook), net.w.register_hook(hook)]
    dx, dw = leaves(TAKEN[taken](net, x))
    assert_close((dx, dw), (by_numpy(np.array([12.0])), by_numpy(np.array([4.0]))))
    for handle in handles:
        handle.remove()
    dx, dw = leaves(TAKEN[taken](net, x))
    assert_close((dx, dw), (np.array([12.0]), np.array([4.0])))


def test_each_position_of_one_input():
    x = f64(X)
    x.register_hook(lambda g: 10 * g)
    assert_close(dg.grad(lambda a, b: a * b**2, (0, 1))(x, x), (10 * X**2, 20 * X**2))
    assert_close(dg.grad(lambda pair: (pair[0] * pair[1]).sum())((x, f64(X))), (10 * X, X))


def test_of_what_no_derivative_is_taken_by():
    y = f64(X)
    y.register_hook(lambda g: 1 / 0)
    w = Parameter(X, name="w")
    w.register_hook(lambda g: 1 / 0)
    assert_close(dg.grad(lambda x: x * y * w)(f64(X)), X * X)


def test_several_are_called_in_order():
    for order, expected in (((10, 1), 10.0 * 6 + 1), ((1, 10), (6 + 1) * 10.0)):
        hooks = {10: lambda g: 10 * g, 1: lambda g: g + 1}
        w = Parameter(np.array([3.0]), name="w")
        for each in order:
            w.register_hook(hooks[each])
        assert_close(dg.grad(lambda x, w: x * w * w, 1)(f64([1.0]), w), np.array([expected]))

        def f(x, order=order, hooks=hooks):
            y = x * x
            for each in order:
                y.register_hook(hooks[each])
            return 6 * y

        assert_close(dg.grad(f)(f64([0.5])), np.array([expected]))


def test_nested_gradients_by_an_input_with_a_hook():
    """Each gradient by the input goes through the hook: 10 * 3 x^2, and 10 of what that is differentiated to."""
    x = f64(X)
    x.register_hook(lambda g: 10 * g)
    f = lambda x: x**3
    assert_close(dg.grad(f)(x), 30 * X**2)
    assert_close(dg.grad(dg.grad(f))(x), 10 * 60 * X)


@pytest.mark.parametrize("forward", ["jvp", "jacfwd", "tangent", "hvp"])
def test_forward_mode_by_an_input_with_a_hook(forward):
    x = f64(X)
    handle = x.register_hook(lambda g: g)
    call = lambda: FORWARD[forward](lambda x: ops.sin(x), x)
    assert_raises(NotImplementedError, call, "hook", "reverse mode")
    handle.remove()
    call()


def test_a_hook_after_use_is_refused():
    def f(x):
        y = x * x
        z = 3 * y
        y.register_hook(lambda g: 10 * g)
        return z + y

    assert_raises(RuntimeError, lambda: dg.grad(f)(f64(X)), "used before", "right after")

    def inner(x):
        y = x * x
        dg.grad(lambda t: t * y)(x)
        y.register_hook(lambda g: 10 * g)
        return y

    assert_raises(RuntimeError, lambda: dg.grad(inner)(f64(X)), "used before")


def test_removed_before_the_backward_pass():
    def f(x):
        y = x * x
        with y.register_hook(lambda g: 10 * g):
            z = 3 * y
        return z

    assert_close(dg.grad(f)(f64(X)), 6 * X)


def test_a_new_value_has_no_hook():
    def f(x):
        y = x * x
        y.register_hook(lambda g: 10 * g)
        y[:] = x
        return y

    assert_close(dg.grad(f)(f64(X)), np.ones(3))


# ---------------------------------------------------------------------------------------------------- hooks of Cells


class Pair(nn.Cell):
    """(w x^2, w y)."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(np.array([3.0]), name="w")

    def construct(self, x, y, scale=1.0):
        return self.w * x * x * scale, self.w * y


def numbers(gradients):
    return tuple(None if g is None else float(g) for g in gradients)


@with_effects
def test_what_the_hooks_of_a_cell_are_given():
    """With x = 2, y = 5, w = 3 and f = 2 a + b the gradients of the outputs are (2, 1), of the inputs (24, 3)."""
    net, met = Pair(), []
    net.register_backward_pre_hook(lambda cell, out: met.append((cell is net, numbers(out))))
    net.register_backward_hook(lambda cell, into, out: met.append((cell is net, numbers(into), numbers(out))))

    def f(x, y):
        a, b = net(x, y)
        return 2 * a + b

    x, y = f64([2.0]), f64([5.0])
    assert_close(dg.grad(f, (0, 1))(x, y), (np.array([24.0]), np.array([3.0])))
    assert met[-2:] == [(True, (2.0, 1.0)), (True, (24.0, 3.0), (2.0, 1.0))]
    assert_close(dg.grad(lambda x: f(x, y))(x), np.array([24.0]))
    assert met[-1] == (True, (24.0, 3.0), (2.0, 1.0))  # both inputs are behind it, one of them a constant
    assert_close(dg.grad(lambda x, y: net(x, y)[0])(x, y), np.array([12.0]))
    assert met[-2:] == [(True, (1.0, 0.0)), (True, (12.0, 0.0), (1.0, 0.0))]
    assert_close(dg.grad(f, None, net.w)(x, y), np.array([2 * 4.0 + 5.0]))
    assert met[-1] == (True, (None, None), (2.0, 1.0))  # no input is differentiated


def test_the_order_of_the_hooks_of_a_cell():
    net = Pair()
    net.register_backward_hook(lambda cell, into, out: (2 * into[0], 2 * into[1]))
    net.register_backward_pre_hook(lambda cell, out: (3 * out[0], 3 * out[1]))
    net.register_backward_hook(lambda cell, into, out: (into[0] + 1, into[1] + out[1]))
    gradients = dg.grad(lambda x, y: sum(net(x, y)), (0, 1), net.w)(f64([2.0]), f64([5.0]))
    # outputs (1, 1) become (3, 3); inputs (36, 9) become (72, 18), then (73, 21); the weight is not behind the second
    assert_close(gradients, ((np.array([73.0]), np.array([21.0])), np.array([27.0])))


def test_forward_hooks():
    net, met = Pair(), []
    net.register_forward_pre_hook(lambda cell, args: met.append(("before", len(args))))
    net.register_forward_pre_hook(lambda cell, args, kwargs: ((args[1], args[0]), {"scale": 2.0}), with_kwargs=True)
    net.register_forward_hook(lambda cell, args, out: (out[0] + 1, out[1]))
    net.register_forward_hook(lambda cell, args, kwargs, out: met.append(kwargs), with_kwargs=True)
    net.register_forward_hook(lambda cell, args, out: (out[0] * 10, out[1]), prepend=True)
    first, second = net(f64([2.0]), f64([5.0]))
    assert_close((first, second), (np.array([3 * 25.0 * 2 * 10 + 1]), np.array([6.0])))
    assert met[-2:] == [("before", 2), {"scale": 2.0}]
    # they are differentiated like the rest
    assert_close(
        dg.grad(lambda x, y: net(x, y)[0], (0, 1))(f64([2.0]), f64([5.0])), (np.array([0.0]), np.array([600.0]))
    )


def test_a_bare_argument_is_the_only_one():
    relu = nn.ReLU()
    relu.register_forward_pre_hook(lambda cell, args: -args[0])
    assert_close(relu(f64([-2.0, 3.0])), np.array([2.0, 0.0]))


@pytest.mark.parametrize("given", [3, (1, 2, 3), ((1,), 2)])
def test_a_pre_hook_with_keywords_returns_both(given):
    relu = nn.ReLU()
    relu.register_forward_pre_hook(lambda cell, args, kwargs: given, with_kwargs=True)
    assert_raises(TypeError, lambda: relu(f64(X)), "pre-hook", "keywords")


def test_hooks_that_are_always_called():
    class Failing(nn.Cell):
        def construct(self, x):
            raise KeyError("inside")

    cell, met = Failing(), []
    cell.register_forward_hook(lambda cell, args, out: met.append("sometimes"))
    cell.register_forward_hook(lambda cell, args, out: met.append(out), always_call=True)
    with pytest.raises(KeyError, match="inside"):
        cell(f64(X))
    assert met[-1:] == [None]
    assert "sometimes" not in met
    cell.register_forward_hook(lambda cell, args, out: 1 / 0, always_call=True)
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"), pytest.raises(KeyError):
        cell(f64(X))


def test_around_a_cell_with_a_rule():
    """The hooks of a Cell with `bprop` stand around its rule."""
    cell = Ruled(lambda g: g + 1)
    cell.register_backward_pre_hook(lambda cell, out: 10 * out[0])
    cell.register_backward_hook(lambda cell, into, out: 2 * into[0])
    cell.register_forward_hook(lambda cell, args, out: 3 * out)
    assert_close(dg.grad(cell)(f64([1.0])), np.array([2 * (3 * 10.0 + 1)]))
    assert_close(cell(f64([1.0])), np.array([3.0]))


def test_around_a_recomputed_cell():
    for recompute_first in (True, False):
        cell = nn.Tanh()
        if recompute_first:
            cell.recompute()
        cell.register_backward_hook(lambda cell, into, out: 10 * into[0])
        if not recompute_first:
            cell.recompute()
        assert_close(dg.grad(cell)(f64(X)), 10 * (1 - np.tanh(X) ** 2))


def test_a_copy_has_hooks_of_its_own():
    import copy
    import pickle

    for duplicate in (copy.copy, copy.deepcopy, lambda cell: pickle.loads(pickle.dumps(cell))):
        cell = nn.Tanh()
        handle = cell.register_forward_hook(_tenfold)
        twin = duplicate(cell)
        handle.remove()
        assert_close(cell(f64(X)), np.tanh(X))
        assert_close(twin(f64(X)), 10 * np.tanh(X))


def _tenfold(cell, args, out):
    return 10 * out


def test_a_cell_without_tensors_in():
    class Constant(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(X, name="w")

        def construct(self, n):
            return self.w * n

    cell, met = Constant(), []
    cell.register_backward_hook(lambda cell, into, out: met.append((len(into), len(out))))
    assert_close(dg.grad(lambda: cell(2), None, cell.w)(), np.full(3, 2.0))
    assert met[-1] == (0, 1)


# ---------------------------------------------------------------------------------------------------- what is recorded


def test_recordings_see_hooks_come_and_go():
    """A function that is replayed already notices a hook on a Cell, a parameter or an input."""
    net = Line()
    gradient = dg.jit(dg.grad(net, 0, [net.w]))
    x = f64([2.0])
    for register in (
        lambda: net.register_backward_pre_hook(lambda cell, out: 10 * out[0]),
        lambda: net.register_forward_hook(lambda cell, args, out: 10 * out),
    ):
        for _ in range(4):
            assert_close(gradient(x), (np.array([12.0]), (np.array([4.0]),)))
        handle = register()
        for _ in range(4):
            assert_close(gradient(x), (np.array([120.0]), (np.array([40.0]),)))
        handle.remove()
    for tensor, expected in ((net.w, (12.0, 40.0)), (x, (120.0, 4.0))):
        for _ in range(4):
            assert_close(gradient(x), (np.array([12.0]), (np.array([4.0]),)))
        handle = tensor.register_hook(lambda g: 10 * g)
        for _ in range(4):
            assert_close(gradient(x), (np.array([expected[0]]), (np.array([expected[1]]),)))
        handle.remove()


@with_effects
@ways
def test_a_hook_with_effects_runs_at_each_call(way):
    """A hook that keeps or reads numbers is no program: the function runs eagerly."""
    met = []
    for effect in (met.append, lambda g: met.append(float(g.sum()))):
        gradient = dg.jit(dg.grad(lambda x, effect=effect: ops.sin(way(effect, x * x))))
        for calls in range(1, 6):
            before = len(met)
            assert_close(gradient(f64(X)), np.cos(X * X) * 2 * X)
            assert len(met) > before, calls


@ways
@pytest.mark.parametrize("change", CHANGES)
def test_a_hook_that_only_computes_is_recorded(way, change):
    hook, by_numpy = CHANGES[change]
    f = lambda x: ops.sin(way(hook, x * x))
    gradient = dg.jit(dg.grad(f))
    for scale in (1.0, 0.5, 0.25, -1.0):
        x = scale * X
        assert_close(gradient(f64(x)), by_numpy(np.cos(x * x)) * 2 * x)


def test_handles_of_tensors_are_not_mixed_up():
    """A tensor made in the memory of one that was freed has none of its hooks."""
    for _ in range(100):
        Tensor(X).register_hook(lambda g: 1 / 0)
        assert_close(dg.grad(lambda x: x * x)(Tensor(X)), 2 * X)


def test_the_hooks_of_a_tensor_are_known():
    x, first, second = f64([1.0]), lambda gradient: gradient, lambda gradient: 2 * gradient
    assert x.hooks() == []
    handles = [x.register_hook(hook) for hook in (first, second)]
    assert x.hooks() == [first, second]
    handles[0].remove()
    assert x.hooks() == [second]
