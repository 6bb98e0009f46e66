"""One process: it has rank 0, and collective operations give it what it gives them, in every mode."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import communication, nn, ops

GROUPS = (communication.HCCL_WORLD_COMM_GROUP, communication.NCCL_WORLD_COMM_GROUP, "own")


@pytest.fixture(autouse=True)
def own_group():
    communication.create_group("own", [0])
    yield
    communication.destroy_group("own")
    communication.release()


@pytest.mark.parametrize("group", GROUPS)
def test_this_process_is_the_first_of_one(group):
    for function in (communication.get_rank, communication.get_local_rank):
        assert function() == function(group) == 0
    for function in (communication.get_group_size, communication.get_local_rank_size):
        assert function() == function(group) == 1
    assert communication.get_world_rank_from_group_rank(group, 0) == 0
    assert communication.get_group_rank_from_world_rank(0, group) == 0
    assert communication.get_process_group_ranks(group) == [0]
    assert communication.get_comm_name(group) == group


@pytest.mark.parametrize("backend", [None, "hccl", "nccl", "mccl"])
def test_init_marks_the_start(backend):
    communication.init(backend)
    assert communication.GlobalComm.INITED
    communication.release()
    assert not communication.GlobalComm.INITED


@pytest.mark.parametrize("variable", communication._SIZES)
def test_a_program_that_is_one_of_several_processes_is_refused(monkeypatch, variable):
    for value in ("", "1"):
        monkeypatch.setenv(variable, value)
        communication.init()
    monkeypatch.setenv(variable, "4")
    with pytest.raises(RuntimeError, match=f"init: {variable}=4 says that this is one of several processes"):
        communication.init()


WRONG = {
    "backend": (ValueError, "backend_name='gloo'", lambda: communication.init("gloo")),
    "group": (ValueError, "no group 'other'", lambda: communication.get_rank("other")),
    "size of a group": (ValueError, "no group 'other'", lambda: communication.get_group_size("other")),
    "process": (ValueError, "no process 1", lambda: communication.get_world_rank_from_group_rank("own", 1)),
    "processes": (ValueError, r"rank_ids=\[0, 1\]", lambda: communication.create_group("two", [0, 1])),
    "twice": (ValueError, "a group 'own' already", lambda: communication.create_group("own", [0])),
    "all": (ValueError, "group of all", lambda: communication.destroy_group(communication.HCCL_WORLD_COMM_GROUP)),
    "reduction": (ValueError, "op='mean'", lambda: ops.AllReduce("mean")),
    "reduction of parts": (ValueError, "op='mean'", lambda: ops.ReduceScatter("mean")),
    "name of a group": (TypeError, "group must be the name", lambda: ops.AllGather(3)),
    "root": (ValueError, "root_rank=1", lambda: ops.Broadcast(1)),
    "no tuple": (TypeError, "expected a tuple", lambda: ops.Broadcast(0)(dg.Tensor(1.0))),
    "no tensor": (TypeError, "AllReduce: expected a Tensor", lambda: ops.AllReduce()("text")),
    "degree": (ValueError, "degree=8", lambda: nn.DistributedGradReducer([], True, 8)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_speaks_of_others_is_refused(name):
    error, text, call = WRONG[name]
    with pytest.raises(error, match=text):
        call()


COLLECTIVES = {
    **{f"AllReduce {op}": ops.AllReduce(op) for op in ("sum", "max", "min", "prod")},
    **{f"ReduceScatter {op}": ops.ReduceScatter(op) for op in ("sum", "max", "min", "prod")},
    "AllReduce in a group": ops.AllReduce(ops.ReduceOp.SUM, "own"),
    "AllGather": ops.AllGather(),
    "Broadcast": lambda x: ops.Broadcast(0)((x,))[0],
    "reducer": lambda x: nn.DistributedGradReducer([], mean=True)((x,))[0],
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collective_operations_are_identities(name):
    """Their values, and all derivatives of what is around them."""
    collective = COLLECTIVES[name]
    around, plain = (lambda x: (collective(ops.sin(x)) ** 3).sum()), (lambda x: (ops.sin(x) ** 3).sum())
    x, v = dg.Tensor(np.linspace(-1.0, 1.0, 5)), dg.Tensor(np.arange(5.0))
    ways = {
        "value": lambda f: f(x),
        "reverse": lambda f: dg.grad(f)(x),
        "forward": lambda f: dg.jvp(f, x, v)[1],
        "second": lambda f: dg.hessian(f)(x),
        "third": lambda f: dg.grad(lambda y: dg.grad(lambda z: dg.grad(f)(z).sum())(y).sum())(x),
        "recorded": lambda f: recorded(f)(x),
        "vmap": lambda f: dg.vmap(f)(ops.stack([x, v])),
    }
    for way, run in ways.items():
        found, expected = run(around), run(plain)
        for a, b in zip(flat(found), flat(expected), strict=True):
            assert (a.asnumpy() == b.asnumpy()).all(), way


def recorded(function):
    program = dg.jit(function)

    def last(x):
        return [program(x) for _ in range(4)][-1]

    return last


def flat(value):
    return value if isinstance(value, tuple | list) else (value,)
