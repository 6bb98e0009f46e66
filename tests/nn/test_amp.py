"""Scaling of losses, checks for overflow, and what asks for mixed precision."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, Tensor, amp, nn, ops

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ((), True),
        (Tensor([1.0, -2.0]), True),
        ((Tensor([1.0]), Tensor([3], dg.int32)), True),
        ((Tensor([1.0]), [Tensor([NAN])]), False),
        ({"w": Tensor([1.0, -INF])}, False),
        ((Tensor(INF, dg.float16), Tensor([0.0])), False),
    ],
)
def test_all_finite(inputs, expected):
    found = amp.all_finite(inputs)
    assert (found.shape, found.dtype, bool(found)) == ((), dg.bool_, expected)


@pytest.mark.parametrize("scaler", [amp.StaticLossScaler(256), amp.DynamicLossScaler(256, 2, 10)])
def test_scaling_keeps_types_and_nests(scaler):
    given = (Tensor([1.5], dg.float16), [Tensor(2.0, dg.float32)], Tensor([3.0], dg.float64))
    scaled = scaler.scale(given)
    assert isinstance(scaled[1], list)
    assert [scaled[0].tolist(), scaled[1][0].item(), scaled[2].tolist()] == [[384.0], 512.0, [768.0]]
    back = scaler.unscale(scaled)
    assert [x.dtype for x in (back[0], back[1][0], back[2])] == [dg.float16, dg.float32, dg.float64]
    assert [back[0].tolist(), back[1][0].item(), back[2].tolist()] == [[1.5], 2.0, [3.0]]


def test_a_factor_beyond_the_type_of_gradients():
    """65536 is no float16 number; what it scales may be."""
    scaler = amp.StaticLossScaler(2.0**16)
    assert scaler.scale(Tensor([0.5], dg.float16)).tolist() == [32768.0]
    assert scaler.unscale(Tensor([32768.0], dg.float16)).tolist() == [0.5]


def test_the_factor_follows_overflows():
    scaler = amp.DynamicLossScaler(scale_value=4, scale_factor=2, scale_window=3)
    seen = []
    for finite in (True, True, False, True, True, True, True, False, False, False, False):
        assert scaler.adjust(Tensor(finite)) is True
        seen.append((scaler.scale_value.item(), scaler.counter.item()))
    assert seen == [
        (4, 1), (4, 2), (2, 0), (2, 1), (2, 2), (4, 0), (4, 1), (2, 0), (1, 0), (1, 0), (1, 0),
    ]  # fmt: skip
    assert (scaler.scale_value.dtype, scaler.counter.dtype) == (dg.float32, dg.int32)
    huge = amp.DynamicLossScaler(3e38, 2, 1)
    huge.adjust(True)
    assert np.isfinite(huge.scale_value.item())


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_training_with_a_loss_scaler():
    """The usual loop: scale, differentiate, unscale, step where finite, adjust."""
    w = Parameter(Tensor([3.0]), name="w")
    scaler, optimizer = amp.DynamicLossScaler(1024, 2, 5), nn.SGD([w], 0.25)

    def forward(x):
        loss = (w * x - 1.0) ** 2
        return scaler.scale(loss), loss

    grad_fn = ops.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    @dg.jit
    def step(x):
        (_, loss), grads = grad_fn(x)
        grads = scaler.unscale(grads)
        finite = amp.all_finite(grads)
        if finite:
            loss = ops.depend(loss, optimizer(grads))
        scaler.adjust(finite)
        return loss

    for x in (1.0, INF, 1.0):
        step(Tensor([x]))
    assert w.tolist() == [1.5]
    assert scaler.scale_value.item() == 512.0


# --------------------------------------------------------------------------------------------------------- levels


class Net(nn.Cell):
    """Cells of the white list and the black list, a user's Cell and a primitive of the white list."""

    def __init__(self):
        super().__init__()
        self.first = nn.Dense(3, 4)
        self.norm = nn.LayerNorm((4,), epsilon=1e-2)
        self.rest = nn.SequentialCell(nn.Tanh(), nn.BatchNorm1d(4), nn.Dense(4, 2))
        self.matmul = ops.MatMul()
        self.w = Parameter(Tensor(np.eye(2), dg.float32))

    def construct(self, x):
        return self.matmul(self.rest(self.norm(self.first(x))), self.w)


