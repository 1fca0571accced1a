"""Data of the package is read as YAML 1.2, whoever reads it."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

import stereotrope
from stereotrope.shipped import parsed

ROOT = Path(stereotrope.__file__).parent


@pytest.mark.parametrize("file", sorted(ROOT.rglob("*.yaml")), ids=lambda file: str(file.relative_to(ROOT)))
def test_what_we_ship_reads_as_yaml_1_2(file):
    text = file.read_text("utf-8")
    assert repr(parsed(text)) == repr(YAML(typ="safe", pure=True).load(text))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("no", "no"), ("on", "on"), ("True", True), ("12:30", "12:30"), ("10", 10), ("-3", -3), ("0", 0),
        ("1e3", 1000.0), ("-1.5", -1.5), (".5", 0.5), ("~", None), ("1.2.3", "1.2.3"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(written, read):
    assert parsed(f"a: {written}")["a"] == read == YAML(typ="safe", pure=True).load(f"a: {written}")["a"]
    assert type(parsed(written)) is type(read)
