"""Einstein's convention: values in every form NumPy takes, random expressions, errors (derivatives: tests/cases)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assert_raises, f32, f64

import dualgrad as dg
from dualgrad import Tensor, ops

RNG = np.random.default_rng(3)

FORMS = (
    # one operand
    ("ij", (2, 3)), ("ji", (2, 3)), ("bA", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)), ("ii", (3, 3)),
    ("ii->i", (3, 3)), ("iij", (3, 3, 2)), ("iij->ji", (3, 3, 2)), ("iji->j", (3, 2, 3)), ("iii->i", (2, 2, 2)),
    ("ijij->ij", (2, 3, 2, 3)),
    ("...", (2, 3)), ("...i->i...", (2, 3, 4)), ("i...->...", (2, 3, 4)), ("ii...->...", (3, 3, 2)), ("->", ()),
    ("ij->...ij", (2, 3)), (" i j -> j i ", (2, 3)),
    # two
    ("ij,jk", (2, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)), ("ji,kj->ik", (3, 2), (4, 3)), ("i,i", (3,), (3,)),
    ("i,j", (2,), (3,)), ("i,j->ji", (2,), (3,)), ("i,i->i", (3,), (3,)), ("ij,ij->", (2, 3), (2, 3)),
    ("ij,ji->", (2, 3), (3, 2)), ("ij,ji->ji", (2, 3), (3, 2)), ("ij,j->ij", (2, 3), (3,)), ("ij,i->j", (2, 3), (2,)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)), ("bi,bi->b", (5, 3), (5, 3)), ("ijk,kjl->il", (2, 3, 4), (4, 3, 5)),
    ("ij,kl->il", (2, 3), (4, 5)), (",ij->ij", (), (2, 3)), ("ij,", (2, 3), ()), (",", (), ()),
    ("ii,ij->j", (3, 3), (3, 2)), ("iij,jkk->ik", (2, 2, 3), (3, 4, 4)), ("ij,jk", (2, 1), (3, 4)),
    ("i,i->i", (1,), (3,)), ("ij,ij", (1, 3), (2, 1)),
    ("...ij,...jk->...ik", (5, 2, 3), (5, 3, 4)), ("...ij,...jk", (5, 1, 2, 3), (4, 3, 4)), ("...,...", (2, 3), (3,)),
    ("ij...,jk...->ik...", (2, 3, 5), (3, 4, 1)), ("...i,i", (4, 3), (3,)), ("...i,i->...", (3,), (3,)),
    ("ij,...j->...i", (2, 3), (4, 5, 3)),
    # more
    ("ij,jk,kl", (2, 3), (3, 4), (4, 5)), ("ij,jk,kl->li", (2, 3), (3, 4), (4, 5)), ("i,i,i->i", (3,), (3,), (3,)),
    ("i,j,k->kij", (2,), (3,), (4,)), ("ij,ik,il->jkl", (2, 3), (2, 4), (2, 5)), ("ab,bc,cd,de,ea", *[(3, 3)] * 5),
    ("ijk,il,jm,kn->lmn", (2, 3, 4), (2, 5), (3, 2), (4, 3)), ("...ab,bc,...c->...a", (5, 2, 3), (3, 4), (1, 4)),
    ("i,,ij,j->", (2,), (), (2, 3), (3,)), ("ij,ij,ij->ij", (2, 3), (2, 3), (1, 3)), ("aa,ab,bb->", *[(3, 3)] * 3),
    # no elements
    ("ij,jk", (2, 0), (0, 4)), ("ij,jk,kl->il", (0, 3), (3, 4), (4, 2)), ("i->", (0,)),
)  # fmt: skip


def arrays(shapes):
    return [RNG.standard_normal(shape) for shape in shapes]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form[0]!r}{list(form[1:])}")
def test_values_are_those_of_numpy(form):
    equation, *shapes = form
    xs = arrays(shapes)
    expected = np.einsum(equation, *xs)
    for found in (ops.einsum(equation, *map(Tensor, xs)), np.einsum(equation, *map(Tensor, xs), optimize="greedy")):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12, atol=1e-13)


def test_operands_with_lists_of_axes():
    x, y = arrays([(2, 3, 4), (4, 3)])
    lists = (
        ((x, [0, 1, 2]), ()), ((x, [2, 1, 0]), ()), ((x, (0, 1, 2), y, [2, 1]), ()),
        ((x, [0, 1, 2], y, [2, 3]), ([3, 0],)),
        ((x, [..., 5], y, [5, 6]), ([6, ...],)), ((x, [..., 51]), ([...],)), ((x, [26, 1, 30]), ()),
    )  # fmt: skip
    for operands, result in lists:
        expected = np.einsum(*operands, *result)
        tensors = [Tensor(a) if isinstance(a, np.ndarray) else a for a in operands]
        for einsum in (ops.einsum, np.einsum):
            np.testing.assert_allclose(einsum(*tensors, *result).asnumpy(), expected, rtol=1e-12)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_random_expressions_and_their_gradients(data):
    """Values are NumPy's; the gradient is the expression with the operand and the result exchanged."""
    sizes = {c: data.draw(st.integers(1, 3), label=c) for c in "abcde"}
    terms = data.draw(st.lists(st.text("abcde", max_size=3), min_size=1, max_size=4), label="terms")
    used = sorted(set("".join(terms)))
    output = "".join(data.draw(st.permutations(used), label="order")[: data.draw(st.integers(0, len(used)))])
    xs = arrays([[sizes[c] for c in term] for term in terms])
    equation = ",".join(terms) + "->" + output
    expected = np.einsum(equation, *xs)
    out, pull = dg.vjp(lambda *tensors: ops.einsum(equation, *tensors), *map(Tensor, xs))
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-11, atol=1e-11)
    ct = RNG.standard_normal(expected.shape)
    pulled = pull(Tensor(ct))
    for k, x in enumerate(xs):
        moved = RNG.standard_normal(x.shape)
        along = np.sum(ct * np.einsum(equation, *xs[:k], moved, *xs[k + 1 :]))
        np.testing.assert_allclose(np.sum(pulled[k].asnumpy() * moved), along, rtol=1e-10, atol=1e-10)


