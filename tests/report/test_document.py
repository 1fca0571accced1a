"""A document in the report's style: escaped, with a policy that fits its style."""

import base64
import hashlib
import re

import jinja2
import pytest

from stereotrope.report.datatable import Table, TableCell
from stereotrope.report.document import render_document

TEMPLATE = "{{ csp }}|{{ version }}|<style>{{ style }}</style>|{{ text|t }}|{{ text }}|{{ text|long }}"


def test_text_is_inert_and_the_policy_allows_this_style_alone():
    page = render_document(
        "x", {"text": "<b>\u202e" + "y" * 400}, templates={"x": TEMPLATE}, style="p { color: red; }"
    )
    policy, _, style, short, plain, long = page.split("|")
    rules = re.search(r"<style>(.*)</style>", style, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(rules.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "script-src" not in policy
    assert rules.endswith("p { color: red; }")
    assert "<b>" not in short + plain + long
    assert "\u202e" not in short + long
    assert "characters)" in short
    assert "characters)" not in long


def test_what_a_template_lacks_is_an_error():
    with pytest.raises(jinja2.UndefinedError, match="absent"):
        render_document("x", {}, templates={"x": "{{ absent }}"})


def test_many_terms_are_counted_with_their_thousands_apart():
    entries = [{"term": "t", "of": "", "said": "s", "quotes": []}] * 12_000
    template = '{% from "blocks.html.j2" import hits %}{{ hits("a", "b", entries) }}'
    page = render_document("x", {"entries": entries}, templates={"x": template})
    assert "<summary>11\u202f996 more terms</summary>" in page


def test_many_rows_of_a_table_are_counted_with_their_thousands_apart():
    table = Table("c", ["a"], [[TableCell("x")]], 12_345, "tables/t.csv")
    template = '{% from "parts.html.j2" import data_table %}{{ data_table(table) }}'
    page = render_document("x", {"table": table}, templates={"x": template})
    assert page.count("12\u202f345") == 2
    assert "12345" not in page
