"""The table of times that the benchmarks print."""

from bench.rows import Row, in_turns, table


def test_rows_say_ratios_and_how_they_grow():
    rows = [
        Row("draw", 0.5, 5.0, 0.25, 100),
        Row("draw", 2.0, 40.0, None, 200, times=10),
        Row("count", 1.0, None, 1.0, 400),
    ]
    head, first, second, third = (line.split() for line in table(rows))
    assert head == ["n", "ours", "reference", "ratio", "limit", "ours/limit", "growth"]
    assert first == ["draw", "100", "0.5000", "5.00", "10.0×", "0.2500", "2.0×", "–"]
    assert second == ["200", "2.00", "40.00*", "20.0×", "–", "–", "2.00"]
    assert third == ["count", "400", "1.00", "–", "–", "1.00", "1.0×", "–"]


def test_a_row_is_made_of_calls_that_take_turns():
    called = []
    row = in_turns(
        "x", 3, ours=lambda: called.append("o"), reference=lambda: called.append("r"), rounds=2, times=5
    )
    assert called == ["o", "r", "o", "r"]
    assert (row.n, row.limit, row.times) == (3, None, 5)
    assert row.ours >= 0
    assert row.reference >= 0
