"""What a ledger records of the looks at a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stereotrope.run import Ledger
from stereotrope.run.looks import LOOKS, RecordedLook, looks_in, looks_told, record_look, restore_looks

ONE = RecordedLook("a", 12, 0.04, {"p": 0.01}, "2026-01-01 00:00:00 UTC")


def test_a_ledger_of_a_version_that_recorded_none_has_no_looks(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.put("generate", "k", {})
        assert looks_in(ledger) == looks_told(ledger) == []


def test_a_look_is_recorded_once_and_keeps_its_error_and_time(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        record_look(ledger, ONE)
        record_look(ledger, replace(ONE, time=""))
        assert len(ledger.get_all(LOOKS)) == 1
        record_look(ledger, replace(ONE, told={"q": 0.02}, alpha=0.01, time=""))
        assert looks_in(ledger) == [replace(ONE, told={"q": 0.02})]
        assert len(ledger.get_all(LOOKS)) == 2


def test_prompts_of_a_look_are_recorded_once_too(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        for texts in (["1f"], [], ["1f"]):
            record_look(ledger, replace(ONE, factors=["object"], texts=texts))
        record_look(ledger, replace(ONE, factors=["object"], texts=["1f"]))
        assert len(ledger.get_all(LOOKS)) == 3
        assert looks_in(ledger)[0].factors == ["object"]


def test_looks_stand_in_the_order_in_which_they_were_made_first(tmp_path: Path) -> None:
    names = [f"look {i}" for i in range(12)]
    with Ledger(tmp_path / "ledger.db") as ledger:
        for name in [*names, names[0]]:
            record_look(ledger, replace(ONE, identity=name, told={name: 0.01}, time=""))
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert [one.identity for one in looks_in(ledger)] == names
        assert all(one.time.endswith("UTC") for one in looks_in(ledger))
        last = {"look": 12, "identity": "look 11", "pictures": 12, "planned": None}
        last |= {"alpha": pytest.approx(0.04), "told": 1}
        assert looks_told(ledger)[11] == last


def test_a_look_is_recorded_beside_one_that_damage_took(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        for name in "abc":
            record_look(ledger, replace(ONE, identity=name))
        ledger.forget(LOOKS, ["000000001"])
        record_look(ledger, replace(ONE, identity="d"))
        assert [one.identity for one in looks_in(ledger)] == ["b", "c", "d"]


def test_looks_that_the_ledger_lacks_are_recorded_again_with_their_error(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        for name in "abc":
            record_look(ledger, replace(ONE, identity=name, planned=5))
        told = looks_told(ledger)
        assert restore_looks(ledger, told) == 0
        assert looks_told(ledger) == told
        ledger.forget(LOOKS, ["000000001"])
        assert restore_looks(ledger, told) == 1
        assert [(one.identity, one.alpha, len(one.told)) for one in looks_in(ledger)] == [
            *(("b", 0.04, 1), ("c", 0.04, 1), ("a", 0.04, 0))
        ]
        # A version before named no look.
        unnamed = [{"look": 4, "pictures": 9, "planned": 5, "alpha": 0.01, "told": 2}]
        assert restore_looks(ledger, [*told, *unnamed]) == 1
        assert looks_in(ledger)[-1].alpha == 0.01
