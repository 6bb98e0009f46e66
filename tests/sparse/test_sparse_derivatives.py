"""Sparse Jacobians and Hessians: equal to dense ones where these can be had, to closed forms where not."""

import sys
import warnings

import numpy as np
import pytest
from scipy import sparse

import dualgrad as dg
from dualgrad import Tensor, ops, sparsity
from dualgrad.sparse.colour import ORDERINGS, colour_hessian, colour_jacobian


def t(x):
    return Tensor(np.asarray(x, np.float64))


def rng(seed=0):
    return np.random.default_rng(seed)


def dense_jacobian(fn, x):
    flat = lambda x: ops.reshape(fn(x), (-1,))
    columns = [dg.jvp(flat, x, t(e.reshape(x.shape)))[1].asnumpy() for e in np.eye(x.size)]
    return np.stack(columns, 1)


def dense_hessian(fn, x):
    return dense_jacobian(dg.grad(fn), x)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


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
def test_hessian_of_a_grid(energy, colours, mode):
    n = 316
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


def random_symmetric(seed, n=40, m=60):
    random = rng(seed)
    i, j = random.integers(0, n, (2, m))
    matrix = np.zeros((n, n))
    matrix[i, j] = random.normal(size=m)
    matrix[np.arange(0, n, 3), np.arange(0, n, 3)] = 1.0
    return matrix + matrix.T


def read(colouring, products, m):
    out = np.full(m, np.nan)
    for k in range(colouring.count):
        part = slice(colouring.bounds[k], colouring.bounds[k + 1])
        out[colouring.target[part]] = products[k][colouring.source[part]]
    return out


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize("seed", range(30))
def test_stars_give_back_every_entry(seed, ordering):
    matrix = random_symmetric(seed, m=20 + 10 * seed)
    pattern = sparsity.Pattern.of(matrix != 0)
    colouring = colour_hessian(pattern, ordering)
    found = read(colouring, [matrix @ seed for seed in colouring.seeds()], len(pattern.indices))
    np.testing.assert_array_equal(found, matrix[pattern.rows(), pattern.indices])
    assert colouring.count <= colour_jacobian(pattern, "columns", ordering).count + 1


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize("kind", ["columns", "rows"])
def test_colours_give_back_every_entry(ordering, kind):
    matrix = rng(3).normal(size=(30, 40)) * (rng(4).random((30, 40)) < 0.08)
    pattern = sparsity.Pattern.of(matrix != 0)
    colouring = colour_jacobian(pattern, kind, ordering)
    product = (lambda s: matrix @ s) if kind == "columns" else (lambda s: matrix.T @ s)
    found = read(colouring, [product(seed) for seed in colouring.seeds()], len(pattern.indices))
    np.testing.assert_array_equal(found, matrix[pattern.rows(), pattern.indices])


def test_the_order_matters_and_the_best_is_kept():
    pattern = sparsity.Pattern.of(random_symmetric(7, n=300, m=900) != 0)
    counts = {ordering: colour_hessian(pattern, ordering).count for ordering in ORDERINGS}
    assert len(set(counts.values())) > 1
    assert colour_hessian(pattern).count == min(counts.values())


# ------------------------------------------------------------------------------------------ arguments and plans


def test_several_inputs():
    fn = lambda x, c, y: (c * x[1:] * y[:-1] ** 2).sum() + (x**3).sum()
    x, y = t(rng(1).normal(size=4)), t(rng(2).normal(size=4))
    hessian = dg.sparse_hessian(fn, (0, 2))
    joined = lambda z, c: fn(z[:4], c, z[4:])
    z = t(np.concatenate([x.asnumpy(), y.asnumpy()]))
    for c in (2.0, t(3.0), t(-1.0), t(0.5)):
        expected = dense_hessian(lambda z, c=c: joined(z, c), z)
        np.testing.assert_allclose(hessian(x, c, y, check=True).toarray(), expected, rtol=1e-13, atol=1e-14)


