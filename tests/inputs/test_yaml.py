"""YAML that people write: what cannot be read is said with its line, and everything has one."""

import pytest

from stereotrope.errors import InputError
from stereotrope.inputs.yaml import line_of, read_tree


def fail(message, line):
    return InputError(f"a.yaml:{line}: {message}")


def test_every_key_and_item_has_its_line():
    tree = read_tree("a: 1\nb:\n  - x\n  - c: 2\n    d: 3\n", fail)
    assert [line_of(tree, at) for at in ((), ("a",), ("b",), ("b", 0), ("b", 1, "d"))] == [1, 1, 2, 3, 5]


def test_a_place_that_is_not_there_has_the_line_of_what_holds_it():
    tree = read_tree("a:\n  b: 1\n", fail)
    assert line_of(tree, ("a", "nowhere")) == 1
    assert line_of(tree, ("nowhere", "b")) == 1
    assert line_of(None, ("a",)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a: 1\nb: [1, 2\nc: 3\n",
            r"a.yaml:\d: not readable as YAML: .*; check indentation, colons and quotes",
        ),
        ("a: 1\na: 2\n", "a.yaml:2: not readable as YAML: .*duplicate key.*; write each key once"),
        ("[" * 1000, "a.yaml:1: not readable as YAML: nested too deeply; write it flatter"),
        ("a: 1\nb: \x07\n", r"a.yaml:2: not readable as YAML: .* U\+0007; remove it"),
        ("a: 2026-99-99\n", "a.yaml:1: not readable as YAML: .*; correct it"),
    ],
)
def test_what_is_no_yaml_is_one_message_with_its_line(text, said):
    with pytest.raises(InputError, match=said):
        read_tree(text, fail)


def test_the_value_of_a_doubled_key_is_not_repeated():
    with pytest.raises(InputError) as found:
        read_tree("key: first\nkey: sk-a-secret-of-somebody\n", fail)
    assert "sk-a-secret" not in str(found.value)
