"""Shapes, joining and cutting, insertion, padding, and tensors that are made of others."""

import numpy as np
from cases import normal, positive, spread

from numpy_samples import sample

A, B, V, CUBE, S = normal(3, 4), normal(3, 4, seed=1), normal(5), normal(2, 3, 4), spread(3, 4)
HOLES = np.arange(12).reshape(3, 4) % 5 == 1
TWICE = np.array([0, 2, 2, 4, 1, 0])
POINTS, WEIGHTS = spread(8), positive(8)

SHAPES = [
    sample("reshape", lambda m, a: m.reshape(a, (2, -1), order="C"), A),
    sample("reshape", lambda m, a: m.reshape(a, (2, -1), copy=True), A, since="2.1.0"),
    sample("ravel", lambda m, a: m.ravel(a, order="C"), A),
    *(sample("ravel", lambda m, a, order=order: m.ravel(m.swapaxes(a, 0, 1), order=order), A) for order in "FAK"),
    *(
        sample("reshape", lambda m, a, order=order: m.reshape(m.swapaxes(a, 0, 1), (2, -1), order=order), A)
        for order in "FA"
    ),
    sample("transpose", lambda m, a: m.transpose(a, axes=(2, 0, 1)), CUBE),
    sample("permute_dims", lambda m, a: m.permute_dims(a, axes=(2, 0, 1)), CUBE),
    sample("matrix_transpose", lambda m, a: m.matrix_transpose(a), CUBE),
    sample("swapaxes", lambda m, a: m.swapaxes(a, 0, 2), CUBE),
    sample("moveaxis", lambda m, a: m.moveaxis(a, 0, -1), CUBE),
    sample("rollaxis", lambda m, a: m.rollaxis(a, 2, start=1), CUBE),
    sample("expand_dims", lambda m, a: m.expand_dims(a, axis=(0, 2)), A),
    sample("squeeze", lambda m, a: m.squeeze(a, axis=1), normal(3, 1, 2)),
    sample("broadcast_to", lambda m, a: m.broadcast_to(a, (2, 3, 4)), A),
    sample("broadcast_arrays", lambda m, a, b: list(m.broadcast_arrays(a, b)), A, normal(4)),
    sample("atleast_1d", lambda m, a: m.atleast_1d(a), 1.5),
    sample("atleast_2d", lambda m, a: m.atleast_2d(a), V),
    sample("atleast_3d", lambda m, a, b: list(m.atleast_3d(a, b)), A, V),
    sample("flip", lambda m, a: m.flip(a, axis=(0, 1)), A),
    sample("fliplr", lambda m, a: m.fliplr(a), A),
    sample("flipud", lambda m, a: m.flipud(a), A),
    sample("roll", lambda m, a: m.roll(a, (1, 2), axis=1), A),
    sample("roll", lambda m, a: m.roll(a, 5), A),
    sample("rot90", lambda m, a: m.rot90(a, k=3, axes=(1, 0)), A),
    sample("tile", lambda m, a: m.tile(a, (2, 1, 2)), A),
    sample("repeat", lambda m, a: m.repeat(a, [1, 0, 2, 1], axis=1), A),
    sample("diag", lambda m, a: m.diag(a, k=1), V),
    sample("diagflat", lambda m, a: m.diagflat(a, k=-1), A),
    sample("diagonal", lambda m, a: m.diagonal(a, offset=1, axis1=2, axis2=0), CUBE),
    sample("trace", lambda m, a: m.trace(a, offset=1, axis1=2, axis2=0, dtype="float64"), CUBE),
    sample("tril", lambda m, a: m.tril(a, k=1), A),
    sample("triu", lambda m, a: m.triu(a, k=1), A),
    sample("resize", lambda m, a: m.resize(a, (5, 3)), A),
    sample("copy", lambda m, a: m.copy(a, order="K") ** 2, A),
    sample("astype", lambda m, a: m.astype(a, a.dtype, copy=True), A),
    sample("astype", lambda m, a: m.astype(a, a.dtype, device=None), A, since="2.1.0"),
    sample("ascontiguousarray", lambda m, a: m.ascontiguousarray(a, dtype=None), A, dispatched=False),
    sample("asfortranarray", lambda m, a: m.asfortranarray(a, dtype=None), A, dispatched=False),
    sample("meshgrid", lambda m, a, b: list(m.meshgrid(a, b, copy=True, sparse=True, indexing="ij")), V, normal(2)),
    sample("meshgrid", lambda m, a, b: list(m.meshgrid(a, b)), V, normal(2)),
    sample("meshgrid", lambda m, a, b: list(m.meshgrid(a, b, sparse=True)), V, normal(2)),
    sample("array", lambda m, a: m.array(a, dtype=None, copy=True, order="K", ndmin=3), A, dispatched=False),
    sample("asarray", lambda m, a: m.asarray(a, dtype=None, order="K", device=None, copy=True), A, dispatched=False),
    sample("asanyarray", lambda m, a: m.asanyarray(a, dtype=None, order="K"), A, dispatched=False),
    sample("asanyarray", lambda m, a: m.asanyarray(a, device=None, copy=True), A, dispatched=False, since="2.1.0"),
    sample("from_dlpack", lambda m, a: m.from_dlpack(a), A, dispatched=False),
    sample("from_dlpack", lambda m, a: m.from_dlpack(a, device="cpu", copy=True), A, dispatched=False, since="2.1.0"),
]

