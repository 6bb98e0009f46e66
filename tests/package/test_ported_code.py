"""Code written for MindSpore must run after a change of the import and give right numbers.

The examples resemble published physics-informed and molecular codes: a Cell with a `GradOperation` takes derivatives,
a sensitivity selects one output column and `Gather` one input column, and such a Cell around another gives second
derivatives.
"""

import inspect
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

import dualgrad as dg
import dualgrad.common.dtype as mstype
from dualgrad import Parameter, ParameterTuple, Tensor, context, nn, ops
from dualgrad.common.initializer import XavierUniform, initializer
from dualgrad.ops import composite as C
from dualgrad.ops import functional as F
from dualgrad.ops import operations as P

F64 = dg.float64
POINTS = np.random.default_rng(3).uniform(0.2, 1.0, (5, 2))


class First(nn.Cell):
    """d out[:, o] / d in[:, i], shape (n, 1)."""

    def __init__(self, network, argument=0):
        super().__init__()
        self.grad = ops.GradOperation(get_all=True, sens_param=True)
        self.gather = ops.Gather()
        self.cast = ops.Cast()
        self.dtype = ops.DType()
        self.shape = ops.Shape()
        self.concat = ops.Concat(axis=1)
        self.argument = argument
        self.network = network
        self.is_function = inspect.isfunction(network)
        if not self.is_function:
            self.columns = getattr(network, "columns", None)

    @staticmethod
    @ops.constexpr
    def _index(i):
        return Tensor([i], mstype.int32)

    def construct(self, i, o, *inputs, **kwargs):
        out = self.network(*inputs, **kwargs)
        n = self.shape(out)[0]
        sens = ()
        for k in range(out.shape[1]):
            fill = ops.OnesLike() if k == o else ops.ZerosLike()
            sens += (fill(out[:, k : k + 1]),)
        sens = self.concat(sens)
        assert sens.shape == (n, out.shape[1])
        gradients = self.grad(self.network)(*inputs, self.cast(sens, self.dtype(out)), **kwargs)
        return self.gather(gradients[self.argument], self._index(i), 1)


class Second(nn.Cell):
    """d^2 out[:, o] / d in[:, i] d in[:, j]: a derivative Cell around a derivative Cell."""

    def __init__(self, network, i, o):
        super().__init__()
        self.first = First(network)
        self.i, self.o = i, o
        self.grad = ops.GradOperation(get_all=True, sens_param=True)
        self.gather = ops.Gather()

    def inner(self, *inputs):
        return self.first(self.i, self.o, *inputs)

    def construct(self, j, *inputs):
        sens = ops.OnesLike()(self.inner(*inputs))
        return self.gather(self.grad(self.inner)(*inputs, sens)[0], Tensor([j], mstype.int32), 1)


class Fields(nn.Cell):
    """Two known functions of (x, t) as columns of one output."""

    def __init__(self):
        super().__init__()
        self.split = ops.Split(1, 2)

    def construct(self, points):
        x, t = self.split(points)
        u = ops.Sin()(x) * ops.Exp()(-t)
        v = x**3 * t**2
        return P.Concat(1)((u, v))


X, T = POINTS[:, :1], POINTS[:, 1:]
# the derivatives of both columns by the orders (in x, in t)
KNOWN = {
    (0, 1, 0): np.cos(X) * np.exp(-T),
    (0, 0, 1): -np.sin(X) * np.exp(-T),
    (0, 2, 0): -np.sin(X) * np.exp(-T),
    (0, 1, 1): -np.cos(X) * np.exp(-T),
    (1, 1, 0): 3 * X**2 * T**2,
    (1, 0, 1): 2 * X**3 * T,
    (1, 2, 0): 6 * X * T**2,
    (1, 1, 1): 6 * X**2 * T,
    (1, 0, 2): 2 * X**3,
}


@pytest.mark.parametrize("network", [Fields(), lambda points: Fields()(points)], ids=["cell", "function"])
@pytest.mark.parametrize(("column", "in_x", "in_t"), KNOWN)
def test_derivative_cells(network, column, in_x, in_t):
    inputs = [0] * in_x + [1] * in_t
    if len(inputs) == 1:
        found = First(network)(inputs[0], column, Tensor(POINTS))
    else:
        found = Second(network, inputs[0], column)(inputs[1], Tensor(POINTS))
    np.testing.assert_allclose(found.asnumpy(), KNOWN[column, in_x, in_t], rtol=1e-12)


