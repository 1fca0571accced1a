"""``stereotrope lexicon check``: what is odd stands first, then what to doubt, the worst first."""

import json
from functools import cache

import pytest
from rich.cells import cell_len

from stereotrope.cli import main
from stereotrope.errors import InputError, MetadataError, UsageError
from stereotrope.suites.biasbench.compare import compare_captions
from stereotrope.suites.biasbench.hits import excerpt
from stereotrope.suites.biasbench.lexicon_check import check_lexicon

LEXICON = """
name: pets
attributes:
  species: {priority: [rat, dog], groups: {rat: [rat], dog: [dog, 犬, 🐶]}}
  colour: {groups: {black: [black], white: [white]}}
prompts:
  pet: {text: A photo of a pet, lists: {keyword: [pet, paw*], hallucination: [robot]}}
  wild: {lists: {keyword: [fox]}}
"""
CAPTIONS = """image,prompt,caption
a_1,pet,A rat beside a dog in a laboratory
a_2,A photo of a pet,BlackDog with a black leather collar and big paws
a_3,pet,犬 と 🐶 at home
a_4,sea,a whale by a white wall
a_5,pet,
"""


@pytest.fixture
def files(tmp_path):
    lexicon, captions = tmp_path / "pets.yaml", tmp_path / "captions.csv"
    lexicon.write_text(LEXICON, encoding="utf-8")
    captions.write_text(CAPTIONS, encoding="utf-8")
    return lexicon, captions


@pytest.fixture
def printed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["lexicon", "check", *map(str, arguments)])
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return run


def terms(found):
    return {
        (row["attribute"], row["prompt"], row["term"]): row for row in found.audit.terms.iter_rows(named=True)
    }


def test_terms_of_every_script_are_counted_where_their_prompt_is(files):
    rows = terms(check_lexicon(str(files[0]), files[1], boundary="letters"))
    assert rows["species", None, "rat"]["n_hits"] == 2
    assert rows["species", None, "rat"]["inside_words"] == ["laboratory"]
    assert rows["species", None, "犬"]["n_hits"] == rows["species", None, "🐶"]["n_hits"] == 1
    assert rows["colour", None, "black"]["nouns"] == ["leather"]
    assert rows["keyword", "pet", "paw*"]["n_captions_hit"] == 1
    assert rows["hallucination", "pet", "robot"]["never"]
    assert rows["keyword", "wild", "fox"]["n_captions"] == 0


def test_the_text_of_a_prompt_names_it_and_strange_prompts_are_told(files):
    found = check_lexicon(str(files[0]), files[1])
    assert found.captions == 4
    assert any("1 row without caption left out (line 6)" in remark for remark in found.remarks)
    assert any("1 of 4 captions are of no prompt of the lexicon ('sea')" in r for r in found.remarks)
    assert terms(found)["keyword", "pet", "pet"]["n_captions"] == 3


def test_a_prompt_that_only_reads_like_one_is_told_with_its_letters(files):
    text = files[1].read_text(encoding="utf-8")
    files[1].write_text(text.replace("sea", "p\u0435t"), encoding="utf-8")
    found = check_lexicon(str(files[0]), files[1])
    assert any("U+0435 CYRILLIC SMALL LETTER IE" in remark for remark in found.remarks)


def test_double_mentions_show_although_a_priority_decides_them(files):
    found = check_lexicon(str(files[0]), files[1])
    told = found.as_dict()["several_groups"]
    assert [(row["groups"], row["n"], row["counted_as"]) for row in told] == [("rat and dog", 1, {"rat": 1})]


def test_terms_stand_the_worst_first(files):
    order = check_lexicon(str(files[0]), files[1], boundary="letters").audit.terms
    doubtful = order["n_inside"] + order["n_noun"]
    assert order["term"][0] in ("rat", "black")
    assert doubtful.to_list()[-1] == 0


