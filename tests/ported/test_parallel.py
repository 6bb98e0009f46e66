"""Settings of parallel training: remembered with one warning, refused where they speak of other processes."""

import warnings

import pytest

import dualgrad as dg
from dualgrad import context, parallel
from dualgrad.parallel import ParallelMode


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    monkeypatch.setattr(parallel, "_settings", dict(parallel._DEFAULTS))
    monkeypatch.setattr(parallel, "_warned", False)


@pytest.mark.parametrize("name", context.__all__)
def test_names_are_found_at_the_top_and_in_context(name):
    if name not in ("mode", "STRICT", "COMPATIBLE", "LAX"):  # words that say too little at the top
        assert getattr(dg, name) is getattr(context, name)


@pytest.mark.parametrize("keyword", parallel._DEFAULTS)
def test_settings_are_remembered_until_they_are_reset(keyword):
    default = dg.get_auto_parallel_context(keyword)
    other = (
        default if keyword in parallel._OF_ONE_PROCESS else "data_parallel" if keyword == "parallel_mode" else "other"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dg.set_auto_parallel_context(**{keyword: other})
    assert dg.get_auto_parallel_context(attr_key=keyword) == other
    dg.reset_auto_parallel_context()
    assert dg.get_auto_parallel_context(keyword) == default


@pytest.mark.parametrize("mode", [mode for mode in ParallelMode.MODE_LIST if mode != ParallelMode.STAND_ALONE])
def test_a_mode_for_several_processes_warns_once(mode):
    dg.set_auto_parallel_context(parallel_mode=ParallelMode.STAND_ALONE)
    with pytest.warns(UserWarning, match=f"parallel_mode='{mode}' is accepted, but this process") as caught:
        dg.set_auto_parallel_context(parallel_mode=mode, gradients_mean=True)
    assert caught[0].filename == __file__
    dg.set_auto_parallel_context(parallel_mode=mode)  # a second warning would be an error
    assert parallel._get_parallel_mode() == mode
    assert parallel._get_gradients_mean() is True


@pytest.mark.parametrize("wrong", [{"device_num": 8}, {"global_rank": 1}, {"pipeline_stages": 2}], ids=str)
def test_other_processes_are_refused(wrong):
    with pytest.raises(ValueError, match=r"^set_auto_parallel_context: got .*dualgrad computes in one process"):
        dg.set_auto_parallel_context(gradients_mean=True, **wrong)
    assert dg.get_auto_parallel_context("gradients_mean") is False
    dg.set_auto_parallel_context(**{key: dg.get_auto_parallel_context(key) for key in wrong})


@pytest.mark.parametrize("wrong", [{"device_number": 1}, {"parallel_mode": "fast"}], ids=str)
def test_what_is_not_known_is_refused(wrong):
    with pytest.raises(ValueError, match=r"^set_auto_parallel_context: .* Expected one of"):
        dg.set_auto_parallel_context(**wrong)
    with pytest.raises(ValueError, match=r"^get_auto_parallel_context: the keyword 'device_number' is not known"):
        dg.get_auto_parallel_context("device_number")


def test_this_process_is_the_only_one():
    found = parallel._get_device_num(), parallel._get_stage_device_num(), parallel._get_global_rank()
    assert found == (1, 1, 0)
    assert not parallel._is_role_pserver()
    parallel._device_number_check("data_parallel", 4)
    with pytest.raises(ValueError, match="there are 4 devices"):
        parallel._device_number_check("stand_alone", 4)


def test_parameters_are_neither_divided_nor_kept_elsewhere():
    parameter = dg.Parameter([1.0], name="w", layerwise_parallel=True)
    assert (parameter.layerwise_parallel, parameter.cache_enable) == (False, False)