def test_inputs_and_results_of_any_shape():
    fn = lambda x: (x * x[::-1], x.sum(1))
    x = t(rng(1).normal(size=(4, 3)))
    flat = lambda x: ops.concat([ops.reshape(part, (-1,)) for part in fn(x)])
    for mode in ("columns", "rows"):
        found = dg.sparse_jacobian(fn, mode=mode)(x, check=True)
        np.testing.assert_allclose(found.toarray(), dense_jacobian(flat, x), rtol=1e-13, atol=1e-14)


def test_types_are_kept():
    x = Tensor(np.ones(6, np.float32))
    assert dg.sparse_hessian(rosenbrock)(x).dtype == np.float32
    half = dg.sparse_jacobian(lambda x: x * x)(Tensor(np.ones(6, np.float16)))
    assert half.dtype == np.float32  # SciPy has no narrower one
    np.testing.assert_array_equal(half.toarray(), 2 * np.eye(6))


def test_integers_among_the_arguments_decide_about_the_pattern():
    fn = lambda x, index: (x[index] * x).sum()
    hessian = dg.sparse_hessian(fn)
    x = t(rng().normal(size=4))
    for index in ([3, 2, 1, 0], [1, 2, 3, 0], [1, 1, 1, 1]):
        at = Tensor(np.array(index))
        expected = dense_hessian(lambda x, at=at: fn(x, at), x)
        np.testing.assert_array_equal(hessian(x, at, check=True).toarray(), expected)


def test_captured_indices_may_change():
    index = dg.Parameter(np.array([1, 2, 3, 0]), name="index", requires_grad=False)
    hessian = dg.sparse_hessian(lambda x: (x[index] * x).sum())
    x = t(rng().normal(size=4))
    plan = hessian.prepare(x)
    assert hessian(x).toarray()[0, 1] == 1
    index.set_data(Tensor(np.array([3, 2, 1, 0])))
    np.testing.assert_array_equal(hessian(x).toarray(), 2 * np.eye(4)[::-1])
    with pytest.raises(ValueError, match="captured tensor"):
        plan(x)


def test_weights_of_a_cell_are_no_constants():
    class Chain(dg.nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = dg.Parameter(np.zeros(3), name="w")

        def construct(self, x):
            return (self.w * x[1:] * x[:-1]).sum()

    cell = Chain()
    hessian = dg.sparse_hessian(cell)
    x = t(np.ones(4))
    for value in (0.0, 1.0, 2.0, 3.0):
        cell.w.set_data(Tensor(np.full(3, value)))
        np.testing.assert_array_equal(hessian(x).toarray(), value * (np.eye(4, k=1) + np.eye(4, k=-1)))


def test_numbers_that_python_looks_at_may_change():
    mask = dg.Parameter(np.array([1.0, 0.0, 1.0]), name="mask")
    looks = {
        "as an array": lambda x: (mask.asnumpy() * x * x).sum(),
        "to decide": lambda x: (x * x)[:2].sum() if float(mask[1]) > 0 else (x * x)[2:].sum(),
    }
    x = t(np.ones(3))
    for fn in looks.values():
        hessian = dg.sparse_hessian(fn)
        for value in ([1.0, 0.0, 1.0], [0.0, 1.0, 0.0]):
            mask.set_data(t(value))
            plan = hessian.prepare(x)
            assert not plan.pattern.branches
            np.testing.assert_array_equal(hessian(x).toarray(), dense_hessian(fn, x))


class Power(dg.nn.Cell):
    def __init__(self, offset):
        super().__init__()
        self.offset = offset

    def construct(self, x):
        return (x[: -self.offset] * x[self.offset :]).sum()


def test_attributes_and_closures_may_change():
    x = t(np.ones(5))
    cell = Power(1)
    offset = 1
    nested = lambda x: cell(x)
    closed = lambda x: (x[:-offset] * x[offset:]).sum()
    for fn in (cell, nested, closed):
        cell.offset = offset = 1
        hessian = dg.sparse_hessian(fn)
        plan = hessian.prepare(x)
        assert hessian(x).nnz == 8
        cell.offset = offset = 2
        np.testing.assert_array_equal(hessian(x).toarray(), np.eye(5, k=2) + np.eye(5, k=-2))
        with pytest.raises(ValueError, match="has changed"):
            plan(x)


def test_complex_results():
    fn = lambda x: ops.complex(x * x, x[::-1] * x)
    x = t(rng().normal(size=5))
    found = dg.sparse_jacobian(fn)(x, check=True)
    expected = 2 * np.diag(x.asnumpy()) + 1j * dense_jacobian(lambda x: x[::-1] * x, x)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)
    with pytest.raises(TypeError, match="columns"):
        dg.sparse_jacobian(fn, mode="rows")(x)
    narrow = dg.sparse_jacobian(lambda x: (x * x).astype(dg.float32), mode="rows")(x, check=True)
    assert narrow.dtype in (np.float32, np.float64)
    np.testing.assert_allclose(narrow.toarray(), 2 * np.diag(x.asnumpy()), rtol=1e-6)


