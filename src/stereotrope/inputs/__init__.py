"""What people write and programs export: audit files, options, rows, captions; each mistake with its line."""

from stereotrope.inputs.entries import Context, Entry, read_entry
from stereotrope.inputs.options import File, Name, Options, Text, Texts
from stereotrope.inputs.serving import ModelOptions, ServedModel

__all__ = [
    "Context",
    "Entry",
    "File",
    "ModelOptions",
    "Name",
    "Options",
    "ServedModel",
    "Text",
    "Texts",
    "read_entry",
]
