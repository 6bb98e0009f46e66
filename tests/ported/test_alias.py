"""`dualgrad.mindspore`: `import mindspore` means dualgrad, and names that are missing say so where they are used."""

import os
import pickle
import subprocess
import sys
import types
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import dualgrad as dg
import dualgrad.mindspore
from dualgrad.mindspore._table import CHILDREN, MODULES, RENAMED, TYPES, TYPES_IN


@pytest.fixture(autouse=True)
def alias():
    """The alias during a test, and no trace of it afterwards."""
    dualgrad.mindspore.install()
    yield
    dualgrad.mindspore.uninstall()


def name_of(path):
    return f"mindspore.{path}".rstrip(".")


def interpreter(*arguments, cwd=None):
    environment = {**os.environ, "PYTHONPATH": str(Path(dg.__file__).parents[1]), "DUALGRAD_NATIVE": "0"}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=cwd)


# ----------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("path", MODULES)
def test_every_module_is_found_by_import_and_by_attribute(path):
    module = import_module(name_of(path))
    assert module.__name__ == name_of(path)
    found = import_module("mindspore")
    for part in filter(None, path.split(".")):
        if isinstance(found, types.FunctionType):
            return
        found = getattr(found, part)
    assert found is module or isinstance(found, types.FunctionType)


@pytest.mark.parametrize("first", ["the file", "the function"])
def test_a_file_does_not_stand_in_the_way_of_its_function(first):
    """As in packages that import a function from the file of its name, in whatever order both are asked for."""
    functions = {"common.mutable": dg.mutable, "common.recompute": dg.recompute, "common.tensor": dg.tensor,
                 "common.lazy_inline": dg.lazy_inline, "ops.function.grad": dg.grad}  # fmt: skip
    for path, function in functions.items():
        parent, _, name = name_of(path).rpartition(".")
        space = {}
        lines = [f"from {parent}.{name} import {name} as inner", f"from {parent} import {name} as outer"]
        for line in lines if first == "the file" else lines[::-1]:
            exec(line, space)
        assert space["inner"] is function
        assert space["outer"] is function


VIEWS = {
    "": "dualgrad", "nn": "dualgrad.nn", "ops": "dualgrad.ops", "ops.operations": "dualgrad.ops",
    "numpy": "dualgrad.numpy", "numpy.linalg": "dualgrad.numpy.linalg", "ops.functional": "dualgrad.ops",
    "ops.composite": "dualgrad.ops", "amp": "dualgrad.amp", "nn.layer": "dualgrad.nn", "nn.optim": "dualgrad.nn",
    "nn.layer.activation": "dualgrad.nn", "nn.loss": "dualgrad.nn", "common": "dualgrad", "context": "dualgrad.context",
    "common.dtype": "dualgrad.dtype", "common.initializer": "dualgrad.common.initializer",
    "common.api": "dualgrad.modes", "dataset": "dualgrad.dataset",
}  # fmt: skip


@pytest.mark.eager("with --mode graph the package has other functions than its files")
@pytest.mark.parametrize("path", VIEWS)
def test_names_are_those_of_dualgrad(path):
    """Each public name that is no module is the same object, by attribute and by `from ... import`."""
    view, source = import_module(name_of(path)), import_module(VIEWS[path])
    for name in source.__all__:
        if name not in CHILDREN[path]:
            assert getattr(view, name) is getattr(source, name)
            space = {}
            exec(f"from {name_of(path)} import {name} as found", space)
            assert space["found"] is getattr(source, name)
            assert name in dir(view)


@pytest.mark.parametrize("path", RENAMED)
def test_names_that_are_others_in_dualgrad(path):
    parent, _, name = path.rpartition(".")
    found = getattr(import_module(name_of(parent)), name)
    *module, last = RENAMED[path].split(".")
    try:
        owner = import_module(".".join(module))
    except ModuleNotFoundError:  # a class
        owner = getattr(import_module(".".join(module[:-1])), module[-1])
    assert found is getattr(owner, last)


