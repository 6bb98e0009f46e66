"""`scipy.interpolate` and `scipy.spatial.transform`: splines, rotations, motions."""

from __future__ import annotations

import numpy as np

from ..sample import sample

__all__ = ["SAMPLES"]

T = np.array([0.0, 0.5, 1.2, 1.5, 2.4, 3.0, 3.3, 4.1])
Y = np.array([0.31, 1.74, 0.92, 2.63, 1.13, 0.58, 3.41, 2.05])
AT = np.array([0.2, 0.9, 1.4, 2.0, 3.6])
GRID = np.array([[0.3, -1.2, 2.0], [1.1, 0.4, -0.7], [0.2, 2.1, 0.9], [0.5, 0.1, -0.8]])
COEFFICIENTS = np.array([[0.3, -1.2], [1.1, 0.4], [0.2, 2.1]])
KNOTS = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 5.0, 5.0])

I = "scipy.interpolate."
CURVES = {
    **{
        I + name: [
            sample(lambda f, c, y: f(c(T), y)(c(AT)), Y),
            sample(lambda f, c, x: f(c(T), c(Y))(x), AT, label="by x"),
        ]
        for name in ("Akima1DInterpolator", "CubicSpline", "PchipInterpolator", "make_interp_spline")
    },
    I + "CubicHermiteSpline": [
        sample(lambda f, c, y, s: f(c(T), y, s)(c(AT)), Y, Y[::-1] * 0.4),
        sample(lambda f, c, x: f(c(T), c(Y), c(Y[::-1]))(x), AT, label="by x"),
    ],
    **{
        I + name: [
            sample(lambda f, c, k: f(k, c(np.array([0.0, 1.5, 4.0])))(c(AT)), COEFFICIENTS),
            sample(lambda f, c, x: f(c(COEFFICIENTS), c(np.array([0.0, 1.5, 4.0])))(x), AT, label="by x"),
        ]
        for name in ("PPoly", "BPoly")
    },
    I + "BSpline": [
        sample(lambda f, c, k: f(c(KNOTS), k, 3)(c(AT)), Y),
        sample(lambda f, c, x: f(c(KNOTS), c(Y), 3)(x), AT, label="by x"),
    ],
    I + "NdBSpline": [
        sample(lambda f, c, k: f((c(KNOTS),), k, 3)(c(AT[:, None])), Y),
    ],
    I + "RBFInterpolator": [
        sample(lambda f, c, y: f(c(T[:, None]), y)(c(AT[:, None])), Y),
        sample(lambda f, c, x: f(c(T[:, None]), c(Y))(x[:, None]), AT, label="by x"),
    ],
    I + "RegularGridInterpolator": [
        sample(lambda f, c, v: f((c(T[:4]), c(T[:3])), v)(c(np.array([[0.2, 0.7], [1.3, 0.1]]))), GRID),
        sample(lambda f, c, x: f((c(T[:4]), c(T[:3])), c(GRID))(x), [[0.2, 0.7], [1.3, 0.1]], label="by x"),
    ],
    I + "generate_knots": [sample(lambda f, c, y: list(f(c(T), y, s=0.5)), Y, reach=0.02)],
    I + "make_lsq_spline": [
        sample(lambda f, c, y: f(c(T), y, c(np.array([0.0] * 4 + [2.0] + [4.1] * 4)))(c(AT)), Y)
    ],
    I + "make_smoothing_spline": [sample(lambda f, c, y: f(c(T), y, lam=0.3)(c(AT)), Y)],
    I + "make_splrep": [sample(lambda f, c, y: f(c(T), y, s=0.5)(c(AT)), Y, reach=0.02)],
    I + "make_splprep": [sample(lambda f, c, y: f([y, c(T)], u=c(T), s=0.5)[0](c(AT)), Y, reach=0.02)],
}  # fmt: skip

Q = np.array([[0.2, -0.4, 0.5, 0.9], [0.6, 0.1, -0.3, 0.8]])
V = np.array([[0.7, -0.2, 1.1], [0.3, 0.9, -0.5]])
R = "scipy.spatial.transform.Rotation."
G = "scipy.spatial.transform.RigidTransform."


def _rotation(q):
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(q)


def _motion(q, v):
    from scipy.spatial.transform import RigidTransform

    return RigidTransform.from_components(v, _rotation(q))


def _read(name, *more):
    return sample(lambda f, c, q: getattr(_rotation(q), name)(*more), Q)


def _mrp(f, c, v):
    return f(v * 0.3).as_matrix()


def _components(motion):
    translation, rotation = motion.as_components()
    return translation, rotation.as_matrix()


