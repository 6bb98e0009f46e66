"""Cells that compute in a type of their own (`to_float`), compared with casts that are written out."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, ParameterTuple, Tensor, nn, ops

TYPES = (dg.float16, dg.float32, dg.float64)


def numbers(*shape, dtype=dg.float32, seed=0):
    return Tensor(np.random.default_rng(seed).uniform(-1.0, 1.0, shape), dtype)


class Tied(nn.Cell):
    """A parent that reads a weight of its child, a tensor, a property and a ParameterTuple's names."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Dense(3, 4)
        self.scale = Tensor([0.7], dg.float32)
        self.slope = Parameter(Tensor([0.3], dg.float32))

    @property
    def product(self):
        return self.slope * self.scale

    def construct(self, x):
        return ops.tanh(self.inner(x)) @ self.inner.weight * self.product


LAYERS = {
    "dense": (lambda: nn.Dense(3, 2), (4, 3)),
    "dense with activation": (lambda: nn.Dense(3, 2, activation="tanh"), (4, 3)),
    "chain": (lambda: nn.SequentialCell(nn.Dense(3, 5), nn.Tanh(), nn.Dense(5, 1)), (4, 3)),
    "convolution": (lambda: nn.Conv2d(2, 3, 2), (1, 2, 4, 4)),
    "prelu": (lambda: nn.PReLU(), (2, 3)),
    "layer norm": (lambda: nn.LayerNorm((3,), epsilon=1e-2), (4, 3)),
    "tied": (Tied, (4, 3)),
    "time": (lambda: nn.TimeDistributed(nn.Dense(3, 2), 1), (2, 3, 3)),
}


def by_hand(net, dtype):
    """The network as a function whose casts are written out: each Cell has casts for tensors while it runs."""

    def call(x):
        before = [(cell, dict(cell.__dict__)) for _, cell in net.cells_and_names()]
        try:
            for cell, attributes in before:
                cell.__dict__.update(
                    {k: v.astype(dtype) for k, v in attributes.items() if isinstance(v, Tensor) and v.dtype.is_float}
                )
            return net(x.astype(dtype))
        finally:
            for cell, attributes in before:
                cell.__dict__.update(attributes)

    return call


def wide(f):
    return lambda x: ops.sin(f(x).astype(dg.float64)).sum()


def second(f, *rest):
    return lambda x: (dg.grad(wide(f))(x).astype(dg.float64) ** 2).sum()


MODES = {
    "value": lambda f, net: f,
    "gradient": lambda f, net: dg.grad(wide(f)),
    "gradient by weights": lambda f, net: dg.grad(wide(f), None, net.trainable_params()),
    "gradient of a gradient": lambda f, net: dg.grad(second(f)),
    "mixed second derivative": lambda f, net: dg.grad(second(f), None, net.trainable_params()),
    "samples": lambda f, net: dg.vmap(f),
    "tangent": lambda f, net: lambda x: dg.jvp(f, (x,), (ops.ones_like(x),)),
    "Hessian": lambda f, net: dg.hessian(wide(f)),
}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.eager("the casts that are written out change attributes, and are compared with a recording here")
def test_layers_as_with_casts_by_hand(layer, dtype):
    make, shape = LAYERS[layer]
    net = make()
    twin = copy.deepcopy(net)
    assert net.to_float(dtype) is net
    for name, mode in MODES.items():
        x = numbers(*((2, *shape) if name == "samples" else shape))
        expected = mode(by_hand(twin, dtype), twin)(x)
        eager = mode(net, net)
        # float16 is rounded at each operator: only the same operators in the same order give the same numbers
        tolerant = {2: 2e-2, 4: 1e-5, 8: 1e-12}[dtype.itemsize]
        for found in (eager(x), *[recorded(x) for recorded in [dg.jit(eager)] for _ in range(3)]):
            compare(found, expected, tolerant)
    assert {p.dtype for p in net.get_parameters()} == {dg.float32}