def branching(x):
    return (x[1:] * x[:-1]).sum() if x[0] > 0 else (x**3).sum()


def test_branches_are_local_and_the_check_finds_out():
    plan = dg.sparse_hessian(branching).prepare(t([1.0, 2.0, 3.0]))
    assert plan.pattern.branches
    np.testing.assert_array_equal(plan(t([2.0, 1.0, 1.0]), check=True).toarray(), np.eye(3, k=1) + np.eye(3, k=-1))
    with pytest.raises(ValueError, match="pattern does not hold"):
        plan(t([-2.0, 1.0, 1.0]), check=True)


def test_a_given_pattern():
    x = t(rng().normal(size=6))
    tridiagonal = np.abs(np.subtract.outer(range(6), range(6))) < 2
    for pattern in (tridiagonal, sparse.coo_array(tridiagonal), sparsity.Pattern.of(tridiagonal)):
        found = dg.sparse_hessian(rosenbrock, pattern=pattern)(x, check=True)
        np.testing.assert_allclose(found.toarray(), dense_hessian(rosenbrock, x), rtol=1e-13)
    with pytest.raises(ValueError, match="pattern does not hold"):
        dg.sparse_hessian(rosenbrock, pattern=np.eye(6, dtype=bool))(x, check=True)
    with pytest.raises(ValueError, match="6 variables"):
        dg.sparse_hessian(rosenbrock, pattern=np.eye(5, dtype=bool))(x)


