"""``stereotrope reproduce``: every check is printed, no line is too wide, and JSON holds it all."""

import json
from functools import cache

import pytest

from stereotrope.suites.objects.reproduce import reproduce_objects
from stereotrope.suites.printing import print_reproduction


@cache
def reproduced():
    """The checks, computed once."""
    return reproduce_objects()


def printed(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    print_reproduction(reproduced())
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [100, 120])
def test_every_check_stands_in_full_within_the_width(capsys, monkeypatch, width):
    text = printed(capsys, monkeypatch, width)
    lines = text.splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert all(len(line) <= width for line in lines if line.startswith("  "))
    flat = " ".join(text.split())
    for check in reproduced().checks:
        for part in (check.what, check.published, check.recomputed, check.explanation):
            assert " ".join(part.split()) in flat, check.key
    assert "28 checks: agrees 15, agrees in part 3, differs 4" in text


def test_json_holds_every_figure(capsys):
    print_reproduction(reproduced(), as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert data == reproduced().as_dict() | {"checks": data["checks"]}
    assert len(data["checks"][0]["details"]) == 54
