"""Layers as functions: shapes, strides, paddings, groups; ties within windows; statistics of one element."""

import itertools

import numpy as np

import dualgrad as dg
from cases import Case, normal, positive, spread
from dualgrad import ops

X = normal(2, 4, 5)
IMAGE = normal(2, 4, 5, 6)
BLOCK = normal(1, 2, 3, 4, 3)
SAMPLES = dg.Tensor(np.random.default_rng(0).random((1, 4, 2)))
RATIO = [1.0, 1.5, 2.0, 1.0]
TIES = np.array([[[[1.0, 1.0, 0.0, 2.0], [1.0, 0.0, 2.0, 2.0]]]])


def conv(name, x, w, bias, **settings):
    label = ", ".join(f"{k} {v}" for k, v in settings.items())
    function = getattr(ops, name)
    if not bias:
        return Case(name, label, lambda x, w: function(x, w, **settings), (x, w))
    return Case(name, f"{label}, bias", lambda x, w, b: function(x, w, b, **settings), (x, w, normal(bias)))


def pool(name, x, *args, **settings):
    label = ", ".join([*map(str, args), *(f"{k} {v}" for k, v in settings.items())])
    return Case(name, label, lambda x: getattr(ops, name)(x, *args, **settings), (x,))


def trained(x, w, b):
    """Batch normalisation in training: every call changes the statistics, no derivative sees it."""
    mean, var = (dg.Parameter(start(4), name=name) for start, name in ((np.zeros, "mean"), (np.ones, "var")))
    return ops.batch_norm(x, mean, var, w, b, training=True)


