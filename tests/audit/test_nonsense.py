"""What plug-ins of other packages give that cannot be used: one message with the plug-in and its package."""

import shutil

import polars as pl
import pytest

import stereotrope as st
from stereotrope.audit.packages import section_notes
from stereotrope.errors import PluginError
from stereotrope.further_tables import TABLES, further_table
from stereotrope.measure import REGISTRY, contract, estimate_frame, measure_words, register
from stereotrope.measure.finder import FINDERS, Candidate, finder
from stereotrope.measure.words import _read as read_words
from stereotrope.plugins import Registry
from stereotrope.report.contract import SECTIONS, Block, add_section
from stereotrope.report.write import write
from stereotrope.run.folder import INFO_KINDS
from stereotrope.tables import WHOLE, Column

AUDIT = """\
prompts: [{thing: cup, text: a cup}]
images_per_prompt: 2
generators: [{calibrated: , size: 64}]
annotators: [colour]
measures: [refusal_rate]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "run"
    st.Audit.from_text(AUDIT).run(folder)
    return folder


@pytest.fixture
def counting(monkeypatch):
    """As long as a package ``counting`` is read."""
    before = [(registry, set(registry)) for registry in (REGISTRY, FINDERS, TABLES, SECTIONS)]
    monkeypatch.setattr(Registry, "_origin", "counting")
    yield
    for registry, names in before:
        for name in set(registry) - names:
            del registry._plugins[name], registry._origins[name]


def measured(made, folder, text=AUDIT):
    shutil.copytree(made, folder)
    (folder / "audit.yaml").write_text(text)
    return st.Audit.from_run(folder).measure(folder)


ROW = {"measure": "counts", "definition": "paper", "generator": "calibrated", "value": 0.5, "n": 2}


def frame(*rows):
    return estimate_frame(rows, factors=("generator",))


@pytest.mark.parametrize(
    ("made_up", "message"),
    [
        (None, "it must give a frame of estimates, found NoneType"),
        (
            pl.DataFrame({"a": [1]}),
            "column 'measure' must hold String, found None",
        ),
        (frame(ROW).with_columns(value=pl.lit("high")), "column 'value' must hold Float64, found String"),
        (frame(ROW | {"measure": "share"}), "a row bears the measure 'share'; it may be: counts"),
        (frame(ROW | {"measure": None}), "a row bears the measure None; it may be: counts"),
        (frame(ROW | {"value": float("inf")}), "column 'value' has a number that is not finite; give null"),
        (frame(ROW).with_columns(high=float("nan")), "column 'high' has a number that is not finite"),
        (frame(ROW | {"value": 7.0}), "counts has the value 7, and its bounds are 0.0 to 1.0"),
        (frame(ROW | {"p_value": 2.0}), "p and q lie between 0 and 1; a row of counts has p_value 2"),
        (frame(ROW | {"n": -1}), "a count is 0 or more; a row of counts has n -1"),
        (
            frame(ROW | {"low": 0.9, "high": 0.1}),
            "an interval begins at or below its end; a row of counts has ",
        ),
        (frame(ROW | {"level": 95.0}), "the level of an interval lies between 0 and 1; a row of counts has "),
        (frame(ROW, ROW), "two rows are of one scope: ('counts', 'paper', "),
    ],
)
def test_estimates_that_a_measure_cannot_give_are_refused(made, tmp_path, counting, made_up, message):
    def counts(labels):
        """Counts."""
        return made_up

    register(bounds=(0.0, 1.0), direction="", source="")(counts)
    with pytest.raises(PluginError) as refused:
        measured(made, tmp_path / "run", AUDIT.replace("refusal_rate", "counts"))
    assert str(refused.value).startswith("measures: 'counts' of the package counting fails (ValueError: ")
    assert message in str(refused.value)
    assert str(refused.value).endswith("; mend the package, or do without 'counts'")
    assert "\n" not in str(refused.value)


def test_a_count_that_is_no_whole_number_is_refused():
    assert frame(ROW | {"n": 2.0})["n"].to_list() == [2]
    with pytest.raises(ValueError, match=r"^n of an estimate must be a whole number, found 1\.5$"):
        frame(ROW | {"n": 1.5})


@pytest.mark.parametrize(
    ("made_up", "message"),
    [
        (frame(ROW | {"measure": "share"}), "a row bears the measure 'share'; it may be: counts, more"),
        (
            frame(ROW | {"measure": "more", "value": 7.0}),
            "more has the value 7, and its bounds are 0.0 to 1.0",
        ),
        (frame(ROW, ROW), "two rows are of one scope: ('counts', 'paper', "),
        (5, "it must give a frame of estimates, found int"),
    ],
)
@pytest.mark.parametrize("at_the_end", [True, False])
def test_estimates_that_a_measure_cannot_add_of_itself_are_refused(
    made, tmp_path, counting, made_up, message, at_the_end
):
    def counts(labels):
        """Counts."""

    def unasked(call, tables):
        return made_up if (call is None) == at_the_end else None

    register(bounds=(0.0, 1.0), direction="", source="", also=("more",), unasked=unasked)(counts)
    contract.measure_of_rows.cache_clear()
    with pytest.raises(PluginError) as refused:
        measured(made, tmp_path / "run")
    contract.measure_of_rows.cache_clear()
    assert "measures: 'counts' of the package counting fails (ValueError: " in str(refused.value)
    assert message in str(refused.value)


def test_estimates_that_a_measure_adds_again_and_again_are_refused(made, tmp_path, counting):
    def counts(labels):
        """Counts."""

    register(bounds=(0.0, 1.0), direction="", source="", unasked=lambda call, tables: frame(ROW))(counts)
    contract.measure_of_rows.cache_clear()
    with pytest.raises(PluginError, match=r"'counts' of the package counting .*two rows are of one scope"):
        measured(made, tmp_path / "run")
    contract.measure_of_rows.cache_clear()


def candidate(**given):
    usual = {
        "kind": "few",
        "scope": {},
        "attribute": None,
        "effect": 0.5,
        "measure": "share",
        "sentence": "S",
    }
    return Candidate(**{**usual, **given})


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("x", "it must give candidates, found str"),
        (candidate(sentence=None), "a candidate has the sentence None"),
        (candidate(sentence=""), "a candidate has the sentence ''"),
        (candidate(effect=float("nan")), "a candidate has the effect nan, which is not in [−1, 1]"),
        (candidate(effect=99.0), "a candidate has the effect 99.0, which is not in [−1, 1]"),
        (candidate(kind="many"), "a candidate has the kind 'many', which is not among ('few',)"),
        (candidate(measure=3), "a candidate has the measure 3"),
        (candidate(images=("no one",)), "a candidate has images that the run has not, such as 'no one'"),
    ],
)
def test_findings_that_cannot_be_are_refused(made, tmp_path, counting, found, message):
    @finder("few", place=90)
    def finds(evidence):
        return [found]

    with pytest.raises(PluginError) as refused:
        measured(made, tmp_path / "run")
    assert "finders: 'finds' of the package counting fails (" in str(refused.value)
    assert message in str(refused.value)
    assert str(refused.value).endswith("; mend the package, or uninstall it: every audit uses it")


def test_a_finder_stands_at_a_number():
    with pytest.raises(ValueError, match="place must be a whole number, such as 50, found 'first'"):
        finder("few", place="first")


def test_every_key_of_a_run_is_one_that_no_table_may_take(made):
    assert set(st.open(made).info) <= set(INFO_KINDS)


@pytest.mark.parametrize(
    ("filled", "message"),
    [
        (pl.DataFrame({"n": [1]}), "it must give a frame and a mapping, or None"),
        ((pl.DataFrame({"n": [1]}), 5), "it must give a frame and a mapping, or None"),
        ((pl.DataFrame({"n": [1]}), {"seed": 3}), "its mapping has 'seed', a key of run.json; rename it"),
        ((pl.DataFrame({"n": [1]}), {"packages": {}}), "its mapping has 'packages', a key of run.json"),
        ((pl.DataFrame({"n": [1]}), {"mine": {1, 2}}), "Object of type set is not JSON serializable"),
        ((pl.DataFrame({"n": [1]}), {"mine": float("nan")}), "Out of range float values are not JSON"),
        ((pl.DataFrame({"n": [1]}), {1: 2}), "'<' not supported between"),
        ((pl.DataFrame({"m": [1]}), {}), "table tells: no column 'n'; unknown column 'm'"),
        ((pl.DataFrame({"n": ["x"]}), {}), "table tells: does not fit its schema"),
    ],
)
def test_tables_that_cannot_be_written_are_refused(made, tmp_path, counting, filled, message):
    @further_table((Column("n", WHOLE, "how many"),), caption="Told")
    def tells(sources):
        return filled

    with pytest.raises(PluginError) as refused:
        measured(made, tmp_path / "run")
    assert "tables: 'tells' of the package counting fails (" in str(refused.value)
    assert message in str(refused.value)
    assert (tmp_path / "run/run.json").read_bytes() == (made / "run.json").read_bytes()


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"make": lambda material, shown: None}, "make must hold Sequence, found None"),
        ({"make": lambda material, shown: ["x"]}, "make must hold Block, found 'x'"),
        ({"make": lambda m, s: [Block("table", 5)]}, "table must hold Table, found 5"),
        ({"make": lambda m, s: [Block("text", "x")]}, "text must hold Sequence, found 'x'"),
        ({"make": lambda m, s: [Block("tabel", 5)]}, "no kind of block 'tabel'; did you mean 'table'?"),
        ({"headline": lambda material: 5}, "headline must hold Sequence, found 5"),
        ({"tables": lambda material: {"a": 5}}, "tables must hold Sequence, found 5"),
        ({"large": lambda material: [3]}, "large must hold str, found 3"),
    ],
)
def test_sections_that_cannot_be_shown_are_refused(made, tmp_path, counting, facts, message):
    add_section("told", "Told", **facts)
    with pytest.raises(PluginError) as refused:  # noqa: PT012
        write(st.open(made), out=tmp_path / "page", figures=False)
        st.report.headline(st.open(made))
    assert "sections: 'told' of the package counting fails (" in str(refused.value)
    assert message in str(refused.value)
    assert str(refused.value).endswith("; mend the package, or uninstall it: every audit uses it")


@pytest.mark.parametrize("facts", [{"place": "early"}, {"place": None}, {"lead": 5}])
def test_a_section_is_refused_where_it_is_registered_for_facts_of_another_type(facts):
    ((name, found),) = facts.items()
    with pytest.raises(ValueError, match=f"^{name} must hold (int|str), found {found!r}$"):
        add_section("told", "Told", **facts)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("- a\n", "it must map each name of rows to its words"),
        ("a: [\n", "while parsing a flow node"),
        ("counts: {titel: Other}\n", "counts: no word 'titel'; did you mean 'title'?"),
        ("count: {title: A title}\n", "no measure gives rows of 'count'; did you mean 'counts'?"),
        ("share: {title: Other}\n", "'share' is a measure of stereotrope, which has words for it"),
    ],
)
def test_words_of_a_package_are_read_for_its_own_measures(tmp_path, counting, monkeypatch, words, message):
    room = f"toldroom{len(words)}"
    (tmp_path / room).mkdir()
    (tmp_path / room / "__init__.py").write_text("")
    (tmp_path / room / "words.yaml").write_text(words)
    monkeypatch.syspath_prepend(tmp_path)

    def counts(labels):
        """Counts."""

    counts.__module__ = f"{room}.measures"
    register(bounds=(0.0, 1.0), direction="", source="")(counts)
    read_words.cache_clear()
    with pytest.raises(PluginError) as refused:
        measure_words()
    read_words.cache_clear()
    assert f"words.yaml of {room}, of the package counting, cannot be used (" in str(refused.value)
    assert message in str(refused.value)


def test_words_that_name_a_section_that_there_is_not_are_told_with_the_package(counting):
    def counts(labels):
        """Counts."""

    register(bounds=(0.0, 1.0), direction="", source="")(counts)
    (told,) = section_notes({"counts": {"section": "devergence"}, "bds": {"section": "divergence"}})
    assert told.startswith(
        "words.yaml of the package counting: counts: no section 'devergence'; did you mean"
    )


def test_a_frame_that_is_not_there_is_told_with_the_package(made, tmp_path, counting):
    def counts(labels):
        """Counts."""

    register(bounds=(0.0, 1.0), direction="", source="", subject="planet")(counts)
    with pytest.raises(
        PluginError, match="'counts' of the package counting needs 'labels of a planet', which"
    ):
        measured(made, tmp_path / "run", AUDIT.replace("refusal_rate", "counts"))
