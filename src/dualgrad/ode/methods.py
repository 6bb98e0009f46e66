"""One-step methods as functions of tensors.

A step of size h from (t, y) computes s vectors U, its stages. All its results are linear in them: the next state y + m
U, the error estimate e U, and the state at t + theta h, which is y + w(theta) U.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops import linalg, stack
from ..tensor import Tensor
from ..transforms.gradient import jvp
from ..transforms.vectorize import vmap

__all__ = ["METHODS", "Method", "combined"]

Array = np.ndarray[Any, Any]
Rate = Callable[[Tensor, Tensor], Tensor]


class Method:
    """A one-step method with an error estimate of order 4 and a dense output of order 4.

    Attributes
    ----------
    stands_still : bool
        True if a step of size 0 keeps the state.
    """

    update: Array
    error: Array
    stands_still = True

    def stages(self, rate: Rate, y: Tensor, t: Tensor, h: Tensor) -> Tensor:
        """The stages U of a step, shape (s, n)."""
        raise NotImplementedError

    def weights(self, theta: Array) -> Array:
        """The weights w of the stages at parts theta of a step, shape (k, s)."""
        raise NotImplementedError


def _lower(*rows: tuple[float, ...]) -> Array:
    """A strictly lower triangular matrix from its rows; the first row is empty."""
    n = len(rows)
    return np.array([(*row, *[0.0] * (n - len(row))) for row in rows])


def combined(weights: Array, vectors: Any) -> Tensor:
    """Add vectors with nonzero weights.

    They are added one by one, so recorded steps equal eager ones to the last bit.
    """
    first, *others = np.flatnonzero(weights)
    total = float(weights[first]) * vectors[first]
    for j in others:
        total = total + float(weights[j]) * vectors[j]
    return total


class DormandPrince(Method):
    """The explicit pair of Dormand and Prince, order 5(4), with Shampine's interpolant of order 4.

    J. R. Dormand and P. J. Prince, J. Comput. Appl. Math. 6 (1980) 19; L. F. Shampine, Math. Comp. 46 (1986) 135. The
    last stage is the rate at the next state.
    """

    nodes = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
    matrix = _lower(
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    )
    update = matrix[6]
    error = np.array([71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
    _fourth = np.array(
        [
            -12715105075 / 11282082432,
            0.0,
            87487479700 / 32700410799,
            -10690763975 / 1880347072,
            701980252875 / 199316789632,
            -1453857185 / 822651844,
            69997945 / 29380423,
        ]
    )

    _ends = np.eye(7)[[0, 6]]

    def stages(self, rate: Rate, y: Tensor, t: Tensor, h: Tensor) -> Tensor:
        """The stages h k_i."""
        found: list[Tensor] = []
        for row, node in zip(self.matrix, self.nodes, strict=True):
            at = y + combined(row[: len(found)], found) if found else y
            found.append(h * rate(at, t + float(node) * h))
        return stack(found)

    def weights(self, theta: Array) -> Array:
        """Hermite's cubic through both ends, plus a fourth-degree term that vanishes there with its slope."""
        x = np.asarray(theta)[:, None]
        first, last = self._ends
        cubic = x * self.update + x * (1 - x) * ((first - self.update) * (1 - x) + (self.update - last) * x)
        return cubic + x**2 * (1 - x) ** 2 * self._fourth


class Rodas5P(Method):
    """The Rosenbrock method Rodas5P, order 5(4), L-stable, with a dense output of order 4.

    G. Steinebach, BIT Numer. Math. 63 (2023) 27. Each stage is one linear system with W = 1 / (gamma h) - f_y. In

        W U_i = f(y + sum_j a_ij U_j, t + c_i h) + sum_j C_ij U_j / h + d_i h f_t

    f_y and f_t are exact, so tangents and adjoints of a step are steps of the same method.
    """

    stands_still = False  # the method divides by the step size
    gamma = 0.21193756319429014
    _sixth = (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946)
    matrix = _lower(
        (),
        (3.0,),
        (2.849394379747939, 0.45842242204463923),
        (-6.954028509809101, 2.489845061869568, -10.358996098473584),
        (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        _sixth,
        (*_sixth, 1.0),
        (*_sixth, 1.0, 1.0),
    )
    couplings = _lower(
        (),
        (-14.155112264123755,),
        (-17.97296035885952, -2.859693295451294),
        (147.12150275711716, -1.41221402718213, 71.68940251302358),
        (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
        (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
        (
            30.91273214028599,
            -3.1208243349937974,
            77.79954646070892,
            34.28646028294783,
            -19.097331116725623,
            -28.087943162872662,
        ),
        (
            37.80277123390563,
            -3.2571969029072276,
            112.26918849496327,
            66.9347231244047,
            -40.06618937091002,
            -54.66780262877968,
            -9.48861652309627,
        ),
    )
    nodes = np.array(
        [0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0]
    )
    slopes = np.array(
        [gamma, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069, 0.0, 0.0, 0.0]
    )
    update = np.array((*_sixth, 1.0, 1.0, 1.0))
    error = np.eye(8)[7]
    _dense = np.array(
        [
            [
                25.948786856663858,
                -2.5579724845846235,
                10.433815404888879,
                -2.3679251022685204,
                0.524948541321073,
                1.1241088310450404,
                0.4272876194431874,
                -0.17202221070155493,
            ],
            [
                -9.91568850695171,
                -0.9689944594115154,
                3.0438037242978453,
                -24.495224566215796,
                20.176138334709044,
                15.98066361424651,
                -6.789040303419874,
                -6.710236069923372,
            ],
            [
                11.419903575922262,
                2.8879645146136994,
                72.92137995996029,
                80.12511834622643,
                -52.072871366152654,
                -59.78993625266729,
                -0.15582684282751913,
                4.883087185713722,
            ],
        ]
    )

    def stages(self, rate: Rate, y: Tensor, t: Tensor, h: Tensor) -> Tensor:
        """The stages U_i."""
        unit = Tensor(np.eye(y.size, dtype=y.dtype.numpy))
        jacobian = vmap(lambda v: jvp(lambda y: rate(y, t), y, v)[1], out_axes=1)(unit)
        by_time = jvp(lambda t: rate(y, t), t, t * 0 + 1)[1]
        matrix = unit / (self.gamma * h) - jacobian
        found: list[Tensor] = []
        for i, node in enumerate(self.nodes):
            right = rate(y + combined(self.matrix[i][: len(found)], found) if found else y, t + float(node) * h)
            if found:
                right = right + combined(self.couplings[i][: len(found)], found) / h
            if self.slopes[i]:
                right = right + float(self.slopes[i]) * h * by_time
            found.append(linalg.solve(matrix, right.reshape((y.size, 1))).reshape((y.size,)))
        return stack(found)

    def weights(self, theta: Array) -> Array:
        """The line between both ends, plus terms that vanish there."""
        x = np.asarray(theta)[:, None]
        first, second, third = self._dense
        return x * self.update + x * (1 - x) * (first + x * (second + x * third))


METHODS: dict[str, Method] = {"dopri5": DormandPrince(), "rodas5p": Rodas5P()}
