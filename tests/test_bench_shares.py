"""The benchmark of shares: what it holds ours against says the same."""

from bench.shares import disagreements, made_labels


def test_references_agree_with_ours():
    assert list(disagreements(made_labels(2_000))) == []


def test_a_reference_that_says_otherwise_is_told(monkeypatch):
    monkeypatch.setattr("bench.shares.plain_fisher", lambda k, *_: 0.5 + 0.0 * k)
    assert list(disagreements(made_labels(2_000))) == ["share_difference: p-values"]
