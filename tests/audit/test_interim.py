"""A run that grows records its looks, and what one of them told stays told."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import stereotrope as st
from stereotrope.audit import Audit
from stereotrope.audit.interim import look_at_run
from stereotrope.audit.work import Missing
from stereotrope.errors import AuditFileError
from stereotrope.measure.differences import differing
from stereotrope.run import Ledger, Run, RunFolder
from stereotrope.run.looks import LOOKS, looks_in, record_look

AUDIT = """\
suite: objects
objects: [cup, car]
dimensions: {gender: [men, women]}
images_per_prompt: 12
generators: [{calibrated: , size: 48}]
annotators: [blank, duplicates, colour]
permutations: 199
resamples: 100
measures: [share_difference]
"""


def carried_out(folder: Path, *, n: int = 12, more: str = "") -> Run:
    text = AUDIT.replace("images_per_prompt: 12", f"images_per_prompt: {n}")
    if "measures" in more:
        text = text.replace("measures: [share_difference]\n", "")
    text += more
    return Audit.from_text(text).run(folder)


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory) -> Path:
    """A run of twelve pictures a condition."""
    folder = tmp_path_factory.mktemp("looks") / "run"
    carried_out(folder)
    return folder


@pytest.fixture
def run(looked_at: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(looked_at, tmp_path / "run"))


def alphas(run: Run) -> list[float]:
    return run.looks["alpha"].to_list()


def differences(run: Run) -> set[tuple[str, str]]:
    told = run.findings.filter(list="difference")
    return set(told.select("scope", "attribute").iter_rows())


def test_the_same_pictures_measured_again_are_one_look(run: Path) -> None:
    before = st.open(run)
    assert alphas(before) == pytest.approx([0.04])
    (look,) = before.info["looks"]
    assert len(look.pop("identity")) == 64
    assert look == {"look": 1, "pictures": 72, "planned": "open", "alpha": 0.04, "told": 5}
    assert "false discovery rate 0.04 over all" in before.findings["sentence"][0]
    findings = (run / "findings.parquet").read_bytes()
    carried_out(run)
    assert (run / "findings.parquet").read_bytes() == findings
    other = carried_out(run, more="measures: [share, share_difference]\n")
    assert alphas(other) == pytest.approx([0.04])
    assert not other.findings["sentence"][0].startswith("Second look")


def test_more_pictures_are_a_second_look_and_what_was_told_stays_told(run: Path) -> None:
    before = differences(st.open(run))
    grown = carried_out(run, n=16)
    assert alphas(grown) == pytest.approx([0.04, 0.005])
    assert grown.looks["pictures"].to_list() == [72, 96]
    assert grown.findings["sentence"][0].startswith("Second look at this run: ")
    assert len(before) == 5
    assert before <= differences(grown)
    assert grown.comparisons.filter(verdict="differs").height >= 5
    kept = grown.findings.filter(pl.col("sentence").str.contains("at an earlier look"))
    assert kept["q_value"].drop_nulls().is_between(0, 0.04).all()
    assert kept.height
    # Back to the pictures of the first look, which is no third one.
    again = carried_out(run)
    assert alphas(again) == pytest.approx([0.04, 0.005])
    assert again.findings["sentence"][0].startswith(("5 of", "4 of", "6 of"))


def test_a_ledger_that_lost_its_looks_gives_no_error_twice(run: Path) -> None:
    with Ledger(run / "ledger.db") as ledger:
        ledger.forget(LOOKS, ledger.get_all(LOOKS))
    with RunFolder(run) as into:
        assert any("looks of run.json that the ledger lacked: 1; their error" in note for note in into.notes)
    assert alphas(carried_out(run, n=16)) == pytest.approx([0.04, 0.005])


JOINED = {
    "phrasing": ("phrasings: [for, designed for]\n", "for"),
    "mitigation": ('mitigations: {none: "", range: with a wide range of styles}\n', "none"),
}


@pytest.mark.parametrize("factor", JOINED)
def test_what_was_told_stays_told_where_a_factor_joins_the_design(run: Path, factor: str) -> None:
    """The pictures of the first look stand in one level of it, where they are known by their prompts."""
    more, level = JOINED[factor]
    before = differences(st.open(run))
    grown = carried_out(run, more=more)
    assert grown.findings["sentence"][0].startswith("Second look at this run: ")
    told = [(json.loads(scope), attribute) for scope, attribute in differences(grown)]
    there = {
        (json.dumps({f: x for f, x in scope.items() if f != factor}, sort_keys=True), attribute)
        for scope, attribute in told
        if scope.get(factor, level) == level
    }
    assert len(before) == 5
    assert {(json.dumps(json.loads(scope), sort_keys=True), a) for scope, a in before} <= there
    # And what the second look told stays with more pictures.
    assert differences(grown) <= differences(carried_out(run, more=more, n=13))


def test_prompts_that_are_others_keep_nothing(run: Path) -> None:
    """What is told of a level is not told of another that joins."""
    more, level = JOINED["mitigation"]
    before = differences(st.open(run))
    grown = carried_out(run, more=more)
    kept = grown.findings.filter(pl.col("sentence").str.contains("at an earlier look"))
    assert 0 < kept.height <= len(before)
    assert all(json.loads(scope).get("mitigation", level) == level for scope in kept["scope"])


def test_planned_looks_share_the_error_and_a_further_one_tells_nothing_new(tmp_path: Path) -> None:
    for n, told in (
        (8, "First of 2 planned looks"),
        (10, "Second of 2 planned looks"),
        (12, "The 2 planned"),
    ):
        run = carried_out(tmp_path / "run", n=n, more="looks: 2\n")
        assert run.findings["sentence"][0].startswith(told)
    assert alphas(run) == pytest.approx([0.025, 0.025])
    opened = carried_out(tmp_path / "run", n=12)
    assert opened.findings["sentence"][0].startswith("The looks before this one have spent the whole error")
    assert differences(opened) == differences(run)


@pytest.mark.parametrize(
    ("before", "after", "shares", "lead", "told"),
    [
        (["open"], 5, [0.04, 0.0025], "Second of 5", "`looks: open` up to look 1, `looks: 5` since then. "
         "What is spent stays spent, 0.04 of 0.05; 4 more share the other 0.01."),
        ([5, 5], 3, [0.01, 0.01, 0.03], "Third of 3", "0.02 of 0.05; one more is given the other 0.03."),
        ([5, 5], 2, [0.01, 0.01, 0.03], "Third look", "0.02 of 0.05; one more is given the other 0.03."),
        ([2], "open", [0.025, 0.02], "Second look", "the looks since then share the other 0.025."),
        ([2, 2], 5, [0.025, 0.025, 0.0], "Third of 5", "0.05 of 0.05; nothing is left."),
        ([5, 3], 5, [0.01, 0.02, 0.02 / 3], "Third of 5", "`looks: 3` up to look 2, `looks: 5` since then. "
         "What is spent stays spent, 0.03 of 0.05; 3 more share the other 0.02."),
        ([None, 2], 2, [0.025, 0.025, 0.0], "Third look", None),
    ],
)  # fmt: skip
def test_a_changed_plan_shares_what_is_left_and_says_so(
    run: Path, tmp_path, before, after, shares, lead, told
):
    images, labels = st.open(run).images, st.open(run).labels
    with Ledger(tmp_path / "ledger.db") as ledger:
        for at, plan in enumerate([*before, after], start=1):
            number = 2 if plan is None else None if plan == "open" else plan
            made = look_at_run(ledger, images.head(10 * at), labels, [], planned=number)
            # None stands for a look of a version that did not record the plan.
            record_look(ledger, replace(made.recorded, planned=plan))
        assert [one.alpha for one in looks_in(ledger)] == pytest.approx(shares)
        assert made.look.lead.startswith(lead)
        assert made.look.changed.endswith(told) if told else made.look.changed == ""


def test_a_plan_that_changes_after_a_look_counts_from_the_next_on(tmp_path: Path) -> None:
    first = carried_out(tmp_path / "run", n=8, more="looks: 2\n").findings["sentence"][0]
    again = carried_out(tmp_path / "run", n=8, more="looks: 5\n")
    said = "`looks: 5` came after this look (`looks: 2`) and counts from the next on."
    assert again.findings["sentence"][0] == f"{first} {said}"
    assert again.looks["planned"].to_list() == ["2"]
    grown = carried_out(tmp_path / "run", n=10, more="looks: 5\n")
    assert alphas(grown) == pytest.approx([0.025, 0.025 / 4])
    assert "4 more share the other 0.025." in grown.findings["sentence"][0]


def test_looks_must_be_a_number_or_open() -> None:
    for wrong in ("0", "-1", "1.5", "often"):
        with pytest.raises(AuditFileError, match="looks"):
            Audit.from_text(f"{AUDIT}looks: {wrong}\n")


@pytest.mark.parametrize("before_record", [True, False], ids=["before it is recorded", "before the tables"])
def test_a_run_killed_at_its_findings_ends_in_the_same_ones(
    looked_at, tmp_path, monkeypatch, before_record
) -> None:
    class Killed(BaseException):
        pass

    def kill(*_, **__):
        raise Killed

    calm = Path(shutil.copytree(looked_at, tmp_path / "calm"))
    carried_out(calm, n=16)
    run = Path(shutil.copytree(looked_at, tmp_path / "killed"))
    with monkeypatch.context() as patch:
        if before_record:
            patch.setattr("stereotrope.audit.interim.record_look", kill)
        else:
            patch.setattr(RunFolder, "write_tables", kill)
        with pytest.raises(Killed):
            carried_out(run, n=16)
    carried_out(run, n=16)
    for file in ("run.json", "findings.parquet", "comparisons.parquet"):
        assert (run / file).read_bytes() == (calm / file).read_bytes()
    with Ledger(run / "ledger.db") as ledger:
        assert len(ledger.get_all(LOOKS)) == 2


def test_a_run_of_a_version_that_recorded_no_looks_has_none_yet(run: Path) -> None:
    with RunFolder(run) as into:
        into.ledger.forget(LOOKS, into.ledger.get_all(LOOKS))
    info = json.loads((run / "run.json").read_text())
    del info["looks"]
    (run / "run.json").write_text(json.dumps(info))
    assert st.open(run).looks.height == 0
    assert alphas(carried_out(run)) == pytest.approx([0.04])


def test_where_nothing_could_be_found_no_error_is_spent(tmp_path: Path) -> None:
    described = carried_out(tmp_path / "run", n=6, more="measures: [share]\n")
    assert described.info["looks"] == []
    assert described.looks.height == 0
    empty = differing([], None, alpha=0.04)  # type: ignore[arg-type]
    with RunFolder(tmp_path / "run") as into:
        look_at_run(into.ledger, described.images, described.labels, [], planned=None).record(
            into.ledger, empty
        )
        assert looks_in(into.ledger) == []
    assert alphas(carried_out(tmp_path / "run", n=12)) == pytest.approx([0.04])


def test_a_look_at_a_run_that_was_cut_short_leaves_its_error_to_the_whole(run: Path, tmp_path: Path) -> None:
    images, labels = st.open(run).images, st.open(run).labels
    lacking = Missing("generate", "m", 72, 144, "the server went away")
    unlabelled = Missing("annotate", "judge", 36, 72, "the server went away")
    with Ledger(tmp_path / "ledger.db") as ledger:

        def alpha(*missing: Missing) -> float:
            return look_at_run(ledger, images, labels, missing, planned=None).alpha

        assert alpha() == pytest.approx(0.04)
        assert alpha(lacking) == pytest.approx(0.04 / 8)
        assert alpha(lacking, unlabelled) == pytest.approx(0.04 / 64)


def test_a_first_look_that_lacks_an_annotator_says_so_and_not_that_looks_before_spent_the_error(
    run: Path, tmp_path: Path
) -> None:
    images, labels = st.open(run).images, st.open(run).labels
    silent = Missing("annotate", "judge", 72, 72, "the server went away")
    with Ledger(tmp_path / "ledger.db") as ledger:
        look = look_at_run(ledger, images, labels, [silent], planned=None)
        assert (look.alpha, look.look.postponed) == (0, True)
        assert look.look.silent.startswith("This look tests nothing: a part of what was asked for")
        assert not look_at_run(ledger, images, labels, [], planned=None).look.postponed


def test_other_pictures_refusals_and_further_labels_are_another_look(run: Path, tmp_path: Path) -> None:
    images, labels = st.open(run).images, st.open(run).labels
    first = pl.col("image_id") == images["image_id"][0]

    def when(column: str, value: str) -> pl.DataFrame:
        return images.with_columns(pl.when(first).then(pl.lit(value)).otherwise(column).alias(column))

    seen = labels.filter(pl.col("subject_id") != images["image_id"][0])
    another = labels.with_columns(annotator=pl.lit("rater"))
    with Ledger(tmp_path / "ledger.db") as ledger:

        def identity(images: pl.DataFrame, labels: pl.DataFrame) -> str:
            return look_at_run(ledger, images, labels, [], planned=None).recorded.identity

        own = identity(images, labels)
        assert identity(images.reverse(), labels.reverse()) == own
        assert identity(images, pl.concat([labels, another])) == own
        assert identity(images, labels.with_columns(value=pl.lit("other"))) == own
        different = [
            identity(when("sha256", "0" * 64), labels),
            identity(when("status", "refused"), labels),
            identity(when("status", "excluded"), labels),
            identity(images.head(60), labels),
            identity(images, seen),
            identity(images, pl.concat([labels, another.head(5)])),
        ]
        assert len({own, *different}) == 1 + len(different)


def test_every_look_at_a_real_run_is_in_the_ledger_with_what_it_told(run: Path) -> None:
    with Ledger(run / "ledger.db", readonly=True) as ledger:
        (look,) = looks_in(ledger)
    assert (look.pictures, len(look.told), len(look.identity)) == (72, 5, 64)
    assert all(0 < q <= 0.04 for q in look.told.values())
