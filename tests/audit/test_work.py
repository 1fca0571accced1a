"""What a run says of what it could not do."""

from stereotrope.audit.work import Missing, said_of


def test_a_reason_that_several_stages_share_is_said_once():
    cap = "the cap is reached"
    missing = [
        Missing("generate", "a", 100, 1800, cap),
        Missing("annotate", "judge", 2, 9, "the key is not accepted"),
        Missing("discover", "judge", 1, 1, cap),
    ]
    assert said_of(missing) == (
        "generate: a: 100 of 1,800 missing, discover: judge: 1 of 1 missing: the cap is reached; "
        "annotate: judge: 2 of 9 missing: the key is not accepted"
    )
