"""What people write and programs export: audit files, options, rows, captions; each mistake with its line."""

from stereotrope.inputs.entries import Context, Entry, entries_of, read_entry
from stereotrope.inputs.lookup import HASH, IMAGE_COLUMNS, ImageFinder, PictureMatching, normal_path
from stereotrope.inputs.mismatch import likeliest_cause
from stereotrope.inputs.options import (
    File,
    Item,
    Name,
    Options,
    Text,
    Texts,
    distinct,
    options_of,
    shorten,
    text,
    texts,
    validated,
)
from stereotrope.inputs.rows import (
    PICTURE_KEYS,
    Row,
    RowFile,
    long_fields,
    picture_column,
    read_rows,
    read_whole,
)
from stereotrope.inputs.serving import ModelOptions, ServedModel
from stereotrope.inputs.yaml import Source, line_of, read_source, read_tree

__all__ = [
    "HASH",
    "IMAGE_COLUMNS",
    "PICTURE_KEYS",
    "Context",
    "Entry",
    "File",
    "ImageFinder",
    "Item",
    "ModelOptions",
    "Name",
    "Options",
    "PictureMatching",
    "Row",
    "RowFile",
    "ServedModel",
    "Source",
    "Text",
    "Texts",
    "distinct",
    "entries_of",
    "likeliest_cause",
    "line_of",
    "long_fields",
    "normal_path",
    "options_of",
    "picture_column",
    "read_entry",
    "read_rows",
    "read_source",
    "read_tree",
    "read_whole",
    "shorten",
    "text",
    "texts",
    "validated",
]
