"""What is missing from a run: refusals, pictures that could not be used, labels without a value."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.escape import ellipsis, plain_line
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.numbers import count, thousands
from stereotrope.report.prose import listing
from stereotrope.run import LEDGER
from stereotrope.tables import ABSENT, CAPTION, LABELLED, N_SUBJECTS

_MOST_NOTES, _MOST_NAMED = 5, 4
_FEW_REQUESTS = 10
"""Requests below which a share of refusals says little."""
_UNEVEN = 3.0
"""χ² over its degrees of freedom from which on what is missing hangs on a factor."""
_PICTURE_STATES = ("refused", "excluded")
_LABEL_STATES = ("unclear", "refused", "invalid")


def missing_table(material: Material, lost: str | None = None) -> dict[str, Any]:
    """What is missing, as a table of texts, with what there is to say of it, and of pictures lost since."""
    records, counts = missing_counts(material)
    return {
        "sentence": _missing_sentence(material, records, is_lost=lost is not None),
        "items": [*_changed_note(material.changed), *filter(None, [lost]), *_missing_items(material)],
        "notes": first_notes(material),
        **texts_of(counts),
    }


def texts_of(counts: pl.DataFrame) -> dict[str, Any]:
    """``columns`` and ``rows`` of text of a table of counts; the first ``labels`` columns name a row."""
    rows = [[thousands(x) if isinstance(x, int) else x or "–" for x in row] for row in counts.iter_rows()]
    return {"columns": counts.columns, "rows": rows, "labels": counts.dtypes.count(pl.String())}


def missing_counts(material: Material) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """Refusals, unusable pictures, labels without a value, by model and a factor; of sets of several apart.

    Beside them as they are headed, null where nobody knows, as of pictures that are not at hand.
    """
    by = ["generator", *factor_of_missing(material)]
    seen = material.images.filter(pl.col("status") == "ok")
    usable = seen.select(*by, picture=pl.coalesce("sha256", "image_id"))
    images = _summed(material.pictures, by, "len", {s: s for s in ("ok", "refused", "excluded", ABSENT)})
    distinct = usable.group_by(by).agg(distinct=pl.col("picture").n_unique()).collect()
    n_distinct, n_usable = usable.select(pl.col("picture").n_unique(), n=pl.len()).collect().row(0)
    images = images.join(distinct, on=by, how="left", nulls_equal=True)
    labels = _summed(material.every_label, by, "labels", {s: f"l_{s}" for s in _LABEL_STATES})
    joined = images.join(labels, on=by, how="full", coalesce=True, nulls_equal=True).with_columns(
        pl.selectors.numeric().fill_null(0)
    )
    records = sorted(joined.iter_rows(named=True), key=lambda r: [material.position(c, r[c]) for c in by])
    told = {
        "len": "asked for",
        "ok": "usable",
        **({"distinct": "of them distinct"} if n_distinct < n_usable else {}),
        "refused": "refused",
        "excluded": "excluded",
        **({ABSENT: "not at hand"} if any(r[ABSENT] for r in records) else {}),
        "labels": "labels",
        **{f"l_{s}": f"labels {s}" for s in _LABEL_STATES},
    }
    known = material.outcomes_known
    rows = [(*(str(r[c] or "–") for c in by), *(_known(r, c, known) for c in told)) for r in records]
    heads = dict.fromkeys(map(words, by), pl.String()) | dict.fromkeys(told.values(), pl.Int64())
    return records, pl.DataFrame(rows, schema=heads, orient="row")


def factor_of_missing(material: Material) -> list[str]:
    """The factor by which what is missing is told: the one compared, or else one by which it is more uneven.

    Uneven by χ² over its degrees of freedom, of levels of models: beyond 3, and twice that of the first.
    """
    found = [(_UNEVEN, material.row_factor)] if material.row_factor else []
    for factor in material.shown:
        for rows, states in ((material.pictures, _PICTURE_STATES), (material.every_label, _LABEL_STATES)):
            counts = _summed(rows, ["generator", factor], "n", {state: f"_{state}" for state in states})
            lost = counts.select(pl.sum_horizontal(f"_{state}" for state in states)).to_series().to_numpy()
            more = 2 if factor == material.row_factor else 1
            found.append((more * _uneven(lost, counts["n"].to_numpy()), factor))
    return [max(found, key=lambda one: one[0])[1]] if found else []


def _uneven(lost: NDArray[np.int64], n: NDArray[np.int64]) -> float:
    share = lost.sum() / max(1, n.sum())
    if not 0 < share < 1 or len(n) < 2:
        return 0.0
    apart = (lost - n * share) ** 2 / np.maximum(n, 1)
    return float(apart.sum() / (share * (1 - share)) / (len(n) - 1))


def _summed(rows: pl.DataFrame, by: Sequence[str], whole: str, states: Mapping[str, str]) -> pl.DataFrame:
    """How many rows stand for in each combination of levels, and of each state under its name."""
    number = pl.col(N_SUBJECTS) if N_SUBJECTS in rows.columns else pl.lit(1, pl.Int64)
    told = rows.select(*by, "status", n=number)
    each = (pl.col("n").filter(pl.col("status") == s).sum().alias(name) for s, name in states.items())
    return told.group_by(by).agg(pl.col("n").sum().alias(whole), *each)


def _known(record: dict[str, Any], column: str, outcomes: bool) -> int | None:
    unknown = column in ("refused", "excluded") and 0 < record["len"] == record[ABSENT] and not outcomes
    return None if unknown else int(record[column])


def first_notes(material: Material) -> list[str]:
    """The notes of a run; of many the first, and how many more there are."""
    notes = [*map(str, material.info.get("notes") or [])]
    left = len(notes) - _MOST_NOTES
    if left < 2:
        return notes
    return [*notes[:_MOST_NOTES], f"{thousands(left)} more notes stand at the end of the report."]


def _changed_note(changed: Sequence[str]) -> list[str]:
    if LEDGER in changed:
        told = f"{LEDGER} is not there: nothing proves what was made and answered, or says what was spent."
        return [told, *_changed_note([name for name in changed if name != LEDGER])]
    if not changed:
        return []
    were, them = ("was", "it") if len(changed) == 1 else ("were", "them")
    return [
        f"{', '.join(changed)} {were} changed after the run was measured: numbers here are of what the "
        f"files say now. `stereotrope run audit.yaml -o <this folder>` makes {them} anew from its records."
    ]


_NOT_DONE = {
    "generate": ("picture was", "pictures were", "not made"),
    "annotate": ("picture was", "pictures were", "not looked at"),
    **{
        f"annotate {one}": (f"{one} was", f"{one}s were", "not looked at")
        for one in ("region", "set", "text")
    },
    "discover": ("set of attributes was", "sets of attributes were", "not found"),
}
"""A stage → how what it did not do is named."""


def _missing_items(material: Material) -> list[str]:
    """What a stage could not do, in a sentence each: a dead model, a spent budget, no caption."""
    told = []
    for item in material.info.get("missing") or []:
        of_any = _NOT_DONE.get(str(item["stage"]), ("item was", "items were", "not done"))
        one, many, undone = _NOT_DONE.get(f"{item['stage']} {item.get('subject')}", of_any)
        n, of, reason = int(item["n"]), int(item["of"]), str(item["reason"]).strip() or "no reason given"
        end = "" if reason.endswith((".", "!", "?")) else "."
        told.append(f"{item['name']}: {thousands(n)} of {count(of, one, many)} {undone}: {reason}{end}")
    return told + _undelivered(material) + _uncaptioned(material)


def _undelivered(material: Material) -> list[str]:
    """Whose files hold fewer pictures than the design asks for; instruments' findings say how many."""
    told = material.info.get("undelivered") or ()
    models = list(dict.fromkeys(str(model) for one in told for model in one["generators"]))
    if not models:
        return []
    lack = "lacks" if len(models) == 1 else "lack"
    named = listing([ellipsis(plain_line(model), 80) for model in models], most=_MOST_NAMED)
    return [f"{named} {lack} pictures that the design asks for: see the findings about the instruments."]


