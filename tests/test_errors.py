import inspect
import re

import pytest

from stereotrope import errors

LINE = re.compile(r"(?P<branch>[ │├└─]*)(?P<name>[A-Z]\w+) +(?P<code>\d+ )?")
CLASSES = {
    name: thing for name, thing in inspect.getmembers(errors, inspect.isclass) if issubclass(thing, Exception)
}


def drawn():
    """Name → name above it and exit code (None where it is the one above's), as the docstring draws it."""
    tree = {}
    above: list[str] = []
    for line in inspect.getdoc(errors).splitlines()[4:]:
        if not line.strip():
            break
        found = LINE.match(line.removeprefix("    "))
        depth = len(found["branch"]) // 4
        above[depth:] = [found["name"]]
        tree[found["name"]] = (above[depth - 1] if depth else None, found["code"] and int(found["code"]))
    return tree


def test_the_drawn_tree_is_the_tree_and_every_error_is_public():
    bases = {name: above for name, (above, _) in drawn().items()}
    assert bases.pop("StereotropeError") is None
    assert bases == {
        name: thing.__mro__[1].__name__ for name, thing in CLASSES.items() if name != "StereotropeError"
    }


@pytest.mark.parametrize("name", sorted(set(CLASSES) - {"StereotropeError"}))
def test_the_drawn_exit_codes_are_those_of_the_command_line(name):
    above, code = drawn()[name]
    assert CLASSES[name].exit_code == (code if code is not None else CLASSES[above].exit_code)


def test_an_audit_file_error_begins_with_file_and_line():
    assert str(errors.AuditFileError("no", file="a.yaml", line=3)) == "a.yaml:3: no"
    assert str(errors.AuditFileError("no", file="a.yaml")) == "a.yaml: no"
    assert str(errors.AuditFileError("no")) == "no"


def test_the_nearest_name_is_asked_for_and_a_far_one_is_not():
    assert errors.did_you_mean("Colour", ["colour", "text"]) == "did you mean 'colour'?"
    assert errors.did_you_mean(7, ["colour"], otherwise="known are colour") == "known are colour"
    assert errors.did_you_mean("zeppelin", ["colour"]) == ""
