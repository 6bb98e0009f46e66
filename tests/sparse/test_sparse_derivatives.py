"""Sparse Jacobians and Hessians: equal to dense ones where these can be had, to closed forms where not."""

import numpy as np
import pytest
from dense import dense_hessian, dense_jacobian, rng, rosenbrock, t
from scipy import sparse

import dualgrad as dg
from dualgrad import Tensor, ops
from dualgrad.sparse.colour import ORDERINGS


def ginzburg_landau(n):
    def energy(x):
        u = x.reshape(n, n)
        gradients = ((u[1:] - u[:-1]) ** 2).sum() + ((u[:, 1:] - u[:, :-1]) ** 2).sum()
        return 0.5 * gradients + 0.25 * ((u * u - 1) ** 2).sum()

    return energy


def membrane(n):
    def area(x):
        u = x.reshape(n, n)
        dx, dy = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
        return ops.sqrt(1 + dx * dx + dy * dy).sum()

    return area


def nine_points(n):
    """Each cell couples its four corners."""

    def energy(x):
        u = x.reshape(n, n)
        return ((u[1:, 1:] * u[:-1, :-1] - u[1:, :-1] * u[:-1, 1:]) ** 2).sum()

    return energy


HESSIANS = {
    "rosenbrock": (rosenbrock, 20, 3),
    "ginzburg-landau": (ginzburg_landau(6), 36, 5),
    "membrane": (membrane(6), 36, 8),
    "nine points": (nine_points(6), 36, 12),
    "separable": (lambda x: (ops.sin(x) * x).sum(), 9, 1),
    "linear": (lambda x: (3 * x).sum(), 5, 0),
    "arrow": (lambda x: (x[0] * x[1:] ** 2).sum(), 9, 2),
    "blocks": (lambda x: (x.reshape(4, 3).prod(1) ** 2).sum(), 12, 3),
    "products of neighbours": (lambda x: (x[1:] * x[:-1]).sum(), 10, 3),
    "dense": (lambda x: x.sum() ** 3, 5, 5),
}


@pytest.mark.parametrize("name", HESSIANS)
@pytest.mark.parametrize("mode", ["entries", "stars", "auto"])
def test_hessians_are_the_dense_ones(name, mode):
    fn, n, colours = HESSIANS[name]
    hessian = dg.sparse_hessian(fn, mode=mode)
    for seed in range(4):  # recorded, compared, replayed
        x = t(rng(seed).normal(size=n))
        found = hessian(x, check=True)
        assert isinstance(found, sparse.csr_array)
        assert found.has_canonical_format
        expected = dense_hessian(fn, x)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-13, atol=1e-13 * np.abs(expected).max())
        assert (found != found.T).nnz == 0
    plan = hessian.prepare(x)
    assert plan.n_colours <= colours
    assert plan.kind == mode or mode == "auto"


@pytest.mark.parametrize(("mode", "colours"), [("entries", 0), ("stars", 3), ("auto", 0)])
def test_hessian_of_100000_variables(mode, colours):
    x = rng().uniform(-1.5, 1.5, 100_000)
    plan = dg.sparse_hessian(rosenbrock, mode=mode).prepare(t(x))
    assert plan.n_colours == colours
    head, tail = x[:-1], x[1:]
    main = np.zeros_like(x)
    main[:-1] = 1200 * head**2 - 400 * tail + 2
    main[1:] += 200
    expected = sparse.diags_array([main, -400 * head, -400 * head], offsets=[0, 1, -1], format="csr")
    for _ in range(3):
        difference = abs(plan(t(x)) - expected)
        assert difference.max() <= 1e-12 * abs(expected).max()


