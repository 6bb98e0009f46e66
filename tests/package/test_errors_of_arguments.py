"""Arguments of wrong kinds: the error names the function, the argument and the expected kind."""

import numpy as np
import pytest
from support import assert_raises

import dualgrad as dg
from dualgrad import Parameter, Tensor, amp, extend, mint, nn, ops, programs, scipy, stats, testing, train
from dualgrad import numpy as dnp
from dualgrad.common import initializer
from dualgrad.nn.wrap import TrainOneStepCell
from dualgrad.operators import Plan
from dualgrad.scipy import fft, interpolate, linalg, ndimage, special

NET = nn.Dense(2, 3)
ONE = Tensor([1.0])
INITIALIZERS = [
    initializer.Zero(), initializer.One(), initializer.Constant(1.0), initializer.Identity(), initializer.Normal(),
    initializer.TruncatedNormal(), initializer.Uniform(), initializer.XavierNormal(), initializer.XavierUniform(),
    initializer.Orthogonal(), initializer.Sparse(0.5), initializer.Dirac(),
]  # fmt: skip


def pullback():
    return dg.vjp(lambda x: x * x, Tensor(3.0))[1]


class ForgetsTheFactor(amp.LossScaler):
    def adjust(self, grads_finite):
        return True


CALLS = {
    "amp scale": (lambda: ForgetsTheFactor().scale(Tensor(1.0)), TypeError, "ForgetsTheFactor", "scale_value"),
    "amp unscale": (lambda: ForgetsTheFactor().unscale(Tensor(1.0)), TypeError, "ForgetsTheFactor", "scale_value"),
    "extend.Primitive": (lambda: extend.Primitive(None, 1, False, ""), TypeError, "Primitive", "row", "NoneType"),
    "extend.bilinear": (lambda: extend.bilinear("b", np.add, {1: 2, 3: 4}), TypeError, "bilinear", "dict"),
    "linear_solve": (lambda: dg.linear_solve(Tensor([1.0]), None), TypeError, "linear_solve", "NoneType"),
    "CellList[]": (lambda: nn.CellList([nn.Tanh()])["0"], TypeError, "CellList", "index", "str"),
    "CellList[]=": (lambda: nn.CellList([nn.Tanh()]).__setitem__(1j, nn.Tanh()), TypeError, "CellList", "complex"),
    "del CellList[]": (lambda: nn.CellList([nn.Tanh()]).__delitem__(None), TypeError, "CellList", "NoneType"),
    "CellList.insert": (lambda: nn.CellList([]).insert(slice(1), nn.Tanh()), TypeError, "CellList", "slice"),
    "CellDict[]": (lambda: nn.CellDict({"a": nn.Tanh()})["b"], KeyError, "CellDict", "'b'", "['a']"),
    "CellDict[0]": (lambda: nn.CellDict({"a": nn.Tanh()})[0], KeyError, "CellDict", "0", "['a']"),
    "CellDict[]=": (lambda: nn.CellDict().__setitem__("a", 1j), TypeError, "CellDict", "'a'", "complex"),
    "del CellDict[]": (lambda: nn.CellDict().__delitem__("a"), KeyError, "CellDict", "'a'"),
    "CellDict.pop": (lambda: nn.CellDict().pop("a"), KeyError, "CellDict", "'a'"),
    "names": (lambda: nn.SequentialCell({1: nn.Tanh()}), TypeError, "SequentialCell", "str", "int"),
    "network": (lambda: TrainOneStepCell(None, None), TypeError, "TrainOneStepCell", "network", "NoneType"),
    "optimizer": (lambda: TrainOneStepCell(NET, NET), TypeError, "TrainOneStepCell", "optimizer", "Dense"),
    "SmoothL1Loss": (lambda: nn.SmoothL1Loss()(None, 3), TypeError, "SmoothL1Loss", "NoneType"),
    "decay_filter": (lambda: nn.Adam([Parameter([1.0])]).decay_filter(3), TypeError, "decay_filter", "int"),
    "Flatten": (lambda: nn.Flatten()(None), TypeError, "Flatten", "NoneType"),
    "Flatten.start_dim": (lambda: nn.Flatten("1"), TypeError, "Flatten", "start_dim", "str"),
    "Plan": (lambda: Plan("name", ()), TypeError, "Plan", "ways"),
    "pad": (lambda: ops.pad(Tensor([1.0]), (2**62, 2**62)), ValueError, "pad", "larger than any memory"),
    "np.pad": (lambda: dnp.pad(Tensor([1.0]), 2**63), ValueError, "np.pad", "larger than any memory"),
    "zeros": (lambda: ops.zeros((2**62, 4)), ValueError, "zeros", "larger than any memory"),
    "broadcast_to": (lambda: ops.broadcast_to(Tensor([1.0]), (2**64,)), ValueError, "larger than any memory"),
    "cond": (lambda: dnp.linalg.cond(np.zeros((0, 0))), np.linalg.LinAlgError, "cond", "(0, 0)", "expected"),
    "np.histogramdd": (lambda: dnp.histogramdd(3), ValueError, "np.histogramdd", "()", "expected"),
    "np.histogram": (lambda: dnp.histogram(Tensor([1.0]), range=3), ValueError, "histogram", "range", "3", "pair"),
    "rfft": (lambda: ops.rfft(Tensor([1.0, 2.0]), norm=[1]), ValueError, "rfft", "norm", "[1]", "'ortho'"),
    "np.fft.rfft": (lambda: dnp.fft.rfft(Tensor([1.0, 2.0]), norm={}), ValueError, "rfft", "norm", "{}", "'ortho'"),
    "mint.kthvalue": (lambda: mint.kthvalue([1.0], 1), TypeError, "kthvalue", "Tensor", "list"),
    "mint.clone": (lambda: mint.clone(None), TypeError, "clone", "Tensor", "NoneType"),
    "mint.select": (lambda: mint.select({}, 0, 0), TypeError, "select", "Tensor", "dict"),
    "mint.softmax": (lambda: mint.nn.functional.softmax([1.0]), TypeError, "softmax", "Tensor", "list"),
    "mint.norm": (lambda: mint.norm(Tensor(1.0), dim=[1]), np.exceptions.AxisError, "norm", "axis 1"),
    "BatchNorm2d": (lambda: nn.BatchNorm2d([3]), TypeError, "BatchNorm2d", "num_features", "int", "list"),
    "BatchNorm2d.eps": (lambda: nn.BatchNorm2d(3, [1]), TypeError, "BatchNorm2d", "eps", "number", "list"),
    "BatchNorm2d.momentum": (lambda: nn.BatchNorm2d(3, momentum={}), TypeError, "BatchNorm2d", "momentum", "dict"),
    "BatchNorm2d()": (lambda: nn.BatchNorm2d(3)(3), ValueError, "BatchNorm2d", "shape ()", "4 axes"),
    "a choice": (lambda: nn.MSELoss(np.zeros(2)), ValueError, "MSELoss", "reduction", "'mean'"),
    "a flag": (lambda: ops.argmax(Tensor([1.0]), keepdims=np.zeros(2)), TypeError, "argmax", "keepdims", "bool"),
    "a factor": (lambda: ops.leaky_relu(Tensor([1.0]), {}), TypeError, "leaky_relu", "alpha", "number", "dict"),
    "rows": (lambda: ops.gather(Tensor([1.0]), [[1], [2, 3]], 0), ValueError, "gather", "indices", "lengths"),
    "np.size": (lambda: dnp.size(Tensor([1.0]), 1), np.exceptions.AxisError, "size", "axis 1"),
    "np.average": (
        lambda: dnp.average(Tensor([1.0]), 3, weights=np.ones(2)),
        np.exceptions.AxisError,
        "np.average",
        "axis 3",
    ),
    "np.isclose": (lambda: dnp.isclose(Tensor([1.0]), 1.0, rtol="a"), TypeError, "np.isclose", "rtol", "number", "str"),
    "np.frexp": (lambda: dnp.frexp(1j), TypeError, "np.frexp", "real", "complex"),
    "np.pad rows": (lambda: dnp.pad(Tensor([1.0]), [[1], [2, 3]]), ValueError, "np.pad", "pad_width", "lengths"),
    "np.geomspace": (lambda: dnp.geomspace(1, 2, 3, np.zeros(2)), TypeError, "np.geomspace", "endpoint", "bool"),
    "np.broadcast_shapes": (lambda: dnp.broadcast_shapes(2**63), ValueError, "broadcast_shapes", "any memory"),
    "vander": (lambda: ops.vander(Tensor([1.0]), 2**62), ValueError, "vander", "larger than any memory"),
    "dctn": (lambda: fft.dctn(ONE, s="a"), TypeError, "dctn", "n must be", "str"),
    "affine": (lambda: ndimage.affine_transform(ONE, ONE, output_shape=2**62), ValueError, "affine_transform", "any"),
    "objective": (lambda: scipy.objective(ops.sin, weights=np.array(3)), TypeError, "objective", "weights"),
    "fit": (lambda: scipy.fit(ops.sin, 1.0, options=3), TypeError, "fit", "options", "dict", "int"),
    "interp1d": (lambda: interpolate.interp1d(ONE, ONE, axis=2), np.exceptions.AxisError, "interp1d", "axis 2"),
    "solve_triangular": (lambda: linalg.solve_triangular(ONE, ONE, {}), ValueError, "solve_triangular", "trans", "{}"),
    "gaussian_kde": (lambda: stats.gaussian_kde([1.0, 2.0], ...), TypeError, "gaussian_kde", "bw_method", "ellipsis"),
    "Discrete": (lambda: stats.Discrete("a", 3, support=(), density="", source=""), TypeError, "stats.a", "shapes"),
    "lambertw": (lambda: special.lambertw(1.0, [0]), ValueError, "lambertw", "[0]", "0 or -1"),
    "mvlgamma": (lambda: ops.mvlgamma(Tensor([1.0]), 2**62), ValueError, "mvlgamma", "1000000"),
    "hyp1f1": (lambda: special.hyp1f1(0.5, 1.5, 1e15), ValueError, "hyp1f1", "third", "1e+15", "1e+12"),
    "hyp1f1 by a": (lambda: special.hyp1f1(1e9, 1.5, -1.0), ValueError, "hyp1f1", "first", "1e+09", "1e+08"),
    "spherical_jn": (lambda: special.spherical_jn(2**62, 1.0), ValueError, "spherical_jn", "order", "1e+07"),
    "sph_harm_y": (lambda: special.sph_harm_y(2**62, 0, 1.0, 1.0), ValueError, "sph_legendre_p", "degree", "1e+07"),
    "check.fn": (lambda: testing.check(3, [1.0]), TypeError, "check", "fn", "function", "int"),
    "check.args": (lambda: testing.check(ops.sin, 1.0), TypeError, "check", "args", "list", "float"),
    "check.smooth": (lambda: testing.check(ops.sin, [1.0], smooth=np.zeros(2)), TypeError, "check", "smooth", "bool"),
    "passes": (lambda: programs.passes(ops.sin, last=np.zeros(2)), ValueError, "passes", "expected one of"),
    "append_info": (lambda: train.CheckpointConfig(append_info=3), TypeError, "append_info", "list", "int"),
    "ModelCheckpoint": (lambda: train.ModelCheckpoint(directory=3), TypeError, "directory", "path", "int"),
    "SummaryCollector": (lambda: train.SummaryCollector("a", 0.5), TypeError, "collect_freq", "int", "float"),
    "ConfusionMatrix": (lambda: train.ConfusionMatrix(2**62), ValueError, "ConfusionMatrix", "larger than any memory"),
    "a rate": (lambda: train.ConfusionMatrixMetric(metric_name=3), TypeError, "metric_name", "str", "int"),
    "Dice": (lambda: train.Dice(1j), TypeError, "Dice", "smooth", "number", "complex"),
    "Fbeta": (lambda: train.Fbeta([1]), TypeError, "Fbeta", "beta", "number", "list"),
    "EarlyStopping": (lambda: train.EarlyStopping(min_delta=None), TypeError, "min_delta", "number", "NoneType"),
    "triplet_margin_loss": (lambda: ops.triplet_margin_loss(1, 2, 3), ValueError, "triplet_margin_loss", "vectors"),
    "sparse_jacobian": (lambda: dg.sparse_jacobian(ops.sin, None), TypeError, "sparse_jacobian", "grad_position"),
    "set_seed": (lambda: dg.set_seed(int), TypeError, "set_seed", "int"),
    "max_unpool1d": (lambda: ops.max_unpool1d(*[Tensor([[[1]]])] * 2, 2, padding=3), ValueError, "padding", "(3,)"),
    "np.flip": (lambda: dnp.flip(None), TypeError, "np.flip", "NoneType"),
    "np.split": (lambda: dnp.split(None, 2), TypeError, "np.split", "NoneType"),
    "np.split by text": (lambda: dnp.split(Tensor([1.0]), "a"), TypeError, "np.split", "indices_or_sections", "str"),
    "np.split by 0": (lambda: dnp.split(Tensor([1.0]), 0), ValueError, "np.split", "0"),
    "np.split by -1": (lambda: dnp.split(Tensor([1.0]), -1), ValueError, "np.split", "-1"),
    "np.split axis": (lambda: dnp.split(Tensor([1.0]), 1, 4), np.exceptions.AxisError, "np.split", "axis 4"),
    "np.array_split": (lambda: dnp.array_split(5, 2), np.exceptions.AxisError, "np.array_split", "axis 0"),
    "np.array_split at": (lambda: dnp.array_split(Tensor([1.0]), [0.5]), TypeError, "np.array_split", "float"),
    "np.argsort": (lambda: dnp.argsort(Tensor([1.0]), 2), np.exceptions.AxisError, "np.argsort", "axis 2"),
    "linspace": (lambda: ops.linspace(np.zeros(3), 1.0, 3), ValueError, "linspace", "(3,)"),
    "searchsorted": (
        lambda: ops.searchsorted(Tensor([1.0]), Tensor([1.0]), sorter=Tensor(0)),
        ValueError,
        "searchsorted",
        "sorter",
    ),
    "__deepcopy__": (lambda: Parameter([1.0]).__deepcopy__([]), TypeError, "memo", "list"),
    "Report": (lambda: testing.Report([1]), TypeError, "Report", "list"),
    "np.array_str": (lambda: dnp.array_str(None), TypeError, "np.array_str", "NoneType"),
    "np.linalg.multi_dot": (lambda: dnp.linalg.multi_dot([]), ValueError, "multi_dot", "one array"),
    "np.fft.rfftfreq": (lambda: dnp.fft.rfftfreq(4, 0.0), ValueError, "rfftfreq", "0"),
    "rfftfreq": (lambda: ops.rfftfreq(4, "a"), TypeError, "rfftfreq", "d must be", "str"),
    "__array_ufunc__": (lambda: Tensor(1.0).__array_ufunc__(3, "__call__"), TypeError, "__array_ufunc__", "int"),
    "__array_function__": (lambda: Tensor(1.0).__array_function__(3, (), (), {}), TypeError, "__array_function__"),
    "from_dlpack": (lambda: Tensor.from_dlpack(3), TypeError, "from_dlpack", "__dlpack__", "int"),
    "item": (lambda: Tensor([1.0]).item(7), IndexError, "item()", "7", "(1,)"),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_the_error_says(name):
    call, kind, *words = CALLS[name]
    assert_raises(kind, call, *words)


PULLBACKS = {
    "a row beyond the output": (lambda: pullback().rows(2**31 - 1, Tensor(1.0)), IndexError, "vjp", "1 tensor"),
    "a row before the output": (lambda: pullback().rows(-1, Tensor(1.0)), IndexError, "vjp", "-1"),
    "a row of another shape": (lambda: pullback().rows(0, Tensor([1.0, 2.0])), ValueError, "vjp", "shape"),
    "no cotangents": (lambda: pullback().pulled(), ValueError, "vjp", "0 entries"),
    "a cotangent that is no tensor": (lambda: pullback().pulled("a"), TypeError, "vjp", "str"),
    "Pullback": (lambda: type(pullback())(), TypeError, "Pullback", "vjp"),
}


@pytest.mark.eager("pullbacks are another object in a rehearsal")
@pytest.mark.parametrize("name", PULLBACKS)
def test_what_the_error_of_a_pullback_says(name):
    call, kind, *words = PULLBACKS[name]
    assert_raises(kind, call, *words)


@pytest.mark.parametrize("init", INITIALIZERS, ids=repr)
@pytest.mark.parametrize(
    "junk", [None, 3, 2.5, [1.0], "text", Tensor([1.0]), np.ones(3, int), np.array(None)], ids=repr
)
def test_initializers_fill_arrays_of_floats_only(init, junk):
    assert_raises(TypeError, lambda: init(junk), type(init).__name__, "array of floats")


@pytest.mark.parametrize(
    "sections", [2, np.int64(2), Tensor(2), [1], (1,), np.array([1]), Tensor([1]), range(1, 2)], ids=repr
)
@pytest.mark.parametrize("name", ["split", "array_split"])
def test_pieces_in_every_way_of_saying_where(name, sections):
    pieces = getattr(dnp, name)(Tensor([1.0, 2.0]), sections)
    assert [piece.tolist() for piece in pieces] == [[1.0], [2.0]]


def test_reduce_of_cells_by_the_old_protocol_gives_the_class():
    net = nn.Dense(2, 3)
    make, arguments, *_ = net.__reduce__()
    assert type(make(*arguments)) is nn.Dense
