import io
import random
import re

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stereotrope.cli.scores import MOST_SCORES, print_scores
from stereotrope.measure import measure_words
from stereotrope.terminal import print_rows, print_wrapped


def printed(*tables, width=100, leading=(), n_requests=None):
    out = Console(file=io.StringIO(), width=width, soft_wrap=True, highlight=False)
    print_scores(tables, out, leading=leading, n_requests=n_requests)
    return out.file.getvalue()


WORDS = measure_words()


def table(measure, estimates, title="A title", **of):
    told = dict(WORDS.get(measure, {}))
    (definition,) = {row.get("definition") for row in estimates}
    told |= told.get("definitions", {}).get(definition, {})
    series = {"measure": measure, "subset": None, "mean": False, "difference": False, "name": measure}
    screen = {"screen": {**told.get("screen", {}), "beneath": told.get("beneath", "")}}
    return series | screen | {"title": title, "columns": [], "rows": [], "estimates": estimates} | of


def estimate(measure="bds", **more):
    row = {"measure": measure, "generator": "m", "attribute": "all", "value": 0.29, "low": 0.21}
    row |= {"high": 0.38, "level": 0.95, "floor": 0.07, "q_value": 0.0002, "n": 20, "undefined": None}
    return row | more


def bds():
    mean = {"low": -0.01, "high": 0.55, "q_value": None, "n": 3, "aggregate": "object"}
    return [
        estimate(object="car", group="women"),
        estimate(object="cup", group="women", value=0.03, floor=0.05, q_value=0.82),
        estimate(group="women", **mean),
    ]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_score_is_one_line_with_its_interval_and_its_noise_floor(width):
    text = printed(table("bds", bds()), width=width)
    (line,) = [line for line in text.splitlines() if line.startswith("car")]
    assert line.rstrip() == "car        0.29 [0.21, 0.38]            0.07  < 0.001  20"
    assert "noise floor" in text
    assert text.count("In the order of the distance above the noise floor") == 1
    assert "value [95% interval]" in text
    assert text.count("q counts this measure's own tests. That") == 1
    assert "own tests" not in printed(table("bds", [estimate(group="women", q_value=None)]), width=width)


def test_values_without_an_interval_have_a_head_without_one():
    text = printed(table("bds", [estimate(group="women", low=None, high=None)]))
    assert "value" in text
    assert "interval]" not in text


def test_a_mean_over_objects_is_named_as_one():
    *cells, mean = bds()
    text = printed(table("bds", cells), table("bds", [mean], mean=True))
    (line,) = [line for line in text.splitlines() if line.startswith("mean of 3")]
    assert line.rstrip().endswith("0.07")
    assert "A mean counts each object alike" in text
    for holds_for, told in (
        ("these prompts", "its interval is of these alone"),
        ("prompts like these", "its interval is about another choice of object, not of pictures"),
    ):
        text = printed(table("bds", cells), table("bds", [mean | {"holds_for": holds_for}], mean=True))
        assert told in " ".join(text.split())


@pytest.mark.parametrize("n", [1, 2])
def test_a_mean_of_one_or_two_objects_is_left_to_the_report(n):
    cell, _, mean = bds()
    text = printed(table("bds", [cell]), table("bds", [mean | {"n": n}], mean=True))
    assert "mean" not in text


def test_means_come_first_and_the_rest_is_counted_where_there_are_many_rows():
    rows = [estimate(object=f"thing {i}") for i in range(MOST_SCORES + 1)]
    lines = printed(table("bds", [*rows, bds()[2] | {"group": None}])).splitlines()
    assert lines[3].startswith("mean of 3")
    assert "… and 2 more: see the report" in lines


def test_a_single_further_row_is_printed_instead_of_counted():
    rows = [estimate(object=f"thing {i}") for i in range(MOST_SCORES + 1)]
    lines = printed(table("bds", rows)).splitlines()
    assert sum(line.startswith("thing ") for line in lines) == MOST_SCORES + 1
    assert not [line for line in lines if "more" in line]


