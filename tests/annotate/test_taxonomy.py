from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from stereotrope.annotate import Taxonomy, read_taxonomies, taxonomy_for, taxonomy_scope, write_taxonomies
from stereotrope.errors import InputError

CAR = Taxonomy(
    product={"body_type": ("sedan", "SUV", "no roof"), "door_count": ("2", "4"), "wheel": ("yes", "no")},
    background={"licht": ("hell", "dämmrig: sehr", "# keins")},
    subject="car",
    found_by="gpt-4o",
    pictures=("0123456789abcdef", "1234"),
)
CUP = Taxonomy(product={"handle": ("round", "none")}, background={})
BOTH = {
    taxonomy_scope({"generator": "sd35", "object": "car"}): CAR,
    taxonomy_scope({"object": "teddy bear"}): CUP,
}

GOOD = """\
taxonomies:
  - scope: {generator: sd35, object: car}
    product:
      body_type: [sedan, SUV]
    background:
      light: [bright, dim]
"""


def test_taxonomies_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "found.yaml"
    write_taxonomies(path, BOTH)
    assert read_taxonomies(path) == BOTH
    assert list(read_taxonomies(path)) == list(BOTH)
    first = path.read_bytes()
    write_taxonomies(path, read_taxonomies(path))
    assert path.read_bytes() == first
    assert [file.name for file in tmp_path.iterdir()] == ["found.yaml"]


def test_the_file_reads_well(tmp_path):
    write_taxonomies(tmp_path / "found.yaml", BOTH)
    text = (tmp_path / "found.yaml").read_text(encoding="utf-8")
    assert "  - scope: {generator: sd35, object: car}\n" in text
    assert "      body_type: [sedan, SUV, no roof]\n" in text
    assert "`unclear` is always offered" in text


def test_payloads_come_back():
    stored = TypeAdapter(Taxonomy)
    assert stored.validate_python(stored.dump_python(CAR, mode="json")) == CAR
    assert list(CAR.attributes) == ["body_type", "door_count", "wheel", "licht"]


def test_an_edited_file_is_taken(tmp_path):
    path = tmp_path / "found.yaml"
    path.write_text(GOOD.replace("[sedan, SUV]", "\n        - sedan  # mine\n        - 4 doors\n        - 2"))
    (taxonomy,) = read_taxonomies(path).values()
    assert taxonomy.product == {"body_type": ("sedan", "4 doors", "2")}
    assert (taxonomy.found_by, taxonomy.pictures, taxonomy.subject) == (None, (), None)


def test_an_entry_may_have_only_one_part_and_no_scope(tmp_path):
    path = tmp_path / "found.yaml"
    path.write_text("taxonomies:\n  - product: {body: [a, b]}\n")
    assert list(read_taxonomies(path)) == [()]


