"""Shapes, the order of axes and of elements, repetition, joining, splitting, padding, patches."""

import numpy as np

import dualgrad as dg
from cases import Case, normal
from dualgrad import Tensor, ops

X = normal(2, 3, 4)
M = normal(3, 4)
WIDTHS = ((1, 2), (0, 1))


def case(operator, label, fn, *args):
    return Case(operator, label, fn, args)


def typed(operator, label, fn, *args):
    """A case that asks for a type."""
    return Case(operator, label, fn, args, narrow=())


CASES = [
    case("reshape", "", lambda x: ops.reshape(x, (4, -1)), X),
    case("Reshape", "", lambda x: ops.Reshape()(x, (-1,)), X),
    case("view", "method", lambda x: x.view(6, 4), X),
    case("ravel", "", ops.ravel, X),
    case("flatten", "axes behind the first", ops.flatten, X),
    case("flatten", "axes", lambda x: ops.flatten(x, start_dim=0, end_dim=1), X),
    case("flatten", "first axis fastest", lambda x: ops.flatten(x, "F"), X),
    case("Flatten", "", ops.Flatten(), X),
    case("transpose", "reversed", ops.transpose, X),
    case("transpose", "method", lambda x: x.transpose(1, -1, 0), X),
    case("Transpose", "", lambda x: ops.Transpose()(x, (2, 0, 1)), X),
    case("permute", "", lambda x: ops.permute(x, (1, 2, 0)), X),
    case("swapaxes", "", lambda x: ops.swapaxes(x, 0, -1), X),
    case("moveaxis", "one", lambda x: ops.moveaxis(x, 0, -1), X),
    case("moveaxis", "two", lambda x: ops.moveaxis(x, (0, 2), (1, 0)), X),
    case("t", "", ops.t, M),
    case("expand_dims", "", lambda x: ops.expand_dims(x, (0, -1)), M),
    case("ExpandDims", "", lambda x: ops.ExpandDims()(x, 1), M),
    case("unsqueeze", "", lambda x: ops.unsqueeze(x, -1), M),
    case("squeeze", "all", ops.squeeze, normal(1, 3, 1)),
    case("squeeze", "one", lambda x: ops.squeeze(x, dim=-1), normal(1, 3, 1)),
    case("Squeeze", "", ops.Squeeze(0), normal(1, 3, 1)),
    case("broadcast_to", "", lambda x: ops.broadcast_to(x, (2, 3, -1)), normal(3, 1)),
    case("BroadcastTo", "", ops.BroadcastTo((2, 3, 4)), normal(3, 1)),
    case("expand_as", "", ops.expand_as, normal(3, 1), X),
    case("tile", "", lambda x: ops.tile(x, (2, 1, 3)), M),
    case("tile", "method", lambda x: x.tile(2), M),
    case("Tile", "", lambda x: ops.Tile()(x, (2, 3)), M),
    case("repeat_interleave", "flat", lambda x: ops.repeat_interleave(x, 2), M),
    case("repeat_interleave", "each its own", lambda x: ops.repeat_interleave(x, (0, 2, 1), 0), M),
    case("meshgrid", "xy", ops.meshgrid, normal(3), normal(2), normal(2, seed=1)),
    case("meshgrid", "ij", lambda x, y: ops.meshgrid(x, y, indexing="ij"), normal(3), normal(2)),
    case("cat", "", lambda x, y: ops.cat((x, y, x), -1), M, normal(3, 2)),
    case("concat", "", lambda x, y: ops.concat((x, y)), M, normal(1, 4)),
    case("Concat", "", lambda x, y: ops.Concat(1)((x, y)), M, normal(3, 2)),
    case("stack", "", lambda x, y: ops.stack((x, y, x), 1), M, normal(3, 4, seed=1)),
    case("Stack", "", lambda x, y: ops.Stack(-1)((x, y)), M, normal(3, 4, seed=1)),
    case("hstack", "", lambda x, y: ops.hstack((x, y)), M, normal(3, 1)),
    case("vstack", "", lambda x, y: ops.vstack((x, y)), M, normal(4)),
    case("split", "size", lambda x: ops.split(x, 3, 1), M),
    case("split", "sizes", lambda x: ops.split(x, (1, 3), -1), M),
    case("Split", "", ops.Split(1, 2), M),
    case("chunk", "", lambda x: ops.chunk(x, 3, 1), M),
    case("unstack", "", lambda x: ops.unstack(x, 1), M),
    case("unbind", "", ops.unbind, M),
    case("Unstack", "", ops.Unstack(-1), M),
    case("narrow", "", lambda x: ops.narrow(x, 1, 1, 2), M),
    case("flip", "", lambda x: ops.flip(x, (0, -1)), X),
    case("flip", "method", lambda x: x.flip(1), X),
    case("roll", "flat", lambda x: ops.roll(x, 5), M),
    case("roll", "axes", lambda x: ops.roll(x, (1, -3), (0, 1)), M),
    case("Roll", "", ops.Roll(-1, 1), M),
    *[case("rot90", f"{k}", lambda x, k=k: ops.rot90(x, k, (2, 0)), X) for k in (-1, 0, 1, 2)],
    typed("cast", "there and back", lambda x: ops.cast(ops.cast(x, dg.float64), "float64"), M),
    typed("Cast", "", lambda x: ops.Cast()(x, dg.float64), M),
    typed("astype", "method", lambda x: x.astype(np.float64), M),
    case("identity", "", ops.identity, M),
    case("Identity", "", ops.Identity(), M),
    case("ones_like", "", lambda x: x * x * ops.ones_like(x), M),
    case("OnesLike", "", lambda x: x * x * ops.OnesLike()(x), M),
    case("zeros_like", "", lambda x: x * x + ops.zeros_like(x), M),
    case("ZerosLike", "", lambda x: x * x + ops.ZerosLike()(x), M),
    case("full_like", "", lambda x: x * x * ops.full_like(x, 3.0), M),
    case("block_diag", "", ops.block_diag, M, normal(2), normal(1)[0], normal(2, 1)),
    case("pad", "constant", lambda x: ops.pad(x, (1, 2, 0, 1)), M),
    case("pad", "value", lambda x, v: ops.pad(x, (1, 2), value=v), M, normal(1)[0]),
    case("pad", "cut", lambda x: ops.pad(x, (-1, 2, 1, -2), value=3.0), M),
    *[
        case("pad", f"{mode} {widths}", lambda x, m=mode, w=widths: ops.pad(x, w, m), X)
        for mode in ("reflect", "replicate", "circular")
        for widths in ((1, 3), (2, -1, -1, 2))
    ],
    case("Pad", "", ops.Pad(WIDTHS), M),
    *[case("MirrorPad", mode, lambda x, m=mode: ops.MirrorPad(m)(x, WIDTHS), M) for mode in ("REFLECT", "SYMMETRIC")],
    case("unfold", "", lambda x: ops.unfold(x, 2), normal(2, 1, 3, 4)),
    case("unfold", "settings", lambda x: ops.unfold(x, (2, 1), (1, 2), (1, 0), 2), normal(1, 2, 4, 3)),
    case("fold", "", lambda x: ops.fold(x, (3, 3), 2), normal(2, 8, 4)),
    case("fold", "settings", lambda x: ops.fold(x, Tensor([3, 4]), (2, 1), 2, (1, 0), (1, 2)), normal(1, 4, 6)),
]
