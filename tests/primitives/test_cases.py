"""Every case of every operator, through every way of differentiating it: see `dualgrad.testing.check`."""

import pytest
from cases import Case, all_cases

import dualgrad as dg
from dualgrad.testing import check
from dualgrad.testing.checks import TRACED, TWICE

CASES = all_cases()


@pytest.mark.rotated("case", key="operator")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_way_of_differentiating_agrees(case: Case):
    report = check(
        case.fn,
        case.args,
        order=case.order,
        smooth=case.smooth,
        rtol=case.rtol,
        narrow="float32" in case.narrow,
        batched=case.batched,
    )
    if dg.get_context("mode") == dg.PYNATIVE_MODE:
        assert report.errors[TWICE] == report.errors[TRACED] == 0.0
