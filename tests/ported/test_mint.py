"""`dualgrad.mint` against NumPy and SciPy: PyTorch's keywords, defaults and meanings."""

import inspect
import itertools

import numpy as np
import pytest
from scipy import signal, special

import dualgrad as dg
from dualgrad import mint
from dualgrad.mint import functions
from dualgrad.mint.nn import functional, stateless

RNG = np.random.default_rng(11)
A, B = RNG.uniform(0.2, 0.9, (2, 3, 4))
C = RNG.uniform(0.2, 0.9, (2, 3, 4))
SQUARE = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
ROW, OTHER = RNG.normal(size=(2, 6))
PLACES = np.array([[0, 2, 1, 0], [2, 2, 0, 1]])
NUMPY_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
    "neg": "negative", "atan2": "arctan2", "bitwise_not": "invert", "eq": "equal", "ge": "greater_equal",
    "gt": "greater", "le": "less_equal", "lt": "less", "ne": "not_equal", "pow": "power", "sub": "subtract",
    "mul": "multiply", "inverse": "linalg.inv", "t": "transpose",
}  # fmt: skip
OTHERS = {
    "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv, "digamma": special.digamma,
    "sigmoid": special.expit, "relu": lambda x: np.maximum(x, 0), "rsqrt": lambda x: 1 / np.sqrt(x),
    "frac": lambda x: x - np.trunc(x), "xlogy": special.xlogy, "floor_divide": np.floor_divide,
}  # fmt: skip
FLAGS = ("logical_", "bitwise_")


def reference(name):
    """What NumPy or SciPy has under a name."""
    if name in OTHERS:
        return OTHERS[name]
    found = np
    for part in NUMPY_NAMES.get(name, name).split("."):
        found = getattr(found, part)
    return found


def operands(name, count):
    """Arrays in the domain of a function."""
    if name.startswith(FLAGS):
        return [RNG.integers(0, 2 if name.startswith("logical") else 9, (3, 4)) for _ in range(count)]
    if name in ("inverse", "trace", "t"):
        return [SQUARE]
    if name == "gcd":
        return [RNG.integers(1, 30, (3, 4)) for _ in range(count)]
    if name == "vdot":
        return [ROW, OTHER]
    if name == "matmul":
        return [A, B.T]
    return [(A + 1.0 if name.endswith("cosh") else A, B)[k] for k in range(count)]


UNARY = [name for name in functions._UNARY.split() if name in functions.__all__]
BINARY = [name for name in functions._BINARY.split() if name in functions.__all__]


@pytest.mark.parametrize(
    ("name", "names"), [(n, ("input",)) for n in UNARY] + [(n, ("input", "other")) for n in BINARY]
)
def test_functions_of_elements(name, names):
    arrays = operands(name, len(names))
    expected = reference(name)(*arrays)
    tensors = [dg.Tensor(array) for array in arrays]
    found = getattr(mint, name)(*tensors), getattr(mint, name)(**dict(zip(names, tensors, strict=True)))
    for value in found:
        np.testing.assert_allclose(value.asnumpy() if name != "equal" else value, expected, rtol=1e-6)


def scattered(array, places, rows):
    """The entries of each column, summed by the rows that they go to."""
    pairs = [*np.ndindex(array.shape)]
    return np.array(
        [
            [sum(array[p] for p in pairs if p[1] == j and places[p] == k) for j in range(array.shape[1])]
            for k in range(rows)
        ]
    )


