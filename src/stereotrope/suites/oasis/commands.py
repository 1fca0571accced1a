"""The command of the oasis suite."""

from stereotrope.commands import AsJson, register


@register("reproduce oasis", panel="On a paper")
def reproduce_tables(as_json: AsJson = False) -> None:
    """Check what the OASIS paper says about its figures against the figures themselves.

    Makes every stereotype score again from the two shares beside it, the differences
    of intersections, and what is said of models and of Internet users. Every claim
    has a verdict: it agrees, differs, or cannot be recomputed. Nothing is drawn or
    asked, and the exit code is 0 whatever the verdicts.
    """
    from stereotrope.suites.oasis.reproduce import reproduce_oasis
    from stereotrope.suites.printing import print_reproduction

    print_reproduction(reproduce_oasis(), as_json=as_json)
