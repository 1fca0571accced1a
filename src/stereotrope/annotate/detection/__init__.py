"""People, faces and other things as regions of pictures, by a detector on this computer."""

from stereotrope.annotate.detection.detector import Detector

__all__ = ["Detector"]