def test_no_number_is_broken_where_the_terminal_is_narrow():
    text = printed(table("bds", [row | {"group": "a very long name of a group"} for row in bds()]), width=30)
    assert "0.29 [0.21, 0.38]" in text


def test_the_default_rank_is_read_off_one_line_in_rank_order():
    ranks = {"women": 3.0, "men": 1.0, "elderly": 2.0}
    rows = [
        estimate(
            "default_rank", group=g, value=v, low=None, high=None, contrast="group", n=2, flags="few_levels"
        )
        for g, v in ranks.items()
    ]
    together = estimate("default_rank_agreement", contrast="group", value=0.4, low=None, high=None, n=2)
    agreement = table("default_rank_agreement", [together], "Agreement of the rankings")
    text = printed(table("default_rank", rows), agreement)
    assert "men 1, elderly 2, women 3. Agreement of the rankings: 0.40." in text
    assert "Too few rankings for intervals: 2." in text


def test_deterministic_cases_are_one_line_a_model_with_their_floor():
    rows = [estimate("deterministic_share", generator=g, n=40, floor=0.15) for g in ("one", "two")]
    text = printed(table("deterministic_share", rows))
    one, two = (line.split() for line in text.splitlines() if line[:3] in ("one", "two") and "0.29" in line)
    assert one[1:] == two[1:] == ["0.29", "[0.21,", "0.38]", "0.15", "<", "0.001", "40"]


def test_an_instruction_and_its_baseline_stand_side_by_side_in_the_female_ratio():
    rows = [
        estimate("female_ratio", occupation=o, condition=c, value=v, floor=None, n=10, category="female")
        for o in ("ceo", "nurse")
        for c, v in (("plain", 0.2), ("diverse", 0.4))
    ]
    lines = printed(table("female_ratio", rows)).splitlines()
    assert lines[2].split()[:3] == ["occupation", "plain", "[95%]"]
    assert lines[3].split() == ["ceo", "0.20", "[0.21,", "0.38]", "0.40", "[0.21,", "0.38]", "10", "10"]


def test_ratios_of_all_wordings_and_of_each_are_rows_and_no_column_is_called_none():
    rows = [
        estimate("female_ratio", scenario=s, variation=v, floor=None, n=10, category="female")
        for s in ("cook", "drive")
        for v in (None, "someone")
    ]
    text = printed(table("female_ratio", rows))
    assert "None" not in text
    assert len([line for line in text.splitlines() if line.startswith(("cook", "drive"))]) == 4


def test_what_a_section_shows_whole_is_not_printed_again():
    told = {"title": "Ratios", "columns": ["n"], "rows": [["4"]], "replaces": ["bds"]}
    text = printed(table("bds", bds()), leading=[told])
    assert "Ratios" in text
    assert "A title" not in text


def test_refusals_are_shown_only_where_something_was_refused():
    none = [estimate("refusal_rate", group=g, value=0.0) for g in ("men", "women")]
    assert "efus" not in printed(table("refusal_rate", none, "Refusals"), table("bds", bds()))
    some = [*none, estimate("refusal_rate", group="elderly", value=0.3, floor=None, q_value=None)]
    lines = printed(table("refusal_rate", some), table("bds", bds())).splitlines()
    assert lines[1:4] == [
        "Refusals: refused requests, of all requests",
        "group    value [95% interval]   n",
        "elderly  0.30 [0.21, 0.38]     20",
    ]
    assert lines[4] == ""


def test_a_single_score_says_what_it_is_about():
    text = printed(table("cds", [estimate("cds", generator="m", dimension="gender")]))
    assert text.splitlines()[3].startswith("gender")


