"""Whether a run that ended has evidence enough: its report is written, and the command says so."""

import polars as pl

from stereotrope.audit.plan import Plan
from stereotrope.errors import IncompleteError
from stereotrope.run import Run
from stereotrope.tables import CAPTION, N_SUBJECTS, number_in


def require_complete(plan: Plan, images: pl.DataFrame) -> None:
    """End with too little evidence where more pictures than ``max_excluded`` allows cannot be used."""
    missing = images.filter(pl.col("status") == "excluded")
    n, of = number_in(missing), number_in(images)
    share = n / max(of, 1)
    if share > plan.spec.max_excluded:
        number = pl.col(N_SUBJECTS).sum() if N_SUBJECTS in images.columns else pl.len()
        by_reason = missing.group_by("reason", maintain_order=True).agg(n=number)
        reasons = by_reason.sort("n", descending=True, maintain_order=True).head(3).iter_rows()
        listed = ", ".join(f"{count} × {reason}" for reason, count in reasons)
        causes = [generator.trouble for generator in plan.generators if generator.trouble is not None]
        remedies = dict.fromkeys(f"; {g.remedy}" for g in plan.generators if g.remedy is not None)
        cause = f"; likeliest cause: {causes[0]}" if causes else ""
        raise IncompleteError(
            f"{n} of {of} pictures cannot be used ({listed}){cause}; the report, "
            f"which is written, says which. max_excluded allows {plan.spec.max_excluded:.0%}; mend the "
            f"pictures, ask for others, or raise it{''.join(remedies)}"
        )


def require_matches(plan: Plan) -> None:
    """End with too little evidence where a file made elsewhere has nothing for any picture."""
    for annotator in plan.annotators:
        if annotator.trouble is not None:
            raise IncompleteError(
                f"annotator {annotator.name!r}: {annotator.trouble}. The report is written without it; "
                "correct the file and run the audit again, which looks at no picture twice"
            )


def require_answers(plan: Plan, run: Run) -> None:
    """End with too little evidence where an annotator that looks gave hardly anything that counts."""
    names = [annotator.name for annotator in plan.annotators if annotator.looks]
    said = run.labels.filter(pl.col("annotator").is_in(names)).group_by("annotator", maintain_order=True)
    # A caption that says nothing answers nothing; of what is asked closed, `unclear` is an answer.
    silent = (pl.col("attribute") == CAPTION) & (pl.col("status") == "unclear")
    useless = pl.col("status").is_in(["refused", "invalid"]) | silent
    for name, n, lost in said.agg(pl.len(), useless.sum().alias("lost")).iter_rows():
        if lost > plan.spec.max_unanswered * n:
            reason = run.labels.filter((pl.col("annotator") == name) & useless)["rationale"].drop_nulls()
            often = f"; most often: {reason.mode().sort()[0]}" if reason.len() else ""
            raise IncompleteError(
                f"annotator {name!r}: {lost:,} of {n:,} labels say nothing (refused, invalid or an empty "
                f"caption){often}. Its scores, in the report, rest on too little; max_unanswered allows "
                f"{plan.spec.max_unanswered:.0%}. Take another annotator, or ask it otherwise"
            )
