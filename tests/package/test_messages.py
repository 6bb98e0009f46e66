"""Names and keywords of other frameworks, a forgotten sensitivity, formats: each error says what to do here."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support import assert_raises, f64

import dualgrad as dg
import dualgrad.experimental
import dualgrad.scipy.special
from dualgrad import Parameter, Tensor, _foreign, nn, ops
from dualgrad.tracebacks import _entries, shortened

X = f64([1.0, 2.0])
NET = nn.Dense(2, 3)
TABLES = {"Tensor": _foreign.TENSOR, "Cell": _foreign.CELL, "Optimizer": _foreign.OPTIMIZER} | _foreign.MODULES
SUBJECTS = {
    "Tensor": X,
    "Cell": nn.SequentialCell(NET),
    "Optimizer": nn.Adam(NET.trainable_params()),
    "dualgrad": dg,
    "dualgrad.nn": nn,
    "dualgrad.ops": ops,
    "dualgrad.scipy": dg.scipy,
}
NAMES = [(owner, name) for owner, table in TABLES.items() for name in table]
ROOTS = {"dualgrad": dg, "ops": ops, "nn": nn, "numpy": np, "x": X, "net": NET, "opt": SUBJECTS["Optimizer"]}


@pytest.mark.parametrize(("owner", "name"), NAMES, ids=str)
def test_a_foreign_name_raises_with_its_advice(owner, name):
    subject = SUBJECTS[owner]
    assert_raises(AttributeError, lambda: getattr(subject, name), name, TABLES[owner][name])
    assert not hasattr(subject, name)
    assert name not in dir(subject)


def resolved(path):
    root, *parts = path.split(".")
    found = ROOTS[root]
    for part in parts:
        found = getattr(found, part)
    return found


ADVICE = {text for table in TABLES.values() for text in table.values()} | {t for _, t in _foreign.KEYWORDS.values()}


@pytest.mark.parametrize("text", sorted(ADVICE), ids=lambda text: text[:30])
def test_advice_names_what_exists(text):
    for path in re.findall(rf"\b(?:{'|'.join(ROOTS)})(?:\.[a-zA-Z_]\w*)+", text):
        assert resolved(path) is not None, path


def test_a_class_of_the_user_may_have_these_names():
    class Own(nn.Cell):
        def __init__(self):
            super().__init__()
            self.step = 3
            self.float = Parameter([1.0])

        def train(self):
            return "trained"

        def construct(self, x):
            return x * self.float

    own = Own()
    assert own.train() == "trained"
    assert own.step == 3
    assert own.float is own.trainable_params()[0]
    assert {"train", "float"} <= set(dir(own))
    assert Parameter([1.0]).requires_grad is True


@pytest.mark.parametrize("call", [lambda x: hasattr(x, "detach"), lambda x: getattr(x, "grad", None) is not None])
def test_foreign_names_may_be_asked_for_while_a_function_is_recorded(call):
    function = dg.jit(lambda x: x if call(x) else x * x)
    for _ in range(4):
        assert function(X).tolist() == [1.0, 4.0]


def test_advice_to_double_a_cell_is_right():
    net = nn.SequentialCell(nn.Dense(2, 3))
    assert_raises(AttributeError, lambda: net.double(), "dtype=dualgrad.float64", "set_default_dtype leaves")
    assert nn.Dense(2, 3, dtype=dg.float64).weight.dtype == dg.float64
    before = dg.get_default_dtype()
    dg.set_default_dtype(dg.float64)
    try:
        assert nn.Dense(2, 3).weight.dtype == dg.float32
    finally:
        dg.set_default_dtype(before)


MISSPELT = {
    "dualgrad": ("Tesnor", "Tensor"),
    "dualgrad.nn": ("Dens", "Dense"),
    "dualgrad.ops": ("einsun", "einsum"),
    "dualgrad.scipy": ("objektive", "objective"),
}
ELSEWHERE = {
    ("dualgrad", "exp"): "dualgrad.ops.exp",
    ("dualgrad", "array"): "dualgrad.numpy.array",
    ("dualgrad", "Dense"): "dualgrad.nn.Dense",
    ("dualgrad.nn", "softmax"): "dualgrad.ops.softmax",
    ("dualgrad.ops", "Adadelta"): "dualgrad.nn.Adadelta",
    ("dualgrad.ops", "concatenate"): "dualgrad.numpy.concatenate",
    ("dualgrad", "objective"): "dualgrad.scipy.objective",
    ("dualgrad.scipy", "argmin"): "dualgrad.argmin",
}


@pytest.mark.parametrize("module", MISSPELT)
def test_a_misspelt_name_has_suggestions(module):
    name, right = MISSPELT[module]
    assert_raises(AttributeError, lambda: getattr(SUBJECTS[module], name), name, f"Did you mean {right}")


@pytest.mark.parametrize("name", ["Tesnor", "testign", "optimize", "nn.Sequental", "Tensor(1.0).gradd", "seed"])
def test_python_adds_no_suggestion_to_ours(name, capsys):
    try:
        eval(f"dg.{name}", {"dg": dg})
    except AttributeError as error:
        sys.__excepthook__(AttributeError, error, None)
    assert capsys.readouterr().err.lower().count("did you mean") <= 1


@pytest.mark.parametrize("name", ["dualgrad.testing", "dualgrad.experimental", "dualgrad.scipy.special"])
def test_a_module_that_was_not_imported_is_named(name):
    program = f"import dualgrad\nassert not hasattr(dualgrad, 'optimizee')\n{name}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert f"imported by itself, import {name}" in run.stderr
    subprocess.run([sys.executable, "-c", f"import {name}\n{name}"], check=True, timeout=60)


@pytest.mark.parametrize(("module", "name"), ELSEWHERE, ids=str)
def test_a_name_of_another_module_is_found_there(module, name):
    assert_raises(AttributeError, lambda: getattr(SUBJECTS[module], name), name, ELSEWHERE[module, name])


def square(x):
    return x * x


TRANSFORMS = [dg.grad, dg.value_and_grad, dg.jacfwd, dg.jacrev, dg.hessian, dg.hvp, ops.grad]
KEYWORDS = {
    **{f"{t.__name__} {k}": (lambda t=t, k=k: t(square, **{k: 0}), t.__name__, k, "grad_position")
       for t in TRANSFORMS for k in ("argnums", "argnum")},
    "grad create_graph": (lambda: dg.grad(square, create_graph=True), "grad", "create_graph", "again"),
    "vmap in_dims": (lambda: dg.vmap(square, in_dims=0), "vmap", "in_dims", "in_axes"),
    "vmap out_dims": (lambda: dg.vmap(square, out_dims=0), "vmap", "out_dims", "out_axes"),
    **{f"{c.__name__} lr": (lambda c=c: c(NET.trainable_params(), lr=0.1), c.__name__, "lr", "learning_rate")
       for c in (nn.Adam, nn.SGD, nn.Momentum, nn.RMSProp, nn.AdamWeightDecay, nn.Adagrad)},
    "Adam betas": (lambda: nn.Adam(NET.trainable_params(), betas=(0.9, 0.99)), "Adam", "betas", "beta1 and beta2"),
    "Dense in_features": (lambda: nn.Dense(in_features=2, out_features=3), "Dense", "in_features", "in_channels"),
    "Dense bias": (lambda: nn.Dense(2, 3, bias=False), "Dense", "bias", "has_bias"),
    "Conv2d groups": (lambda: nn.Conv2d(1, 2, 3, groups=1), "Conv2d", "groups", "group"),
    "Embedding": (lambda: nn.Embedding(3, embedding_dim=2), "Embedding", "embedding_dim", "embedding_size"),
    "Softmax dim": (lambda: nn.Softmax(dim=0), "Softmax", "dim", "axis"),
    "Tensor": (lambda: Tensor([1.0], requires_grad=True), "Tensor", "requires_grad", "grad_position"),
    "tensor": (lambda: dg.tensor([1.0], requires_grad=True), "Tensor", "requires_grad", "grad_position"),
    "Tensor misspelt": (lambda: Tensor([1.0], dtpye=dg.float64), "Tensor", "dtpye", "dtype"),
}  # fmt: skip


@pytest.mark.parametrize("case", KEYWORDS)
def test_a_foreign_keyword_is_refused_with_the_one_here(case):
    call, *words = KEYWORDS[case]
    assert_raises(TypeError, call, *words)


def test_keywords_that_a_class_takes_itself_are_its_own():
    class Own(nn.Adam):
        def __init__(self, params, lr):
            super().__init__(params, learning_rate=lr)

    assert float(Own(NET.trainable_params(), lr=0.25).learning_rate) == 0.25

    class Open(nn.Adam):
        def __init__(self, params, **settings):
            super().__init__(params, learning_rate=settings["lr"])

    assert float(Open(NET.trainable_params(), lr=0.25).learning_rate) == 0.25


def product(a, b):
    return a * b


FORGOTTEN = {
    "GradOperation": (lambda: ops.GradOperation(sens_param=True)(square)(X), "GradOperation", "square(x)"),
    "of all": (lambda: ops.GradOperation(get_all=True, sens_param=True)(product)(X, X), "GradOperation", "product(a"),
    "of a Cell": (lambda: ops.GradOperation(sens_param=True)(NET)(X), "GradOperation", "construct(x"),
    "grad": (lambda: dg.grad(square, sens_param=True)(X), "grad", "square(x)"),
    "value_and_grad": (lambda: dg.value_and_grad(product, (0, 1), sens_param=True)(X, X), "value_and_grad", "product"),
    "Vjp": (lambda: nn.Vjp(product)(X, X), "Vjp", "product(a, b)"),
    "Jvp": (lambda: nn.Jvp(product)(X, X), "Jvp", "product(a, b)"),
}


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("case", FORGOTTEN)
def test_a_forgotten_sensitivity_is_named(case):
    call, *words = FORGOTTEN[case]
    assert_raises(TypeError, call, *words, "last argument", "sensitivity")


DIRECTIONS = {
    "one input": (lambda: dg.hvp(square)(X), TypeError, "square(x)", "leaves 0"),
    "two inputs": (lambda: dg.hvp(product, (0, 1))(X, (X, X)), TypeError, "product(a, b)", "leaves 1"),
    "of a Cell": (lambda: dg.hvp(NET)(X), TypeError, "construct(x", "leaves 0"),
    "none at all": (lambda: dg.hvp(square)(), TypeError, "missing", "keyword v"),
    "weights": (lambda: dg.hvp(nothing, weights=NET.weight)(NET.weight), IndexError, "hvp(fn, grad_position=None"),
}


def nothing():
    return (NET.weight**2).sum()


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("case", DIRECTIONS)
def test_a_forgotten_direction_is_named(case):
    call, kind, *words = DIRECTIONS[case]
    assert_raises(kind, call, "hvp", *words)
    if kind is TypeError:
        assert_raises(kind, call, "direction")


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("transform", [dg.grad, dg.value_and_grad, dg.jacrev, dg.jacfwd, dg.hessian])
def test_weights_alone_are_asked_for_by_none(transform):
    name = transform.__name__
    weights = [NET.weight]
    assert_raises(IndexError, transform(nothing, weights=weights), f"{name}(fn, grad_position=None, weights=weights)")
    transform(nothing, grad_position=None, weights=weights)()
    assert_raises(IndexError, transform(nothing), "positional inputs", "count from 0")


def test_other_errors_of_types_stay_as_they_are_beside_a_sensitivity():
    def wrong(x):
        return x + "a"

    for gradient in ops.GradOperation(sens_param=True)(wrong), dg.grad(wrong, sens_param=True):
        with pytest.raises(TypeError, match="unsupported operand"):
            gradient(X, X)
        with pytest.raises((TypeError, IndexError), match=r"missing 1 required|beyond the 0 positional"):
            gradient(sens=X)


TO_HALF = nn.Dense(2, 3).to_float(dg.float16)
MISFITS = {
    "width": (ValueError, NET, ops.ones((5, 3)), "Dense", "(5, 3)", "length 2", "in_channels"),
    "no axis": (ValueError, NET, ops.ones(()), "Dense", "()", "length 2"),
    "type": (TypeError, NET, X, "Dense", "Float64", "Float32", "dtype=dualgrad.float64", "astype(dualgrad.float32)"),
    "narrow": (TypeError, nn.Dense(2, 3, dtype=dg.float64), ops.ones(2), "dtype=dualgrad.float32", "float64"),
    "integers": (TypeError, NET, Tensor([1, 2]), "Dense", "Int64", "astype(dualgrad.float32)"),
    "in a chain": (ValueError, SUBJECTS["Cell"], ops.ones((2, 2, 1)), "Dense", "(2, 2, 1)", "length 2"),
    "in another type": (ValueError, TO_HALF, ops.ones((5, 3)), "Dense:", "(5, 3)", "length 2"),
    "as PyTorch calls it": (ValueError, dg.mint.nn.Linear(2, 3), ops.ones((5, 3)), "Linear", "length 2"),
}


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("case", MISFITS)
def test_an_input_that_does_not_fit_a_layer(case):
    kind, layer, x, *words = MISFITS[case]
    for call in layer, dg.jit(lambda x: layer(x)), dg.grad(layer, None, layer.trainable_params()):
        assert_raises(kind, lambda call=call: call(x), *words)


def test_an_error_of_a_layer_that_is_not_of_its_input_stays():
    net = nn.Dense(2, 3)
    for wrong in None, "text":
        with pytest.raises(TypeError) as caught:
            net(wrong)
        assert "Dense" not in str(caught.value)


ARRAY = np.ones((3, 2))
ARRAYS = {
    "vmap": (lambda: dg.vmap(square)(ARRAY), TypeError, "vmap", "input 0", "ndarray", "Tensor(x)"),
    "vmap beside": (lambda: dg.vmap(product)(f64(ARRAY), ARRAY), TypeError, "vmap", "input 1", "Tensor(x)"),
    "vmap of a list": (lambda: dg.vmap(square)([1.0, 2.0]), TypeError, "vmap", "float", "Tensor(x)"),
    "vmap of a number": (lambda: dg.vmap(product, (0, 0))(X, 2.0), TypeError, "vmap", "input 1", "None in in_axes"),
    "vmap of a dict": (lambda: dg.vmap(square)({"a": ARRAY}), TypeError, "vmap", "ndarray", "Tensor(x)"),
    "scan": (lambda: dg.scan(together, X, ARRAY), TypeError, "scan", "xs", "ndarray", "Tensor(xs)"),
    "scan of a length": (lambda: dg.scan(together, X, ARRAY, length=3), TypeError, "scan", "ndarray", "Tensor(xs)"),
    "scan of a list": (lambda: dg.scan(together, X, [1.0, 2.0], 2), TypeError, "scan", "float", "Tensor(xs)"),
    "scan beside": (lambda: dg.scan(together, X, (f64(ARRAY), ARRAY)), TypeError, "scan", "ndarray", "Tensor(xs)"),
    "carry": (lambda: dg.scan(together, np.ones(2), f64(ARRAY)), ValueError, "scan", "ndarray", "an array: Tensor(x)"),
    "number": (lambda: dg.scan(together, 0.0, f64(ARRAY)), ValueError, "scan", "float", "a number: Tensor(x)"),
}


def together(carry, x):
    return carry + x, x


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_that_are_no_tensors_are_to_be_wrapped(case):
    call, kind, *words = ARRAYS[case]
    assert_raises(kind, call, *words)


def test_what_is_no_array_stays_beside_tensors():
    _, ys = dg.scan(lambda c, x: (c, x[0] * x[1]), X, (Tensor([1.0, 2.0]), 3.0))
    assert ys.tolist() == [3.0, 6.0]
    assert dg.scan(lambda c, x: (c + 1, None), X, (), length=2)[0].tolist() == [3.0, 4.0]
    assert dg.vmap(product, (0, None))(X, 2.0).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match="unsupported operand"):
        dg.vmap(lambda x: x + "a")(X)


POSITIONS = {
    "bool": (True, "GradOperation(get_all=True)"),
    "list": ([0, 1], "(0, 1)"),
    "tensor": (X, "grad(fn)(x)"),
    "weights": (NET.trainable_params(), "grad(fn, grad_position=None, weights=weights)"),
    "name": ("x", "by position"),
}


@pytest.mark.parametrize("case", POSITIONS)
def test_a_wrong_position_says_what_was_meant(case):
    position, advice = POSITIONS[case]
    assert_raises(TypeError, lambda: dg.grad(product, position), "grad", "grad_position", advice)


def test_integers_of_numpy_are_positions():
    for kind in (np.int64, np.uint8):
        assert dg.grad(product, kind(1))(X, 3 * X).tolist() == X.tolist()
        assert len(dg.grad(product, (kind(0), kind(1)))(X, X)) == 2


def test_a_cell_is_no_input():
    assert_raises(TypeError, lambda: dg.grad(square)(NET), "Dense", "trainable_params()")


@pytest.mark.parametrize("spec", [".3f", "8.2e", "d", ">9", ""])
@pytest.mark.parametrize("value", [2.5, 7, True], ids=repr)
def test_one_number_is_formatted_as_numpy_does_it(spec, value):
    array = np.asarray(value)
    try:
        expected = format(array[()], spec) if spec else None
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            format(Tensor(array), spec)
        return
    for x in Tensor(array), Tensor([array[()]]):
        assert format(x, spec) == (expected if spec else str(x))


@pytest.mark.parametrize("shape", [(2,), (1, 3), (0,)], ids=str)
def test_a_format_is_for_one_number(shape):
    array = np.zeros(shape)
    with pytest.raises(TypeError):
        format(array, ".3f")
    assert_raises(TypeError, lambda: f"{Tensor(array):.3f}", ".3f", str(shape), "array2string")
    assert f"{Tensor(array)}" == str(Tensor(array))


@pytest.mark.eager("counts calls")
def test_formats_inside_transforms():
    shown = []

    def f(x):
        shown.append(f"{x:.1f}")
        return x * x

    assert float(dg.grad(f)(Tensor(1.5))) == 3.0
    dg.jvp(f, Tensor(1.5), Tensor(1.0))
    assert shown == ["1.5", "1.5"]
    assert_raises(ValueError, lambda: dg.vmap(f)(X), "vmap", "all samples")


def test_a_cell_with_forward():
    class Net(nn.Cell):
        def forward(self, x):
            return x

    assert_raises(AttributeError, lambda: Net()(X), "Net", "construct", "not forward")


PROGRAM = """
import sys
import dualgrad as dg
from dualgrad import nn, ops


