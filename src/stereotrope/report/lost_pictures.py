"""Pictures that are not in a run's folder any more, as far as their names say."""

import polars as pl

from stereotrope.report.numbers import count, thousands
from stereotrope.run import PictureStore, Run


def lost_by_name(run: Run) -> str | None:
    """Say how many pictures are gone; None where none is, or they lie elsewhere. No picture is read."""
    store = PictureStore(run.path)
    if store.place is not None:
        return None
    named = run.scan("images").select("path").drop_nulls().unique().collect()["path"]
    n = named.filter(~named.is_in(pl.Series(store.paths, dtype=pl.String).implode())).len()
    if not n:
        return None
    are = "is" if n == 1 else "are"
    return (
        f"{thousands(n)} of {count(named.len(), 'picture')} {are} not in the run's folder any more. Labels "
        "and scores are of the pictures as they were; the command that made the run makes lost ones anew."
    )
