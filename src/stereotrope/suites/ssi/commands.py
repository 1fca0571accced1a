"""The command of the ssi suite."""

from stereotrope.commands import AsJson, register


@register("reproduce ssi", panel="On a paper")
def reproduce_index(as_json: AsJson = False) -> None:
    """Check what the paper on the Social Stereotype Index says against its own figures.

    Makes the percentages, means and shares of its tables again, counts out what the
    rounding leaves open, and lists where text and tables disagree. Every claim has a
    verdict: it agrees, differs, or cannot be recomputed. Nothing is drawn or asked,
    and the exit code is 0 whatever the verdicts.
    """
    from stereotrope.suites.printing import print_reproduction
    from stereotrope.suites.ssi.reproduce import reproduce_ssi

    print_reproduction(reproduce_ssi(), as_json=as_json)
