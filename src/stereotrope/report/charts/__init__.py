"""Pictures as Vega-Lite data: dots and intervals, stacked shares, radars and planes."""