# What is called, with its arguments, and what NumPy gives.
CALLS = {
    "add(A, B, alpha=2)": A + 2 * B,
    "sub(A, B, alpha=2)": A - 2 * B,
    "addcdiv(A, A, B, value=3)": A + 3 * A / B,
    "addcmul(A, A, B, value=3)": A + 3 * A * B,
    "addmm(SQUARE, A, B.T, beta=2, alpha=3)": 2 * SQUARE + 3 * A @ B.T,
    "all(A > 0.5, dim=1, keepdim=True)": (A > 0.5).all(1, keepdims=True),
    "any(A > 0.8, dim=0)": (A > 0.8).any(0),
    "amax(C)": C.max(),
    "amax(C, dim=(0, 2))": C.max((0, 2)),
    "amin(C, dim=1, keepdim=True)": C.min(1, keepdims=True),
    "arange(3)": np.arange(3),
    "arange(1, 7, step=2)": np.arange(1, 7, 2),
    "argmax(C)": C.argmax(),
    "argmax(C, dim=1, keepdim=True)": C.argmax(1)[:, None],
    "argmin(C, dim=-1)": C.argmin(-1),
    "argsort(C, dim=1, descending=True)": np.argsort(-C, 1),
    "bincount(PLACES[0], minlength=5)": np.bincount(PLACES[0], minlength=5),
    "bmm(C, mat2=C.swapaxes(1, 2))": C @ C.transpose(0, 2, 1),
    "broadcast_to(ROW, (2, 6))": np.broadcast_to(ROW, (2, 6)),
    "cat([A, B], dim=1)": np.concatenate([A, B], 1),
    "concat(tensors=(A, B))": np.concatenate([A, B]),
    "cdist(A, B, p=1.0)": np.abs(A[:, None] - B[None]).sum(-1),
    "chunk(A, 2, dim=1)": np.split(A, 2, 1),
    "clamp(A, min=0.4, max=0.6)": A.clip(0.4, 0.6),
    "clone(A)": A,
    "count_nonzero(A > 0.5, dim=1)": (A > 0.5).sum(1),
    "cumsum(A, dim=1)": A.cumsum(1),
    "cumprod(A, dim=0)": A.cumprod(0),
    "diag(ROW, diagonal=1)": np.diag(ROW, 1),
    "diff(A, n=2, dim=1)": np.diff(A, 2, 1),
    "div(A, B, rounding_mode='floor')": A // B,
    "dot(ROW, OTHER)": ROW @ OTHER,
    "einsum('ij,kj->ik', A, B)": A @ B.T,
    "eye(2, 3)": np.eye(2, 3),
    "flatten(C)": C.reshape(-1),
    "flatten(C, start_dim=1)": C.reshape(2, 12),
    "flip(A, dims=(0, 1))": A[::-1, ::-1],
    "full((2, 3), 7.0)": np.full((2, 3), 7.0),
    "gather(A, 0, PLACES)": np.take_along_axis(A, PLACES, 0),
    "gather(input=A, dim=1, index=PLACES)": np.take_along_axis(A[:2], PLACES, 1),
    "histc(ROW, bins=4, min=-1, max=1)": np.histogram(ROW, 4, (-1, 1))[0],
    "hstack((A, B))": np.hstack((A, B)),
    "index_add(A, 1, PLACES[0, :2], B[:, :2], alpha=2)": A + 2 * B[:, :2] @ np.eye(4)[PLACES[0, :2]],
    "index_select(A, 1, PLACES[0])": A[:, PLACES[0]],
    "kthvalue(A, 2, dim=0, keepdim=True)": [np.sort(A, 0)[1:2], np.argsort(A, 0)[1:2]],
    "kthvalue(ROW, k=1)": [ROW.min(), ROW.argmin()],
    "lerp(A, B, 0.25)": A + 0.25 * (B - A),
    "linspace(0.0, 1.0, steps=5)": np.linspace(0.0, 1.0, 5),
    "logsumexp(A, dim=1, keepdim=True)": special.logsumexp(A, 1, keepdims=True),
    "masked_select(A, A > 0.5)": A[A > 0.5],
    "max(A)": A.max(),
    "max(A, B)": np.maximum(A, B),
    "max(A, dim=1)": [A.max(1), A.argmax(1)],
    "max(A, 0, keepdim=True)": [A.max(0)[None], A.argmax(0)[None]],
    "min(A)": A.min(),
    "min(A, B)": np.minimum(A, B),
    "min(A, dim=1)": [A.min(1), A.argmin(1)],
    "mean(A, dim=1, keepdim=True)": A.mean(1, keepdims=True),
    "mean(A)": A.mean(),
    "median(A)": np.sort(A, None)[5],
    "median(A, dim=1)": [np.sort(A, 1)[:, 1], np.argsort(A, 1)[:, 1]],
    "meshgrid(ROW, OTHER[:2])": np.meshgrid(ROW, OTHER[:2], indexing="ij"),
    "mm(A, B.T)": A @ B.T,
    "narrow(A, dim=1, start=1, length=2)": A[:, 1:3],
    "norm(A)": np.sqrt((A**2).sum()),
    "norm(C, p=3, dim=1)": (C**3).sum(1) ** (1 / 3),
    "norm(C, 2, (0, 2), keepdim=True)": np.sqrt((C**2).sum((0, 2), keepdims=True)),
    "norm(C, p=1, dim=(-1, 1))": C.sum((1, 2)),
    "norm(C, p=float('inf'))": C.max(),
    "outer(ROW, vec2=OTHER)": np.outer(ROW, OTHER),
    "permute(C, dims=(2, 0, 1))": C.transpose(2, 0, 1),
    "permute(C, (1, 0, 2))": C.transpose(1, 0, 2),
    "pow(A, 3)": A**3,
    "prod(A, dim=1)": A.prod(1),
    "repeat_interleave(A, 2, dim=1)": A.repeat(2, 1),
    "repeat_interleave(A, 2)": A.reshape(-1).repeat(2),
    "reshape(A, (4, 3))": A.reshape(4, 3),
    "roll(A, shifts=1, dims=1)": np.roll(A, 1, 1),
    "rot90(A, 1, (0, 1))": np.rot90(A),
    "round(10 * A, decimals=1)": (10 * A).round(1),
    "scatter_add(A, 0, PLACES, B[:2])": A + scattered(B[:2], PLACES, 3),
    "select(C, dim=1, index=2)": C[:, 2],
    "select(C, -1, 0)": C[:, :, 0],
    "softmax(C, dim=1)": special.softmax(C, 1),
    "sort(A, dim=0, descending=True)": [-np.sort(-A, 0), np.argsort(-A, 0)],
    "split(A, 3, dim=1)": [A[:, :3], A[:, 3:]],
    "split(A, [1, 3], 1)": [A[:, :1], A[:, 1:]],
    "squeeze(A[None], dim=0)": A,
    "stack([A, B], dim=2)": np.stack([A, B], 2),
    "std(A)": A.std(ddof=1),
    "std(A, dim=1, correction=0, keepdim=True)": A.std(1, keepdims=True),
    "sum(C, dim=(0, 2))": C.sum((0, 2)),
    "sum(C, 1, True)": C.sum(1, keepdims=True),
    "swapaxes(C, 0, 2)": C.swapaxes(0, 2),
    "tile(A, dims=(2, 1))": np.tile(A, (2, 1)),
    "topk(A, 2, dim=0)": [-np.sort(-A, 0)[:2], np.argsort(-A, 0)[:2]],
    "transpose(C, 0, 2)": C.swapaxes(0, 2),
    "transpose(input=C, dim0=1, dim1=2)": C.swapaxes(1, 2),
    "tril(SQUARE, diagonal=-1)": np.tril(SQUARE, -1),
    "triu(SQUARE, 1)": np.triu(SQUARE, 1),
    "unbind(A, dim=1)": [A[:, k] for k in range(4)],
    "unsqueeze(A, dim=1)": A[:, None],
    "var(A, dim=0)": A.var(0, ddof=1),
    "var_mean(A, dim=0)": [A.var(0, ddof=1), A.mean(0)],
    "std_mean(A, correction=2)": [A.std(ddof=2), A.mean()],
    "where(A > 0.5, A, 0.0)": np.where(A > 0.5, A, 0.0),
    "where(A > 0.5)": np.nonzero(A > 0.5),
    "zeros((2, 3), dtype=dg.float64)": np.zeros((2, 3)),
    "ones((2,))": np.ones(2),
    "zeros_like(A)": np.zeros_like(A),
}  # fmt: skip
IMAGE, KERNEL = RNG.normal(size=(2, 3, 6, 5)), RNG.normal(size=(4, 3, 3, 2))
SERIES, SHORT = RNG.normal(size=(2, 3, 7)), RNG.normal(size=(4, 3, 3))
VOLUME, BLOCK = RNG.normal(size=(2, 3, 4, 2, 4)), RNG.normal(size=(4, 3, 3, 2, 2))
SCORES, CLASSES = RNG.normal(size=(5, 4)), np.array([0, 3, 1, 1, 2])