INPUT = Tensor(np.random.default_rng(0).uniform(-1.0, 1.0, (5, 3)), dg.float32)
HALF, SINGLE = dg.float16, dg.float32

# what first, norm, tanh, batch norm, the second Dense, the matrix product and the returned network give
RESULTS = {
    "O0": (SINGLE, SINGLE, SINGLE, SINGLE, SINGLE, SINGLE, SINGLE),
    "O1": (SINGLE, SINGLE, SINGLE, SINGLE, SINGLE, SINGLE, SINGLE),
    "O2": (HALF, HALF, HALF, HALF, HALF, HALF, SINGLE),
    "O3": (HALF, HALF, HALF, HALF, HALF, HALF, SINGLE),
}


def traced(net, call):
    """What the parts of a network give one after another, in the order of `RESULTS`."""
    found = [INPUT]
    for cell in (net.first, net.norm, *net.rest):
        found.append(cell(found[-1]))
    return [*found[1:], net(INPUT), call(INPUT)]


def half(x):
    return x.astype(HALF).astype(SINGLE)


def by_hand(net, level):
    """The same with casts that are written out: the result in Float32."""
    (w1, b1), (w2, b2), w = net.first.trainable_params(), net.rest[2].trainable_params(), net.w
    to = (lambda x: x.astype(HALF)) if level != "O0" else lambda x: x
    back = (lambda x: x.astype(SINGLE)) if level == "O1" else lambda x: x
    narrow = to if level in ("O2", "O3") else lambda x: x
    x = back(to(INPUT) @ to(w1).T + to(b1))
    norm = net.norm if level in ("O0", "O1") else None
    statistics = [p.astype(SINGLE) for p in (net.norm.gamma, net.norm.beta)]
    if level == "O3":
        statistics = [to(p) for p in statistics]
    wide = x.astype(SINGLE) if level == "O2" else x
    x = narrow(norm(x) if norm else ops.LayerNorm(-1, -1, 1e-2)(wide, *statistics)[0])
    x = narrow(ops.tanh(x))
    x = narrow(nn.BatchNorm1d(4)(x.astype(SINGLE)))
    x = back(to(x) @ to(w2).T + to(b2))
    return (to(x) @ to(w)).astype(SINGLE)


@pytest.mark.parametrize("level", RESULTS)
def test_levels(level):
    net, plain = Net(), Net()
    plain.load_state_dict(net.state_dict())
    mixed = amp.auto_mixed_precision(net, level)
    assert (mixed is net) == (level in ("O0", "O1"))
    found = traced(net, mixed)
    assert tuple(x.dtype for x in found) == RESULTS[level]
    np.testing.assert_allclose(found[-1].asnumpy(), by_hand(plain, level).asnumpy(), rtol=0, atol=1e-3)
    assert (found[-1] == plain(INPUT)).all() == (level == "O0")
    if level == "O1":
        assert (found[0] == half(found[0])).all()
        assert not (found[1] == half(found[1])).all()
    assert [p.name for p in mixed.get_parameters()] == [p.name for p in plain.get_parameters()]
    assert {p.dtype for p in mixed.get_parameters()} == {SINGLE}


def test_lists_of_ones_own():
    net = Net()
    assert amp.custom_mixed_precision(net, white_list=[nn.Tanh]) is net
    found = traced(net, net)
    assert {x.dtype for x in found} == {SINGLE}
    assert [bool((x == half(x)).all()) for x in found[:-1]] == [False, False, True, False, False, False]
    net = Net()
    mixed = amp.custom_mixed_precision(net, black_list=[nn.SequentialCell])
    found = traced(net, mixed)
    assert [x.dtype for x in found] == [HALF, HALF, SINGLE, SINGLE, SINGLE, HALF, SINGLE]


def test_a_type_that_was_given_before_stays():
    net = Net()
    net.first.to_float(HALF)
    amp.auto_mixed_precision(net, "O1")
    assert (net.first(INPUT).dtype, net(INPUT).dtype) == (HALF, SINGLE)