def test_what_is_odd_is_printed_first_and_each_doubt_has_a_caption(printed, files):
    code, out, err = printed(files[0], "--captions", files[1], "--boundary", "letters")
    assert (code, err) == (0, "")
    heads = [
        "What is odd about the files",
        "What the values of captions rest on",
        "Inside longer words",
        "Before a noun",
        "Several groups in one caption",
        "Never found",
    ]
    assert sorted(map(out.index, heads)) == list(map(out.index, heads))
    assert "1 of 2  rat (species): in laboratory" in out
    assert "“A rat beside a dog in a laboratory”" in out
    assert "rat and dog (species): counted as rat 1" in out
    assert "pet hallucination: robot" in out
    assert "not looked for, since no caption is of their prompt: wild" in out
    assert "paw*" not in out


def test_words_run_together_are_told_where_the_matching_does_not_split(printed, files):
    _, out, _ = printed(files[0], "--captions", files[1])
    assert "Run together with other words" in out
    assert "dog 1, black 1" in out or "black 1, dog 1" in out
    assert "split_case: true" in out


def test_json_holds_every_term_and_cuts_huge_captions(printed, files):
    files[1].write_text(f"caption\n{'rat ' * 300_000}\n", encoding="utf-8")
    code, out, _ = printed(files[0], "--captions", files[1], "--prompt", "pet", "--json")
    found = json.loads(out)
    assert code == 0
    assert len(found["terms"]) == found["lexicon"]["terms"] == 10
    assert found["captions"]["n"] == 1
    assert found["terms"][0]["n_hits"] == 300_000
    assert len(found["terms"][0]["examples"][0]) < 2_100


def test_captions_and_terms_stay_inert_in_the_terminal(printed, files):
    files[1].write_text("caption\nlaboratory \x1b[31m [red]x[/red] \u202e evil\n", encoding="utf-8")
    code, out, _ = printed(files[0], "--captions", files[1], "--prompt", "pet", "--boundary", "letters")
    assert code == 0
    assert "[red]x[/red]" in out
    assert "\x1b[31m" not in out
    assert "\u202e" not in out


