"""Runs of whole audits, held against what they said before."""

import pytest
from tests.golden.audits import AUDITS, KEPT, OURS
from tests.golden.compare import assert_as_kept

import stereotrope as st


@pytest.mark.parametrize("name", ["captions", "judges"])
def test_a_run_says_what_it_said_before(name, tmp_path, shared, undrawn):
    assert_as_kept(AUDITS[name](tmp_path, shared / "data"), name)


@pytest.mark.slow
def test_the_demo_says_what_it_said_before(tmp_path, shared):
    assert_as_kept(AUDITS["demo"](tmp_path, shared / "data"), "demo")


@pytest.mark.parametrize("name", OURS)
def test_a_run_of_format_1_is_opened(name):
    run = st.open(KEPT / name)
    assert run.info["format_version"] == 1
    assert run.labels.height
    assert run.estimates["value"].is_null().equals(run.estimates["undefined"].is_not_null())