CASES = [
    Case("dense", "", ops.dense, (normal(2, 3), normal(4, 3), normal(4))),
    Case("dense", "no bias, more axes", ops.dense, (normal(2, 1, 3), normal(4, 3))),
    Case("dense", "a single output", ops.dense, (normal(2, 3), normal(3), normal())),
    Case("Dense", "", ops.Dense(), (normal(2, 3), normal(4, 3), normal(4))),
    Case("bias_add", "", ops.bias_add, (X, normal(4))),
    Case("BiasAdd", "last axis", ops.BiasAdd("NHWC"), (X, normal(5))),
    # normalisation
    Case("layer_norm", "", lambda x, w, b: ops.layer_norm(x, (5,), w, b), (X, normal(5), normal(5, seed=1))),
    Case("layer_norm", "two axes", lambda x, w: ops.layer_norm(x, (4, 5), w, eps=0.1), (X, normal(4, 5))),
    Case("layer_norm", "equal elements", lambda x: ops.layer_norm(x, 3, eps=0.1), (np.ones((2, 3)),)),
    Case("LayerNorm", "", ops.LayerNorm(1, -1), (X, normal(5), normal(5, seed=1))),
    Case("group_norm", "", lambda x, w, b: ops.group_norm(x, 2, w, b), (X, normal(4), normal(4, seed=1))),
    Case("group_norm", "one group, matrix", lambda x: ops.group_norm(x, 1), (normal(2, 4),)),
    Case("group_norm", "a group each", lambda x: ops.group_norm(x, 4), (X,)),
    Case("batch_norm", "", ops.batch_norm, (X, normal(4), positive(4), normal(4, seed=1), normal(4, seed=2))),
    Case("batch_norm", "matrix, no scale", ops.batch_norm, (normal(3, 4), normal(4), positive(4))),
    Case("batch_norm", "training", trained, (IMAGE, normal(4), normal(4, seed=1))),
    Case("batch_norm", "training, matrix", lambda x: ops.batch_norm(x, None, None, training=True), (normal(5, 2),)),
    # pools that tell places, and pools at places that are given
    Case("MaxPoolWithArgmax", "same", lambda x: ops.MaxPoolWithArgmax(3, 2, "same")(x)[0], (IMAGE,)),
    Case("MaxPoolWithArgmax", "ties", lambda x: ops.MaxPoolWithArgmax(2)(x)[0], (TIES,), smooth=False),
    Case("MaxPoolWithArgmaxV2", "", lambda x: ops.MaxPoolWithArgmaxV2((2, 3), 2, 1)(x)[0], (IMAGE,)),
    Case("MaxPool3DWithArgmax", "", lambda x: ops.MaxPool3DWithArgmax(2, 1, 1)(x)[0], (BLOCK,)),
    Case("fractional_max_pool2d", "",
         lambda x: ops.fractional_max_pool2d(x, 2, (3, 4), None, False, SAMPLES), (IMAGE,)),
    Case("FractionalMaxPoolWithFixedKsize", "ties",
         lambda x: ops.FractionalMaxPoolWithFixedKsize(2, (1, 2))(x, dg.Tensor([[[0.3, 0.2]]]))[0], (TIES,),
         smooth=False),
    Case("fractional_max_pool3d", "",
         lambda x: ops.fractional_max_pool3d(x, 2, (2, 3, 2), None, False, SAMPLES[:, :2, [0, 1, 1]]), (BLOCK,)),
    Case("FractionalMaxPool", "", lambda x: ops.FractionalMaxPool(RATIO, deterministic=True)(x)[0], (IMAGE,)),
    Case("FractionalAvgPool", "overlapping",
         lambda x: ops.FractionalAvgPool(RATIO, overlapping=True, deterministic=True)(x)[0], (IMAGE,)),
    Case("DeformableOffsets", "", ops.DeformableOffsets((1,) * 4, (0, 1, 1, 0), (2, 2)),
         (normal(1, 2, 3, 4), 0.7 * normal(1, 12, 3, 4))),
    Case("deformable_conv2d", "groups",
         lambda x, w, o, b: ops.deformable_conv2d(
             x, w, o, (2, 1), (1, 1, 1, 2), (0,) * 4, b, groups=2, deformable_groups=2),
         (normal(1, 4, 3, 3), normal(2, 2, 2, 1), 0.7 * normal(1, 12, 2, 2), normal(2))),
    # convolutions
    conv("conv1d", X, normal(3, 4, 2), 3),
    conv("conv1d", X, normal(6, 2, 3), 0, stride=2, pad_mode="pad", padding=2, groups=2),
    conv("conv1d", X[0], normal(3, 4, 2), 0, pad_mode="same", dilation=2),
    conv("conv2d", IMAGE, normal(3, 4, 2, 3), 3),
    conv("conv2d", IMAGE, normal(3, 4, 1, 1), 0),
    conv("conv2d", IMAGE, normal(4, 1, 2, 2), 4, groups=4, stride=2),
    conv("conv2d", IMAGE, normal(2, 2, 3, 2), 0, groups=2, pad_mode="pad", padding=(1, 2), dilation=(2, 1)),
    conv("conv2d", IMAGE, normal(2, 4, 2, 2), 2, pad_mode="pad", padding=(0, 1, 2, 0), stride=(2, 3)),
    conv("conv2d", IMAGE, normal(2, 4, 2, 3), 2, pad_mode="same"),
    conv("conv2d", IMAGE[0], normal(2, 4, 3, 3), 0, pad_mode="same", stride=2),
    Case("Conv2D", "", ops.Conv2D(2, (2, 3), pad_mode="pad", pad=1, group=2), (IMAGE, normal(2, 2, 2, 3))),
    conv("conv_transpose2d", normal(2, 4, 3, 2), normal(4, 3, 2, 3), 3),
    conv("conv_transpose2d", normal(4, 3, 2), normal(4, 1, 2, 2), 0, stride=(2, 3), padding=1, output_padding=1),
    conv("conv_transpose2d", normal(1, 4, 3, 2), normal(4, 1, 2, 2), 2, groups=2, dilation=2),
    conv("conv3d", BLOCK, normal(3, 2, 2, 2, 1), 3),
    conv("conv3d", BLOCK, normal(2, 1, 2, 2, 2), 0, groups=2, pad_mode="same", stride=2),
    Case("Conv3D", "", ops.Conv3D(2, 2, pad_mode="pad", pad=1, dilation=2), (BLOCK, normal(2, 2, 2, 2, 2))),
    conv("conv_transpose1d", normal(2, 4, 3), normal(4, 1, 2), 2, stride=3, output_padding=1, groups=2),
    conv("conv_transpose3d", normal(1, 2, 2, 3, 2), normal(2, 3, 2, 1, 2), 3, stride=(2, 1, 1)),
    conv("conv3d_transpose", normal(1, 2, 2, 3, 2), normal(2, 1, 2, 2, 3), 0, pad_mode="same", stride=2, group=2),
    Case("Conv3DTranspose", "", ops.Conv3DTranspose(2, 1, 2, pad_mode="pad", pad=1), (BLOCK, normal(2, 1, 2, 2, 2))),
    # pooling
    pool("max_pool2d", spread(1, 2, 4, 6), 2),
    pool("max_pool2d", spread(1, 2, 5, 6), (3, 2), 1, 1),
    pool("max_pool2d", spread(2, 5, 6), 2, 2, dilation=2, ceil_mode=True),
    Case("max_pool2d", "with positions", lambda x: ops.max_pool2d(x, 2, 1, return_indices=True)[0], (spread(1, 4, 4),)),
    Case("max_pool2d", "ties", lambda x: ops.max_pool2d(x, 2, 1), (TIES,), smooth=False),
    Case("MaxPool", "same", ops.MaxPool(3, 2, "same"), (spread(1, 2, 5, 6),)),
    Case("MaxPool", "valid", ops.MaxPool((2, 1)), (spread(1, 2, 3, 3),)),
    pool("avg_pool2d", IMAGE, 2, None),
    *[pool("avg_pool2d", IMAGE, (2, 3), 2, 1, *which) for which in itertools.product([True, False], repeat=2)],
    pool("avg_pool2d", IMAGE[0], 2, 1, divisor_override=3),
    Case("AvgPool", "same", ops.AvgPool(3, 2, "same"), (IMAGE,)),
    Case("AvgPool", "valid", ops.AvgPool((2, 1)), (IMAGE,)),
    pool("max_pool1d", spread(2, 5), 3, 1, 1),
    pool("max_pool3d", spread(1, 4, 3, 5), (2, 3, 2), 1),
    pool("avg_pool1d", X, 2, 2, ceil_mode=True),
    pool("avg_pool3d", BLOCK, 2, 1, 1, count_include_pad=False),
    Case("MaxPool3D", "", ops.MaxPool3D(2, 2, "same"), (spread(1, 1, 3, 2, 5),)),
    Case("AvgPool3D", "", ops.AvgPool3D(2, 2, "pad", 1), (BLOCK,)),
    *[pool(f"adaptive_avg_pool{n}d", x, 2) for n, x in ((1, X), (2, IMAGE), (3, BLOCK))],
    *[
        pool(f"adaptive_max_pool{n}d", x, size)
        for n, x, size in ((1, spread(2, 5), 3), (2, spread(1, 4, 5), (3, None)), (3, spread(1, 3, 2, 5), 2))
    ],
    Case("AdaptiveAvgPool2D", "", ops.AdaptiveAvgPool2D((None, 4)), (IMAGE,)),
    Case("AdaptiveAvgPool3D", "", ops.AdaptiveAvgPool3D(2), (BLOCK,)),
    Case("AdaptiveMaxPool2D", "", lambda x: ops.AdaptiveMaxPool2D(2)(x)[0], (spread(1, 3, 5),)),
    Case("AdaptiveMaxPool3D", "", lambda x: ops.AdaptiveMaxPool3D(2)(x)[0], (spread(1, 3, 2, 3),)),
    Case("adaptive_max_pool2d", "ties", lambda x: ops.adaptive_max_pool2d(x, (2, 3)), (TIES,), smooth=False),
    Case("lp_pool1d", "", lambda x: ops.lp_pool1d(x, 2, 3, 1), (X,)),
    Case("lp_pool2d", "", lambda x: ops.lp_pool2d(x, 3, 2), (positive(2, 3, 4),)),
    *[
        Case(f"{f.__name__}", "", lambda x, f=f, at=at: f(x, at, 2), (normal(*at.shape),))
        for f, at in (
            (ops.max_unpool1d, np.array([[[1, 3]]])),
            (ops.max_unpool2d, np.array([[[0, 7]]])),
            (ops.max_unpool3d, np.array([[[[3, 12]]]])),
        )
    ],
    # images of another size, at points, in blocks
    *[
        pool("interpolate", x, size, mode=mode)
        for x, size, mode in (
            (X, 7, "nearest"), (X, 3, "linear"), (IMAGE, (3, 8), "bilinear"), (IMAGE, (7, 3), "bicubic"),
            (BLOCK, (2, 5, 4), "trilinear"), (IMAGE, 3, "area"), (IMAGE, (7, 3), "nearest-exact"),
        )
    ],
    pool("upsample", IMAGE, scale_factor=1.5, mode="bilinear"),
    *[
        Case(cls.__name__, "", lambda x, cls=cls: cls((7, 3))(x), (IMAGE,))
        for cls in (ops.ResizeNearestNeighbor, ops.ResizeBilinear)
    ],
    *[
        Case(cls.__name__, "", lambda x, cls=cls, size=size: cls()(x, size), (x,))
        for cls, x, size in (
            (ops.ResizeNearestNeighborV2, IMAGE, (7, 3)), (ops.ResizeBilinearV2, IMAGE, (7, 3)),
            (ops.ResizeBicubic, IMAGE, (7, 3)), (ops.ResizeLinear1D, X, 7),
        )
    ],
    Case("UpsampleNearest3D", "", lambda x: ops.UpsampleNearest3D()(x, (2, 5, 4), None), (BLOCK,)),
    Case("UpsampleTrilinear3D", "", lambda x: ops.UpsampleTrilinear3D()(x, None, (1.5, 1.0, 2.0)), (BLOCK,)),
    *[
        Case("grid_sample", f"{mode}, {padding}", lambda x, p, m=mode, e=padding: ops.grid_sample(x, p, m, e), at)
        for mode, at in (("bilinear", (IMAGE, normal(2, 2, 3, 2))), ("nearest", (BLOCK, normal(1, 2, 1, 2, 3))))
        for padding in ("zeros", "border", "reflection")
    ],
    Case("GridSampler2D", "", ops.GridSampler2D(), (IMAGE, normal(2, 2, 3, 2))),
    Case("GridSampler3D", "", ops.GridSampler3D(), (BLOCK, normal(1, 2, 1, 2, 3))),
    Case("affine_grid", "", lambda t: ops.affine_grid(t, (2, 1, 3, 4)), (normal(2, 2, 3),)),
    Case("AffineGrid", "", lambda t: ops.AffineGrid(True)(t, (2, 1, 2, 3, 2)), (normal(2, 3, 4),)),
    pool("pixel_shuffle", IMAGE, 2),
    pool("pixel_unshuffle", normal(1, 4, 6), 2),
    pool("channel_shuffle", IMAGE, 2),
    Case("ChannelShuffle", "", ops.ChannelShuffle(2), (IMAGE,)),
    pool("space_to_batch_nd", X, 2, ((1, 0), (0, 1))[1:]),
    pool("batch_to_space_nd", normal(4, 1, 2, 3), (2, 2), ((1, 0), (0, 1))),
    *[Case(cls.__name__, "", cls(2), (normal(1, 4, 2, 4),)) for cls in (ops.SpaceToDepth, ops.DepthToSpace)],
    *[
        Case(cls.__name__, "", cls(2, ((0, 0), (0, 0))), (normal(4, 1, 2, 4),))
        for cls in (ops.SpaceToBatch, ops.SpaceToBatchND, ops.BatchToSpace, ops.BatchToSpaceND)
    ],
    # choice at random, and by index
    Case("dropout", "", lambda x: ops.dropout(x, 0.4, seed=3), (X,)),
    Case("dropout", "everything", lambda x: ops.dropout(x, 1.0) + x, (X,)),
    Case("dropout", "not training", lambda x: ops.dropout(x, 0.4, False), (X,)),
    Case("Dropout", "", lambda x: ops.Dropout(0.7, 1, 2)(x), (X,)),
    Case("embedding", "", lambda w: ops.embedding(np.array([[0, 2], [2, -1]]), w), (normal(4, 3),)),
]  # fmt: skip
