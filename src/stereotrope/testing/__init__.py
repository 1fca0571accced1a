"""A model server on this computer, for tests of whatever talks to one.

:class:`Loopback` speaks chat completions, image generations and embeddings over real HTTP, draws pictures
whose values it knows, judges them with errors of a known size, and goes wrong in every way it is told to.
"""

from stereotrope.testing.images import CalibratedPainter, Declined
from stereotrope.testing.judge import Judge, Question, Reply
from stereotrope.testing.misbehaviour import MISBEHAVIOURS, Misbehaviour
from stereotrope.testing.plant import Plant
from stereotrope.testing.server import Loopback
from stereotrope.testing.sets import SetJudge
from stereotrope.testing.wire import Request, Response

__all__ = [
    "MISBEHAVIOURS",
    "CalibratedPainter",
    "Declined",
    "Judge",
    "Loopback",
    "Misbehaviour",
    "Plant",
    "Question",
    "Reply",
    "Request",
    "Response",
    "SetJudge",
]