@pytest.mark.parametrize(("energy", "colours"), [(ginzburg_landau, 5), (membrane, 9)])
@pytest.mark.parametrize("mode", ["entries", "stars"])
@pytest.mark.parametrize("n", [64, pytest.param(316, marks=pytest.mark.exhaustive)])
def test_hessian_of_a_grid(energy, colours, mode, n):
    u = rng(1).uniform(-1, 1, (n, n))
    plan = dg.sparse_hessian(energy(n), mode=mode).prepare(t(u.ravel()))
    assert plan.n_colours <= colours
    found = plan(t(u.ravel()))
    difference = sparse.diags_array([-np.ones(n - 1), np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n), format="csr")
    whole, short = sparse.eye_array(n, format="csr"), sparse.eye_array(n, format="csr")[: n - 1]
    if energy is ginzburg_landau:
        down, right = sparse.kron(difference, whole), sparse.kron(whole, difference)
        expected = down.T @ down + right.T @ right + sparse.diags_array(3 * u.ravel() ** 2 - 1)
    else:
        down, right = sparse.kron(difference, short), sparse.kron(short, difference)
        dx, dy = down @ u.ravel(), right @ u.ravel()
        cube = (1 + dx**2 + dy**2) ** -1.5
        parts = [(down, down, 1 + dy**2), (right, right, 1 + dx**2), (down, right, -dx * dy), (right, down, -dx * dy)]
        expected = sum(a.T @ sparse.diags_array(cube * w) @ b for a, b, w in parts)
    assert abs(found - expected).max() <= 1e-13 * abs(expected).max()
    plan.check(t(u.ravel()))


def test_variables_that_meet_all_others():
    x = t(rng(2).normal(size=100_000))
    fn = lambda x: (x[0] * x[1:] ** 2 + x[-1] * x[:-1] ** 2).sum()
    plans = [dg.sparse_hessian(fn, mode=mode).prepare(x) for mode in ("stars", "entries")]
    assert plans[0].n_colours <= 4
    np.testing.assert_allclose(plans[1].values(x), plans[0].values(x), rtol=1e-14)
    for plan in plans:
        plan.check(x)