def correlated(image, kernel, padding=()):
    """Convolution as networks mean it, one output channel after the other."""
    image = np.pad(image, [(0, 0), (0, 0), *[(p, p) for p in padding or (0,) * (image.ndim - 2)]])
    return np.stack(
        [[sum(signal.correlate(x[c], k[c], "valid") for c in range(len(k))) for k in kernel] for x in image]
    )


def windows(image, size):
    n, c, h, w = image.shape
    return image[:, :, : h // size * size, : w // size * size].reshape(n, c, h // size, size, w // size, size)


LAYERS = {
    "conv2d(IMAGE, KERNEL)": correlated(IMAGE, KERNEL),
    "conv2d(IMAGE, KERNEL, padding=1)": correlated(IMAGE, KERNEL, (1, 1)),
    "conv2d(IMAGE, KERNEL, padding='valid', stride=2)": correlated(IMAGE, KERNEL)[:, :, ::2, ::2],
    "conv1d(SERIES, SHORT, padding=1)": correlated(SERIES, SHORT, (1,)),
    "linear(A, B[:2], ROW[:2])": A @ B[:2].T + ROW[:2],
    "softmax(A)": special.softmax(A, 1),
    "softmax(C)": special.softmax(C, 0),
    "softmax(C, dim=2)": special.softmax(C, 2),
    "log_softmax(A, dim=0)": special.log_softmax(A, 0),
    "leaky_relu(ROW)": np.where(ROW > 0, ROW, 0.01 * ROW),
    "silu(ROW)": ROW * special.expit(ROW),
    "gelu(ROW)": ROW * special.ndtr(ROW),
    "elu(ROW, alpha=2.0)": np.where(ROW > 0, ROW, 2.0 * np.expm1(ROW)),
    "glu(A, dim=1)": A[:, :2] * special.expit(A[:, 2:]),
    "hardtanh(ROW, -0.5, 0.5)": ROW.clip(-0.5, 0.5),
    "normalize(A)": A / np.linalg.norm(A, axis=1, keepdims=True),
    "normalize(A, p=1.0, dim=0)": A / A.sum(0),
    "one_hot(CLASSES, 5)": np.eye(5)[CLASSES],
    "one_hot(CLASSES)": np.eye(4)[CLASSES],
    "flatten(C)": C.reshape(-1),
    "pad(A, (1, 2))": np.pad(A, ((0, 0), (1, 2))),
    "mse_loss(A, B)": ((A - B) ** 2).mean(),
    "l1_loss(A, B, reduction='sum')": np.abs(A - B).sum(),
    "smooth_l1_loss(A, B)": (0.5 * (A - B) ** 2).mean(),
    "cross_entropy(SCORES, CLASSES)": -special.log_softmax(SCORES, 1)[range(5), CLASSES].mean(),
    "kl_div(A, B, log_target=True, reduction='sum')": (np.exp(B) * (B - A)).sum(),
    "binary_cross_entropy(A, B)": -(B * np.log(A) + (1 - B) * np.log(1 - A)).mean(),
    "binary_cross_entropy_with_logits(A, B)": (np.logaddexp(0, A) - A * B).mean(),
    "layer_norm(A, (4,))": (A - A.mean(1, keepdims=True)) / np.sqrt(A.var(1, keepdims=True) + 1e-5),
    "avg_pool2d(IMAGE, 2)": windows(IMAGE, 2).mean((3, 5)),
    "max_pool2d(IMAGE, 2)": windows(IMAGE, 2).max((3, 5)),
    "embedding(CLASSES, SCORES)": SCORES[CLASSES],
    "avg_pool1d(SERIES, 2)": SERIES[..., :6].reshape(2, 3, 3, 2).mean(3),
    "avg_pool3d(VOLUME, 2)": VOLUME.reshape(2, 3, 2, 2, 1, 2, 2, 2).mean((3, 5, 7)),
    "conv3d(VOLUME, BLOCK, padding=1)": correlated(VOLUME, BLOCK, (1, 1, 1)),
    "adaptive_max_pool2d(IMAGE, (3, 1))": IMAGE.reshape(2, 3, 3, 2, 5).max((3, 4))[..., None],
    "interpolate(IMAGE, scale_factor=2.0)": IMAGE.repeat(2, 2).repeat(2, 3),
    "upsample(SERIES, size=14)": SERIES.repeat(2, 2),
    "dropout2d(IMAGE, 0.5, training=False)": IMAGE,
}
ARRAYS = {name: dg.Tensor(value) for name, value in globals().items() if isinstance(value, np.ndarray)}
SPACE = {**ARRAYS, "dg": dg, "float": float}


def compared(found, expected):
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compared(one, other)
    else:
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("call", CALLS)
def test_functions(call):
    compared(eval(f"mint.{call}", {**SPACE, "mint": mint}), CALLS[call])


@pytest.mark.parametrize("call", ["count_nonzero(A)", "argmax(A)", "argmin(A, 0)", "arange(3)", "argsort(ROW)"])
def test_places_and_counts_have_64_bits(call):
    assert eval(f"mint.{call}", {**SPACE, "mint": mint}).dtype == dg.int64


@pytest.mark.parametrize("call", LAYERS)
def test_functions_of_layers(call):
    compared(eval(f"functional.{call}", {**SPACE, "functional": functional}), LAYERS[call])


def test_every_row_is_tested():
    tested = {call.partition("(")[0] for call in CALLS} | {*UNARY, *BINARY}
    drawn = {"rand", "randn", "randperm", "rand_like", "randn_like", "randint", "randint_like", "multinomial",
             "normal", "empty", "empty_like"}  # fmt: skip
    same_as_ops = {"addbmm", "addmv", "baddbmm", "cross", "cummax", "cummin", "divide", "float_power", "full_like",
                   "moveaxis", "mv",
                   "nan_to_num", "nansum", "nonzero", "ones_like", "polar", "scatter", "searchsorted", "take", "clip",
                   "masked_fill", "isclose", "allclose", "dstack"}  # fmt: skip
    assert {*functions.__all__} - tested - drawn <= same_as_ops


def test_draws_have_their_limits():
    dg.set_seed(5)
    found = mint.normal(dg.Tensor([0.0, 100.0]), 2.0)
    assert found.shape == (2,)
    assert abs(found.asnumpy()[1] - 100.0) < 20.0
    wide = mint.normal(3.0, 2.0, size=(20000,)).asnumpy()
    assert abs(wide.mean() - 3.0) < 0.1
    assert abs(wide.std() - 2.0) < 0.1
    assert {*mint.randint(2, 4, (200,)).tolist()} == {2, 3}
    assert {*mint.randint_like(dg.ops.ones((200,)), 2, 4).tolist()} == {2, 3}
    assert sorted(mint.multinomial(dg.Tensor([0.2, 0.3, 0.5]), 3).tolist()) == [0, 1, 2]
    assert mint.empty_like(dg.Tensor(A)).shape == A.shape
    assert mint.empty(3, dtype=dg.int32).dtype == dg.int32


# ---------------------------------------------------------------------------------------------------------- layers


@pytest.mark.parametrize("name", [row.split()[0] for row in stateless._ROWS.strip().splitlines()])
def test_layers_without_parameters_are_their_functions(name):
    row = next(row.split() for row in stateless._ROWS.strip().splitlines() if row.split()[0] == name)
    if name not in stateless.__all__:
        assert not hasattr(functional, row[2])  # it comes with its function
        return
    layer, function = getattr(mint.nn, name), getattr(functional, row[2])
    settings = list(inspect.signature(layer).parameters.values())
    assert [p.name for p in settings] == [*inspect.signature(function).parameters][int(row[1]) :]
    needed = {p.name for p in settings if p.default is p.empty}
    if needed <= {"kernel_size"} and name not in ("Fold", "Unfold", "Upsample"):
        given = {"kernel_size": 2} if "kernel_size" in {p.name for p in settings} else {}
        inputs = {
            "CrossEntropyLoss": (SCORES, CLASSES),
            "NLLLoss": (SCORES, CLASSES),
            "CosineEmbeddingLoss": (A, B, np.ones(3)),
            "AvgPool1d": (SERIES,),
            "AvgPool3d": (VOLUME,),
        }
        inputs = inputs.get(name, (IMAGE,) if "Pool" in name else (A, B)[: int(row[1])])
        tensors = [dg.Tensor(x) for x in inputs]
        np.testing.assert_array_equal(layer(**given)(*tensors).asnumpy(), function(*tensors, **given).asnumpy())
    with pytest.raises(TypeError):
        layer(colour=3)


def spread_out(image, kernel):
    """Each element of an image times a kernel, added up where they overlap."""
    n, _, h, w = image.shape
    _, channels, rows, columns = kernel.shape
    found = np.zeros((n, channels, h + rows - 1, w + columns - 1))
    for i, j in np.ndindex(h, w):
        found[:, :, i : i + rows, j : j + columns] += np.einsum("nc,cdrs->ndrs", image[:, :, i, j], kernel)
    return found


LAYERS_WITH_PARAMETERS = {
    "Linear": (lambda **k: mint.nn.Linear(4, 3, **k), A, lambda x, w, b: x @ w.T + b, (3, 4)),
    "Conv2d": (lambda **k: mint.nn.Conv2d(3, 4, (3, 2), **k), IMAGE,
               lambda x, w, b: correlated(x, w) + b.reshape(-1, 1, 1), (4, 3, 3, 2)),
    "Conv1d": (lambda **k: mint.nn.Conv1d(3, 4, 3, **k), SERIES,
               lambda x, w, b: correlated(x, w) + b.reshape(-1, 1), (4, 3, 3)),
    "Conv3d": (lambda **k: mint.nn.Conv3d(3, 4, (3, 2, 2), **k), VOLUME,
               lambda x, w, b: correlated(x, w) + b.reshape(-1, 1, 1, 1), (4, 3, 3, 2, 2)),
    "ConvTranspose2d": (lambda **k: mint.nn.ConvTranspose2d(3, 4, (3, 2), **k), IMAGE,
                        lambda x, w, b: spread_out(x, w) + b.reshape(-1, 1, 1), (3, 4, 3, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS_WITH_PARAMETERS)
@pytest.mark.parametrize("bias", [True, False])
def test_layers_with_parameters(name, bias):
    make, array, expected, shape = LAYERS_WITH_PARAMETERS[name]
    layer = make(bias=bias, dtype=dg.float64)
    assert {key: value.shape for key, value in layer.parameters_dict().items()} == {
        "weight": shape, **({"bias": (shape[name == "ConvTranspose2d"],)} if bias else {})
    }  # fmt: skip
    weight = layer.weight.asnumpy()
    offset = layer.bias.asnumpy() if bias else np.zeros(1)
    found = layer(dg.Tensor(array))
    np.testing.assert_allclose(found.asnumpy(), expected(array, weight, offset), rtol=1e-12, atol=1e-12)
    gradient = dg.grad(lambda x: layer(x).sum())(dg.Tensor(array))
    assert gradient.shape == array.shape


def test_padding_of_two_axes():
    layer = mint.nn.Conv2d(3, 4, (3, 2), padding=(2, 1))
    expected = correlated(IMAGE, layer.weight.asnumpy(), (2, 1)) + layer.bias.asnumpy().reshape(-1, 1, 1)
    np.testing.assert_allclose(layer(dg.Tensor(IMAGE.astype(np.float32))).asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_padding_of_other_axes():
    x = dg.Tensor(VOLUME.astype(np.float32))
    layer = mint.nn.Conv3d(3, 4, (3, 2, 2), padding=(0, 2, 1))
    expected = correlated(VOLUME, layer.weight.asnumpy(), (0, 2, 1)) + layer.bias.asnumpy().reshape(-1, 1, 1, 1)
    np.testing.assert_allclose(layer(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    layer = mint.nn.ConvTranspose2d(3, 4, (3, 2), padding=(2, 1), bias=False)
    expected = spread_out(IMAGE, layer.weight.asnumpy())[:, :, 2:-2, 1:-1]
    np.testing.assert_allclose(layer(dg.Tensor(IMAGE.astype(np.float32))).asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_layers_of_nn_and_upsampling():
    image = dg.Tensor(IMAGE)
    assert mint.nn.ReflectionPad2d is dg.nn.ReflectionPad2d
    for layer, width in (
        (mint.nn.ZeroPad1d((1, 2)), [(1, 2)]),
        (mint.nn.ZeroPad3d((1, 0, 2, 1, 0, 3)), [(0, 3), (2, 1), (1, 0)]),
    ):
        x = SERIES if len(width) == 1 else VOLUME
        np.testing.assert_array_equal(layer(dg.Tensor(x)).asnumpy(), np.pad(x, [(0, 0), (0, 0), *width]))
    found = mint.nn.UpsamplingNearest2d(size=(12, 10))(image)
    np.testing.assert_array_equal(found.asnumpy(), IMAGE.repeat(2, 2).repeat(2, 3))
    found = mint.nn.UpsamplingBilinear2d(size=(11, 9))(image).asnumpy()  # every other place is one of the image
    np.testing.assert_allclose(found[:, :, ::2, ::2], IMAGE, rtol=1e-12)
    np.testing.assert_allclose(found[:, :, 1::2, ::2], (IMAGE[:, :, 1:] + IMAGE[:, :, :-1]) / 2, rtol=1e-12)


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(("name", "array"), [("BatchNorm1d", SERIES), ("BatchNorm1d", A), ("BatchNorm2d", IMAGE),
                                             ("BatchNorm3d", VOLUME), ("SyncBatchNorm", IMAGE)])  # fmt: skip
def test_batches_are_normalised(name, array, affine, tracked):
    layer = getattr(mint.nn, name)(array.shape[1], 1e-3, 0.25, affine, tracked, dtype=dg.float64)
    names = ["weight", "bias"] * affine + ["running_mean", "running_var"] * tracked
    assert sorted(layer.parameters_dict()) == sorted(names)
    assert len(layer.trainable_params()) == 2 * affine
    scale, shift = 1.0, 0.0
    axes = (0, *range(2, array.ndim))
    if affine:
        scale, shift = RNG.normal(size=(2, array.shape[1]))
        layer.weight.set_data(scale)
        layer.bias.set_data(shift)
        scale, shift = [np.expand_dims(part, [k for k in range(array.ndim) if k != 1]) for part in (scale, shift)]
    average, variance = array.mean(axes, keepdims=True), array.var(axes, keepdims=True)
    expected = (array - average) / np.sqrt(variance + 1e-3) * scale + shift
    x = dg.Tensor(array)
    np.testing.assert_allclose(layer.set_train()(x).asnumpy(), expected, rtol=1e-9, atol=1e-12)
    layer.set_train(False)
    if tracked:
        average, variance = 0.25 * average, 0.75 + 0.25 * array.var(axes, ddof=1, keepdims=True)
        np.testing.assert_allclose(layer.running_mean.asnumpy(), average.reshape(-1), rtol=1e-12)
        expected = (array - average) / np.sqrt(variance + 1e-3) * scale + shift
    np.testing.assert_allclose(layer(x).asnumpy(), expected, rtol=1e-9, atol=1e-12)


def test_rows_of_a_table():
    layer = mint.nn.Embedding(6, 3, padding_idx=2)
    table = layer.weight.asnumpy()
    np.testing.assert_array_equal(layer(dg.Tensor(CLASSES)).asnumpy(), table[CLASSES])
    assert not table[2].any()
    assert table[[0, 1, 3, 4, 5]].all()
    frozen = mint.nn.Embedding(5, 4, _weight=dg.Tensor(SCORES), _freeze=True)
    assert frozen.trainable_params() == []
    with pytest.raises(ValueError, match=r"_weight has shape \(5, 4\); expected \(6, 4\)"):
        mint.nn.Embedding(6, 4, _weight=dg.Tensor(SCORES))
    dg.set_seed(3)
    assert abs(mint.nn.Embedding(200, 50).weight.asnumpy().std() - 1.0) < 0.05


@pytest.mark.parametrize(("affine", "bias"), [*itertools.product([True, False], repeat=2)])
def test_normalised_layers(affine, bias):
    layer = mint.nn.LayerNorm((4,), elementwise_affine=affine, bias=bias)
    assert [*layer.parameters_dict()] == ["weight", "bias"][: affine + (affine and bias)]
    np.testing.assert_array_equal(
        layer(dg.Tensor(A.astype(np.float32))).asnumpy(),
        functional.layer_norm(dg.Tensor(A.astype(np.float32)), (4,)).asnumpy(),
    )


def test_dropout_acts_in_training_only():
    layer, x = mint.nn.Dropout(0.25), dg.ops.ones((4000,))
    np.testing.assert_array_equal(layer(x).asnumpy(), 1.0)
    dg.set_seed(1)
    found = layer.set_train()(x).asnumpy()
    assert {*np.unique(found)} == {np.float32(0.0), np.float32(1 / 0.75)}
    assert abs((found == 0).mean() - 0.25) < 0.03


WRONG = {
    "a name of a norm": (ValueError, "p='nuc'", lambda: mint.norm(dg.Tensor(A), "nuc")),
    "a keyword of ops": (TypeError, "axis", lambda: mint.sum(dg.Tensor(A), axis=1)),
    "padding by reflection": (
        ValueError,
        "padding_mode='reflect'",
        lambda: mint.nn.Conv2d(1, 1, 1, padding_mode="reflect"),
    ),
    "axes of a batch": (ValueError, "expected 4 axes", lambda: mint.nn.BatchNorm2d(3)(dg.Tensor(SERIES))),
    "processes": (ValueError, "process_group", lambda: mint.nn.SyncBatchNorm(3, process_group="all")),
    "a size twice": (ValueError, "tensors and a size", lambda: mint.normal(dg.Tensor(ROW), 1.0, (6,))),
    "no size": (ValueError, "numbers without a size", lambda: mint.normal(0.0, 1.0)),
    "in place": (ValueError, "inplace=True", lambda: mint.nn.Dropout(0.5, inplace=True)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name):
    error, text, call = WRONG[name]
    with pytest.raises(error, match=text):
        call()


@pytest.mark.eager("it counts calls")
def test_functions_of_rows_belong_to_the_package():
    """So recorded functions follow them as they follow any other function of it."""
    for name in functions.__all__:
        assert getattr(mint, name).__globals__ is vars(functions)
    program = dg.jit(lambda x: mint.sum(mint.cat([x, mint.sin(x)], dim=0), dim=0))
    for _ in range(4):
        found = program(dg.Tensor(A))
    np.testing.assert_allclose(found.asnumpy(), A.sum(0) + np.sin(A).sum(0), rtol=1e-12)
