"""The audit file: what may stand in it, and one clear message for a mistake.

The file is YAML 1.2 (``no`` and ``on`` are words, not booleans). Every message has file, line, rule,
what was found and what to do.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from stereotrope.inputs.options import Item, Options, Text, validated
from stereotrope.inputs.yaml import Source
from stereotrope.suites.file import DesignSpec


class ReportSpec(Options):
    """What the report is called and how sure its intervals are."""

    title: Text = Field(default="Audit", description="heading of the report")
    level: float = Field(default=0.95, gt=0.5, lt=1, description="nominal coverage of every interval")
    sensitive: bool = Field(default=False, description="pictures are blurred until asked for")
    figures: bool = Field(
        default=True, description="figures as files too; `stereotrope report RUN` draws them later"
    )


_MOST_LOOKS = 1_000
"""Of more the part of the error of each would tell nothing."""


def _planned(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value != "open" and not (whole and 1 <= value <= _MOST_LOOKS):
        raise ValueError(f"must be open, or a whole number of looks from 1 to {_MOST_LOOKS}; write looks: 3")
    return value


class AuditSpec(DesignSpec):
    """Everything an audit file may say."""

    slips: ClassVar = dict.fromkeys(
        ("format_version", "stereotrope_version", "version"), "an audit file has no version; remove the line"
    )

    suite: Text | None = Field(None, description="a published method whose design and measures are used")
    baseline: dict[str, Text] | None = Field(
        None, description="factor: level compared with; {generator: NAME}: the model of `delta`"
    )
    factors: list[Item] | None = Field(
        None,
        description="files that give the prompts further factors: {clusters: clusters.csv}, or a CSV file of "
        "your own",
    )
    seed: int = Field(0, ge=0, lt=2**31, description="of the pictures, the shuffles and the resamples")
    generators: list[Item] = Field(min_length=1, description="the models under audit")
    permutations: int = Field(10_000, ge=99, le=10_000_000, description="shuffles of a permutation test")
    resamples: int = Field(2_000, ge=100, le=1_000_000, description="of a bootstrap interval")
    alike_within: float = Field(
        0.2, gt=0, lt=1, description="difference of shares within which a comparison is called alike"
    )
    looks: Annotated[int | Literal["open"], BeforeValidator(_planned)] = Field(
        "open",
        description="how often findings of a run that grows are planned, each with its part of the error; "
        "open: any number, the first with most of it",
    )
    merge_colours: float | None = Field(
        None, gt=0, le=50, description="CIEDE2000 distance up to which two open colour words count as one"
    )
    violations: Literal["both", "in", "out"] = Field(
        "both", description="pictures that break the prompt: scores with and without them, or one of these"
    )
    discovery_images: Literal["auto", "in", "out"] = Field(
        "auto",
        description="pictures that attributes were discovered on, in the scores; auto: out from 40 a prompt",
    )
    max_excluded: float = Field(
        0.05, ge=0, le=1, description="share of unusable pictures beyond which the run ends with exit code 3"
    )
    max_unanswered: float = Field(
        0.5,
        ge=0,
        le=1,
        description="share of the labels of an annotator that looks that are refused, invalid or an empty "
        "caption beyond which the run ends with exit code 3; labels of a file are warned of",
    )
    counted: bool = Field(
        False,
        description="label files are counted, and no picture is kept by itself: for studies of millions of "
        "pictures that are not at hand",
    )
    report: ReportSpec = Field(default_factory=lambda: ReportSpec(), description="title and level")


def validate(source: Source) -> AuditSpec:
    """Check the file against :class:`AuditSpec`.

    Raises AuditFileError: The first mistake by line, and how many more there are.
    """
    return validated(AuditSpec, source)


def json_schema() -> dict[str, Any]:
    """JSON Schema of the audit file, for completion and checks in an editor."""
    schema = AuditSpec.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "stereotrope audit"}
