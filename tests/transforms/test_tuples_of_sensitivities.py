"""Sensitivities in a tuple give what the same ones give in a list, for which there is no short way."""

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops

X = Tensor(np.array([1.0, 2.0]))
ONES = Tensor(np.array([1.0, 1.0]))

OUTPUTS = {
    "two tensors": lambda x: (x * x, ops.sin(x)),
    "a constant": lambda x: (x * x, Tensor(np.array([3.0, 4.0]))),
    "constants only": lambda x: (ONES, ONES),
    "a tensor twice": lambda x: (x * x,) * 2,
    "an integer": lambda x: (x * x, Tensor(np.array([3, 4]))),
    "what is no tensor": lambda x: (x * x, None),
    "a nest": lambda x: (x * x, (ops.sin(x), [x])),
}

SENSITIVITIES = {
    "that fit": (ONES, Tensor(np.array([2.0, 3.0]))),
    "of another shape": (ONES, Tensor(np.array([2.0]))),
    "of another type": (ONES, Tensor(np.array([2.0, 3.0], np.float32))),
    "of integers": (ONES, Tensor(np.array([2, 3]))),
    "numbers": (ONES, 2.0),
    "nothing": (ONES, None),
    "arrays": (ONES, np.array([2.0, 3.0])),
    "too few": (ONES,),
    "too many": (ONES, ONES, ONES),
    "a nest": (ONES, (ONES, [ONES])),
    "none": (),
}


def outcome(f, sens):
    """The gradient, or the error in words."""
    try:
        return dg.ops.GradOperation(sens_param=True)(f)(X, sens).asnumpy()
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("given", SENSITIVITIES)
@pytest.mark.parametrize("output", OUTPUTS)
def test_tuples_and_lists(output, given):
    f, sens = OUTPUTS[output], SENSITIVITIES[given]
    short, walked = outcome(f, sens), outcome(f, list(sens))
    if isinstance(walked, tuple):
        described = walked[1].replace("a list of", "a tuple of")
        assert isinstance(short, tuple)
        assert short == (walked[0], described)
    else:
        np.testing.assert_array_equal(short, walked)
    if (output, given) == ("two tensors", "that fit"):
        np.testing.assert_allclose(short, 2 * X.asnumpy() + np.cos(X.asnumpy()) * [2.0, 3.0], rtol=1e-14)
