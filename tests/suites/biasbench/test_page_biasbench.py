"""The page of a reproduction: one file that needs nothing, says everything, and is inert."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from stereotrope.suites.biasbench.compare import compare_captions
from stereotrope.suites.biasbench.page import reproduction_page
from stereotrope.suites.biasbench.prompts import data_of, prompt_names
from stereotrope.suites.biasbench.released import released
from stereotrope.suites.biasbench.wordlists import read_wordlists

OWN = """\
attributes:
  gender: {groups: {female: [woman], male: [he, man]}, of: [doctor]}
  species: {groups: {rat: [rat], "<i>cat_</i>": [cat]}, of: [animal]}
prompts:
  doctor: {path: demographic, parity: {attribute: gender, groups: [male]}, lists: {keyword: [doctor]}}
  animal: {path: contextual, lists: {keyword: [puzzle]}}
  beauty: {path: demographic}
"""
HOSTILE = "</td><script>alert(1)</script>{{ 7*7 }}\u202egnp.exe"


class Reader(HTMLParser):
    """Collects what a page loads or runs, its headings, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.levels: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.loads += [str(given[name]) for name in ("src", "srcset", "data") if name in given]
        self.handlers += [name for name in given if name.startswith("on") or name == "style"]
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag == "a":
            self.links.append(str(given.get("href")))
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


@cache
def page_of(shared: Path, captions: str, lexicon: str | None = "lexicon_authors.json") -> str:
    data = shared / "data" / "biasbench"
    found = compare_captions(data / captions, data / lexicon if lexicon else None)
    return reproduction_page(found, command=["stereotrope", "reproduce", "biasbench"])


def made_page(tmp_path: Path, text: str, name: str = "made.csv") -> str:
    (tmp_path / name).write_text(text, encoding="utf-8")
    lexicon = tmp_path / "own.yaml"
    lexicon.write_text(OWN, encoding="utf-8")
    return reproduction_page(compare_captions(tmp_path / name, lexicon))


def row_of(page: str, prompt: str, measure: str) -> list[str]:
    section = page.split(f"<h3>{prompt}</h3>")[1].split("</table>")[0]
    line = next(part for part in section.split("<tr>") if part.startswith(f'<th scope="row">{measure}<'))
    cells = re.findall(r"<td[^>]*>(.*?)</td>", line, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells]


def test_every_cell_has_three_formulas_the_released_number_and_the_printed_one(shared: Path) -> None:
    page = page_of(shared, "captions_sd.csv")
    rat = row_of(page, "Animal", "Share: rat")
    assert rat == [
        "0.450 [0.356, 0.548]",
        "0.000 [0.000, 0.037]",
        "0.000 [0.000, 0.037]",
        "0.450",
        "0.45 Table 4",
        "agrees",
    ]
    gap = row_of(page, "Beauty", "Parity difference")
    assert gap[3:5] == ["0.4800", "0.57 section 4.3"]
    assert gap[5].startswith("differs the figure is p_white")


def test_what_agrees_and_what_the_terms_hit_is_said_in_sentences(shared: Path) -> None:
    page = page_of(shared, "captions_sd.csv")
    assert "Of 21 figures that the paper prints of SD v1.5, 20 come out to the last digit" in page
    assert re.search(
        r"45 captions of Animal have the value “rat” .* in 0 a term .* in 44 only as letters", page
    )
    assert "labo<mark>rat</mark>ory" in page.lower()


def test_the_file_as_released_is_told_with_its_lines(shared: Path) -> None:
    page = page_of(shared, "captions_bksdm_asreleased.csv")
    odd = page.split('id="odd"')[1].split("</section>")[0]
    for told in ("stray header row</strong> (line 172)", "mislabelled rows</strong> (lines 443 to 452)"):
        assert told in odd
    assert "after repair" in page
    assert "agrees after repair" in page


def test_the_paper_alone_is_checked_too(shared: Path) -> None:
    page = page_of(shared, "captions_sd.csv")
    told = page.split('id="paper"')[1].split("</section>")[0]
    for figure in ("1570 in Table 1; 1575 by the product", "5, 5, 3, 2", "1.33 with three groups"):
        assert figure in told