def test_a_gradient_mapped_over_a_stack_of_sensitivities():
    """One row of the Jacobian for each sensitivity; the point is shared."""
    points, net = Tensor(POINTS), Fields()
    gradient = lambda x, sens: ops.GradOperation(sens_param=True)(net)(x, sens)
    stack = np.zeros((2, 5, 2))
    stack[0, :, 0] = stack[1, :, 1] = 1.0
    rows = F.vmap(gradient, in_axes=(None, 0), out_axes=0)(points, Tensor(stack)).asnumpy()
    for column in (0, 1):
        np.testing.assert_allclose(rows[column, :, :1], KNOWN[column, 1, 0], rtol=1e-12)
        np.testing.assert_allclose(rows[column, :, 1:], KNOWN[column, 0, 1], rtol=1e-12)


def test_tensors_numbers_and_none_among_the_inputs():
    """Only tensors are differentiated; the results have their order."""

    class Equation(nn.Cell):
        def construct(self, x, condition, order, u, scale=1.0, **settings):
            out = x**order * u * scale
            if condition is not None:
                out = out * condition
            return out * settings.get("weight", 1)

    net, x, u = Equation(), Tensor([2.0, 3.0], F64), Tensor([5.0, 7.0], F64)
    sens = ops.OnesLike()(x)
    grad = ops.GradOperation(get_all=True, sens_param=True)(net)
    dx, du = grad(x, None, 2, u, sens)
    assert (dx.tolist(), du.tolist()) == ([20.0, 42.0], [4.0, 9.0])
    dx, dc, du = grad(x, Tensor([2.0, 2.0], F64), 1, u, sens, scale=3.0, weight=0.5)
    assert (dx.tolist(), dc.tolist(), du.tolist()) == ([15.0, 21.0], [15.0, 31.5], [6.0, 9.0])
    (bare,) = ops.GradOperation(get_all=True)(lambda a, b, c: c * b)(None, 3, x)
    assert bare.tolist() == [3.0, 3.0]


def test_tuples_that_grow_and_lists_that_are_assigned_into():
    class Powers(nn.Cell):
        def construct(self, x):
            found = ()
            rows = [None, None, None]
            for k in range(3):
                rows[k] = x ** (k + 1)
                found += (rows[k],)
            rows[1] = rows[1] * 2.0
            return ops.Concat()(found) + ops.Concat()(tuple(rows))

    (dx,) = ops.GradOperation(get_all=True)(Powers())(Tensor([2.0], F64))
    assert dx.tolist() == [2 * 1.0 + 3 * 4.0 + 2 * 12.0]


def test_functions_registered_by_type():
    clip = C.MultitypeFuncGraph("clip")

    @clip.register("Number", "Number", "Tensor")
    def _clip(kind, limit, gradient):
        assert kind == 0
        dt = F.dtype(gradient)
        low, high = F.tuple_to_array((-limit,)), F.scalar_to_tensor(limit)
        return C.clip_by_value(gradient, F.cast(low, dt), F.cast(high, dt))

    gradients = Tensor([-2.0, 0.5]), Tensor([3.0])
    hyper_map = C.HyperMap()
    clipped = hyper_map(F.partial(clip, 0, 1.0), gradients)
    assert [g.tolist() for g in clipped] == [[-1.0, 0.5], [1.0]]

    scale = ops.MultitypeFuncGraph("scale")

    @scale.register("Tensor", "Tensor")
    def _scale(factor, gradient):
        return gradient * F.cast(P.Reciprocal()(factor), F.dtype(gradient))

    halves = ops.HyperMap()(ops.partial(scale, Tensor([2.0])), gradients)
    assert [g.tolist() for g in halves] == [[-1.0, 0.25], [1.5]]


def test_shapes_of_ops_as_classes():
    x = Tensor(np.arange(6.0).reshape(2, 3), dg.float32)
    assert ops.Reshape()(x, (-1, 1)).shape == (6, 1)
    assert [part.shape for part in ops.Split(1, 3)(x)] == [(2, 1)] * 3
    assert ops.Stack(0)([x, x]).shape == (2, 2, 3)
    assert ops.Concat(-1)((x, x)).shape == (2, 6)
    assert ops.ReduceMean(True)(x, 1).tolist() == [[1.0], [4.0]]
    assert ops.ReduceMean(keep_dims=False)(x).item() == 2.5
    assert ops.Fill()(mstype.float32, (2,), 3.0).tolist() == [3.0, 3.0]
    assert ops.DType()(ops.Cast()(x, mstype.float64)) is dg.float64
    assert ops.clip_by_value(x, Tensor(1.0), Tensor(4.0)).tolist() == [[1.0, 1.0, 2.0], [3.0, 4.0, 4.0]]
    assert ops.clip_by_value(x, 1.0, 4.0).tolist() == [[1.0, 1.0, 2.0], [3.0, 4.0, 4.0]]
    assert ops.clip_by_value(x, clip_value_max=4.0).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 4.0]]
    assert [g.tolist() for g in ops.clip_by_global_norm((Tensor([3.0]), Tensor([4.0])), 1.0)] == [
        pytest.approx([0.6]),
        pytest.approx([0.8]),
    ]


