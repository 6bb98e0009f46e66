"""Modes, devices and the keywords that are only remembered.

Warnings are errors in this test suite, so a call outside `pytest.warns` is a call that must not warn.
"""

import inspect
import os
import subprocess
import sys
import warnings

import pytest
from engine import synchronize

import dualgrad as dg
from dualgrad import context

pytestmark = pytest.mark.eager("sets modes itself")

# Keywords that scripts for MindSpore set, with a value as they write it.
OTHERS = {
    "device_id": 3,
    "max_device_memory": "3.5GB",
    "variable_memory_max_size": "6GB",
    "mempool_block_size": "2GB",
    "memory_optimize_level": "O1",
    "memory_offload": "ON",
    "op_timeout": 600,
    "save_graphs": True,
    "save_graphs_path": "./graphs",
    "enable_dump": True,
    "save_dump_path": "dump",
    "print_file_path": "print.pb",
    "env_config_path": "env.json",
    "precompile_only": True,
    "reserve_class_name_in_scope": False,
    "pynative_synchronize": True,
    "debug_level": 1,
    "enable_graph_kernel": True,
    "graph_kernel_flags": "--opt_level=2",
    "enable_reduce_precision": False,
    "enable_auto_mixed_precision": True,
    "enable_sparse": True,
    "auto_tune_mode": "RL",
    "aoe_tune_mode": "online",
    "aoe_config": {"job_type": "2"},
    "check_bprop": True,
    "max_call_depth": 80,
    "grad_for_scalar": True,
    "enable_compile_cache": True,
    "compile_cache_path": "./cache",
    "save_compile_cache": True,
    "load_compile_cache": True,
    "inter_op_parallel_num": 4,
    "runtime_num_threads": 10,
    "disable_format_transform": True,
    "support_binary": True,
    "deterministic": "ON",
    "ascend_config": {"precision_mode": "force_fp16"},
    "gpu_config": {"conv_fprop_algo": "performance"},
    "jit_syntax_level": 0,
    "jit_config": {"jit_level": "O0"},
    "jit_level": "O0",
    "jit_enable_inplace_ops": False,
    "exec_order": "bfs",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """A process that has not warned yet; afterwards everything is as it was."""
    monkeypatch.setattr(context, "_settings", dict(context._settings))
    monkeypatch.setattr(context, "_mode", context._mode)
    monkeypatch.setattr(context, "_warned", set())
    former = synchronize(False)
    yield
    synchronize(former)


def everything():
    return {key: dg.get_context(key) for key in ("mode", "device_target", *OTHERS)}


def test_names():
    assert (dg.GRAPH_MODE, dg.PYNATIVE_MODE) == (0, 1)
    assert (context.GRAPH_MODE, context.PYNATIVE_MODE) == (0, 1)
    assert dg.context is context
    assert dg.set_context is context.set_context
    assert dg.get_context is context.get_context


def test_defaults():
    assert dg.get_context("mode") == context.mode() == dg.PYNATIVE_MODE
    assert dg.get_context("device_target") == "CPU"
    assert dg.get_context("device_id") == 0
    assert dg.get_context("save_graphs") is False
    assert dg.get_context("max_call_depth") == 1000


@pytest.mark.parametrize("chosen", [dg.GRAPH_MODE, dg.PYNATIVE_MODE])
def test_the_mode_is_what_was_set(chosen):
    dg.set_context(mode=1 - chosen)
    dg.set_context(mode=chosen)
    assert dg.get_context("mode") == dg.get_context(attr_key="mode") == context.mode() == chosen


@pytest.mark.parametrize("wrong", [2, -1, 0.5, "GRAPH_MODE", None, True, False, [1]], ids=repr)
def test_other_modes_are_refused(wrong):
    with pytest.raises(ValueError, match=r"^set_context: got mode=.*GRAPH_MODE \(0\) or PYNATIVE_MODE \(1\)"):
        dg.set_context(mode=wrong)
    assert dg.get_context("mode") == dg.PYNATIVE_MODE


def test_the_cpu_is_silent():
    dg.set_context(device_target="CPU")
    assert dg.get_context(attr_key="device_target") == "CPU"


@pytest.mark.parametrize("target", ["GPU", "Ascend"])
def test_other_devices_are_accepted_with_one_warning(target):
    with pytest.warns(UserWarning, match=f"device_target='{target}'.* computes on the CPU") as caught:
        dg.set_context(device_target=target)
    assert len(caught) == 1
    assert dg.get_context("device_target") == target
    dg.set_context(device_target="CPU")
    dg.set_context(device_target=target)  # a second warning would be an error
    assert dg.get_context("device_target") == target


def test_each_device_warns_once():
    for target in ("GPU", "Ascend"):
        with pytest.warns(UserWarning, match=f"device_target='{target}'"):
            dg.set_context(device_target=target)
    for target in ("GPU", "Ascend"):
        dg.set_context(device_target=target)


def test_a_keyword_that_is_not_the_target_does_not_warn():
    with pytest.warns(UserWarning, match="Ascend"):
        dg.set_context(device_target="Ascend")
    context._warned.clear()
    dg.set_context(mode=dg.GRAPH_MODE, device_id=1)


@pytest.mark.parametrize("set_target", [lambda: dg.set_context(device_target="GPU"), lambda: context.set_device("GPU")])
def test_the_warning_points_at_the_callers_line(set_target):
    with pytest.warns(UserWarning, match="GPU") as caught:
        set_target()
    assert caught[0].filename == __file__
    assert caught[0].lineno == inspect.getsourcelines(set_target)[1]


@pytest.mark.parametrize("target", ["cpu", "TPU", "", None, 0, ["CPU"]], ids=repr)
def test_other_targets_are_refused(target):
    with pytest.raises(ValueError, match=r"^set_context: got device_target=.*'CPU', 'GPU', 'Ascend'"):
        dg.set_context(device_target=target)
    assert dg.get_context("device_target") == "CPU"


@pytest.mark.parametrize("keyword", OTHERS)
def test_other_keywords_are_remembered(keyword):
    """With one warning, unless they have a meaning, or belong to the device, which warns itself."""
    before = everything()
    assert dg.get_context(keyword) != OTHERS[keyword]
    dg.set_context(**{keyword: before[keyword]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            dg.set_context(**{keyword: OTHERS[keyword]})
    assert everything() == before | {keyword: OTHERS[keyword]}
    warned = [str(warning.message) for warning in caught]
    if keyword in ("device_id", "pynative_synchronize"):
        assert warned == []
    else:
        assert len(warned) == 1
        assert warned[0].startswith(f"set_context: {keyword} changed nothing: it has no meaning here")


def test_keywords_of_one_call_share_a_warning():
    with pytest.warns(UserWarning, match="memory_optimize_level, max_call_depth changed nothing: they have") as caught:
        dg.set_context(max_call_depth=5000, memory_optimize_level="O1")
    assert (len(caught), caught[0].filename) == (1, __file__)


def test_the_engine_is_told_whether_to_compute_at_once():
    for chosen in (True, False, True):
        dg.set_context(pynative_synchronize=chosen)
        assert synchronize(chosen) is chosen


@pytest.mark.parametrize("wrong", [1, 0, None, "yes"], ids=repr)
def test_computing_at_once_is_a_bool(wrong):
    before = everything()
    with pytest.raises(ValueError, match=r"^set_context: got pynative_synchronize=.*Expected True or False"):
        dg.set_context(mode=dg.GRAPH_MODE, pynative_synchronize=wrong)
    assert everything() == before


@pytest.mark.parametrize("value", ["", "0", "1"])
def test_the_environment_says_whether_to_compute_at_once(value):
    code = "import dualgrad as dg; print(dg.get_context('pynative_synchronize'))"
    environment = {**os.environ, "DUALGRAD_SYNCHRONOUS": value, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(value == "1")


def test_the_keywords_that_are_known_are_those_tested_here():
    assert set(context._settings) == {"device_target", "native", *OTHERS}  # native: tests/native


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [
        ("save_graph", "Did you mean 'save_graphs'"),
        ("modes", "Did you mean 'mode'"),
        ("device", "Did you mean 'device_id'"),
        ("colour", "MindSpore's set_context.$"),
    ],
)
def test_unknown_keywords_are_refused(keyword, hint):
    with pytest.raises(ValueError, match=f"^set_context: the keyword '{keyword}' is not known.*{hint}"):
        dg.set_context(**{keyword: 1})
    with pytest.raises(ValueError, match=f"^get_context: the keyword '{keyword}' is not known.*{hint}"):
        dg.get_context(keyword)


@pytest.mark.parametrize("wrong", [{"mode": 7}, {"device_target": "TPU"}, {"colour": 1}], ids=str)
def test_nothing_is_set_when_one_argument_is_wrong(wrong):
    before = everything()
    with pytest.raises(ValueError, match=r"^set_context: "):
        dg.set_context(**({"mode": dg.GRAPH_MODE, "device_target": "GPU", "device_id": 5} | wrong))
    assert everything() == before
    assert not context._warned


def test_several_settings_at_once():
    with pytest.warns(UserWarning, match="GPU"):
        dg.set_context(mode=dg.GRAPH_MODE, device_target="GPU", save_graphs=False, device_id=1)
    assert (context.mode(), dg.get_context("device_target"), dg.get_context("save_graphs")) == (0, "GPU", False)
    assert dg.get_context("device_id") == 1


def test_nothing_at_all():
    before = everything()
    dg.set_context()
    assert everything() == before


def test_settings_are_keywords():
    with pytest.raises(TypeError):
        dg.set_context(dg.GRAPH_MODE)


def test_set_device():
    with pytest.warns(UserWarning, match=r"^set_device: device_target='Ascend'"):
        context.set_device("Ascend", 2)
    assert (dg.get_context("device_target"), dg.get_context("device_id")) == ("Ascend", 2)
    context.set_device("CPU")
    assert (dg.get_context("device_target"), dg.get_context("device_id")) == ("CPU", 0)
    with pytest.raises(ValueError, match=r"^set_device: got device_target='TPU'"):
        context.set_device("TPU")
