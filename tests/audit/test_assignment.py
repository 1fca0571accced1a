"""What attributes are discovered on, and what waits for its pictures."""

import pytest

import stereotrope as st
from stereotrope.errors import AuditFileError, IncompleteError
from stereotrope.testing import Loopback

AUDIT = """\
suite: objects
objects: [cup]
dimensions: {{gender: [men, women]}}
images_per_prompt: {images}
permutations: 99
resamples: 100
generators:
  - {{images: openai:a, base_url: "{url}", seed: true, tries: 1, concurrency: 1}}
annotators:
  - {{questions: openai:judge, base_url: "{url}", discover: true}}
measures: [share]
"""


def audit_of(server: Loopback, *, images: int = 4, more: str = "") -> st.Audit:
    return st.Audit.from_text(AUDIT.format(images=images, url=server.url) + more)


def samples(server: Loopback) -> list[int]:
    """Pictures in each question that shows several."""
    counts = [one.raw.count(b'"image_url":') for one in server.received if one.kind == "chat"]
    return [count for count in counts if count > 1]


def test_attributes_wait_until_each_condition_has_pictures(tmp_path, reported):
    with Loopback() as server:
        plain = server.painter
        drawn = []

        def painter(*given, **named):
            drawn.append(given)
            if len(drawn) == 5:
                server.misbehave("quota", path="images", times=None)
            return plain(*given, **named)

        server.painter = painter
        with pytest.raises(
            IncompleteError,
            match="discover: judge: 1 of 1 missing: waits for pictures that are still to be drawn",
        ):
            audit_of(server).run(tmp_path / "run")
        assert samples(server) == []
        server.behave()
        run = audit_of(server).run(tmp_path / "run")
        assert samples(server) == [6]
    seen = run.labels.filter(attribute="seen_in_discovery")["subject_id"]
    first = run.images.group_by("prompt_id", maintain_order=True).head(2)["image_id"]
    assert seen.to_list() == first.to_list()
    assert run.info["notes"] == [
        "judge: 6 pictures that its attributes were discovered on are in its scores, although the "
        "attributes were chosen to fit them (discovery_images)"
    ]
    assert run.info["notes"][0] in (tmp_path / "run" / "report" / "index.html").read_text()


def test_where_every_picture_is_refused_each_score_is_null_with_the_reason(tmp_path):
    with Loopback() as server:
        server.misbehave("moderation", path="images", times=None)
        text = AUDIT.format(images=2, url=server.url)
        text = text.replace("discover: true", "max_side: 64")
        text = text.replace(
            "annotators:", f'annotators:\n  - {{constraints: openai:judge, base_url: "{server.url}"}}'
        )
        text = text.replace("[share]", "[refusal_rate, violation_rate, bds]")
        run = st.Audit.from_text(text).run(tmp_path / "run")
    assert run.estimates.filter(measure="refusal_rate")["value"].to_list() == [1.0] * 3
    broken = run.estimates.filter(measure="violation_rate", attribute="all")
    assert broken["undefined"].to_list() == ["no usable label"] * 3
    assert broken["excluded"].to_list() == ['{"refused by the generator": 2}'] * 3
    assert run.scores.filter(measure="bds")["value"].null_count() == 10


def test_what_was_found_is_kept_through_renames_and_deletions_and_found_anew_by_another_seed(tmp_path):
    file = tmp_path / "run" / "taxonomies" / "judge.yaml"

    def asked(server: Loopback, old: str = "", new: str = "") -> int:
        before = len(server.received)
        text = AUDIT.format(images=2, url=server.url).replace(old, new) if old else None
        (st.Audit.from_text(text) if text else audit_of(server, images=2)).run(tmp_path / "run")
        return len(server.received) - before

    with Loopback() as server:
        assert asked(server) == 6 + 1 + 6
        found = file.read_text()
        assert asked(server, "seed: true", "seed: true, name: renamed") == 0
        assert asked(server, "discover: true", "discover: true, name: renamed") == 0
        file.write_text(found.replace("[plain, striped,", "[plain, dotted, striped,"))
        assert asked(server) == 6
        file.unlink()
        assert asked(server) == 0
        assert file.read_text() == found
        file.unlink()
        assert asked(server, "discover: true", "discover: true, order_seed: 7") == 1 + 6


def test_one_instrument_under_two_names_is_refused(tmp_path):
    entry = '  - {{questions: openai:judge, base_url: "http://127.0.0.1:1/v1", max_side: 64{more}}}\n'
    text = AUDIT.format(images=2, url="http://127.0.0.1:1/v1").partition("  - {questions")[0]
    one = entry.format(more="")
    with pytest.raises(AuditFileError, match=r"'judge' and 'again' are one instrument .*`version:`"):
        st.Audit.from_text(text + one + entry.format(more=", name: again")).plan()
    for told_apart in (", name: again, version: second look", ", name: again, discover: true"):
        assert st.Audit.from_text(text + one + entry.format(more=told_apart)).plan()