def compare(found, expected, tolerance):
    flat = [x if isinstance(x, tuple | list) else (x,) for x in (found, expected)]
    assert len(flat[0]) == len(flat[1])
    for a, b in zip(*flat, strict=True):
        if isinstance(a, tuple | list):
            compare(a, b, tolerance)
            continue
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        tolerant = max(tolerance, {2: 2e-3, 4: 1e-6, 8: 0.0}[a.dtype.itemsize])
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=tolerant, atol=tolerant)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_have_the_types_of_what_is_stored(layer, dtype):
    make, shape = LAYERS[layer]
    net = make().to_float(dtype)
    x = numbers(*shape)
    assert net(x).dtype is dtype
    by_input, by_weights = dg.grad(lambda x: net(x).sum(), 0, net.trainable_params())(x)
    assert {g.dtype for g in (by_input, *by_weights)} == {dg.float32}


# ------------------------------------------------------------------------------------------------ what is cast


class Types(nn.Cell):
    """The types of all it is given, by its attributes too."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0], dg.float32))
        self.count = Parameter(Tensor([1], dg.int32), requires_grad=False)
        self.shift = Tensor([1.0], dg.float64)
        self.phase_of = Tensor([1j])
        self.several = [Tensor([1.0], dg.float64)]

    def construct(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs
        return self.w + 0 * self.count, self.w.dtype, self.count.dtype, self.shift.dtype, self.phase_of.dtype


@pytest.mark.eager("it keeps what it is given")
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_what_is_cast(dtype):
    cell = Types().to_float(dtype)
    single, double, whole, flag = Tensor([1.5]), Tensor([2.5], dg.float64), Tensor([3]), Tensor([True])
    array, phase = np.array([0.5]), Tensor([1j])
    found = cell(single, (double, [whole, flag]), 2.5, None, array, key={"a": double, "b": phase}, n=3)
    assert found[1:] == (dtype, dg.int32, dtype, dg.complex128)
    a, (b, (c, d)), number, nothing, e = cell.args
    assert [x.dtype for x in (a, b, c, d, e)] == [dtype, dtype, dg.int64, dg.bool_, dtype]
    assert (type(number), nothing, cell.kwargs["n"]) == (float, None, 3)
    assert (cell.kwargs["key"]["a"].dtype, cell.kwargs["key"]["b"].dtype) == (dtype, dg.complex128)
    assert cell.shift.dtype is dg.float64
    assert cell.several[0].dtype is dg.float64
    assert c is whole
    assert not isinstance(found[0], Parameter)


def test_a_cast_in_construct_is_respected():
    class Net(nn.Cell):
        def construct(self, x):
            return x, ops.exp(x.astype(dg.float32))

    narrow, exact = Net().to_float(dg.float16)(Tensor([1.1]))
    assert (narrow.dtype, exact.dtype) == (dg.float16, dg.float32)
    assert exact.item() == np.exp(np.float32(np.float16(1.1)))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_last_call_decides(order):
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 1))
    calls = (lambda: net.to_float(dg.float16), lambda: net[0].to_float(dg.float64))
    for i in order:
        calls[i]()
    x = numbers(1, 2)
    assert net[0](x).dtype is (dg.float64 if order == (0, 1) else dg.float16)
    assert net(x).dtype is dg.float16


@pytest.mark.parametrize(
    ("flags", "dtype"),
    [
        ({"fp16": True}, dg.float16),
        ({"fp16": False, "fp32": True}, dg.float32),
        ({"fp16": True, "fp32": True}, dg.float32),
    ],
)
def test_flags(flags, dtype):
    """`add_flags` is for one Cell, `add_flags_recursive` for all below."""
    net = nn.SequentialCell(nn.Tanh(), nn.Sigmoid())
    x = numbers(1, 2, dtype=dg.float64)
    net.add_flags(fp16=False)
    assert net(x).dtype is dg.float64
    net[1].add_flags(**flags)
    assert (net[0](x).dtype, net(x).dtype) == (dg.float64, dtype)
    net.add_flags_recursive(**flags)
    assert net[0](x).dtype is dtype
    assert net.fp16 == flags["fp16"]


def test_a_cell_with_two_parents():
    shared = nn.Dense(2, 2)
    one, two = nn.SequentialCell(shared, nn.Dense(2, 2)), nn.SequentialCell(shared, nn.Dense(2, 2))
    one.to_float(dg.float64)
    two[1].to_float(dg.float16)
    x = numbers(3, 2)
    assert (one(x).dtype, shared(x).dtype, two(x).dtype) == (dg.float64, dg.float64, dg.float16)
    loss = lambda x: (one(x) + two(x)).sum()
    (weight, bias) = dg.grad(loss, None, shared.trainable_params())(x)
    assert (weight.dtype, bias.dtype) == (dg.float32, dg.float32)


# ------------------------------------------------------------------------------------------- programs and copies


def test_a_program_follows_the_type():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.Dense(3, 1))
    x = numbers(4, 2)
    run = dg.jit(lambda x: net(x))
    step = dg.jit(dg.grad(lambda x: net(x).sum(), None, net.trainable_params()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing runs eagerly
        for dtype in (None, *TYPES, dg.float16):
            if dtype is not None:
                net.to_float(dtype)
            for _ in range(4):
                assert run(x).dtype is (dtype or dg.float32)
                assert {g.dtype for g in step(x)} == {dg.float32}
            expected = net(x)
            np.testing.assert_allclose(run(x).asnumpy(), expected.asnumpy(), rtol=1e-2 if dtype is dg.float16 else 1e-6)
        net[2].to_float(dg.float64)
        for _ in range(4):
            assert run(x).dtype is dg.float64
        net[2].add_flags(fp16=True)
        for _ in range(4):
            assert run(x).dtype is dg.float16
        net[0].weight.set_data(np.zeros((3, 2)))
        net[0].bias.set_data(np.zeros(3))
        net[2].bias.set_data([0.5])
        assert (run(x).asnumpy() == 0.5).all()


def test_a_construct_that_is_recorded_by_itself():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(3, 2)
            self.factor = 1.0

        @dg.jit
        def construct(self, x):
            return self.factor * (self.fc(x) + self.fc.bias)

    net, x = Net(), numbers(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (*TYPES, dg.float16):
            net.to_float(dtype)
            for factor in (1.0, 2.0):
                net.factor = factor
                hand = [t.astype(dtype) for t in (x, net.fc.weight, net.fc.bias)]
                for _ in range(4):
                    compare([net(x)], [factor * (hand[0] @ hand[1].T + hand[2] + hand[2])], 1e-2)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("recomputed", [False, True])
def test_copies(copied, hooked, recomputed):
    net = nn.Dense(2, 3)
    if recomputed:
        net.recompute()
    net.to_float(dg.float16)
    if hooked and "lambda" not in copied.__name__:
        net.register_forward_hook(double)
    twin = copied(net)
    x = numbers(4, 2)
    assert twin(x).dtype is dg.float16
    assert (twin(x) == net(x)).all()
    twin.to_float(dg.float64)
    assert (twin(x).dtype, net(x).dtype) == (dg.float64, dg.float16)
    assert type(twin) is nn.Dense


def double(cell, args, output):
    return 2 * output


# ------------------------------------------------------------------------------------------ hooks, recompute, bprop


@pytest.mark.eager("hooks keep what they see")
@pytest.mark.parametrize("before", [False, True])
def test_hooks_see_the_type(before):
    net, seen = nn.Dense(2, 3), {}
    if before:
        net.to_float(dg.float16)
    net.register_forward_pre_hook(lambda cell, args: seen.update(pre=args[0].dtype))
    net.register_forward_hook(lambda cell, args, output: seen.update(after=output.dtype))
    net.register_backward_hook(lambda cell, gi, go: seen.update(gi=gi[0].dtype, go=go[0].dtype))
    if not before:
        net.to_float(dg.float16)
    assert dg.grad(lambda x: net(x).sum())(numbers(1, 2)).dtype is dg.float32
    assert set(seen.values()) == {dg.float16}
    assert len(seen) == 4


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_recompute(before, order):
    nets = [nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.Dense(3, 1)) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    for net, again in zip(nets, (False, True), strict=True):
        if again and before:
            net.recompute()
            net[0].recompute()
        net.to_float(dg.float16)
        if again and not before:
            net.recompute()
            net[0].recompute()
    x = numbers(3, 2)
    found = []
    for net in nets:
        f = wide(net) if order == 1 else second(net)
        found.append(dg.grad(f, 0, net.trainable_params())(x))
    compare(found[0], found[1], 2e-3)


def test_a_block_that_is_computed_again_reads_the_same_types():
    """The gradient runs the block when the Cell has been left."""

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([0.3, 0.7]))

        def construct(self, x):
            return dg.recompute(lambda x: ops.sin(self.w * x), x)

    net = Net().to_float(dg.float16)
    x = numbers(2)
    plain = lambda x: ops.sin(net.w.astype(dg.float16) * x.astype(dg.float16))
    for f, g in ((wide(net), wide(plain)), (second(net), second(plain))):
        compare(dg.grad(f, 0, [net.w])(x), dg.grad(g, 0, [net.w])(x), 2e-3)


def test_loops_read_the_same_types():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([0.5, 0.25]))

        def construct(self, x):
            return ops.Scan()(lambda c, _: (ops.tanh(c * self.w), c), x, None, 40)[0]

    net = Net().to_float(dg.float16)

    def plain(x):
        x = x.astype(dg.float16)
        for _ in range(40):
            x = ops.tanh(x * net.w.astype(dg.float16))
        return x

    x = numbers(2)
    compare(dg.grad(wide(net), 0, [net.w])(x), dg.grad(wide(plain), 0, [net.w])(x), 5e-3)


def test_a_gradient_of_its_own():
    class Scaled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0]))

        def construct(self, x):
            return self.w * x

        def bprop(self, x, out, dout):
            assert {x.dtype, out.dtype, dout.dtype, self.w.dtype} == {dg.float16}
            return (10 * dout * self.w,)

    cell = Scaled().to_float(dg.float16)
    x = Tensor([3.0])
    assert (cell(x).dtype, cell(x).item()) == (dg.float16, 6.0)
    gradient = dg.grad(cell)(x)
    assert (gradient.dtype, gradient.item()) == (dg.float32, 20.0)


# ------------------------------------------------------------------------------------------------- changes inside


class Counting(nn.Cell):
    """Assigns to Parameters in every way that keeps stored numbers."""

    def __init__(self, way):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0**-12]), requires_grad=False)
        self.register_buffer("mean", Tensor([0.0]))
        self.way = way

    def construct(self, x):
        self.way(self, x)
        return self.w * x


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        (lambda cell, x: ops.assign(cell.w, x), [0.5, 0.25]),
        (lambda cell, x: ops.assign_add(cell.w, x), [1.5, 0.25 + 2.0**-12]),
        (lambda cell, x: ops.assign_sub(cell.w, x), [0.5, 2.0**-12 - 0.25]),
        (lambda cell, x: cell.w.set_data(x), [0.5, 0.25]),
        (lambda cell, x: setattr(cell, "w", x), [0.5, 0.25]),
        (lambda cell, x: ops.scatter_update(cell.w, Tensor([0]), x[:1]), [0.5, 2.0**-12]),
    ],
)
@pytest.mark.eager("in Graph mode it would be called several times")
def test_stored_numbers_are_changed(way, expected):
    """An increment that Float16 cannot hold beside 1/4 is kept."""
    cell = Counting(way).to_float(dg.float16)
    found = cell(Tensor([0.5, 0.25]))
    assert (cell.w.dtype, cell.w.tolist()) == (dg.float32, expected)
    assert found.dtype is dg.float16
    assert isinstance(cell.w, Parameter)


@pytest.mark.eager("it changes an attribute")
def test_buffers_keep_their_type():
    cell = Counting(lambda cell, x: setattr(cell, "mean", cell.mean + x.mean())).to_float(dg.float16)
    for times in (1, 2):
        cell(Tensor([0.5, 0.25]))
        assert (cell.mean.dtype, cell.mean.tolist()) == (dg.float32, [0.375 * times])
        assert [x.dtype for x in cell.buffers()] == [dg.float32]


def write(cell, x):
    cell.w[0] = 1.0


def add(cell, x):
    cell.w.add_(x)


def write_buffer(cell, x):
    cell.mean[0] = 1.0


def append(cell, x):
    x.append(Tensor([1.0]))


@pytest.mark.parametrize("way", [write, add, write_buffer])
def test_changes_in_place_are_refused(way):
    cell = Counting(way).to_float(dg.float16)
    before = cell.w.tolist(), cell.mean.tolist()
    with pytest.raises(RuntimeError, match=r"expected .*"):
        cell(Tensor([0.5, 0.25]))
    assert (cell.w.tolist(), cell.mean.tolist()) == before


def test_a_list_that_is_changed_is_refused():
    class Net(nn.Cell):
        def construct(self, history):
            history.append(history[-1] * 2)
            return history[-1]

    with pytest.raises(RuntimeError, match="list or dict"):
        Net().to_float(dg.float16)([Tensor([1.0])])
    history = [Tensor([1.0], dg.float16)]  # of the type, so no copy
    assert Same().to_float(dg.float16)(history) is history


class Same(nn.Cell):
    def construct(self, x):
        return x


def test_a_parameter_among_the_inputs_can_be_assigned_to():
    class Net(nn.Cell):
        def construct(self, w, x):
            ops.assign_add(w, 2.0**-12)
            return w * x

    w = Parameter([1.0], name="w")
    found = Net().to_float(dg.float16)(w, Tensor([3.0]))
    assert (found.dtype, found.item(), w.item()) == (dg.float16, 3.0, 1.0 + 2.0**-12)


@pytest.mark.eager("it counts calls")
def test_attributes_are_those_of_the_cell():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.child = nn.Dense(1, 1)
            self.calls = 0

        def construct(self, x):
            self.calls += 1
            assert isinstance(self, Net)
            assert self.__class__ is Net
            assert isinstance(self.child, nn.Dense)
            assert type(self)().calls == 0
            assert [p.name for p in self.trainable_params()] == ["child.weight", "child.bias"]
            assert len(list(self.cells_and_names())) == 2
            return super().cast_inputs((x,), dg.float16)[0]

    net = Net().to_float(dg.float16)
    child = net.child
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net(Tensor([[1.0]]))
    assert net.calls == 1
    assert net.child is child


# ------------------------------------------------------------------------------------- gradients in a construct


class Penalty(nn.Cell):
    """A loss with gradients in it, by an input and by weights."""

    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net = net
        self.weights = ParameterTuple(net.trainable_params())

    def construct(self, x):
        by_x = dg.grad(lambda x: self.net(x).sum())(x)
        by_w = dg.grad(lambda x: self.net(x).sum(), None, self.weights)(x)
        listed = ops.GradOperation(get_by_list=True)(self.net, self.weights)(x)
        return (by_x**2).sum() + sum((g * g).sum().astype(x.dtype) for g in (*by_w, *listed))


def test_gradients_inside():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.Dense(3, 1))
    loss, x = Penalty(net), numbers(3, 2)
    expected = dg.grad(loss, None, net.trainable_params())(x)
    value = loss(x).item()
    loss.to_float(dg.float16)
    found = dg.grad(loss, None, net.trainable_params())(x)
    assert {g.dtype for g in found} == {dg.float32}
    compare(found, expected, 5e-2)
    assert loss(x).item() == pytest.approx(value, rel=1e-2)


@pytest.mark.parametrize(
    "way",
    [
        lambda cell, x: dg.grad(lambda x: cell.w * x, None, cell.w)(x),
        lambda cell, x, w=None: (lambda w: dg.grad(lambda x: w * x, None, cell.weights)(x))(cell.w),
        lambda cell, x: ops.GradOperation(get_by_list=True)(lambda x: cell.w * x, [cell.w])(x),
        lambda cell, x: dg.vjp(lambda x: cell.w * x, x, weights=cell.w)[0],
        lambda cell, x: dg.jacrev(lambda: cell.w * x, None, weights=cell.w)(),
    ],
)
def test_a_gradient_that_may_be_lost_is_refused(way):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter([2.0])
            self.weights = ParameterTuple([self.w])

        def construct(self, x):
            return way(self, x)

    with pytest.raises(RuntimeError, match="trainable_params"):
        Net().to_float(dg.float16)(Tensor([1.0]))


def test_training_cells_keep_their_optimiser():
    net = nn.Dense(2, 1)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 0.05))
    step.to_float(dg.float16)
    x, y = numbers(8, 2), numbers(8, 1, seed=1)
    losses = [step(x, y) for _ in range(30)]
    assert losses[0].dtype is dg.float16
    assert losses[-1].item() < losses[0].item()
    state = [p for p in step.optimizer.get_parameters() if p.dtype.is_float]
    assert {p.dtype for p in (*net.get_parameters(), *state)} == {dg.float32, dg.float64}  # powers of beta
    assert {p.dtype for p in net.get_parameters()} == {dg.float32}


def test_a_scaled_step():
    """The scale, 2**20, is beyond Float16, and is read as it is stored."""
    net = nn.Dense(2, 1)
    loss, opt = nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)
    step = nn.TrainOneStepWithLossScaleCell(loss, opt, nn.DynamicLossScaleUpdateCell(2.0**20, 2, 1000))
    net.to_float(dg.float16)
    for _ in range(12):
        value, overflow, scale = step(numbers(8, 2), numbers(8, 1, seed=1))
    assert not overflow
    assert 1.0 < scale.item() < 2.0**20
    assert np.isfinite(value.item())


# ---------------------------------------------------------------------------------------------- running statistics


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", ["BatchNorm1d", "BatchNorm2d", "InstanceNorm1d"])
def test_normalisation_computes_in_the_type_of_its_parameters(kind, training):
    shape = (4, 3, 5) if kind != "BatchNorm2d" else (4, 3, 2, 2)
    x = numbers(*shape) + 5.0
    layer, twin = getattr(nn, kind)(3).set_train(training), getattr(nn, kind)(3).set_train(training)
    layer.to_float(dg.float16)
    found, expected = layer(x), twin(x.astype(dg.float16).astype(dg.float32))
    assert found.dtype is dg.float16
    np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy().astype(np.float16))
    for a, b in zip(layer.get_parameters(), twin.get_parameters(), strict=True):
        assert a.dtype is dg.float32
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)


# --------------------------------------------------------------------------------------------------------- errors


class Slotted(nn.Cell):
    __slots__ = ("place",)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda: nn.Dense(1, 1).to_float(dg.int32)),
        (ValueError, lambda: nn.Dense(1, 1).to_float(dg.complex64)),
        (TypeError, lambda: nn.Dense(1, 1).to_float("bfloat16")),
        (TypeError, lambda: nn.Dense(1, 1).to_float(3)),
        (TypeError, lambda: nn.Dense(1, 1).add_flags(bf16=True)),
        (TypeError, lambda: Slotted().to_float(dg.float16)),
    ],
)
def test_errors(error, call):
    with pytest.raises(error, match=r"[Ee]xpected|bfloat16"):
        call()
