"""What the calls to model servers cost, as the run's ledger counted them."""

from typing import Any

from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import plain_table
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material
from stereotrope.report.numbers import count, dollars, thousands
from stereotrope.report.prose import listing

_TITLE = "Calls to model servers"
_COLUMNS = (
    "model", "for", "calls", "answered", "refused", "failed", "outcome unknown", "tokens in", "tokens out",
    "pictures", "US dollars",
)  # fmt: skip
_LABELS = 2
_KINDS = {"image": "pictures", "chat": "questions"}
_NOTE = (
    "Every attempt counts as a call, repeated ones too. Dollars follow the prices that the audit file or "
    "this version names; the bill of the provider is what holds."
)


def cost_blocks(material: Material, shown: Exhibits) -> list[Block]:
    """Calls, tokens and dollars by model with a sentence; nothing where no call was made."""
    cells = [
        [
            f"{r['provider']}:{r['model']}",
            _KINDS.get(r["kind"], r["kind"]),
            *(thousands(r[c]) for c in ("begun", "ok", "refused", "failed", "unanswered")),
            *(thousands(r[c]) if r[c] else "–" for c in ("input_tokens", "output_tokens", "images")),
            _cost(r),
        ]
        for r in material.run.spending.iter_rows(named=True)
    ]
    calls = plain_table(_TITLE, {"columns": list(_COLUMNS), "rows": cells, "labels": _LABELS}, "spending")
    told = [Block("text", _told(material)), Block("table", calls), Block("note", [_NOTE])]
    return told if cells else []


def _cost(row: dict[str, Any]) -> str:
    """Dollars; with a sign where some calls have no known price, ``unknown`` where none has."""
    if row["cost"] is None:
        return "unknown" if row["unpriced"] else "–"
    return f"≥ {dollars(row['cost'])}" if row["unpriced"] or row["unanswered"] else dollars(row["cost"])


def _told(material: Material) -> list[str]:
    """What all calls cost, in a sentence; none where no call was made."""
    rows = material.run.spending.to_dicts()
    if not rows:
        return []
    begun, unpriced, open_ = (sum(r[c] for r in rows) for c in ("begun", "unpriced", "unanswered"))
    known = [r["cost"] for r in rows if r["cost"] is not None]
    models = list(dict.fromkeys(f"{r['provider']}:{r['model']}" for r in rows))
    least = "at least " if unpriced or open_ else ""
    parts = [f"{count(begun, 'call')} went to {count(len(models), 'model')}."]
    parts += [f"They cost {least}{dollars(sum(known))}."] if known else []
    if unpriced:
        names = listing(list(dict.fromkeys(f"{r['provider']}:{r['model']}" for r in rows if r["unpriced"])))
        what = f"The price of {count(unpriced, 'call')} is unknown"
        what = "Of no call the price is known" if unpriced == begun else what
        parts.append(f"{what} ({names}); unknown is not 0.")
    if open_:
        parts.append(
            f"Of {count(open_, 'call')} nothing came back before the program was stopped; "
            f"{'it' if open_ == 1 else 'they'} may have been charged."
        )
    return [" ".join(parts)]


add_section(
    "cost",
    "What it cost",
    place=130,
    make=cost_blocks,
    headline=lambda material: (_told(material), []),
    tables=lambda m: {"spending": (_TITLE, m.run.spending)} if m.run.spending.height else {},
)
