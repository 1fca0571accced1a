"""Measurements inside a text-to-image model: while it draws, and against its encoders.

A generator that can be read inside draws with a :class:`Probe`; what is read is a run's table ``probes``.
"""

from stereotrope.probe.clusters import spectral_clusters
from stereotrope.probe.curves import spi_curves
from stereotrope.probe.settings import Probe, ProbeOptions, ProbeReading
from stereotrope.probe.stop import Proposer, causal_lm, stop_prompts

__all__ = [
    "Probe",
    "ProbeOptions",
    "ProbeReading",
    "Proposer",
    "causal_lm",
    "spectral_clusters",
    "spi_curves",
    "stop_prompts",
]