@pytest.mark.parametrize("captions", ["captions_sd.csv", "captions_bksdm_asreleased.csv"])
def test_the_page_needs_nothing_else_and_no_level_is_left_out(shared: Path, captions: str) -> None:
    page = page_of(shared, captions)
    reader = read(page)
    assert "default-src 'none'" in page
    assert "script" not in reader.tags
    assert "link" not in reader.tags
    assert reader.loads == reader.handlers == []
    assert all(link.startswith("#") and link[1:] in reader.ids for link in reader.links)
    assert len(reader.ids) == len(set(reader.ids))
    steps = zip(reader.levels, reader.levels[1:], strict=False)
    assert all(after - before <= 1 for before, after in steps)
    assert str(shared) not in page


def test_other_lists_decide_nothing(shared: Path) -> None:
    page = page_of(shared, "captions_sd.csv", None)
    assert "not the authors’ word lists" in page
    assert "so that none can agree or differ" in page
    assert 'class="verdict">agrees' not in page
    assert "other lexicon" in page


def test_texts_from_files_are_inert(tmp_path: Path) -> None:
    name = "<b>&{{x}}.csv"
    page = made_page(
        tmp_path, f'model,prompt,image,caption\n"{HOSTILE}",animal,"{HOSTILE}","{HOSTILE} laboratory"\n', name
    )
    reader = read(page)
    assert "script" not in reader.tags
    assert not {"b", "i"} & set(reader.tags)
    assert "\u202e" not in page
    assert "{{ 7*7 }}" in page
    assert "&lt;b&gt;" in page
    assert str(tmp_path) not in page


def test_gender_by_whole_words_is_not_doubted_for_its_letters(tmp_path: Path) -> None:
    page = made_page(tmp_path, "image,caption\nGender_0,the doctor\nNeutral_0,a laboratory\n")
    assert "the value “rat” of species: in 0" in page
    assert "value “male”" not in page


@pytest.mark.parametrize(
    "rows", ["flux,doctor,Gender_0,a man\n", "flux,nature,Nature_1,\nflux,beauty,B_1,a\n"]
)
def test_one_caption_is_enough_for_a_page(tmp_path: Path, rows: str) -> None:
    page = made_page(tmp_path, f"model,prompt,image,caption\n{rows}")
    assert "n = 1 caption" in page
    assert "no caption of" in page
    assert "The paper prints no figure of this model." in page
    assert "published</th>" not in page


def test_a_folder_of_models_has_a_section_each_and_names_no_path(tmp_path: Path) -> None:
    for name in ("a", "b"):
        text = "image,caption\nGender_0,a man\n"
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    (tmp_path / "scores.csv").write_text("metric,value,note,x,y\ncas,0.5,a,b,c\n", encoding="utf-8")
    (tmp_path / "own.yaml").write_text(OWN, encoding="utf-8")
    page = reproduction_page(compare_captions(tmp_path, tmp_path / "own.yaml"))
    assert {"model-1", "model-2"} <= set(read(page).ids)
    assert "Not read: scores.csv" in page
    assert str(tmp_path) not in page


def test_the_same_captions_give_the_same_page(tmp_path: Path) -> None:
    text = "model,prompt,image,caption\nflux,doctor,Gender_0,a man\nflux,doctor,Gender_1,a woman\n"
    assert made_page(tmp_path, text) == made_page(tmp_path, text)


def test_every_measure_of_the_scripts_has_words(shared: Path) -> None:
    lists = read_wordlists(shared / "data" / "biasbench" / "lexicon_authors.json")
    cells = released({prompt: ["a man with a bee", "a puzzle"] for prompt in prompt_names()}, lists)
    assert {cell.measure for cell in cells} <= set(data_of("words.yaml")["measures"])
    assert all(words["released"] for words in data_of("words.yaml")["measures"].values())
    assert len(data_of("words.yaml")["limits"]) > 5
