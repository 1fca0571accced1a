"""Reading lexicons: what is accepted, and what is said where not."""

import polars as pl
import pytest

from stereotrope.errors import InputError, UsageError
from stereotrope.lexicon import Grouped, TermList, built_in_lexicons, lexicon_from, read_lexicon
from stereotrope.lexicon.declared import declared_of

GOOD = """\
name: mine
matching: {boundary: substring, split_case: true}
attributes:
  gender:
    priority: [female]
    of: [doctor]
    groups:
      female: [woman]
      male: [man, 'he']
prompts:
  doctor:
    path: contextual
    parity: {attribute: gender, groups: [male], against: [female]}
    cas: false
    lists:
      keyword: {doctor: [doctor, surgeon]}
      stereotype: [coat]
      hallucination:
        why: indoors
        not: ["no {}"]
        terms: [sky]
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "lexicon.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_is_read_whole(file):
    made = read_lexicon(file(GOOD))
    assert (made.name, made.matching.boundary, made.matching.split_case) == ("mine", "substring", True)
    assert made.attributes["gender"].priority == ("female",)
    assert made.lists == ("stereotype", "keyword", "hallucination")
    entry = made.prompts["doctor"]
    assert (entry.path, entry.cas, entry.parity.against) == ("contextual", False, ("female",))
    assert entry.lists["hallucination"].why == "indoors"
    assert [e.term for e in made.terms] == ["woman", "man", "he", "doctor", "surgeon", "coat", "sky"]


def test_a_change_of_terms_or_rules_changes_the_fingerprint_and_a_reason_does_not(file):
    prints = {
        read_lexicon(file(text)).fingerprint
        for text in (
            GOOD,
            GOOD.replace("woman", "lady"),
            GOOD.replace("substring", "word"),
            GOOD.replace('"no {}"', '"without {}"'),
            GOOD.replace("    priority: [female]\n", ""),
        )
    }
    assert len(prints) == 5
    assert read_lexicon(file(GOOD.replace("indoors", "outdoors"))).fingerprint in prints


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (
            "boundary: substring",
            "boundary: words",
            r"lexicon.yaml:2: matching.boundary must be 'word' or 'substring', found 'words'",
        ),
        ("split_case: true", "split_case: 1", r":2: matching.split_case must be true or false, found 1"),
        ("matching:", "maching:", r":2: unknown key 'maching'; did you mean 'matching'\?"),
        (
            "priority: [female]",
            "priority: [femal]",
            r":5: attributes.gender.priority: no group 'femal'; did you mean 'female'\?",
        ),
        (
            "of: [doctor]",
            "of: [docter]",
            r":6: attributes.gender.of: no prompt 'docter'; did you mean 'doctor'\?",
        ),
        ("female: [woman]", "female: []", r":8: .*groups.female must list at least one term, found \[\]"),
        ("female: [woman]", "female: [no, true]", r":8: .*entry 2 .*female must be a text, found True"),
        ("female: [woman]", "female: [woman, Woman]", r":8: .*'woman' and 'Woman' are matched alike"),
        ("female: [woman]", "female: ['*']", r":8: entry 1 of .*female must have a letter or sign"),
        ("female: [woman]", "unknown: [woman]", r":8: .*groups.unknown must have another name"),
        ("  gender:\n", "  caption:\n", r":4: attributes.caption must not be the name of a list or column"),
        ("  gender:\n", "  status:\n", r":4: attributes.status must not be the name of a list or column"),
        ("keyword:", "keywords:", r":16: .*lists.keywords must be a list that .*; did you mean 'keyword'\?"),
        (
            "attribute: gender",
            "attribute: sex",
            r":13: prompts.doctor.parity.attribute: no attribute of the lexicon 'sex'; there are gender",
        ),
        (
            "groups: [male]",
            "groups: [mail]",
            r":13: prompts.doctor.parity.groups: no group of 'gender' 'mail'; did you mean 'male'\?",
        ),
        (
            "groups: [male], against: [female]",
            "groups: [male],\n      against: [others]",
            r":14: prompts.doctor.parity.against: no group of 'gender' 'others'; there are female, male",
        ),
        ("against: [female]", "against: 3", r":13: .*against must be others, rest or groups, found 3; write"),
        (
            "groups: [male]",
            "groups: []",
            r":13: .*groups must list at least 1, found \[\]; write groups: ",
        ),
        (
            "parity: {attribute: gender, groups",
            "parity: {groups",
            r"attribute is missing; add it: write a",
        ),
        ("cas: false", "cas: 1", r":14: prompts.doctor.cas must be true or false, found 1; correct it"),
        ("female: [woman]", "true: [woman]", r":8: .*: a key must be a text, found True; put it in quotes"),
        (
            "\n      female: [woman]\n      male: [man, 'he']",
            " {}",
            r":7: attributes.gender.groups must list at least 1, found {}; write groups: {female: \[woman\]}",
        ),
        ("matching:", "not: x\nmatching:", r":2: unknown key 'not'"),
        ("    of:", "    exclude: [a]\n    of:", r":6: unknown key 'exclude'; known keys: .*, not, why"),
        (
            "terms: [sky]",
            "terms: [sky, '{}']",
            r":21: .*hallucination.terms must not hold \{\}, which stands for a term in `not:` only",
        ),
        ("name: mine", "name: mine\nname: two", r":2: not readable as YAML: .*; write each key once"),
        ("path: contextual", "path: [", r"lexicon.yaml:\d+: not readable as YAML"),
    ],
)
def test_a_mistake_is_named_with_its_line(file, old, new, match):
    assert old in GOOD
    with pytest.raises(InputError, match=match):
        read_lexicon(file(GOOD.replace(old, new, 1)))


def test_a_file_that_is_none_is_refused(file, tmp_path):
    with pytest.raises(InputError, match=r"biasbenc: no such file; did you mean 'biasbench'\?"):
        read_lexicon("biasbenc")
    with pytest.raises(InputError, match="must have terms under `attributes:`"):
        read_lexicon(file("name: empty"))
    with pytest.raises(InputError, match="it must be a mapping, found None; write attributes: "):
        read_lexicon(file(""))
    (tmp_path / "lexicon.yaml").write_bytes(b"name: \xff")
    with pytest.raises(InputError, match="must be UTF-8 text, found another encoding at byte 6"):
        read_lexicon(tmp_path / "lexicon.yaml")


def test_a_list_may_leave_terms_empty_beside_elements(file):
    made = read_lexicon(file(GOOD.replace("{doctor: [doctor, surgeon]}", "{terms: , coat: [coat]}")))
    assert made.prompts["doctor"].lists["keyword"].elements == {"coat": ("coat",)}


def test_parts_made_in_code_take_the_names_of_their_fields():
    assert TermList(terms=["a"], exclude=["b"]).elements == {"a": ("a",)}
    assert TermList(terms=["a"], exclude=["b"]).exclude == ("b",)
    assert TermList(element={"coat": ["coat", "gown"]}).elements == {"coat": ("coat", "gown")}
    assert Grouped(groups={"female": ["woman"]}, exclude=["no {}"]).exclude == ("no {}",)


def test_a_key_that_commands_the_terminal_is_shown_and_not_obeyed(file):
    for written, shown in (("\\e[31m", "x1b"), ("\\u202Ex", "u202e")):
        with pytest.raises(InputError, match=shown) as error:
            read_lexicon(file(f'attributes: {{"{written}": {{groups: {{}}}}}}'))
        assert str(error.value).isprintable()


def test_a_lexicon_that_declares_no_prompt_is_refused():
    with pytest.raises(UsageError, match="it declares no prompt; list prompts with their terms"):
        declared_of({"attributes": {"gender": {"groups": {"female": ["woman"]}}}})


def test_a_file_without_end_is_read_no_further_than_a_lexicon_may_be_long(tmp_path):
    with pytest.raises(InputError, match="/dev/zero: cannot be read: larger than 8,000,000 bytes"):
        read_lexicon("/dev/zero")
    (tmp_path / "long.yaml").write_bytes(b"#" * 8_000_001)
    with pytest.raises(InputError, match=r"long.yaml: cannot be read: larger than 8,000,000 bytes"):
        read_lexicon(tmp_path / "long.yaml")


def test_a_few_lines_that_stand_for_very_many_terms_are_refused(file):
    terms = ", ".join(f"t{number}" for number in range(300))
    lines = [f"  a0: &a {{groups: {{x: [{terms}]}}}}", *(f"  a{number}: *a" for number in range(1, 1_700))]
    with pytest.raises(InputError, match="more than 500,000 values, aliases"):
        read_lexicon(file("\n".join(["attributes:", *lines])))


def test_invisible_joiners_are_part_of_a_term():
    words = {"verb": ["\u0645\u06cc\u200c\u0634\u0648\u062f"], "doctor": ["\U0001f469\u200d\u2695"]}
    lexicon = lexicon_from({"attributes": {"said": {"groups": words}}})
    texts = ["\u0645\u06cc\u200c\u0634\u0648\u062f", "\U0001f469\u200d\u2695 at work", "\u0645\u06cc"]
    said = lexicon.frame(pl.DataFrame({"caption": texts}))["said"]
    assert said.to_list() == ["verb", "doctor", "unknown"]
    with pytest.raises(InputError, match="must be printable text"):
        lexicon_from({"attributes": {"said": {"groups": {"x": ["\u202eabc"]}}}})


def test_a_mapping_names_the_place_of_a_mistake():
    with pytest.raises(
        InputError, match=r"lexicon x: attributes.a.groups.b must list at least one term, found 3"
    ):
        lexicon_from({"name": "x", "attributes": {"a": {"groups": {"b": 3}}}})


@pytest.mark.parametrize("name", built_in_lexicons())
def test_every_built_in_list_says_why(name):
    made = read_lexicon(name)
    assert all(each.why for each in made.attributes.values())
    assert all(one.why for prompt in made.prompts.values() for one in prompt.lists.values())
    assert {"beauty", "doctor", "animal", "nature", "culture"} == set(made.prompts)
    assert "ppe" in made.prompts["doctor"].lists


def frame(lexicon, *rows):
    captions = pl.DataFrame(rows, schema={"prompt": pl.String, "caption": pl.String}, orient="row")
    return lexicon.frame(captions)


def test_a_frame_has_a_column_an_attribute_and_a_list(file):
    made = read_lexicon(file(GOOD))
    rows = frame(
        made, ("doctor", "no sky: a woman in a coat"), ("doctor", None), ("other", "man"), ("doctor", "")
    )
    assert rows["gender"].to_list() == ["female", None, None, "unknown"]
    assert rows["stereotype"].to_list() == [["coat"], None, None, []]
    assert rows["hallucination"].to_list() == [[], None, None, []]
    assert rows.schema["keyword"] == pl.List(pl.String)


def test_most_hits_decide_where_asked_and_priority_on_ties():
    groups = {"groups": {"a": ["x"], "b": ["y"]}, "decide": "most"}
    texts = [("p", "x x y"), ("p", "x y y"), ("p", "x y")]
    undecided = lexicon_from({"attributes": {"k": groups}})
    assert frame(undecided, *texts)["k"].to_list() == ["a", "b", "a and b"]
    decided = lexicon_from({"attributes": {"k": {**groups, "priority": ["b", "a"]}}})
    assert frame(decided, *texts)["k"].to_list() == ["a", "b", "b"]


def test_a_column_in_the_way_or_missing_is_named(file):
    made = read_lexicon(file(GOOD))
    with pytest.raises(InputError, match=r"captions frame: no column 'prompt'"):
        made.frame(pl.DataFrame({"caption": ["a"]}))
    with pytest.raises(InputError, match="the column 'gender' is there already"):
        made.frame(pl.DataFrame({"caption": ["a"], "prompt": ["doctor"], "gender": ["x"]}))


@pytest.mark.parametrize(
    ("written", "read"), [("", "others"), (", against: others", "others"), (", against: rest", "rest")]
)
def test_one_side_is_compared_with_the_others_unless_said_otherwise(file, written, read):
    text = (
        "name: a\nattributes: {gender: {groups: {female: [woman], male: [man]}}}\n"
        f"prompts: {{p: {{parity: {{attribute: gender, groups: [male]{written}}}, lists: {{}}}}}}\n"
    )
    assert read_lexicon(file(text)).prompts["p"].parity.against == read
