"""Options of entries for pictures made elsewhere: which columns of a file say what."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from stereotrope.errors import UsageError
from stereotrope.inputs.options import File, Name, Options, Text
from stereotrope.tables import RESERVED, SCOPES, check_factors


def _factors(value: Any) -> Any:
    pairs = {name: name for name in value} if isinstance(value, list | tuple) else value
    if not isinstance(pairs, Mapping) or not all(isinstance(t, str) for pair in pairs.items() for t in pair):
        raise ValueError("must be a list of columns or a mapping of factor to column")
    for factor, column in pairs.items():
        if factor in RESERVED:
            model = ", or name_from where it names the model" if factor in SCOPES else ""
            raise UsageError(
                f"factor {factor!r}: this name is reserved for a column of every run; give the factor "
                f"another name and say which column it is, factors: {{given_{factor}: {column}}}{model}"
            )
    return {factor: pairs[factor] for factor in check_factors(list(pairs))}


class ListedOptions(Options):
    """Pictures that a file lists, a row a picture.

    name: Name of the model that made the pictures; by default that of the folder, or of the file.
    name_from: Column with the model's name, where they are several models' pictures.
    factors: Columns that are factors, or a mapping factor → column. Only for class-named sub-folders the
        default is ``label``; else there is none.
    prompt, negative, seed: Columns with the prompt, the negative prompt and the seed; without it seeds are
        unknown (null).
    file: Column with the file; by default the one that has a usual name.
    """

    name: Name | None = None
    name_from: Text | None = None
    factors: Annotated[dict[str, str], BeforeValidator(_factors)] | None = None
    prompt: Text | None = None
    negative: Text | None = None
    seed: Text | None = None
    file: Text | None = None

    @field_validator("name_from")
    @classmethod
    def _only_one(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("name") is not None:
            raise ValueError("cannot stand beside `name`; remove one of them")
        return value


class FolderOptions(ListedOptions):
    """A folder of pictures.

    metadata: CSV or JSON lines with one row a picture, relative to the folder or to the audit file. By
        default the first of ``metadata.jsonl``, ``metadata.csv``, ``labels.csv``; else those of its
        sub-folders (the splits of a Hugging Face imagefolder, read as column ``split``); else the names of
        the sub-folders are read as column ``label``.
    absent: What a row is whose file is not there: ``excluded``, it cannot be used; or ``allowed``, the
        picture was made and is not at hand: what others said of it counts, and whatever looks at pictures
        leaves it out.
    """

    folder: File
    metadata: File | None = None
    absent: Literal["excluded", "allowed"] | None = Field(None, examples=["allowed"])


class LabelledOptions(ListedOptions):
    """A file that names pictures which are not at hand.

    labels: CSV or JSON lines: a row a picture, or several that agree in all that is said of the design, as
        where each is one label.
    """

    labels: File
