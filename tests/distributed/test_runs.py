"""Long runs: interrupted anywhere, they go on from the file and end with the same bits."""

import numpy as np
import pytest
from shard_cases import Net, X, Y, arrays_of

import dualgrad as dg
from dualgrad import Tensor, nn, ops
from dualgrad.distributed import checkpointed


class Interrupted(Exception):
    pass


def noisy(k, state):
    noise = ops.randn(3)
    return {"x": state["x"] * 0.5 + noise + k, "count": (state["count"][0] + 1,)}


def first():
    return {"x": Tensor(np.ones(3, np.float32)), "count": (Tensor(np.array(0, np.int64)),)}


def trained():
    net = Net()
    optimizer = nn.Adam(net.trainable_params(), 0.05)
    return nn.TrainOneStepCell(_Total(net), optimizer)


class _Total(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, x, y):
        return self.net(x, y).sum()


def training(k, step):
    step(Tensor(X[k::2]), Tensor(Y[k::2]))


RUNS = {"pytree": (first, noisy), "Cell": (trained, training)}


def numbers(state):
    return [p.asnumpy() for p in state.get_parameters()] if isinstance(state, nn.Cell) else arrays_of(state)


@pytest.mark.parametrize("at", range(8))
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("name", RUNS)
def test_an_interrupted_run_ends_like_one_that_is_not(name, every, at, tmp_path):
    make, step = RUNS[name]

    def interrupted(k, state):
        if k == at:
            raise Interrupted
        return step(k, state)

    dg.set_seed(5)
    whole = numbers(checkpointed(step, make(), 7, tmp_path / "whole", every=every))
    dg.set_seed(5)
    path = tmp_path / "run"
    if at < 7:
        with pytest.raises(Interrupted):
            checkpointed(interrupted, make(), 7, path, every=every)
    assert path.exists() == (at >= every and at < 7)
    if not path.exists():
        dg.set_seed(5)  # nothing was kept, so the run begins anew
    else:
        dg.set_seed(99)  # that of the file counts
    again = numbers(checkpointed(step, make(), 7, path, every=every))
    assert [a.tobytes() for a in again] == [a.tobytes() for a in whole]


def test_a_run_that_is_over_is_not_run_again(tmp_path):
    dg.set_seed(1)
    last = checkpointed(noisy, first(), 4, tmp_path / "run")

    def never(k, state):
        raise AssertionError

    again = checkpointed(never, first(), 4, tmp_path / "run")
    assert arrays_of(again)[0].tobytes() == arrays_of(last)[0].tobytes()
    with pytest.raises(ValueError, match=r"was written after 4 steps, and the run has 3"):
        checkpointed(never, first(), 3, tmp_path / "run")


OTHERS = {
    "shape": lambda: {"x": Tensor(np.ones(4, np.float32)), "count": (Tensor(np.array(0, np.int64)),)},
    "type": lambda: {"x": Tensor(np.ones(3)), "count": (Tensor(np.array(0, np.int64)),)},
    "number": lambda: {"x": Tensor(np.ones(3, np.float32))},
    "Cell": trained,
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_file_of_another_state_is_refused(name, tmp_path):
    checkpointed(noisy, first(), 1, tmp_path / "run")
    with pytest.raises(ValueError, match="the checkpoint of another state"):
        checkpointed(noisy, OTHERS[name](), 2, tmp_path / "run")


@pytest.mark.parametrize("state", [{"x": Tensor([1.0]), "rate": 0.5}, [Tensor([1.0]), "text"], 3.0, {}])
def test_a_state_that_would_not_be_in_the_file_is_refused(state, tmp_path):
    with pytest.raises(TypeError, match="the state holds"):
        checkpointed(noisy, state, 1, tmp_path / "run")