def test_stop_gradient_of_a_tuple():
    def loss(x):
        a, b = ops.stop_gradient((x * x, x))
        return x * a + b

    assert dg.grad(loss)(Tensor([3.0])).tolist() == [9.0]


# -------------------------------------------------------------------------------------------------- training


class Line(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 1, weight_init="zeros", bias_init="zeros")

    def construct(self, x):
        return self.fc(x)


INPUTS = POINTS.astype(np.float32)
LABELS = INPUTS @ np.array([[2.0], [-1.0]], np.float32) + 0.5


@pytest.mark.parametrize("mode", [dg.PYNATIVE_MODE, dg.GRAPH_MODE])
def test_a_training_step_as_users_write_it(mode):
    """value_and_grad and the optimiser under jit: every replay repeats the update."""
    before = context.get_context(attr_key="mode")
    context.set_context(mode=mode)
    try:
        net, loss_fn = Line(), nn.MSELoss()
        optimizer = nn.Adam(net.trainable_params(), 0.05)

        def forward_fn(data, label):
            return loss_fn(net(data), label)

        grad_fn = ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=False)

        @dg.jit
        def train_step(data, label):
            loss, grads = grad_fn(data, label)
            return ops.depend(loss, optimizer(grads))

        net.set_train()
        losses = [float(train_step(Tensor(INPUTS), Tensor(LABELS))) for _ in range(600)]
        net.set_train(False)
    finally:
        context.set_context(mode=before)
    assert losses[0] == pytest.approx(float(np.mean(LABELS**2)), rel=1e-6)
    assert losses[-1] < 1e-4
    assert optimizer.global_step.item() == 600
    assert not net.training
    np.testing.assert_allclose(net.fc.weight.asnumpy(), [[2.0, -1.0]], atol=0.1)


def test_a_training_cell_as_users_write_it():
    """GradOperation by list inside a Cell that owns network and optimiser, with a sensitivity as loss scale."""

    class TrainStep(nn.Cell):
        def __init__(self, network, optimizer, sens=1.0):
            super().__init__(auto_prefix=False)
            self.network = network
            self.network.set_grad()
            self.optimizer = optimizer
            self.weights = ParameterTuple(network.trainable_params())
            self.grad = C.GradOperation(get_by_list=True, sens_param=True)
            self.sens = sens

        def construct(self, *inputs):
            loss = self.network(*inputs)
            sens = P.Fill()(P.DType()(loss), P.Shape()(loss), self.sens)
            grads = self.grad(self.network, self.weights)(*inputs, sens)
            return F.depend(loss, self.optimizer(grads))

    net = Line()
    step = TrainStep(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9), sens=0.5)
    twin = Line()
    other = nn.TrainOneStepCell(
        nn.WithLossCell(twin, nn.MSELoss()), nn.Momentum(twin.trainable_params(), 0.1, 0.9), sens=0.5
    )
    assert [p.name for p in net.trainable_params()] == ["fc.weight", "fc.bias"]
    losses = [float(step(Tensor(INPUTS), Tensor(LABELS))) for _ in range(300)]
    others = [float(other(Tensor(INPUTS), Tensor(LABELS))) for _ in range(300)]
    assert losses[-1] < 1e-4
    assert losses == others


# ----------------------------------------------------------------------------------------------- environment


