"""A run that has nothing new to measure takes what it measured; any change is measured."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stereotrope import Audit, version
from stereotrope.audit import unchanged
from stereotrope.audit.estimating import estimate
from stereotrope.plugins import Registry
from stereotrope.run import Ledger
from stereotrope.run.looks import LOOKS

AUDIT = """\
generators:
  - {labels: labels.csv, name_from: model, factors: [thing, group]}
annotators:
  - {labels: labels.csv, name: people, attributes: [colour]}
baseline: {group: base}
measures:
  - {share: colour}
  - {share_difference: colour, group: group}
report: {figures: false}
"""

Run = Callable[[], int]


def _labels(n_red: int) -> str:
    """24 pictures of cups a group: of men all are blue, otherwise the first are red."""
    rows = [
        f"{group}{i:02d}.png,m,cup,{group},{'red' if group == 'base' and i < n_red else 'blue'}"
        for group in ("base", "men")
        for i in range(24)
    ]
    return "\n".join(["file_name,model,thing,group,colour", *rows, ""])


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Has an entry whenever something was measured."""
    made: list[str] = []

    def counted(*given: Any, **more: Any) -> Any:
        made.append("measured")
        return estimate(*given, **more)

    monkeypatch.setattr("stereotrope.audit.measuring.estimate", counted)
    return made


@pytest.fixture
def run(tmp_path: Path, measured: list[str]) -> Run:
    """Carries the audit out into ``run``, and says how often it was measured."""
    (tmp_path / "audit.yaml").write_text(AUDIT)
    (tmp_path / "labels.csv").write_text(_labels(20))

    def carry_out() -> int:
        measured.clear()
        Audit.from_yaml(tmp_path / "audit.yaml").run(tmp_path / "run")
        return len(measured)

    assert carry_out() == 1
    return carry_out


def _files(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("ledger.db")]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files if file.name != ".lock"}


def test_nothing_new_is_not_measured_again_and_every_file_is_the_same(run: Run, tmp_path: Path) -> None:
    before = _files(tmp_path / "run")
    found = pl.read_parquet(tmp_path / "run" / "findings.parquet")
    assert "difference" in found["list"]
    assert run() == 0
    assert _files(tmp_path / "run") == before
    assert run() == 0


def test_a_changed_label_is_measured(run: Run, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(_labels(12))
    assert run() == 1
    shares = pl.read_parquet(tmp_path / "run" / "estimates.parquet").filter(measure="share", category="red")
    assert shares.filter(group="base")["numerator"].to_list() == [12]
    assert run() == 0


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("report: {figures: false}", "report: {figures: false, level: 0.9}"),
        ("report:", "seed: 3\nreport:"),
        ("  - {share: colour}\n", ""),
        ("name: people", "name: crowd"),
        ("report:", "looks: 2\nreport:"),
    ],
)
def test_another_audit_file_is_measured(run: Run, tmp_path: Path, what: str, other: str) -> None:
    assert what in AUDIT
    (tmp_path / "audit.yaml").write_text(AUDIT.replace(what, other))
    assert run() == 1


def test_another_text_of_the_program_is_measured(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "program_text_hash", lambda: "another")
    assert run() == 1
    assert run() == 0


def test_a_text_that_changed_since_the_process_began_is_that_of_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = version.program_text_hash.__wrapped__
    monkeypatch.setattr(version, "_BEGAN", float("inf"))
    assert text() == text()
    monkeypatch.setattr(version, "_BEGAN", 0.0)
    assert text() != text()


def test_annotators_of_other_packages_are_always_measured(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    used = {"another": {"version": "1", "annotators": ["labels"]}}
    monkeypatch.setattr("stereotrope.audit.assemble.packages_used", lambda plan: used)
    assert run() == 1
    assert run() == 1


@pytest.mark.parametrize("name", ["run[1]", "run*", "r?n", "[run]", "run{a,b}"])
def test_a_folder_whose_name_is_a_pattern_has_its_own_tables(
    run: Run, tmp_path: Path, measured: list[str], name: str
) -> None:
    run()  # of another audit, in a folder that most of the patterns name too
    (tmp_path / "run").rename(tmp_path / "run1")
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("report:", "seed: 3\nreport:"))
    (tmp_path / "labels.csv").write_text(_labels(12))
    before = None
    for _ in range(2):
        measured.clear()
        Audit.from_yaml(tmp_path / "audit.yaml").run(tmp_path / name)
        before = before or _files(tmp_path / name)
        assert _files(tmp_path / name) == before
    assert not measured


def test_measures_of_other_packages_are_always_measured(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Registry, "origin", lambda self, name: "another")
    assert run() == 1
    assert run() == 1


@pytest.mark.parametrize("name", ["estimates", "comparisons", "findings", "robustness"])
def test_a_table_changed_by_hand_is_measured_and_written_again(run: Run, tmp_path: Path, name: str) -> None:
    file = tmp_path / "run" / f"{name}.parquet"
    before = file.read_bytes()
    pl.read_parquet(file).clear().write_parquet(file)
    assert run() == 1
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", ["images", "labels", "prompts"])
def test_a_table_that_is_measured_is_made_of_the_ledger(run: Run, tmp_path: Path, name: str) -> None:
    file = tmp_path / "run" / f"{name}.parquet"
    before = file.read_bytes()
    pl.read_parquet(file).head(3).write_parquet(file)
    assert run() == 0
    assert file.read_bytes() == before


@pytest.mark.parametrize("change", [Path.unlink, lambda file: file.write_bytes(file.read_bytes()[:-1])])
def test_what_was_remembered_may_be_lost_or_torn(
    run: Run, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    change(tmp_path / "run" / "cache" / "measured")
    assert run() == 1
    assert run() == 0


def test_a_look_that_its_ledger_lost_is_recorded_again(run: Run, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "run" / "ledger.db")
    ledger.forget(LOOKS, ledger.get_all(LOOKS))
    ledger.close()
    assert run() == 1
    ledger = Ledger(tmp_path / "run" / "ledger.db")
    assert ledger.get_all(LOOKS)
    ledger.close()


def test_measuring_on_request_measures(run: Run, tmp_path: Path, measured: list[str]) -> None:
    assert run() == 0
    Audit.from_run(tmp_path / "run").measure(tmp_path / "run")
    assert measured == ["measured"]


def test_the_same_rows_have_one_hash_however_their_texts_came_together() -> None:
    texts = [f"a text that is longer than twelve letters {i}" for i in range(4)]
    rows = pl.DataFrame({"n": range(4), "text": texts})
    turned = rows.reverse().sort("n")
    assert turned.equals(rows)
    assert unchanged._digest(turned) == unchanged._digest(rows)
    assert unchanged._digest(rows.reverse()) != unchanged._digest(rows)
    assert unchanged._digest(rows.with_columns(pl.col("n").cast(pl.Int32))) != unchanged._digest(rows)