def test_the_most_particular_scope_counts():
    general, particular = Taxonomy({"a": ("x", "y")}, {}), Taxonomy({"b": ("x", "y")}, {})
    known = {
        (): CUP,
        taxonomy_scope({"object": "car"}): general,
        taxonomy_scope({"object": "car", "generator": "m"}): particular,
    }
    assert taxonomy_for(known, {"generator": "m", "object": "car"}) is particular
    assert taxonomy_for(known, {"generator": "n", "object": "car"}) is general
    assert taxonomy_for(known, {"generator": "n", "object": "cup"}) is CUP
    assert taxonomy_for({taxonomy_scope({"object": "car"}): general}, {"object": "cup"}) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (GOOD, "", "1: it must be a mapping, found None; write `taxonomies:` and under it"),
        (GOOD, "- a\n", r"1: it must be a mapping, found \['a'\]; write `taxonomies:`"),
        (
            "taxonomies:",
            "taxonomy:",
            r"1: unknown key 'taxonomy'; did you mean 'taxonomies'",
        ),
        (GOOD, "taxonomies: []\n", r"1: taxonomies must list at least 1, found \[\]"),
        (GOOD, "taxonomies:\n", "1: taxonomies must be a list, found None; write `taxonomies:`"),
        (GOOD, "taxonomies:\n\n  - car\n", "3: entry 1 of taxonomies must be a mapping, found 'car'; write"),
        ("    product:", "    products:", "3: unknown key 'products'; did you mean 'product'?"),
        ("    product:", "    zzz:", "3: unknown key 'zzz'; known keys: scope"),
        (
            "{generator: sd35, object: car}",
            "car",
            "2: entry 1 of taxonomies: scope must be a mapping, found 'car'; write",
        ),
        (
            "object: car",
            "object: [car]",
            r"2: entry 1 of taxonomies: scope.object must be a text, found \['car'\]; put it in quotes",
        ),
        (
            "object: car",
            "object: true",
            "2: entry 1 of taxonomies: scope.object must be a text, found True; put it in quotes",
        ),
        (
            "\n      body_type: [sedan, SUV]",
            " [sedan]",
            r"3: entry 1 of taxonomies: product must be a mapping, found \['sedan'\]",
        ),
        ("[sedan, SUV]", "sedan", "4: product: 'body_type': must be a list of values, found 'sedan'"),
        ("[sedan, SUV]", "open", "4: product: 'body_type': must be a list of values, found 'open'"),
        ("[sedan, SUV]", "", "4: product: 'body_type': must be a list of values, found None"),
        ("[sedan, SUV]", "[]", "4: product: 'body_type': must list at least 2 values"),
        ("[sedan, SUV]", "[sedan]", "4: product: 'body_type': must list at least 2 values"),
        ("[sedan, SUV]", "[sedan, sedan]", "4: product: 'body_type': lists 'sedan' twice"),
        ("[sedan, SUV]", "[sport_car, Sport Cars]", "4: product: 'body_type': .* which count as one value"),
        ("[sedan, SUV]", "[sedan, unclear]", "4: product: 'body_type': 'unclear' is no value"),
        ("[sedan, SUV]", "[sedan, {a: b}]", "4: product: 'body_type': a value must be a text"),
        ("[sedan, SUV]", "[sedan, true]", "4: product: 'body_type': a value must be a text, found True"),
        ("[bright, dim]", "[bright, ' ']", "6: background: 'light': a value must be printable text"),
        ("light:", "body_type:", "6: background: 'body_type': is under `product:` and `background:`"),
        ("light:", "Body Type:", "6: background: 'Body Type': reads like 'body_type'"),
        ("light:", "7:", "6: background: an attribute's name must be a text, found 7"),
        ("light:", "people_present:", "6: background: 'people_present': this name is taken"),
        (
            "      light: [bright, dim]\n",
            "      light: [bright, dim]\n    pictures: 7\n",
            "7: entry 1 of taxonomies: pictures must be a list, found 7",
        ),
        (
            "      light: [bright, dim]\n",
            "      light: [bright, dim]\n    subject: [a]\n",
            "7: entry 1 of taxonomies: subject must be a text",
        ),
        ("[bright, dim]", "[bright, dim", "7: not readable as YAML"),
        (
            "      light: [bright, dim]",
            "      light: [a, b]\n      light: [a, b]",
            "7: not readable as YAML: .*; write each key once",
        ),
        (
            GOOD,
            GOOD + GOOD.removeprefix("taxonomies:\n"),
            "7: scope: there is an entry for .* on line 2; keep one",
        ),
        (
            GOOD,
            "taxonomies:\n  - scope: {object: car}\n",
            "2: an entry must name at least one attribute under `product:` or `background:`",
        ),
    ],
)
def test_every_mistake_has_its_line_and_its_message(tmp_path, old, new, message):
    path = tmp_path / "edited.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError, match=f"edited.yaml:{message}"):
        read_taxonomies(path)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.yaml: no such file; name a file of taxonomies"):
        read_taxonomies(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="is a folder; name a file of taxonomies"):
        read_taxonomies(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"taxonomies: \xe9\n")
    with pytest.raises(
        InputError, match=r"latin\.yaml: must be UTF-8 text, found another encoding at byte 12"
    ):
        read_taxonomies(tmp_path / "latin.yaml")
    (tmp_path / "big.yaml").write_bytes(b"# " + b"x" * 4_000_000)
    with pytest.raises(InputError, match="larger than 4,000,000 bytes, found 4,000,002; split it"):
        read_taxonomies(tmp_path / "big.yaml")


def test_a_file_of_aliases_is_refused_and_never_written_out(tmp_path):
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40)]
    (tmp_path / "bomb.yaml").write_text(
        "taxonomies:\n  - product: {b: &v [x, y], c: *v}\n    scope: {" + ", ".join(lines) + "}\n"
    )
    with pytest.raises(
        InputError, match=r"bomb\.yaml:3: more than 500,000 values, aliases \(\*name\) written out"
    ):
        read_taxonomies(tmp_path / "bomb.yaml")