def test_one_huge_caption_is_shown_around_the_hit_alone(printed, files):
    files[1].write_text(f"caption\n{'x' * 400_000}rat{'y' * 400_000}\n", encoding="utf-8")
    code, out, _ = printed(files[0], "--captions", files[1], "--prompt", "pet", "--boundary", "letters")
    assert code == 0
    assert max(map(len, out.splitlines())) < 250


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("{lexicon}", "--captions", "{folder}/none.csv"), "cannot be read"),
        (("{folder}/none.yaml", "--captions", "{captions}"), "no such file"),
        (("biasbenhc", "--captions", "{captions}"), "did you mean 'biasbench'"),
        (("{lexicon}", "--captions", "{captions}", "--prompt", "pets"), "did you mean 'pet'"),
        (("{lexicon}", "--captions", "{captions}", "--boundary", "words"), "did you mean 'word'"),
        (("{lexicon}", "--captions", "{captions}", "--column", "text"), "caption=NAME"),
        (("{lexicon}", "--captions", "{captions}", "--column", "captoin=x"), "did you mean 'caption'"),
        (("{lexicon}", "--captions", "{captions}", "--column", "caption=captoin"), "did you mean 'caption'"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(printed, files, tmp_path, arguments, message):
    names = {"lexicon": files[0], "captions": files[1], "folder": tmp_path}
    code, out, err = printed(*(one.format(**names) for one in arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_lists_that_no_caption_is_of_are_refused_with_what_was_found(tmp_path, files):
    lexicon = tmp_path / "own.yaml"
    lexicon.write_text("prompts: {pet: {lists: {keyword: [dog]}}}\n", encoding="utf-8")
    files[1].write_text("caption,prompt\na dog,animal\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"of a prompt of lexicon 'own' \(pet\), found 'animal'; name the col"
    ):
        check_lexicon(str(lexicon), files[1])


def test_columns_are_named_by_hand(files):
    files[1].write_text("text,words,kind\nz,a rat,pet\n", encoding="utf-8")
    found = check_lexicon(str(files[0]), files[1], columns=["caption=words", "prompt=kind"])
    assert terms(found)["species", None, "rat"]["n_hits"] == 1
    with pytest.raises(MetadataError, match="no column 'word'"):
        check_lexicon(str(files[0]), files[1], columns=["caption=word"])


def test_a_json_that_is_not_the_authors_lists_is_refused(tmp_path, files):
    other = tmp_path / "lists.json"
    other.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="not the authors' lists"):
        check_lexicon(str(other), files[1])
    with pytest.raises(UsageError, match="--boundary must be word or letters"):
        check_lexicon("biasbench", files[1], boundary="substring")


def test_an_excerpt_stands_around_the_hit_and_ends_between_words():
    text = "rat, and then a laboratory of many words"
    start = text.index("rat", 1)
    shown = excerpt(text, start, start + 3, 60)
    assert (shown.before, shown.hit, shown.after) == (text[:start], "rat", text[start + 3 :])
    shown = excerpt(text, start, start + 3, 24)
    assert (shown.before, shown.hit, shown.after) == ("…a labo", "rat", "ory of…")
    assert len("".join(vars(excerpt("犬" * 500, 200, 201, 40)).values())) <= 42


def test_the_hit_that_is_doubted_is_shown_within_the_width(printed, files):
    rows = ["rat and then " + "more " * 40 + "laboratory", "犬" * 200 + "rat" + "犬" * 200]
    files[1].write_text("caption\n" + "\n".join(rows) + "\n", encoding="utf-8")
    _, out, _ = printed(files[0], "--captions", files[1], "--prompt", "pet", "--boundary", "letters")
    assert "more laboratory”" in out
    assert max(cell_len(line) for line in out.splitlines() if "“" in line) <= 100


def test_the_artefacts_of_the_published_captions_are_found(shared):
    data = shared / "data" / "biasbench"
    found = check_lexicon(str(data / "lexicon_authors.json"), data / "captions_sd.csv")
    values = {(r["attribute"], r["value"]): r for r in found.audit.labels.iter_rows(named=True)}
    rows = terms(found)
    assert values["species", "rat"]["n"] == 45
    assert values["species", "rat"]["n_word"] == 0
    assert (values["insect", "bee"]["n"], values["insect", "bee"]["n_inside_only"]) == (31, 24)
    assert (values["ethnicity", "black"]["n"], values["ethnicity", "black"]["n_noun_only"]) == (12, 12)
    assert rows["gender", None, "male*"]["n_missed_glued"] > 15
    assert rows["species", None, "rat"]["inside_words"][0] == "laboratory"
    assert found.audit.terms["term"][0] in {"dark", "white", "rat"}


def test_oddities_of_the_released_file_are_told_and_its_captions_read(shared, printed):
    file = shared / "data" / "biasbench" / "captions_bksdm_asreleased.csv"
    code, out, _ = printed("biasbench", "--captions", file)
    assert code == 0
    assert out.index("1 header row among the data left out (line 172)") < out.index("What the values")


@cache
def reproduced(folder, model):
    """What the reproduction makes of a model's captions."""
    (found,) = compare_captions(folder / f"captions_{model}.csv", folder / "lexicon_authors.json").models
    return found


@pytest.mark.parametrize("model", ["sd", "bksdm"])
@pytest.mark.parametrize(
    ("boundary", "matching"), [(None, "letters"), ("letters", "letters"), ("word", "word")]
)
def test_the_check_counts_captions_as_the_reproduction_does(shared, model, boundary, matching):
    folder = shared / "data" / "biasbench"
    lists, file = folder / "lexicon_authors.json", folder / f"captions_{model}.csv"
    checked = check_lexicon(str(lists), file, boundary=boundary).audit.labels
    found = reproduced(folder, model)
    prompts = {"ethnicity": "beauty", "gender": "doctor", "species": "animal", "insect": "nature"} | {
        "skin_tone": "culture"
    }
    theirs = {
        (c.prompt, c.level): round(c.paper[matching].value * c.paper[matching].n)
        for c in found.cells
        if c.measure == "representation_parity" and c.paper[matching].value is not None
    }
    ours = {
        (prompts[attribute], value): n for attribute, value, n in checked["attribute", "value", "n"].rows()
    }
    shared_values = ours.keys() & theirs.keys()
    assert len(shared_values) > 20
    assert {key: ours[key] for key in shared_values} == {key: theirs[key] for key in shared_values}