def test_an_undefined_score_gives_its_reason():
    row = estimate(object="sofa", value=None, low=None, high=None, undefined="no usable label")
    text = printed(table("bds", [*bds(), row, row | {"undefined": "only one value"}]))
    assert "Not defined: 2 of 5 rows: no usable label (1); only one value (1)." in text
    alone = printed(table("bds", [row]))
    assert "Divergence from the baseline" in alone
    assert "Not defined: 1 of 1 row: no usable label (1)." in alone


def test_accuracy_and_kappa_of_an_annotator_are_shown_by_attribute():
    rows = [
        estimate("agreement", attribute="product_colour", definition=d) for d in ("accuracy", "cohen_kappa")
    ]
    text = printed(*(table("agreement", [row]) for row in rows))
    assert "product colour  accuracy" in text
    assert "product colour  cohen kappa" in text


def test_other_measures_are_named_and_shown_where_there_is_no_main_score():
    share = table("share", [estimate("share", category=c) for c in ("pink", "blue")], "Share of a value")
    assert "In the report and its tables: share of a value." in printed(table("bds", bds()), share)
    alone = printed(share)
    assert "pink" in alone
    assert "In the report" not in alone


def test_text_of_a_run_is_inert_on_the_terminal():
    assert "\x1b[31m" not in printed(table("bds", [estimate(object="\x1b[31mcar"), *bds()]))


def test_two_definitions_of_a_measure_are_two_tables_that_say_so():
    paper, released = (
        [estimate(object=thing, definition=name, value=value) for thing in ("car", "cup")]
        for name, value in (("paper", 0.21), ("released", 0.34))
    )
    text = " ".join(printed(table("bds", paper), table("bds", released, title="BDS (released)")).split())
    first, second = text.split("Distance from the baseline (BDS as released), nats")
    assert "(BDS), bits: 0 the same, 1 nothing in common (definition: paper)" in first
    assert "(definition: released)" in second
    assert "0.34" not in first
    assert "0.21 [" not in second


def test_one_definition_is_one_table_with_the_words_of_its_own():
    text = printed(table("bds", [estimate(definition="released", object=o) for o in ("car", "cup")]))
    assert "nats: 0 the same, 0.83 nothing in common" in text
    assert "(definition:" not in text


def test_scores_without_violations_are_named_and_never_mixed_in():
    kept = [estimate(object=thing, value=0.77, subset="without_violations") for thing in ("car", "cup")]
    text = printed(
        table("bds", bds()), table("bds", kept, "BDS, without violations", subset="without_violations")
    )
    assert "0.77" not in text
    assert "In the report and its tables: BDS, without violations." in text


def refusals(*rates):
    rows = [estimate("refusal_rate", prompt=f"p{i}", value=r, high=r + 0.04) for i, r in enumerate(rates)]
    return table("refusal_rate", rows, title="Refusals")


def composites(**more):
    rows = [["beauty", "CBS", "0.60 [0.54, 0.66] high"], ["doctor", "CBS", "0.15 [0.03, 0.27] low"]]
    told = {"what": "composites", "title": "Composites", "columns": ["prompt", "score", "m"], "rows": rows}
    return told | {"estimates": [estimate("cbs")], "replaces": ["cbs"]} | more


def test_captions_are_told_by_prompt_in_the_order_given_and_before_refusals():
    text = printed(refusals(0.0, 0.0), table("cbs", [estimate("cbs")], "CBS"), leading=[composites()])
    parts = ("Composites", "beauty", "0.60 [0.54, 0.66] high", "doctor", "low", "Refusals: 0 of 40 requests")
    assert sorted(parts, key=text.index) == list(parts)
    assert "In the report and its tables" not in text


def test_refusals_that_are_all_0_are_one_sentence_and_no_table():
    text = printed(refusals(*[0.0] * 10))
    assert text.strip() == "Refusals: 0 of 200 requests; by condition the interval ends at 0.04 at most."