@pytest.mark.parametrize("path", TYPES_IN)
@pytest.mark.parametrize("name", TYPES)
def test_types_that_no_tensor_has_raise_where_they_are_used(path, name):
    dtype = getattr(import_module(name_of(path)), name)
    assert dtype is getattr(import_module("mindspore"), name)
    with pytest.raises((AttributeError, TypeError), match=name):
        dg.Tensor([1.0], dtype)
    with pytest.raises(AttributeError, match=f"{name}: dualgrad has no such name"):
        dtype.numpy  # noqa: B018


def test_functions_that_mindspore_keeps_for_itself():
    utils, const, cache = (
        import_module(f"mindspore.{path}") for path in ("numpy.utils", "numpy.utils_const", "ops._primitive_cache")
    )
    single = dg.Tensor([1.0], dg.float64)
    assert utils._to_tensor(single) is single
    number, whole, truth, row = utils._to_tensor(0.5, 2, True, [1.0, 2.0])
    assert [t.dtype for t in (number, whole, truth, row)] == [dg.float32, dg.int32, dg.bool_, dg.float32]
    assert row.tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match="_to_tensor: got str"):
        utils._to_tensor("1")
    with pytest.raises(ValueError, match="too long: 5"):
        const._raise_value_error("too long: ", 5)
    with pytest.raises(TypeError, match="wrong"):
        const._raise_type_error("wrong")
    model = import_module("mindspore.train.model")
    assert model._transfer_tensor_to_tuple(single) == (single,)
    assert model._transfer_tensor_to_tuple([single]) == [single]
    assert isinstance(model._StepSync(), dg.train.Callback)
    assert cache._get_cache_prim(dg.ops.ReduceSum)(True)(dg.Tensor([1.0, 2.0])).tolist() == [3.0]


def test_star_imports_have_every_name():
    space = {}
    exec("from mindspore.nn import *", space)
    assert {*dg.nn.__all__} <= {*space}


def test_what_a_file_imports_itself_is_no_name_of_its_module():
    nn = import_module("mindspore.nn")
    assert not [name for name in ("sys", "np", "Any", "annotations", "ops", "_MODULES") if hasattr(nn, name)]


def test_names_of_pickles_are_found():
    assert pickle.loads(b"cmindspore.nn.layer.basic\nDense\n.") is dg.nn.Dense


def test_names_that_are_set_belong_to_the_alias_alone():
    ops = import_module("mindspore.ops")
    ops.addition = dg.ops.add
    assert import_module("mindspore").ops.addition is dg.ops.add
    assert not hasattr(dg.ops, "addition")


# -------------------------------------------------------------------------------------------------- missing names