JOINING = [
    sample("concatenate", lambda m, a, b: m.concatenate((a, b), axis=1, dtype="float64", casting="unsafe"), A, B),
    sample("concat", lambda m, a, b: m.concat((a, b), axis=None, dtype="float64", casting="safe"), A, V),
    sample("stack", lambda m, a, b: m.stack((a, b), axis=1, dtype="float64", casting="safe"), A, B),
    sample("hstack", lambda m, a, b: m.hstack((a, b), dtype="float64", casting="safe"), A, B),
    sample("vstack", lambda m, a, b: m.vstack((a, b), dtype="float64", casting="safe"), A, normal(4)),
    sample("dstack", lambda m, a, b: m.dstack((a, b)), A, B),
    sample("column_stack", lambda m, a, b: m.column_stack((a, b)), V, normal(5, 2)),
    sample("block", lambda m, a, b: m.block([[a, b], [b, 2.0 * a]]), A, B),
    sample("block", lambda m, a, b: m.block([a, b, 1.0]), V, normal(2)),
    sample("append", lambda m, a, b: m.append(a, b, axis=0), A, B),
    sample("append", lambda m, a, b: m.append(a, b), A, V),
    sample("insert", lambda m, a, b: m.insert(a, [3, 1, 1], b, axis=1), A, normal(3, 3)),
    sample("insert", lambda m, a, b: m.insert(a, 1, b, axis=0), A, normal(4)),
    sample("insert", lambda m, a, b: m.insert(a, 1, b, axis=1), A, normal(3, 2).T),
    sample("insert", lambda m, a, b: m.insert(a, slice(0, 3), b), V, normal(3)),
    sample(
        "insert",
        lambda m, a, b: m.insert(a, np.array([True, False, True, False, False]), b),
        V,
        normal(2),
        since="2.2.0",
    ),
    sample("insert", lambda m, a, b: m.insert(a, [-1], b), A, normal(3)),
    sample("delete", lambda m, a: m.delete(a, [0, -1], axis=1), A),
    sample("delete", lambda m, a: m.delete(a, slice(1, 4)), V),
    sample("split", lambda m, a: m.split(a, [1, 3], axis=1), A),
    sample("array_split", lambda m, a: m.array_split(a, 3, axis=1), A),
    sample("hsplit", lambda m, a: m.hsplit(a, 2), A),
    sample("vsplit", lambda m, a: m.vsplit(a, 3), A),
    sample("dsplit", lambda m, a: m.dsplit(a, [1]), CUBE),
    sample("unstack", lambda m, a: list(m.unstack(a, axis=1)), A),
    sample("trim_zeros", lambda m, a: m.trim_zeros(a * np.array([0, 0, 1, 1, 0]), trim="fb"), V, batched=False),
    sample(
        "trim_zeros",
        lambda m, a: m.trim_zeros(a * np.array([0.0, 1, 1, 0]), "b", axis=1),
        A,
        batched=False,
        since="2.2.0",
    ),
    sample("full", lambda m, a: m.full((2, 3), a, dtype=None, order="C", device=None), 1.5, dispatched=False),
    sample(
        "full_like",
        lambda m, a: m.full_like(a * np.zeros((2, 2)), a, dtype=None, order="K", shape=(3, 2), device=None),
        1.5,
    ),
    sample(
        "linspace",
        lambda m, a, b: m.linspace(a, b, num=4, endpoint=False, retstep=True, dtype="float64", axis=0, device=None)[0],
        normal(3),
        normal(3, seed=1),
    ),
    sample(
        "logspace",
        lambda m, a, b: m.logspace(a, b, num=3, endpoint=True, base=2.0, dtype="float64", axis=1),
        normal(3),
        normal(3, seed=1),
    ),
    sample(
        "geomspace",
        lambda m, a, b: m.geomspace(a, b, num=4, endpoint=False, dtype="float64", axis=1),
        positive(3),
        positive(3, seed=1),
    ),
    sample("geomspace", lambda m, a, b: m.geomspace(-a, -b, 3), positive(), positive(seed=1)),
    sample("kaiser", lambda m, b: m.kaiser(6, b), 2.5, dispatched=False),
]

PADDED = [
    *(
        sample("pad", lambda m, a, mode=mode: m.pad(a, ((2, 1), (0, 3)), mode=mode), A, label=mode)
        for mode in ("edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap")
    ),
    *(
        sample(
            "pad",
            lambda m, a, mode=mode: m.pad(a, ((2, 5), (0, 3)), mode=mode, reflect_type="odd"),
            A,
            label=f"odd {mode}",
        )
        for mode in ("reflect", "symmetric")
    ),
    *(
        sample(
            "pad", lambda m, a, mode=mode: m.pad(a, 2, mode, stat_length=((1, 2), (3, 2))), S, label=f"{mode} of few"
        )
        for mode in ("maximum", "mean", "median", "minimum")
    ),
    sample("pad", lambda m, a, c: m.pad(a, 1, constant_values=c), A, normal(2, 2)),
    sample("pad", lambda m, a, c: m.pad(a, ((1, 2), (0, 1)), "linear_ramp", end_values=c), A, normal(2)),
    sample("pad", lambda m, a: m.pad(a, {0: (1, 2)}), A, since="2.4.0"),
]

SAMPLES = [*SHAPES, *JOINING, *PADDED]
