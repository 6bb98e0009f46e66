"""Where numbers differ from MindSpore's on purpose: both conventions of complex gradients, and the warnings.

MindSpore's convention is checked against the definition, by central differences along x and y, and against numbers that
MindSpore 2.10 gives on a CPU.
"""

import warnings

import numpy as np
import pytest
from support import assert_close, assert_raises, f64, i32

import dualgrad as dg
from dualgrad import Parameter, PortingWarning, Tensor, nn, ops, porting

pytestmark = pytest.mark.usefixtures("mode")

Z = np.array([1 + 2j, -0.5 + 0.25j])


@pytest.fixture(autouse=True)
def _as_before():
    before = porting.warned, porting.convention
    porting._said.clear()
    yield
    porting.follow(differences=before[0], complex_gradients=before[1])


REAL = {
    "abs": (ops.abs, np.abs),
    "real of exp": (lambda z: ops.real(ops.exp(z)), lambda z: np.exp(z).real),
    "imag of a square": (lambda z: ops.imag(z * z), lambda z: (z * z).imag),
    "of the conjugate": (lambda z: ops.real(ops.conj(z) * z * z), lambda z: (np.conj(z) * z * z).real),
}


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("convention", ["jax", "mindspore"])
def test_of_real_functions(name, convention):
    """df/dx + i df/dy in MindSpore's convention, df/dx - i df/dy in JAX's."""
    f, by_numpy = REAL[name]
    step = 1e-6
    along = lambda h: (by_numpy(Z + h) - by_numpy(Z - h)) / (2 * step)
    sign = 1 if convention == "mindspore" else -1
    expected = along(step) + sign * 1j * along(1j * step)
    sens = f64([1.5, -2.0])
    porting.follow(complex_gradients=convention)
    for gradient, factor in (
        (dg.grad(f)(Tensor(Z)), 1.0),
        (dg.value_and_grad(f)(Tensor(Z))[1], 1.0),
        (ops.GradOperation()(f)(Tensor(Z)), 1.0),
        (ops.GradOperation(get_all=True, sens_param=True)(f)(Tensor(Z), sens)[0], sens.asnumpy()),
        (dg.grad(f, sens_param=True)(Tensor(Z), sens), sens.asnumpy()),
    ):
        assert_close(gradient, factor * expected, rtol=1e-8)


# Sensitivities, and what MindSpore 2.10 gives for them on a CPU in Complex64: GradOperation(sens_param=True)(f)(z, s).
MINDSPORE = {
    "exp": (ops.exp, [1j, 2 - 1j], [2.471726655960083 - 1.13120436668396j, 1.025292158126831 - 0.8877912759780884j]),
    "conj": (ops.conj, [1j, 2 - 1j], [-1j, 2 + 1j]),
    "real": (
        lambda z: ops.real(ops.exp(z)),
        [1.5, -2.0],
        [-1.69680655002594 - 3.707590103149414j, -1.1753501892089844 + 0.3001161813735962j],
    ),
    "imag": (
        lambda z: ops.imag(ops.exp(z)),
        [1.5, -2.0],
        [3.707590103149414 - 1.69680655002594j, -0.3001161813735962 - 1.1753501892089844j],
    ),
}


@pytest.mark.parametrize("name", MINDSPORE)
def test_the_numbers_of_mindspore(name):
    f, sens, expected = MINDSPORE[name]
    z, sens = Tensor(Z.astype(np.complex64)), np.array(sens)
    sens = Tensor(sens.astype(np.complex64 if sens.dtype.kind == "c" else np.float32))
    operation = ops.GradOperation(sens_param=True, complex_gradients="mindspore")
    assert_close(operation(f)(z, sens), np.array(expected), dtype=dg.complex64)
    assert_close(operation(f)(z, sens=sens), np.array(expected), dtype=dg.complex64)
    porting.follow(complex_gradients="mindspore")
    assert_close(ops.GradOperation(sens_param=True)(f)(z, sens), np.array(expected), dtype=dg.complex64)
    plain = ops.GradOperation(sens_param=True, complex_gradients="jax")(f)(z, ops.conj(sens))
    assert_close(plain, np.conj(expected), dtype=dg.complex64)