def test_lists_are_copies():
    for given in (amp.get_white_list, amp.get_black_list):
        found = given()
        found.clear()
        assert nn.Dense in given() or nn.LayerNorm in given()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("level", "settings", "several", "result"),
    [
        ("O0", {}, False, SINGLE),
        ("O1", {}, False, SINGLE),
        ("O2", {}, True, HALF),
        ("O3", {}, False, HALF),
        ("O2", {"loss_scale_manager": None}, False, HALF),
        ("O3", {"keep_batchnorm_fp32": True}, False, HALF),
        ("O2", {"keep_batchnorm_fp32": False, "loss_scale_manager": None}, False, HALF),
        ("O2", {"cast_model_type": SINGLE, "loss_scale_manager": None}, False, SINGLE),
        ("O0", {"cast_model_type": HALF}, False, HALF),
        ("O3", {"loss_scale_manager": amp.FixedLossScaleManager(1024.0)}, True, HALF),
        ("O3", {"loss_scale_manager": amp.DynamicLossScaleManager(1024.0)}, True, HALF),
    ],
)
def test_training_in_mixed_precision(level, settings, several, result):
    dg.set_seed(0)
    net, labels = Net(), Tensor([0, 1, 1, 0, 1], dg.int32)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    step = amp.build_train_network(net, nn.Adam(net.trainable_params(), 0.05), loss, level, **settings)
    found = [step(INPUT, labels) for _ in range(14)]
    assert isinstance(found[0], tuple) == several
    values = [(x[0] if several else x) for x in found]
    assert {x.dtype for x in values} == {SINGLE}
    assert values[-1].item() < 0.9 * values[0].item()
    assert {p.dtype for p in net.get_parameters()} == {SINGLE}
    assert net(INPUT).dtype is result


def test_a_model_in_mixed_precision():
    net, labels = Net(), np.array([0, 1, 1, 0, 1], np.int32)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    data = dg.dataset.NumpySlicesDataset((INPUT.asnumpy(), labels), shuffle=False).batch(5)
    model = dg.Model(net, loss, nn.Adam(net.trainable_params(), 0.05), metrics={"loss"}, amp_level="O3")
    before = model.eval(data)["loss"]
    model.train(8, data)
    assert model.eval(data)["loss"] < before
    assert model.predict(INPUT).dtype is HALF


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (TypeError, lambda: amp.all_finite(1.0)),
        (TypeError, lambda: amp.all_finite((Tensor([1.0]), None))),
        (TypeError, lambda: amp.StaticLossScaler("2")),
        (ValueError, lambda: amp.StaticLossScaler(0)),
        (TypeError, lambda: amp.StaticLossScaler(2).scale(3.0)),
        (ValueError, lambda: amp.DynamicLossScaler(0.5, 2, 2)),
        (TypeError, lambda: amp.DynamicLossScaler(2, 2.0, 2)),
        (ValueError, lambda: amp.DynamicLossScaler(2, 2, 0)),
        (TypeError, lambda: amp.auto_mixed_precision(1.0)),
        (ValueError, lambda: amp.auto_mixed_precision(nn.Dense(1, 1), "O9")),
        (NotImplementedError, lambda: amp.auto_mixed_precision(nn.Dense(1, 1), "auto")),
        (TypeError, lambda: amp.auto_mixed_precision(abs, "O2")),
        (ValueError, lambda: amp.auto_mixed_precision(nn.Dense(1, 1), "O2", dg.float32)),
        (TypeError, lambda: amp.custom_mixed_precision(abs, white_list=[])),
        (ValueError, lambda: amp.custom_mixed_precision(nn.Dense(1, 1))),
        (ValueError, lambda: amp.custom_mixed_precision(nn.Dense(1, 1), white_list=[], black_list=[])),
        (TypeError, lambda: amp.custom_mixed_precision(nn.Dense(1, 1), white_list=(nn.Dense,))),
        (TypeError, lambda: amp.custom_mixed_precision(nn.Dense(1, 1), white_list=[dict])),
        (TypeError, lambda: amp.custom_mixed_precision(nn.Dense(1, 1), black_list=[ops.MatMul])),
        (TypeError, lambda: amp.build_train_network(abs, None)),
        (TypeError, lambda: amp.build_train_network(nn.Dense(1, 1), None)),
        (ValueError, lambda: amp.build_train_network(nn.Dense(1, 1), None, level="O5")),
        (NotImplementedError, lambda: dg.Model(nn.Dense(1, 1), amp_level="auto")),
    ],
)
def test_errors(error, call):
    with pytest.raises(error, match=r"expected|must be|is no"):
        call()
