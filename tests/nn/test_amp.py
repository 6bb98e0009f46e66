"""Scaling of losses, checks for overflow, and what asks for mixed precision."""

import warnings

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


def test_mixed_precision_changes_nothing_and_says_so_once(monkeypatch):
    monkeypatch.setattr(amp, "_warned", False)
    net = nn.Dense(2, 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for level in ("O0", "O2", "auto", "O3"):
            assert amp.auto_mixed_precision(net, level) is net
            assert amp.auto_mixed_precision(net.construct, level) == net.construct
    assert [w.category for w in caught] == [UserWarning]
    assert "O2" in str(caught[0].message)
    assert net(Tensor(np.ones((1, 2), np.float32))).dtype is dg.float32


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
    ],
)
def test_errors(error, call):
    with pytest.raises(error, match=r"expected|must be"):
        call()
