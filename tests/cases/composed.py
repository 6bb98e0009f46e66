"""Operators that are compositions of others: one call of each that has a slope."""

import numpy as np

import dualgrad as dg
from cases import Case, normal, positive, spread
from dualgrad import ops

X = normal(3, 4)
NAN = np.array([[1.0, np.nan, 3.0, 2.0], [np.nan, np.nan, 5.0, 4.5]])


def case(name, *args, label="", **settings):
    """A function of all arrays among the arguments; other arguments are settings."""
    arrays = tuple(a for a in args if isinstance(a, np.ndarray) and a.dtype == np.float64)

    def call(*tensors):
        rest = iter(tensors)
        given = [next(rest) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a for a in args]
        return getattr(ops, name)(*given, **settings)

    return Case(name, label, call, arrays)


def made(name, settings, *args):
    cls = getattr(ops, name)
    return Case(name, "", lambda *tensors: cls(*settings)(*tensors), args)


CASES = [
    # attention
    Case(
        "flash_attention_score", "causal", lambda q, k, v: ops.flash_attention_score(q, k, v, 2, sparse_mode=3),
        (normal(1, 2, 4), normal(1, 3, 4, seed=1), normal(1, 3, 4, seed=2)),
    ),
    # places
    case("inplace_add", X, normal(2, 4), (0, 2)),
    case("inplace_sub", X, normal(1, 4), (1, 2)),
    case("inplace_update", X, normal(2, 4), (0, 2)),
    case("fill_diagonal", X, 2.0),
    case("vector_norm", X, 3, 1),
    case("vector_norm", normal(2, 2, 3), 2, (0, 2), label="two axes"),
    *[case(name, X) for name in ("atleast_3d", "fliplr", "flipud", "diag_embed", "diagflat", "msort", "ptp")],
    *[case(name, normal()) for name in ("atleast_1d", "atleast_2d")],
    Case("column_stack", "", lambda x, y: ops.column_stack((x, y)), (normal(3), normal(3, 2))),
    Case("dstack", "", lambda x, y: ops.dstack((x, y)), (normal(3), normal(3, seed=1))),
    case("tensor_split", X, 3, 1),
    *[case(name, normal(2, 2, 4), 2) for name in ("hsplit", "vsplit", "dsplit")],
    case("expand", normal(3, 1), (2, 3, 4)),
    case("view_as", X, np.zeros(12, int)),
    case("reverse", X, (0, 1)),
    case("reverse_sequence", X, np.array([1, 4, 2]), 1),
    case("repeat_elements", X, 2, 1),
    case("cartesian_prod", normal(2), normal(3)),
    case("combinations", normal(4), 3),
    case("diag_embed", X, -1, 0, 2, label="below"),
    case("matrix_band_part", X, 1, 0),
    case("select_scatter", X, normal(4), 0, 1),
    case("slice_scatter", X, normal(3, 2), 1, 0, 4, 2),
    case("diagonal_scatter", X, normal(3), 1),
    made("ReverseV2", ([1],), X),
    Case("ReverseSequence", "", lambda x: ops.ReverseSequence(1)(x, np.array([1, 4, 2])), (X,)),
    Case("MatrixBandPart", "", lambda x: ops.MatrixBandPart()(x, 0, -1), (X,)),
    # elements
    case("logit", positive(3) / 3),
    case("truncate_div", normal(3), positive(3)),
    case("truncate_mod", normal(3), positive(3)),
    Case("logspace", "", lambda a, b: ops.logspace(a, b, 4, dtype=dg.float64), (normal(), positive()), narrow=()),
    # sums, products, norms
    Case("accumulate_n", "", lambda x, y: ops.accumulate_n((x, y)), (X, normal(3, 4, seed=1))),
    case("addbmm", normal(2, 4), normal(3, 2, 2), normal(3, 2, 4), beta=0.5, alpha=2.0),
    case("addr", X, normal(3), normal(4), beta=0.5, alpha=2.0),
    case("vecdot", X, normal(4)),
    case("batch_dot", normal(2, 3, 4), normal(2, 4, 2)),
    case("dist", X, normal(4)),
    case("dist", X, normal(4), 3, label="order 3"),
    case("pdist", X),
    case("renorm", X, 2, 0, 1.0),
    case("matrix_norm", X),
    *[case(f"reduce_{name}", spread(3, 4), 1) for name in ("sum", "mean", "max", "min")],
    # statistics
    Case("nanmean", "", lambda x: ops.nanmean(ops.where(np.isnan(NAN), np.nan, x), 1), (spread(2, 4),)),
    Case("nanmedian", "", lambda x: ops.nanmedian(ops.where(np.isnan(NAN), np.nan, x), 1)[0], (spread(2, 4),)),
    case("quantile", spread(3, 4), [0.1, 0.7], 0),
    Case("nanquantile", "", lambda x: ops.nanquantile(ops.where(np.isnan(NAN), np.nan, x), 0.3, 1), (spread(2, 4),)),
    Case("top_k", "", lambda x: ops.top_k(x, 2)[0], (spread(3, 4),)),
    case("bincount", np.array([0, 2, 2]), normal(3)),
    Case("unique", "", lambda x: ops.unique(x)[0], (spread(4),), batched=False),  # how many there are differs by sample
    *[Case(f"arg{m}_with_value", "", lambda x, m=m: getattr(ops, f"arg{m}_with_value")(x, 1)[1], (spread(3, 4),))
      for m in ("max", "min")],
    Case("AccumulateNV2", "", lambda x, y: ops.AccumulateNV2()((x, y)), (X, normal(3, 4, seed=1))),
    *[Case(f"Arg{m}WithValue", "", lambda x, m=m: getattr(ops, f"Arg{m}WithValue")(1, True)(x)[1], (spread(3, 4),))
      for m in ("Max", "Min")],
    Case("EuclideanNorm", "", lambda x: ops.EuclideanNorm(True)(x, 1), (X,)),
    made("L2Loss", (), X),
    made("Logit", (), positive(3) / 3),
    made("ReduceStd", (1,), X),
    made("Renorm", (2, 0, 1.0), X),
    made("SquareSumAll", (), X, normal(4)),
    made("TruncateDiv", (), normal(3), positive(3)),
    made("TruncateMod", (), normal(3), positive(3)),
    # networks
    *[case(name, X) for name in ("fast_gelu", "swiglu")],
    case("threshold", X, 0.2, 5.0),
    case("bidense", normal(2, 3), normal(2, 4), normal(2, 3, 4), normal(2)),
    case("lrn", normal(1, 4, 1, 2), 1, 0.5),
    Case("rms_norm", "", lambda x, g: ops.rms_norm(x, g)[0], (X, normal(4))),
    case("clip_by_norm", X, 1.0),
    case("margin_ranking_loss", X, normal(3, 4, seed=1), np.ones((3, 4), int), 0.5),
    case("hinge_embedding_loss", X, np.where(np.arange(4) % 2, 1, -1), 0.5),
    case("soft_margin_loss", X, np.where(np.arange(12).reshape(3, 4) % 2, 1, -1)),
    case("multilabel_soft_margin_loss", X, positive(3, 4) / 2),
    case("unsorted_segment_prod", X, np.array([1, 0, 1]), 2),
    case("padding", normal(3, 1), 4),
    case("multi_margin_loss", X, np.array([2, 0, 3]), 2),
    Case(
        "ctc_loss", "", lambda x: ops.ctc_loss(x, np.array([[1, 1], [2, 0]]), np.array([4, 3]), np.array([2, 1]))[0],
        (normal(4, 2, 3),),
    ),
    case("multilabel_margin_loss", X, np.array([[1, 2, -1, 0], [0, -1, 2, 3], [3, 2, 1, 0]])),
    case("triplet_margin_loss", X, normal(3, 4, seed=1), normal(3, 4, seed=2), 3.0),
    made("BinaryCrossEntropy", (), positive(3) / 3, positive(3, seed=1) / 3),
    Case("Einsum", "", lambda x, y: ops.Einsum("ij,kj->ik")((x, y)), (X, normal(2, 4))),
    made("FastGeLU", (), X),
    made("LRN", (1, 0.5), normal(1, 4, 1, 2)),
    made("SigmoidCrossEntropyWithLogits", (), X, positive(3, 4) / 2),
    made("SmoothL1Loss", (), X, normal(3, 4, seed=1)),
    Case("SoftMarginLoss", "", lambda x: ops.SoftMarginLoss()(x, np.ones((3, 4))), (X,), narrow=()),
    Case("SparseSoftmaxCrossEntropyWithLogits", "", lambda x: ops.SparseSoftmaxCrossEntropyWithLogits()(
        x, np.array([2, 0, 3])), (X,)),
]  # fmt: skip
