"""A torn ledger of a run whose models are paid for."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.generate.remote.asking import fast

import stereotrope as st
from stereotrope.cli import main
from stereotrope.errors import RunDamaged
from stereotrope.run import Ledger, RunFolder
from stereotrope.testing import Loopback

N = 40


@pytest.fixture
def server():
    with Loopback() as running:
        yield running


def audit_of(server: Loopback) -> str:
    paid = {"base_url": server.url}
    return json.dumps(
        {
            "prompts": [{"text": "a cup"}],
            "images_per_prompt": N,
            "generators": [fast(images="openai:m", name="painter", price={"image": 0.04}, **paid)],
            "annotators": [
                fast(
                    questions="openai:j",
                    name="judge",
                    price={"call": 0.01},
                    attributes={"style": ["plain", "ornate"]},
                    **paid,
                )
            ],
            "measures": [{"share": "style"}],
        }
    )


@pytest.fixture
def torn(server, tmp_path):
    """A finished run whose ledger is cut to its first pages."""
    folder = tmp_path / "run"
    st.Audit.from_text(audit_of(server)).run(folder)
    os.truncate(folder / "ledger.db", 6 * 4096)
    return folder


def lost_by_name(folder: Path) -> dict[str, int]:
    run = st.open(folder)
    return {"painter": run.images.height, "judge": run.labels.filter(annotator="judge").height}


def test_what_was_paid_for_and_lost_is_told_with_its_cost_and_not_asked_again(server, torn):
    before = len(server.received)
    told = (
        rf"ledger\.db was damaged and lost, with what it cost, \d+ of {N} by painter \(generate\); \d+ of "
        r"\d+ by judge \(annotate\)\. What is left"
        r" to do takes \d+ calls, up to \$\d+\.\d\d .*nothing was asked.*"
        r"move quarantine/1-ledger\.db and images\.parquet out of the folder"
    )
    for _ in range(2):
        with pytest.raises(RunDamaged, match=told):
            st.Audit.from_text(audit_of(server)).run(torn)
    assert len(server.received) == before
    assert lost_by_name(torn)["painter"] == N
    (torn / "quarantine" / "1-ledger.db").rename(torn.parent / "damaged.db")
    (torn / "images.parquet").rename(torn.parent / "images.parquet")
    run = st.Audit.from_text(audit_of(server)).run(torn)
    assert run.images["status"].to_list() == ["ok"] * N
    assert before < len(server.received)
    st.Audit.from_text(audit_of(server)).run(torn)


def test_pictures_without_a_record_are_told_where_no_table_was_made_yet(server, torn):
    for table in torn.glob("*.parquet"):
        table.unlink()
    with pytest.raises(RunDamaged, match=r"lost, .*up to \d+ pictures, which lie in pictures/ without"):
        st.Audit.from_text(audit_of(server)).run(torn)


def test_a_plan_says_what_was_lost(server, torn, capsys):
    file = torn.parent / "audit.yaml"
    file.write_text(audit_of(server))
    with pytest.raises(SystemExit) as stop:
        main(["run", str(file), "-o", str(torn)])
    assert stop.value.code == 3
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["run", str(file), "-o", str(torn), "--plan"])
    told = "ledger.db was damaged and lost, with what it cost, "
    assert told in " ".join(capsys.readouterr().out.split())


def test_a_torn_ledger_that_lost_nothing_goes_on(server, tmp_path):
    folder = tmp_path / "run"
    st.Audit.from_text(audit_of(server)).run(folder)
    asked = len(server.received)
    with (folder / "ledger.db").open("r+b") as file:
        file.write(b"torn")
    run = st.Audit.from_text(audit_of(server)).run(folder)
    assert len(server.received) == asked
    assert run.images.height == N


def test_what_costs_nothing_is_made_again(tmp_path):
    audit = st.Audit.from_text(
        "prompts: [{text: a red cup}]\nimages_per_prompt: 60\ngenerators: [calibrated]\nannotators: [blank]\n"
    )
    before = audit.run(tmp_path / "run").labels
    os.truncate(tmp_path / "run" / "ledger.db", 3 * 4096)
    assert audit.run(tmp_path / "run").labels.equals(before)


@pytest.mark.parametrize("whose", ["of another run", "an older copy", "empty, its pictures gone"])
def test_a_sound_ledger_that_lacks_paid_pictures_is_refused_before_anything_is_asked(
    server, tmp_path, whose: str
) -> None:
    folder, text = tmp_path / "run", audit_of(server)
    fewer = text.replace(f'"images_per_prompt": {N}', '"images_per_prompt": 3')
    other = folder if whose == "an older copy" else tmp_path / "other"
    st.Audit.from_text(fewer.replace("a cup", "a cup" if other == folder else "a car")).run(other)
    kept = (other / "ledger.db").read_bytes()
    audit = st.Audit.from_text(text.replace(f'"images_per_prompt": {N}', '"images_per_prompt": 5'))
    audit.run(folder)
    own, asked = (folder / "ledger.db").read_bytes(), len(server.received)
    (folder / "ledger.db").write_bytes(kept)
    if whose.startswith("empty"):
        (folder / "ledger.db").unlink()
        shutil.rmtree(folder / "pictures")
    lost = 2 if other == folder else 5
    with pytest.raises(RunDamaged, match=rf"it lacks {lost} of 5 pictures that images.parquet has"):
        audit.run(folder)
    assert len(server.received) == asked
    if (folder / "pictures").exists():
        (folder / "ledger.db").write_bytes(own)
        audit.run(folder)
        assert len(server.received) == asked
    else:
        (folder / "images.parquet").unlink()
        audit.run(folder)
        assert len(server.received) > asked


def test_an_older_ledger_that_lacks_labels_alone_is_refused_by_its_calls(server, tmp_path) -> None:
    folder, text = tmp_path / "run", audit_of(server).replace(f": {N},", ": 5,")
    undecided = json.loads(text)
    undecided["annotators"], undecided["measures"] = [], ["refusal_rate"]
    st.Audit.from_text(json.dumps(undecided)).run(folder)
    older, audit = (folder / "ledger.db").read_bytes(), st.Audit.from_text(text)
    audit.run(folder)
    own, asked = (folder / "ledger.db").read_bytes(), len(server.received)
    (folder / "ledger.db").write_bytes(older)
    with pytest.raises(RunDamaged, match=r"an older copy: it lacks \d+ of \d+ calls to models that run.json"):
        audit.run(folder)
    assert len(server.received) == asked
    (folder / "ledger.db").write_bytes(own)
    audit.run(folder)
    assert len(server.received) == asked
    (folder / "ledger.db").write_bytes(older)
    (folder / "images.parquet").unlink()
    audit.run(folder)
    assert len(server.received) > asked


def test_a_stop_while_a_lost_picture_is_made_again_is_no_other_ledger(server, tmp_path) -> None:
    folder, audit = tmp_path / "run", st.Audit.from_text(audit_of(server).replace(f": {N},", ": 3,"))
    run = audit.run(folder)
    asked, file = len(server.received), folder / run.images["path"][0]
    data = file.read_bytes()
    file.unlink()
    with RunFolder(folder) as into:
        into.verify_pictures("generate")
    file.write_bytes(data)  # as a run leaves it that is killed before it records the picture
    again = audit.run(folder)
    assert len(server.received) == asked + 1
    assert again.images["sha256"].to_list() == run.images["sha256"].to_list()
    with RunFolder(folder) as into:
        into.verify_pictures("generate")
        into.ledger.forget("generate", [run.images["image_id"][0]])  # what it did not forget itself
    with pytest.raises(RunDamaged, match=r"it lacks 1 of 3 pictures that images.parquet has"):
        audit.run(folder)


def test_a_picture_that_is_lost_is_made_again_whatever_the_tables_say(server, tmp_path) -> None:
    folder, audit = tmp_path / "run", st.Audit.from_text(audit_of(server).replace(f": {N},", ": 3,"))
    run = audit.run(folder)
    asked = len(server.received)
    (folder / run.images["path"][0]).unlink()
    with Ledger(folder / "ledger.db") as ledger:  # as a run leaves it that is killed before it asks
        ledger.forget("generate", [run.images["image_id"][0]])
    audit.run(folder)
    assert len(server.received) == asked + 1
