"""Freed tensors are kept and used again: nothing can tell a new tensor from one that was another before."""

import gc
import sys
import weakref

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Parameter, Tensor, ops

ROUNDS = 300  # more than are kept


class Plain(Tensor):
    __slots__ = ()


class Marked(Tensor):
    """Has attributes, and can be referred to weakly."""


class Last(Tensor):
    """Notes when it is finalized."""

    ended: list[int] = []  # noqa: RUF012

    def __del__(self):
        Last.ended.append(id(self))


def of_results():
    return ops.sin(Tensor([1.0, 2.0]))


def of_a_transform():
    return dg.grad(lambda x: (x * x).sum())(Tensor([1.0, 2.0]))


def of_a_level():
    """Handles of nodes, freed with the level."""
    dg.grad(lambda x: ops.exp(ops.sin(x)).sum())(Tensor([1.0, 2.0]))
    return Tensor([0.0])


def of_another_class():
    t = of_results()
    t.__class__ = Plain
    return t


def of_a_cycle():
    held = [of_results()]
    held.append(held)
    return held[0]


def captured():
    """A tensor that a recorded function reaches otherwise than as an argument."""
    c = of_results()
    f = dg.jit(lambda x: x * c)
    for _ in range(3):
        f(Tensor([1.0, 2.0]))
    return c


WAYS = {
    "results": of_results,
    "a transform": of_a_transform,
    "a level": of_a_level,
    "another class": of_another_class,
    "a cycle": of_a_cycle,
    "captured": captured,
    "a class without attributes": lambda: Plain([1.0, 2.0]),
    "a class with attributes": lambda: Marked([1.0, 2.0]),
    "a class with a finalizer": lambda: Last([1.0, 2.0]),
    "a parameter": lambda: Parameter(Tensor([1.0, 2.0]), name="w"),
}


@pytest.mark.rotated("way")
@pytest.mark.parametrize("way", WAYS)
def test_a_new_tensor_has_nothing_of_a_freed_one(way):
    for _ in range(ROUNDS if way != "captured" else 3):
        WAYS[way]()
    gc.collect()
    made = [ops.cos(Tensor([0.0])) for _ in range(ROUNDS)]
    others = [object() for _ in range(ROUNDS)]
    assert len({id(t) for t in made}) == ROUNDS
    for t, other in zip(made, others, strict=True):
        assert type(t) is Tensor
        assert gc.is_tracked(t)
        assert not t._is_parameter
        assert sys.getrefcount(t) == sys.getrefcount(other)  # which is held by the same places
        np.testing.assert_array_equal(t.asnumpy(), [1.0])
    assert [g.asnumpy().item() for g in dg.grad(lambda *x: sum(x).sum(), grad_position=(0, 1))(*made[:2])] == [1.0, 1.0]


@pytest.mark.rotated("way")
@pytest.mark.parametrize("way", [way for way in WAYS if way != "captured"])  # whose recordings live on
def test_classes_are_not_kept_alive_or_lost(way):
    kinds = [Tensor, Plain, Marked, Last, Parameter]
    WAYS[way]()
    made = [ops.cos(Tensor([0.0])) for _ in range(ROUNDS)]
    del made
    gc.collect()
    before = [sys.getrefcount(kind) for kind in kinds]
    for _ in range(ROUNDS):
        WAYS[way]()
    gc.collect()
    after = [sys.getrefcount(kind) for kind in kinds]
    assert all(abs(a - b) <= 3 for a, b in zip(after, before, strict=True)), (before, after)


def test_what_a_class_adds_is_freed():
    t = Marked([1.0])
    t.note = ops.sin(Tensor([1.0]))
    looks = weakref.ref(t)
    del t
    assert looks() is None


def test_finalizers_run_once():
    Last.ended.clear()
    for _ in range(ROUNDS):
        Last([1.0])
    assert len(Last.ended) == ROUNDS


def test_a_pending_error_outlives_freed_tensors():
    def fails():
        held = [ops.sin(Tensor([1.0])) for _ in range(3)]
        raise KeyError(str(len(held)))

    with pytest.raises(KeyError, match="3"):
        fails()


def test_nests_of_values_are_freed_without_deep_recursion():
    def deep(x):
        for _ in range(20_000):
            x = x * 1.0
        return x.sum()

    assert dg.grad(deep)(Tensor([2.0])).asnumpy().item() == 1.0
