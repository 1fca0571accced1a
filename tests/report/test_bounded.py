"""A report does not grow with the number of pictures beyond what it shows."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest
from tests.report.made_up import FINDING_TYPES, IMAGE_TYPES, LABEL_TYPES, FakeRun, draw, finding, frame

from stereotrope import report
from stereotrope.measure.estimates import estimate_frame
from stereotrope.report import material as materials
from stereotrope.report.material import Material
from stereotrope.report.numbers import thousands
from stereotrope.report.sheets import most_of_each
from stereotrope.run import Run
from stereotrope.tables import IMAGES, LABELS, polars_types

GROUPS = ("base", "women", "men", "elderly")


class OnePicture(Mapping[str, bytes]):
    """The same picture for every image."""

    data = draw("#cc2222", "#ffffff", 1)

    def __getitem__(self, image: str) -> bytes:
        return self.data

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, image: object) -> bool:
        return True


def made(path: Path, n: int) -> FakeRun:
    """A run of ``n`` pictures of four conditions, every tenth refused, each labelled once."""
    number = pl.int_range(n, eager=True)
    refused = number % 10 == 9
    images = pl.DataFrame({"number": number}).select(
        image_id=pl.format("image-{}", "number"),
        prompt_id=pl.format("p{}", pl.col("number") % 4),
        generator=pl.lit("m"),
        status=pl.when(refused).then(pl.lit("refused")).otherwise(pl.lit("ok")),
        reason=pl.when(refused).then(pl.lit("policy")),
        seed="number",
    )
    labels = images.filter(status="ok").select(
        subject_kind=pl.lit("image"),
        subject_id="image_id",
        attribute=pl.lit("product_colour"),
        value=pl.when(pl.col("seed") % 3 == 0).then(pl.lit("red")).otherwise(pl.lit("blue")),
        annotator=pl.lit("judge"),
        status="status",
    )
    prompts = {"prompt_id": [f"p{i}" for i in range(4)], "group": GROUPS, "text": ["a cup"] * 4}
    told = finding(1, "deterministic", {"group": "men"}, "product_colour", "Red.", ["image-2", "image-6"])
    return FakeRun(
        path,
        pl.DataFrame({**prompts, "negative": pl.Series([None] * 4, dtype=pl.String)}),
        _filled(images, IMAGE_TYPES),
        _filled(labels, LABEL_TYPES),
        estimate_frame([], factors=["generator", "group"]),
        frame([told], FINDING_TYPES),
        {"title": "Cups", "baseline": {"group": "base"}},
        {},
        OnePicture(),  # type: ignore[arg-type]
    )


def test_of_very_many_conditions_the_first_and_those_of_findings_stand_in_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereotrope.report.sections.pictures._MOST_SHEETS", 1)
    page = report.write(made(tmp_path, 40), figures=False).read_text("utf-8")
    whole = re.findall(r'<figure class="sheet wide" id="(sheet-\d)"', page)
    assert whole == ["sheet-1", "sheet-3"]  # of the group that the finding is about
    told = (
        '… and 2 more, whose pictures are in the run\'s folder.<i id="sheet-2"></i><i id="sheet-4"></i></p>'
    )
    assert told in page


def _filled(rows: pl.DataFrame, types: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    rest = [pl.lit(None, kind).alias(c) for c, kind in types.items() if c not in rows.columns]
    return rows.with_columns(rest).select(list(types))


@pytest.fixture
def few_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materials, "MOST_IN_PAGE", 40)


@pytest.mark.usefixtures("few_listed")
def test_the_first_pictures_of_every_condition_are_listed_and_the_others_counted(tmp_path: Path) -> None:
    page = report.write(made(tmp_path, 2000), figures=False).read_text("utf-8")
    sheets = Material(made(tmp_path, 2000)).sheets
    assert [(sheet.n, sheet.n_usable, len(sheet.usable)) for sheet in sheets] == [
        (500, 500, 10), (500, 400, 10), (500, 500, 10), (500, 400, 10)
    ]  # fmt: skip
    assert [sheet.usable[0] for sheet in sheets] == ["image-0", "image-1", "image-2", "image-3"]
    assert page.count("500 pictures, 10 shown") == 4
    assert page.count("400 of 500 pictures, 10 shown") == 2
    assert f"40 of {thousands(1800)}" in page


@pytest.mark.usefixtures("few_listed")
def test_neither_the_page_nor_what_it_is_made_in_grows_with_the_pictures(tmp_path: Path) -> None:
    sizes, peaks = [], []
    for n in (4_000, 4_000, 40_000):  # what is loaded once is loaded by the first
        run = made(tmp_path / str(n), n)
        run.path.mkdir(exist_ok=True)
        tracemalloc.start()
        page = report.write(run, figures=False)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        sizes.append(page.stat().st_size)
    assert sizes[2] < sizes[1] + 200
    assert peaks[2] < peaks[1] + 10 * 36_000  # bytes: no object of any picture is that small


@pytest.mark.parametrize(
    ("sizes", "most", "each"), [([5, 5], 4, 2), ([1, 9], 6, 5), ([3, 3], 6, 3), ([9] * 9, 4, 1), ([], 4, 1)]
)
def test_conditions_share_what_can_be_listed(sizes: list[int], most: int, each: int) -> None:
    assert most_of_each(sizes, most) == each


def test_a_table_is_scanned_where_it_is_as_this_version_writes_it(tmp_path: Path) -> None:
    run = made(tmp_path, 20)
    (tmp_path / "run.json").write_text('{"format_version": 2}')
    known = {"images": (run.images, IMAGES), "labels": (run.labels, LABELS)}
    for name, (rows, columns) in known.items():
        _filled(rows, polars_types(columns)).write_parquet(tmp_path / f"{name}.parquet")
    opened = Run(tmp_path)
    assert opened.scan("labels").select(pl.len()).collect().item() == 18
    assert "labels" not in vars(opened)
    without = _filled(run.labels, polars_types(LABELS)).drop("written")
    without.write_parquet(tmp_path / "labels.parquet")
    assert "written" in Run(tmp_path).scan("labels").collect().columns
    first = run.images["image_id"][0]
    assert Material(made(tmp_path, 20)).sheet_of[first].title == "base"
    with pytest.raises(KeyError, match="nobody"):
        Material(made(tmp_path, 20)).sheet_of["nobody"]
