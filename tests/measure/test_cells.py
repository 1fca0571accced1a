from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.measure.cell_by_cell import cells_of

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.cell_reading import read_cell_table, read_cells
from stereotrope.measure.cells import as_names, categories, excluded_columns, reference_of
from stereotrope.stats import effective_counts


def test_cells_count_values_and_reasons(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 3, "unclear": 2, None: 1}})
    (cell,) = read_cells(labels, by=("generator", "group"))
    assert cell.key == ("m", "women")
    assert (cell.n, cell.count("pink"), cell.count("grey")) == (3, 3, 0)
    assert dict(cell.excluded) == {"unclear": 2, "missing": 1}


def test_of_leaves_other_values_out_by_name(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"female": 3, "both": 2, "male": 1}}, "gender")
    (cell,) = read_cells(labels, by=("generator",), of=("female", "male"))
    assert cell.n == 4
    assert dict(cell.excluded) == {"labelled both": 2}


def test_a_combination_of_the_design_without_labels_of_an_attribute_is_an_empty_cell(make_labels) -> None:
    colour = make_labels({("m", "car", "women"): {"pink": 2}, ("m", "cup", "women"): {"pink": 2}})
    text = make_labels({("m", "car", "women"): {"present": 2}, ("n", "cup", "women"): {"absent": 2}}, "text")
    labels = pl.concat([colour, text.with_columns(pl.concat_str(pl.lit("t"), "image_id").alias("image_id"))])
    cells = {(cell.attribute, cell.key): cell.n for cell in read_cells(labels, by=("generator", "object"))}
    assert cells["text", ("m", "cup")] == 0
    assert ("product_colour", ("n", "cup")) not in cells


def test_prompts_reduce_the_effective_number(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 10, "grey": 10}}).with_columns(
        prompt_id=pl.concat_str("value", pl.int_range(pl.len()) % 2)
    )
    (cell,) = read_cells(labels, by=("generator",))
    k, n = cell.effective("pink", level=0.95)
    assert k / n == pytest.approx(0.5)
    assert 2 < n < 5
    assert (k, n) == pytest.approx(effective_counts([5, 5, 0, 0], [5] * 4))


def test_one_prompt_leaves_the_number_as_it_is(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 7, "grey": 3}}).with_columns(prompt_id=pl.lit("p"))
    (cell,) = read_cells(labels, by=("generator",))
    assert cell.effective("pink", level=0.95) == (7.0, 10.0)


def test_categories_go_by_frequency_then_name(make_labels) -> None:
    labels = make_labels({("m", "car", "a"): {"red": 2, "blue": 2}, ("m", "car", "b"): {"teal": 3}})
    assert categories(read_cells(labels, by=("group",))) == {"product_colour": ["teal", "blue", "red"]}


def test_a_null_level_of_the_reference_stands_for_every_level() -> None:
    references = {("m", None): "general", ("m", "for"): "own"}
    assert reference_of(("m", "for"), references) == "own"
    assert reference_of(("m", "targeted at"), references) == "general"
    assert reference_of(("n", "for"), references) is None


def test_two_references_that_fit_equally_are_refused() -> None:
    with pytest.raises(TableError, match="two baselines"):
        reference_of(("m", "for"), {("m", None): 1, (None, "for"): 2})


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="value: a name is given twice"):
        as_names(["a", "a"], what="value")


@pytest.mark.parametrize("by", [(), ("generator",), ("generator", "object", "place")])
@pytest.mark.parametrize("seed", range(3))
def test_columns_say_what_each_cell_says(by: tuple[str, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = {
        "attribute": ["a", "b"],
        "value": ["f", "m", "unclear", None],
        "generator": ["m", "k"],
        "object": ["car", "cup", None],
        "place": ["p", "q"],  # also what a column of numbers might be called
        "prompt_id": ["1", "2", "3", "4", "5", None],
        "excluded": [*[None] * 8, 'a "reason"', "b"],
    }
    drawn = {name: [of[i] for i in rng.integers(0, len(of), 150)] for name, of in words.items()}
    frame = pl.DataFrame(drawn).group_by(list(words), maintain_order=True).agg(n_subjects=pl.len())
    cells = cells_of(frame, by, ["f", "m"])
    table = read_cell_table(frame, by=by, of=["f", "m"])
    told = table.cells.to_dicts()
    assert table.cells["attribute"].to_list() == [cell.attribute for cell in cells]
    assert table.levels.rows() == [cell.key for cell in cells if by]
    for cell, one in zip(cells, told, strict=True):
        flags = ",".join(flag for flag, raised in cell.flags.items() if raised) or None
        assert (one["n"], one["missing"], one["lacks_much"]) == (cell.n, cell.missing, cell.lacks_much)
        assert (one["n_excluded"], one["excluded"]) == tuple(excluded_columns(cell).values())
        assert (one["clustered"], one["holds_for"], one["flags"]) == (
            cell.claim.clustered,
            cell.claim.holds_for,
            flags,
        )
    assert table.categories() == categories(cells)
    trials = [cell.effective("f", level=0.9)[1] for cell in cells]
    np.testing.assert_allclose(table.trials(0.9), trials, rtol=1e-12)
    each = read_cells(frame, by=by, of=["f", "m"])
    assert [(cell.seen, cell.excluded) for cell in each] == [(cell.seen, cell.excluded) for cell in cells]
    index = pl.Series(range(len(cells)))
    counts = table.count(index, pl.repeat("f", len(cells), eager=True))
    assert counts.to_list() == [cell.count("f") for cell in cells]