def test_entries_can_be_differentiated():
    plan = dg.sparse_hessian(rosenbrock).prepare(t(np.ones(5)))
    x = t(rng().normal(size=5))
    np.testing.assert_allclose(plan.entries(x).asnumpy(), plan.values(x), rtol=1e-15)
    norm = lambda x: (plan.entries(x) ** 2).sum()
    step = 1e-6
    along = [(float(norm(x + t(step * e))) - float(norm(x - t(step * e)))) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(dg.grad(norm)(x).asnumpy(), along, rtol=1e-6)
    points = t(rng(1).normal(size=(3, 5)))
    each = np.stack([plan.values(t(p)) for p in points.asnumpy()])
    np.testing.assert_allclose(dg.vmap(plan.entries)(points).asnumpy(), each, rtol=1e-14)


def test_sparse_products_of_both_kinds():
    matrix = sparse.random_array((8, 8), density=0.2, rng=rng(5), format="csr")
    x = t(rng().normal(size=8))
    fn = lambda x: ops.sin(dg.sparse.matmul(matrix, x))
    plan = dg.sparse_jacobian(fn).prepare(x)
    np.testing.assert_array_equal(plan.pattern.dense(), matrix.toarray() != 0)
    np.testing.assert_allclose(plan(x).toarray(), dense_jacobian(fn, x), rtol=1e-13, atol=1e-15)
    entries = lambda d: (dg.sparse.csr_matmul(d, matrix.indices, matrix.indptr, (8, 8), x) ** 2).sum()
    data = t(matrix.data)
    hessian = dg.sparse_hessian(entries)
    np.testing.assert_allclose(
        hessian(data, check=True).toarray(), dense_hessian(entries, data), rtol=1e-13, atol=1e-15
    )
    rows = np.repeat(range(8), np.diff(matrix.indptr))
    np.testing.assert_array_equal(hessian.prepare(data).pattern.dense(), rows[:, None] == rows)


def test_a_matrix_belongs_to_who_asked_for_it():
    plan = dg.sparse_hessian(rosenbrock).prepare(t(np.zeros(4)))
    first = plan(t(np.zeros(4)))
    first.eliminate_zeros()
    np.testing.assert_array_equal(plan(t(np.ones(4))).toarray(), dense_hessian(rosenbrock, t(np.ones(4))))


def test_without_scipy_there_are_numbers(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    plan = dg.sparse_hessian(rosenbrock).prepare(t(np.ones(4)))
    np.testing.assert_array_equal(plan.values(t(np.ones(4)))[:3], [802, -400, -400])
    with pytest.raises(ImportError, match=r"dualgrad\[scipy\]"):
        plan(t(np.ones(4)))
    with pytest.raises(ImportError, match=r"dualgrad\[scipy\]"):
        dg.sparse_hessian(rosenbrock)(t(np.ones(4)))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dg.sparse_hessian(3), TypeError, "expected a function"),
        (lambda: dg.sparse_jacobian(rosenbrock, mode="sideways"), ValueError, "mode"),
        (lambda: dg.sparse_hessian(rosenbrock, mode="columns"), ValueError, "auto, entries, stars"),
        (lambda: dg.sparse_hessian(rosenbrock, mode="entries", pattern=np.eye(3)), ValueError, "finds the pattern"),
        (lambda: dg.sparse_hessian(branching, mode="entries")(t([1.0, 2.0])), ValueError, "without branches"),
        (lambda: dg.sparse_jacobian(rosenbrock, (0, 0)), ValueError, "each once"),
        (lambda: dg.sparse_jacobian(rosenbrock, ordering="random"), ValueError, "ordering"),
        (lambda: dg.sparse_hessian(rosenbrock)(Tensor([1, 2, 3])), TypeError, "float type"),
        (lambda: dg.sparse_hessian(rosenbrock)(), TypeError, "missing"),
        (lambda: dg.sparse_hessian(rosenbrock).prepare(t(np.ones(3)))(t(np.ones(4))), ValueError, "prepared for"),
        (lambda: dg.sparse_hessian(rosenbrock).prepare(t(np.ones(3)))(), ValueError, "1 arguments"),
        (lambda: dg.sparse_jacobian(lambda x: 3)(t(np.ones(3))), TypeError, "expected a Tensor"),
        (lambda: dg.sparse_jacobian(lambda x: x / x.sum())(t(np.ones(20_000))), ValueError, "dense"),
        (lambda: dg.sparse_jacobian(lambda x: x * np.random.rand(3))(t(np.ones(3))), ValueError, "two calls"),  # noqa: NPY002
        (lambda: dg.vmap(dg.sparse_jacobian(lambda x: x * x).prepare)(t(np.ones((2, 3)))), TypeError, "outside"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_plan_does_not_depend_on_what_becomes_an_error():
    """Filters of warnings and NumPy's treatment of errors change no pattern."""
    x = Tensor(np.linspace(0.5, 1.5, 6))
    plan = dg.sparse_hessian(lambda x: (x[1:] * x[:-1]).sum()).prepare(x)
    expected = plan(x).toarray()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        np.testing.assert_array_equal(plan(x).toarray(), expected)
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(plan(x).toarray(), expected)