def _uncaptioned(material: Material) -> list[str]:
    """How many pictures a captioner has no caption of; where it has them all, nothing."""
    usable = sum(sheet.n_labelled for sheet in material.sheets)
    labelled = material.images.filter(pl.col("status").is_in(LABELLED)).select(subject_id="image_id")
    captions = material.labels.filter(pl.col("attribute") == CAPTION)
    of_usable = captions.drop_nulls("value").join(labelled, on="subject_id", how="semi")
    given = of_usable.group_by("annotator").agg(n=pl.col("subject_id").n_unique())
    names = captions.select(pl.col("annotator").unique().sort())
    each = names.join(given, on="annotator", how="left", maintain_order="left")
    told = []
    for captioner, n in each.collect().iter_rows():
        if lacking := usable - (n or 0):
            has, many = ("has", "picture") if usable == 1 else ("have", "pictures")
            of = f"{thousands(lacking)} of {thousands(usable)} {many}"
            told.append(f"{captioner}: {of} {has} no caption, and no score of captions counts them.")
    return told


def n_not_made(material: Material) -> int:
    """Pictures that were planned and never came to be, not even as a refusal."""
    return sum(int(i["n"]) for i in material.info.get("missing") or [] if i["stage"] == "generate")


def _missing_sentence(material: Material, records: list[dict[str, Any]], *, is_lost: bool) -> str:
    if not records:
        return "No picture was made."
    total, refused, excluded, absent, labels = (
        sum(r[c] for r in records) for c in ("len", "refused", "excluded", ABSENT, "labels")
    )
    without = sum(r[f"l_{s}"] for r in records for s in _LABEL_STATES)
    quality = material.quality_counts
    lacking = refused or excluded or absent or without or "blank" in quality
    if not lacking and not _missing_items(material):
        nothing = (
            "All"
            if is_lost or material.changed or first_notes(material) or not labels
            else "Nothing is missing: all"
        )
        said = f"all {count(labels, 'label has', 'labels have')} a value" if labels else "there is no label"
        sentence = f"{nothing} {count(total, 'picture')} could be used and {said}."
        return " ".join([sentence, *_of_quality(quality)])
    parts = []
    if refused:
        were = "was" if refused == 1 else "were"
        parts.append(f"{thousands(refused)} of {count(total, 'request')} {were} refused by a model.")
    if excluded:
        parts.append(f"{count(excluded, 'picture')} could not be used.")
    if absent:
        away = count(absent, "picture is", "pictures are")
        parts.append(f"{away} not at hand: what others said of them counts, and nothing here looked at them.")
    total -= absent
    if total and not refused and not excluded:
        made = " that were made" if n_not_made(material) else ""
        could = "read" if "blank" in quality else "used"
        parts.append(f"No request was refused, and all {count(total, 'picture')}{made} could be {could}.")
    parts += _most_refused(material) if refused else []
    if labels:
        of = f"{thousands(without)} of {count(labels, 'label')} {'has' if without == 1 else 'have'} no value"
        all_have = (
            "The one label has a value." if labels == 1 else f"All {thousands(labels)} labels have a value."
        )
        parts.append(f"{of} (unclear, refused or invalid)." if without else all_have)
    return " ".join([*parts, *_of_quality(quality)])