def test_refusals_of_several_rates_are_counted_once():
    text = printed(refusals(*[0.0] * 10), refusals(*[0.0] * 5), n_requests=120)
    assert text.strip().startswith("Refusals: 0 of 120 requests; ")


def test_one_refusal_makes_a_table_of_it():
    text = printed(refusals(0.0, 0.2), leading=[composites()])
    assert "Refusals: refused requests" in text
    assert "p1" in text


def test_a_long_cell_is_cut_and_hostile_text_made_inert():
    told = composites(rows=[["x" * 90, "CBS", "\x1b[31mred"]])
    text = printed(leading=[told])
    assert "x" * 47 + "…" in text
    assert "\x1b" not in text


def test_differences_from_the_baseline_are_named_once():
    tables = [table(m, [estimate(m)], m, difference=less) for less in (False, True) for m in ("cas", "vendi")]
    text = printed(*tables, leading=[composites()])
    assert "In the report and its tables: cas; vendi; differences from the baseline model." in text


def test_the_strongest_row_stands_first_and_the_floor_counts():
    rows = [
        estimate(object=o, value=v, floor=f)
        for o, v, f in (("a", 0.5, 0.4), ("b", 0.3, 0.0), ("c", 0.4, 0.05))
    ]
    lines = printed(table("bds", rows)).splitlines()
    assert [line[0] for line in lines[3:6]] == ["c", "b", "a"]
    ratios = [
        estimate("female_ratio", prompt=p, value=v, floor=None)
        for p, v in (("x", 0.5), ("y", 0.1), ("z", 0.8))
    ]
    lines = printed(table("female_ratio", ratios)).splitlines()
    assert [line[0] for line in lines[3:6]] == ["y", "z", "x"]


def test_what_lacks_the_floor_that_others_have_stands_behind_them():
    rows = [estimate(object=o, value=v, floor=f) for o, v, f in (("a", 0.9, None), ("b", 0.1, 0.05))]
    lines = printed(table("bds", [*rows, estimate(object="c", value=None)])).splitlines()
    assert [line[0] for line in lines[3:5]] == ["b", "a"]


@pytest.mark.parametrize(
    "measure",
    [
        *("bds", "cds", "vac", "default_rank", "default_rank_agreement", "deterministic_share"),
        *("female_ratio", "agreement", "refusal_rate", "share", "a_plug_in"),
    ],
)
def test_rows_that_lack_every_column_are_still_a_screen(measure):
    bare = {"measure": measure, "value": None, "undefined": None}
    assert printed(table(measure, [bare]), table("default_rank", [bare]))
    assert printed(table(measure, [bare, bare | {"value": 0.5}]), width=80)


NAMES = (
    "car",
    "a very long name of a thing that nobody asked for",
    "コーヒーカップ",
    "x" * 70,
    "men",
    "–",
    "",
)
NUMBER = re.compile(r"−?\d+\.\d+ \[−?\d+\.\d+, −?\d+\.\d+\]")


def made_up(rng, measure, rows, factors, levels):
    """Estimates of many conditions, some of them undefined."""
    names = [*NAMES, *(f"level {i}" for i in range(8))]
    out = []
    for _ in range(rows):
        low, value, high = sorted(rng.uniform(-1, 1) for _ in range(3))
        scope = {f: rng.choice(names) for f in factors}
        row = estimate(measure, **scope, value=value, low=low, high=high, n=rng.choice([3, 120, 12_000]))
        if rng.random() < 0.2:
            row |= {
                "value": None,
                "low": None,
                "high": None,
                "undefined": "no usable label at all for a long reason",
            }
        out.append(row | {"contrast": factors[0], "definition": rng.choice(levels)})
    return out