USES = {
    "call": lambda lacking: lacking(1, keyword=2),
    "attribute": lambda lacking: lacking.attribute,
    "entry": lambda lacking: lacking[0],
    "iteration": list,
    "membership": lambda lacking: 1 in lacking,
    "isinstance": lambda lacking: isinstance(1, lacking),
    "issubclass": lambda lacking: issubclass(int, lacking),
    "derived class": lambda lacking: types.new_class("Derived", (lacking,))(1),
    "derived class of two bases": lambda lacking: types.new_class("Derived", (dg.nn.Cell, lacking))(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("path", ["", "nn", "ops.operations", "common.initializer", "nn.lacking_module"])
def test_missing_names_raise_on_use_and_not_on_import(path, use):
    space = {}
    exec(f"from {name_of(path)} import Lacking", space)
    with pytest.raises(AttributeError, match=rf"{name_of(path)}\.Lacking: dualgrad has no such name"):
        USES[use](space["Lacking"])


@pytest.mark.parametrize("path", MODULES)
def test_modules_do_not_have_the_names_that_are_missing(path):
    module = import_module(name_of(path))
    exec(f"from {name_of(path)} import Lacking")
    assert not hasattr(module, "Lacking")
    assert "Lacking" not in dir(module)
    with pytest.raises(AttributeError, match=rf"{module.__name__}\.Lacking: dualgrad has no such name"):
        module.Lacking  # noqa: B018


def test_a_missing_submodule_can_be_imported():
    space = {}
    exec("import mindspore.lacking.below as below; import mindspore.lacking", space)
    with pytest.raises(AttributeError, match=r"mindspore\.lacking\.below: dualgrad has no such name"):
        space["below"]()
    with pytest.raises(AttributeError, match=r"mindspore\.lacking: dualgrad has no such name"):
        space["mindspore"].lacking  # noqa: B018


@pytest.mark.parametrize("path", ["nn", "ops", "numpy"])
def test_errors_name_the_nearest_name(path):
    """A name with one letter too many, or in other cases, is recognised."""
    module = import_module(name_of(path))
    for name in import_module(VIEWS[path]).__all__[::5]:
        for wrong in (f"{name}q", name.swapcase()):
            if len(name) > 3 and not hasattr(module, wrong):
                with pytest.raises(AttributeError, match=rf"Did you mean .*\b{name}\b"):
                    getattr(module, wrong)


# ------------------------------------------------------------------------------------------------------ installing


def test_nothing_is_installed_by_dualgrad_itself():
    result = interpreter("-c", "import sys, dualgrad, dualgrad.nn, dualgrad.numpy; print('mindspore' in sys.modules, "
                         "[f for f in sys.meta_path if 'dualgrad' in type(f).__module__])")  # fmt: skip
    assert result.stdout.split() == ["False", "[]"], result.stderr


@pytest.mark.parametrize("name", ["mindspore", "mindspore.common"])
def test_a_mindspore_that_was_imported_before_is_an_error(name):
    dualgrad.mindspore.uninstall()
    sys.modules[name] = types.ModuleType(name)
    try:
        with pytest.raises(ImportError, match=f"{name} was imported from .* before. Import dualgrad.mindspore first"):
            dualgrad.mindspore.install()
        dualgrad.mindspore.uninstall()
        assert name in sys.modules
    finally:
        del sys.modules[name]


def test_uninstalling_leaves_nothing():
    import_module("mindspore.nn.loss")
    exec("from mindspore.nn import Lacking")
    dualgrad.mindspore.uninstall()
    assert not [name for name in sys.modules if name.partition(".")[0] == "mindspore"]


PROGRAM = """
import sys
from pathlib import Path
import mindspore as ms
import beside
folder = Path(sys.path[0]).samefile(Path(__file__).parent)
print(sys.argv[1:], __name__, ms.Tensor([1.0, 2.0]).sum().item(), beside.here, folder)
"""


@pytest.mark.parametrize("how", [["program.py"], ["./program.py"], ["-m", "program"]])
def test_programs_run_as_they_are(tmp_path, how):
    """Arguments, the name of the module, and what is imported from beside the program are as Python has them."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("from mindspore import nn\nhere = nn.Dense.__name__")
    result = interpreter("-m", "dualgrad.mindspore", *how, "a", "-b", cwd=tmp_path)
    assert result.stdout == "['a', '-b'] __main__ 3.0 Dense True\n", result.stderr


def test_errors_and_exit_codes_of_a_program_are_its_own(tmp_path):
    (tmp_path / "program.py").write_text("import mindspore, sys\nsys.exit(7)")
    assert interpreter("-m", "dualgrad.mindspore", "program.py", cwd=tmp_path).returncode == 7


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ([], 2, "usage: python -m dualgrad.mindspore"),
        (["-m"], 2, "usage: python -m dualgrad.mindspore"),
        (["lacking.py"], 2, "there is no file 'lacking.py'"),
        (["--help"], 0, "usage: python -m dualgrad.mindspore"),
    ],
)
def test_wrong_command_lines_are_explained(tmp_path, arguments, status, text):
    result = interpreter("-m", "dualgrad.mindspore", *arguments, cwd=tmp_path)
    assert (result.returncode, text in result.stdout + result.stderr) == (status, True)


# ------------------------------------------------------------------------------------------------------- recording


@pytest.mark.eager("counts calls of the function")
def test_functions_that_read_names_through_the_alias_are_replayed():
    ms = import_module("mindspore")
    calls = []

    class Energy(ms.nn.Cell):
        def construct(self, x):
            calls.append(1)
            return (ms.ops.sin(x) * ms.ops.functional.exp(x) + ms.numpy.square(x)).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cell = Energy()
        gradient = ms.jit(ms.grad(lambda x: cell(x) * ms.Tensor(2.0)), pure=True)
        x = ms.Tensor([0.5, 1.5])
        values = [gradient(x).asnumpy() for _ in range(5)]
    assert len(calls) == 2
    sine, cosine, power = dg.ops.sin(x), dg.ops.cos(x), dg.ops.exp(x)
    assert abs(values[-1] - (2.0 * ((sine + cosine) * power + 2.0 * x)).asnumpy()).max() < 1e-5


@pytest.mark.eager("counts what is recorded")
def test_guards_follow_names_of_the_alias():
    """A name that is set in the alias is seen by the next call of a recorded function."""
    space = {}
    exec("import mindspore as ms\n@ms.jit\ndef f(x): return ms.ops.kept(x)", space)
    ops = import_module("mindspore.ops")
    x = dg.Tensor(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function, expected in ((dg.ops.square, 9.0), (dg.ops.neg, -3.0)):
            ops.kept = function
            assert [space["f"](x).item() for _ in range(4)] == [expected] * 4


def test_settings_and_decorators_of_the_compiler():
    """What a rule returns is checked whatever `CHECK_BPROP` is, and constructors are as they were."""
    from mindspore._extends import cell_attr_register
    from mindspore._extends.parse import compile_config

    assert compile_config.CHECK_BPROP == ""
    compile_config.CHECK_BPROP = 1
    made = []
    for decorator in (cell_attr_register, cell_attr_register(attrs=["x"])):

        class Doubled(dg.nn.Cell):
            @decorator
            def __init__(self, x):
                super().__init__()
                made.append(x)

            def construct(self, x, y):
                return 2 * x * y

            def bprop(self, x, y, out, dout):
                return (3 * dout,)

        with pytest.raises(RuntimeError, match="Doubled"):
            dg.grad(Doubled(1))(dg.Tensor(2.0), dg.Tensor(3.0))
    assert made == [1, 1]


def test_names_with_a_suffix_are_those_of_mint():
    from mindspore.ops.auto_generate.gen_ops_def import add_ext
    from mindspore.ops.function.array_func import min_ext

    assert add_ext is dg.mint.add
    assert min_ext is dg.mint.min
    assert not hasattr(import_module("mindspore.ops"), "colour_ext")
    assert not hasattr(import_module("mindspore.nn"), "add_ext")


def test_what_hides_shapes_from_the_compiler_is_the_identity():
    from mindspore.ops.operations import _inner_ops

    value = dg.Tensor([1.0, 2.0])
    hide = _inner_ops.ConvertToDynamic(is_dynamic_rank=True).add_prim_attr("primitive_target", "CPU")
    assert hide(value) is value


def test_no_shape_or_value_is_unknown():
    from mindspore.ops import functional as F

    assert F.is_sequence_value_unknown((1, 2)) is F.is_sequence_shape_unknown((1, 2)) is False


def test_launch_blocking_computes_each_call_at_once():
    import mindspore

    before = dg.get_context("pynative_synchronize")
    try:
        mindspore.runtime.launch_blocking()
        assert dg.get_context("pynative_synchronize") is True
    finally:
        dg.set_context(pynative_synchronize=before)