def test_types():
    assert ops.einsum("i,i", f32([1.0, 2.0]), f64([1.0, 2.0])).dtype == dg.float64
    assert ops.einsum("i,i->i", f32([1.0, 2.0]), np.array([1, 2])).dtype == dg.float32
    assert np.einsum("i,i", f32([1.0, 2.0]), f32([1.0, 2.0]), dtype=np.float64).dtype == dg.float64
    integers = Tensor(np.array([[1, 2], [3, 4]]))
    for equation in ("ij,jk", "ij,ij", "ii", "ij->j"):
        xs = [integers] * (equation.count(",") + 1)
        found = ops.einsum(equation, *xs)
        expected = np.einsum(equation, *[x.asnumpy() for x in xs])
        assert found.dtype == dg.int64
        np.testing.assert_array_equal(found.asnumpy(), expected)
    z = Tensor(np.array([[1 + 2j, 3j], [0.5, -1j]]))
    np.testing.assert_allclose(ops.einsum("ij,kj->ik", z, z).asnumpy(), z.asnumpy() @ z.asnumpy().T)


def test_an_ellipsis_that_the_result_lacks_is_summed():
    x = RNG.standard_normal((2, 3, 4))
    np.testing.assert_allclose(float(ops.einsum("...->", Tensor(x))), x.sum(), rtol=1e-13)
    np.testing.assert_allclose(ops.einsum("...i,i->i", Tensor(x), f64(np.ones(4))).asnumpy(), x.sum((0, 1)))


def test_the_order_of_contractions():
    """From left to right the first product would have 10^10 elements; another order has none above 10^5."""
    column, row = f64(np.ones((100_000, 1))), f64(np.ones((1, 100_000)))
    assert float(ops.einsum("ij,jk,kl,li->", column, row, column, row)) == 1e10
    x = [f64(a) for a in arrays([(2, 3), (3, 4), (4, 5)])]
    expected = np.einsum("ij,jk,kl", *[a.asnumpy() for a in x])
    for optimize in (
        False,
        True,
        "optimal",
        ("greedy", 10),
        ["einsum_path", (1, 2), (0, 1)],
        ["einsum_path", (0, 1, 2)],
    ):
        np.testing.assert_allclose(np.einsum("ij,jk,kl", *x, optimize=optimize).asnumpy(), expected, rtol=1e-12)
    assert np.einsum_path("ij,jk,kl", *x)[0] == np.einsum_path("ij,jk,kl", *[a.asnumpy() for a in x])[0]


def test_errors_name_the_subscript():
    x, y, v = f64(np.ones((2, 3))), f64(np.ones((4, 2))), f64(np.ones(3))
    table = (
        (TypeError, lambda: ops.einsum(x), "expected an equation such as 'ij,jk->ik'", "got Tensor"),
        (TypeError, lambda: ops.einsum(x, y), "got Tensor, Tensor"),
        (TypeError, lambda: ops.einsum(x, [0, 1], y), "the axes of the result are a Tensor"),
        (TypeError, lambda: ops.einsum(x, [0, "i"]), "axis in a list", "str"),
        (ValueError, lambda: ops.einsum(x, [0, 52]), "axis 52"),
        (ValueError, lambda: ops.einsum("ij"), "'ij' is for 1 operand, got 0"),
        (ValueError, lambda: ops.einsum("ij,jk", x), "'ij,jk' is for 2 operands, got 1"),
        (ValueError, lambda: ops.einsum("i1", x), "'1' in 'i1' is no subscript"),
        (ValueError, lambda: ops.einsum("ij->j->i", x), "is no subscript"),
        (ValueError, lambda: ops.einsum("i.j", x), "'.' that is not part of a single '...'"),
        (ValueError, lambda: ops.einsum("...i...", x), "'.' that is not part of a single '...'"),
        (ValueError, lambda: ops.einsum("ijk", x), "'ijk' in 'ijk' name 3 axes, but operand 0 has shape (2, 3)"),
        (ValueError, lambda: ops.einsum("ij,i", x, y), "'i' in 'ij,i' name 1 axis, but operand 1 has shape (4, 2)"),
        (ValueError, lambda: ops.einsum("ij->ik", x), "'k' in the result of 'ij->ik' is that of no operand"),
        (ValueError, lambda: ops.einsum("ij->ii", x), "'i' comes twice in the result"),
        (ValueError, lambda: ops.einsum("ij,jk", x, y), "'j' in 'ij,jk' has length 3 in operand 0 and 4 in operand 1"),
        (ValueError, lambda: ops.einsum("ii", x), "'i' in 'ii' stands for axes of lengths 2 and 3 of operand 0"),
        (ValueError, lambda: ops.einsum("...j,...", x, v), "an axis of '...'", "length 2 in operand 0 and 3 in"),
        (TypeError, lambda: ops.einsum("ij", "x"), "expected a Tensor"),
    )  # fmt: skip
    for kind, call, *words in table:
        assert_raises(kind, call, *words)
