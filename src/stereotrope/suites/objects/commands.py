"""The command of the objects suite."""

from stereotrope.commands import AsJson, register


@register("reproduce objects", panel="On a paper", about="Check the figures of a suite's paper.")
def reproduce_figures(as_json: AsJson = False) -> None:
    """Check what the SODA paper says about its figures against the figures themselves.

    Every claim has a verdict: it agrees, differs, or cannot be recomputed. Nothing
    is drawn or asked, and the exit code is 0 whatever the verdicts.
    """
    from stereotrope.suites.objects.reproduce import reproduce_objects
    from stereotrope.suites.printing import print_reproduction

    print_reproduction(reproduce_objects(), as_json=as_json)