def test_settings_of_the_environment():
    context.set_context(save_graphs=False, device_id=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the path is ignored, the first time
        context.set_context(save_graphs_path="./graphs")
    assert context.get_context(attr_key="device_target") == "CPU"
    assert context.get_context("save_graphs_path") == "./graphs"
    context.set_context(save_graphs_path=".")
    assert tuple(int(n) for n in dg.__version__.split(".")[:2]) < (99, 0)


def test_names_of_parameters_follow_the_prefix():
    net = Line()
    net.update_parameters_name("solver.")
    assert [p.name for p in net.get_parameters()] == ["solver.fc.weight", "solver.fc.bias"]
    assert net.fc.param_prefix == "fc"
    net.insert_child_to_cell("last", nn.Dense(1, 1))
    net.insert_param_to_cell("scale", Parameter(Tensor([1.0])))
    assert net.last.weight.name == "last.weight"
    assert net.scale.name == "scale"
    assert [name for name, _ in net.cells_and_names()] == ["", "fc", "last"]


def test_parameters_are_reset_by_an_initializer():
    dg.set_seed(5)
    net = Line()
    net.fc.weight.set_data(initializer(XavierUniform(), net.fc.weight.shape, net.fc.weight.dtype))
    first = net.fc.weight.asnumpy()
    assert first.any()
    assert (np.abs(first) <= np.sqrt(6 / 3)).all()
    dg.set_seed(5)
    net.fc.weight.set_data(initializer("xavier_uniform", [1, 2], mstype.float32))
    assert (net.fc.weight.asnumpy() == first).all()


def test_flags_of_cells():
    net = Line()
    assert net.add_flags(fp16=True) is net
    assert net.get_flags() == {"fp16": True}
    assert net.fp16
    net.add_flags_recursive(frozen=True)
    assert net.fc.frozen
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert net.to_float(dg.float32) is net
        net.set_comm_fusion(1)
        net.set_inputs(Tensor([1.0]))
        net.recompute()
        net.set_broadcast_flag()
        net.compile(Tensor(INPUTS))
    assert net.phase == "predict"
    assert net.set_train().phase == "train"


# ------------------------------------------------------------------------------------------ the example scripts

SCRIPTS = Path(__file__).parents[2] / "docs" / "examples"


def script(name):
    """The module of a script in docs/examples."""
    return runpy.run_path(str(SCRIPTS / f"{name}.py"))


def test_the_residual_of_burgers_equation_vanishes_for_its_solution():
    """The example's own Cells around the exact wave in place of a network."""
    pinn = script("travelling_wave_pinn")

    class Wave(nn.Cell):
        def construct(self, points):
            x, t = points[:, :1], points[:, 1:]
            return 0.5 * (1.0 - ops.Tanh()((x - 0.5 * t) / (4.0 * pinn["VISCOSITY"])))

    inside = Tensor(np.random.default_rng(0).uniform(-1.0, 1.0, (50, 2)))
    border = inside.asnumpy()
    assert pinn["Loss"](Wave())(inside, inside, Tensor(pinn["travelling_wave"](border))).item() < 1e-28
    # not an identity: another viscosity leaves a residual
    pinn["Loss"].construct.__globals__["VISCOSITY"] = 0.2
    assert pinn["Loss"](Wave())(inside, inside, Tensor(pinn["travelling_wave"](border))).item() > 1e-2


def test_training_steps_of_a_physics_informed_network():
    pinn = script("travelling_wave_pinn")
    dg.set_seed(2)
    network = pinn["Network"](width=8, depth=2)
    loss = pinn["Loss"](network)
    sample = [Tensor(array) for array in pinn["sample"](np.random.default_rng(2), 60)]
    # the gradient by the weights, through second derivatives by the inputs, against differences in float64
    for parameter in network.trainable_params():
        parameter._rebind(parameter.astype(F64))
    doubles = [x.astype(F64) for x in sample]
    weight = network.layers[0].weight
    gradient = ops.grad(loss, None, weights=weight)(*doubles).asnumpy()
    at, h = weight.asnumpy(), 1e-6
    for place in [(0, 0), (3, 1), (7, 0)]:
        values = []
        for sign in (1, -1):
            moved = at.copy()
            moved[place] += sign * h
            weight.set_data(Tensor(moved))
            values.append(loss(*doubles).item())
        assert gradient[place] == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-6, abs=1e-9)
    weight.set_data(Tensor(at))
    step = nn.TrainOneStepCell(loss, nn.Adam(network.trainable_params(), 1e-2))
    losses = [step(*doubles).item() for _ in range(60)]
    assert losses[-1] < 0.2 * losses[0]


def test_force_matching():
    """Forces and frequencies of the example's known molecule, and a few epochs of its training."""
    water = script("force_matching")
    reference, forces = water["Reference"](), water["Forces"](water["Reference"]())
    minimum = Tensor(water["MINIMUM"][None])
    assert np.abs(forces(minimum).asnumpy()).max() < 1e-12
    # stiff bonds: 2 D a^2 for each; the frequency of one with the hydrogen alone is near the stretches
    single = np.sqrt(2 * water["DEPTH"] * water["STIFFNESS"] ** 2 / (1.008 * 15.999 / 17.007)) * water["WAVENUMBER"]
    bend, *stretches = water["frequencies"](reference, water["MINIMUM"])
    assert bend < 0.5 * single
    np.testing.assert_allclose(stretches, single, rtol=0.02)

    dg.set_seed(4)
    positions = Tensor(water["geometries"](np.random.default_rng(4), 50))
    targets, potential = forces(positions), water["Potential"](8)
    model, optimizer = water["Forces"](potential), nn.Adam(potential.trainable_params(), 0.01)
    grad_fn = ops.value_and_grad(lambda r, f: nn.MSELoss()(model(r), f), None, optimizer.parameters)
    losses = []
    for _ in range(100):
        loss, grads = grad_fn(positions, targets)
        losses.append(ops.depend(loss, optimizer(grads)).item())
    assert losses[-1] < 0.2 * losses[0]
