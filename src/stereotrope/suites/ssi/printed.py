"""What the paper on the Social Stereotype Index prints, as it stands, and figures in words."""

from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.suites.reading import load_yaml

HUNDREDTH = 0.005 + 1e-9
"""Half a unit of the second decimal."""
WHOLE = 0.5 + 1e-9
ALL, OURS, INITIAL = "Overall", "Our approach", "Initial"

_FOLDER = Path(__file__).parent / "published"


def printed_table(name: str) -> pl.DataFrame:
    """A table of the folder ``published``, with the paper's names and units."""
    return pl.read_csv(_FOLDER / f"{name}.csv", glob=False)


def printed_text() -> dict[str, Any]:
    """Single figures and sentences of the text."""
    return load_yaml(_FOLDER / "text.yaml")


def beside_initial(index: pl.DataFrame) -> pl.DataFrame:
    """Every cell of Table 5 beside the one of the initial prompts: what follows, and what rounding allows."""
    initial = index.filter(approach=INITIAL).select("family", "model", before="SSI")
    cells = index.filter(pl.col("approach") != INITIAL)
    after, before = pl.col("SSI"), pl.col("before")
    return cells.join(initial, on=["family", "model"], maintain_order="left").with_columns(
        follows=100 * (after / before - 1),
        most=100 * ((after - 0.005) / (before + 0.005) - 1),
        least=100 * ((after + 0.005) / (before - 0.005) - 1),
    )


def per_cent(value: float, places: int = 0) -> str:
    """Per cent with a true minus sign."""
    return f"{value:.{places}f}%".replace("-", "−")


def hundredths(value: float, sign: str = "+") -> str:
    """A difference or an effect size with a true minus sign."""
    return f"{value:{sign}.2f}".replace("-", "−")