def _most_refused(material: Material) -> list[str]:
    """Where most requests are refused: of the rates that were measured the one whose interval begins highest.

    Where none is of levels of a factor, the greatest share of each model, alone and with each level of each
    factor: of few requests none is named where others have more, and of several alike that of most.
    """
    # Also one that follows from another, such as a kind of prompt.
    factors = [f for f in material.factors if material.prompts[f].drop_nulls().n_unique() > 1]
    measured = [f for f in factors if f in material.scores.columns]
    rates = material.scores.drop_nulls(["low", "numerator"]).filter(
        pl.any_horizontal(pl.lit(False), *(pl.col(f).is_not_null() for f in measured)),
        measure="refusal_rate",
    )
    if rates.height:
        row = rates.row(rates["low"].arg_max() or 0, named=True)
        given = [f for f in measured if row[f] is not None]
        named = [f for f in given if f in material.shown] or given
        levels = [level_words(f, row[f]) for f in named]
        where, refused, asked_for = [row.get("generator"), *levels], row["numerator"], row["denominator"]
        how = ", by the lower end of its interval,"
    else:
        found: list[tuple[float, int, int, list[Any]]] = []
        for factor in (None, *factors):
            by = ["generator", *([factor] if factor else [])]
            each = _summed(material.pictures.drop_nulls(by), by, "len", {"refused": "refused"})
            for row in sorted(
                each.iter_rows(named=True), key=lambda r: [material.position(c, r[c]) for c in by]
            ):
                levels = [level_words(factor, row[factor])] if factor else []
                share = row["refused"] / max(row["len"], 1)
                found.append((share, row["len"], row["refused"], [row["generator"], *levels]))
        many = [one for one in found if one[1] >= _FEW_REQUESTS] or found
        _, asked_for, refused, where = max(many, key=lambda one: one[:2])
        how = ","
    told = ", ".join(filter(None, where))
    of = f"{thousands(refused)} of {thousands(asked_for)}"
    return [f"Most refusals, as a share{how} are for {told}: {of}."] if refused and told else []


_QUALITY = {
    "blank": "blank and left out of the scores",
    "exact_duplicate_of": "an exact copy of another",
    "near_duplicate_of": "nearly a copy of another",
}


def _of_quality(quality: Mapping[str, int]) -> list[str]:
    """Pictures that are blank or copies of another, in words; copies count."""
    return [
        f"{count(quality[attribute], 'picture is', 'pictures are')} {what}."
        for attribute, what in _QUALITY.items()
        if attribute in quality
    ]