def test_weights_and_higher_orders():
    """For a holomorphic f the gradient is conj(f'); that of its real part is that of f, so the second is conj(f'')."""
    porting.follow(complex_gradients="mindspore")
    w = Parameter(Z, name="w")
    assert_close(dg.grad(lambda x: x * w * w, None, w)(Tensor(Z)), np.conj(2 * Z * Z))
    assert_close(ops.GradOperation(get_by_list=True)(lambda x: x * w * w, [w])(Tensor(Z)), (np.conj(2 * Z * Z),))
    assert_close(dg.grad(dg.grad(lambda z: z**3))(Tensor(Z)), np.conj(6 * Z))


def test_real_gradients_are_what_they_were():
    porting.follow(complex_gradients="mindspore", differences=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PortingWarning)
        assert_close(dg.grad(lambda x: x * x)(f64([3.0])), np.array([6.0]))
        assert_close(dg.grad(lambda x: ops.real(x * (1 + 2j)) ** 2)(f64([3.0])), np.array([6.0]))
        net = nn.Dense(2, 1, dtype=dg.float64)
        ops.GradOperation(get_all=True, get_by_list=True)(net, net.trainable_params())(f64([[1.0, 2.0]]))
        ops.mean(f64([1.0, 2.0]))
        i32([1, 2]).astype(dg.int64)
        dg.grad(lambda n: n * n)(i32([1, 2]))


DIFFERENCES = {
    "mean of integers": (lambda: ops.mean(i32([1, 2])), "mean", "cuts it off"),
    "mean method": (lambda: i32([1, 2]).mean(), "mean", "cuts it off"),
    "ReduceMean": (lambda: ops.ReduceMean()(i32([1, 2])), "mean", "cuts it off"),
    "cast": (lambda: dg.grad(lambda x: ops.cast(x, dg.int32) * x)(f64([1.5])), "cast", "slope is 0"),
    "astype": (lambda: dg.grad(lambda x: x.astype(dg.int32) * x)(f64([1.5])), "astype", "slope is 0"),
    "integer input": (lambda: dg.grad(lambda n: n * 2.5)(i32([1, 2])), "grad", "integer tensor"),
    "integer of an operation": (lambda: ops.GradOperation()(lambda n: n * 2.5)(i32([1])), "GradOperation", "integer"),
    "complex": (lambda: dg.grad(ops.abs)(Tensor(Z)), "grad", "conjugate"),
    "complex of GradOperation": (lambda: ops.GradOperation()(ops.abs)(Tensor(Z)), "GradOperation", "conjugate"),
    "tuple": (lambda: ops.GradOperation(get_all=True)(lambda t: t[0] ** 2)((f64([1.0]),)), "GradOperation", "mutable"),
    "list": (lambda: dg.value_and_grad(lambda t: t[0] * t[1])([f64([1.0]), f64([2.0])]), "value_and_grad", "mutable"),
}  # fmt: skip


def told(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [w for w in caught if issubclass(w.category, PortingWarning)]


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences_are_told_once_for_each_line(name):
    call, *words = DIFFERENCES[name]
    assert told(call) == []
    porting._said.clear()
    porting.follow(differences=True)
    (warning,) = told(call)
    for word in words:
        assert word in str(warning.message)
    assert (warning.filename, warning.lineno) == (__file__, call.__code__.co_firstlineno)
    assert told(call) == []
    porting._said.clear()
    porting.follow(differences=False)
    assert told(call) == []


def test_settings_that_do_not_fit():
    assert_raises(TypeError, lambda: porting.follow(differences=1), "differences", "int")
    assert_raises(ValueError, lambda: porting.follow(complex_gradients="torch", differences=True), "torch", "jax")
    assert porting.warned is False
    assert_raises(ValueError, lambda: ops.GradOperation(complex_gradients="torch"), "GradOperation", "torch")


def test_recordings_follow_the_setting():
    gradient = dg.jit(dg.grad(ops.abs))
    for convention, expected in (("jax", np.conj(Z)), ("mindspore", Z), ("jax", np.conj(Z))):
        porting.follow(complex_gradients=convention)
        for _ in range(4):
            assert_close(gradient(Tensor(Z)), expected / np.abs(Z))
