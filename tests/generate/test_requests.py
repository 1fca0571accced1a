"""Requests of many pictures are those made one by one."""

import polars as pl
import pytest

from stereotrope.generate import ImageRequest, request_id, requests_frame, requests_of_each

PROMPTS = pl.DataFrame(
    {
        "prompt_id": ["p1", "p2"],
        "group": ["base", "other"],
        "text": ["a “cup”, naïve\n", "a cup"],
        "negative": [None, 'no "text"'],
    }
)


@pytest.mark.parametrize(
    "takes",
    [
        [(7, {}), (8, {})],
        [(None, {"picture": 7, "prefix": "ein schönes Bild von"}), (None, {"b": 1, "a": [None, 0.5]})],
        [],
    ],
)
def test_requests_of_each_prompt_are_those_made_one_by_one(takes):
    one_by_one = [
        ImageRequest(request_id("m:1", text, negative, *take), name, "m", text, negative, *take)
        for name, _, text, negative in PROMPTS.iter_rows()
        for take in takes
    ]
    found = requests_of_each("m:1", "m", PROMPTS, takes)
    assert found.equals(requests_frame(one_by_one))
    assert found.schema == requests_frame([]).schema