@pytest.mark.parametrize(
    "seed", [seed if seed < 12 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(40)]
)
@pytest.mark.parametrize("width", [80, 60, 100])
def test_no_line_of_any_headline_is_wider_than_the_terminal_and_numbers_stay_whole(seed, width):
    rng = random.Random(seed)
    factors = rng.sample(
        ["object", "group", "phrasing", "mitigation", "annotator", "occupation"], rng.randint(1, 6)
    )
    measures = ("bds", "cds", "vac", "female_ratio", "deterministic_share", "agreement", "default_rank",
                "default_rank_agreement", "refusal_rate")  # fmt: skip
    tables = [
        table(m, made_up(rng, m, rng.randint(1, 40), factors, [name]))
        for m in rng.sample(measures, rng.randint(1, 5))
        for name in rng.choice([("paper",), ("paper", "released")])
    ]
    cells = [
        [rng.choice(NAMES), "CBS", "0.60 [0.54, 0.66] high", "not defined: " + "why " * 12] for _ in range(20)
    ]
    told = composites(rows=cells, columns=["prompt", "score", "model a", "model b"])
    text = printed(*tables, width=width, leading=[told] * rng.randint(0, 1))
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert not re.search(r"\b1 more", text)
    for line in text.splitlines():
        assert not re.search(r"\[−?[\d.]*,?$", line.rstrip()), line
        assert not re.match(r"\s*−?[\d.]+\](?!\s*high)", line), line


def test_a_sentence_is_broken_between_words_and_never_inside_a_number():
    out = Console(file=io.StringIO(), width=30, soft_wrap=True, highlight=False)
    print_wrapped(
        Text("In 20 of 20 pictures the divergence is 0.41 [0.33, 0.52] bits, q < 0.001 at n = 1\u202f200."),
        out,
    )
    lines = out.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 30
    for whole in ("20 of 20", "0.41 [0.33, 0.52]", "q < 0.001", "n = 1\u202f200"):
        assert [line for line in lines if whole in line], whole


def test_a_word_of_a_table_is_broken_at_a_joint_and_leaves_no_single_letter():
    out = Console(width=80, file=io.StringIO(), color_system=None)
    columns = [
        "generator",
        "object",
        "mitigation",
        "phrasing",
        "group",
        "attribute",
        "value [95% interval]",
        "n",
    ]
    row = ["stable-diffusion-xl_turbo", "teddy_bear", "avoiding", "designed for", "Latinx", "product_colour"]
    print_rows("Scores", columns, [[*row, "0.42 [0.31, 0.55]", "20"]] * 3, out)
    lines = out.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert {word for line in lines for word in line.split() if re.fullmatch(r"\w", word)} <= {"n"}
    out = Console(width=30, file=io.StringIO(), color_system=None)
    print_wrapped(Text("stable-diffusion-xl_turbo-of-a-longer-name"), out)
    assert out.file.getvalue().splitlines() == ["stable-diffusion-xl_turbo-of-", "a-longer-name"]


def test_counts_stand_at_the_right_and_no_interval_is_broken():
    out = Console(width=50, file=io.StringIO(), color_system=None)
    rows = [["balanced accuracy", "[0.80, 0.95]", 80], ["refusals and more", "not defined", 1_000]]
    print_rows("", ["check", "95% interval", "n"], rows, out)
    assert [line.rstrip() for line in out.file.getvalue().splitlines()] == [
        "check              95% interval     n",
        "balanced accuracy  [0.80, 0.95]    80",
        "refusals and more  not defined   1000",
    ]
    narrow = Console(width=32, file=io.StringIO(), color_system=None)
    print_rows("", ["check", "95% interval", "n"], rows, narrow)
    lines = narrow.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 32
    assert [line for line in lines if "[0.80, 0.95]" in line]


def test_a_title_says_which_value_all_rows_count_where_no_column_does() -> None:
    rows = [estimate("share", definition="share", category="male", attribute="gender", n=n) for n in (20, 30)]
    assert "A title: male" in printed(table("share", rows))
    assert "A title of females: male" in printed(table("share", rows, title="A title of females"))
    both = [rows[0], rows[1] | {"category": "female"}]
    assert "A title:" not in printed(table("share", both))
