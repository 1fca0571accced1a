"""How well an instrument reads, and whether it may be used: audits of pictures of known truth."""

from stereotrope.calibrate.calibration import LEAST_ACCURACY, Calibration, calibrate, planned
from stereotrope.calibrate.cards import CardRow, JudgeCard
from stereotrope.calibrate.design import DIMENSIONS, OBJECTS, CheckAudit, calibration_audit, is_calibration

__all__ = [
    "DIMENSIONS",
    "LEAST_ACCURACY",
    "OBJECTS",
    "Calibration",
    "CardRow",
    "CheckAudit",
    "JudgeCard",
    "calibrate",
    "calibration_audit",
    "is_calibration",
    "planned",
]
