"""How well an instrument reads, and whether it may be used: audits of pictures of known truth."""

from stereotrope.calibrate.calibration import LEAST_ACCURACY, Calibration, calibrate, found_in, planned
from stereotrope.calibrate.design import DIMENSIONS, OBJECTS, CheckAudit, audit_of, calibration_audit

__all__ = [
    "DIMENSIONS",
    "LEAST_ACCURACY",
    "OBJECTS",
    "Calibration",
    "CheckAudit",
    "audit_of",
    "calibrate",
    "calibration_audit",
    "found_in",
    "planned",
]