AXES = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
ROTATIONS = {
    R + "from_quat": [sample(lambda f, c, q: f(q).as_matrix(), Q)],
    R + "from_matrix": [sample(lambda f, c, q: f(_rotation(q).as_matrix() * 1.0).as_quat(), Q)],
    R + "from_rotvec": [sample(lambda f, c, v: f(v).as_matrix(), V)],
    R + "from_euler": [sample(lambda f, c, v: f("zyx", v).as_matrix(), V)],
    R + "from_davenport": [sample(lambda f, c, v: f(c(AXES), "extrinsic", v).as_matrix(), V)],
    R + "from_mrp": [sample(_mrp, V)],
    R + "as_quat": [_read("as_quat")],
    R + "as_matrix": [_read("as_matrix")],
    R + "as_rotvec": [_read("as_rotvec")],
    R + "as_euler": [_read("as_euler", "zyx")],
    R + "as_davenport": [sample(lambda f, c, q: _rotation(q).as_davenport(c(AXES), "extrinsic"), Q)],
    R + "as_mrp": [_read("as_mrp")],
    R + "magnitude": [_read("magnitude")],
    R + "inv": [sample(lambda f, c, q: _rotation(q).inv().as_quat(), Q)],
    R + "apply": [sample(lambda f, c, q, v: _rotation(q).apply(v), Q, V)],
    R + "__mul__": [sample(lambda f, c, q, p: (_rotation(q) * _rotation(p)).as_quat(), Q, Q[::-1] + 0.1)],
    R + "__pow__": [sample(lambda f, c, q: (_rotation(q) ** 0.4).as_matrix(), Q)],
    R + "concatenate": [sample(lambda f, c, q: f([_rotation(q), _rotation(q)]).as_matrix(), Q)],
    R + "mean": [sample(lambda f, c, q: _rotation(q).mean().as_matrix(), Q)],
    R + "reduce": [sample(lambda f, c, q: _rotation(q).reduce().as_matrix(), Q)],
    R + "align_vectors": [sample(lambda f, c, a, b: f(a, b)[0].as_matrix(), AXES + 0.1, AXES[[1, 2, 0]] * 1.2 + 0.05)],
    R + "approx_equal": [sample(lambda f, c, q: _rotation(q).approx_equal(_rotation(q), atol=0.1), Q)],
    R + "__getitem__": [sample(lambda f, c, q: _rotation(q)[0].as_matrix(), Q)],
    R + "__setitem__": [sample(lambda f, c, q: _with_first(_rotation(q), _rotation(q[1, ...] * 1.0)), Q)],
    R + "__iter__": [sample(lambda f, c, q: [r.as_matrix() for r in _rotation(q)], Q)],
    R + "__repr__": [sample(lambda f, c: len(repr(_rotation(c(Q)))) > 0)],
    "scipy.spatial.transform.Slerp.__init__": [
        sample(lambda f, c, q: _slerp(c(np.array([0.0, 1.0])), q)(c(np.array([0.2, 0.7]))).as_matrix(), Q)
    ],
    "scipy.spatial.transform.Slerp.__call__": [
        sample(lambda f, c, t: _slerp(c(np.array([0.0, 1.0])), c(Q))(t).as_matrix(), [0.3, 0.6])
    ],
}  # fmt: skip


def _with_first(rotations, first):
    rotations[0] = first
    return rotations.as_matrix()


def _slerp(times, q):
    from scipy.spatial.transform import Slerp

    return Slerp(times, _rotation(q))


MOTIONS = {
    G + "from_matrix": [sample(lambda f, c, q, v: f(_motion(q, v).as_matrix() * 1.0).as_matrix(), Q, V)],
    G + "from_rotation": [sample(lambda f, c, q: f(_rotation(q)).as_matrix(), Q)],
    G + "from_translation": [sample(lambda f, c, v: f(v).as_matrix(), V)],
    G + "from_components": [sample(lambda f, c, q, v: f(v, _rotation(q)).as_matrix(), Q, V)],
    G + "from_exp_coords": [sample(lambda f, c, v, w: f(_joined(v, w)).as_matrix(), V, V[::-1] * 0.7)],
    G + "from_dual_quat": [sample(lambda f, c, q, v: f(_motion(q, v).as_dual_quat() * 1.0).as_matrix(), Q, V)],
    G + "as_matrix": [sample(lambda f, c, q, v: _motion(q, v).as_matrix(), Q, V)],
    G + "as_components": [
        sample(lambda f, c, q, v: _components(_motion(q, v)), Q, V)
    ],
    G + "as_exp_coords": [sample(lambda f, c, q, v: _motion(q, v).as_exp_coords(), Q, V)],
    G + "as_dual_quat": [sample(lambda f, c, q, v: _motion(q, v).as_dual_quat(), Q, V)],
    G + "identity": [sample(lambda f, c: f(2).as_matrix())],
    G + "concatenate": [sample(lambda f, c, q, v: f([_motion(q, v), _motion(q, v)]).as_matrix(), Q, V)],
    G + "mean": [sample(lambda f, c, q, v: _motion(q, v).mean().as_matrix(), Q, V)],
    G + "inv": [sample(lambda f, c, q, v: _motion(q, v).inv().as_matrix(), Q, V)],
    G + "apply": [sample(lambda f, c, q, v, w: _motion(q, v).apply(w), Q, V, V[::-1] + 0.2)],
    G + "__mul__": [sample(lambda f, c, q, v: (_motion(q, v) * _motion(q, v * 2)).as_matrix(), Q, V)],
    G + "__pow__": [sample(lambda f, c, q, v: (_motion(q, v) ** 0.4).as_matrix(), Q, V)],
    G + "__getitem__": [sample(lambda f, c, q, v: _motion(q, v)[0].as_matrix(), Q, V)],
    G + "__setitem__": [sample(lambda f, c, q, v: _with_first(_motion(q, v), _motion(q[1, ...], v[1, ...])), Q, V)],
    G + "__iter__": [sample(lambda f, c, q, v: [m.as_matrix() for m in _motion(q, v)], Q, V)],
}  # fmt: skip


def _joined(v, w):
    import dualgrad.numpy as mnp

    return (np if isinstance(v, np.ndarray) else mnp).concatenate([v, w], axis=-1)


SAMPLES = {**CURVES, **ROTATIONS, **MOTIONS}