def deep(x):
    return ops.concat(x, x).sum()  # the user's line


def user(x):
    try:
        return dg.TRANSFORM(deep)(x)
    except TypeError as error:
        raise ValueError("of the user") from error


try:
    user(dg.Tensor([1.0]))
except ValueError as error:
    print(len(list(dg.tracebacks._entries(error.__cause__.__traceback__))))
hook = sys.excepthook
dg.tracebacks.watch()
assert sys.excepthook is hook
user(dg.Tensor([1.0]))
"""


@pytest.mark.parametrize(
    ("transform", "full"), [(name, "") for name in ("grad", "hessian", "vmap", "jit")] + [("grad", "0"), ("grad", "1")]
)
def test_an_error_that_nobody_caught_is_printed_without_the_lines_of_the_package(transform, full, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.replace("TRANSFORM", transform))
    environment = {**os.environ, "DUALGRAD_FULL_TRACEBACK": full}
    run = subprocess.run([sys.executable, file], capture_output=True, text=True, env=environment, timeout=60)
    assert run.returncode == 1
    files = re.findall(r'File "(.*?)", line', run.stderr)
    assert int(run.stdout) > 4  # whoever catches the error has all of it
    assert "the user's line" in run.stderr
    assert "direct cause" in run.stderr
    assert run.stderr.count("concat: expected a tuple") == 1
    assert (set(files) == {str(file)}) == (full != "1")
    assert ("DUALGRAD_FULL_TRACEBACK=1" in run.stderr) == (full != "1")


def test_an_error_is_as_it_was_when_it_has_been_shown():
    for cause in None, KeyError("a"):
        with pytest.raises(TypeError) as caught:
            dg.grad(lambda x: ops.concat(x, x))(X)
        inner = caught.value
        with pytest.raises(ExceptionGroup) as caught:
            raise ExceptionGroup("both", [inner, ValueError("b")]) from cause
        group, whole = caught.value, inner.__traceback__
        with shortened(group):
            assert 0 < len(list(_entries(inner.__traceback__))) < len(list(_entries(whole)))
            assert "left out" in group.__notes__[0]
        assert inner.__traceback__ is whole
        assert not hasattr(group, "__notes__")


def test_a_shell_shows_errors_shorter():
    class Shell:
        def set_custom_exc(self, kinds, handler):
            self.kinds, self.handler = kinds, handler

        def showtraceback(self, what, tb_offset=None):
            self.shown = len(list(_entries(what[2])))

    shell = Shell()
    dg.load_ipython_extension(shell)
    try:
        dg.hessian(lambda x: ops.concat(x, x))(X)
    except shell.kinds as error:
        shell.handler(shell, type(error), error, error.__traceback__)
    assert shell.shown == 2


RAGGED = {
    "rows": ([[1, 2], [3]], "[0] is of length 2", "[1] of length 1"),
    "a number": ([[1.0], 2.0], "[0] is of length 1", "[1] a number"),
    "deep": ([[[1, 2], [3, 4]], [[5, 6], [7]]], "[1][0] is of length 2", "[1][1] of length 1"),
}


@pytest.mark.parametrize("case", RAGGED)
def test_ragged_lists_say_where(case):
    data, *words = RAGGED[case]
    assert_raises(TypeError, lambda: Tensor(data), "Tensor", "ragged", *words)


def test_a_shape_is_no_type():
    for make, name in ((ops.zeros, "zeros"), (ops.ones, "ones"), (Tensor, "Tensor")):
        assert_raises(TypeError, lambda make=make: make(2, 3), name, "tuple")


@pytest.mark.parametrize("device", ["cpu", "cuda:0", "CUDA", "mps"])
def test_a_device_is_no_type(device):
    assert_raises(TypeError, lambda: X.to(device), "to", device, "CPU")