def random_function(seed, m=12, n=10, terms=3):
    """Results that read a few random inputs each, and its pattern."""
    random = rng(seed)
    index = random.integers(0, n, (m, terms))
    weights = random.normal(size=(m, terms))
    return lambda x: (weights * ops.sin(x[index])).prod(1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mode", ["auto", "columns", "rows"])
@pytest.mark.parametrize("ordering", ["best", *ORDERINGS])
def test_coloured_jacobians_are_the_dense_ones(seed, mode, ordering):
    fn = random_function(seed)
    x = t(rng(seed).normal(size=10))
    found = dg.sparse_jacobian(fn, mode=mode, ordering=ordering)(x, check=True)
    np.testing.assert_allclose(found.toarray(), dense_jacobian(fn, x), rtol=1e-13, atol=1e-15)


def test_a_dense_row_is_computed_backwards():
    fn = lambda x: ops.concat((x[1:] * x[:-1], x.sum().reshape(1) ** 2))
    plan = dg.sparse_jacobian(fn, ordering="natural").prepare(t(rng().normal(size=50)))
    assert (plan.kind, plan.n_colours) == ("rows", 3)
    plan = dg.sparse_jacobian(lambda x: x[0] * x, ordering="natural").prepare(t(rng().normal(size=50)))
    assert (plan.kind, plan.n_colours) == ("columns", 2)


def test_many_colours_are_computed_in_parts():
    """More colours than one program takes, on arrays that are long, and on short ones."""
    for n, width in ((5000, 21), (30, 13)):
        fn = lambda x, n=n, width=width: sum(x[width - k - 1 : n - k] for k in range(width)) ** 2
        x = t(rng(n).normal(size=n))
        plan = dg.sparse_jacobian(fn, mode="columns").prepare(x)
        assert plan.n_colours == width
        plan.check(x)
        plan(x, check=True)


# --------------------------------------------------------------------------------------------- random functions


def shuffled(random, x):
    """Picked elements, each at least once."""
    index = np.concatenate([random.permutation(x.size), random.integers(0, x.size, 3)])
    return ops.reshape(x, (-1,))[index]


def pieces(random, x):
    low, high = np.sort(random.choice(x.shape[0] + 1, 2, replace=False))
    return x[int(low) : int(high)]


def strided(random, x):
    stride = int(random.integers(2, 4))
    return x[int(random.integers(0, min(stride, x.shape[0]))) :: stride]


def folded(random, x):
    """As a matrix, with a row of constants where the elements do not fill it."""
    width = int(random.integers(1, 5))
    missing = -x.size % width
    flat = ops.reshape(x, (-1,))
    return ops.reshape(ops.concat((flat, t(np.ones(missing)))) if missing else flat, (-1, width))


def scattered(random, x):
    index = t(random.integers(0, x.size + 2, x.size)).astype(dg.int64)
    return ops.unsorted_segment_sum(ops.reshape(x, (-1,)), index, x.size + 2)


def multiplied(random, x):
    return dg.sparse.matmul(random.matrix(x.size + 1, x.size), ops.reshape(x, (-1,)))


#: Operations of one tensor of any shape. The last ones couple more than parts of entries can follow.
MOVES = {
    "pieces": pieces,
    "strided": strided,
    "backwards": lambda random, x: x[::-1],
    "one": lambda random, x: x[int(random.integers(x.shape[0]))],
    "folded": folded,
    "transposed": lambda random, x: ops.transpose(x, tuple(range(x.ndim))[::-1]),
    "shuffled": shuffled,
    "scattered": scattered,
    "joined": lambda random, x: ops.concat((x, x * x)),
    "shifted": lambda random, x: x - ops.concat((x[1:], x[:1])),
    "summed": lambda random, x: x.sum(int(random.integers(x.ndim))),
    "all": lambda random, x: x * x.sum(),
    "mean": lambda random, x: x - x.mean(0, keep_dims=True),
    "widened": lambda random, x: ops.broadcast_to(ops.reshape(x, (-1, 1)), (x.size, 2)) * random.normal(size=(1, 2)),
    "masked": lambda random, x: ops.where(Tensor(random.random(x.shape) < 0.6), x * x, 2 * x),
    "clipped": lambda random, x: ops.where(x > 0.1, x * x, ops.sin(x)),
    "zeros": lambda random, x: x * x * (random.random(x.shape) < 0.7),
    "curved": lambda random, x: ops.exp(-0.5 * x) / (1 + x * x),
    "multiplied": multiplied,
    "product": lambda random, x: x.prod(0, keep_dims=True),
    "empty": lambda random, x: ops.concat((x[:0], x)),
    "sorted": lambda random, x: ops.sort(ops.reshape(x, (-1,)))[0] * x.sum(),
    "accumulated": lambda random, x: x.cumsum(0),
    "greater": lambda random, x: ops.maximum(x, x[::-1]) * x,
    "matrix": lambda random, x: ops.matmul(t(random.normal(size=(2, x.size))), ops.reshape(x, (-1, 1))),
}
FAR = ("sorted", "accumulated", "matrix")  # left to sweeps


class Drawn:
    """In the place of a generator: numbers that were drawn before."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def draw(self, *_, **__):
        return next(self.numbers)

    random = normal = integers = permutation = choice = matrix = draw


def with_draws(fn, seed, x):
    """``fn(random, x)`` as a function of x; what it draws at this x is drawn now, so that guards can follow it."""
    source, numbers = rng(seed), []

    def matrix(*shape):
        return sparse.random_array(shape, density=0.3, rng=source, format="csr")

    class Drawing:
        def __getattr__(self, name):
            draw = matrix if name == "matrix" else getattr(source, name)
            return lambda *args, **kwargs: (numbers.append(draw(*args, **kwargs)), numbers[-1])[1]

    fn(Drawing(), x)
    return lambda x: fn(Drawn(numbers), x)


def composed(seed, x):
    """A function of a vector made of a few moves."""
    names = list(rng(seed).choice(list(MOVES), 3 + seed % 3))

    def fn(random, x):
        for name in names:
            if x.ndim and x.size:
                x = MOVES[name](random, x)
        return x * x

    return with_draws(fn, seed, x)


def checked(plan, dense, x):
    """That a plan gives the dense derivative, at the first three calls and in the order of its pattern."""
    for at in (x, x, t(x.asnumpy() + 0.01)):
        found, expected = plan(at), dense(at)
        # Numbers on the way are about 1, so what cancels out leaves their rounding.
        tolerance = 1e-14 + 1e-12 * np.abs(expected).max(initial=0)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=tolerance)
        assert found.has_canonical_format
        assert not np.any((expected != 0) & ~plan.pattern.dense())


@pytest.mark.parametrize("name", MOVES)
def test_every_move_has_the_dense_derivatives(name):
    mode = "auto" if name in FAR else "entries"
    x = t(rng(6).normal(size=7))
    fn = with_draws(lambda random, x: MOVES[name](random, x) ** 2, 5, x)
    checked(dg.sparse_jacobian(fn, mode=mode).prepare(x), lambda x: dense_jacobian(fn, x), x)
    energy = lambda x: ops.sin(fn(x)).sum()
    checked(dg.sparse_hessian(energy, mode=mode).prepare(x), lambda x: dense_hessian(energy, x), x)
    if name in FAR:
        with pytest.raises(ValueError, match="use mode='auto'"):
            dg.sparse_jacobian(fn, mode="entries").prepare(x)


@pytest.mark.parametrize("seed", range(60))
def test_random_compositions_have_the_dense_derivatives(seed):
    x = t(rng(100 + seed).uniform(-1, 1, 6 + seed % 5))
    fn = composed(seed, x)
    checked(dg.sparse_jacobian(fn).prepare(x), lambda x: dense_jacobian(fn, x), x)
    energy = lambda x: ops.sin(fn(x)).sum()
    checked(dg.sparse_hessian(energy).prepare(x), lambda x: dense_hessian(energy, x), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [name for name in HESSIANS if name != "dense"])
def test_entries_and_sweeps_agree_in_both_types(name, dtype):
    fn, n, _ = HESSIANS[name]
    x = Tensor(rng(3).uniform(-1, 1, n).astype(dtype))
    one, other = (dg.sparse_hessian(fn, mode=mode)(x) for mode in ("entries", "stars"))
    assert one.dtype == other.dtype == dtype
    tolerance = 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(
        one.toarray(), other.toarray(), rtol=tolerance, atol=tolerance * abs(other).max() if other.nnz else 0
    )
    narrowed = lambda x: ops.sin(x[1:] * x[:-1]).astype(dg.float32).astype(dg.float64) * x[1:].astype(dg.float64)
    found, expected = (dg.sparse_jacobian(narrowed, mode=mode)(x).toarray() for mode in ("entries", "columns"))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_rows_and_columns_without_entries():
    fn = lambda x: ops.concat((t(np.ones(3)), x[2:4] * 2, ops.floor(x), (x[:1] * x[4:5])))
    plan = dg.sparse_jacobian(fn, mode="entries").prepare(t(np.arange(1.0, 7)))
    checked(plan, lambda x: dense_jacobian(fn, x), t(np.arange(1.0, 7)))
    assert np.flatnonzero(np.diff(plan.pattern.indptr)).tolist() == [3, 4, 11]
    none = dg.sparse_jacobian(lambda x: x[:0], mode="entries")(t(np.ones(3)))
    assert none.shape == (0, 3)
    nowhere = dg.sparse_hessian(lambda x: t(3.0), mode="entries")(t(np.ones(3)))
    assert (nowhere.shape, nowhere.nnz) == ((3, 3), 0)


def test_constant_entries_are_worked_out_beforehand():
    plan = dg.sparse_hessian(lambda x: ((x[1:] - x[:-1]) ** 2).sum(), mode="entries").prepare(t(np.ones(5)))
    first = plan.values(t(np.ones(5)))
    first[:] = 0  # theirs, not the plan's
    expected = 4 * np.eye(5) - 2 * np.eye(5, k=1) - 2 * np.eye(5, k=-1) - 2 * np.diag([1, 0, 0, 0, 1])
    np.testing.assert_array_equal(plan(t(np.zeros(5))).toarray(), expected)


def test_zero_slopes_stay_zero_beside_infinite_ones():
    fn = lambda x: ops.where(x > 0, ops.sqrt(x), 0.0 * x)
    found = dg.sparse_jacobian(fn, mode="entries")(t([4.0, 0.0, -1.0]))
    np.testing.assert_array_equal(found.toarray(), dense_jacobian(fn, t([4.0, 0.0, -1.0])))


# ------------------------------------------------------------------------------------------------- colourings


# ------------------------------------------------------------------------------------------ arguments and plans
