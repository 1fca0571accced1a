from pathlib import Path

import pytest

from stereotrope.audit.file import AuditSpec, json_schema, validate
from stereotrope.errors import AuditFileError
from stereotrope.inputs.yaml import Source, read_source

GOOD = """\
suite: objects
objects: [car, cup]
dimensions:
  gender: [men, women]
  ethnicity: {Asian: Asian people}
images_per_prompt: 5
generators:
  - calibrated
  - {folder: pictures, name: m}
report: {title: "Cars: and cups", level: 0.9}
"""


def check(text: str) -> AuditSpec:
    return validate(Source(text, "audit.yaml", Path()))


def test_a_good_file_is_read():
    spec = check(GOOD)
    assert spec.objects == ["car", "cup"]
    assert spec.dimensions == {"gender": ["men", "women"], "ethnicity": {"Asian": "Asian people"}}
    assert spec.generators == ["calibrated", {"folder": "pictures", "name": "m"}]
    assert spec.report.level == 0.9


def test_words_that_old_yaml_reads_as_booleans_stay_words():
    assert check("objects: [no, on, yes]\ngenerators: [calibrated]\n").objects == ["no", "on", "yes"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("images_per_prompt: 5", "images_per_prompt: 0"),
         r"audit\.yaml:6: images_per_prompt must be at least 1, found 0; raise it"),
        (("images_per_prompt: 5", "image_per_prompt: 5"),
         r"audit\.yaml:6: unknown key 'image_per_prompt'; did you mean 'images_per_prompt'\?"),
        (("images_per_prompt: 5", "images_per_prompt: five"),
         r"audit\.yaml:6: images_per_prompt must be a whole number, found 'five'"),
        (("images_per_prompt: 5", "images_per_prompt: true"), r"audit\.yaml:6: images_per_prompt must be"),
        (("[car, cup]", "car"), r"audit\.yaml:2: objects must be a list, for example .*, found 'car'"),
        (("[car, cup]", "[car, car]"), r"audit\.yaml:2: objects lists 'car' twice"),
        (("[car, cup]", "[car, '']"), r"audit\.yaml:2: objects must not be empty"),
        (("[men, women]", "men"), r"audit\.yaml:4: dimensions.gender must be a list of names"),
        (("suite:", "format_version: null\nsuite:"),
         r"audit\.yaml:1: unknown key 'format_version'; an audit file has no version; remove the line$"),
        (("title:", "titel:"), r"audit\.yaml:10: unknown key 'titel'; did you mean 'title'\?"),
        (("level: 0.9", "level: 95"), r"audit\.yaml:10: report.level must be less than 1, found 95"),
        (("suite: objects\n", "suite: objects\nsuite: objects\n"),
         r"audit\.yaml:2: not readable as YAML: found duplicate key"),
        (("dimensions:\n", "dimensions\n"), r"audit\.yaml:\d+: not readable as YAML"),
        (("generators:\n  - calibrated\n  - {folder: pictures, name: m}\n", ""),
         r"audit\.yaml:1: generators is missing; add it"),
        (("generators:\n  - calibrated\n  - {folder: pictures, name: m}\n", "generators: []\n"),
         r"audit\.yaml:7: generators must list at least 1"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_message_with_file_line_rule_found_and_fix(change, message):
    text = GOOD.replace(*change)
    assert text != GOOD
    with pytest.raises(AuditFileError, match=message) as caught:
        check(text)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_of_several_mistakes_the_first_by_line_is_told_and_the_rest_counted():
    text = GOOD.replace("images_per_prompt: 5", "images_per_prompt: 0").replace("title:", "titel:")
    with pytest.raises(AuditFileError, match=r"^audit\.yaml:6: .*\(1 more after this\)$"):
        check(text)


@pytest.mark.parametrize(
    ("text", "found"), [("", "nothing"), ("just words", "a single text or number"), ("- a\n- b\n", "a list")]
)
def test_a_file_that_is_no_mapping_is_refused(text, found):
    with pytest.raises(AuditFileError, match=f"an audit file is a mapping of keys .* found {found};"):
        check(text)


def test_a_file_that_is_not_there_says_how_to_write_one(tmp_path):
    with pytest.raises(AuditFileError, match="stereotrope init objects"):
        read_source(tmp_path / "none.yaml")
    with pytest.raises(AuditFileError, match="is a folder"):
        read_source(tmp_path)


def test_a_file_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"suite: caf\xe9")
    with pytest.raises(AuditFileError, match="must be UTF-8"):
        read_source(path)


def test_a_byte_order_mark_of_an_editor_is_no_part_of_the_first_key(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert validate(read_source(path)).suite == "objects"


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"#" * 4_000_001)
    with pytest.raises(AuditFileError, match="larger than 4,000,000 bytes, found 4,000,001; put long lists"):
        read_source(path)


def test_a_value_of_any_length_is_quoted_short():
    with pytest.raises(AuditFileError) as caught:
        check(GOOD.replace("images_per_prompt: 5", f"images_per_prompt: {'x' * 100_000}"))
    assert len(str(caught.value)) < 400


def test_the_json_schema_has_every_key():
    assert set(json_schema()["properties"]) == set(AuditSpec.model_fields)
    assert json_schema()["additionalProperties"] is False


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("generators:\n  - {images: openai:x, name: KEY}", 2),
        ("generators: {images: openai:x, key: KEY}", 1),
        ("generators: [calibrated]\n# KEY", 2),
        ("generators:\n  - {key: KEY, key: KEY}", 2),
    ],
)
def test_a_file_with_a_key_is_refused_and_the_key_not_shown(entry, line):
    key = "sk-proj-AbCd1234EfGh5678SENTINEL"
    with pytest.raises(AuditFileError, match=rf"audit\.yaml:{line}: holds what looks like the key") as caught:
        Source(entry.replace("KEY", key), "audit.yaml", Path())
    assert "SENTINEL" not in str(caught.value)


def test_values_of_a_misplaced_mapping_or_a_repeated_key_are_not_quoted():
    for text in (
        "generators: {images: openai:x, key: hunter2}",
        "generators:\n  - {key: hunter2, key: hunter2}",
    ):
        with pytest.raises(AuditFileError, match=r"audit\.yaml:\d: ") as caught:
            validate(Source(text, "audit.yaml", Path()))
        assert "hunter2" not in str(caught.value)


def test_a_sign_that_json_writes_as_two_is_one() -> None:
    source = Source(
        '{"report": {"title": "\\ud83d\\udc69 at work"}, "generators": ["calibrated"]}', "a.json", Path()
    )
    assert validate(source).report.title == "\U0001f469 at work"
