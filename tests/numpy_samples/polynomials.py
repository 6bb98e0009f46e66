"""Polynomials: values, products, roots, fits."""

import numpy as np
from cases import normal, positive

from numpy_samples import sample

P, Q, X, Y = normal(4), normal(2, seed=1), np.linspace(-1.0, 2.0, 6), normal(6)
W = positive(6)

SAMPLES = [
    sample("polyval", lambda m, p, x: m.polyval(p, x), P, normal(2, 3)),
    sample("polyadd", lambda m, a, b: m.polyadd(a, b), P, Q),
    sample("polysub", lambda m, a, b: m.polysub(b, a), P, Q),
    sample("polymul", lambda m, a, b: m.polymul(a, b), P, Q),
    sample("polydiv", lambda m, a, b: list(m.polydiv(a, b)), P, Q),
    sample("polydiv", lambda m, a, b: list(m.polydiv(b, a)), P, Q, label="of a smaller one"),
    sample("polyder", lambda m, p: m.polyder(p, m=2), P),
    sample("polyder", lambda m, p: m.polyder(p), P),
    sample("polyint", lambda m, p, k: m.polyint(p, m=2, k=k), P, Q),
    sample("polyint", lambda m, p: m.polyint(p), P),
    sample("roots", lambda m, p: m.roots(p), P),
    sample("roots", lambda m, p: m.roots(p), np.array([1.0, -6.0, 11.0, -6.0]), label="real ones"),
    sample("poly", lambda m, r: m.poly(r), P),
    sample("poly", lambda m, a: m.poly(a), normal(3, 3), label="of a matrix", rtol=1e-12),
    sample("poly", lambda m, a: m.poly(a), np.diag([2.0, 2.0, -1.0]), label="of equal eigenvalues", rtol=1e-12),
    sample("polyfit", lambda m, x, y: m.polyfit(x, y, 2), X, Y, rtol=1e-12),
    sample("polyfit", lambda m, x, y, w: m.polyfit(x, y, deg=3, rcond=1e-12, w=w), X, normal(6, 2), W, rtol=1e-12),
    sample("polyfit", lambda m, x, y: list(m.polyfit(x, y, 1, full=True)), X, Y, rtol=1e-12),
    sample("polyfit", lambda m, x, y, w: list(m.polyfit(x, y, 2, w=w, cov=True)), X, Y, W, rtol=1e-11),
    sample("polyfit", lambda m, x, y: list(m.polyfit(x, y, 1, cov="unscaled")), X, normal(6, 2), rtol=1e-12),
    sample("vander", lambda m, x: m.vander(x, N=4, increasing=True), P),
    sample("vander", lambda m, x: m.vander(x), P),
]
